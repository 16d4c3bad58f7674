//! What a target answers is what the ledger says, with the real binary: also where the job of the call was deleted,
//! switched off or replaced while the call was under way.

mod running;
mod schema;

use std::collections::BTreeMap;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener};
use std::sync::{Arc, Condvar, Mutex};
use std::thread;

use running::{COLLECTION, Server, job, ledger, until};
use schema::Schema;
use serde_json::{Value, json};

const KEY: &str = "punctual1_BBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBA";

/// What the calls wait for, and how many there were to each path.
#[derive(Default)]
struct Gate {
    state: Mutex<State>,
    opened: Condvar,
}

#[derive(Default)]
struct State {
    open: bool,
    calls: BTreeMap<String, u32>,
}

impl Gate {
    fn calls(&self) -> BTreeMap<String, u32> {
        self.state.lock().expect("not poisoned").calls.clone()
    }

    fn open(&self) {
        self.state.lock().expect("not poisoned").open = true;
        self.opened.notify_all();
    }
}

/// A target that answers nobody until its gate is open: then with the status that is the end of the path.
fn target() -> (SocketAddr, Arc<Gate>) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("bound");
    let (address, gate) = (listener.local_addr().expect("bound"), Arc::new(Gate::default()));
    let waits = Arc::clone(&gate);
    thread::spawn(move || {
        for mut stream in listener.incoming().flatten() {
            let gate = Arc::clone(&waits);
            thread::spawn(move || {
                let mut request = Vec::<u8>::new();
                while !request.windows(5).any(|bytes| bytes == b"\r\n\r\nx") {
                    let mut piece = [0; 4096];
                    match stream.read(&mut piece) {
                        Ok(read) if read > 0 => request.extend(&piece[..read]),
                        _ => return,
                    }
                }
                let head = String::from_utf8_lossy(&request).into_owned();
                let path = head.split(' ').nth(1).unwrap_or_default().to_owned();
                let status = path.rsplit('/').next().unwrap_or_default().to_owned();
                let mut state = gate.state.lock().expect("not poisoned");
                *state.calls.entry(path).or_default() += 1;
                while !state.open {
                    state = gate.opened.wait(state).expect("not poisoned");
                }
                drop(state);
                let answer =
                    format!("HTTP/1.1 {status} Said\r\nconnection: close\r\ncontent-length: 0\r\n\r\n");
                let _ = stream.write_all(answer.as_bytes());
            });
        }
    });
    (address, gate)
}

/// What is done to the job of a call that is under way.
const CHANGES: [&str; 7] = [
    "left alone",
    "job deleted",
    "job disabled",
    "job replaced",
    "collection disabled",
    "collection deleted",
    "group deleted",
];

fn collection(of: usize) -> String {
    COLLECTION.replace("resourceGroups/g/", &format!("resourceGroups/g{of}/"))
}

fn job_path(of: usize, rest: &str) -> String {
    collection(of).replace('?', &format!("/jobs/{rest}?"))
}

fn body(target: SocketAddr, of: usize, status: &str) -> Value {
    let mut body = job(target, &json!({"recurrence": {"frequency": "year"}}));
    let action = &mut body["properties"]["action"];
    action["request"]["uri"] = json!(format!("http://{target}/{of}/{status}"));
    action["retryPolicy"] = json!({"retryType": "fixed", "retryInterval": "PT1H", "retryCount": 1});
    body
}

