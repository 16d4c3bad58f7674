//! A database full of jobs, and what is done with it.

use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use anyhow::{Context, bail};
use clap::ValueEnum;
use engine::SystemClock;
use jiff::SignedDuration;
use model::action::{Action, Call, HttpRequest};
use model::transition::{Patience, begin};
use model::{
    Attempt, CatchUp, Clock, Collection, CollectionPath, CollectionState, Definition, Fate, JobId, JobState,
    Outcome, Overlap, Plan, Plans, Timestamp, Uuid,
};
use recurrence::{Draft, RecurrenceDraft};
use store::{
    Attempted, CollectionWrite, Expected, ExpectedJob, JobWrite, Key, Keyring, LedgerQuery, PostgresSettings,
    PostgresStore, Span, Store, TrialGround,
};
use tokio::task::JoinSet;

use super::nodes::{Nodes, Reading, Used};
use super::seconds;
use crate::progress::Progress;

/// As many jobs as the largest plan allows in a collection.
const IN_A_COLLECTION: u32 = 1000;

/// How many jobs are written at once, and how often at the same time.
const BATCH: u32 = 2000;
const WRITERS: usize = 3;

/// How many executions a claim takes and a settlement brings, as the engine does.
const TOGETHER: usize = 1000;

/// Nodes claim two seconds ahead; so much before the first instant everything has to be ready.
const READY: SignedDuration = SignedDuration::from_secs(3);

/// How often a measurement begins anew because the machine was not ready in time.
const TRIES: u32 = 4;

/// A target for what is not called.
const NOBODY: SocketAddr = SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), 9);

/// See the module.
pub(super) struct Yard {
    ground: TrialGround,
    keyring: Keyring,
    /// A store that writes and reads, and is no node.
    books: Arc<PostgresStore>,
    began: Timestamp,
    stored: u32,
    /// What the store calls them, in the order in which they were written.
    ids: Vec<JobId>,
    /// How often jobs were picked.
    picked: AtomicU32,
}

/// How jobs that run lie among those that are stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, ValueEnum)]
pub(super) enum Lying {
    /// As they were written, one after the other: the same jobs each time, however many others are stored
    SideBySide,
    /// Evenly among all that are stored, and others each time: the more there are, the fewer of a page run, until it is one
    Apart,
}

impl Lying {
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::SideBySide => "side by side",
            Self::Apart => "apart",
        }
    }

    /// So many of those that are stored.
    fn pick(self, stored: u32, count: u32, time: u32) -> Vec<u32> {
        let stride = (stored / count).max(1);
        match self {
            Self::SideBySide => (0..count).collect(),
            Self::Apart => (0..count).map(|i| i * stride + time % stride).collect(),
        }
    }
}

/// When something is measured: what a change costs depends on whether its page was changed since the last checkpoint.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum When {
    /// Right after one: the first change of each page brings all of it to the log. The jobs were changed, so nobody knows
    /// what they are. This is the dearest.
    AfterCheckpoint,
    /// Long after one: the same jobs ran since, so their pages are in the log already, and whoever ran them knows them.
    BetweenCheckpoints,
}

impl When {
    /// In the order in which the same jobs are measured: the first round is what the second comes after.
    pub(super) const BOTH: [Self; 2] = [Self::AfterCheckpoint, Self::BetweenCheckpoints];

    pub(super) fn name(self) -> &'static str {
        match self {
            Self::AfterCheckpoint => "after a checkpoint",
            Self::BetweenCheckpoints => "between checkpoints",
        }
    }
}

/// What one store carries without calls.
pub(super) struct Alone {
    /// Seconds.
    pub(super) claiming: f64,
    /// Seconds.
    pub(super) settling: f64,
    pub(super) used: Used,
}

/// What nodes have done.
pub(super) struct Fired {
    /// Seconds from the first instant until the last occurrence was in the ledger.
    pub(super) seconds: f64,
    /// How late the latest call began, in milliseconds.
    pub(super) latest: f64,
    pub(super) used: Used,
}

