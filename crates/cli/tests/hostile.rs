//! Targets that mean no good, with the real binary: many calls to them at once end as failures that a person understands,
//! a healthy target is called on time all the while, and memory stays where it is.

mod running;

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use p12_keystore::{Certificate, KeyStore, KeyStoreEntry, PrivateKey, PrivateKeyChain};
use rcgen::{CertificateParams, KeyPair};
use running::{COLLECTION, Server, job, job_path, ledger, target, until};
use serde_json::{Value, json};

/// What a target does with a connection. An error ends it, mostly because the other side has gone.
type Behaviour = fn(TcpStream) -> std::io::Result<()>;

/// How a target behaves, and what the history must say of it: one of these.
const TARGETS: [(&str, Behaviour, &[&str]); 11] = [
    ("hangs", hang, &["Timeout The operation has timed out"]),
    ("resets", reset, &["ConnectionClosed", "ReceiveFailure", "SendFailure"]),
    ("talks-garbage", garbage, &["ServerProtocolViolation The server committed a protocol violation"]),
    ("redirects-in-a-loop", redirect, &["Too many automatic redirections were attempted"]),
    ("has-an-endless-body", endless_body, &["MessageLengthLimitExceeded", "Timeout"]),
    ("has-endless-headers", endless_headers, &["MessageLengthLimitExceeded"]),
    ("drips-headers", drip_headers, &["Timeout The operation has timed out"]),
    ("drips-a-body", drip_body, &["Timeout The operation has timed out"]),
    ("stops-in-the-middle", stop_in_the_middle, &["ConnectionClosed"]),
    ("has-two-lengths", two_lengths, &["ServerProtocolViolation"]),
    ("has-less-than-it-says", less_than_it_says, &["Timeout The operation has timed out"]),
];

/// Reads the head of the request, so that closing is not a reset.
fn read_head(stream: &mut TcpStream) -> std::io::Result<()> {
    let mut head = Vec::new();
    let mut byte = [0];
    while !head.ends_with(b"\r\n\r\n") {
        stream.read_exact(&mut byte)?;
        head.push(byte[0]);
    }
    // The body of the jobs here is one byte.
    stream.read_exact(&mut byte)
}

/// Until the other side has enough.
fn wait_for_the_end(mut stream: TcpStream) -> std::io::Result<()> {
    while stream.read(&mut [0; 1024])? > 0 {}
    Ok(())
}

fn hang(stream: TcpStream) -> std::io::Result<()> {
    wait_for_the_end(stream)
}

/// What is closed with something unread in it is reset.
fn reset(stream: TcpStream) -> std::io::Result<()> {
    stream.peek(&mut [0]).map(drop)
}

fn garbage(mut stream: TcpStream) -> std::io::Result<()> {
    read_head(&mut stream)?;
    stream.write_all(b"\x16\x03\x01 what is this\r\n\r\n")?;
    wait_for_the_end(stream)
}

fn redirect(mut stream: TcpStream) -> std::io::Result<()> {
    loop {
        read_head(&mut stream)?;
        stream.write_all(b"HTTP/1.1 307 Again\r\nlocation: /\r\ncontent-length: 0\r\n\r\n")?;
    }
}

fn endless_body(mut stream: TcpStream) -> std::io::Result<()> {
    read_head(&mut stream)?;
    stream.write_all(b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n")?;
    let mut chunk = b"4000\r\n".to_vec();
    chunk.extend([b'x'; 0x4000]);
    chunk.extend(b"\r\n");
    loop {
        stream.write_all(&chunk)?;
    }
}

fn endless_headers(mut stream: TcpStream) -> std::io::Result<()> {
    read_head(&mut stream)?;
    stream.write_all(b"HTTP/1.1 200 OK\r\n")?;
    loop {
        stream.write_all(b"x-more: and more and more and more\r\n")?;
    }
}

fn drip(mut stream: TcpStream, beginning: &str) -> std::io::Result<()> {
    read_head(&mut stream)?;
    stream.write_all(beginning.as_bytes())?;
    loop {
        thread::sleep(Duration::from_secs(1));
        stream.write_all(b"x")?;
    }
}

fn drip_headers(stream: TcpStream) -> std::io::Result<()> {
    drip(stream, "HTTP/1.1 200 OK\r\nx-slow: ")
}

fn drip_body(stream: TcpStream) -> std::io::Result<()> {
    drip(stream, "HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\n")
}

fn stop_in_the_middle(mut stream: TcpStream) -> std::io::Result<()> {
    read_head(&mut stream)?;
    stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\nonly this")
}

fn two_lengths(mut stream: TcpStream) -> std::io::Result<()> {
    read_head(&mut stream)?;
    stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 5\r\ncontent-length: 50\r\n\r\nhello")?;
    wait_for_the_end(stream)
}

fn less_than_it_says(mut stream: TcpStream) -> std::io::Result<()> {
    read_head(&mut stream)?;
    stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\nonly this")?;
    wait_for_the_end(stream)
}

/// A target that lives as long as the test.
fn hostile(behaviour: Behaviour) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").expect("bound");
    let address = listener.local_addr().expect("bound");
    thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            thread::spawn(move || behaviour(stream));
        }
    });
    address
}

