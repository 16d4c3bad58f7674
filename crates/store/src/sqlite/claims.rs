//! Claims: what is due becomes durable, is handed out, and is given back.

use std::sync::Arc;

use jiff::Timestamp;
use model::transition::{self, Busy};
use model::{Execution, Overlap};
use rusqlite::{CachedStatement, Connection, params};

use super::columns::instant_or_none;
use super::fault::{Fault, Outcome};
use super::tickets::Tickets;
use super::writer::{Shared, Work};
use super::{definitions, executions, history, jobs, ledger};
use crate::codec::{Coded, instant, open_definition, ticks};
use crate::decisions::{self, Soonest};
use crate::rows::{ExecutionRow, JobRow};
use crate::{Claim, Claimed, ClaimedJob, ExecutionId};

/// See [`Store::claim_due`](crate::Store::claim_due).
pub(super) fn claim_due(
    work: &mut Work<'_>,
    now: Timestamp,
    until: Timestamp,
    most: usize,
) -> Outcome<Claimed> {
    for id in work.tickets.find_lost() {
        executions::set_free(work, id)?;
    }
    let mut claims = Vec::new();
    claim_waiting(work, now, until, most, &mut claims)?;

    // A job that is due may bring no execution, so jobs are counted too: one claim takes a bounded time even when a
    // million jobs were missed.
    let mut jobs_left = most;
    let move_on = work
        .db
        .prepare_cached("UPDATE jobs SET next_number = ?2, next_at = ?3, due_at = ?3 WHERE id = ?1")?;
    let mut harvest = Harvest { now, until, left: most - claims.len(), new: Vec::new(), move_on };
    while harvest.left > 0 && jobs_left > 0 {
        let rows = due_jobs(work.db, now, until, jobs_left.min(harvest.left))?;
        if rows.is_empty() {
            break;
        }
        jobs_left -= rows.len();
        for row in rows {
            advance(work, row, &mut harvest, &mut claims)?;
        }
    }
    harvest.bring_in(work, &mut claims)?;
    claims.sort_by_key(|claim: &Claim| claim.execution.wake_at);

    let soonest = soonest(work.db)?;
    Ok(Claimed { claims, more: soonest.is_near(now, until), next_at: soonest.next_at() })
}

/// A claim that nobody was there to take.
pub(super) fn unheard(claimed: Claimed, shared: &Shared) {
    shared
        .tickets
        .lose(claimed.claims.into_iter().filter(|claim| claim.ticket.cancel()).map(|claim| claim.id.0));
    shared.bell.ring();
}

/// Executions whose time has come: retries, error actions, what was asked for, what a crash left behind.
fn claim_waiting(
    work: &mut Work<'_>,
    now: Timestamp,
    until: Timestamp,
    most: usize,
    claims: &mut Vec<Claim>,
) -> Outcome<()> {
    let mut waiting = Vec::new();
    {
        let mut statement = work.db.prepare_cached(&format!(
            "SELECT {}, {}, e.definition
             FROM executions e INDEXED BY executions_waiting
             JOIN jobs j ON j.id = e.job_id
             JOIN collections c ON c.id = j.collection_id
             WHERE e.claimed = 0 AND e.wake_at IS NOT NULL AND e.wake_at <= ?1
             ORDER BY e.wake_at LIMIT ?2",
            jobs::COLUMNS,
            executions::COLUMNS
        ))?;
        let mut rows = statement.query(params![ticks(until), most as i64])?;
        while let Some(row) = rows.next()? {
            let own: Option<String> = row.get(jobs::WIDTH + executions::WIDTH)?;
            waiting.push((jobs::read(row)?, executions::read(row, jobs::WIDTH)?, own));
        }
    }
    let keyring = work.sealer.keyring();
    for (job, execution, own) in waiting {
        let id = execution.id;
        if job.deleted {
            let entry = decisions::left_behind(&execution, now);
            ledger::insert(work, &[(job.collection_id, entry)])?;
            executions::delete(work, id)?;
            continue;
        }
        let claimed_job = match own {
            None => {
                definitions::load(work.known, work.db, work.sealer, &job).map(|known| known.claimed.clone())
            }
            Some(text) => open_definition(&keyring, &text, "executions.definition", job.id)
                .map_err(Fault::from)
                .and_then(|definition| definitions::claimed_job(work.db, &job, definition)),
        };
        let claimed_job = match claimed_job {
            Err(Fault::Unreadable(why)) => {
                tracing::error!(job = %job.name, why, "an execution is set aside: its definition is unreadable");
                // It stays accounted for, and does not keep others waiting.
                work.db
                    .prepare_cached("UPDATE executions SET wake_at = NULL WHERE id = ?1")?
                    .execute(params![id])?;
                work.at_hand.note_queued();
                continue;
            }
            other => other?,
        };
        work.db.prepare_cached("UPDATE executions SET claimed = 1 WHERE id = ?1")?.execute(params![id])?;
        claims.push(Claim {
            id: ExecutionId(id),
            execution: execution.execution(),
            job: claimed_job,
            ticket: work.tickets.hand_out(id),
        });
        work.at_hand.keep(ExecutionRow { claimed: true, ..execution }, Some(job));
    }
    Ok(())
}

