//! The client certificates of jobs: which expire next.

use model::{Definition, JobId};

use super::collections;
use super::columns::{instant_of, text};
use super::fault::Outcome;
use super::work::Work;
use crate::StoredCertificate;
use crate::codec::ticks;
use crate::rows::certificates_of;

/// Lists the certificates of a job's definition, in place of those that were listed.
pub(super) async fn list(work: &Work<'_>, job: i64, definition: &Definition) -> Outcome<()> {
    work.execute("DELETE FROM certificates WHERE job_id = $1", &[&job]).await?;
    add(work, job, definition).await
}

/// Lists the certificates of new jobs, of which nothing was listed before.
pub(super) async fn list_new(work: &Work<'_>, new: &[(JobId, &Definition)]) -> Outcome<()> {
    for (job, definition) in new {
        add(work, job.0, definition).await?;
    }
    Ok(())
}

async fn add(work: &Work<'_>, job: i64, definition: &Definition) -> Outcome<()> {
    for (depth, certificate) in certificates_of(definition) {
        work.execute(
            "INSERT INTO certificates (job_id, depth, expires_at, subject, thumbprint) VALUES ($1, $2, $3, $4, $5)",
            &[
                &job,
                &depth,
                &ticks(certificate.expiration),
                &text(certificate.subject),
                &text(certificate.thumbprint),
            ],
        )
        .await?;
    }
    Ok(())
}

/// See [`Store::certificates`](crate::Store::certificates).
pub(super) async fn certificates(work: &Work<'_>, top: u32) -> Outcome<Vec<StoredCertificate>> {
    let rows = work
        .query(
            "SELECT j.name, l.expires_at, l.subject, l.thumbprint,
                    c.document, c.subscription_key, c.group_key, c.name_key
             FROM (SELECT * FROM certificates ORDER BY expires_at, job_id, depth LIMIT $1) l
             JOIN jobs j ON j.id = l.job_id
             JOIN collections c ON c.id = j.collection_id
             ORDER BY l.expires_at, l.job_id, l.depth",
            &[&i64::from(top)],
        )
        .await?;
    let found = rows.iter().map(|row| {
        Ok(StoredCertificate {
            collection: collections::path_of(row, 4)?,
            job: row.try_get(0)?,
            expiration: instant_of(row, 1)?,
            subject: row.try_get(2)?,
            thumbprint: row.try_get(3)?,
        })
    });
    found.collect()
}