/// A job that runs once and then only when it is told to.
fn calling(address: SocketAddr) -> Value {
    let mut body = job(address, &json!({"recurrence": {"frequency": "year"}}));
    body["properties"]["action"]["retryPolicy"] = json!({"retryType": "none"});
    body
}

/// The healthy target is called again and again while something else goes on.
struct Healthy<'a> {
    server: &'a Server,
    calls: AtomicUsize,
}

impl Healthy<'_> {
    fn call(&self) {
        let (status, answer) = self.server.call("POST", &job_path("healthy/run"), None);
        assert_eq!(status, 200, "{answer}");
        self.calls.fetch_add(1, Ordering::Relaxed);
    }
}

#[test]
fn they_fail_and_nobody_else_suffers() {
    let data = tempfile::tempdir().expect("a folder");
    let settings = [
        ("PUNCTUAL_HTTP_TIMEOUT", "3s"),
        ("PUNCTUAL_HTTP_CONNECT_TIMEOUT", "2s"),
        ("PUNCTUAL_HTTP_MAX_ANSWER", "4194304"),
        // The healthy job is run as often as something is looked at.
        ("PUNCTUAL_API_RUNS_PER_JOB", "100000"),
    ];
    let server = Server::start(data.path(), &settings);
    assert_eq!(server.call("PUT", COLLECTION, Some(&json!({"location": "Local"}))).0, 201);
    let (well, _) = target();
    assert_eq!(server.call("PUT", &job_path("healthy"), Some(&calling(well))).0, 201);
    let healthy = Healthy { server: &server, calls: AtomicUsize::new(1) };
    let nobody = ("is-not-there", &["ConnectFailure Unable to connect to the remote server"][..]);
    let mut names = vec![nobody];
    let closed = "127.0.0.1:1".parse().expect("an address");
    assert_eq!(server.call("PUT", &job_path(nobody.0), Some(&calling(closed))).0, 201);
    for (name, behaviour, says) in TARGETS {
        let (status, answer) = server.call("PUT", &job_path(name), Some(&calling(hostile(behaviour))));
        assert_eq!(status, 201, "{answer}");
        names.push((name, says));
    }

    let faulted = |name: &str| {
        let (_, job) = server.call("GET", &job_path(name), None);
        job["properties"]["status"]["faultedCount"].as_u64().unwrap_or_default()
    };
    let finished = |runs: u64| {
        until("the end of all calls", || {
            healthy.call();
            names.iter().all(|(name, _)| faulted(name) >= runs)
        });
    };
    // Every job `more` times at once.
    let run = |more: u64| {
        for _ in 0..more {
            for (name, _) in &names {
                assert_eq!(server.call("POST", &job_path(&format!("{name}/run")), None).0, 200);
            }
        }
    };
    finished(1);
    run(6);
    finished(7);
    let before = server.resident();
    for wave in 1..=3 {
        run(12);
        finished(7 + wave * 12);
    }
    let after = server.resident();
    match (before, after) {
        // The bound is generous; a hundred answers of 4 MiB, or what is leaked by 400 calls, would be beyond it.
        (Some(before), Some(after)) => {
            eprintln!("the server holds {after} KiB, and held {before} KiB before");
            assert!(after < before + 32 * 1024, "from {before} KiB to {after} KiB");
        }
        _ => eprintln!("skipped: there is no /proc to read the size of the server from"),
    }

    for (name, says) in &names {
        let (_, history) = server.call("GET", &job_path(&format!("{name}/history")), None);
        let entries = history["value"].as_array().expect("a list");
        assert_eq!(entries.len(), 43, "{name}");
        for entry in entries.iter().map(|entry| &entry["properties"]) {
            let message = entry["message"].as_str().unwrap_or_default();
            assert_eq!(entry["status"], "failed", "{name}: {message}");
            assert!(
                message.starts_with("Http Action - Request to host '127.0.0.1' failed: "),
                "{name}: {message}"
            );
            assert!(says.iter().any(|says| message.contains(says)), "{name}: {message}");
        }
    }
    let calls = healthy.calls.load(Ordering::Relaxed);
    let of = |entries: &[Value], name: &str| -> Vec<Value> {
        let end = format!("/jobs/{name}");
        let is_of = |entry: &&Value| entry["job"].as_str().is_some_and(|job| job.ends_with(&end));
        entries.iter().filter(is_of).cloned().collect()
    };
    until("the end of the healthy calls", || of(&ledger(&server), "healthy").len() == calls);
    let entries = ledger(&server);
    for entry in of(&entries, "healthy") {
        assert_eq!(entry["state"], "ran", "{entry}");
    }
    for (name, _) in &names {
        let entries = of(&entries, name);
        assert_eq!(entries.len(), 43, "{name}");
        for entry in entries {
            assert_eq!(
                (&entry["state"], &entry["reason"]),
                (&json!("faulted"), &json!("retriesUsedUp")),
                "{entry}"
            );
            assert_eq!(entry["message"], "Every attempt that the retry policy allows failed.");
        }
    }
    assert!(server.terminate().success(), "and it stops as if nothing had been");
}

