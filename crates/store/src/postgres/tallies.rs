//! Tallies: how every minute went, counted along with the ledger and committed with it.

use std::collections::BTreeMap;
use std::time::Duration;

use model::{Lateness, Tally, Timestamp};

use super::columns::{count, number, small};
use super::fault::Outcome;
use super::work::Work;
use crate::Tallied;
use crate::codec::{instant, ticks};
use crate::tallies::{KEPT, MINUTE, Tallies};

/// The most minutes that one call removes.
const CHUNK: i64 = 500;

/// Adds what a transaction has counted to what is stored. The last thing that it does: others of this node wait for the
/// same rows.
pub(super) async fn write(work: &Work<'_>, tallies: &Tallies) -> Outcome<()> {
    for (minute, tally) in tallies.minutes() {
        tokio::try_join!(write_minute(work, minute, tally), write_lateness(work, minute, &tally.lateness))?;
    }
    Ok(())
}

async fn write_minute(work: &Work<'_>, minute: i64, tally: &Tally) -> Outcome<()> {
    work.execute(
        "INSERT INTO tallies (minute, epoch, ran, ran_late, faulted, skipped, missed, failed_attempts, lateness_max)
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)
         ON CONFLICT (minute, epoch) DO UPDATE SET
           ran = tallies.ran + excluded.ran,
           ran_late = tallies.ran_late + excluded.ran_late,
           faulted = tallies.faulted + excluded.faulted,
           skipped = tallies.skipped + excluded.skipped,
           missed = tallies.missed + excluded.missed,
           failed_attempts = tallies.failed_attempts + excluded.failed_attempts,
           lateness_max = greatest(tallies.lateness_max, excluded.lateness_max)",
        &[
            &minute,
            &work.epoch,
            &count(tally.ran),
            &count(tally.ran_late),
            &count(tally.faulted),
            &count(tally.skipped),
            &count(tally.missed),
            &count(tally.failed_attempts),
            &tally.lateness.max().map(count),
        ],
    )
    .await?;
    Ok(())
}

async fn write_lateness(work: &Work<'_>, minute: i64, lateness: &Lateness) -> Outcome<()> {
    let (steps, counts): (Vec<i16>, Vec<i64>) =
        lateness.steps().map(|(step, number)| (i16::from(step), count(number))).unzip();
    if !steps.is_empty() {
        work.execute(
            "INSERT INTO tallies_lateness (minute, epoch, step, count)
             SELECT $1, $2, step, number FROM unnest($3::smallint[], $4::bigint[]) AS new (step, number)
             ON CONFLICT (minute, epoch, step) DO UPDATE SET count = tallies_lateness.count + excluded.count",
            &[&minute, &work.epoch, &steps, &counts],
        )
        .await?;
    }
    Ok(())
}

/// See [`Store::tallies`](crate::Store::tallies).
pub(super) async fn tallies(
    work: &Work<'_>,
    from: Timestamp,
    until: Timestamp,
    every: Duration,
) -> Outcome<Vec<Tallied>> {
    let width = i64::try_from(every.as_secs() / 60).unwrap_or(i64::MAX).max(1);
    // Minutes that have begun by then count.
    let (first, last) = (ticks(from).div_euclid(MINUTE), (ticks(until) - 1).div_euclid(MINUTE));
    let mut lateness: BTreeMap<i64, Vec<(u8, u64)>> = BTreeMap::new();
    let rows = work
        .query(
            "SELECT minute / $3 AS part, step, sum(count)::bigint FROM tallies_lateness
             WHERE minute BETWEEN $1 AND $2 GROUP BY part, step ORDER BY part, step",
            &[&first, &last, &width],
        )
        .await?;
    for row in &rows {
        lateness.entry(row.try_get(0)?).or_default().push((small(row, 1)?, number(row, 2)?));
    }
    let rows = work
        .query(
            "SELECT minute / $3 AS part, sum(ran)::bigint, sum(ran_late)::bigint, sum(faulted)::bigint,
                    sum(skipped)::bigint, sum(missed)::bigint, sum(failed_attempts)::bigint, max(lateness_max)
             FROM tallies WHERE minute BETWEEN $1 AND $2 GROUP BY part ORDER BY part",
            &[&first, &last, &width],
        )
        .await?;
    let tallied = rows.iter().map(|row| {
        let part: i64 = row.try_get(0)?;
        let steps = lateness.remove(&part).unwrap_or_default();
        let max: Option<i64> = row.try_get(7)?;
        let tally = Tally {
            ran: number(row, 1)?,
            ran_late: number(row, 2)?,
            faulted: number(row, 3)?,
            skipped: number(row, 4)?,
            missed: number(row, 5)?,
            failed_attempts: number(row, 6)?,
            lateness: Lateness::of(steps, max.and_then(|max| u64::try_from(max).ok())),
        };
        Ok(Tallied { at: instant(part.saturating_mul(width).saturating_mul(MINUTE)), tally })
    });
    tallied.collect()
}

/// Removes minutes that nobody asks for any more; whether there may be others.
pub(super) async fn prune(work: &Work<'_>, now: Timestamp) -> Outcome<bool> {
    // By the newest minute and not only by the clock: a store that slept for a month loses nothing before it wakes up.
    let old = work
        .ids(
            "SELECT DISTINCT minute FROM tallies WHERE minute < least((SELECT max(minute) FROM tallies), $3) - $1
             ORDER BY minute LIMIT $2",
            &[&KEPT, &CHUNK, &ticks(now).div_euclid(MINUTE)],
        )
        .await?;
    let Some(last) = old.last() else { return Ok(false) };
    work.execute("DELETE FROM tallies WHERE minute <= $1", &[last]).await?;
    work.execute("DELETE FROM tallies_lateness WHERE minute <= $1", &[last]).await?;
    Ok(true)
}
