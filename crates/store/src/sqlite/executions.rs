//! Executions: rows, and what of them can still be taken back.
//!
//! An occurrence that was due when it was claimed is an execution for good: it ends in the ledger. One that was claimed
//! ahead of its time can be taken back as long as nobody has begun it: then it is the job's next occurrence again, as if
//! it had never been claimed. That goes for readers as well as for changes.

use jiff::Timestamp;
use model::{Cause, Execution, JobId, Occurrence, Uuid};
use rusqlite::{Connection, Row, params};

use super::codec::{Coded, instant_of, instant_or_none, ticks, uuid_of};
use super::fault::Outcome;
use super::jobs::JobRow;
use super::tickets::Tickets;

/// What an execution's row says, save for its own definition.
#[derive(Debug, Clone)]
pub(super) struct ExecutionRow {
    pub(super) id: i64,
    pub(super) job_id: i64,
    pub(super) generation: i64,
    pub(super) tag: Uuid,
    pub(super) number: u32,
    pub(super) due_at: Timestamp,
    pub(super) cause: Cause,
    pub(super) ahead: bool,
    pub(super) depth: u8,
    pub(super) attempt: u32,
    pub(super) wake_at: Option<Timestamp>,
    pub(super) started_at: Option<Timestamp>,
    pub(super) claimed: bool,
}

/// The columns that [`ExecutionRow::read`] reads, from `executions e`.
pub(super) const COLUMNS: &str = "e.id, e.job_id, e.generation, e.tag, e.number, e.due_at, e.cause, e.ahead, \
     e.depth, e.attempt, e.wake_at, e.started_at, e.claimed";

/// How many they are.
pub(super) const WIDTH: usize = 13;

impl ExecutionRow {
    /// Reads [`COLUMNS`] from a place in a row.
    pub(super) fn read(row: &Row<'_>, from: usize) -> Outcome<Self> {
        let id = row.get(from)?;
        Ok(Self {
            id,
            job_id: row.get(from + 1)?,
            generation: row.get(from + 2)?,
            tag: uuid_of(row, from + 3)?,
            number: row.get(from + 4)?,
            due_at: instant_of(row, from + 5)?,
            cause: Cause::from_code(row.get(from + 6)?, id)?,
            ahead: row.get(from + 7)?,
            depth: row.get(from + 8)?,
            attempt: row.get(from + 9)?,
            wake_at: instant_or_none(row, from + 10)?,
            started_at: instant_or_none(row, from + 11)?,
            claimed: row.get(from + 12)?,
        })
    }

    /// As the model knows it.
    pub(super) fn execution(&self) -> Execution {
        Execution {
            tag: self.tag,
            job: JobId(self.job_id),
            generation: self.generation,
            occurrence: Occurrence { number: self.number, at: self.due_at },
            cause: self.cause,
            depth: self.depth,
            attempt: self.attempt,
            wake_at: self.wake_at,
            started_at: self.started_at,
        }
    }

    /// Whether an attempt has ended already: what follows belongs to it.
    pub(super) fn is_under_way(&self) -> bool {
        self.started_at.is_some() || self.attempt > 0 || self.depth > 0
    }
}

/// All executions of a job, in the order of their occurrences.
pub(super) fn of_job(db: &Connection, job: i64) -> Outcome<Vec<ExecutionRow>> {
    let mut statement = db.prepare_cached(&format!(
        "SELECT {COLUMNS} FROM executions e WHERE e.job_id = ?1 ORDER BY e.number"
    ))?;
    let mut rows = statement.query(params![job])?;
    let mut executions = Vec::new();
    while let Some(row) = rows.next()? {
        executions.push(ExecutionRow::read(row, 0)?);
    }
    Ok(executions)
}

/// Where a job stands when what can be taken back is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Restored {
    pub(super) next_number: u32,
    pub(super) next_at: Option<Timestamp>,
    /// The executions to take back for that, latest first.
    pub(super) taken_back: Vec<i64>,
}

/// What can be taken back of a job's executions: the latest occurrences, in a row, that were claimed ahead and that
/// nobody has begun. Were one left out in the middle, it would come a second time.
pub(super) fn restored(job: &JobRow, executions: &[ExecutionRow], tickets: &Tickets) -> Restored {
    let mut restored =
        Restored { next_number: job.next_number, next_at: job.next_at, taken_back: Vec::new() };
    for execution in executions.iter().rev() {
        let next = execution.ahead
            && execution.generation == job.generation
            && !execution.is_under_way()
            && execution.number.checked_add(1) == Some(restored.next_number);
        if next && !tickets.is_begun(execution.id, execution.claimed) {
            restored.next_number = execution.number;
            restored.next_at = Some(execution.due_at);
            restored.taken_back.push(execution.id);
        }
    }
    restored
}

/// Writes a new execution; its number.
pub(super) fn insert(db: &Connection, execution: &Execution, ahead: bool, claimed: bool) -> Outcome<i64> {
    let mut statement = db.prepare_cached(
        "INSERT INTO executions (job_id, generation, tag, number, due_at, cause, ahead, depth, attempt, wake_at, \
         started_at, claimed) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12)",
    )?;
    Ok(statement.insert(params![
        execution.job.0,
        execution.generation,
        execution.tag.as_bytes(),
        execution.occurrence.number,
        ticks(execution.occurrence.at),
        execution.cause.code(),
        ahead,
        execution.depth,
        execution.attempt,
        execution.wake_at.map(ticks),
        execution.started_at.map(ticks),
        claimed,
    ])?)
}

/// Removes an execution that is done with.
pub(super) fn delete(db: &Connection, tickets: &Tickets, id: i64) -> Outcome<()> {
    db.prepare_cached("DELETE FROM executions WHERE id = ?1")?.execute(params![id])?;
    tickets.forget(id);
    Ok(())
}

/// Makes an execution one that can be claimed again.
pub(super) fn set_free(db: &Connection, tickets: &Tickets, id: i64) -> Outcome<()> {
    db.prepare_cached("UPDATE executions SET claimed = 0 WHERE id = ?1")?.execute(params![id])?;
    tickets.forget(id);
    Ok(())
}

/// Whether a job has any execution.
pub(super) fn any(db: &Connection, job: i64) -> Outcome<bool> {
    let mut statement = db.prepare_cached("SELECT EXISTS (SELECT 1 FROM executions WHERE job_id = ?1)")?;
    Ok(statement.query_row(params![job], |row| row.get(0))?)
}
