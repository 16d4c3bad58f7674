//! A clock that leaps by 400 days, forward and back, with the real binary: nothing is removed by it, and the server says
//! what is wrong until it is over.
//!
//! `faketime` shows the binary another time; where it is not installed, the test says that it was left out.

mod running;

use std::process::{Command, Stdio};

use running::{COLLECTION, Server, job, job_path, ledger, target, until};
use serde_json::{Value, json};

fn faketime() -> Option<Command> {
    let there =
        Command::new("faketime").arg("--version").stdout(Stdio::null()).stderr(Stdio::null()).status();
    if !there.is_ok_and(|status| status.success()) {
        eprintln!("left out: faketime is not installed");
        return None;
    }
    let mut command = Command::new("faketime");
    // The clock that cannot be set stays as it is: only then is it a leap.
    command.env("FAKETIME_DONT_FAKE_MONOTONIC", "1").env("DONT_FAKE_MONOTONIC", "1");
    command.args(["-f", "+400d", env!("CARGO_BIN_EXE_punctual")]);
    Some(command)
}

/// The tags of what ran.
fn ran(server: &Server) -> Vec<String> {
    let is_ran = |entry: &&Value| entry["state"] == "ran";
    let tag = |entry: &Value| entry["executionTag"].as_str().unwrap_or_default().to_owned();
    ledger(server).iter().filter(is_ran).map(tag).collect()
}

fn history(server: &Server, name: &str) -> usize {
    let (status, history) = server.call("GET", &job_path(&format!("{name}/history")), None);
    assert_eq!(status, 200, "{name}: {history}");
    history["value"].as_array().map_or(0, Vec::len)
}

/// How many entries the audit has, and that it is whole.
fn audit(server: &Server) -> u64 {
    let (_, found) = server.call("GET", "/api/audit/verify", None);
    assert_eq!(found["whole"], true, "{found}");
    found["chains"].as_array().into_iter().flatten().filter_map(|chain| chain["entries"].as_u64()).sum()
}

fn warning(server: &Server) -> Value {
    let (status, ready) = server.call("GET", "/readyz", None);
    assert_eq!((status, &ready["status"]), (200, &json!("ready")));
    let (_, overview) = server.call("GET", "/api/overview?span=hour", None);
    assert_eq!(overview["warnings"], ready["warnings"]);
    ready["warnings"][0]["code"].clone()
}

/// What `punctual doctor` says of the clock.
fn doctor(server: &Server) -> String {
    let output = Command::new(env!("CARGO_BIN_EXE_punctual"))
        .args(["doctor", "--json", "--server", &format!("http://{}", server.address)])
        .output()
        .expect("run");
    let told: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    let findings = told["findings"].as_array().expect("a list");
    let found = findings.iter().find(|finding| finding["check"] == "clock.store").expect("a finding");
    format!("{} {}", found["verdict"].as_str().unwrap_or_default(), found["says"])
}

#[test]
fn a_leap_of_400_days_removes_nothing() {
    let Some(leapt) = faketime() else { return };
    let data = tempfile::tempdir().expect("a folder");
    let (target, calls) = target();
    let server = Server::start(data.path(), &[]);
    assert_eq!(server.call("PUT", COLLECTION, Some(&json!({}))).0, 201);
    let yearly = json!({"recurrence": {"frequency": "year"}});
    for (name, more) in [("once", json!({})), ("yearly", yearly)] {
        assert_eq!(server.call("PUT", &job_path(name), Some(&job(target, &more))).0, 201);
    }
    until("both jobs have run", || ran(&server).len() == 2);
    let (before, noted) = (ran(&server), audit(&server));
    assert!(noted >= 3, "{noted}");
    assert_eq!(warning(&server), Value::Null);
    assert!(doctor(&server).starts_with("ok"), "{}", doctor(&server));
    assert!(server.terminate().success());

    let keeps_all = |server: &Server| {
        let now = ran(server);
        assert!(before.iter().all(|tag| now.contains(tag)), "{before:?} {now:?}");
        assert_eq!(history(server, "once"), 1, "a finished job is there, and what it did");
        assert!(history(server, "yearly") >= 1);
        assert!(audit(server) >= noted);
    };
    // Its clock leaps while it is stopped.
    let server = Server::start_by(leapt, data.path(), &[], Stdio::inherit());
    until("the occurrence that the leap made due", || {
        calls.lock().expect("not poisoned")["yearly"].len() > 1
    });
    assert_eq!(server.call("POST", &job_path("yearly/run"), None).0, 202);
    until("the run that was asked for", || calls.lock().expect("not poisoned")["yearly"].len() > 2);
    until("both are entered", || ledger(&server).len() >= 4);
    assert_eq!(warning(&server), "clockAhead");
    assert!(doctor(&server).starts_with("warning"), "{}", doctor(&server));
    keeps_all(&server);
    assert!(server.terminate().success());

    // And back.
    for believed in [None, Some(("PUNCTUAL_RETENTION_BELIEVE_CLOCK_AFTER", "0s"))] {
        let server = Server::start(data.path(), believed.as_slice());
        let expected = if believed.is_none() { json!("clockBehind") } else { Value::Null };
        assert_eq!(warning(&server), expected);
        keeps_all(&server);
        let (_, metrics) = server.call("GET", "/api/settings", None);
        assert!(metrics["retention"]["believeClockAfter"].is_string(), "{metrics}");
        assert!(server.terminate().success());
    }
}
