//! Sends a file as it is read, so that its size costs no memory.

use std::io::Read as _;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use axum::body::{Body, Bytes, HttpBody};
use http_body::{Frame, SizeHint};
use store::Snapshot;
use tokio::sync::mpsc;
use tokio::time::timeout;

/// Bytes that are read at a time.
const CHUNK: usize = 256 * 1024;

/// Whoever does not take a chunk for so long has gone, and must not keep others from their copy.
const SLOWEST: Duration = Duration::from_secs(60);

/// A body of `length` bytes from a copy of the store. It breaks off, which the reader sees by the length, when the copy
/// cannot be read to its end or nobody takes it.
pub(super) fn body(copy: Snapshot, length: u64) -> Body {
    let (send, chunks) = mpsc::channel(1);
    tokio::spawn(async move {
        let mut copy = copy;
        loop {
            let read = tokio::task::spawn_blocking(move || {
                let mut chunk = Vec::with_capacity(CHUNK);
                let read = copy.file.by_ref().take(CHUNK as u64).read_to_end(&mut chunk);
                (copy, read.map(|_| chunk))
            });
            let chunk = match read.await {
                Ok((_, Ok(chunk))) if chunk.is_empty() => return,
                Ok((rest, Ok(chunk))) => {
                    copy = rest;
                    Ok(Bytes::from(chunk))
                }
                Ok((_, Err(error))) => {
                    tracing::error!(%error, "the copy of the store cannot be read to its end");
                    let _ = send.send(Err(error)).await;
                    return;
                }
                Err(_) => return,
            };
            if !matches!(timeout(SLOWEST, send.send(chunk)).await, Ok(Ok(()))) {
                return;
            }
        }
    });
    Body::new(Download { chunks, left: length })
}

struct Download {
    chunks: mpsc::Receiver<std::io::Result<Bytes>>,
    left: u64,
}

impl HttpBody for Download {
    type Data = Bytes;
    type Error = std::io::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Self::Error>>> {
        self.chunks.poll_recv(context).map(|chunk| {
            let chunk = chunk?;
            if let Ok(bytes) = &chunk {
                self.left = self.left.saturating_sub(bytes.len() as u64);
            }
            Some(chunk.map(Frame::data))
        })
    }

    /// Known beforehand, so that it becomes the answer's Content-Length.
    fn size_hint(&self) -> SizeHint {
        SizeHint::with_exact(self.left)
    }
}
