//! The history of attempts.

use model::{CollectionPath, HistoryEntry, HistoryStatus};

use super::columns::{code, coded, count, instant_of, number, small, text};
use super::fault::Outcome;
use super::work::Work;
use super::{collections, jobs};
use crate::codec::{known, ticks};
use crate::{HistoryQuery, Page, StoredHistory};

/// Writes entries of jobs, in their order. The totals of their jobs are the caller's.
pub(super) async fn insert(work: &Work<'_>, entries: &[(i64, HistoryEntry)]) -> Outcome<()> {
    if entries.is_empty() {
        return Ok(());
    }
    let of =
        |value: fn(&HistoryEntry) -> i64| entries.iter().map(|(_, entry)| value(entry)).collect::<Vec<i64>>();
    let jobs: Vec<i64> = entries.iter().map(|(job, _)| *job).collect();
    let depths: Vec<i16> = entries.iter().map(|(_, entry)| i16::from(entry.depth)).collect();
    let statuses: Vec<i16> = entries.iter().map(|(_, entry)| code(entry.status)).collect();
    let messages: Vec<String> = entries.iter().map(|(_, entry)| text(&entry.message)).collect();
    work.execute(
        "INSERT INTO history (job_id, started_at, ended_at, expected_at, depth, status, retry_count, repeat_count, \
         message)
         SELECT job_id, started_at, ended_at, expected_at, depth, status, retry_count, repeat_count, message
         FROM unnest($1::bigint[], $2::bigint[], $3::bigint[], $4::bigint[], $5::smallint[], $6::smallint[],
                     $7::bigint[], $8::bigint[], $9::text[])
           WITH ORDINALITY AS new (job_id, started_at, ended_at, expected_at, depth, status, retry_count,
                                   repeat_count, message, place)
         ORDER BY place",
        &[
            &jobs,
            &of(|entry| ticks(entry.started_at)),
            &of(|entry| ticks(entry.ended_at)),
            &of(|entry| ticks(entry.expected_at)),
            &depths,
            &statuses,
            &of(|entry| i64::from(entry.retry_count)),
            &of(|entry| i64::from(entry.repeat_count)),
            &messages,
        ],
    )
    .await?;
    Ok(())
}

/// See [`Store::history`](crate::Store::history).
pub(super) async fn history(
    work: &Work<'_>,
    path: &CollectionPath,
    name: &str,
    query: &HistoryQuery,
    page: Page,
) -> Outcome<Option<Vec<StoredHistory>>> {
    let Some(collection) = collections::find(work, path).await? else { return Ok(None) };
    let Some(job) = jobs::find(work, collection, name).await? else { return Ok(None) };
    let rows = work
        .query(
            &format!(
                "SELECT serial, started_at, ended_at, expected_at, depth, status, retry_count, repeat_count, message
             FROM history CROSS JOIN retention r
             WHERE job_id = $1 AND {}
               AND started_at BETWEEN $2 AND $3
               AND ended_at BETWEEN $4 AND $5
               AND (ended_at >= r.before OR serial > r.history_serial)
               AND ($6::smallint IS NULL OR status = $6)
               AND ($7::boolean IS NULL OR (depth > 0) = $7)
             ORDER BY started_at DESC, serial DESC LIMIT $8 OFFSET $9",
                known::<HistoryStatus>("status")
            ),
            &[
                &job.id,
                &query.started.from.map_or(i64::MIN, ticks),
                &query.started.to.map_or(i64::MAX, ticks),
                &query.ended.from.map_or(i64::MIN, ticks),
                &query.ended.to.map_or(i64::MAX, ticks),
                &query.status.map(code),
                &query.error_action,
                &i64::from(page.top),
                &count(page.skip),
            ],
        )
        .await?;
    let entries = rows.iter().map(|row| {
        let serial = row.try_get(0)?;
        Ok(StoredHistory {
            serial,
            entry: HistoryEntry {
                started_at: instant_of(row, 1)?,
                ended_at: instant_of(row, 2)?,
                expected_at: instant_of(row, 3)?,
                depth: small(row, 4)?,
                status: coded(row, 5, serial)?,
                retry_count: number(row, 6)?,
                repeat_count: number(row, 7)?,
                message: row.try_get(8)?,
            },
        })
    });
    entries.collect::<Outcome<_>>().map(Some)
}
