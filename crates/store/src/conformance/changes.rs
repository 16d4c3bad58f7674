//! Changes: what they mean for what is claimed, begun, or waiting.

use model::{Counters, Fate, JobState, Overlap, Reason};

use super::Backend;
use super::world::{World, action, path, uri};
use crate::{Page, Settlement, Written};

const ALL: Page = Page { skip: 0, top: 100 };

const NEW: &str = "http://example.com/new";

/// An edit just before the instant: the old definition is not fired, the occurrence is not lost, the tag is the same.
pub async fn a_change_takes_back_what_is_not_begun(backend: &dyn Backend) {
    let mut world = World::new(backend).await;
    world.put("job", world.minutely_in(10)).await;
    let old = world.claim(80).await;
    assert_eq!(old.len(), 2);
    let changed = world.patch("job", JobState::Enabled, |definition| definition.action = action(NEW)).await;
    assert_eq!((changed.job.next_number, changed.job.next_at), (1, Some(world.after(10))));
    assert!(old.iter().all(|claim| !claim.ticket.begin()));

    let new = world.claim(80).await;
    assert_eq!(new.len(), 2);
    for (old, new) in old.iter().zip(&new) {
        assert_eq!(new.execution.tag, old.execution.tag);
        assert_eq!(uri(&new.job.definition), NEW);
    }

    // What was due when it was claimed stays an execution, and runs what the job says now.
    world.put("due", world.once_in(0)).await;
    let old = world.claim(0).await;
    world.patch("due", JobState::Enabled, |definition| definition.action = action(NEW)).await;
    assert!(!old[0].ticket.begin());
    let new = world.begin_one().await;
    assert_eq!(new.execution.tag, old[0].execution.tag);
    assert_eq!(uri(&new.job.definition), NEW);
    world.settle(&new, true).await;

    // And none of it for nothing.
    world.pass(10);
    world.store().delete_job(&path(), "job", None, world.now).await.unwrap();
    let fates: Vec<_> = world.ledger().await.iter().map(|entry| (entry.fate, entry.number)).collect();
    assert_eq!(fates, [(Fate::Ran, 1), (Fate::Skipped, 1)]);
}

/// What is begun ends with the definition it began with, retries included.
pub async fn a_change_leaves_what_is_begun(backend: &dyn Backend) {
    let mut world = World::new(backend).await;
    let stored = world.put("job", world.minutely()).await;
    let begun = world.begin_one().await;
    let changed = world.patch("job", JobState::Enabled, |definition| definition.action = action(NEW)).await;
    assert_eq!(changed.job.next_number, 2);
    world.settle(&begun, false).await;
    world.pass(15);
    let retry = world.begin_one().await;
    assert_eq!(retry.execution.tag, begun.execution.tag);
    assert_eq!(retry.job.definition, stored.job.definition);
    world.settle(&retry, true).await;
    assert_eq!(world.job("job").await.job.counters.executions, 1);
    world.pass(45);
    assert_eq!(uri(&world.begin_one().await.job.definition), NEW);
}

/// A write that is refused cancels no claim.
pub async fn a_refused_change_takes_nothing_away(backend: &dyn Backend) {
    let world = World::new(backend).await;
    let stored = world.put("job", world.minutely_in(10)).await;
    let mut write = world.patched(&stored, JobState::Disabled, |_| ());
    if let crate::ExpectedJob::Standing { next_number, .. } = &mut write.expected {
        *next_number += 1;
    }
    let claims = world.claim(80).await;
    assert!(matches!(world.store().put_job(write).await.unwrap(), Written::Changed));
    assert!(claims.iter().all(|claim| claim.ticket.begin()));

    // The first is begun, so the job stands elsewhere than the writer thinks.
    let stored = world.put("other", world.minutely_in(10)).await;
    let claims = world.claim(80).await;
    assert_eq!(claims.len(), 2);
    assert!(claims[0].ticket.begin());
    let write = world.patched(&stored, JobState::Disabled, |_| ());
    assert!(matches!(world.store().put_job(write).await.unwrap(), Written::Changed));
    assert!(claims[1].ticket.begin());
}

