//! `kill -9` at random moments under load, two hundred times. Nothing that was accepted may be lost, every occurrence is
//! in the ledger once, and a call that was made twice carries the same tag.
//!
//! It takes a minute or two, so `scripts/test quick` leaves it out.

mod running;

use std::collections::{HashMap, HashSet};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use running::{COLLECTION, Server, job, job_path, ledger, target, until};
use serde_json::{Value, json};

const KILLS: usize = 200;

const SETTINGS: &[(&str, &str)] = &[("PUNCTUAL_PLANS_P20PREMIUM_JOBS", "1000000")];

/// Numbers that look random and are the same every time.
struct Random(u64);

impl Random {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % limit
    }
}

#[test]
fn nothing_accepted_is_lost_when_the_process_is_killed() {
    let data = tempfile::tempdir().expect("a folder");
    let (target, calls) = target();
    let mut random = Random(20_270_101);
    let mut accepted: HashSet<String> = HashSet::new();
    let mut edits = Edits::default();

    let server = Server::start(data.path(), SETTINGS);
    let premium = json!({"location": "Local", "properties": {"sku": {"name": "P20Premium"}}});
    assert_eq!(server.call("PUT", COLLECTION, Some(&premium)).0, 201);
    let edited = job(target, &json!({"startTime": "2027-11-01", "state": "Disabled"}));
    assert_eq!(server.call("PUT", &job_path("edited"), Some(&edited)).0, 201);
    let mut server = Some(server);

    for round in 0..KILLS {
        let running = server.take().unwrap_or_else(|| Server::start(data.path(), SETTINGS));
        edits.check(&running);
        let over = AtomicBool::new(false);
        let lifetime = Duration::from_millis(20 + random.below(250));
        let made = thread::scope(|scope| {
            let writers: Vec<_> = (0..2)
                .map(|writer| {
                    let (running, over) = (&running, &over);
                    scope.spawn(move || write_jobs(running, target, round, writer, over))
                })
                .collect();
            let (running, over, edits) = (&running, &over, &mut edits);
            let editor = scope.spawn(move || edits.make(running, target, over));
            // The moment of the kill must not depend on what the server does: that is the point.
            thread::sleep(lifetime);
            running.kill_now();
            over.store(true, Ordering::Relaxed);
            editor.join().expect("ended");
            writers.into_iter().flat_map(|writer| writer.join().expect("ended")).collect::<Vec<_>>()
        });
        accepted.extend(made);
        running.kill();
    }

    let server = Server::start(data.path(), SETTINGS);
    edits.check(&server);
    until("everything to be carried out", || {
        server.call("GET", "/readyz", None).1["executions"] == 0 && all_ended(&server, &accepted)
    });
    let mut entries: HashMap<String, Vec<Value>> = HashMap::new();
    for entry in ledger(&server) {
        let name = entry["job"].as_str().expect("a path").rsplit('/').next().expect("a name").to_owned();
        entries.entry(name).or_default().push(entry);
    }
    let calls = calls.lock().expect("not poisoned");
    let mut repeated = 0;
    for name in &accepted {
        let found =
            entries.get(name).unwrap_or_else(|| panic!("{name} was accepted and is not in the ledger"));
        assert_eq!(found.len(), 1, "{name}: {found:?}");
        assert!(matches!(found[0]["state"].as_str(), Some("ran" | "ranLate")), "{found:?}");
        let tags = calls.get(name).unwrap_or_else(|| panic!("{name} was accepted and never called"));
        assert!(tags.iter().all(|tag| *tag == tags[0]), "{name}: {tags:?}");
        assert_eq!(found[0]["executionTag"].as_str(), Some(tags[0].as_str()), "{name}");
        repeated += tags.len() - 1;
    }
    // What was never called is in no ledger, and what the ledger says ran was called, answered PUT or not.
    for (name, found) in entries {
        assert_eq!(found.len(), 1, "{name}: {found:?}");
        assert!(calls.contains_key(&name), "{name} is in the ledger and was never called");
    }
    println!("{} jobs accepted, {KILLS} kills, {repeated} calls repeated with the same tag", accepted.len());
    assert!(accepted.len() > KILLS, "there was hardly any load: {}", accepted.len());
    server.kill();
}

fn all_ended(server: &Server, accepted: &HashSet<String>) -> bool {
    ledger(server).len() >= accepted.len()
}

/// Makes jobs that run once, at once, until the server is gone; the names of those that were accepted.
fn write_jobs(
    server: &Server,
    target: std::net::SocketAddr,
    round: usize,
    writer: usize,
    over: &AtomicBool,
) -> Vec<String> {
    let mut accepted = Vec::new();
    for n in 0.. {
        if over.load(Ordering::Relaxed) {
            break;
        }
        let name = format!("r{round}-w{writer}-{n}");
        let body = job(target, &json!({}));
        match server.try_call("PUT", &job_path(&name), Some(&body)) {
            Some((201, _)) => accepted.push(name),
            Some((status, answer)) => panic!("{status} {answer}"),
            None => break,
        }
    }
    accepted
}

/// A job whose body is changed again and again: what was answered must be there after the kill.
#[derive(Default)]
struct Edits {
    sent: u64,
    answered: u64,
}

impl Edits {
    fn make(&mut self, server: &Server, target: std::net::SocketAddr, over: &AtomicBool) {
        while !over.load(Ordering::Relaxed) {
            self.sent += 1;
            let request = json!({"uri": format!("http://{target}/"), "body": self.sent.to_string()});
            let change = json!({"properties": {"action": {"request": request}}});
            match server.try_call("PATCH", &job_path("edited"), Some(&change)) {
                Some((200, _)) => self.answered = self.sent,
                Some((status, answer)) => panic!("{status} {answer}"),
                None => break,
            }
        }
    }

    fn check(&mut self, server: &Server) {
        let (_, job) = server.call("GET", &job_path("edited"), None);
        let body = job["properties"]["action"]["request"]["body"].as_str().expect("a body");
        let kept: u64 = body.parse().unwrap_or(0);
        // The last one may have been written without the answer getting through.
        assert!(kept == self.answered || kept == self.sent, "kept {kept}, answered {}", self.answered);
        self.answered = kept;
    }
}
