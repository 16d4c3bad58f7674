//! The ledger: written with every change, read newest first.
//!
//! Every question is a walk backwards along an index that fits it (`walks`), from the page's beginning.

use std::fmt::Write as _;

use jiff::Timestamp;
use model::{Cause, CollectionPath, Fate, JobId, LedgerEntry, Reason, Uuid};
use rusqlite::types::Value;
use rusqlite::{Connection, Row, params, params_from_iter};

use super::collections;
use super::columns::{instant_of, instant_or_none};
use super::fault::{Fault, Outcome};
use super::filing::{Kind, Listed};
use super::many::{Cell, Insert, insert};
use super::sight::Columns;
use super::writer::Work;
use crate::codec::{Coded, key, known, ticks};
use crate::walks::{self, Scope, Walk};
use crate::{LedgerQuery, StoredLedger};

/// Writes entries, each of a collection, and counts them.
pub(super) fn insert(work: &mut Work<'_>, entries: &[(i64, LedgerEntry)]) -> Outcome<()> {
    static ROWS: Insert<12> = insert!(
        "OR FAIL INTO ledger (job_id, collection_id, due_at, due_until, occurrences, number, cause, fate, reason, started_at, \
         ended_at, tag)"
    );
    let last = ROWS.run(work.db, entries.iter().map(row))?;
    let serials = last + 1 - entries.len() as i64..;
    let listed = entries.iter().zip(serials);
    let listed =
        listed.map(|((_, entry), serial)| Listed { job: entry.job.0, at: ticks(entry.due_at), serial });
    work.filing.add(Kind::Ledger, listed);
    entries.iter().for_each(|(_, entry)| work.tallies.enter(entry));
    Ok(())
}

fn row((collection, entry): &(i64, LedgerEntry)) -> Outcome<[Cell<'_>; 12]> {
    let occurrences = i64::try_from(entry.occurrences)
        .map_err(|_| Fault::unreadable("ledger.occurrences", entry.job.0, "it is too large"))?;
    Ok([
        entry.job.0.into(),
        (*collection).into(),
        ticks(entry.due_at).into(),
        ticks(entry.due_until).into(),
        occurrences.into(),
        i64::from(entry.number).into(),
        entry.cause.code().into(),
        entry.fate.code().into(),
        entry.reason.map(Coded::code).into(),
        entry.started_at.map(ticks).into(),
        ticks(entry.ended_at).into(),
        Cell::from(entry.tag.as_ref().map(Uuid::as_bytes)),
    ])
}

/// See [`Store::ledger`](crate::Store::ledger).
pub(super) fn ledger(
    db: &Connection,
    query: &LedgerQuery,
    sight: Option<&str>,
    top: u32,
) -> Outcome<Vec<StoredLedger>> {
    let mut found = Vec::new();
    for way in ways(db, query, sight)? {
        way.read(db, query, sight, top, &mut found)?;
    }
    found.sort_by_key(|entry| std::cmp::Reverse((entry.entry.due_at, entry.serial)));
    found.truncate(top as usize);
    Ok(found)
}

/// A walk, along which way.
enum Way {
    /// An index of the ledger.
    Indexed(Walk),
    /// A job: what of it is filed, up to a serial.
    Filed(i64, i64),
    /// A job: what came after a serial.
    Unfiled(i64, i64),
}

