//! `punctual job run`: one run now, besides the schedule; with `--wait`, until it has ended.

use std::time::Duration;

use anyhow::{Context, bail};
use clap::Args;
use http::Method;
use serde_json::{Value, json};

use crate::client::Condition;
use crate::output::{Format, Output, brief, outcome, text};
use crate::target::{self, InCollection, Target, with};

/// How long after a look the next one follows.
const SHORTEST_PAUSE: Duration = Duration::from_millis(100);
const LONGEST_PAUSE: Duration = Duration::from_secs(2);

/// The options of `job run`.
#[derive(Debug, Args)]
#[command(after_help = "With --wait the status is 0 when the run succeeds, and 1 when it fails for good.

Examples:
  punctual job run report
  punctual job run report --wait --timeout 60
  punctual job run report --dry-run")]
pub(crate) struct Options {
    /// Which job
    #[arg(value_parser = target::name, add = crate::completions::jobs())]
    name: String,
    /// Wait until it has ended, retries included, and say how
    #[arg(long)]
    wait: bool,
    /// Wait at most so many seconds
    #[arg(long, value_name = "SECONDS", requires = "wait")]
    timeout: Option<u64>,
    /// Say what would be done, and do nothing
    #[arg(long)]
    dry_run: bool,
    #[command(flatten)]
    format: Format,
    #[command(flatten)]
    place: InCollection,
}

pub(crate) async fn run(options: &Options) -> anyhow::Result<()> {
    let target = options.place.resolve()?;
    let name = &options.name;
    let mut output = Output::new(options.format);
    if options.dry_run {
        let job = target.client.get(&target.job(name, "")).await?.body;
        let said = format!("would run {name}: {}", super::action::in_words(&job["properties"]["action"]));
        return Ok(output.done(&said, &outcome(&target.job_id(name), "run", true))?);
    }
    let path = target.job(name, "/run");
    let answer = target.client.ask(Method::POST, &path, None, &Condition::Always).await?;
    let tag = answer.header("x-punctual-execution-tag").map(str::to_owned);
    let begun = json!({"id": target.job_id(name), "result": "run", "dryRun": false, "executionTag": tag});
    if !options.wait {
        return Ok(
            output.done(&format!("{name} runs now; `punctual history {name}` says how it went"), &begun)?
        );
    }
    let tag = tag.context("the server does not say which run it has begun; it is too old for --wait")?;
    let ended = ended(&target, name, &tag);
    let entry = match options.timeout {
        Some(seconds) => tokio::time::timeout(Duration::from_secs(seconds), ended)
            .await
            .with_context(|| format!("{name} still runs after {seconds} seconds"))??,
        None => ended.await?,
    };
    let message = last_message(&target, name, &entry).await;
    let state = text(&entry["state"]);
    let reason = entry["message"].as_str().map(|reason| format!(" {reason}")).unwrap_or_default();
    let message = message.map(|message| format!(" {message}")).unwrap_or_default();
    if matches!(state.as_str(), "ran" | "ranLate") {
        output.done(&format!("{name} ran.{message}"), &entry)?;
        return Ok(());
    }
    if options.format.json {
        output.json_line(&entry)?;
        output.flush()?;
    }
    bail!("{name} {state}.{reason}{message}")
}

/// What the ledger says of a run in the end.
async fn ended(target: &Target, name: &str, tag: &str) -> anyhow::Result<Value> {
    let path = target::query(
        "/api/ledger",
        &[
            ("subscription", Some(&target.subscription)),
            ("resourceGroup", Some(&target.group)),
            ("jobCollection", Some(&target.collection)),
            ("job", Some(name)),
        ],
    );
    let mut pause = SHORTEST_PAUSE;
    loop {
        let ledger = target.client.get(&path).await?.body;
        let mut entries = ledger["value"].as_array().into_iter().flatten();
        if let Some(entry) = entries.find(|entry| entry["executionTag"] == tag) {
            return Ok(entry.clone());
        }
        tokio::time::sleep(pause).await;
        pause = (pause * 2).min(LONGEST_PAUSE);
    }
}

/// What the last attempt of a run said.
async fn last_message(target: &Target, name: &str, entry: &Value) -> Option<String> {
    let path = with(&target.job(name, "/history"), "$top", "50");
    // A job that is gone has no history; its ledger stays.
    let history = target.client.get(&path).await.ok()?.body;
    let mut entries = history["value"].as_array().into_iter().flatten().map(|entry| &entry["properties"]);
    let last = entries
        .find(|of| of["expectedExecutionTime"] == entry["dueTime"] && of["actionName"] == "MainAction");
    last.map(|properties| brief(&properties["message"]))
}
