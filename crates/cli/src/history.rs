//! `punctual history`: the attempts of a job, newest first.

use clap::{Args, ValueEnum};
use recurrence::Timestamp;
use serde_json::Value;

use crate::client;
use crate::output::{Format, Output, brief, time};
use crate::target::{self, InCollection, with};
use crate::window::Window;

/// The options of `history`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  punctual history report
  punctual history report --status failed --since 2d
  punctual history report --limit 1000 --json")]
pub(crate) struct Options {
    /// Which job
    #[arg(value_parser = target::name, add = crate::completions::jobs())]
    job: String,
    /// Only attempts that ended so
    #[arg(long)]
    status: Option<Status>,
    #[command(flatten)]
    window: Window,
    #[command(flatten)]
    format: Format,
    #[command(flatten)]
    place: InCollection,
}

/// How an attempt ended.
#[derive(Debug, Clone, Copy, ValueEnum)]
enum Status {
    Completed,
    Failed,
    Postponed,
}

pub(crate) fn run(options: &Options) -> anyhow::Result<()> {
    client::wait(async {
        let target = options.place.resolve()?;
        let mut clauses = Vec::new();
        clauses.extend(options.status.map(|status| match status {
            Status::Completed => "status eq Completed".to_owned(),
            Status::Failed => "status eq Failed".to_owned(),
            Status::Postponed => "status eq Postponed".to_owned(),
        }));
        clauses.extend(options.window.since().map(|at| format!("startTime ge {at}")));
        clauses.extend(options.window.until().map(|at| format!("startTime le {at}")));
        let mut path = target.job(&options.job, "/history");
        if !clauses.is_empty() {
            path = with(&path, "$filter", &clauses.join(" and "));
        }
        let mut list =
            Output::new(options.format).list(&["STARTED", "STATUS", "ACTION", "ATTEMPT", "TOOK", "MESSAGE"]);
        let each = options.window.first(|entry: Value| {
            let properties = &entry["properties"];
            let status = properties["status"].as_str().unwrap_or("completed").to_owned();
            let action = if properties["actionName"] == "ErrorAction" { "on error" } else { "main" };
            let attempt =
                properties["retryCount"].as_u64().map_or("-".to_owned(), |retry| (retry + 1).to_string());
            let cells = vec![
                time(&properties["startTime"]),
                status,
                action.to_owned(),
                attempt,
                took(&properties["startTime"], &properties["endTime"]),
                brief(&properties["message"]),
            ];
            Ok(list.add(&entry, cells)?)
        });
        target.client.each(&path, each).await?;
        list.end(if clauses.is_empty() {
            "the job has not run yet"
        } else {
            "no attempts match: see --status, --since and --until"
        })?;
        Ok(())
    })
}

/// How long it took.
fn took(from: &Value, to: &Value) -> String {
    let at = |value: &Value| value.as_str().and_then(|text| text.parse::<Timestamp>().ok());
    match at(from).zip(at(to)) {
        Some((from, to)) => {
            let ms = to.duration_since(from).as_millis();
            if ms < 10_000 { format!("{ms} ms") } else { format!("{} s", ms / 1000) }
        }
        None => "-".to_owned(),
    }
}
