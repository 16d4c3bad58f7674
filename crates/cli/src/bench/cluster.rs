//! How far nodes on one PostgreSQL database carry, and whether a job that is stored costs those that run anything.
//!
//! The nodes are processes of this binary. The database is filled once for every number of stored jobs; each measurement
//! picks its jobs evenly among them, so that they lie as far apart as jobs do that people wrote over the years. Before
//! each, the database writes its pages to its files: what the first change of a page costs in its log is paid in every
//! measurement alike. A measurement ends when the last occurrence is settled, and the ledger has to account for each.
//!
//! - *alone*: claims and settlements of one store without a call between them: what the database itself carries;
//! - *herd*: all at one instant, called by the nodes, beside the bare client that makes the same calls;
//! - *steady*: evenly spread; lateness is measured at the target.

mod nodes;
mod yard;

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use anyhow::{Context, bail};
use clap::Args;
use engine::SystemClock;
use model::{Clock, Timestamp};
use tokio::task::JoinSet;

use self::nodes::Used;
use self::yard::Yard;
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
        let alone = yard.alone(options.herd).await?;
        lines.push(Line::new(name("alone, claimed"), alone.claimed, "1/s"));
        lines.push(Line::new(name("alone, settled"), alone.settled, "1/s"));
        lines.extend(cost(&name("alone"), options.herd, &alone.used));
        costs.push(("alone".to_owned(), stored, alone.used));
        for &nodes in &nodes {
            let who = if nodes == 1 { "1 node".to_owned() } else { format!("{nodes} nodes") };
            let name = |what: &str| format!("{stored} stored, {who}, {what}");
            let herd = herd(yard, nodes, options.herd).await?;
            lines.push(Line::new(name("herd settled"), herd.rate, "1/s"));
            lines.push(Line::new(name("herd, bare client"), herd.ceiling, "1/s"));
            lines.push(Line::new(name("herd settled of bare"), herd.rate / herd.ceiling * 100.0, "%"));
            lines.extend(cost(&name("herd"), options.herd, &herd.used));
            costs.push((format!("{who}, herd"), stored, herd.used));
            let steady = steady(yard, nodes, options.rate, options.seconds).await?;
            for (part, at) in [("min", 0.0), ("p50", 0.5), ("p90", 0.9), ("p99", 0.99), ("max", 1.0)] {
                let name = name(&format!("lateness {part} at {} a second", options.rate));
                lines.push(Line::new(name, steady.lateness.at(at), "ms"));
            }
            lines.extend(cost(&name("steady"), options.rate * options.seconds, &steady.used));
            costs.push((format!("{who}, steady"), stored, steady.used));
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

/// What it costs with the most jobs stored, of what it costs with the fewest.
fn growth(costs: &[(String, u32, Used)]) -> Vec<Line> {
    let mut lines = Vec::new();
    let Some((fewest, most)) = costs.first().zip(costs.last()).map(|(first, last)| (first.1, last.1)) else {
        return lines;
    };
    for (name, _, before) in costs.iter().filter(|(_, stored, _)| *stored == fewest && fewest < most) {
        let after = costs.iter().find(|(other, stored, _)| other == name && *stored == most);
        let Some((.., after)) = after else { continue };
        let parts = [
            ("CPU of nodes", before.nodes.zip(after.nodes)),
            ("CPU of database", before.database.zip(after.database)),
            ("WAL", Some((before.wal, after.wal))),
            ("WAL without whole pages", before.wal_of_records().zip(after.wal_of_records())),
        ];
        for (what, both) in parts {
            let both = both.filter(|(before, _)| *before > 0.0);
            lines.extend(both.map(|(before, after)| {
                Line::new(format!("{name}, {what}, {most} of {fewest} stored"), after / before * 100.0, "%")
            }));
        }
    }
    lines
}

struct Herd {
    rate: f64,
    /// Calls a second of the bare client.
    ceiling: f64,
    used: Used,
}

async fn herd(yard: &Yard, nodes: u32, jobs: u32) -> anyhow::Result<Herd> {
    let sink = HttpSink::start(OK, None).await?;
    let fired = yard.fire(nodes, jobs, &|begin, _| begin, sink.address).await?;
    let client = sink.client(None)?;
    let began = SystemClock.now();
    call(&client, jobs, nodes * CALLS_PER_NODE).await?;
    Ok(Herd {
        rate: rate(jobs, fired.began, fired.settled),
        ceiling: rate(jobs, began, SystemClock.now()),
        used: fired.used,
    })
}

struct Steady {
    lateness: Spread,
    used: Used,
}

async fn steady(yard: &Yard, nodes: u32, rate: u32, seconds: u32) -> anyhow::Result<Steady> {
    let target = Target::start().await?;
    let step = jiff::SignedDuration::from_secs(1) / i32::try_from(rate)?;
    let due = |begin: Timestamp, i: u32| begin + step * i32::try_from(i).unwrap_or(i32::MAX);
    target.expect(usize::try_from(rate * seconds)?);
    let fired = yard.fire(nodes, rate * seconds, &due, target.address).await?;
    let arrivals = target.all().await;
    Ok(Steady { lateness: Spread::new(arrivals.iter().map(Arrival::lateness).collect()), used: fired.used })
}

fn rate(count: u32, began: Timestamp, ended: Timestamp) -> f64 {
    f64::from(count) / began.duration_until(ended).as_secs_f64().max(1e-6)
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
