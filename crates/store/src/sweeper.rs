//! What retention has to look at, noticed while entries are written.

use std::collections::BTreeSet;

/// The most jobs that are remembered; beyond that a full look finds the others.
const CROWDED: usize = 100_000;

/// Only a hint: after a start it is gathered again.
#[derive(Debug)]
pub(crate) struct Sweeper {
    /// The most entries per job, once it is known.
    limit: Option<i64>,
    /// Jobs that may have more.
    crowded: BTreeSet<i64>,
    /// Where the look at all jobs stands; `None` when it is done.
    look_from: Option<i64>,
    /// Whether there may be deleted collections whose jobs are all gone.
    pub(crate) deleted_collections: bool,
}

impl Default for Sweeper {
    fn default() -> Self {
        Self { limit: None, crowded: BTreeSet::new(), look_from: Some(0), deleted_collections: true }
    }
}

impl Sweeper {
    /// Notes that a job got its so-manieth history entry.
    ///
    /// Looking costs more than what it finds, so a job is looked at only after every sixteenth part of the limit.
    pub(crate) fn grown(&mut self, job: i64, total: i64) {
        let Some(limit) = self.limit else { return };
        if total > limit && total % (limit / 16).max(1) == 0 {
            if self.crowded.len() < CROWDED {
                self.crowded.insert(job);
            } else {
                self.look_from = Some(0);
            }
        }
    }

    /// Takes the most entries per job; another one than before means to look at all jobs.
    pub(crate) fn set_limit(&mut self, limit: i64) {
        if self.limit != Some(limit) {
            self.limit = Some(limit);
            self.look_from = Some(0);
        }
    }

    /// After which job the look at all of them goes on, if it has to.
    pub(crate) fn looks_from(&self) -> Option<i64> {
        self.look_from.filter(|_| self.limit.is_some() && self.crowded.len() < CROWDED / 2)
    }

    /// Notes how many entries the next jobs had in all, in the order of their numbers; none means that it was the last.
    pub(crate) fn looked_at(&mut self, jobs: &[(i64, i64)]) {
        let Some(limit) = self.limit else { return };
        self.crowded.extend(jobs.iter().filter(|(_, total)| *total > limit).map(|(id, _)| *id));
        self.look_from = jobs.last().map(|(id, _)| *id);
    }

    /// Some of the jobs that may have too many entries.
    pub(crate) fn crowded(&self, most: usize) -> Vec<i64> {
        self.crowded.iter().take(most).copied().collect()
    }

    /// Notes that a job has not.
    pub(crate) fn cleared(&mut self, job: i64) {
        self.crowded.remove(&job);
    }

    /// Whether there are such jobs.
    pub(crate) fn is_crowded(&self) -> bool {
        !self.crowded.is_empty()
    }
}