/// What was due under the old timing and had not begun is in the ledger.
pub async fn a_change_of_the_timing_accounts_for_what_was_due(backend: &dyn Backend) {
    let mut world = World::new(backend).await;
    world.put("job", world.minutely_in(10)).await;
    let claims = world.claim(10).await;
    world.pass(70);
    let next = world.minutely_in(30).timing;
    let changed = world.patch("job", JobState::Enabled, |definition| definition.timing = next.clone()).await;
    assert!(!claims[0].ticket.begin());
    assert_eq!(changed.job.next_at, Some(world.after(30)));
    let ledger = world.ledger().await;
    assert_eq!(ledger.len(), 1);
    let entry = &ledger[0];
    assert_eq!((entry.fate, entry.reason, entry.occurrences), (Fate::Skipped, Some(Reason::JobChanged), 2));
    assert_eq!((entry.due_at, entry.due_until), (world.after(-60), world.now));
}

/// What waits for a retry is given up; what is begun ends, and is not repeated.
pub async fn disabling_stops_retries(backend: &dyn Backend) {
    let mut world = World::new(backend).await;
    world.put("job", world.minutely()).await;
    world.run_one(false).await;
    world.pass(60);
    let claims = world.claim(0).await;
    let begun = claims.iter().find(|claim| claim.execution.attempt == 0).unwrap();
    assert!(begun.ticket.begin());
    world.patch("job", JobState::Disabled, |_| ()).await;
    let retry = claims.iter().find(|claim| claim.execution.attempt == 1).unwrap();
    assert!(!retry.ticket.begin());
    let ledger = world.ledger().await;
    assert_eq!(ledger.len(), 1);
    assert_eq!((ledger[0].fate, ledger[0].reason), (Fate::Faulted, Some(Reason::JobDisabled)));

    world.settle(begun, false).await;
    let ledger = world.ledger().await;
    assert_eq!(ledger.len(), 2);
    assert_eq!((ledger[1].fate, ledger[1].reason), (Fate::Faulted, Some(Reason::JobDisabled)));
    world.pass(600);
    let claimed = world.claimed(600, 10).await;
    assert!(claimed.claims.is_empty());
    assert_eq!(claimed.next_at, None);
    assert_eq!(world.store().census().await.unwrap().executions, 0);
}

/// Disabled with something due, and enabled again: each instant once.
pub async fn disabling_and_enabling_accounts_for_the_pause(backend: &dyn Backend) {
    let mut world = World::new(backend).await;
    world.put("job", world.minutely_in(60)).await;
    world.pass(130);
    let off = world.patch("job", JobState::Disabled, |_| ()).await;
    assert_eq!(off.job.paused_at, Some(world.now));
    assert_eq!(off.job.next_at, None);
    world.pass(60);
    world.patch("job", JobState::Disabled, |definition| definition.action = action(NEW)).await;
    world.pass(60);
    let on = world.patch("job", JobState::Enabled, |_| ()).await;
    assert_eq!(on.job.paused_at, None);
    assert_eq!(on.job.next_at, Some(world.after(50)));
    let ledger = world.ledger().await;
    let due: Vec<_> = ledger.iter().map(|entry| (entry.due_at, entry.occurrences)).collect();
    assert_eq!(due, [(world.after(-190), 2), (world.after(-70), 2)]);
    assert!(ledger.iter().all(|entry| entry.reason == Some(Reason::JobDisabled)));
}

/// Counters, seed and generation are new; what the old one began ends without counting.
pub async fn a_replaced_job_counts_anew(backend: &dyn Backend) {
    let mut world = World::new(backend).await;
    let old = world.put("job", world.minutely()).await;
    world.run_one(true).await;
    world.pass(60);
    let begun = world.begin_one().await;
    let ahead = world.claim(60).await;
    let new = world.put("job", world.minutely_in(30)).await;
    assert_eq!(new.job.id, old.job.id);
    assert_eq!(new.job.counters, model::Counters::default());
    assert_ne!(new.job.seed, old.job.seed);
    assert!(new.job.generation > old.job.generation);
    assert_eq!((new.job.next_number, new.job.next_at), (1, Some(world.after(30))));
    assert!(!ahead[0].ticket.begin());
    world.settle(&begun, false).await;
    let after = world.job("job").await;
    assert_eq!(after.job.counters, model::Counters::default());
    assert!(!after.job.last_faulted);
    world.pass(15);
    world.run_one(true).await;
    assert_eq!(world.job("job").await.job.counters.executions, 0);
    let fates: Vec<_> = world.ledger().await.iter().map(|entry| entry.fate).collect();
    assert_eq!(fates, [Fate::Ran, Fate::Ran]);
    let page = crate::Page { skip: 0, top: 10 };
    let history = world.store().history(&path(), "job", &Default::default(), page).await.unwrap().unwrap();
    assert_eq!(history.len(), 3, "the history stays");

    // Waiting behind each other, and then replaced.
    let queue = |world: &World<'_>| model::Definition { overlap: Overlap::Queue, ..world.minutely() };
    world.put("queue", queue(&world)).await;
    let begun = world.begin_one().await;
    world.pass(60);
    let others = world.claim(0).await;
    assert!(others.iter().all(|claim| claim.job.name == "job"));
    world.put("queue", queue(&world)).await;
    let gone = world.ledger().await;
    assert!(gone.iter().any(|entry| entry.reason == Some(Reason::JobChanged)));
    world.settle(&begun, true).await;
}

