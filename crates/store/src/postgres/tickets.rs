//! The tickets of the claims that this node holds, and what they were handed out for.
//!
//! Rows say who holds a claim, tickets say whether it is begun. A ticket is here before its claim is committed, and stays
//! until its row says that the claim is no more. A ticket that is cancelled meanwhile is *lost*: its row has still to be
//! set free, which is tried until it works. That covers whatever goes wrong in between: a commit of which nobody knows
//! whether it happened, a caller that went away, a lease that ran out, a database that was away.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use model::Execution;

use crate::lease::Lease;
use crate::{Attempted, Ticket};

/// See the module.
#[derive(Debug, Default)]
pub(super) struct Tickets(Mutex<HashMap<i64, HandedOut>>);

#[derive(Debug)]
struct HandedOut {
    ticket: Ticket,
    /// `None` where the row has to be read: it may say something else by now.
    what: Option<AtHand>,
}

/// What was claimed. Nothing of it changes once it is begun, for as long as the claim holds.
#[derive(Debug, Clone)]
pub(super) struct AtHand {
    pub(super) execution: Execution,
    /// The number of its job's collection.
    pub(super) collection: i64,
}

/// An execution that nobody will begin by the right that it was claimed with.
#[derive(Debug, Clone)]
pub(super) struct TakenBack {
    id: i64,
    /// That right; `None` where there is none any more.
    ticket: Option<Ticket>,
}

/// The numbers of executions.
pub(super) fn ids(taken_back: &[TakenBack]) -> Vec<i64> {
    taken_back.iter().map(|taken| taken.id).collect()
}

impl Tickets {
    fn held(&self) -> MutexGuard<'_, HashMap<i64, HandedOut>> {
        // Whoever panicked has left no step half done: every method takes one.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A new ticket for an execution that is being claimed.
    pub(super) fn hand_out(&self, id: i64, what: AtHand, lease: &Arc<Lease>) -> Ticket {
        let ticket = Ticket::under(Arc::clone(lease));
        self.held().insert(id, HandedOut { ticket: ticket.clone(), what: Some(what) });
        ticket
    }

    /// What attempts were made of, where it is at hand: by the right that they were begun with, and for nobody else since.
    pub(super) fn at_hand(&self, attempts: &[Attempted]) -> Vec<Option<AtHand>> {
        let held = self.held();
        let what = |attempted: &Attempted| {
            let handed_out = held.get(&attempted.id.0)?;
            handed_out.what.clone().filter(|_| handed_out.ticket.is(&attempted.ticket))
        };
        attempts.iter().map(what).collect()
    }

    /// Has the rows of executions read when they are settled next: what is at hand was not all there is to know.
    pub(super) fn doubt(&self, attempts: &[Attempted]) {
        let mut held = self.held();
        for attempted in attempts {
            if let Some(handed_out) = held.get_mut(&attempted.id.0) {
                handed_out.what = None;
            }
        }
    }

    /// Whether an execution is begun; `None` where there is no ticket for it.
    pub(super) fn is_begun(&self, id: i64) -> Option<bool> {
        self.held().get(&id).map(|held| held.ticket.is_begun())
    }

    /// Takes an execution back; `None` where it is begun. Nobody can begin what is taken back.
    pub(super) fn take_back(&self, id: i64) -> Option<TakenBack> {
        let ticket = self.held().get(&id).map(|held| held.ticket.clone());
        let is_begun = ticket.as_ref().is_some_and(|ticket| !ticket.cancel() && ticket.is_begun());
        (!is_begun).then_some(TakenBack { id, ticket })
    }

    /// Forgets executions whose rows say by now that we do not hold them. As soon as they said so, another claim of ours
    /// could have got the same execution: its ticket stays.
    pub(super) fn forget(&self, taken_back: &[TakenBack]) {
        for TakenBack { id, ticket } in taken_back {
            if let Some(ticket) = ticket {
                self.forget_this(*id, ticket);
            }
        }
    }

    /// Whether an execution was claimed again, for its next attempt, since this ticket was handed out.
    pub(super) fn is_replaced(&self, id: i64, ticket: &Ticket) -> bool {
        self.held().get(&id).is_some_and(|other| !other.ticket.is(ticket))
    }

    /// Forgets an execution, unless it was claimed again meanwhile.
    pub(super) fn forget_this(&self, id: i64, ticket: &Ticket) {
        let mut held = self.held();
        if held.get(&id).is_some_and(|other| other.ticket.is(ticket)) {
            held.remove(&id);
        }
    }

    /// What is cancelled and not set free yet.
    pub(super) fn lost(&self) -> Vec<TakenBack> {
        let held = self.held();
        let cancelled = held.iter().filter(|(_, held)| held.ticket.is_cancelled());
        cancelled.map(|(id, held)| TakenBack { id: *id, ticket: Some(held.ticket.clone()) }).collect()
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

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use model::{Cause, JobId, Occurrence, Timestamp, Uuid};

    use super::*;
    use crate::lease::Moment;

    fn what() -> AtHand {
        let occurrence = Occurrence { number: 0, at: Timestamp::UNIX_EPOCH };
        let execution = Execution {
            tag: Uuid::nil(),
            job: JobId(1),
            generation: 1,
            occurrence,
            cause: Cause::Schedule,
            depth: 0,
            attempt: 0,
            wake_at: Some(Timestamp::UNIX_EPOCH),
            started_at: None,
        };
        AtHand { execution, collection: 1 }
    }

    /// An execution that is set free can be claimed by the same node before the old ticket is forgotten.
    #[test]
    fn a_claim_made_anew_keeps_its_ticket() {
        let lease = Arc::new(Lease::new(7, Moment::now(), Duration::from_secs(60)));
        let tickets = Tickets::default();
        // Lost, set free, and claimed again.
        assert!(tickets.hand_out(1, what(), &lease).cancel());
        let lost = tickets.lost();
        let anew = tickets.hand_out(1, what(), &lease);
        tickets.forget(&lost);
        assert_eq!(tickets.is_begun(1), Some(false));
        // Taken back, and claimed again.
        let taken: Vec<TakenBack> = tickets.take_back(1).into_iter().collect();
        assert_eq!(ids(&taken), [1]);
        assert!(!anew.begin());
        let third = tickets.hand_out(1, what(), &lease);
        tickets.forget(&taken);
        assert!(third.begin());
        assert!(tickets.take_back(1).is_none(), "it is begun, and its ticket says so");
        // What nobody claimed again is forgotten.
        tickets.hand_out(2, what(), &lease).cancel();
        tickets.forget(&tickets.lost());
        assert_eq!((tickets.count(), tickets.is_begun(2)), (1, None));
    }
}
