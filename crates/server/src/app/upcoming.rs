//! When a job runs next, as it stands.

use model::{CollectionPath, CollectionState, Definition, Occurrence};
use recurrence::Zone;

use super::{App, Result};

/// When a job runs next.
pub struct Upcoming {
    /// The zone whose wall clock it follows, if that can be read.
    pub zone: Option<Zone>,
    /// Its next occurrences.
    pub occurrences: Vec<Occurrence>,
    /// Why the job cannot run as it is stored, if it cannot.
    pub unreadable: Option<String>,
}

impl App {
    /// The next occurrences of a job, and the zone whose wall clock it follows. A job that does not run has none: when it
    /// will be switched on, or written anew, is not known.
    pub async fn upcoming(&self, path: &CollectionPath, name: &str, count: usize) -> Result<Upcoming> {
        let collection = self.collection(path).await?.collection;
        let record = self.record(path, name).await?;
        let rule = record.definition.as_ref().map(Definition::rule).transpose();
        let unreadable =
            record.unreadable.or_else(|| Some(rule.as_ref().err()?.to_string().replace('\n', "; ")));
        let Some(rule) = rule.ok().flatten() else {
            return Ok(Upcoming { zone: None, occurrences: Vec::new(), unreadable });
        };
        let runs = collection.state == CollectionState::Enabled && unreadable.is_none();
        let next = record.next_at.filter(|_| runs);
        let next = next.map(|at| Occurrence { number: record.next_number, at });
        let occurrences = std::iter::successors(next, |last| rule.next(last)).take(count).collect();
        Ok(Upcoming { zone: Some(rule.zone()), occurrences, unreadable })
    }
}
