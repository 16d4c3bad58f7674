//! How every minute went.

use std::sync::Arc;
use std::time::Duration;

use jiff::SignedDuration;
use model::{JobState, Tally};

use super::Backend;
use super::world::{World, path};
use crate::{Retention, Tallied};

const MINUTE: Duration = Duration::from_secs(60);

/// The tallies of so many seconds up to now, by so many seconds.
#[allow(clippy::unwrap_used, reason = "a test that cannot go on shall stop")]
async fn tallies(world: &World<'_>, seconds: i64, every: Duration) -> Vec<Tallied> {
    let until = world.after(1);
    world.store().tallies(world.after(-seconds), until, every).await.unwrap()
}

fn numbers(tally: &Tally) -> [u64; 6] {
    let Tally { ran, ran_late, faulted, skipped, missed, failed_attempts, .. } = tally;
    [*ran, *ran_late, *faulted, *skipped, *missed, *failed_attempts]
}

/// Every entry of the ledger and every failed attempt is counted once, in its minute.
#[allow(clippy::unwrap_used, reason = "a test that cannot go on shall stop")]
pub async fn minutes_are_tallied(backend: &dyn Backend) {
    let mut world = World::new(backend).await;
    assert_eq!(tallies(&world, 3600, MINUTE).await, []);
    world.put("good", world.minutely()).await;
    world.put("bad", world.once_in(0)).await;
    let start = world.now;
    for claim in world.claim(0).await {
        assert!(claim.ticket.begin());
        let mut attempted = world.attempted(&claim, claim.job.name == "good");
        let attempt = Arc::make_mut(&mut attempted.attempt);
        attempt.started_at += SignedDuration::from_millis(40);
        attempt.ended_at += SignedDuration::from_millis(90);
        world.store().settle(vec![attempted.clone()]).await.unwrap();
        // What is settled twice counts once.
        world.store().settle(vec![attempted]).await.unwrap();
    }
    let found = tallies(&world, 3600, MINUTE).await;
    assert_eq!(found.len(), 1);
    assert_eq!((found[0].at, numbers(&found[0].tally)), (start, [1, 0, 0, 0, 0, 1]));
    assert_eq!(found[0].tally.lateness.max(), Some(40));

    // Two retries in vain, 15 seconds after each failure; then an hour in which nobody is there.
    for _ in 0..2 {
        world.pass(16);
        world.run_one(false).await;
    }
    world.pass(3600);
    let late = world.begin_one().await;
    world.settle(&late, true).await;
    world.restart().await;
    let found = tallies(&world, 2 * 3600, MINUTE).await;
    assert_eq!(found.len(), 2, "they survive a restart: {found:?}");
    assert_eq!(numbers(&found[0].tally), [1, 0, 1, 0, 0, 3]);
    let missed = found[1].tally.missed;
    assert_eq!(numbers(&found[1].tally), [0, 1, 0, 0, missed, 0]);
    assert!((58..=60).contains(&missed), "{missed}");
    let ledger = world.ledger().await;
    let counted: u64 = found.iter().flat_map(|one| numbers(&one.tally)[..5].to_vec()).sum();
    assert_eq!(
        counted,
        ledger.iter().map(|entry| entry.occurrences).sum::<u64>(),
        "as many as in the ledger"
    );

    world.store().delete_job(&path(), "good", None, world.now).await.unwrap();
    world.put_as("good", world.minutely(), JobState::Disabled).await;
    let ledger: u64 = world.ledger().await.iter().map(|entry| entry.occurrences).sum();
    let found = tallies(&world, 2 * 3600, MINUTE).await;
    let counted: u64 = found.iter().flat_map(|one| numbers(&one.tally)[..5].to_vec()).sum();
    assert_eq!(counted, ledger, "changes enter things too");
}

/// Wider parts are sums, and so are their quantiles.
#[allow(clippy::unwrap_used, reason = "a test that cannot go on shall stop")]
pub async fn tallies_add_up(backend: &dyn Backend) {
    let mut world = World::new(backend).await;
    world.put("j", world.minutely()).await;
    let start = world.now;
    for minute in 0..30 {
        let claim = world.begin_one().await;
        let mut attempted = world.attempted(&claim, true);
        let attempt = Arc::make_mut(&mut attempted.attempt);
        attempt.started_at += SignedDuration::from_millis(minute);
        attempt.ended_at += SignedDuration::from_millis(minute);
        world.store().settle(vec![attempted]).await.unwrap();
        world.pass(60);
    }
    assert_eq!(tallies(&world, 3600, MINUTE).await.len(), 30);
    let quarters = tallies(&world, 3600, MINUTE * 15).await;
    let at: Vec<_> = quarters.iter().map(|quarter| quarter.at).collect();
    assert_eq!(at, [start, start + SignedDuration::from_mins(15)]);
    assert_eq!(quarters.iter().map(|quarter| quarter.tally.ran).collect::<Vec<_>>(), [15, 15]);
    assert_eq!(quarters[0].tally.lateness.quantile(0.5), Some(7));
    assert_eq!(
        quarters.iter().map(|quarter| quarter.tally.lateness.max()).collect::<Vec<_>>(),
        [Some(14), Some(29)]
    );
    assert_eq!(tallies(&world, 600, MINUTE).await.len(), 10, "only what is asked for");
}

/// Old minutes go, new ones stay.
#[allow(clippy::unwrap_used, reason = "a test that cannot go on shall stop")]
pub async fn old_tallies_are_pruned(backend: &dyn Backend) {
    let mut world = World::new(backend).await;
    world.put("old", world.once_in(0)).await;
    world.run_one(true).await;
    world.pass(2 * 86_400);
    world.put("middle", world.once_in(0)).await;
    world.run_one(true).await;
    world.pass(7 * 86_400);
    world.put("new", world.once_in(0)).await;
    world.run_one(true).await;
    assert_eq!(tallies(&world, 10 * 86_400, MINUTE).await.len(), 3);
    let retention = Retention { now: world.now, before: world.after(-60 * 86_400), history_per_job: 100 };
    while world.store().prune(retention).await.unwrap() {}
    let left = tallies(&world, 10 * 86_400, MINUTE).await;
    assert_eq!(left.iter().map(|one| one.at).collect::<Vec<_>>(), [world.after(-7 * 86_400), world.now]);
}
