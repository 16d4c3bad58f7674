//! A disk that is really full, a folder that really cannot be written: nothing accepted is lost, nothing is half done,
//! and it goes on by itself.
//!
//! Each test runs a second time as a process in namespaces of its own, where it may mount a small file system that
//! nobody else sees, and where nothing survives it. Where that is not allowed it says so and tests nothing.

mod running;

use std::collections::{HashMap, HashSet};
use std::fs::OpenOptions;
use std::io::{ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};

use engine::SystemClock;
use jiff::SignedDuration;
use model::Clock;
use running::{COLLECTION, Calls, Server, job, job_path, ledger, target, until};
use serde_json::{Value, json};

const SETTINGS: &[(&str, &str)] = &[("PUNCTUAL_PLANS_P20PREMIUM_JOBS", "100000")];

/// Set for the second process: the place for the file system. Not PUNCTUAL_…, which are settings.
const INSIDE: &str = "TEST_DISK";

/// A small file system of one test.
struct Disk(PathBuf);

impl Disk {
    /// Runs a test with a file system of its own.
    fn with(test: &str, body: impl FnOnce(&Self)) {
        if let Some(place) = std::env::var_os(INSIDE) {
            let disk = Self(place.into());
            run(Command::new("mount").args(["-t", "tmpfs", "-o", "size=4m", "tmpfs"]).arg(&disk.0));
            return body(&disk);
        }
        let place = tempfile::tempdir().expect("a folder");
        let Some(mut command) = namespaces(place.path()) else {
            println!(
                "{test} is skipped: neither user nor mount namespaces are allowed here (see unshare(1))"
            );
            return;
        };
        let ended = command
            .arg(std::env::current_exe().expect("this program"))
            .args(["--exact", test, "--nocapture"])
            .env(INSIDE, place.path())
            .status();
        assert!(ended.expect("run").success(), "{test} failed; see above");
    }

    fn ballast(&self) -> PathBuf {
        self.0.join("ballast")
    }

    /// Leaves no room.
    fn fill(&self) {
        let mut ballast = OpenOptions::new().create(true).append(true).open(self.ballast()).expect("opened");
        loop {
            match ballast.write_all(&[0; 4096]) {
                Ok(()) => {}
                Err(error) if error.kind() == ErrorKind::StorageFull => return,
                Err(error) => panic!("{error}"),
            }
        }
    }

    fn free(&self) {
        std::fs::remove_file(self.ballast()).expect("removed");
    }

    fn remount(&self, how: &str) {
        run(Command::new("mount").args(["-o", &format!("remount,{how}")]).arg(&self.0));
    }

    /// What SQLite itself says of the file.
    fn integrity(&self) -> String {
        let db = rusqlite::Connection::open(self.0.join("punctual.db")).expect("opened");
        db.pragma_query_value(None, "integrity_check", |row| row.get(0)).expect("checked")
    }
}

/// A command that starts another in namespaces in which it may mount; `None` if that is not allowed.
fn namespaces(place: &Path) -> Option<Command> {
    let own = ["--mount", "--pid", "--fork", "--kill-child", "--mount-proc"];
    let as_user = [&["--user", "--map-root-user"], &own[..]].concat();
    [as_user.as_slice(), &own].into_iter().find_map(|options| {
        let command = || {
            let mut command = Command::new("unshare");
            command.args(options);
            command
        };
        let tried = command().args(["mount", "-t", "tmpfs", "tmpfs"]).arg(place).output();
        tried.is_ok_and(|tried| tried.status.success()).then(command)
    })
}

fn run(command: &mut Command) {
    let Output { status, stderr, .. } = command.output().expect("run");
    assert!(status.success(), "{command:?}: {}", String::from_utf8_lossy(&stderr));
}

/// What clients do before, while and after the disk fails; and what must be so in the end.
struct Clients {
    server: Server,
    target: SocketAddr,
    calls: Calls,
    accepted: HashSet<String>,
    refused: HashSet<String>,
}

impl Clients {
    fn start(disk: &Disk) -> Self {
        let (target, calls) = target();
        let server = Server::start(&disk.0, SETTINGS);
        let premium = json!({"location": "Local", "properties": {"sku": {"name": "P20Premium"}}});
        assert_eq!(server.call("PUT", COLLECTION, Some(&premium)).0, 201);
        let far = SystemClock.now() + SignedDuration::from_hours(24);
        let far = job(target, &json!({"startTime": far.to_string()}));
        assert_eq!(server.call("PUT", &job_path("far"), Some(&far)).0, 201);
        let mut clients = Self { server, target, calls, accepted: HashSet::new(), refused: HashSet::new() };
        // Some are done before the disk fails, some are due while it does.
        for n in 0..10 {
            assert_eq!(clients.put(&format!("before-{n}"), 0, 10).0, 201);
        }
        until("the first to be called", || !clients.calls.lock().expect("not poisoned").is_empty());
        for n in 0..10 {
            assert_eq!(clients.put(&format!("meanwhile-{n}"), 2 + n % 3, 10).0, 201);
        }
        clients
    }

