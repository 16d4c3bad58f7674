//! Lanes: who may go next, so that many calls run at once, no target is flooded, and nobody waits for a stranger.
//!
//! Work is lined up in one lane per collection and target. Three bounds hold at any time: so many calls in all, per
//! collection and per target. A lane that meets its target's or its collection's bound is parked there and costs
//! nothing until a call of that target or collection ends; lanes that may go take turns. So a target that hangs holds
//! up its own lanes only, and a collection with a thousand jobs does not starve one with two.

use std::collections::{HashMap, VecDeque};
use std::hash::Hash;

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

/// The lane of an item.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct Lane<C, T> {
    pub(crate) collection: C,
    pub(crate) target: T,
}

/// Items waiting in lanes, and how many are on their way.
#[derive(Debug)]
pub(crate) struct Lanes<C, T, I> {
    bounds: Bounds,
    running: usize,
    waiting: HashMap<Lane<C, T>, VecDeque<I>>,
    /// How many items that are.
    count: usize,
    /// Lanes that have items and are not parked, each once.
    ready: VecDeque<Lane<C, T>>,
    collections: HashMap<C, Room<C, T>>,
    targets: HashMap<T, Room<C, T>>,
}

/// The calls of one collection or target, and the lanes that wait for one of them to end.
#[derive(Debug)]
struct Room<C, T> {
    running: usize,
    parked: VecDeque<Lane<C, T>>,
}

impl<C, T> Default for Room<C, T> {
    fn default() -> Self {
        Self { running: 0, parked: VecDeque::new() }
    }
}

impl<C: Clone + Eq + Hash, T: Clone + Eq + Hash, I> Lanes<C, T, I> {
    pub(crate) fn new(bounds: Bounds) -> Self {
        Self {
            bounds,
            running: 0,
            waiting: HashMap::new(),
            count: 0,
            ready: VecDeque::new(),
            collections: HashMap::new(),
            targets: HashMap::new(),
        }
    }

    /// Lines up an item.
    pub(crate) fn push(&mut self, lane: Lane<C, T>, item: I) {
        let items = self.waiting.entry(lane.clone()).or_default();
        items.push_back(item);
        self.count += 1;
        // A lane that had items is ready or parked already.
        if items.len() == 1 {
            self.ready.push_back(lane);
        }
    }

    /// The next item that may go, if any; it counts as running from now on.
    pub(crate) fn pop(&mut self) -> Option<(Lane<C, T>, I)> {
        while self.running < self.bounds.overall {
            let lane = self.ready.pop_front()?;
            let target = self.targets.entry(lane.target.clone()).or_default();
            let collection = self.collections.entry(lane.collection.clone()).or_default();
            // A lane that parks in one room leaves its place in the other to the next lane parked there.
            if target.running >= self.bounds.per_target {
                if collection.running < self.bounds.per_collection {
                    self.ready.extend(collection.parked.pop_front());
                }
                target.parked.push_back(lane);
                continue;
            }
            if collection.running >= self.bounds.per_collection {
                self.ready.extend(target.parked.pop_front());
                collection.parked.push_back(lane);
                continue;
            }
            let Some(items) = self.waiting.get_mut(&lane) else { continue };
            let Some(item) = items.pop_front() else { continue };
            if items.is_empty() {
                self.waiting.remove(&lane);
            } else {
                self.ready.push_back(lane.clone());
            }
            self.count -= 1;
            target.running += 1;
            collection.running += 1;
            self.running += 1;
            return Some((lane, item));
        }
        None
    }

    /// A call of a lane has ended.
    pub(crate) fn done(&mut self, lane: &Lane<C, T>) {
        self.running -= 1;
        leave(&mut self.targets, &lane.target, &mut self.ready);
        leave(&mut self.collections, &lane.collection, &mut self.ready);
    }

    /// How many calls are running.
    #[cfg(test)]
    pub(crate) fn running(&self) -> usize {
        self.running
    }

    /// How many items wait.
    pub(crate) fn waiting(&self) -> usize {
        self.count
    }

    /// Takes out all that waits.
    pub(crate) fn drain(&mut self) -> impl Iterator<Item = I> + '_ {
        self.ready.clear();
        self.count = 0;
        for room in self.targets.values_mut().map(|room| &mut room.parked) {
            room.clear();
        }
        for room in self.collections.values_mut().map(|room| &mut room.parked) {
            room.clear();
        }
        self.waiting.drain().flat_map(|(_, items)| items)
    }
}