/// Which ways answer a question; a name that was used again leads to several.
fn ways(db: &Connection, query: &LedgerQuery, sight: Option<&str>) -> Outcome<Vec<Way>> {
    let walks = match walks::scope(query) {
        Scope::Nothing => Vec::new(),
        Scope::Everything if sight.is_none() => vec![Walk::Everything],
        Scope::Everything | Scope::Subscription(..) => {
            let (subscription, group) =
                (query.subscription.as_deref().map(key), query.group.as_deref().map(key));
            let mut statement = db.prepare_cached(&format!(
                "SELECT id FROM collections WHERE (?1 IS NULL OR subscription_key = ?1)
                   AND (?4 IS NULL OR group_key = ?4) AND (?3 IS NULL OR {}) LIMIT ?2",
                Columns::COLLECTION.seen("?3")
            ))?;
            let found = statement
                .query_map(params![subscription, walks::TO_BE_FOUND, sight, group], |row| row.get(0))?;
            walks::of_many(subscription, group, found.collect::<rusqlite::Result<_>>()?)
        }
        Scope::Collection(path) => collections_ever(db, path)?.into_iter().map(Walk::Collection).collect(),
        Scope::Job(path, name) => {
            let mut walks = Vec::new();
            for collection in collections_ever(db, path)? {
                walks.extend(jobs_ever(db, collection, name)?.into_iter().map(Walk::Job));
            }
            walks
        }
    };
    let trouble = walks::is_trouble(query);
    let filed_to = Kind::Ledger.filed_to(db)?;
    let ways = walks.into_iter().flat_map(|walk| match walk {
        // What is in trouble of a job has an index of its own.
        Walk::Job(job) if !trouble => vec![Way::Filed(job, filed_to), Way::Unfiled(job, filed_to)],
        walk => vec![Way::Indexed(walk)],
    });
    Ok(ways.collect())
}

fn collections_ever(db: &Connection, path: &CollectionPath) -> Outcome<Vec<i64>> {
    let mut statement = db.prepare_cached(
        "SELECT id FROM collections WHERE subscription_key = ?1 AND group_key = ?2 AND name_key = ?3",
    )?;
    let keys = params![key(&path.subscription), key(&path.group), key(&path.name)];
    Ok(statement.query_map(keys, |row| row.get(0))?.collect::<rusqlite::Result<_>>()?)
}

fn jobs_ever(db: &Connection, collection: i64, name: &str) -> Outcome<Vec<i64>> {
    let mut statement = db.prepare_cached(
        // Each half has an index of its own.
        "SELECT id FROM jobs WHERE collection_id = ?1 AND name_key = ?2 AND deleted_at IS NULL
         UNION ALL
         SELECT id FROM jobs WHERE collection_id = ?1 AND name_key = ?2 AND deleted_at IS NOT NULL",
    )?;
    let found = statement.query_map(params![collection, key(name)], |row| row.get(0))?;
    Ok(found.collect::<rusqlite::Result<_>>()?)
}

