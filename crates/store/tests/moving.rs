//! A store on SQLite is moved to PostgreSQL: all of it, from anywhere it stopped, and never to be served twice.

mod postgres;

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use access::audit::Walk;
use access::{Act, Note, Verdict};
use async_trait::async_trait;
use model::action::{Call, HttpAuthentication};
use model::{CatchUp, Definition, JobState, Overlap, Secret, Timestamp};
use postgres::{Postgres, Stopped};
use proptest::prelude::*;
use store::conformance::accounting::{self, Step};
use store::conformance::{self, Backend, World, keyring, path};
use store::{
    AuditQuery, Durability, Error, HistoryQuery, JobQuery, Key, Keyring, LedgerQuery, MoveEnd, MoveFault,
    MoveKeys, MoveSettings, MoveStep, Page, Register as _, Retention, SqliteSettings, SqliteStore, Store,
    plan_move, run_move, undo_move,
};
use tempfile::TempDir;

const ALL: Page = Page { skip: 0, top: 1000 };

/// A file and a schema, both gone with the test.
struct Both {
    folder: TempDir,
    postgres: Postgres,
    /// Whether the next start is on the other side.
    moves: std::sync::atomic::AtomicBool,
}

impl Both {
    async fn fresh() -> Option<Self> {
        let postgres = Postgres::fresh().await?;
        let folder = tempfile::tempdir().expect("a folder");
        Some(Self { folder, postgres, moves: false.into() })
    }

    fn file(&self) -> PathBuf {
        self.folder.path().join("punctual.db")
    }

    fn sqlite(&self, now: Timestamp) -> store::Result<Arc<SqliteStore>> {
        let settings =
            SqliteSettings { durability: Durability::ProcessDeath, ..SqliteSettings::new(keyring()) };
        Ok(Arc::new(SqliteStore::open(self.file(), settings, now)?))
    }

    fn settings(&self) -> MoveSettings {
        let keys = MoveKeys { source: keyring(), destination: keyring() };
        MoveSettings { from: self.file(), to: self.postgres.url(), keys, wait: false }
    }

    async fn moved(&self, now: Timestamp) -> Result<MoveEnd, MoveFault> {
        run_move(&self.settings(), Arc::new(Stopped(now)), &mut |_| ()).await
    }

    /// Runs a move that is killed, as it were, at its so-manieth step; whether it came to its end before.
    async fn moved_until(&self, steps: usize, now: Timestamp) -> bool {
        let (stop, stopped) = tokio::sync::oneshot::channel();
        let (mut stop, mut seen) = (Some(stop), 0);
        let mut watch = |_: MoveStep| {
            seen += 1;
            if seen == steps {
                stop.take().map(|stop| stop.send(()));
            }
        };
        let settings = self.settings();
        tokio::select! {
            biased;
            _ = stopped => false,
            end = run_move(&settings, Arc::new(Stopped(now)), &mut watch) => {
                matches!(end.expect("no fault"), MoveEnd::Moved(_))
            }
        }
    }
}

/// Begins on SQLite; once told so, the next start is on PostgreSQL, with everything moved.
#[async_trait]
impl Backend for Both {
    async fn open_with(&self, keyring: Keyring, now: Timestamp) -> store::Result<Arc<dyn Store>> {
        if !self.moves.load(std::sync::atomic::Ordering::Relaxed) {
            self.moves.store(true, std::sync::atomic::Ordering::Relaxed);
            return Ok(self.sqlite(now)?);
        }
        let mut settings = self.settings();
        settings.keys.destination = keyring.clone();
        match run_move(&settings, Arc::new(Stopped(now)), &mut |_| ()).await {
            Ok(MoveEnd::Moved(_) | MoveEnd::WasMoved) => {}
            other => panic!("{other:?}"),
        }
        Ok(self.postgres.node_with("moved", keyring, Arc::new(Stopped(now))).await?)
    }
}

macro_rules! with {
    ($both:ident) => {
        let Some($both) = Both::fresh().await else { return };
    };
}

fn with_password(mut definition: Definition) -> Definition {
    if let Call::Http { request, .. } = &mut definition.action.call {
        let password = Secret::new("open sesame");
        request.authentication = Some(HttpAuthentication::Basic { username: "clerk".into(), password });
    }
    definition
}