/// One call less in a room; a lane that waited for it is ready again. Rooms that are empty are forgotten.
fn leave<K: Eq + Hash, C, T>(rooms: &mut HashMap<K, Room<C, T>>, key: &K, ready: &mut VecDeque<Lane<C, T>>) {
    if let Some(room) = rooms.get_mut(key) {
        room.running -= 1;
        ready.extend(room.parked.pop_front());
        if room.running == 0 && room.parked.is_empty() {
            rooms.remove(key);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    type Test = Lanes<u32, &'static str, u32>;

    fn lane(collection: u32, target: &'static str) -> Lane<u32, &'static str> {
        Lane { collection, target }
    }

    fn started(lanes: &mut Test) -> Vec<u32> {
        std::iter::from_fn(|| lanes.pop().map(|(_, item)| item)).collect()
    }

    #[test]
    fn a_target_that_hangs_holds_up_nobody_else() {
        let mut lanes = Test::new(Bounds { overall: 10, per_collection: 10, per_target: 2 });
        for item in 0..5 {
            lanes.push(lane(1, "dead"), item);
        }
        assert_eq!(started(&mut lanes), [0, 1]);
        lanes.push(lane(1, "alive"), 100);
        lanes.push(lane(2, "dead"), 200);
        assert_eq!(started(&mut lanes), [100]);
        lanes.done(&lane(1, "dead"));
        assert_eq!(started(&mut lanes), [2]);
        lanes.done(&lane(1, "dead"));
        assert_eq!(started(&mut lanes), [200], "the other collection has its turn");
    }

    #[test]
    fn a_large_collection_takes_turns_with_a_small_one() {
        let mut lanes = Test::new(Bounds { overall: 3, per_collection: 10, per_target: 10 });
        for item in 0..6 {
            lanes.push(lane(1, "a"), item);
        }
        for item in 100..102 {
            lanes.push(lane(2, "a"), item);
        }
        assert_eq!(started(&mut lanes), [0, 100, 1]);
        lanes.done(&lane(1, "a"));
        assert_eq!(started(&mut lanes), [101]);
    }

    #[test]
    fn the_bound_of_a_collection_holds_over_all_targets() {
        let mut lanes = Test::new(Bounds { overall: 10, per_collection: 2, per_target: 10 });
        lanes.push(lane(1, "a"), 1);
        lanes.push(lane(1, "b"), 2);
        lanes.push(lane(1, "c"), 3);
        lanes.push(lane(2, "c"), 4);
        assert_eq!(started(&mut lanes), [1, 2, 4]);
        lanes.done(&lane(2, "c"));
        assert_eq!(started(&mut lanes), [] as [u32; 0]);
        lanes.done(&lane(1, "b"));
        assert_eq!(started(&mut lanes), [3]);
    }

    /// Whatever comes and goes, the bounds hold, everything goes in the end, and nothing is left behind.
    #[test]
    fn everything_goes_in_the_end() {
        let bounds = Bounds { overall: 7, per_collection: 3, per_target: 2 };
        let targets = ["a", "b", "c", "d"];
        let mut lanes = Test::new(bounds);
        let mut running: Vec<Lane<u32, &str>> = Vec::new();
        let (mut seed, mut pushed, mut popped) = (1_u64, 0, 0);
        let mut random = move |below: u64| {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (seed >> 33) % below
        };
        while pushed < 2000 || popped < pushed {
            if pushed < 2000 && random(2) == 0 {
                lanes.push(lane(random(5) as u32, targets[random(4) as usize]), pushed);
                pushed += 1;
            } else if !running.is_empty() {
                let ended = running.swap_remove(random(running.len() as u64) as usize);
                lanes.done(&ended);
            }
            while let Some((lane, _)) = lanes.pop() {
                running.push(lane);
                popped += 1;
            }
            assert!(running.len() <= bounds.overall);
            for target in targets {
                assert!(running.iter().filter(|lane| lane.target == target).count() <= bounds.per_target);
            }
            for collection in 0..5 {
                let count = running.iter().filter(|lane| lane.collection == collection).count();
                assert!(count <= bounds.per_collection);
            }
            let idle = running.is_empty() && pushed == 2000;
            assert!(!idle || popped == pushed, "something waits that nobody will wake");
        }
        for lane in running {
            lanes.done(&lane);
        }
        assert_eq!((lanes.running(), lanes.waiting()), (0, 0));
        assert!(lanes.waiting.is_empty());
        assert!(lanes.targets.is_empty() && lanes.collections.is_empty());
    }
}
