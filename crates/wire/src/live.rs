//! What happens now, written. An extension.

use model::{CollectionPath, Execution, Timestamp};
use serde_json::{Map, Value, json};

use crate::{date_time, path};

/// The most characters of a message; the history has all of it.
const LONGEST_MESSAGE: usize = 300;

/// An attempt that has begun.
///
/// ```
/// # use model::*;
/// let path = CollectionPath { subscription: "s".into(), group: "g".into(), name: "c".into() };
/// let at: Timestamp = "2027-01-01T00:00:00Z".parse()?;
/// let execution = Execution {
///     tag: Uuid::nil(), job: JobId(1), generation: 1, occurrence: Occurrence { number: 1, at }, cause: Cause::Schedule,
///     depth: 0, attempt: 1, wake_at: None, started_at: None,
/// };
/// let written = serde_json::Value::from(wire::live::attempt(&path, "j", &execution, at));
/// assert_eq!((&written["job"], &written["attempt"], &written["errorAction"]), (&"j".into(), &2.into(), &false.into()));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn attempt(
    collection: &CollectionPath,
    job: &str,
    execution: &Execution,
    started_at: Timestamp,
) -> Map<String, Value> {
    let members = [
        ("id", json!(path::job_id(collection, job))),
        ("collection", json!(collection.name)),
        ("job", json!(job)),
        ("expectedAt", json!(date_time::write(execution.occurrence.at))),
        ("startedAt", json!(date_time::write(started_at))),
        ("attempt", json!(u64::from(execution.attempt) + 1)),
        ("errorAction", json!(execution.depth > 0)),
        ("tag", json!(execution.tag.simple().to_string())),
    ];
    members.into_iter().map(|(name, value)| (name.to_owned(), value)).collect()
}

/// A message, cut where it is long.
///
/// ```
/// assert_eq!(wire::live::message("short"), "short");
/// assert_eq!(wire::live::message(&"ä".repeat(301)).chars().count(), 300);
/// ```
pub fn message(text: &str) -> String {
    if text.chars().nth(LONGEST_MESSAGE).is_none() {
        return text.to_owned();
    }
    text.chars().take(LONGEST_MESSAGE - 1).chain(['…']).collect()
}