impl Yard {
    /// A place for so many jobs.
    pub(super) async fn open(url: &str, stored: u32) -> anyhow::Result<Self> {
        Self::on(TrialGround::prepare(url).await?, stored).await
    }

    /// Another place in the same database, for no longer than this one.
    pub(super) async fn another(&self, stored: u32) -> anyhow::Result<Self> {
        Self::on(self.ground.another().await?, stored).await
    }

    async fn on(ground: TrialGround, stored: u32) -> anyhow::Result<Self> {
        let keyring = Keyring::new(Key::generate()?, []);
        let books = store(&ground, &keyring, "books").await?;
        books.leave().await?;
        ground.clean_up_when_asked().await?;
        let began = SystemClock.now();
        Ok(Self { ground, keyring, books, began, stored, ids: Vec::new(), picked: AtomicU32::new(0) })
    }

    pub(super) async fn clear(self) -> anyhow::Result<()> {
        drop(self.books);
        Ok(self.ground.clear().await?)
    }

    /// Writes the jobs; how many a second.
    pub(super) async fn fill(&mut self) -> anyhow::Result<f64> {
        for i in 0..self.stored.div_ceil(IN_A_COLLECTION) {
            self.make_collection(i).await?;
        }
        let began = SystemClock.now();
        let jobs: Vec<u32> = (0..self.stored).collect();
        let progress = Progress::of("written", jobs.len() as u64);
        self.ids = self.write(&jobs, &|_, job| self.far(job), NOBODY, &|done| progress.at(done)).await?;
        let rate = f64::from(self.stored) / seconds(began, SystemClock.now());
        self.ground.clean_up().await?;
        self.ground.sweep().await?;
        if !self.ground.write_pages().await? {
            eprintln!(
                "this user may not ask for a checkpoint (the role pg_checkpoint may): WAL varies with the time of the last"
            );
        }
        Ok(rate)
    }

    pub(super) fn stored(&self) -> u32 {
        self.stored
    }

    /// What the store calls jobs.
    fn ids(&self, jobs: &[u32]) -> anyhow::Result<Vec<JobId>> {
        let id =
            |job: &u32| self.ids.get(*job as usize).copied().context("a job is picked that is not stored");
        jobs.iter().map(id).collect()
    }

    /// When a job is due that shall not run: never while this does, and each at another time.
    fn far(&self, job: u32) -> Timestamp {
        let apart = SignedDuration::from_secs(97 * i64::from(job % 1_000_000));
        self.began + SignedDuration::from_hours(24 * 30) + apart
    }

    async fn make_collection(&self, i: u32) -> anyhow::Result<()> {
        let collection = Collection {
            path: collection(i),
            location: "Local".into(),
            tags: None,
            plan: Plan::P20Premium,
            state: CollectionState::Enabled,
            quota: None,
            resumed_at: None,
        };
        let now = SystemClock.now();
        self.books
            .put_collection(CollectionWrite { collection, expected: Expected::Absent, most: None, now })
            .await?;
        Ok(())
    }

    /// Writes jobs by their numbers, each with the instant that its place in the list and its number give; what the store
    /// calls them, in the same order.
    async fn write(
        &self,
        jobs: &[u32],
        due: &(dyn Fn(u32, u32) -> Timestamp + Sync),
        address: SocketAddr,
        progress: &(dyn Fn(u64) + Sync),
    ) -> anyhow::Result<Vec<JobId>> {
        let mut places = (0..).zip(jobs);
        let mut writers = JoinSet::new();
        let (mut done, mut all) = (0, BTreeMap::new());
        for number in 0.. {
            let part = places.by_ref().take(BATCH as usize);
            let part = part.map(|(place, job)| write(*job, due(place, *job), address));
            let part = part.collect::<anyhow::Result<Vec<JobWrite>>>()?;
            if writers.len() >= WRITERS || part.is_empty() {
                let Some(ended) = writers.join_next().await else { break };
                let (number, written): (u32, Vec<JobId>) = ended??;
                done += written.len() as u64;
                all.insert(number, written);
                progress(done);
            }
            if !part.is_empty() {
                let books = self.books.clone();
                writers.spawn(async move { anyhow::Ok((number, books.fill(&part).await?)) });
            }
        }
        Ok(all.into_values().flatten().collect())
    }

