//! Tallies, written. An extension.

use model::Tally;
use serde_json::{Map, Value, json};

/// What was counted, and how late it was, in milliseconds.
///
/// ```
/// let mut tally = model::Tally { ran: 1, ..Default::default() };
/// assert_eq!(wire::tally::write(&tally)["latenessP99"], serde_json::Value::Null);
/// tally.lateness.record(std::time::Duration::from_millis(5));
/// let written = wire::tally::write(&tally);
/// assert_eq!((&written["ran"], &written["latenessP50"], &written["latenessMax"]), (&1.into(), &5.into(), &5.into()));
/// ```
pub fn write(tally: &Tally) -> Map<String, Value> {
    let members = [
        ("ran", json!(tally.ran)),
        ("ranLate", json!(tally.ran_late)),
        ("faulted", json!(tally.faulted)),
        ("skipped", json!(tally.skipped)),
        ("missed", json!(tally.missed)),
        ("failedAttempts", json!(tally.failed_attempts)),
        ("latenessP50", json!(tally.lateness.quantile(0.5))),
        ("latenessP99", json!(tally.lateness.quantile(0.99))),
        ("latenessMax", json!(tally.lateness.max())),
    ];
    members.into_iter().map(|(name, value)| (name.to_owned(), value)).collect()
}
