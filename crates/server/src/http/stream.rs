//! Answers that are sent as they are made, so that their size costs no memory.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use axum::body::{Body, Bytes, HttpBody};
use http_body::{Frame, SizeHint};
use tokio::sync::mpsc;
use tokio::time::timeout;

/// What is still to be sent. An error breaks the answer off, which the reader sees.
pub(super) type Chunks = mpsc::Receiver<io::Result<Bytes>>;

/// Whoever does not take a chunk for so long has gone.
const SLOWEST: Duration = Duration::from_secs(60);

/// Sends a chunk; whether anybody takes it.
pub(super) async fn send(to: &mpsc::Sender<io::Result<Bytes>>, chunk: io::Result<Bytes>) -> bool {
    matches!(timeout(SLOWEST, to.send(chunk)).await, Ok(Ok(())))
}

/// A body of chunks.
pub(super) fn body(chunks: Chunks) -> Body {
    Body::new(Streamed { chunks, left: None })
}

/// A body of chunks that have so many bytes together: an answer that breaks off is known by its length.
pub(super) fn body_of(chunks: Chunks, length: u64) -> Body {
    Body::new(Streamed { chunks, left: Some(length) })
}

struct Streamed {
    chunks: Chunks,
    /// Bytes, where they are known beforehand.
    left: Option<u64>,
}

impl HttpBody for Streamed {
    type Data = Bytes;
    type Error = io::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, io::Error>>> {
        self.chunks.poll_recv(context).map(|chunk| {
            let chunk = chunk?;
            if let (Some(left), Ok(bytes)) = (&mut self.left, &chunk) {
                *left = left.saturating_sub(bytes.len() as u64);
            }
            Some(chunk.map(Frame::data))
        })
    }

    fn size_hint(&self) -> SizeHint {
        self.left.map_or_else(SizeHint::default, SizeHint::with_exact)
    }
}
