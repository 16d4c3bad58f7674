//! `punctual import`: the collections and jobs of a deployment template or of a resource list, written to a server.
//!
//! The server reads the template and judges all of it before it writes anything; here the files are read, and what the
//! server says is shown. Of a real run it says a line for each resource as it is done: that is the progress bar.

use std::io::{self, Write};
use std::path::PathBuf;

use anyhow::{Context, bail};
use clap::Args;
use http::Method;
use http_body_util::BodyExt;
use hyper::body::Incoming;
use serde_json::{Map, Value, json};

use crate::client;
use crate::document;
use crate::progress::Progress;
use crate::refused::Refused;
use crate::report;
use crate::target::{self, Place};

/// In bytes: what a server takes.
const LARGEST: u64 = 64 << 20;

/// The options of `import`.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Options {
    /// A deployment template, or a list of resources as the API writes it; - for standard input
    file: PathBuf,
    /// A file of parameters for the template
    #[arg(long, value_name = "FILE")]
    parameters: Option<PathBuf>,
    /// A parameter of the template; it wins over the file's
    #[arg(long, value_name = "NAME=VALUE")]
    set: Vec<String>,
    /// Say what would be done, and do nothing
    #[arg(long)]
    dry_run: bool,
    /// Print the report as JSON
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    place: Place,
}

const EXAMPLES: &str =
    "Everything is checked before anything is written. What is already there, just so, is left
alone; what broke off is continued by the same command.

Examples:
  punctual import template.json --dry-run
  punctual import template.json --parameters production.json --set password=\"$PASSWORD\" --group billing

Faults are said on standard error, one line for each, and the status is 2.";

pub(crate) fn run(options: &Options) -> anyhow::Result<()> {
    let template = document::read_within(&options.file, LARGEST, "that is no template")?;
    let parameters = parameters(options, &template)?;
    let body = json!({"template": template, "parameters": parameters});
    let target = options.place.resolve()?;
    let how = if options.dry_run { "dryRun" } else { "progress" };
    let (subscription, group) = (Some(target.subscription.as_str()), Some(target.group.as_str()));
    let path = target::query(
        "/api/import",
        &[("subscription", subscription), ("group", group), (how, Some("true"))],
    );
    let report = client::wait(async {
        let answer = target.client.send(Method::POST, &path, Some(&body)).await?.into_body();
        if options.dry_run {
            let bytes = answer.collect().await.context("the report broke off")?.to_bytes();
            return serde_json::from_slice(&bytes).context("the server's report is not JSON");
        }
        follow(answer).await
    })?;
    let mut out = io::stdout().lock();
    if options.json {
        serde_json::to_writer_pretty(&mut out, &report).map_err(io::Error::from)?;
        writeln!(out)?;
    } else {
        report::write(&mut out, &report)?;
    }
    out.flush()?;
    match report["error"]["message"].as_str() {
        Some(message) => bail!("the import stopped: {message} The same command continues it"),
        None => Ok(()),
    }
}

/// The parameters of the file, and over them those of the command line.
fn parameters(options: &Options, template: &Value) -> anyhow::Result<Option<Value>> {
    let mut given = match &options.parameters {
        Some(file) => document::read_within(file, LARGEST, "those are no parameters")?,
        None if options.set.is_empty() => return Ok(None),
        None => Value::Object(Map::new()),
    };
    let mut faults = Vec::new();
    // A parameters file wraps them.
    let is_file = given.get("parameters").is_some_and(Value::is_object);
    let target = if is_file { given.get_mut("parameters") } else { Some(&mut given) };
    let Some(Value::Object(target)) = target else {
        return Err(Refused::new("--parameters: the file holds no object").into());
    };
    for setting in &options.set {
        let Some((name, text)) = setting.split_once('=') else {
            faults.push("--set: expected NAME=VALUE".to_owned());
            continue;
        };
        match template::read_setting(template, name.trim(), text) {
            Ok(value) => {
                target.retain(|other, _| !other.eq_ignore_ascii_case(name.trim()));
                target.insert(name.trim().to_owned(), json!({"value": value}));
            }
            Err(fault) => faults.push(format!("--set {fault}")),
        }
    }
    if faults.is_empty() { Ok(Some(given)) } else { Err(Refused::all(faults).into()) }
}

/// Follows the lines of an import to its end; what they say becomes a report like that of a dry run.
async fn follow(mut body: Incoming) -> anyhow::Result<Value> {
    let mut buffer: Vec<u8> = Vec::new();
    let mut progress = None;
    let mut resources: Vec<Value> = Vec::new();
    let broke_off = |done: usize| {
        format!("the answer broke off after {done} resources; the same command continues the import")
    };
    while let Some(frame) = body.frame().await {
        let frame = frame.with_context(|| broke_off(resources.len()))?;
        buffer.extend_from_slice(frame.data_ref().map_or(&[][..], |bytes| bytes));
        while let Some(end) = buffer.iter().position(|byte| *byte == b'\n') {
            let line: Vec<u8> = buffer.drain(..=end).collect();
            let mut line: Value = serde_json::from_slice(&line).context("the server's report is not JSON")?;
            if let Some(total) = line["total"].as_u64() {
                progress = Some(Progress::steps(total));
            } else if line.get("result").is_some() {
                resources.push(line);
                if let Some(progress) = &progress {
                    progress.at(resources.len() as u64);
                }
            } else {
                // The last line says the rest.
                let left_out = line["leftOut"].take();
                resources.extend(left_out.as_array().into_iter().flatten().cloned());
                let mut report = Map::new();
                if line["error"].is_object() {
                    report.insert("error".to_owned(), line["error"].take());
                }
                report.insert("dryRun".to_owned(), false.into());
                report.insert("resources".to_owned(), resources.into());
                report.insert("outputs".to_owned(), line["outputs"].take());
                report.insert("notes".to_owned(), line["notes"].take());
                return Ok(report.into());
            }
        }
    }
    bail!(broke_off(resources.len()))
}
