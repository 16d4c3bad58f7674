//! `punctual job create`: a new job, from options or from a file.
//!
//! It never replaces a job unless it is told to. The first job of somebody who never chose a collection brings the default
//! one along.

use std::path::PathBuf;

use clap::Args;
use http::Method;
use serde_json::{Map, Value, json};

use super::action::Action;
use super::show;
use super::timing::{self, Timing};
use crate::client::{Condition, Problem};
use crate::collection::{self, is_precondition};
use crate::ending::Ended;
use crate::output::{Format, Output, outcome};
use crate::refused::Refused;
use crate::target::{self, DEFAULT_NAME, InCollection, Target};
use crate::{document, report, style};

const EXAMPLES: &str = r#"With --at or --on the first run is at the first such time; otherwise a job that has no --start runs at once.
Secrets are never options: they are asked for, or come from --secret-file or PUNCTUAL_SECRET.

Examples:
  punctual job create nightly --every "1 day" --at 05:15 --url http://127.0.0.1:8042/api/echo
  punctual job create invoices --every month --on "last friday" --at 18:00 --time-zone Europe/Paris --url https://example.org/invoices --method POST --retries 3 --retry-interval PT1M
  punctual job create ping --cron '*/10 * * * *' --url https://example.org/ping --disabled --dry-run
  echo "$SECRET" | punctual job create login --every hour --url https://example.org/ --user clerk --secret-file -
  punctual job create copy --file job.json
  punctual job create nightly --if-absent --every day --at 05:15 --url http://127.0.0.1:8042/api/echo
  punctual job create nightly --replace --every day --at 06:15 --url http://127.0.0.1:8042/api/echo"#;

/// The options of `job create`.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Options {
    /// The job's name
    #[arg(value_parser = target::name)]
    name: String,
    /// A job as JSON instead of options: a whole job or its properties; - for standard input
    #[arg(long, value_name = "FILE", conflicts_with_all = ["url", "storage_queue", "bus_queue", "bus_topic", "every", "cron", "start"])]
    file: Option<PathBuf>,
    /// Make it, but do not let it run
    #[arg(long)]
    disabled: bool,
    /// Leave one that is there already as it is, and succeed
    #[arg(long, conflicts_with = "replace")]
    if_absent: bool,
    /// Replace one that is there already
    #[arg(long)]
    replace: bool,
    /// Say what would be done, and do nothing
    #[arg(long)]
    dry_run: bool,
    #[command(flatten)]
    format: Format,
    #[command(flatten)]
    action: Action,
    #[command(flatten)]
    timing: Timing,
    /// What happens to runs that an outage has missed: none, last, or how many at the most
    #[arg(long, value_name = "POLICY", help_heading = "When (once and now, if nothing is said)")]
    catch_up: Option<String>,
    /// What happens when a run is due and the one before still goes on: allow, skip or queue
    #[arg(long, value_name = "POLICY", help_heading = "When (once and now, if nothing is said)")]
    overlap: Option<String>,
    #[command(flatten)]
    place: InCollection,
}

pub(crate) async fn run(options: &Options) -> anyhow::Result<()> {
    let target = options.place.resolve()?;
    let body = body(options)?;
    if options.dry_run {
        return dry_run(options, &target, &body).await;
    }
    let condition = if options.replace { Condition::Always } else { Condition::Absent };
    let name = &options.name;
    let mut put = target.client.ask(Method::PUT, &target.job(name, ""), Some(&body), &condition).await;
    if is_absent(&put) {
        make_collection(&target).await?;
        put = target.client.ask(Method::PUT, &target.job(name, ""), Some(&body), &condition).await;
    }
    let mut output = Output::new(options.format);
    match put {
        Ok(answer) => {
            let done = if answer.status == 201 { "made" } else { "replaced" };
            output.thing(&answer.body, name, |out| {
                out.line(&format!("{done} the job {name} in the collection {}", target.collection))?;
                show::when(out, &answer.body)
            })?;
            Ok(())
        }
        Err(error) if is_precondition(&error) && options.if_absent => {
            let job = target.client.get(&target.job(name, "")).await?.body;
            output.thing(&job, name, |out| {
                out.line(&format!("{name} is there already and was left as it is"))
            })?;
            Ok(())
        }
        Err(error) if is_precondition(&error) => Err(there_already(name).into()),
        Err(error) => Err(error),
    }
}

