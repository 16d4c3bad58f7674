//! How far nodes on one PostgreSQL database carry, and whether a job that is stored costs those that run anything.
//!
//! The nodes are processes of this binary. Each number of stored jobs has a schema of its own. A round measures all of them
//! one after the other and compares what it has measured itself, so that a machine which is slower for some minutes is so
//! for all of them. Jobs that run are picked in two ways: *side by side*, the same ones however many others are stored, so
//! that nothing else differs; and *apart*, evenly among them, as jobs lie that people wrote over the years. What the first
//! change of a page after a checkpoint costs in the log is most of what depends on that. So each is done twice with the
//! same jobs: right after a checkpoint, and once more before the next one. A measurement ends when the last occurrence is
//! settled, and the ledger has to account for each.
//!
//! - *bare visits*: rows of jobs read and written by their keys as often as nobody can do without who claims and settles
//!   them: what the machine takes for memory that is cold, whatever else is done;
//! - *alone*: claims and settlements of one store without a call between them: what the database itself carries;
//! - *herd*: all at one instant, called by the nodes, beside the bare client that makes the same calls;
//! - *steady*: evenly spread, after a checkpoint; lateness is measured at the target.

mod nodes;
mod yard;

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use anyhow::{Context, bail};
use clap::Args;
use engine::SystemClock;
use model::{Clock, Timestamp};
use store::Store as _;
use tokio::task::JoinSet;

use self::nodes::{Nodes, Used};
use self::yard::{Lying, When, Yard};
use super::Interruption;
use super::bare::HttpClient;
use super::report::{Line, Spread, over};
use super::sinks::HttpSink;
use super::target::{Arrival, Target};
use super::usage::TICKS;
use crate::progress::Progress;

const OK: &str = "HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok";

/// How many calls a node makes to one target at a time, unless a setting says otherwise.
const CALLS_PER_NODE: u32 = 100;

/// The options of `bench cluster`.
#[derive(Debug, Clone, Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Options {
    /// A PostgreSQL database; a schema is made in it for each number of stored jobs, and removed in the end
    #[arg(long, value_name = "URL")]
    database: String,
    /// How many nodes, one after the other
    #[arg(long, value_delimiter = ',', default_value = "1,2", value_parser = clap::value_parser!(u32).range(1..=64))]
    nodes: Vec<u32>,
    /// How many jobs are stored, one after the other
    #[arg(long, value_delimiter = ',', default_value = "10000,100000", value_parser = clap::value_parser!(u32).range(100..=100_000_000))]
    stored: Vec<u32>,
    /// How many of them are due at one instant
    #[arg(long, default_value_t = 10_000, value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    herd: u32,
    /// How many are due a second, evenly
    #[arg(long, default_value_t = 200, value_parser = clap::value_parser!(u32).range(1..=100_000))]
    rate: u32,
    /// For how long
    #[arg(long, default_value_t = 10, value_parser = clap::value_parser!(u32).range(1..=3600))]
    seconds: u32,
    /// How those that run lie among those that are stored, one after the other
    #[arg(long, value_delimiter = ',', default_value = "side-by-side,apart")]
    lying: Vec<Lying>,
    /// How often all of it is measured
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=100))]
    rounds: u32,
}

const EXAMPLES: &str = "Give it a database of its own on this machine: only then its CPU can be told. From a checkout of Punctual,
`scripts/with-postgres` starts one for a command; TEST_POSTGRES_CONF has settings for it:

  TEST_POSTGRES_CONF='fsync = on
  shared_buffers = 1GB' scripts/with-postgres \\
    sh -c 'punctual bench cluster --database \"$PUNCTUAL_TEST_POSTGRES\" --nodes 1,2,4 --stored 10000,1000000'

Examples:
  punctual bench cluster --database \"$PUNCTUAL_TEST_POSTGRES\" --nodes 1 --stored 500,1000 --herd 100 --rate 20 --seconds 1 --lying apart";

