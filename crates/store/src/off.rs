//! What jobs have skipped so far that are off now, wherever they are kept.
//!
//! Nothing of it is stored before the pause ends: it follows from the rule of the job. The backends find the jobs; each
//! costs the reading of its definition, so only so many are looked at.

use model::{CollectionPath, Timestamp, transition};

use crate::codec::{Unreadable, open_definition};
use crate::rows::JobRow;
use crate::seal::Keyring;
use crate::{LedgerQuery, SkippedSoFar, Span, StoredLedger};

/// Gathers the entries of jobs that are off.
pub(crate) struct Gathering<'q> {
    query: &'q LedgerQuery,
    now: Timestamp,
    most: u32,
    seen: u32,
    found: SkippedSoFar,
}

impl<'q> Gathering<'q> {
    pub(crate) fn new(query: &'q LedgerQuery, now: Timestamp, most: u32) -> Self {
        Self { query, now, most, seen: 0, found: SkippedSoFar::default() }
    }

    /// How many jobs a backend has to find: one more than are looked at.
    pub(crate) fn to_be_found(&self) -> i64 {
        i64::from(self.most) + 1
    }

    /// Looks at a job that is off, or whose collection is.
    pub(crate) fn look(
        &mut self,
        row: &JobRow,
        definition: &str,
        collection: impl FnOnce() -> Result<CollectionPath, Unreadable>,
        keyring: &Keyring,
    ) {
        self.seen += 1;
        if self.seen > self.most {
            self.found.more = true;
            return;
        }
        let read = || -> Result<Option<StoredLedger>, Unreadable> {
            let job = row.job(open_definition(keyring, definition, "definitions.definition", row.id)?)?;
            let Some(entry) = transition::skipped_so_far(&job, !row.collection.enabled, self.now) else {
                return Ok(None);
            };
            if !overlaps(self.query.due, entry.due_at, entry.due_until) {
                return Ok(None);
            }
            Ok(Some(StoredLedger { serial: -row.id, collection: collection()?, job: job.name, entry }))
        };
        match read() {
            Ok(entry) => self.found.entries.extend(entry),
            // Other jobs are answered for all the same.
            Err(_) => self.found.more = true,
        }
    }

    pub(crate) fn end(mut self) -> SkippedSoFar {
        self.found.entries.sort_by_key(|stored| std::cmp::Reverse((stored.entry.due_at, stored.serial)));
        self.found
    }
}

fn overlaps(span: Span, first: Timestamp, last: Timestamp) -> bool {
    span.from.is_none_or(|from| last >= from) && span.to.is_none_or(|to| first <= to)
}
