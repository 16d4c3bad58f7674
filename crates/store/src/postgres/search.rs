//! Questions about all jobs.

use std::collections::HashMap;
use std::fmt::Write as _;

use model::{Collection, CollectionPath, JobState};
use tokio_postgres::types::ToSql;

use super::collections;
use super::columns::{code, coded, count, key, number};
use super::executions;
use super::fault::Outcome;
use super::jobs;
use super::sight::Columns;
use super::work::Work;
use crate::codec::from_json;
use crate::{FoundJobs, JobQuery, JobSort, JobStates, Page, StoredJob};

/// See [`Store::find_jobs`](crate::Store::find_jobs).
pub(super) async fn find_jobs(
    work: &Work<'_>,
    query: &JobQuery,
    sight: Option<&str>,
    page: Page,
) -> Outcome<FoundJobs> {
    let collection = match &query.collection {
        None => None,
        Some(path) => match collections::find(work, path).await? {
            None => return Ok(FoundJobs::default()),
            found => found,
        },
    };
    let subscription = query.subscription.as_deref().map(key);
    let state = query.state.map(code);
    let search = query.search.as_deref().map(key).filter(|text| !text.is_empty());
    let mut filter = String::from("deleted_at IS NULL");
    let mut values: Vec<&(dyn ToSql + Sync)> = Vec::new();
    // Writing to a string cannot fail.
    if let Some(collection) = &collection {
        values.push(collection);
        let _ = write!(filter, " AND collection_id = ${}", values.len());
    }
    if let Some(subscription) = &subscription {
        values.push(subscription);
        let _ = write!(
            filter,
            " AND collection_id IN
               (SELECT id FROM collections WHERE subscription_key = ${} AND deleted_at IS NULL)",
            values.len()
        );
    }
    if sight.is_some() {
        values.push(&sight);
        let seen = Columns::COLLECTION.seen(values.len());
        let _ = write!(
            filter,
            " AND collection_id IN (SELECT id FROM collections WHERE deleted_at IS NULL AND {seen})"
        );
    }
    if let Some(state) = &state {
        values.push(state);
        let _ = write!(filter, " AND state = ${}", values.len());
    }
    if let Some(text) = &search {
        values.push(text);
        let number = values.len();
        // Within one collection its own name says nothing.
        let _ = match &collection {
            Some(_) => write!(filter, " AND strpos(name_key, ${number}) > 0"),
            None => write!(
                filter,
                " AND (strpos(name_key, ${number}) > 0 OR collection_id IN
                   (SELECT id FROM collections WHERE deleted_at IS NULL AND strpos(name_key, ${number}) > 0))"
            ),
        };
    }
    let total = work.query_opt(&format!("SELECT count(*) FROM jobs WHERE {filter}"), &values).await?;
    let total = total.map_or(Ok(0), |row| number(&row, 0))?;
    let (top, skip) = (i64::from(page.top), count(page.skip));
    values.extend([&top as &(dyn ToSql + Sync), &skip]);
    let sql = format!(
        "SELECT id FROM jobs WHERE {filter} ORDER BY {} LIMIT ${} OFFSET ${}",
        query.sort.order(query.descending),
        values.len() - 1,
        values.len()
    );
    let ids = work.ids(&sql, &values).await?;
    Ok(FoundJobs { jobs: load(work, &ids).await?, total })
}

/// See [`Store::soonest_jobs`](crate::Store::soonest_jobs).
pub(super) async fn soonest_jobs(work: &Work<'_>, sight: Option<&str>, top: u32) -> Outcome<Vec<StoredJob>> {
    if sight.is_some() {
        // No index knows who sees what.
        let query = JobQuery { sort: JobSort::Next, state: Some(JobState::Enabled), ..JobQuery::default() };
        let mut jobs = find_jobs(work, &query, sight, Page { skip: 0, top }).await?.jobs;
        jobs.retain(|stored| stored.next_run().is_some());
        return Ok(jobs);
    }
    let ids = work
        .ids(
            "SELECT job_id FROM (SELECT job_id FROM due WHERE NOT ahead ORDER BY due_at LIMIT $1) AS on_time
             UNION
             SELECT job_id FROM (SELECT job_id FROM due WHERE ahead ORDER BY due_at LIMIT $1) AS in_advance
             UNION
             SELECT job_id FROM (SELECT job_id FROM executions WHERE ahead ORDER BY due_at LIMIT $1) AS claimed",
            &[&i64::from(top)],
        )
        .await?;
    let mut jobs = load(work, &ids).await?;
    jobs.retain(|stored| stored.next_run().is_some());
    jobs.sort_by(|one, other| (one.job.next_at, &one.job.name).cmp(&(other.job.next_at, &other.job.name)));
    jobs.truncate(top as usize);
    Ok(jobs)
}

/// See [`Store::job_states`](crate::Store::job_states).
pub(super) async fn job_states(work: &Work<'_>, sight: Option<&str>) -> Outcome<JobStates> {
    let sql = match sight {
        None => {
            "SELECT state, count(*) FROM jobs WHERE deleted_at IS NULL AND $1::text IS NULL GROUP BY state"
                .to_owned()
        }
        Some(_) => format!(
            "SELECT state, count(*) FROM jobs WHERE deleted_at IS NULL AND collection_id IN
               (SELECT id FROM collections WHERE deleted_at IS NULL AND {}) GROUP BY state",
            Columns::COLLECTION.seen(1)
        ),
    };
    let mut states = JobStates::default();
    for row in work.query(&sql, &[&sight]).await? {
        states.note(coded(&row, 0, 0)?, number(&row, 1)?);
    }
    Ok(states)
}

/// Jobs by their numbers, in the same order.
async fn load(work: &Work<'_>, ids: &[i64]) -> Outcome<Vec<StoredJob>> {
    let rows = work
        .query(
            &format!(
                "SELECT {}, d.definition, c.document
                 FROM unnest($1::bigint[]) WITH ORDINALITY AS wanted (id, place)
                 JOIN jobs j ON j.id = wanted.id
                 JOIN collections c ON c.id = j.collection_id
                 JOIN definitions d ON d.job_id = j.id
                 ORDER BY wanted.place",
                jobs::COLUMNS
            ),
            &[&ids],
        )
        .await?;
    let executions = executions::of_jobs(work, ids).await?;
    let mut paths: HashMap<i64, CollectionPath> = HashMap::new();
    let mut found = Vec::with_capacity(rows.len());
    for row in &rows {
        let job = jobs::read(row)?;
        let path = match paths.get(&job.collection_id) {
            Some(path) => path.clone(),
            None => {
                let document = row.try_get(jobs::WIDTH + 1)?;
                let collection: Collection = from_json(document, "collections.document", job.collection_id)?;
                paths.insert(job.collection_id, collection.path.clone());
                collection.path
            }
        };
        let held = executions.get(&job.id).map_or(&[][..], Vec::as_slice);
        found.push(jobs::stored(work, job, held, row.try_get(jobs::WIDTH)?, path)?);
    }
    Ok(found)
}