/// In flight, waiting, or due and not claimed: all of it is in the ledger, and a call that was under way with its answer.
pub async fn deleting_accounts_for_what_was_in_flight(backend: &dyn Backend) {
    let mut world = World::new(backend).await;
    world.put("job", world.minutely()).await;
    world.run_one(false).await;
    world.pass(60);
    let claims = world.claim(60).await;
    let begun = claims.iter().find(|claim| claim.execution.occurrence.number == 2).unwrap();
    assert!(begun.ticket.begin());
    world.store().delete_job(&path(), "job", None, world.now).await.unwrap();
    assert_eq!(claims.iter().filter(|claim| claim.ticket.begin()).count(), 0);
    world.settle(begun, true).await;
    let entries: Vec<_> =
        world.ledger().await.into_iter().map(|entry| (entry.number, entry.fate, entry.reason)).collect();
    let deleted = Some(Reason::JobDeleted);
    assert_eq!(entries, [(1, Fate::Faulted, deleted), (2, Fate::Ran, None)], "the third was never due");
    assert!(world.claimed(600, 10).await.next_at.is_none());

    world.put("overdue", world.minutely()).await;
    world.pass(150);
    world.store().delete_job(&path(), "overdue", None, world.now).await.unwrap();
    let ledger = world.ledger().await;
    let entry = ledger.last().unwrap();
    assert_eq!((entry.fate, entry.reason, entry.occurrences), (Fate::Skipped, deleted, 3));
}

/// How calls end whose job was deleted while they were under way.
pub async fn what_a_deleted_job_had_begun_ends_as_it_ends(backend: &dyn Backend) {
    let mut world = World::new(backend).await;
    for name in ["went-well", "failed", "died"] {
        world.put(name, world.minutely()).await;
    }
    let claims = world.claim(0).await;
    assert!(claims.len() == 3 && claims.iter().all(|claim| claim.ticket.begin()));
    let of = |name: &str| claims.iter().find(|claim| claim.job.name == name).unwrap();
    for name in ["went-well", "failed", "died"] {
        world.store().delete_job(&path(), name, None, world.now).await.unwrap();
    }
    assert!(world.ledger().await.is_empty(), "nothing is entered that is not known");
    prune(&world).await;
    let census = world.store().census().await.unwrap();
    assert_eq!((census.jobs, census.executions), (0, 3));

    // Others of the same name, which have nothing to do with it.
    let again = world.put("went-well", world.minutely_in(3600)).await;
    world.put("failed", world.minutely_in(3600)).await;
    world.pass(5);
    let told = world
        .store()
        .settle(vec![world.attempted(of("went-well"), true), world.attempted(of("failed"), false)])
        .await
        .unwrap();
    assert_eq!(told, [Settlement::Done(Fate::Ran), Settlement::Done(Fate::Faulted)], "and no retry");
    for name in ["went-well", "failed"] {
        let job = world.job(name).await.job;
        assert_eq!((job.counters, job.last_faulted), (Counters::default(), false));
        let history = world.store().history(&path(), name, &Default::default(), ALL).await.unwrap().unwrap();
        assert!(history.is_empty(), "{history:?}");
    }
    assert_eq!(world.job("went-well").await.revision, again.revision);

    // A call whose process died is not made again.
    world.restart().await;
    assert!(world.claim(0).await.is_empty());
    let deleted = Some(Reason::JobDeleted);
    let mut entries: Vec<_> = world.ledger().await;
    entries.sort_by_key(|entry| claims.iter().position(|claim| Some(claim.execution.tag) == entry.tag));
    let order: Vec<_> = claims.iter().map(|claim| claim.job.name.as_str()).collect();
    for (entry, name) in entries.iter().zip(&order) {
        let expected = if *name == "went-well" { (Fate::Ran, None) } else { (Fate::Faulted, deleted) };
        assert_eq!((entry.fate, entry.reason), expected, "{name}");
        assert!(entry.started_at.is_some(), "{name}");
    }
    assert_eq!(entries.len(), 3);

    // Nothing is left of it in the end.
    world.pass(100);
    prune(&world).await;
    assert!(world.ledger().await.is_empty());
    assert_eq!(world.store().census().await.unwrap().executions, 0);
}

