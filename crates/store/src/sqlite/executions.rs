//! Executions: rows, and what of them can still be taken back.
//!
//! An occurrence that was due when it was claimed is an execution for good: it ends in the ledger. One that was claimed
//! ahead of its time can be taken back as long as nobody has begun it: then it is the job's next occurrence again, as if
//! it had never been claimed. That goes for readers as well as for changes.

use std::ops::RangeFrom;

use model::transition::Busy;
use model::{Execution, Timestamp};
use rusqlite::{Connection, OptionalExtension, Row, params};

use super::columns::{instant_of, instant_or_none, uuid_of};
use super::fault::Outcome;
use super::many::{Cell, Insert, insert};
use super::writer::Work;
use crate::codec::{self, Coded, instant, ticks};
use crate::rows::ExecutionRow;

/// The columns that [`read`] reads, from `executions e`.
pub(super) const COLUMNS: &str = "e.id, e.job_id, e.generation, e.tag, e.number, e.due_at, e.cause, e.ahead, \
     e.depth, e.attempt, e.wake_at, e.started_at, e.claimed";

/// How many they are.
pub(super) const WIDTH: usize = 13;

/// Reads [`COLUMNS`] from a place in a row.
pub(super) fn read(row: &Row<'_>, from: usize) -> Outcome<ExecutionRow> {
    let id = row.get(from)?;
    Ok(ExecutionRow {
        id,
        job_id: row.get(from + 1)?,
        generation: row.get(from + 2)?,
        tag: uuid_of(row, from + 3)?,
        number: row.get(from + 4)?,
        due_at: instant_of(row, from + 5)?,
        cause: codec::cause(row.get(from + 6)?),
        ahead: row.get(from + 7)?,
        depth: row.get(from + 8)?,
        attempt: row.get(from + 9)?,
        wake_at: instant_or_none(row, from + 10)?,
        started_at: instant_or_none(row, from + 11)?,
        claimed: row.get(from + 12)?,
    })
}

/// All executions of a job, in the order of their occurrences.
pub(super) fn of_job(db: &Connection, job: i64) -> Outcome<Vec<ExecutionRow>> {
    let mut statement = db.prepare_cached(&format!(
        "SELECT {COLUMNS} FROM executions e WHERE e.job_id = ?1 ORDER BY e.number"
    ))?;
    let mut rows = statement.query(params![job])?;
    let mut executions = Vec::new();
    while let Some(row) = rows.next()? {
        executions.push(read(row, 0)?);
    }
    Ok(executions)
}

/// An execution that is to be written.
pub(super) struct New {
    pub(super) execution: Execution,
    /// Whether it is claimed before it is due.
    pub(super) ahead: bool,
    pub(super) claimed: bool,
}

impl New {
    /// What its row says, once it is written with this number.
    pub(super) fn written(&self, id: i64) -> ExecutionRow {
        let Self { execution, ahead, claimed } = self;
        let as_written = |at: Timestamp| instant(ticks(at));
        ExecutionRow {
            id,
            job_id: execution.job.0,
            generation: execution.generation,
            tag: execution.tag,
            number: execution.occurrence.number,
            due_at: as_written(execution.occurrence.at),
            cause: execution.cause,
            ahead: *ahead,
            depth: execution.depth,
            attempt: execution.attempt,
            wake_at: execution.wake_at.map(as_written),
            started_at: execution.started_at.map(as_written),
            claimed: *claimed,
        }
    }

    fn row(&self) -> [Cell<'_>; 12] {
        let Self { execution, ahead, claimed } = self;
        [
            execution.job.0.into(),
            execution.generation.into(),
            Cell::from(Some(execution.tag.as_bytes())),
            i64::from(execution.occurrence.number).into(),
            ticks(execution.occurrence.at).into(),
            execution.cause.code().into(),
            i64::from(*ahead).into(),
            i64::from(execution.depth).into(),
            i64::from(execution.attempt).into(),
            execution.wake_at.map(ticks).into(),
            execution.started_at.map(ticks).into(),
            i64::from(*claimed).into(),
        ]
    }
}

