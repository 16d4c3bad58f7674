//! Nodes of two versions on one database: the newer one changes the schema under the older one, and both go on.

mod pair;
mod postgres;

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use async_trait::async_trait;
use model::{CatchUp, Fate, JobState, Overlap, Timestamp};
use pair::Pair;
use postgres::{Postgres, Stopped};
use proptest::prelude::*;
use store::conformance::accounting::{self, Step};
use store::conformance::{Backend, World, keyring, path};
use store::{Error, Keyring, Retention, Store, Written};

/// The schema of this version, and the oldest one whose programs can live with it.
const NEWEST: i64 = 9;
const BEFORE: Option<u32> = Some(8);

/// The schema before due times had a table of their own. No program of this version can use it.
const WITHOUT_DUE: u32 = 3;

macro_rules! with {
    ($backend:ident) => {
        let Some($backend) = Postgres::fresh().await else { return };
    };
}

#[tokio::test]
async fn an_older_node_goes_on_while_a_newer_one_starts() {
    with!(backend);
    let now: Timestamp = "2027-01-01T00:00:00Z".parse().expect("a time");
    let clock = Arc::new(Stopped(now));
    let old = backend.node_held_at(BEFORE, "old", keyring(), clock.clone()).await.expect("the store opens");
    assert_eq!(backend.query("SELECT version FROM punctual_schema").await, NEWEST - 1);
    let world = World::new(&backend).await;
    assert_eq!(
        backend.query("SELECT version FROM punctual_schema").await,
        NEWEST,
        "the world's own node is new"
    );
    for n in 0..20 {
        world.put(&format!("job{n}"), world.once_in(0)).await;
    }
    // Whoever claims, the other one's claims and changes are respected.
    let mut settled = 0;
    while settled < 20 {
        for store in [&*old as &dyn Store, &**world.store()] {
            let claimed = store.claim_due(world.after(1), world.after(1), 3).await.expect("claimed");
            let begun: Vec<_> = claimed.claims.iter().filter(|claim| claim.ticket.begin()).collect();
            settled += begun.len();
            let attempts = begun.iter().map(|claim| world.attempted(claim, true)).collect();
            store.settle(attempts).await.expect("settled");
        }
    }
    let ledger = world.ledger().await;
    assert_eq!(ledger.len(), 20);
    assert!(ledger.iter().all(|entry| entry.fate == Fate::Ran || entry.fate == Fate::RanLate), "{ledger:?}");
    let told = world.store().nodes().await.expect("nodes");
    assert_eq!(told.iter().filter(|node| node.name == "old").count(), 1, "{told:?}");
    // An older one still starts on what a newer one has made.
    let again = backend.node_held_at(BEFORE, "older", keyring(), clock).await.expect("the store opens");
    again.check().await.expect("it works");
}

/// What the version before kept of due times is found in the new table.
#[tokio::test]
async fn due_times_are_carried_over() {
    with!(backend);
    let world = World::new(&backend).await;
    world.put("soon", world.once_in(60)).await;
    world.put("later", world.minutely()).await;
    world.put("off", world.minutely()).await;
    let stored = world.store().job(&path(), "off").await.expect("an answer").expect("there");
    let write = world.patched(&stored, JobState::Disabled, |_| ());
    assert!(matches!(world.store().put_job(write).await, Ok(Written::Done(_))));
    // As it was before the step, with a node of that version that still runs.
    let before = format!(
        "DROP TABLE due; DROP TABLE clock_marks; ALTER TABLE audit_chains DROP COLUMN unmarked_serial;
         DROP INDEX jobs_living; CREATE INDEX jobs_due ON jobs (ahead, due_at) WHERE due_at IS NOT NULL;
         ALTER TABLE executions RESET (autovacuum_vacuum_scale_factor, autovacuum_vacuum_threshold);
         UPDATE punctual_schema SET version = {WITHOUT_DUE}, oldest = 1;
         UPDATE nodes SET schema = {WITHOUT_DUE}, lease_until = clock_timestamp() + interval '1 hour'"
    );
    backend.execute(&before).await;
    let clock = Arc::new(Stopped(world.now));
    let refused = backend.node_with("new", keyring(), clock.clone()).await.err();
    assert!(matches!(&refused, Some(Error::Failed(why)) if why.contains("stop them")), "{refused:?}");
    backend.execute("DELETE FROM nodes").await;
    let node = backend.node("new", clock).await;
    assert_eq!(backend.query("SELECT count(*) FROM due").await, 2);
    let claimed = node.claim_due(world.after(61), world.after(61), 10).await.expect("claimed");
    let mut names: Vec<&str> = claimed.claims.iter().map(|claim| claim.job.name.as_str()).collect();
    names.dedup();
    assert_eq!(names, ["later", "soon"], "{claimed:?}");
}

