//! Lanes: who may go next, so that many calls run at once, no target is flooded, and nobody waits for a stranger.
//!
//! Work is lined up in one lane per collection and target. Three bounds hold at any time: so many calls in all, per
//! collection and per target. A lane that meets its target's or its collection's bound is parked there and costs
//! nothing until a call of that target or collection ends; lanes that may go take turns. So a target that hangs holds
//! up its own lanes only, and a collection with a thousand jobs does not starve one with two.
//!
//! Names are looked up once, when a [`Place`] is taken, which may be long before its item is due. From there on lanes and
//! rooms are numbers. A lane is known as long as somebody has a place in it, a collection or target as long as a lane
//! leads there.

use std::collections::{HashMap, VecDeque};
use std::hash::Hash;

use crate::numbered::Numbered;

/// How many calls may run at once.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Bounds {
    /// In all.
    pub overall: usize,
    /// Of one collection.
    pub per_collection: usize,
    /// To one target.
    pub per_target: usize,
}

/// A place in a lane, for one item: from when it is known of until its call has ended. There is no second one like it, so
/// its lane's number cannot become another lane's before it is given back.
#[derive(Debug)]
#[must_use = "a lane is known until all its places are given back"]
pub(crate) struct Place(usize);

/// Items waiting in lanes, and how many are on their way.
#[derive(Debug)]
pub(crate) struct Lanes<C, T, I> {
    bounds: Bounds,
    running: usize,
    /// How many items wait.
    waiting: usize,
    lanes: Numbered<Lane<I>>,
    /// The lane from a collection to a target, by the numbers of their rooms.
    between: HashMap<(usize, usize), usize>,
    /// Lanes that have items and are not parked, each once.
    ready: VecDeque<usize>,
    collections: Rooms<C>,
    targets: Rooms<T>,
}

#[derive(Debug)]
struct Lane<I> {
    collection: usize,
    target: usize,
    /// How many places in it are taken.
    places: usize,
    items: VecDeque<I>,
}

/// The room that a lane which has nothing waiting keeps for what comes: what a herd needed is given back.
const KEPT: usize = 32;

impl<C: Clone + Eq + Hash, T: Clone + Eq + Hash, I> Lanes<C, T, I> {
    pub(crate) fn new(bounds: Bounds) -> Self {
        Self {
            bounds,
            running: 0,
            waiting: 0,
            lanes: Numbered::default(),
            between: HashMap::new(),
            ready: VecDeque::new(),
            collections: Rooms::default(),
            targets: Rooms::default(),
        }
    }

    /// Takes a place for an item that will be lined up.
    pub(crate) fn take_place(&mut self, collection: &C, target: &T) -> Place {
        let collection = self.collections.number(collection);
        let target = self.targets.number(target);
        let number = *self.between.entry((collection, target)).or_insert_with(|| {
            self.collections.lead_to(collection);
            self.targets.lead_to(target);
            self.lanes.add(Lane { collection, target, places: 0, items: VecDeque::new() })
        });
        if let Some(lane) = self.lanes.get_mut(number) {
            lane.places += 1;
        }
        Place(number)
    }

    /// Lines up an item.
    pub(crate) fn push(&mut self, place: Place, item: I) {
        let Place(number) = place;
        let Some(lane) = self.lanes.get_mut(number) else { return };
        lane.items.push_back(item);
        self.waiting += 1;
        // A lane that had items is ready or parked already.
        if lane.items.len() == 1 {
            self.ready.push_back(number);
        }
    }

    /// The next item that may go, if any; it counts as running from now on.
    pub(crate) fn pop(&mut self) -> Option<(Place, I)> {
        while self.running < self.bounds.overall {
            let number = self.ready.pop_front()?;
            let Some(lane) = self.lanes.get_mut(number) else { continue };
            let Some(target) = self.targets.rooms.get_mut(lane.target) else { continue };
            let Some(collection) = self.collections.rooms.get_mut(lane.collection) else { continue };
            // A lane that parks in one room leaves its place in the other to the next lane parked there.
            if target.running >= self.bounds.per_target {
                if collection.running < self.bounds.per_collection {
                    self.ready.extend(collection.parked.pop_front());
                }
                target.parked.push_back(number);
                continue;
            }
            if collection.running >= self.bounds.per_collection {
                self.ready.extend(target.parked.pop_front());
                collection.parked.push_back(number);
                continue;
            }
            let Some(item) = lane.items.pop_front() else { continue };
            if lane.items.is_empty() {
                lane.items.shrink_to(KEPT);
            } else {
                self.ready.push_back(number);
            }
            self.waiting -= 1;
            target.running += 1;
            collection.running += 1;
            self.running += 1;
            return Some((Place(number), item));
        }
        None
    }

