//! The claimer: asks the store what is due soon, before it is due.

use std::sync::Arc;
use std::time::Duration;

use jiff::SignedDuration;
use model::{Clock, Timestamp};
use store::{Claim, Store};
use tokio::sync::mpsc;
use tokio::time::{Instant, sleep};
use tokio_util::sync::CancellationToken;
use tracing::{error, info};

use crate::Numbers;
use crate::pulse::Beat;

/// What the claimer needs.
pub(crate) struct Claimer {
    pub(crate) store: Arc<dyn Store>,
    pub(crate) clock: Arc<dyn Clock>,
    /// How long before it is due something is claimed.
    pub(crate) horizon: Duration,
    /// The most executions of one claim.
    pub(crate) batch: u32,
    /// No sleep is longer than this, so that a clock that was set is noticed.
    pub(crate) longest_nap: Duration,
    pub(crate) claims: mpsc::Sender<Claim>,
    pub(crate) numbers: Arc<Numbers>,
    pub(crate) beat: Beat,
    pub(crate) stop: CancellationToken,
}

/// How long a store that failed is left alone.
const TROUBLED_NAP: Duration = Duration::from_secs(1);

/// What to do after a claim.
#[derive(Debug, PartialEq, Eq)]
enum Next {
    /// There is more.
    AtOnce,
    /// Nothing before then.
    Nap(Duration),
}

impl Claimer {
    /// Claims until told to stop.
    pub(crate) async fn run(self) {
        let mut bell = self.store.bell().listen();
        let mut troubled = false;
        loop {
            self.beat.beat();
            // Whatever rings from here on is heard, even while we look.
            bell.mark_unchanged();
            let next = match self.claim().await {
                Ok(next) => {
                    if std::mem::take(&mut troubled) {
                        info!("the store answers again");
                    }
                    next
                }
                Err(error) => {
                    self.numbers.failed_claims.count();
                    // Once is enough: a store that is away for an hour must not fill the log.
                    if !std::mem::replace(&mut troubled, true) {
                        error!(%error, "cannot claim what is due; trying again");
                    }
                    Next::Nap(self.longest_nap.min(TROUBLED_NAP))
                }
            };
            let Next::Nap(nap) = next else { continue };
            tokio::select! {
                () = self.stop.cancelled() => break,
                rung = bell.changed() => if rung.is_err() { break },
                () = sleep(nap) => {}
            }
        }
    }

    /// One look at the store.
    async fn claim(&self) -> store::Result<Next> {
        let now = self.clock.now();
        let until = later(now, self.horizon);
        let began = Instant::now();
        let claimed = self.store.claim_due(now, until, self.batch).await?;
        self.numbers.claims.time(began.elapsed());
        if !claimed.claims.is_empty() {
            self.numbers.claimed.add(claimed.claims.len() as u64);
        }
        // Of what there is more of, the soonest is not known: it is due about when the last that was claimed is.
        let last = claimed.claims.last().filter(|_| claimed.more);
        let last = last.and_then(|claim| claim.execution.wake_at);
        self.numbers.note_unclaimed(last.or(claimed.next_at));
        for claim in claimed.claims {
            // Nobody listens only when we are stopping; the store hands these out again.
            if self.claims.send(claim).await.is_err() {
                self.stop.cancelled().await;
                return Ok(Next::Nap(self.longest_nap));
            }
        }
        Ok(if claimed.more && !self.stop.is_cancelled() {
            Next::AtOnce
        } else {
            Next::Nap(nap(now, claimed.next_at, self.horizon, self.longest_nap))
        })
    }
}

/// Until what is next comes within the horizon, but never long.
fn nap(now: Timestamp, next_at: Option<Timestamp>, horizon: Duration, longest: Duration) -> Duration {
    /// What could not be claimed yet though it is near is asked for again after this.
    const SHORTEST: Duration = Duration::from_millis(1);
    let Some(next_at) = next_at else { return longest };
    let away = Duration::try_from(now.duration_until(next_at)).unwrap_or_default();
    // Half a horizon early is early enough, and saves looking for each occurrence by itself.
    let wait = if away > horizon { away - horizon / 2 } else { away };
    wait.clamp(SHORTEST, longest)
}

fn later(at: Timestamp, by: Duration) -> Timestamp {
    SignedDuration::try_from(by).ok().and_then(|by| at.checked_add(by).ok()).unwrap_or(Timestamp::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn naps_end_before_something_is_due() {
        let now: Timestamp = "2027-01-01T00:00:00Z".parse().expect("valid");
        let ms = Duration::from_millis;
        for (next_in, expected) in [
            (None, ms(1000)),
            (Some(86_400_000), ms(1000)),
            (Some(2_500), ms(1000)),
            (Some(2_001), ms(1000)),
            (Some(400), ms(400)),
            (Some(0), ms(1)),
            (Some(-5_000), ms(1)),
        ] {
            let next_at = next_in.map(|ms| now + SignedDuration::from_millis(ms));
            assert_eq!(nap(now, next_at, ms(2000), ms(1000)), expected, "{next_in:?}");
        }
    }
}
