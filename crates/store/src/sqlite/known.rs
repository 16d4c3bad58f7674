//! Jobs whose definitions need not be read and understood again for every firing.

use std::collections::HashMap;
use std::sync::Arc;

use model::{Collection, Definition, Job, JobId};
use rusqlite::{Connection, OptionalExtension, params};

use super::codec::{from_json, open_definition};
use super::fault::{Fault, Outcome};
use super::jobs::JobRow;
use crate::ClaimedJob;
use crate::seal::Sealer;

/// Bytes of JSON whose jobs are kept in each half. In memory they take about six times as much.
const HALF: usize = 6 * 1024 * 1024;

/// What a job takes besides its definition, counted as JSON.
const OVERHEAD: usize = 256;

/// A job that is ready to be asked what is due.
#[derive(Debug)]
pub(super) struct Known {
    revision: i64,
    collection_revision: i64,
    weight: usize,
    /// The job; what changes without a change of its revision is refreshed by [`KnownJobs::load`].
    pub(super) job: Job,
    /// What its executions need.
    pub(super) claimed: Arc<ClaimedJob>,
}

/// A cache in two halves: what is used moves to the young one, and when that is full the old one is forgotten.
#[derive(Debug, Default)]
pub(super) struct KnownJobs {
    young: HashMap<i64, Known>,
    old: HashMap<i64, Known>,
    weight: usize,
}

impl KnownJobs {
    /// The job of a row, as the row says it stands.
    pub(super) fn load(&mut self, db: &Connection, sealer: &Sealer, row: &JobRow) -> Outcome<&Known> {
        let id = row.id;
        if !self.young.contains_key(&id) {
            let known = match self.old.remove(&id) {
                Some(known) => known,
                None => read(db, sealer, row)?,
            };
            self.keep(id, known);
        }
        let known =
            self.young.get_mut(&id).ok_or_else(|| Fault::unreadable("the cache", id, "it is gone"))?;
        if known.revision != row.revision || known.collection_revision != row.collection.revision {
            *known = read(db, sealer, row)?;
        }
        row.refresh(&mut known.job);
        Ok(known)
    }

    /// After a rollback numbers may be given again: nothing that is known is certain.
    pub(super) fn forget_all(&mut self) {
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

fn read(db: &Connection, sealer: &Sealer, row: &JobRow) -> Outcome<Known> {
    let StoredText { text, .. } = stored_text(db, row.id)?;
    let weight = text.len();
    let definition = open_definition(&sealer.keyring(), &text, "definitions.definition", JobId(row.id))?;
    let claimed = claimed_job(db, row, definition.clone())?;
    Ok(Known {
        revision: row.revision,
        collection_revision: row.collection.revision,
        weight: weight + OVERHEAD,
        job: row.job(definition)?,
        claimed,
    })
}

/// A job's definition as it is stored.
#[derive(Debug, Clone)]
pub(super) struct StoredText {
    pub(super) text: String,
    /// The key of its secrets.
    pub(super) sealed_by: Option<String>,
}

/// Reads a job's definition and leaves it sealed.
pub(super) fn stored_text(db: &Connection, job: i64) -> Outcome<StoredText> {
    let mut statement =
        db.prepare_cached("SELECT definition, sealed_by FROM definitions WHERE job_id = ?1")?;
    let stored = statement
        .query_row(params![job], |row| Ok(StoredText { text: row.get(0)?, sealed_by: row.get(1)? }))
        .optional()?;
    stored.ok_or_else(|| Fault::unreadable("definitions", job, "there is none"))
}

/// What executions of a job need that run a definition.
pub(super) fn claimed_job(db: &Connection, row: &JobRow, definition: Definition) -> Outcome<Arc<ClaimedJob>> {
    let mut statement = db.prepare_cached("SELECT document FROM collections WHERE id = ?1")?;
    let document: String = statement.query_row(params![row.collection_id], |row| row.get(0))?;
    let collection: Collection = from_json(&document, "collections.document", row.collection_id)?;
    Ok(Arc::new(ClaimedJob {
        collection: collection.path,
        location: collection.location,
        name: row.name.clone(),
        definition,
    }))
}
