//! `punctual job list`: jobs of a collection, or of all of them.

use clap::{Args, ValueEnum};
use serde_json::Value;

use crate::client::Going;
use crate::collection::is_absent;
use crate::output::{Format, Output, text, time};
use crate::target::{InCollection, Target, with};

/// How many jobs are asked for at a time: the most that the server gives.
const PAGE: &str = "1000";

/// The options of `job list`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  punctual job list
  punctual job list --state disabled
  punctual job list --sort failures --order desc
  punctual job list --all-collections --search rep --json")]
pub(crate) struct Options {
    #[command(flatten)]
    filter: Filter,
    /// By what they are sorted; what has no time comes last
    #[arg(long, value_enum, default_value_t)]
    sort: Sort,
    /// Which end comes first
    #[arg(long, value_enum, default_value_t)]
    order: Order,
    /// Of all job collections of the subscription; --search then looks at their names too
    #[arg(long, visible_alias = "all", conflicts_with = "collection")]
    all_collections: bool,
    #[command(flatten)]
    format: Format,
    #[command(flatten)]
    place: InCollection,
}

/// Which jobs.
#[derive(Debug, Clone, Default, Args)]
pub(crate) struct Filter {
    /// Only jobs in this state
    #[arg(long)]
    pub(crate) state: Option<State>,
    /// Only jobs with this in their name, in whatever case
    #[arg(long, value_name = "TEXT")]
    pub(crate) search: Option<String>,
}

/// The states of a job.
#[derive(Debug, Clone, Copy, ValueEnum)]
pub(crate) enum State {
    Enabled,
    Disabled,
    Completed,
    Faulted,
}

#[derive(Debug, Clone, Copy, Default, ValueEnum)]
enum Sort {
    /// By name
    #[default]
    Name,
    /// By their next run
    Next,
    /// By their last run
    Last,
    /// Enabled, disabled, completed, faulted
    State,
    /// By how many attempts failed
    Failures,
}

#[derive(Debug, Clone, Copy, Default, ValueEnum)]
enum Order {
    /// The least, the earliest, A
    #[default]
    Asc,
    /// The greatest, the latest, Z
    Desc,
}

/// A value as it is typed, which is how the API has it too.
fn word(value: impl ValueEnum) -> String {
    value.to_possible_value().map(|value| value.get_name().to_owned()).unwrap_or_default()
}

/// Where jobs are looked for, and in which order they come.
struct Listing {
    all_collections: bool,
    sort: Sort,
    order: Order,
}

impl Filter {
    /// What is looked for; `None` where it is everything.
    pub(crate) fn words(&self) -> Option<String> {
        let state = self.state.map(|state| format!("state {}", word(state)));
        let search = self.search.as_ref().map(|text| format!("'{text}' in the name"));
        let words: Vec<String> = state.into_iter().chain(search).collect();
        (!words.is_empty()).then(|| words.join(", "))
    }

    /// Goes through the jobs of a collection, by name: each is a line of `/api/jobs`.
    pub(crate) async fn each(
        &self,
        target: &Target,
        each: impl FnMut(Value) -> anyhow::Result<Going>,
    ) -> anyhow::Result<()> {
        let listing = Listing { all_collections: false, sort: Sort::default(), order: Order::default() };
        target.client.each(&self.path(target, &listing), each).await
    }

    fn path(&self, target: &Target, listing: &Listing) -> String {
        let (within, place) = if listing.all_collections {
            ("subscription", target.subscription.clone())
        } else {
            ("collection", target.path())
        };
        let parameters = [
            (within, Some(place)),
            ("search", self.search.clone()),
            ("state", self.state.map(word)),
            ("sort", Some(word(listing.sort))),
            ("order", Some(word(listing.order))),
            ("top", Some(PAGE.to_owned())),
        ];
        let given = parameters.into_iter().filter_map(|(name, value)| Some((name, value?)));
        given.fold("/api/jobs".to_owned(), |path, (name, value)| with(&path, name, &value))
    }
}

pub(crate) async fn run(options: &Options) -> anyhow::Result<()> {
    let target = options.place.resolve()?;
    let headings = &["NAME", "STATE", "NEXT RUN", "LAST RUN", "RUNS", "FAILED", "ACTION"];
    let mut list = Output::new(options.format).list(headings);
    let Options { all_collections, sort, order, .. } = *options;
    let path = options.filter.path(&target, &Listing { all_collections, sort, order });
    let listed = target.client.each(&path, |job| {
        let own = text(&job["name"]);
        let name = if all_collections { format!("{}/{own}", text(&job["collection"])) } else { own };
        let cells = vec![
            name,
            state(&job).to_owned(),
            time(&job["nextExecutionTime"]),
            time(&job["lastExecutionTime"]),
            text(&job["executionCount"]),
            text(&job["failureCount"]),
            text(&job["target"]),
        ];
        list.add(&job, cells)?;
        Ok(Going::On)
    });
    match listed.await {
        // The default collection comes with the first job; before that, there is none.
        Err(error) if is_absent(&error) && !target.chosen.any() => {}
        listed => listed?,
    }
    if !list.is_empty() {
        list.end("")?;
        return Ok(());
    }
    let place = if all_collections {
        format!("the subscription {}", target.subscription)
    } else {
        format!("the job collection {} of {}/{}", target.collection, target.subscription, target.group)
    };
    let none = match options.filter.words() {
        Some(words) => format!("no jobs of {place} match: {words}"),
        None => match elsewhere(&target).await {
            Some(elsewhere) => format!("there are no jobs in {place}; {elsewhere}"),
            None => format!("there are no jobs in {place}; `punctual job create NAME` makes one"),
        },
    };
    list.end(&none)?;
    Ok(())
}

/// The state of a job in a word: one that could run, but whose collection is off, is paused.
fn state(job: &Value) -> &str {
    match job["state"].as_str() {
        Some("enabled") if job["collectionEnabled"] == false => "paused",
        state => state.unwrap_or("-"),
    }
}

/// Where jobs are that were looked for in a place that nobody chose.
async fn elsewhere(target: &Target) -> Option<String> {
    if target.chosen.any() {
        return None;
    }
    let found = target.client.get("/api/jobs?top=1").await.ok()?.body;
    let place = target.within(&text(&found["value"][0]["id"]))?;
    let (total, Target { subscription, group, collection, .. }) = (found["total"].as_u64()?, &place);
    let such = if total == 1 { "1 job".to_owned() } else { format!("{total} jobs") };
    Some(format!(
        "the server has {such} elsewhere, such as with --subscription {subscription} --group {group} --collection {collection}"
    ))
}
