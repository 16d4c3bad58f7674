//! A server to measure: this binary once more, with a store of its own, and connections to it.
//!
//! It is another process, so that the numbers are those of a server and not of one that shares its threads with its
//! callers. They still share the machine.

use std::io::{BufRead as _, BufReader};
use std::net::SocketAddr;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use anyhow::{Context, bail};
use bytes::Bytes;
use engine::SystemClock;
use http::{Method, Request, header};
use http_body_util::{BodyExt, Full};
use hyper::client::conn::http1::{self, SendRequest};
use hyper_util::rt::TokioIo;
use model::Clock;
use serde_json::Value;
use store::Key;
use tempfile::TempDir;
use tokio::net::TcpStream;
use tokio::task::JoinSet;

use super::report::Spread;
use super::usage::Process;
use crate::progress::Progress;

/// A server of this binary; it ends with this, and data of its own too.
pub(super) struct Served {
    process: Child,
    pub(super) address: SocketAddr,
    _data: TempDir,
}

/// Where a server keeps its jobs.
pub(super) enum Kept<'a> {
    /// In a store of its own.
    Alone,
    /// In a store that is there already, sealed with a key.
    In(&'a Path, &'a Key),
    /// In a PostgreSQL database.
    On(&'a str),
}

impl Served {
    /// Starts one, and waits until it is ready.
    pub(super) fn start(kept: Kept<'_>) -> anyhow::Result<Self> {
        Self::start_with(kept, &[])
    }

    /// Does the same with settings, as the environment has them.
    pub(super) fn start_with(kept: Kept<'_>, settings: &[(&str, &str)]) -> anyhow::Result<Self> {
        let data = tempfile::tempdir()?;
        let binary = std::env::current_exe().context("this binary cannot be found")?;
        let mut command = Command::new(binary);
        // The settings of whoever measures are not meant for this server.
        let others = std::env::vars_os().map(|(name, _)| name);
        for name in others.filter(|name| name.to_string_lossy().starts_with("PUNCTUAL_")) {
            command.env_remove(name);
        }
        let unbounded = u32::MAX.to_string();
        command.args(["serve", "--listen", "127.0.0.1:0"]);
        match kept {
            Kept::Alone => command.arg("--data").arg(data.path()),
            Kept::In(folder, key) => {
                command.arg("--data").arg(folder).env("PUNCTUAL_SECRETS_KEY", key.text())
            }
            Kept::On(url) => {
                command.args(["--database", url]).env("PUNCTUAL_SECRETS_KEY", Key::generate()?.text())
            }
        };
        let mut process = command
            .envs([("PUNCTUAL_API_READS", &unbounded), ("PUNCTUAL_API_WRITES", &unbounded)])
            .env("PUNCTUAL_LOG_LEVEL", "error")
            .envs(settings.iter().copied())
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .spawn()
            .context("the server cannot be started")?;
        let ready = process.stdout.take().map(|out| {
            let mut line = String::new();
            BufReader::new(out).read_line(&mut line).map(|_| line)
        });
        let unknown = SocketAddr::from(([127, 0, 0, 1], 0));
        let mut served = Self { process, address: unknown, _data: data };
        let line = ready.context("the server says nothing")??;
        let address = line.trim().rsplit("http://").next().and_then(|address| address.parse().ok());
        served.address = address.context("the server did not start; its log says why")?;
        Ok(served)
    }
}

impl Served {
    /// The process of the server.
    pub(super) fn process(&self) -> Process {
        Process::Child(self.process.id())
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        // It may have ended by itself, and its data is thrown away.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// What is asked for the `n`th time.
pub(super) type Ask = Arc<dyn Fn(u32) -> Call + Send + Sync>;

/// One call: its body is sent as JSON, where there is one.
pub(super) struct Call {
    pub(super) method: Method,
    pub(super) path: String,
    pub(super) body: Option<Value>,
}

impl Call {
    pub(super) fn get(path: impl Into<String>) -> Self {
        Self { method: Method::GET, path: path.into(), body: None }
    }

    pub(super) fn put(path: impl Into<String>, body: Value) -> Self {
        Self { method: Method::PUT, path: path.into(), body: Some(body) }
    }
}

/// A connection that is kept open.
pub(super) struct Connection {
    host: String,
    sender: SendRequest<Full<Bytes>>,
}

impl Connection {
    pub(super) async fn open(address: SocketAddr) -> anyhow::Result<Self> {
        let stream = TcpStream::connect(address).await?;
        stream.set_nodelay(true)?;
        let (sender, connection) = http1::handshake(TokioIo::new(stream)).await?;
        // It ends with its sender; what fails there fails the call too.
        tokio::spawn(connection);
        Ok(Self { host: address.to_string(), sender })
    }

    /// Makes a call; its answer, and how many milliseconds until all of it was there.
    pub(super) async fn call(&mut self, call: Call) -> anyhow::Result<(Bytes, f64)> {
        let what = format!("{} {}", call.method, call.path);
        let request = Request::builder()
            .method(call.method)
            .uri(call.path)
            .header(header::HOST, &self.host)
            .header(header::CONTENT_TYPE, "application/json")
            .body(Full::from(call.body.map(|body| body.to_string()).unwrap_or_default()))?;
        let began = SystemClock.now();
        self.sender.ready().await?;
        let answer = self.sender.send_request(request).await?;
        let status = answer.status();
        let body = answer.into_body().collect().await?.to_bytes();
        let took = began.duration_until(SystemClock.now()).as_secs_f64() * 1e3;
        if !status.is_success() {
            bail!("{what} was answered with {status}: {}", String::from_utf8_lossy(&body));
        }
        Ok((body, took))
    }
}

/// Connections that are used at the same time, each for one call after the other.
pub(super) struct Crew(Vec<Connection>);

/// What a measure has found.
pub(super) struct Measure {
    /// Calls a second, of all connections together.
    pub(super) rate: f64,
    /// Milliseconds from asking to the end of the answer.
    pub(super) times: Spread,
}

impl Crew {
    pub(super) async fn connect(address: SocketAddr, connections: u32) -> anyhow::Result<Self> {
        let mut crew = Vec::new();
        for _ in 0..connections {
            crew.push(Connection::open(address).await?);
        }
        Ok(Self(crew))
    }

    /// Makes so many calls, as fast as the connections allow.
    pub(super) async fn measure(&mut self, calls: u32, ask: Ask) -> anyhow::Result<Measure> {
        let next = Arc::new(AtomicU32::new(0));
        let progress = Arc::new(Progress::steps(calls.into()));
        let mut workers = JoinSet::new();
        let began = SystemClock.now();
        for mut connection in self.0.drain(..) {
            let (ask, next, progress) = (ask.clone(), next.clone(), progress.clone());
            workers.spawn(async move {
                let mut times = Vec::new();
                loop {
                    let i = next.fetch_add(1, Ordering::Relaxed);
                    if i >= calls {
                        return anyhow::Ok((connection, times));
                    }
                    times.push(connection.call(ask(i)).await?.1);
                    progress.at(i.into());
                }
            });
        }
        let mut all = Vec::with_capacity(calls as usize);
        while let Some(ended) = workers.join_next().await {
            let (connection, times) = ended??;
            self.0.push(connection);
            all.extend(times);
        }
        let seconds = began.duration_until(SystemClock.now()).as_secs_f64();
        Ok(Measure { rate: f64::from(calls) / seconds.max(1e-9), times: Spread::new(all) })
    }
}
