//! Partitions of history and ledger: made ahead, and dropped when all in them is too old.
//!
//! A partition has a week. Entries for which none was made lie in the stray partition, which is cleaned row by row.

use jiff::SignedDuration;
use model::Timestamp;
use tokio_postgres::Client;

use super::fault::{Kind, Outcome};
use crate::codec::ticks;

/// The length of a partition in ticks: a week. With two months of history that is ten to look into for each question.
const LENGTH: i64 = 7 * 86_400 * 10_000_000;

/// How many are made ahead: enough for nodes that are off for a while, and for clocks that are a little wrong.
const AHEAD: i64 = 2;

/// The tables that have partitions.
const TABLES: [&str; 2] = ["history", "ledger"];

/// Makes what is missing from now on, and drops what ended before an instant. Each step is for itself: one that finds its
/// table busy is left for the next time.
pub(super) async fn maintain(client: &mut Client, now: Timestamp, before: Timestamp) -> Outcome<()> {
    let first = ticks(now).div_euclid(LENGTH);
    for table in TABLES {
        let there = numbers(client, table).await?;
        for number in (first..=first + AHEAD).filter(|number| !there.contains(number)) {
            later(make(client, table, number).await)?;
        }
        for number in there.into_iter().filter(|number| (number + 1) * LENGTH <= ticks(before)) {
            tracing::info!(table, from = number * LENGTH, "dropping a partition: all in it is too old");
            later(drop_table(client, &name(table, number)).await)?;
        }
    }
    Ok(())
}

async fn drop_table(client: &mut Client, name: &str) -> Outcome<()> {
    let transaction = client.transaction().await?;
    let sql = format!("SET LOCAL lock_timeout = 1000; DROP TABLE IF EXISTS {name}");
    transaction.batch_execute(&sql).await?;
    Ok(transaction.commit().await?)
}

/// The most that are made for a time that is past: two years. What is older is stray.
const MOST_BACK: i64 = 104;

/// Makes what is missing from an instant until now.
pub(super) async fn cover(client: &mut Client, from: Timestamp, now: Timestamp) -> Outcome<()> {
    let last = ticks(now).div_euclid(LENGTH);
    let first = ticks(from).div_euclid(LENGTH).clamp(last - MOST_BACK, last);
    for table in TABLES {
        let there = numbers(client, table).await?;
        for number in (first..=last + AHEAD).filter(|number| !there.contains(number)) {
            make(client, table, number).await?;
        }
    }
    Ok(())
}

/// Whether partitions should be looked after again: once in a while, or when time has moved on.
pub(super) fn is_time(last: Option<Timestamp>, now: Timestamp) -> bool {
    last.is_none_or(|last| last.duration_until(now).abs() > SignedDuration::from_mins(10))
}

fn later(outcome: Outcome<()>) -> Outcome<()> {
    match outcome {
        Err(fault) if fault.kind() == Kind::Conflict => {
            tracing::debug!(?fault, "a partition has to wait");
            Ok(())
        }
        other => other,
    }
}

fn name(table: &str, number: i64) -> String {
    format!("{table}_w{number}")
}

/// The weeks for which there are partitions.
async fn numbers(client: &Client, table: &str) -> Outcome<Vec<i64>> {
    let rows = client
        .query(
            "SELECT substr(table_name, length($1) + 3) FROM information_schema.tables
             WHERE table_schema = current_schema() AND table_name LIKE $1 || '\\_w%'",
            &[&table],
        )
        .await?;
    let mut numbers = Vec::new();
    for row in rows {
        numbers.extend(row.try_get::<_, &str>(0)?.parse::<i64>());
    }
    Ok(numbers)
}

/// Makes a partition beside the table and hangs it in, which keeps others waiting for a moment only. Where there are
/// stray entries of its time, they stay where they are and there is none.
async fn make(client: &mut Client, table: &str, number: i64) -> Outcome<()> {
    let (from, to) = (number * LENGTH, (number + 1) * LENGTH);
    let strays = format!("SELECT 1 FROM {table}_stray WHERE ended_at >= $1 AND ended_at < $2 LIMIT 1");
    if client.query_opt(&strays, &[&from, &to]).await?.is_some() {
        return Ok(());
    }
    let name = name(table, number);
    let transaction = client.transaction().await?;
    // A new one is small, and would be counted anew every second.
    transaction
        .batch_execute(&format!(
            "SET LOCAL lock_timeout = 1000;
             CREATE TABLE {name} (LIKE {table} INCLUDING DEFAULTS INCLUDING CONSTRAINTS)
               WITH (autovacuum_analyze_threshold = 20000);
             ALTER TABLE {table} ATTACH PARTITION {name} FOR VALUES FROM ({from}) TO ({to})"
        ))
        .await?;
    Ok(transaction.commit().await?)
}
