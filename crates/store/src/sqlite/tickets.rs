//! The tickets of all claims that are handed out, and what becomes of them when a transaction does not.
//!
//! The rows say what is durable, the tickets say what is begun; a change of a job looks at both. Tickets change hands
//! before the commit, so every change leaves a note, and a rollback goes back through the notes.
//!
//! One thing cannot be gone back on: a ticket that was cancelled stays cancelled, since whoever holds it may have seen
//! that already. **The invariant: an execution whose row says "claimed" has a ticket that can be begun or was begun, or
//! it is in `lost`.** The next claim hands out again what is lost, with a new ticket.

use std::collections::{BTreeMap, HashSet};
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::Ticket;
use crate::rows::ExecutionRow;

/// All tickets; shared with readers, which want to know what is begun.
#[derive(Debug, Default)]
pub(super) struct Tickets(Mutex<State>);

#[derive(Debug, Default)]
struct State {
    held: BTreeMap<i64, Ticket>,
    /// Claimed by their rows, but nobody can begin them any more.
    lost: HashSet<i64>,
    notes: Vec<Note>,
}

/// How to go back.
#[derive(Debug)]
enum Note {
    /// This one was there before.
    Held(i64, Option<Ticket>),
    /// This one was cancelled.
    Cancelled(i64),
    /// This one was lost before.
    Lost(i64),
}

/// A place in the notes to go back to.
#[derive(Debug, Clone, Copy)]
pub(super) struct Mark(usize);

impl Tickets {
    fn state(&self) -> MutexGuard<'_, State> {
        // Whoever panicked has left no step half done: every method takes one.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A new ticket for an execution.
    pub(super) fn hand_out(&self, id: i64) -> Ticket {
        let mut state = self.state();
        let ticket = Ticket::new();
        let before = state.held.insert(id, ticket.clone());
        state.notes.push(Note::Held(id, before));
        ticket
    }

    /// Whether an execution is begun. One without a ticket is, if its row says that it was claimed: it was settled
    /// after the row was read.
    pub(super) fn is_begun(&self, execution: &ExecutionRow) -> bool {
        self.has_begun(execution.id, execution.claimed)
    }

    fn has_begun(&self, id: i64, claimed: bool) -> bool {
        let state = self.state();
        state.held.get(&id).map_or(claimed && !state.lost.contains(&id), Ticket::is_begun)
    }

    /// Whether there is a ticket for an execution.
    pub(super) fn holds(&self, id: i64) -> bool {
        self.state().held.contains_key(&id)
    }

    /// Takes an execution back: whether nobody has begun it, and now nobody can.
    pub(super) fn take_back(&self, id: i64) -> bool {
        let mut state = self.state();
        let Some(ticket) = state.held.get(&id) else { return true };
        if ticket.cancel() {
            state.notes.push(Note::Cancelled(id));
            return true;
        }
        !ticket.is_begun()
    }

    /// Forgets an execution that is no longer claimed.
    pub(super) fn forget(&self, id: i64) {
        self.forget_many(&[id]);
    }

    /// Forgets executions that are no longer claimed.
    pub(super) fn forget_many(&self, ids: &[i64]) {
        let mut state = self.state();
        for id in ids {
            let before = state.held.remove(id);
            state.notes.push(Note::Held(*id, before));
        }
    }

    /// What was lost, to be set free in this transaction.
    pub(super) fn find_lost(&self) -> Vec<i64> {
        let mut state = self.state();
        let lost: Vec<i64> = state.lost.drain().collect();
        state.notes.extend(lost.iter().map(|id| Note::Lost(*id)));
        lost
    }

    /// Notes that nobody will ever begin these.
    pub(super) fn lose(&self, ids: impl IntoIterator<Item = i64>) {
        let mut state = self.state();
        for id in ids {
            if state.held.remove(&id).is_some_and(|ticket| !ticket.is_begun()) {
                state.lost.insert(id);
            }
        }
    }

    /// Where the notes stand.
    pub(super) fn mark(&self) -> Mark {
        Mark(self.state().notes.len())
    }

    /// The transaction is durable: no way back.
    pub(super) fn commit(&self) {
        self.state().notes.clear();
    }

    /// Goes back to a mark; whether something is lost by it.
    pub(super) fn roll_back(&self, to: Mark) -> bool {
        let mut state = self.state();
        let mut cancelled = Vec::new();
        while state.notes.len() > to.0 {
            match state.notes.pop() {
                Some(Note::Held(id, Some(ticket))) => {
                    state.held.insert(id, ticket);
                }
                Some(Note::Held(id, None)) => {
                    state.held.remove(&id);
                }
                Some(Note::Lost(id)) => {
                    state.lost.insert(id);
                }
                Some(Note::Cancelled(id)) => cancelled.push(id),
                None => break,
            }
        }
        // Those that were also handed out since the mark are claimed no more.
        cancelled.retain(|id| state.held.remove(id).is_some());
        state.lost.extend(&cancelled);
        !cancelled.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rollback_loses_what_was_cancelled() {
        let tickets = Tickets::default();
        let ticket = tickets.hand_out(1);
        tickets.commit();

        let mark = tickets.mark();
        assert!(tickets.take_back(1));
        tickets.forget(1);
        assert!(!ticket.begin());
        assert!(tickets.roll_back(mark));
        assert_eq!(tickets.find_lost(), [1]);
        tickets.commit();
        assert!(tickets.find_lost().is_empty());
    }

    #[test]
    fn what_is_begun_cannot_be_taken_back() {
        let tickets = Tickets::default();
        let ticket = tickets.hand_out(1);
        assert!(ticket.begin());
        assert!(!tickets.take_back(1));
        assert!(tickets.has_begun(1, true));
    }

    #[test]
    fn a_claim_that_was_not_committed_never_was() {
        let tickets = Tickets::default();
        let mark = tickets.mark();
        tickets.hand_out(1);
        assert!(tickets.take_back(1));
        assert!(!tickets.roll_back(mark));
        assert!(!tickets.has_begun(1, false));
        assert!(tickets.find_lost().is_empty());
    }

    #[test]
    fn what_was_set_free_in_vain_is_lost_again() {
        let tickets = Tickets::default();
        tickets.hand_out(1);
        tickets.lose([1]);
        tickets.commit();
        let mark = tickets.mark();
        assert_eq!(tickets.find_lost(), [1]);
        tickets.hand_out(1);
        tickets.roll_back(mark);
        assert_eq!(tickets.find_lost(), [1]);
    }
}
