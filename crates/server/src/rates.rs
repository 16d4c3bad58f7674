//! How much a caller may ask: so many reads and so many writes of each subscription in a window of time, and as many of what
//! belongs to none.
//!
//! And how often: a job may be run by request so many times in a minute, whoever asks.
//!
//! A window begins with the first call and is over after its length; then all of the budget is there again. Counting is
//! exact, so that what an answer says is left is left.

use std::collections::HashMap;
use std::collections::hash_map::RandomState;
use std::hash::BuildHasher as _;
use std::num::NonZeroU32;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use model::Timestamp;

/// What each caller may ask of a subscription within a window.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Budget {
    /// Calls that change nothing.
    pub reads: NonZeroU32,
    /// Calls that may.
    pub writes: NonZeroU32,
    /// How long until the budget is there again.
    pub window: Duration,
}

impl Default for Budget {
    /// Ten thousand and more a second, for minutes: a limit for what has gone wild, not for what is busy.
    fn default() -> Self {
        let most = NonZeroU32::new(1_000_000).unwrap_or(NonZeroU32::MAX);
        Self { reads: most, writes: most, window: Duration::from_secs(60) }
    }
}

/// What a call takes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Read,
    Write,
}

/// What is left after a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Spent {
    /// It may be made, and so many more.
    Left(u32),
    /// It may not be made before so many seconds have passed.
    UsedUp(u32),
}

/// The most callers and subscriptions that are counted apart. A server has a handful; whoever makes up more than this
/// within a window shares one budget with all others that came too late.
const MOST_WINDOWS: usize = 10_000;

/// Seconds before windows that are over are looked for again: whoever makes up subscriptions by the thousand shall
/// not make every call look through all of them.
const SWEEP_PAUSE: i64 = 1;

/// The most jobs and collections that are counted apart. A window takes some 40 bytes.
const MOST_JOBS: usize = 100_000;

/// How long the changes of one thing are counted together.
const MINUTE: Duration = Duration::from_secs(60);

/// What everybody has used.
pub struct Rates {
    budget: Budget,
    /// The most windows that are counted apart.
    most: usize,
    /// Subscriptions can be of any length; what is kept of one is a number that nobody outside can choose.
    hasher: RandomState,
    used: Mutex<Used>,
}

#[derive(Default)]
struct Used {
    of: HashMap<u64, Window>,
    of_others: Window,
    /// When windows that are over were last looked for.
    swept_at: Timestamp,
}

#[derive(Clone, Copy, Default)]
struct Window {
    began_at: Timestamp,
    reads: u32,
    writes: u32,
}

impl Rates {
    pub(crate) fn new(budget: Budget) -> Self {
        Self { budget, most: MOST_WINDOWS, hasher: RandomState::new(), used: Mutex::default() }
    }

    /// Counts changes, of which each job or collection may have so many in a minute.
    pub(crate) fn by_minute(most: NonZeroU32) -> Self {
        let budget = Budget { reads: NonZeroU32::MIN, writes: most, window: MINUTE };
        Self { most: MOST_JOBS, ..Self::new(budget) }
    }

    /// Counts a call of somebody, for a subscription by its name in any case.
    pub(crate) fn spend(&self, who: &str, subscription: Option<&str>, kind: Kind, now: Timestamp) -> Spent {
        let key = self.hasher.hash_one((who, subscription.map(str::to_lowercase)));
        let mut used = self.used.lock().unwrap_or_else(PoisonError::into_inner);
        let is_full = used.of.len() >= self.most && !used.of.contains_key(&key);
        if is_full && used.swept_at.duration_until(now).as_secs().abs() >= SWEEP_PAUSE {
            used.of.retain(|_, window| self.left_of(window, now).is_some());
            used.swept_at = now;
        }
        let is_known = used.of.contains_key(&key) || used.of.len() < self.most;
        let window = if is_known { used.of.entry(key).or_default() } else { &mut used.of_others };
        let left_of_window = self.left_of(window, now).unwrap_or_else(|| {
            *window = Window { began_at: now, ..Window::default() };
            self.budget.window
        });
        let (count, most) = match kind {
            Kind::Read => (&mut window.reads, self.budget.reads.get()),
            Kind::Write => (&mut window.writes, self.budget.writes.get()),
        };
        if *count >= most {
            // At least a second: nobody shall come back at once.
            let seconds = left_of_window.as_millis().div_ceil(1000).max(1);
            return Spent::UsedUp(u32::try_from(seconds).unwrap_or(u32::MAX));
        }
        *count += 1;
        Spent::Left(most - *count)
    }

