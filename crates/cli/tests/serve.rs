//! `punctual serve` as people use it: make a job, see it fire, stop, start again.

mod running;

use running::{COLLECTION, Server, job, job_path, ledger, target, until};
use serde_json::{Value, json};

fn server(data: &tempfile::TempDir) -> Server {
    Server::start(data.path(), &[])
}

fn collection(server: &Server) {
    let (status, answer) = server.call("PUT", COLLECTION, Some(&json!({"location": "Local"})));
    assert_eq!(status, 201, "{answer}");
}

#[test]
fn a_job_is_made_fires_and_can_be_looked_up() {
    let data = tempfile::tempdir().expect("a folder");
    let (target, calls) = target();
    let server = server(&data);
    collection(&server);
    let recurrence = json!({"recurrence": {"frequency": "minute"}});
    let (status, made) = server.call("PUT", &job_path("hello"), Some(&job(target, &recurrence)));
    assert_eq!(status, 201, "{made}");
    assert_eq!(made["properties"]["state"], "enabled");

    until("the first run", || !calls.lock().expect("not poisoned").is_empty());
    until("its history", || {
        let (_, history) = server.call("GET", &job_path("hello/history"), None);
        history["value"].as_array().is_some_and(|entries| entries.len() == 1)
    });
    let entry = &ledger(&server)[0];
    assert_eq!(entry["state"], "ran", "{entry}");
    assert_eq!(
        entry["executionTag"].as_str(),
        calls.lock().expect("not poisoned")["hello"].first().map(String::as_str)
    );
    let (_, stored) = server.call("GET", &job_path("hello"), None);
    assert_eq!(stored["properties"]["status"]["executionCount"], 1);

    assert!(server.terminate().success(), "SIGTERM ends with status 0");
    let server = Server::start(data.path(), &[]);
    let (status, again) = server.call("GET", &job_path("HELLO"), None);
    assert_eq!(status, 200);
    assert_eq!(again["properties"], stored["properties"], "a restart changes nothing");
    server.kill();
}

#[test]
fn a_target_that_is_not_there_is_retried_and_then_faulted() {
    let data = tempfile::tempdir().expect("a folder");
    let (errors, calls) = target();
    let server = Server::start(data.path(), &[("PUNCTUAL_PLANS_STANDARD_SHORTEST_RETRY", "0s")]);
    collection(&server);
    let nobody = "127.0.0.1:1".parse().expect("an address");
    let mut body = job(nobody, &json!({}));
    body["properties"]["action"]["retryPolicy"] =
        json!({"retryType": "fixed", "retryInterval": "PT1S", "retryCount": 1});
    body["properties"]["action"]["errorAction"] =
        json!({"type": "Http", "request": {"method": "GET", "uri": format!("http://{errors}/")}});
    assert_eq!(server.call("PUT", &job_path("doomed"), Some(&body)).0, 201);
    until("the error action", || !calls.lock().expect("not poisoned").is_empty());
    until("the end of the job", || {
        server.call("GET", &job_path("doomed"), None).1["properties"]["state"] == "faulted"
    });
    let (_, history) = server.call("GET", &job_path("doomed/history"), None);
    let seen: Vec<(Value, Value, Value)> = history["value"]
        .as_array()
        .expect("a list")
        .iter()
        .rev()
        .map(|entry| &entry["properties"])
        .map(|entry| (entry["actionName"].clone(), entry["retryCount"].clone(), entry["status"].clone()))
        .collect();
    assert_eq!(
        seen,
        [
            (json!("MainAction"), json!(0), json!("failed")),
            (json!("MainAction"), json!(1), json!("failed")),
            (json!("ErrorAction"), json!(0), Value::Null),
        ]
    );
    let (status, answer) = server.call("POST", &job_path("doomed/run"), None);
    assert_eq!(status, 409, "{answer}");
    let entry = &ledger(&server)[0];
    assert_eq!((&entry["state"], &entry["reason"]), (&json!("faulted"), &json!("retriesUsedUp")));
    server.kill();
}

