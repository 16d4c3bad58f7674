//! Shares of the pool: which call begins next when little room is left.
//!
//! A call that hangs costs no processor time, but it occupies a place in the pool until its time-out. So places have to be
//! kept free before it is known who will need them:
//!
//! - Three quarters of the pool are for all, first come, first served. The rules below are for the last quarter.
//! - There, a collection that holds few calls goes before one that holds many, and a collection may hold about as many
//!   calls as there are free places. Two collections with hanging calls leave a third of the pool free, twenty-four
//!   leave a twenty-fifth, and never less than the following.
//! - A lane is *quick* when its last call ended within [`QUICK`], which is remembered for a while after its last call.
//!   A lane that is not quick leaves the last tenth of the pool free.
//! - A quick lane of a collection with fewer than [`FEW`] calls may use the last place.
//! - A subscription that holds more than half of the pool leaves another twentieth free, and its lanes that are not quick
//!   count four times what their collection holds: where one subscription has filled the pool, its slow collections shrink
//!   first, and slow calls of another subscription still find some dozens of places.
//!
//! A collection without a call under way and with quick calls waits only while a thousand others hold one of the last
//! places each, and none of those can come back before its calls are quick again.
//!
//! A lane that has to wait is kept with its collection, and collections are kept in the order in which they may go. So
//! each decision costs a look at the first of them, however many wait, and nothing as long as the pool is not tight.

use std::collections::{BTreeSet, HashMap, VecDeque};
use std::time::Duration;

use crate::numbered::Numbered;

/// A call that takes no longer is quick.
pub(crate) const QUICK: Duration = Duration::from_secs(1);

/// A quick lane may use the last place in the pool while its collection holds fewer calls than this.
pub(crate) const FEW: usize = 2;

/// The shares of all collections, by the numbers of their rooms.
#[derive(Debug)]
pub(crate) struct Shares {
    /// How many calls may run at once.
    pool: usize,
    running: usize,
    collections: Vec<Share>,
    subscriptions: Numbered<Subscription>,
    by_name: HashMap<String, usize>,
    /// The collections that have lanes which wait for their share, in the order in which they may go.
    turns: BTreeSet<Turn>,
    next_turn: u64,
}

/// What a collection holds, and which of its lanes wait for a place.
#[derive(Debug, Default)]
struct Share {
    subscription: usize,
    running: usize,
    /// The lanes by their class: quick ones, others.
    held: [Held; 2],
}

#[derive(Debug, Default)]
struct Held {
    lanes: VecDeque<usize>,
    turn: Option<Turn>,
}

#[derive(Debug)]
struct Subscription {
    name: String,
    collections: usize,
    running: usize,
    /// Whether it held more than half of the pool, and not less than a quarter since.
    is_large: bool,
}

/// The place of a collection among those that wait: the lowest cost first, and of the same cost the longest wait.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Turn {
    /// As many places and one more have to be free.
    cost: usize,
    number: u64,
    collection: usize,
    class: usize,
}

impl Shares {
    pub(crate) fn new(pool: usize) -> Self {
        Self {
            pool,
            running: 0,
            collections: Vec::new(),
            subscriptions: Numbered::default(),
            by_name: HashMap::new(),
            turns: BTreeSet::new(),
            next_turn: 0,
        }
    }

    /// Returns how many calls are running.
    #[cfg(test)]
    pub(crate) fn running(&self) -> usize {
        self.running
    }

    /// Returns how many places are free.
    pub(crate) fn free(&self) -> usize {
        self.pool.saturating_sub(self.running)
    }

    /// Returns whether places are given by share and not by turn.
    pub(crate) fn is_tight(&self) -> bool {
        self.free() <= self.pool / 4
    }

    /// Returns whether no lane waits for its share.
    pub(crate) fn none_held(&self) -> bool {
        self.turns.is_empty()
    }

    #[cfg(test)]
    pub(crate) fn running_of(&self, collection: usize) -> usize {
        self.collections[collection].running
    }

    #[cfg(test)]
    pub(crate) fn knows_nobody(&self) -> bool {
        self.by_name.is_empty() && self.subscriptions.count() == 0
    }

    /// Gives a share to a collection that is new.
    pub(crate) fn join(&mut self, collection: usize, subscription: &str) {
        let number = match self.by_name.get(subscription) {
            Some(number) => *number,
            None => {
                let name = subscription.to_owned();
                let new = Subscription { name: name.clone(), collections: 0, running: 0, is_large: false };
                let number = self.subscriptions.add(new);
                self.by_name.insert(name, number);
                number
            }
        };
        if let Some(subscription) = self.subscriptions.get_mut(number) {
            subscription.collections += 1;
        }
        if self.collections.len() <= collection {
            self.collections.resize_with(collection + 1, Share::default);
        }
        self.collections[collection] = Share { subscription: number, ..Share::default() };
    }

    /// Forgets a collection that has no lanes any more.
    pub(crate) fn leave(&mut self, collection: usize) {
        let number = self.collections[collection].subscription;
        let Some(subscription) = self.subscriptions.get_mut(number) else { return };
        subscription.collections -= 1;
        if subscription.collections == 0
            && let Some(subscription) = self.subscriptions.remove(number)
        {
            self.by_name.remove(&subscription.name);
        }
    }