/// Measures.
pub(super) async fn cluster(options: &Options) -> anyhow::Result<Vec<Line>> {
    let least = options.stored.iter().min().copied().unwrap_or_default();
    let most = options.herd.max(options.rate * options.seconds);
    if most > least {
        bail!(
            "{most} jobs shall run and only {least} are stored; allowed: --stored of as many as run, or more"
        );
    }
    let interruption = Interruption::watch()?;
    let mut yards = Vec::new();
    let mut measured = match open(&mut yards, options).await {
        Ok(()) => interruption.or(measure(&mut yards, options)).await,
        Err(fault) => Err(fault),
    };
    for yard in yards {
        let cleared = yard.clear().await;
        measured = measured.and_then(|lines| cleared.map(|()| lines));
    }
    measured
}

/// Makes a place for each number of stored jobs, the smallest first.
async fn open(yards: &mut Vec<Yard>, options: &Options) -> anyhow::Result<()> {
    let mut stored = options.stored.clone();
    stored.sort_unstable();
    stored.dedup();
    for stored in stored {
        let yard = match yards.first() {
            Some(first) => first.another(stored).await?,
            None => Yard::open(&options.database, stored).await?,
        };
        yards.push(yard);
    }
    Ok(())
}

async fn measure(yards: &mut [Yard], options: &Options) -> anyhow::Result<Vec<Line>> {
    let mut lines = Vec::new();
    let Options { mut nodes, mut lying, rounds, .. } = options.clone();
    nodes.sort_unstable();
    nodes.dedup();
    lying.sort_unstable();
    lying.dedup();
    for yard in &mut *yards {
        let rate = yard.fill().await?;
        lines.push(Line::new(format!("{} stored, written", yard.stored()), rate, "1/s"));
    }
    let steps = rounds as usize * yards.len() * lying.len() * (1 + nodes.len());
    let (progress, mut done) = (Progress::of("measured", steps as u64), 0);
    let mut step = || {
        done += 1;
        progress.at(done);
    };
    let mut measured = Vec::new();
    for _ in 0..rounds {
        let mut report = Report::default();
        for (yard, &lying) in yards.iter().flat_map(|yard| lying.iter().map(move |lying| (yard, lying))) {
            let work = Work { yard, options, lying };
            let visits = work.without_calls(&mut report).await?;
            step();
            for &nodes in &nodes {
                work.nodes(nodes, visits, &mut report).await?;
                step();
            }
        }
        report.lines.extend(growth(&report.costs));
        measured.push(report.lines);
    }
    lines.extend(over(measured));
    Ok(lines)
}

/// What was measured in a round.
#[derive(Default)]
struct Report {
    lines: Vec<Line>,
    costs: Vec<Cost>,
}

/// What is done with jobs of a yard that lie in one way.
struct Work<'a> {
    yard: &'a Yard,
    options: &'a Options,
    lying: Lying,
}