#[test]
fn two_writers_with_the_same_etag_one_wins() {
    let data = tempfile::tempdir().expect("a folder");
    let server = server(&data);
    collection(&server);
    let target = "127.0.0.1:1".parse().expect("an address");
    let later = json!({"startTime": "2027-11-01", "state": "Disabled"});
    assert_eq!(server.call("PUT", &job_path("j"), Some(&job(target, &later))).0, 201);
    let etag = tag_of(&server, &job_path("j"));
    let outcomes: Vec<u16> = std::thread::scope(|scope| {
        let writers: Vec<_> = (0..8)
            .map(|n| {
                let (etag, address) = (etag.clone(), server.address);
                let body =
                    job(target, &json!({"startTime": format!("2027-11-0{}", n + 1), "state": "Disabled"}));
                scope.spawn(move || put_if_match(address, &job_path("j"), &etag, &body))
            })
            .collect();
        writers.into_iter().map(|writer| writer.join().expect("answered")).collect()
    });
    assert_eq!(outcomes.iter().filter(|status| **status == 200).count(), 1, "{outcomes:?}");
    assert_eq!(outcomes.iter().filter(|status| **status == 412).count(), 7, "{outcomes:?}");
    server.kill();
}

fn tag_of(server: &Server, path: &str) -> String {
    let address = server.address;
    exchange(address, &format!("GET {path} HTTP/1.1\r\nhost: {address}\r\nconnection: close\r\n\r\n"))
        .lines()
        .find_map(|line| line.strip_prefix("etag: "))
        .expect("an etag")
        .to_owned()
}

fn put_if_match(address: std::net::SocketAddr, path: &str, etag: &str, body: &Value) -> u16 {
    let body = body.to_string();
    let request = format!(
        "PUT {path} HTTP/1.1\r\nhost: {address}\r\nconnection: close\r\nif-match: {etag}\r\ncontent-type: application/json\r\n\
         content-length: {}\r\n\r\n{body}",
        body.len()
    );
    exchange(address, &request).split(' ').nth(1).and_then(|status| status.parse().ok()).expect("a status")
}

fn exchange(address: std::net::SocketAddr, request: &str) -> String {
    use std::io::{Read, Write};
    let mut stream = std::net::TcpStream::connect(address).expect("connected");
    stream.write_all(request.as_bytes()).expect("sent");
    let mut answer = String::new();
    stream.read_to_string(&mut answer).expect("answered");
    answer
}

#[test]
fn the_demo_fills_an_empty_store_once() {
    let data = tempfile::tempdir().expect("a folder");
    let start = || {
        std::process::Command::new(env!("CARGO_BIN_EXE_punctual"))
            .args(["serve", "--demo", "--listen", "127.0.0.1:0", "--data"])
            .arg(data.path())
            .stdout(std::process::Stdio::piped())
            .stderr(std::process::Stdio::null())
            .spawn()
            .expect("started")
    };
    let jobs = "/subscriptions/demo/resourceGroups/demo/providers/Microsoft.Scheduler/jobCollections/examples/jobs\
                ?api-version=2016-03-01";
    for _ in 0..2 {
        let mut process = start();
        let mut line = String::new();
        let out = process.stdout.take().expect("piped");
        std::io::BufRead::read_line(&mut std::io::BufReader::new(out), &mut line).expect("a line");
        let address = line.trim().rsplit("http://").next().expect("an address").parse().expect("an address");
        let (_, list) = running::call(address, "GET", jobs, None).expect("answered");
        assert_eq!(list["value"].as_array().map(Vec::len), Some(5), "{list}");
        process.kill().expect("killed");
        process.wait().expect("waited for");
    }
}

#[test]
fn a_port_that_is_taken_leaves_nothing_behind() {
    let data = tempfile::tempdir().expect("a folder");
    let folder = data.path().join("new");
    let taken = std::net::TcpListener::bind("127.0.0.1:0").expect("bound");
    let address = taken.local_addr().expect("bound").to_string();
    let ended = std::process::Command::new(env!("CARGO_BIN_EXE_punctual"))
        .args(["serve", "--listen", &address, "--data"])
        .arg(&folder)
        .output()
        .expect("it ran");
    let told = String::from_utf8_lossy(&ended.stderr);
    assert_eq!(ended.status.code(), Some(1), "{told}");
    assert!(told.contains(&format!("cannot listen on {address}")), "{told}");
    assert!(!folder.exists(), "no store and no key are made");
}