/// Writes executions; their numbers.
pub(super) fn insert<'n>(work: &mut Work<'_>, new: impl Iterator<Item = &'n New>) -> Outcome<RangeFrom<i64>> {
    static ROWS: Insert<12> = insert!(
        "OR FAIL INTO executions (job_id, generation, tag, number, due_at, cause, ahead, depth, attempt, wake_at, started_at, \
         claimed)"
    );
    let at_hand = &mut *work.at_hand;
    let mut count = 0;
    let rows = new.inspect(|new| {
        count += 1;
        if new.execution.wake_at.is_none() {
            at_hand.note_queued();
        }
    });
    let last = ROWS.run(work.db, rows.map(|new| Ok(new.row())))?;
    Ok(last + 1 - count..)
}

/// Removes an execution that is done with.
pub(super) fn delete(work: &mut Work<'_>, id: i64) -> Outcome<()> {
    delete_many(work, &[id])
}

/// Removes executions that are done with, given in order: those that were claimed together are often done together, and
/// what stands in a row goes with one statement.
pub(super) fn delete_many(work: &mut Work<'_>, ids: &[i64]) -> Outcome<()> {
    let mut statement = work.db.prepare_cached("DELETE FROM executions WHERE id BETWEEN ?1 AND ?2")?;
    for row in ids.chunk_by(|one, next| one + 1 == *next) {
        let (Some(first), Some(last)) = (row.first(), row.last()) else { continue };
        statement.execute(params![first, last])?;
    }
    work.tickets.forget_many(ids);
    ids.iter().for_each(|id| work.at_hand.let_go(*id));
    Ok(())
}

/// Makes an execution one that can be claimed again.
pub(super) fn set_free(work: &mut Work<'_>, id: i64) -> Outcome<()> {
    work.db.prepare_cached("UPDATE executions SET claimed = 0 WHERE id = ?1")?.execute(params![id])?;
    work.tickets.forget(id);
    work.at_hand.let_go(id);
    Ok(())
}

/// An execution that is claimed.
pub(super) fn claimed(db: &Connection, id: i64) -> Outcome<Option<ExecutionRow>> {
    let mut statement =
        db.prepare_cached(&format!("SELECT {COLUMNS} FROM executions e WHERE e.id = ?1 AND e.claimed = 1"))?;
    let mut rows = statement.query(params![id])?;
    rows.next()?.map(|row| read(row, 0)).transpose()
}

/// The definition that an execution began with, if its job was changed meanwhile.
pub(super) fn own_definition(db: &Connection, id: i64) -> Outcome<Option<String>> {
    let mut statement = db.prepare_cached("SELECT definition FROM executions WHERE id = ?1")?;
    Ok(statement.query_row(params![id], |row| row.get(0)).optional()?.flatten())
}

/// Whether any execution waits for an earlier one of its job.
pub(super) fn any_queued(db: &Connection) -> Outcome<bool> {
    let mut statement = db.prepare_cached(
        "SELECT EXISTS (SELECT 1 FROM executions INDEXED BY executions_queued WHERE wake_at IS NULL)",
    )?;
    Ok(statement.query_row([], |row| row.get(0))?)
}

/// Whether a job has any execution.
pub(super) fn any(db: &Connection, job: i64) -> Outcome<bool> {
    let mut statement = db.prepare_cached("SELECT EXISTS (SELECT 1 FROM executions WHERE job_id = ?1)")?;
    Ok(statement.query_row(params![job], |row| row.get(0))?)
}

/// How many executions a job has.
pub(super) fn left(db: &Connection, job: i64) -> Outcome<Busy> {
    let mut statement = db.prepare_cached(
        "SELECT count(wake_at), count(*) - count(wake_at) FROM executions WHERE job_id = ?1",
    )?;
    Ok(statement.query_row(params![job], |row| Ok(Busy { active: row.get(0)?, queued: row.get(1)? }))?)
}
