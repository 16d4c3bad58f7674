//! How fast the SQLite store is, with full sync.
//!
//! ```sh
//! cargo bench --package store --bench sqlite                      # a moment
//! cargo bench --package store --bench sqlite -- --rows 3000000    # with a million jobs and so much history before
//! cargo bench --package store --bench sqlite -- --full            # ten million rows of it: minutes, 6 GB
//! ```

#![allow(clippy::disallowed_methods, reason = "a benchmark looks at the clock")]

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use async_trait::async_trait;
use model::{Clock, Fate, JobState, Timestamp};
use store::conformance::{Backend, World, path};
use store::{
    Attempted, ExpectedJob, HistoryQuery, Keyring, LedgerQuery, Page, Retention, Span, SqliteSettings,
    SqliteStore, Store,
};

struct Sqlite<'p>(&'p Path);

#[async_trait]
impl Backend for Sqlite<'_> {
    async fn open_with(&self, keyring: Keyring, now: Timestamp) -> store::Result<Arc<dyn Store>> {
        Ok(Arc::new(SqliteStore::open(self.0, SqliteSettings::new(keyring), now)?))
    }
}

/// Rows of history and rows of the ledger, each.
const FULL: u32 = 10_000_000;

/// Jobs that are written one by one, and fire.
const JOBS: usize = 20_000;

/// How many executions are claimed and settled: each of the jobs fires so often that most of it happens with as many
/// entries unfiled as the store lets there be.
const FIRED: usize = 20 * JOBS;

fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    let after = |name: &str| {
        arguments.iter().position(|argument| argument == name).and_then(|i| arguments.get(i + 1))
    };
    let rows = after("--rows").map(|rows| rows.parse().expect("a number of rows"));
    let rows: Option<u32> = rows.or(arguments.iter().any(|argument| argument == "--full").then_some(FULL));
    if let Some(file) = after("--fill") {
        return fill(Path::new(file), rows.expect("how many rows"));
    }
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_time().build().expect("a runtime");
    runtime.block_on(measure(rows));
}

fn rate(what: &str, count: usize, took: Duration) {
    println!("{what:<44} {:>12.0} /s", count as f64 / took.as_secs_f64());
}

fn time(what: &str, since: Instant) {
    println!("{what:<44} {:>12.2} ms", since.elapsed().as_secs_f64() * 1000.0);
}

async fn measure(rows: Option<u32>) {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("punctual.db");
    let backend = Sqlite(&file);
    let mut world = World::new(&backend).await;

    let start = Instant::now();
    put(&world).await;
    rate("jobs written, 256 at a time", JOBS, start.elapsed());

    if let Some(rows) = rows {
        seed(&mut world, &file, rows).await;
    }
    fire(&mut world).await;
    if rows.is_some() {
        pages(&world, &file).await;
    }
}

/// A clock that stands still.
struct Stopped(Timestamp);

impl Clock for Stopped {
    fn now(&self) -> Timestamp {
        self.0
    }
}

async fn put(world: &World<'_>) {
    let definition = world.minutely_in(60);
    let standing = model::transition::begin(&definition.rule().expect("a rule"), JobState::Enabled);
    let mut tasks = tokio::task::JoinSet::new();
    for i in 0..JOBS {
        if tasks.len() == 256 {
            tasks.join_next().await;
        }
        let name = format!("job-{i:07}");
        let write = world.write(&name, definition.clone(), standing.clone(), ExpectedJob::Absent, true);
        let store = Arc::clone(world.store());
        tasks.spawn(async move { store.put_job(write).await.expect("it is written") });
    }
    tasks.join_all().await;
}