/// A node that knew no table of due times, and slept while it was made, may have written jobs since.
#[tokio::test]
async fn due_times_that_an_old_node_wrote_are_found() {
    with!(backend);
    let mut world = World::new(&backend).await;
    for name in ["moved", "new", "other"] {
        world.put(name, world.once_in(60)).await;
    }
    let sooner =
        "UPDATE jobs SET next_at = next_at - 300000000, due_at = due_at - 300000000 WHERE name = 'moved';
                  DELETE FROM due WHERE job_id = (SELECT id FROM jobs WHERE name = 'new')";
    backend.execute(sooner).await;
    // A node looks at all jobs once after its start.
    world.restart().await;
    let retention = Retention { now: Timestamp::MIN, before: Timestamp::MIN, history_per_job: 100 };
    world.store().prune(retention).await.expect("pruned");
    let mut names: Vec<String> = world.claim(60).await.iter().map(|claim| claim.job.name.clone()).collect();
    names.sort();
    assert_eq!(names, ["moved", "new", "other"]);
    assert_eq!(backend.query("SELECT count(*) FROM due").await, 0, "nothing is left of what it was before");
}

/// A migration that changes a type makes every statement that a node has prepared useless: it prepares them anew.
#[tokio::test]
async fn statements_that_were_prepared_before_a_migration_are_prepared_anew() {
    with!(backend);
    let world = World::new(&backend).await;
    let node = backend.node("a", Arc::new(Stopped(world.now))).await;
    world.put("job", world.minutely()).await;
    let at = path();
    // All connections of the pool have them.
    for _ in 0..3 {
        let (one, two, three, four) = tokio::join!(
            node.job(&at, "job"),
            node.job(&at, "job"),
            node.job(&at, "job"),
            node.job(&at, "job"),
        );
        for answer in [one, two, three, four] {
            assert!(answer.expect("an answer").is_some());
        }
    }
    backend.execute("ALTER TABLE jobs ALTER COLUMN name TYPE varchar; ALTER TABLE collections ALTER COLUMN document TYPE varchar").await;
    for _ in 0..6 {
        let (one, two) = tokio::join!(node.job(&at, "job"), node.collection(&at));
        assert!(one.expect("an answer").is_some() && two.expect("an answer").is_some());
        change(&world, &*node).await;
    }
}

/// A change through a node.
async fn change(world: &World<'_>, store: &dyn Store) {
    let stored = store.job(&path(), "job").await.expect("an answer").expect("there");
    let write = world.patched(&stored, JobState::Enabled, |_| ());
    let written = store.put_job(write).await.expect("an answer");
    assert!(matches!(written, Written::Done(_)), "{written:?}");
}

#[tokio::test]
async fn who_knows_too_little_stays_out() {
    with!(backend);
    let now: Timestamp = "2027-01-01T00:00:00Z".parse().expect("a time");
    let clock = Arc::new(Stopped(now));
    let old = backend.node_held_at(BEFORE, "old", keyring(), clock.clone()).await.expect("the store opens");
    drop(backend.node("new", clock.clone()).await);
    // A version to come that has taken something away.
    let to_come = NEWEST + 1;
    backend.execute(&format!("UPDATE punctual_schema SET version = {to_come}, oldest = {NEWEST}")).await;
    let refused = backend.node_held_at(BEFORE, "older", keyring(), clock.clone()).await.err();
    assert!(
        matches!(&refused, Some(Error::Failed(why))
            if why.contains(&format!("knows schema {NEWEST}")) && why.contains(&format!("up to {}", NEWEST - 1))),
        "{refused:?}"
    );
    drop(backend.node("newer", clock.clone()).await);
    // A node that was away does not come back either.
    backend.execute("DELETE FROM nodes WHERE name = 'old'").await;
    while old.check().await.is_ok() {
        tokio::task::yield_now().await;
    }
    assert_eq!(backend.query("SELECT count(*) FROM nodes WHERE name = 'old'").await, 0);
    backend.execute(&format!("UPDATE punctual_schema SET oldest = {to_come}")).await;
    let refused = backend.node_with("newest", keyring(), clock).await.err();
    let knows = format!("up to {NEWEST}");
    assert!(matches!(&refused, Some(Error::Failed(why)) if why.contains(&knows)), "{refused:?}");
}

/// An older node claims, a newer one changes; they start together, so that the migration comes in between.
struct Mixed(Postgres, AtomicU32);

#[async_trait]
impl Backend for Mixed {
    async fn open_with(&self, keyring: Keyring, now: Timestamp) -> store::Result<Arc<dyn Store>> {
        let clock = Arc::new(Stopped(now));
        // Now the one is the older, now the other.
        let turn = self.1.fetch_add(1, Ordering::Relaxed).is_multiple_of(2);
        let (of_engine, of_api) = if turn { (BEFORE, None) } else { (None, BEFORE) };
        let engine = self.0.node_held_at(of_engine, "engine", keyring.clone(), clock.clone()).await?;
        let api = self.0.node_held_at(of_api, "api", keyring, clock).await?;
        Ok(Arc::new(Pair { engine, api }))
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(8))]

    #[test]
    fn every_instant_is_accounted_for_by_two_versions(
        overlap in prop_oneof![Just(Overlap::Allow), Just(Overlap::Skip), Just(Overlap::Queue)],
        steps in prop::collection::vec(any::<[u8; 3]>().prop_map(Step::from_bytes), 0..40),
    ) {
        let runtime =
            tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().expect("a runtime");
        runtime.block_on(async {
            let Some(backend) = Postgres::fresh().await else { return };
            let mixed = Mixed(backend, AtomicU32::new(0));
            accounting::holds(&mixed, overlap, CatchUp::Last, &steps).await;
        });
    }
}
