//! The ledger, written: what became of every due instant. An extension; the old service had none.

use model::{CollectionPath, LedgerEntry, Reason};
use serde_json::{Map, Value, json};

use crate::{date_time, path};

/// An entry of a job's ledger. `until` and `occurrences` are there where several instants in a row shared their fate.
///
/// ```
/// use model::{Cause, CollectionPath, Fate, JobId, LedgerEntry, Reason};
///
/// let path = CollectionPath { subscription: "s".into(), group: "g".into(), name: "c".into() };
/// let entry = LedgerEntry {
///     job: JobId(1),
///     due_at: "2027-01-01T02:00:00Z".parse()?,
///     due_until: "2027-01-01T05:00:00Z".parse()?,
///     occurrences: 4,
///     number: 7,
///     cause: Cause::Schedule,
///     fate: Fate::Missed,
///     reason: Some(Reason::Superseded),
///     started_at: None,
///     ended_at: "2027-01-01T05:30:00Z".parse()?,
///     tag: None,
/// };
/// let written = wire::ledger::write(&path, "j", &entry);
/// assert_eq!(written["dueTime"], "2027-01-01T02:00:00Z");
/// assert_eq!(written["occurrences"], 4);
/// assert_eq!(written["reason"], "superseded");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn write(collection: &CollectionPath, job: &str, entry: &LedgerEntry) -> Value {
    let mut written = Map::new();
    let mut put = |name: &str, value: Option<Value>| {
        if let Some(value) = value {
            written.insert(name.to_owned(), value);
        }
    };
    let is_several = entry.occurrences > 1;
    put("job", Some(path::job_id(collection, job).into()));
    put("dueTime", Some(date_time::write(entry.due_at).into()));
    put("until", is_several.then(|| date_time::write(entry.due_until).into()));
    put("occurrences", is_several.then(|| entry.occurrences.into()));
    put("state", Some(entry.fate.name().into()));
    put("reason", entry.reason.map(|reason| reason.name().into()));
    put("message", entry.reason.map(|reason| Reason::sentence(reason).into()));
    put("startTime", entry.started_at.map(|at| date_time::write(at).into()));
    put("endTime", Some(date_time::write(entry.ended_at).into()));
    put("cause", Some(entry.cause.name().into()));
    // 32 hex digits, as in the messages of the old service.
    put("executionTag", entry.tag.map(|tag| json!(tag.simple().to_string())));
    written.into()
}

#[cfg(test)]
mod tests {
    use model::{Cause, Fate, JobId, Uuid};

    use super::*;

    #[test]
    fn one_occurrence_that_ran() {
        let path = CollectionPath { subscription: "s".into(), group: "g".into(), name: "c".into() };
        let at = |text: &str| text.parse().expect("a timestamp");
        let entry = LedgerEntry {
            job: JobId(1),
            due_at: at("2027-01-01T00:00:00Z"),
            due_until: at("2027-01-01T00:00:00Z"),
            occurrences: 1,
            number: 1,
            cause: Cause::CatchUp,
            fate: Fate::RanLate,
            reason: None,
            started_at: Some(at("2027-01-01T00:01:00Z")),
            ended_at: at("2027-01-01T00:01:02Z"),
            tag: Some(Uuid::from_u128(0xabc)),
        };
        let id = path::job_id(&path, "j");
        let expected = format!(
            r#"{{"job":"{id}","dueTime":"2027-01-01T00:00:00Z","state":"ranLate","startTime":"2027-01-01T00:01:00Z","endTime":"2027-01-01T00:01:02Z","cause":"catchUp","executionTag":"00000000000000000000000000000abc"}}"#
        );
        assert_eq!(write(&path, "j", &entry).to_string(), expected);
    }
}
