//! Collections and jobs: found, listed, written, deleted.

use std::sync::Arc;

use model::transition;
use model::{CollectionPath, Definition, JobState, Plan};
use tokio::task::JoinSet;

use super::Backend;
use super::world::{ALL, World, collection, done, expected, named, path};
use crate::{CollectionWrite, Deleted, Expected, ExpectedJob, JobRecord, Page, Revision, Written};

fn names(jobs: &[JobRecord]) -> Vec<&str> {
    jobs.iter().map(|record| record.name.as_str()).collect()
}

/// Segments match in any case and keep the case they were created with.
pub async fn collections_are_found_in_any_case(backend: &dyn Backend) {
    let world = World::new(backend).await;
    let other_case =
        CollectionPath { subscription: "SUB-1".into(), group: "gROUP".into(), name: "tEAM".into() };
    let stored = world.store().collection(&other_case).await.unwrap().unwrap();
    assert_eq!(stored.collection.path, path());

    let mut update = collection(&other_case, Plan::Standard);
    update.tags = Some(vec![("b".into(), "1".into()), ("a".into(), "2".into())]);
    let revision = done(world.put_collection(update.clone(), Expected::Revision(stored.revision)).await);
    let stored = world.store().collection(&path()).await.unwrap().unwrap();
    assert_eq!(stored.revision, revision);
    assert_eq!(stored.collection.path, path(), "the case it was created with");
    assert_eq!(stored.collection.tags, update.tags, "in the order given");
    assert_eq!(stored.collection.plan, Plan::Standard);
    assert!(world.store().collection(&named("Other")).await.unwrap().is_none());
}

/// By group and name, in any case; pages are parts of the same order.
pub async fn collections_are_sorted_and_paged(backend: &dyn Backend) {
    let world = World::new(backend).await;
    for (group, name) in [("beta", "x"), ("Alpha", "z"), ("alpha", "Y"), ("GROUP", "aaa")] {
        let place = CollectionPath { subscription: "sub-1".into(), group: group.into(), name: name.into() };
        done(world.put_collection(collection(&place, Plan::Standard), Expected::Absent).await);
    }
    let foreign = CollectionPath { subscription: "sub-2".into(), ..path() };
    done(world.put_collection(collection(&foreign, Plan::Standard), Expected::Absent).await);

    let list = |group: Option<&'static str>, page| {
        let store = world.store().clone();
        async move {
            let found = store.collections("SUB-1", group, page).await.unwrap();
            found.into_iter().map(|stored| stored.collection.path.name).collect::<Vec<_>>()
        }
    };
    assert_eq!(list(None, ALL).await, ["Y", "z", "x", "aaa", "Team"]);
    assert_eq!(list(Some("ALPHA"), ALL).await, ["Y", "z"]);
    assert_eq!(list(None, Page { skip: 1, top: 2 }).await, ["z", "x"]);
    assert!(list(None, Page { skip: 5, top: 2 }).await.is_empty());
}

/// A write that took something else for granted changes nothing.
pub async fn collections_expect_a_revision(backend: &dyn Backend) {
    let world = World::new(backend).await;
    let there = collection(&path(), Plan::Free);
    assert_eq!(world.put_collection(there.clone(), Expected::Absent).await, Written::Changed);
    assert_eq!(world.put_collection(there.clone(), Expected::Revision(Revision(-7))).await, Written::Changed);
    let absent = collection(&named("Other"), Plan::Free);
    assert_eq!(world.put_collection(absent, Expected::Revision(Revision(1))).await, Written::Changed);
    let stored = world.store().collection(&path()).await.unwrap().unwrap();
    assert_eq!(stored.collection.plan, Plan::P20Premium, "nothing changed");

    let old = stored.revision;
    done(world.put_collection(there.clone(), Expected::Revision(old)).await);
    assert_eq!(world.put_collection(there, Expected::Revision(old)).await, Written::Changed);
    let deleted = world.store().delete_collection(&path(), Some(old), world.now).await.unwrap();
    assert_eq!(deleted, Deleted::Changed);
}

