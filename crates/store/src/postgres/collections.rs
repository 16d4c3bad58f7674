//! Collections.
//!
//! Whoever writes a collection locks it, then all its jobs, in the order of their numbers. Whoever writes one job locks
//! the collection first too; a claim or a settlement locks jobs alone, and never waits for a collection.

use std::collections::HashMap;

use jiff::Timestamp;
use model::{CollectionPath, CollectionState, GroupPath, JobState, Reason};
use tokio_postgres::Row;

use super::columns::{code, count, key};
use super::fault::Outcome;
use super::sight::Columns;
use super::work::Work;
use super::{changes, due, executions, groups, jobs};
use crate::codec::{self, ticks, to_json};
use crate::{CollectionWrite, Deleted, Expected, Page, Revision, StoredCollection, Written};

/// How a change holds on to a collection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Hold {
    /// Nobody else may change it, or its number of jobs.
    Alone,
    /// Others may change jobs of it too.
    Together,
}

/// The number of a living collection.
pub(super) async fn find(work: &Work<'_>, path: &CollectionPath) -> Outcome<Option<i64>> {
    found(work, path, "").await
}

/// The same, and holds on to it.
pub(super) async fn lock(work: &Work<'_>, path: &CollectionPath, hold: Hold) -> Outcome<Option<i64>> {
    let hold = match hold {
        Hold::Alone => "FOR UPDATE",
        Hold::Together => "FOR SHARE",
    };
    found(work, path, hold).await
}

async fn found(work: &Work<'_>, path: &CollectionPath, hold: &str) -> Outcome<Option<i64>> {
    let row = work
        .query_opt(
            &format!(
                "SELECT id FROM collections
                 WHERE subscription_key = $1 AND group_key = $2 AND name_key = $3 AND deleted_at IS NULL {hold}"
            ),
            &[&key(&path.subscription), &key(&path.group), &key(&path.name)],
        )
        .await?;
    row.map(|row| Ok(row.try_get(0)?)).transpose()
}

/// See [`Store::collection`](crate::Store::collection).
pub(super) async fn collection(work: &Work<'_>, path: &CollectionPath) -> Outcome<Option<StoredCollection>> {
    match find(work, path).await? {
        Some(id) => by_id(work, id).await,
        None => Ok(None),
    }
}

/// A collection by its number.
pub(super) async fn by_id(work: &Work<'_>, id: i64) -> Outcome<Option<StoredCollection>> {
    let sql = format!("SELECT {COLUMNS} FROM collections c WHERE c.id = $1");
    let row = work.query_opt(&sql, &[&id]).await?;
    row.as_ref().map(|row| read(row, 0)).transpose()
}

/// The columns that [`read`] reads, from `collections c`.
pub(super) const COLUMNS: &str =
    "c.document, c.subscription_key, c.group_key, c.name_key, c.id, c.enabled, c.revision";

/// Reads [`COLUMNS`] from a place in a row.
pub(super) fn read(row: &Row, from: usize) -> Outcome<StoredCollection> {
    let (id, enabled, revision) =
        (row.try_get(from + 4)?, row.try_get(from + 5)?, Revision(row.try_get(from + 6)?));
    let (collection, unreadable) =
        codec::collection(id, row.try_get(from)?, keys_of(row, from + 1)?, enabled);
    Ok(StoredCollection { collection, revision, unreadable })
}

fn keys_of(row: &Row, from: usize) -> Outcome<CollectionPath> {
    let text = |place: usize| row.try_get::<_, String>(from + place);
    Ok(CollectionPath { subscription: text(0)?, group: text(1)?, name: text(2)? })
}

/// The paths of collections, in the case they were created with. Where a document cannot be read, the row still says how
/// the collection is found.
pub(super) async fn paths(work: &Work<'_>, ids: &[i64]) -> Outcome<HashMap<i64, CollectionPath>> {
    let sql =
        "SELECT id, document, subscription_key, group_key, name_key FROM collections WHERE id = ANY($1)";
    let mut paths = HashMap::new();
    for row in work.query(sql, &[&ids]).await? {
        let id: i64 = row.try_get(0)?;
        paths.insert(id, path_of(&row, 1)?);
    }
    Ok(paths)
}

