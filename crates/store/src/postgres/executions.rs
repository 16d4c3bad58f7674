//! Executions: rows, who holds them, and what is known about that.

use std::collections::HashMap;

use model::Execution;
use tokio_postgres::Row;

use super::columns::{code, instant_of, instant_or_none, number, small};
use super::fault::{Fault, Outcome};
use super::work::Work;
use crate::codec::{self, ticks};
use crate::rows::{ExecutionRow, JobRow};

/// An execution and who holds it.
#[derive(Debug, Clone)]
pub(super) struct Held {
    pub(super) row: ExecutionRow,
    /// The epoch of the node that holds it.
    pub(super) holder: Option<i64>,
    /// Whether its holder said that it is begun.
    begun: bool,
    /// Whether its time has come, by the clock of the database.
    due: bool,
}

/// The columns that [`read`] reads, from `executions e`.
pub(super) const COLUMNS: &str = "e.id, e.job_id, e.generation, e.tag, e.number, e.due_at, e.cause, e.ahead, \
     e.depth, e.attempt, e.wake_at, e.started_at, e.claimed_by, e.begun, \
     e.due_at <= (extract(epoch FROM clock_timestamp()) * 10000000)::bigint";

/// How many they are.
pub(super) const WIDTH: usize = 15;

/// Reads [`COLUMNS`] from a place in a row.
pub(super) fn read(row: &Row, from: usize) -> Outcome<Held> {
    let id = row.try_get(from)?;
    let holder: Option<i64> = row.try_get(from + 12)?;
    let execution = ExecutionRow {
        id,
        job_id: row.try_get(from + 1)?,
        generation: row.try_get(from + 2)?,
        tag: row.try_get(from + 3)?,
        number: number(row, from + 4)?,
        due_at: instant_of(row, from + 5)?,
        cause: codec::cause(row.try_get::<_, i16>(from + 6)?.into()),
        ahead: row.try_get(from + 7)?,
        depth: small(row, from + 8)?,
        attempt: number(row, from + 9)?,
        wake_at: instant_or_none(row, from + 10)?,
        started_at: instant_or_none(row, from + 11)?,
        claimed: holder.is_some(),
    };
    Ok(Held { row: execution, holder, begun: row.try_get(from + 13)?, due: row.try_get(from + 14)? })
}

impl Held {
    /// Whether it looks begun to somebody who only reads. Of what another node holds it is not certain, so the clock
    /// says: whoever holds a claim begins it when it is due.
    pub(super) fn seems_begun(&self, work: &Work<'_>) -> bool {
        match self.holder {
            None => false,
            _ if self.begun => true,
            // Without a ticket it was settled after the row was read.
            Some(holder) if holder == work.epoch => work.shared.tickets.is_begun(self.row.id).unwrap_or(true),
            Some(_) => self.due,
        }
    }

    /// Whether it is certain that it is begun.
    pub(super) fn is_begun(&self, work: &Work<'_>) -> bool {
        let own =
            || self.holder == Some(work.epoch) && work.shared.tickets.is_begun(self.row.id) == Some(true);
        self.holder.is_some() && (self.begun || own())
    }

    /// Whether its holder has to be asked.
    fn is_open(&self, work: &Work<'_>) -> bool {
        self.holder.is_some() && !self.is_begun(work)
    }
}

/// Sees to it that of all executions for which a condition holds it is certain whether they are begun. Where it is not,
/// the change ends here; it begins anew when the holders have answered.
pub(super) fn ask_for(
    work: &Work<'_>,
    jobs: &[(JobRow, Vec<Held>)],
    matters: impl Fn(&Held) -> bool,
) -> Outcome<()> {
    let held = jobs.iter().flat_map(|(_, executions)| executions);
    let open: Vec<i64> =
        held.filter(|held| held.is_open(work) && matters(held)).map(|held| held.row.id).collect();
    if open.is_empty() { Ok(()) } else { Err(Fault::Claimed(open)) }
}

/// All executions of jobs, each job's in the order of their occurrences.
pub(super) async fn of_jobs(work: &Work<'_>, jobs: &[i64]) -> Outcome<HashMap<i64, Vec<Held>>> {
    let rows = work
        .query(
            &format!(
                "SELECT {COLUMNS} FROM executions e WHERE e.job_id = ANY($1) ORDER BY e.job_id, e.number"
            ),
            &[&jobs],
        )
        .await?;
    let mut found: HashMap<i64, Vec<Held>> = HashMap::new();
    for row in &rows {
        let held = read(row, 0)?;
        found.entry(held.row.job_id).or_default().push(held);
    }
    Ok(found)
}