/// The limit counts the collections of the plan in the subscription; one that has its place keeps it.
pub async fn collections_of_a_plan_are_limited(backend: &dyn Backend) {
    let world = World::new(backend).await;
    let put = |name: &'static str, plan, expected| CollectionWrite {
        collection: collection(&named(name), plan),
        expected,
        most: Some((plan, 1)),
        now: world.now,
    };
    let store = world.store();
    let revision = done(store.put_collection(put("a", Plan::Free, Expected::Absent)).await.unwrap());
    let second = store.put_collection(put("b", Plan::Free, Expected::Absent)).await.unwrap();
    assert_eq!(second, Written::Full { there: 1, finished: 0 });
    done(store.put_collection(put("a", Plan::Free, Expected::Revision(revision))).await.unwrap());
    let standard = done(store.put_collection(put("b", Plan::Standard, Expected::Absent)).await.unwrap());
    let moved = store.put_collection(put("b", Plan::Free, Expected::Revision(standard))).await.unwrap();
    assert_eq!(moved, Written::Full { there: 1, finished: 0 });
    store.delete_collection(&named("a"), None, world.now).await.unwrap();
    done(store.put_collection(put("b", Plan::Free, Expected::Revision(standard))).await.unwrap());
}

/// Names match in any case and keep the case they were created with.
pub async fn jobs_are_found_in_any_case(backend: &dyn Backend) {
    let world = World::new(backend).await;
    world.put("Nightly", world.minutely()).await;
    let stored = world.job("nIGHTLY").await;
    assert_eq!(stored.job.name, "Nightly");
    assert_eq!(stored.collection, path());
    world.put("NIGHTLY", world.once_in(5)).await;
    let jobs = world.store().jobs(&path(), None, ALL).await.unwrap().unwrap();
    assert_eq!(names(&jobs), ["Nightly"]);
    assert!(world.find("Daily").await.is_none());
}

/// By name in any case; a state picks, pages are parts of the same order.
pub async fn jobs_are_sorted_filtered_and_paged(backend: &dyn Backend) {
    let world = World::new(backend).await;
    for (name, state) in [
        ("b", JobState::Enabled),
        ("C", JobState::Disabled),
        ("a", JobState::Enabled),
        ("D", JobState::Enabled),
    ] {
        world.put_as(name, world.minutely(), state).await;
    }
    let list = |state, page| {
        let store = world.store().clone();
        async move {
            let jobs = store.jobs(&path(), state, page).await.unwrap().unwrap();
            names(&jobs).join(" ")
        }
    };
    assert_eq!(list(None, ALL).await, "a b C D");
    assert_eq!(list(None, Page { skip: 1, top: 2 }).await, "b C");
    assert_eq!(list(Some(JobState::Enabled), ALL).await, "a b D");
    assert_eq!(list(Some(JobState::Enabled), Page { skip: 1, top: 1 }).await, "b");
    assert_eq!(list(Some(JobState::Faulted), ALL).await, "");
    assert_eq!(names(&world.store().jobs(&path(), None, ALL).await.unwrap().unwrap()), ["a", "b", "C", "D"]);
    assert!(world.store().jobs(&named("Other"), None, ALL).await.unwrap().is_none());
}

/// The limit counts the jobs that are there; a job that is there may be written.
pub async fn jobs_of_a_collection_are_limited(backend: &dyn Backend) {
    let world = World::new(backend).await;
    let write = |name: &str, expected| {
        let definition = world.minutely();
        let standing = transition::begin(&definition.rule().unwrap(), JobState::Enabled);
        let mut write = world.write(name, definition, standing, expected, true);
        write.most = Some(2);
        world.store().put_job(write)
    };
    done(write("a", ExpectedJob::Absent).await.unwrap());
    done(write("b", ExpectedJob::Absent).await.unwrap());
    assert!(matches!(
        write("c", ExpectedJob::Absent).await.unwrap(),
        Written::Full { there: 2, finished: 0 }
    ));
    done(write("a", expected(&world.job("a").await)).await.unwrap());
    world.store().delete_job(&path(), "b", None, world.now).await.unwrap();
    done(write("c", ExpectedJob::Absent).await.unwrap());
}

