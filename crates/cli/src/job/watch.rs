//! `punctual job watch`: runs as they happen, until Ctrl-C.
//!
//! The server tells of every attempt as it begins and ends. A connection that is lost is made again; what happened in
//! between is in the history.

use std::time::Duration;

use anyhow::{Context, bail};
use clap::Args;
use http::Method;
use http_body_util::BodyExt;
use hyper::body::Incoming;
use serde_json::Value;

use crate::client::Problem;
use crate::collection::is_absent;
use crate::ending::Ended;
use crate::output::{Format, Output, brief, text, time};
use crate::style;
use crate::target::{self, InCollection, Target};

/// How long after a connection was lost it is made again; longer each time in vain.
const FIRST_PAUSE: Duration = Duration::from_millis(500);
const LONGEST_PAUSE: Duration = Duration::from_secs(15);

/// In bytes: one event is far smaller. What is larger is no stream of events.
const LARGEST_EVENT: usize = 1 << 20;

/// The options of `job watch`.
#[derive(Debug, Args)]
#[command(
    after_help = "With --json, each attempt is one object on a line, once when it begins and once when it ends.
Ctrl-C ends it, with status 0.

Examples:
  punctual job watch
  punctual job watch report --runs 1
  punctual job watch --all --json"
)]
pub(crate) struct Options {
    /// Only this job; by default all of the collection
    #[arg(value_parser = target::name, add = crate::completions::jobs())]
    name: Option<String>,
    /// All jobs of the server
    #[arg(long, conflicts_with_all = ["name", "collection"])]
    all: bool,
    /// End after so many attempts have ended
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    runs: Option<u64>,
    #[command(flatten)]
    format: Format,
    #[command(flatten)]
    place: InCollection,
}

pub(crate) async fn run(options: &Options) -> anyhow::Result<()> {
    tokio::select! {
        done = follow(options) => done,
        interrupted = tokio::signal::ctrl_c() => Ok(interrupted?),
    }
}

async fn follow(options: &Options) -> anyhow::Result<()> {
    let target = options.place.resolve()?;
    let path = path(options, &target);
    let mut watch = Watch { output: Output::new(options.format), left: options.runs };
    let mut pause = FIRST_PAUSE;
    // The first connection must succeed: whoever mistyped the address should not wait for it.
    let mut stream = connect(&target, &path).await?;
    if !options.format.json && !options.format.quiet {
        style::say("note", &format!("watching {}; Ctrl-C ends it", target.client.address()));
    }
    loop {
        let (heard, lost) = watch.read(stream).await?;
        if watch.left == Some(0) {
            return Ok(());
        }
        if heard {
            pause = FIRST_PAUSE;
        }
        style::say("note", &format!("the connection is lost ({lost}); trying again"));
        stream = loop {
            tokio::time::sleep(pause).await;
            pause = (pause * 2).min(LONGEST_PAUSE);
            match connect(&target, &path).await {
                Ok(stream) => {
                    style::say("note", "connected again; `punctual history` has what happened meanwhile");
                    break stream;
                }
                // What was deleted meanwhile does not come back by waiting.
                Err(error) if is_absent(&error) => return Err(error),
                Err(_) => {}
            }
        };
    }
}

fn path(options: &Options, target: &Target) -> String {
    let job = options.name.as_ref().map(|name| target.job_id(name));
    let collection = (job.is_none() && !options.all).then(|| target.collection_id());
    target::query("/api/events", &[("job", job.as_deref()), ("collection", collection.as_deref())])
}

async fn connect(target: &Target, path: &str) -> anyhow::Result<Incoming> {
    match target.client.send(Method::GET, path, None).await {
        Ok(answer) => Ok(answer.into_body()),
        Err(error) if error.downcast_ref::<Problem>().is_some_and(is_older) => {
            let address = target.client.address();
            Err(Ended::absent(format!(
                "{address} does not tell of runs as they happen: it is an older version"
            ))
            .into())
        }
        Err(error) => Err(error),
    }
}

