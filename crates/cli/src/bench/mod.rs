//! `punctual bench`: how late, how fast, how large, on this machine.
//!
//! The real store with full sync, the real engine and the real HTTP client, in this process, against a target in this
//! process. Lateness is measured at the target: from the instant an occurrence was due until its request has arrived.
//! `actions` leaves store and engine out and measures what calls cost beside the bare clients of the same libraries. `api`
//! measures a server in a process of its own, from outside. `cluster` measures nodes on a PostgreSQL database.
//! Nothing here is a test: a machine that is busy with something else gives other numbers, and no verdict.

mod actions;
mod api;
mod bare;
mod cluster;
mod idle;
mod report;
mod served;
mod sinks;
mod target;
mod world;

use anyhow::{Context, bail};
use clap::{Args, Subcommand};
use engine::SystemClock;
use jiff::SignedDuration;
use model::Clock;

use idle::idle;
use report::{Line, print};
use target::Target;
use world::World;

/// The options of `bench`.
#[derive(Debug, Args)]
pub(crate) struct Options {
    #[command(subcommand)]
    what: What,
    /// Print JSON
    #[arg(long, global = true)]
    json: bool,
}

#[derive(Debug, Subcommand)]
enum What {
    /// So many occurrences a second, evenly
    #[command(
        after_help = "Examples:\n  punctual bench steady --rate 100 --seconds 2\n  punctual bench steady --rate 50 --seconds 1 --json"
    )]
    Steady {
        /// Occurrences a second
        #[arg(long, default_value_t = 1000, value_parser = clap::value_parser!(u32).range(1..=100_000))]
        rate: u32,
        /// For how long
        #[arg(long, default_value_t = 20, value_parser = clap::value_parser!(u32).range(1..=3600))]
        seconds: u32,
    },
    /// All at the same instant
    #[command(after_help = "Examples:\n  punctual bench herd --jobs 200")]
    Herd {
        /// How many
        #[arg(long, default_value_t = 10_000, value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
        jobs: u32,
    },
    /// Many stored jobs of which few are due
    #[command(after_help = "Examples:\n  punctual bench idle --jobs 1000 --seconds 3")]
    Idle {
        /// How many are stored
        #[arg(long, default_value_t = 1_000_000, value_parser = clap::value_parser!(u32).range(1..=100_000_000))]
        jobs: u32,
        /// How long it is watched while it only waits, after a third of that right after its start
        #[arg(long, default_value_t = 30, value_parser = clap::value_parser!(u32).range(3..=3600))]
        seconds: u32,
    },
    /// Calls a second of the API and how long a page of a list takes, with many jobs stored
    #[command(after_help = "Examples:\n  punctual bench api --jobs 300 --calls 100 --pages 3")]
    Api {
        /// How many are stored
        #[arg(long, default_value_t = 100_000, value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
        jobs: u32,
        /// How many connections call at the same time
        #[arg(long, default_value_t = 64, value_parser = clap::value_parser!(u32).range(1..=1000))]
        connections: u32,
        /// Calls of each kind
        #[arg(long, default_value_t = 20_000, value_parser = clap::value_parser!(u32).range(1..=10_000_000))]
        calls: u32,
        /// How often each list is asked for a page
        #[arg(long, default_value_t = 200, value_parser = clap::value_parser!(u32).range(1..=100_000))]
        pages: u32,
    },
    /// Nodes on a PostgreSQL database, with more and more jobs stored
    Cluster(cluster::Options),
    /// Calls a second of each kind of action, beside the bare client of the same library
    #[command(
        after_help = "Examples:\n  punctual bench actions --calls 100 --rounds 2\n  punctual bench actions --calls 100 --rounds 2 --only http --only service-bus-amqp --json"
    )]
    Actions {
        /// Only this kind of action; can be given several times
        #[arg(long, value_name = "KIND", value_enum)]
        only: Vec<actions::Kind>,
        /// Calls of each client in a round
        #[arg(long, default_value_t = 20_000, value_parser = clap::value_parser!(u32).range(1..=10_000_000))]
        calls: u32,
        /// How many are under way at a time
        #[arg(long, default_value_t = 64, value_parser = clap::value_parser!(u32).range(1..=10_000))]
        concurrency: u32,
        /// How often both are measured, in turns
        #[arg(long, default_value_t = 9, value_parser = clap::value_parser!(u32).range(1..=1000))]
        rounds: u32,
    },
}