/// Jobs that are completed or faulted make room for others; they are told apart where there is none.
pub async fn finished_jobs_leave_their_place(backend: &dyn Backend) {
    let mut world = World::new(backend).await;
    let write = |world: &World<'_>, name: &str, definition: Definition| {
        let standing = transition::begin(&definition.rule().unwrap(), JobState::Enabled);
        let mut write = world.write(name, definition, standing, ExpectedJob::Absent, true);
        write.most = Some(2);
        let store = Arc::clone(world.store());
        async move { store.put_job(write).await.unwrap() }
    };
    for i in 0..6 {
        let mut definition = world.once_in(0);
        definition.action.retry = Some(model::action::RetryPolicy::None);
        done(write(&world, &format!("once-{i}"), definition).await);
        world.run_one(i % 2 == 0).await;
        world.pass(1);
    }
    assert_eq!(world.job("once-4").await.job.state, JobState::Completed);
    assert_eq!(world.job("once-5").await.job.state, JobState::Faulted);
    done(write(&world, "a", world.once_in(3600)).await);
    done(write(&world, "b", world.once_in(3600)).await);
    world.patch("b", JobState::Disabled, |_| ()).await;
    let full = write(&world, "c", world.once_in(3600)).await;
    assert!(matches!(full, Written::Full { there: 2, finished: 6 }), "{full:?}");
    // One that is off counts: it can be switched on again.
    world.store().delete_job(&path(), "once-0", None, world.now).await.unwrap();
    let full = write(&world, "c", world.once_in(3600)).await;
    assert!(matches!(full, Written::Full { there: 2, finished: 5 }), "{full:?}");
    world.store().delete_job(&path(), "b", None, world.now).await.unwrap();
    done(write(&world, "c", world.once_in(3600)).await);
}

/// However many come at the same time, there are never more than allowed, and each name is there once.
pub async fn jobs_that_come_at_once_are_counted(backend: &dyn Backend) {
    let world = World::new(backend).await;
    let mut writes = JoinSet::new();
    for i in 0..40 {
        let definition = world.once_in(30);
        let standing = transition::begin(&definition.rule().unwrap(), JobState::Enabled);
        // Each name twice, in another case.
        let name = if i % 2 == 0 { format!("job-{}", i / 2) } else { format!("JOB-{}", i / 2) };
        let mut write = world.write(&name, definition, standing, ExpectedJob::Absent, true);
        write.most = Some(15);
        let store = Arc::clone(world.store());
        writes.spawn(async move { (name, store.put_job(write).await.unwrap()) });
    }
    let (mut changed, mut full, mut made) = (0, 0, Vec::new());
    for (name, written) in writes.join_all().await {
        match written {
            Written::Done(written) => made.push((name, written)),
            Written::Changed => changed += 1,
            other => {
                assert!(matches!(other, Written::Full { there: 15, finished: 0 }), "{other:?}");
                full += 1;
            }
        }
    }
    assert_eq!((made.len(), changed + full), (15, 25));
    assert!(changed <= 15, "{changed} of another case for 15 that are there");
    for (name, written) in &made {
        let stored = world.job(name).await;
        assert_eq!(format!("{stored:?}"), format!("{written:?}"), "{name}");
    }
    assert_eq!(world.store().all_jobs(&path()).await.unwrap().len(), 15);
    assert_eq!(world.store().census().await.unwrap().jobs, 15);
    assert_eq!(world.claim(30).await.len(), 15, "each is due once");
}

/// A write that took another revision or another next occurrence for granted changes nothing.
pub async fn jobs_expect_a_standing(backend: &dyn Backend) {
    let mut world = World::new(backend).await;
    let first = world.put("job", world.minutely_in(30)).await;
    let again = world.write(
        "job",
        world.minutely(),
        transition::begin(&first.job.rule, JobState::Enabled),
        ExpectedJob::Absent,
        true,
    );
    assert!(matches!(world.store().put_job(again).await.unwrap(), Written::Changed));

    let write = world.patched(&first, JobState::Disabled, |_| ());
    world.patch("job", JobState::Enabled, |definition| definition.extensions_given = true).await;
    assert!(matches!(world.store().put_job(write).await.unwrap(), Written::Changed), "another revision");

    let stored = world.job("job").await;
    let write = world.patched(&stored, JobState::Disabled, |_| ());
    world.pass(30);
    world.run_one(true).await;
    assert!(
        matches!(world.store().put_job(write).await.unwrap(), Written::Changed),
        "another next occurrence"
    );
    assert_eq!(world.job("job").await.revision, stored.revision, "running is no change");
    assert_eq!(world.job("job").await.job.state, JobState::Enabled);

    let deleted = world.store().delete_job(&path(), "job", Some(first.revision), world.now).await.unwrap();
    assert_eq!(deleted, Deleted::Changed);
    let deleted = world.store().delete_job(&path(), "job", Some(stored.revision), world.now).await.unwrap();
    assert_eq!(deleted, Deleted::Done);
    let deleted = world.store().delete_job(&path(), "job", None, world.now).await.unwrap();
    assert_eq!(deleted, Deleted::Absent);
}