/// A store with something of everything: it runs, fails, waits, queues, is paused, changed under way and deleted.
async fn furnish(world: &mut World<'_>) {
    world.put("minutely", world.minutely()).await;
    world.put("secret", with_password(world.minutely())).await;
    world.put("queued", Definition { overlap: Overlap::Queue, ..world.minutely() }).await;
    world.put("off", world.minutely_in(3600)).await;
    world.put_as("never", world.once_in(60), JobState::Disabled).await;
    world.put("gone", world.minutely()).await;
    for round in 0..8 {
        let claims = world.claim(0).await;
        for (place, claim) in claims.iter().enumerate() {
            if claim.ticket.begin() && (place + round) % 4 != 0 {
                world.settle(claim, (place + round) % 3 != 0).await;
            }
        }
        world.pass(30);
    }
    world.store().delete_job(&path(), "gone", None, world.now).await.expect("deleted");
    // Whatever waits for a retry goes on with the definition that it began with.
    world.patch("secret", JobState::Enabled, |definition| definition.catch_up = CatchUp::None).await;
    world.patch("off", JobState::Disabled, |_| ()).await;
    for target in ["/subscriptions/s", "with the character \0", ""] {
        world.store().note(note(world.now, target)).await.expect("noted");
    }
}

fn note(at: Timestamp, target: &str) -> Note {
    Note {
        at,
        who: "user:ann".into(),
        name: "Ann".into(),
        from: "127.0.0.1".into(),
        act: Act::Read,
        target: target.into(),
        verdict: Verdict::Denied,
        detail: String::new(),
    }
}

/// How many entries of the audit there are, each one where it belongs.
async fn verified(store: &dyn Store) -> i64 {
    let mut count = 0;
    for chain in store.audit_chains().await.expect("chains") {
        let mut walk = Walk::from(chain.number, chain.before);
        for entry in store.audit_of(chain.number, chain.before.serial, 1000).await.expect("entries") {
            walk.step(&entry).expect("the next one");
            count += 1;
        }
        walk.end(chain.last).expect("the end");
    }
    count
}

/// All that a store tells, in words.
async fn everything(store: &dyn Store) -> Vec<String> {
    let mut told = Vec::new();
    for subscription in store.subscriptions(ALL).await.expect("subscriptions") {
        for group in store.groups(&subscription, None, ALL).await.expect("groups") {
            told.push(format!("{group:?}"));
        }
        for stored in store.collections(&subscription, None, ALL).await.expect("collections") {
            told.push(format!("{stored:?}"));
            let collection = stored.collection.path;
            for job in store.jobs(&collection, None, ALL).await.expect("jobs").expect("a collection") {
                told.push(format!("{job:?}"));
                let entries = store.history(&collection, &job.job.name, &HistoryQuery::default(), ALL).await;
                told.extend(
                    entries.expect("history").expect("a job").iter().map(|entry| format!("{entry:?}")),
                );
            }
        }
    }
    for entry in store.ledger(&LedgerQuery::default(), 1000).await.expect("the ledger") {
        told.push(format!("{entry:?}"));
    }
    let (from, until) = (Timestamp::UNIX_EPOCH, "2100-01-01T00:00:00Z".parse().expect("a time"));
    for tallied in store.tallies(from, until, Duration::from_secs(60)).await.expect("tallies") {
        told.push(format!("{tallied:?}"));
    }
    for entry in store.audit(&AuditQuery::default(), 1000).await.expect("the audit") {
        told.push(format!("{entry:?}"));
    }
    told.push(format!("{:?}", store.certificates(100).await.expect("certificates")));
    told.push(format!("{:?}", store.census().await.expect("a census")));
    told.push(format!("{:?}", store.job_states().await.expect("states")));
    told.push(format!("{:?}", store.find_jobs(&JobQuery::default(), ALL).await.expect("jobs")));
    told
}

