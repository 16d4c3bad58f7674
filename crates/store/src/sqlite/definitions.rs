//! Definitions, read once for many firings.

use std::sync::Arc;

use model::Definition;
use rusqlite::{Connection, OptionalExtension, params};

use super::fault::{Fault, Outcome};
use crate::ClaimedJob;
use crate::known::{Known, KnownJobs};
use crate::rows::JobRow;
use crate::seal::Sealer;
use crate::unreadable::UnreadableJobs;

/// The job of a row, read only where it is not known.
pub(super) fn load<'k>(
    known: &'k mut KnownJobs,
    db: &Connection,
    (sealer, unreadable): (&Sealer, &UnreadableJobs),
    row: &JobRow,
) -> Outcome<&'k Known> {
    if known.find(row).is_none() {
        let (stored, collection) = (stored_text(db, row.id)?, collection(db, row)?);
        let learned = known.learn(row, &sealer.keyring(), &stored.text, &collection)?;
        unreadable.forget(row.id);
        return Ok(learned);
    }
    known.find(row).ok_or_else(|| Fault::unreadable("the cache", row.id, "it is gone"))
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

/// A job's definition, sealed, where there is one.
pub(super) fn text(db: &Connection, job: i64) -> Outcome<Option<String>> {
    let mut statement = db.prepare_cached("SELECT definition FROM definitions WHERE job_id = ?1")?;
    Ok(statement.query_row(params![job], |row| row.get(0)).optional()?)
}

/// What executions of a job need that run a definition of their own.
pub(super) fn claimed_job(db: &Connection, row: &JobRow, definition: Definition) -> Outcome<Arc<ClaimedJob>> {
    Ok(row.claimed(&collection(db, row)?, definition)?)
}

fn collection(db: &Connection, row: &JobRow) -> Outcome<String> {
    let mut statement = db.prepare_cached("SELECT document FROM collections WHERE id = ?1")?;
    Ok(statement.query_row(params![row.collection_id], |row| row.get(0))?)
}
