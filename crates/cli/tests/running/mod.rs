//! The real binary, a target that remembers, and just enough HTTP to talk to both.

use std::collections::HashMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use serde_json::Value;

/// A running `punctual serve`.
pub(crate) struct Server {
    process: Child,
    pub(crate) address: SocketAddr,
}

impl Server {
    /// Starts one on a free port and waits until it says that it is ready.
    #[allow(dead_code, reason = "each test file uses its part")]
    pub(crate) fn start(data: &Path, settings: &[(&str, &str)]) -> Self {
        Self::start_logging(data, settings, Stdio::inherit())
    }

    /// The same, with the log somewhere else.
    pub(crate) fn start_logging(data: &Path, settings: &[(&str, &str)], log: Stdio) -> Self {
        Self::start_by(Command::new(env!("CARGO_BIN_EXE_punctual")), data, settings, log)
    }

    /// The same, by a command that becomes the binary when it is given the arguments of one.
    #[allow(dead_code, reason = "each test file uses its part")]
    pub(crate) fn start_by(mut command: Command, data: &Path, settings: &[(&str, &str)], log: Stdio) -> Self {
        let mut process = command
            .args(["serve", "--listen", "127.0.0.1:0", "--data"])
            .arg(data)
            .env("PUNCTUAL_LOG_LEVEL", "warn")
            .envs(settings.iter().copied())
            .stdout(Stdio::piped())
            .stderr(log)
            .spawn()
            .expect("started");
        let mut line = String::new();
        let out = process.stdout.take().expect("piped");
        BufReader::new(out).read_line(&mut line).expect("a line");
        let address = line.trim().rsplit("http://").next().and_then(|address| address.parse().ok());
        let address = address.unwrap_or_else(|| panic!("'{line}' names no address"));
        Self { process, address }
    }

    /// Its process.
    #[allow(dead_code, reason = "each test file uses its part")]
    pub(crate) fn id(&self) -> u32 {
        self.process.id()
    }

    /// As a power cut would.
    #[allow(dead_code, reason = "each test file uses its part")]
    pub(crate) fn kill(mut self) {
        self.kill_now();
        self.process.wait().expect("waited for");
    }

    /// The same, while others are still using it.
    #[allow(dead_code, reason = "each test file uses its part")]
    pub(crate) fn kill_now(&self) {
        // It may have been killed before.
        let _ = Command::new("kill")
            .args(["-KILL", &self.process.id().to_string()])
            .stderr(Stdio::null())
            .status();
    }

    /// How much memory it holds, in KiB; `None` where nobody says.
    #[allow(dead_code, reason = "each test file uses its part")]
    pub(crate) fn resident(&self) -> Option<u64> {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.process.id())).ok()?;
        let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
        line.trim().strip_suffix(" kB")?.parse().ok()
    }

    /// As an operator would.
    #[allow(dead_code, reason = "each test file uses its part")]
    pub(crate) fn terminate(self) -> ExitStatus {
        let id = self.process.id().to_string();
        assert!(Command::new("kill").args(["-TERM", &id]).status().expect("run").success());
        self.wait()
    }

    /// Until it has ended by itself.
    #[allow(dead_code, reason = "each test file uses its part")]
    pub(crate) fn wait(mut self) -> ExitStatus {
        self.process.wait().expect("waited for")
    }

    /// One call; `None` when there is no whole answer.
    pub(crate) fn try_call(&self, method: &str, path: &str, body: Option<&Value>) -> Option<(u16, Value)> {
        call(self.address, method, path, body)
    }

    /// One call that must be answered.
    #[allow(dead_code, reason = "each test file uses its part")]
    pub(crate) fn call(&self, method: &str, path: &str, body: Option<&Value>) -> (u16, Value) {
        self.try_call(method, path, body).unwrap_or_else(|| panic!("no answer to {method} {path}"))
    }
}

/// One HTTP exchange on a connection of its own; `None` when there is no whole answer.
pub(crate) fn call(
    address: SocketAddr,
    method: &str,
    path: &str,
    body: Option<&Value>,
) -> Option<(u16, Value)> {
    let body = body.map(ToString::to_string).unwrap_or_default();
    let mut stream = TcpStream::connect_timeout(&address, Duration::from_secs(5)).ok()?;
    stream.set_read_timeout(Some(Duration::from_secs(30))).ok()?;
    write!(
        stream,
        "{method} {path} HTTP/1.1\r\nhost: {address}\r\nconnection: close\r\ncontent-type: application/json\r\n\
         content-length: {}\r\n\r\n{body}",
        body.len()
    )
    .ok()?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer).ok()?;
    let (head, body) = answer.split_once("\r\n\r\n")?;
    let status = head.split(' ').nth(1)?.parse().ok()?;
    let length: usize = head
        .lines()
        .filter_map(|line| line.split_once(": "))
        .find(|(name, _)| name.eq_ignore_ascii_case("content-length"))
        .and_then(|(_, length)| length.parse().ok())?;
    if body.len() < length {
        return None;
    }
    Some((status, serde_json::from_str(body).unwrap_or(Value::Null)))
}

