//! What is expected of a job, written out, and held against the engine and the reference alike.
//!
//! Runs are written in UTC, a day at a time: `2026-01-05 17:15 17:45, 2026-01-07 05:15`. The reference has to
//! agree with every table too, so that what the random tests compare with stands on the same ground.

// Each test file uses its own part of this one.
#![allow(dead_code)]

use recurrence::{Rule, Timestamp};
use serde_json::{Value, json};

use crate::asked::{at, draft_of, first_occurrences};
use crate::reference;

/// `2026-01-05 17:15 17:45, 2026-01-07 05:15` as instants of UTC.
pub(crate) fn runs(text: &str) -> Vec<Timestamp> {
    let mut runs = Vec::new();
    for day in text.split(", ") {
        let (date, times) = day.split_once(' ').unwrap_or_else(|| panic!("no times in {day}"));
        for time in times.split_ascii_whitespace() {
            let seconds = if time.len() == "17:15".len() { ":00" } else { "" };
            runs.push(at(&format!("{date}T{time}{seconds}Z")));
        }
    }
    runs
}

/// Holds a job's first runs against what is expected, the engine's and the reference's.
#[track_caller]
pub(crate) fn assert_runs(start: Option<&str>, now: &str, recurrence: &Value, expected: &str) {
    let draft = draft_of(&json!({"startTime": start, "recurrence": recurrence}));
    let expected = runs(expected);
    let title = format!("start {start:?}, now {now}, {recurrence}");
    let by_reference = reference::occurrences(&draft, at(now), expected.len()).found;
    assert_eq!(by_reference, expected, "the reference: {title}");
    assert_eq!(first_occurrences(&draft, at(now), expected.len()), expected, "{title}");
}

/// The same, where nothing comes after what is expected.
#[track_caller]
pub(crate) fn assert_all_runs(start: Option<&str>, now: &str, recurrence: &Value, expected: &str) {
    assert_runs(start, now, recurrence, expected);
    let draft = draft_of(&json!({"startTime": start, "recurrence": recurrence}));
    let rule = Rule::build(&draft, at(now)).unwrap();
    assert_eq!(rule.occurrences().count(), runs(expected).len(), "{recurrence}");
}
