//! The target: answers at once and notes when each request arrived.

use std::net::{Ipv4Addr, SocketAddr};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use anyhow::Context;
use engine::SystemClock;
use model::{Clock, Timestamp};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::sync::Notify;

use super::sinks::{self, Request};

/// The header that says when an occurrence was due.
pub(super) const DUE: &str = "x-ms-scheduler-expected-execution-time";

/// A target in this process.
pub(super) struct Target {
    pub(super) address: SocketAddr,
    arrivals: Arc<Arrivals>,
}

/// A request that came.
#[derive(Debug, Clone, Copy)]
pub(super) struct Arrival {
    pub(super) due: Timestamp,
    pub(super) at: Timestamp,
}

impl Arrival {
    /// Milliseconds from due to here.
    pub(super) fn lateness(&self) -> f64 {
        self.due.duration_until(self.at).as_secs_f64() * 1e3
    }
}

#[derive(Default)]
struct Arrivals {
    noted: Mutex<Vec<Arrival>>,
    /// How many are waited for. Only the one that makes it full wakes somebody up.
    goal: AtomicUsize,
    reached: Notify,
    first: OnceLock<Request>,
}

impl Arrivals {
    fn noted(&self) -> MutexGuard<'_, Vec<Arrival>> {
        self.noted.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Target {
    pub(super) async fn start() -> anyhow::Result<Self> {
        let listener = server::listen((Ipv4Addr::LOCALHOST, 0).into())?;
        let address = listener.local_addr()?;
        let arrivals = Arc::new(Arrivals::default());
        let noted = arrivals.clone();
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let _ = stream.set_nodelay(true);
                tokio::spawn(answer(stream, noted.clone()));
            }
        });
        Ok(Self { address, arrivals })
    }

    /// From now on so many requests are waited for, and those before are forgotten.
    pub(super) fn expect(&self, count: usize) {
        let mut noted = self.arrivals.noted();
        noted.clear();
        noted.reserve(count);
        self.arrivals.goal.store(count, Ordering::Relaxed);
    }

    /// Waits until all that are waited for have arrived; what they were.
    pub(super) async fn all(&self) -> Vec<Arrival> {
        while self.arrivals.noted().len() < self.arrivals.goal.load(Ordering::Relaxed) {
            // A reached goal leaves a permit behind, so that none is missed.
            self.arrivals.reached.notified().await;
        }
        self.arrivals.noted().clone()
    }

    /// The first request that ever came, for a bare client to repeat.
    pub(super) fn first(&self) -> anyhow::Result<Request> {
        self.arrivals.first.get().cloned().context("no call has arrived")
    }
}

/// Reads requests that have no body to speak of, one after the other.
async fn answer(mut stream: TcpStream, arrivals: Arc<Arrivals>) -> Option<()> {
    let mut buffer = Vec::with_capacity(4096);
    loop {
        let end = loop {
            if let Some(end) = buffer.windows(4).position(|window| window == b"\r\n\r\n") {
                break end + 4;
            }
            if stream.read_buf(&mut buffer).await.ok()? == 0 {
                return None;
            }
        };
        let at = SystemClock.now();
        let head = std::str::from_utf8(&buffer[..end]).ok()?;
        let due = head.lines().find_map(|line| line.strip_prefix(DUE)?.strip_prefix(": "));
        let due = due.and_then(recurrence::read_date_time)?;
        if arrivals.first.get().is_none() {
            // Another connection may have been faster, with the same.
            sinks::read(head, &[]).into_iter().for_each(|request| drop(arrivals.first.set(request)));
        }
        let count = {
            let mut noted = arrivals.noted();
            noted.push(Arrival { due, at });
            noted.len()
        };
        if count == arrivals.goal.load(Ordering::Relaxed) {
            arrivals.reached.notify_one();
        }
        buffer.drain(..end);
        stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok").await.ok()?;
    }
}
