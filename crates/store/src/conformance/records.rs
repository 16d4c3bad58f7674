//! History and ledger: asked, paged, and not kept for ever.

use std::time::Duration;

use jiff::SignedDuration;
use model::{CollectionPath, Fate, HistoryStatus, JobState, Plan};

use super::Backend;
use super::world::{World, action, collection, done, named, path};
use crate::{ClockMarks, Expected, HistoryQuery, LedgerQuery, Page, Retention, Span};

const ALL: Page = Page { skip: 0, top: 1000 };

async fn history(world: &World<'_>, job: &str, query: HistoryQuery, page: Page) -> Vec<crate::StoredHistory> {
    world.store().history(&path(), job, &query, page).await.unwrap().unwrap()
}

/// Newest first; by status, kind of action and time.
pub async fn the_history_is_filtered_and_paged(backend: &dyn Backend) {
    let mut world = World::new(backend).await;
    let mut definition = world.minutely();
    definition.action.retry = Some(model::action::RetryPolicy::None);
    definition.action.on_error = Some(Box::new(action("http://example.com/error")));
    world.put("job", definition).await;
    let start = world.now;
    for success in [true, false, true] {
        world.run_one(success).await;
        if !success {
            world.run_one(true).await;
        }
        world.pass(60);
    }
    let all = history(&world, "JOB", HistoryQuery::default(), ALL).await;
    let at = |minutes: i64| start.checked_add(SignedDuration::from_mins(minutes)).unwrap();
    let seen: Vec<_> = all.iter().map(|stored| (stored.entry.started_at, stored.entry.depth)).collect();
    assert_eq!(seen, [(at(2), 0), (at(1), 1), (at(1), 0), (at(0), 0)]);
    assert!(all.windows(2).all(|pair| pair[0].serial > pair[1].serial));
    assert_eq!(all[2].entry.status, HistoryStatus::Failed);
    assert_eq!(all[2].entry.message, "500");
    assert_eq!(all[2].entry.repeat_count, 2);

    let page = history(&world, "job", HistoryQuery::default(), Page { skip: 1, top: 2 }).await;
    assert_eq!(page, all[1..3]);
    let count = |query: HistoryQuery| {
        let world = &world;
        async move { history(world, "job", query, ALL).await.len() }
    };
    let status = |status| HistoryQuery { status: Some(status), ..Default::default() };
    assert_eq!(count(status(HistoryStatus::Failed)).await, 1);
    assert_eq!(count(status(HistoryStatus::Completed)).await, 3);
    assert_eq!(count(status(HistoryStatus::Postponed)).await, 0);
    assert_eq!(count(HistoryQuery { error_action: Some(true), ..Default::default() }).await, 1);
    assert_eq!(count(HistoryQuery { error_action: Some(false), ..Default::default() }).await, 3);
    let from = Span { from: Some(at(1)), to: None };
    let to = Span { from: None, to: Some(at(1)) };
    assert_eq!(count(HistoryQuery { started: from, ..Default::default() }).await, 3);
    assert_eq!(count(HistoryQuery { ended: to, ..Default::default() }).await, 3);
    assert_eq!(count(HistoryQuery { started: from, ended: to, ..Default::default() }).await, 2);
    let absent = world.store().history(&path(), "other", &HistoryQuery::default(), ALL).await.unwrap();
    assert!(absent.is_none());
}

