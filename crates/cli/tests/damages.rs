//! What becomes of a store whose files were cut, mixed, lost or damaged while no server used them, with the real binary:
//! it is served complete, or refused with a reason, which `punctual doctor` gives too.
//!
//! Many more damages, at random, are in `crates/store/tests/sqlite_damages.rs`.

#[allow(dead_code, reason = "each test file uses its part")]
mod running;

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use engine::SystemClock;
use jiff::SignedDuration;
use model::Clock as _;
use running::{COLLECTION, Server, job, job_path, until};
use serde_json::{Value, json};
use tempfile::TempDir;

const DB: &str = "punctual.db";
const LOG: &str = "punctual.db-wal";
const WITNESS: &str = "punctual.db.witness";

/// A frame of the log.
const FRAME: usize = 24 + 4096;

fn put(server: &Server, names: &[&str]) {
    let far = SystemClock.now() + SignedDuration::from_hours(24);
    let far = job("127.0.0.1:1".parse().expect("an address"), &json!({"startTime": far.to_string()}));
    for name in names {
        let (status, answer) = server.call("PUT", &job_path(name), Some(&far));
        assert_eq!(status, 201, "{answer}");
    }
}

fn jobs(server: &Server) -> BTreeSet<String> {
    let (status, list) = server.call("GET", &COLLECTION.replace('?', "/jobs?"), None);
    assert_eq!(status, 200, "{list}");
    let names = list["value"].as_array().into_iter().flatten();
    names.filter_map(|job| job["name"].as_str()?.rsplit('/').next().map(str::to_owned)).collect()
}

/// Folders of one store: `first` was stopped, `stopped` was stopped later, `killed` even later, `backup.db` is of between.
struct Left(TempDir);

impl Left {
    fn make() -> Self {
        let left = Self(tempfile::tempdir().expect("a folder"));
        let data = left.path("data");
        let server = Server::start(&data, &[]);
        assert_eq!(server.call("PUT", COLLECTION, Some(&json!({"location": "Local"}))).0, 201);
        put(&server, &["a1", "a2", "a3", "a4"]);
        assert!(server.terminate().success());
        copy(&data, &left.path("first"));
        let server = Server::start(&data, &[]);
        put(&server, &["b1", "b2", "b3", "b4"]);
        let backup = left.path("backup.db");
        let address = format!("http://{}", server.address);
        done(&punctual(&["backup", &backup.display().to_string(), "--server", &address]));
        put(&server, &["c1", "c2", "c3", "c4"]);
        assert!(server.terminate().success());
        copy(&data, &left.path("stopped"));
        let server = Server::start(&data, &[]);
        put(&server, &["d1", "d2", "d3", "d4"]);
        server.kill();
        copy(&data, &left.path("killed"));
        left
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    /// A copy of a folder, to be damaged.
    fn again(&self, name: &str) -> TempDir {
        let folder = tempfile::tempdir().expect("a folder");
        copy(&self.path(name), folder.path());
        folder
    }
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).expect("made");
    for file in fs::read_dir(from).expect("read").flatten() {
        fs::copy(file.path(), to.join(file.file_name())).expect("copied");
    }
}

fn names(rounds: &str) -> BTreeSet<String> {
    rounds.chars().flat_map(|round| (1..=4).map(move |n| format!("{round}{n}"))).collect()
}

fn punctual(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_punctual")).args(arguments).output().expect("run")
}

