//! What a change of a job means for what is in flight.
//!
//! Each change goes through the job's executions: what was claimed ahead and is not begun is taken back, what is begun
//! goes on with the definition it began with, and what cannot go on is entered in the ledger. Tickets are cancelled
//! last, when it is certain that the change will be made; `tickets.rs` says what happens if the commit then fails.

use jiff::Timestamp;
use model::{CollectionPath, JobId, LedgerEntry, Overlap, Reason};
use rusqlite::params;

use super::fault::{Fault, Outcome};
use super::writer::Work;
use super::{certificates, collections, definitions, executions, jobs, ledger};
use crate::codec::{Coded, key, ticks};
use crate::decisions::{self, Carried};
use crate::rows::{ExecutionRow, JobRow, Restored, created, restored};
use crate::seal::KeyId;
use crate::{Deleted, ExpectedJob, JobWrite, Revision, StoredJob, Written};

/// See [`Store::put_job`](crate::Store::put_job).
pub(super) fn put_job(work: &mut Work<'_>, write: &JobWrite) -> Outcome<Written<StoredJob>> {
    let db = work.db;
    let Some(collection) = collections::find(db, &write.collection)? else {
        return Ok(Written::NoCollection);
    };
    match (jobs::find(db, collection, &write.name)?, write.expected) {
        (None, ExpectedJob::Absent) => create(work, collection, write),
        (Some(row), expected @ ExpectedJob::Standing { .. }) => {
            let executions = executions::of_job(db, row.id)?;
            let restored = restored(&row, &executions, |execution| work.tickets.is_begun(execution));
            if decisions::is_expected(&row, &restored, expected) && take_back(work, &restored)? {
                update(work, row, &executions, &restored, write)
            } else {
                Ok(Written::Changed)
            }
        }
        _ => Ok(Written::Changed),
    }
}

/// Takes back what a job's standing was restored from: all of it, or nothing.
fn take_back(work: &mut Work<'_>, restored: &Restored) -> Outcome<bool> {
    for (i, id) in restored.taken_back.iter().enumerate() {
        if !work.tickets.take_back(*id) {
            // Begun this very moment. The others lost their tickets for nothing: they are handed out again.
            for id in &restored.taken_back[..i] {
                executions::set_free(work, *id)?;
            }
            work.ring = true;
            return Ok(false);
        }
    }
    for id in &restored.taken_back {
        executions::delete(work, *id)?;
    }
    Ok(true)
}

fn create(work: &mut Work<'_>, collection: i64, write: &JobWrite) -> Outcome<Written<StoredJob>> {
    let db = work.db;
    let (there, enabled): (u64, bool) = db
        .prepare_cached("SELECT jobs, enabled FROM collections WHERE id = ?1")?
        .query_row(params![collection], |row| Ok((row.get(0)?, row.get(1)?)))?;
    if let Some(most) = write.most.filter(|most| there >= u64::from(*most)) {
        let living = jobs::living(db, collection)?;
        if living >= u64::from(most) {
            return Ok(Written::Full { there: living, finished: there.saturating_sub(living) });
        }
    }
    let standing = &write.standing;
    let revision = work.revisions.next(db)?;
    let due_at = standing.next_at.filter(|_| enabled).map(ticks);
    let id = db
        .prepare_cached(
            "INSERT INTO jobs (collection_id, name, name_key, seed, state, ahead, executions, failures, faulted, \
             next_number, next_at, due_at, paused_at, last_faulted, generation, revision) \
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, 0, 0, 0, ?7, ?8, ?9, ?10, 0, 1, ?11)",
        )?
        .insert(params![
            collection,
            write.name,
            key(&write.name),
            write.seed.as_bytes(),
            standing.state.code(),
            write.definition.overlap == Overlap::Allow,
            standing.next_number,
            standing.next_at.map(ticks),
            due_at,
            standing.paused_at.map(ticks),
            revision,
        ])?;
    let sealed = work.sealer.keyring().seal(&write.definition, JobId(id))?;
    db.prepare_cached("INSERT INTO definitions (job_id, definition, sealed_by) VALUES (?1, ?2, ?3)")?
        .execute(params![id, sealed.text, sealed.key.as_ref().map(KeyId::as_str)])?;
    certificates::list(db, id, &write.definition)?;
    db.prepare_cached("UPDATE collections SET jobs = jobs + 1 WHERE id = ?1")?
        .execute(params![collection])?;
    work.ring |= due_at.is_some();
    Ok(Written::Done(created(id, write, revision, enabled)?))
}

