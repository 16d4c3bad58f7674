//! A stream to somebody who has to take what they asked for: while something waits to be written its connection is in use,
//! and when nothing could be written for too long, it ends.

use std::io::{self, ErrorKind, IoSlice};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::{Sleep, sleep};

use super::places::{Busy, Place};

/// See the module.
pub(super) struct Paced<S> {
    stream: S,
    longest: Duration,
    place: Arc<Place>,
    /// While there is something to write that is not taken: until when, and that the connection is in use.
    waiting: Option<(Pin<Box<Sleep>>, Busy)>,
}

impl<S: Unpin> Paced<S> {
    pub(super) fn new(stream: S, longest: Duration, place: Arc<Place>) -> Self {
        Self { stream, longest, place, waiting: None }
    }

    fn watch<T>(&mut self, written: Poll<io::Result<T>>, context: &mut Context<'_>) -> Poll<io::Result<T>> {
        if written.is_ready() {
            self.waiting = None;
            return written;
        }
        let (longest, place) = (self.longest, &self.place);
        let (waiting, _) = self.waiting.get_or_insert_with(|| (Box::pin(sleep(longest)), place.begin()));
        ready!(waiting.as_mut().poll(context));
        Poll::Ready(Err(io::Error::new(ErrorKind::TimedOut, "the answer was not taken in time")))
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Paced<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(context, buffer)
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Paced<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write(context, bytes);
        self.watch(written, context)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        parts: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write_vectored(context, parts);
        self.watch(written, context)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let flushed = Pin::new(&mut self.stream).poll_flush(context);
        self.watch(flushed, context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let ended = Pin::new(&mut self.stream).poll_shutdown(context);
        self.watch(ended, context)
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

    use super::super::places::Places;
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn what_nobody_takes_ends_the_stream() {
        let (near, mut far) = tokio::io::duplex(10);
        let place = Places::new(1).take([10, 0, 0, 1].into()).expect("a place");
        let mut near = Paced::new(near, Duration::from_secs(60), place);
        near.write_all(&[0; 10]).await.expect("there is room");
        let slow = async {
            let mut buffer = [0; 5];
            for _ in 0..4 {
                sleep(Duration::from_secs(50)).await;
                far.read_exact(&mut buffer).await.expect("something");
            }
        };
        let (written, ()) = tokio::join!(near.write_all(&[0; 20]), slow);
        written.expect("slow, but not too slow");
        let error = near.write_all(&[0; 20]).await.expect_err("nobody reads");
        assert_eq!(error.kind(), ErrorKind::TimedOut);
    }
}
