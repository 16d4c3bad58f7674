//! `punctual migrate` with the real binary: a server under load on SQLite, a move that is killed, a server on PostgreSQL.
//!
//! It needs a PostgreSQL server: `scripts/with-postgres cargo nextest run --package punctual --test migrate`.

mod running;
mod schema;

use std::collections::{BTreeMap, HashMap};
use std::io::{BufRead, BufReader};
use std::net::SocketAddr;
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use engine::SystemClock;
use model::Clock as _;
use running::{COLLECTION, Server, job, job_path, ledger, target, until};
use schema::Schema;
use serde_json::{Value, json};

const PAUSED: &str = "/subscriptions/s/resourceGroups/g/providers/Microsoft.Scheduler/jobCollections/paused?api-version=2016-03-01";

/// A key that nothing was sealed with before.
const KEY: &str = "punctual1_BBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBA";

const SETTINGS: &[(&str, &str)] = &[("PUNCTUAL_PLANS_P20PREMIUM_JOBS", "1000000")];

fn command(data: &Path, url: &str, more: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_punctual"));
    command
        .args(["migrate", "--from", &format!("sqlite:{}", data.display())])
        .args(more)
        .env("PUNCTUAL_DATABASE", url)
        .env("PUNCTUAL_SECRETS_KEY", KEY);
    command
}

fn migrate(data: &Path, url: &str, more: &[&str]) -> Output {
    command(data, url, more).output().expect("run")
}