fn done(output: &Output) -> String {
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// Starts a server that refuses; why.
fn refused(folder: &Path) -> String {
    let mut process = Command::new(env!("CARGO_BIN_EXE_punctual"))
        .args(["serve", "--listen", "127.0.0.1:0", "--data"])
        .arg(folder)
        .env("PUNCTUAL_LOG_LEVEL", "error")
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("started");
    until("the start to fail", || process.try_wait().expect("asked").is_some());
    let ended = process.wait_with_output().expect("ended");
    let said = String::from_utf8_lossy(&ended.stderr).into_owned();
    assert_eq!(ended.status.code(), Some(1), "{said}");
    assert!(ended.stdout.is_empty(), "it says that it serves: {said}");
    said
}

/// The same; it says so, and the doctor says the same before and afterwards.
#[track_caller]
fn is_refused(folder: &Path, words: &[&str]) {
    let diagnose = || {
        let found = punctual(&["doctor", "--json", "--data", &folder.display().to_string()]);
        assert_eq!(found.status.code(), Some(1), "{}", String::from_utf8_lossy(&found.stdout));
        let found: Value = serde_json::from_slice(&found.stdout).expect("JSON");
        let all = found["findings"].as_array().expect("a list").clone();
        let store = all.into_iter().find(|finding| finding["check"] == "data.store").expect("looked at");
        assert_eq!(store["verdict"], "wrong", "{store}");
        store["says"].as_str().expect("words").to_owned()
    };
    let told = diagnose();
    let said = refused(folder);
    assert!(said.contains(&told), "{said} is not {told}");
    assert_eq!(diagnose(), told, "a refused start changes nothing");
    for words in words {
        assert!(told.contains(words), "{words}: {told}");
    }
}

#[track_caller]
fn is_served(folder: &Path, rounds: &str) {
    let server = Server::start(folder, &[]);
    assert_eq!(jobs(&server), names(rounds));
    assert!(server.terminate().success());
}

#[test]
fn a_clean_stop_leaves_everything_in_one_file_of_its_owner() {
    let left = Left::make();
    assert!(!left.path("stopped").join(LOG).exists(), "the log was worked into the file");
    let folder = tempfile::tempdir().expect("a folder");
    for name in [DB, "keys"] {
        fs::copy(left.path("stopped").join(name), folder.path().join(name)).expect("copied");
    }
    is_served(folder.path(), "abc");

    let mode = |path: &Path| fs::metadata(path).expect("there").permissions().mode() & 0o777;
    assert_eq!(mode(&left.path("data")), 0o700);
    let server = Server::start(&left.path("data"), &[]);
    put(&server, &["e1"]);
    for name in [DB, LOG, "punctual.db-shm", "punctual.db.lock", WITNESS, "keys"] {
        assert_eq!(mode(&left.path("data").join(name)), 0o600, "{name}");
    }
    assert!(server.terminate().success());
    assert_eq!(mode(&left.path("backup.db")), 0o600);

    // A folder that is open to others stays as it is; that is said.
    fs::set_permissions(left.path("data"), fs::Permissions::from_mode(0o755)).expect("changed");
    fs::set_permissions(left.path("data").join(DB), fs::Permissions::from_mode(0o644)).expect("changed");
    let found = punctual(&["doctor", "--data", &left.path("data").display().to_string()]);
    let found = String::from_utf8_lossy(&found.stdout).into_owned();
    assert!(found.contains("data.private") && found.contains("mode 644"), "{found}");
}

#[test]
fn a_store_that_is_gone_is_not_begun_anew() {
    let left = Left::make();
    for state in ["stopped", "killed"] {
        let folder = left.again(state);
        fs::write(folder.path().join(DB), "").expect("written");
        is_refused(folder.path(), &["the file is empty", "keys", WITNESS]);
        fs::remove_file(folder.path().join(DB)).expect("removed");
        is_refused(folder.path(), &["the file is missing", "keys", WITNESS]);
        for name in [LOG, WITNESS] {
            // There may be none.
            let _ = fs::remove_file(folder.path().join(name));
        }
        is_refused(folder.path(), &["the file is missing", "keys"]);
        fs::remove_file(folder.path().join("keys")).expect("removed");
        let server = Server::start(folder.path(), &[]);
        assert_eq!(server.call("GET", "/readyz", None).1["jobs"], 0, "nothing says that there was a store");
        server.kill();
    }
}

#[test]
fn a_log_that_was_lost_or_damaged_is_refused() {
    let left = Left::make();
    let whole = fs::read(left.path("killed").join(LOG)).expect("a log");
    let with_log = |log: Option<&[u8]>| {
        let folder = left.again("killed");
        match log {
            Some(log) => fs::write(folder.path().join(LOG), log).expect("written"),
            None => fs::remove_file(folder.path().join(LOG)).expect("removed"),
        }
        folder
    };
    is_refused(with_log(None).path(), &["the log", "missing or empty", "had been acknowledged", "restore"]);
    is_refused(with_log(Some(&[])).path(), &["the log", "missing or empty", "had been acknowledged"]);
    for percent in [10, 50, 90] {
        let cut = with_log(Some(&whole[..whole.len() * percent / 100]));
        is_refused(cut.path(), &["the log", "cut or damaged", "had been acknowledged"]);
    }
    let garbage: Vec<u8> = (0..whole.len()).map(|n| (n * n % 251) as u8).collect();
    is_refused(with_log(Some(&garbage)).path(), &["the log", "cut or damaged"]);
    let mut flipped = whole.clone();
    flipped[32 + whole.len() / FRAME / 3 * FRAME + 24 + 2000] ^= 4;
    is_refused(with_log(Some(&flipped)).path(), &["the log", "damaged in the middle"]);
    // Also where nothing but the log itself can say so, as after a power failure.
    let without = with_log(Some(&flipped));
    fs::remove_file(without.path().join(WITNESS)).expect("removed");
    is_refused(without.path(), &["the log", "damaged in the middle"]);
    let copied = with_log(None);
    fs::remove_file(copied.path().join(WITNESS)).expect("removed");
    is_refused(copied.path(), &["copied from a server that was running or was killed"]);

    // What a kill leaves behind the last commit was never acknowledged.
    let mut torn = whole.clone();
    torn.extend_from_slice(&whole[whole.len() - FRAME..whole.len() - 100]);
    is_served(with_log(Some(&torn)).path(), "abcd");
    is_served(&left.path("killed"), "abcd");
}

#[test]
fn files_that_do_not_belong_together_are_refused() {
    let left = Left::make();
    let take = |folder: &TempDir, name: &str, from: &Path| {
        fs::copy(from, folder.path().join(name)).expect("copied");
    };
    // A backup beside the log of what was there before; and without it.
    let folder = left.again("killed");
    take(&folder, DB, &left.path("backup.db"));
    is_refused(folder.path(), &["this is a copy", "move the log away"]);
    fs::remove_file(folder.path().join(LOG)).expect("removed");
    is_served(folder.path(), "ab");
    let folder = left.again("stopped");
    take(&folder, DB, &left.path("backup.db"));
    is_served(folder.path(), "ab");

    // An older file, and an older log.
    let folder = left.again("stopped");
    take(&folder, DB, &left.path("first").join(DB));
    is_refused(folder.path(), &["older one"]);
    let folder = left.again("killed");
    take(&folder, DB, &left.path("first").join(DB));
    is_refused(folder.path(), &["is not of this file"]);
    let folder = left.again("stopped");
    take(&folder, LOG, &left.path("killed").join(LOG));
    is_refused(folder.path(), &["the log"]);
    // Those of another store, with its keys.
    let other = Left::make();
    for name in [DB, LOG] {
        let folder = left.again("killed");
        take(&folder, name, &other.path("killed").join(name));
        is_refused(folder.path(), &["is not of this file"]);
    }
    let folder = left.again("stopped");
    take(&folder, DB, &other.path("stopped").join(DB));
    is_refused(folder.path(), &["another store"]);
}

#[test]
fn a_file_that_was_changed_is_refused() {
    let left = Left::make();
    let folder = left.again("stopped");
    let mut bytes = fs::read(folder.path().join(DB)).expect("read");
    let at = bytes.windows(2).position(|two| two == b"c3").expect("its name");
    bytes[at] ^= 1;
    fs::write(folder.path().join(DB), &bytes).expect("written");
    is_refused(folder.path(), &["changed or damaged since the server was stopped"]);
    // Somebody who meant it.
    fs::remove_file(folder.path().join(WITNESS)).expect("removed");
    let server = Server::start(folder.path(), &[]);
    server.kill();

    let folder = left.again("killed");
    fs::write(folder.path().join(DB), &bytes).expect("written");
    let told = refused(folder.path());
    assert!(told.contains("the file is damaged") || told.contains("is not of this file"), "{told}");
}

#[test]
fn a_backup_and_what_is_left_of_a_store_are_restored() {
    let left = Left::make();
    let restore = |from: &Path, folder: &Path| {
        punctual(&["restore", &from.display().to_string(), "--data", &folder.display().to_string()])
    };
    // A backup, in the place of a store that is not whole.
    let folder = left.again("killed");
    fs::write(folder.path().join(LOG), "").expect("written");
    let told = done(&restore(&left.path("backup.db"), folder.path()));
    assert!(told.contains("8 jobs") && told.contains("before-"), "{told}");
    is_served(folder.path(), "ab");

    // What is left of a store, in its own place.
    let folder = left.again("killed");
    let log = fs::read(folder.path().join(LOG)).expect("read");
    fs::write(folder.path().join(LOG), &log[..32]).expect("written");
    let own = folder.path().join(DB);
    let told = done(&restore(&own, folder.path()));
    assert!(told.contains("what could be read") && told.contains("12 jobs"), "{told}");
    is_served(folder.path(), "abc");

    // Into a folder that is not there; its keys are asked for.
    let new = folder.path().join("new");
    let told = done(&restore(&left.path("backup.db"), &new));
    assert!(told.contains("sealed with the key"), "{told}");
    fs::copy(left.path("data/keys"), new.join("keys")).expect("copied");
    is_served(&new, "ab");

    // Not beside a server.
    let server = Server::start(&new, &[]);
    let told = restore(&left.path("backup.db"), &new);
    assert!(!told.status.success());
    assert!(String::from_utf8_lossy(&told.stderr).contains("another server is using it"), "{told:?}");
    assert_eq!(jobs(&server), names("ab"));
    let told = restore(&new.join(DB), &folder.path().join("newer"));
    assert!(String::from_utf8_lossy(&told.stderr).contains("punctual backup"), "{told:?}");
    server.kill();
    let told = restore(&folder.path().join("nothing"), &new);
    assert!(String::from_utf8_lossy(&told.stderr).contains("cannot be read"), "{told:?}");
}

#[test]
fn no_second_server_comes_in_when_the_lock_is_deleted() {
    let folder = tempfile::tempdir().expect("a folder");
    let server = Server::start(folder.path(), &[]);
    fs::remove_file(folder.path().join("punctual.db.lock")).expect("removed");
    assert!(refused(folder.path()).contains("another server is using it"));
    let found = punctual(&["doctor", "--data", &folder.path().display().to_string()]);
    let found = String::from_utf8_lossy(&found.stdout).into_owned();
    assert!(found.contains("a running server is using the folder"), "{found}");
    assert_eq!(server.call("GET", "/readyz", None).0, 200);
    assert!(server.terminate().success());
    is_served_empty(folder.path());
}

fn is_served_empty(folder: &Path) {
    let server = Server::start(folder, &[]);
    assert_eq!(server.call("GET", "/readyz", None).0, 200);
    server.kill();
}
