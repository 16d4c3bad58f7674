//! Collections.

use model::{CollectionPath, CollectionState, GroupPath, JobState, Reason};
use rusqlite::{Connection, OptionalExtension, params};

use super::fault::Outcome;
use super::sight::Columns;
use super::writer::Work;
use super::{changes, groups, jobs};
use crate::codec::{self, Coded, key, ticks, to_json};
use crate::rows::JobRow;
use crate::{CollectionWrite, Deleted, Expected, Page, Revision, StoredCollection, Written};

/// The number of a living collection.
pub(super) fn find(db: &Connection, path: &CollectionPath) -> Outcome<Option<i64>> {
    let mut statement = db.prepare_cached(
        "SELECT id FROM collections
         WHERE subscription_key = ?1 AND group_key = ?2 AND name_key = ?3 AND deleted_at IS NULL",
    )?;
    let keys = params![key(&path.subscription), key(&path.group), key(&path.name)];
    Ok(statement.query_row(keys, |row| row.get(0)).optional()?)
}

/// See [`Store::collection`](crate::Store::collection).
pub(super) fn collection(db: &Connection, path: &CollectionPath) -> Outcome<Option<StoredCollection>> {
    find(db, path)?.map(|id| by_id(db, id)).transpose()
}

/// A collection by its number.
pub(super) fn by_id(db: &Connection, id: i64) -> Outcome<StoredCollection> {
    let mut statement = db.prepare_cached(
        "SELECT document, subscription_key, group_key, name_key, enabled, revision FROM collections WHERE id = ?1",
    )?;
    Ok(statement.query_row(params![id], |row| {
        let keys = CollectionPath { subscription: row.get(1)?, group: row.get(2)?, name: row.get(3)? };
        let document: String = row.get(0)?;
        let (collection, unreadable) = codec::collection(id, &document, keys, row.get(4)?);
        Ok(StoredCollection { collection, revision: Revision(row.get(5)?), unreadable })
    })?)
}

/// The path of a collection, in the case it was created with. Where its document cannot be read, the row still says how
/// it is found.
pub(super) fn path_of(db: &Connection, id: i64) -> Outcome<CollectionPath> {
    let mut statement = db.prepare_cached(
        "SELECT document, subscription_key, group_key, name_key FROM collections WHERE id = ?1",
    )?;
    let (document, keys) = statement.query_row(params![id], |row| {
        let path = CollectionPath { subscription: row.get(1)?, group: row.get(2)?, name: row.get(3)? };
        Ok((row.get::<_, String>(0)?, path))
    })?;
    Ok(codec::path_of(&document, keys))
}

/// See [`Store::collections`](crate::Store::collections).
pub(super) fn collections(
    db: &Connection,
    subscription: &str,
    group: Option<&str>,
    sight: Option<&str>,
    page: Page,
) -> Outcome<Vec<StoredCollection>> {
    let filter = if group.is_some() { "AND group_key = ?2" } else { "AND ?2 IS NULL" };
    let mut statement = db.prepare_cached(&format!(
        "SELECT id FROM collections WHERE subscription_key = ?1 {filter} AND deleted_at IS NULL
           AND (?5 IS NULL OR {})
         ORDER BY group_key, name_key LIMIT ?3 OFFSET ?4",
        Columns::COLLECTION.seen("?5")
    ))?;
    let skip = i64::try_from(page.skip).unwrap_or(i64::MAX);
    let page = params![key(subscription), group.map(key), page.top, skip, sight];
    let ids: Vec<i64> = statement.query_map(page, |row| row.get(0))?.collect::<rusqlite::Result<_>>()?;
    ids.into_iter().map(|id| by_id(db, id)).collect()
}

/// See [`Store::put_collection`](crate::Store::put_collection).
pub(super) fn put(work: &mut Work<'_>, write: CollectionWrite) -> Outcome<Written> {
    let db = work.db;
    let CollectionWrite { mut collection, expected, most, now } = write;
    let id = find(db, &collection.path)?;
    let before = id.map(|id| by_id(db, id)).transpose()?;
    match (&before, expected) {
        (None, Expected::Absent) => {}
        (Some(before), Expected::Revision(revision)) if before.revision == revision => {}
        _ => return Ok(Written::Changed),
    }
    if let Some((plan, most)) = most.filter(|(plan, _)| {
        // One that has its place keeps it, even where the limit was lowered.
        before.as_ref().is_none_or(|before| before.collection.plan != *plan)
    }) {
        let mut statement = db.prepare_cached(
            "SELECT count(*) FROM collections WHERE subscription_key = ?1 AND plan = ?2 AND deleted_at IS NULL",
        )?;
        let there: u64 = statement
            .query_row(params![key(&collection.path.subscription), plan.name()], |row| row.get(0))?;
        if there >= u64::from(most) {
            return Ok(Written::Full { there, finished: 0 });
        }
    }

    let enabled = collection.state == CollectionState::Enabled;
    let revision = work.revisions.next(db)?;
    let (Some(id), Some(before)) = (id, before) else {
        groups::ensure(work, &collection)?;
        let mut statement = db.prepare_cached(
            "INSERT INTO collections (subscription_key, group_key, name_key, document, plan, enabled, resumed_at, \
             revision) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)",
        )?;
        statement.execute(params![
            key(&collection.path.subscription),
            key(&collection.path.group),
            key(&collection.path.name),
            to_json(&collection)?,
            collection.plan.name(),
            enabled,
            collection.resumed_at.map(ticks),
            revision,
        ])?;
        return Ok(Written::Done(Revision(revision)));
    };
    if before.unreadable.is_none() {
        collection.path = before.collection.path;
    }
    // Rows of jobs are kept with what they need of the collection.
    work.at_hand.clear();
    db.prepare_cached(
        "UPDATE collections SET document = ?2, plan = ?3, enabled = ?4, resumed_at = ?5, revision = ?6
         WHERE id = ?1",
    )?
    .execute(params![
        id,
        to_json(&collection)?,
        collection.plan.name(),
        enabled,
        collection.resumed_at.map(ticks),
        revision
    ])?;
    let was_enabled = before.collection.state == CollectionState::Enabled;
    if was_enabled && !enabled {
        for job in jobs_with_executions(db, id)? {
            changes::pause(work, job, Reason::CollectionDisabled, now)?;
        }
    }
    if was_enabled != enabled {
        // Jobs that are not enabled have no next occurrence, so there is nothing to tell apart.
        db.prepare_cached(
            "UPDATE jobs SET due_at = CASE WHEN ?2 THEN next_at END
             WHERE collection_id = ?1 AND deleted_at IS NULL AND next_at IS NOT NULL",
        )?
        .execute(params![id, enabled])?;
        work.ring |= enabled;
    }
    Ok(Written::Done(Revision(revision)))
}

