//! Tallies: how a span of time went, in numbers that can be added up.
//!
//! A quantile of a day cannot be made of quantiles of its minutes, but a histogram can be made of theirs. Its steps grow
//! with the lateness, eight to every doubling, so a quantile is off by an eighth at the most and a tally stays small
//! whether runs are a millisecond late or a day.
//!
//! ```
//! use model::Tally;
//! use std::time::Duration;
//!
//! let mut tally = Tally::default();
//! for late in [1, 2, 2, 3, 900] {
//!     tally.lateness.record(Duration::from_millis(late));
//! }
//! assert_eq!(tally.lateness.quantile(0.5), Some(2));
//! assert_eq!((tally.lateness.quantile(0.99), tally.lateness.max()), (Some(900), Some(900)));
//! ```

use std::collections::BTreeMap;
use std::time::Duration;

use crate::{Fate, LedgerEntry};

/// What became of the occurrences of a span of time, and how late those were that ran.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Tally {
    /// Occurrences that ran on time.
    pub ran: u64,
    /// Occurrences that ran, but not on time.
    pub ran_late: u64,
    /// Occurrences that were tried in vain.
    pub faulted: u64,
    /// Occurrences that were left out on purpose.
    pub skipped: u64,
    /// Occurrences that should have run and did not.
    pub missed: u64,
    /// Attempts that failed, of occurrences of any fate.
    pub failed_attempts: u64,
    /// How late those began that were tried.
    pub lateness: Lateness,
}

impl Tally {
    /// Counts an entry of the ledger.
    pub fn enter(&mut self, entry: &LedgerEntry) {
        let count = match entry.fate {
            Fate::Ran => &mut self.ran,
            Fate::RanLate => &mut self.ran_late,
            Fate::Faulted => &mut self.faulted,
            Fate::Skipped => &mut self.skipped,
            Fate::Missed => &mut self.missed,
        };
        *count += entry.occurrences;
        if let Some(started_at) = entry.started_at {
            self.lateness
                .record(Duration::try_from(entry.due_at.duration_until(started_at)).unwrap_or_default());
        }
    }

    /// How many occurrences had this fate.
    pub fn of(&self, fate: Fate) -> u64 {
        match fate {
            Fate::Ran => self.ran,
            Fate::RanLate => self.ran_late,
            Fate::Faulted => self.faulted,
            Fate::Skipped => self.skipped,
            Fate::Missed => self.missed,
        }
    }

    /// Adds what another has counted.
    pub fn add(&mut self, other: &Self) {
        self.ran += other.ran;
        self.ran_late += other.ran_late;
        self.faulted += other.faulted;
        self.skipped += other.skipped;
        self.missed += other.missed;
        self.failed_attempts += other.failed_attempts;
        self.lateness.add(&other.lateness);
    }
}

/// A histogram of lateness, in milliseconds.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Lateness {
    steps: BTreeMap<u8, u64>,
    max: Option<u64>,
}

/// Steps to every doubling, as a power of 2.
const FINENESS: u32 = 3;
const STEPS: u64 = 1 << FINENESS;

impl Lateness {
    /// From how many lie in each step, and the greatest of them.
    pub fn of(steps: impl IntoIterator<Item = (u8, u64)>, max: Option<u64>) -> Self {
        Self { steps: steps.into_iter().collect(), max }
    }

    /// Counts one.
    pub fn record(&mut self, lateness: Duration) {
        let ms = u64::try_from(lateness.as_millis()).unwrap_or(u64::MAX);
        *self.steps.entry(step(ms)).or_default() += 1;
        self.max = self.max.max(Some(ms));
    }

    /// How many lie in each step, where there are some.
    pub fn steps(&self) -> impl Iterator<Item = (u8, u64)> {
        self.steps.iter().map(|(step, count)| (*step, *count))
    }

    /// The greatest, in milliseconds.
    pub fn max(&self) -> Option<u64> {
        self.max
    }

    /// What a part of them, such as 0.99, does not exceed, in milliseconds; `None` where there is none.
    pub fn quantile(&self, part: f64) -> Option<u64> {
        let total: u64 = self.steps.values().sum();
        let rank = ((total as f64 * part).ceil() as u64).max(1);
        let mut counted = 0;
        let found = self.steps.iter().find(|(_, count)| {
            counted += **count;
            counted >= rank
        });
        found.map(|(step, _)| last_of(*step).min(self.max.unwrap_or(u64::MAX)))
    }

    fn add(&mut self, other: &Self) {
        for (step, count) in other.steps() {
            *self.steps.entry(step).or_default() += count;
        }
        self.max = self.max.max(other.max);
    }
}

/// The step of a number of milliseconds: below 8 each has its own, then every doubling has eight.
fn step(ms: u64) -> u8 {
    if ms < STEPS {
        return ms as u8;
    }
    let doubling = ms.ilog2() - FINENESS;
    let within = (ms >> doubling) & (STEPS - 1);
    // At most 61 * 8 + 7 of them would not fit, but a lateness beyond two million years is as late as that.
    u8::try_from((u64::from(doubling) + 1) * STEPS + within).unwrap_or(u8::MAX)
}

/// The last number of milliseconds in a step.
fn last_of(step: u8) -> u64 {
    let step = u64::from(step);
    if step < STEPS {
        return step;
    }
    let (doubling, within) = (step / STEPS - 1, step % STEPS);
    ((STEPS + within + 1) << doubling) - 1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_number_lies_in_its_step_and_steps_are_narrow() {
        let mut last = None;
        for ms in (0..100_000).chain((17..33).flat_map(|n| [(1 << n) - 1, 1 << n, (1 << n) + 1])) {
            let step = step(ms);
            assert!(ms <= last_of(step), "{ms}");
            assert!(step == 0 || ms > last_of(step - 1), "{ms}");
            assert!(last_of(step) <= ms + ms / 8, "{ms}: {}", last_of(step));
            assert!(last.replace(step).is_none_or(|last| step >= last), "{ms}");
        }
        assert_eq!(step(u64::MAX), u8::MAX);
    }

    #[test]
    fn quantiles_of_a_sum_are_those_of_all() {
        let (mut all, mut sum) = (Tally::default(), Tally::default());
        for part in 0..10_u64 {
            let mut tally = Tally { failed_attempts: 1, ..Tally::default() };
            for n in 0..100 {
                let late = Duration::from_millis((part * 100 + n) * 7);
                tally.lateness.record(late);
                all.lateness.record(late);
            }
            sum.add(&tally);
        }
        assert_eq!(sum.lateness, all.lateness);
        assert_eq!(sum.failed_attempts, 10);
        for (part, exact) in [(0.5, 499 * 7), (0.99, 989 * 7), (1.0, 999 * 7)] {
            let found = all.lateness.quantile(part).expect("some");
            assert!((exact..=exact + exact / 8).contains(&found), "{part}: {found}, not {exact}");
        }
        assert_eq!(Lateness::default().quantile(0.5), None);
    }
}
