//! Retention, a little at a time.
//!
//! What is too old is not shown from the moment on that [`Store::prune`](crate::Store::prune) says so; its partition is
//! dropped when all in it is too old. One node at a time looks after that; the others find the row taken and leave it.

use super::columns::number;
use super::fault::Outcome;
use super::sight::Columns;
use super::work::Work;
use super::{changes, due, jobs, tallies};
use crate::Retention;
use crate::codec::ticks;

/// The most rows of each kind that one call removes.
const CHUNK: i64 = 1_000;

/// The most jobs that one call deletes, or checks for too many history entries.
const JOBS: usize = 100;

/// The most jobs that one call looks at after a start, when nothing was noticed yet.
const LOOK: i64 = 10_000;

/// See [`Store::prune`](crate::Store::prune). `None` where another node is at it.
pub(super) async fn prune(work: &mut Work<'_>, retention: Retention) -> Outcome<Option<bool>> {
    let before = ticks(retention.before);
    if work.query_opt("SELECT before FROM retention FOR UPDATE SKIP LOCKED", &[]).await?.is_none() {
        return Ok(None);
    }
    work.execute(
        "UPDATE retention SET before = $1,
           history_serial = (SELECT CASE WHEN is_called THEN last_value ELSE 0 END FROM history_serials),
           ledger_serial = (SELECT CASE WHEN is_called THEN last_value ELSE 0 END FROM ledger_serials)",
        &[&before],
    )
    .await?;
    let limit = i64::from(retention.history_per_job);
    look(work, limit).await?;
    let mut more = strays(work, before).await?;
    more |= ended_jobs(work, retention).await?;
    more |= deleted_jobs(work).await?;
    more |= crowded_jobs(work, limit).await?;
    more |= tombstones(work, before).await?;
    more |= tallies::prune(work, retention.now).await?;
    Ok(Some(more))
}

/// Goes on with the look at all jobs.
async fn look(work: &mut Work<'_>, limit: i64) -> Outcome<()> {
    let from = {
        let mut sweeper = work.shared.sweeper();
        sweeper.set_limit(limit);
        sweeper.looks_from()
    };
    let Some(from) = from else { return Ok(()) };
    let sql = "SELECT id, history_total FROM jobs WHERE id > $1 ORDER BY id LIMIT $2";
    let rows = work.query(sql, &[&from, &LOOK]).await?;
    let seen: Vec<(i64, i64)> =
        rows.iter().map(|row| Ok((row.try_get(0)?, row.try_get(1)?))).collect::<Outcome<_>>()?;
    if let Some((last, _)) = seen.last() {
        work.ring |= due::mend(work, from, *last).await?;
    }
    work.shared.sweeper().looked_at(&seen);
    Ok(())
}

/// What is too old and in no partition that could be dropped.
async fn strays(work: &Work<'_>, before: i64) -> Outcome<bool> {
    let mut removed = 0;
    for table in ["history_stray", "ledger_stray"] {
        let sql = format!(
            "DELETE FROM {table} WHERE ctid = ANY(ARRAY(SELECT ctid FROM {table} WHERE ended_at < $1 LIMIT $2))"
        );
        removed += work.execute(&sql, &[&before, &CHUNK]).await?;
    }
    Ok(removed > 0)
}

/// Jobs that came to their end long ago.
async fn ended_jobs(work: &mut Work<'_>, retention: Retention) -> Outcome<bool> {
    let rows = work
        .query(
            "SELECT id, collection_id FROM jobs
             WHERE ended_at IS NOT NULL AND deleted_at IS NULL AND ended_at < $1 ORDER BY collection_id, id LIMIT $2",
            &[&ticks(retention.before), &(JOBS as i64)],
        )
        .await?;
    for row in &rows {
        let (id, collection): (i64, i64) = (row.try_get(0)?, row.try_get(1)?);
        // The collection first, as everybody does who changes its number of jobs.
        work.query("SELECT id FROM collections WHERE id = $1 FOR UPDATE", &[&collection]).await?;
        if let Some(job) = jobs::lock_by_id(work, id).await?.filter(|job| job.state.is_final()) {
            changes::delete(work, job, retention.before).await?;
        }
    }
    Ok(!rows.is_empty())
}

