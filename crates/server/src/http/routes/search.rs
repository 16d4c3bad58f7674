//! The list of all jobs, searched and sorted.

use model::{CollectionPath, JobState};
use serde_json::json;
use store::{JobQuery, JobSort, Page};

use super::{Answered, Call};
use crate::app::App;
use crate::http::answer::Answer;
use crate::http::resource::Resource;
use crate::problem::Problem;

/// The most and the usual entries of a page.
const LARGEST_PAGE: u64 = 1000;
const USUAL_PAGE: u64 = 100;

/// The most characters of a search: no name is longer.
const LONGEST_SEARCH: usize = 200;

pub(super) async fn search(app: &App, call: &Call) -> Answered {
    let query = query(call)?;
    let top = call.query.number("top", 1, LARGEST_PAGE)?.unwrap_or(USUAL_PAGE);
    let skip = call.query.number("skip", 0, i64::MAX as u64)?.unwrap_or(0);
    if let Some(path) = &query.collection {
        app.collection(path).await?;
    }
    let found = app.store.find_jobs(&query, Page { skip, top: top as u32 }).await?;
    if let (0, Some(subscription)) = (found.total, &query.subscription) {
        app.check_subscription(subscription).await?;
    }
    let lines = found.jobs.iter().map(|stored| {
        let mut line = wire::summary::write(&stored.collection, stored.collection_enabled, &stored.job);
        line["revision"] = stored.revision.0.into();
        line
    });
    let mut page = json!({"value": lines.collect::<Vec<_>>(), "total": found.total});
    let seen = skip.saturating_add(found.jobs.len() as u64);
    if !found.jobs.is_empty() && seen < found.total {
        page["nextLink"] = call.link("skip", &seen.to_string()).into();
    }
    Ok(Answer::json(200, page))
}

fn query(call: &Call) -> Result<JobQuery, Problem> {
    call.query.only(&["search", "state", "collection", "subscription", "sort", "order", "top", "skip"])?;
    let given = |name: &str| call.query.get(name).filter(|text| !text.is_empty());
    let search = given("search").map(str::to_owned);
    if search.as_ref().is_some_and(|text| text.chars().count() > LONGEST_SEARCH) {
        return Err(Problem::bad_request(format!("search: allowed: at most {LONGEST_SEARCH} characters.")));
    }
    let states = JobState::ALL.map(|state| (state.name(), state));
    Ok(JobQuery {
        search,
        state: given("state").map(|text| choice("state", text, &states)).transpose()?,
        subscription: given("subscription").map(str::to_owned),
        collection: collection_of(call, "collection")?,
        sort: given("sort")
            .map(|text| choice("sort", text, &JobSort::NAMES))
            .transpose()?
            .unwrap_or_default(),
        descending: match given("order") {
            Some(text) => choice("order", text, &[("asc", false), ("desc", true)])?,
            None => false,
        },
    })
}

/// One of a few words, in any case.
pub(super) fn choice<T: Copy>(name: &str, text: &str, words: &[(&str, T)]) -> Result<T, Problem> {
    let found = words.iter().find(|(word, _)| word.eq_ignore_ascii_case(text));
    found.map(|(_, value)| *value).ok_or_else(|| {
        let words: Vec<&str> = words.iter().map(|(word, _)| *word).collect();
        Problem::refused_parameter(name, text, &words.join(", "))
    })
}

/// A parameter that is the id of a collection.
pub(super) fn collection_of(call: &Call, parameter: &str) -> Result<Option<CollectionPath>, Problem> {
    let Some(id) = call.query.get(parameter) else { return Ok(None) };
    match Resource::of(id) {
        Some(Resource::Collection(path)) => Ok(Some(path)),
        _ => Err(Problem::refused_parameter(
            parameter,
            id,
            "the id of a job collection, /subscriptions/…/resourceGroups/…/providers/Microsoft.Scheduler/jobCollections/…",
        )),
    }
}
