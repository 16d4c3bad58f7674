//! Bodies: read whole, in time, and never more at once than the machine can hold.
//!
//! Each body has its own limit, but a thousand large ones are too much together. So what is read takes room from a common
//! store of it, as it arrives: whoever announces much and sends nothing takes nothing.

use std::sync::Arc;
use std::time::Duration;

use axum::body::{Body, Bytes, HttpBody as _};
use http_body_util::BodyExt as _;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::timeout;

use crate::problem::Problem;

/// The most bytes of all bodies together: two of the largest imports.
const ROOM: usize = 128 << 20;

/// The room for bodies.
#[derive(Clone)]
pub(super) struct Bodies(Arc<Semaphore>);

/// A body, and the room that it takes until it is dropped.
pub(super) struct Read {
    pub(super) bytes: Bytes,
    pub(super) room: Option<OwnedSemaphorePermit>,
}

impl Bodies {
    pub(super) fn new() -> Self {
        Self(Arc::new(Semaphore::new(ROOM)))
    }

    /// Reads a body of at most so many bytes, within so much time.
    pub(super) async fn read(&self, body: Body, largest: usize, longest: Duration) -> Result<Read, Problem> {
        // What says itself that it is too large need not be sent.
        if body.size_hint().lower() > largest as u64 {
            return Err(Problem::too_large(largest));
        }
        match timeout(longest, self.collect(body, largest)).await {
            Ok(read) => read,
            Err(_) => Err(Problem::bad_request("The body did not arrive in time.")),
        }
    }

    async fn collect(&self, mut body: Body, largest: usize) -> Result<Read, Problem> {
        let mut read = Read { bytes: Bytes::new(), room: None };
        let mut rest = Vec::new();
        while let Some(frame) = body.frame().await {
            let frame = frame.map_err(|_| Problem::bad_request("The body was cut off."))?;
            let Ok(data) = frame.into_data() else { continue };
            if data.is_empty() {
                continue;
            }
            if read.bytes.len() + rest.len() + data.len() > largest {
                return Err(Problem::too_large(largest));
            }
            self.take(&mut read.room, data.len())?;
            // Most bodies come as one.
            if read.bytes.is_empty() {
                read.bytes = data;
            } else {
                rest.extend_from_slice(&data);
            }
        }
        if !rest.is_empty() {
            rest.splice(..0, read.bytes.iter().copied());
            read.bytes = rest.into();
        }
        Ok(read)
    }

    fn take(&self, room: &mut Option<OwnedSemaphorePermit>, bytes: usize) -> Result<(), Problem> {
        let full = || Problem::busy("Too much is being sent to this server at the moment. Try again.");
        let bytes = u32::try_from(bytes).map_err(|_| full())?;
        let more = Arc::clone(&self.0).try_acquire_many_owned(bytes).map_err(|_| full())?;
        match room {
            Some(room) => room.merge(more),
            None => *room = Some(more),
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chunks(count: usize, size: usize) -> Body {
        let chunks = (0..count).map(move |i| Ok::<_, std::io::Error>(Bytes::from(vec![i as u8; size])));
        Body::from_stream(futures_util::stream::iter(chunks))
    }

    #[tokio::test]
    async fn what_is_read_takes_room_until_it_is_dropped() {
        let bodies = Bodies::new();
        let longest = Duration::from_secs(30);
        let read = bodies.read(chunks(3, 10), 30, longest).await.expect("a body");
        let expected: Vec<u8> = [[0; 10], [1; 10], [2; 10]].concat();
        assert_eq!((&read.bytes[..], bodies.0.available_permits()), (&expected[..], ROOM - 30));
        assert_eq!(bodies.read(chunks(3, 10), 29, longest).await.err().expect("too large").status, 413);
        let large = bodies.read(chunks(2, 50 << 20), 100 << 20, longest).await.expect("a body");
        assert_eq!(
            bodies.read(chunks(1, 30 << 20), 100 << 20, longest).await.err().expect("full").status,
            503
        );
        drop((read, large));
        assert_eq!(bodies.0.available_permits(), ROOM);
        assert!(bodies.read(Body::empty(), 0, longest).await.expect("a body").room.is_none());
        let announced = Body::from(vec![0; 31]);
        assert_eq!(bodies.read(announced, 30, longest).await.err().expect("too large").status, 413);
    }

    #[tokio::test(start_paused = true)]
    async fn a_body_that_does_not_come_is_not_waited_for() {
        let never = futures_util::stream::pending::<Result<Bytes, std::io::Error>>();
        let read = Bodies::new().read(Body::from_stream(never), 10, Duration::from_secs(30)).await;
        assert_eq!(read.err().expect("late").status, 400);
    }
}
