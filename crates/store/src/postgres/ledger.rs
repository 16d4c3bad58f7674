//! The ledger: written with every change, read newest first.
//!
//! Every question is a walk backwards along an index that fits it (`walks`), from the page's beginning, in each partition.

use std::fmt::Write as _;

use model::{Cause, CollectionPath, Fate, JobId, LedgerEntry, Reason, Uuid};
use tokio_postgres::Row;
use tokio_postgres::types::ToSql;

use super::collections;
use super::columns::{code, coded, instant_of, instant_or_none, key, number};
use super::fault::Outcome;
use super::sight::Columns;
use super::work::Work;
use crate::codec::{Coded, known, ticks};
use crate::walks::{self, Scope, Walk};
use crate::{LedgerQuery, StoredLedger};

/// Writes entries with their collections, in their order.
pub(super) async fn insert(work: &Work<'_>, entries: &[(i64, LedgerEntry)]) -> Outcome<()> {
    if entries.is_empty() {
        return Ok(());
    }
    let of =
        |value: fn(&LedgerEntry) -> i64| entries.iter().map(|(_, entry)| value(entry)).collect::<Vec<i64>>();
    let collections: Vec<i64> = entries.iter().map(|(collection, _)| *collection).collect();
    let causes: Vec<i16> = entries.iter().map(|(_, entry)| code(entry.cause)).collect();
    let fates: Vec<i16> = entries.iter().map(|(_, entry)| code(entry.fate)).collect();
    let reasons: Vec<Option<i16>> = entries.iter().map(|(_, entry)| entry.reason.map(code)).collect();
    let started: Vec<Option<i64>> = entries.iter().map(|(_, entry)| entry.started_at.map(ticks)).collect();
    let tags: Vec<Option<Uuid>> = entries.iter().map(|(_, entry)| entry.tag).collect();
    work.execute(
        "INSERT INTO ledger (job_id, collection_id, due_at, due_until, occurrences, number, cause, fate, reason, \
         started_at, ended_at, tag)
         SELECT job_id, collection_id, due_at, due_until, occurrences, number, cause, fate, reason, started_at, \
           ended_at, tag
         FROM unnest($1::bigint[], $2::bigint[], $3::bigint[], $4::bigint[], $5::bigint[], $6::bigint[],
                     $7::smallint[], $8::smallint[], $9::smallint[], $10::bigint[], $11::bigint[], $12::uuid[])
           WITH ORDINALITY AS new (job_id, collection_id, due_at, due_until, occurrences, number, cause, fate,
                                   reason, started_at, ended_at, tag, place)
         ORDER BY place",
        &[
            &of(|entry| entry.job.0),
            &collections,
            &of(|entry| ticks(entry.due_at)),
            &of(|entry| ticks(entry.due_until)),
            &of(|entry| i64::try_from(entry.occurrences).unwrap_or(i64::MAX)),
            &of(|entry| i64::from(entry.number)),
            &causes,
            &fates,
            &reasons,
            &started,
            &of(|entry| ticks(entry.ended_at)),
            &tags,
        ],
    )
    .await?;
    Ok(())
}

/// See [`Store::ledger`](crate::Store::ledger).
pub(super) async fn ledger(
    work: &Work<'_>,
    query: &LedgerQuery,
    sight: Option<&str>,
    top: u32,
) -> Outcome<Vec<StoredLedger>> {
    let mut found = Vec::new();
    for walk in walks(work, query, sight).await? {
        follow(&walk, work, query, sight, top, &mut found).await?;
    }
    found.sort_by_key(|entry| std::cmp::Reverse((entry.entry.due_at, entry.serial)));
    found.truncate(top as usize);
    Ok(found)
}

/// Which walks answer a question; a name that was used again leads to several.
async fn walks(work: &Work<'_>, query: &LedgerQuery, sight: Option<&str>) -> Outcome<Vec<Walk>> {
    match walks::scope(query) {
        Scope::Nothing => Ok(Vec::new()),
        Scope::Everything if sight.is_none() => Ok(vec![Walk::Everything]),
        Scope::Everything | Scope::Subscription(..) => {
            let (subscription, group) =
                (query.subscription.as_deref().map(key), query.group.as_deref().map(key));
            let sql = format!(
                "SELECT id FROM collections WHERE ($1::text IS NULL OR subscription_key = $1)
                   AND ($4::text IS NULL OR group_key = $4) AND {} LIMIT $2",
                Columns::COLLECTION.seen(3)
            );
            let collections = work.ids(&sql, &[&subscription, &walks::TO_BE_FOUND, &sight, &group]).await?;
            Ok(walks::of_many(subscription, group, collections))
        }
        Scope::Collection(path) => {
            Ok(collections_ever(work, path).await?.into_iter().map(Walk::Collection).collect())
        }
        Scope::Job(path, name) => {
            let collections = collections_ever(work, path).await?;
            let sql = "SELECT id FROM jobs WHERE collection_id = ANY($1) AND name_key = $2";
            let jobs = work.ids(sql, &[&collections, &key(name)]).await?;
            Ok(jobs.into_iter().map(Walk::Job).collect())
        }
    }
}

