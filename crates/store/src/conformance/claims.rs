//! Claims: what is due is handed out once, in time, and again after a crash.

use model::transition;
use model::{CatchUp, Cause, Fate, HistoryStatus, JobState, Overlap, Reason, Uuid};

use super::Backend;
use super::world::{World, path};
use crate::Page;

/// One claim gets it, the next one does not.
pub async fn what_is_due_is_claimed_once(backend: &dyn Backend) {
    let world = World::new(backend).await;
    let stored = world.put("job", world.minutely()).await;
    let claims = world.claim(0).await;
    assert_eq!(claims.len(), 1);
    let claim = &claims[0];
    assert_eq!(claim.execution.job, stored.job.id);
    assert_eq!(claim.execution.occurrence.at, world.now);
    assert_eq!(claim.execution.occurrence.number, 1);
    assert_eq!(claim.execution.cause, Cause::Schedule);
    assert_eq!(claim.execution.wake_at, Some(world.now));
    assert_eq!(claim.job.name, "job");
    assert_eq!(claim.job.collection, path());
    assert_eq!(claim.job.location, "West Europe");
    assert_eq!(claim.job.definition, stored.job.definition);
    assert!(world.claim(0).await.is_empty());
    assert!(claim.ticket.begin());
    assert!(world.claim(0).await.is_empty());
    assert_eq!(world.job("job").await.job.next_number, 2);
}

/// Soon enough, soonest first, and with a word on when to come back.
pub async fn what_is_ahead_is_claimed_in_time(backend: &dyn Backend) {
    let world = World::new(backend).await;
    world.put("late", world.minutely_in(50)).await;
    world.put("soon", world.minutely_in(20)).await;
    let nothing = world.claimed(10, 100).await;
    assert!(nothing.claims.is_empty() && !nothing.more);
    assert_eq!(nothing.next_at, Some(world.after(20)));

    let both = world.claimed(80, 100).await;
    let at: Vec<_> =
        both.claims.iter().map(|claim| (claim.job.name.as_str(), claim.execution.wake_at)).collect();
    let wake = |seconds| Some(world.after(seconds));
    assert_eq!(at, [("soon", wake(20)), ("late", wake(50)), ("soon", wake(80))]);
    assert!(!both.more);
    assert_eq!(both.next_at, Some(world.after(110)));
}

/// At most so many; none is forgotten.
pub async fn claims_are_limited_and_say_that_there_is_more(backend: &dyn Backend) {
    let world = World::new(backend).await;
    for i in 0..5 {
        world.put(&format!("job{i}"), world.once_in(0)).await;
    }
    let mut seen = Vec::new();
    for (expected, more) in [(2, true), (2, true), (1, false), (0, false)] {
        let claimed = world.claimed(0, 2).await;
        assert_eq!((claimed.claims.len(), claimed.more), (expected, more));
        seen.extend(claimed.claims.into_iter().map(|claim| claim.execution.tag));
    }
    seen.sort();
    seen.dedup();
    assert_eq!(seen.len(), 5);
}

/// A claim ahead of time shows only when it is begun.
pub async fn what_is_not_begun_is_still_to_come(backend: &dyn Backend) {
    let mut world = World::new(backend).await;
    let before = world.put("job", world.minutely_in(10)).await;
    let claims = world.claim(80).await;
    assert_eq!(claims.len(), 2);
    let during = world.job("job").await;
    assert_eq!((during.job.next_number, during.job.next_at), (1, before.job.next_at));
    assert_eq!(during.revision, before.revision);
    world.pass(10);
    assert!(claims[0].ticket.begin());
    let begun = world.job("job").await;
    assert_eq!((begun.job.next_number, begun.job.next_at), (2, Some(world.after(60))));
    let listed = world.store().all_jobs(&path()).await.unwrap();
    assert_eq!(listed[0].job.next_at, begun.job.next_at);
    world.settle(&claims[0], true).await;
    assert_eq!(world.job("job").await.job.next_number, 2);
}

/// What was not begun comes back; what was does not.
pub async fn what_is_released_is_handed_out_again(backend: &dyn Backend) {
    let world = World::new(backend).await;
    world.put("a", world.once_in(0)).await;
    world.put("b", world.once_in(0)).await;
    let claims = world.claim(0).await;
    assert!(claims[0].ticket.begin());
    world.store().release(claims.iter().map(|claim| claim.id).collect()).await.unwrap();
    assert!(!claims[1].ticket.begin(), "whoever gave it back cannot use it");
    let again = world.claim(0).await;
    assert_eq!(again.len(), 1);
    assert_eq!(again[0].execution.tag, claims[1].execution.tag);
    assert!(again[0].ticket.begin());
}