    /// Makes jobs due, each at the instant that its place in the list gives: written anew, or as those that run again.
    async fn make_due(
        &self,
        jobs: &[u32],
        when: When,
        due: &(dyn Fn(u32) -> Timestamp + Sync),
        address: SocketAddr,
    ) -> anyhow::Result<()> {
        match when {
            When::AfterCheckpoint => self.write(jobs, &|place, _| due(place), address, &drop).await.map(drop),
            When::BetweenCheckpoints => {
                let again: Vec<_> =
                    self.ids(jobs)?.into_iter().zip(0..).map(|(job, place)| (job, due(place))).collect();
                for part in again.chunks(BATCH as usize) {
                    self.books.due_again(part).await?;
                }
                Ok(())
            }
        }
    }

    /// Jobs to run.
    pub(super) fn pick(&self, count: u32, lying: Lying) -> Vec<u32> {
        lying.pick(self.stored, count, self.picked.fetch_add(1, Ordering::Relaxed))
    }

    /// Brings the database to rest, so that whatever is measured next pays for its own changes alone.
    async fn come_to_rest(&self, when: When) -> anyhow::Result<()> {
        self.ground.sweep().await?;
        if when == When::AfterCheckpoint {
            self.ground.write_pages().await?;
        }
        Ok(())
    }

    /// A store that claims and settles by itself. It is the same for visits and claims: a connection that was used before
    /// has mapped the memory of the database that it needs, as those of a server have.
    pub(super) async fn store(&self) -> anyhow::Result<Arc<PostgresStore>> {
        store(&self.ground, &self.keyring, "alone").await
    }

    /// Visits each of some jobs by its key as often as nobody can do without: to read it and write it when it is claimed,
    /// and to write it when that is settled.
    pub(super) async fn visit(
        &self,
        store: &PostgresStore,
        jobs: &[u32],
        when: When,
    ) -> anyhow::Result<Used> {
        let ids = self.ids(jobs)?;
        if when == When::AfterCheckpoint {
            self.write(jobs, &|_, job| self.far(job), NOBODY, &drop).await?;
        }
        self.come_to_rest(when).await?;
        let before = Reading::take(None, self.ground.meter().await?);
        for part in ids.chunks(TOGETHER) {
            store.visit_to_claim(part, when == When::BetweenCheckpoints).await?;
        }
        for part in ids.chunks(TOGETHER) {
            store.visit_to_settle(part).await?;
        }
        self.used(&before, None).await
    }

    /// Claims and settles an occurrence of each of some jobs, without a call.
    pub(super) async fn alone(
        &self,
        store: &PostgresStore,
        jobs: &[u32],
        when: When,
    ) -> anyhow::Result<Alone> {
        let count = u32::try_from(jobs.len())?;
        let due = SystemClock.now() + SignedDuration::from_hours(1);
        self.make_due(jobs, when, &|_| due, NOBODY).await?;
        self.come_to_rest(when).await?;
        let before = Reading::take(None, self.ground.meter().await?);
        let (began, mut claims) = (SystemClock.now(), Vec::new());
        loop {
            let claimed = store.claim_due(due, due, TOGETHER as u32).await?.claims;
            if claimed.is_empty() {
                break;
            }
            claims.extend(claimed);
        }
        let claimed = SystemClock.now();
        if claims.len() != count as usize {
            bail!("{} of {count} occurrences were claimed", claims.len());
        }
        for part in claims.chunks(TOGETHER) {
            let attempts = part.iter().map(|claim| {
                claim.ticket.begin();
                let outcome = Outcome {
                    success: true,
                    message: "HTTP Action - Response from host '127.0.0.1': 'OK' Response Headers: content-length: 2 \
                              Body: ok"
                        .to_owned(),
                };
                let attempt = Attempt { started_at: due, ended_at: due, outcome };
                Attempted { id: claim.id, attempt: attempt.into(), ticket: claim.ticket.clone(), too_late: false }
            });
            store.settle(attempts.collect()).await?;
        }
        let settled = SystemClock.now();
        let used = self.used(&before, None).await?;
        self.account((due, due), count).await?;
        Ok(Alone { claiming: seconds(began, claimed), settling: seconds(claimed, settled), used })
    }

