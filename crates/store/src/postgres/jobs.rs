//! Jobs: rows and pages.

use std::collections::HashMap;

use model::{CollectionPath, Counters, JobState};
use tokio_postgres::Row;

use super::collections;
use super::columns::{code, coded, count, instant_or_none, key, number};
use super::executions::{self, Held};
use super::fault::{Fault, Outcome};
use super::work::{Values, Work};
use crate::codec::{self, from_json};
use crate::rows::{CollectionGist, ExecutionRow, JobRow};
use crate::{Page, Revision, StoredCollection, StoredJob};

/// The columns that [`read`] reads, from `jobs j JOIN collections c`.
pub(super) const COLUMNS: &str = "j.id, j.collection_id, j.name, j.seed, j.state, j.executions, j.failures, \
     j.faulted, j.last_execution, j.next_number, j.next_at, j.paused_at, j.last_faulted, j.generation, j.revision, \
     j.history_total, c.revision, c.enabled, c.plan, c.resumed_at, \
     j.deleted_at IS NOT NULL";

/// How many they are: where other columns begin.
pub(super) const WIDTH: usize = 21;

/// Which of them is the revision of the collection.
const COLLECTION_REVISION: usize = 16;

/// Reads [`COLUMNS`] from the beginning of a row.
pub(super) fn read(row: &Row) -> Outcome<JobRow> {
    let id = row.try_get(0)?;
    Ok(JobRow {
        id,
        collection_id: row.try_get(1)?,
        name: row.try_get(2)?,
        seed: row.try_get(3)?,
        state: coded(row, 4, id)?,
        counters: Counters {
            executions: number(row, 5)?,
            failures: number(row, 6)?,
            faulted: number(row, 7)?,
            last_execution: instant_or_none(row, 8)?,
        },
        next_number: number(row, 9)?,
        next_at: instant_or_none(row, 10)?,
        paused_at: instant_or_none(row, 11)?,
        last_faulted: row.try_get(12)?,
        generation: row.try_get(13)?,
        revision: row.try_get(14)?,
        history_total: row.try_get(15)?,
        collection: CollectionGist {
            revision: row.try_get(COLLECTION_REVISION)?,
            enabled: row.try_get(17)?,
            plan: codec::plan(row.try_get(18)?, id)?,
            resumed_at: instant_or_none(row, 19)?,
        },
        deleted: row.try_get(20)?,
    })
}

/// A living job by its name.
pub(super) async fn find(work: &Work<'_>, collection: i64, name: &str) -> Outcome<Option<JobRow>> {
    let row = work
        .query_opt(
            &format!(
                "SELECT {COLUMNS} FROM jobs j JOIN collections c ON c.id = j.collection_id
                 WHERE j.collection_id = $1 AND j.name_key = $2 AND j.deleted_at IS NULL"
            ),
            &[&collection, &key(name)],
        )
        .await?;
    row.as_ref().map(read).transpose()
}

/// The same; nobody else can change it or claim it until we are done.
pub(super) async fn lock(work: &Work<'_>, collection: i64, name: &str) -> Outcome<Option<JobRow>> {
    // First the lock, then the look: what is read has the latest state of the collection too.
    let sql =
        "SELECT id FROM jobs WHERE collection_id = $1 AND name_key = $2 AND deleted_at IS NULL FOR UPDATE";
    let key = key(name);
    let values: Values<'_> = &[&collection, &key];
    let (_, found) = tokio::try_join!(work.query(sql, values), find(work, collection, name))?;
    Ok(found)
}

/// A living job by its number, held on to.
pub(super) async fn lock_by_id(work: &Work<'_>, id: i64) -> Outcome<Option<JobRow>> {
    work.query("SELECT id FROM jobs WHERE id = $1 AND deleted_at IS NULL FOR UPDATE", &[&id]).await?;
    let row = work
        .query_opt(
            &format!(
                "SELECT {COLUMNS} FROM jobs j JOIN collections c ON c.id = j.collection_id
                 WHERE j.id = $1 AND j.deleted_at IS NULL"
            ),
            &[&id],
        )
        .await?;
    row.as_ref().map(read).transpose()
}

/// Which jobs executions are of. Not as a join: how many executions there are changes faster than statistics are gathered,
/// and a plan that is made for none would meet each with every other when there are many.
const OF_EXECUTIONS: &str = "ANY(ARRAY(SELECT job_id FROM executions WHERE id = ANY($1)))";

