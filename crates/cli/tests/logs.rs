//! The log of the real binary: nobody waits for whoever reads it, and whoever reads misses nothing.

mod running;

use std::fs::File;
use std::io::{PipeReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::process::Stdio;
use std::sync::{Arc, Mutex};
use std::thread::{self, JoinHandle};

use running::{COLLECTION, Server, job, job_path, ledger, target, until};
use serde_json::json;

/// How many jobs run, each once and at once. Their lines are several times what a pipe and the small buffer hold.
const JOBS: usize = 600;

const SETTINGS: &[(&str, &str)] = &[
    ("PUNCTUAL_LOG_LEVEL", "info"),
    ("PUNCTUAL_LOG_BUFFER", "65536"),
    ("PUNCTUAL_PLANS_P20PREMIUM_JOBS", "10000"),
];

/// A server whose log goes there, and that has run all jobs.
fn run_all(data: &Path, settings: &[(&str, &str)], log: Stdio) -> Server {
    let (target, _) = target();
    let server = Server::start_logging(data, settings, log);
    let premium = json!({"location": "Local", "properties": {"sku": {"name": "P20Premium"}}});
    assert_eq!(server.call("PUT", COLLECTION, Some(&premium)).0, 201);
    for n in 0..JOBS {
        let (status, told) = server.call("PUT", &job_path(&format!("j{n}")), Some(&job(target, &json!({}))));
        assert_eq!(status, 201, "{told}");
    }
    until("every job is in the ledger", || ledger(&server).len() == JOBS);
    for entry in ledger(&server) {
        assert_eq!(entry["state"], "ran", "{entry}");
    }
    server
}

/// A number that is told at /metrics.
fn metric(server: &Server, name: &str) -> u64 {
    let mut stream = TcpStream::connect(server.address).expect("connected");
    write!(stream, "GET /metrics HTTP/1.1\r\nhost: {}\r\nconnection: close\r\n\r\n", server.address)
        .expect("sent");
    let mut page = String::new();
    stream.read_to_string(&mut page).expect("an answer");
    let line =
        page.lines().find_map(|line| line.strip_prefix(name)).unwrap_or_else(|| panic!("no {name}: {page}"));
    line.trim().parse().expect("a whole number")
}

/// Reads all there is, until the other side has ended.
fn read_all(mut log: PipeReader) -> (Arc<Mutex<String>>, JoinHandle<()>) {
    let text = Arc::new(Mutex::new(String::new()));
    let read = Arc::clone(&text);
    let reader = thread::spawn(move || {
        let mut part = vec![0; 1 << 16];
        while let Ok(count @ 1..) = log.read(&mut part) {
            read.lock().expect("not poisoned").push_str(&String::from_utf8_lossy(&part[..count]));
        }
    });
    (text, reader)
}

fn occurrences(log: &str) -> usize {
    log.lines().filter(|line| line.contains(" occurrence: ")).count()
}

/// What the log says is missing in it.
fn missing(log: &str) -> usize {
    let lines = log.lines().filter(|line| line.contains("lines of the log are missing here"));
    lines
        .map(|line| {
            line.rsplit("dropped=").next().and_then(|n| n.trim().parse::<usize>().ok()).expect("a number")
        })
        .sum()
}

#[test]
fn jobs_run_and_are_settled_while_nobody_reads_the_log() {
    let data = tempfile::tempdir().expect("a folder");
    let (log, end) = std::io::pipe().expect("a pipe");
    let server = run_all(data.path(), SETTINGS, end.into());
    assert_eq!(server.call("GET", "/healthz", None).0, 200);
    let dropped = metric(&server, "punctual_log_lines_dropped_total") as usize;
    assert!(dropped > 0 && dropped < JOBS, "{dropped} of {JOBS}");

    let (text, reader) = read_all(log);
    until("the log says what is missing", || missing(&text.lock().expect("not poisoned")) == dropped);
    assert!(server.terminate().success());
    reader.join().expect("it ended");
    let text = text.lock().expect("not poisoned");
    assert_eq!(occurrences(&text) + dropped, JOBS, "the rest is there");
    assert!(
        text.trim_end().ends_with("stopped all_ended=true"),
        "the last line is written before the end: {text}"
    );
}

#[test]
fn an_end_does_not_wait_for_ever_for_whoever_reads() {
    let data = tempfile::tempdir().expect("a folder");
    let (_log, end) = std::io::pipe().expect("a pipe");
    let server = run_all(data.path(), SETTINGS, end.into());
    assert!(server.terminate().success());
}

#[test]
fn whoever_reads_misses_nothing() {
    let data = tempfile::tempdir().expect("a folder");
    let path = data.path().join("log");
    // All of them at once have room.
    let settings: Vec<_> =
        SETTINGS.iter().copied().filter(|(name, _)| *name != "PUNCTUAL_LOG_BUFFER").collect();
    let server = run_all(data.path(), &settings, File::create(&path).expect("a file").into());
    assert_eq!(metric(&server, "punctual_log_lines_dropped_total"), 0);
    assert!(server.terminate().success());
    let text = std::fs::read_to_string(&path).expect("a text");
    assert_eq!(occurrences(&text), JOBS);
    assert!(text.trim_end().ends_with("stopped all_ended=true"), "{text}");
}

#[test]
fn what_a_target_answers_forges_no_line() {
    let target = TcpListener::bind("127.0.0.1:0").expect("bound");
    let address = target.local_addr().expect("bound");
    thread::spawn(move || {
        for stream in target.incoming() {
            let mut stream = stream.expect("a connection");
            let mut head = [0; 4096];
            let _ = stream.read(&mut head);
            let body = "x\r\n2026-11-19T00:00:00Z  INFO server: forged\n";
            let head =
                format!("HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-length: {}\r\n\r\n", body.len());
            let _ = stream.write_all(format!("{head}{body}").as_bytes());
        }
    });
    let data = tempfile::tempdir().expect("a folder");
    let path = data.path().join("log");
    let server = Server::start_logging(data.path(), SETTINGS, File::create(&path).expect("a file").into());
    assert_eq!(server.call("PUT", COLLECTION, Some(&json!({}))).0, 201);
    assert_eq!(server.call("PUT", &job_path("forger"), Some(&job(address, &json!({})))).0, 201);
    until("it ran", || ledger(&server).len() == 1);
    assert!(server.terminate().success());
    let text = std::fs::read_to_string(&path).expect("a text");
    assert!(text.contains("INFO server: forged"), "the message is there: {text}");
    assert!(!text.lines().any(|line| line.starts_with("2026-11-19T00:00:00Z")), "{text}");
}
