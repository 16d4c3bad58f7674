//! The decisions about running jobs, as tables of what is the case and what follows.

use std::time::Duration;

use model::action::{Action, Call, HttpRequest, IntervalForm, RetryInterval, RetryPolicy};
use model::transition::{Busy, Patience, Then, abandon, amend, at_rest, begin, due, run_now, settle};
use model::{
    Attempt, CatchUp, Cause, Counters, Definition, Execution, Fate, HistoryStatus, Job, JobId, JobState,
    LedgerEntry, Occurrence, Outcome, Overlap, Reason, Timestamp, Uuid,
};
use recurrence::{Draft, RecurrenceDraft};

fn at(text: &str) -> Timestamp {
    text.parse().unwrap_or_else(|_| panic!("{text} is no time"))
}

fn call(uri: &str) -> Call {
    let request = HttpRequest {
        uri: uri.into(),
        method: "GET".into(),
        headers: None,
        body: None,
        authentication: None,
    };
    Call::Http { https: false, request }
}

fn fixed(seconds: u64, count: u32) -> Option<RetryPolicy> {
    let interval = Some(RetryInterval { seconds, form: IntervalForm::TimeSpan });
    Some(RetryPolicy::Fixed { interval, count: Some(count) })
}

fn action(retry: Option<RetryPolicy>, on_error: Option<Action>) -> Action {
    Action { call: call("http://127.0.0.1/"), retry, on_error: on_error.map(Box::new) }
}

/// Every hour on the hour, from midnight of the first of January 2027.
fn hourly() -> RecurrenceDraft {
    RecurrenceDraft { frequency: Some("hour".into()), ..Default::default() }
}

fn job(recurrence: Option<RecurrenceDraft>, change: impl FnOnce(&mut Definition)) -> Job {
    let mut definition = Definition {
        timing: Draft { start_time: Some("2027-01-01".into()), recurrence },
        accepted_at: at("2026-12-31T12:00:00Z"),
        action: action(None, None),
        catch_up: CatchUp::default(),
        overlap: Overlap::default(),
        extensions_given: false,
        capital_occurrence: false,
    };
    change(&mut definition);
    let rule = definition.rule().expect("a valid rule");
    let standing = begin(&rule, JobState::Enabled);
    Job {
        id: JobId(7),
        name: "job".into(),
        seed: Uuid::from_u128(1),
        definition,
        rule,
        state: standing.state,
        counters: Counters::default(),
        next_number: standing.next_number,
        next_at: standing.next_at,
        paused_at: None,
        last_faulted: false,
        generation: 1,
    }
}

fn now_due(job: &Job, now: &str) -> model::transition::Due {
    due(job, None, Busy::default(), at(now), &Patience::default())
}

fn numbers(executions: &[Execution]) -> Vec<u32> {
    executions.iter().map(|execution| execution.occurrence.number).collect()
}

/// Fate, reason, first and last due hour, how many.
fn summary(ledger: &[LedgerEntry]) -> Vec<(Fate, Option<Reason>, String, String, u64)> {
    let hour = |at: Timestamp| at.to_string()[11..16].to_owned();
    ledger.iter().map(|e| (e.fate, e.reason, hour(e.due_at), hour(e.due_until), e.occurrences)).collect()
}

#[test]
fn what_is_ahead_is_handed_out_once_and_the_next_moves_on() {
    let job = job(Some(hourly()), |_| {});
    let due = now_due(&job, "2026-12-31T23:59:58Z");
    assert_eq!(numbers(&due.executions), [1]);
    assert_eq!(due.executions[0].wake_at, Some(at("2027-01-01T00:00:00Z")));
    assert_eq!(due.executions[0].cause, Cause::Schedule);
    assert_eq!((due.next_number, due.next_at), (2, Some(at("2027-01-01T01:00:00Z"))));
    assert!(due.ledger.is_empty());
}

#[test]
fn the_tag_depends_on_the_occurrence_alone() {
    let job = job(Some(hourly()), |_| {});
    let early = now_due(&job, "2026-12-31T23:59:58Z").executions.remove(0);
    let late = now_due(&job, "2027-01-01T00:00:09Z").executions.remove(0);
    assert_eq!(early.tag, late.tag);
    let next = Occurrence { number: 2, at: at("2027-01-01T01:00:00Z") };
    assert_ne!(early.tag, Execution::tag_of(job.seed, &next));
}