/// The phases of a call in which a target can hang.
#[derive(Debug, Clone, Copy)]
enum Phase {
    Connect,
    Tls,
    Headers,
    Body,
}

/// A target that never comes to an end, and connections that have to be kept for that. One thread serves all callers.
fn hanging(phase: Phase) -> (SocketAddr, Vec<TcpStream>) {
    let listener = match phase {
        Phase::Connect => with_a_short_queue(),
        _ => TcpListener::bind("127.0.0.1:0").expect("bound"),
    };
    let address = listener.local_addr().expect("bound");
    let mut queue = Vec::new();
    if matches!(phase, Phase::Connect) {
        // Nothing is accepted: when the queue is full, a caller gets no answer at all.
        while let Ok(stream) = TcpStream::connect_timeout(&address, Duration::from_millis(300)) {
            queue.push(stream);
        }
    }
    thread::spawn(move || {
        let mut kept = Vec::new();
        if matches!(phase, Phase::Connect) {
            loop {
                thread::park();
            }
        }
        for mut stream in listener.incoming().flatten() {
            if matches!(phase, Phase::Body) && read_head(&mut stream).is_ok() {
                let _ = stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\n");
            }
            kept.push(stream);
        }
    });
    (address, queue)
}

fn with_a_short_queue() -> TcpListener {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    runtime.block_on(async {
        let socket = tokio::net::TcpSocket::new_v4().expect("a socket");
        socket.bind(([127, 0, 0, 1], 0).into()).expect("bound");
        socket.listen(1).and_then(tokio::net::TcpListener::into_std).expect("listening")
    })
}

/// The path of a job in a collection.
fn in_collection(name: &str, job: &str) -> String {
    job_path(job).replace("jobCollections/c/", &format!("jobCollections/{name}/"))
}