async fn prune(world: &World<'_>) {
    let retention = crate::Retention { now: world.now, before: world.after(1), history_per_job: 1000 };
    while world.store().prune(retention).await.unwrap() {}
}

/// What is claimed is taken back, nothing is due, and the pause is accounted for.
pub async fn a_disabled_collection_runs_nothing(backend: &dyn Backend) {
    let mut world = World::new(backend).await;
    world.put("job", world.minutely_in(10)).await;
    world.put_as("off", world.minutely_in(10), JobState::Disabled).await;
    let claims = world.claim(80).await;
    assert_eq!(claims.len(), 2);
    world.switch_collection(false).await;
    assert!(claims.iter().all(|claim| !claim.ticket.begin()));
    assert_eq!(world.job("job").await.job.next_at, Some(world.after(10)));
    assert_eq!(world.store().census().await.unwrap().executions, 0);
    world.pass(200);
    let claimed = world.claimed(600, 10).await;
    assert!(claimed.claims.is_empty() && claimed.next_at.is_none());
    // A job that is written meanwhile waits too.
    world.put("new", world.minutely()).await;
    assert!(world.claim(0).await.is_empty());
    world.pass(10);

    world.switch_collection(true).await;
    let claims = world.claim(0).await;
    assert!(claims.is_empty());
    assert_eq!(world.job("job").await.job.next_at, Some(world.after(40)));
    let entries: Vec<_> =
        world.ledger().await.into_iter().map(|entry| (entry.occurrences, entry.reason)).collect();
    let off = Some(Reason::CollectionDisabled);
    assert_eq!(entries, [(4, off), (1, off)]);
    assert_eq!(world.job("off").await.job.state, JobState::Disabled);
    assert_eq!(world.claimed(45, 10).await.claims.len(), 1);
}

/// Waiting for a retry, or beginning one: not while the collection is off.
pub async fn a_disabled_collection_stops_retries(backend: &dyn Backend) {
    let world = World::new(backend).await;
    world.put("waits", world.once_in(0)).await;
    world.run_one(false).await;
    world.put("begun", world.once_in(0)).await;
    let begun = world.begin_one().await;
    world.switch_collection(false).await;
    world.settle(&begun, false).await;
    let ledger = world.ledger().await;
    assert_eq!(ledger.len(), 2);
    for entry in ledger {
        assert_eq!((entry.fate, entry.reason), (Fate::Faulted, Some(Reason::CollectionDisabled)));
    }
    assert_eq!(world.store().census().await.unwrap().executions, 0);
}

/// Jobs and history go, the ledger stays.
pub async fn a_deleted_collection_takes_its_jobs_along(backend: &dyn Backend) {
    let mut world = World::new(backend).await;
    world.put("a", world.once_in(0)).await;
    let begun = world.begin_one().await;
    world.put("b", world.minutely()).await;
    world.put("c", world.minutely_in(30)).await;
    let ahead = world.claim(30).await;
    world.pass(5);
    world.store().delete_collection(&path(), None, world.now).await.unwrap();
    assert_eq!(ahead.iter().filter(|claim| claim.ticket.begin()).count(), 0);
    world.settle(&begun, true).await;
    let entries = world.ledger().await;
    let fates: Vec<_> = entries.iter().map(|entry| (entry.fate, entry.reason)).collect();
    assert_eq!(fates.len(), 2, "{entries:?}");
    assert!(fates.contains(&(Fate::Ran, None)) && fates.contains(&(Fate::Skipped, Some(Reason::JobDeleted))));
    assert_eq!(world.store().census().await.unwrap(), crate::Census::default());
    assert!(world.claimed(600, 10).await.next_at.is_none());
}
