//! Leases: how long a node may hold claims without a word from the database.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use tokio::time::Instant;

/// The lease of one start of a node, by the node's own monotonic clock.
///
/// A node cannot be told that its lease has ended: it may have been stopped, or cut off. So it looks for itself before
/// every call. Its clock begins to count before the database's does, and so ends first.
#[derive(Debug)]
pub(crate) struct Lease {
    epoch: i64,
    /// What `until` counts from.
    base: Instant,
    /// In nanoseconds.
    until: AtomicU64,
}

impl Lease {
    /// A lease that was asked for at an instant and holds for so long from then on.
    pub(crate) fn new(epoch: i64, asked_at: Instant, length: Duration) -> Self {
        let lease = Self { epoch, base: asked_at, until: AtomicU64::new(0) };
        lease.renew(asked_at, length);
        lease
    }

    /// The number of the start, raised with every one.
    pub(crate) fn epoch(&self) -> i64 {
        self.epoch
    }

    /// Renews it, counted from the instant at which that was asked for.
    pub(crate) fn renew(&self, asked_at: Instant, length: Duration) {
        let until = asked_at.saturating_duration_since(self.base) + length;
        self.until.store(u64::try_from(until.as_nanos()).unwrap_or(u64::MAX), Ordering::Release);
    }

    /// Ends it at once.
    pub(crate) fn end(&self) {
        self.until.store(0, Ordering::Release);
    }

    /// Whether it holds now.
    pub(crate) fn holds(&self) -> bool {
        let passed = Instant::now().saturating_duration_since(self.base).as_nanos();
        passed < u128::from(self.until.load(Ordering::Acquire))
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
        let lease = Lease::new(7, Instant::now(), LENGTH);
        tokio::time::advance(Duration::from_millis(2_999)).await;
        assert!(lease.holds());
        lease.renew(Instant::now(), LENGTH);
        tokio::time::advance(Duration::from_millis(2_999)).await;
        assert!(lease.holds());
        tokio::time::advance(Duration::from_millis(1)).await;
        assert!(!lease.holds());
        lease.renew(Instant::now(), LENGTH);
        assert!(lease.holds());
        lease.end();
        assert!(!lease.holds());
    }

    #[tokio::test(start_paused = true)]
    async fn nothing_begins_without_a_lease() {
        let lease = Arc::new(Lease::new(7, Instant::now(), LENGTH));
        let [early, late] = [(); 2].map(|()| Ticket::under(Arc::clone(&lease)));
        assert!(early.begin());
        tokio::time::advance(LENGTH).await;
        assert!(!late.begin());
        lease.renew(Instant::now(), LENGTH);
        assert!(!late.begin(), "what was refused stays refused: somebody may have seen that");
        assert!(late.is_cancelled() && early.is_begun());
        assert_eq!(late.epoch(), Some(7));
    }
}