/// By time, fate, subscription, collection and job; deleted ones too.
pub async fn the_ledger_is_filtered(backend: &dyn Backend) {
    let mut world = World::new(backend).await;
    let other = CollectionPath { subscription: "sub-2".into(), ..named("Other") };
    done(world.put_collection(collection(&other, Plan::Standard), Expected::Absent).await);
    world.put("good", world.once_in(0)).await;
    world.run_one(true).await;
    let mut definition = world.once_in(0);
    definition.action.retry = Some(model::action::RetryPolicy::None);
    world.put("Bad", definition).await;
    world.run_one(false).await;
    world.pass(3600);
    world.put("gone", world.minutely()).await;
    world.pass(20);
    world.store().delete_job(&path(), "gone", None, world.now).await.unwrap();

    let found = |query: LedgerQuery| {
        let store = world.store().clone();
        async move {
            let entries = store.ledger(&query, 100).await.unwrap();
            entries.into_iter().map(|stored| stored.job).collect::<Vec<_>>().join(" ")
        }
    };
    let default = LedgerQuery::default;
    assert_eq!(found(default()).await, "gone Bad good");
    assert_eq!(found(LedgerQuery { fates: vec![Fate::Faulted], ..default() }).await, "Bad");
    assert_eq!(
        found(LedgerQuery { fates: vec![Fate::Skipped, Fate::Faulted], ..default() }).await,
        "gone Bad"
    );
    assert_eq!(found(LedgerQuery { fates: vec![Fate::Ran, Fate::Missed], ..default() }).await, "good");
    let early = Span { from: None, to: Some(world.after(-100)) };
    let late = Span { from: Some(world.after(-100)), to: None };
    assert_eq!(found(LedgerQuery { due: early, ..default() }).await, "Bad good");
    assert_eq!(found(LedgerQuery { due: late, ..default() }).await, "gone");
    assert_eq!(found(LedgerQuery { subscription: Some("SUB-1".into()), ..default() }).await, "gone Bad good");
    assert_eq!(found(LedgerQuery { subscription: Some("sub-2".into()), ..default() }).await, "");
    let group = |name: &str| LedgerQuery {
        subscription: Some("sub-1".into()),
        group: Some(name.into()),
        ..default()
    };
    assert_eq!(found(group("GROUP")).await, "gone Bad good");
    assert_eq!(found(group("other")).await, "");
    let here = LedgerQuery { collection: Some(path()), ..default() };
    assert_eq!(found(here.clone()).await, "gone Bad good");
    assert_eq!(found(LedgerQuery { collection: Some(other), ..default() }).await, "");
    assert_eq!(found(LedgerQuery { job: Some("bad".into()), ..here.clone() }).await, "Bad");
    let trouble = vec![Fate::RanLate, Fate::Faulted, Fate::Skipped, Fate::Missed];
    assert_eq!(
        found(LedgerQuery { job: Some("GONE".into()), fates: trouble.clone(), ..here.clone() }).await,
        "gone"
    );
    assert_eq!(found(LedgerQuery { fates: trouble, ..here.clone() }).await, "gone Bad");

    let stored = world.store().ledger(&here, 1).await.unwrap();
    assert_eq!((stored[0].job.as_str(), &stored[0].collection), ("gone", &path()));
    world.store().delete_collection(&path(), None, world.now).await.unwrap();
    assert_eq!(found(here).await, "gone Bad good", "the ledger stays");
}

/// Each entry once, though many are due at the same instant.
pub async fn the_ledger_is_paged(backend: &dyn Backend) {
    let world = World::new(backend).await;
    for i in 0..7 {
        world.put(&format!("job{i}"), world.once_in(0)).await;
    }
    let claims = world.claim(0).await;
    let attempts = claims.iter().map(|claim| world.attempted(claim, true)).collect();
    world.store().settle(attempts).await.unwrap();
    for base in [
        LedgerQuery::default(),
        LedgerQuery { collection: Some(path()), ..Default::default() },
        LedgerQuery { subscription: Some("sub-1".into()), ..Default::default() },
    ] {
        let all = world.store().ledger(&base, 100).await.unwrap();
        assert_eq!(all.len(), 7);
        assert!(all.windows(2).all(|pair| pair[0].serial > pair[1].serial));
        let mut paged = Vec::new();
        let mut query = base;
        loop {
            let page = world.store().ledger(&query, 3).await.unwrap();
            let Some(last) = page.last() else { break };
            query.before = Some((last.entry.due_at, last.serial));
            paged.extend(page);
        }
        assert_eq!(paged, all);
    }
}

async fn prune(world: &World<'_>, before: i64, history_per_job: u32) {
    let retention = Retention { now: world.now, before: world.after(before), history_per_job };
    while world.store().prune(retention).await.unwrap() {}
}

