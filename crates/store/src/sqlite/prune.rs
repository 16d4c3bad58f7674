//! Retention, a little at a time, so that nobody who writes has to wait for it.
//!
//! Rows are written in the order of time, so what is too old stands at the low end of the serials and is found without
//! an index. A job with too many history entries is noticed when one is added; see
//! [`Sweeper`](crate::sweeper::Sweeper).

use std::collections::{BTreeSet, HashSet};

use jiff::Timestamp;
use rusqlite::{Params, params, params_from_iter};

use super::fault::Outcome;
use super::filing::{Kind, Listed};
use super::writer::Work;
use super::{changes, jobs, tallies};
use crate::Retention;
use crate::codec::ticks;

/// The most rows of each kind that one call removes. Old rows lie side by side, but the lists that name them are spread
/// over as many pages as there are jobs: 250 took 20 ms in a store with millions, and longer on a busy disk.
const CHUNK: i64 = 100;

/// The most jobs that one call checks for too many history entries.
const JOBS: usize = 100;

/// The most jobs that one call looks at after a start, when nothing was noticed yet. Nobody waits for what it finds, so
/// a million jobs may take a hundred rounds: looking at all of them in a row kept a core busy for half a second.
const LOOK: i64 = 10_000;

/// See [`Store::prune`](crate::Store::prune).
pub(super) fn prune(work: &mut Work<'_>, retention: Retention) -> Outcome<bool> {
    let db = work.db;
    let before = ticks(retention.before);
    work.sweeper.set_limit(i64::from(retention.history_per_job));
    look(work)?;

    let mut more = old_history(work, before)?;
    more |= old_ledger(work, before)?;
    more |= ended_jobs(work, before, retention.before)?;
    more |= tallies::prune(db, retention.now)?;
    more |= deleted_jobs(work)?;
    more |= crowded_jobs(work, i64::from(retention.history_per_job))?;
    deleted_collections(work)?;
    Ok(more)
}

/// Goes on with the look at all jobs.
fn look(work: &mut Work<'_>) -> Outcome<()> {
    let Some(from) = work.sweeper.looks_from() else { return Ok(()) };
    let mut statement =
        work.db.prepare_cached("SELECT id, history_total FROM jobs WHERE id > ?1 ORDER BY id LIMIT ?2")?;
    let found = statement.query_map(params![from, LOOK], |row| Ok((row.get(0)?, row.get(1)?)))?;
    work.sweeper.looked_at(&found.collect::<rusqlite::Result<Vec<_>>>()?);
    Ok(())
}

fn old_history(work: &mut Work<'_>, before: i64) -> Outcome<bool> {
    let old = remove(
        work,
        Kind::History,
        "DELETE FROM history
         WHERE serial IN (SELECT serial FROM history ORDER BY serial LIMIT ?2) AND ended_at < ?1
         RETURNING job_id, started_at, serial",
        params![before, CHUNK],
    )?;
    Ok(!old.is_empty())
}

fn old_ledger(work: &mut Work<'_>, before: i64) -> Outcome<bool> {
    let old = remove(
        work,
        Kind::Ledger,
        "DELETE FROM ledger
         WHERE serial IN (SELECT serial FROM ledger ORDER BY serial LIMIT ?2) AND ended_at < ?1
         RETURNING job_id, due_at, serial",
        params![before, CHUNK],
    )?;
    remove_tombstones(work, old.iter().map(|entry| entry.job).collect())?;
    Ok(!old.is_empty())
}

/// Removes entries by a statement that tells which they were.
fn remove(work: &mut Work<'_>, kind: Kind, sql: &str, parameters: impl Params) -> Outcome<Vec<Listed>> {
    let mut removed: Vec<Listed> =
        work.db.prepare_cached(sql)?.query_map(parameters, Listed::read)?.collect::<rusqlite::Result<_>>()?;
    // Neighbours in the lists one after the other.
    removed.sort_unstable();
    work.filing.strike(kind, work.db, &removed)?;
    Ok(removed)
}

/// Removes these entries of the history.
fn remove_history(work: &mut Work<'_>, entries: &[Listed]) -> Outcome<()> {
    let mut statement = work.db.prepare_cached("DELETE FROM history WHERE serial = ?1")?;
    for entry in entries {
        statement.execute(params![entry.serial])?;
    }
    work.filing.strike(Kind::History, work.db, entries)
}

