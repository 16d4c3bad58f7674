//! What a change of a job means for what is in flight.
//!
//! A change decides by rows alone. Where a row says that an execution is claimed and not whether it is begun, its holder
//! is asked first (`revocation.rs`), and the change begins anew.

use jiff::Timestamp;
use model::{CollectionPath, Execution, Fate, JobId, Overlap, Reason, transition};

use super::collections::{self, Hold};
use super::columns::code;
use super::executions::{Held, New, ask_for};
use super::fault::{Fault, Outcome};
use super::work::{Values, Work};
use super::{certificates, definitions, due, executions, jobs, keys};
use crate::codec::ticks;
use crate::decisions::{self, Carried};
use crate::rows::{ExecutionRow, JobRow, Restored, restored};
use crate::seal::KeyId;
use crate::{Deleted, JobWrite, Revision, StoredJob, Written};

/// See [`Store::put_job`](crate::Store::put_job): of a job that is there. `newcomers.rs` writes those that are new.
pub(super) async fn put_job(work: &mut Work<'_>, write: &JobWrite) -> Outcome<Written<StoredJob>> {
    let Some(collection) = collections::lock(work, &write.collection, Hold::Together).await? else {
        return Ok(Written::NoCollection);
    };
    let Some(row) = jobs::lock(work, collection, &write.name).await? else { return Ok(Written::Changed) };
    let held = executions::lock(work, &[row.id]).await?.remove(&row.id).unwrap_or_default();
    let rows: Vec<ExecutionRow> = held.iter().map(|held| held.row.clone()).collect();
    // Refused before anybody is asked: a change that is not made takes nothing away.
    let seen = restored(&row, &rows, |execution| {
        held.iter().any(|held| held.row.id == execution.id && held.seems_begun(work))
    });
    if !decisions::is_expected(&row, &seen, write.expected) {
        return Ok(Written::Changed);
    }
    let job = [(row, held)];
    ask_for(work, &job, |held| !decisions::waits_for_retry(&held.row, write))?;
    let [(row, held)] = job;
    update(work, row, &held, &seen, write).await
}

/// Writes the definition of a job in place of the one that it had. What is listed of it is brought up to date.
async fn redefine(work: &Work<'_>, write: &JobWrite, job: i64) -> Outcome<()> {
    let keyring = work.shared.sealer.keyring();
    let sealed = keyring.seal(&write.definition, JobId(job))?;
    if sealed.key.is_some() {
        keys::note(work, &keyring).await?;
    }
    let (sql, key) = (
        "UPDATE definitions SET definition = $2, sealed_by = $3 WHERE job_id = $1",
        sealed.key.as_ref().map(KeyId::as_str),
    );
    let values: Values<'_> = &[&job, &sealed.text, &key];
    tokio::try_join!(certificates::list(work, job, &write.definition), work.execute(sql, values))?;
    Ok(())
}

async fn update(
    work: &mut Work<'_>,
    mut row: JobRow,
    held: &[Held],
    restored: &Restored,
    write: &JobWrite,
) -> Outcome<Written<StoredJob>> {
    executions::delete(work, &restored.taken_back).await?;
    row.next_number = restored.next_number;
    row.next_at = restored.next_at;
    if decisions::overtakes(&row, write) {
        enter_overtaken(work, &row, decisions::reason_of(write), write.now).await?;
    }
    let in_flight = held.iter().filter(|held| !restored.taken_back.contains(&held.row.id));
    carry_over(work, &row, in_flight, write).await?;
    if let Some(entry) = &write.standing.ledger {
        work.ledger.push((row.collection_id, entry.clone()));
    }
    let resting = held.is_empty() || !executions::any(work, row.id).await?;
    let mut row = decisions::rewritten(row, write, resting);
    let due_at = row.next_at.filter(|_| row.collection.enabled);
    let jobs = [row.id];
    let ((), revision, (), ()) = tokio::try_join!(
        due::forget(work, &jobs),
        rewrite(work, &row, write, due_at),
        due::enter(work, &jobs),
        redefine(work, write, row.id)
    )?;
    row.revision = revision;
    work.due(due_at);
    let left = if resting { None } else { executions::of_jobs(work, &[row.id]).await?.remove(&row.id) };
    let left = left.unwrap_or_default();
    let begun: Vec<i64> = left.iter().filter(|held| held.seems_begun(work)).map(|held| held.row.id).collect();
    let left: Vec<ExecutionRow> = left.into_iter().map(|held| held.row).collect();
    Ok(Written::Done(row.written(&left, |execution| begun.contains(&execution.id), write)?))
}