    /// A call has ended; its place is given back.
    pub(crate) fn done(&mut self, place: Place) {
        self.running -= 1;
        if let Some(lane) = self.lanes.get_mut(place.0) {
            self.ready.extend(self.targets.leave(lane.target));
            self.ready.extend(self.collections.leave(lane.collection));
        }
        self.give_back(place.0, 1);
    }

    /// How many calls are running.
    #[cfg(test)]
    pub(crate) fn running(&self) -> usize {
        self.running
    }

    /// How many items wait.
    pub(crate) fn waiting(&self) -> usize {
        self.waiting
    }

    /// Takes out all that waits.
    pub(crate) fn drain(&mut self) -> Vec<I> {
        let mut items = Vec::with_capacity(self.waiting);
        self.waiting = 0;
        self.ready.clear();
        self.targets.rooms.each(|room| room.parked.clear());
        self.collections.rooms.each(|room| room.parked.clear());
        for number in 0..self.lanes.end() {
            let Some(lane) = self.lanes.get_mut(number) else { continue };
            let places = lane.items.len();
            items.extend(lane.items.drain(..));
            self.give_back(number, places);
        }
        items
    }

    /// So many places of a lane are free again. One in which nobody has a place is forgotten: it has no items, so it is
    /// neither ready nor parked.
    fn give_back(&mut self, number: usize, places: usize) {
        let Some(lane) = self.lanes.get_mut(number) else { return };
        lane.places -= places;
        if lane.places > 0 {
            return;
        }
        let (collection, target) = (lane.collection, lane.target);
        self.lanes.remove(number);
        self.between.remove(&(collection, target));
        self.collections.lead_away(collection);
        self.targets.lead_away(target);
    }
}

/// The rooms of all collections or all targets.
#[derive(Debug)]
struct Rooms<K> {
    numbers: HashMap<K, usize>,
    rooms: Numbered<Room<K>>,
}

/// The calls of one collection or target, and the lanes that wait for one of them to end.
#[derive(Debug)]
struct Room<K> {
    key: K,
    /// How many lanes lead here.
    lanes: usize,
    running: usize,
    parked: VecDeque<usize>,
}

impl<K> Default for Rooms<K> {
    fn default() -> Self {
        Self { numbers: HashMap::new(), rooms: Numbered::default() }
    }
}

impl<K: Clone + Eq + Hash> Rooms<K> {
    /// The number of a room. A new one is forgotten only once a lane has led there.
    fn number(&mut self, key: &K) -> usize {
        if let Some(number) = self.numbers.get(key) {
            return *number;
        }
        let room = Room { key: key.clone(), lanes: 0, running: 0, parked: VecDeque::new() };
        let number = self.rooms.add(room);
        self.numbers.insert(key.clone(), number);
        number
    }

    /// One lane more leads to a room.
    fn lead_to(&mut self, number: usize) {
        if let Some(room) = self.rooms.get_mut(number) {
            room.lanes += 1;
        }
    }

    /// One lane less leads to a room; where none does, nobody runs or waits, and it is forgotten.
    fn lead_away(&mut self, number: usize) {
        let Some(room) = self.rooms.get_mut(number) else { return };
        room.lanes -= 1;
        if room.lanes == 0
            && let Some(room) = self.rooms.remove(number)
        {
            self.numbers.remove(&room.key);
        }
    }

