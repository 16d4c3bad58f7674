//! How every minute went, counted along with the ledger.

use std::collections::BTreeMap;

use model::{HistoryEntry, HistoryStatus, LedgerEntry, Tally, Timestamp};

use crate::codec::ticks;

/// The ticks of a minute.
pub(crate) const MINUTE: i64 = 60 * 10_000_000;

/// How long minutes are kept, in minutes: a week, and a day for those who look at the end of it.
pub(crate) const KEPT: i64 = 8 * 24 * 60;

/// What was counted and is not written yet, by minute.
#[derive(Debug, Default)]
pub(crate) struct Tallies(BTreeMap<i64, Tally>);

impl Tallies {
    /// Counts an entry of the ledger, in the minute in which it was known.
    pub(crate) fn enter(&mut self, entry: &LedgerEntry) {
        self.at(entry.ended_at).enter(entry);
    }

    /// Counts an attempt, if it failed.
    pub(crate) fn attempt(&mut self, entry: &HistoryEntry) {
        if entry.status == HistoryStatus::Failed {
            self.at(entry.ended_at).failed_attempts += 1;
        }
    }

    /// Takes what a change has counted that went well.
    pub(crate) fn take(&mut self, counted: &mut Self) {
        for (minute, tally) in std::mem::take(&mut counted.0) {
            self.0.entry(minute).or_default().add(&tally);
        }
    }

    /// All of it by minute, oldest first.
    pub(crate) fn minutes(&self) -> impl Iterator<Item = (i64, &Tally)> {
        self.0.iter().map(|(minute, tally)| (*minute, tally))
    }

    fn at(&mut self, at: Timestamp) -> &mut Tally {
        self.0.entry(ticks(at).div_euclid(MINUTE)).or_default()
    }
}