    /// Makes a job that runs once, in so many seconds; the status, the head and the body of the answer.
    fn put(&mut self, name: &str, seconds: i64, bytes: usize) -> (u16, String, Value) {
        let due = SystemClock.now() + SignedDuration::from_secs(seconds);
        let mut body = job(self.target, &json!({"startTime": due.to_string()}));
        body["properties"]["action"]["request"]["body"] = "x".repeat(bytes).into();
        let answer = exchange(self.server.address, "PUT", &job_path(name), &body);
        match answer.0 {
            200 | 201 => self.accepted.insert(name.to_owned()),
            _ => self.refused.insert(name.to_owned()),
        };
        answer
    }

    /// Writes until nothing can be written any more, and looks at everything that must be so then.
    fn meet_the_failure(&mut self, says: &str) {
        for n in 0.. {
            let (status, head, answer) = self.put(&format!("large-{n}"), 0, 8_000);
            if status == 503 {
                assert!(head.contains("retry-after: "), "{head}");
                assert_eq!(answer["error"]["code"], "ServerBusy", "{answer}");
                let message = answer["error"]["message"].as_str().unwrap_or_default();
                assert!(message.contains(says) && message.contains("nothing was changed"), "{message}");
                break;
            }
            assert_eq!(status, 201, "{answer}");
            assert!(n < 10_000, "it never failed");
        }
        let server = &self.server;
        let (status, told) = server.call("GET", "/readyz", None);
        assert_eq!(status, 503, "{told}");
        assert!(told["error"]["message"].as_str().unwrap_or_default().contains(says), "{told}");
        assert_eq!(server.call("GET", "/healthz", None).0, 200);
        assert_eq!(server.call("GET", &job_path("before-0"), None).0, 200);
        assert_eq!(server.call("GET", &job_path("before-0/history"), None).0, 200);
        assert_eq!(server.call("GET", "/api/ledger", None).0, 200);
        assert_eq!(server.call("GET", COLLECTION, None).0, 200);
        assert_eq!(server.call("DELETE", &job_path("far"), None).0, 503);
        let off = json!({"properties": {"state": "Disabled"}});
        assert_eq!(server.call("PATCH", &job_path("far"), Some(&off)).0, 503);
    }

    /// Waits until all is well again, and compares what was answered with what is there.
    fn find_everything(mut self, disk: &Disk) {
        until("the server to be ready again", || self.server.call("GET", "/readyz", None).0 == 200);
        assert_eq!(self.put("after", 0, 10).0, 201);
        let server = self.server;
        until("everything to be carried out", || {
            server.call("GET", "/readyz", None).1["executions"] == 0
                && ledger(&server).len() >= self.accepted.len()
        });
        let mut entries: HashMap<String, Vec<Value>> = HashMap::new();
        for entry in ledger(&server) {
            let name = entry["job"].as_str().and_then(|path| path.rsplit('/').next()).expect("a name");
            entries.entry(name.to_owned()).or_default().push(entry);
        }
        let calls = self.calls.lock().expect("not poisoned");
        for name in &self.accepted {
            let found = entries.get(name).map_or(&[][..], Vec::as_slice);
            assert_eq!(found.len(), 1, "{name} is in the ledger once: {found:?}");
            assert!(matches!(found[0]["state"].as_str(), Some("ran" | "ranLate")), "{found:?}");
            let tags = calls.get(name).unwrap_or_else(|| panic!("{name} was accepted and never called"));
            assert!(tags.iter().all(|tag| found[0]["executionTag"] == **tag), "{name}: {tags:?}, {found:?}");
        }
        assert_eq!(entries.len(), self.accepted.len(), "the ledger knows of nothing else");
        for name in &self.refused {
            assert_eq!(server.call("GET", &job_path(name), None).0, 404, "{name} was refused");
        }
        let (_, far) = server.call("GET", &job_path("far"), None);
        assert_eq!(far["properties"]["state"], "enabled", "neither deleted nor changed: {far}");
        assert!(server.terminate().success(), "it lived through all of it, and ends as it should");
        assert_eq!(disk.integrity(), "ok");
    }
}

/// One exchange: status, head in lower case, body.
fn exchange(address: SocketAddr, method: &str, path: &str, body: &Value) -> (u16, String, Value) {
    let body = body.to_string();
    let mut stream = TcpStream::connect(address).expect("connected");
    write!(
        stream,
        "{method} {path} HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\ncontent-type: application/json\r\n\
         content-length: {}\r\n\r\n{body}",
        body.len()
    )
    .expect("sent");
    let mut answer = String::new();
    stream.read_to_string(&mut answer).expect("answered");
    let (head, body) = answer.split_once("\r\n\r\n").expect("an answer");
    let status = head.split(' ').nth(1).and_then(|status| status.parse().ok()).expect("a status");
    (status, head.to_ascii_lowercase(), serde_json::from_str(body).expect("JSON"))
}