fn update(
    work: &mut Work<'_>,
    mut row: JobRow,
    executions: &[ExecutionRow],
    restored: &Restored,
    write: &JobWrite,
) -> Outcome<Written<StoredJob>> {
    let db = work.db;
    work.at_hand.forget_job(row.id);
    row.next_number = restored.next_number;
    row.next_at = restored.next_at;
    if decisions::overtakes(&row, write) {
        enter_overtaken(work, row.clone(), decisions::reason_of(write), write.now)?;
    }
    let in_flight = executions.iter().filter(|execution| !restored.taken_back.contains(&execution.id));
    carry_over(work, &row, in_flight, write)?;
    if let Some(entry) = &write.standing.ledger {
        ledger::insert(work, &[(row.collection_id, entry.clone())])?;
    }

    let resting = !executions::any(db, row.id)?;
    let mut row = decisions::rewritten(row, write, resting);
    row.revision = work.revisions.next(db)?;
    let due_at = row.next_at.filter(|_| row.collection.enabled).map(ticks);
    db.prepare_cached(
        "UPDATE jobs SET seed = ?2, state = ?3, ahead = ?4, executions = ?5, failures = ?6, faulted = ?7, \
         last_execution = ?8, next_number = ?9, next_at = ?10, due_at = ?11, paused_at = ?12, last_faulted = ?13, \
         generation = ?14, revision = ?15, ended_at = ?16 WHERE id = ?1",
    )?
    .execute(params![
        row.id,
        row.seed.as_bytes(),
        row.state.code(),
        write.definition.overlap == Overlap::Allow,
        row.counters.executions,
        row.counters.failures,
        row.counters.faulted,
        row.counters.last_execution.map(ticks),
        row.next_number,
        row.next_at.map(ticks),
        due_at,
        row.paused_at.map(ticks),
        row.last_faulted,
        row.generation,
        row.revision,
        row.state.is_final().then(|| ticks(write.now)),
    ])?;
    let sealed = work.sealer.keyring().seal(&write.definition, JobId(row.id))?;
    db.prepare_cached("UPDATE definitions SET definition = ?2, sealed_by = ?3 WHERE job_id = ?1")?
        .execute(params![row.id, sealed.text, sealed.key.as_ref().map(KeyId::as_str)])?;
    certificates::replace(db, row.id, &write.definition)?;
    work.ring |= due_at.is_some();
    let left = if resting { Vec::new() } else { executions::of_job(db, row.id)? };
    Ok(Written::Done(row.written(&left, |execution| work.tickets.is_begun(execution), write)?))
}

/// What becomes of executions whose job is changed.
fn carry_over<'e>(
    work: &mut Work<'_>,
    row: &JobRow,
    executions: impl Iterator<Item = &'e ExecutionRow>,
    write: &JobWrite,
) -> Outcome<()> {
    let db = work.db;
    let mut definition = None;
    for execution in executions {
        let id = execution.id;
        match decisions::carry_over(row, execution, write, || work.tickets.take_back(id)) {
            Carried::OnAsItBegan => {
                let stored = match &mut definition {
                    Some(stored) => stored,
                    none => none.insert(definitions::stored_text(db, row.id)?),
                };
                // As it is: what is sealed is bound to the job, and the execution is the job's.
                db.prepare_cached(
                    "UPDATE executions SET definition = ?2, sealed_by = ?3 WHERE id = ?1 AND definition IS NULL",
                )?
                .execute(params![id, stored.text, stored.sealed_by])?;
            }
            Carried::GivenUp(entry) => give_up(work, row, id, &entry)?,
            Carried::ToTheNew(generation) => {
                db.prepare_cached("UPDATE executions SET generation = ?2 WHERE id = ?1")?
                    .execute(params![id, generation])?;
                executions::set_free(work, id)?;
                work.ring = true;
            }
        }
    }
    Ok(())
}

/// Enters an execution in the ledger that nobody will carry out.
fn give_up(work: &mut Work<'_>, row: &JobRow, id: i64, entry: &LedgerEntry) -> Outcome<()> {
    ledger::insert(work, &[(row.collection_id, entry.clone())])?;
    executions::delete(work, id)
}

