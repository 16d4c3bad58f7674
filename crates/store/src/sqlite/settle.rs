//! Settlements: what attempts led to.
//!
//! All attempts of a settlement are decided first, in memory, and written then, table by table: many rows with one
//! statement, and each job once, however many of its attempts have ended.

use std::collections::{BTreeMap, HashSet, btree_map};

use jiff::Timestamp;
use model::transition::{self, Then};
use model::{Attempt, Counters, Execution, LedgerEntry};
use rusqlite::params;

use super::fault::{Fault, Outcome};
use super::writer::Work;
use super::{definitions, executions, history, ledger};
use crate::codec::{Coded, instant, ticks};
use crate::decisions::Settled;
use crate::rows::{ExecutionRow, JobRow};
use crate::{Attempted, Settlement as Told, decisions, seal};

/// See [`Store::settle`](crate::Store::settle).
pub(super) fn settle(work: &mut Work<'_>, attempts: &[Attempted]) -> Outcome<Vec<Told>> {
    let mut settlement = std::mem::take(work.settlement);
    let mut told = Vec::with_capacity(attempts.len());
    for attempted in attempts {
        told.push(settlement.decide(work, attempted)?);
    }
    settlement.write(work)?;
    *work.settlement = settlement;
    Ok(told)
}

/// What is settled together. The writer keeps an empty one: memory that is new for every settlement takes longer to get
/// than a row takes to write.
#[derive(Debug, Default)]
pub(super) struct Settlement {
    /// The jobs of the executions, in the order in which they lie in the store.
    jobs: BTreeMap<i64, Touched>,
    /// Executions that are decided about.
    decided: HashSet<i64>,
    history: Vec<history::New>,
    ledger: Vec<(i64, LedgerEntry)>,
    done: Vec<i64>,
    again: Vec<(i64, Execution)>,
}

/// A job whose attempts have ended.
#[derive(Debug)]
struct Touched {
    row: JobRow,
    /// When the last of its executions was done with, if one was.
    done_at: Option<Timestamp>,
}

impl Settlement {
    /// What follows from one attempt.
    fn decide(&mut self, work: &mut Work<'_>, attempted: &Attempted) -> Outcome<Told> {
        let id = attempted.id.0;
        if !self.decided.insert(id) {
            return Ok(Told::Nothing);
        }
        // Where there is none, this was settled before.
        let Some(execution) = work.at_hand.execution(work.db, id)? else { return Ok(Told::Nothing) };
        let Touched { row: job, done_at } = match self.jobs.entry(execution.job_id) {
            btree_map::Entry::Occupied(touched) => touched.into_mut(),
            btree_map::Entry::Vacant(place) => {
                let Some(row) = work.at_hand.take_job(work.db, execution.job_id)? else {
                    return Ok(Told::Nothing);
                };
                place.insert(Touched { row, done_at: None })
            }
        };
        let attempt = &attempted.attempt;
        let Settled { history: entry, then, gain } = if attempted.too_late {
            decisions::too_late(&execution, attempt)
        } else if attempt.outcome.success {
            // What follows from success stands in no definition.
            decisions::succeed(&execution.execution(), attempt, &work.settings.patience)
        } else {
            fail(work, job, &execution, attempt)?
        };
        job.add(execution.generation, gain);
        if let Some(entry) = entry {
            job.history_total += 1;
            self.history.push(history::New { job: job.id, total: job.history_total, entry });
        }
        Ok(match then {
            Then::Again(next) => {
                self.again.push((id, next));
                Told::Again
            }
            Then::Done(entry) => {
                let fate = entry.fate;
                *done_at = (*done_at).max(Some(attempt.ended_at));
                self.ledger.push((job.collection_id, entry));
                self.done.push(id);
                Told::Done(fate)
            }
        })
    }

    /// Writes all of it, and is empty then.
    fn write(&mut self, work: &mut Work<'_>) -> Outcome<()> {
        history::insert(work, &self.history)?;
        self.history.clear();
        ledger::insert(work, &self.ledger)?;
        self.ledger.clear();
        for (id, next) in self.again.drain(..) {
            again(work, id, &next)?;
        }
        self.done.sort_unstable();
        executions::delete_many(work, &self.done)?;
        self.done.clear();
        self.decided.clear();
        bring_up_to_date(work, std::mem::take(&mut self.jobs).into_values())
    }
}