/// Nothing is made implicitly.
pub async fn jobs_need_a_collection(backend: &dyn Backend) {
    let world = World::new(backend).await;
    let definition = world.minutely();
    let standing = transition::begin(&definition.rule().unwrap(), JobState::Enabled);
    let mut write = world.write("job", definition, standing, ExpectedJob::Absent, true);
    write.collection = named("Other");
    assert!(matches!(world.store().put_job(write).await.unwrap(), Written::NoCollection));
    let deleted = world.store().delete_job(&named("Other"), "job", None, world.now).await.unwrap();
    assert_eq!(deleted, Deleted::Absent);
}

/// A name is free as soon as its bearer is gone, and revisions tell the two apart.
pub async fn deleted_names_can_be_used_again(backend: &dyn Backend) {
    let mut world = World::new(backend).await;
    let first = world.put("job", world.minutely()).await;
    world.run_one(true).await;
    assert_eq!(world.store().delete_job(&path(), "JOB", None, world.now).await.unwrap(), Deleted::Done);
    assert!(world.find("job").await.is_none());
    world.pass(1);
    let second = world.put("Job", world.minutely()).await;
    assert_eq!(second.job.name, "Job");
    assert_ne!(second.job.id, first.job.id);
    assert_ne!(second.revision, first.revision);
    assert_eq!(second.job.counters.executions, 0);
    let history = world.store().history(&path(), "job", &Default::default(), ALL).await.unwrap().unwrap();
    assert!(history.is_empty(), "the history went with the first");

    let before = world.store().collection(&path()).await.unwrap().unwrap();
    assert_eq!(world.store().delete_collection(&path(), None, world.now).await.unwrap(), Deleted::Done);
    assert_eq!(world.store().delete_collection(&path(), None, world.now).await.unwrap(), Deleted::Absent);
    assert!(world.find("job").await.is_none());
    let revision = done(world.put_collection(collection(&path(), Plan::Free), Expected::Absent).await);
    assert_ne!(revision, before.revision);
    assert!(world.store().all_jobs(&path()).await.unwrap().is_empty());
}

/// All of a definition survives, secrets included, and so does a restart.
pub async fn definitions_come_back_as_they_were_written(backend: &dyn Backend) {
    use model::action::{Call, HttpAuthentication};
    let mut world = World::new(backend).await;
    let mut definition = world.minutely_in(90);
    definition.catch_up = model::CatchUp::All { max: 7 };
    definition.overlap = model::Overlap::Queue;
    if let Call::Http { request, .. } = &mut definition.action.call {
        request.headers = Some(vec![("X-B".into(), "ü".into()), ("X-A".into(), String::new())]);
        request.authentication = Some(HttpAuthentication::Basic {
            username: "user".into(),
            password: model::Secret::new("pass\u{0}word"),
        });
    }
    world.put("job", definition.clone()).await;
    world.restart().await;
    let stored = world.job("job").await;
    assert_eq!(stored.job.definition, definition);
    assert_eq!(stored.job.next_number, 1);
    assert_eq!(stored.job.next_at, Some(world.after(90)));
}

/// How much is there.
pub async fn a_census_counts(backend: &dyn Backend) {
    let world = World::new(backend).await;
    world.put("a", world.minutely()).await;
    world.put("b", world.minutely_in(60)).await;
    world.put("c", world.minutely_in(60)).await;
    world.store().delete_job(&path(), "c", None, world.now).await.unwrap();
    world.claim(0).await;
    let census = world.store().census().await.unwrap();
    assert_eq!((census.collections, census.jobs, census.executions), (1, 2, 1));
}
