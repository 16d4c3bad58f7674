//! Jobs: rows and pages.

use model::{Collection, CollectionPath, Counters, JobState};
use rusqlite::{Connection, OptionalExtension, Row, params};

use super::columns::{instant_or_none, uuid_of};
use super::fault::Outcome;
use super::writer::Shared;
use super::{collections, definitions, executions};
use crate::codec::{self, Coded, from_json, key};
use crate::rows::{CollectionGist, JobRow};
use crate::{Page, StoredJob};

/// The columns that [`read`] reads, from `jobs j JOIN collections c`.
pub(super) const COLUMNS: &str = "j.id, j.collection_id, j.name, j.seed, j.state, j.executions, j.failures, \
     j.faulted, j.last_execution, j.next_number, j.next_at, j.paused_at, j.last_faulted, j.generation, j.revision, \
     j.history_total, c.revision, c.enabled, c.plan, c.resumed_at, \
     j.deleted_at IS NOT NULL";

/// How many they are: where other columns begin.
pub(super) const WIDTH: usize = 21;

/// Reads [`COLUMNS`] from the beginning of a row.
pub(super) fn read(row: &Row<'_>) -> Outcome<JobRow> {
    let id = row.get(0)?;
    let plan = row.get_ref(18)?.as_str().unwrap_or_default();
    Ok(JobRow {
        id,
        collection_id: row.get(1)?,
        name: row.get(2)?,
        seed: uuid_of(row, 3)?,
        state: JobState::from_code(row.get(4)?, id)?,
        counters: Counters {
            executions: row.get(5)?,
            failures: row.get(6)?,
            faulted: row.get(7)?,
            last_execution: instant_or_none(row, 8)?,
        },
        next_number: row.get(9)?,
        next_at: instant_or_none(row, 10)?,
        paused_at: instant_or_none(row, 11)?,
        last_faulted: row.get(12)?,
        generation: row.get(13)?,
        revision: row.get(14)?,
        history_total: row.get(15)?,
        collection: CollectionGist {
            revision: row.get(16)?,
            enabled: row.get(17)?,
            plan: codec::plan(plan, id)?,
            resumed_at: instant_or_none(row, 19)?,
        },
        deleted: row.get(20)?,
    })
}

/// A living job by its name.
pub(super) fn find(db: &Connection, collection_id: i64, name: &str) -> Outcome<Option<JobRow>> {
    let mut statement = db.prepare_cached(&format!(
        "SELECT {COLUMNS} FROM jobs j JOIN collections c ON c.id = j.collection_id \
         WHERE j.collection_id = ?1 AND j.name_key = ?2 AND j.deleted_at IS NULL"
    ))?;
    let mut rows = statement.query(params![collection_id, key(name)])?;
    rows.next()?.map(read).transpose()
}

/// How many jobs of a collection are not finished: those count against its quota. They are counted in an index, and only
/// where a collection has as many jobs as it may, because a counter would be written by every job that ends.
pub(super) fn living(db: &Connection, collection: i64) -> Outcome<u64> {
    let mut statement = db.prepare_cached(
        "SELECT count(*) FROM jobs INDEXED BY jobs_in_state
         WHERE state IN (?2, ?3) AND collection_id = ?1 AND deleted_at IS NULL",
    )?;
    let states = params![collection, JobState::Enabled.code(), JobState::Disabled.code()];
    Ok(statement.query_row(states, |row| row.get(0))?)
}

/// Returns a job by its number, also one that is deleted.
pub(super) fn by_id(db: &Connection, id: i64) -> Outcome<Option<JobRow>> {
    let mut statement = db.prepare_cached(&format!(
        "SELECT {COLUMNS} FROM jobs j JOIN collections c ON c.id = j.collection_id WHERE j.id = ?1"
    ))?;
    let mut rows = statement.query(params![id])?;
    rows.next()?.map(read).transpose()
}