impl Way {
    fn read(
        &self,
        db: &Connection,
        query: &LedgerQuery,
        sight: Option<&str>,
        top: u32,
        found: &mut Vec<StoredLedger>,
    ) -> Outcome<()> {
        let trouble = walks::is_trouble(query);
        let kind = if trouble { "ledger_trouble_by" } else { "ledger_by" };
        let table = |index: &str| format!("ledger l INDEXED BY {kind}_{index}");
        let (from, [at, number]) = match self {
            Self::Indexed(Walk::Everything | Walk::Subscription(..)) => {
                (table("due"), ["l.due_at", "l.serial"])
            }
            Self::Indexed(Walk::Collection(_)) => (table("collection"), ["l.due_at", "l.serial"]),
            Self::Indexed(Walk::Job(_)) => (table("job"), ["l.due_at", "l.serial"]),
            Self::Filed(..) => {
                ("ledger_filed i CROSS JOIN ledger l ON l.serial = i.serial".to_owned(), ["i.at", "i.serial"])
            }
            Self::Unfiled(..) => ("ledger l NOT INDEXED".to_owned(), ["l.due_at", "l.serial"]),
        };
        let mut sql = format!(
            "SELECT l.serial, l.job_id, l.due_at, l.due_until, l.occurrences, l.number, l.cause, l.fate, l.reason, \
             l.started_at, l.ended_at, l.tag, j.name, c.id
             FROM {from}
             CROSS JOIN jobs j ON j.id = l.job_id
             CROSS JOIN collections c ON c.id = l.collection_id
             WHERE {at} BETWEEN ? AND ? AND {} AND {}",
            known::<Fate>("l.fate"),
            known::<Cause>("l.cause")
        );
        let latest = query.before.map(|(due_at, _)| ticks(due_at));
        let to = query.due.to.map(ticks);
        let mut values: Vec<Value> = vec![
            query.due.from.map_or(i64::MIN, ticks).into(),
            latest.into_iter().chain(to).min().unwrap_or(i64::MAX).into(),
        ];
        if trouble {
            sql.push_str(" AND l.fate > 0");
        }
        if !query.fates.is_empty() {
            let marks = vec!["?"; query.fates.len()].join(", ");
            // Writing to a string cannot fail.
            let _ = write!(sql, " AND l.fate IN ({marks})");
            values.extend(query.fates.iter().map(|fate| Value::from(fate.code())));
        }
        if let Some((due_at, serial)) = query.before {
            let _ = write!(sql, " AND ({at}, {number}) < (?, ?)");
            values.extend([ticks(due_at).into(), serial.into()]);
        }
        match self {
            Self::Indexed(Walk::Everything) => {}
            Self::Indexed(Walk::Subscription(subscription, group)) => {
                sql.push_str(" AND c.subscription_key = ?");
                values.push(subscription.clone().into());
                if let Some(group) = group {
                    sql.push_str(" AND c.group_key = ?");
                    values.push(group.clone().into());
                }
            }
            Self::Indexed(Walk::Collection(id)) => {
                sql.push_str(" AND l.collection_id = ?");
                values.push((*id).into());
            }
            Self::Filed(id, filed_to) => {
                sql.push_str(" AND i.job_id = ? AND i.serial <= ?");
                values.extend([(*id).into(), (*filed_to).into()]);
            }
            Self::Unfiled(id, filed_to) => {
                sql.push_str(" AND l.job_id = ? AND l.serial > ?");
                values.extend([(*id).into(), (*filed_to).into()]);
            }
            Self::Indexed(Walk::Job(id)) => {
                sql.push_str(" AND l.job_id = ?");
                values.push((*id).into());
            }
        }
        if let Some(sight) = sight {
            let seen = Columns::COLLECTION.seen("?");
            let _ = write!(sql, " AND l.collection_id IN (SELECT id FROM collections WHERE {seen})");
            values.push(sight.to_owned().into());
        }
        let _ = write!(sql, " ORDER BY {at} DESC, {number} DESC LIMIT ?");
        values.push(i64::from(top).into());

        let mut statement = db.prepare_cached(&sql)?;
        let mut rows = statement.query(params_from_iter(values))?;
        // Neighbours are often of one collection.
        let mut last: Option<(i64, CollectionPath)> = None;
        while let Some(row) = rows.next()? {
            let collection: i64 = row.get(13)?;
            let path = match last.take().filter(|(id, _)| *id == collection) {
                Some((_, path)) => path,
                None => collections::path_of(db, collection)?,
            };
            found.push(read(row, path.clone())?);
            last = Some((collection, path));
        }
        Ok(())
    }
}

fn read(row: &Row<'_>, collection: CollectionPath) -> Outcome<StoredLedger> {
    let serial = row.get(0)?;
    let reason: Option<i64> = row.get(8)?;
    let started_at: Option<Timestamp> = instant_or_none(row, 9)?;
    Ok(StoredLedger {
        serial,
        collection,
        job: row.get(12)?,
        entry: LedgerEntry {
            job: JobId(row.get(1)?),
            due_at: instant_of(row, 2)?,
            due_until: instant_of(row, 3)?,
            occurrences: row.get(4)?,
            number: row.get(5)?,
            cause: Cause::from_code(row.get(6)?, serial)?,
            fate: Fate::from_code(row.get(7)?, serial)?,
            reason: reason.and_then(|reason| Reason::from_code(reason, serial).ok()),
            started_at,
            ended_at: instant_of(row, 10)?,
            tag: row.get::<_, Option<[u8; 16]>>(11)?.map(Uuid::from_bytes),
        },
    })
}
