//! `punctual ledger`: what became of every due instant, newest first.

use anyhow::bail;
use clap::Args;
use serde_json::Value;

use crate::client;
use crate::output::{Format, Output, text, time};
use crate::target::{self, InCollection, Target};
use crate::window::Window;

/// The options of `ledger`.
#[derive(Debug, Args)]
#[command(
    after_help = "The question for the morning is `punctual ledger --not-run --since 12h`. With --fail it answers by its status too: 0 when
nothing is listed, 1 when something is, and another when the question is wrong or the server cannot be reached.

Examples:
  punctual ledger
  punctual ledger --not-run --since 12h
  punctual ledger --not-run --since 24h --fail
  punctual ledger --collection default --job report --state ran,ranLate --json"
)]
pub(crate) struct Options {
    /// Only of this job of the collection that --collection or the context names
    #[arg(long, value_name = "NAME", value_parser = target::name)]
    job: Option<String>,
    /// Only these, several with commas: ran, ranLate, faulted, skipped, missed, or notRun for the last three
    #[arg(long, value_name = "STATES", conflicts_with = "not_run")]
    state: Option<String>,
    /// Only what did not run: faulted, skipped or missed
    #[arg(long)]
    not_run: bool,
    /// Of all job collections of the subscription, whatever the context names
    #[arg(long, visible_alias = "all", conflicts_with_all = ["job", "collection", "group"])]
    all_collections: bool,
    /// End with status 1 when anything is listed
    #[arg(long)]
    fail: bool,
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
        // What nobody chose does not narrow it down: the whole is what people look at first.
        let in_collection = options.job.is_some() || target.chosen.collection && !options.all_collections;
        let in_group = in_collection || target.chosen.group && !options.all_collections;
        let (from, to) = (options.window.since(), options.window.until());
        let state = if options.not_run { Some("notRun") } else { options.state.as_deref() };
        let path = target::query(
            "/api/ledger",
            &[
                ("subscription", Some(&target.subscription)),
                ("resourceGroup", in_group.then_some(&target.group)),
                ("jobCollection", in_collection.then_some(&target.collection)),
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
        let asked = asked(options, &target, in_group, in_collection, state);
        match list.end(&format!("no entries of the ledger match: {asked}"))? {
            0 => Ok(()),
            _ if !options.fail => Ok(()),
            1 => bail!("1 entry of the ledger matches: {asked}"),
            many => bail!("{many} entries of the ledger match: {asked}"),
        }
    })
}

/// What was looked for, and where: an empty answer means nothing without its question.
fn asked(
    options: &Options,
    target: &Target,
    in_group: bool,
    in_collection: bool,
    state: Option<&str>,
) -> String {
    let parts = [
        ("job", options.job.as_deref()),
        ("collection", in_collection.then_some(target.collection.as_str())),
        ("group", in_group.then_some(target.group.as_str())),
        ("subscription", Some(target.subscription.as_str())),
        ("state", state),
        ("since", options.window.since().as_deref()),
        ("until", options.window.until().as_deref()),
    ]
    .into_iter()
    .filter_map(|(name, value)| Some(format!("{name} {}", value?)))
    .collect::<Vec<_>>();
    parts.join(", ")
}