/// A caller that goes away takes nothing along.
pub async fn a_claim_that_nobody_heard_is_handed_out_again(backend: &dyn Backend) {
    let world = World::new(backend).await;
    world.put("job", world.once_in(0)).await;
    let store = world.store();
    // A store that is faster than whoever goes away is given back what it has claimed, and asked once more.
    loop {
        let claimed = tokio::select! {
            biased;
            claimed = store.claim_due(world.now, world.now, 10) => claimed.unwrap(),
            () = std::future::ready(()) => break,
        };
        store.release(claimed.claims.iter().map(|claim| claim.id).collect()).await.unwrap();
    }
    loop {
        let mut bell = store.bell().listen();
        let claims = world.claim(0).await;
        if claims.len() == 1 {
            assert!(claims[0].ticket.begin());
            break;
        }
        bell.changed().await.unwrap();
    }
}

/// Whether or not it was begun: nobody is left who would know.
pub async fn a_restart_hands_out_again_with_the_same_tag(backend: &dyn Backend) {
    let mut world = World::new(backend).await;
    world.put("begun", world.minutely()).await;
    world.put("ahead", world.once_in(30)).await;
    let claims = world.claim(30).await;
    assert_eq!(claims.len(), 2);
    assert!(claims[0].ticket.begin());
    let id = claims[0].id;
    drop(claims.clone());
    world.pass(5);
    world.restart().await;
    assert_eq!(world.job("ahead").await.job.next_number, 1);
    let again = world.claim(30).await;
    let tags = |claims: &[crate::Claim]| claims.iter().map(|claim| claim.execution.tag).collect::<Vec<_>>();
    assert_eq!(tags(&again), tags(&claims));
    assert_eq!(again[0].id, id);
    assert!(again.iter().all(|claim| claim.ticket.begin()));
    world.settle(&again[0], true).await;
    assert_eq!(world.ledger().await.len(), 1);

    // A retry survives too, with what it knows.
    world.settle(&again[1], false).await;
    world.restart().await;
    world.pass(15);
    let retry = world.claim(0).await;
    assert_eq!(retry[0].execution.tag, claims[1].execution.tag);
    assert_eq!(retry[0].execution.attempt, 1);
}

/// For what is written, asked for, to be repeated or given back.
pub async fn the_bell_rings_for_what_is_new(backend: &dyn Backend) {
    let world = World::new(backend).await;
    let mut bell = world.store().bell().listen();
    let mut rung = move || {
        let rung = bell.has_changed().unwrap();
        bell.mark_unchanged();
        rung
    };
    // It may ring once more than it has to, for a node that has just found its feet; a claim that rang would ring always.
    for name in ["one", "another"] {
        world.put(name, world.once_in(0)).await;
        assert!(rung(), "a new job");
        world.run_one(true).await;
        if !rung() {
            break;
        }
        assert_eq!(name, "one", "a claim is nothing new");
    }
    let stored = world.put("job", world.once_in(0)).await;
    assert!(rung(), "a new job");
    let claim = world.begin_one().await;
    world.settle(&claim, false).await;
    assert!(rung(), "a retry");
    world
        .store()
        .add_execution(transition::run_now(&stored.job, Uuid::from_u128(9), world.now))
        .await
        .unwrap();
    assert!(rung(), "a run");
    let claims = world.claim(0).await;
    world.store().release(vec![claims[0].id]).await.unwrap();
    assert!(rung(), "a release");
    world.switch_collection(false).await;
    rung();
    world.switch_collection(true).await;
    assert!(rung(), "a collection that is enabled again");
}

/// Skipped, with the reason, when the run before is still going.
pub async fn runs_that_do_not_overlap_are_skipped(backend: &dyn Backend) {
    let mut world = World::new(backend).await;
    let mut definition = world.minutely();
    definition.overlap = Overlap::Skip;
    world.put("job", definition).await;
    let claim = world.begin_one().await;
    let ahead = world.claimed(60, 10).await;
    assert!(ahead.claims.is_empty() && !ahead.more, "nobody knows yet what will be running by then");
    assert_eq!(ahead.next_at, Some(world.after(60)));
    world.pass(60);
    assert!(world.claim(0).await.is_empty());
    let ledger = world.ledger().await;
    assert_eq!(ledger.len(), 1);
    assert_eq!((ledger[0].fate, ledger[0].reason), (Fate::Skipped, Some(Reason::StillRunning)));
    assert_eq!(ledger[0].due_at, world.now);
    world.settle(&claim, true).await;
    world.pass(60);
    world.run_one(true).await;
    assert_eq!(world.ledger().await.len(), 3);
}