async fn collections_ever(work: &Work<'_>, path: &CollectionPath) -> Outcome<Vec<i64>> {
    let sql = "SELECT id FROM collections WHERE subscription_key = $1 AND group_key = $2 AND name_key = $3";
    work.ids(sql, &[&key(&path.subscription), &key(&path.group), &key(&path.name)]).await
}

async fn follow(
    walk: &Walk,
    work: &Work<'_>,
    query: &LedgerQuery,
    sight: Option<&str>,
    top: u32,
    found: &mut Vec<StoredLedger>,
) -> Outcome<()> {
    let mut sql = String::from(
        "SELECT l.serial, l.job_id, l.due_at, l.due_until, l.occurrences, l.number, l.cause, l.fate, l.reason, \
         l.started_at, l.ended_at, l.tag, j.name, c.id, c.document,
         c.subscription_key, c.group_key, c.name_key
         FROM ledger l
         CROSS JOIN retention r
         JOIN jobs j ON j.id = l.job_id
         JOIN collections c ON c.id = l.collection_id
         WHERE l.due_at BETWEEN $1 AND $2 AND (l.ended_at >= r.before OR l.serial > r.ledger_serial)",
    );
    let from = query.due.from.map_or(i64::MIN, ticks);
    let latest = query.before.map(|(due_at, _)| ticks(due_at));
    let to = latest.into_iter().chain(query.due.to.map(ticks)).min().unwrap_or(i64::MAX);
    let (top, fates) = (i64::from(top), query.fates.iter().copied().map(code).collect::<Vec<i16>>());
    let before = query.before.map(|(due_at, serial)| (ticks(due_at), serial));
    let mut values: Vec<&(dyn ToSql + Sync)> = vec![&from, &to, &top];
    // Writing to a string cannot fail.
    let _ = write!(sql, " AND {} AND {}", known::<Fate>("l.fate"), known::<Cause>("l.cause"));
    if walks::is_trouble(query) {
        sql.push_str(" AND l.fate > 0");
    }
    if !fates.is_empty() {
        values.push(&fates);
        let _ = write!(sql, " AND l.fate = ANY(${})", values.len());
    }
    if let Some((due_at, serial)) = &before {
        values.extend([due_at as &(dyn ToSql + Sync), serial]);
        let _ = write!(sql, " AND (l.due_at, l.serial) < (${}, ${})", values.len() - 1, values.len());
    }
    let condition = match walk {
        Walk::Everything => None,
        Walk::Subscription(subscription, group) => {
            if let Some(group) = group {
                values.push(group);
                let _ = write!(sql, " AND c.group_key = ${}", values.len());
            }
            values.push(subscription);
            Some("c.subscription_key")
        }
        Walk::Collection(id) => {
            values.push(id);
            Some("l.collection_id")
        }
        Walk::Job(id) => {
            values.push(id);
            Some("l.job_id")
        }
    };
    if let Some(column) = condition {
        let _ = write!(sql, " AND {column} = ${}", values.len());
    }
    if sight.is_some() {
        values.push(&sight);
        let seen = Columns::COLLECTION.seen(values.len());
        let _ = write!(sql, " AND l.collection_id IN (SELECT id FROM collections WHERE {seen})");
    }
    sql.push_str(" ORDER BY l.due_at DESC, l.serial DESC LIMIT $3");

    // Neighbours are often of one collection.
    let mut last: Option<(i64, CollectionPath)> = None;
    for row in work.query(&sql, &values).await? {
        let collection: i64 = row.try_get(13)?;
        let path = match last.take().filter(|(id, _)| *id == collection) {
            Some((_, path)) => path,
            None => collections::path_of(&row, 14)?,
        };
        found.push(read(&row, path.clone())?);
        last = Some((collection, path));
    }
    Ok(())
}

fn read(row: &Row, collection: CollectionPath) -> Outcome<StoredLedger> {
    let serial = row.try_get(0)?;
    let reason: Option<i16> = row.try_get(8)?;
    Ok(StoredLedger {
        serial,
        collection,
        job: row.try_get(12)?,
        entry: LedgerEntry {
            job: JobId(row.try_get(1)?),
            due_at: instant_of(row, 2)?,
            due_until: instant_of(row, 3)?,
            occurrences: number(row, 4)?,
            number: number(row, 5)?,
            cause: coded(row, 6, serial)?,
            fate: coded(row, 7, serial)?,
            reason: reason.and_then(|code| Reason::from_code(code.into(), serial).ok()),
            started_at: instant_or_none(row, 9)?,
            ended_at: instant_of(row, 10)?,
            tag: row.try_get(11)?,
        },
    })
}
