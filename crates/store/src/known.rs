//! Jobs whose definitions need not be read and understood again for every firing.

use std::collections::HashMap;
use std::sync::Arc;

use model::Job;

use crate::ClaimedJob;
use crate::codec::{Unreadable, open_definition};
use crate::rows::JobRow;
use crate::seal::Keyring;

/// Bytes of JSON whose jobs are kept in each half. In memory they take about six times as much.
const HALF: usize = 6 * 1024 * 1024;

/// What a job takes besides its definition, counted as JSON.
const OVERHEAD: usize = 256;

/// A job that is ready to be asked what is due.
#[derive(Debug)]
pub(crate) struct Known {
    revision: i64,
    collection_revision: i64,
    weight: usize,
    /// The job; what changes without a change of its revision is refreshed by [`KnownJobs::find`].
    pub(crate) job: Job,
    /// What its executions need.
    pub(crate) claimed: Arc<ClaimedJob>,
}

/// A cache in two halves: what is used moves to the young one, and when that is full the old one is forgotten.
#[derive(Debug, Default)]
pub(crate) struct KnownJobs {
    young: HashMap<i64, Known>,
    old: HashMap<i64, Known>,
    weight: usize,
}

impl KnownJobs {
    /// The job of a row, as the row says it stands; `None` where it has to be read.
    pub(crate) fn find(&mut self, row: &JobRow) -> Option<&Known> {
        let id = row.id;
        if !self.young.contains_key(&id) {
            let known = self.old.remove(&id)?;
            self.keep(id, known);
        }
        let known = self.young.get_mut(&id)?;
        if known.revision != row.revision || known.collection_revision != row.collection.revision {
            return None;
        }
        row.refresh(&mut known.job);
        Some(known)
    }

    /// Keeps a job that was read: its definition and its collection, as they are stored.
    pub(crate) fn learn(
        &mut self,
        row: &JobRow,
        keyring: &Keyring,
        definition: &str,
        collection: &str,
    ) -> Result<&Known, Unreadable> {
        let weight = definition.len() + OVERHEAD;
        let definition = open_definition(keyring, definition, "definitions.definition", row.id)?;
        let claimed = row.claimed(collection, definition.clone())?;
        let known = Known {
            revision: row.revision,
            collection_revision: row.collection.revision,
            weight,
            job: row.job(definition)?,
            claimed,
        };
        if let Some(before) = self.young.remove(&row.id) {
            self.weight -= before.weight;
        }
        self.keep(row.id, known);
        self.young.get(&row.id).ok_or_else(|| Unreadable::at("the cache", row.id, "it is gone"))
    }

    /// After a rollback numbers may be given again: nothing that is known is certain.
    pub(crate) fn forget_all(&mut self) {
        *self = Self::default();
    }

    fn keep(&mut self, id: i64, known: Known) {
        if self.weight + known.weight > HALF {
            self.old = std::mem::take(&mut self.young);
            self.weight = 0;
        }
        self.weight += known.weight;
        self.young.insert(id, known);
    }
}