/// Older than asked goes, the rest stays.
pub async fn old_records_are_pruned(backend: &dyn Backend) {
    let mut world = World::new(backend).await;
    world.put("job", world.minutely()).await;
    for _ in 0..4 {
        world.run_one(true).await;
        world.pass(60);
    }
    prune(&world, -120, 1000).await;
    let left = history(&world, "job", HistoryQuery::default(), ALL).await;
    assert_eq!(left.len(), 2);
    assert!(left.iter().all(|stored| stored.entry.ended_at >= world.after(-120)));
    assert_eq!(world.ledger().await.len(), 2);
    prune(&world, -120, 1000).await;
    assert_eq!(world.ledger().await.len(), 2);
}

/// The newest so many of each job stay.
pub async fn history_is_cut_to_its_limit(backend: &dyn Backend) {
    let mut world = World::new(backend).await;
    world.put("busy", world.minutely()).await;
    world.put("calm", world.once_in(0)).await;
    for _ in 0..8 {
        for claim in world.claim(0).await {
            world.settle(&claim, true).await;
        }
        world.pass(60);
    }
    let newest = history(&world, "busy", HistoryQuery::default(), Page { skip: 0, top: 5 }).await;
    prune(&world, -100_000, 5).await;
    assert_eq!(history(&world, "busy", HistoryQuery::default(), ALL).await, newest);
    assert_eq!(history(&world, "calm", HistoryQuery::default(), ALL).await.len(), 1);
    // It goes on while the store is open.
    for claim in world.claim(0).await {
        world.settle(&claim, true).await;
    }
    prune(&world, -100_000, 5).await;
    assert_eq!(history(&world, "busy", HistoryQuery::default(), ALL).await.len(), 5);
    assert_eq!(world.ledger().await.len(), 10, "the ledger is kept by age alone");
}

/// Completed and faulted jobs go after a while; others never do.
pub async fn ended_jobs_are_removed(backend: &dyn Backend) {
    let mut world = World::new(backend).await;
    world.put("ended", world.once_in(0)).await;
    world.run_one(true).await;
    world.put("running", world.minutely_in(3600)).await;
    world.put_as("off", world.once_in(3600), JobState::Disabled).await;
    world.pass(100);
    prune(&world, -200, 1000).await;
    assert!(world.find("ended").await.is_some());
    prune(&world, 0, 1000).await;
    assert!(world.find("ended").await.is_none());
    assert!(world.find("running").await.is_some() && world.find("off").await.is_some());
    assert_eq!(world.store().census().await.unwrap().jobs, 2);
}

/// When the ledger has forgotten them too, nothing is left.
pub async fn deleted_jobs_leave_in_the_end(backend: &dyn Backend) {
    let mut world = World::new(backend).await;
    world.put("job", world.minutely()).await;
    world.run_one(true).await;
    world.store().delete_job(&path(), "job", None, world.now).await.unwrap();
    prune(&world, -100, 1000).await;
    let here = LedgerQuery { collection: Some(path()), job: Some("job".into()), ..Default::default() };
    assert_eq!(world.store().ledger(&here, 10).await.unwrap().len(), 1);
    world.store().delete_collection(&path(), None, world.now).await.unwrap();
    assert_eq!(world.store().ledger(&here, 10).await.unwrap().len(), 1);
    world.pass(10);
    prune(&world, 0, 1000).await;
    assert!(world.store().ledger(&here, 10).await.unwrap().is_empty());
    assert_eq!(world.store().census().await.unwrap(), crate::Census::default());
    world.restart().await;
    done(world.put_collection(collection(&path(), Plan::Free), Expected::Absent).await);
}

/// What was seen of the time is there after a start, as it was kept last.
pub async fn marks_of_the_clock_are_kept(backend: &dyn Backend) {
    let mut world = World::new(backend).await;
    assert_eq!(world.store().clock_marks().await.unwrap(), None);
    for seconds in [10, 5] {
        let marks = ClockMarks {
            believed: world.after(seconds),
            doubted: Duration::from_secs(7),
            latest: world.after(100 * seconds),
        };
        world.store().mark_clock(marks).await.unwrap();
        assert_eq!(world.store().clock_marks().await.unwrap(), Some(marks));
        world.restart().await;
        assert_eq!(world.store().clock_marks().await.unwrap(), Some(marks));
    }
}
