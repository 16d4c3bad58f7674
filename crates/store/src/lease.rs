//! Leases: how long a node may hold claims without a word from the database.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// A moment: nanoseconds of a clock that is never set, and that counts the time in which the machine is suspended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Moment(u64);

impl Moment {
    /// This moment.
    pub(crate) fn now() -> Self {
        Self::at(time_passed())
    }

    fn at(passed: Duration) -> Self {
        Self(u64::try_from(passed.as_nanos()).unwrap_or(u64::MAX))
    }

    /// The moment so much later.
    fn after(self, length: Duration) -> Self {
        Self(self.0.saturating_add(Self::at(length).0))
    }
}

/// Returns the time since the machine was started, by a clock that is never set and that goes on while the machine is
/// suspended.
#[cfg(target_os = "linux")]
pub fn time_passed() -> Duration {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::Boottime);
    Duration::new(time.tv_sec.unsigned_abs(), u32::try_from(time.tv_nsec).unwrap_or(0))
}

/// Elsewhere there is no such clock that all systems have, and the monotonic one has to do.
#[cfg(not(target_os = "linux"))]
pub fn time_passed() -> Duration {
    static BASE: std::sync::OnceLock<tokio::time::Instant> = std::sync::OnceLock::new();
    BASE.get_or_init(tokio::time::Instant::now).elapsed()
}

/// The lease of one start of a node, by the node's own clock.
///
/// A node cannot be told that its lease has ended: it may have been stopped, suspended, or cut off. So it looks for
/// itself before every call. Its clock begins to count before the database's does, and its length is a little shorter
/// there; so it ends here first.
#[derive(Debug)]
pub(crate) struct Lease {
    epoch: i64,
    length: Duration,
    /// The [`Moment`] until which it holds. Every call asks, so it takes neither a lock nor a second clock.
    ends_at: AtomicU64,
}

/// The end of a lease that has ended for good: before every moment.
const ENDED: u64 = 0;

impl Lease {
    /// A lease that was asked for at a moment and holds for so long from then on.
    pub(crate) fn new(epoch: i64, asked_at: Moment, length: Duration) -> Self {
        Self { epoch, length, ends_at: AtomicU64::new(asked_at.after(length).0) }
    }

    /// The number of the start, raised with every one.
    pub(crate) fn epoch(&self) -> i64 {
        self.epoch
    }

    /// Renews it, counted from the moment at which that was asked for.
    pub(crate) fn renew(&self, asked_at: Moment) {
        // Whoever sees that it holds sees the time that was measured before, too.
        self.ends_at.store(asked_at.after(self.length).0, Ordering::Release);
    }

    /// Ends it at once.
    pub(crate) fn end(&self) {
        self.ends_at.store(ENDED, Ordering::Release);
    }

    /// Whether it holds now.
    pub(crate) fn holds(&self) -> bool {
        self.holds_at(Moment::now())
    }

    fn holds_at(&self, now: Moment) -> bool {
        now < Moment(self.ends_at.load(Ordering::Acquire))
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::Ticket;

    const LENGTH: Duration = Duration::from_secs(3);

    #[test]
    fn a_lease_that_is_not_renewed_ends() {
        let at = |ms: u64| Moment::at(Duration::from_millis(100_000 + ms));
        let lease = Lease::new(7, at(0), LENGTH);
        assert!(lease.holds_at(at(2_999)));
        lease.renew(at(2_999));
        assert!(lease.holds_at(at(5_998)));
        assert!(!lease.holds_at(at(5_999)));
        lease.renew(at(5_999));
        assert!(lease.holds_at(at(5_999)));
        lease.end();
        assert!(!lease.holds_at(at(0)));
    }

    #[test]
    fn nothing_begins_without_a_lease() {
        let lease = Arc::new(Lease::new(7, Moment::now(), LENGTH));
        let [early, late] = [(); 2].map(|()| Ticket::under(Arc::clone(&lease)));
        assert!(early.begin());
        lease.end();
        assert!(!late.begin());
        lease.renew(Moment::now());
        assert!(!late.begin(), "what was refused stays refused: somebody may have seen that");
        assert!(late.is_cancelled() && early.is_begun());
        assert_eq!(late.epoch(), Some(7));
    }
}
