//! `punctual preview`: when would this job run?
//!
//! Reads a job, its properties or its recurrence, or takes a cron expression, and lists the occurrences: as a table for
//! people, or as JSON for programs. Nothing is stored and nothing is called.

use std::io::{self, BufWriter, IsTerminal, Write};
use std::path::{Path, PathBuf};

use clap::error::ErrorKind;
use clap::{Args, CommandFactory};
use recurrence::{DATE_TIME_FORMS, Draft, Fault, Faults, RecurrenceDraft, Rule, Timestamp, read_date_time};
use wire::preview::Preview;

use crate::document;
use crate::refused::Refused;
use crate::style;
use crate::table;

const EXAMPLES: &str = r#"Examples:
  punctual preview job.json
  punctual preview --now 2027-03-27T12:00:00Z --count 3 job.json
  punctual preview --json - < job.json
  punctual preview --cron '30 9 * * 1-5' --zone Europe/Paris
  echo '{"frequency": "month", "schedule": {"monthDays": [-1]}}' | punctual preview -

FILE holds one of
  a job             {"properties": {"startTime": …, "recurrence": {…}, …}}
  its properties    {"startTime": …, "recurrence": {…}, …}
  its recurrence    {"frequency": "day", "interval": 2, …}

What is wrong with it is said on standard error, one line per fault, and the status is 2."#;

/// More than anybody would read; it is the wrong file then.
const MOST_WARNINGS: usize = 20;

/// Shows when a job would run: a table, or with --json an array of times in UTC.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Options {
    /// A job as JSON: a whole job, its properties or its recurrence; - for standard input
    #[arg(value_name = "FILE", conflicts_with = "cron")]
    file: Option<PathBuf>,

    /// As if it were this time (ISO 8601); by default it is the present
    #[arg(long, value_name = "TIME", value_parser = time)]
    now: Option<Timestamp>,

    /// How many occurrences to show, at most 100000
    #[arg(long, value_name = "N", default_value_t = 10, value_parser = clap::value_parser!(u32).range(1..=100_000))]
    count: u32,

    /// Print a JSON array of times in UTC and nothing else
    #[arg(long)]
    json: bool,

    /// Instead of FILE, a cron expression of five fields
    #[arg(long, value_name = "EXPR")]
    cron: Option<String>,

    /// The time zone of the cron expression, such as Europe/Paris; by default UTC
    #[arg(long, value_name = "ZONE", requires = "cron", conflicts_with = "file")]
    zone: Option<String>,

    /// The time from which the cron expression holds (ISO 8601); by default the present
    #[arg(long, value_name = "TIME", requires = "cron", conflicts_with = "file")]
    start: Option<String>,
}

fn time(text: &str) -> Result<Timestamp, String> {
    read_date_time(text).ok_or_else(|| format!("expected {DATE_TIME_FORMS}"))
}

/// Runs the command.
pub(crate) fn run(options: &Options) -> anyhow::Result<()> {
    let now = options.now.unwrap_or_else(crate::now);
    let preview = match &options.cron {
        Some(cron) => Preview::of(cron_rule(cron, options, now)?, None),
        None => job(&document::read(file(options))?, now)?,
    };
    let rule = preview.rule();
    // One more than is shown, to know whether it was the last.
    let mut occurrences: Vec<_> = rule.occurrences().take(options.count as usize + 1).collect();
    let goes_on = occurrences.len() > options.count as usize;
    occurrences.truncate(options.count as usize);

    let mut out = BufWriter::new(io::stdout().lock());
    if options.json {
        let times = occurrences.iter().map(|occurrence| wire::date_time::write(occurrence.at));
        serde_json::to_writer_pretty(&mut out, &times.collect::<Vec<_>>()).map_err(io::Error::from)?;
        writeln!(out)?;
    } else {
        writeln!(out, "{}.\n", rule.describe())?;
        table::write(&mut out, style::of(&io::stdout()), rule, &occurrences)?;
        writeln!(out, "{}", table::ending(rule, &occurrences, goes_on))?;
        for note in preview.remarks(&occurrences) {
            writeln!(out, "note: {note}")?;
        }
    }
    out.flush()?;
    Ok(())
}

/// The file to read: the one that was named, or standard input if something else is connected to it.
fn file(options: &Options) -> &Path {
    match &options.file {
        Some(file) => file,
        None if io::stdin().is_terminal() => {
            let mut command = crate::Cli::command();
            command.build();
            let preview = command.find_subcommand_mut("preview").expect("this is that command");
            let message = "FILE or --cron is missing; - reads standard input";
            preview.error(ErrorKind::MissingRequiredArgument, message).exit()
        }
        None => Path::new("-"),
    }
}

/// The preview of a document. What is ignored is said even when the rest is wrong.
fn job(document: &serde_json::Value, now: Timestamp) -> Result<Preview, Refused> {
    let shape = wire::recurrence::recognise(document).map_err(|faults| refused(&faults))?;
    let reading = wire::recurrence::read(document, shape);
    let ignored = reading.ignored();
    for path in ignored.iter().take(MOST_WARNINGS) {
        style::say("warning", &format!("{path} is not a member Punctual knows; it is ignored"));
    }
    if let Some(more) = ignored.len().checked_sub(MOST_WARNINGS).filter(|more| *more > 0) {
        style::say("warning", &format!("and {more} more like these"));
    }
    let rule = reading.rule(now).map_err(|faults| refused(&faults))?;
    Ok(Preview::of(rule, reading.state()))
}

/// The rule of a cron expression; its faults name the options.
fn cron_rule(cron: &str, options: &Options, now: Timestamp) -> Result<Rule, Refused> {
    let recurrence = RecurrenceDraft {
        cron: Some(cron.to_owned()),
        time_zone: options.zone.clone(),
        ..Default::default()
    };
    let draft = Draft { start_time: options.start.clone(), recurrence: Some(recurrence) };
    Rule::build(&draft, now).map_err(|faults| {
        let option = |fault: &Fault| match fault.field.as_str() {
            "recurrence.cron" => "--cron".to_owned(),
            "recurrence.timeZone" => "--zone".to_owned(),
            "startTime" => "--start".to_owned(),
            other => other.to_owned(),
        };
        faults.iter().map(|fault| Fault { field: option(fault), ..fault.clone() }.to_string()).collect()
    })
}

fn refused(faults: &Faults) -> Refused {
    faults.iter().map(ToString::to_string).collect()
}
