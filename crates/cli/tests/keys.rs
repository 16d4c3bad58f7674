//! `punctual keys` and what a server does without the right ones.

mod running;

use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::{Command, Output};

use running::{COLLECTION, Server, job_path, until};
use serde_json::{Value, json};

const VARIABLE: &str = "PUNCTUAL_SECRETS_KEY";

fn punctual(arguments: &[&str], server: Option<&Server>) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_punctual"));
    if let Some(server) = server {
        command.env("PUNCTUAL_SERVER", format!("http://{}", server.address));
    }
    command.args(arguments).output().expect("run")
}

/// What a command prints; it must succeed.
fn printed(arguments: &[&str], server: Option<&Server>) -> String {
    let output = punctual(arguments, server);
    assert!(output.status.success(), "{arguments:?}: {}", said(&output));
    String::from_utf8(output.stdout).expect("text")
}

fn said(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

fn new_key() -> String {
    printed(&["keys", "generate"], None).trim().to_owned()
}

/// What a start that fails says.
fn refused(data: &Path, settings: &[(&str, &str)]) -> String {
    let output = Command::new(env!("CARGO_BIN_EXE_punctual"))
        .args(["serve", "--listen", "127.0.0.1:0", "--data"])
        .arg(data)
        .envs(settings.iter().copied())
        .output()
        .expect("run");
    assert!(!output.status.success());
    said(&output)
}

/// Writes so many jobs of which each has a password, and none is due.
fn fill(server: &Server, jobs: usize) {
    let premium = json!({"location": "Local", "properties": {"sku": {"name": "P20Premium"}}});
    assert_eq!(server.call("PUT", COLLECTION, Some(&premium)).0, 201);
    for n in 0..jobs {
        let authentication =
            json!({"type": "Basic", "username": "clerk", "password": format!("password-{n}")});
        let request =
            json!({"method": "GET", "uri": "http://127.0.0.1:1/", "authentication": authentication});
        let job = json!({"properties": {"state": "Disabled", "action": {"type": "Http", "request": request},
            "recurrence": {"frequency": "day"}}});
        assert_eq!(server.call("PUT", &job_path(&format!("j{n}")), Some(&job)).0, 201);
    }
}

/// The ids of keys that the store needs, and how many definitions are sealed by the one that seals.
fn standing(server: &Server) -> (Vec<String>, u64) {
    let (status, body) = server.call("GET", "/api/keys", None);
    assert_eq!(status, 200, "{body}");
    let keys = body["keys"].as_array().expect("a list");
    assert_eq!(keys[0]["seals"], true, "{body}");
    let needed = keys.iter().filter(|key| key["needed"] == true);
    let ids = needed.map(|key| key["id"].as_str().expect("an id").to_owned()).collect();
    (ids, keys[0]["definitions"].as_u64().expect("a number"))
}

#[test]
fn the_first_start_makes_a_key_that_later_ones_need() {
    let data = tempfile::tempdir().expect("a folder");
    let server = Server::start(data.path(), &[]);
    let (ids, _) = standing(&server);
    server.terminate();
    let file = data.path().join("keys");
    assert_eq!(std::fs::metadata(&file).expect("made").permissions().mode() & 0o777, 0o600);

    let kept = std::fs::read_to_string(&file).expect("read");
    std::fs::remove_file(&file).expect("removed");
    let why = refused(data.path(), &[]);
    for part in [&*ids[0], "keys is not there", VARIABLE, "secrets.key-file"] {
        assert!(why.contains(part), "{why} lacks {part}");
    }
    assert!(!file.exists(), "another key would not help");
    let why = refused(data.path(), &[(VARIABLE, &new_key())]);
    assert!(why.contains(&ids[0]) && why.contains(VARIABLE), "{why}");
    std::fs::write(&file, kept).expect("put back");
    Server::start(data.path(), &[]).terminate();
}

#[test]
fn wrong_keys_are_refused_and_never_shown() {
    let data = tempfile::tempdir().expect("a folder");
    let file = data.path().join("given");
    std::fs::write(&file, "hunter2\n").expect("written");
    let file = file.to_str().expect("text");
    let key = new_key();
    for (settings, parts) in [
        (&[(VARIABLE, "hunter2")][..], &[VARIABLE, "key 1 of 1", "keys generate"][..]),
        (&[(VARIABLE, &format!("{key},hunter2"))], &[VARIABLE, "key 2 of 2"]),
        (&[(VARIABLE, "")], &[VARIABLE, "no key"]),
        (&[("PUNCTUAL_SECRETS_KEY_FILE", file)], &["secrets.key-file", "key 1 of 1"]),
        (&[("PUNCTUAL_SECRETS_KEY_FILE", "/nowhere/keys")], &["secrets.key-file", "/nowhere/keys"]),
        (&[("PUNCTUAL_SECRETS_KEY_FILE", file), (VARIABLE, &key)], &[VARIABLE, "secrets.key-file", "both"]),
    ] {
        let why = refused(data.path(), settings);
        for part in parts {
            assert!(why.contains(part), "{why} lacks {part}");
        }
        assert!(!why.contains("hunter2") && !why.contains(&key), "{why}");
    }
}

#[test]
fn a_server_changes_its_own_key_even_when_it_is_killed() {
    let data = tempfile::tempdir().expect("a folder");
    let mut server = Server::start(data.path(), &[]);
    fill(&server, 450);
    let (old, sealed) = standing(&server);
    assert_eq!(sealed, 450);
    let (status, body) = server.call("POST", "/api/keys/rotate", None);
    assert_eq!(status, 202, "{body}");
    server.kill();
    server = Server::start(data.path(), &[]);
    until("the change of keys goes on by itself", || standing(&server).0.len() == 1);
    let (new, sealed) = standing(&server);
    assert_eq!(sealed, 450);
    assert_ne!(new, old);

    let text = printed(&["keys", "rotate", "--dry-run"], Some(&server));
    let says = format!("seal 450 definitions with it, in place of the key {}\n", new[0]);
    assert!(text.starts_with("would make another key in") && text.ends_with(&says), "{text}");
    assert_eq!(standing(&server), (new.clone(), 450), "a dry run changes nothing");

    let text = printed(&["keys", "rotate"], Some(&server));
    let (newest, sealed) = standing(&server);
    assert_eq!((newest.len(), sealed), (1, 450));
    for part in [&*newest[0], &new[0], "removed from"] {
        assert!(text.contains(part), "{text} lacks {part}");
    }
    let file = data.path().join("keys");
    until("the file has one key", || {
        std::fs::read_to_string(&file).expect("read").matches("punctual1_").count() == 1
    });
    let text = printed(&["keys", "status"], Some(&server));
    assert!(text.contains(&newest[0]) && text.contains("450 definitions  seals"), "{text}");
    assert_eq!(printed(&["keys", "status", "-q"], Some(&server)).trim(), newest[0]);
    let told: Value =
        serde_json::from_str(&printed(&["keys", "status", "--json"], Some(&server))).expect("JSON");
    let key = json!({"id": newest[0], "seals": true, "needed": true, "definitions": 450});
    assert_eq!((&told["source"], &told["keys"][0]), (&json!("managed"), &key), "{told}");
    assert_eq!(told["file"], file.display().to_string());
    server.terminate();
    let server = Server::start(data.path(), &[]);
    assert_eq!(server.call("GET", &job_path("j449"), None).0, 200);
    server.kill();
}

#[test]
fn keys_of_a_file_are_the_operators_to_change() {
    let data = tempfile::tempdir().expect("a folder");
    let file = data.path().join("given");
    let (old, new) = (new_key(), new_key());
    std::fs::write(&file, format!("{old}\n")).expect("written");
    let settings = [("PUNCTUAL_SECRETS_KEY_FILE", file.to_str().expect("text"))];
    let server = Server::start(data.path(), &settings);
    fill(&server, 3);
    let (before, _) = standing(&server);
    let output = punctual(&["keys", "rotate"], Some(&server));
    assert!(!output.status.success());
    assert!(said(&output).contains("put a new one before it"), "{}", said(&output));

    let output = punctual(&["keys", "rotate", "--dry-run"], Some(&server));
    assert_eq!(output.status.code(), Some(4), "it would be refused: {}", said(&output));

    std::fs::write(&file, format!("{new}\n{old}\n")).expect("written");
    let foreseen = printed(&["keys", "rotate", "--dry-run", "--json"], Some(&server));
    let foreseen: Value = serde_json::from_str(&foreseen).expect("JSON");
    assert_eq!((&foreseen["dryRun"], &foreseen["replaced"]), (&json!(true), &json!(before)), "{foreseen}");
    assert_eq!(standing(&server).0, before, "a dry run changes nothing");
    let text = printed(&["keys", "rotate"], Some(&server));
    let says = format!("The key {} can be removed from {}", before[0], file.display());
    assert!(text.contains(&says), "{text}");
    assert_eq!(foreseen["key"], standing(&server).0[0], "it has become the key that was foreseen");
    server.terminate();
    assert!(!data.path().join("keys").exists(), "nobody asked for one");
    std::fs::write(&file, format!("{new}\n")).expect("written");
    let server = Server::start(data.path(), &settings);
    assert_eq!(server.call("GET", &job_path("j2"), None).0, 200);
    server.kill();
}

#[test]
fn keys_of_the_environment_change_with_a_restart() {
    let data = tempfile::tempdir().expect("a folder");
    let old = new_key();
    let server = Server::start(data.path(), &[(VARIABLE, &old)]);
    fill(&server, 3);
    let text = printed(&["keys", "rotate", "--dry-run"], Some(&server));
    assert!(text.starts_with("would change nothing") && !text.contains("punctual1_"), "{text}");
    let told = printed(&["keys", "rotate", "--json"], Some(&server));
    let told: Value = serde_json::from_str(&told).expect("JSON");
    let is_key = told["newKey"].as_str().is_some_and(|key| key.starts_with("punctual1_"));
    assert!(is_key && told["result"] == "restart", "{told}");
    let text = printed(&["keys", "rotate"], Some(&server));
    assert!(text.contains("NEW,OLD"), "{text}");
    let new = text.split_whitespace().find(|word| word.starts_with("punctual1_")).expect("a key").to_owned();
    server.terminate();
    let server = Server::start(data.path(), &[(VARIABLE, &format!("{new},{old}"))]);
    until("everything is sealed with the new key", || standing(&server).0.len() == 1);
    assert_eq!(standing(&server).1, 3);
    server.terminate();
    assert!(refused(data.path(), &[(VARIABLE, &old)]).contains("sealed with the key"));
    let server = Server::start(data.path(), &[(VARIABLE, &new)]);
    assert_eq!(server.call("GET", &job_path("j2"), None).0, 200);
    server.kill();
}

/// The doctor's verdict on the keys, and what it says.
fn diagnosed(data: &Path, settings: &[(&str, &str)]) -> (String, String) {
    let output = Command::new(env!("CARGO_BIN_EXE_punctual"))
        .args(["doctor", "--json", "--listen", "127.0.0.1:0", "--data"])
        .arg(data)
        .envs(settings.iter().copied())
        .output()
        .expect("run");
    let told: serde_json::Value = serde_json::from_slice(&output.stdout).expect("JSON");
    let findings = told["findings"].as_array().expect("a list");
    let keys = findings.iter().find(|finding| finding["check"] == "keys.secrets").expect("a finding");
    let text = |member: &str| keys[member].as_str().expect("a text").to_owned();
    (text("verdict"), text("says"))
}

#[test]
fn the_doctor_knows_whether_the_keys_are_at_hand() {
    let data = tempfile::tempdir().expect("a folder");
    assert_eq!(diagnosed(data.path(), &[]).0, "ok", "there is nothing to open yet");
    assert!(!data.path().join("keys").exists(), "looking makes nothing");
    let server = Server::start(data.path(), &[]);
    let (ids, _) = standing(&server);
    server.terminate();

    let (verdict, says) = diagnosed(data.path(), &[]);
    assert!(verdict == "ok" && says.contains(&ids[0]), "{verdict}: {says}");
    let other = new_key();
    let (verdict, says) = diagnosed(data.path(), &[(VARIABLE, &other)]);
    assert!(verdict == "wrong" && says.contains(&ids[0]) && says.contains(VARIABLE), "{verdict}: {says}");
    assert!(!says.contains(&other), "{says}");
    let (verdict, says) = diagnosed(data.path(), &[(VARIABLE, "nonsense")]);
    assert!(verdict == "wrong" && says.contains("cannot be read"), "{verdict}: {says}");
    std::fs::remove_file(data.path().join("keys")).expect("removed");
    let (verdict, says) = diagnosed(data.path(), &[]);
    assert!(verdict == "wrong" && says.contains(&ids[0]), "{verdict}: {says}");
}
