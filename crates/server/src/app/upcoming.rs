//! When a job runs next, as it stands.

use model::{CollectionPath, Occurrence};
use store::StoredJob;

use super::{App, Result};

impl App {
    /// Returns a job and its next occurrences. What does not run has none: it is not known when it will be switched on.
    pub async fn upcoming(
        &self,
        path: &CollectionPath,
        name: &str,
        count: usize,
    ) -> Result<(StoredJob, Vec<Occurrence>)> {
        let stored = self.job(path, name).await?;
        let next = stored.next_run().map(|at| Occurrence { number: stored.job.next_number, at });
        let occurrences =
            std::iter::successors(next, |last| stored.job.rule.next(last)).take(count).collect();
        Ok((stored, occurrences))
    }
}
