//! What is due and not claimed when a change takes it away is accounted for, and for the true reason: that of the change,
//! or that the job or its collection was off.

use model::transition::{amend, begin, overtaken};
use model::{Fate, Job, JobState, LedgerEntry, Reason, Timestamp};
use recurrence::RecurrenceDraft;
use sample::at;

mod sample;

/// Every minute from midnight, so many times; the second is next.
fn job(count: Option<i64>) -> Job {
    let recurrence = RecurrenceDraft { frequency: Some("minute".into()), count, ..Default::default() };
    let job = sample::job(Some(recurrence), at("2027-01-01T00:00:00Z"));
    Job { next_number: 2, next_at: Some(at("2027-01-01T00:01:00Z")), ..job }
}

/// Reason, first and last due minute, how many.
fn summary(entries: impl IntoIterator<Item = LedgerEntry>) -> Vec<(Reason, String, String, u64)> {
    let minute = |at: Timestamp| at.to_string()[11..16].to_owned();
    let row = |entry: LedgerEntry| {
        assert_eq!(entry.fate, Fate::Skipped);
        let reason = entry.reason.expect("a reason");
        (reason, minute(entry.due_at), minute(entry.due_until), entry.occurrences)
    };
    entries.into_iter().map(row).collect()
}

fn row(reason: Reason, from: &str, to: &str, occurrences: u64) -> (Reason, String, String, u64) {
    (reason, from.to_owned(), to.to_owned(), occurrences)
}

fn minute(text: &str) -> Timestamp {
    at(&format!("2027-01-01T{text}Z"))
}

#[test]
fn all_that_is_due_is_entered() {
    let entries = overtaken(&job(None), None, Reason::JobDeleted, minute("00:03:59"));
    assert_eq!((entries[0].number, entries[0].ended_at), (2, minute("00:03:59")));
    assert_eq!(summary(entries), [row(Reason::JobDeleted, "00:01", "00:03", 3)]);
}

#[test]
fn the_count_ends_it() {
    let entries = overtaken(&job(Some(3)), None, Reason::JobChanged, minute("09:00:00"));
    assert_eq!(summary(entries), [row(Reason::JobChanged, "00:01", "00:02", 2)]);
}

#[test]
fn what_is_not_due_is_not_entered() {
    assert_eq!(overtaken(&job(None), None, Reason::JobChanged, minute("00:00:59")), []);
    for state in [JobState::Completed, JobState::Faulted] {
        let ended = Job { state, ..job(None) };
        assert_eq!(overtaken(&ended, None, Reason::JobChanged, minute("09:00:00")), []);
    }
}

#[test]
fn what_was_due_while_the_collection_was_off_was_skipped_for_that() {
    use Reason::{CollectionDisabled, JobChanged, JobDeleted, JobDisabled};
    let off = Some(Timestamp::MAX);
    for (resumed_at, reason, expected) in [
        (off, JobDeleted, vec![row(CollectionDisabled, "00:01", "00:05", 5)]),
        (off, JobDisabled, vec![row(CollectionDisabled, "00:01", "00:05", 5)]),
        (
            Some(minute("00:03:00")),
            JobChanged,
            vec![row(CollectionDisabled, "00:01", "00:02", 2), row(JobChanged, "00:03", "00:05", 3)],
        ),
        (
            Some(minute("00:05:00")),
            JobDeleted,
            vec![row(CollectionDisabled, "00:01", "00:04", 4), row(JobDeleted, "00:05", "00:05", 1)],
        ),
        (Some(minute("00:05:01")), JobDeleted, vec![row(CollectionDisabled, "00:01", "00:05", 5)]),
        (Some(minute("00:01:00")), JobDeleted, vec![row(JobDeleted, "00:01", "00:05", 5)]),
    ] {
        let entries = overtaken(&job(None), resumed_at, reason, minute("00:05:00"));
        assert_eq!(summary(entries), expected, "{resumed_at:?} {reason:?}");
    }
    // What is skipped does not count, so that the count reaches further.
    let entries = overtaken(&job(Some(3)), Some(minute("00:03:00")), JobDeleted, minute("00:09:00"));
    assert_eq!(
        summary(entries),
        [row(CollectionDisabled, "00:01", "00:02", 2), row(JobDeleted, "00:03", "00:04", 2)]
    );
}

/// Switched off at 00:02:30, or never on.
fn off(paused_at: Option<&str>, count: Option<i64>) -> Job {
    Job { state: JobState::Disabled, next_at: None, paused_at: paused_at.map(minute), ..job(count) }
}

#[test]
fn what_was_due_during_a_pause_was_skipped_for_that() {
    let now = minute("00:05:00");
    let pause = |from: &str, to: &str, n| vec![row(Reason::JobDisabled, from, to, n)];
    for (paused_at, count, expected) in [
        (Some("00:02:30"), None, pause("00:03", "00:05", 3)),
        // At this instant it was still on.
        (Some("00:03:00"), None, pause("00:04", "00:05", 2)),
        (Some("00:05:00"), None, vec![]),
        // All its life, the run at once included.
        (None, None, pause("00:00", "00:05", 6)),
        // The second is next: one is allowed, and what is skipped does not count.
        (Some("00:02:30"), Some(2), pause("00:03", "00:05", 3)),
        // There is none to come.
        (Some("00:02:30"), Some(1), vec![]),
    ] {
        for reason in [Reason::JobDeleted, Reason::JobChanged, Reason::JobDisabled] {
            // The collection may have been off too; the job would not have run anyway.
            for resumed_at in [None, Some(minute("00:04:00")), Some(Timestamp::MAX)] {
                let entries = overtaken(&off(paused_at, count), resumed_at, reason, now);
                assert_eq!(summary(entries), expected, "{paused_at:?} {count:?} {reason:?} {resumed_at:?}");
            }
        }
    }
}