/// The path of a collection by the columns `document, subscription_key, group_key, name_key` from a place in a row.
pub(super) fn path_of(row: &Row, from: usize) -> Outcome<CollectionPath> {
    Ok(codec::path_of(row.try_get(from)?, keys_of(row, from + 1)?))
}

/// See [`Store::collections`](crate::Store::collections).
pub(super) async fn collections(
    work: &Work<'_>,
    subscription: &str,
    group: Option<&str>,
    sight: Option<&str>,
    page: Page,
) -> Outcome<Vec<StoredCollection>> {
    let rows = work
        .query(
            &format!(
                "SELECT {COLUMNS} FROM collections c
                 WHERE subscription_key = $1 AND ($2::text IS NULL OR group_key = $2) AND deleted_at IS NULL AND {}
                 ORDER BY group_key, name_key LIMIT $3 OFFSET $4",
                Columns::COLLECTION.seen(5)
            ),
            &[&key(subscription), &group.map(key), &i64::from(page.top), &count(page.skip), &sight],
        )
        .await?;
    rows.iter().map(|row| read(row, 0)).collect()
}

/// See [`Store::put_collection`](crate::Store::put_collection).
pub(super) async fn put(work: &mut Work<'_>, write: &CollectionWrite) -> Outcome<Written> {
    let CollectionWrite { collection, expected, most, now } = write;
    let subscription = key(&collection.path.subscription);
    if most.is_some() || *expected == Expected::Absent {
        // Whoever counts collections, or makes one, takes turns.
        work.execute("INSERT INTO subscriptions VALUES ($1) ON CONFLICT DO NOTHING", &[&subscription])
            .await?;
        work.query("SELECT 1 FROM subscriptions WHERE subscription_key = $1 FOR UPDATE", &[&subscription])
            .await?;
    }
    let id = lock(work, &collection.path, Hold::Alone).await?;
    let before = match id {
        Some(id) => by_id(work, id).await?,
        None => None,
    };
    match (&before, expected) {
        (None, Expected::Absent) => {}
        (Some(before), Expected::Revision(revision)) if before.revision == *revision => {}
        _ => return Ok(Written::Changed),
    }
    if let Some((plan, most)) = most.filter(|(plan, _)| {
        // One that has its place keeps it, even where the limit was lowered.
        before.as_ref().is_none_or(|before| before.collection.plan != *plan)
    }) {
        let there = work
            .ids(
                "SELECT count(*) FROM collections
                 WHERE subscription_key = $1 AND plan = $2 AND deleted_at IS NULL",
                &[&subscription, &plan.name()],
            )
            .await?;
        let there = there.first().copied().unwrap_or_default() as u64;
        if there >= u64::from(most) {
            return Ok(Written::Full { there, finished: 0 });
        }
    }
    let enabled = collection.state == CollectionState::Enabled;
    let revision = work.next_revision().await?;
    let resumed_at = collection.resumed_at.map(ticks);
    let (Some(id), Some(before)) = (id, before) else {
        groups::ensure(work, collection).await?;
        work.execute(
            "INSERT INTO collections (subscription_key, group_key, name_key, document, plan, enabled, resumed_at, \
             revision) VALUES ($1, $2, $3, $4, $5, $6, $7, $8)",
            &[
                &subscription,
                &key(&collection.path.group),
                &key(&collection.path.name),
                &to_json(collection)?,
                &collection.plan.name(),
                &enabled,
                &resumed_at,
                &revision,
            ],
        )
        .await?;
        return Ok(Written::Done(Revision(revision)));
    };
    let mut collection = collection.clone();
    if before.unreadable.is_none() {
        collection.path = before.collection.path;
    }
    let was_enabled = before.collection.state == CollectionState::Enabled;
    if was_enabled != enabled {
        jobs::lock_collection(work, id).await?;
    }
    if was_enabled && !enabled {
        let running = jobs::with_executions(work, id).await?;
        executions::ask_for(work, &running, |_| true)?;
        for (job, executions) in running {
            changes::pause(work, &job, &executions, Reason::CollectionDisabled, *now).await?;
        }
    }
    work.execute(
        "UPDATE collections SET document = $2, plan = $3, enabled = $4, resumed_at = $5, revision = $6
         WHERE id = $1",
        &[&id, &to_json(&collection)?, &collection.plan.name(), &enabled, &resumed_at, &revision],
    )
    .await?;
    if was_enabled != enabled {
        due::forget_collection(work, id).await?;
        // Jobs that are not enabled have no next occurrence, so there is nothing to tell apart.
        work.execute(
            "UPDATE jobs SET due_at = CASE WHEN $2 THEN next_at END
             WHERE collection_id = $1 AND deleted_at IS NULL AND next_at IS NOT NULL",
            &[&id, &enabled],
        )
        .await?;
        due::enter_collection(work, id).await?;
        work.ring |= enabled;
        work.tell |= enabled;
    }
    Ok(Written::Done(Revision(revision)))
}

