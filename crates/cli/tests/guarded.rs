//! A server that asks who calls, as operators meet it: the first token, roles, what is refused, and an audit that somebody
//! has changed.

#[allow(dead_code, reason = "each test file uses its part")]
mod running;

use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::process::{Command, Output, Stdio};

use running::Server;
use rusqlite::Connection;

/// Runs a command of ours in a folder, as its user would.
fn punctual(folder: &Path, variables: &[(&str, &str)], arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_punctual"))
        .args(arguments)
        .current_dir(folder)
        .env("HOME", folder)
        .env_remove("XDG_CONFIG_HOME")
        .env_remove("PUNCTUAL_CONTEXT")
        .env_remove("PUNCTUAL_TOKEN")
        .envs(variables.iter().copied())
        .output()
        .expect("run")
}

fn said(output: &Output) -> String {
    let [out, err] =
        [&output.stdout, &output.stderr].map(|bytes| String::from_utf8_lossy(bytes).into_owned());
    format!("{out}{err}")
}

#[track_caller]
fn done(output: &Output) -> String {
    assert!(output.status.success(), "{}: {}", output.status, said(output));
    String::from_utf8_lossy(&output.stdout).trim().to_owned()
}

#[track_caller]
fn failed(output: &Output, status: i32, words: &str) {
    assert_eq!(output.status.code(), Some(status), "{}", said(output));
    assert!(said(output).contains(words), "{}", said(output));
}

const GUARDED: (&str, &str) = ("PUNCTUAL_AUTH_ENABLED", "true");

#[test]
fn the_first_token_opens_the_door_and_the_others_do_what_they_may() {
    let folder = tempfile::tempdir().expect("a folder");
    let folder = folder.path();
    let offline = ["token", "create", "admin", "--offline", "--data", "data"];
    let owner = done(&punctual(folder, &[], &offline));
    assert!(owner.starts_with("pt_") && owner.len() == 91, "{owner}");
    // Only what was made of it is there.
    for file in std::fs::read_dir(folder.join("data")).expect("a folder") {
        let bytes = std::fs::read(file.expect("a file").path()).expect("read");
        let holds = |text: &str| bytes.windows(text.len()).any(|part| part == text.as_bytes());
        assert!(!holds(&owner) && !holds(&owner[19..83]));
    }

    let server = Server::start(&folder.join("data"), &[GUARDED]);
    let address = format!("http://{}", server.address);
    let as_holder = |token: &str, arguments: &[&str]| {
        punctual(folder, &[("PUNCTUAL_SERVER", &address), ("PUNCTUAL_TOKEN", token)], arguments)
    };
    // While a server uses the store, nobody else does.
    failed(&punctual(folder, &[], &offline), 1, "");
    failed(&punctual(folder, &[("PUNCTUAL_SERVER", &address)], &["job", "list"]), 1, "Authorization: Bearer");
    failed(&as_holder("pt_nonsense", &["job", "list"]), 1, "damaged");

    done(&as_holder(&owner, &["collection", "create", "billing"]));
    let scope = "/subscriptions/default/resourceGroups/default";
    let create = ["token", "create", "robot", "--role", "reader", "--scope", scope, "--expires-in", "7"];
    let reader = done(&as_holder(&owner, &create));
    assert_eq!(done(&as_holder(&reader, &["collection", "list", "-q"])), "billing");
    failed(&as_holder(&reader, &["collection", "disable", "billing"]), 1, "the role Operator there");
    failed(&as_holder(&reader, &["token", "list"]), 1, "may not do");
    let id = &reader[3..19];
    let assign = ["role", "assign", &format!("token:{id}"), "Operator", scope];
    done(&as_holder(&owner, &assign));
    done(&as_holder(&reader, &["collection", "disable", "billing"]));
    let roles = done(&as_holder(&owner, &["role", "list"]));
    assert!(roles.contains("Operator") && roles.contains("Owner"), "{roles}");

    // A stored context has it for its own server, and shows it to nobody else.
    std::fs::write(folder.join("token"), format!("{reader}\n")).expect("written");
    let set = ["context", "set", "office", "--server", &address, "--token-file", "token"];
    done(&punctual(folder, &[], &set));
    assert_eq!(done(&punctual(folder, &[], &["collection", "list", "-q", "--context", "office"])), "billing");
    let shown = said(&punctual(folder, &[], &["context", "list", "--json"]));
    assert!(!shown.contains("pt_"), "{shown}");
    let elsewhere = ["collection", "list", "--context", "office", "--server", &address];
    failed(&punctual(folder, &[], &elsewhere), 1, "Authorization: Bearer");

    done(&as_holder(&owner, &["token", "revoke", id]));
    failed(&as_holder(&reader, &["collection", "list"]), 1, "revoked");
    failed(&as_holder(&owner, &["token", "revoke", id]), 3, "");
    let listed = done(&as_holder(&owner, &["token", "list"]));
    assert!(
        listed.contains("robot") && listed.contains("revoked") && !listed.contains(&owner[20..60]),
        "{listed}"
    );
    let denied = done(&as_holder(&owner, &["audit", "list", "--verdict", "denied", "--json"]));
    assert!(denied.contains("jobCollections/switch") && denied.contains("127.0.0.1"), "{denied}");
    done(&as_holder(&owner, &["audit", "verify"]));
    assert!(server.terminate().success());
}

