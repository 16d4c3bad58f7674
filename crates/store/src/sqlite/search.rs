//! Questions about all jobs.
//!
//! The list is found in two steps: the numbers of a page, then the jobs of these. By name the numbers come from an index
//! in order. By anything that changes when a job runs there is no index, since that would be one more page to write for
//! every run: all rows are looked at, which a hundred thousand jobs allow.

use std::collections::HashMap;

use model::{Collection, CollectionPath, JobState};
use rusqlite::types::Value;
use rusqlite::{Connection, params, params_from_iter};

use super::fault::Outcome;
use super::sight::Columns;
use super::writer::Shared;
use super::{collections, executions, jobs};
use crate::codec::{Coded, from_json, key};
use crate::{Census, FoundJobs, JobQuery, JobSort, JobStates, Page, StoredJob};

/// See [`Store::find_jobs`](crate::Store::find_jobs).
pub(super) fn find_jobs(
    db: &Connection,
    shared: &Shared,
    query: &JobQuery,
    sight: Option<&str>,
    page: Page,
) -> Outcome<FoundJobs> {
    let Some(filter) = Filter::of(db, query, sight)? else { return Ok(FoundJobs::default()) };
    let order = query.sort.order(query.descending);
    let mut values = filter.values.clone();
    values.extend([i64::from(page.top).into(), i64::try_from(page.skip).unwrap_or(i64::MAX).into()]);
    let narrows = query.collection.is_some()
        || query.subscription.is_some()
        || query.state.is_some()
        || sight.is_some();
    let from = match query.sort {
        // The planner would rather sort what another index finds; this one ends with the page.
        JobSort::Name if query.collection.is_none() && query.state.is_none() => NAMED,
        // All that are in a state are looked at anyway, to count them.
        JobSort::Name if query.collection.is_none() => IN_STATE,
        // Where all rows are looked at, it would find each by way of an index, which takes half as long again.
        _ if !narrows => "jobs NOT INDEXED",
        _ => "jobs",
    };
    let sql = format!("SELECT id FROM {from} WHERE {} ORDER BY {order} LIMIT ? OFFSET ?", filter.sql);
    let ids: Vec<i64> = db
        .prepare_cached(&sql)?
        .query_map(params_from_iter(values), |row| row.get(0))?
        .collect::<rusqlite::Result<_>>()?;
    Ok(FoundJobs { jobs: load(db, shared, &ids)?, total: filter.total(db)? })
}

/// See [`Store::soonest_jobs`](crate::Store::soonest_jobs).
pub(super) fn soonest_jobs(
    db: &Connection,
    shared: &Shared,
    sight: Option<&str>,
    top: u32,
) -> Outcome<Vec<StoredJob>> {
    if sight.is_some() {
        // No index knows who sees what.
        let query = JobQuery { sort: JobSort::Next, state: Some(JobState::Enabled), ..JobQuery::default() };
        let mut jobs = find_jobs(db, shared, &query, sight, Page { skip: 0, top })?.jobs;
        jobs.retain(|stored| stored.next_run().is_some());
        return Ok(jobs);
    }
    // Each is the low end of an index; executions that are claimed ahead are as many as are due in a few seconds.
    let mut statement = db.prepare_cached(
        "SELECT id FROM (SELECT id FROM jobs INDEXED BY jobs_due WHERE ahead = 0 AND due_at IS NOT NULL
                         ORDER BY due_at LIMIT ?1)
         UNION
         SELECT id FROM (SELECT id FROM jobs INDEXED BY jobs_due WHERE ahead = 1 AND due_at IS NOT NULL
                         ORDER BY due_at LIMIT ?1)
         UNION
         SELECT job_id FROM (SELECT job_id FROM executions WHERE ahead = 1 ORDER BY due_at LIMIT ?1)",
    )?;
    let ids: Vec<i64> =
        statement.query_map(params![top], |row| row.get(0))?.collect::<rusqlite::Result<_>>()?;
    let mut jobs = load(db, shared, &ids)?;
    jobs.retain(|stored| stored.next_run().is_some());
    jobs.sort_by(|one, other| (one.job.next_at, &one.job.name).cmp(&(other.job.next_at, &other.job.name)));
    jobs.truncate(top as usize);
    Ok(jobs)
}

/// See [`Store::job_states`](crate::Store::job_states).
pub(super) fn job_states(db: &Connection, sight: Option<&str>) -> Outcome<JobStates> {
    let mut statement = match sight {
        None => db.prepare_cached(
            "SELECT state, count(*) FROM jobs INDEXED BY jobs_in_state WHERE deleted_at IS NULL GROUP BY state",
        )?,
        Some(_) => db.prepare_cached(&format!(
            "SELECT state, count(*) FROM jobs WHERE deleted_at IS NULL AND collection_id IN
               (SELECT id FROM collections WHERE deleted_at IS NULL AND {}) GROUP BY state",
            Columns::COLLECTION.seen("?")
        ))?,
    };
    let mut states = JobStates::default();
    let mut rows = statement.query(params_from_iter(sight))?;
    while let Some(row) = rows.next()? {
        states.note(JobState::from_code(row.get(0)?, 0)?, row.get(1)?);
    }
    Ok(states)
}

