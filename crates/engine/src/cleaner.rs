//! The cleaner: removes what is older than it must be kept, a little at a time.

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

impl Cleaner {
    /// Cleans until told to stop.
    pub(crate) async fn run(self) {
        let round = ROUND.max(self.longest_nap);
        loop {
            let began = Instant::now();
            let rest = match self.step().await {
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

    async fn step(&self) -> store::Result<bool> {
        let keep = SignedDuration::try_from(self.keep).unwrap_or(SignedDuration::MAX);
        let now = self.clock_watch.retention_now(self.clock.now());
        let before = now.checked_sub(keep).unwrap_or(Timestamp::MIN);
        self.store.prune(Retention { now, before, history_per_job: self.history_per_job }).await
    }
}