    /// One call less in a room: the lane that waited for it, which is ready again.
    fn leave(&mut self, number: usize) -> Option<usize> {
        let room = self.rooms.get_mut(number)?;
        room.running -= 1;
        room.parked.pop_front()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    type Test = Lanes<u32, &'static str, u32>;

    fn push(lanes: &mut Test, (collection, target): (u32, &'static str), item: u32) {
        let place = lanes.take_place(&collection, &target);
        lanes.push(place, item);
    }

    /// One of the calls of a lane has ended, whichever.
    fn done(lanes: &mut Test, (collection, target): (u32, &'static str)) {
        let rooms = (lanes.collections.numbers[&collection], lanes.targets.numbers[&target]);
        lanes.done(Place(lanes.between[&rooms]));
    }

    /// How many lanes, collections and targets are known.
    fn known(lanes: &Test) -> [usize; 3] {
        let (collections, targets) = (&lanes.collections, &lanes.targets);
        assert_eq!(lanes.between.len(), lanes.lanes.count());
        assert_eq!(collections.numbers.len(), collections.rooms.count());
        assert_eq!(targets.numbers.len(), targets.rooms.count());
        [lanes.lanes.count(), collections.rooms.count(), targets.rooms.count()]
    }

    fn started(lanes: &mut Test) -> Vec<u32> {
        std::iter::from_fn(|| lanes.pop().map(|(_, item)| item)).collect()
    }

    #[test]
    fn a_target_that_hangs_holds_up_nobody_else() {
        let mut lanes = Test::new(Bounds { overall: 10, per_collection: 10, per_target: 2 });
        for item in 0..5 {
            push(&mut lanes, (1, "dead"), item);
        }
        assert_eq!(started(&mut lanes), [0, 1]);
        push(&mut lanes, (1, "alive"), 100);
        push(&mut lanes, (2, "dead"), 200);
        assert_eq!(started(&mut lanes), [100]);
        done(&mut lanes, (1, "dead"));
        assert_eq!(started(&mut lanes), [2]);
        done(&mut lanes, (1, "dead"));
        assert_eq!(started(&mut lanes), [200], "the other collection has its turn");
    }

    #[test]
    fn a_large_collection_takes_turns_with_a_small_one() {
        let mut lanes = Test::new(Bounds { overall: 3, per_collection: 10, per_target: 10 });
        for item in 0..6 {
            push(&mut lanes, (1, "a"), item);
        }
        for item in 100..102 {
            push(&mut lanes, (2, "a"), item);
        }
        assert_eq!(started(&mut lanes), [0, 100, 1]);
        done(&mut lanes, (1, "a"));
        assert_eq!(started(&mut lanes), [101]);
    }

    #[test]
    fn the_bound_of_a_collection_holds_over_all_targets() {
        let mut lanes = Test::new(Bounds { overall: 10, per_collection: 2, per_target: 10 });
        push(&mut lanes, (1, "a"), 1);
        push(&mut lanes, (1, "b"), 2);
        push(&mut lanes, (1, "c"), 3);
        push(&mut lanes, (2, "c"), 4);
        assert_eq!(started(&mut lanes), [1, 2, 4]);
        done(&mut lanes, (2, "c"));
        assert_eq!(started(&mut lanes), [] as [u32; 0]);
        done(&mut lanes, (1, "b"));
        assert_eq!(started(&mut lanes), [3]);
    }

    /// Whatever comes and goes, the bounds hold, everything goes in the end, and nothing is left behind.
    #[test]
    fn everything_goes_in_the_end() {
        let bounds = Bounds { overall: 7, per_collection: 3, per_target: 2 };
        let targets = ["a", "b", "c", "d"];
        let mut lanes = Test::new(bounds);
        // Which lane each item went to, and what is running.
        let mut ways: Vec<(u32, &str)> = Vec::new();
        let mut running: Vec<(Place, (u32, &str))> = Vec::new();
        let (mut seed, mut pushed, mut popped) = (1_u64, 0, 0);
        let mut random = move |below: u64| {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (seed >> 33) % below
        };
        while pushed < 2000 || popped < pushed {
            if pushed < 2000 && random(2) == 0 {
                let way = (random(5) as u32, targets[random(4) as usize]);
                push(&mut lanes, way, pushed);
                ways.push(way);
                pushed += 1;
            } else if !running.is_empty() {
                let ended = running.swap_remove(random(running.len() as u64) as usize);
                lanes.done(ended.0);
            }
            while let Some((place, item)) = lanes.pop() {
                running.push((place, ways[item as usize]));
                popped += 1;
            }
            assert!(running.len() <= bounds.overall);
            for target in targets {
                assert!(running.iter().filter(|(_, (_, to))| *to == target).count() <= bounds.per_target);
            }
            for collection in 0..5 {
                let count = running.iter().filter(|(_, (of, _))| *of == collection).count();
                assert!(count <= bounds.per_collection);
            }
            let idle = running.is_empty() && pushed == 2000;
            assert!(!idle || popped == pushed, "something waits that nobody will wake");
        }
        for (place, _) in running {
            lanes.done(place);
        }
        assert_eq!((lanes.running(), lanes.waiting()), (0, 0));
        assert_eq!(known(&lanes), [0; 3]);
        assert!(
            lanes.lanes.end() <= 20 && lanes.targets.rooms.end() <= 4 && lanes.collections.rooms.end() <= 5
        );
    }

    #[test]
    fn a_lane_is_known_as_long_as_somebody_has_a_place_in_it() {
        let mut lanes = Test::new(Bounds { overall: 1, per_collection: 1, per_target: 1 });
        let early = lanes.take_place(&1, &"a");
        let late = lanes.take_place(&1, &"b");
        assert_eq!(known(&lanes), [2, 1, 2], "nothing is lined up yet");
        lanes.push(early, 1);
        assert_eq!((started(&mut lanes), known(&lanes)), (vec![1], [2, 1, 2]));
        done(&mut lanes, (1, "a"));
        assert_eq!(known(&lanes), [1, 1, 1], "one place is still taken");
        lanes.push(late, 2);
        assert_eq!(started(&mut lanes), [2]);
        done(&mut lanes, (1, "b"));
        assert_eq!(known(&lanes), [0; 3]);
    }

    /// The number of a lane that is gone may be that of another, which has nothing to do with it.
    #[test]
    fn numbers_that_are_used_again_mix_up_nobody() {
        let mut lanes = Test::new(Bounds { overall: 10, per_collection: 1, per_target: 1 });
        push(&mut lanes, (1, "a"), 1);
        push(&mut lanes, (2, "b"), 2);
        push(&mut lanes, (2, "b"), 3);
        assert_eq!(started(&mut lanes), [1, 2]);
        done(&mut lanes, (1, "a"));
        // Of these the first has the numbers of what is gone.
        push(&mut lanes, (3, "c"), 4);
        push(&mut lanes, (3, "b"), 5);
        push(&mut lanes, (2, "c"), 6);
        assert_eq!(lanes.lanes.end(), 4);
        assert_eq!(started(&mut lanes), [4], "as if there had been nobody before");
        done(&mut lanes, (3, "c"));
        assert_eq!(
            started(&mut lanes),
            [] as [u32; 0],
            "the others go to a target or are of a collection that is full"
        );
        done(&mut lanes, (2, "b"));
        let mut last = started(&mut lanes);
        while lanes.running() > 0 {
            let lane = match last.last() {
                Some(3) => (2, "b"),
                Some(5) => (3, "b"),
                _ => (2, "c"),
            };
            last.pop();
            done(&mut lanes, lane);
            last.extend(started(&mut lanes));
        }
        assert_eq!((lanes.waiting(), known(&lanes)), (0, [0; 3]));
    }

    #[test]
    fn what_is_taken_out_leaves_nothing_behind_but_what_runs() {
        let mut lanes = Test::new(Bounds { overall: 2, per_collection: 2, per_target: 1 });
        for item in 0..4 {
            push(&mut lanes, (1, "a"), item);
        }
        push(&mut lanes, (2, "b"), 10);
        push(&mut lanes, (2, "c"), 11);
        let waits = lanes.take_place(&3, &"d");
        assert_eq!(started(&mut lanes), [0, 10]);
        let mut drained = lanes.drain();
        drained.sort_unstable();
        assert_eq!((drained, lanes.waiting()), (vec![1, 2, 3, 11], 0));
        assert_eq!(known(&lanes), [3, 3, 3], "two run, and one place is taken");
        done(&mut lanes, (1, "a"));
        done(&mut lanes, (2, "b"));
        lanes.push(waits, 20);
        assert_eq!(started(&mut lanes), [20]);
        done(&mut lanes, (3, "d"));
        assert_eq!(known(&lanes), [0; 3]);
    }
}
