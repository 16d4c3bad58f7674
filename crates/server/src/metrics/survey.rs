//! What only the store knows: how much is there, and who shares it.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use jiff::SignedDuration;
use store::{Census, Store};
use tokio::time::{Instant, timeout};

/// How old an answer may be before the store is asked again.
const FRESH: Duration = Duration::from_secs(10);

/// The longest that a store is waited for: whoever asks for numbers wants those of the engine all the same.
const PATIENCE: Duration = Duration::from_secs(2);

/// The last answer of the store.
#[derive(Debug, Default)]
pub struct Survey(Mutex<Option<(Instant, Found)>>);

/// What was found.
#[derive(Debug, Clone, Copy)]
pub(super) struct Found {
    pub(super) census: Census,
    /// Nodes whose leases hold. A store that nobody shares has one.
    pub(super) alive: usize,
    pub(super) lost: usize,
    /// How far the clock that jobs are kept by is ahead of this machine's.
    pub(super) clock_offset: SignedDuration,
}

impl Survey {
    /// What the store answers, or has answered lately; `None` where it does not.
    pub(super) async fn take(&self, store: &dyn Store) -> Option<Found> {
        let last = *self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, found)) = last.filter(|(at, _)| at.elapsed() < FRESH) {
            return Some(found);
        }
        let found = timeout(PATIENCE, look(store)).await.ok()?.ok()?;
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some((Instant::now(), found));
        Some(found)
    }
}

async fn look(store: &dyn Store) -> store::Result<Found> {
    let (census, nodes) = (store.census().await?, store.nodes().await?);
    let lost = nodes.iter().filter(|node| node.lease_left.is_negative()).count();
    let own = nodes.iter().find(|node| node.is_this);
    Ok(Found {
        census,
        alive: if nodes.is_empty() { 1 } else { nodes.len() - lost },
        lost,
        clock_offset: own.map(|node| node.clock_offset).unwrap_or_default(),
    })
}
