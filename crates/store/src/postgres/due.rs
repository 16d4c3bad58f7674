//! Due times: which job is to be asked next, in the order of time.
//!
//! The column `jobs.due_at` says when a job is due; the table `due` has the same, sorted. It is kept by hand and not as an
//! index, because a column with an index makes every change of it write to all indexes of its table: a row of `jobs` has
//! five. Here it is a small row and one entry, beside those of its time.
//!
//! Whoever changes the due time of a job holds on to the job's row, and to nothing here: [`forget`] before the change,
//! [`enter`] after it. A claim, which knows both times, does it at once with [`Moves`].

use super::fault::Outcome;
use super::work::{Values, Work};

/// Forgets when jobs are due. Their own rows still say it, and are changed next.
pub(super) async fn forget(work: &Work<'_>, jobs: &[i64]) -> Outcome<()> {
    work.execute(
        "DELETE FROM due d USING jobs j
         WHERE j.id = ANY($1) AND d.ahead = j.ahead AND d.due_at = j.due_at AND d.job_id = j.id",
        &[&jobs],
    )
    .await?;
    Ok(())
}

/// Enters when jobs are due, as their own rows say it by now.
pub(super) async fn enter(work: &Work<'_>, jobs: &[i64]) -> Outcome<()> {
    work.execute(
        "INSERT INTO due (ahead, due_at, job_id, shard)
         SELECT ahead, due_at, id, shard FROM jobs WHERE id = ANY($1) AND due_at IS NOT NULL",
        &[&jobs],
    )
    .await?;
    Ok(())
}

/// [`forget`] for all jobs of a collection.
pub(super) async fn forget_collection(work: &Work<'_>, collection: i64) -> Outcome<()> {
    work.execute(
        "DELETE FROM due d USING jobs j
         WHERE j.collection_id = $1 AND j.deleted_at IS NULL
           AND d.ahead = j.ahead AND d.due_at = j.due_at AND d.job_id = j.id",
        &[&collection],
    )
    .await?;
    Ok(())
}

/// [`enter`] for all jobs of a collection.
pub(super) async fn enter_collection(work: &Work<'_>, collection: i64) -> Outcome<()> {
    work.execute(
        "INSERT INTO due (ahead, due_at, job_id, shard)
         SELECT ahead, due_at, id, shard FROM jobs
         WHERE collection_id = $1 AND deleted_at IS NULL AND due_at IS NOT NULL",
        &[&collection],
    )
    .await?;
    Ok(())
}

/// Enters due times of jobs that are nowhere, of those with numbers after one and up to another; whether there were any.
///
/// All that writes due times writes both. But a node of a version without this table, which stood still while it was made and
/// has a change to write when it wakes up, writes one before it hears that its time is over.
pub(super) async fn mend(work: &Work<'_>, after: i64, last: i64) -> Outcome<bool> {
    let missing = work
        .ids(
            "SELECT j.id FROM jobs j
             WHERE j.id > $1 AND j.id <= $2 AND j.due_at IS NOT NULL AND NOT EXISTS (
               SELECT 1 FROM due d WHERE d.ahead = j.ahead AND d.due_at = j.due_at AND d.job_id = j.id)",
            &[&after, &last],
        )
        .await?;
    if missing.is_empty() {
        return Ok(false);
    }
    tracing::warn!(
        jobs = missing.len(),
        "jobs are in the order of due times again: an old node had written them"
    );
    work.query("SELECT id FROM jobs WHERE id = ANY($1) ORDER BY id FOR UPDATE", &[&missing]).await?;
    // All of it, as nothing leads to where such a job was before.
    work.execute("DELETE FROM due WHERE job_id = ANY($1)", &[&missing]).await?;
    enter(work, &missing).await?;
    Ok(true)
}

/// Jobs that go from one due time to the next, or to none.
#[derive(Debug, Default)]
pub(super) struct Moves(Vec<Move>);

#[derive(Debug)]
struct Move {
    ahead: bool,
    from: i64,
    to: Option<i64>,
    job: i64,
    shard: i16,
}

impl Moves {
    /// Notes where one goes.
    pub(super) fn note(&mut self, job: i64, shard: i16, ahead: bool, from: i64, to: Option<i64>) {
        self.0.push(Move { ahead, from, to, job, shard });
    }

    /// Writes all of them.
    ///
    /// Rows are taken away and added anew, in the order of time, so that jobs which are due together lie together from
    /// their second run on, wherever their own rows are. Were rows changed where they are, each would be on a page of its
    /// own with millions of jobs, for as long as the job lives. New rows go to pages that are nearly empty, as the
    /// table is not filled to the brim: a hole that one job has left takes no other.
    pub(super) async fn write(&self, work: &Work<'_>) -> Outcome<()> {
        if self.0.is_empty() {
            return Ok(());
        }
        let mut moves: Vec<&Move> = self.0.iter().collect();
        moves.sort_unstable_by_key(|row| (row.ahead, row.to, row.job));
        let ahead: Vec<bool> = moves.iter().map(|row| row.ahead).collect();
        let from: Vec<i64> = moves.iter().map(|row| row.from).collect();
        let to: Vec<Option<i64>> = moves.iter().map(|row| row.to).collect();
        let jobs: Vec<i64> = moves.iter().map(|row| row.job).collect();
        let shards: Vec<i16> = moves.iter().map(|row| row.shard).collect();
        let (forget, enter): (Values<'_>, Values<'_>) =
            (&[&ahead, &from, &jobs], &[&ahead, &to, &jobs, &shards]);
        tokio::try_join!(
            work.execute(
                "DELETE FROM due d USING unnest($1::boolean[], $2::bigint[], $3::bigint[]) AS old (ahead, due_at, job_id)
                 WHERE d.ahead = old.ahead AND d.due_at = old.due_at AND d.job_id = old.job_id",
                forget,
            ),
            work.execute(
                "INSERT INTO due (ahead, due_at, job_id, shard)
                 SELECT * FROM unnest($1::boolean[], $2::bigint[], $3::bigint[], $4::smallint[])
                   AS new (ahead, due_at, job_id, shard)
                 WHERE due_at IS NOT NULL",
                enter,
            )
        )?;
        Ok(())
    }
}
