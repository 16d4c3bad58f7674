//! A PostgreSQL store for simulated time.
//!
//! Paused time jumps ahead as soon as nobody has anything to do, and an answer that is on its way over a socket does not
//! count. So the store lives on a runtime of its own, where time passes as it does, and while it is called the
//! scheduler's time stands still. Leases, heartbeats and the database's clock are the real ones.

use std::sync::{Arc, mpsc};
use std::time::Duration;

use async_trait::async_trait;
use model::{Clock, CollectionPath, Execution, GroupPath, JobState, Timestamp};
use store::conformance::Backend;
use store::{
    Attempted, Bell, Census, Claimed, ClockMarks, CollectionWrite, Deleted, ExecutionId, FoundJobs,
    GroupWrite, HistoryQuery, JobQuery, JobStates, JobWrite, Key, KeyId, KeyUse, Keyring, LedgerQuery, Node,
    Page, Result, Retention, Revision, Settlement, SkippedSoFar, Snapshot, Store, StoreNumbers,
    StoredCertificate, StoredCollection, StoredGroup, StoredHistory, StoredJob, StoredLedger, TagQuery,
    Tallied, Written,
};
use tokio::runtime::{Builder, Handle};
use tokio::sync::oneshot;
use tokio_util::context::TokioContext;

use crate::postgres::Postgres;

/// How far the store's monotonic clock is ahead of the scheduler's: further than any simulated span. A ticket looks at
/// the clock of whoever begins it; a lease that began in the scheduler's future holds for as long as the store says so.
const AHEAD: Duration = Duration::from_secs(2 * 365 * 86_400);

/// A place with a runtime of its own. It ends with this.
struct Place {
    runtime: Handle,
    _open: oneshot::Sender<()>,
}

impl Place {
    fn new() -> Self {
        let (tell, told) = mpsc::channel();
        let (open, closed) = oneshot::channel();
        std::thread::spawn(move || {
            let runtime =
                Builder::new_current_thread().enable_all().start_paused(true).build().expect("a runtime");
            runtime.block_on(async move {
                tokio::time::advance(AHEAD).await;
                tokio::time::resume();
                tell.send(Handle::current()).expect("somebody waits");
                // It ends when the other side is dropped.
                let _ = closed.await;
            });
        });
        Self { runtime: told.recv().expect("a runtime"), _open: open }
    }

    /// Does something over there, during which no time passes here.
    async fn visit<T>(&self, visit: impl Future<Output = T>) -> T {
        let (_here, gone) = mpsc::channel::<()>();
        // Time does not jump while there is work on a thread.
        tokio::task::spawn_blocking(move || gone.recv());
        TokioContext::new(visit, self.runtime.clone()).await
    }
}

/// A fresh schema, and the place from where it is reached.
pub(crate) struct Apart {
    place: Arc<Place>,
    postgres: Postgres,
}

impl Apart {
    /// `None` where there is no server.
    pub(crate) async fn fresh() -> Option<Self> {
        let place = Arc::new(Place::new());
        let postgres = place.visit(Postgres::fresh()).await?;
        Some(Self { place, postgres })
    }
}

#[async_trait]
impl Backend for Apart {
    async fn open_with(&self, keyring: Keyring, now: Timestamp) -> Result<Arc<dyn Store>> {
        let store = self.place.visit(self.postgres.open_with(keyring, now)).await?;
        Ok(Arc::new(StoreApart { place: self.place.clone(), store }))
    }
}

/// A store that is elsewhere.
struct StoreApart {
    place: Arc<Place>,
    store: Arc<dyn Store>,
}

store::register_by!(StoreApart, store);

impl StoreApart {
    /// In somebody's name it is still elsewhere.
    fn like_this(&self, store: Arc<dyn Store>) -> Arc<dyn Store> {
        Arc::new(Self { place: Arc::clone(&self.place), store })
    }

    async fn pass<T>(&self, call: impl Future<Output = T>) -> T {
        self.place.visit(call).await
    }
}

macro_rules! visits {
    ($($name:ident($($value:ident: $type:ty),*) -> $answer:ty;)+) => {
        #[async_trait]
        impl Store for StoreApart {
            fn bell(&self) -> &Bell {
                self.store.bell()
            }

            fn numbers(&self) -> &StoreNumbers {
                self.store.numbers()
            }

            $(async fn $name(&self, $($value: $type),*) -> Result<$answer> {
                self.place.visit(self.store.$name($($value),*)).await
            })+
        }
    };
}

visits! {
    subscriptions(page: Page) -> Vec<String>;
    group(path: &GroupPath) -> Option<StoredGroup>;
    groups(subscription: &str, tag: Option<&TagQuery>, page: Page) -> Vec<StoredGroup>;
    put_group(write: GroupWrite) -> Written;
    delete_group(path: &GroupPath, expected: Option<Revision>, now: Timestamp) -> Deleted;
    collection(path: &CollectionPath) -> Option<StoredCollection>;
    collections(subscription: &str, group: Option<&str>, page: Page) -> Vec<StoredCollection>;
    put_collection(write: CollectionWrite) -> Written;
    delete_collection(path: &CollectionPath, expected: Option<Revision>, now: Timestamp) -> Deleted;
    job(collection: &CollectionPath, name: &str) -> Option<StoredJob>;
    jobs(collection: &CollectionPath, state: Option<JobState>, page: Page) -> Option<Vec<StoredJob>>;
    find_jobs(query: &JobQuery, page: Page) -> FoundJobs;
    soonest_jobs(top: u32) -> Vec<StoredJob>;
    job_states() -> JobStates;
    certificates(top: u32) -> Vec<StoredCertificate>;
    all_jobs(collection: &CollectionPath) -> Vec<StoredJob>;
    put_job(write: JobWrite) -> Written<StoredJob>;
    delete_job(collection: &CollectionPath, name: &str, expected: Option<Revision>, now: Timestamp) -> Deleted;
    add_execution(execution: Execution) -> ();
    history(collection: &CollectionPath, job: &str, query: &HistoryQuery, page: Page) -> Option<Vec<StoredHistory>>;
    ledger(query: &LedgerQuery, top: u32) -> Vec<StoredLedger>;
    skipped_so_far(query: &LedgerQuery, now: Timestamp, most: u32) -> SkippedSoFar;
    tallies(from: Timestamp, until: Timestamp, every: Duration) -> Vec<Tallied>;
    claim_due(now: Timestamp, until: Timestamp, most: u32) -> Claimed;
    settle(attempts: Vec<Attempted>) -> Vec<Settlement>;
    release(executions: Vec<ExecutionId>) -> ();
    prune(retention: Retention) -> bool;
    clock_marks() -> Option<ClockMarks>;
    mark_clock(marks: ClockMarks) -> ();
    check() -> ();
    census() -> Census;
    nodes() -> Vec<Node>;
    leave() -> ();
    close() -> ();
    keys() -> Vec<KeyUse>;
    add_key(key: Key) -> ();
    reseal(most: u32) -> u32;
    retire_keys() -> Vec<KeyId>;
    snapshot(clock: Arc<dyn Clock>) -> Option<Snapshot>;
}