impl Work<'_> {
    /// Adds a measurement to what is told, and to what is compared in the end: of how many occurrences it was, and what the
    /// bare visits took that belong to it.
    fn tell(&self, report: &mut Report, what: &str, occurrences: u32, used: Used, visits: Option<f64>) {
        report.lines.extend(cost(&self.name(what), occurrences, &used));
        let what = format!("{}, {what}", self.lying.name());
        report.costs.push(Cost { what, stored: self.yard.stored(), used, visits });
    }

    fn name(&self, what: &str) -> String {
        format!("{} stored, {}, {what}", self.yard.stored(), self.lying.name())
    }

    /// One store: the bare visits, and claims and settlements without calls. What the database took for the visits.
    async fn without_calls(&self, report: &mut Report) -> anyhow::Result<[Option<f64>; 2]> {
        let store = self.yard.store().await?;
        let herd = self.options.herd;
        let jobs = self.yard.pick(herd, self.lying);
        let mut visits = [None; 2];
        for (when, visits) in When::BOTH.into_iter().zip(&mut visits) {
            let used = self.yard.visit(&store, &jobs, when).await?;
            *visits = used.database;
            self.tell(report, &format!("bare visits {}", when.name()), herd, used, None);
        }
        let jobs = self.yard.pick(herd, self.lying);
        for (when, visits) in When::BOTH.into_iter().zip(visits) {
            let alone = self.yard.alone(&store, &jobs, when).await?;
            let what = format!("alone {}", when.name());
            for (part, seconds) in [("claimed", alone.claiming), ("settled", alone.settling)] {
                let name = self.name(&format!("{what}, {part}"));
                report.lines.push(Line::new(name, f64::from(herd) / seconds, "1/s"));
            }
            self.tell(report, &what, herd, alone.used, visits);
        }
        store.leave().await?;
        Ok(visits)
    }

    /// So many nodes: what is spread evenly, and the herd.
    async fn nodes(&self, nodes: u32, visits: [Option<f64>; 2], report: &mut Report) -> anyhow::Result<()> {
        let who = if nodes == 1 { "1 node".to_owned() } else { format!("{nodes} nodes") };
        let running = self.yard.start(nodes).await?;
        // This first: from then on the nodes have connections that were used before, as those of a server are.
        self.steady(&running, &who, report).await?;
        self.herd(&running, &who, visits, report).await?;
        self.yard.stop(running).await
    }

    async fn steady(&self, running: &Nodes, who: &str, report: &mut Report) -> anyhow::Result<()> {
        let Options { rate, seconds, .. } = *self.options;
        let target = Target::start().await?;
        let step = jiff::SignedDuration::from_secs(1) / i32::try_from(rate)?;
        let due = |begin: Timestamp, i: u32| begin + step * i32::try_from(i).unwrap_or(i32::MAX);
        target.expect(usize::try_from(rate * seconds)?);
        let jobs = self.yard.pick(rate * seconds, self.lying);
        let fired = self.yard.fire(running, &jobs, When::AfterCheckpoint, &due, target.address).await?;
        let lateness = Spread::new(target.all().await.iter().map(Arrival::lateness).collect());
        for (part, at) in [("min", 0.0), ("p50", 0.5), ("p90", 0.9), ("p99", 0.99), ("max", 1.0)] {
            let name = self.name(&format!("{who}, lateness {part} at {rate} a second"));
            report.lines.push(Line::new(name, lateness.at(at), "ms"));
        }
        self.tell(report, &format!("{who}, steady"), rate * seconds, fired.used, None);
        Ok(())
    }

    async fn herd(
        &self,
        running: &Nodes,
        who: &str,
        visits: [Option<f64>; 2],
        report: &mut Report,
    ) -> anyhow::Result<()> {
        let callers = u32::try_from(running.count())? * CALLS_PER_NODE;
        let herd = self.options.herd;
        let jobs = self.yard.pick(herd, self.lying);
        let sink = HttpSink::start(OK, None).await?;
        for (when, visits) in When::BOTH.into_iter().zip(visits) {
            let fired = self.yard.fire(running, &jobs, when, &|begin, _| begin, sink.address).await?;
            // It repeats the first call that has arrived.
            let client = sink.client(None)?;
            let began = SystemClock.now();
            call(&client, herd, callers).await?;
            let ceiling = f64::from(herd) / seconds(began, SystemClock.now());
            let rate = f64::from(herd) / fired.seconds;
            let what = format!("{who}, herd {}", when.name());
            let name = |part: &str| self.name(&format!("{what}, {part}"));
            report.lines.push(Line::new(name("settled"), rate, "1/s"));
            report.lines.push(Line::new(name("bare client"), ceiling, "1/s"));
            report.lines.push(Line::new(name("settled of bare"), rate / ceiling * 100.0, "%"));
            report.lines.push(Line::new(name("latest call"), fired.latest, "ms"));
            self.tell(report, &what, herd, fired.used, visits);
        }
        Ok(())
    }
}

