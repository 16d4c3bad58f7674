//! The client certificates of jobs: which expire next.

use model::Definition;
use rusqlite::{Connection, params};

use super::collections;
use super::columns::instant_of;
use super::fault::Outcome;
use crate::StoredCertificate;
use crate::codec::ticks;
use crate::rows::certificates_of;

/// Lists the certificates of a job's definition in place of those that were listed.
pub(super) fn replace(db: &Connection, job: i64, definition: &Definition) -> Outcome<()> {
    // Few jobs have any, and a deletion makes ready for many before it finds none.
    let listed: bool = db
        .prepare_cached("SELECT EXISTS (SELECT 1 FROM certificates WHERE job_id = ?1)")?
        .query_row(params![job], |row| row.get(0))?;
    if listed {
        db.prepare_cached("DELETE FROM certificates WHERE job_id = ?1")?.execute(params![job])?;
    }
    list(db, job, definition)
}

/// Lists the certificates of a new job's definition. They go with the definition.
pub(super) fn list(db: &Connection, job: i64, definition: &Definition) -> Outcome<()> {
    for (depth, certificate) in certificates_of(definition) {
        db.prepare_cached(
            "INSERT INTO certificates (job_id, depth, expires_at, subject, thumbprint)
             VALUES (?1, ?2, ?3, ?4, ?5)",
        )?
        .execute(params![
            job,
            depth,
            ticks(certificate.expiration),
            certificate.subject,
            certificate.thumbprint
        ])?;
    }
    Ok(())
}

/// See [`Store::certificates`](crate::Store::certificates).
pub(super) fn certificates(db: &Connection, top: u32) -> Outcome<Vec<StoredCertificate>> {
    let mut statement = db.prepare_cached(
        "SELECT j.name, j.collection_id, l.expires_at, l.subject, l.thumbprint
         FROM (SELECT * FROM certificates INDEXED BY certificates_by_end
               ORDER BY expires_at, job_id, depth LIMIT ?1) l
         JOIN jobs j ON j.id = l.job_id
         ORDER BY l.expires_at, l.job_id, l.depth",
    )?;
    let mut rows = statement.query(params![top])?;
    let mut found = Vec::new();
    while let Some(row) = rows.next()? {
        found.push(StoredCertificate {
            collection: collections::path_of(db, row.get(1)?)?,
            job: row.get(0)?,
            expiration: instant_of(row, 2)?,
            subject: row.get(3)?,
            thumbprint: row.get(4)?,
        });
    }
    Ok(found)
}
