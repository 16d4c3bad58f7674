//! Leases: how long a node may hold claims without a word from the database.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::time::Instant;

/// A moment, by the two clocks that a lease goes by.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Moment {
    /// By the monotonic clock, which stands still while the machine is suspended.
    pub(crate) steady: Instant,
    /// Since the machine was started, with the time that it was suspended.
    since_boot: Duration,
}

impl Moment {
    /// This moment.
    pub(crate) fn now() -> Self {
        Self { steady: Instant::now(), since_boot: since_boot() }
    }

    /// How long ago it was, by the clock that counted more.
    fn elapsed(&self) -> Duration {
        let now = Self::now();
        let steady = now.steady.saturating_duration_since(self.steady);
        steady.max(now.since_boot.saturating_sub(self.since_boot))
    }
}

#[cfg(target_os = "linux")]
fn since_boot() -> Duration {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::Boottime);
    Duration::new(time.tv_sec.unsigned_abs(), u32::try_from(time.tv_nsec).unwrap_or(0))
}

/// Elsewhere there is no such clock that all systems have, and the monotonic one has to do.
#[cfg(not(target_os = "linux"))]
fn since_boot() -> Duration {
    Duration::ZERO
}

/// The lease of one start of a node, by the node's own clocks.
///
/// A node cannot be told that its lease has ended: it may have been stopped, suspended, or cut off. So it looks for
/// itself before every call. Its clocks begin to count before the database's does, and its length is a little shorter
/// there; so it ends here first.
#[derive(Debug)]
pub(crate) struct Lease {
    epoch: i64,
    length: Duration,
    /// When it was last asked for; `None` once it has ended.
    asked_at: Mutex<Option<Moment>>,
}

impl Lease {
    /// A lease that was asked for at a moment and holds for so long from then on.
    pub(crate) fn new(epoch: i64, asked_at: Moment, length: Duration) -> Self {
        Self { epoch, length, asked_at: Mutex::new(Some(asked_at)) }
    }

    /// The number of the start, raised with every one.
    pub(crate) fn epoch(&self) -> i64 {
        self.epoch
    }

    /// Renews it, counted from the moment at which that was asked for.
    pub(crate) fn renew(&self, asked_at: Moment) {
        *self.asked_at() = Some(asked_at);
    }

    /// Ends it at once.
    pub(crate) fn end(&self) {
        *self.asked_at() = None;
    }

    /// Whether it holds now.
    pub(crate) fn holds(&self) -> bool {
        self.asked_at().is_some_and(|asked_at| asked_at.elapsed() < self.length)
    }

    fn asked_at(&self) -> MutexGuard<'_, Option<Moment>> {
        self.asked_at.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::Ticket;

    const LENGTH: Duration = Duration::from_secs(3);

    #[tokio::test(start_paused = true)]
    async fn a_lease_that_is_not_renewed_ends() {
        let lease = Lease::new(7, Moment::now(), LENGTH);
        tokio::time::advance(Duration::from_millis(2_999)).await;
        assert!(lease.holds());
        lease.renew(Moment::now());
        tokio::time::advance(Duration::from_millis(2_999)).await;
        assert!(lease.holds());
        tokio::time::advance(Duration::from_millis(1)).await;
        assert!(!lease.holds());
        lease.renew(Moment::now());
        assert!(lease.holds());
        lease.end();
        assert!(!lease.holds());
    }

    #[tokio::test(start_paused = true)]
    async fn a_lease_does_not_outlive_a_suspended_machine() {
        // The monotonic clock stood still, the other went on: as after a suspension.
        let Some(before) = since_boot().checked_sub(LENGTH).filter(|_| cfg!(target_os = "linux")) else {
            return;
        };
        let lease = Lease::new(7, Moment { steady: Instant::now(), since_boot: before }, LENGTH);
        assert!(!lease.holds());
        lease.renew(Moment::now());
        assert!(lease.holds());
    }

    #[tokio::test(start_paused = true)]
    async fn nothing_begins_without_a_lease() {
        let lease = Arc::new(Lease::new(7, Moment::now(), LENGTH));
        let [early, late] = [(); 2].map(|()| Ticket::under(Arc::clone(&lease)));
        assert!(early.begin());
        tokio::time::advance(LENGTH).await;
        assert!(!late.begin());
        lease.renew(Moment::now());
        assert!(!late.begin(), "what was refused stays refused: somebody may have seen that");
        assert!(late.is_cancelled() && early.is_begun());
        assert_eq!(late.epoch(), Some(7));
    }
}