#[test]
fn after_an_outage_the_catch_up_policy_decides() {
    // Down from midnight until 05:30: 00, 01, 02, 03, 04 and 05 o'clock were due.
    let now = "2027-01-01T05:30:00Z";
    let missed =
        |reason, from: &str, to: &str, n| vec![(Fate::Missed, Some(reason), from.into(), to.into(), n)];
    let cases = [
        (CatchUp::Last, vec![6], missed(Reason::Superseded, "00:00", "04:00", 5)),
        (CatchUp::None, vec![], missed(Reason::TooLate, "00:00", "05:00", 6)),
        (CatchUp::All { max: 3 }, vec![4, 5, 6], missed(Reason::Superseded, "00:00", "02:00", 3)),
        (CatchUp::All { max: 100 }, vec![1, 2, 3, 4, 5, 6], vec![]),
    ];
    for (catch_up, run, ledger) in cases {
        let due = now_due(&job(Some(hourly()), |definition| definition.catch_up = catch_up), now);
        assert_eq!(numbers(&due.executions), run, "{catch_up:?}");
        assert_eq!(summary(&due.ledger), ledger, "{catch_up:?}");
        assert_eq!((due.next_number, due.next_at), (7, Some(at("2027-01-01T06:00:00Z"))), "{catch_up:?}");
        assert!(due.executions.iter().all(|execution| execution.cause == Cause::CatchUp));
    }
}

#[test]
fn replays_are_paced() {
    let job = job(Some(hourly()), |definition| definition.catch_up = CatchUp::All { max: 3 });
    let wakes: Vec<_> = now_due(&job, "2027-01-01T05:30:00Z").executions.iter().map(|e| e.wake_at).collect();
    let expected = ["2027-01-01T05:30:00Z", "2027-01-01T05:30:01Z", "2027-01-01T05:30:02Z"];
    assert_eq!(wakes, expected.map(|time| Some(at(time))));
}

#[test]
fn a_little_late_is_not_missed() {
    for catch_up in [CatchUp::None, CatchUp::Last, CatchUp::All { max: 1 }] {
        let job = job(Some(hourly()), |definition| definition.catch_up = catch_up);
        let due = now_due(&job, "2027-01-01T00:00:09Z");
        assert_eq!(numbers(&due.executions), [1], "{catch_up:?}");
        assert_eq!(due.executions[0].cause, Cause::Schedule);
        assert!(due.ledger.is_empty());
    }
}

#[test]
fn a_count_ends_with_its_last_occurrence_missed_or_not() {
    let counted = RecurrenceDraft { count: Some(3), ..hourly() };
    let due = now_due(&job(Some(counted), |_| {}), "2027-01-02T00:00:00Z");
    assert_eq!(numbers(&due.executions), [3]);
    assert_eq!(due.next_at, None);
}

#[test]
fn a_job_that_runs_once_runs_even_late() {
    let due = now_due(&job(None, |_| {}), "2027-01-03T00:00:00Z");
    assert_eq!(numbers(&due.executions), [1]);
    assert_eq!(due.next_at, None);
}

#[test]
fn overlap_is_judged_when_it_is_due_and_not_before() {
    for (overlap, ahead) in [(Overlap::Allow, 1), (Overlap::Skip, 0), (Overlap::Queue, 0)] {
        let job = job(Some(hourly()), |definition| definition.overlap = overlap);
        let due = now_due(&job, "2026-12-31T23:59:58Z");
        assert_eq!(due.executions.len(), ahead, "{overlap:?}");
        if ahead == 0 {
            assert_eq!((due.next_number, due.next_at), (1, job.next_at), "{overlap:?} stays to come");
        }
    }
}