/// The history of deleted jobs.
async fn deleted_jobs(work: &Work<'_>) -> Outcome<bool> {
    let ids = work.ids("SELECT id FROM jobs WHERE sweep LIMIT $1", &[&(JOBS as i64)]).await?;
    if ids.is_empty() {
        return Ok(false);
    }
    let mut left = CHUNK;
    let mut swept = Vec::new();
    for id in ids {
        left -= remove(work, id, 0, left).await?;
        if left <= 0 {
            break;
        }
        swept.push(id);
    }
    work.execute("UPDATE jobs SET sweep = false WHERE id = ANY($1)", &[&swept]).await?;
    Ok(true)
}

/// The oldest entries of jobs that have too many.
async fn crowded_jobs(work: &Work<'_>, limit: i64) -> Outcome<bool> {
    let mut left = CHUNK;
    let jobs = work.shared.sweeper().crowded(JOBS);
    for job in jobs {
        left -= remove(work, job, limit, left).await?;
        if left <= 0 {
            // There may be more of this one.
            return Ok(true);
        }
        work.shared.sweeper().cleared(job);
    }
    Ok(work.shared.sweeper().is_crowded())
}

/// Removes entries of a job's history, save for the newest; how many.
async fn remove(work: &Work<'_>, job: i64, newest: i64, most: i64) -> Outcome<i64> {
    let removed = work
        .execute(
            "DELETE FROM history WHERE job_id = $1 AND serial = ANY(ARRAY(
               SELECT serial FROM history WHERE job_id = $1
               ORDER BY started_at DESC, serial DESC LIMIT $2 OFFSET $3))",
            &[&job, &most, &newest],
        )
        .await?;
    Ok(i64::try_from(removed).unwrap_or(i64::MAX))
}

/// Deleted jobs that the ledger does not speak of any more, and deleted collections that have no job left.
async fn tombstones(work: &Work<'_>, before: i64) -> Outcome<bool> {
    let removed = work
        .execute(
            "DELETE FROM jobs WHERE id = ANY(ARRAY(
               SELECT j.id FROM jobs j
               WHERE j.deleted_at IS NOT NULL AND j.deleted_at < $1 AND NOT j.sweep
                 AND NOT EXISTS (SELECT 1 FROM executions e WHERE e.job_id = j.id)
                 AND NOT EXISTS (SELECT 1 FROM ledger l CROSS JOIN retention r
                                 WHERE l.job_id = j.id AND (l.ended_at >= $1 OR l.serial > r.ledger_serial))
               ORDER BY j.deleted_at LIMIT $2))",
            &[&before, &CHUNK],
        )
        .await?;
    let collections = work
        .execute(
            "DELETE FROM collections WHERE id = ANY(ARRAY(
               SELECT c.id FROM collections c
               WHERE c.deleted_at IS NOT NULL AND c.deleted_at < $1
                 AND NOT EXISTS (SELECT 1 FROM jobs j WHERE j.collection_id = c.id)
               LIMIT $2))",
            &[&before, &CHUNK],
        )
        .await?;
    Ok(removed > 0 || collections > 0)
}

/// How much is there.
pub(super) async fn census(work: &Work<'_>, sight: Option<&str>) -> Outcome<crate::Census> {
    let row = work
        .query_opt(
            &format!(
                "WITH these AS (SELECT id, jobs FROM collections WHERE deleted_at IS NULL AND {})
                 SELECT (SELECT count(*) FROM these),
                        (SELECT coalesce(sum(jobs), 0)::bigint FROM these),
                        CASE WHEN $1::text IS NULL THEN (SELECT count(*) FROM executions) ELSE
                          (SELECT count(*) FROM executions e JOIN jobs j ON j.id = e.job_id
                           WHERE j.collection_id IN (SELECT id FROM these)) END",
                Columns::COLLECTION.seen(1)
            ),
            &[&sight],
        )
        .await?;
    let Some(row) = row else { return Ok(crate::Census::default()) };
    Ok(crate::Census { collections: number(&row, 0)?, jobs: number(&row, 1)?, executions: number(&row, 2)? })
}