fn refusal(fault: Result<impl std::fmt::Debug, MoveFault>) -> String {
    match fault {
        Err(MoveFault::Refused(why)) => why,
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn a_store_tells_the_same_after_a_move() {
    with!(both);
    let mut world = World::new(&both).await;
    furnish(&mut world).await;
    // As after a start: what was claimed is free.
    world.close();
    let store = both.sqlite(world.now).expect("opened");
    let before = everything(&*store).await;
    assert!(before.len() > 30, "{}", before.len());
    let waiting = store.census().await.expect("a census").executions;
    assert!(waiting >= 3, "{waiting}");
    drop(store);

    let plan = plan_move(&both.settings()).await.expect("a plan");
    assert!(
        plan.kinds.iter().any(|(kind, rows, copied)| kind == "jobs" && *rows == 6 && *copied == 0),
        "{plan:?}"
    );
    let end = both.moved(world.now).await.expect("moved");
    let MoveEnd::Moved(compared) = end else { panic!("{end:?}") };
    for kind in ["history", "ledger", "jobs", "executions", "tallies", "tallies lateness", "definitions"] {
        let found = compared.iter().find(|compared| compared.kind == kind).expect(kind);
        assert!(found.source.rows > 0, "{found:?}");
    }
    let node = both.postgres.node("a", Arc::new(Stopped(world.now))).await;
    let after = everything(&*node).await;
    similar(&before, &after);
    assert_eq!(verified(&*node).await, 3);
    node.note(note(world.now, "afterwards")).await.expect("noted");
    assert_eq!(verified(&*node).await, 4);

    // It goes on: nothing gets a number that was used, and what waited is claimed with its tag.
    let stored = node.job(&path(), "minutely").await.expect("an answer").expect("there");
    let write = world.patched(&stored, JobState::Enabled, |_| ());
    let store::Written::Done(written) = node.put_job(write).await.expect("written") else { panic!() };
    let revision = written.revision;
    assert!(before.iter().all(|told| !told.contains(&format!("{revision:?}"))), "{revision:?} was used");
    node.prune(Retention { now: world.now, before: world.after(-86_400), history_per_job: 100 })
        .await
        .expect("pruned");
    let claimed = node.claim_due(world.after(120), world.after(120), 100).await.expect("claimed");
    // What a deleted job had under way is entered instead: it is not called again.
    let is_left_behind = |told: &&String| told.contains("Faulted") && told.contains("JobDeleted");
    let left_behind = |told: &[String]| told.iter().filter(is_left_behind).count();
    let entered = left_behind(&everything(&*node).await) - left_behind(&before);
    assert!(entered > 0, "nothing was left behind");
    assert!((claimed.claims.len() + entered) as u64 >= waiting, "{} {entered}", claimed.claims.len());
}

fn similar(before: &[String], after: &[String]) {
    for (one, other) in before.iter().zip(after) {
        assert_eq!(one, other);
    }
    assert_eq!(before.len(), after.len());
}

#[tokio::test]
async fn a_move_that_is_stopped_anywhere_goes_on() {
    with!(both);
    let mut world = World::new(&both).await;
    furnish(&mut world).await;
    world.close();
    let mut steps = 1;
    let mut stops = 0;
    while !both.moved_until(steps, world.now).await {
        stops += 1;
        if stops % 5 == 0 {
            // A server starts again in between: everything that it changes counts.
            let store = both.sqlite(world.now).expect("it was not moved yet");
            let name = format!("late{stops}");
            let definition = world.minutely();
            let standing = model::transition::begin(&definition.rule().expect("a rule"), JobState::Enabled);
            let write = world.write(&name, definition, standing, store::ExpectedJob::Absent, true);
            store.put_job(write).await.expect("written");
            let claimed = store.claim_due(world.now, world.now, 100).await.expect("claimed");
            let attempts = claimed.claims.iter().filter(|claim| claim.ticket.begin());
            let attempts = attempts.map(|claim| world.attempted(claim, true)).collect();
            store.settle(attempts).await.expect("settled");
            // And what it removes is not to come back: history is cut.
            store
                .prune(Retention { now: world.now, before: world.now, history_per_job: 1 })
                .await
                .expect("pruned");
        }
        steps += 1;
        assert!(stops < 200, "it never ends");
    }
    assert!(stops > 20, "it was stopped {stops} times only");
    let file = rusqlite(&both, "SELECT count(*) FROM history");
    assert_eq!(both.postgres.query("SELECT count(*) FROM history").await, file);
    assert_eq!(both.postgres.query("SELECT count(*) FROM jobs WHERE name LIKE 'late%'").await, stops / 5);
    assert_eq!(both.moved(world.now).await.expect("an answer"), MoveEnd::WasMoved);
}

fn rusqlite(both: &Both, sql: &str) -> i64 {
    let db = rusqlite::Connection::open(both.file()).expect("opened");
    db.query_row(sql, [], |row| row.get(0)).expect("a number")
}

#[tokio::test]
async fn beside_a_server_only_what_grows_is_copied() {
    with!(both);
    let mut world = World::new(&both).await;
    furnish(&mut world).await;
    let end = both.moved(world.now).await.expect("copied");
    let MoveEnd::Served(rows) = end else { panic!("{end:?}") };
    assert!(rows > 10, "{rows}");
    assert_eq!(both.postgres.query("SELECT count(*) FROM jobs").await, 0);
    // The server goes on, and so does retention.
    world
        .store()
        .prune(Retention { now: world.now, before: world.now, history_per_job: 2 })
        .await
        .expect("pruned");
    world.put("new", world.minutely()).await;
    for claim in world.claim(0).await {
        assert!(claim.ticket.begin());
        world.settle(&claim, true).await;
    }
    world.close();
    let before = everything(&*both.sqlite(world.now).expect("opened")).await;
    let end = both.moved(world.now).await.expect("moved");
    assert!(matches!(end, MoveEnd::Moved(_)), "{end:?}");
    let node = both.postgres.node("a", Arc::new(Stopped(world.now))).await;
    similar(&before, &everything(&*node).await);
}

#[tokio::test]
async fn neither_side_is_served_before_its_time_or_after() {
    with!(both);
    let world = World::new(&both).await;
    let (now, clock) = (world.now, Arc::new(Stopped(world.now)));
    both.moved(now).await.expect("begun");
    let unfinished = both.postgres.node_with("a", keyring(), clock.clone()).await.err();
    assert!(
        matches!(&unfinished, Some(Error::Moved(why)) if why.contains("not all of it")),
        "{unfinished:?}"
    );
    drop(world);
    drop(both.sqlite(now).expect("the source still serves"));
    assert!(matches!(both.moved(now).await, Ok(MoveEnd::Moved(_))));
    let gone = both.sqlite(now).err();
    assert!(matches!(&gone, Some(Error::Moved(why)) if why.contains("--undo")), "{gone:?}");

    let node = both.postgres.node("a", clock.clone()).await;
    let url = both.postgres.url();
    let busy = undo_move(&both.file(), Some(&url), &Stopped(now)).await;
    assert!(
        matches!(&busy, Err(MoveFault::Store(Error::Unavailable(why))) if why.contains("server a")),
        "{busy:?}"
    );
    node.leave().await.expect("left");
    undo_move(&both.file(), Some(&url), &Stopped(now)).await.expect("undone");
    drop(both.sqlite(now).expect("served again"));
    let undone = both.postgres.node_with("a", keyring(), clock).await.err();
    assert!(matches!(&undone, Some(Error::Moved(why)) if why.contains("undone")), "{undone:?}");
    assert!(refusal(both.moved(now).await).contains("empty database"));
    assert!(refusal(undo_move(&both.file(), None, &Stopped(now)).await).contains("nothing to undo"));
}

#[tokio::test]
async fn a_database_of_others_is_not_touched() {
    with!(both);
    let world = World::new(&both).await;
    let (now, clock) = (world.now, Arc::new(Stopped(world.now)));
    drop(world);
    let node = both.postgres.node("a", clock.clone()).await;
    assert!(refusal(both.moved(now).await).contains("servers use it: a"));
    node.leave().await.expect("left");
    let strangers = World::resume(&both.postgres, now).await;
    drop(strangers);
    with!(other);
    drop(World::new(&other).await);
    // The database belongs to the move of one store; another one stays out.
    let theirs = MoveSettings { to: both.postgres.url(), ..other.settings() };
    both.postgres.execute("DELETE FROM nodes").await;
    assert!(!both.moved_until(3, now).await);
    let told = refusal(run_move(&theirs, clock.clone(), &mut |_| ()).await);
    assert!(told.contains("another store"), "{told}");
    assert!(matches!(both.moved(now).await, Ok(MoveEnd::Moved(_))));
    let told = refusal(run_move(&theirs, clock.clone(), &mut |_| ()).await);
    assert!(told.contains("another store"), "{told}");
    // And what was moved is not moved again to somewhere else.
    let elsewhere = MoveSettings { to: other.postgres.url(), ..both.settings() };
    assert!(refusal(run_move(&elsewhere, clock, &mut |_| ()).await).contains("moved to postgres://"));
    assert_eq!(
        other.postgres.query("SELECT count(*) FROM pg_tables WHERE schemaname = current_schema()").await,
        0
    );
}

#[tokio::test]
async fn a_full_database_is_not_touched() {
    with!(both);
    drop(World::new(&both).await);
    let world = World::new(&both.postgres).await;
    world.store().leave().await.expect("left");
    let told = refusal(both.moved(world.now).await);
    assert!(told.contains("not empty") && told.contains("nothing was touched"), "{told}");
    assert_eq!(both.postgres.query("SELECT count(*) FROM moves").await, 0);
}

#[tokio::test]
async fn other_keys_seal_anew() {
    with!(both);
    let mut world = World::new(&both).await;
    furnish(&mut world).await;
    world.close();
    let before = everything(&*both.sqlite(world.now).expect("opened")).await;
    let new = Keyring::new(Key::generate().expect("a key"), []);
    let keys = MoveKeys { source: keyring(), destination: new.clone() };
    let settings = MoveSettings { keys, ..both.settings() };
    let plan = plan_move(&settings).await.expect("a plan");
    assert_eq!(plan.sealed_anew, [keyring().first().id().clone()]);
    let clock = Arc::new(Stopped(world.now));
    // A wrong key is noticed before anything is done.
    let stranger = Keyring::new(Key::generate().expect("a key"), []);
    let wrong = MoveKeys { source: stranger.clone(), destination: stranger };
    let wrong = MoveSettings { keys: wrong, ..both.settings() };
    let fault = run_move(&wrong, clock.clone(), &mut |_| ()).await;
    assert!(
        matches!(&fault, Err(MoveFault::Store(Error::Keys(why))) if why.contains("sealed with")),
        "{fault:?}"
    );

    let end = run_move(&settings, clock.clone(), &mut |_| ()).await;
    assert!(matches!(end, Ok(MoveEnd::Moved(_))), "{end:?}");
    let node = both.postgres.node_with("a", new.clone(), clock).await.expect("the new key alone will do");
    similar(&before, &everything(&*node).await);
    let uses = node.keys().await.expect("keys");
    assert!(uses.len() == 1 && uses[0].definitions >= 1, "{uses:?}");
}

#[tokio::test]
async fn a_difference_is_found_and_nothing_is_finished() {
    with!(both);
    let mut world = World::new(&both).await;
    furnish(&mut world).await;
    // History is there, with a word that was never written.
    both.moved(world.now).await.expect("copied");
    both.postgres
        .execute("UPDATE history SET message = 'forged' WHERE serial = (SELECT min(serial) FROM history)")
        .await;
    world.close();
    let fault = both.moved(world.now).await;
    let Err(MoveFault::Differs(compared)) = &fault else { panic!("{fault:?}") };
    let differ: Vec<_> =
        compared.iter().filter(|one| one.source != one.destination).map(|one| &one.kind).collect();
    assert_eq!(differ, ["history"]);
    let node = both.postgres.node_with("a", keyring(), Arc::new(Stopped(world.now))).await;
    assert!(matches!(node.err(), Some(Error::Moved(_))));
    drop(both.sqlite(world.now).expect("the source still serves"));
    // A row that is missing is found, too.
    both.postgres.execute("DELETE FROM history WHERE message = 'forged'").await;
    assert!(matches!(both.moved(world.now).await, Err(MoveFault::Differs(_))));
}

/// Behaviours with a restart in the middle, which is a move here.
mod restarts {
    macro_rules! behaviours {
        ($($subject:ident::$behaviour:ident),+ $(,)?) => {
            $(#[tokio::test]
            async fn $behaviour() {
                if let Some(both) = super::Both::fresh().await {
                    super::conformance::$subject::$behaviour(&both).await;
                }
            })+
        };
    }
    behaviours!(
        claims::a_restart_hands_out_again_with_the_same_tag,
        groups::groups_survive_a_restart,
        sealing::what_executions_keep_is_sealed_anew_too,
    );
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(8))]

    /// A move in the middle of anything: every instant is in the ledger once.
    #[test]
    fn every_instant_is_accounted_for_across_a_move(
        overlap in prop_oneof![Just(Overlap::Allow), Just(Overlap::Skip), Just(Overlap::Queue)],
        before in prop::collection::vec(any::<[u8; 3]>().prop_map(Step::from_bytes), 5..30),
        after in prop::collection::vec(any::<[u8; 3]>().prop_map(Step::from_bytes), 0..20),
    ) {
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().expect("a runtime");
        runtime.block_on(async {
            let Some(both) = Both::fresh().await else { return };
            let before = before.into_iter().filter(|step| *step != Step::Restart);
            let steps: Vec<Step> = before.chain([Step::Restart]).chain(after).collect();
            accounting::holds(&both, overlap, CatchUp::All { max: 3 }, &steps).await;
        });
    }
}