/// Jobs to ask, soonest first: those that may be claimed ahead until an instant, the others when they are due.
fn due_jobs(db: &Connection, now: Timestamp, until: Timestamp, most: usize) -> Outcome<Vec<JobRow>> {
    let mut found = Vec::new();
    let mut statement = db.prepare_cached(&format!(
        "SELECT {} FROM jobs j INDEXED BY jobs_due
         JOIN collections c ON c.id = j.collection_id
         WHERE j.ahead = ?1 AND j.due_at IS NOT NULL AND j.due_at <= ?2
         ORDER BY j.due_at LIMIT ?3",
        jobs::COLUMNS
    ))?;
    for (ahead, end) in [(true, until), (false, now)] {
        let mut rows = statement.query(params![ahead, ticks(end), most as i64])?;
        while let Some(row) = rows.next()? {
            found.push(jobs::read(row)?);
        }
    }
    found.sort_by_key(|row| row.next_at);
    found.truncate(most);
    Ok(found)
}

/// What a claim has found to be due: executions that are not written yet.
struct Harvest<'d> {
    now: Timestamp,
    until: Timestamp,
    /// How many more may be claimed.
    left: usize,
    new: Vec<New>,
    /// Writes the next occurrence of a job.
    move_on: CachedStatement<'d>,
}

/// An execution that is not written yet.
struct New {
    execution: executions::New,
    job: Arc<ClaimedJob>,
    /// How the job stands after it.
    row: Option<JobRow>,
}

impl Harvest<'_> {
    /// Adds an execution, claimed where there is room for it and its time has come.
    fn add(&mut self, execution: Execution, job: &Arc<ClaimedJob>) {
        let claimed = self.left > 0 && execution.wake_at.is_some_and(|wake_at| wake_at <= self.until);
        self.left -= usize::from(claimed);
        let ahead = execution.occurrence.at > self.now;
        let execution = executions::New { execution, ahead, claimed };
        self.new.push(New { execution, job: Arc::clone(job), row: None });
    }

    /// Writes the executions, so that whoever asks for those of a job finds them; hands out those that are claimed.
    fn bring_in(&mut self, work: &mut Work<'_>, claims: &mut Vec<Claim>) -> Outcome<()> {
        let ids = executions::insert(work, self.new.iter().map(|new| &new.execution))?;
        for (New { execution, job, row }, id) in self.new.drain(..).zip(ids) {
            if execution.claimed {
                work.at_hand.keep(execution.written(id), row);
                let ticket = work.tickets.hand_out(id);
                claims.push(Claim { id: ExecutionId(id), execution: execution.execution, job, ticket });
            }
        }
        Ok(())
    }
}

