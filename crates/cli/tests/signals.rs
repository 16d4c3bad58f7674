//! What signals and limits of the process do to the real binary.

#[allow(dead_code, reason = "each test file uses its part")]
mod running;

use std::process::{Command, Stdio};

use running::{COLLECTION, Server, job, job_path, until};
use serde_json::json;

/// A server that was started with SIGHUP handled in this way, whatever the tests were started with.
fn server(data: &tempfile::TempDir, hang_up: &str) -> Server {
    let mut command = Command::new("env");
    command.args([hang_up, env!("CARGO_BIN_EXE_punctual")]);
    Server::start_by(command, data.path(), &[], Stdio::inherit())
}

fn send(server: &Server, signal: &str) {
    let sent = Command::new("kill").args([signal, &server.id().to_string()]).status();
    assert!(sent.expect("run").success());
}

#[test]
fn a_terminal_that_is_closed_stops_the_server_as_sigterm_does() {
    let data = tempfile::tempdir().expect("a folder");
    let server = server(&data, "--default-signal=HUP");
    send(&server, "-HUP");
    assert!(server.wait().success(), "it drains and ends with status 0");
}

#[test]
fn nohup_is_respected() {
    let data = tempfile::tempdir().expect("a folder");
    let server = server(&data, "--ignore-signal=HUP");
    send(&server, "-HUP");
    assert_eq!(server.call("GET", "/healthz", None).0, 200);
    assert!(server.terminate().success());
}

#[test]
fn a_limit_of_file_sizes_fails_changes_and_does_not_kill() {
    let data = tempfile::tempdir().expect("a folder");
    let server = Server::start(data.path(), &[]);
    assert_eq!(server.call("PUT", COLLECTION, Some(&json!({"location": "Local"}))).0, 201);
    let limit = |bytes: &str| {
        let (id, limit) = (server.id().to_string(), format!("--fsize={bytes}:unlimited"));
        assert!(Command::new("prlimit").args(["--pid", &id, &limit]).status().expect("run").success());
    };
    let target = "127.0.0.1:1".parse().expect("an address");
    let put = |name: &str| {
        let later = json!({"startTime": "2027-11-01", "state": "Disabled"});
        server.call("PUT", &job_path(name), Some(&job(target, &later)))
    };
    assert_eq!(put("before").0, 201);
    limit("1");
    let (status, answer) = put("during");
    assert_eq!(status, 503, "{answer}");
    assert_eq!(server.call("GET", &job_path("before"), None).0, 200, "reading goes on");
    limit("unlimited");
    until("a change that is accepted", || matches!(put("after").0, 200 | 201));
    assert_eq!(server.call("GET", &job_path("during"), None).0, 404, "what was refused is not there");
    assert!(server.terminate().success());
}
