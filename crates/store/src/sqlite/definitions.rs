//! Definitions, read once for many firings.

use std::sync::Arc;

use model::Definition;
use rusqlite::{Connection, OptionalExtension, params};

use super::fault::{Fault, Outcome};
use crate::ClaimedJob;
use crate::known::{Known, KnownJobs};
use crate::rows::JobRow;

/// The job of a row, read only where it is not known.
pub(super) fn load<'k>(known: &'k mut KnownJobs, db: &Connection, row: &JobRow) -> Outcome<&'k Known> {
    if known.find(row).is_none() {
        let (definition, collection) = (text(db, row.id)?, collection(db, row)?);
        return Ok(known.learn(row, &definition, &collection)?);
    }
    known.find(row).ok_or_else(|| Fault::unreadable("the cache", row.id, "it is gone"))
}

/// A job's definition as it is stored.
pub(super) fn text(db: &Connection, job: i64) -> Outcome<String> {
    let mut statement = db.prepare_cached("SELECT definition FROM definitions WHERE job_id = ?1")?;
    let text = statement.query_row(params![job], |row| row.get(0)).optional()?;
    text.ok_or_else(|| Fault::unreadable("definitions", job, "there is none"))
}

/// What executions of a job need that run a definition of their own.
pub(super) fn claimed_job(db: &Connection, row: &JobRow, definition: Definition) -> Outcome<Arc<ClaimedJob>> {
    Ok(row.claimed(&collection(db, row)?, definition)?)
}

fn collection(db: &Connection, row: &JobRow) -> Outcome<String> {
    let mut statement = db.prepare_cached("SELECT document FROM collections WHERE id = ?1")?;
    Ok(statement.query_row(params![row.collection_id], |row| row.get(0))?)
}
