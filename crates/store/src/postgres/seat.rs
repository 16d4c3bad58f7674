//! The seat: this node's place among the others, as it knows it.

use std::sync::{Arc, Mutex, PoisonError};

use tokio::time::Instant;

use super::pulse::LEASE;
use super::shards;
use crate::lease::Lease;

/// See the module.
#[derive(Debug, Default)]
pub(super) struct Seat(Mutex<State>);

#[derive(Debug, Default)]
struct State {
    lease: Option<Arc<Lease>>,
    shards: Arc<Vec<i16>>,
    /// Since when the heartbeat has its connection.
    connected_at: Option<Instant>,
    /// Why there will be no lease any more.
    refused: Option<String>,
}

impl Seat {
    fn with<T>(&self, look: impl FnOnce(&mut State) -> T) -> T {
        look(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Takes a new lease; the one before ends.
    pub(super) fn take(&self, lease: Lease) {
        self.with(|state| {
            let epoch = lease.epoch();
            let before = state.lease.replace(Arc::new(lease));
            before.inspect(|lease| lease.end());
            state.shards = Arc::new(shards::preferred(epoch, &[]));
        });
    }

    /// Gives the seat up.
    pub(super) fn leave(&self) {
        self.with(|state| state.lease.take().inspect(|lease| lease.end()));
    }

    /// Gives it up for good, and says why.
    pub(super) fn refuse(&self, why: String) {
        self.leave();
        self.with(|state| state.refused = Some(why));
    }

    /// Why there is no seat and will be none.
    pub(super) fn refusal(&self) -> Option<String> {
        self.with(|state| state.refused.clone())
    }

    /// The lease, whether or not it holds.
    pub(super) fn lease(&self) -> Option<Arc<Lease>> {
        self.with(|state| state.lease.clone())
    }

    /// The epoch of the lease; 0, which is nobody's, without one.
    pub(super) fn epoch(&self) -> i64 {
        self.with(|state| state.lease.as_ref().map_or(0, |lease| lease.epoch()))
    }

    /// The heartbeat has a connection, or none any more.
    pub(super) fn connect(&self, connected_at: Option<Instant>) {
        self.with(|state| state.connected_at = connected_at);
    }

    /// Whether we may say of others that they are gone. After an outage of the database all leases have run out: whoever
    /// lives gets the time to renew its own.
    pub(super) fn may_judge(&self) -> bool {
        self.with(|state| state.connected_at.is_some_and(|connected_at| connected_at.elapsed() >= LEASE))
    }

    /// Notes who lives.
    pub(super) fn see(&self, living: &[i64]) {
        self.with(|state| {
            let epoch = state.lease.as_ref().map_or(0, |lease| lease.epoch());
            state.shards = Arc::new(shards::preferred(epoch, living));
        });
    }

    /// The shards that this node prefers.
    pub(super) fn shards(&self) -> Arc<Vec<i16>> {
        self.with(|state| Arc::clone(&state.shards))
    }
}
