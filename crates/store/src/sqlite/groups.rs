//! Resource groups.

use model::{Collection, Group, GroupPath};
use rusqlite::{Connection, OptionalExtension, Row, params};

use super::collections;
use super::fault::Outcome;
use super::sight::Columns;
use super::writer::Work;
use crate::codec::{from_json, key, to_json};
use crate::{Deleted, Expected, GroupWrite, Page, Revision, StoredGroup, TagQuery, Written};

/// See [`Store::group`](crate::Store::group).
pub(super) fn group(db: &Connection, path: &GroupPath) -> Outcome<Option<StoredGroup>> {
    let mut statement = db.prepare_cached(
        "SELECT document, revision FROM resource_groups WHERE subscription_key = ?1 AND name_key = ?2",
    )?;
    let keys = params![key(&path.subscription), key(&path.name)];
    statement.query_row(keys, columns).optional()?.map(read).transpose()
}

fn columns(row: &Row<'_>) -> rusqlite::Result<(String, i64)> {
    Ok((row.get(0)?, row.get(1)?))
}

fn read((document, revision): (String, i64)) -> Outcome<StoredGroup> {
    // The revision tells the row as well as a number would.
    let group = from_json(&document, "resource_groups.document", revision)?;
    Ok(StoredGroup { group, revision: Revision(revision) })
}

/// See [`Store::groups`](crate::Store::groups).
pub(super) fn groups(
    db: &Connection,
    subscription: &str,
    tag: Option<&TagQuery>,
    sight: Option<&str>,
    page: Page,
) -> Outcome<Vec<StoredGroup>> {
    let mut statement = db.prepare_cached(&format!(
        "SELECT document, revision FROM resource_groups
         WHERE subscription_key = ?1 AND (?2 IS NULL OR EXISTS (
             -- Tags are pairs of name and value.
             SELECT 1 FROM json_each(document, '$.tags')
             WHERE lower(value ->> 0) = lower(?2) AND (?3 IS NULL OR value ->> 1 = ?3)
         )) AND (?6 IS NULL OR {})
         ORDER BY name_key LIMIT ?4 OFFSET ?5",
        Columns::GROUP.seen("?6")
    ))?;
    let skip = i64::try_from(page.skip).unwrap_or(i64::MAX);
    let (name, value) = (tag.map(|tag| &tag.name), tag.and_then(|tag| tag.value.as_ref()));
    let rows =
        statement.query_map(params![key(subscription), name, value, page.top, skip, sight], columns)?;
    rows.map(|row| read(row?)).collect()
}

/// See [`Store::subscriptions`](crate::Store::subscriptions).
pub(super) fn subscriptions(db: &Connection, sight: Option<&str>, page: Page) -> Outcome<Vec<String>> {
    let mut statement = db.prepare_cached(&format!(
        // With one minimum, the other columns are those of its row: the group that was written first.
        "SELECT document ->> '$.path.subscription', min(revision) FROM resource_groups
         WHERE ?3 IS NULL OR {}
         GROUP BY subscription_key ORDER BY subscription_key LIMIT ?1 OFFSET ?2",
        Columns::SUBSCRIPTION.seen("?3")
    ))?;
    let skip = i64::try_from(page.skip).unwrap_or(i64::MAX);
    let rows = statement.query_map(params![page.top, skip, sight], |row| row.get(0))?;
    Ok(rows.collect::<rusqlite::Result<_>>()?)
}

/// See [`Store::put_group`](crate::Store::put_group).
pub(super) fn put(work: &mut Work<'_>, write: GroupWrite) -> Outcome<Written> {
    let GroupWrite { group: mut new, expected } = write;
    let before = group(work.db, &new.path)?;
    match (&before, expected) {
        (None, Expected::Absent) => {}
        (Some(before), Expected::Revision(revision)) if before.revision == revision => {}
        _ => return Ok(Written::Changed),
    }
    if let Some(before) = before {
        new.path = before.group.path;
    }
    insert(work, &new).map(Written::Done)
}

fn insert(work: &mut Work<'_>, group: &Group) -> Outcome<Revision> {
    let revision = work.revisions.next(work.db)?;
    let mut statement = work.db.prepare_cached(
        "INSERT OR REPLACE INTO resource_groups (subscription_key, name_key, document, revision) \
         VALUES (?1, ?2, ?3, ?4)",
    )?;
    statement.execute(params![
        key(&group.path.subscription),
        key(&group.path.name),
        to_json(group)?,
        revision
    ])?;
    Ok(Revision(revision))
}

/// Makes the group of a collection that is about to be made, if nobody did.
pub(super) fn ensure(work: &mut Work<'_>, collection: &Collection) -> Outcome<()> {
    let path = GroupPath::from(&collection.path);
    if group(work.db, &path)?.is_none() {
        insert(work, &Group { path, location: collection.location.clone(), tags: None })?;
    }
    Ok(())
}

/// See [`Store::delete_group`](crate::Store::delete_group).
pub(super) fn delete(
    work: &mut Work<'_>,
    path: &GroupPath,
    expected: Option<Revision>,
    now: jiff::Timestamp,
) -> Outcome<Deleted> {
    let db = work.db;
    let Some(stored) = group(db, path)? else { return Ok(Deleted::Absent) };
    if expected.is_some_and(|expected| expected != stored.revision) {
        return Ok(Deleted::Changed);
    }
    for collection in collections::of_group(db, path)? {
        collections::remove(work, collection, now)?;
    }
    db.prepare_cached("DELETE FROM resource_groups WHERE subscription_key = ?1 AND name_key = ?2")?
        .execute(params![key(&path.subscription), key(&path.name)])?;
    Ok(Deleted::Done)
}
