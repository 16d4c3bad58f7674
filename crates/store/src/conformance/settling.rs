//! Settlements: counters, retries, error actions, final states.

use model::transition;
use model::{CatchUp, Cause, Definition, Fate, JobState, Overlap, Reason, Uuid};

use super::Backend;
use super::world::{RETRY, World, action, path};
use crate::{Attempted, Settlement};

/// Counted, in the history, in the ledger; and a job without further occurrences is complete.
pub async fn success_counts_and_completes(backend: &dyn Backend) {
    let mut world = World::new(backend).await;
    let stored = world.put("job", world.minutely_times(2)).await;
    let first = world.run_one(true).await;
    let after = world.job("job").await;
    assert_eq!(after.job.counters.executions, 1);
    assert_eq!(after.job.counters.last_execution, Some(world.now));
    assert_eq!(after.job.state, JobState::Enabled);
    world.pass(60);
    world.run_one(true).await;
    let done = world.job("job").await;
    assert_eq!((done.job.state, done.job.next_at), (JobState::Completed, None));
    assert_eq!(done.job.counters.executions, 2);
    assert_ne!(done.revision, stored.revision, "a final state is a change");
    let ledger = world.ledger().await;
    assert_eq!(ledger.len(), 2);
    assert_eq!(ledger[0].tag, Some(first.execution.tag));
    assert_eq!((ledger[0].fate, ledger[0].number, ledger[0].occurrences), (Fate::Ran, 1, 1));
    assert_eq!(ledger[0].started_at, Some(ledger[0].due_at));
    assert!(world.claimed(600, 10).await.next_at.is_none());
}

/// At the distance that was asked for, as often as was asked for, with the same tag.
pub async fn failures_are_repeated_then_fault(backend: &dyn Backend) {
    let mut world = World::new(backend).await;
    world.put("job", world.once_in(0)).await;
    let first = world.run_one(false).await;
    for attempt in 1..=2 {
        let early = world.claimed(RETRY.as_secs() as i64 - 1, 10).await;
        assert!(early.claims.is_empty());
        assert_eq!(early.next_at, Some(world.after(RETRY.as_secs() as i64)));
        world.pass(RETRY.as_secs() as i64);
        assert_eq!(world.job("job").await.job.state, JobState::Enabled);
        let retry = world.run_one(false).await;
        assert_eq!((retry.execution.attempt, retry.execution.tag), (attempt, first.execution.tag));
        assert_eq!(retry.execution.started_at, Some(first.execution.occurrence.at));
    }
    let job = world.job("job").await.job;
    assert_eq!(job.state, JobState::Faulted);
    assert_eq!((job.counters.executions, job.counters.failures, job.counters.faulted), (1, 3, 1));
    let ledger = world.ledger().await;
    assert_eq!((ledger[0].fate, ledger[0].reason), (Fate::Faulted, Some(Reason::RetriesUsedUp)));
    assert_eq!(ledger.len(), 1);

    // Where the job does not say, the plan does: 30 seconds.
    let mut definition = world.once_in(0);
    definition.action.retry = None;
    world.put("default", definition).await;
    world.run_one(false).await;
    assert_eq!(world.claimed(0, 10).await.next_at, Some(world.after(30)));
}

/// After the last retry, and they do not count as runs.
pub async fn error_actions_follow(backend: &dyn Backend) {
    let world = World::new(backend).await;
    let mut definition = world.once_in(0);
    definition.action.retry = Some(model::action::RetryPolicy::None);
    definition.action.on_error = Some(Box::new(action("http://example.com/error")));
    world.put("job", definition).await;
    let first = world.run_one(false).await;
    let error = world.begin_one().await;
    assert_eq!((error.execution.depth, error.execution.attempt), (1, 0));
    assert_eq!(error.execution.tag, first.execution.tag);
    assert_eq!(world.job("job").await.job.state, JobState::Enabled);
    world.settle(&error, true).await;
    let job = world.job("job").await.job;
    assert_eq!(job.state, JobState::Faulted);
    assert_eq!((job.counters.executions, job.counters.failures, job.counters.faulted), (1, 1, 1));
    assert_eq!(world.ledger().await.len(), 1);
}