    /// Starts nodes.
    pub(super) async fn start(&self, nodes: u32) -> anyhow::Result<Nodes> {
        let running = Nodes::start(nodes, self.ground.url(), &self.keyring.first().text())?;
        while self.books.nodes().await?.len() < nodes as usize {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        Ok(running)
    }

    /// Ends them, and waits until their leases have run out for all to see.
    pub(super) async fn stop(&self, running: Nodes) -> anyhow::Result<()> {
        let nodes = running.count();
        drop(running);
        for i in 0..nodes {
            let store = store(&self.ground, &self.keyring, &format!("bench-{i}")).await;
            store.context("a node cannot be replaced")?.leave().await?;
        }
        Ok(())
    }

    /// Lets nodes run jobs, each at its instant.
    pub(super) async fn fire(
        &self,
        running: &Nodes,
        jobs: &[u32],
        when: When,
        due: &(dyn Fn(Timestamp, u32) -> Timestamp + Sync),
        address: SocketAddr,
    ) -> anyhow::Result<Fired> {
        let count = u32::try_from(jobs.len())?;
        let mut lead = READY
            + match when {
                When::AfterCheckpoint => SignedDuration::from_secs(3 + i64::from(count / 4000)),
                When::BetweenCheckpoints => SignedDuration::from_secs(1 + i64::from(count / 10_000)),
            };
        for _ in 0..TRIES {
            let began = SystemClock.now() + lead;
            self.make_due(jobs, when, &|place| due(began, place), address).await?;
            self.come_to_rest(when).await?;
            let tallied = self.tallied().await?;
            let in_time = SystemClock.now() + READY <= began;
            let last = due(began, count - 1);
            let before = Reading::take(Some(running), self.ground.meter().await?);
            // Nobody asks before the last one is due: questions are the database's work too.
            tokio::time::sleep(SystemClock.now().duration_until(last).try_into().unwrap_or_default()).await;
            while self.tallied().await? < tallied + u64::from(count) || self.claims().await? > 0 {
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
            let settled = SystemClock.now();
            let used = self.used(&before, Some(running)).await?;
            let latest = self.account((began, last), count).await?;
            if in_time {
                return Ok(Fired { seconds: seconds(began, settled), latest, used });
            }
            lead *= 2;
        }
        bail!("the machine is too slow: {} nodes and {count} jobs were never ready in time", running.count())
    }

    /// What was used since a reading.
    async fn used(&self, before: &Reading, nodes: Option<&Nodes>) -> anyhow::Result<Used> {
        let after = Reading::take(nodes, self.ground.meter().await?);
        let log = self.ground.log_between(&before.meter, &after.meter).await?;
        Ok(before.until(&after, log))
    }

    /// How many occurrences are accounted for since the beginning.
    async fn tallied(&self) -> anyhow::Result<u64> {
        let day = SignedDuration::from_hours(24);
        let tallied = self.books.tallies(self.began - day, self.began + day, Duration::from_secs(60)).await?;
        let sum =
            |tally: &model::Tally| tally.ran + tally.ran_late + tally.faulted + tally.skipped + tally.missed;
        Ok(tallied.iter().map(|tallied| sum(&tallied.tally)).sum())
    }

    /// How many executions nodes hold.
    async fn claims(&self) -> anyhow::Result<u64> {
        Ok(self.books.nodes().await?.iter().map(|node| node.claims).sum())
    }

    /// Sees to it that the ledger accounts for so many occurrences between two instants, and that all of them ran; how late
    /// the latest of them began, in milliseconds.
    async fn account(&self, (from, to): (Timestamp, Timestamp), count: u32) -> anyhow::Result<f64> {
        let due = Span { from: Some(from), to: Some(to) };
        let mut query = LedgerQuery { due, ..LedgerQuery::default() };
        let (mut ran, mut latest) = (0, 0.0_f64);
        loop {
            let page = self.books.ledger(&query, 10_000).await?;
            let Some(last) = page.last() else { break };
            query.before = Some((last.entry.due_at, last.serial));
            for entry in page.iter().map(|stored| &stored.entry) {
                if !matches!(entry.fate, Fate::Ran | Fate::RanLate) {
                    bail!("an occurrence did not run: {entry:?}");
                }
                ran += entry.occurrences;
                let late = entry.started_at.map(|began| entry.due_at.duration_until(began).as_secs_f64());
                latest = latest.max(late.unwrap_or_default() * 1e3);
            }
        }
        if ran != u64::from(count) {
            bail!("the ledger accounts for {ran} of {count} occurrences");
        }
        Ok(latest)
    }
}

/// A store of the trial ground.
async fn store(ground: &TrialGround, keyring: &Keyring, node: &str) -> anyhow::Result<Arc<PostgresStore>> {
    let settings = PostgresSettings {
        url: ground.url().to_owned(),
        node: node.to_owned(),
        version: env!("CARGO_PKG_VERSION").to_owned(),
        connections: WRITERS + 1,
        plans: Plans::default(),
        patience: Patience::default(),
        keyring: keyring.clone(),
        held_at: None,
    };
    Ok(Arc::new(PostgresStore::open(settings, Arc::new(SystemClock)).await?))
}

fn collection(i: u32) -> CollectionPath {
    CollectionPath { subscription: "bench".into(), group: "bench".into(), name: format!("collection-{i:05}") }
}

fn name(job: u32) -> String {
    format!("job-{job:07}")
}

fn write(job: u32, due: Timestamp, address: SocketAddr) -> anyhow::Result<JobWrite> {
    let now = SystemClock.now();
    let request = HttpRequest {
        uri: format!("http://{address}/reports/{job}"),
        method: "POST".into(),
        // As much as a body would be; the target that measures lateness reads none.
        headers: Some(vec![
            ("accept".into(), "application/json".into()),
            ("x-report".into(), format!("nightly; for=sales,stock; language=en; attempts=3; number={job}")),
        ]),
        body: None,
        authentication: None,
    };
    let recurrence = RecurrenceDraft { frequency: Some("day".into()), ..RecurrenceDraft::default() };
    let definition = Definition {
        timing: Draft { start_time: Some(wire::date_time::write(due)), recurrence: Some(recurrence) },
        accepted_at: now,
        action: Action { call: Call::Http { https: false, request }, retry: None, on_error: None },
        catch_up: CatchUp::default(),
        overlap: Overlap::default(),
        extensions_given: false,
        capital_occurrence: false,
    };
    let rule = definition.rule()?;
    Ok(JobWrite {
        collection: collection(job / IN_A_COLLECTION),
        name: name(job),
        standing: begin(&rule, JobState::Enabled),
        definition,
        expected: ExpectedJob::Absent,
        replace: true,
        seed: Uuid::new_v4(),
        most: None,
        now,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn jobs_are_picked_side_by_side_or_apart() {
        let pick = |lying: Lying, time| lying.pick(10, 3, time);
        assert_eq!([0, 1].map(|time| pick(Lying::SideBySide, time)), [[0, 1, 2], [0, 1, 2]]);
        let apart = [0, 1, 2, 3].map(|time| pick(Lying::Apart, time));
        assert_eq!(
            apart,
            [[0, 3, 6], [1, 4, 7], [2, 5, 8], [0, 3, 6]],
            "others each time, and none that is not there"
        );
        assert_eq!(
            [Lying::SideBySide, Lying::Apart].map(|lying| lying.pick(3, 3, 7)),
            [[0, 1, 2], [0, 1, 2]]
        );
    }
}