#[test]
fn other_times_end_a_pause_and_the_same_times_do_not() {
    let now = minute("00:05:00");
    let off = off(Some("00:02:30"), None);
    let hourly = RecurrenceDraft { frequency: Some("hour".into()), ..Default::default() };
    let hourly = sample::job(Some(hourly), now).rule;
    use JobState::{Disabled, Enabled};
    let entered = vec![row(Reason::JobDisabled, "00:03", "00:05", 3)];
    let before_now = vec![row(Reason::JobDisabled, "00:03", "00:04", 2)];
    for (timing_changed, state, ledger, next_at, paused_at) in [
        (true, Disabled, entered.clone(), None, None),
        // The hour begins now, and runs.
        (true, Enabled, entered, Some(now), None),
        // A second switch off is none.
        (false, Disabled, vec![], None, Some(minute("00:02:30"))),
        // What is due now runs.
        (false, Enabled, before_now, Some(now), None),
    ] {
        let rule = if timing_changed { &hourly } else { &off.rule };
        let standing = amend(&off, rule, timing_changed, state, now);
        let name = format!("{timing_changed} {state:?}");
        assert_eq!(summary(standing.ledger), ledger, "{name}");
        assert_eq!((standing.next_number, standing.next_at), (2, next_at), "{name}");
        assert_eq!(standing.paused_at, paused_at, "{name}");
    }
}

#[test]
fn a_pause_begins_where_the_times_begin_or_the_job_is_switched_off() {
    let now = minute("00:05:00");
    let on = job(None);
    for (timing_changed, paused_at) in [(false, Some(now)), (true, None)] {
        let standing = amend(&on, &on.rule, timing_changed, JobState::Disabled, now);
        assert_eq!((standing.paused_at, standing.ledger), (paused_at, None));
    }
    assert_eq!(begin(&on.rule, JobState::Disabled).paused_at, None);
    let never_on = off(None, None);
    assert_eq!(amend(&never_on, &never_on.rule, false, JobState::Disabled, now).paused_at, None);
    let on = amend(&never_on, &never_on.rule, false, JobState::Enabled, now);
    assert_eq!(summary(on.ledger), [row(Reason::JobDisabled, "00:00", "00:04", 5)]);
}

#[test]
fn a_job_that_runs_once_and_was_off_at_its_time() {
    let now = minute("00:05:00");
    let once = Job { state: JobState::Disabled, next_at: None, ..sample::job(None, minute("00:00:00")) };
    let skipped = [row(Reason::JobDisabled, "00:00", "00:00", 1)];
    assert_eq!(summary(overtaken(&once, None, Reason::JobDeleted, now)), skipped);
    let later = sample::job(None, now).rule;
    assert_eq!(summary(amend(&once, &later, true, JobState::Enabled, now).ledger), skipped);
    let on = amend(&once, &once.rule, false, JobState::Enabled, now);
    assert_eq!(on.next_at, Some(now), "it runs after all");
    assert_eq!(summary(on.ledger), skipped, "and the ledger says why it did not run when it was due");
}

/// Due at midnight; its collection was off then. What follows is due when the collection is on, and is entered too.
#[test]
fn a_job_that_runs_once_and_whose_collection_was_off_at_its_time() {
    use Reason::{CollectionDisabled, JobChanged, JobDeleted, JobDisabled};
    let once = sample::job(None, minute("00:00:00"));
    let skipped = row(CollectionDisabled, "00:00", "00:00", 1);
    for (resumed_at, reason, expected) in [
        (Some(Timestamp::MAX), JobDeleted, vec![skipped.clone()]),
        (Some(Timestamp::MAX), JobDisabled, vec![skipped.clone()]),
        (Some(minute("00:04:00")), JobDeleted, vec![skipped.clone(), row(JobDeleted, "00:04", "00:04", 1)]),
        (Some(minute("00:05:00")), JobChanged, vec![skipped.clone(), row(JobChanged, "00:05", "00:05", 1)]),
        // On again since before it was due.
        (Some(minute("00:00:00")), JobDeleted, vec![row(JobDeleted, "00:00", "00:00", 1)]),
    ] {
        let entries = overtaken(&once, resumed_at, reason, minute("00:05:00"));
        assert_eq!(summary(entries), expected, "{resumed_at:?} {reason:?}");
    }
}

#[test]
fn nothing_comes_after_the_count_when_a_job_is_switched_on_again() {
    let on = amend(
        &off(Some("00:02:30"), Some(1)),
        &job(Some(1)).rule,
        false,
        JobState::Enabled,
        minute("09:00:00"),
    );
    assert_eq!((on.next_at, on.ledger), (None, None));
}