/// It counts as a run, and neither ends the job nor moves it.
pub async fn an_asked_run_leaves_the_schedule_alone(backend: &dyn Backend) {
    let mut world = World::new(backend).await;
    let mut definition = world.once_in(30);
    definition.action.retry = Some(model::action::RetryPolicy::None);
    let stored = world.put("job", definition).await;
    world
        .store()
        .add_execution(transition::run_now(&stored.job, Uuid::from_u128(1), world.now))
        .await
        .unwrap();
    world.run_one(false).await;
    let after = world.job("job").await.job;
    assert_eq!((after.state, after.next_at), (JobState::Enabled, stored.job.next_at));
    assert_eq!((after.counters.executions, after.counters.faulted), (1, 1));
    assert!(!after.last_faulted, "only scheduled ones say how a job ends");
    world.pass(30);
    let scheduled = world.begin_one().await;
    // Asked for while the last one runs: the job ends when both have.
    world
        .store()
        .add_execution(transition::run_now(&stored.job, Uuid::from_u128(2), world.now))
        .await
        .unwrap();
    let asked = world.begin_one().await;
    assert_eq!(asked.execution.cause, Cause::Run);
    world.settle(&scheduled, true).await;
    assert_eq!(world.job("job").await.job.state, JobState::Enabled);
    world.settle(&asked, false).await;
    assert_eq!(world.job("job").await.job.state, JobState::Completed);
}

/// Whoever is not sure that a settlement arrived may repeat it.
pub async fn what_is_settled_twice_counts_once(backend: &dyn Backend) {
    let world = World::new(backend).await;
    world.put("job", world.minutely()).await;
    let claim = world.run_one(false).await;
    world.settle(&claim, false).await;
    let job = world.job("job").await.job;
    assert_eq!((job.counters.executions, job.counters.failures), (1, 1));
    let history = world
        .store()
        .history(&path(), "job", &Default::default(), crate::Page { skip: 0, top: 10 })
        .await
        .unwrap()
        .unwrap();
    assert_eq!(history.len(), 1);
}

/// Faulted, though an earlier occurrence that ran longer succeeds after it, or the other way round.
pub async fn the_last_occurrence_decides_the_final_state(backend: &dyn Backend) {
    let mut world = World::new(backend).await;
    let mut definition = world.minutely_times(2);
    definition.action.retry = Some(model::action::RetryPolicy::None);
    world.put("job", definition).await;
    world.run_one(false).await;
    assert!(world.job("job").await.job.last_faulted);
    world.pass(60);
    world.run_one(true).await;
    let job = world.job("job").await.job;
    assert_eq!((job.state, job.last_faulted), (JobState::Completed, false));
    assert_eq!(job.counters.faulted, 1);
}

/// Many at once, of many jobs, and several of one.
pub async fn batches_are_settled_together(backend: &dyn Backend) {
    let mut world = World::new(backend).await;
    for i in 0..20 {
        world.put(&format!("job{i}"), world.minutely()).await;
    }
    let mut claims = world.claim(0).await;
    world.pass(60);
    claims.extend(world.claim(0).await);
    assert_eq!(claims.len(), 40);
    assert!(claims.iter().all(|claim| claim.ticket.begin()));
    let attempts = claims.iter().map(|claim| world.attempted(claim, true)).collect();
    world.store().settle(attempts).await.unwrap();
    assert_eq!(world.ledger().await.len(), 40);
    for stored in world.store().all_jobs(&path()).await.unwrap() {
        assert_eq!(stored.job.counters.executions, 2, "{}", stored.job.name);
    }
}

/// Whatever else is settled with it: another attempt of the job that failed, the same one once more, one of a job that is
/// another by now, one of a job that is gone.
pub async fn what_went_well_counts_beside_what_did_not(backend: &dyn Backend) {
    let mut world = World::new(backend).await;
    for name in ["both", "gone", "plain", "replaced"] {
        world.put(name, world.minutely()).await;
    }
    let first = world.claim(0).await;
    world.pass(60);
    let second = world.claim(0).await;
    let begun: Vec<_> = first.iter().chain(&second).collect();
    assert_eq!(begun.len(), 8);
    assert!(begun.iter().all(|claim| claim.ticket.begin()));
    world.put("replaced", world.minutely_in(600)).await;
    world.store().delete_job(&path(), "gone", None, world.now).await.unwrap();

    let mut attempts = Vec::new();
    for claim in &begun {
        let fails = claim.job.name == "both" && claim.execution.occurrence.number == 2;
        attempts.push(world.attempted(claim, !fails));
        attempts.push(world.attempted(claim, !fails));
    }
    let told = world.store().settle(attempts).await.unwrap();
    for (pair, claim) in told.chunks(2).zip(&begun) {
        let fails = claim.job.name == "both" && claim.execution.occurrence.number == 2;
        let expected = match claim.job.name.as_str() {
            _ if fails => Settlement::Again,
            _ if claim.execution.occurrence.number == 1 => Settlement::Done(Fate::RanLate),
            _ => Settlement::Done(Fate::Ran),
        };
        assert_eq!(pair, [expected, Settlement::Nothing], "{} {:?}", claim.job.name, claim.execution);
    }
    let counters = async |name: &str| world.job(name).await.job.counters;
    for (name, executions, failures) in [("both", 2, 1), ("plain", 2, 0), ("replaced", 0, 0)] {
        let counted = counters(name).await;
        assert_eq!((counted.executions, counted.failures), (executions, failures), "{name}");
        let page = crate::Page { skip: 0, top: 10 };
        let history = world.store().history(&path(), name, &Default::default(), page).await.unwrap().unwrap();
        assert_eq!(history.len(), 2, "{name}");
    }
    assert_eq!(counters("replaced").await.last_execution, None, "another job ran");
}

