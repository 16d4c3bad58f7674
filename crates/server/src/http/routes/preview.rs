//! When jobs would run, and when they run next.

use model::{CollectionPath, Occurrence};
use serde_json::json;

use super::{Answered, Call};
use crate::app::App;
use crate::http::answer::Answer;
use crate::http::path::job_of_id;
use crate::problem::Problem;

/// The most and the usual occurrences of an answer.
const MOST: u64 = 1000;
const USUAL: u64 = 10;

/// When a job would run that is only shown.
pub(super) fn preview(app: &App, call: &Call) -> Answered {
    call.query.only(&["count", "now"])?;
    let count = count(call)?;
    let now = call.query.time("now")?.unwrap_or_else(|| app.clock.now());
    let document = call.json(crate::http::LARGEST_BODY)?;
    let (preview, ignored) = wire::preview::read(&document, now).map_err(Problem::faulty)?;
    Ok(Answer::json(200, preview.write(count)).ignoring(&ignored))
}

/// When a job that is kept runs next.
pub(super) async fn upcoming(app: &App, call: &Call) -> Answered {
    call.query.only(&["job", "count"])?;
    let count = count(call)?;
    let (path, name) = job_of(call, "job")?
        .ok_or_else(|| Problem::bad_request(format!("job: missing; allowed: {JOB_ID}.")))?;
    let (stored, occurrences) = app.upcoming(&path, &name, count).await?;
    let zone = stored.job.rule.zone();
    let written = wire::preview::occurrences(&zone, occurrences.iter().map(|Occurrence { at, .. }| *at));
    let status = wire::summary::standing(stored.collection_enabled, &stored.job);
    let body = json!({"timeZone": zone.name(), "occurrences": written, "status": status});
    Ok(Answer::json(200, body))
}

fn count(call: &Call) -> Result<usize, Problem> {
    Ok(call.query.number("count", 1, MOST)?.unwrap_or(USUAL) as usize)
}

const JOB_ID: &str = "the id of a job, /subscriptions/…/resourceGroups/…/providers/Microsoft.Scheduler/jobCollections/…/jobs/…";

/// A parameter that is the id of a job.
pub(super) fn job_of(call: &Call, parameter: &str) -> Result<Option<(CollectionPath, String)>, Problem> {
    let Some(id) = call.query.get(parameter) else { return Ok(None) };
    job_of_id(id).map(Some).ok_or_else(|| Problem::refused_parameter(parameter, id, JOB_ID))
}
