//! Settlements: what attempts led to.
//!
//! All attempts of a settlement are decided first, in memory, and written then, table by table: many rows with one
//! statement, and each job once, however many of its attempts have ended.

use std::collections::{BTreeMap, HashMap, btree_map};

use jiff::Timestamp;
use model::transition::{self, Then};
use model::{Counters, Execution, LedgerEntry};
use rusqlite::params;

use super::fault::{Fault, Outcome};
use super::writer::Work;
use super::{definitions, executions, history, jobs, ledger};
use crate::codec::{Coded, ticks};
use crate::rows::{ExecutionRow, JobRow};
use crate::{Attempted, Settlement as Told, decisions, seal};

/// See [`Store::settle`](crate::Store::settle).
pub(super) fn settle(work: &mut Work<'_>, attempts: &[Attempted]) -> Outcome<Vec<Told>> {
    let mut settlement = Settlement::load(work, attempts)?;
    let told = attempts.iter().map(|attempted| settlement.decide(work, attempted));
    let told = told.collect::<Outcome<Vec<_>>>()?;
    settlement.write(work)?;
    Ok(told)
}

/// What is settled together.
#[derive(Default)]
struct Settlement {
    /// Executions that are claimed and not settled yet, with their own definitions.
    open: HashMap<i64, (ExecutionRow, Option<String>)>,
    /// Their jobs, in the order in which they lie in the store.
    jobs: BTreeMap<i64, Touched>,
    history: Vec<history::New>,
    ledger: Vec<(i64, LedgerEntry)>,
    done: Vec<i64>,
    again: Vec<(i64, Execution)>,
}

/// A job whose attempts have ended.
struct Touched {
    row: JobRow,
    /// When the last of its executions was done with, if one was.
    done_at: Option<Timestamp>,
}

impl Settlement {
    /// Reads the executions of attempts and their jobs.
    fn load(work: &Work<'_>, attempts: &[Attempted]) -> Outcome<Self> {
        let mut loaded = Self::default();
        let mut statement = work.db.prepare_cached(&format!(
            "SELECT {}, {}, e.definition
             FROM executions e
             JOIN jobs j ON j.id = e.job_id
             JOIN collections c ON c.id = j.collection_id
             WHERE e.id = ?1 AND e.claimed = 1",
            jobs::COLUMNS,
            executions::COLUMNS
        ))?;
        for attempted in attempts {
            let mut rows = statement.query(params![attempted.id.0])?;
            // Where there is none, its job was deleted, which the ledger knows already; or this was settled before.
            let Some(row) = rows.next()? else { continue };
            let execution = executions::read(row, jobs::WIDTH)?;
            let own = row.get(jobs::WIDTH + executions::WIDTH)?;
            if let btree_map::Entry::Vacant(place) = loaded.jobs.entry(execution.job_id) {
                place.insert(Touched { row: jobs::read(row)?, done_at: None });
            }
            loaded.open.insert(execution.id, (execution, own));
        }
        Ok(loaded)
    }

    /// What follows from one attempt.
    fn decide(&mut self, work: &mut Work<'_>, attempted: &Attempted) -> Outcome<Told> {
        let Some((execution, own)) = self.open.remove(&attempted.id.0) else { return Ok(Told::Nothing) };
        let Some(Touched { row: job, done_at }) = self.jobs.get_mut(&execution.job_id) else {
            return Ok(Told::Nothing);
        };
        let (attempt, patience) = (&attempted.attempt, &work.settings.patience);
        let default_retry = work.settings.plans.limits(job.collection.plan).default_retry;
        let (entry, then) = match own {
            // What follows from success stands in no definition.
            _ if attempt.outcome.success => decisions::succeed(job, &execution, attempt, patience),
            // What follows from failure does not depend on secrets: they stay sealed.
            Some(text) => {
                let own = seal::closed(&text)
                    .map_err(|fault| Fault::unreadable("executions.definition", execution.id, fault))?;
                decisions::settle(job, &execution, &own, default_retry, attempt, patience)
            }
            None => {
                let known = definitions::load(work.known, work.db, work.sealer, job)?;
                let definition = &known.job.definition;
                decisions::settle(job, &execution, definition, default_retry, attempt, patience)
            }
        };
        job.history_total += 1;
        self.history.push(history::New { job: job.id, total: job.history_total, entry });
        Ok(match then {
            Then::Again(next) => {
                self.again.push((execution.id, next));
                Told::Again
            }
            Then::Done(entry) => {
                let fate = entry.fate;
                *done_at = (*done_at).max(Some(attempt.ended_at));
                self.ledger.push((job.collection_id, entry));
                self.done.push(execution.id);
                Told::Done(fate)
            }
        })
    }

    fn write(self, work: &mut Work<'_>) -> Outcome<()> {
        history::insert(work, &self.history)?;
        ledger::insert(work, &self.ledger)?;
        for (id, next) in &self.again {
            again(work, *id, next)?;
        }
        let mut statement = work.db.prepare_cached("DELETE FROM executions WHERE id = ?1")?;
        for id in self.done {
            statement.execute(params![id])?;
            work.tickets.forget(id);
        }
        self.jobs.into_values().try_for_each(|touched| bring_up_to_date(work, touched))
    }
}

/// Writes a job whose attempts have ended, lets the next of its executions go that waited for these, and ends it where
/// neither executions nor occurrences are left.
fn bring_up_to_date(work: &mut Work<'_>, Touched { row: job, done_at }: Touched) -> Outcome<()> {
    let mut state = job.state;
    if let Some(done_at) = done_at {
        let left = executions::left(work.db, job.id)?;
        if left.active == 0 && left.queued > 0 {
            wake_queued(work, job.id, done_at)?;
        } else if left.active == 0 {
            state = transition::at_rest(job.state, job.next_at, job.last_faulted);
        }
    }
    let Counters { executions, failures, faulted, last_execution } = job.counters;
    let last_execution = last_execution.map(ticks);
    match done_at.filter(|_| state != job.state) {
        None => work
            .db
            .prepare_cached(
                "UPDATE jobs SET executions = ?2, failures = ?3, faulted = ?4, last_execution = ?5, \
                 last_faulted = ?6, history_total = ?7 WHERE id = ?1",
            )?
            .execute(params![
                job.id,
                executions,
                failures,
                faulted,
                last_execution,
                job.last_faulted,
                job.history_total
            ])?,
        // The state is part of what a client sees and decides by, so it gets a new revision.
        Some(done_at) => work
            .db
            .prepare_cached(
                "UPDATE jobs SET executions = ?2, failures = ?3, faulted = ?4, last_execution = ?5, \
                 last_faulted = ?6, history_total = ?7, state = ?8, ended_at = ?9, revision = ?10 WHERE id = ?1",
            )?
            .execute(params![
                job.id,
                executions,
                failures,
                faulted,
                last_execution,
                job.last_faulted,
                job.history_total,
                state.code(),
                ticks(done_at),
                work.revisions.next(work.db)?
            ])?,
    };
    Ok(())
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

/// Lets the next execution of a job go that waited for all others, of which none is left.
fn wake_queued(work: &mut Work<'_>, job: i64, now: Timestamp) -> Outcome<()> {
    work.db
        .prepare_cached(
            "UPDATE executions SET wake_at = ?2
             WHERE id = (SELECT id FROM executions INDEXED BY executions_queued
                         WHERE job_id = ?1 AND wake_at IS NULL ORDER BY number LIMIT 1)",
        )?
        .execute(params![job, ticks(now)])?;
    work.ring = true;
    Ok(())
}