/// Claims and settles in batches of a thousand, minute by minute.
async fn fire(world: &mut World<'_>) {
    let (mut claiming, mut settling) = (Duration::ZERO, Duration::ZERO);
    let mut fired = 0;
    while fired < FIRED {
        let start = Instant::now();
        let claims = world.claimed(30, 1000).await.claims;
        claiming += start.elapsed();
        if claims.is_empty() {
            world.pass(30);
            continue;
        }
        fired += claims.len();
        let attempts: Vec<Attempted> = claims
            .iter()
            .filter(|claim| claim.ticket.begin())
            .map(|claim| world.attempted(claim, true))
            .collect();
        let start = Instant::now();
        world.store().settle(attempts).await.expect("they are settled");
        settling += start.elapsed();
    }
    rate("executions claimed, in batches of 1000", fired, claiming);
    rate("attempts settled, in batches of 1000", fired, settling);
}

/// Copies what is there until there is a million jobs, and gives those that fire a long history and ledger.
async fn seed(world: &mut World<'_>, file: &Path, rows: u32) {
    println!("… filling the store");
    world.close();
    // In a process of its own, so that its memory is not taken for the store's.
    let filled = std::process::Command::new(std::env::current_exe().expect("this program"))
        .arg("--fill")
        .arg(file)
        .args(["--rows", &rows.to_string()])
        .status();
    assert!(filled.expect("a second process").success());
    let start = Instant::now();
    world.restart().await;
    time("opening it with a million jobs", start);
    let start = Instant::now();
    let census = world.store().census().await.expect("a census");
    time(&format!("counting {} jobs", census.jobs), start);
    memory();
}

fn fill(file: &Path, rows: u32) {
    let db = rusqlite::Connection::open(file).expect("the file");
    db.execute_batch(
        "PRAGMA journal_mode = wal; PRAGMA synchronous = off; PRAGMA cache_size = -1000000;
         BEGIN;
         -- Long after the others.
         WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 49)
         INSERT INTO jobs (collection_id, name, name_key, seed, state, ahead, executions, failures, faulted, \
           next_number, next_at, due_at, last_faulted, generation, revision)
         SELECT collection_id, name || '-' || i, name_key || '-' || i, randomblob(16), state, ahead, 0, 0, 0, \
           next_number, next_at + (100 + i) * 600000000, next_at + (100 + i) * 600000000, 0, 1, revision FROM n, jobs;
         INSERT INTO definitions (job_id, definition, sealed_by)
           SELECT id, (SELECT definition FROM definitions LIMIT 1), NULL FROM jobs
           WHERE id NOT IN (SELECT job_id FROM definitions);
         UPDATE collections SET jobs = (SELECT count(*) FROM jobs);",
    )
    .expect("jobs");
    // What happened in the days before the clock of this world begins, each job in its turn.
    for sql in [
        "WITH RECURSIVE n (i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < ?1 - 1)
         INSERT INTO history (job_id, started_at, ended_at, expected_at, depth, status, retry_count, repeat_count, \
           message)
         SELECT 1 + i % ?2, ?3 + (i - ?1) * 100000, ?3 + (i - ?1) * 100000, ?3 + (i - ?1) * 100000, 0, i % 7 = 0, 0, \
           i / ?2, 'Http Action - Response from host: OK' FROM n",
        "WITH RECURSIVE n (i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < ?1 - 1)
         INSERT INTO ledger (job_id, collection_id, due_at, due_until, occurrences, number, cause, fate, ended_at, tag)
         SELECT 1 + i % ?2, 1, ?3 + (i - ?1) * 100000, ?3 + (i - ?1) * 100000, 1, i / ?2, 0, \
           iif(i % 1000 = 0, 2, 0), ?3 + (i - ?1) * 100000, randomblob(16) FROM n",
    ] {
        let ticks = began().as_microsecond() * 10;
        db.execute(sql, rusqlite::params![rows, JOBS as i64, ticks]).expect("rows");
    }
    db.execute_batch(
        "INSERT INTO history_filed SELECT job_id, started_at, serial FROM history ORDER BY 1, 2, 3;
         INSERT INTO ledger_filed SELECT job_id, due_at, serial FROM ledger ORDER BY 1, 2, 3;
         UPDATE filed SET history = (SELECT max(serial) FROM history), ledger = (SELECT max(serial) FROM ledger);",
    )
    .expect("filed");
    db.execute_batch("COMMIT; PRAGMA wal_checkpoint (truncate);").expect("it is filled");
}

