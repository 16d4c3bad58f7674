//! Definitions, read once for many firings.

use std::collections::{HashMap, HashSet};
use std::sync::PoisonError;

use super::fault::{Fault, Outcome};
use super::work::{Values, Work};
use crate::known::Known;
use crate::rows::JobRow;

/// Definitions and collections, as they are stored, of jobs that are not known yet.
#[derive(Debug, Default)]
pub(super) struct Texts {
    asked: HashSet<i64>,
    /// Definitions by job.
    found: HashMap<i64, String>,
    /// The collections of those jobs.
    documents: HashMap<i64, String>,
}

/// Fetches what of some jobs is not known.
pub(super) async fn fetch(work: &Work<'_>, rows: impl Iterator<Item = &JobRow>) -> Outcome<Texts> {
    let unknown: HashMap<i64, i64> = {
        let mut known = work.shared.known.lock().unwrap_or_else(PoisonError::into_inner);
        rows.filter(|row| known.find(row).is_none()).map(|row| (row.id, row.collection_id)).collect()
    };
    if unknown.is_empty() {
        return Ok(Texts::default());
    }
    // Each by its own key. Where jobs are joined in, the planner may read all of them for a thousand.
    let jobs: Vec<i64> = unknown.keys().copied().collect();
    let sql = "SELECT job_id, definition FROM definitions WHERE job_id = ANY($1)";
    let values: Values<'_> = &[&jobs];
    let (documents, rows) =
        tokio::try_join!(documents(work, unknown.values().copied()), work.query(sql, values))?;
    let found = rows.iter().map(|row| Ok((row.try_get(0)?, row.try_get(1)?))).collect::<Outcome<_>>()?;
    Ok(Texts { asked: unknown.into_keys().collect(), found, documents })
}

/// Collections as they are stored, by number.
pub(super) async fn documents(
    work: &Work<'_>,
    collections: impl Iterator<Item = i64>,
) -> Outcome<HashMap<i64, String>> {
    let ids: Vec<i64> = collections.collect::<HashSet<_>>().into_iter().collect();
    if ids.is_empty() {
        return Ok(HashMap::new());
    }
    let rows = work.query("SELECT id, document FROM collections WHERE id = ANY($1)", &[&ids]).await?;
    rows.iter().map(|row| Ok((row.try_get(0)?, row.try_get(1)?))).collect()
}

impl Texts {
    /// The definition of a job as it is stored, if it was fetched.
    pub(super) fn text(&self, job: i64) -> Option<&str> {
        self.found.get(&job).map(String::as_str)
    }

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
        let definition = self.found.get(&row.id).ok_or_else(missing)?;
        let collection = self.documents.get(&row.collection_id).ok_or_else(missing)?;
        let keyring = work.shared.sealer.keyring();
        let known = known.learn(row, &keyring, definition, collection)?;
        work.shared.numbers.unreadable.forget(row.id);
        Ok(decide(known))
    }
}
