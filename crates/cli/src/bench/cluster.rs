//! How far nodes on one PostgreSQL database carry, and whether a job that is stored costs those that run anything.
//!
//! The nodes are processes of this binary. The database is filled once for every number of stored jobs; each measurement
//! picks its jobs evenly among them, so that they lie as far apart as jobs do that people wrote over the years. What the
//! first change of a page after a checkpoint costs in the log is most of what depends on the number of jobs. So each is
//! done twice with the same jobs: right after a checkpoint, and once more before the next one. A measurement ends when the
//! last occurrence is settled, and the ledger has to account for each.
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

use self::nodes::{Nodes, TICKS, Used};
use self::yard::{Alone, When, Yard};
use super::bare::HttpClient;
use super::report::{Line, Spread};
use super::sinks::HttpSink;
use super::target::{Arrival, Target};

const OK: &str = "HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok";

/// How many calls a node makes to one target at a time, unless a setting says otherwise.
const CALLS_PER_NODE: u32 = 100;

/// The options of `bench cluster`.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Options {
    /// A PostgreSQL database; a schema is made in it, and removed in the end
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
    /// How often what is due at one instant is measured; the cost is that of all rounds together
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=100))]
    rounds: u32,
}

const EXAMPLES: &str = "Give it a database of its own on this machine: only then its CPU can be told. From a checkout of Punctual,
`scripts/with-postgres` starts one for a command; TEST_POSTGRES_CONF has settings for it:

  TEST_POSTGRES_CONF='fsync = on
  shared_buffers = 1GB' scripts/with-postgres \\
    sh -c 'punctual bench cluster --database \"$PUNCTUAL_TEST_POSTGRES\" --nodes 1,2,4 --stored 10000,1000000'

Examples:
  punctual bench cluster --database \"$PUNCTUAL_TEST_POSTGRES\" --nodes 1 --stored 500,1000 --herd 100 --rate 20 --seconds 1";

/// Measures.
pub(super) async fn cluster(options: &Options) -> anyhow::Result<Vec<Line>> {
    let least = options.stored.iter().min().copied().unwrap_or_default();
    let most = options.herd.max(options.rate * options.seconds);
    if most > least {
        bail!(
            "{most} jobs shall run and only {least} are stored; allowed: --stored of as many as run, or more"
        );
    }
    let yard = Yard::open(&options.database).await?;
    let measured = measure(&yard, options).await;
    let cleared = yard.clear().await;
    let lines = measured?;
    cleared?;
    Ok(lines)
}

