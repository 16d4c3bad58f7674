//! A scheduler to measure: the real parts, with jobs that run once.

use std::collections::BTreeMap;
use std::io::{IsTerminal as _, Write as _};
use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use actions::{ActionSettings, Actions};
use anyhow::{Context, bail};
use engine::{Engine, Settings, SystemClock};
use jiff::SignedDuration;
use model::action::{Action, Call, HttpRequest, RetryPolicy};
use model::transition::begin;
use model::{
    CatchUp, Clock, Collection, CollectionPath, CollectionState, Definition, JobState, Overlap, Plan,
    Timestamp, Uuid,
};
use recurrence::Draft;
use store::{
    CollectionWrite, Expected, ExpectedJob, JobWrite, Key, Keyring, LedgerQuery, SqliteSettings, SqliteStore,
    Store, StoredJob, Written,
};
use tokio::task::JoinSet;

/// How many jobs are written at once; the store commits what has gathered together.
const WRITERS: usize = 256;

pub(super) struct World {
    store: Arc<dyn Store>,
}

impl World {
    /// Opens a store that nobody opens again.
    pub(super) fn open(folder: &Path) -> anyhow::Result<Self> {
        Self::open_with(folder, Keyring::new(Key::generate()?, []))
    }

    /// Opens a store with its keys.
    pub(super) fn open_with(folder: &Path, keyring: Keyring) -> anyhow::Result<Self> {
        let file = folder.join("punctual.db");
        let settings = SqliteSettings::new(keyring);
        let store = SqliteStore::open(file, settings, SystemClock.now())?;
        Ok(Self { store: Arc::new(store) })
    }

    pub(super) fn store(&self) -> Arc<dyn Store> {
        self.store.clone()
    }

    pub(super) fn run(&self) -> anyhow::Result<Engine> {
        let runner = Actions::new(ActionSettings::default(), Arc::new(SystemClock))?;
        Ok(Engine::start(self.store.clone(), Arc::new(runner), Arc::new(SystemClock), Settings::default()))
    }

    /// Writes jobs that run once, each at its instant; how many a second.
    pub(super) async fn write_jobs(
        &self,
        jobs: impl Iterator<Item = (Timestamp, SocketAddr)>,
        count: u32,
    ) -> anyhow::Result<f64> {
        let path =
            CollectionPath { subscription: "bench".into(), group: "bench".into(), name: "bench".into() };
        self.make_collection(&path).await?;
        let began = SystemClock.now();
        let run = Uuid::new_v4().simple().to_string();
        let mut progress = Progress::new(count);
        let mut writers = JoinSet::new();
        for (i, (due, address)) in jobs.enumerate() {
            if writers.len() >= WRITERS {
                settled(writers.join_next().await)?;
                progress.step();
            }
            let (store, path, name) = (self.store.clone(), path.clone(), format!("{}-{i}", &run[..8]));
            writers.spawn(async move {
                store.put_job(job(path, name, due, address)?).await.map_err(anyhow::Error::from)
            });
        }
        while let Some(written) = writers.join_next().await {
            settled(Some(written))?;
            progress.step();
        }
        progress.end();
        Ok(f64::from(count) / began.duration_until(SystemClock.now()).as_secs_f64())
    }

    async fn make_collection(&self, path: &CollectionPath) -> anyhow::Result<()> {
        if self.store.collection(path).await?.is_some() {
            return Ok(());
        }
        let collection = Collection {
            path: path.clone(),
            location: "Local".into(),
            tags: None,
            plan: Plan::P20Premium,
            state: CollectionState::Enabled,
            quota: None,
            resumed_at: None,
        };
        let write =
            CollectionWrite { collection, expected: Expected::Absent, most: None, now: SystemClock.now() };
        self.store.put_collection(write).await?;
        Ok(())
    }

    /// Writes jobs that nobody will see run.
    pub(super) async fn store_idle(&self, jobs: u32, address: SocketAddr) -> anyhow::Result<f64> {
        let far = SystemClock.now() + SignedDuration::from_hours(24 * 300);
        self.write_jobs((0..jobs).map(|_| (far, address)), jobs).await
    }

    /// Waits until nothing is under way: after all calls have arrived, all are settled then.
    pub(super) async fn until_settled(&self) -> anyhow::Result<()> {
        while self.store.census().await?.executions > 0 {
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
        Ok(())
    }

    /// Claims at most so many of what is due until an instant, as a process does that dies before it calls any.
    pub(super) async fn claim_in_vain(&self, until: Timestamp, most: u32) -> anyhow::Result<usize> {
        Ok(self.store.claim_due(SystemClock.now(), until, most).await?.claims.len())
    }

    /// How many occurrences met which fate.
    pub(super) async fn fates(&self) -> anyhow::Result<BTreeMap<&'static str, u64>> {
        let mut fates = BTreeMap::new();
        let mut query = LedgerQuery::default();
        loop {
            let page = self.store.ledger(&query, 10_000).await?;
            let Some(last) = page.last() else { return Ok(fates) };
            query.before = Some((last.entry.due_at, last.serial));
            for entry in page.iter().map(|stored| &stored.entry) {
                *fates.entry(entry.fate.name()).or_default() += entry.occurrences;
            }
        }
    }
}

fn settled(
    written: Option<Result<anyhow::Result<Written<StoredJob>>, tokio::task::JoinError>>,
) -> anyhow::Result<()> {
    match written.context("no writer")?? {
        Ok(Written::Done(_)) => Ok(()),
        Ok(other) => bail!("a job was not written: {other:?}"),
        Err(error) => Err(error),
    }
}

fn job(path: CollectionPath, name: String, due: Timestamp, address: SocketAddr) -> anyhow::Result<JobWrite> {
    let now = SystemClock.now();
    let request = HttpRequest {
        uri: format!("http://{address}/"),
        method: "GET".into(),
        headers: None,
        body: None,
        authentication: None,
    };
    let definition = Definition {
        timing: Draft { start_time: Some(wire::date_time::write(due)), recurrence: None },
        accepted_at: now,
        action: Action {
            call: Call::Http { https: false, request },
            retry: Some(RetryPolicy::None),
            on_error: None,
        },
        catch_up: CatchUp::default(),
        overlap: Overlap::default(),
        extensions_given: false,
        capital_occurrence: false,
    };
    let rule = definition.rule()?;
    Ok(JobWrite {
        collection: path,
        name,
        standing: begin(&rule, JobState::Enabled),
        definition,
        expected: ExpectedJob::Absent,
        replace: true,
        seed: Uuid::new_v4(),
        most: None,
        now,
    })
}

/// A line on a terminal that says how far the writing is.
struct Progress {
    count: u32,
    done: u32,
    shown: bool,
}

impl Progress {
    fn new(count: u32) -> Self {
        Self { count, done: 0, shown: std::io::stderr().is_terminal() }
    }

    fn step(&mut self) {
        self.done += 1;
        if self.shown && self.done.is_multiple_of(1000) {
            let _ = write!(std::io::stderr(), "\rwriting jobs: {} of {}", self.done, self.count);
        }
    }

    fn end(&self) {
        if self.shown {
            let _ = write!(std::io::stderr(), "\r\x1b[K");
        }
    }
}
