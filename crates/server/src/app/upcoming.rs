//! When a job runs next, as it stands.

use model::{CollectionPath, Definition, Occurrence};
use recurrence::Zone;
use store::JobRecord;

use super::{App, Result};

/// When a job runs next.
pub struct Upcoming {
    /// The zone whose wall clock it follows, if that can be read.
    pub zone: Option<Zone>,
    /// Its next occurrences.
    pub occurrences: Vec<Occurrence>,
    /// The job.
    pub record: JobRecord,
}

impl App {
    /// Returns a job and its next occurrences, and the zone whose wall clock it follows. What does not run has none: it is
    /// not known when it will be switched on, or written anew.
    pub async fn upcoming(&self, path: &CollectionPath, name: &str, count: usize) -> Result<Upcoming> {
        let mut record = self.record(path, name).await?;
        let rule = record.definition.as_ref().map(Definition::rule).transpose();
        if let Err(faults) = &rule {
            record.unreadable.get_or_insert_with(|| faults.to_string().replace('\n', "; "));
        }
        let Some(rule) = rule.ok().flatten() else {
            return Ok(Upcoming { zone: None, occurrences: Vec::new(), record });
        };
        let next = record.next_run().filter(|_| record.unreadable.is_none());
        let next = next.map(|at| Occurrence { number: record.next_number, at });
        let occurrences = std::iter::successors(next, |last| rule.next(last)).take(count).collect();
        Ok(Upcoming { zone: Some(rule.zone()), occurrences, record })
    }
}