/// What follows from an attempt that failed.
fn fail(work: &mut Work<'_>, job: &JobRow, execution: &ExecutionRow, attempt: &Attempt) -> Outcome<Settled> {
    let patience = &work.settings.patience;
    if job.deleted {
        return Ok(decisions::settle_deleted(execution, attempt, patience));
    }
    let default_retry = work.settings.plans.limits(job.collection.plan).default_retry;
    if let Some(text) = executions::own_definition(work.db, execution.id)? {
        // What follows does not depend on secrets: they stay sealed.
        let own = seal::closed(&text)
            .map_err(|fault| Fault::unreadable("executions.definition", execution.id, fault))?;
        return Ok(decisions::settle(job, execution, &own, default_retry, attempt, patience));
    }
    let known = definitions::load(work.known, work.db, work.sealer, job)?;
    let definition = &known.job.definition;
    Ok(decisions::settle(job, execution, definition, default_retry, attempt, patience))
}

/// Writes jobs whose attempts have ended, lets the next of their executions go that waited for these, and ends those that
/// have neither executions nor occurrences left.
fn bring_up_to_date(work: &mut Work<'_>, jobs: impl Iterator<Item = Touched>) -> Outcome<()> {
    let (mut going_on, mut ended) = (Vec::new(), Vec::new());
    for Touched { row: mut job, done_at } in jobs {
        if job.deleted {
            // Its history goes in the background, and so does what was added to it.
            work.db.prepare_cached("UPDATE jobs SET sweep = 1 WHERE id = ?1")?.execute(params![job.id])?;
            continue;
        }
        job.counters.last_execution = job.counters.last_execution.map(ticks).map(instant);
        match done_at {
            Some(done_at) if is_at_rest(work, &mut job, done_at)? => ended.push((job, done_at)),
            _ => going_on.push(job),
        }
    }
    if !going_on.is_empty() {
        let mut statement = work.db.prepare_cached(
            "UPDATE jobs SET executions = ?2, failures = ?3, faulted = ?4, last_execution = ?5, \
             last_faulted = ?6, history_total = ?7 WHERE id = ?1",
        )?;
        for job in going_on {
            let Counters { executions, failures, faulted, last_execution } = job.counters;
            statement.execute(params![
                job.id,
                executions,
                failures,
                faulted,
                last_execution.map(ticks),
                job.last_faulted,
                job.history_total
            ])?;
            work.at_hand.put_back(job);
        }
    }
    if !ended.is_empty() {
        let mut statement = work.db.prepare_cached(
            "UPDATE jobs SET executions = ?2, failures = ?3, faulted = ?4, last_execution = ?5, \
             last_faulted = ?6, history_total = ?7, state = ?8, ended_at = ?9, revision = ?10 WHERE id = ?1",
        )?;
        for (job, done_at) in ended {
            let Counters { executions, failures, faulted, last_execution } = job.counters;
            statement.execute(params![
                job.id,
                executions,
                failures,
                faulted,
                last_execution.map(ticks),
                job.last_faulted,
                job.history_total,
                job.state.code(),
                ticks(done_at),
                job.revision
            ])?;
        }
    }
    Ok(())
}

/// Whether a job has come to its end, which its row then says. If executions wait for those that are done, one is let go.
fn is_at_rest(work: &mut Work<'_>, job: &mut JobRow, done_at: Timestamp) -> Outcome<bool> {
    let state = transition::at_rest(job.state, job.next_at, job.last_faulted);
    if state == job.state && !work.at_hand.may_be_queued(work.db)? {
        return Ok(false);
    }
    let left = executions::left(work.db, job.id)?;
    if left.active == 0 && left.queued > 0 {
        wake_queued(work, job.id, done_at)?;
        return Ok(false);
    }
    if left.active > 0 || state == job.state {
        return Ok(false);
    }
    job.state = state;
    // The state is part of what a client sees and decides by, so it gets a new revision.
    job.revision = work.revisions.next(work.db)?;
    Ok(true)
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
    work.at_hand.let_go(id);
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
