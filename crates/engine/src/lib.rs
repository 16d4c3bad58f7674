//! Who watches the clock?
//!
//! An [`Engine`] claims occurrences shortly before they are due, fires each on its instant, and settles what came of it.
//! It knows neither SQL nor HTTP: a [`Store`] keeps, a [`Runner`] calls, a [`Clock`] tells the time.
//!
//! ```text
//! claimer ──claims──▶ dispatcher ──attempts──▶ settler
//!    ▲                    │ fires                 │
//!    └───────────── store (bell) ◀────────────────┘
//! ```
//!
//! The claimer looks a horizon ahead, in batches; the dispatcher holds only those few seconds in memory, however many
//! jobs are stored. Retries, error actions and runs asked for by hand enter at the same claim.
//!
//! Who wants to see it at work hands it a [`Watched`]: the attempts of this moment and word of each, what is counted, and
//! whether each part of it is alive.
//!
//! # Stopping
//!
//! [`Engine::stop`] has two stages: nothing new begins and what has not begun is handed back; then what is in flight
//! may finish and is settled. What does not finish in time is repeated after the next start, with the same tag.

#![forbid(unsafe_code)]

mod alarm;
mod calls;
mod claimer;
mod cleaner;
mod clock;
mod clock_watch;
mod dispatcher;
#[cfg(test)]
mod embedded;
mod lanes;
mod numbered;
mod numbers;
mod pulse;
mod queues;
mod settler;
mod shares;
mod under_way;

use std::sync::Arc;
use std::time::Duration;

use actions::{Runner, Sampling};
use model::Clock;
use model::transition::Patience;
use store::Store;
use tokio::sync::mpsc;
use tokio::task::JoinHandle;
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;
use tracing::warn;

pub use calls::occurrence_span;
pub use clock::{SimulatedClock, SystemClock};
pub use clock_watch::{ClockTrouble, ClockWatch, lasting};
pub use lanes::{Bounds, Wait};
pub use numbers::{CollectionNumbers, KINDS, Numbers, OUTCOMES};
pub use pulse::{Ailing, Pulse};
pub use queues::{Queue, Queues};
pub use under_way::{Begun, UnderWay, Word};

/// What an operator may change.
#[derive(Debug, Clone)]
pub struct Settings {
    /// How long before it is due an occurrence is claimed.
    pub horizon: Duration,
    /// The most executions of one claim, and attempts of one settlement.
    pub batch: u32,
    /// How long an attempt that has ended may wait for others that are written with it, while those are few; a tenth of it
    /// while they are not. With none, each is written at once.
    pub settle_within: Duration,
    /// The longest sleep without a look at clock and store, so that a clock that was set is noticed.
    pub longest_nap: Duration,
    /// How many calls may run at once.
    pub bounds: Bounds,
    /// How long history, ledger and ended jobs are kept.
    pub keep: Duration,
    /// The most history entries of one job.
    pub history_per_job: u32,
    /// Later than this is too late for jobs that do not want to be late.
    pub late_after: Duration,
    /// How long a stop waits for calls in flight.
    pub drain: Duration,
    /// Which occurrences are traced; `None` where nobody wants traces.
    pub traces: Option<Sampling>,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            horizon: Duration::from_secs(2),
            batch: 1000,
            settle_within: Duration::from_millis(100),
            longest_nap: Duration::from_secs(1),
            bounds: Bounds { overall: 1000, per_collection: 200, per_target: 100 },
            keep: Duration::from_secs(60 * 86_400),
            history_per_job: 1000,
            late_after: Patience::default().late_after,
            drain: Duration::from_secs(25),
            traces: None,
        }
    }
}

/// What whoever watches an engine sees.
#[derive(Debug, Clone, Default)]
pub struct Watched {
    /// The attempts of this moment.
    pub under_way: Arc<UnderWay>,
    /// What was counted.
    pub numbers: Arc<Numbers>,
    /// Whether all of it is alive.
    pub pulse: Arc<Pulse>,
    /// Which calls run and which wait.
    pub queues: Queues,
    /// Whether the clock goes right, once it is watched.
    pub clock: Arc<ClockWatch>,
}

/// A running engine.
#[derive(Debug)]
pub struct Engine {
    stop: CancellationToken,
    drain: Duration,
    pulse: Arc<Pulse>,
    tasks: Vec<JoinHandle<()>>,
}

impl Engine {
    /// Starts watching the clock.
    pub fn start(
        store: Arc<dyn Store>,
        runner: Arc<dyn Runner>,
        clock: Arc<dyn Clock>,
        settings: Settings,
    ) -> Self {
        Self::start_watched(store, runner, clock, settings, Watched::default())
    }

    /// The same; what it does can be seen in `watched`.
    pub fn start_watched(
        store: Arc<dyn Store>,
        runner: Arc<dyn Runner>,
        clock: Arc<dyn Clock>,
        settings: Settings,
        watched: Watched,
    ) -> Self {
        let Watched { under_way, numbers, pulse, queues, clock: clock_watch } = watched;
        let part = |name| pulse.part(name, settings.longest_nap);
        let stop = CancellationToken::new();
        let batch = settings.batch as usize;
        // A full channel makes the claimer wait: what is due in the next seconds is bounded, not what is stored.
        let (claims, claimed) = mpsc::channel(4 * batch);
        let (attempts, attempted) = mpsc::unbounded_channel();
        let claimer = claimer::Claimer {
            store: store.clone(),
            clock: clock.clone(),
            horizon: settings.horizon,
            batch: settings.batch,
            longest_nap: settings.longest_nap,
            claims,
            numbers: numbers.clone(),
            beat: part("claimer"),
            stop: stop.clone(),
        };
        let caller = calls::Caller {
            runner,
            clock: clock.clone(),
            traces: settings.traces,
            attempts,
            under_way: under_way.clone(),
            numbers: numbers.clone(),
            late_after: settings.late_after,
        };
        let dispatcher = dispatcher::Dispatcher {
            caller,
            clock: clock.clone(),
            store: store.clone(),
            bounds: settings.bounds,
            queues,
            longest_nap: settings.longest_nap,
            claims: claimed,
            beat: part("dispatcher"),
            stop: stop.clone(),
        };
        let settler = settler::Settler {
            store: store.clone(),
            attempts: attempted,
            batch,
            within: settings.settle_within,
            under_way,
            numbers,
            beat: part("settler"),
        };
        let cleaner = cleaner::Cleaner {
            store,
            clock,
            clock_watch,
            keep: settings.keep,
            history_per_job: settings.history_per_job,
            longest_nap: settings.longest_nap,
            stop: stop.clone(),
        };
        let tasks = vec![
            tokio::spawn(claimer.run()),
            tokio::spawn(dispatcher.run()),
            tokio::spawn(settler.run()),
            tokio::spawn(cleaner.run()),
        ];
        Self { stop, drain: settings.drain, pulse, tasks }
    }

    /// Stops: begins nothing new, waits for what is in flight, settles it. Whether all of it ended in time.
    pub async fn stop(self) -> bool {
        self.pulse.stop();
        self.stop.cancel();
        let aborts: Vec<_> = self.tasks.iter().map(JoinHandle::abort_handle).collect();
        let ended = timeout(self.drain, async {
            for task in self.tasks {
                // A task that panicked has said so itself; the others still have to end.
                let _ = task.await;
            }
        });
        let in_time = ended.await.is_ok();
        if !in_time {
            warn!(
                "some calls did not end in time; they are repeated after the next start, with the same tag"
            );
            for task in aborts {
                task.abort();
            }
        }
        in_time
    }
}