/// See [`Store::delete_collection`](crate::Store::delete_collection).
pub(super) fn delete(
    work: &mut Work<'_>,
    path: &CollectionPath,
    expected: Option<Revision>,
    now: jiff::Timestamp,
) -> Outcome<Deleted> {
    let db = work.db;
    let Some(id) = find(db, path)? else { return Ok(Deleted::Absent) };
    if expected.is_some_and(|expected| !matches!(by_id(db, id), Ok(stored) if stored.revision == expected)) {
        return Ok(Deleted::Changed);
    }
    remove(work, id, now)?;
    Ok(Deleted::Done)
}

/// The numbers of a group's living collections.
pub(super) fn of_group(db: &Connection, path: &GroupPath) -> Outcome<Vec<i64>> {
    let mut statement = db.prepare_cached(
        "SELECT id FROM collections WHERE subscription_key = ?1 AND group_key = ?2 AND deleted_at IS NULL",
    )?;
    let keys = params![key(&path.subscription), key(&path.name)];
    Ok(statement.query_map(keys, |row| row.get(0))?.collect::<rusqlite::Result<_>>()?)
}

/// Deletes a collection with its jobs, save for what the ledger needs.
pub(super) fn remove(work: &mut Work<'_>, id: i64, now: jiff::Timestamp) -> Outcome<()> {
    let db = work.db;
    work.at_hand.clear();
    for job in jobs_with_executions(db, id)? {
        changes::abandon_all(work, job, now)?;
    }
    for job in jobs_with_dues(db, id, now)? {
        changes::enter_overtaken(work, job, Reason::JobDeleted, now)?;
    }
    // The history goes in the background, a little at a time.
    db.prepare_cached(
        "DELETE FROM definitions WHERE job_id IN
         (SELECT id FROM jobs WHERE collection_id = ?1 AND deleted_at IS NULL)",
    )?
    .execute(params![id])?;
    db.prepare_cached(
        "UPDATE jobs SET deleted_at = ?2, sweep = 1, next_at = NULL, due_at = NULL, seed = zeroblob(16)
         WHERE collection_id = ?1 AND deleted_at IS NULL",
    )?
    .execute(params![id, ticks(now)])?;
    db.prepare_cached("UPDATE collections SET deleted_at = ?2, jobs = 0 WHERE id = ?1")?
        .execute(params![id, ticks(now)])?;
    work.sweeper.deleted_collections = true;
    Ok(())
}

fn jobs_with_executions(db: &Connection, collection: i64) -> Outcome<Vec<JobRow>> {
    // From the executions, of which there are few, to their jobs.
    let mut statement = db.prepare_cached(&format!(
        "SELECT {} FROM (SELECT DISTINCT job_id FROM executions) e
         CROSS JOIN jobs j ON j.id = e.job_id
         CROSS JOIN collections c ON c.id = j.collection_id
         WHERE j.collection_id = ?1 AND j.deleted_at IS NULL",
        jobs::COLUMNS
    ))?;
    let mut rows = statement.query(params![collection])?;
    let mut found = Vec::new();
    while let Some(row) = rows.next()? {
        found.push(jobs::read(row)?);
    }
    Ok(found)
}

/// Jobs of which something may have been due that is in no ledger yet: those that are late, and those that are off.
fn jobs_with_dues(db: &Connection, collection: i64, now: jiff::Timestamp) -> Outcome<Vec<JobRow>> {
    let mut statement = db.prepare_cached(&format!(
        "SELECT {} FROM jobs j JOIN collections c ON c.id = j.collection_id
         WHERE j.collection_id = ?1 AND j.deleted_at IS NULL AND (j.next_at <= ?2 OR j.state = ?3)",
        jobs::COLUMNS
    ))?;
    let mut rows = statement.query(params![collection, ticks(now), JobState::Disabled.code()])?;
    let mut found = Vec::new();
    while let Some(row) = rows.next()? {
        found.push(jobs::read(row)?);
    }
    Ok(found)
}
