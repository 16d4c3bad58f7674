//! What a store counts of itself: how long changes and questions take, and what became of occurrences.

use measure::{Counter, Histogram, QUICK, Unit};
use model::{Fate, Tally};

use crate::unreadable::UnreadableJobs;

/// See the module. All of it is of this process, since its start.
#[derive(Debug)]
pub struct StoreNumbers {
    /// How long transactions took that changed something, from their beginning until they were durable.
    pub commits: Histogram,
    /// How long questions took.
    pub reads: Histogram,
    /// Changes and questions that failed on our side.
    pub failed: Counter,
    /// Occurrences by what became of them, in the order of [`Fate::ALL`]: what the ledger of this store got.
    fates: [Counter; Fate::ALL.len()],
    /// How often the lease of this node was lost.
    pub lost_leases: Counter,
    /// Jobs that are known not to be readable as they are stored.
    pub(crate) unreadable: UnreadableJobs,
}

impl Default for StoreNumbers {
    fn default() -> Self {
        Self {
            commits: Histogram::new(Unit::Seconds, QUICK),
            reads: Histogram::new(Unit::Seconds, QUICK),
            failed: Counter::default(),
            fates: Default::default(),
            lost_leases: Counter::default(),
            unreadable: UnreadableJobs::default(),
        }
    }
}

impl StoreNumbers {
    /// How many occurrences had this fate.
    pub fn of(&self, fate: Fate) -> u64 {
        Fate::ALL.iter().position(|one| *one == fate).map_or(0, |place| self.fates[place].get())
    }

    /// How many jobs are known not to be readable as they are stored.
    pub fn unreadable_jobs(&self) -> usize {
        self.unreadable.count()
    }

    /// Counts what a committed transaction has entered in the ledger.
    pub(crate) fn enter(&self, tally: &Tally) {
        for (fate, count) in Fate::ALL.into_iter().zip(&self.fates) {
            count.add(tally.of(fate));
        }
    }
}
