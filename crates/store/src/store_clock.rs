//! The store's time, which all nodes go by.

use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Mutex, PoisonError};

use jiff::SignedDuration;
use model::{Clock, Timestamp};
use tokio::time::Instant;

/// Of how many nanoseconds a monotonic clock is believed to gain one at the most. Real ones gain a hundred times less.
const GAIN: i64 = 100;

/// The time of a store that several nodes share, as this node knows it.
///
/// Between two measurements it goes by this machine's monotonic clock. The machine's other clock has no say: it may be
/// wrong, and it may be set at any moment, and neither makes a job early.
#[derive(Debug)]
pub struct StoreClock {
    base: Instant,
    /// The store's time at `base`, in nanoseconds since 1970.
    at_base: AtomicI64,
    measured_at: Mutex<Option<Instant>>,
}

impl StoreClock {
    /// A clock that shows an instant now, until more is known.
    pub(crate) fn starting_at(at: Timestamp) -> Self {
        Self { base: Instant::now(), at_base: AtomicI64::new(nanoseconds(at)), measured_at: Mutex::default() }
    }

    /// Takes a measurement: the store's time was read between two moments.
    ///
    /// When exactly is not known. The clock takes the latest of them, so that it is late rather than early, by less than
    /// the question took. What an earlier and quicker measurement has shown stays, but for what the monotonic clock may
    /// have gained since.
    pub(crate) fn measure(&self, before: Instant, there: Timestamp, after: Instant) {
        let between = |earlier: Instant, later: Instant| {
            i64::try_from(later.saturating_duration_since(earlier).as_nanos()).unwrap_or(i64::MAX)
        };
        let there = nanoseconds(there);
        let least = there.saturating_sub(between(self.base, after));
        let most = there.saturating_sub(between(self.base, before));
        let mut measured_at = self.measured_at.lock().unwrap_or_else(PoisonError::into_inner);
        let known = measured_at
            .map(|last| self.at_base.load(Ordering::Relaxed).saturating_sub(between(last, after) / GAIN));
        let at_base = known.filter(|known| (least..=most).contains(known)).unwrap_or(least);
        self.at_base.store(at_base, Ordering::Relaxed);
        *measured_at = Some(after);
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

    fn is_of_the_machine(&self) -> bool {
        true
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
    async fn a_clock_is_corrected_to_the_late_side() {
        let clock = StoreClock::starting_at(at(0));
        // The clock after a question that took so long, to which the store answered with what it showed before, and so
        // much. In milliseconds; how far the clock has moved.
        let ask = async |took: u64, answer: i64| {
            let (before, shown) = (Instant::now(), clock.now());
            tokio::time::advance(Duration::from_millis(took)).await;
            clock.measure(before, shown + SignedDuration::from_millis(answer), Instant::now());
            clock.now().duration_since(shown).as_micros()
        };
        assert_eq!(ask(10, 5).await, 5_000, "nothing was known: the answer was read as late as possible");
        assert_eq!(ask(10, 2_010).await, 2_010_000, "it was behind");
        assert_eq!(
            ask(100, 30).await,
            99_000,
            "it may be right, but for what a hundredth of the time may be"
        );
        assert_eq!(ask(10, -700).await, -700_000, "it was ahead");
    }

    /// One percent is gained from one measurement to the next, and never more, however long the questions take.
    #[tokio::test(start_paused = true)]
    async fn a_clock_that_runs_fast_is_held() {
        let clock = StoreClock::starting_at(at(0));
        let mut there = at(0);
        clock.measure(Instant::now(), there, Instant::now());
        for _ in 0..1_000 {
            // What is 1,010 ms here is a second there; the store reads its time 600 ms after it was asked to.
            let before = Instant::now();
            tokio::time::advance(Duration::from_millis(606)).await;
            let read = there + SignedDuration::from_millis(600);
            tokio::time::advance(Duration::from_millis(202)).await;
            clock.measure(before, read, Instant::now());
            tokio::time::advance(Duration::from_millis(202)).await;
            there += SignedDuration::from_millis(1_000);
            let early = there.duration_until(clock.now());
            assert!(early <= SignedDuration::from_millis(11), "{early:?}");
        }
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