#[test]
fn a_full_disk_is_told_and_overcome() {
    Disk::with("a_full_disk_is_told_and_overcome", |disk| {
        let mut clients = Clients::start(disk);
        disk.fill();
        clients.meet_the_failure("full");
        disk.free();
        clients.find_everything(disk);
    });
}

/// `mount -o remount,ro` refuses while a file is open for writing; a kernel that finds an error does not ask. From then
/// on every write fails with EROFS: so it is made to, by the kernel's own means.
#[test]
fn a_disk_that_turns_read_only_is_told_and_overcome() {
    Disk::with("a_disk_that_turns_read_only_is_told_and_overcome", |disk| {
        let mut clients = Clients::start(disk);
        let Some(mut broken) = refuse_writes(clients.server.id()) else {
            println!("skipped: strace(1) is not there or may not look at other processes");
            return clients.server.kill();
        };
        clients.meet_the_failure("cannot be used");
        run(Command::new("kill").args(["-TERM", &broken.id().to_string()]));
        broken.wait().expect("ended");
        clients.find_everything(disk);
    });
}

/// Lets every write of a process to a file fail until the tracer is ended.
fn refuse_writes(process: u32) -> Option<Child> {
    let calls = "pwrite64,pwritev,ftruncate,fallocate,fsync,fdatasync";
    let mut tracer = Command::new("strace")
        .args(["-f", "-o", "/dev/null", "-p", &process.to_string(), "-e", &format!("trace={calls}")])
        .args(["-e", &format!("inject={calls}:error=EROFS")])
        .stderr(Stdio::piped())
        .spawn()
        .ok()?;
    // It says that it is attached, or why it is not.
    let mut said = [0; 512];
    let length = tracer.stderr.take()?.read(&mut said).ok()?;
    String::from_utf8_lossy(&said[..length]).contains("attached").then_some(tracer)
}

/// What has room in the log already can still be written; larger changes cannot, and so the server is not ready.
#[test]
fn a_full_disk_is_not_ready_also_where_small_changes_have_room() {
    Disk::with("a_full_disk_is_not_ready_also_where_small_changes_have_room", |disk| {
        let mut clients = Clients::start(disk);
        let ready = |clients: &Clients| clients.server.call("GET", "/readyz", None);
        assert_eq!(ready(&clients).0, 200);
        disk.fill();
        until("the server not to be ready", || ready(&clients).0 == 503);
        let (_, told) = ready(&clients);
        let message = told["error"]["message"].as_str().unwrap_or_default();
        assert!(message.contains("full"), "{told}");
        assert_eq!(clients.server.call("GET", "/healthz", None).0, 200);
        disk.free();
        until("the server to be ready again", || ready(&clients).0 == 200);
        assert_eq!(clients.put("afterwards", 0, 10).0, 201);
        clients.find_everything(disk);
    });
}

#[test]
fn a_start_where_nothing_can_be_written_says_where() {
    Disk::with("a_start_where_nothing_can_be_written_says_where", |disk| {
        // An empty folder, first full, then read-only.
        disk.fill();
        refuses_to_start(disk, "no room");
        disk.free();
        disk.remount("ro");
        refuses_to_start(disk, "writable");
        disk.remount("rw");

        // A folder in use.
        let server = Server::start(&disk.0, SETTINGS);
        assert_eq!(server.call("PUT", COLLECTION, Some(&json!({"location": "Local"}))).0, 201);
        server.kill();
        disk.remount("ro");
        refuses_to_start(disk, "writable");
        disk.remount("rw");

        // With a store that is there already it starts: what is there can be read, and jobs wait for room.
        disk.fill();
        let server = Server::start(&disk.0, SETTINGS);
        assert_eq!(server.call("GET", COLLECTION, None).0, 200);
        server.kill();
        disk.free();
        let server = Server::start(&disk.0, SETTINGS);
        assert_eq!(server.call("GET", COLLECTION, None).0, 200, "what was there is there");
        assert!(server.terminate().success());
        assert_eq!(disk.integrity(), "ok");
    });
}

fn refuses_to_start(disk: &Disk, why: &str) {
    let mut process = Command::new(env!("CARGO_BIN_EXE_punctual"))
        .args(["serve", "--listen", "127.0.0.1:0", "--data"])
        .arg(&disk.0)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("started");
    until("the start to fail", || process.try_wait().expect("asked").is_some());
    let ended = process.wait_with_output().expect("ended");
    let said = String::from_utf8_lossy(&ended.stderr);
    assert!(ended.status.code().is_some_and(|code| code != 0), "{said}");
    assert!(said.contains(&disk.0.display().to_string()) && said.contains(why), "{said}");
    assert!(!said.contains("panicked"), "{said}");
    assert!(ended.stdout.is_empty(), "it does not say that it serves");
}