/// See [`Store::census`](crate::Store::census).
pub(super) fn census(db: &Connection, sight: Option<&str>) -> Outcome<Census> {
    let mut statement = match sight {
        None => db.prepare_cached(
            "SELECT (SELECT count(*) FROM collections WHERE deleted_at IS NULL),
                    (SELECT coalesce(sum(jobs), 0) FROM collections),
                    (SELECT count(*) FROM executions)",
        )?,
        Some(_) => db.prepare_cached(&format!(
            "WITH these AS MATERIALIZED (SELECT id, jobs FROM collections WHERE deleted_at IS NULL AND {})
             SELECT (SELECT count(*) FROM these),
                    (SELECT coalesce(sum(jobs), 0) FROM these),
                    (SELECT count(*) FROM executions JOIN jobs ON jobs.id = executions.job_id
                     WHERE jobs.collection_id IN (SELECT id FROM these))",
            Columns::COLLECTION.seen("?")
        ))?,
    };
    Ok(statement.query_row(params_from_iter(sight), |row| {
        Ok(Census { collections: row.get(0)?, jobs: row.get(1)?, executions: row.get(2)? })
    })?)
}

/// The indexes that have all that a search looks at, in any state and in one state.
const NAMED: &str = "jobs INDEXED BY jobs_named";
const IN_STATE: &str = "jobs INDEXED BY jobs_in_state";

/// The condition of a query.
struct Filter {
    sql: String,
    values: Vec<Value>,
    /// Where to count.
    counted_in: &'static str,
    /// Where counting is not needed, because collections know how many jobs they have.
    known: Option<Known>,
}

enum Known {
    All,
    Of(i64),
}

impl Filter {
    /// `None` where nothing can be found.
    fn of(db: &Connection, query: &JobQuery, sight: Option<&str>) -> Outcome<Option<Self>> {
        let is_wide = query.collection.is_none()
            && (query.search.is_some() || query.subscription.is_some() || sight.is_some());
        let mut filter = Self {
            sql: "deleted_at IS NULL".to_owned(),
            values: Vec::new(),
            counted_in: match query.state {
                Some(_) if query.collection.is_none() => IN_STATE,
                None if is_wide => NAMED,
                _ => "jobs",
            },
            known: Some(Known::All),
        };
        if let Some(path) = &query.collection {
            let Some(id) = collections::find(db, path)? else { return Ok(None) };
            filter.add("collection_id = ?", [id.into()]);
            filter.known = Some(Known::Of(id));
        }
        if let Some(subscription) = &query.subscription {
            filter.add(
                "collection_id IN (SELECT id FROM collections WHERE subscription_key = ? AND deleted_at IS NULL)",
                [key(subscription).into()],
            );
            filter.known = None;
        }
        if let Some(sight) = sight {
            let seen = Columns::COLLECTION.seen("?");
            filter.add(
                &format!("collection_id IN (SELECT id FROM collections WHERE deleted_at IS NULL AND {seen})"),
                [sight.to_owned().into()],
            );
            filter.known = None;
        }
        if let Some(state) = query.state {
            filter.add("state = ?", [state.code().into()]);
            filter.known = None;
        }
        if let Some(text) = query.search.as_deref().map(key).filter(|text| !text.is_empty()) {
            if query.collection.is_some() {
                filter.add("instr(name_key, ?) > 0", [text.into()]);
            } else {
                filter.add(
                    "(instr(name_key, ?) > 0 OR collection_id IN
                      (SELECT id FROM collections WHERE deleted_at IS NULL AND instr(name_key, ?) > 0))",
                    [text.clone().into(), text.into()],
                );
            }
            filter.known = None;
        }
        Ok(Some(filter))
    }

    fn add<const N: usize>(&mut self, sql: &str, values: [Value; N]) {
        self.sql.push_str(" AND ");
        self.sql.push_str(sql);
        self.values.extend(values);
    }

    fn total(&self, db: &Connection) -> Outcome<u64> {
        Ok(match self.known {
            Some(Known::All) => db
                .prepare_cached("SELECT coalesce(sum(jobs), 0) FROM collections WHERE deleted_at IS NULL")?
                .query_row([], |row| row.get(0))?,
            Some(Known::Of(id)) => db
                .prepare_cached("SELECT jobs FROM collections WHERE id = ?1")?
                .query_row(params![id], |row| row.get(0))?,
            None => db
                .prepare_cached(&format!("SELECT count(*) FROM {} WHERE {}", self.counted_in, self.sql))?
                .query_row(params_from_iter(self.values.clone()), |row| row.get(0))?,
        })
    }
}

/// Jobs by their numbers, in the same order.
fn load(db: &Connection, shared: &Shared, ids: &[i64]) -> Outcome<Vec<StoredJob>> {
    let mut statement = db.prepare_cached(&format!(
        "SELECT {}, d.definition, c.document FROM jobs j
         JOIN collections c ON c.id = j.collection_id
         JOIN definitions d ON d.job_id = j.id
         WHERE j.id = ?1",
        jobs::COLUMNS
    ))?;
    let mut paths: HashMap<i64, CollectionPath> = HashMap::new();
    let mut found = Vec::with_capacity(ids.len());
    for id in ids {
        let mut rows = statement.query(params![id])?;
        let Some(row) = rows.next()? else { continue };
        let definition: String = row.get(jobs::WIDTH)?;
        let document: String = row.get(jobs::WIDTH + 1)?;
        let row = jobs::read(row)?;
        let path = match paths.get(&row.collection_id) {
            Some(path) => path.clone(),
            None => {
                let collection: Collection = from_json(&document, "collections.document", row.collection_id)?;
                paths.insert(row.collection_id, collection.path.clone());
                collection.path
            }
        };
        let executions = executions::of_job(db, row.id)?;
        let is_begun = |execution: &_| shared.tickets.is_begun(execution);
        found.push(row.stored(&executions, is_begun, &definition, &shared.sealer.keyring(), path)?);
    }
    Ok(found)
}