#[test]
fn while_a_run_is_going() {
    let busy = Busy { active: 1, queued: 0 };
    let now = at("2027-01-01T00:00:00Z");
    let decide = |overlap, busy| {
        let job = job(Some(hourly()), |definition| definition.overlap = overlap);
        due(&job, None, busy, now, &Patience { longest_queue: 2, ..Patience::default() })
    };

    assert_eq!(decide(Overlap::Allow, busy).executions.len(), 1);

    let skipped = decide(Overlap::Skip, busy);
    assert!(skipped.executions.is_empty());
    assert_eq!(
        summary(&skipped.ledger),
        [(Fate::Skipped, Some(Reason::StillRunning), "00:00".into(), "00:00".into(), 1)]
    );
    assert_eq!(skipped.next_number, 2);

    let queued = decide(Overlap::Queue, busy);
    assert_eq!(queued.executions[0].wake_at, None, "it waits");
    assert_eq!(queued.history[0].status, HistoryStatus::Postponed);

    let full = decide(Overlap::Queue, Busy { active: 1, queued: 2 });
    assert!(full.executions.is_empty());
    assert_eq!(full.ledger[0].reason, Some(Reason::QueueFull));

    assert_eq!(
        decide(Overlap::Queue, Busy::default()).executions[0].wake_at,
        Some(now),
        "nothing in its way"
    );
}

#[test]
fn what_was_due_while_the_collection_was_off_is_skipped_in_one_entry() {
    let job = job(Some(hourly()), |_| {});
    let resumed = at("2027-01-01T04:30:00Z");
    let due = due(&job, Some(resumed), Busy::default(), at("2027-01-01T04:30:01Z"), &Patience::default());
    assert_eq!(
        summary(&due.ledger),
        [(Fate::Skipped, Some(Reason::CollectionDisabled), "00:00".into(), "04:00".into(), 5)]
    );
    assert_eq!(numbers(&due.executions), [1], "what was skipped does not count");
    assert_eq!(due.executions[0].occurrence.at, at("2027-01-01T05:00:00Z"));
}

/// A pause takes no run away from a job that runs once, whatever its catch-up policy and however long the pause.
#[test]
fn a_job_that_runs_once_runs_when_its_collection_is_on_again() {
    let resumed = at("2027-01-05T04:30:00Z");
    let skipped =
        [(Fate::Skipped, Some(Reason::CollectionDisabled), "00:00".to_owned(), "00:00".to_owned(), 1)];
    for catch_up in [CatchUp::None, CatchUp::Last, CatchUp::All { max: 5 }] {
        for (overlap, now) in [
            (Overlap::Allow, "2027-01-05T04:30:00Z"),
            (Overlap::Allow, "2027-01-05T04:30:09Z"),
            (Overlap::Skip, "2027-01-05T04:30:01Z"),
            (Overlap::Queue, "2027-01-05T04:30:01Z"),
        ] {
            let once = job(None, |definition| {
                definition.catch_up = catch_up;
                definition.overlap = overlap;
            });
            let due = due(&once, Some(resumed), Busy::default(), at(now), &Patience::default());
            let name = format!("{catch_up:?} {overlap:?} {now}");
            assert_eq!(summary(&due.ledger), skipped, "{name}");
            let [execution] = &due.executions[..] else { panic!("{name}: {due:?}") };
            assert_eq!((execution.occurrence.at, execution.occurrence.number), (resumed, 1), "{name}");
            assert_eq!((execution.cause, execution.wake_at), (Cause::Schedule, Some(resumed)), "{name}");
            assert_eq!((due.next_number, due.next_at), (2, None), "{name}: it is the only one");
        }
    }
    // Its collection was on again before it was due.
    let once = job(None, |_| {});
    let before = Some(at("2026-12-31T20:00:00Z"));
    let on_time = due(&once, before, Busy::default(), at("2027-01-01T00:00:00Z"), &Patience::default());
    assert_eq!((on_time.ledger.len(), on_time.executions[0].occurrence.at), (0, at("2027-01-01T00:00:00Z")));
    // Off a second time, before it was claimed.
    let again = Job { next_at: Some(resumed), ..once };
    let later = at("2027-01-06T00:00:00Z");
    let due = due(&again, Some(later), Busy::default(), later, &Patience::default());
    assert_eq!((due.ledger[0].due_at, due.ledger[0].occurrences), (resumed, 1));
    assert_eq!(due.executions[0].occurrence.at, later);
}