pub(crate) fn run(options: &Options) -> anyhow::Result<()> {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().context("cannot start")?;
    let lines = runtime.block_on(async {
        match &options.what {
            &What::Steady { rate, seconds } => steady(rate, seconds).await,
            &What::Herd { jobs } => herd(jobs).await,
            &What::Idle { jobs, seconds } => idle(jobs, seconds).await,
            &What::Api { jobs, connections, calls, pages } => {
                api::api(api::Extent { jobs, connections, calls, pages }).await
            }
            What::Cluster(options) => cluster::cluster(options).await,
            What::Actions { only, calls, concurrency, rounds } => {
                let (calls, concurrency, rounds) = (*calls, *concurrency as usize, *rounds);
                actions::actions(actions::Extent { calls, concurrency, rounds }, only).await
            }
        }
    })?;
    print(&lines, options.json)
}

/// How far ahead the first occurrence is: writing the jobs must be over by then.
fn lead(jobs: u32) -> SignedDuration {
    // Slower than any disk worth measuring.
    SignedDuration::from_millis(3000 + i64::from(jobs) / 2)
}

async fn steady(rate: u32, seconds: u32) -> anyhow::Result<Vec<Line>> {
    let folder = tempfile::tempdir()?;
    let target = Target::start().await?;
    let world = World::open(folder.path())?;
    let jobs = rate * seconds;
    let begin = SystemClock.now() + lead(jobs);
    let step = SignedDuration::from_secs(1) / i32::try_from(rate)?;
    let dues = (0..jobs).map(|i| begin + step * i32::try_from(i).unwrap_or(i32::MAX));
    fire(world, &target, dues, jobs).await
}

async fn herd(jobs: u32) -> anyhow::Result<Vec<Line>> {
    let folder = tempfile::tempdir()?;
    let target = Target::start().await?;
    let world = World::open(folder.path())?;
    let begin = SystemClock.now() + lead(jobs);
    fire(world, &target, (0..jobs).map(|_| begin), jobs).await
}

/// Writes one job for each instant, runs them, and reports.
async fn fire(
    world: World,
    target: &Target,
    dues: impl Iterator<Item = model::Timestamp>,
    jobs: u32,
) -> anyhow::Result<Vec<Line>> {
    let written = world.write_jobs(dues.map(|due| (due, target.address)), jobs).await?;
    let engine = world.run()?;
    let cpu = report::cpu_seconds();
    let first = target.until(1).await;
    let last = target.until(jobs as usize).await;
    world.until_settled(jobs).await?;
    let settled = SystemClock.now();
    let cpu = report::cpu_seconds() - cpu;
    engine.stop().await;
    let lateness = target.lateness();
    let fates = world.fates().await?;
    if fates.values().sum::<u64>() != u64::from(jobs) {
        bail!("the ledger does not account for all {jobs} occurrences: {fates:?}");
    }
    let span = |from: model::Timestamp, to| from.duration_until(to).as_secs_f64();
    Ok(vec![
        Line::new("jobs written a second", written, "1/s"),
        Line::new("occurrences", f64::from(jobs), ""),
        Line::new("arrived a second", f64::from(jobs) / span(first, last).max(1e-3), "1/s"),
        Line::new("settled a second", f64::from(jobs) / span(first, settled).max(1e-3), "1/s"),
        Line::new("lateness min", lateness.at(0.0), "ms"),
        Line::new("lateness p50", lateness.at(0.5), "ms"),
        Line::new("lateness p90", lateness.at(0.9), "ms"),
        Line::new("lateness p99", lateness.at(0.99), "ms"),
        Line::new("lateness max", lateness.at(1.0), "ms"),
        Line::new("CPU per occurrence, target included", cpu / f64::from(jobs) * 1e6, "µs"),
        Line::new("peak memory", report::peak_memory(), "MB"),
    ])
}
