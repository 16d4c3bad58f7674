//! `punctual bench`: how late, how fast, how large, on this machine.
//!
//! The real store with full sync, the real engine and the real HTTP client, in this process, against a target in this
//! process. Lateness is measured at the target: from the instant an occurrence was due until its request has arrived.
//! `actions` leaves store and engine out and measures what calls cost beside the bare clients of the same libraries. `api`
//! measures a server in a process of its own, from outside, and so does `neighbours`. `cluster` measures nodes on a PostgreSQL database. Beside every
//! measure stands what the machine can do at all, measured in the same run: a bare client that makes the same calls.
//! Nothing here is a test: a machine that is busy with something else gives other numbers, and no verdict.

mod actions;
mod api;
mod bare;
mod ceiling;
mod cluster;
mod counted;
mod fired;
mod idle;
mod neighbours;
mod recover;
mod recurrences;
mod report;
mod served;
mod sinks;
mod stalls;
mod target;
mod usage;
mod world;

use anyhow::{Context, bail};
use clap::{Args, Subcommand};
use jiff::SignedDuration;
use tokio::signal::unix::{Signal, SignalKind, signal};

use fired::{Shape, fired};
use idle::idle;
use recover::recover;
use recurrences::recurrences;
use report::print;

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
        after_help = "Examples:\n  punctual bench steady --rate 100 --seconds 2\n  punctual bench steady --rate 50 --seconds 1 --stored 100 --json"
    )]
    Steady {
        /// Occurrences a second
        #[arg(long, default_value_t = 1000, value_parser = clap::value_parser!(u32).range(1..=100_000))]
        rate: u32,
        /// For how long
        #[arg(long, default_value_t = 20, value_parser = clap::value_parser!(u32).range(1..=3600))]
        seconds: u32,
        /// How often it is measured
        #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=1000))]
        rounds: u32,
        #[command(flatten)]
        beside: Beside,
    },
    /// All at the same instant
    #[command(
        after_help = "Examples:\n  punctual bench herd --jobs 200\n  punctual bench herd --jobs 200 --rounds 1 --json"
    )]
    Herd {
        /// How many
        #[arg(long, default_value_t = 20_000, value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
        jobs: u32,
        /// How often it is measured
        #[arg(long, default_value_t = 3, value_parser = clap::value_parser!(u32).range(1..=1000))]
        rounds: u32,
        #[command(flatten)]
        beside: Beside,
    },
    /// A restart with jobs that became due meanwhile, half of them claimed by a process that died
    #[command(after_help = "Examples:\n  punctual bench recover --jobs 200 --rounds 1")]
    Recover {
        /// How many
        #[arg(long, default_value_t = 20_000, value_parser = clap::value_parser!(u32).range(2..=1_000_000))]
        jobs: u32,
        /// How often it is measured
        #[arg(long, default_value_t = 3, value_parser = clap::value_parser!(u32).range(1..=1000))]
        rounds: u32,
    },
    /// How long the next occurrence of a rule takes to find
    #[command(after_help = "Examples:\n  punctual bench recurrence --questions 1000 --rounds 2")]
    Recurrence {
        /// How often each rule is asked in a round
        #[arg(long, default_value_t = 1_000_000, value_parser = clap::value_parser!(u32).range(1..=1_000_000_000))]
        questions: u32,
        /// How often it is measured
        #[arg(long, default_value_t = 5, value_parser = clap::value_parser!(u32).range(1..=1000))]
        rounds: u32,
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
    /// The same work in every run, for instruments that count instructions
    #[command(after_help = "Examples:\n  punctual bench counted --jobs 50 --occurrences 50")]
    Counted {
        /// How many jobs are written through the API
        #[arg(long, default_value_t = 2000, value_parser = clap::value_parser!(u32).range(0..=100_000))]
        jobs: u32,
        /// How many of them fire
        #[arg(long, default_value_t = 2000, value_parser = clap::value_parser!(u32).range(0..=100_000))]
        occurrences: u32,
    },
    /// Calls a second of the API and how long a page of a list takes, with many jobs stored
    #[command(
        after_help = "Examples:\n  punctual bench api --jobs 300 --calls 100 --pages 3\n  punctual bench api --database \"$PUNCTUAL_TEST_POSTGRES\" --jobs 300 --calls 100 --pages 3"
    )]
    Api {
        /// A PostgreSQL database to keep them in; a schema is made in it, and removed in the end
        #[arg(long, value_name = "URL")]
        database: Option<String>,
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
    /// Whether calls that hang make others late: a job every 250 ms, alone and beside them
    #[command(
        after_help = "Examples:\n  punctual bench neighbours --calls 60 --collections 6 --timeout 2 --seconds 2\n  punctual bench neighbours --database \"$PUNCTUAL_TEST_POSTGRES\" --calls 60 --collections 6 --timeout 2 --seconds 2"
    )]
    Neighbours {
        /// A PostgreSQL database to keep them in; a schema is made in it, and removed in the end
        #[arg(long, value_name = "URL")]
        database: Option<String>,
        /// How many calls hang: in connecting, in TLS, before an answer and within it
        #[arg(long, default_value_t = 1200, value_parser = clap::value_parser!(u32).range(1..=100_000))]
        calls: u32,
        /// How many collections they are of
        #[arg(long, default_value_t = 24, value_parser = clap::value_parser!(u32).range(1..=10_000))]
        collections: u32,
        /// How many addresses they go to
        #[arg(long, default_value_t = 24, value_parser = clap::value_parser!(u32).range(1..=1000))]
        targets: u32,
        /// They come once, and not every minute
        #[arg(long)]
        once: bool,
        /// After how many seconds the server gives up a call
        #[arg(long, default_value_t = 20, value_parser = clap::value_parser!(u32).range(1..=3600))]
        timeout: u32,
        /// For how long a job is due every 250 ms, alone and then beside them
        #[arg(long, default_value_t = 60, value_parser = clap::value_parser!(u32).range(1..=3600))]
        seconds: u32,
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

/// What lies beside what is measured.
#[derive(Debug, Args)]
struct Beside {
    /// Jobs beside them that are not due
    #[arg(long, default_value_t = 0, value_parser = clap::value_parser!(u32).range(0..=100_000_000))]
    stored: u32,
}

pub(crate) fn run(options: &Options) -> anyhow::Result<()> {
    let mut runtime = match options.what {
        What::Counted { .. } => tokio::runtime::Builder::new_current_thread(),
        _ => tokio::runtime::Builder::new_multi_thread(),
    };
    let runtime = runtime.enable_all().build().context("cannot start")?;
    let lines = runtime.block_on(async {
        match &options.what {
            &What::Steady { rate, seconds, rounds, beside: Beside { stored } } => {
                let jobs = rate.saturating_mul(seconds);
                fired(fired::Extent { shape: Shape::Steady { rate }, jobs, stored, rounds }).await
            }
            &What::Herd { jobs, rounds, beside: Beside { stored } } => {
                fired(fired::Extent { shape: Shape::Herd, jobs, stored, rounds }).await
            }
            &What::Recover { jobs, rounds } => recover(jobs, rounds).await,
            &What::Recurrence { questions, rounds } => recurrences(questions, rounds),
            &What::Idle { jobs, seconds } => idle(jobs, seconds).await,
            &What::Counted { jobs, occurrences } => counted::counted(jobs, occurrences).await,
            What::Api { database, jobs, connections, calls, pages } => {
                let (jobs, connections, calls, pages) = (*jobs, *connections, *calls, *pages);
                api::api(api::Extent { database: database.clone(), jobs, connections, calls, pages }).await
            }
            What::Neighbours { database, calls, collections, targets, once, timeout, seconds } => {
                let (calls, collections, targets) = (*calls, *collections, *targets);
                let (database, once, timeout, seconds) = (database.clone(), *once, *timeout, *seconds);
                let extent =
                    neighbours::Extent { database, calls, collections, targets, once, timeout, seconds };
                neighbours::neighbours(extent).await
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

/// Lets a measurement end early when somebody interrupts it: what it has made in a database is then still taken away.
struct Interruption(Signal);

impl Interruption {
    /// From now on an interruption ends nothing but the measurement.
    fn watch() -> anyhow::Result<Self> {
        signal(SignalKind::interrupt()).map(Self).context("cannot wait for an interruption")
    }

    /// What a measurement gives, unless somebody interrupts it, or has done so.
    async fn or<T>(mut self, measuring: impl Future<Output = anyhow::Result<T>>) -> anyhow::Result<T> {
        tokio::select! {
            biased;
            _ = self.0.recv() => bail!("interrupted; nothing was measured to the end"),
            measured = measuring => measured,
        }
    }
}

/// How far ahead the first occurrence is: writing the jobs must be over by then.
fn lead(jobs: u32) -> SignedDuration {
    // Slower than any disk worth measuring.
    SignedDuration::from_millis(3000 + i64::from(jobs) / 2)
}