/// Enters in the ledger what of a job is due and not claimed, and will not be.
pub(super) fn enter_overtaken(
    work: &mut Work<'_>,
    row: JobRow,
    reason: Reason,
    now: Timestamp,
) -> Outcome<()> {
    if !decisions::may_be_overtaken(&row, now) {
        return Ok(());
    }
    let known = match definitions::load(work.known, work.db, work.sealer, &row) {
        Err(Fault::Unreadable(why)) => {
            // Whoever deletes or replaces such a job helps; what was due of it nobody can tell.
            tracing::error!(job = %row.name, why, "what was due of a job is not entered: its definition is unreadable");
            return Ok(());
        }
        other => other?,
    };
    let overtaken = decisions::overtaken(&row, &known.job, reason, now);
    let entries: Vec<_> = overtaken.into_iter().map(|entry| (row.collection_id, entry)).collect();
    ledger::insert(work, &entries)
}

/// Stops a job whose collection is switched off: what is begun ends, nothing else does.
pub(super) fn pause(work: &mut Work<'_>, row: JobRow, reason: Reason, now: Timestamp) -> Outcome<()> {
    let db = work.db;
    let executions = executions::of_job(db, row.id)?;
    let restored = restored(&row, &executions, |execution| work.tickets.is_begun(execution));
    let mut taken_back = Vec::new();
    for id in restored.taken_back {
        if !work.tickets.take_back(id) {
            // Begun this very moment, and so are those before it.
            break;
        }
        taken_back.push(id);
    }
    for execution in &executions {
        if taken_back.contains(&execution.id) {
            executions::delete(work, execution.id)?;
        } else if work.tickets.take_back(execution.id) {
            give_up(work, &row, execution.id, &decisions::give_up(execution, reason, now))?;
        }
    }
    let next = taken_back.last().and_then(|id| executions.iter().find(|execution| execution.id == *id));
    if let Some(next) = next {
        db.prepare_cached("UPDATE jobs SET next_number = ?2, next_at = ?3 WHERE id = ?1")?
            .execute(params![row.id, next.number, ticks(next.due_at)])?;
    }
    Ok(())
}

/// See [`Store::delete_job`](crate::Store::delete_job).
pub(super) fn delete_job(
    work: &mut Work<'_>,
    path: &CollectionPath,
    name: &str,
    expected: Option<Revision>,
    now: Timestamp,
) -> Outcome<Deleted> {
    let Some(collection) = collections::find(work.db, path)? else { return Ok(Deleted::Absent) };
    let Some(row) = jobs::find(work.db, collection, name)? else { return Ok(Deleted::Absent) };
    if expected.is_some_and(|expected| expected != Revision(row.revision)) {
        return Ok(Deleted::Changed);
    }
    delete(work, row, now)?;
    Ok(Deleted::Done)
}

/// Deletes a job, save for what the ledger needs.
pub(super) fn delete(work: &mut Work<'_>, row: JobRow, now: Timestamp) -> Outcome<()> {
    let (db, id, collection) = (work.db, row.id, row.collection_id);
    work.at_hand.forget_job(id);
    abandon_all(work, row.clone(), now)?;
    enter_overtaken(work, row, Reason::JobDeleted, now)?;
    // The history goes in the background, a little at a time.
    db.prepare_cached(
        "UPDATE jobs SET deleted_at = ?2, sweep = 1, next_at = NULL, due_at = NULL, seed = zeroblob(16)
         WHERE id = ?1",
    )?
    .execute(params![id, ticks(now)])?;
    db.prepare_cached("DELETE FROM definitions WHERE job_id = ?1")?.execute(params![id])?;
    db.prepare_cached("UPDATE collections SET jobs = jobs - 1 WHERE id = ?1")?
        .execute(params![collection])?;
    Ok(())
}

/// Gives up what is in flight of a job that is being deleted. Calls that are under way end, and their executions stay until
/// they are settled.
pub(super) fn abandon_all(work: &mut Work<'_>, row: JobRow, now: Timestamp) -> Outcome<()> {
    for execution in executions::of_job(work.db, row.id)? {
        let id = execution.id;
        if !work.tickets.take_back(id) {
            continue;
        }
        match decisions::abandon(&execution, now) {
            Some(entry) => give_up(work, &row, id, &entry)?,
            None => executions::delete(work, id)?,
        }
    }
    Ok(())
}
