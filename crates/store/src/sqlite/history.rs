//! The history of attempts.

use model::{CollectionPath, HistoryEntry, HistoryStatus};
use rusqlite::{Connection, params};

use super::columns::instant_of;
use super::fault::Outcome;
use super::filing::{Kind, Listed};
use super::many::{Cell, Insert, insert};
use super::writer::Work;
use super::{collections, jobs};
use crate::codec::{Coded, known, ticks};
use crate::{HistoryQuery, Page, StoredHistory};

/// An entry that is to be written.
#[derive(Debug)]
pub(super) struct New {
    pub(super) job: i64,
    /// How many the job has with it, for retention to know when to look; the caller writes that down.
    pub(super) total: i64,
    pub(super) entry: HistoryEntry,
}

impl New {
    fn row(&self) -> [Cell<'_>; 9] {
        let Self { job, entry, .. } = self;
        [
            (*job).into(),
            ticks(entry.started_at).into(),
            ticks(entry.ended_at).into(),
            ticks(entry.expected_at).into(),
            i64::from(entry.depth).into(),
            entry.status.code().into(),
            i64::from(entry.retry_count).into(),
            i64::from(entry.repeat_count).into(),
            Cell::from(&*entry.message),
        ]
    }
}

/// Writes entries, and counts them.
pub(super) fn insert(work: &mut Work<'_>, entries: &[New]) -> Outcome<()> {
    static ROWS: Insert<9> = insert!(
        "OR FAIL INTO history (job_id, started_at, ended_at, expected_at, depth, status, retry_count, repeat_count, message)"
    );
    let last = ROWS.run(work.db, entries.iter().map(|new| Ok(new.row())))?;
    let serials = last + 1 - entries.len() as i64..;
    let listed = entries.iter().zip(serials);
    let listed = listed.map(|(new, serial)| Listed { job: new.job, at: ticks(new.entry.started_at), serial });
    work.filing.add(Kind::History, listed);
    for new in entries {
        work.tallies.attempt(&new.entry);
        work.sweeper.grown(new.job, new.total);
    }
    Ok(())
}

/// See [`Store::history`](crate::Store::history).
pub(super) fn history(
    db: &Connection,
    path: &CollectionPath,
    name: &str,
    query: &HistoryQuery,
    page: Page,
) -> Outcome<Option<Vec<StoredHistory>>> {
    let Some(collection) = collections::find(db, path)? else { return Ok(None) };
    let Some(job) = jobs::find(db, collection, name)? else { return Ok(None) };
    // A job has about a thousand entries at the most, so the filters may look at all of them.
    let is_known = known::<HistoryStatus>("h.status");
    let part = |part: &str| {
        format!(
            "SELECT h.serial, h.started_at, h.ended_at, h.expected_at, h.depth, h.status, h.retry_count, \
             h.repeat_count, h.message
             FROM {part}
               AND h.started_at BETWEEN ?2 AND ?3 AND {is_known}
               AND h.ended_at BETWEEN ?4 AND ?5
               AND (?6 IS NULL OR h.status = ?6)
               AND (?7 IS NULL OR (h.depth > 0) = ?7)"
        )
    };
    let mut statement = db.prepare_cached(&format!(
        "{} UNION ALL {} ORDER BY 2 DESC, 1 DESC LIMIT ?8 OFFSET ?9",
        part(
            "history_filed i CROSS JOIN history h ON h.serial = i.serial
             WHERE i.job_id = ?1 AND i.at BETWEEN ?2 AND ?3 AND i.serial <= ?10"
        ),
        part("history h WHERE h.serial > ?10 AND h.job_id = ?1")
    ))?;
    let mut rows = statement.query(params![
        job.id,
        query.started.from.map_or(i64::MIN, ticks),
        query.started.to.map_or(i64::MAX, ticks),
        query.ended.from.map_or(i64::MIN, ticks),
        query.ended.to.map_or(i64::MAX, ticks),
        query.status.map(Coded::code),
        query.error_action,
        page.top,
        i64::try_from(page.skip).unwrap_or(i64::MAX),
        Kind::History.filed_to(db)?,
    ])?;
    let mut entries = Vec::new();
    while let Some(row) = rows.next()? {
        let serial = row.get(0)?;
        entries.push(StoredHistory {
            serial,
            entry: HistoryEntry {
                started_at: instant_of(row, 1)?,
                ended_at: instant_of(row, 2)?,
                expected_at: instant_of(row, 3)?,
                depth: row.get(4)?,
                status: HistoryStatus::from_code(row.get(5)?, serial)?,
                retry_count: row.get(6)?,
                repeat_count: row.get(7)?,
                message: row.get(8)?,
            },
        });
    }
    Ok(Some(entries))
}