/// The latest entries of a job in the history, after leaving out so many of them.
fn latest(work: &mut Work<'_>, job: i64, after: i64, most: i64) -> Outcome<Vec<Listed>> {
    let filed_to = Kind::History.filed_to(work.db)?;
    let mut entries: Vec<Listed> = work
        .db
        .prepare_cached(
            "SELECT job_id, at, serial FROM history_filed WHERE job_id = ?1 AND serial <= ?2
             ORDER BY at DESC, serial DESC LIMIT ?3",
        )?
        .query_map(params![job, filed_to, after.saturating_add(most)], Listed::read)?
        .collect::<rusqlite::Result<_>>()?;
    let unfiled = work.filing.unfiled(Kind::History, work.db)?;
    entries.extend(unfiled.filter(|entry| entry.job == job));
    entries.sort_unstable_by(|one, other| other.cmp(one));
    let [after, most] = [after, most].map(|count| usize::try_from(count).unwrap_or(usize::MAX));
    Ok(entries.into_iter().skip(after).take(most).collect())
}

/// Jobs that came to their end long ago.
fn ended_jobs(work: &mut Work<'_>, before: i64, now: Timestamp) -> Outcome<bool> {
    let ended: Vec<i64> = work
        .db
        .prepare_cached(
            "SELECT id FROM jobs INDEXED BY jobs_ended
             WHERE ended_at IS NOT NULL AND deleted_at IS NULL AND ended_at < ?1 LIMIT ?2",
        )?
        .query_map(params![before, JOBS as i64], |row| row.get(0))?
        .collect::<rusqlite::Result<_>>()?;
    for id in &ended {
        if let Some(row) = jobs::by_id(work.db, *id)? {
            changes::delete(work, row, now)?;
        }
    }
    Ok(!ended.is_empty())
}

/// The history of deleted jobs, and the jobs when the ledger does not speak of them.
fn deleted_jobs(work: &mut Work<'_>) -> Outcome<bool> {
    let db = work.db;
    let mut left = CHUNK;
    let mut swept = BTreeSet::new();
    let jobs: Vec<i64> = db
        .prepare_cached("SELECT id FROM jobs INDEXED BY jobs_to_sweep WHERE sweep = 1 LIMIT ?1")?
        .query_map(params![JOBS as i64], |row| row.get(0))?
        .collect::<rusqlite::Result<_>>()?;
    for job in &jobs {
        let entries = latest(work, *job, 0, left)?;
        remove_history(work, &entries)?;
        left -= entries.len() as i64;
        if left == 0 {
            break;
        }
        db.prepare_cached("UPDATE jobs SET sweep = 0 WHERE id = ?1")?.execute(params![job])?;
        swept.insert(*job);
    }
    remove_tombstones(work, swept)?;
    Ok(!jobs.is_empty())
}

/// Removes those of some jobs that are deleted and that nothing speaks of any more.
fn remove_tombstones(work: &mut Work<'_>, jobs: BTreeSet<i64>) -> Outcome<()> {
    if jobs.is_empty() {
        return Ok(());
    }
    let unfiled = work.filing.unfiled(Kind::Ledger, work.db)?;
    let spoken_of: HashSet<i64> = unfiled.map(|entry| entry.job).collect();
    let mut statement = work.db.prepare_cached(
        "DELETE FROM jobs WHERE id = ?1 AND deleted_at IS NOT NULL AND sweep = 0
         AND NOT EXISTS (SELECT 1 FROM ledger_filed WHERE job_id = ?1)
         AND NOT EXISTS (SELECT 1 FROM executions WHERE job_id = ?1)",
    )?;
    for job in jobs.into_iter().filter(|job| !spoken_of.contains(job)) {
        let removed = statement.execute(params![job])?;
        work.sweeper.deleted_collections |= removed > 0;
    }
    Ok(())
}

/// The oldest entries of jobs that have too many.
fn crowded_jobs(work: &mut Work<'_>, limit: i64) -> Outcome<bool> {
    let mut left = CHUNK;
    let jobs = work.sweeper.crowded(JOBS);
    for job in jobs {
        let surplus = latest(work, job, limit, left)?;
        remove_history(work, &surplus)?;
        left -= surplus.len() as i64;
        if left == 0 {
            // There may be more of this one.
            return Ok(true);
        }
        work.sweeper.cleared(job);
    }
    Ok(work.sweeper.is_crowded())
}

/// Deleted collections that have no job left, not even a deleted one.
fn deleted_collections(work: &mut Work<'_>) -> Outcome<()> {
    if !std::mem::take(&mut work.sweeper.deleted_collections) {
        return Ok(());
    }
    let db = work.db;
    let empty: Vec<i64> = db
        .prepare_cached(
            "SELECT id FROM collections c WHERE deleted_at IS NOT NULL
             AND NOT EXISTS (SELECT 1 FROM jobs WHERE collection_id = c.id AND deleted_at IS NOT NULL)
             LIMIT ?1",
        )?
        .query_map(params![CHUNK], |row| row.get(0))?
        .collect::<rusqlite::Result<_>>()?;
    work.sweeper.deleted_collections = empty.len() as i64 == CHUNK;
    if !empty.is_empty() {
        let marks = vec!["?"; empty.len()].join(", ");
        db.execute(&format!("DELETE FROM collections WHERE id IN ({marks})"), params_from_iter(empty))?;
    }
    Ok(())
}