/// Writes the row of a job in place of the one that it had; its new revision.
async fn rewrite(work: &Work<'_>, row: &JobRow, write: &JobWrite, due_at: Option<Timestamp>) -> Outcome<i64> {
    let revisions = work
        .ids(
            "UPDATE jobs SET seed = $2, state = $3, ahead = $4, executions = $5, failures = $6, faulted = $7, \
             last_execution = $8, next_number = $9, next_at = $10, due_at = $11, paused_at = $12, last_faulted = $13, \
             generation = $14, revision = nextval('revisions'), ended_at = $15 WHERE id = $1 RETURNING revision",
            &[
                &row.id,
                &row.seed,
                &code(row.state),
                &(write.definition.overlap == Overlap::Allow),
                &(row.counters.executions as i64),
                &(row.counters.failures as i64),
                &(row.counters.faulted as i64),
                &row.counters.last_execution.map(ticks),
                &i64::from(row.next_number),
                &row.next_at.map(ticks),
                &due_at.map(ticks),
                &row.paused_at.map(ticks),
                &row.last_faulted,
                &row.generation,
                &row.state.is_final().then(|| ticks(write.now)),
            ],
        )
        .await?;
    revisions.first().copied().ok_or(Fault::Overtaken("a job was not written"))
}

/// What becomes of executions whose job is changed.
async fn carry_over<'h>(
    work: &mut Work<'_>,
    row: &JobRow,
    held: impl Iterator<Item = &'h Held>,
    write: &JobWrite,
) -> Outcome<()> {
    let (mut on, mut gone, mut free, mut generation) = (Vec::new(), Vec::new(), Vec::new(), row.generation);
    for held in held {
        let id = held.row.id;
        match decisions::carry_over(row, &held.row, write, || !held.is_begun(work)) {
            Carried::OnAsItBegan => on.push(id),
            Carried::GivenUp(entry) => {
                work.ledger.push((row.collection_id, entry));
                gone.push(id);
            }
            Carried::ToTheNew(new) => {
                generation = new;
                free.push(id);
            }
        }
    }
    if !on.is_empty() {
        work.execute(
            // As it is: what is sealed is bound to the job, and the executions are the job's.
            "UPDATE executions e SET definition = d.definition, sealed_by = d.sealed_by
             FROM definitions d WHERE d.job_id = $2 AND e.id = ANY($1) AND e.definition IS NULL",
            &[&on, &row.id],
        )
        .await?;
    }
    executions::delete(work, &gone).await?;
    if !free.is_empty() {
        work.execute(
            "UPDATE executions SET generation = $2, claimed_by = NULL, kept_until = NULL WHERE id = ANY($1)",
            &[&free, &generation],
        )
        .await?;
        work.ring = true;
        work.tell = true;
    }
    Ok(())
}

/// Enters in the ledger what of a job is due and not claimed, and will not be.
pub(super) async fn enter_overtaken(
    work: &mut Work<'_>,
    row: &JobRow,
    reason: Reason,
    now: Timestamp,
) -> Outcome<()> {
    if !decisions::may_be_overtaken(row, now) {
        return Ok(());
    }
    let texts = definitions::fetch(work, std::iter::once(row)).await?;
    let entries = texts.with(work, row, |known| decisions::overtaken(row, &known.job, reason, now));
    match entries {
        Err(Fault::Unreadable(why)) => {
            keys::none_is_lacking(work).await?;
            // Whoever deletes or replaces such a job helps; what was due of it nobody can tell.
            tracing::error!(job = %row.name, why, "what was due of a job is not entered: its definition is unreadable");
        }
        Err(fault) => return Err(fault),
        Ok(entries) => {
            work.ledger.extend(entries.into_iter().map(|entry| (row.collection_id, entry)));
        }
    }
    Ok(())
}

