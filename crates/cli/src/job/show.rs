//! `punctual job show`: what a job does, when it runs, how it went.

use std::io;

use clap::Args;
use recurrence::{Timestamp, Zone};
use serde_json::Value;

use super::action::in_words;
use super::timing;
use crate::output::{Format, Output, many, text, time};
use crate::target::{self, InCollection, Target, own_name, with};

/// How many runs to come are shown: of a job, and of one that was just written.
const UPCOMING: u64 = 5;
pub(super) const NEXT_RUNS: u64 = 3;

/// The options of `job show`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  punctual job show report\n  punctual job show report --json")]
pub(crate) struct Options {
    /// Which job
    #[arg(value_parser = target::name, add = crate::completions::jobs())]
    name: String,
    #[command(flatten)]
    format: Format,
    #[command(flatten)]
    place: InCollection,
}

pub(crate) async fn run(options: &Options) -> anyhow::Result<()> {
    let target = options.place.resolve()?;
    let mut job = target.client.get(&target.job(&options.name, "")).await?.body;
    let mut upcoming = upcoming(&target, &options.name, UPCOMING).await?;
    let sentence = timing::rule(&job, crate::now()).ok().map(|rule| rule.describe());
    upcoming["sentence"] = sentence.clone().into();
    job["upcoming"] = upcoming;
    let name = own_name(&job);
    Output::new(options.format).thing(&job, &name, |out| {
        let properties = &job["properties"];
        // The API itself has none for disabled jobs, as Azure had none.
        let status = match &job["upcoming"]["status"] {
            Value::Null => &properties["status"],
            status => status,
        };
        out.field("name", &name)?;
        out.field("id", &text(&job["id"]))?;
        out.field("state", &state(&properties["state"], status, &target.collection))?;
        out.field("action", &in_words(&properties["action"]))?;
        out.field("retries", &retries(&properties["action"]["retryPolicy"]))?;
        if properties["action"]["errorAction"].is_object() {
            out.field("on error", &in_words(&properties["action"]["errorAction"]))?;
        }
        if let Some(sentence) = &sentence {
            out.field("when", sentence)?;
        }
        for (label, member) in [("starts", "startTime"), ("catch up", "catchUp"), ("overlap", "overlap")] {
            if !properties[member].is_null() {
                out.field(label, &text(&properties[member]))?;
            }
        }
        next_runs(out, &runs(&job["upcoming"]))?;
        out.field("last run", &time(&status["lastExecutionTime"]))?;
        if status.is_object() {
            let count = |member: &str, one: &str| many(status[member].as_u64().unwrap_or_default(), one);
            let (runs, failures) = (count("executionCount", "run"), count("failureCount", "attempt"));
            let faulted = count("faultedCount", "run");
            out.field("so far", &format!("{runs}, {failures} failed, {faulted} for good"))?;
        }
        Ok(())
    })?;
    Ok(())
}

/// When a job runs next, as the server says it.
pub(super) async fn upcoming(target: &Target, name: &str, count: u64) -> anyhow::Result<Value> {
    let path = with("/api/upcoming", "job", &target.job_path(name));
    Ok(target.client.get(&with(&path, "count", &count.to_string())).await?.body)
}

fn next_runs(out: &mut Output, runs: &[String]) -> io::Result<()> {
    for (i, run) in runs.iter().enumerate() {
        out.field(if i == 0 { "next runs" } else { "" }, run)?;
    }
    Ok(())
}

/// The sentence of a job that was changed, and how it stands by the server's account.
pub(super) fn stands(out: &mut Output, job: &Value, upcoming: &Value) -> io::Result<()> {
    let Ok(rule) = timing::rule(job, crate::now()) else { return Ok(()) };
    out.line(&format!("{}.", rule.describe()))?;
    if upcoming["status"]["state"] == "disabled" {
        return out.line(DISABLED);
    }
    if upcoming["status"]["collectionEnabled"] == false {
        return out.line("Its job collection is disabled: `punctual collection enable` lets it run");
    }
    next_runs(out, &runs(upcoming))
}

const DISABLED: &str = "It is disabled: `punctual job enable` lets it run";

/// The state of a job, and by what it is held where that is not the job itself.
fn state(state: &Value, status: &Value, collection: &str) -> String {
    let state = text(state);
    if state.eq_ignore_ascii_case("enabled") && status["collectionEnabled"] == false {
        return format!("paused (collection {collection} is disabled)");
    }
    state
}

/// The runs to come, as the server tells them; a dash where there are none.
fn runs(upcoming: &Value) -> Vec<String> {
    let zone = upcoming["timeZone"].as_str().and_then(Zone::named);
    let zone = zone.unwrap_or_else(Zone::utc);
    let occurrences = upcoming["occurrences"].as_array().into_iter().flatten();
    let at = occurrences.filter_map(|occurrence| occurrence["at"].as_str()?.parse::<Timestamp>().ok());
    let runs: Vec<String> = at.map(|at| timing::run_at(at, &zone)).collect();
    if runs.is_empty() { vec![text(&Value::Null)] } else { runs }
}

fn retries(policy: &Value) -> String {
    match policy["retryType"].as_str() {
        None => "as the plan says".to_owned(),
        Some(kind) if kind.eq_ignore_ascii_case("none") => "none".to_owned(),
        Some(_) => {
            let count = policy["retryCount"].as_u64().map_or("some".to_owned(), |count| count.to_string());
            match policy["retryInterval"].as_str() {
                Some(interval) => format!("{count}, after {interval}"),
                None => count,
            }
        }
    }
}

/// The sentence and the next runs of a job that was just written.
pub(super) fn when(out: &mut Output, job: &Value) -> io::Result<()> {
    let Ok(rule) = timing::rule(job, crate::now()) else { return Ok(()) };
    out.line(&format!("{}.", rule.describe()))?;
    if job["properties"]["state"].as_str().is_some_and(|state| state.eq_ignore_ascii_case("disabled")) {
        return out.line(DISABLED);
    }
    next_runs(out, &timing::next_runs(&rule, NEXT_RUNS as usize))
}
