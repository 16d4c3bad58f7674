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

/// What a job writes into its call, or which way it takes: the scheduler knows it all the same.
#[test]
fn no_way_of_a_job_leads_around_the_mark() {
    let (of_victim, of_caller) =
        (tempfile::tempdir().expect("a folder"), tempfile::tempdir().expect("a folder"));
    let victim = Server::start(of_victim.path(), &[]);
    assert_eq!(victim.call("PUT", COLLECTION, Some(&json!({}))).0, 201);
    let place = format!("http://{}", victim.address);
    // Another scheduler, whose queues and namespaces are all said to be at this one.
    let settings =
        [("PUNCTUAL_STORAGE_QUEUE_ENDPOINT", place.as_str()), ("PUNCTUAL_SERVICE_BUS_REST", place.as_str())];
    let caller = Server::start(of_caller.path(), &settings);
    assert_eq!(caller.call("PUT", COLLECTION, Some(&json!({}))).0, 201);
    let off = COLLECTION.replace('?', "/disable?");
    let http = |method: &str, headers: Value| {
        let mut body = once_now(victim.address, &off);
        body["properties"]["action"]["request"]["method"] = json!(method);
        body["properties"]["action"]["request"]["headers"] = headers;
        body
    };
    let acting = |action: Value| {
        let mut body = once_now(victim.address, &off);
        body["properties"]["action"] = action;
        body["properties"]["action"]["retryPolicy"] = json!({"retryType": "none"});
        body
    };
    let mut with_error_action = once_now("127.0.0.1:1".parse().expect("an address"), "/");
    with_error_action["properties"]["action"]["errorAction"] =
        http("POST", json!({}))["properties"]["action"].clone();
    let in_bus = |entity: &str| {
        json!({"type": "ServiceBusQueue", "serviceBusQueueMessage": {
            "namespace": "n", "queueName": entity, "transportType": "NetMessaging", "message": "x",
            "authentication": {"type": "SharedAccessKey", "sasKeyName": "k", "sasKey": "some-key"},
            "customMessageProperties": {"x-punctual-hops": "0", "X_Punctual_Hops": "0"}}})
    };
    let ways = [
        ("zero", http("POST", json!({"x-punctual-hops": "0"}))),
        ("empty", http("POST", json!({"X-Punctual-Hops": ""}))),
        ("underscores", http("POST", json!({"x_punctual_hops": "0"}))),
        ("connection", http("POST", json!({"Connection": "close, X-Punctual-Hops"}))),
        ("trailer", http("POST", json!({"Trailer": "x-punctual-hops", "TE": "trailers"}))),
        ("chunked", http("POST", json!({"Transfer-Encoding": "chunked"}))),
        (
            "upgrade",
            http(
                "POST",
                json!({"Connection": "upgrade", "Upgrade": "h2c", "HTTP2-Settings": "AAMAAABkAAQAAP__"}),
            ),
        ),
        ("host", http("POST", json!({"Host": "localhost"}))),
        ("forwarded", http("POST", json!({"X-Forwarded-For": "10.0.0.1", "X-Forwarded-Host": "localhost"}))),
        ("override", http("GET", json!({"X-HTTP-Method-Override": "POST"}))),
        ("trace", http("TRACE", json!({}))),
        ("error-action", with_error_action),
        (
            "queue",
            acting(json!({"type": "StorageQueue", "queueMessage": {
            "storageAccount": "a", "queueName": "q", "sasToken": "sv=1&sig=abcd", "message": "x"}})),
        ),
        ("bus", acting(in_bus("q"))),
        (
            "bus-path",
            acting(in_bus("subscriptions/s/resourceGroups/g/providers/Microsoft.Scheduler/jobCollections/c")),
        ),
    ];
    for (name, body) in &ways {
        let (status, answer) = caller.call("PUT", &job_path(name), Some(body));
        assert_eq!(status, 201, "{name}: {answer}");
    }
    for (name, _) in &ways {
        until("the attempt", || {
            messages(&caller, name).iter().any(|message| !message.contains("ConnectFailure"))
        });
        let told = messages(&caller, name);
        assert!(told.iter().any(|message| message.contains("'Forbidden'")), "{name}: {told:?}");
    }
    let (status, answer) = caller.call("PUT", &job_path("connect"), Some(&http("CONNECT", json!({}))));
    assert_eq!(status, 400);
    assert!(answer.to_string().contains("not CONNECT"), "{answer}");
    let (_, collection) = victim.call("GET", COLLECTION, None);
    assert_eq!(collection["properties"]["state"], "Enabled");
    assert!(caller.terminate().success() && victim.terminate().success());
}

/// Requests that say in an odd way that they come from a job.
#[test]
fn a_mark_is_known_in_every_form_of_a_request() {
    let data = tempfile::tempdir().expect("a folder");
    let server = Server::start(data.path(), &[]);
    assert_eq!(server.call("PUT", COLLECTION, Some(&json!({}))).0, 201);
    let (off, host) = (COLLECTION.replace('?', "/disable?"), server.address);
    let end = format!("host: {host}\r\ncontent-length: 0\r\nconnection: close\r\n\r\n");
    for request in [
        format!("POST {off} HTTP/1.1\r\nX-PUNCTUAL-HOPS: 1\r\n{end}"),
        format!("POST {off} HTTP/1.1\r\nx-punctual-hops:\r\n{end}"),
        format!("POST {off} HTTP/1.1\r\nx-punctual-hops: 0\r\nx-punctual-hops: 0\r\n{end}"),
        format!("POST {off} HTTP/1.1\r\nconnection: x-punctual-hops\r\nx-punctual-hops: 1\r\n{end}"),
        format!("POST {off} HTTP/1.0\r\nx-punctual-hops: 1\r\n{end}"),
        format!("POST http://{host}{off} HTTP/1.1\r\nx-punctual-hops: 1\r\n{end}"),
        format!("POST //{host}{off} HTTP/1.1\r\nx-punctual-hops: 1\r\n{end}"),
        format!("CONNECT {host} HTTP/1.1\r\nx-punctual-hops: 1\r\n{end}"),
        format!("OPTIONS * HTTP/1.1\r\nx-punctual-hops: 1\r\n{end}"),
    ] {
        let mut stream = std::net::TcpStream::connect(host).expect("connected");
        stream.set_read_timeout(Some(std::time::Duration::from_secs(60))).expect("set");
        stream.write_all(request.as_bytes()).expect("written");
        let mut answer = String::new();
        stream.read_to_string(&mut answer).expect("read");
        assert!(answer.starts_with("HTTP/1.") && answer[9..].starts_with("403"), "{request}: {answer}");
    }
    let (_, collection) = server.call("GET", COLLECTION, None);
    assert_eq!(collection["properties"]["state"], "Enabled");
    assert!(server.terminate().success());
}