fn said(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// Starts a move and waits until it says something.
fn migrate_until(data: &Path, url: &str, more: &[&str], word: &str) -> Child {
    let mut process =
        command(data, url, more).stderr(Stdio::piped()).stdout(Stdio::null()).spawn().expect("started");
    let lines = BufReader::new(process.stderr.take().expect("piped")).lines();
    let mut seen = Vec::new();
    for line in lines.map_while(Result::ok) {
        let found = line.contains(word);
        seen.push(line);
        if found {
            return process;
        }
    }
    let ended = process.wait().expect("waited for");
    panic!("it never said '{word}' and ended with {ended}: {seen:#?}");
}

fn kill(mut process: Child) {
    // It may have come to its end meanwhile.
    let _ = process.kill();
    process.wait().expect("waited for");
}

fn on_postgres(url: &str) -> Server {
    let data = tempfile::tempdir().expect("a folder");
    let settings =
        [SETTINGS[0], ("PUNCTUAL_DATABASE", url), ("PUNCTUAL_SECRETS_KEY", KEY), ("PUNCTUAL_NODE", "one")];
    Server::start(data.path(), &settings)
}

/// What the API says about a path, without addresses.
fn answer(server: &Server, path: &str) -> Value {
    let (status, answer) = server.call("GET", path, None);
    assert_eq!(status, 200, "{path}: {answer}");
    let text = answer.to_string().replace(&server.address.to_string(), "HOST");
    serde_json::from_str(&text).expect("JSON")
}

/// What the API says of groups, collections, jobs and their histories, by path.
fn answers(server: &Server) -> BTreeMap<String, Value> {
    let mut paths = vec!["/subscriptions/s/resourcegroups?api-version=2016-03-01".to_owned()];
    for collection in [COLLECTION, PAUSED] {
        paths.push(collection.to_owned());
        for job in answer(server, &collection.replace('?', "/jobs?"))["value"].as_array().expect("a list") {
            let name = job["name"].as_str().expect("a name").rsplit('/').next().expect("a name").to_owned();
            paths.push(collection.replace('?', &format!("/jobs/{name}?")));
            paths.push(collection.replace('?', &format!("/jobs/{name}/history?")));
        }
    }
    paths.into_iter().map(|path| (path.clone(), answer(server, &path))).collect()
}

/// Jobs that do not change any more: paused, off, far away, or waiting for a retry that is far away.
fn furnish(server: &Server, target: SocketAddr) {
    let premium = json!({"location": "Local", "properties": {"sku": {"name": "P20Premium"}}});
    assert_eq!(server.call("PUT", COLLECTION, Some(&premium)).0, 201);
    assert_eq!(server.call("PUT", PAUSED, Some(&premium)).0, 201);
    let minutely = json!({"recurrence": {"frequency": "minute"}});
    let paused = PAUSED.replace('?', "/jobs/minutely?");
    assert_eq!(server.call("PUT", &paused, Some(&job(target, &minutely))).0, 201);
    until("the first run", || ledger(server).len() == 1);
    let off = json!({"properties": {"state": "Suspended"}});
    assert_eq!(server.call("PATCH", PAUSED, Some(&off)).0, 200);

    let far = json!({"startTime": "2027-11-01", "recurrence": {"frequency": "day"}});
    assert_eq!(server.call("PUT", &job_path("far"), Some(&job(target, &far))).0, 201);
    let mut login = job(target, &far);
    login["properties"]["action"]["request"]["authentication"] =
        json!({"type": "Basic", "username": "clerk", "password": "open sesame"});
    assert_eq!(server.call("PUT", &job_path("login"), Some(&login)).0, 201);
    let mut failing = job(([127, 0, 0, 1], 1).into(), &json!({}));
    failing["properties"]["action"]["retryPolicy"] =
        json!({"retryType": "Fixed", "retryInterval": "PT1H", "retryCount": 4});
    for n in 0..5 {
        assert_eq!(server.call("PUT", &job_path(&format!("failing{n}")), Some(&failing)).0, 201);
    }
    until("the failures", || {
        let (_, page) = server.call("GET", &job_path("failing4/history"), None);
        page["value"].as_array().is_some_and(|entries| !entries.is_empty())
    });
}

/// Makes jobs that run once, at once, until it is over; the names of those that were accepted.
fn load(server: &Server, target: SocketAddr, over: &AtomicBool) -> Vec<String> {
    let mut accepted = Vec::new();
    while !over.load(Ordering::Relaxed) {
        let name = format!("load{}", accepted.len());
        match server.try_call("PUT", &job_path(&name), Some(&job(target, &json!({})))) {
            Some((201, _)) => accepted.push(name),
            other => panic!("{other:?}"),
        }
    }
    accepted
}

#[test]
fn a_server_moves_and_every_occurrence_counts_once() {
    let Some(schema) = Schema::fresh("all") else { return };
    let (folder, url) = (tempfile::tempdir().expect("a folder"), schema.url());
    let (data, (target, calls)) = (folder.path(), target());
    let server = Server::start(data, SETTINGS);
    furnish(&server, target);

    // Under load, what grows is copied; the first move dies at it.
    let over = AtomicBool::new(false);
    let accepted = thread::scope(|scope| {
        let writer = scope.spawn(|| load(&server, target, &over));
        until("some load", || ledger(&server).len() > 50);
        kill(migrate_until(data, &url, &[], "copying history"));
        let output = migrate(data, &url, &["--json"]);
        assert_eq!(output.status.code(), Some(6), "{}", said(&output));
        assert!(said(&output).contains("Stop the server"), "{}", said(&output));
        over.store(true, Ordering::Relaxed);
        writer.join().expect("ended")
    });
    assert!(accepted.len() > 50, "there was hardly any load: {}", accepted.len());
    until("the load to be carried out", || ledger(&server).len() == accepted.len() + 1);
    let before = answers(&server);

    // Due before, during and after the move.
    let now = SystemClock.now();
    let mut due = Vec::new();
    for n in 0..24 {
        let at = now + jiff::SignedDuration::from_millis(500 * n);
        let name = format!("due{n}");
        let body = job(target, &json!({"startTime": at.to_string()}));
        assert_eq!(server.call("PUT", &job_path(&name), Some(&body)).0, 201);
        due.push(name);
    }
    until("the first of them", || ledger(&server).len() > accepted.len() + 3);
    assert!(server.terminate().success());

    kill(migrate_until(data, &url, &[], "copying jobs"));
    kill(migrate_until(data, &url, &[], "comparing history"));
    let refused = Command::new(env!("CARGO_BIN_EXE_punctual"))
        .args(["serve", "--listen", "127.0.0.1:0", "--database", &url])
        .env("PUNCTUAL_SECRETS_KEY", KEY)
        .output()
        .expect("run");
    assert!(said(&refused).contains("not all of it is here"), "{}", said(&refused));
    let output = migrate(data, &url, &["--json"]);
    assert!(output.status.success(), "{}", said(&output));
    let summary: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    assert_eq!(summary["result"], "moved");
    let kinds = summary["kinds"].as_array().expect("kinds");
    assert!(
        kinds.iter().all(|kind| kind["same"] == true && kind["source"] == kind["destination"]),
        "{kinds:#?}"
    );
    let again = migrate(data, &url, &["--json"]);
    assert!(again.status.success() && String::from_utf8_lossy(&again.stdout).contains("wasMoved"));

    let gone = Command::new(env!("CARGO_BIN_EXE_punctual"))
        .args(["serve", "--listen", "127.0.0.1:0", "--data"])
        .arg(data)
        .output()
        .expect("run");
    assert_eq!(gone.status.code(), Some(1));
    assert!(
        said(&gone).contains("moved to postgres://") && said(&gone).contains("--undo"),
        "{}",
        said(&gone)
    );

    let server = on_postgres(&url);
    until("everything that was due", || ledger(&server).len() == accepted.len() + due.len() + 1);
    let mut entries: HashMap<String, Vec<Value>> = HashMap::new();
    for entry in ledger(&server) {
        let name = entry["job"].as_str().expect("a path").rsplit('/').next().expect("a name").to_owned();
        entries.entry(name).or_default().push(entry);
    }
    let calls = calls.lock().expect("not poisoned");
    for name in accepted.iter().chain(&due) {
        let found = entries.get(name).unwrap_or_else(|| panic!("{name} is not in the ledger"));
        assert_eq!(found.len(), 1, "{found:#?}");
        let tags = calls.get(name).unwrap_or_else(|| panic!("{name} was never called"));
        assert!(tags.iter().all(|tag| *tag == tags[0]), "{name}: {tags:?}");
        assert_eq!(found[0]["executionTag"].as_str(), Some(tags[0].as_str()), "{name}");
    }
    drop(calls);
    // Whatever was there before says the same.
    assert!(before.len() > 50, "{}", before.len());
    for (path, told) in &before {
        assert_eq!(*told, answer(&server, path), "{path}");
    }
    server.kill();
}

#[test]
fn a_move_waits_for_the_server_to_stop() {
    let Some(schema) = Schema::fresh("wait") else { return };
    let (data, url) = (tempfile::tempdir().expect("a folder"), schema.url());
    let server = Server::start(data.path(), &[]);
    assert_eq!(server.call("PUT", COLLECTION, Some(&json!({}))).0, 201);
    let plan = migrate(data.path(), &url, &["--dry-run", "--json"]);
    assert!(plan.status.success(), "{}", said(&plan));
    let plan: Value = serde_json::from_slice(&plan.stdout).expect("JSON");
    assert_eq!((&plan["result"], &plan["served"]), (&json!("checked"), &json!(true)));
    assert_eq!(plan["sealedAnew"].as_array().map(Vec::len), Some(1));
    let mut waiting = migrate_until(data.path(), &url, &["--wait"], "waiting");
    assert_eq!(
        server
            .call("PUT", &job_path("last"), Some(&job(server.address, &json!({"startTime": "2027-11-01"}))))
            .0,
        201
    );
    assert!(server.terminate().success());
    assert!(waiting.wait().expect("waited for").success());
    let server = on_postgres(&url);
    assert_eq!(server.call("GET", &job_path("last"), None).0, 200);
    server.kill();
}

#[test]
fn what_cannot_be_right_is_told() {
    let data = tempfile::tempdir().expect("a folder");
    Server::start(data.path(), &[]).kill();
    let nowhere = "postgres://punctual:secret@127.0.0.1:1/punctual";
    let run = |from: &str, url: &str, key: Option<&str>| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_punctual"));
        command.args(["migrate", "--from", from, "--to", url]).env_remove("PUNCTUAL_SECRETS_KEY");
        key.map(|key| command.env("PUNCTUAL_SECRETS_KEY", key));
        let output = command.output().expect("run");
        assert!(!said(&output).contains("secret@"), "{}", said(&output));
        (output.status.code(), said(&output))
    };
    let sqlite = format!("sqlite:{}", data.path().display());
    let (status, told) = run(&data.path().display().to_string(), nowhere, None);
    assert!(status == Some(2) && told.contains("sqlite:"), "{told}");
    let (status, told) = run("sqlite:/nowhere", nowhere, None);
    assert!(status == Some(3) && told.contains("/nowhere"), "{told}");
    let (status, told) = run(&sqlite, "mysql://u:secret@h/d", None);
    assert!(status == Some(2) && told.contains("postgres://"), "{told}");
    let (status, told) = run(&sqlite, nowhere, Some("sesame"));
    assert!(status == Some(1) && told.contains("PUNCTUAL_SECRETS_KEY"), "{told}");
    let (status, told) = run(&sqlite, nowhere, None);
    assert!(status == Some(5) && told.contains("127.0.0.1:1") && told.contains("same command"), "{told}");
    // A store of a version to come.
    let db = rusqlite::Connection::open(data.path().join("punctual.db")).expect("opened");
    db.pragma_update(None, "user_version", 99).expect("written");
    drop(db);
    let (status, told) = run(&sqlite, nowhere, None);
    assert!(status == Some(1) && told.contains("newer version"), "{told}");
    std::fs::write(data.path().join("punctual.db"), "a text, and no database at all, but long enough")
        .expect("written");
    let (status, told) = run(&sqlite, nowhere, None);
    assert!(status == Some(1) && told.contains("no SQLite database"), "{told}");
    std::fs::remove_file(data.path().join("keys")).expect("removed");
    let (status, told) = run(&sqlite, nowhere, None);
    assert!(status == Some(2) && told.contains("keys generate"), "{told}");
}
