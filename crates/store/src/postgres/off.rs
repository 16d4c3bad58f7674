//! Jobs that are off, or whose collection is, with something that may have been due since.

use model::{Collection, JobState, Timestamp};

use super::columns::{code, key};
use super::fault::Outcome;
use super::jobs;
use super::sight::Columns;
use super::work::Work;
use crate::codec::{from_json, ticks};
use crate::off::Gathering;
use crate::{LedgerQuery, SkippedSoFar};

/// See [`Store::skipped_so_far`](crate::Store::skipped_so_far).
pub(super) async fn skipped_so_far(
    work: &Work<'_>,
    query: &LedgerQuery,
    sight: Option<&str>,
    now: Timestamp,
    most: u32,
) -> Outcome<SkippedSoFar> {
    let mut gathering = Gathering::new(query, now, most);
    let path = query.collection.as_ref();
    let subscription = query.subscription.as_deref().or(path.map(|path| path.subscription.as_str()));
    let group = query.group.as_deref().or(path.map(|path| path.group.as_str()));
    let sql = format!(
        "WITH places AS MATERIALIZED (
           SELECT id, enabled FROM collections
           WHERE deleted_at IS NULL AND ($1::text IS NULL OR subscription_key = $1)
             AND ($2::text IS NULL OR group_key = $2) AND ($3::text IS NULL OR name_key = $3) AND {})
         SELECT {}, d.definition, c.document
         FROM (SELECT id FROM jobs
               WHERE state = $6 AND collection_id IN (SELECT id FROM places) AND deleted_at IS NULL
                 AND ($5::text IS NULL OR name_key = $5)
               UNION ALL
               SELECT id FROM jobs
               WHERE state = $7 AND collection_id IN (SELECT id FROM places WHERE NOT enabled) AND deleted_at IS NULL
                 AND ($5::text IS NULL OR name_key = $5) AND next_at <= $8
               ORDER BY id LIMIT $9) paused
         JOIN jobs j ON j.id = paused.id
         JOIN collections c ON c.id = j.collection_id
         JOIN definitions d ON d.job_id = j.id
         ORDER BY j.id",
        Columns::COLLECTION.seen(4),
        jobs::COLUMNS
    );
    let rows = work
        .query(
            &sql,
            &[
                &subscription.map(key),
                &group.map(key),
                &path.map(|path| key(&path.name)),
                &sight,
                &query.job.as_deref().map(key),
                &code(JobState::Disabled),
                &code(JobState::Enabled),
                &ticks(now),
                &gathering.to_be_found(),
            ],
        )
        .await?;
    let keyring = work.shared.sealer.keyring();
    for row in &rows {
        let (definition, document): (&str, &str) = (row.try_get(jobs::WIDTH)?, row.try_get(jobs::WIDTH + 1)?);
        let row = jobs::read(row)?;
        let path = || Ok(from_json::<Collection>(document, "collections.document", row.collection_id)?.path);
        gathering.look(&row, definition, path, &keyring);
    }
    Ok(gathering.end())
}