/// The ETag of a resource.
#[allow(dead_code, reason = "each test file uses its part")]
pub(crate) fn etag(server: &Server, path: &str) -> String {
    let mut stream = TcpStream::connect(server.address).expect("connected");
    let address = server.address;
    write!(stream, "GET {path} HTTP/1.1\r\nhost: {address}\r\nconnection: close\r\n\r\n").expect("written");
    let mut answer = String::new();
    stream.read_to_string(&mut answer).expect("an answer");
    let tag = answer
        .lines()
        .filter_map(|line| line.split_once(": "))
        .find(|(name, _)| name.eq_ignore_ascii_case("etag"));
    tag.unwrap_or_else(|| panic!("{path} has no ETag: {answer}")).1.to_owned()
}

/// What a target was called with: the tags of each job, in the order of the calls.
#[allow(dead_code, reason = "each test file uses its part")]
pub(crate) type Calls = Arc<Mutex<HashMap<String, Vec<String>>>>;

/// A target that answers 200 and remembers. It lives as long as the test.
#[allow(dead_code, reason = "each test file uses its part")]
pub(crate) fn target() -> (SocketAddr, Calls) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("bound");
    let address = listener.local_addr().expect("bound");
    let calls = Calls::default();
    let remembered = calls.clone();
    thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let calls = remembered.clone();
            thread::spawn(move || answer(stream, &calls));
        }
    });
    (address, calls)
}

#[allow(dead_code, reason = "each test file uses its part")]
fn answer(stream: TcpStream, calls: &Calls) -> Option<()> {
    let mut reader = BufReader::new(stream.try_clone().ok()?);
    let mut stream = stream;
    loop {
        let mut headers = HashMap::new();
        let mut line = String::new();
        reader.read_line(&mut line).ok().filter(|read| *read > 0)?;
        loop {
            line.clear();
            reader.read_line(&mut line).ok()?;
            let Some((name, value)) = line.trim_end().split_once(": ") else { break };
            headers.insert(name.to_ascii_lowercase(), value.to_owned());
        }
        let length = headers.get("content-length").and_then(|length| length.parse().ok()).unwrap_or(0);
        reader.read_exact(&mut vec![0; length]).ok()?;
        let (job, tag) = (headers.remove("x-ms-scheduler-jobid")?, headers.remove("x-ms-execution-tag")?);
        calls.lock().expect("not poisoned").entry(job).or_default().push(tag);
        stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok").ok()?;
    }
}

/// Waits until something is so; a test that waits for ever says for what.
#[allow(dead_code, reason = "each test file uses its part")]
pub(crate) fn until(what: &str, mut so: impl FnMut() -> bool) {
    for _ in 0..3600 {
        if so() {
            return;
        }
        thread::sleep(Duration::from_millis(50));
    }
    panic!("waited three minutes for this: {what}");
}

/// The path of a collection of ours.
pub(crate) const COLLECTION: &str =
    "/subscriptions/s/resourceGroups/g/providers/Microsoft.Scheduler/jobCollections/c?api-version=2016-03-01";

/// The path of one of its jobs, or of what is below it.
#[allow(dead_code, reason = "each test file uses its part")]
pub(crate) fn job_path(rest: &str) -> String {
    COLLECTION.replace('?', &format!("/jobs/{rest}?"))
}

/// A job that posts to a target.
#[allow(dead_code, reason = "each test file uses its part")]
pub(crate) fn job(target: SocketAddr, more: &Value) -> Value {
    let mut properties = serde_json::json!({
        "action": {"type": "Http", "request": {"method": "POST", "uri": format!("http://{target}/"), "body": "x"}},
    });
    for (name, value) in more.as_object().into_iter().flatten() {
        properties[name] = value.clone();
    }
    serde_json::json!({"properties": properties})
}

/// All entries of the ledger, page by page.
#[allow(dead_code, reason = "each test file uses its part")]
pub(crate) fn ledger(server: &Server) -> Vec<Value> {
    let mut entries = Vec::new();
    let mut path = "/api/ledger?top=500".to_owned();
    loop {
        let (status, page) = server.call("GET", &path, None);
        assert_eq!(status, 200, "{page}");
        entries.extend(page["value"].as_array().expect("a list").iter().cloned());
        let Some(next) = page["nextLink"].as_str() else { return entries };
        path = next.split_once(&server.address.to_string()).expect("a link to us").1.to_owned();
    }
}
