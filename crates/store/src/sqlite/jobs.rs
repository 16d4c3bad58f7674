//! Jobs: rows and pages.

use model::{CollectionPath, Counters, JobState, Plan};
use rusqlite::{Connection, OptionalExtension, Row, params};

use super::columns::{instant_or_none, uuid_of};
use super::fault::Outcome;
use super::writer::Shared;
use super::{collections, definitions, executions};
use crate::codec::{self, Coded, key};
use crate::rows::{CollectionGist, JobRow, or_idle};
use crate::{FoundJob, JobRecord, Page};

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
    let mut fault = None;
    let state = or_idle(JobState::from_code(row.get(4)?, id), JobState::Disabled, &mut fault);
    let plan = or_idle(codec::plan(plan, id), Plan::Free, &mut fault);
    Ok(JobRow {
        id,
        collection_id: row.get(1)?,
        name: row.get(2)?,
        seed: uuid_of(row, 3)?,
        state,
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
            plan,
            resumed_at: instant_or_none(row, 19)?,
        },
        deleted: row.get(20)?,
        fault,
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

/// See [`Store::record`](crate::Store::record).
pub(super) fn record(
    db: &Connection,
    shared: &Shared,
    path: &CollectionPath,
    name: &str,
) -> Outcome<Option<JobRecord>> {
    let Some((id, path)) = living_path(db, path)? else { return Ok(None) };
    let Some(row) = find(db, id, name)? else { return Ok(None) };
    let text = definitions::text(db, row.id)?;
    Ok(Some(seen(db, shared, row)?.record(text.as_deref(), &shared.numbers.unreadable, path)))
}

/// A job of a collection whose number is known, and whose path is in the case it was created with.
pub(super) fn job_of(
    db: &Connection,
    shared: &Shared,
    collection: i64,
    path: CollectionPath,
    name: &str,
) -> Outcome<Option<FoundJob>> {
    let Some(row) = find(db, collection, name)? else { return Ok(None) };
    let text = definitions::text(db, row.id)?;
    let keyring = shared.sealer.keyring();
    let row = seen(db, shared, row)?;
    Ok(Some(row.found(text.as_deref(), &keyring, &shared.numbers.unreadable, path)))
}

/// The row of a job as callers see it.
pub(super) fn seen(db: &Connection, shared: &Shared, row: JobRow) -> Outcome<JobRow> {
    let executions = executions::of_job(db, row.id)?;
    Ok(row.seen(&executions, |execution| shared.tickets.is_begun(execution)))
}

/// See [`Store::jobs`](crate::Store::jobs).
pub(super) fn jobs(
    db: &Connection,
    shared: &Shared,
    path: &CollectionPath,
    state: Option<JobState>,
    page: Page,
) -> Outcome<Option<Vec<JobRecord>>> {
    let Some((id, path)) = living_path(db, path)? else { return Ok(None) };
    let mut jobs = Vec::new();
    each(db, id, state, page, |row, definition| {
        let row = seen(db, shared, row)?;
        jobs.push(row.record(definition, &shared.numbers.unreadable, path.clone()));
        Ok(())
    })?;
    Ok(Some(jobs))
}

/// See [`Store::all_jobs`](crate::Store::all_jobs).
pub(super) fn all_jobs(db: &Connection, shared: &Shared, path: &CollectionPath) -> Outcome<Vec<FoundJob>> {
    let Some((id, path)) = living_path(db, path)? else { return Ok(Vec::new()) };
    let mut jobs = Vec::new();
    each(db, id, None, Page { skip: 0, top: u32::MAX }, |row, definition| {
        let (row, keyring) = (seen(db, shared, row)?, shared.sealer.keyring());
        jobs.push(row.found(definition, &keyring, &shared.numbers.unreadable, path.clone()));
        Ok(())
    })?;
    Ok(jobs)
}

/// The rows of a page of a collection's jobs, each with its definition.
fn each(
    db: &Connection,
    collection: i64,
    state: Option<JobState>,
    page: Page,
    mut visit: impl FnMut(JobRow, Option<&str>) -> Outcome<()>,
) -> Outcome<()> {
    // What is left out is left out of an index that has all it takes, so that the last page of many comes quickly too.
    let filter = if state.is_some() { "AND state = ?4" } else { "AND ?4 IS NULL" };
    let mut statement = db.prepare_cached(&format!(
        "SELECT {COLUMNS}, d.definition
         FROM (SELECT id FROM jobs WHERE collection_id = ?1 AND deleted_at IS NULL {filter}
               ORDER BY name_key LIMIT ?2 OFFSET ?3) page
         JOIN jobs j ON j.id = page.id
         JOIN collections c ON c.id = j.collection_id
         LEFT JOIN definitions d ON d.job_id = j.id
         ORDER BY j.name_key"
    ))?;
    let skip = i64::try_from(page.skip).unwrap_or(i64::MAX);
    let mut rows = statement.query(params![collection, page.top, skip, state.map(Coded::code)])?;
    while let Some(row) = rows.next()? {
        visit(read(row)?, row.get_ref(WIDTH)?.as_str_or_null().unwrap_or_default())?;
    }
    Ok(())
}

/// See [`Store::look_through`](crate::Store::look_through).
pub(super) fn look_through(db: &Connection, shared: &Shared, after: i64, most: u32) -> Outcome<Option<i64>> {
    let mut statement = db.prepare_cached(&format!(
        "SELECT {COLUMNS}, d.definition
         FROM jobs j
         JOIN collections c ON c.id = j.collection_id
         LEFT JOIN definitions d ON d.job_id = j.id
         WHERE j.id > ?1 AND j.deleted_at IS NULL ORDER BY j.id LIMIT ?2"
    ))?;
    let (keyring, unreadable) = (shared.sealer.keyring(), &shared.numbers.unreadable);
    let mut rows = statement.query(params![after, most])?;
    let (mut seen, mut last) = (0, after);
    while let Some(row) = rows.next()? {
        let definition = row.get_ref(WIDTH)?.as_str_or_null().unwrap_or_default();
        let row = read(row)?;
        (seen, last) = (seen + 1, row.id);
        row.look(definition, &keyring, unreadable);
    }
    if seen < most {
        unreadable.end_pass();
        return Ok(None);
    }
    Ok(Some(last))
}

/// A living collection's number, and its path in the case it was created with.
fn living_path(db: &Connection, path: &CollectionPath) -> Outcome<Option<(i64, CollectionPath)>> {
    let Some(id) = collections::find(db, path)? else { return Ok(None) };
    Ok(Some((id, collections::path_of(db, id)?)))
}

/// The collection of a job that is deleted.
pub(super) fn collection_of_deleted(db: &Connection, id: i64) -> Outcome<Option<i64>> {
    let mut statement =
        db.prepare_cached("SELECT collection_id FROM jobs WHERE id = ?1 AND deleted_at IS NOT NULL")?;
    Ok(statement.query_row(params![id], |row| row.get(0)).optional()?)
}