#[test]
fn an_audit_that_was_changed_is_found() {
    let folder = tempfile::tempdir().expect("a folder");
    let folder = folder.path();
    let server = Server::start(&folder.join("data"), &[]);
    let address = format!("http://{}", server.address);
    for name in ["a", "b", "c", "d"] {
        done(&punctual(folder, &[("PUNCTUAL_SERVER", &address)], &["collection", "create", name]));
    }
    assert!(server.terminate().success());

    let verify = |change: &str| {
        let db = Connection::open(folder.join("data/punctual.db")).expect("opened");
        db.execute_batch(&format!("BEGIN; {change}; COMMIT")).expect("changed");
        drop(db);
        // Without this the server would not start: whoever changes the file can remove it too.
        std::fs::remove_file(folder.join("data/punctual.db.witness")).expect("removed");
        let server = Server::start(&folder.join("data"), &[]);
        let address = format!("http://{}", server.address);
        let found = punctual(folder, &[("PUNCTUAL_SERVER", &address)], &["audit", "verify"]);
        assert!(server.terminate().success());
        found
    };
    done(&verify("SELECT 1"));
    let is = |found: &Output, words: &str| failed(found, 1, words);
    let undo = "UPDATE audit SET name = 'local' WHERE serial = 2";
    is(&verify("UPDATE audit SET name = 'Eve' WHERE serial = 2"), "entry 2 was changed");
    done(&verify(undo));
    is(&verify("UPDATE audit_chains SET serial = 5"), "it ends with entry 4, where 5 was written");
    done(&verify("UPDATE audit_chains SET serial = 4"));
    is(&verify("DELETE FROM audit WHERE serial = 3"), "entry 3 is missing");
    is(&verify("DELETE FROM audit WHERE serial = 4"), "it ends with entry 2, where 4 was written");
    // As if retention had removed everything, which would have left a mark.
    let emptied = "DELETE FROM audit; UPDATE audit_chains SET before_serial = serial, before_hash = hash";
    is(&verify(emptied), "entries 1 to 4 are gone, and retention has left no mark that it removed them");
    // Versions before left none.
    let told = done(&verify("UPDATE audit_chains SET unmarked_serial = serial"));
    assert!(told.contains("1 to 4 removed by an earlier version"), "{told}");
}

#[test]
fn without_asking_the_server_is_for_this_machine_only() {
    let folder = tempfile::tempdir().expect("a folder");
    let serve = ["serve", "--listen", "0.0.0.0:0", "--data", "data"];
    failed(&punctual(folder.path(), &[], &serve), 1, "auth.enabled");
    assert!(!folder.path().join("data").exists());
    let server = Server::start(&folder.path().join("data"), &[GUARDED]);
    assert_eq!(server.call("GET", "/healthz", None).0, 200);
    let (status, ready) = server.call("GET", "/readyz", None);
    assert_eq!((status, ready), (200, serde_json::json!({"status": "ready"})));
    assert_eq!(server.call("GET", "/api/jobs", None).0, 401);
    server.kill();
}

/// Examples run where callers have to say who they are, too; and where the server listens on every address.
#[test]
fn the_examples_of_the_demo_run_without_a_token() {
    let folder = tempfile::tempdir().expect("a folder");
    let folder = folder.path();
    let owner = done(&punctual(folder, &[], &["token", "create", "admin", "--offline", "--data", "data"]));
    let mut process = Command::new(env!("CARGO_BIN_EXE_punctual"))
        .args(["serve", "--demo", "--listen", "0.0.0.0:0", "--data", "data"])
        .current_dir(folder)
        .envs([GUARDED, ("PUNCTUAL_LOG_LEVEL", "warn")])
        .stdout(Stdio::piped())
        .spawn()
        .expect("started");
    let mut line = String::new();
    BufReader::new(process.stdout.take().expect("piped")).read_line(&mut line).expect("a line");
    let port = line.trim().rsplit(':').next().expect("a port");
    let address = format!("http://127.0.0.1:{port}");
    let variables = [("PUNCTUAL_SERVER", address.as_str()), ("PUNCTUAL_TOKEN", &owner)];
    let run = ["job", "run", "every-minute", "--wait", "--timeout", "60", "--subscription", "demo"];
    let place = ["--group", "demo", "--collection", "examples"];
    let output = punctual(folder, &variables, &[run.as_slice(), place.as_slice()].concat());
    process.kill().expect("killed");
    process.wait().expect("waited for");
    done(&output);
}

#[test]
fn an_address_with_a_password_in_it_is_refused_and_not_shown() {
    let folder = tempfile::tempdir().expect("a folder");
    for address in [
        "http://ann:s3cret-word@127.0.0.1:1",
        "https://s3cret-word@127.0.0.1:1/x",
        "ann:s3cret-word@127.0.0.1",
        "http:/ann:s3cret-word@127.0.0.1:1",
    ] {
        for (environment, arguments) in [
            (vec![], vec!["job", "list", "--server", address]),
            (vec![("PUNCTUAL_SERVER", address)], vec!["job", "list"]),
        ] {
            let output = punctual(folder.path(), &environment, &arguments);
            let told = String::from_utf8_lossy(&output.stderr).into_owned();
            assert!(!output.status.success() && told.contains("a token in PUNCTUAL_TOKEN"), "{told}");
            assert!(!told.contains("s3cret"), "{told}");
        }
    }
}
