//! Tallies: how every minute went, counted along with the ledger and committed with it.
//!
//! Changes count in memory; what a group of them has counted is added to the rows of its minutes before the commit. So a
//! thousand settlements write one row, and a few of the histogram.

use std::collections::BTreeMap;
use std::time::Duration;

use jiff::Timestamp;
use model::{Lateness, Tally};
use rusqlite::{Connection, params};

use super::fault::Outcome;
use crate::Tallied;
use crate::codec::{instant, ticks};
use crate::tallies::{KEPT, MINUTE, Tallies};

/// The most minutes that one call removes.
const CHUNK: i64 = 500;

/// Adds what was counted to what is stored.
pub(super) fn write(tallies: &Tallies, db: &Connection) -> Outcome<()> {
    for (minute, tally) in tallies.minutes() {
        db.prepare_cached(
                "INSERT INTO tallies (minute, ran, ran_late, faulted, skipped, missed, failed_attempts, lateness_max)
                 VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)
                 ON CONFLICT (minute) DO UPDATE SET
                   ran = ran + excluded.ran,
                   ran_late = ran_late + excluded.ran_late,
                   faulted = faulted + excluded.faulted,
                   skipped = skipped + excluded.skipped,
                   missed = missed + excluded.missed,
                   failed_attempts = failed_attempts + excluded.failed_attempts,
                   -- max() of two is NULL where one is.
                   lateness_max = max(coalesce(lateness_max, excluded.lateness_max),
                                      coalesce(excluded.lateness_max, lateness_max))",
            )?
            .execute(params![
                minute,
                tally.ran,
                tally.ran_late,
                tally.faulted,
                tally.skipped,
                tally.missed,
                tally.failed_attempts,
                tally.lateness.max().map(|ms| i64::try_from(ms).unwrap_or(i64::MAX)),
            ])?;
        let mut statement = db.prepare_cached(
            "INSERT INTO tallies_lateness (minute, step, count) VALUES (?1, ?2, ?3)
                 ON CONFLICT (minute, step) DO UPDATE SET count = count + excluded.count",
        )?;
        for (step, count) in tally.lateness.steps() {
            statement.execute(params![minute, step, count])?;
        }
    }
    Ok(())
}

/// See [`Store::tallies`](crate::Store::tallies).
pub(super) fn tallies(
    db: &Connection,
    from: Timestamp,
    until: Timestamp,
    every: Duration,
) -> Outcome<Vec<Tallied>> {
    let width = i64::try_from(every.as_secs() / 60).unwrap_or(i64::MAX).max(1);
    // Minutes that have begun by then count.
    let span = [ticks(from).div_euclid(MINUTE), (ticks(until) - 1).div_euclid(MINUTE)];
    let mut lateness: BTreeMap<i64, Vec<(u8, u64)>> = BTreeMap::new();
    let mut statement = db.prepare_cached(
        "SELECT minute / ?3 AS part, step, sum(count) FROM tallies_lateness WHERE minute BETWEEN ?1 AND ?2
         GROUP BY part, step",
    )?;
    let mut rows = statement.query(params![span[0], span[1], width])?;
    while let Some(row) = rows.next()? {
        lateness.entry(row.get(0)?).or_default().push((row.get(1)?, row.get(2)?));
    }
    let mut statement = db.prepare_cached(
        "SELECT minute / ?3 AS part, sum(ran), sum(ran_late), sum(faulted), sum(skipped), sum(missed),
                sum(failed_attempts), max(lateness_max)
         FROM tallies WHERE minute BETWEEN ?1 AND ?2 GROUP BY part ORDER BY part",
    )?;
    let mut rows = statement.query(params![span[0], span[1], width])?;
    let mut found = Vec::new();
    while let Some(row) = rows.next()? {
        let part: i64 = row.get(0)?;
        let steps = lateness.remove(&part).unwrap_or_default();
        let tally = Tally {
            ran: row.get(1)?,
            ran_late: row.get(2)?,
            faulted: row.get(3)?,
            skipped: row.get(4)?,
            missed: row.get(5)?,
            failed_attempts: row.get(6)?,
            lateness: Lateness::of(steps, row.get(7)?),
        };
        found.push(Tallied { at: instant(part.saturating_mul(width).saturating_mul(MINUTE)), tally });
    }
    Ok(found)
}

/// Removes minutes that nobody asks for any more; whether there may be others.
pub(super) fn prune(db: &Connection, now: Timestamp) -> Outcome<bool> {
    // By the newest minute and not only by the clock: a store that slept for a month loses nothing before it wakes up.
    let old: Vec<i64> = db
        .prepare_cached(
            "SELECT minute FROM tallies WHERE minute < min((SELECT max(minute) FROM tallies), ?3) - ?1
             ORDER BY minute LIMIT ?2",
        )?
        .query_map(params![KEPT, CHUNK, ticks(now).div_euclid(MINUTE)], |row| row.get(0))?
        .collect::<rusqlite::Result<_>>()?;
    let Some(last) = old.last() else { return Ok(false) };
    db.prepare_cached("DELETE FROM tallies WHERE minute <= ?1")?.execute(params![last])?;
    db.prepare_cached("DELETE FROM tallies_lateness WHERE minute <= ?1")?.execute(params![last])?;
    Ok(true)
}