/// Stops a job whose collection is switched off: what is begun ends, nothing else does.
pub(super) async fn pause(
    work: &mut Work<'_>,
    row: &JobRow,
    held: &[Held],
    reason: Reason,
    now: Timestamp,
) -> Outcome<()> {
    let rows: Vec<ExecutionRow> = held.iter().map(|held| held.row.clone()).collect();
    let begun: Vec<i64> = held.iter().filter(|held| held.is_begun(work)).map(|held| held.row.id).collect();
    let restored = restored(row, &rows, |execution| begun.contains(&execution.id));
    let gone: Vec<i64> = rows.iter().map(|row| row.id).filter(|id| !begun.contains(id)).collect();
    for execution in rows
        .iter()
        .filter(|execution| gone.contains(&execution.id) && !restored.taken_back.contains(&execution.id))
    {
        work.ledger.push((row.collection_id, decisions::give_up(execution, reason, now)));
    }
    executions::delete(work, &gone).await?;
    if !restored.taken_back.is_empty() {
        work.execute(
            "UPDATE jobs SET next_number = $2, next_at = $3 WHERE id = $1",
            &[&row.id, &i64::from(restored.next_number), &restored.next_at.map(ticks)],
        )
        .await?;
    }
    Ok(())
}

/// See [`Store::delete_job`](crate::Store::delete_job).
pub(super) async fn delete_job(
    work: &mut Work<'_>,
    path: &CollectionPath,
    name: &str,
    expected: Option<Revision>,
    now: Timestamp,
) -> Outcome<Deleted> {
    let Some(collection) = collections::lock(work, path, Hold::Alone).await? else {
        return Ok(Deleted::Absent);
    };
    let Some(row) = jobs::lock(work, collection, name).await? else { return Ok(Deleted::Absent) };
    if expected.is_some_and(|expected| expected != Revision(row.revision)) {
        return Ok(Deleted::Changed);
    }
    delete(work, row, now).await?;
    Ok(Deleted::Done)
}

/// Deletes a job that is held on to, with its collection; save for what the ledger needs.
pub(super) async fn delete(work: &mut Work<'_>, row: JobRow, now: Timestamp) -> Outcome<()> {
    let held = executions::lock(work, &[row.id]).await?.remove(&row.id).unwrap_or_default();
    let job = [(row, held)];
    ask_for(work, &job, |_| true)?;
    let [(row, held)] = job;
    abandon_all(work, &row, held, now).await?;
    enter_overtaken(work, &row, Reason::JobDeleted, now).await?;
    let jobs = [row.id];
    let (gone_at, nil) = (ticks(now), model::Uuid::nil());
    let (gone, of_job): (Values<'_>, Values<'_>) = (&[&row.id, &gone_at, &nil], &[&row.id]);
    let of_collection: Values<'_> = &[&row.collection_id];
    // The history goes in the background, a little at a time.
    tokio::try_join!(
        due::forget(work, &jobs),
        work.execute(
            "UPDATE jobs SET deleted_at = $2, sweep = true, next_at = NULL, due_at = NULL, seed = $3 WHERE id = $1",
            gone
        ),
        work.execute("DELETE FROM definitions WHERE job_id = $1", of_job),
        work.execute("DELETE FROM certificates WHERE job_id = $1", of_job),
        work.execute("UPDATE collections SET jobs = jobs - 1 WHERE id = $1", of_collection)
    )?;
    Ok(())
}

/// Gives up what is in flight of a job that is being deleted. Calls that are under way end, and their executions stay until
/// they are settled.
pub(super) async fn abandon_all(
    work: &mut Work<'_>,
    row: &JobRow,
    held: Vec<Held>,
    now: Timestamp,
) -> Outcome<()> {
    let mut gone = Vec::with_capacity(held.len());
    for held in held {
        if held.is_begun(work) {
            continue;
        }
        gone.push(held.row.id);
        let entry = decisions::abandon(&held.row, now);
        work.ledger.extend(entry.map(|entry| (row.collection_id, entry)));
    }
    executions::delete(work, &gone).await
}

/// See [`Store::add_execution`](crate::Store::add_execution).
pub(super) async fn add_execution(work: &mut Work<'_>, execution: &Execution) -> Outcome<()> {
    let id = execution.job.0;
    if jobs::lock_by_id(work, id).await?.is_some() {
        let shard = work.query_opt("SELECT shard FROM jobs WHERE id = $1", &[&id]).await?;
        let shard = shard.map_or(Ok(0), |row| row.try_get(0))?;
        let new = New { execution: execution.clone(), shard, ahead: false, claimed: false };
        executions::insert(work, &[new]).await?;
        work.ring = true;
        work.tell = true;
    } else if let Some(collection) = jobs::collection_of_deleted(work, id).await? {
        let now = execution.wake_at.unwrap_or(execution.occurrence.at);
        let entry = transition::abandon(execution, Fate::Skipped, Reason::JobDeleted, now);
        work.ledger.push((collection, entry));
    }
    Ok(())
}
