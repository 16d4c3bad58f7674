//! The egress policy with the real binary: what an operator sets is what holds.

mod running;

use std::process::Command;

use running::{COLLECTION, Server, job, job_path, ledger, target, until};
use serde_json::json;

#[test]
fn what_the_operator_denies_is_not_called_and_the_history_says_so() {
    let data = tempfile::tempdir().expect("a folder");
    let server = Server::start(data.path(), &[("PUNCTUAL_EGRESS_DENY", "private, loopback")]);
    assert_eq!(server.call("PUT", COLLECTION, Some(&json!({"location": "Local"}))).0, 201);
    let (address, calls) = target();
    for (name, host) in [("by-address", "127.0.0.1"), ("by-number", "0x7f000001"), ("by-name", "localhost")] {
        let mut body = job(address, &json!({"recurrence": {"frequency": "year"}}));
        let action = &mut body["properties"]["action"];
        action["request"]["uri"] = json!(format!("http://{host}:{}/", address.port()));
        action["retryPolicy"] = json!({"retryType": "none"});
        let (status, answer) = server.call("PUT", &job_path(name), Some(&body));
        assert_eq!(status, 201, "a job is not judged when it is written: {answer}");
        let message = || {
            let (_, history) = server.call("GET", &job_path(&format!("{name}/history")), None);
            history["value"][0]["properties"]["message"].as_str().map(ToOwned::to_owned)
        };
        until("the attempt", || message().is_some());
        let message = message().expect("an attempt");
        assert!(
            message.contains("are not allowed: ") && message.contains("egress.deny has loopback"),
            "{message}"
        );
    }
    assert!(calls.lock().expect("the calls").is_empty());
    until("the ledger", || ledger(&server).len() == 3);
    assert!(ledger(&server).iter().all(|entry| entry["state"] == "faulted"));
    assert!(server.terminate().success());
}

#[test]
fn a_policy_that_cannot_be_read_ends_the_start_and_leaves_nothing_behind() {
    let folder = tempfile::tempdir().expect("a folder");
    let data = folder.path().join("data");
    for (variable, value, says) in [
        ("PUNCTUAL_EGRESS_DENY", "private,10.1.2.3/8", "error: egress.deny: \"10.1.2.3/8\" cannot be used"),
        ("PUNCTUAL_EGRESS_ALLOW", "http://a", "error: egress.allow: \"http://a\" cannot be used"),
        ("PUNCTUAL_EGRESS_LIFT", "loopback", "allowed: link-local, metadata, redirects-inwards"),
        ("PUNCTUAL_HTTP_TLS_TIMEOUT", "0s", "error: http.tls-timeout: 0ns cannot be used"),
    ] {
        let ended = Command::new(env!("CARGO_BIN_EXE_punctual"))
            .args(["serve", "--listen", "127.0.0.1:0", "--data"])
            .arg(&data)
            .env(variable, value)
            .output()
            .expect("run");
        let told = String::from_utf8_lossy(&ended.stderr);
        assert!(!ended.status.success() && told.contains(says), "{told}");
        assert!(!data.exists());
    }
}
