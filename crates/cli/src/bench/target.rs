//! The target: answers at once and notes when each request arrived.

use std::net::SocketAddr;
use std::sync::{Arc, Mutex, PoisonError};

use engine::SystemClock;
use model::{Clock, Timestamp};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;

use super::report::Spread;

/// A target in this process.
pub(super) struct Target {
    pub(super) address: SocketAddr,
    arrivals: Arc<Arrivals>,
}

struct Arrivals {
    /// Milliseconds from due to here.
    lateness: Mutex<Vec<f64>>,
    count: watch::Sender<usize>,
}

impl Target {
    pub(super) async fn start() -> anyhow::Result<Self> {
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        let address = listener.local_addr()?;
        let arrivals = Arc::new(Arrivals { lateness: Mutex::default(), count: watch::Sender::new(0) });
        let noted = arrivals.clone();
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let _ = stream.set_nodelay(true);
                tokio::spawn(answer(stream, noted.clone()));
            }
        });
        Ok(Self { address, arrivals })
    }

    /// Waits until so many requests have arrived; when that was.
    pub(super) async fn until(&self, count: usize) -> Timestamp {
        let mut arrived = self.arrivals.count.subscribe();
        // The sender lives as long as we do.
        let _ = arrived.wait_for(|arrived| *arrived >= count).await;
        SystemClock.now()
    }

    /// How late the requests were.
    pub(super) fn lateness(&self) -> Spread {
        Spread::new(self.arrivals.lateness.lock().unwrap_or_else(PoisonError::into_inner).clone())
    }
}

/// Reads requests that have no body to speak of, one after the other.
async fn answer(mut stream: TcpStream, arrivals: Arc<Arrivals>) -> Option<()> {
    const DUE: &str = "x-ms-scheduler-expected-execution-time: ";
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
        let now = SystemClock.now();
        let head = std::str::from_utf8(&buffer[..end]).ok()?;
        let due =
            head.lines().find_map(|line| line.strip_prefix(DUE)).and_then(recurrence::read_date_time)?;
        let lateness = due.duration_until(now).as_secs_f64() * 1e3;
        arrivals.lateness.lock().unwrap_or_else(PoisonError::into_inner).push(lateness);
        arrivals.count.send_modify(|count| *count += 1);
        buffer.drain(..end);
        stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok").await.ok()?;
    }
}