/// What every attempt led to, in the order of the attempts; and what became of occurrences is counted.
pub async fn a_settlement_tells_what_it_wrote(backend: &dyn Backend) {
    let world = World::new(backend).await;
    let counted = |world: &World<'_>| Fate::ALL.map(|fate| world.store().numbers().of(fate));
    let before = counted(&world);
    for name in ["good", "bad", "hopeless", "gone"] {
        let mut definition = world.minutely();
        if name == "hopeless" {
            definition.action.retry = Some(model::action::RetryPolicy::None);
        }
        world.put(name, definition).await;
    }
    let mut claims = world.claim(0).await;
    claims.sort_by_key(|claim| claim.job.name.clone());
    assert!(claims.iter().all(|claim| claim.ticket.begin()));
    world.store().delete_job(&path(), "gone", None, world.now).await.unwrap();
    let attempts: Vec<_> =
        claims.iter().map(|claim| world.attempted(claim, claim.job.name == "good")).collect();
    let told = world.store().settle(attempts.clone()).await.unwrap();
    // bad, gone, good, hopeless
    let expected = [
        Settlement::Again,
        Settlement::Done(Fate::Faulted),
        Settlement::Done(Fate::Ran),
        Settlement::Done(Fate::Faulted),
    ];
    assert_eq!(told, expected);
    let again = world.store().settle(attempts).await.unwrap();
    assert_eq!(again, [Settlement::Nothing; 4], "it was told once");
    let grown = |fate: Fate| counted(&world)[fate as usize] - before[fate as usize];
    assert_eq!((grown(Fate::Ran), grown(Fate::RanLate), grown(Fate::Missed)), (1, 0, 0));
    let numbers = world.store().numbers();
    assert!(numbers.commits.read().counts.iter().sum::<u64>() > 0);
    assert_eq!(numbers.failed.get(), 0);
}

/// What was too late for its job is missed: nothing was called, so nothing counts, and a run that waits for it begins.
pub async fn what_was_too_late_is_missed(backend: &dyn Backend) {
    let mut world = World::new(backend).await;
    let none = |definition: Definition| Definition { catch_up: CatchUp::None, ..definition };
    world.put("once", none(world.once_in(0))).await;
    world.put("queue", none(Definition { overlap: Overlap::Queue, ..world.minutely() })).await;
    world.put("gone", none(world.minutely())).await;
    let mut claims = world.claim(0).await;
    assert_eq!(claims.len(), 3);
    claims.sort_by(|one, other| one.job.name.cmp(&other.job.name));
    assert!(claims.iter().all(|claim| claim.ticket.begin()));
    world.pass(60);
    assert!(world.claim(0).await.iter().all(|claim| claim.job.name == "gone"), "it waits for the one before");
    world.store().delete_job(&path(), "gone", None, world.now).await.unwrap();
    let too_late = claims.iter().map(|claim| Attempted { too_late: true, ..world.attempted(claim, false) });
    let told = world.store().settle(too_late.collect()).await.unwrap();
    assert_eq!(told, [Settlement::Done(Fate::Missed); 3]);
    let missed: Vec<_> =
        world.ledger().await.into_iter().filter(|entry| entry.fate == Fate::Missed).collect();
    assert_eq!(missed.len(), 3);
    for entry in missed {
        assert_eq!((entry.reason, entry.started_at), (Some(Reason::TooLate), None));
        assert_eq!((entry.occurrences, entry.ended_at), (1, world.now));
    }
    let once = world.job("once").await.job;
    assert_eq!((once.state, once.counters), (JobState::Completed, model::Counters::default()));
    let page = crate::Page { skip: 0, top: 10 };
    let history = world.store().history(&path(), "once", &Default::default(), page).await.unwrap().unwrap();
    assert!(history.is_empty(), "{history:?}");
    assert_eq!(world.begin_one().await.job.name, "queue", "the next one may go");
}