/// What is skipped does not count, so a `count` reaches further; an `endTime` does not.
#[test]
fn a_recurring_job_all_of_whose_occurrences_passed_while_its_collection_was_off() {
    let resumed = at("2027-01-01T04:30:00Z");
    let end_time = Some("2027-01-01T03:30:00Z".to_owned());
    for (recurrence, skipped, next) in [
        (RecurrenceDraft { count: Some(1), ..hourly() }, 5, Some("2027-01-01T05:00:00Z")),
        (RecurrenceDraft { count: Some(3), ..hourly() }, 5, Some("2027-01-01T05:00:00Z")),
        (RecurrenceDraft { end_time, ..hourly() }, 4, None),
    ] {
        let job = job(Some(recurrence.clone()), |_| {});
        let due = due(&job, Some(resumed), Busy::default(), resumed, &Patience::default());
        assert_eq!(due.ledger[0].occurrences, skipped, "{recurrence:?}");
        let begins = due.executions.first().map(|execution| execution.occurrence);
        let expected = next.map(|next| Occurrence { number: 1, at: at(next) });
        assert_eq!(begins, expected, "{recurrence:?}");
        assert_eq!(due.next_at.is_some(), recurrence.count == Some(3), "{recurrence:?}");
    }
}

#[test]
fn a_job_that_is_not_enabled_is_never_due() {
    for state in [JobState::Disabled, JobState::Completed, JobState::Faulted] {
        let job = Job { state, ..job(Some(hourly()), |_| {}) };
        assert!(now_due(&job, "2027-01-01T05:30:00Z").executions.is_empty());
    }
}

fn attempt(success: bool, started: &str) -> Attempt {
    let outcome = Outcome { success, message: "said".into() };
    Attempt { started_at: at(started), ended_at: at(started) + Duration::from_secs(1), outcome }
}

/// Lets an execution fail or succeed as told until it is done; what each attempt led to.
fn carry_out(action: Action, outcomes: &[bool]) -> (Vec<(u8, u32)>, Counters, LedgerEntry) {
    let job = job(Some(hourly()), |definition| definition.action = action);
    let mut execution = now_due(&job, "2026-12-31T23:59:59Z").executions.remove(0);
    let (mut steps, mut counters) = (Vec::new(), Counters::default());
    for success in outcomes {
        steps.push((execution.depth, execution.attempt));
        let started = execution.wake_at.expect("awake");
        let attempt = attempt(*success, &started.to_string());
        let settled =
            settle(&job.definition, Duration::from_secs(30), &execution, &attempt, &Patience::default());
        counters.executions += settled.tally.executions;
        counters.failures += settled.tally.failures;
        counters.faulted += settled.tally.faulted;
        assert_eq!(settled.history.retry_count, execution.attempt);
        assert_eq!(settled.history.depth, execution.depth);
        match settled.then {
            Then::Again(next) => {
                assert_eq!(next.tag, execution.tag, "all attempts share a tag");
                execution = next;
            }
            Then::Done(entry) => return (steps, counters, entry),
        }
    }
    panic!("not done after {outcomes:?}: {execution:?}");
}

#[test]
fn a_success_at_first() {
    let (steps, counters, entry) = carry_out(action(None, None), &[true]);
    assert_eq!(steps, [(0, 0)]);
    assert_eq!((counters.executions, counters.failures, counters.faulted), (1, 0, 0));
    assert_eq!((entry.fate, entry.reason), (Fate::Ran, None));
}

#[test]
fn the_default_is_four_retries() {
    let (steps, counters, entry) = carry_out(action(None, None), &[false; 5]);
    assert_eq!(steps, [(0, 0), (0, 1), (0, 2), (0, 3), (0, 4)]);
    assert_eq!((counters.executions, counters.failures, counters.faulted), (1, 5, 1));
    assert_eq!((entry.fate, entry.reason), (Fate::Faulted, Some(Reason::RetriesUsedUp)));
}

#[test]
fn a_retry_may_succeed() {
    let (steps, counters, entry) = carry_out(action(fixed(5, 3), None), &[false, false, true]);
    assert_eq!(steps.len(), 3);
    assert_eq!((counters.executions, counters.failures, counters.faulted), (1, 2, 0));
    assert_eq!(entry.fate, Fate::Ran);
    assert_eq!(entry.started_at, Some(at("2027-01-01T00:00:00Z")), "the first attempt was on time");
}

#[test]
fn no_retries_where_none_are_wanted() {
    let (steps, counters, entry) = carry_out(action(Some(RetryPolicy::None), None), &[false]);
    assert_eq!(steps, [(0, 0)]);
    assert_eq!((counters.failures, counters.faulted), (1, 1));
    assert_eq!(entry.fate, Fate::Faulted);
}

