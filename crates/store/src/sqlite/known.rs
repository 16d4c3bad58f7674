//! Jobs whose definitions need not be read and understood again for every firing.

use std::collections::HashMap;
use std::sync::Arc;

use model::{Collection, Definition, Job};
use rusqlite::{Connection, OptionalExtension, params};

use super::codec::from_json;
use super::fault::{Fault, Outcome};
use super::jobs::JobRow;
use crate::ClaimedJob;

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
    pub(super) fn load(&mut self, db: &Connection, row: &JobRow) -> Outcome<&Known> {
        let id = row.id;
        if !self.young.contains_key(&id) {
            let known = match self.old.remove(&id) {
                Some(known) => known,
                None => read(db, row)?,
            };
            self.keep(id, known);
        }
        let known =
            self.young.get_mut(&id).ok_or_else(|| Fault::unreadable("the cache", id, "it is gone"))?;
        if known.revision != row.revision || known.collection_revision != row.collection.revision {
            *known = read(db, row)?;
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

fn read(db: &Connection, row: &JobRow) -> Outcome<Known> {
    let (definition, weight) = definition(db, row.id)?;
    let claimed = claimed_job(db, row, definition.clone())?;
    Ok(Known {
        revision: row.revision,
        collection_revision: row.collection.revision,
        weight: weight + OVERHEAD,
        job: row.job(definition)?,
        claimed,
    })
}

/// A job's definition, and its length as JSON.
pub(super) fn definition(db: &Connection, job: i64) -> Outcome<(Definition, usize)> {
    let text = definition_text(db, job)?;
    Ok((from_json(&text, "definitions.definition", job)?, text.len()))
}

/// A job's definition as it is stored.
pub(super) fn definition_text(db: &Connection, job: i64) -> Outcome<String> {
    let mut statement = db.prepare_cached("SELECT definition FROM definitions WHERE job_id = ?1")?;
    let text = statement.query_row(params![job], |row| row.get(0)).optional()?;
    text.ok_or_else(|| Fault::unreadable("definitions", job, "there is none"))
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
