//! More than the server can take, with the real binary: connections by the thousand, heads and bodies that never end, bodies
//! that are far too large, and small requests as fast as they go. All the while jobs are called when they are due, memory
//! stays where it is, and afterwards everything is as before. `scripts/flood` does it for minutes, one after the other, and
//! tells how late jobs were.

mod running;

use std::io::{ErrorKind, Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use jiff::{SignedDuration, Timestamp};
use running::{COLLECTION, Server, job, job_path, ledger, target, until};
use serde_json::json;

/// Seconds during which jobs are due, two in each.
const SECONDS: i64 = 20;

/// How late a job may be called, in seconds, without the stalls of the machine: `engine.late-after`, from which on an
/// occurrence counts as late.
const LATEST: f64 = 10.0;

/// The most memory, in KiB: what connections and bodies may take together, and the server itself.
const MOST_MEMORY: u64 = 600 << 10;

/// How many connections are opened without a word. The test has half of the files of the machine, the server the other.
fn connections() -> usize {
    let limit = std::fs::read_to_string("/proc/self/limits").unwrap_or_default();
    let line = limit.lines().find_map(|line| line.strip_prefix("Max open files")).unwrap_or_default();
    let files = line.split_whitespace().next().and_then(|number| number.parse().ok()).unwrap_or(1024);
    usize::min(files / 2, 10_000)
}

/// A connection; `None` where it was refused, as some of so many may be.
fn connect(address: SocketAddr) -> Option<TcpStream> {
    let stream = TcpStream::connect_timeout(&address, Duration::from_secs(5)).ok()?;
    stream.set_read_timeout(Some(Duration::from_secs(30))).ok()?;
    stream.set_write_timeout(Some(Duration::from_secs(30))).ok()?;
    Some(stream)
}

/// The status of what comes next; `None` where nothing comes.
fn status(stream: &mut TcpStream) -> Option<u16> {
    let mut head = [0; 12];
    stream.read_exact(&mut head).ok()?;
    String::from_utf8_lossy(&head).split(' ').nth(1)?.parse().ok()
}

/// Sends a head or a body, a little at a time, until the server has had enough.
fn drip(address: SocketAddr, beginning: &str, done: &AtomicBool) {
    let Some(mut stream) = connect(address) else { return };
    let _ = stream.write_all(beginning.as_bytes());
    while !done.load(Ordering::SeqCst) && stream.write_all(b"x").is_ok() {
        thread::sleep(Duration::from_millis(500));
    }
}

/// Sends 100 MB to something that takes a thousandth of it; what it is answered.
fn send_far_too_much(address: SocketAddr, announced: bool) -> Option<u16> {
    let mut stream = connect(address)?;
    let length = 100 << 20;
    let kind =
        if announced { format!("content-length: {length}") } else { "transfer-encoding: chunked".to_owned() };
    let path = job_path("large");
    write!(
        stream,
        "PUT {path} HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n{kind}\r\n\r\n"
    )
    .ok()?;
    let part = vec![b' '; 1 << 16];
    for _ in 0..length >> 16 {
        let sent = if announced {
            stream.write_all(&part)
        } else {
            stream
                .write_all(b"10000\r\n")
                .and_then(|()| stream.write_all(&part))
                .and_then(|()| stream.write_all(b"\r\n"))
        };
        if sent.is_err() {
            break;
        }
    }
    status(&mut stream)
}

/// Small requests on one connection, as fast as they go; how many were answered.
fn ask(address: SocketAddr, done: &AtomicBool, answered: &AtomicUsize) {
    let request = format!("GET /healthz HTTP/1.1\r\nhost: {address}\r\n\r\n").repeat(20);
    while !done.load(Ordering::SeqCst) {
        let Some(mut stream) = connect(address) else { continue };
        let mut buffer = vec![0; 64 << 10];
        while !done.load(Ordering::SeqCst) && stream.write_all(request.as_bytes()).is_ok() {
            let mut seen = 0;
            while seen < 20 {
                match stream.read(&mut buffer) {
                    Ok(0) => break,
                    Ok(read) => {
                        seen += String::from_utf8_lossy(&buffer[..read]).matches("HTTP/1.1 200").count();
                    }
                    Err(error) if error.kind() == ErrorKind::Interrupted => {}
                    Err(_) => break,
                }
            }
            answered.fetch_add(seen, Ordering::SeqCst);
            if seen < 20 {
                break;
            }
        }
    }
}

/// How long this machine kept a thread waiting that wanted to run.
#[derive(Default)]
struct Stalls {
    milliseconds: AtomicUsize,
}

impl Stalls {
    const REST: Duration = Duration::from_millis(50);

    /// Adds up what naps take longer than they should.
    #[expect(clippy::disallowed_methods, reason = "it measures the machine")]
    fn watch(&self, done: &AtomicBool) {
        while !done.load(Ordering::SeqCst) {
            let began = Instant::now();
            thread::sleep(Self::REST);
            let lost = began.elapsed().saturating_sub(Self::REST).as_millis();
            self.milliseconds.fetch_add(usize::try_from(lost).unwrap_or(usize::MAX), Ordering::SeqCst);
        }
    }

    fn seconds(&self) -> f64 {
        self.milliseconds.load(Ordering::SeqCst) as f64 / 1000.0
    }
}

/// Once at a time of its own.
fn once(target: SocketAddr, at: Timestamp) -> serde_json::Value {
    job(target, &json!({"startTime": at.to_string()}))
}

#[test]
fn jobs_are_called_on_time_whatever_comes_in() {
    let data = tempfile::tempdir().expect("a folder");
    let settings = [
        ("PUNCTUAL_SERVER_HEADER_TIMEOUT", "3s"),
        ("PUNCTUAL_SERVER_BODY_TIMEOUT", "3s"),
        ("PUNCTUAL_SERVER_IDLE_TIMEOUT", "5s"),
        ("PUNCTUAL_SERVER_CONNECTIONS", "2000"),
        ("PUNCTUAL_PLANS_STANDARD_JOBS", "500"),
        ("PUNCTUAL_LOG_LEVEL", "error"),
    ];
    let server = Server::start(data.path(), &settings);
    let address = server.address;
    let (target, _) = target();
    assert_eq!(server.call("PUT", COLLECTION, Some(&json!({"location": "x"}))).0, 201);
    // The time of the machine, which is the server's.
    let now = now();
    for i in 0..2 * SECONDS {
        let at = now + SignedDuration::from_millis(3000 + 500 * i);
        let (status, told) = server.call("PUT", &job_path(&format!("j{i}")), Some(&once(target, at)));
        assert_eq!(status, 201, "{told}");
    }

    let (done, answered) = (AtomicBool::new(false), AtomicUsize::new(0));
    let stalls = Stalls::default();
    let (large, most) = (AtomicUsize::new(0), AtomicUsize::new(0));
    let head = format!("GET /healthz HTTP/1.1\r\nhost: {address}\r\nx-slow: ");
    let body = format!(
        "PUT {} HTTP/1.1\r\nhost: {address}\r\ncontent-type: application/json\r\ncontent-length: 100000\r\n\r\n",
        job_path("slow")
    );
    thread::scope(|scope| {
        for beginning in [&head, &body] {
            for _ in 0..150 {
                let done = &done;
                scope.spawn(move || {
                    while !done.load(Ordering::SeqCst) {
                        drip(address, beginning, done);
                    }
                });
            }
        }
        scope.spawn(|| {
            // Without a word, and again when the server has sent them away.
            while !done.load(Ordering::SeqCst) {
                let silent: Vec<_> = (0..connections())
                    .take_while(|_| !done.load(Ordering::SeqCst))
                    .filter_map(|_| connect(address))
                    .collect();
                drop(silent);
            }
        });
        for announced in [true, false] {
            let (large, done) = (&large, &done);
            scope.spawn(move || {
                while !done.load(Ordering::SeqCst) {
                    // What is refused before it was sent may be cut off before the answer is read.
                    if let Some(status) = send_far_too_much(address, announced) {
                        assert!([413, 503].contains(&status), "{status}");
                        large.fetch_add(1, Ordering::SeqCst);
                    }
                }
            });
        }
        for _ in 0..4 {
            scope.spawn(|| ask(address, &done, &answered));
        }
        scope.spawn(|| stalls.watch(&done));
        scope.spawn(|| {
            while !done.load(Ordering::SeqCst) {
                let memory = usize::try_from(server.resident().unwrap_or_default()).unwrap_or(usize::MAX);
                most.fetch_max(memory, Ordering::SeqCst);
                thread::sleep(Duration::from_millis(100));
            }
        });
        let end = now + SignedDuration::from_secs(3 + SECONDS);
        while self::now() < end {
            thread::sleep(Duration::from_millis(100));
        }
        done.store(true, Ordering::SeqCst);
    });

    // It recovers by itself, and what it did meanwhile is on record.
    until("the server answers as before", || {
        server.try_call("GET", "/readyz", None).is_some_and(|(status, _)| status == 200)
    });
    until("every job is in the ledger", || ledger(&server).len() == 2 * SECONDS as usize);
    let entries = ledger(&server);
    let lateness = entries.iter().map(|entry| {
        assert!(matches!(entry["state"].as_str(), Some("ran" | "ranLate")), "{entry}");
        let time =
            |name: &str| entry[name].as_str().and_then(|text| text.parse::<Timestamp>().ok()).expect(name);
        time("dueTime").duration_until(time("startTime")).as_secs_f64()
    });
    let latest = lateness.fold(0.0, f64::max);
    let (answered, most) = (answered.into_inner(), most.into_inner());
    println!(
        "answered {answered} small requests, refused {} large ones; latest call {latest:.3} s, stalls of the machine {:.3} s, \
         most memory {} MiB",
        large.into_inner(),
        stalls.seconds(),
        most >> 10
    );
    let allowed = LATEST + stalls.seconds();
    assert!(latest <= allowed, "a job was called {latest} s late; {allowed} s are allowed");
    assert!(most as u64 <= MOST_MEMORY, "{most} KiB");
    assert!(answered > 0);
    assert!(server.terminate().success());
}

#[allow(clippy::disallowed_methods, reason = "the jobs of a real server are due at real times")]
fn now() -> Timestamp {
    Timestamp::now()
}
