//! `punctual audit`: who did what, and whether anybody has changed that since.

use access::{Act, Verdict};
use anyhow::bail;
use clap::{Args, Subcommand};
use recurrence::Timestamp;

use crate::client::{self, Going};
use crate::moment;
use crate::output::{Format, Output, text, time};
use crate::target::{self, Server};

/// The options of `audit`.
#[derive(Debug, Args)]
pub(crate) struct Options {
    #[command(subcommand)]
    what: What,
}

#[derive(Debug, Subcommand)]
enum What {
    /// List who did what, newest first
    #[command(after_help = "Examples:
  punctual audit list
  punctual audit list --since 12h --verdict denied
  punctual audit list --who token:0123456789abcdef --act jobs/delete --json")]
    List(List),
    /// Walk along the chain of all entries, and say whether one was changed or is missing
    #[command(
        after_help = "Each entry has a hash over itself and over the one before. Whoever changes one has to write all that follow anew;
keep the hash of the last entry elsewhere, and compare it, to see that too.
What retention removes it marks in the chain. Entries that are missing without such a mark are an error.
It ends with status 1 where something is wrong, and names the first entry that is.

Examples:
  punctual audit verify
  punctual audit verify --json"
    )]
    Verify {
        #[command(flatten)]
        format: Format,
        #[command(flatten)]
        server: Server,
    },
}

#[derive(Debug, Args)]
struct List {
    /// Only since then: a time (ISO 8601), or how long ago, such as 12h or 2d
    #[arg(long, value_name = "WHEN", value_parser = moment::read_now)]
    since: Option<Timestamp>,
    /// Only until then
    #[arg(long, value_name = "WHEN", value_parser = moment::read_now)]
    until: Option<Timestamp>,
    /// Only of this principal, such as token:ID or local
    #[arg(long, value_name = "PRINCIPAL")]
    who: Option<String>,
    /// Only of this kind, such as jobs/write or tokens/create
    #[arg(long, value_name = "ACT", value_parser = read_act)]
    act: Option<Act>,
    /// Only what was done, denied or refused
    #[arg(long, value_name = "VERDICT", value_parser = read_verdict)]
    verdict: Option<Verdict>,
    /// Only with this text in the id of the resource or the name of the principal
    #[arg(long, value_name = "TEXT")]
    search: Option<String>,
    /// At most so many
    #[arg(long, value_name = "N", default_value_t = 100)]
    limit: u64,
    #[command(flatten)]
    format: Format,
    #[command(flatten)]
    server: Server,
}

fn read_act(text: &str) -> Result<Act, String> {
    Act::named(text).ok_or_else(|| format!("allowed: {}", Act::NAMES.map(|(name, _)| name).join(", ")))
}

fn read_verdict(text: &str) -> Result<Verdict, String> {
    Verdict::named(text)
        .ok_or_else(|| format!("allowed: {}", Verdict::NAMES.map(|(name, _)| name).join(", ")))
}

pub(crate) fn run(options: &Options) -> anyhow::Result<()> {
    client::wait(async {
        match &options.what {
            What::List(options) => list(options).await,
            What::Verify { format, server } => verify(*format, server).await,
        }
    })
}

async fn list(options: &List) -> anyhow::Result<()> {
    let client = options.server.client()?;
    let write = |at: Option<Timestamp>| at.map(wire::date_time::write);
    let (from, to) = (write(options.since), write(options.until));
    let path = target::query(
        "/api/audit",
        &[
            ("from", from.as_deref()),
            ("to", to.as_deref()),
            ("who", options.who.as_deref()),
            ("act", options.act.map(Act::name)),
            ("verdict", options.verdict.map(Verdict::name)),
            ("search", options.search.as_deref()),
        ],
    );
    let mut left = options.limit;
    let mut list = Output::new(options.format).list(&["AT", "WHO", "FROM", "ACT", "VERDICT", "TARGET"]);
    let added = client.each(&path, |entry| {
        if left == 0 {
            return Ok(Going::Enough);
        }
        left -= 1;
        let (who, name) = (text(&entry["who"]), text(&entry["name"]));
        let cells = vec![
            time(&entry["at"]),
            if who == name { who } else { format!("{name} ({who})") },
            text(&entry["from"]),
            text(&entry["act"]),
            text(&entry["verdict"]),
            text(&entry["target"]),
        ];
        list.add(&entry, cells)?;
        Ok(Going::On)
    });
    added.await?;
    list.end("nothing was noted, or nothing like that")?;
    Ok(())
}

async fn verify(format: Format, server: &Server) -> anyhow::Result<()> {
    let found = server.client()?.get("/api/audit/verify").await?.body;
    let mut list = Output::new(format).list(&["CHAIN", "FIRST", "LAST", "VERDICT", "HASH OF THE LAST"]);
    let mut broken = Vec::new();
    for chain in found["chains"].as_array().into_iter().flatten() {
        let number = |name: &str| chain[name].as_i64().unwrap_or_default().to_string();
        let verdict = chain["broken"].as_str();
        if let Some(verdict) = verdict {
            broken.push(format!("chain {}: {verdict}", number("chain")));
        }
        let removed = chain["removed"]["last"].as_i64().map(|last| match chain["removed"]["at"].as_str() {
            Some(_) => format!("whole; 1 to {last} removed by retention, {}", time(&chain["removed"]["at"])),
            None => format!("whole; 1 to {last} removed by an earlier version, which left no mark"),
        });
        let cells = vec![
            number("chain"),
            number("first"),
            number("last"),
            verdict.map(str::to_owned).or(removed).unwrap_or_else(|| "whole".to_owned()),
            text(&chain["hash"]),
        ];
        list.add(chain, cells)?;
    }
    list.end("nothing was noted yet")?;
    match found["whole"].as_bool() {
        Some(true) if broken.is_empty() => Ok(()),
        None => bail!("the server does not say whether the audit is whole: is it Punctual?"),
        Some(_) => bail!("the audit was changed: {}", broken.join("; ")),
    }
}
