//! The scheduler as a target of its own jobs, with the real binary: what a job or its target asks for is not done, and the
//! history says why.

mod running;

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener};
use std::thread;

use running::{COLLECTION, Server, job, job_path, until};
use serde_json::{Value, json};

/// A target that sends every call on to somewhere else, with its method and its body.
fn redirecting(location: String) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").expect("bound");
    let address = listener.local_addr().expect("bound");
    thread::spawn(move || {
        for mut stream in listener.incoming().flatten() {
            // The head and the one byte of the body come together or not at all.
            let mut request = Vec::<u8>::new();
            while !request.windows(5).any(|bytes| bytes == b"\r\n\r\nx") {
                let mut piece = [0; 4096];
                match stream.read(&mut piece) {
                    Ok(read) if read > 0 => request.extend(&piece[..read]),
                    _ => break,
                }
            }
            let answer = format!(
                "HTTP/1.1 307 There\r\nlocation: {location}\r\nconnection: close\r\ncontent-length: 0\r\n\r\n"
            );
            let _ = stream.write_all(answer.as_bytes());
        }
    });
    address
}

/// A job that runs once when it is written, and then by request only, without retries.
fn once_now(target: SocketAddr, path: &str) -> Value {
    let mut body = job(target, &json!({"recurrence": {"frequency": "year"}}));
    let action = &mut body["properties"]["action"];
    action["request"]["uri"] = json!(format!("http://{target}{path}"));
    action["retryPolicy"] = json!({"retryType": "none"});
    body
}

fn messages(server: &Server, name: &str) -> Vec<String> {
    let (_, history) = server.call("GET", &job_path(&format!("{name}/history")), None);
    let entries = history["value"].as_array().cloned().unwrap_or_default();
    let message = |entry: &Value| entry["properties"]["message"].as_str().unwrap_or_default().to_owned();
    entries.iter().map(message).collect()
}

#[test]
fn a_target_cannot_redirect_a_call_to_the_scheduler() {
    let data = tempfile::tempdir().expect("a folder");
    let server = Server::start(data.path(), &[]);
    assert_eq!(server.call("PUT", COLLECTION, Some(&json!({}))).0, 201);
    let off = COLLECTION.replace('?', "/disable?");
    for (name, host) in [("by-address", "127.0.0.1"), ("by-name", "localhost")] {
        let target = redirecting(format!("http://{host}:{}{off}", server.address.port()));
        assert_eq!(server.call("PUT", &job_path(name), Some(&once_now(target, "/"))).0, 201);
        until("the attempt", || !messages(&server, name).is_empty());
        let message = messages(&server, name).remove(0);
        assert!(
            message.contains("'Forbidden'") && message.contains("The scheduler refuses the calls of jobs"),
            "{message}"
        );
    }
    let (_, collection) = server.call("GET", COLLECTION, None);
    assert_eq!(collection["properties"]["state"], "Enabled");
    assert!(server.terminate().success());
}

#[test]
fn a_job_that_runs_itself_runs_once_or_where_that_is_allowed_five_times_more() {
    for (allowed, runs, says) in
        [("false", 1, "The scheduler refuses the calls of jobs"), ("true", 6, "which looks like a loop")]
    {
        let data = tempfile::tempdir().expect("a folder");
        let server = Server::start(data.path(), &[("PUNCTUAL_API_CALLS_FROM_JOBS", allowed)]);
        assert_eq!(server.call("PUT", COLLECTION, Some(&json!({}))).0, 201);
        let body = once_now(server.address, &job_path("itself/run"));
        assert_eq!(server.call("PUT", &job_path("itself"), Some(&body)).0, 201);
        until("the end of the loop", || {
            messages(&server, "itself").iter().any(|message| message.contains(says))
        });
        let (_, shown) = server.call("GET", &job_path("itself"), None);
        let status = &shown["properties"]["status"];
        assert_eq!(
            (&status["executionCount"], &status["failureCount"]),
            (&json!(runs), &json!(1)),
            "{shown}"
        );
        assert!(server.terminate().success());
    }
}