/// See [`Store::job`](crate::Store::job).
pub(super) fn job(
    db: &Connection,
    shared: &Shared,
    path: &CollectionPath,
    name: &str,
) -> Outcome<Option<StoredJob>> {
    let Some((id, path)) = living_path(db, path)? else { return Ok(None) };
    job_of(db, shared, id, path, name)
}

/// A job of a collection whose number is known, and whose path is in the case it was created with.
pub(super) fn job_of(
    db: &Connection,
    Shared { tickets, sealer, .. }: &Shared,
    collection: i64,
    path: CollectionPath,
    name: &str,
) -> Outcome<Option<StoredJob>> {
    let Some(row) = find(db, collection, name)? else { return Ok(None) };
    let executions = executions::of_job(db, row.id)?;
    let definition = definitions::stored_text(db, row.id)?.text;
    let is_begun = |execution: &_| tickets.is_begun(execution);
    Ok(Some(row.stored(&executions, is_begun, &definition, &sealer.keyring(), path)?))
}

/// See [`Store::jobs`](crate::Store::jobs).
pub(super) fn jobs(
    db: &Connection,
    Shared { tickets, sealer, .. }: &Shared,
    path: &CollectionPath,
    state: Option<JobState>,
    page: Page,
) -> Outcome<Option<Vec<StoredJob>>> {
    let Some((id, path)) = living_path(db, path)? else { return Ok(None) };
    // What is left out is left out of an index that has all it takes, so that the last page of many comes quickly too.
    let filter = if state.is_some() { "AND state = ?4" } else { "AND ?4 IS NULL" };
    let mut statement = db.prepare_cached(&format!(
        "SELECT {COLUMNS}, d.definition
         FROM (SELECT id FROM jobs WHERE collection_id = ?1 AND deleted_at IS NULL {filter}
               ORDER BY name_key LIMIT ?2 OFFSET ?3) page
         JOIN jobs j ON j.id = page.id
         JOIN collections c ON c.id = j.collection_id
         JOIN definitions d ON d.job_id = j.id
         ORDER BY j.name_key"
    ))?;
    let skip = i64::try_from(page.skip).unwrap_or(i64::MAX);
    let mut rows = statement.query(params![id, page.top, skip, state.map(Coded::code)])?;
    let mut jobs = Vec::new();
    while let Some(row) = rows.next()? {
        let definition: String = row.get(WIDTH)?;
        let row = read(row)?;
        let executions = executions::of_job(db, row.id)?;
        let is_begun = |execution: &_| tickets.is_begun(execution);
        jobs.push(row.stored(&executions, is_begun, &definition, &sealer.keyring(), path.clone())?);
    }
    Ok(Some(jobs))
}

/// See [`Store::all_jobs`](crate::Store::all_jobs).
pub(super) fn all_jobs(db: &Connection, shared: &Shared, path: &CollectionPath) -> Outcome<Vec<StoredJob>> {
    let all = Page { skip: 0, top: u32::MAX };
    Ok(jobs(db, shared, path, None, all)?.unwrap_or_default())
}

/// A living collection's number, and its path in the case it was created with.
fn living_path(db: &Connection, path: &CollectionPath) -> Outcome<Option<(i64, CollectionPath)>> {
    let Some(id) = collections::find(db, path)? else { return Ok(None) };
    let mut statement = db.prepare_cached("SELECT document FROM collections WHERE id = ?1")?;
    let document: Option<String> = statement.query_row(params![id], |row| row.get(0)).optional()?;
    let Some(document) = document else { return Ok(None) };
    let collection: Collection = from_json(&document, "collections.document", id)?;
    Ok(Some((id, collection.path)))
}

/// The collection of a job that is deleted.
pub(super) fn collection_of_deleted(db: &Connection, id: i64) -> Outcome<Option<i64>> {
    let mut statement =
        db.prepare_cached("SELECT collection_id FROM jobs WHERE id = ?1 AND deleted_at IS NOT NULL")?;
    Ok(statement.query_row(params![id], |row| row.get(0)).optional()?)
}
