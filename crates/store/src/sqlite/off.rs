//! Jobs that are off, or whose collection is, with something that may have been due since.

use jiff::Timestamp;
use model::{Collection, JobState};
use rusqlite::{Connection, params};

use super::fault::Outcome;
use super::jobs;
use super::sight::Columns;
use super::writer::Shared;
use crate::codec::{Coded, from_json, key, ticks};
use crate::off::Gathering;
use crate::{LedgerQuery, SkippedSoFar};

/// See [`Store::skipped_so_far`](crate::Store::skipped_so_far).
pub(super) fn skipped_so_far(
    db: &Connection,
    shared: &Shared,
    query: &LedgerQuery,
    sight: Option<&str>,
    now: Timestamp,
    most: u32,
) -> Outcome<SkippedSoFar> {
    let mut gathering = Gathering::new(query, now, most);
    let path = query.collection.as_ref();
    let subscription = query.subscription.as_deref().or(path.map(|path| path.subscription.as_str()));
    let group = query.group.as_deref().or(path.map(|path| path.group.as_str()));
    let mut statement = db.prepare_cached(&format!(
        // Each half is found by state and collection in an index.
        "WITH places AS MATERIALIZED (
           SELECT id, enabled FROM collections
           WHERE deleted_at IS NULL AND (?1 IS NULL OR subscription_key = ?1) AND (?2 IS NULL OR group_key = ?2)
             AND (?3 IS NULL OR name_key = ?3) AND (?4 IS NULL OR {}))
         SELECT {}, d.definition, c.document
         FROM (SELECT id FROM jobs INDEXED BY jobs_in_state
               WHERE state = ?6 AND collection_id IN (SELECT id FROM places) AND deleted_at IS NULL
                 AND (?5 IS NULL OR name_key = ?5)
               UNION ALL
               SELECT id FROM jobs INDEXED BY jobs_in_state
               WHERE state = ?7 AND collection_id IN (SELECT id FROM places WHERE NOT enabled) AND deleted_at IS NULL
                 AND (?5 IS NULL OR name_key = ?5) AND next_at <= ?8
               ORDER BY id LIMIT ?9) off
         CROSS JOIN jobs j ON j.id = off.id
         CROSS JOIN collections c ON c.id = j.collection_id
         CROSS JOIN definitions d ON d.job_id = j.id",
        Columns::COLLECTION.seen("?4"),
        jobs::COLUMNS
    ))?;
    let mut rows = statement.query(params![
        subscription.map(key),
        group.map(key),
        path.map(|path| key(&path.name)),
        sight,
        query.job.as_deref().map(key),
        JobState::Disabled.code(),
        JobState::Enabled.code(),
        ticks(now),
        gathering.to_be_found(),
    ])?;
    let keyring = shared.sealer.keyring();
    while let Some(row) = rows.next()? {
        let (definition, document): (String, String) = (row.get(jobs::WIDTH)?, row.get(jobs::WIDTH + 1)?);
        let row = jobs::read(row)?;
        let path = || Ok(from_json::<Collection>(&document, "collections.document", row.collection_id)?.path);
        gathering.look(&row, &definition, path, &keyring);
    }
    Ok(gathering.end())
}
