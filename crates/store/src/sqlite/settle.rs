//! Settlements: what attempts led to.

use model::Execution;
use model::transition::Then;
use rusqlite::params;

use super::fault::{Fault, Outcome};
use super::writer::Work;
use super::{claims, definitions, executions, history, jobs, ledger};
use crate::codec::ticks;
use crate::rows::{ExecutionRow, JobRow};
use crate::{Attempted, decisions, seal};

/// See [`Store::settle`](crate::Store::settle).
pub(super) fn settle(work: &mut Work<'_>, attempts: &[Attempted]) -> Outcome<()> {
    attempts.iter().try_for_each(|attempted| settle_one(work, attempted))
}

fn settle_one(work: &mut Work<'_>, attempted: &Attempted) -> Outcome<()> {
    let db = work.db;
    let Some((mut job, row, own)) = load(work, attempted.id.0)? else {
        // Its job was deleted, which the ledger knows already; or this was settled before.
        return Ok(());
    };
    let default_retry = work.settings.plans.limits(job.collection.plan).default_retry;
    let (attempt, patience) = (&attempted.attempt, &work.settings.patience);
    let (entry, then) = match own {
        // What follows from an attempt does not depend on secrets: they stay sealed.
        Some(text) => {
            let own = seal::closed(&text)
                .map_err(|fault| Fault::unreadable("executions.definition", row.id, fault))?;
            decisions::settle(&mut job, &row, &own, default_retry, attempt, patience)
        }
        None => {
            let known = definitions::load(work.known, db, work.sealer, &job)?;
            decisions::settle(&mut job, &row, &known.job.definition, default_retry, attempt, patience)
        }
    };
    let ended_at = attempt.ended_at;
    history::insert(work, job.id, job.history_total, &entry)?;
    db.prepare_cached(
        "UPDATE jobs SET executions = ?2, failures = ?3, faulted = ?4, last_execution = ?5, last_faulted = ?6, \
         history_total = history_total + 1 WHERE id = ?1",
    )?
    .execute(params![
        job.id,
        job.counters.executions,
        job.counters.failures,
        job.counters.faulted,
        job.counters.last_execution.map(ticks),
        job.last_faulted,
    ])?;
    match then {
        Then::Again(next) => again(work, row.id, &next),
        Then::Done(entry) => {
            ledger::insert(work, job.collection_id, &entry)?;
            executions::delete(db, work.tickets, row.id)?;
            wake_queued(work, job.id, ended_at)?;
            claims::come_to_rest(db, job.id, job.state, job.next_at, job.last_faulted, ended_at)
        }
    }
}

/// The execution, as long as it is claimed, with its job and its own definition.
fn load(work: &Work<'_>, id: i64) -> Outcome<Option<(JobRow, ExecutionRow, Option<String>)>> {
    let mut statement = work.db.prepare_cached(&format!(
        "SELECT {}, {}, e.definition
         FROM executions e
         JOIN jobs j ON j.id = e.job_id
         JOIN collections c ON c.id = j.collection_id
         WHERE e.id = ?1 AND e.claimed = 1",
        jobs::COLUMNS,
        executions::COLUMNS
    ))?;
    let mut rows = statement.query(params![id])?;
    let Some(row) = rows.next()? else { return Ok(None) };
    let own = row.get(jobs::WIDTH + executions::WIDTH)?;
    Ok(Some((jobs::read(row)?, executions::read(row, jobs::WIDTH)?, own)))
}

fn again(work: &mut Work<'_>, id: i64, next: &Execution) -> Outcome<()> {
    work.db
        .prepare_cached(
            "UPDATE executions SET claimed = 0, wake_at = ?2, attempt = ?3, depth = ?4, started_at = ?5, ahead = 0 \
             WHERE id = ?1",
        )?
        .execute(params![
            id,
            next.wake_at.map(ticks),
            next.attempt,
            next.depth,
            next.started_at.map(ticks)
        ])?;
    work.tickets.forget(id);
    work.ring = true;
    Ok(())
}

/// Lets the next execution of a job go that waited for all others.
fn wake_queued(work: &mut Work<'_>, job: i64, now: jiff::Timestamp) -> Outcome<()> {
    let woken = work
        .db
        .prepare_cached(
            "UPDATE executions SET wake_at = ?2
             WHERE id = (SELECT id FROM executions INDEXED BY executions_queued
                         WHERE job_id = ?1 AND wake_at IS NULL ORDER BY number LIMIT 1)
               AND NOT EXISTS (SELECT 1 FROM executions WHERE job_id = ?1 AND wake_at IS NOT NULL)",
        )?
        .execute(params![job, ticks(now)])?;
    work.ring |= woken > 0;
    Ok(())
}