/// See [`Store::delete_collection`](crate::Store::delete_collection).
pub(super) async fn delete(
    work: &mut Work<'_>,
    path: &CollectionPath,
    expected: Option<Revision>,
    now: Timestamp,
) -> Outcome<Deleted> {
    let Some(id) = lock(work, path, Hold::Alone).await? else { return Ok(Deleted::Absent) };
    let row = work.ids("SELECT revision FROM collections WHERE id = $1", &[&id]).await?;
    if expected.is_some_and(|expected| row.first() != Some(&expected.0)) {
        return Ok(Deleted::Changed);
    }
    remove(work, id, now).await?;
    Ok(Deleted::Done)
}

/// The numbers of a group's living collections, held on to.
pub(super) async fn lock_group(work: &Work<'_>, path: &GroupPath) -> Outcome<Vec<i64>> {
    work.ids(
        "SELECT id FROM collections WHERE subscription_key = $1 AND group_key = $2 AND deleted_at IS NULL
         ORDER BY id FOR UPDATE",
        &[&key(&path.subscription), &key(&path.name)],
    )
    .await
}

/// Deletes a collection with its jobs, save for what the ledger needs.
pub(super) async fn remove(work: &mut Work<'_>, id: i64, now: Timestamp) -> Outcome<()> {
    jobs::lock_collection(work, id).await?;
    let running = jobs::with_executions(work, id).await?;
    executions::ask_for(work, &running, |_| true)?;
    for (job, executions) in running {
        changes::abandon_all(work, &job, executions, now).await?;
    }
    // Those that are late, and those that are off: something may have been due that is in no ledger yet.
    let late = jobs::of_collection(
        work,
        id,
        "(j.next_at <= $2 OR j.state = $3)",
        &[&id, &ticks(now), &code(JobState::Disabled)],
    )
    .await?;
    for job in late {
        changes::enter_overtaken(work, &job, Reason::JobDeleted, now).await?;
    }
    // The history goes in the background, a little at a time.
    for table in ["definitions", "certificates"] {
        let sql = format!(
            "DELETE FROM {table} WHERE job_id IN
             (SELECT id FROM jobs WHERE collection_id = $1 AND deleted_at IS NULL)"
        );
        work.execute(&sql, &[&id]).await?;
    }
    due::forget_collection(work, id).await?;
    work.execute(
        "UPDATE jobs SET deleted_at = $2, sweep = true, next_at = NULL, due_at = NULL, seed = $3
         WHERE collection_id = $1 AND deleted_at IS NULL",
        &[&id, &ticks(now), &model::Uuid::nil()],
    )
    .await?;
    work.execute("UPDATE collections SET deleted_at = $2, jobs = 0 WHERE id = $1", &[&id, &ticks(now)])
        .await?;
    Ok(())
}
