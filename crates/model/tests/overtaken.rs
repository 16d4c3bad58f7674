//! What is due and not claimed when a change takes it away is accounted for.

use model::action::{Call, HttpRequest};
use model::transition::overtaken;
use model::{
    Action, CatchUp, Counters, Definition, Fate, Job, JobId, JobState, Overlap, Reason, Timestamp, Uuid,
};
use recurrence::{Draft, RecurrenceDraft};

fn at(text: &str) -> Timestamp {
    text.parse().expect("an instant")
}

/// Every minute from midnight, so many times; the second is next.
fn job(count: Option<i64>) -> Job {
    let request = HttpRequest {
        uri: "http://example.com/".into(),
        method: "GET".into(),
        headers: None,
        body: None,
        authentication: None,
    };
    let recurrence = RecurrenceDraft { frequency: Some("minute".into()), count, ..Default::default() };
    let definition = Definition {
        timing: Draft { start_time: None, recurrence: Some(recurrence) },
        accepted_at: at("2027-01-01T00:00:00Z"),
        action: Action { call: Call::Http { https: false, request }, retry: None, on_error: None },
        catch_up: CatchUp::Last,
        overlap: Overlap::Allow,
        extensions_given: false,
        capital_occurrence: false,
    };
    Job {
        id: JobId(1),
        name: "job".into(),
        seed: Uuid::nil(),
        rule: definition.rule().expect("a rule"),
        definition,
        state: JobState::Enabled,
        counters: Counters::default(),
        next_number: 2,
        next_at: Some(at("2027-01-01T00:01:00Z")),
        paused_at: None,
        last_faulted: false,
        generation: 1,
    }
}

#[test]
fn all_that_is_due_is_entered() {
    let entry = overtaken(&job(None), Reason::JobDeleted, at("2027-01-01T00:03:59Z")).expect("an entry");
    assert_eq!((entry.fate, entry.reason), (Fate::Skipped, Some(Reason::JobDeleted)));
    assert_eq!((entry.number, entry.occurrences), (2, 3));
    assert_eq!((entry.due_at, entry.due_until), (at("2027-01-01T00:01:00Z"), at("2027-01-01T00:03:00Z")));
}

#[test]
fn the_count_ends_it() {
    let entry = overtaken(&job(Some(3)), Reason::JobChanged, at("2027-01-01T09:00:00Z")).expect("an entry");
    assert_eq!(entry.occurrences, 2);
}

#[test]
fn what_is_not_due_is_not_entered() {
    assert_eq!(overtaken(&job(None), Reason::JobChanged, at("2027-01-01T00:00:59Z")), None);
    let off = Job { state: JobState::Disabled, ..job(None) };
    assert_eq!(overtaken(&off, Reason::JobChanged, at("2027-01-01T09:00:00Z")), None);
}