/// The same; nobody else can change or claim them until we are done.
pub(super) async fn lock(work: &Work<'_>, jobs: &[i64]) -> Outcome<HashMap<i64, Vec<Held>>> {
    // In the order of their numbers, as everybody does.
    let sql = "SELECT id FROM executions WHERE job_id = ANY($1) ORDER BY id FOR UPDATE";
    if work.query(sql, &[&jobs]).await?.is_empty() {
        // Whoever adds one holds on to its job, and that is held already.
        return Ok(HashMap::new());
    }
    of_jobs(work, jobs).await
}

/// Executions by their numbers, with their own definitions; nobody else can change or claim them until we are done.
pub(super) async fn lock_these(work: &Work<'_>, ids: &[i64]) -> Outcome<Vec<(Held, Option<String>)>> {
    let sql = format!(
        "SELECT {COLUMNS}, e.definition FROM executions e WHERE e.id = ANY($1) ORDER BY e.id FOR UPDATE"
    );
    let rows = work.query(&sql, &[&ids]).await?;
    rows.iter().map(|row| Ok((read(row, 0)?, row.try_get(WIDTH)?))).collect()
}

/// A new execution.
#[derive(Debug)]
pub(super) struct New {
    pub(super) execution: Execution,
    pub(super) shard: i16,
    /// Whether it is handed out before it is due.
    pub(super) ahead: bool,
    /// Whether it is handed out at all.
    pub(super) claimed: bool,
}

/// Writes new executions; their numbers, in their order.
pub(super) async fn insert(work: &Work<'_>, new: &[New]) -> Outcome<Vec<i64>> {
    if new.is_empty() {
        return Ok(Vec::new());
    }
    let of = |value: fn(&Execution) -> i64| new.iter().map(|new| value(&new.execution)).collect::<Vec<i64>>();
    let maybe = |value: fn(&Execution) -> Option<i64>| {
        new.iter().map(|new| value(&new.execution)).collect::<Vec<_>>()
    };
    let tags: Vec<model::Uuid> = new.iter().map(|new| new.execution.tag).collect();
    let causes: Vec<i16> = new.iter().map(|new| code(new.execution.cause)).collect();
    let depths: Vec<i16> = new.iter().map(|new| i16::from(new.execution.depth)).collect();
    let shards: Vec<i16> = new.iter().map(|new| new.shard).collect();
    let ahead: Vec<bool> = new.iter().map(|new| new.ahead).collect();
    let claimed: Vec<Option<i64>> = new.iter().map(|new| new.claimed.then_some(work.epoch)).collect();
    let rows = work
        .query(
            "INSERT INTO executions (job_id, shard, generation, tag, number, due_at, cause, ahead, depth, attempt, \
             wake_at, started_at, claimed_by)
             SELECT * FROM unnest($1::bigint[], $2::smallint[], $3::bigint[], $4::uuid[], $5::bigint[], $6::bigint[],
               $7::smallint[], $8::boolean[], $9::smallint[], $10::bigint[], $11::bigint[], $12::bigint[], $13::bigint[])
             RETURNING id, tag",
            &[
                &of(|execution| execution.job.0),
                &shards,
                &of(|execution| execution.generation),
                &tags,
                &of(|execution| i64::from(execution.occurrence.number)),
                &of(|execution| ticks(execution.occurrence.at)),
                &causes,
                &ahead,
                &depths,
                &of(|execution| i64::from(execution.attempt)),
                &maybe(|execution| execution.wake_at.map(ticks)),
                &maybe(|execution| execution.started_at.map(ticks)),
                &claimed,
            ],
        )
        .await?;
    // Tags tell them apart: nobody promises an order.
    let mut ids = HashMap::with_capacity(rows.len());
    for row in &rows {
        ids.insert(row.try_get::<_, model::Uuid>(1)?, row.try_get::<_, i64>(0)?);
    }
    let missing = || Fault::Unreadable("an execution was not written".to_owned());
    tags.iter().map(|tag| ids.get(tag).copied().ok_or_else(missing)).collect()
}

/// Removes executions that are done with.
pub(super) async fn delete(work: &Work<'_>, ids: &[i64]) -> Outcome<()> {
    if !ids.is_empty() {
        work.execute("DELETE FROM executions WHERE id = ANY($1)", &[&ids]).await?;
    }
    Ok(())
}

/// Whether a job has any execution.
pub(super) async fn any(work: &Work<'_>, job: i64) -> Outcome<bool> {
    Ok(!work.ids("SELECT id FROM executions WHERE job_id = $1 LIMIT 1", &[&job]).await?.is_empty())
}