/// When the clock of the world begins.
fn began() -> Timestamp {
    "2027-01-01T00:00:00Z".parse().expect("a date")
}

async fn pages(world: &World<'_>, file: &Path) {
    let store = world.store();
    for skip in [0, 500_000, 999_900] {
        let start = Instant::now();
        let jobs = store.jobs(&path(), None, Page { skip, top: 100 }).await.expect("a page");
        assert_eq!(jobs.map(|jobs| jobs.len()), Some(100));
        time(&format!("100 jobs after {skip}"), start);
    }
    let start = Instant::now();
    store.jobs(&path(), Some(JobState::Enabled), Page { skip: 500_000, top: 100 }).await.expect("a page");
    time("100 enabled jobs after 500000", start);
    for skip in [0, 400] {
        let start = Instant::now();
        let page = Page { skip, top: 100 };
        store.history(&path(), "job-0000007", &HistoryQuery::default(), page).await.expect("a page");
        time(&format!("100 history entries after {skip}"), start);
    }
    let trouble = vec![Fate::RanLate, Fate::Faulted, Fate::Skipped, Fate::Missed];
    let night = Span { from: "2026-12-31T22:00:00Z".parse().ok(), to: None };
    for (what, query) in [
        ("everything", LedgerQuery::default()),
        ("what did not run", LedgerQuery { fates: trouble.clone(), ..Default::default() }),
        ("what did not run since", LedgerQuery { fates: trouble, due: night, ..Default::default() }),
        ("of a subscription", LedgerQuery { subscription: Some("sub-1".into()), ..Default::default() }),
        (
            "of a job",
            LedgerQuery { collection: Some(path()), job: Some("job-0000007".into()), ..Default::default() },
        ),
    ] {
        let start = Instant::now();
        store.ledger(&query, 100).await.expect("a page");
        time(&format!("100 ledger entries, {what}"), start);
    }

    // Retention for ten seconds; a writer waits for one bite at the most.
    let rows = || -> i64 {
        let db = rusqlite::Connection::open(file).expect("the file");
        db.query_row("SELECT (SELECT count(*) FROM history) + (SELECT count(*) FROM ledger)", [], |row| {
            row.get(0)
        })
        .expect("a count")
    };
    // All that `fill` has written may go.
    let retention = Retention { now: began(), before: began(), history_per_job: 1000 };
    let there = rows();
    let mut bites = Vec::new();
    let start = Instant::now();
    while start.elapsed() < Duration::from_secs(10) {
        let bite = Instant::now();
        assert!(store.prune(retention).await.expect("it prunes"), "there is more than that");
        bites.push(bite.elapsed());
    }
    let took = start.elapsed();
    rate("rows of history and ledger removed", usize::try_from(there - rows()).expect("fewer"), took);
    bites.sort();
    for (what, bite) in
        [("the median bite", bites[bites.len() / 2]), ("the slowest bite", bites[bites.len() - 1])]
    {
        println!("{what:<44} {:>12.2} ms", bite.as_secs_f64() * 1000.0);
    }
    let start = Instant::now();
    let snapshot = store.snapshot(Arc::new(Stopped(world.now))).await.expect("a snapshot");
    time("a snapshot for a backup", start);
    drop(snapshot);
    memory();
}

/// What this process holds and has held at the most, where the system tells.
fn memory() {
    if let Ok(status) = std::fs::read_to_string("/proc/self/status") {
        for line in status.lines().filter(|line| line.starts_with("VmRSS") || line.starts_with("VmHWM")) {
            println!("{line}");
        }
    }
}
