//! Answers that are sent as they are made, so that their size costs no memory.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use axum::body::{Body, Bytes, HttpBody};
use http_body::Frame;
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
    Body::new(Streamed(chunks))
}

struct Streamed(Chunks);

impl HttpBody for Streamed {
    type Data = Bytes;
    type Error = io::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, io::Error>>> {
        self.0.poll_recv(context).map(|chunk| chunk.map(|chunk| chunk.map(Frame::data)))
    }
}