/// Whether a server does not know the path at all; one that does says what of it does not exist.
fn is_older(problem: &Problem) -> bool {
    let says_so = problem.reasons.iter().any(|reason| reason.starts_with("Nothing is served"));
    problem.status == 404 && (problem.code.is_none() || says_so)
}

struct Watch {
    output: Output,
    /// How many more attempts may end; `None` for any number.
    left: Option<u64>,
}

impl Watch {
    /// Reads a stream to its end: whether anything was heard, and why it ended.
    async fn read(&mut self, mut stream: Incoming) -> anyhow::Result<(bool, String)> {
        let (mut buffer, mut heard) = (Vec::new(), false);
        while let Some(frame) = stream.frame().await {
            let frame = match frame {
                Ok(frame) => frame,
                Err(error) => return Ok((heard, error.to_string())),
            };
            heard = true;
            buffer.extend_from_slice(frame.data_ref().map_or(&[][..], |bytes| bytes));
            while let Some(end) = buffer.windows(2).position(|two| two == b"\n\n") {
                let block: Vec<u8> = buffer.drain(..end + 2).collect();
                self.hear(&String::from_utf8_lossy(&block))?;
                if self.left == Some(0) {
                    return Ok((true, String::new()));
                }
            }
            if buffer.len() > LARGEST_EVENT {
                bail!("the server does not send events: is it Punctual?");
            }
        }
        Ok((heard, "the server ended it".to_owned()))
    }

    fn hear(&mut self, block: &str) -> anyhow::Result<()> {
        let (kind, data) = event(block);
        match kind {
            "attempt" => {
                let data: Value = serde_json::from_str(&data).context("the server's event is not JSON")?;
                self.attempt(&data)?;
            }
            "lagged" => {
                let data: Value = serde_json::from_str(&data).unwrap_or_default();
                let many = text(&data["lost"]);
                let where_else = "`punctual history` has what they told";
                style::say("warning", &format!("{many} events came too fast to be shown; {where_else}"));
            }
            // A beat of the heart, or news of something else.
            _ => {}
        }
        Ok(())
    }

    fn attempt(&mut self, attempt: &Value) -> anyhow::Result<()> {
        let has_ended = attempt["phase"] == "ended";
        if self.output.format.json {
            self.output.json_line(attempt)?;
        } else if self.output.format.quiet {
            if has_ended {
                self.output.line(&text(&attempt["job"]))?;
            }
        } else {
            self.output.line(&in_words(attempt, has_ended))?;
        }
        self.output.flush()?;
        if has_ended && let Some(left) = &mut self.left {
            *left -= 1;
        }
        Ok(())
    }
}

fn in_words(attempt: &Value, has_ended: bool) -> String {
    let name = format!("{}/{}", text(&attempt["collection"]), text(&attempt["job"]));
    let action = if attempt["errorAction"] == true { ", error action" } else { "" };
    if !has_ended {
        let late = attempt["latenessMs"].as_i64().map(|ms| format!(", {ms} ms late")).unwrap_or_default();
        return format!("{}  {name}  started{action}{late}", time(&attempt["startedAt"]));
    }
    let (at, status) = (time(&attempt["endedAt"]), text(&attempt["status"]));
    format!("{at}  {name}  {status}{action}  {}", brief(&attempt["message"]))
}

/// The kind and the data of a block of lines.
fn event(block: &str) -> (&str, String) {
    let (mut kind, mut data) = ("message", Vec::new());
    for line in block.lines() {
        match line.split_once(':') {
            Some(("event", value)) => kind = value.trim(),
            Some(("data", value)) => data.push(value.strip_prefix(' ').unwrap_or(value)),
            _ => {}
        }
    }
    (kind, data.join("\n"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_are_events() {
        assert_eq!(event("event: attempt\ndata: {\"a\":1}\n\n"), ("attempt", "{\"a\":1}".to_owned()));
        assert_eq!(event("data: 1\ndata:2\n\n"), ("message", "1\n2".to_owned()));
        assert_eq!(event(": beat\n\n"), ("message", String::new()));
    }
}