/// Holds on to jobs, and to those of executions.
pub(super) async fn lock_with_those_of(work: &Work<'_>, jobs: &[i64], executions: &[i64]) -> Outcome<()> {
    let sql = "SELECT id FROM jobs
               WHERE id = ANY($1::bigint[] || ARRAY(SELECT job_id FROM executions WHERE id = ANY($2)))
               ORDER BY id FOR UPDATE";
    work.query(sql, &[&jobs, &executions]).await?;
    Ok(())
}

/// The jobs of executions, by number.
pub(super) async fn of_executions(work: &Work<'_>, ids: &[i64]) -> Outcome<HashMap<i64, JobRow>> {
    let sql = format!(
        "SELECT {COLUMNS} FROM jobs j JOIN collections c ON c.id = j.collection_id WHERE j.id = {OF_EXECUTIONS}"
    );
    let rows = work.query(&sql, &[&ids]).await?;
    rows.iter().map(|row| read(row).map(|job| (job.id, job))).collect()
}

/// Holds on to all jobs of a collection.
pub(super) async fn lock_collection(work: &Work<'_>, collection: i64) -> Outcome<()> {
    let sql = "SELECT id FROM jobs WHERE collection_id = $1 AND deleted_at IS NULL ORDER BY id FOR UPDATE";
    work.query(sql, &[&collection]).await?;
    Ok(())
}

/// Living jobs of a collection for which a condition holds.
pub(super) async fn of_collection(
    work: &Work<'_>,
    collection: i64,
    condition: &str,
    values: Values<'_>,
) -> Outcome<Vec<JobRow>> {
    debug_assert!(!values.is_empty(), "the first is collection {collection}");
    let rows = work
        .query(
            &format!(
                "SELECT {COLUMNS} FROM jobs j JOIN collections c ON c.id = j.collection_id
                 WHERE j.collection_id = $1 AND j.deleted_at IS NULL AND {condition} ORDER BY j.id"
            ),
            values,
        )
        .await?;
    rows.iter().map(read).collect()
}

/// The jobs of a collection that have executions, with those, all of it held on to.
pub(super) async fn with_executions(work: &Work<'_>, collection: i64) -> Outcome<Vec<(JobRow, Vec<Held>)>> {
    let condition = "EXISTS (SELECT 1 FROM executions e WHERE e.job_id = j.id)";
    let jobs = of_collection(work, collection, condition, &[&collection]).await?;
    let ids: Vec<i64> = jobs.iter().map(|job| job.id).collect();
    let mut executions = executions::lock(work, &ids).await?;
    Ok(jobs
        .into_iter()
        .map(|job| {
            let executions = executions.remove(&job.id).unwrap_or_default();
            (job, executions)
        })
        .collect())
}

/// A collection and one of its jobs, in one statement: these are asked for all the time. See
/// [`Store::job_in_collection`](crate::Store::job_in_collection).
pub(super) async fn in_collection(
    work: &Work<'_>,
    path: &CollectionPath,
    name: &str,
) -> Outcome<Option<(StoredCollection, Option<StoredJob>)>> {
    let rows = work
        .query(
            &format!(
                // A row for each execution, or one where there is none. The definition may be long, so only one of them
                // has it.
                "SELECT {COLUMNS}, {},
                   CASE WHEN row_number() OVER (ORDER BY e.number) = 1 THEN d.definition END, c.id, c.document
                 FROM collections c
                 LEFT JOIN LATERAL (
                   SELECT * FROM jobs WHERE collection_id = c.id AND name_key = $4 AND deleted_at IS NULL LIMIT 1) j ON true
                 LEFT JOIN LATERAL (SELECT definition FROM definitions WHERE job_id = j.id LIMIT 1) d ON true
                 LEFT JOIN executions e ON e.job_id = j.id
                 WHERE c.subscription_key = $1 AND c.group_key = $2 AND c.name_key = $3 AND c.deleted_at IS NULL
                 ORDER BY e.number",
                executions::COLUMNS
            ),
            &[&key(&path.subscription), &key(&path.group), &key(&path.name), &key(name)],
        )
        .await?;
    let Some(first) = rows.first() else { return Ok(None) };
    let definition = WIDTH + executions::WIDTH;
    let collection = StoredCollection {
        collection: from_json(
            first.try_get(definition + 2)?,
            "collections.document",
            first.try_get(definition + 1)?,
        )?,
        revision: Revision(first.try_get(COLLECTION_REVISION)?),
    };
    let Some(id) = first.try_get::<_, Option<i64>>(0)? else { return Ok(Some((collection, None))) };
    let is_one = |row: &&Row| row.try_get::<_, Option<i64>>(WIDTH).is_ok_and(|id| id.is_some());
    let held =
        rows.iter().filter(is_one).map(|row| executions::read(row, WIDTH)).collect::<Outcome<Vec<_>>>()?;
    let text = rows.iter().find_map(|row| row.try_get::<_, Option<&str>>(definition).transpose());
    let text = text.ok_or_else(|| Fault::unreadable("definitions", id, "there is none"))??;
    let job = stored(work, read(first)?, &held, text, collection.collection.path.clone())?;
    Ok(Some((collection, Some(job))))
}

