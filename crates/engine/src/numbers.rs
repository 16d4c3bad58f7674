//! What the engine counts: lateness, calls and outcomes, claims and settlements, and what waits.
//!
//! Counting is on the way of every occurrence, so it is atomics and nothing else. What is counted by collection has a
//! bound: the first so many collections that fire have numbers of their own, all others share theirs. Each claim is given
//! its collection's numbers once, by the dispatcher, which alone knows them by name; from there on nobody looks anything up.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use measure::{BATCH, Counter, Gauge, Histogram, PATIENT, QUICK, Unit};
use model::action::Call;
use model::{CollectionPath, Fate, Outcome, Timestamp};

use crate::{Begun, Wait};

/// How many collections have numbers of their own where nobody says.
const COLLECTIONS: usize = 100;

/// See the module. All of it is since the start of the process.
#[derive(Debug)]
pub struct Numbers {
    /// How long each claim took.
    pub claims: Histogram,
    /// How many executions each brought, of those that brought any.
    pub claimed: Histogram,
    /// Claims that failed.
    pub failed_claims: Counter,
    /// Claims that were taken back before their call began: the job was changed, or the lease lost.
    pub revoked: Counter,
    /// When the first thing is due that is not claimed yet, in nanoseconds since 1970; 0 where nothing is known of.
    unclaimed_from: Gauge,
    /// Claims that wait for their instant.
    pub waiting: Gauge,
    /// Claims that are due and wait for room, in the order of [`Wait::ALL`].
    in_lanes: [Gauge; Wait::COUNT],
    /// How long calls took, by kind and outcome.
    calls: [[Histogram; 2]; KINDS.len()],
    /// Attempts after the first of an action.
    pub retries: Counter,
    /// Error actions that began.
    pub error_actions: Counter,
    /// How long each settlement took, until it was written.
    pub settlements: Histogram,
    /// How many attempts each had.
    pub settled: Histogram,
    /// Settlements that failed, and were tried again.
    pub failed_settlements: Counter,
    /// The most collections with numbers of their own.
    most: usize,
    collections: Mutex<Vec<(CollectionPath, Arc<CollectionNumbers>)>>,
    others: Arc<CollectionNumbers>,
}

/// What is counted by collection.
#[derive(Debug)]
pub struct CollectionNumbers {
    /// From when an occurrence was due until its call began.
    pub lateness: Histogram,
    /// Attempts that succeeded, of actions and of error actions.
    pub succeeded: Counter,
    /// Attempts that failed.
    pub failed: Counter,
    /// Occurrences that this engine brought to their end, in the order of [`Fate::ALL`].
    fates: [Counter; Fate::ALL.len()],
}

/// The kinds of calls, as they are told.
pub const KINDS: [&str; 4] = ["http", "storageQueue", "serviceBusQueue", "serviceBusTopic"];

/// The outcomes of calls, as they are told.
pub const OUTCOMES: [&str; 2] = ["succeeded", "failed"];

fn kind(call: &Call) -> usize {
    match call {
        Call::Http { .. } => 0,
        Call::StorageQueue(_) => 1,
        Call::ServiceBusQueue(_) => 2,
        Call::ServiceBusTopic(_) => 3,
    }
}

impl Default for Numbers {
    fn default() -> Self {
        Self::new(COLLECTIONS)
    }
}

impl Numbers {
    /// Nothing counted yet; so many collections may have numbers of their own.
    pub fn new(most: usize) -> Self {
        let time = |bounds| Histogram::new(Unit::Seconds, bounds);
        let batch = || Histogram::new(Unit::Items, BATCH);
        Self {
            claims: time(QUICK),
            claimed: batch(),
            failed_claims: Counter::default(),
            revoked: Counter::default(),
            unclaimed_from: Gauge::default(),
            waiting: Gauge::default(),
            in_lanes: Default::default(),
            calls: std::array::from_fn(|_| std::array::from_fn(|_| time(PATIENT))),
            retries: Counter::default(),
            error_actions: Counter::default(),
            settlements: time(QUICK),
            settled: batch(),
            failed_settlements: Counter::default(),
            most,
            collections: Mutex::default(),
            others: Arc::new(CollectionNumbers::default()),
        }
    }

    /// How long calls took: kind, outcome, durations.
    pub fn calls(&self) -> impl Iterator<Item = (&'static str, &'static str, &Histogram)> {
        KINDS.iter().zip(&self.calls).flat_map(|(kind, outcomes)| {
            OUTCOMES.iter().zip(outcomes).map(|(outcome, durations)| (*kind, *outcome, durations))
        })
    }

