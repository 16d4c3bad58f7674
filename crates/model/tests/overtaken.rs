//! What is due and not claimed when a change takes it away is accounted for.

use model::transition::overtaken;
use model::{Fate, Job, JobState, Reason};
use recurrence::RecurrenceDraft;
use sample::at;

mod sample;

/// Every minute from midnight, so many times; the second is next.
fn job(count: Option<i64>) -> Job {
    let recurrence = RecurrenceDraft { frequency: Some("minute".into()), count, ..Default::default() };
    let job = sample::job(Some(recurrence), at("2027-01-01T00:00:00Z"));
    Job { next_number: 2, next_at: Some(at("2027-01-01T00:01:00Z")), ..job }
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