/// 1,200 calls of 24 collections that hang, in every phase of a call, and calls of others that begin all the same: of a
/// collection of which nothing is known, and at a target that hangs for everybody else.
#[test]
fn calls_that_hang_leave_room_for_those_of_others() {
    const COLLECTIONS: usize = 24;
    const JOBS: usize = 50;
    let data = tempfile::tempdir().expect("a folder");
    // They hang for longer than this test waits for anything.
    let settings = [
        ("PUNCTUAL_HTTP_TIMEOUT", "900s"),
        ("PUNCTUAL_HTTP_CONNECT_TIMEOUT", "900s"),
        ("PUNCTUAL_HTTP_TLS_TIMEOUT", "900s"),
        ("PUNCTUAL_HTTP_ANSWER_TIMEOUT", "900s"),
    ];
    let server = Server::start(data.path(), &settings);
    let phases = [Phase::Connect, Phase::Tls, Phase::Headers, Phase::Body];
    let targets: Vec<_> = (0..COLLECTIONS).map(|i| hanging(phases[i % phases.len()])).collect();
    let make = |collection: &str| {
        let path = in_collection(collection, "").replace("/jobs/", "");
        assert_eq!(server.call("PUT", &path, Some(&json!({"location": "Local"}))).0, 201);
    };
    for (i, (address, _)) in targets.iter().enumerate() {
        let name = format!("hangs-{i}");
        make(&name);
        let mut body = job(*address, &json!({}));
        if matches!(phases[i % phases.len()], Phase::Tls) {
            body["properties"]["action"]["type"] = "Https".into();
            body["properties"]["action"]["request"]["uri"] = format!("https://{address}/").into();
        }
        for n in 0..JOBS {
            assert_eq!(server.call("PUT", &in_collection(&name, &format!("j{n}")), Some(&body)).0, 201);
        }
    }
    let waiting = || server.call("GET", "/api/waiting", None).1;
    until("all of them to begin or to wait", || {
        let seen = waiting();
        let count = |name: &str| seen[name].as_u64().unwrap_or_default();
        count("running") + count("waiting") == (COLLECTIONS * JOBS) as u64 && count("running") >= 700
    });
    let seen = waiting();
    assert!(seen["waitingFor"]["share"].as_u64().is_some_and(|share| share > 0), "{seen}");
    assert_eq!(seen["collections"].as_array().map(Vec::len), Some(20), "{seen}");
    let running = seen["running"].clone();

    let (well, calls) = target();
    make("unrelated");
    for n in 0..20 {
        let name = format!("j{n}");
        let (status, answer) =
            server.call("PUT", &in_collection("unrelated", &name), Some(&job(well, &json!({}))));
        assert_eq!(status, 201, "{answer}");
        until("a call of a collection that has nothing to do with them", || {
            calls.lock().expect("not poisoned").contains_key(&name)
        });
    }
    // None of those that hang has made room.
    until("those calls to end", || waiting()["running"] == running);
    let hanging = |entry: &&Value| entry["job"].as_str().is_some_and(|job| job.contains("/hangs-"));
    assert_eq!(ledger(&server).iter().filter(hanging).count(), 0);
    server.kill();
}

/// A file of a client certificate that takes long to open.
fn slow_certificate() -> String {
    let key = KeyPair::generate().expect("a key");
    let params = CertificateParams::new([]).expect("parameters");
    let certificate = params.self_signed(&key).expect("signed");
    let key = PrivateKey::from_der(&key.serialize_der()).expect("a key");
    let certificate = Certificate::from_der(certificate.der()).expect("a certificate");
    let mut file = KeyStore::new();
    let chain = PrivateKeyChain::new("id", key, [certificate]);
    file.add_entry("slow", KeyStoreEntry::PrivateKeyChain(chain));
    let writer = file.writer("word").encryption_iterations(100_000).mac_iterations(100_000);
    BASE64_STANDARD.encode(writer.write().expect("written"))
}

#[test]
fn certificates_that_are_slow_to_open_hold_up_nobody_else() {
    let data = tempfile::tempdir().expect("a folder");
    let server = Server::start(data.path(), &[]);
    assert_eq!(server.call("PUT", COLLECTION, Some(&json!({}))).0, 201);
    let mut body = calling(hostile(hang));
    body["properties"]["action"]["type"] = json!("Https");
    let request = &mut body["properties"]["action"]["request"];
    request["uri"] = json!("https://127.0.0.1:1/");
    request["authentication"] =
        json!({"type": "ClientCertificate", "pfx": slow_certificate(), "password": "word"});
    // The server has as many threads as there are processors.
    let threads = thread::available_parallelism().map_or(2, usize::from);
    let many = 4 * threads;
    let (server, body, written) = (&server, &body, &AtomicUsize::new(0));
    thread::scope(|scope| {
        for number in 0..many {
            scope.spawn(move || {
                let path = job_path(&format!("slow-{number}"));
                let put =
                    || server.try_call("PUT", &path, Some(body)).is_some_and(|(status, _)| status < 300);
                until("the job is written", put);
                written.fetch_add(1, Ordering::SeqCst);
            });
        }
        thread::sleep(Duration::from_millis(200));
        loop {
            let before = written.load(Ordering::SeqCst);
            assert!(before + threads < many, "others are answered while certificates are opened");
            (0..10).for_each(|_| assert_eq!(server.call("GET", "/healthz", None).0, 200));
            if written.load(Ordering::SeqCst) == before {
                return;
            }
        }
    });
}
