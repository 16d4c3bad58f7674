//! Jobs that cannot run as they are stored: what a newer version wrote, a zone that is gone, a secret that does not open.
//!
//! Reading a row shows only that its definition is no JSON of ours. That a secret does not open, or that no rule follows
//! from its timing, shows where a job is opened: by a claim, a change, or [`Store::look_through`](crate::Store::look_through). What was found
//! there is kept here, so that a list marks such a job and opens nothing. It holds for one revision of the job; a change
//! of the collection is a reason to look again.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use model::{CollectionPath, Definition, Withheld};
use serde_json::Value;

use crate::rows::JobRow;

/// A job that cannot be read as it is stored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnreadableJob {
    /// Its collection's path.
    pub collection: CollectionPath,
    /// Its name.
    pub name: String,
    /// What is wrong with it.
    pub why: String,
}

/// The jobs that are known not to be readable.
#[derive(Debug, Default)]
pub(crate) struct UnreadableJobs(Mutex<Known>);

#[derive(Debug, Default)]
struct Known {
    jobs: HashMap<i64, Entry>,
    /// Counts how often all jobs were looked through.
    pass: u64,
}

/// A job that could not be read, and when.
#[derive(Debug, Clone, Copy)]
pub(crate) struct UnreadableAt {
    pub(crate) id: i64,
    pub(crate) revision: i64,
    pub(crate) collection_revision: i64,
}

#[derive(Debug)]
struct Entry {
    revision: i64,
    collection_revision: i64,
    why: String,
    pass: u64,
}

impl UnreadableJobs {
    /// Notes why a job cannot be read, and logs it where that is new.
    pub(crate) fn note(&self, row: &JobRow, why: &str) {
        let mut known = self.lock();
        let pass = known.pass;
        let entry = Entry {
            revision: row.revision,
            collection_revision: row.collection.revision,
            why: why.to_owned(),
            pass,
        };
        let before = known.jobs.insert(row.id, entry);
        if before.is_none_or(|before| before.revision != row.revision) {
            tracing::error!(
                job = %row.name, id = row.id, why,
                "a job is set aside: it cannot be read as it is stored. Write it anew with PUT, or delete it"
            );
        }
    }

    /// Forgets a job that was read, written or deleted.
    pub(crate) fn forget(&self, job: i64) {
        let mut known = self.lock();
        if known.jobs.remove(&job).is_some() {}
    }

    /// How many there are.
    pub(crate) fn count(&self) -> usize {
        self.lock().jobs.len()
    }

    /// Why a job cannot be read, if that is known.
    pub(crate) fn reason(&self, row: &JobRow) -> Option<String> {
        let known = self.lock();
        known.jobs.get(&row.id).filter(|entry| entry.revision == row.revision).map(|entry| entry.why.clone())
    }

    /// At which revisions the jobs could not be read; of at most so many.
    pub(crate) fn revisions(&self, most: usize) -> Vec<UnreadableAt> {
        let known = self.lock();
        let of = |(id, entry): (&i64, &Entry)| UnreadableAt {
            id: *id,
            revision: entry.revision,
            collection_revision: entry.collection_revision,
        };
        known.jobs.iter().take(most).map(of).collect()
    }

    /// Ends a look through all jobs: what was not found by it again is gone.
    pub(crate) fn end_pass(&self) {
        let mut known = self.lock();
        let pass = known.pass;
        known.jobs.retain(|_, entry| entry.pass == pass);
        known.pass += 1;
    }

    fn lock(&self) -> MutexGuard<'_, Known> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Reads a definition without its secrets. Where it cannot be read, says why, and gives what of it can be.
pub(crate) fn withheld(text: &str) -> (Option<Definition<Withheld>>, Option<String>) {
    let error = match serde_json::from_str(text) {
        Ok(definition) => return (Some(definition), None),
        Err(error) => error,
    };
    // What a newer version added to our own members says nothing against the others.
    let rest = serde_json::from_str::<Value>(text).ok().and_then(|mut value| {
        let members = value.as_object_mut()?;
        members.retain(|name, _| name != "catch_up" && name != "overlap");
        serde_json::from_value(value).ok()
    });
    (rest, Some(error.to_string()))
}