/// One after the other, in order, and seen to wait.
pub async fn runs_that_wait_follow_each_other(backend: &dyn Backend) {
    let mut world = World::new(backend).await;
    let mut definition = world.minutely_times(3);
    definition.overlap = Overlap::Queue;
    world.put("job", definition).await;
    let first = world.begin_one().await;
    world.pass(60);
    assert!(world.claim(0).await.is_empty());
    world.pass(60);
    let claimed = world.claimed(0, 10).await;
    assert!(claimed.claims.is_empty() && !claimed.more);
    let page = Page { skip: 0, top: 10 };
    let history = world.store().history(&path(), "job", &Default::default(), page).await.unwrap().unwrap();
    assert!(history.iter().all(|stored| stored.entry.status == HistoryStatus::Postponed));
    assert_eq!(history.len(), 2);

    world.settle(&first, false).await;
    world.pass(15);
    let retry = world.begin_one().await;
    assert_eq!(retry.execution.tag, first.execution.tag, "a retry is not overtaken");
    world.settle(&retry, true).await;
    let second = world.begin_one().await;
    assert_eq!(second.execution.occurrence.number, 2);
    world.settle(&second, true).await;
    let third = world.run_one(true).await;
    assert_eq!(third.execution.occurrence.number, 3);
    assert_eq!(world.job("job").await.job.state, JobState::Completed);
    assert_eq!(world.ledger().await.len(), 3);
}

/// `last`, `none` and `all`: what runs, what does not, and that each is in the ledger.
pub async fn an_outage_is_made_up_by_the_policy(backend: &dyn Backend) {
    for (catch_up, runs, reason) in [
        (CatchUp::Last, 1, Reason::Superseded),
        (CatchUp::None, 0, Reason::TooLate),
        (CatchUp::All { max: 2 }, 2, Reason::Superseded),
    ] {
        let mut world = World::new(backend).await;
        let name = format!("{catch_up:?}").replace(|c: char| !c.is_alphanumeric(), "");
        let definition = model::Definition { catch_up, ..world.minutely() };
        world.put(&name, definition).await;
        world.pass(5 * 60 + 30);
        world.restart().await;
        let claims = world.claim(10).await;
        assert_eq!(claims.len(), runs, "{catch_up:?}");
        for (i, claim) in claims.iter().enumerate() {
            assert_eq!(claim.execution.cause, Cause::CatchUp);
            let paced = if runs > 1 { Some(world.after(i as i64)) } else { claim.execution.wake_at };
            assert_eq!(claim.execution.wake_at, paced);
            assert!(claim.ticket.begin());
            world.settle(claim, true).await;
        }
        let ledger = world.ledger().await;
        let missed: Vec<_> = ledger.iter().filter(|entry| entry.fate == Fate::Missed).collect();
        assert_eq!(missed.len(), 1);
        assert_eq!(missed[0].reason, Some(reason));
        assert_eq!(missed[0].occurrences, 6 - runs as u64);
        assert_eq!(ledger.iter().filter(|entry| entry.fate == Fate::RanLate).count(), runs);
        world.store().delete_collection(&path(), None, world.now).await.unwrap();
        let retention = crate::Retention { now: world.now, before: world.after(1), history_per_job: 1000 };
        while world.store().prune(retention).await.unwrap() {}
    }
}

/// A run on demand, beside the schedule.
pub async fn what_somebody_asked_for_is_claimed(backend: &dyn Backend) {
    let world = World::new(backend).await;
    let stored = world.put("job", world.minutely_in(30)).await;
    let tag = Uuid::from_u128(42);
    world.store().add_execution(transition::run_now(&stored.job, tag, world.now)).await.unwrap();
    let claim = world.begin_one().await;
    assert_eq!((claim.execution.tag, claim.execution.cause), (tag, Cause::Run));
    let during = world.job("job").await;
    assert_eq!((during.job.next_number, during.job.next_at), (1, stored.job.next_at));

    world.store().delete_job(&path(), "job", None, world.now).await.unwrap();
    let late = transition::run_now(&stored.job, Uuid::from_u128(43), world.now);
    world.store().add_execution(late).await.unwrap();
    assert!(world.claim(0).await.is_empty(), "the job is gone");
    let ledger = world.ledger().await;
    assert_eq!(ledger.len(), 1, "and the ledger knows that it did not run");
    assert_eq!((ledger[0].fate, ledger[0].reason), (Fate::Skipped, Some(Reason::JobDeleted)));
    world.settle(&claim, true).await;
    let ledger = world.ledger().await;
    assert!(ledger.iter().any(|entry| entry.tag == Some(tag) && entry.fate == Fate::Ran), "{ledger:?}");
}