#[test]
fn the_error_action_has_its_own_policy_or_inherits() {
    let own = action(fixed(1, 1), Some(action(fixed(1, 2), None)));
    let (steps, counters, entry) = carry_out(own, &[false; 5]);
    assert_eq!(steps, [(0, 0), (0, 1), (1, 0), (1, 1), (1, 2)]);
    assert_eq!(
        (counters.executions, counters.failures, counters.faulted),
        (1, 2, 1),
        "only the action counts"
    );
    assert_eq!(entry.fate, Fate::Faulted);

    let inherited = action(fixed(1, 1), Some(action(None, None)));
    let (steps, ..) = carry_out(inherited, &[false, false, false, true]);
    assert_eq!(steps, [(0, 0), (0, 1), (1, 0), (1, 1)]);
}

#[test]
fn an_occurrence_stays_faulted_though_its_error_action_succeeds() {
    let (steps, counters, entry) =
        carry_out(action(Some(RetryPolicy::None), Some(action(None, None))), &[false, true]);
    assert_eq!(steps, [(0, 0), (1, 0)]);
    assert_eq!(counters.faulted, 1);
    assert_eq!((entry.fate, entry.reason), (Fate::Faulted, Some(Reason::RetriesUsedUp)));
}

#[test]
fn error_actions_follow_each_other_down() {
    let none = || Some(RetryPolicy::None);
    let third = action(none(), None);
    let second = action(none(), Some(third));
    let first = action(none(), Some(second));
    let (steps, counters, entry) = carry_out(action(none(), Some(first)), &[false; 4]);
    assert_eq!(steps, [(0, 0), (1, 0), (2, 0), (3, 0)]);
    assert_eq!(counters.faulted, 1);
    assert_eq!(entry.fate, Fate::Faulted);
}

#[test]
fn retries_wait_their_interval_from_the_end_of_the_attempt() {
    let job = job(Some(hourly()), |definition| definition.action.retry = fixed(15, 1));
    let execution = now_due(&job, "2026-12-31T23:59:59Z").executions.remove(0);
    let failed = attempt(false, "2027-01-01T00:00:00Z");
    let settled = settle(&job.definition, Duration::from_secs(30), &execution, &failed, &Patience::default());
    let Then::Again(next) = settled.then else { panic!("{settled:?}") };
    assert_eq!(next.wake_at, Some(at("2027-01-01T00:00:16Z")));
}

#[test]
fn late_is_what_began_late() {
    let job = job(Some(hourly()), |_| {});
    let execution = now_due(&job, "2026-12-31T23:59:59Z").executions.remove(0);
    for (started, fate) in [
        ("2027-01-01T00:00:00Z", Fate::Ran),
        ("2027-01-01T00:00:10Z", Fate::Ran),
        ("2027-01-01T00:00:10.0000001Z", Fate::RanLate),
    ] {
        let attempt = attempt(true, started);
        let settled =
            settle(&job.definition, Duration::from_secs(30), &execution, &attempt, &Patience::default());
        let Then::Done(entry) = settled.then else { panic!("{settled:?}") };
        assert_eq!(entry.fate, fate, "{started}");
    }
}

#[test]
fn a_job_at_rest_is_done_when_nothing_is_to_come() {
    use JobState::{Completed, Disabled, Enabled, Faulted};
    let later = Some(at("2027-01-01T00:00:00Z"));
    for (state, next_at, last_faulted, expected) in [
        (Enabled, later, false, Enabled),
        (Enabled, later, true, Enabled),
        (Enabled, None, false, Completed),
        (Enabled, None, true, Faulted),
        (Disabled, None, true, Disabled),
        (Completed, None, false, Completed),
    ] {
        assert_eq!(at_rest(state, next_at, last_faulted), expected, "{state:?} {next_at:?} {last_faulted}");
    }
}

#[test]
fn what_is_given_up_was_skipped_unless_it_was_tried() {
    let job = job(Some(hourly()), |_| {});
    let now = at("2027-01-01T00:00:00Z");
    let fresh = now_due(&job, "2026-12-31T23:59:59Z").executions.remove(0);
    assert_eq!(abandon(&fresh, Fate::Skipped, Reason::JobDeleted, now).fate, Fate::Skipped);
    let tried = Execution { started_at: Some(now), attempt: 1, ..fresh };
    let entry = abandon(&tried, Fate::Skipped, Reason::JobDeleted, now);
    assert_eq!((entry.fate, entry.reason), (Fate::Faulted, Some(Reason::JobDeleted)));
}

