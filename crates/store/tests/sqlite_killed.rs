//! A server that is killed at any moment has lost nothing that it had answered for.
//!
//! The test starts itself as a second process that writes, claims and settles as fast as it can and says what it was
//! told is done; kills it; and looks into the file. Several times over the same file.

#![cfg(unix)]

use std::collections::BTreeSet;
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;

use async_trait::async_trait;
use model::{Cause, JobState, Timestamp, Uuid};
use store::conformance::{Backend, World, action, path};
use store::{Keyring, SqliteSettings, SqliteStore, Store};

const FILE: &str = "PUNCTUAL_KILLED_FILE";
const ROUND: &str = "PUNCTUAL_KILLED_ROUND";

struct Sqlite<'p>(&'p Path);

#[async_trait]
impl Backend for Sqlite<'_> {
    async fn open_with(&self, keyring: Keyring, now: Timestamp) -> store::Result<Arc<dyn Store>> {
        Ok(Arc::new(SqliteStore::open(self.0, SqliteSettings::new(keyring), now)?))
    }
}

/// What the process to be killed does. As a test of its own it does nothing.
#[test]
fn the_victim() {
    let (Ok(file), Ok(round)) = (std::env::var(FILE), std::env::var(ROUND)) else { return };
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_time()
        .build()
        .expect("a runtime");
    runtime.block_on(live(Path::new(&file), &round));
}

fn say(what: &str) {
    let mut out = std::io::stdout().lock();
    writeln!(out, "!{what}").and_then(|()| out.flush()).expect("somebody listens");
}

async fn live(file: &Path, round: &str) {
    let backend = Sqlite(file);
    let mut world = World::resume(&backend, "2027-01-01T00:00:00Z".parse().expect("a date")).await;
    world.now = world.after(round.parse::<i64>().expect("a number") * 100_000);
    world.restart().await;
    for turn in 0.. {
        let name = format!("job-{round}-{turn}");
        world.put(&name, world.minutely()).await;
        say(&format!("put {name}"));
        world
            .patch(&name, JobState::Enabled, |definition| definition.action = action("http://example.com/2"))
            .await;
        say(&format!("edited {name}"));
        let claims = world.claim(60).await;
        let (now, later): (Vec<_>, Vec<_>) =
            claims.into_iter().partition(|claim| claim.execution.wake_at.is_some_and(|at| at <= world.now));
        let mut settled = Vec::new();
        for (i, claim) in now.iter().enumerate() {
            if claim.ticket.begin() {
                let success = (turn + i) % 3 != 0;
                world.settle(claim, success).await;
                if success {
                    settled.push(claim.execution.tag);
                }
            }
        }
        for tag in settled {
            say(&format!("settled {tag}"));
        }
        world.store().release(later.iter().map(|claim| claim.id).collect()).await.expect("a release");
        world.pass(20);
    }
}

#[test]
fn nothing_is_lost_when_the_process_is_killed() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("punctual.db");
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_time()
        .build()
        .expect("a runtime");
    runtime.block_on(async { drop(World::new(&Sqlite(&file)).await) });

    let (mut put, mut edited, mut settled) = (BTreeSet::new(), BTreeSet::new(), BTreeSet::new());
    for (round, lines) in [3, 17, 40, 41, 90, 151].into_iter().enumerate() {
        let mut victim = Command::new(std::env::current_exe().expect("this test"))
            .args(["--exact", "the_victim", "--nocapture"])
            .env(FILE, &file)
            .env(ROUND, round.to_string())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .expect("a second process");
        let mut heard = BufReader::new(victim.stdout.take().expect("its output")).lines();
        let mut count = 0;
        while let Some(Ok(line)) = heard.next() {
            let Some(fact) = line.split_once('!').map(|(_, fact)| fact) else { continue };
            count += 1;
            match fact.split_once(' ') {
                Some(("put", name)) => put.insert(name.to_owned()),
                Some(("edited", name)) => edited.insert(name.to_owned()),
                Some(("settled", tag)) => settled.insert(tag.parse::<Uuid>().expect("a tag")),
                _ => panic!("{line}"),
            };
            if count == lines {
                break;
            }
        }
        assert_eq!(count, lines, "the victim ended by itself");
        victim.kill().and_then(|()| victim.wait()).expect("it can be killed");
    }
    assert!(!settled.is_empty());
    runtime.block_on(look(&file, &put, &edited, &settled));
}

async fn look(file: &Path, put: &BTreeSet<String>, edited: &BTreeSet<String>, settled: &BTreeSet<Uuid>) {
    let backend = Sqlite(file);
    let mut world = World::resume(&backend, "2027-01-08T00:00:00Z".parse().expect("a date")).await;
    for name in put {
        world.job(name).await;
    }
    for name in edited {
        let definition = world.job(name).await.job.definition;
        assert_eq!(definition.action, action("http://example.com/2"), "{name}");
    }
    let ledger = world.ledger().await;
    let known: BTreeSet<Uuid> = ledger.iter().filter_map(|entry| entry.tag).collect();
    assert!(settled.is_subset(&known), "settled, but not in the ledger");

    // Let everything end, and count: each instant of each job once.
    for _ in 0..8 {
        loop {
            let claims = world.claim(0).await;
            if claims.is_empty() {
                break;
            }
            let attempts = claims.iter().map(|claim| world.attempted(claim, true)).collect();
            world.store().settle(attempts).await.expect("they are settled");
        }
        world.pass(10);
    }
    let ledger = world.ledger().await;
    for found in world.store().all_jobs(&path()).await.expect("the jobs") {
        let stored = found.readable().expect("it opens");
        let next_at = stored.job.next_at.expect("it goes on");
        let due: Vec<Timestamp> =
            stored.job.rule.occurrences().map(|o| o.at).take_while(|at| *at < next_at).collect();
        let mut covered = 0;
        for entry in ledger.iter().filter(|entry| entry.job == stored.job.id && entry.cause != Cause::Run) {
            let within = due.iter().filter(|at| (entry.due_at..=entry.due_until).contains(*at)).count();
            assert_eq!(within as u64, entry.occurrences);
            covered += within;
        }
        assert_eq!(covered, due.len(), "{}", stored.job.name);
    }
}