    /// Counts a call of a collection that begins.
    pub(crate) fn begin(&mut self, collection: usize) {
        self.running += 1;
        let share = &mut self.collections[collection];
        share.running += 1;
        if let Some(subscription) = self.subscriptions.get_mut(share.subscription) {
            subscription.running += 1;
            subscription.is_large |= subscription.running > self.pool / 2;
        }
        self.reorder(collection);
    }

    /// Counts a call of a collection that has ended.
    pub(crate) fn end(&mut self, collection: usize) {
        self.running -= 1;
        let share = &mut self.collections[collection];
        share.running -= 1;
        let number = share.subscription;
        let mut has_shrunk = false;
        if let Some(subscription) = self.subscriptions.get_mut(number) {
            subscription.running -= 1;
            has_shrunk = subscription.is_large && subscription.running < self.pool / 4;
            subscription.is_large &= !has_shrunk;
        }
        if has_shrunk {
            // All its collections may go earlier than they are lined up for.
            let of_it = |collection: &usize| self.collections[*collection].subscription == number;
            let all: Vec<usize> = (0..self.collections.len()).filter(of_it).collect();
            all.into_iter().for_each(|collection| self.reorder(collection));
        }
        self.reorder(collection);
    }

    /// Keeps a lane until its collection has its turn.
    pub(crate) fn hold(&mut self, collection: usize, lane: usize, is_quick: bool) {
        let class = usize::from(!is_quick);
        self.collections[collection].held[class].lanes.push_back(lane);
        if self.collections[collection].held[class].turn.is_none() {
            self.line_up(collection, class, None);
        }
    }

    /// Takes the lane that goes next, if one may go, and whether it was held as a quick one.
    pub(crate) fn take(&mut self) -> Option<(usize, bool)> {
        loop {
            let turn = *self.turns.first()?;
            let Turn { collection, class, .. } = turn;
            let cost = self.cost(collection, class);
            if cost != turn.cost {
                // Its subscription has grown or shrunk since.
                self.line_up(collection, class, Some(turn.number));
                continue;
            }
            if self.is_tight() && cost >= self.free() {
                return None;
            }
            let lane = self.collections[collection].held[class].lanes.pop_front();
            self.line_up(collection, class, None);
            if let Some(lane) = lane {
                return Some((lane, class == 0));
            }
        }
    }

    /// Forgets all lanes that wait.
    pub(crate) fn clear(&mut self) {
        self.turns.clear();
        self.collections.iter_mut().for_each(|share| share.held = Default::default());
    }

    /// Returns how many places have to be more than free for a lane of a class.
    fn cost(&self, collection: usize, class: usize) -> usize {
        let share = &self.collections[collection];
        let is_large = self.subscriptions.get(share.subscription).is_some_and(|of| of.is_large);
        let kept = self.pool / 10 + if is_large { self.pool / 20 } else { 0 };
        match class {
            0 if share.running < FEW => 0,
            0 => share.running + kept,
            _ if is_large => 4 * share.running + kept,
            _ => share.running + kept,
        }
    }

    /// Puts a collection where it belongs, after its number of calls has changed.
    fn reorder(&mut self, collection: usize) {
        if self.turns.is_empty() {
            return;
        }
        for class in 0..2 {
            if let Some(turn) = self.collections[collection].held[class].turn {
                self.line_up(collection, class, Some(turn.number));
            }
        }
    }

    /// Gives a collection its turn, or takes it away where none of its lanes waits.
    fn line_up(&mut self, collection: usize, class: usize, number: Option<u64>) {
        let cost = self.cost(collection, class);
        let held = &mut self.collections[collection].held[class];
        if let Some(turn) = held.turn.take() {
            self.turns.remove(&turn);
        }
        if held.lanes.is_empty() {
            // What a crowd needed is given back.
            held.lanes = VecDeque::new();
            return;
        }
        let number = number.unwrap_or_else(|| {
            self.next_turn += 1;
            self.next_turn
        });
        let turn = Turn { cost, number, collection, class };
        held.turn = Some(turn);
        self.turns.insert(turn);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A collection is not kept behind others for what its subscription held before.
    #[test]
    fn collections_of_a_subscription_that_shrinks_go_earlier() {
        let mut shares = Shares::new(100);
        for (collection, subscription) in ["large", "large", "other", "third"].into_iter().enumerate() {
            shares.join(collection, subscription);
        }
        let begin =
            |shares: &mut Shares, collection, calls| (0..calls).for_each(|_| shares.begin(collection));
        begin(&mut shares, 0, 60);
        begin(&mut shares, 1, 5);
        begin(&mut shares, 2, 20);
        shares.hold(1, 10, false);
        shares.hold(2, 20, false);
        assert_eq!(shares.take(), None);
        for _ in 0..40 {
            shares.end(0);
            shares.begin(3);
        }
        assert!(shares.is_tight() && shares.take().is_none());
        shares.end(0);
        assert_eq!(shares.take(), Some((10, false)));
        assert_eq!(shares.take(), None, "the other one has its share");
    }
}
