//! A copy of the store, sent as it is read.

use std::io::Read as _;

use axum::body::{Body, Bytes};
use store::Snapshot;
use tokio::sync::mpsc;

use super::stream;

/// Bytes that are read at a time.
const CHUNK: usize = 256 * 1024;

/// A body of `length` bytes from a copy. It breaks off, which the reader sees by the length, when the copy cannot be read
/// to its end; and whoever does not take it does not keep others from theirs.
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
            let Ok((rest, read)) = read.await else { return };
            copy = rest;
            if let Err(error) = &read {
                tracing::error!(%error, "the copy of the store cannot be read to its end");
            }
            let is_last = match &read {
                Ok(chunk) if chunk.is_empty() => return,
                read => read.is_err(),
            };
            if !stream::send(&send, read.map(Bytes::from)).await || is_last {
                return;
            }
        }
    });
    stream::body_of(chunks, length)
}