/// Turns what is due of a job into executions and ledger entries, and moves it on.
fn advance(
    work: &mut Work<'_>,
    mut row: JobRow,
    harvest: &mut Harvest<'_>,
    claims: &mut Vec<Claim>,
) -> Outcome<()> {
    let now = harvest.now;
    work.at_hand.forget_job(row.id);
    let known = match definitions::load(work.known, work.db, work.sealer, &row) {
        Err(Fault::Unreadable(why)) => {
            tracing::error!(job = %row.name, why, "a job is set aside: its definition is unreadable");
            return set_due(work.db, row.id, None);
        }
        other => other?,
    };
    let busy = match known.job.definition.overlap {
        Overlap::Allow => Busy::default(),
        Overlap::Skip | Overlap::Queue => {
            harvest.bring_in(work, claims)?;
            executions::left(work.db, row.id)?
        }
    };
    let known = definitions::load(work.known, work.db, work.sealer, &row)?;
    let due = transition::due(&known.job, row.collection.resumed_at, busy, now, &work.settings.patience);
    if (due.next_number, due.next_at) == (row.next_number, row.next_at) {
        tracing::error!(job = %row.name, "a job is set aside: it is due, and nothing follows from it");
        return set_due(work.db, row.id, None);
    }
    let claimed_job = known.claimed.clone();

    let entered: Vec<_> = due.ledger.into_iter().map(|entry| (row.collection_id, entry)).collect();
    ledger::insert(work, &entered)?;
    if !due.history.is_empty() {
        let totals = row.history_total + 1..;
        let new = due.history.iter().zip(totals);
        let new: Vec<_> =
            new.map(|(entry, total)| history::New { job: row.id, total, entry: entry.clone() }).collect();
        history::insert(work, &new)?;
        work.db
            .prepare_cached("UPDATE jobs SET history_total = history_total + ?2 WHERE id = ?1")?
            .execute(params![row.id, due.history.len() as i64])?;
        row.history_total += due.history.len() as i64;
    }
    let next_at = due.next_at.map(ticks);
    harvest.move_on.execute(params![row.id, due.next_number, next_at])?;
    row.next_number = due.next_number;
    row.next_at = next_at.map(instant);
    if due.executions.is_empty() {
        if due.next_at.is_none() {
            harvest.bring_in(work, claims)?;
            come_to_rest(work, &row, now)?;
        }
        return Ok(());
    }
    for execution in due.executions {
        harvest.add(execution, &claimed_job);
    }
    if let Some(last) = harvest.new.last_mut() {
        last.row = Some(row);
    }
    Ok(())
}

/// Ends a job that has neither occurrences nor executions left.
///
/// The state is part of what a client sees and decides by, so it gets a new revision.
fn come_to_rest(work: &mut Work<'_>, row: &JobRow, now: Timestamp) -> Outcome<()> {
    let at_rest = transition::at_rest(row.state, None, row.last_faulted);
    if at_rest == row.state || executions::any(work.db, row.id)? {
        return Ok(());
    }
    let revision = work.revisions.next(work.db)?;
    work.db
        .prepare_cached("UPDATE jobs SET state = ?2, ended_at = ?3, revision = ?4 WHERE id = ?1")?
        .execute(params![row.id, at_rest.code(), ticks(now), revision])?;
    Ok(())
}

fn set_due(db: &Connection, job: i64, due_at: Option<Timestamp>) -> Outcome<()> {
    db.prepare_cached("UPDATE jobs SET due_at = ?2 WHERE id = ?1")?
        .execute(params![job, due_at.map(ticks)])?;
    Ok(())
}

/// What becomes due next, each the first entry of an index.
fn soonest(db: &Connection) -> Outcome<Soonest> {
    let mut statement = db.prepare_cached(
        "SELECT (SELECT min(wake_at) FROM executions INDEXED BY executions_waiting
                 WHERE claimed = 0 AND wake_at IS NOT NULL),
                (SELECT min(due_at) FROM jobs INDEXED BY jobs_due WHERE ahead = 1 AND due_at IS NOT NULL),
                (SELECT min(due_at) FROM jobs INDEXED BY jobs_due WHERE ahead = 0 AND due_at IS NOT NULL)",
    )?;
    Ok(statement.query_row([], |row| {
        Ok(Soonest {
            waiting: instant_or_none(row, 0)?,
            ahead: instant_or_none(row, 1)?,
            on_time: instant_or_none(row, 2)?,
        })
    })?)
}

/// See [`Store::release`](crate::Store::release).
pub(super) fn release(work: &mut Work<'_>, ids: &[ExecutionId]) -> Outcome<()> {
    for id in ids {
        if work.tickets.take_back(id.0) {
            executions::set_free(work, id.0)?;
            work.ring = true;
        }
    }
    Ok(())
}

/// Sets claims free whose process is gone.
///
/// Whether they were begun cannot be known: those that were due by now are executions for good.
pub(super) fn free_all(db: &Connection, now: Timestamp) -> Outcome<()> {
    db.execute(
        "UPDATE executions SET claimed = 0, ahead = (ahead AND due_at > ?1) WHERE claimed = 1",
        params![ticks(now)],
    )?;
    Ok(())
}

/// Sets claims free that this process knows nothing of.
pub(super) fn free_unheld(db: &Connection, tickets: &Tickets) -> Outcome<()> {
    let claimed: Vec<i64> = db
        .prepare("SELECT id FROM executions WHERE claimed = 1")?
        .query_map([], |row| row.get(0))?
        .collect::<rusqlite::Result<_>>()?;
    for id in claimed.into_iter().filter(|id| !tickets.holds(*id)) {
        db.execute("UPDATE executions SET claimed = 0, ahead = 0 WHERE id = ?1", params![id])?;
    }
    Ok(())
}
