//! The cleaner: removes what is older than it must be kept, a little at a time; and looks for jobs that cannot be read as
//! they are stored, so that lists, metrics and the log tell of them before they are due.

use std::sync::Arc;
use std::time::Duration;

use jiff::SignedDuration;
use model::{Clock, Timestamp};
use store::{Retention, Store};
use tokio::time::{Instant, sleep};
use tokio_util::sync::CancellationToken;
use tracing::warn;

use crate::ClockWatch;

/// What the cleaner needs.
pub(crate) struct Cleaner {
    pub(crate) store: Arc<dyn Store>,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) clock_watch: Arc<ClockWatch>,
    pub(crate) keep: Duration,
    pub(crate) history_per_job: u32,
    pub(crate) longest_nap: Duration,
    pub(crate) stop: CancellationToken,
}

/// The least rest between two rounds.
const ROUND: Duration = Duration::from_secs(60);
/// The rest between two steps of a round, in which others use the store: so many times as long as the step took, so that
/// a slow disk is not kept busy with this.
const REST: u32 = 3;
/// The least and the most of it.
const SHORTEST_REST: Duration = Duration::from_millis(20);
const LONGEST_REST: Duration = Duration::from_secs(1);

/// The most jobs that are opened in one step.
const LOOKED_THROUGH: u32 = 250;
/// The rest between two looks through all jobs.
const LOOK_AGAIN: Duration = Duration::from_secs(3600);

/// How far a look through all jobs is.
struct Look {
    after: i64,
    begins: Instant,
}

impl Cleaner {
    /// Cleans until told to stop.
    pub(crate) async fn run(self) {
        let round = ROUND.max(self.longest_nap);
        let mut look = Look { after: 0, begins: Instant::now() };
        loop {
            let began = Instant::now();
            let done = match self.step().await {
                Ok(more) => self.look_through(&mut look).await.map(|looks| more || looks),
                Err(error) => Err(error),
            };
            let rest = match done {
                Ok(true) => (began.elapsed() * REST).clamp(SHORTEST_REST, LONGEST_REST),
                Ok(false) => round,
                Err(error) => {
                    warn!(%error, "cannot clean up; trying again later");
                    round
                }
            };
            tokio::select! {
                () = self.stop.cancelled() => break,
                () = sleep(rest) => {}
            }
        }
    }

    /// Looks through some jobs, where it is time for that; whether there are more.
    async fn look_through(&self, look: &mut Look) -> store::Result<bool> {
        if Instant::now() < look.begins {
            return Ok(false);
        }
        match self.store.look_through(look.after, LOOKED_THROUGH).await? {
            Some(last) => {
                look.after = last;
                Ok(true)
            }
            None => {
                *look = Look { after: 0, begins: Instant::now() + LOOK_AGAIN };
                Ok(false)
            }
        }
    }

    async fn step(&self) -> store::Result<bool> {
        let keep = SignedDuration::try_from(self.keep).unwrap_or(SignedDuration::MAX);
        let now = self.clock_watch.retention_now(self.clock.now());
        let before = now.checked_sub(keep).unwrap_or(Timestamp::MIN);
        self.store.prune(Retention { now, before, history_per_job: self.history_per_job }).await
    }
}