    /// How long a window lasts from now on; `None` when it is over, or when the clock was set back before it.
    fn left_of(&self, window: &Window, now: Timestamp) -> Option<Duration> {
        let passed = Duration::try_from(window.began_at.duration_until(now)).ok()?;
        self.budget.window.checked_sub(passed).filter(|left| !left.is_zero())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(seconds: i64) -> Timestamp {
        Timestamp::from_second(1_800_000_000 + seconds).expect("a timestamp")
    }

    fn rates(reads: u32, writes: u32) -> Rates {
        let some = |count| NonZeroU32::new(count).expect("some");
        Rates::new(Budget { reads: some(reads), writes: some(writes), window: Duration::from_secs(60) })
    }

    #[test]
    fn reads_and_writes_are_counted_apart_by_caller_and_by_subscription() {
        let rates = rates(2, 1);
        assert_eq!(rates.spend("ann", Some("s"), Kind::Read, at(0)), Spent::Left(1));
        assert_eq!(rates.spend("ann", Some("S"), Kind::Read, at(1)), Spent::Left(0));
        assert_eq!(rates.spend("ann", Some("s"), Kind::Read, at(2)), Spent::UsedUp(58));
        assert_eq!(rates.spend("ann", Some("s"), Kind::Write, at(3)), Spent::Left(0));
        assert_eq!(rates.spend("ann", Some("s"), Kind::Write, at(59)), Spent::UsedUp(1));
        assert_eq!(rates.spend("ann", Some("other"), Kind::Read, at(59)), Spent::Left(1));
        assert_eq!(rates.spend("ann", None, Kind::Read, at(59)), Spent::Left(1), "of none");
        assert_eq!(rates.spend("bob", Some("s"), Kind::Read, at(59)), Spent::Left(1), "somebody else");
        assert_eq!(rates.spend("ann", Some("s"), Kind::Write, at(60)), Spent::Left(0), "a new window");
        assert_eq!(rates.spend("ann", Some("s"), Kind::Write, at(61)), Spent::UsedUp(59));
        assert_eq!(
            rates.spend("ann", Some("s"), Kind::Write, at(-1000)),
            Spent::Left(0),
            "the clock was set back"
        );
    }

    #[test]
    fn memory_is_bounded_and_neighbours_are_not_harmed() {
        let rates = rates(1, 1);
        let held = || rates.used.lock().expect("not poisoned").of.len();
        assert_eq!(rates.spend("ann", Some("mine"), Kind::Read, at(0)), Spent::Left(0));
        for i in 0..2 * MOST_WINDOWS {
            rates.spend("ann", Some(&format!("made up {i}")), Kind::Read, at(1));
        }
        assert_eq!(held(), MOST_WINDOWS);
        assert_eq!(
            rates.spend("ann", Some("mine"), Kind::Write, at(2)),
            Spent::Left(0),
            "still counted for itself"
        );
        assert_eq!(
            rates.spend("ann", Some("too late"), Kind::Read, at(2)),
            Spent::UsedUp(59),
            "one of too many"
        );
        assert_eq!(
            rates.spend("ann", Some("too late"), Kind::Read, at(61)),
            Spent::Left(0),
            "there is room again"
        );
        assert!(held() < MOST_WINDOWS);
    }
}