fn there_already(name: &str) -> Ended {
    Ended::conflict(format!(
        "the job {name} is there already; --replace replaces it, --if-absent leaves it as it is"
    ))
}

fn is_absent<T>(answer: &anyhow::Result<T>) -> bool {
    let problem = answer.as_ref().err().and_then(|error| error.downcast_ref::<Problem>());
    problem.is_some_and(|problem| problem.status == 404)
}

/// Makes the default collection when it is needed; one with another name is for its user to make.
async fn make_collection(target: &Target) -> anyhow::Result<()> {
    let name = &target.collection;
    if name != DEFAULT_NAME {
        return Err(Ended::absent(format!(
            "there is no job collection {name} in the group {}; `punctual collection create {name}` makes it",
            target.group
        ))
        .into());
    }
    let path = target.collection("");
    match target.client.ask(Method::PUT, &path, Some(&json!({})), &Condition::Absent).await {
        Ok(_) => {
            style::say("note", &format!("made the job collection {name}, since there was none"));
            Ok(())
        }
        // Somebody was faster.
        Err(error) if is_precondition(&error) => Ok(()),
        Err(error) => Err(error),
    }
}

/// The job as it is sent.
fn body(options: &Options) -> anyhow::Result<Value> {
    let mut faults = Vec::new();
    let mut properties = match &options.file {
        Some(file) => of_file(document::read(file)?)?,
        None => {
            let mut properties = options.timing.properties(crate::now(), &mut faults);
            if options.action.is_given() && !faults.is_empty() {
                // Nobody types a password for a job that cannot be made.
                return Err(faults.into_iter().collect::<Refused>().into());
            }
            properties.insert("action".to_owned(), options.action.json(&mut faults)?);
            properties
        }
    };
    if let Some(policy) = &options.catch_up {
        let policy = match policy.parse::<u32>() {
            Ok(most) => json!({"policy": "all", "max": most}),
            Err(_) => policy.as_str().into(),
        };
        properties.insert("catchUp".to_owned(), policy);
    }
    if let Some(policy) = &options.overlap {
        properties.insert("overlap".to_owned(), policy.as_str().into());
    }
    if options.disabled {
        properties.insert("state".to_owned(), "Disabled".into());
    }
    if !faults.is_empty() {
        return Err(faults.into_iter().collect::<Refused>().into());
    }
    Ok(json!({"properties": properties}))
}

/// The properties that a file holds.
fn of_file(document: Value) -> Result<Map<String, Value>, Refused> {
    let expected = "expected a job {\"properties\": {…}} or its properties {\"action\": {…}, …}";
    let Value::Object(mut document) = document else {
        return Err(Refused::new(format!("--file: that is no object; {expected}")));
    };
    match document.remove("properties") {
        Some(Value::Object(mut properties)) => {
            // How the old one went is no part of the new one.
            properties.remove("status");
            Ok(properties)
        }
        Some(_) => Err(Refused::new(format!("--file: properties is no object; {expected}"))),
        None if document.contains_key("action") => Ok(document),
        None => Err(Refused::new(format!("--file: there is no action; {expected}"))),
    }
}

async fn dry_run(options: &Options, target: &Target, body: &Value) -> anyhow::Result<()> {
    let name = &options.name;
    let job = target.client.get(&target.job(name, "")).await;
    if job.is_ok() && options.if_absent {
        let said = format!("{name} is there already and would be left as it is");
        return Ok(Output::new(options.format).done(&said, &outcome(&target.job_id(name), "same", true))?);
    }
    if job.is_ok() && !options.replace {
        return Err(there_already(name).into());
    }
    let mut resources = Vec::new();
    if is_absent(&job) && !collection::is_there(target).await? {
        if target.collection != DEFAULT_NAME {
            // Says what is missing.
            return make_collection(target).await;
        }
        resources.push(collection::resource(target, &json!({})));
    } else if !is_absent(&job) {
        job?;
    }
    resources.push(json!({
        "type": "Microsoft.Scheduler/jobCollections/jobs",
        "name": format!("{}/{name}", target.collection),
        "properties": body["properties"],
    }));
    report::dry_run(target, resources, options.format).await?;
    if let Ok(rule) = timing::rule(body, crate::now())
        && !options.format.json
    {
        let mut output = Output::new(options.format);
        output.line(&format!("{}.", rule.describe()))?;
        output.flush()?;
    }
    Ok(())
}