    /// The numbers of collections that have their own, in the order in which they came.
    pub fn collections(&self) -> Vec<(CollectionPath, Arc<CollectionNumbers>)> {
        self.collections.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// The numbers of all other collections.
    pub fn others(&self) -> &CollectionNumbers {
        &self.others
    }

    /// Returns how many claims are due and wait for room, by what they wait for.
    pub fn in_lanes(&self) -> impl Iterator<Item = (Wait, i64)> {
        Wait::ALL.into_iter().zip(self.in_lanes.iter().map(Gauge::get))
    }

    /// Notes how many claims are due and wait for room.
    pub(crate) fn set_in_lanes(&self, waiting: [usize; Wait::COUNT]) {
        for (gauge, waiting) in self.in_lanes.iter().zip(waiting) {
            gauge.set(waiting);
        }
    }

    /// How long the first thing that is not claimed has been due.
    pub fn claim_lag(&self, now: Timestamp) -> Duration {
        let from = self.unclaimed_from.get();
        let now = i64::try_from(now.as_nanosecond()).unwrap_or(i64::MAX);
        let lag = if from == 0 { 0 } else { now.saturating_sub(from) };
        Duration::from_nanos(u64::try_from(lag).unwrap_or_default())
    }

    /// Something is due then and not claimed.
    pub(crate) fn note_unclaimed(&self, next_at: Option<Timestamp>) {
        let from = next_at.and_then(|at| usize::try_from(at.as_nanosecond()).ok());
        self.unclaimed_from.set(from.unwrap_or_default());
    }

    /// A call has begun.
    pub(crate) fn begin(&self, collection: &CollectionNumbers, begun: &Begun) {
        let (attempt, depth) = (begun.execution.attempt, begun.execution.depth);
        match (attempt, depth) {
            (0, 0) => collection.lateness.time(begun.lateness()),
            (0, _) => self.error_actions.count(),
            _ => self.retries.count(),
        }
    }

    /// A call has ended.
    pub(crate) fn end(
        &self,
        collection: &CollectionNumbers,
        call: Option<&Call>,
        took: Duration,
        outcome: &Outcome,
    ) {
        if outcome.success { &collection.succeeded } else { &collection.failed }.count();
        if let Some(call) = call {
            self.calls[kind(call)][usize::from(!outcome.success)].time(took);
        }
    }

    /// The numbers of a collection that is seen for the first time.
    fn of_new(&self, path: &CollectionPath) -> Option<Arc<CollectionNumbers>> {
        let mut collections = self.collections.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, numbers)) = collections.iter().find(|(known, _)| known == path) {
            return Some(Arc::clone(numbers));
        }
        if collections.len() >= self.most {
            return None;
        }
        let numbers = Arc::new(CollectionNumbers::default());
        collections.push((path.clone(), Arc::clone(&numbers)));
        Some(numbers)
    }
}

impl Default for CollectionNumbers {
    fn default() -> Self {
        Self {
            lateness: Histogram::new(Unit::Seconds, PATIENT),
            succeeded: Counter::default(),
            failed: Counter::default(),
            fates: Default::default(),
        }
    }
}

impl CollectionNumbers {
    /// What became of occurrences.
    pub fn fates(&self) -> impl Iterator<Item = (Fate, u64)> {
        Fate::ALL.into_iter().zip(self.fates.iter().map(Counter::get))
    }

    /// An occurrence is done with.
    pub(crate) fn settle(&self, fate: Fate) {
        if let Some((_, count)) = Fate::ALL.iter().zip(&self.fates).find(|(one, _)| **one == fate) {
            count.count();
        }
    }
}

/// The numbers of collections by the name of their lane, as the dispatcher alone knows them.
#[derive(Debug, Default)]
pub(crate) struct ByName(HashMap<Arc<str>, Arc<CollectionNumbers>>);

impl ByName {
    /// The numbers of a collection: its own, or those of all others.
    pub(crate) fn of(
        &mut self,
        numbers: &Numbers,
        name: &Arc<str>,
        path: &CollectionPath,
    ) -> Arc<CollectionNumbers> {
        if let Some(known) = self.0.get(name) {
            return Arc::clone(known);
        }
        // When there is no room, nothing is kept here either: whoever makes collections by the thousand shall not fill it.
        if self.0.len() >= numbers.most {
            return Arc::clone(&numbers.others);
        }
        let Some(found) = numbers.of_new(path) else { return Arc::clone(&numbers.others) };
        self.0.insert(Arc::clone(name), Arc::clone(&found));
        found
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn path(name: &str) -> CollectionPath {
        CollectionPath { subscription: "s".into(), group: "g".into(), name: name.into() }
    }

    #[test]
    fn what_has_no_room_is_counted_together() {
        let (numbers, mut by_name) = (Numbers::new(2), ByName::default());
        for name in ["a", "b", "c", "a", "d", "b"] {
            by_name.of(&numbers, &name.into(), &path(name)).settle(Fate::Ran);
        }
        let ran = |numbers: &CollectionNumbers| {
            numbers.fates().find(|(fate, _)| *fate == Fate::Ran).map(|(_, count)| count)
        };
        let told: Vec<_> =
            numbers.collections().iter().map(|(path, numbers)| (path.name.clone(), ran(numbers))).collect();
        assert_eq!(told, [("a".to_owned(), Some(2)), ("b".to_owned(), Some(2))]);
        assert_eq!(ran(numbers.others()), Some(2));
        assert_eq!(by_name.0.len(), 2, "memory has the same bound");
    }

    #[test]
    fn what_is_not_due_yet_does_not_lag() {
        let numbers = Numbers::default();
        let now: Timestamp = "2027-01-01T00:00:00Z".parse().expect("valid");
        assert_eq!(numbers.claim_lag(now), Duration::ZERO, "nothing is known of");
        for (next_in, lag) in [(5, 0), (0, 0), (-3, 3)] {
            numbers.note_unclaimed(Some(now + jiff::SignedDuration::from_secs(next_in)));
            assert_eq!(numbers.claim_lag(now), Duration::from_secs(lag), "{next_in}");
        }
        numbers.note_unclaimed(None);
        assert_eq!(numbers.claim_lag(now), Duration::ZERO);
    }
}