#[test]
fn a_run_by_hand_leaves_the_schedule_alone() {
    let mut job = job(Some(hourly()), |_| {});
    job.counters.executions = 41;
    let now = at("2027-01-01T00:30:00Z");
    let run = run_now(&job, Uuid::from_u128(9), now);
    assert_eq!((run.occurrence.number, run.occurrence.at), (42, now));
    assert_eq!((run.cause, run.wake_at, run.tag), (Cause::Run, Some(now), Uuid::from_u128(9)));
}

#[test]
fn a_change_of_the_action_moves_nothing() {
    let job = Job { next_number: 5, ..job(Some(hourly()), |_| {}) };
    let standing = amend(&job, &job.rule, false, JobState::Enabled, at("2027-01-01T00:10:00Z"));
    assert_eq!((standing.state, standing.next_number, standing.next_at), (JobState::Enabled, 5, job.next_at));
    assert_eq!(standing.ledger, None);
}

#[test]
fn a_change_of_the_timing_begins_anew_but_the_count_goes_on() {
    let job = Job { next_number: 5, ..job(Some(hourly()), |_| {}) };
    let daily = Definition {
        timing: Draft {
            start_time: None,
            recurrence: Some(RecurrenceDraft { frequency: Some("day".into()), ..Default::default() }),
        },
        accepted_at: at("2027-01-01T07:07:00Z"),
        ..job.definition.clone()
    };
    let rule = daily.rule().expect("valid");
    let standing = amend(&job, &rule, true, JobState::Enabled, at("2027-01-01T07:07:00Z"));
    assert_eq!((standing.next_number, standing.next_at), (5, Some(at("2027-01-01T07:07:00Z"))));
}

#[test]
fn switching_off_and_on_skips_what_lay_between() {
    let enabled = job(Some(hourly()), |_| {});
    let off = amend(&enabled, &enabled.rule, false, JobState::Disabled, at("2027-01-01T02:30:00Z"));
    assert_eq!((off.state, off.next_at), (JobState::Disabled, None));

    let disabled = Job {
        state: JobState::Disabled,
        next_at: None,
        next_number: 4,
        paused_at: Some(at("2027-01-01T02:30:00Z")),
        ..enabled
    };
    let on = amend(&disabled, &disabled.rule, false, JobState::Enabled, at("2027-01-01T06:30:00Z"));
    assert_eq!((on.next_number, on.next_at), (4, Some(at("2027-01-01T07:00:00Z"))));
    let ledger: Vec<_> = on.ledger.into_iter().collect();
    assert_eq!(
        summary(&ledger),
        [(Fate::Skipped, Some(Reason::JobDisabled), "03:00".into(), "06:00".into(), 4)]
    );
}

#[test]
fn a_job_that_runs_once_and_was_off_at_its_time_runs_when_it_is_switched_on() {
    let disabled = Job {
        state: JobState::Disabled,
        next_at: None,
        paused_at: Some(at("2026-12-31T13:00:00Z")),
        ..job(None, |_| {})
    };
    let now = at("2027-01-05T00:00:00Z");
    assert_eq!(amend(&disabled, &disabled.rule, false, JobState::Enabled, now).next_at, Some(now));
    let early = at("2026-12-31T14:00:00Z");
    let on = amend(&disabled, &disabled.rule, false, JobState::Enabled, early);
    assert_eq!(on.next_at, Some(at("2027-01-01T00:00:00Z")));
    let has_run = Job { next_number: 2, ..disabled };
    assert_eq!(amend(&has_run, &has_run.rule, false, JobState::Enabled, now).next_at, None, "once is once");
}

#[test]
fn a_count_that_is_used_up_leaves_nothing_to_come() {
    let counted = RecurrenceDraft { count: Some(3), ..hourly() };
    let used_up =
        Job { next_number: 4, state: JobState::Disabled, next_at: None, ..job(Some(counted), |_| {}) };
    let standing = amend(&used_up, &used_up.rule, false, JobState::Enabled, at("2027-01-01T09:00:00Z"));
    assert_eq!(standing.next_at, None);
}
