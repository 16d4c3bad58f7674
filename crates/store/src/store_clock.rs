//! The store's time, which all nodes go by.

use std::sync::atomic::{AtomicI64, Ordering};

use jiff::SignedDuration;
use model::{Clock, Timestamp};
use tokio::time::Instant;

/// The time of a store that several nodes share, as this node knows it.
///
/// Between two measurements it goes by this machine's monotonic clock. The machine's other clock has no say: it may be
/// wrong, and it may be set at any moment, and neither makes a job early.
#[derive(Debug)]
pub struct StoreClock {
    base: Instant,
    /// The store's time at `base`, in nanoseconds since 1970.
    at_base: AtomicI64,
}

impl StoreClock {
    /// A clock that shows an instant now, until more is known.
    pub(crate) fn starting_at(at: Timestamp) -> Self {
        Self { base: Instant::now(), at_base: AtomicI64::new(nanoseconds(at)) }
    }

    /// Takes a measurement: the store's time was read between two moments. What is known already stays where the
    /// measurement allows it, so that the clock does not tremble.
    pub(crate) fn measure(&self, before: Instant, there: Timestamp, after: Instant) {
        let since_base = |moment: Instant| {
            i64::try_from(moment.saturating_duration_since(self.base).as_nanos()).unwrap_or(i64::MAX)
        };
        let there = nanoseconds(there);
        let least = there.saturating_sub(since_base(after));
        let most = there.saturating_sub(since_base(before));
        let known = self.at_base.load(Ordering::Relaxed);
        if known < least || known > most {
            let middle = least.saturating_add(most.saturating_sub(least) / 2);
            self.at_base.store(middle, Ordering::Relaxed);
        }
    }

    /// How far the store's clock is ahead of another.
    pub(crate) fn ahead_of(&self, other: &dyn Clock) -> SignedDuration {
        other.now().duration_until(self.now())
    }
}

impl Clock for StoreClock {
    fn now(&self) -> Timestamp {
        let at_base = i128::from(self.at_base.load(Ordering::Relaxed));
        let passed = i128::try_from(self.base.elapsed().as_nanos()).unwrap_or(i128::MAX);
        Timestamp::from_nanosecond(at_base.saturating_add(passed)).unwrap_or(Timestamp::MAX)
    }
}

fn nanoseconds(at: Timestamp) -> i64 {
    i64::try_from(at.as_nanosecond()).unwrap_or(if at < Timestamp::UNIX_EPOCH { i64::MIN } else { i64::MAX })
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn at(ms: i64) -> Timestamp {
        Timestamp::from_millisecond(1_800_000_000_000 + ms).unwrap()
    }

    #[tokio::test(start_paused = true)]
    async fn a_clock_is_corrected_only_as_far_as_is_certain() {
        let clock = StoreClock::starting_at(at(0));
        // What the clock shows after a question that takes 10 ms, to which the store answers that it is `there` by how
        // much, counted from what the clock showed.
        let shift = async |by: i64| {
            let (before, shown) = (Instant::now(), clock.now());
            tokio::time::advance(Duration::from_millis(10)).await;
            clock.measure(before, shown + SignedDuration::from_millis(by), Instant::now());
            clock.now().duration_since(shown).as_millis()
        };
        assert_eq!(shift(3).await, 10, "it may be right");
        assert_eq!(shift(2_005).await, 2_010, "the middle");
        assert_eq!(shift(1).await, 10, "within what was measured");
        assert_eq!(shift(-700).await, -695);
    }

    #[tokio::test(start_paused = true)]
    async fn it_goes_by_the_monotonic_clock() {
        let clock = StoreClock::starting_at(at(0));
        let wrong = Wrong;
        assert_eq!(clock.ahead_of(&wrong).as_secs(), -60);
        tokio::time::advance(Duration::from_secs(5)).await;
        assert_eq!(clock.now(), at(5_000));
        assert_eq!(clock.ahead_of(&wrong).as_secs(), -55);
    }

    /// A clock that stands still, a minute ahead.
    struct Wrong;

    impl Clock for Wrong {
        fn now(&self) -> Timestamp {
            at(60_000)
        }
    }
}
