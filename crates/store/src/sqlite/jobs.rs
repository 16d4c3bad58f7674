//! Jobs: rows and pages.

use jiff::Timestamp;
use model::{Collection, CollectionPath, Counters, Definition, Job, JobId, JobState, Plan, Uuid};
use rusqlite::{Connection, OptionalExtension, Row, params};

use super::codec::{Coded, from_json, instant_or_none, key, open_definition, uuid_of};
use super::executions::{self, ExecutionRow};
use super::fault::{Fault, Outcome};
use super::tickets::Tickets;
use super::writer::Shared;
use super::{collections, known};
use crate::seal::Keyring;
use crate::{Page, Revision, StoredJob};

/// What a job's row says, and what of its collection decisions need.
#[derive(Debug, Clone)]
pub(super) struct JobRow {
    pub(super) id: i64,
    pub(super) collection_id: i64,
    pub(super) name: String,
    pub(super) seed: Uuid,
    pub(super) state: JobState,
    pub(super) counters: Counters,
    pub(super) next_number: u32,
    pub(super) next_at: Option<Timestamp>,
    pub(super) paused_at: Option<Timestamp>,
    pub(super) last_faulted: bool,
    pub(super) generation: i64,
    pub(super) revision: i64,
    pub(super) history_total: i64,
    pub(super) collection: CollectionGist,
}

/// What of a collection decisions about its jobs need.
#[derive(Debug, Clone, Copy)]
pub(super) struct CollectionGist {
    pub(super) revision: i64,
    pub(super) enabled: bool,
    pub(super) plan: Plan,
    pub(super) resumed_at: Option<Timestamp>,
}

/// The columns that [`JobRow::read`] reads, from `jobs j JOIN collections c`.
pub(super) const COLUMNS: &str = "j.id, j.collection_id, j.name, j.seed, j.state, j.executions, j.failures, \
     j.faulted, j.last_execution, j.next_number, j.next_at, j.paused_at, j.last_faulted, j.generation, j.revision, \
     j.history_total, c.revision, c.enabled, c.plan, c.resumed_at";

/// How many they are: where other columns begin.
pub(super) const WIDTH: usize = 20;

impl JobRow {
    /// Reads [`COLUMNS`] from the beginning of a row.
    pub(super) fn read(row: &Row<'_>) -> Outcome<Self> {
        let id = row.get(0)?;
        let plan = row.get_ref(18)?.as_str().unwrap_or_default();
        Ok(Self {
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
                plan: collections::plan(plan, id)?,
                resumed_at: instant_or_none(row, 19)?,
            },
        })
    }

    /// The whole job.
    pub(super) fn job(&self, definition: Definition) -> Outcome<Job> {
        let rule = definition
            .rule()
            .map_err(|faults| Fault::unreadable("definitions.definition", self.id, format!("{faults:?}")))?;
        Ok(Job {
            id: JobId(self.id),
            name: self.name.clone(),
            seed: self.seed,
            definition,
            rule,
            state: self.state,
            counters: self.counters,
            next_number: self.next_number,
            next_at: self.next_at,
            paused_at: self.paused_at,
            last_faulted: self.last_faulted,
            generation: self.generation,
        })
    }

    /// Brings a job of the same revision up to date.
    pub(super) fn refresh(&self, job: &mut Job) {
        job.seed = self.seed;
        job.state = self.state;
        job.counters = self.counters;
        job.next_number = self.next_number;
        job.next_at = self.next_at;
        job.paused_at = self.paused_at;
        job.last_faulted = self.last_faulted;
        job.generation = self.generation;
    }

    /// The row as it is when what is claimed and not begun counts as still to come.
    pub(super) fn restored(mut self, executions: &[ExecutionRow], tickets: &Tickets) -> Self {
        let standing = executions::restored(&self, executions, tickets);
        self.next_number = standing.next_number;
        self.next_at = standing.next_at;
        self
    }

    pub(super) fn stored(
        self,
        text: &str,
        keyring: &Keyring,
        collection: CollectionPath,
    ) -> Outcome<StoredJob> {
        let definition = open_definition(keyring, text, "definitions.definition", JobId(self.id))?;
        Ok(StoredJob { revision: Revision(self.revision), job: self.job(definition)?, collection })
    }
}

/// A living job by its name.
pub(super) fn find(db: &Connection, collection_id: i64, name: &str) -> Outcome<Option<JobRow>> {
    let mut statement = db.prepare_cached(&format!(
        "SELECT {COLUMNS} FROM jobs j JOIN collections c ON c.id = j.collection_id \
         WHERE j.collection_id = ?1 AND j.name_key = ?2 AND j.deleted_at IS NULL"
    ))?;
    let mut rows = statement.query(params![collection_id, key(name)])?;
    rows.next()?.map(JobRow::read).transpose()
}

/// A living job by its number.
pub(super) fn by_id(db: &Connection, id: i64) -> Outcome<Option<JobRow>> {
    let mut statement = db.prepare_cached(&format!(
        "SELECT {COLUMNS} FROM jobs j JOIN collections c ON c.id = j.collection_id \
         WHERE j.id = ?1 AND j.deleted_at IS NULL"
    ))?;
    let mut rows = statement.query(params![id])?;
    rows.next()?.map(JobRow::read).transpose()
}

/// See [`Store::job`](crate::Store::job).
pub(super) fn job(
    db: &Connection,
    Shared { tickets, sealer, .. }: &Shared,
    path: &CollectionPath,
    name: &str,
) -> Outcome<Option<StoredJob>> {
    let Some((id, path)) = living_path(db, path)? else { return Ok(None) };
    let Some(row) = find(db, id, name)? else { return Ok(None) };
    let executions = executions::of_job(db, row.id)?;
    let definition = known::stored_text(db, row.id)?.text;
    row.restored(&executions, tickets).stored(&definition, &sealer.keyring(), path).map(Some)
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
        let row = JobRow::read(row)?;
        let executions = executions::of_job(db, row.id)?;
        let keyring = sealer.keyring();
        jobs.push(row.restored(&executions, tickets).stored(&definition, &keyring, path.clone())?);
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
