//! `punctual ledger`: what became of every due instant, newest first.

use clap::Args;
use serde_json::Value;

use crate::client;
use crate::output::{Format, Output, text, time};
use crate::target::{self, InCollection};
use crate::window::Window;

/// The options of `ledger`.
#[derive(Debug, Args)]
#[command(after_help = "The question for the morning is `punctual ledger --not-run --since 12h`.

Examples:
  punctual ledger
  punctual ledger --not-run --since 12h
  punctual ledger --collection default --job report --state ran,ranLate --json")]
pub(crate) struct Options {
    /// Only of this job; needs --collection, or takes that of the context
    #[arg(long, value_name = "NAME", value_parser = target::name)]
    job: Option<String>,
    /// Only these, several with commas: ran, ranLate, faulted, skipped, missed, or notRun for the last three
    #[arg(long, value_name = "STATES", conflicts_with = "not_run")]
    state: Option<String>,
    /// Only what did not run: faulted, skipped or missed
    #[arg(long)]
    not_run: bool,
    #[command(flatten)]
    window: Window,
    #[command(flatten)]
    format: Format,
    #[command(flatten)]
    place: InCollection,
}

pub(crate) fn run(options: &Options) -> anyhow::Result<()> {
    client::wait(async {
        let target = options.place.resolve()?;
        // A collection narrows it down only where somebody asked for one: the whole is what people look at first.
        let narrow = options.job.is_some() || options.place.names_collection();
        let (from, to) = (options.window.since(), options.window.until());
        let state = if options.not_run { Some("notRun") } else { options.state.as_deref() };
        let path = target::query(
            "/api/ledger",
            &[
                ("subscription", Some(&target.subscription)),
                ("resourceGroup", narrow.then_some(&target.group)),
                ("jobCollection", narrow.then_some(&target.collection)),
                ("job", options.job.as_ref()),
            ]
            .map(|(name, value)| (name, value.map(String::as_str)))
            .into_iter()
            .chain([("from", from.as_deref()), ("to", to.as_deref()), ("state", state)])
            .collect::<Vec<_>>(),
        );
        let mut list = Output::new(options.format).list(&[
            "DUE",
            "STATE",
            "JOB",
            "STARTED",
            "CAUSE",
            "OCCURRENCES",
            "REASON",
        ]);
        let each = options.window.first(|entry: Value| {
            let id = text(&entry["job"]);
            let job = id.rsplit('/').next().unwrap_or_default();
            let collection = target.within(&id).map(|place| place.collection).unwrap_or_default();
            let cells = vec![
                time(&entry["dueTime"]),
                text(&entry["state"]),
                format!("{collection}/{job}"),
                time(&entry["startTime"]),
                text(&entry["cause"]),
                entry["occurrences"].as_u64().unwrap_or(1).to_string(),
                text(&entry["message"]),
            ];
            Ok(list.add(&entry, cells)?)
        });
        target.client.each(&path, each).await?;
        list.end("nothing was due, or nothing like that")?;
        Ok(())
    })
}
