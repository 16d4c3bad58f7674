//! Definitions, read once for many firings.

use std::collections::{HashMap, HashSet};
use std::sync::PoisonError;

use super::fault::{Fault, Outcome};
use super::work::Work;
use crate::known::Known;
use crate::rows::JobRow;

/// Definitions and collections, as they are stored, of jobs that are not known yet.
#[derive(Debug, Default)]
pub(super) struct Texts {
    asked: HashSet<i64>,
    found: HashMap<i64, (String, String)>,
}

/// Fetches what of some jobs is not known.
pub(super) async fn fetch(work: &Work<'_>, rows: impl Iterator<Item = &JobRow>) -> Outcome<Texts> {
    let unknown: Vec<i64> = {
        let mut known = work.shared.known.lock().unwrap_or_else(PoisonError::into_inner);
        rows.filter(|row| known.find(row).is_none()).map(|row| row.id).collect()
    };
    if unknown.is_empty() {
        return Ok(Texts::default());
    }
    let rows = work
        .query(
            "SELECT d.job_id, d.definition, c.document FROM definitions d
             JOIN jobs j ON j.id = d.job_id JOIN collections c ON c.id = j.collection_id
             WHERE d.job_id = ANY($1)",
            &[&unknown],
        )
        .await?;
    let found = rows.iter().map(|row| Ok((row.try_get(0)?, (row.try_get(1)?, row.try_get(2)?))));
    Ok(Texts { found: found.collect::<Outcome<_>>()?, asked: unknown.into_iter().collect() })
}

impl Texts {
    /// What follows from a job that is known, or was fetched.
    pub(super) fn with<T>(
        &self,
        work: &Work<'_>,
        row: &JobRow,
        decide: impl FnOnce(&Known) -> T,
    ) -> Outcome<T> {
        let mut known = work.shared.known.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = known.find(row) {
            return Ok(decide(known));
        }
        if !self.asked.contains(&row.id) {
            return Err(Fault::Overtaken("a job was known and is forgotten"));
        }
        let missing = || Fault::unreadable("definitions", row.id, "there is none");
        let (definition, collection) = self.found.get(&row.id).ok_or_else(missing)?;
        let keyring = work.shared.sealer.keyring();
        Ok(decide(known.learn(row, &keyring, definition, collection)?))
    }
}

/// A job's definition as it is stored.
pub(super) async fn text(work: &Work<'_>, job: i64) -> Outcome<String> {
    let row = work.query_opt("SELECT definition FROM definitions WHERE job_id = $1", &[&job]).await?;
    match row {
        Some(row) => Ok(row.try_get(0)?),
        None => Err(Fault::unreadable("definitions", job, "there is none")),
    }
}
