//! `punctual job list`: jobs of a collection, or of all of them.

use clap::{Args, ValueEnum};
use serde_json::Value;

use super::action::in_words;
use crate::client::Going;
use crate::collection;
use crate::output::{Format, Output, text, time};
use crate::target::{DEFAULT_NAME, InCollection, Target, own_name, with};

/// The options of `job list`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  punctual job list
  punctual job list --state disabled
  punctual job list --all --search rep --json")]
pub(crate) struct Options {
    #[command(flatten)]
    filter: Filter,
    /// Of all job collections of the subscription
    #[arg(long, conflicts_with = "collection")]
    all: bool,
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

impl State {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Enabled => "Enabled",
            Self::Disabled => "Disabled",
            Self::Completed => "Completed",
            Self::Faulted => "Faulted",
        }
    }
}

impl Filter {
    /// Goes through the jobs of a collection.
    pub(crate) async fn each(
        &self,
        target: &Target,
        mut each: impl FnMut(Value) -> anyhow::Result<Going>,
    ) -> anyhow::Result<()> {
        let mut path = target.jobs();
        if let Some(state) = self.state {
            path = with(&path, "$filter", &format!("state eq {}", state.name()));
        }
        let wanted = self.search.as_ref().map(|text| text.to_lowercase());
        let visited = target.client.each(&path, |job| {
            let found = wanted.as_ref().is_none_or(|wanted| own_name(&job).to_lowercase().contains(wanted));
            if found { each(job) } else { Ok(Going::On) }
        });
        visited.await
    }
}

pub(crate) async fn run(options: &Options) -> anyhow::Result<()> {
    let target = options.place.resolve()?;
    let headings = &["NAME", "STATE", "NEXT RUN", "LAST RUN", "RUNS", "FAILED", "ACTION"];
    let mut list = Output::new(options.format).list(headings);
    let mut collections = Vec::new();
    if options.all {
        let path = target.collections(true);
        let found = target.client.each(&path, |collection| {
            collections.extend(target.within(&text(&collection["id"])));
            Ok(Going::On)
        });
        found.await?;
    } else if options.place.names_collection()
        || target.collection != DEFAULT_NAME
        || collection::is_there(&target).await?
    {
        // The default collection comes with the first job; before that, there is none.
        collections.push(target);
    }
    for target in &collections {
        let added = options.filter.each(target, |job| {
            let own = own_name(&job);
            let name = if options.all { format!("{}/{own}", target.collection) } else { own };
            let (properties, status) = (&job["properties"], &job["properties"]["status"]);
            let cells = vec![
                name,
                text(&properties["state"]),
                time(&status["nextExecutionTime"]),
                time(&status["lastExecutionTime"]),
                text(&status["executionCount"]),
                text(&status["failureCount"]),
                in_words(&properties["action"]),
            ];
            list.add(&job, cells)?;
            Ok(Going::On)
        });
        added.await?;
    }
    list.end("there is no such job; `punctual job create NAME` makes one")?;
    Ok(())
}
