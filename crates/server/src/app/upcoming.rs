//! When a job runs next, as it stands.

use model::{CollectionPath, CollectionState, Occurrence};
use recurrence::Zone;

use super::{App, Result};

impl App {
    /// The next occurrences of a job, and the zone whose wall clock it follows. What does not run has none: nobody can
    /// tell when it will be switched on.
    pub async fn upcoming(
        &self,
        path: &CollectionPath,
        name: &str,
        count: usize,
    ) -> Result<(Zone, Vec<Occurrence>)> {
        let collection = self.collection(path).await?.collection;
        let job = self.job(path, name).await?.job;
        let next = job.next_at.filter(|_| collection.state == CollectionState::Enabled);
        let next = next.map(|at| Occurrence { number: job.next_number, at });
        let occurrences = std::iter::successors(next, |last| job.rule.next(last)).take(count).collect();
        Ok((job.rule.zone(), occurrences))
    }
}