/// What an occurrence has cost.
fn cost(name: &str, occurrences: u32, used: &Used) -> Vec<Line> {
    let each = |all: f64| all / f64::from(occurrences);
    let mut lines = Vec::new();
    lines.extend(used.nodes.map(|cpu| Line::new(format!("{name}, CPU of nodes"), each(cpu) * 1e6, "µs")));
    lines.extend(
        used.database.map(|cpu| Line::new(format!("{name}, CPU of database"), each(cpu) * 1e6, "µs")),
    );
    lines.push(Line::new(format!("{name}, WAL"), each(used.wal), "bytes"));
    if let Some(log) = used.log {
        lines.push(Line::new(format!("{name}, WAL, whole pages"), each(log.whole_pages as f64), "bytes"));
        lines.push(Line::new(format!("{name}, WAL, records"), each(log.records as f64), ""));
    }
    lines
}

/// What something has cost with so many jobs stored.
struct Cost {
    what: String,
    stored: u32,
    used: Used,
    /// Seconds of CPU that bare visits took of as many jobs at the same distance from a checkpoint.
    visits: Option<f64>,
}

impl Cost {
    /// Seconds of CPU of nodes and database.
    fn together(&self) -> Option<f64> {
        Some(self.used.nodes? + self.used.database?)
    }

    /// The same without bare visits; `None` where nothing is left that could be counted.
    fn besides_visits(&self) -> Option<f64> {
        Some(self.together()? - self.visits?).filter(|rest| *rest * TICKS > 0.5)
    }
}

/// What it costs with the most jobs stored, of what it costs with the fewest.
fn growth(costs: &[Cost]) -> Vec<Line> {
    let mut lines = Vec::new();
    let Some((fewest, most)) =
        costs.first().zip(costs.last()).map(|(first, last)| (first.stored, last.stored))
    else {
        return lines;
    };
    for before in costs.iter().filter(|cost| cost.stored == fewest && fewest < most) {
        let what = &before.what;
        let Some(after) = costs.iter().find(|cost| cost.what == *what && cost.stored == most) else {
            continue;
        };
        let both = |value: fn(&Cost) -> Option<f64>| value(before).zip(value(after));
        let parts = [
            ("CPU of nodes", both(|cost| cost.used.nodes)),
            ("CPU of database", both(|cost| cost.used.database)),
            ("CPU together", both(Cost::together)),
            ("CPU together besides bare visits", both(Cost::besides_visits)),
            ("WAL", both(|cost| Some(cost.used.wal))),
            ("WAL without whole pages", both(|cost| cost.used.wal_of_records())),
        ];
        for (part, both) in parts {
            let both = both.filter(|(before, _)| *before > 0.0);
            lines.extend(both.map(|(before, after)| {
                Line::new(format!("{what}, {part}, {most} of {fewest} stored"), after / before * 100.0, "%")
            }));
        }
    }
    lines
}

/// From one instant to another; never none, so that it can be divided by.
fn seconds(began: Timestamp, ended: Timestamp) -> f64 {
    began.duration_until(ended).as_secs_f64().max(1e-6)
}

/// Makes calls with the bare client, so many at a time.
async fn call(client: &HttpClient, calls: u32, concurrency: u32) -> anyhow::Result<()> {
    let begun = Arc::new(AtomicU32::new(0));
    let mut callers = JoinSet::new();
    for _ in 0..concurrency {
        let (begun, client) = (begun.clone(), client.clone());
        callers.spawn(async move {
            while begun.fetch_add(1, Ordering::Relaxed) < calls {
                client.call().await?;
            }
            anyhow::Ok(())
        });
    }
    while let Some(ended) = callers.join_next().await {
        ended.context("a caller ended early")??;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_is_told_besides_bare_visits_where_nothing_is_left() {
        let besides_visits = |database, visits| {
            let used = Used { nodes: Some(0.1), database: Some(database), wal: 0.0, log: None };
            Cost { what: "herd".to_owned(), stored: 1, used, visits: Some(visits) }.besides_visits()
        };
        assert_eq!(besides_visits(0.5, 0.25), Some(0.35));
        assert_ne!(0.1 + 0.2 - 0.3, 0.0, "rounding leaves something");
        assert_eq!(besides_visits(0.2, 0.3), None, "what is left is rounding");
        assert_eq!(besides_visits(0.1, 0.3), None, "less than nothing is left");
    }
}