async fn measure(yard: &Yard, options: &Options) -> anyhow::Result<Vec<Line>> {
    let mut lines = Vec::new();
    let mut costs = Vec::new();
    let (mut stored, mut nodes) = (options.stored.clone(), options.nodes.clone());
    stored.sort_unstable();
    nodes.sort_unstable();
    for stored in stored {
        let filled = yard.fill_to(stored).await?;
        let name = |what: &str| format!("{stored} stored, {what}");
        lines.extend(filled.map(|filled| Line::new(name("written"), filled, "1/s")));
        let all = options.herd * options.rounds;
        let visits = visits(yard, options).await?;
        for (when, used) in When::BOTH.into_iter().zip(visits.clone()) {
            let what = format!("bare visits {}", when.name());
            lines.extend(cost(&name(&what), all, &used));
            costs.push(Cost { what, stored, used, visits: None });
        }
        let measured = alone(yard, options).await?.into_iter().zip(&visits);
        for (when, (alone, visits)) in When::BOTH.into_iter().zip(measured) {
            let what = format!("alone {}", when.name());
            lines.push(Line::new(name(&format!("{what}, claimed")), f64::from(all) / alone.claiming, "1/s"));
            lines.push(Line::new(name(&format!("{what}, settled")), f64::from(all) / alone.settling, "1/s"));
            lines.extend(cost(&name(&what), all, &alone.used));
            costs.push(Cost { what, stored, used: alone.used, visits: visits.database });
        }
        for &nodes in &nodes {
            let who = if nodes == 1 { "1 node".to_owned() } else { format!("{nodes} nodes") };
            let name = |what: &str| format!("{stored} stored, {who}, {what}");
            let running = yard.start(nodes).await?;
            let measured = herd(yard, &running, options).await?.into_iter().zip(&visits);
            for (when, (herd, visits)) in When::BOTH.into_iter().zip(measured) {
                let what = format!("herd {}", when.name());
                let (rate, ceiling) = (f64::from(all) / herd.seconds, f64::from(all) / herd.bare);
                lines.push(Line::new(name(&format!("{what}, settled")), rate, "1/s"));
                lines.push(Line::new(name(&format!("{what}, bare client")), ceiling, "1/s"));
                lines.push(Line::new(name(&format!("{what}, settled of bare")), rate / ceiling * 100.0, "%"));
                lines.push(Line::new(name(&format!("{what}, latest call")), herd.latest, "ms"));
                lines.extend(cost(&name(&what), all, &herd.used));
                let what = format!("{who}, {what}");
                costs.push(Cost { what, stored, used: herd.used, visits: visits.database });
            }
            let steady = steady(yard, &running, options.rate, options.seconds).await?;
            yard.stop(running).await?;
            for (part, at) in [("min", 0.0), ("p50", 0.5), ("p90", 0.9), ("p99", 0.99), ("max", 1.0)] {
                let name = name(&format!("lateness {part} at {} a second", options.rate));
                lines.push(Line::new(name, steady.lateness.at(at), "ms"));
            }
            lines.extend(cost(&name("steady"), options.rate * options.seconds, &steady.used));
            let what = format!("{who}, steady");
            costs.push(Cost { what, stored, used: steady.used, visits: None });
        }
    }
    lines.extend(growth(&costs));
    Ok(lines)
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

/// Adds up all rounds of a measurement, each made after a checkpoint and once more between two.
async fn rounds<T>(
    yard: &Yard,
    options: &Options,
    measure: impl AsyncFn(&[u32], When) -> anyhow::Result<T>,
    add: impl Fn(T, T) -> T,
) -> anyhow::Result<[T; 2]> {
    let mut sums: Option<[T; 2]> = None;
    for _ in 0..options.rounds {
        let jobs = yard.pick(options.herd);
        let [first, again] = When::BOTH;
        let round = [measure(&jobs, first).await?, measure(&jobs, again).await?];
        sums = Some(match sums {
            None => round,
            Some([first, again]) => {
                let [first_round, again_round] = round;
                [add(first, first_round), add(again, again_round)]
            }
        });
    }
    sums.context("there was no round")
}

async fn visits(yard: &Yard, options: &Options) -> anyhow::Result<[Used; 2]> {
    let store = yard.store().await?;
    let measure = async |jobs: &[u32], when| yard.visit(&store, jobs, when).await;
    let measured = rounds(yard, options, measure, |one, other| one + other).await;
    store.leave().await?;
    measured
}

async fn alone(yard: &Yard, options: &Options) -> anyhow::Result<[Alone; 2]> {
    let add = |one: Alone, other: Alone| Alone {
        claiming: one.claiming + other.claiming,
        settling: one.settling + other.settling,
        used: one.used + other.used,
    };
    let store = yard.store().await?;
    let measured = rounds(yard, options, async |jobs, when| yard.alone(&store, jobs, when).await, add).await;
    store.leave().await?;
    measured
}

struct Herd {
    seconds: f64,
    /// How late the latest call of all began, in milliseconds.
    latest: f64,
    /// Seconds that the bare client took.
    bare: f64,
    used: Used,
}

async fn herd(yard: &Yard, running: &Nodes, options: &Options) -> anyhow::Result<[Herd; 2]> {
    let callers = u32::try_from(running.count())? * CALLS_PER_NODE;
    let sink = HttpSink::start(OK, None).await?;
    let measure = async |jobs: &[u32], when: When| {
        let fired = yard.fire(running, jobs, when, &|begin, _| begin, sink.address).await?;
        // It repeats the first call that has arrived.
        let client = sink.client(None)?;
        let began = SystemClock.now();
        call(&client, options.herd, callers).await?;
        let bare = seconds(began, SystemClock.now());
        Ok(Herd { seconds: fired.seconds, latest: fired.latest, bare, used: fired.used })
    };
    let add = |one: Herd, other: Herd| Herd {
        seconds: one.seconds + other.seconds,
        latest: one.latest.max(other.latest),
        bare: one.bare + other.bare,
        used: one.used + other.used,
    };
    rounds(yard, options, measure, add).await
}

struct Steady {
    lateness: Spread,
    used: Used,
}

async fn steady(yard: &Yard, running: &Nodes, rate: u32, seconds: u32) -> anyhow::Result<Steady> {
    let target = Target::start().await?;
    let step = jiff::SignedDuration::from_secs(1) / i32::try_from(rate)?;
    let due = |begin: Timestamp, i: u32| begin + step * i32::try_from(i).unwrap_or(i32::MAX);
    target.expect(usize::try_from(rate * seconds)?);
    let jobs = yard.pick(rate * seconds);
    let fired = yard.fire(running, &jobs, When::AfterCheckpoint, &due, target.address).await?;
    let arrivals = target.all().await;
    Ok(Steady { lateness: Spread::new(arrivals.iter().map(Arrival::lateness).collect()), used: fired.used })
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