fn change(server: &Server, target: SocketAddr, of: usize) {
    let group = "/subscriptions/s/resourceGroups/g6?api-version=2016-09-01";
    for name in ["well", "badly"] {
        let (method, path, body) = match CHANGES[of] {
            "job deleted" => ("DELETE", job_path(of, name), None),
            "job disabled" => {
                ("PATCH", job_path(of, name), Some(json!({"properties": {"state": "Disabled"}})))
            }
            "job replaced" => {
                let mut body = body(target, of, "299");
                let (_, stands) = server.call("GET", &job_path(of, name), None);
                body["properties"]["startTime"] = stands["properties"]["status"]["nextExecutionTime"].clone();
                ("PUT", job_path(of, name), Some(body))
            }
            _ => continue,
        };
        let (status, answer) = server.call(method, &path, body.as_ref());
        assert!(status < 300, "{} {status} {answer}", CHANGES[of]);
    }
    let (method, path) = match CHANGES[of] {
        "collection disabled" => ("POST", collection(of).replace('?', "/disable?")),
        "collection deleted" => ("DELETE", collection(of)),
        "group deleted" => ("DELETE", group.to_owned()),
        _ => return,
    };
    let (status, answer) = server.call(method, &path, None);
    assert!(status < 300, "{} {status} {answer}", CHANGES[of]);
}

/// The fate and the reason of what a collection's job was due for, where it is entered.
fn entered(server: &Server, of: usize, name: &str) -> Vec<(String, Value)> {
    let is_its = |entry: &&Value| {
        let id = entry["job"].as_str().unwrap_or_default();
        id.contains(&format!("/g{of}/")) && id.ends_with(name) && entry["state"] != "skipped"
    };
    let entries = ledger(server);
    let fate =
        |entry: &Value| (entry["state"].as_str().unwrap_or_default().to_owned(), entry["reason"].clone());
    entries.iter().filter(is_its).map(fate).collect()
}

fn whatever_happened_meanwhile(settings: &[(&str, &str)]) {
    let data = tempfile::tempdir().expect("a folder");
    let server = Server::start(data.path(), settings);
    let (target, gate) = target();
    for of in 0..CHANGES.len() {
        assert_eq!(server.call("PUT", &collection(of), Some(&json!({}))).0, 201);
        for (name, status) in [("well", "200"), ("badly", "500")] {
            let put = server.call("PUT", &job_path(of, name), Some(&body(target, of, status)));
            assert_eq!(put.0, 201, "{}", put.1);
        }
    }
    until("all calls", || gate.calls().len() == 2 * CHANGES.len());
    (0..CHANGES.len()).for_each(|of| change(&server, target, of));
    assert!(!ledger(&server).iter().any(|entry| entry["state"] == "faulted"), "{:?}", ledger(&server));
    gate.open();
    for (of, change) in CHANGES.iter().enumerate() {
        until(change, || !entered(&server, of, "well").is_empty());
        assert_eq!(entered(&server, of, "well"), [("ran".to_owned(), Value::Null)], "{change}");
        let reason = match *change {
            // They are repeated, in an hour.
            "left alone" | "job replaced" => continue,
            "job disabled" => "jobDisabled",
            "collection disabled" => "collectionDisabled",
            _ => "jobDeleted",
        };
        until(change, || !entered(&server, of, "badly").is_empty());
        assert_eq!(entered(&server, of, "badly"), [("faulted".to_owned(), json!(reason))], "{change}");
    }
    for (of, name) in [(0, "well"), (2, "well"), (3, "well"), (4, "well"), (0, "badly"), (4, "badly")] {
        let (_, history) = server.call("GET", &job_path(of, &format!("{name}/history")), None);
        assert_eq!(history["value"].as_array().map(Vec::len), Some(1), "{} {history}", CHANGES[of]);
    }
    assert!(gate.calls().values().all(|calls| *calls == 1), "{:?}", gate.calls());
    assert!(server.terminate().success());
}

#[test]
fn a_call_is_entered_with_its_answer_in_a_file() {
    whatever_happened_meanwhile(&[]);
}

#[test]
fn a_call_is_entered_with_its_answer_in_a_database() {
    let Some(schema) = Schema::fresh("answers") else { return };
    whatever_happened_meanwhile(&[
        ("PUNCTUAL_DATABASE", &schema.url()),
        ("PUNCTUAL_SECRETS_KEY", KEY),
        ("PUNCTUAL_NODE", "one"),
    ]);
}
