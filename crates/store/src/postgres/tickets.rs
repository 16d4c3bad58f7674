//! The tickets of the claims that this node holds.
//!
//! Rows say who holds a claim, tickets say whether it is begun. A ticket is here before its claim is committed, and stays
//! until its row says that the claim is no more. A ticket that is cancelled meanwhile is *lost*: its row has still to be
//! set free, which is tried until it works. That covers whatever goes wrong in between: a commit of which nobody knows
//! whether it happened, a caller that went away, a lease that ran out, a database that was away.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::Ticket;
use crate::lease::Lease;

/// See the module.
#[derive(Debug, Default)]
pub(super) struct Tickets(Mutex<HashMap<i64, Ticket>>);

impl Tickets {
    fn held(&self) -> MutexGuard<'_, HashMap<i64, Ticket>> {
        // Whoever panicked has left no step half done: every method takes one.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A new ticket for an execution that is being claimed.
    pub(super) fn hand_out(&self, id: i64, lease: &Arc<Lease>) -> Ticket {
        let ticket = Ticket::under(Arc::clone(lease));
        self.held().insert(id, ticket.clone());
        ticket
    }

    /// Whether an execution is begun; `None` where there is no ticket for it.
    pub(super) fn is_begun(&self, id: i64) -> Option<bool> {
        self.held().get(&id).map(Ticket::is_begun)
    }

    /// Takes an execution back: whether nobody has begun it, and now nobody can.
    pub(super) fn take_back(&self, id: i64) -> bool {
        self.held().get(&id).is_none_or(|ticket| ticket.cancel() || !ticket.is_begun())
    }

    /// Forgets executions whose rows say that we do not hold them.
    pub(super) fn forget(&self, ids: &[i64]) {
        let mut held = self.held();
        for id in ids {
            held.remove(id);
        }
    }

    /// Whether an execution was claimed again, for its next attempt, since this ticket was handed out.
    pub(super) fn is_replaced(&self, id: i64, ticket: &Ticket) -> bool {
        self.held().get(&id).is_some_and(|other| !other.is(ticket))
    }

    /// Forgets an execution, unless it was claimed again meanwhile.
    pub(super) fn forget_this(&self, id: i64, ticket: &Ticket) {
        let mut held = self.held();
        if held.get(&id).is_some_and(|other| other.is(ticket)) {
            held.remove(&id);
        }
    }

    /// What is cancelled and not set free yet.
    pub(super) fn lost(&self) -> Vec<i64> {
        self.held().iter().filter(|(_, ticket)| ticket.is_cancelled()).map(|(id, _)| *id).collect()
    }

    /// How many are held.
    pub(super) fn count(&self) -> usize {
        self.held().len()
    }

    /// Forgets all: the lease is gone, and every claim with it.
    pub(super) fn clear(&self) {
        self.held().clear();
    }
}