/// A job as callers see it.
pub(super) fn stored(
    work: &Work<'_>,
    row: JobRow,
    executions: &[Held],
    definition: &str,
    path: CollectionPath,
) -> Outcome<StoredJob> {
    let rows: Vec<ExecutionRow> = executions.iter().map(|held| held.row.clone()).collect();
    let begun: Vec<i64> =
        executions.iter().filter(|held| held.seems_begun(work)).map(|held| held.row.id).collect();
    let keyring = work.shared.sealer.keyring();
    Ok(row.stored(&rows, |execution| begun.contains(&execution.id), definition, &keyring, path)?)
}

/// See [`Store::jobs`](crate::Store::jobs).
pub(super) async fn jobs(
    work: &Work<'_>,
    path: &CollectionPath,
    state: Option<JobState>,
    page: Page,
) -> Outcome<Option<Vec<StoredJob>>> {
    let Some((id, path)) = living_path(work, path).await? else { return Ok(None) };
    let rows = work
        .query(
            &format!(
                "SELECT {COLUMNS}, d.definition
                 FROM (SELECT id FROM jobs
                       WHERE collection_id = $1 AND deleted_at IS NULL AND ($4::smallint IS NULL OR state = $4)
                       ORDER BY name_key LIMIT $2 OFFSET $3) page
                 JOIN jobs j ON j.id = page.id
                 JOIN collections c ON c.id = j.collection_id
                 JOIN definitions d ON d.job_id = j.id
                 ORDER BY j.name_key"
            ),
            &[&id, &i64::from(page.top), &count(page.skip), &state.map(code)],
        )
        .await?;
    let mut found = Vec::with_capacity(rows.len());
    for row in &rows {
        found.push((read(row)?, row.try_get::<_, &str>(WIDTH)?));
    }
    let ids: Vec<i64> = found.iter().map(|(row, _)| row.id).collect();
    let executions: HashMap<i64, Vec<Held>> = executions::of_jobs(work, &ids).await?;
    let jobs = found.into_iter().map(|(row, definition)| {
        let executions = executions.get(&row.id).map_or(&[][..], Vec::as_slice);
        stored(work, row, executions, definition, path.clone())
    });
    jobs.collect::<Outcome<_>>().map(Some)
}

/// See [`Store::all_jobs`](crate::Store::all_jobs).
pub(super) async fn all_jobs(work: &Work<'_>, path: &CollectionPath) -> Outcome<Vec<StoredJob>> {
    let all = Page { skip: 0, top: u32::MAX };
    Ok(jobs(work, path, None, all).await?.unwrap_or_default())
}

/// A living collection's number, and its path in the case it was created with.
async fn living_path(work: &Work<'_>, path: &CollectionPath) -> Outcome<Option<(i64, CollectionPath)>> {
    let Some(id) = collections::find(work, path).await? else { return Ok(None) };
    let stored = collections::by_id(work, id).await?;
    Ok(stored.map(|stored| (id, stored.collection.path)))
}

/// The collection of a job that is deleted.
pub(super) async fn collection_of_deleted(work: &Work<'_>, id: i64) -> Outcome<Option<i64>> {
    let sql = "SELECT collection_id FROM jobs WHERE id = $1 AND deleted_at IS NOT NULL";
    Ok(work.ids(sql, &[&id]).await?.first().copied())
}
