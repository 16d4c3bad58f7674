//! Resource groups.

use model::{Collection, Group, GroupPath};
use tokio_postgres::Row;

use super::collections;
use super::columns::{count, key, text};
use super::fault::{Fault, Outcome};
use super::sight::Columns;
use super::work::Work;
use crate::codec::{from_json, to_json};
use crate::{Deleted, Expected, GroupWrite, Page, Revision, StoredGroup, TagQuery, Written};

/// See [`Store::group`](crate::Store::group).
pub(super) async fn group(work: &Work<'_>, path: &GroupPath) -> Outcome<Option<StoredGroup>> {
    let row = work
        .query_opt(
            "SELECT document, revision FROM resource_groups WHERE subscription_key = $1 AND name_key = $2",
            &[&key(&path.subscription), &key(&path.name)],
        )
        .await?;
    row.as_ref().map(read).transpose()
}

fn read(row: &Row) -> Outcome<StoredGroup> {
    let revision = row.try_get(1)?;
    // The revision tells the row as well as a number would.
    let group = from_json(row.try_get(0)?, "resource_groups.document", revision)?;
    Ok(StoredGroup { group, revision: Revision(revision) })
}

/// See [`Store::groups`](crate::Store::groups).
pub(super) async fn groups(
    work: &Work<'_>,
    subscription: &str,
    tag: Option<&TagQuery>,
    sight: Option<&str>,
    page: Page,
) -> Outcome<Vec<StoredGroup>> {
    let name = tag.map(|tag| text(&tag.name));
    let value = tag.and_then(|tag| tag.value.as_deref()).map(text);
    let rows = work
        .query(
            &format!(
                "SELECT document, revision FROM resource_groups
             WHERE subscription_key = $1 AND ($2::text IS NULL OR EXISTS (
                 -- Tags are pairs of name and value.
                 SELECT 1 FROM json_array_elements(
                   CASE WHEN json_typeof(document::json -> 'tags') = 'array' THEN document::json -> 'tags'
                        ELSE '[]'::json END) AS tag
                 WHERE lower((tag ->> 0) COLLATE \"C\") = lower($2 COLLATE \"C\")
                   AND ($3::text IS NULL OR tag ->> 1 = $3)
             )) AND {}
             ORDER BY name_key LIMIT $4 OFFSET $5",
                Columns::GROUP.seen(6)
            ),
            &[&key(subscription), &name, &value, &i64::from(page.top), &count(page.skip), &sight],
        )
        .await?;
    rows.iter().map(read).collect()
}

/// See [`Store::subscriptions`](crate::Store::subscriptions).
pub(super) async fn subscriptions(work: &Work<'_>, sight: Option<&str>, page: Page) -> Outcome<Vec<String>> {
    let rows = work
        .query(
            // Of each, the group that was written first says how the name is spelt.
            &format!(
                "SELECT g.document, g.revision FROM resource_groups g
             JOIN (SELECT subscription_key, min(revision) AS revision FROM resource_groups
                   WHERE {} GROUP BY subscription_key ORDER BY subscription_key LIMIT $1 OFFSET $2) first
               ON first.revision = g.revision
             ORDER BY g.subscription_key",
                Columns::SUBSCRIPTION.seen(3)
            ),
            &[&i64::from(page.top), &count(page.skip), &sight],
        )
        .await?;
    rows.iter().map(|row| Ok(read(row)?.group.path.subscription)).collect()
}

/// See [`Store::put_group`](crate::Store::put_group).
pub(super) async fn put(work: &mut Work<'_>, write: &GroupWrite) -> Outcome<Written> {
    let path = &write.group.path;
    let before = lock(work, path).await?;
    match (&before, write.expected) {
        (None, Expected::Absent) => {}
        (Some(before), Expected::Revision(revision)) if before.revision == revision => {}
        _ => return Ok(Written::Changed),
    }
    let revision = match before {
        None => insert(work, &write.group).await?,
        Some(before) => {
            let group = Group { path: before.group.path, ..write.group.clone() };
            let revision = work.next_revision().await?;
            work.execute(
                "UPDATE resource_groups SET document = $3, revision = $4
                 WHERE subscription_key = $1 AND name_key = $2",
                &[&key(&path.subscription), &key(&path.name), &to_json(&group)?, &revision],
            )
            .await?;
            Some(Revision(revision))
        }
    };
    // Somebody else made it in the same moment.
    Ok(revision.map_or(Written::Changed, Written::Done))
}

/// The group, which nobody else can change until we are done.
async fn lock(work: &Work<'_>, path: &GroupPath) -> Outcome<Option<StoredGroup>> {
    let row = work
        .query_opt(
            "SELECT document, revision FROM resource_groups
             WHERE subscription_key = $1 AND name_key = $2 FOR UPDATE",
            &[&key(&path.subscription), &key(&path.name)],
        )
        .await?;
    row.as_ref().map(read).transpose()
}

/// Whether a group is there; if it is, it stays until we are done.
pub(super) async fn hold(work: &Work<'_>, path: &GroupPath) -> Outcome<bool> {
    let sql = "SELECT 1 FROM resource_groups WHERE subscription_key = $1 AND name_key = $2 FOR SHARE";
    Ok(work.query_opt(sql, &[&key(&path.subscription), &key(&path.name)]).await?.is_some())
}

/// Writes a group that is not there; `None` where it is after all.
async fn insert(work: &Work<'_>, group: &Group) -> Outcome<Option<Revision>> {
    let revision = work.next_revision().await?;
    let inserted = work
        .execute(
            "INSERT INTO resource_groups (subscription_key, name_key, document, revision)
             VALUES ($1, $2, $3, $4) ON CONFLICT DO NOTHING",
            &[&key(&group.path.subscription), &key(&group.path.name), &to_json(group)?, &revision],
        )
        .await?;
    Ok((inserted > 0).then_some(Revision(revision)))
}

/// Makes the group of a collection that is about to be made, if nobody did. Nobody deletes it until we are done.
pub(super) async fn ensure(work: &Work<'_>, collection: &Collection) -> Outcome<()> {
    let path = GroupPath::from(&collection.path);
    if lock(work, &path).await?.is_some() {
        return Ok(());
    }
    let group = Group { path, location: collection.location.clone(), tags: None };
    if insert(work, &group).await?.is_none() && lock(work, &group.path).await?.is_none() {
        return Err(Fault::Overtaken("a group was made and deleted"));
    }
    Ok(())
}

/// See [`Store::delete_group`](crate::Store::delete_group).
pub(super) async fn delete(
    work: &mut Work<'_>,
    path: &GroupPath,
    expected: Option<Revision>,
    now: jiff::Timestamp,
) -> Outcome<Deleted> {
    let Some(stored) = lock(work, path).await? else { return Ok(Deleted::Absent) };
    if expected.is_some_and(|expected| expected != stored.revision) {
        return Ok(Deleted::Changed);
    }
    for collection in collections::lock_group(work, path).await? {
        collections::remove(work, collection, now).await?;
    }
    work.execute(
        "DELETE FROM resource_groups WHERE subscription_key = $1 AND name_key = $2",
        &[&key(&path.subscription), &key(&path.name)],
    )
    .await?;
    Ok(Deleted::Done)
}
