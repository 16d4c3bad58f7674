//! Lanes: who may go next, so that many calls run at once, no target is flooded, and nobody waits for a stranger.
//!
//! Work is lined up in one lane per collection and target. Three bounds hold at any time: so many calls in all, per
//! collection and per target. A lane that meets its target's or its collection's bound is parked there and costs
//! nothing until a call of that target or collection ends. Lanes that may go take turns, so a collection with a thousand
//! jobs does not starve one with two. When the pool of calls is nearly full, [`Shares`] decide instead, so that calls
//! that hang leave room for the calls of other collections. In the same way the last tenth of a target's and of a
//! collection's places is kept for quick lanes with few calls: calls that hang at a target leave room there for the other
//! collections that call it, and those of a collection for its other targets.
//!
//! Names are looked up once, when a [`Place`] is taken, which may be long before its item is due. From there on lanes and
//! rooms are numbers. A lane is known as long as somebody has a place in it, a collection or target as long as a lane
//! leads there.

use std::collections::hash_map::RandomState;
use std::collections::{HashMap, VecDeque};
use std::hash::{BuildHasher, Hash};

use crate::numbered::Numbered;
use crate::shares::{FEW, Shares};

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
    /// How many items wait, by what they wait for.
    waiting: [usize; Wait::COUNT],
    lanes: Numbered<Lane<I>>,
    /// The lane from a collection to a target, by the numbers of their rooms.
    between: HashMap<(usize, usize), usize>,
    /// Lanes that have items and are not parked, each once.
    ready: VecDeque<usize>,
    collections: Rooms<C>,
    targets: Rooms<T>,
    shares: Shares,
    /// Which lanes that are not known any more were quick, by the hash of their names.
    quick: Remembered,
}

/// What the items of a lane wait for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Wait {
    /// A place in the pool, which is full.
    Pool,
    /// A call of the same target to end.
    Target,
    /// A call of the same collection to end.
    Collection,
    /// Their share of the pool, which is nearly full.
    Share,
}

impl Wait {
    /// How many there are.
    pub const COUNT: usize = 4;

    /// All of them.
    pub const ALL: [Self; Self::COUNT] = [Self::Pool, Self::Target, Self::Collection, Self::Share];

    /// Returns the name in metrics and in the API.
    pub fn name(self) -> &'static str {
        match self {
            Self::Pool => "pool",
            Self::Target => "target",
            Self::Collection => "collection",
            Self::Share => "share",
        }
    }
}

/// The items of a lane that wait or are on their way.
#[derive(Debug)]
pub(crate) struct Active<'l, C, T, I> {
    pub(crate) collection: &'l C,
    pub(crate) target: &'l T,
    pub(crate) running: usize,
    pub(crate) waiting: usize,
    /// The item that goes next, and what it waits for.
    pub(crate) first: Option<(&'l I, Wait)>,
}

#[derive(Debug)]
struct Lane<I> {
    collection: usize,
    target: usize,
    /// How many places in it are taken.
    places: usize,
    /// How many of its calls are on their way.
    running: usize,
    items: VecDeque<I>,
    /// What its items wait for, if it has any.
    wait: Wait,
    /// Whether its last call ended soon; see [`Shares`].
    is_quick: bool,
}

impl<I> Lane<I> {
    /// Returns whether it may use the places that a target or a collection keeps free.
    fn may_use_kept(&self) -> bool {
        self.is_quick && self.running < FEW
    }
}

/// The room that a lane which has nothing waiting keeps for what comes: what a herd needed is given back.
const KEPT: usize = 32;

/// When the pool is tight, so many parked lanes at most are looked at for a lane that was woken and has to wait for its share.
const LOOKS: usize = 8;

impl<C: Clone + Eq + Hash, T: Clone + Eq + Hash, I> Lanes<C, T, I> {
    pub(crate) fn new(bounds: Bounds) -> Self {
        Self {
            waiting: [0; Wait::COUNT],
            lanes: Numbered::default(),
            between: HashMap::new(),
            ready: VecDeque::new(),
            collections: Rooms::new(bounds.per_collection),
            targets: Rooms::new(bounds.per_target),
            shares: Shares::new(bounds.overall),
            quick: Remembered::default(),
        }
    }

    /// Takes a place for an item that will be lined up.
    pub(crate) fn take_place(&mut self, subscription: &str, collection: &C, target: &T) -> Place {
        let room = self.collections.number(collection);
        let to = self.targets.number(target);
        let number = *self.between.entry((room, to)).or_insert_with(|| {
            if self.collections.lead_to(room) == 1 {
                self.shares.join(room, subscription);
            }
            self.targets.lead_to(to);
            let is_quick = self.quick.has(&(collection, target));
            let items = VecDeque::new();
            self.lanes.add(Lane {
                collection: room,
                target: to,
                places: 0,
                running: 0,
                items,
                wait: Wait::Pool,
                is_quick,
            })
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
        // A lane that had items is ready, held or parked already.
        if lane.items.len() == 1 {
            lane.wait = Wait::Pool;
            self.ready.push_back(number);
        }
        self.waiting[lane.wait as usize] += 1;
    }

    /// The next item that may go, if any; it counts as running from now on.
    pub(crate) fn pop(&mut self) -> Option<(Place, I)> {
        while self.shares.free() > 0 {
            let number = self.next_lane()?;
            let Some(lane) = self.lanes.get_mut(number) else { continue };
            let Some(target) = self.targets.rooms.get_mut(lane.target) else { continue };
            let Some(collection) = self.collections.rooms.get_mut(lane.collection) else { continue };
            let may_use_kept = lane.may_use_kept();
            let wait = if !target.admits(may_use_kept) {
                target.park(number, may_use_kept);
                Some(Wait::Target)
            } else if !collection.admits(may_use_kept) {
                collection.park(number, may_use_kept);
                Some(Wait::Collection)
            } else {
                None
            };
            if let Some(wait) = wait {
                // It was perhaps woken for a place that it cannot use; the next lane parked there perhaps can.
                let next = [target.next(), collection.next()];
                self.waits_for(number, wait);
                next.into_iter().for_each(|lane| self.wake(lane));
                continue;
            }
            let Some(item) = lane.items.pop_front() else { continue };
            if lane.items.is_empty() {
                lane.items.shrink_to(KEPT);
            } else {
                self.ready.push_back(number);
            }
            self.waiting[Wait::Pool as usize] -= 1;
            lane.running += 1;
            target.running += 1;
            collection.running += 1;
            self.shares.begin(lane.collection);
            return Some((Place(number), item));
        }
        None
    }

    /// A call has ended; its place is given back. Where it was made, `quick` says whether it ended soon.
    pub(crate) fn done(&mut self, place: Place, quick: Option<bool>) {
        if let Some(lane) = self.lanes.get_mut(place.0) {
            let could_use_kept = lane.may_use_kept();
            lane.is_quick = quick.unwrap_or(lane.is_quick);
            lane.running -= 1;
            let (collection, target) = (lane.collection, lane.target);
            if lane.may_use_kept() && !could_use_kept {
                self.targets.advance(target, place.0);
                self.collections.advance(collection, place.0);
            }
            self.shares.end(collection);
            let woken = [self.collections.leave(collection), self.targets.leave(target)];
            woken.into_iter().for_each(|lane| self.wake(lane));
        }
        self.give_back(place.0, 1);
    }

    /// The lane to look at next: by turn, or by share when the pool is tight.
    fn next_lane(&mut self) -> Option<usize> {
        if !self.shares.is_tight() {
            if self.shares.none_held() {
                return self.ready.pop_front();
            }
            let (number, _) = self.shares.take()?;
            self.waits_for(number, Wait::Pool);
            return Some(number);
        }
        let mut looks = LOOKS;
        loop {
            let mut last = None;
            while let Some(number) = self.ready.pop_front() {
                self.hold(number);
                last = Some(number);
            }
            while let Some((number, as_quick)) = self.shares.take() {
                if as_quick && !self.lanes.get(number).is_some_and(|lane| lane.is_quick) {
                    // It has been slow since it began to wait.
                    self.hold(number);
                    continue;
                }
                self.waits_for(number, Wait::Pool);
                return Some(number);
            }
            // The last one may have been woken for room at its target. It cannot use it now, but its neighbours may.
            if looks == 0 || !last.is_some_and(|last| self.pass_on(last)) {
                return None;
            }
            looks -= 1;
        }
    }

    /// Keeps a lane until its collection has its turn.
    fn hold(&mut self, number: usize) {
        self.waits_for(number, Wait::Share);
        if let Some(lane) = self.lanes.get(number) {
            self.shares.hold(lane.collection, number, lane.is_quick);
        }
    }

    /// Wakes a lane that is parked at the target or in the collection of another, where there is room for it.
    fn pass_on(&mut self, number: usize) -> bool {
        let Some(lane) = self.lanes.get(number) else { return false };
        let next = self.targets.next_in(lane.target).or_else(|| self.collections.next_in(lane.collection));
        self.wake(next);
        next.is_some()
    }

    /// Makes a lane ready that was parked.
    fn wake(&mut self, number: Option<usize>) {
        if let Some(number) = number {
            self.waits_for(number, Wait::Pool);
            self.ready.push_back(number);
        }
    }

    /// Notes what the items of a lane wait for.
    fn waits_for(&mut self, number: usize, wait: Wait) {
        if let Some(lane) = self.lanes.get_mut(number) {
            self.waiting[lane.wait as usize] -= lane.items.len();
            self.waiting[wait as usize] += lane.items.len();
            lane.wait = wait;
        }
    }

    /// How many calls are running.
    #[cfg(test)]
    pub(crate) fn running(&self) -> usize {
        self.shares.running()
    }

    /// How many items wait, in the order of [`Wait::ALL`].
    pub(crate) fn waiting(&self) -> [usize; Wait::COUNT] {
        self.waiting
    }

    /// Returns the lanes in which something waits or is on its way.
    pub(crate) fn active(&self) -> impl Iterator<Item = Active<'_, C, T, I>> {
        let lanes = self.lanes.iter().filter(|lane| lane.running > 0 || !lane.items.is_empty());
        lanes.filter_map(|lane| {
            Some(Active {
                collection: &self.collections.rooms.get(lane.collection)?.key,
                target: &self.targets.rooms.get(lane.target)?.key,
                running: lane.running,
                waiting: lane.items.len(),
                first: lane.items.front().map(|item| (item, lane.wait)),
            })
        })
    }

    /// Takes out all that waits.
    pub(crate) fn drain(&mut self) -> Vec<I> {
        let mut items = Vec::with_capacity(self.waiting.iter().sum());
        self.waiting = [0; Wait::COUNT];
        self.ready.clear();
        self.shares.clear();
        self.targets.rooms.each(Room::clear);
        self.collections.rooms.each(Room::clear);
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
        let (collection, target, is_quick) = (lane.collection, lane.target, lane.is_quick);
        if let (Some(of), Some(to)) = (self.collections.rooms.get(collection), self.targets.rooms.get(target))
        {
            self.quick.note(&(&of.key, &to.key), is_quick);
        }
        self.lanes.remove(number);
        self.between.remove(&(collection, target));
        if self.collections.lead_away(collection) {
            self.shares.leave(collection);
        }
        self.targets.lead_away(target);
    }
}

/// Which lanes were quick: a table of their hashes, in which a new one takes the place of an old one.
#[derive(Debug)]
struct Remembered {
    hasher: RandomState,
    hashes: Vec<u64>,
}

impl Default for Remembered {
    fn default() -> Self {
        Self { hasher: RandomState::new(), hashes: vec![0; 4096] }
    }
}

impl Remembered {
    fn has(&self, lane: &impl Hash) -> bool {
        let hash = self.hasher.hash_one(lane);
        self.hashes[self.place(hash)] == hash
    }

    fn note(&mut self, lane: &impl Hash, is_quick: bool) {
        let hash = self.hasher.hash_one(lane);
        let place = self.place(hash);
        if is_quick {
            self.hashes[place] = hash;
        } else if self.hashes[place] == hash {
            self.hashes[place] = 0;
        }
    }

    fn place(&self, hash: u64) -> usize {
        hash as usize % self.hashes.len()
    }
}

/// The rooms of all collections or all targets.
#[derive(Debug)]
struct Rooms<K> {
    /// How many calls may run in each.
    bound: usize,
    numbers: HashMap<K, usize>,
    rooms: Numbered<Room<K>>,
}

/// The calls of one collection or target, and the lanes that wait for one of them to end.
#[derive(Debug)]
struct Room<K> {
    key: K,
    bound: usize,
    /// How many lanes lead here.
    lanes: usize,
    running: usize,
    /// Lanes that may use the kept places, which are taken.
    parked_first: VecDeque<usize>,
    /// Other lanes.
    parked: VecDeque<usize>,
}

impl<K> Room<K> {
    fn free(&self) -> usize {
        self.bound.saturating_sub(self.running)
    }

    /// Returns how many places are kept for quick lanes with few calls.
    fn kept(&self) -> usize {
        self.bound / 10
    }

    /// Returns whether a lane may begin a call here.
    fn admits(&self, may_use_kept: bool) -> bool {
        self.free() > if may_use_kept { 0 } else { self.kept() }
    }

    fn park(&mut self, lane: usize, may_use_kept: bool) {
        // Where nothing is kept, all take turns.
        let first = may_use_kept && self.kept() > 0;
        if first { &mut self.parked_first } else { &mut self.parked }.push_back(lane);
    }

    /// Takes out the next parked lane for which there is a place.
    fn next(&mut self) -> Option<usize> {
        let next = if self.admits(false) { self.parked.pop_front() } else { None };
        next.or_else(|| if self.admits(true) { self.parked_first.pop_front() } else { None })
    }

    fn clear(&mut self) {
        self.parked_first.clear();
        self.parked.clear();
    }
}

impl<K: Clone + Eq + Hash> Rooms<K> {
    fn new(bound: usize) -> Self {
        Self { bound, numbers: HashMap::new(), rooms: Numbered::default() }
    }

    /// The number of a room. A new one is forgotten only once a lane has led there.
    fn number(&mut self, key: &K) -> usize {
        if let Some(number) = self.numbers.get(key) {
            return *number;
        }
        let room = Room {
            key: key.clone(),
            bound: self.bound,
            lanes: 0,
            running: 0,
            parked_first: VecDeque::new(),
            parked: VecDeque::new(),
        };
        let number = self.rooms.add(room);
        self.numbers.insert(key.clone(), number);
        number
    }

    /// One lane more leads to a room; how many do.
    fn lead_to(&mut self, number: usize) -> usize {
        let Some(room) = self.rooms.get_mut(number) else { return 0 };
        room.lanes += 1;
        room.lanes
    }

    /// One lane less leads to a room. Where none does, nothing runs or waits, and it is forgotten; whether it was.
    fn lead_away(&mut self, number: usize) -> bool {
        let Some(room) = self.rooms.get_mut(number) else { return false };
        room.lanes -= 1;
        if room.lanes > 0 {
            return false;
        }
        if let Some(room) = self.rooms.remove(number) {
            self.numbers.remove(&room.key);
        }
        true
    }

    /// Takes out the next lane that is parked in a room and may go there.
    fn next_in(&mut self, number: usize) -> Option<usize> {
        self.rooms.get_mut(number)?.next()
    }

    /// Ends a call in a room, and returns the lane that waited for it, which is ready again.
    fn leave(&mut self, number: usize) -> Option<usize> {
        let room = self.rooms.get_mut(number)?;
        room.running -= 1;
        room.next()
    }

    /// Lets a lane, where it is parked in a room, use the kept places from now on.
    fn advance(&mut self, number: usize, lane: usize) {
        let Some(room) = self.rooms.get_mut(number).filter(|room| room.kept() > 0) else { return };
        if let Some(at) = room.parked.iter().position(|parked| *parked == lane) {
            room.parked.remove(at);
            room.parked_first.push_back(lane);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    type Test = Lanes<u32, &'static str, u32>;

    fn push(lanes: &mut Test, (collection, target): (u32, &'static str), item: u32) {
        let place = lanes.take_place("s", &collection, &target);
        lanes.push(place, item);
    }

    /// One of the calls of a lane has ended, whichever.
    fn done(lanes: &mut Test, (collection, target): (u32, &'static str)) {
        let rooms = (lanes.collections.numbers[&collection], lanes.targets.numbers[&target]);
        lanes.done(Place(lanes.between[&rooms]), Some(true));
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

    /// How many items wait; the count by reason is right.
    fn waiting(lanes: &Test) -> usize {
        let mut counted = [0; Wait::COUNT];
        lanes.lanes.iter().for_each(|lane| counted[lane.wait as usize] += lane.items.len());
        assert_eq!(counted, lanes.waiting());
        counted.iter().sum()
    }

    /// Whatever comes and goes, the bounds hold, everything goes in the end, and nothing is left behind.
    #[test]
    fn everything_goes_in_the_end() {
        let small = Bounds { overall: 7, per_collection: 3, per_target: 2 };
        let tight = Bounds { overall: 40, per_collection: 30, per_target: 25 };
        let parked = Bounds { overall: 40, per_collection: 11, per_target: 12 };
        for (at, bounds) in [small, tight, parked].into_iter().enumerate() {
            for seed in 0..8 {
                everything_goes(bounds, seed, if at == 0 { 5 } else { 12 });
            }
        }
    }

    fn everything_goes(bounds: Bounds, mut seed: u64, collections: u64) {
        let targets = ["a", "b", "c", "d"];
        let mut lanes = Test::new(bounds);
        // Which lane each item went to, and what is running.
        let mut ways: Vec<(u32, &str)> = Vec::new();
        let mut running: Vec<(Place, (u32, &str))> = Vec::new();
        let (mut pushed, mut popped) = (0, 0);
        let mut random = move |below: u64| {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (seed >> 33) % below
        };
        while pushed < 2000 || popped < pushed {
            // Now and then more comes than goes.
            let comes = if pushed % 400 < 200 { 3 } else { 1 };
            if pushed < 2000 && random(4) < comes {
                let way = (random(collections) as u32, targets[random(4) as usize]);
                let place = lanes.take_place(["s", "t", "u"][way.0 as usize % 3], &way.0, &way.1);
                lanes.push(place, pushed);
                ways.push(way);
                pushed += 1;
            } else if !running.is_empty() {
                let ended = running.swap_remove(random(running.len() as u64) as usize);
                lanes.done(ended.0, [None, Some(true), Some(false)][random(3) as usize]);
            }
            while let Some((place, item)) = lanes.pop() {
                running.push((place, ways[item as usize]));
                popped += 1;
            }
            assert!(running.len() <= bounds.overall);
            assert_eq!((lanes.running(), waiting(&lanes)), (running.len(), (pushed - popped) as usize));
            for target in targets {
                assert!(running.iter().filter(|(_, (_, to))| *to == target).count() <= bounds.per_target);
            }
            for collection in 0..collections as u32 {
                let count = running.iter().filter(|(_, (of, _))| *of == collection).count();
                assert!(count <= bounds.per_collection);
            }
            let idle = running.is_empty() && pushed == 2000;
            assert!(!idle || popped == pushed, "something waits that nobody will wake");
        }
        for (place, _) in running {
            lanes.done(place, None);
        }
        assert_eq!((lanes.running(), waiting(&lanes)), (0, 0));
        assert_eq!(known(&lanes), [0; 3]);
        let most = collections as usize;
        assert!(lanes.lanes.end() <= 4 * most && lanes.targets.rooms.end() <= 4);
        assert!(lanes.collections.rooms.end() <= most);
        assert!(lanes.shares.none_held() && lanes.shares.knows_nobody());
    }

    type Many = Lanes<u32, u32, u32>;

    const DEFAULT: Bounds = Bounds { overall: 1000, per_collection: 200, per_target: 100 };

    /// So many calls that hang, each with its subscription, collection and target; what has begun.
    fn hang(lanes: &mut Many, calls: u32, way: impl Fn(u32) -> (String, u32, u32)) -> Vec<Place> {
        for call in 0..calls {
            let (subscription, collection, target) = way(call);
            let place = lanes.take_place(&subscription, &collection, &target);
            lanes.push(place, call);
        }
        std::iter::from_fn(|| lanes.pop().map(|(place, _)| place)).collect()
    }

    /// Whether the call of a collection begins at once.
    fn begins(lanes: &mut Many, subscription: &str, collection: u32) -> Option<Place> {
        let place = lanes.take_place(subscription, &collection, &u32::MAX);
        lanes.push(place, u32::MAX);
        let (place, item) = lanes.pop()?;
        assert_eq!(item, u32::MAX);
        Some(place)
    }

    /// Calls that hang leave room for a collection of which nothing is known, even of the same subscription; also when some
    /// of them end, and others begin in their place.
    #[test]
    fn calls_that_hang_leave_room_for_those_of_a_stranger() {
        for (calls, collections) in [(1000, 5), (1200, 6), (1200, 24), (5000, 24), (5000, 100), (5000, 200)] {
            for (targets, subscriptions) in [(collections, 1), (calls, 1), (collections, collections)] {
                let mut lanes = Many::new(DEFAULT);
                let subscription = |call| format!("s{}", call % subscriptions);
                let way = |call| (subscription(call), call % collections, call % targets);
                let mut running = hang(&mut lanes, calls, way);
                // Each collection and target keeps a tenth for quick calls.
                let bound = (180 * collections as usize).min(90 * targets as usize).min(750);
                assert!(running.len() >= bound, "{calls} {collections}: {}", running.len());
                for round in 0..20 {
                    let stranger = begins(&mut lanes, "s0", 10_000 + round).expect("it begins");
                    lanes.done(stranger, Some(true));
                    for place in running.drain(..50) {
                        lanes.done(place, Some(false));
                    }
                    running.extend(std::iter::from_fn(|| lanes.pop().map(|(place, _)| place)));
                }
            }
        }
    }

    /// The same for collections whose calls have always ended soon, until all of them hang at once.
    #[test]
    fn lanes_that_were_quick_leave_room_too() {
        for collections in [24, 100] {
            let mut lanes = Many::new(DEFAULT);
            let way = |call| ("s".to_owned(), call % collections, call % collections);
            for place in hang(&mut lanes, collections, way) {
                lanes.done(place, Some(true));
            }
            let running = hang(&mut lanes, 5000, way);
            assert!(running.len() > 750);
            assert!(begins(&mut lanes, "s", 10_000).is_some());
        }
    }

    /// Thousands of collections with one call each are all strangers. Whose calls ended soon begins all the same, and so
    /// does a collection of another subscription.
    #[test]
    fn thousands_of_collections_leave_room_for_quick_calls() {
        for subscriptions in [1, 5000] {
            let mut lanes = Many::new(DEFAULT);
            let quick = begins(&mut lanes, "quick", 10_000).expect("there is room");
            lanes.done(quick, Some(true));
            let way = |call| (format!("{}", call % subscriptions), call, call);
            assert!(hang(&mut lanes, 5000, way).len() > 800);
            if subscriptions == 1 {
                assert!(begins(&mut lanes, "another", 10_001).is_some());
            }
            for _ in 0..5 {
                let quick = begins(&mut lanes, "quick", 10_000).expect("it begins");
                lanes.done(quick, Some(true));
            }
        }
    }

    /// Calls of another subscription that are slow themselves find places too, and more as those that hang end.
    #[test]
    fn slow_calls_of_another_subscription_have_a_share() {
        for collections in [24, 100] {
            let mut lanes = Many::new(DEFAULT);
            let mut hanging =
                hang(&mut lanes, 5000, |call| ("s".to_owned(), call % collections, call % collections));
            let way = |call| ("another".to_owned(), 10_000, 10_000 + call % 4);
            let at_once = hang(&mut lanes, 200, way).len();
            assert!(at_once >= 40, "{collections}: {at_once}");
            while !hanging.is_empty() {
                for place in hanging.drain(..hanging.len().min(10)) {
                    lanes.done(place, Some(false));
                }
                while lanes.pop().is_some() {}
            }
            let room = lanes.collections.numbers[&10_000];
            assert!(lanes.shares.running_of(room) >= 70, "{}", lanes.shares.running_of(room));
        }
    }

    /// Ends one quick call of each of these collections to a target.
    fn make_quick(lanes: &mut Many, collections: impl Iterator<Item = u32>, target: u32) {
        for collection in collections {
            let place = lanes.take_place("s", &collection, &target);
            lanes.push(place, 0);
            let (place, _) = lanes.pop().expect("it begins");
            lanes.done(place, Some(true));
        }
    }

    /// Begins the call of a collection to a target, if it may begin.
    fn calls(lanes: &mut Many, collection: u32, target: u32) -> Option<Place> {
        let place = lanes.take_place("s", &collection, &target);
        lanes.push(place, 0);
        lanes.pop().map(|(place, _)| place)
    }

    /// However many calls of however many others hang at the same target, and whoever waits there.
    #[test]
    fn calls_that_hang_at_a_target_leave_room_there_for_a_stranger() {
        for hanging in [1, 24, 100] {
            let mut lanes = Many::new(DEFAULT);
            make_quick(&mut lanes, 500..501, 7);
            let mut running = hang(&mut lanes, 1200, |call| ("s".to_owned(), call % hanging, 7));
            assert_eq!(running.len(), 90, "{hanging}");
            for _ in 0..20 {
                let stranger = calls(&mut lanes, 500, 7).expect("it begins");
                lanes.done(stranger, Some(true));
                for place in running.drain(..9) {
                    lanes.done(place, Some(false));
                }
                running.extend(std::iter::from_fn(|| lanes.pop().map(|(place, _)| place)));
                assert_eq!(running.len(), 90, "what was not kept is used");
            }
        }
    }

    /// Targets of one collection that hang leave room for its other targets.
    #[test]
    fn calls_that_hang_leave_room_for_other_targets_of_their_collection() {
        let mut lanes = Many::new(DEFAULT);
        make_quick(&mut lanes, 1..2, 500);
        assert_eq!(hang(&mut lanes, 900, |call| ("s".to_owned(), 1, call % 9)).len(), 180);
        assert!(calls(&mut lanes, 1, 500).is_some());
        assert!(calls(&mut lanes, 1, 501).is_none(), "nothing is known of it");
    }

    /// A lane that was parked as a slow one goes before the others once a call of it has ended soon.
    #[test]
    fn a_lane_that_turns_quick_while_it_waits_may_use_what_is_kept() {
        let mut lanes = Many::new(DEFAULT);
        let first = calls(&mut lanes, 500, 7).expect("it begins");
        assert_eq!(hang(&mut lanes, 100, |_| ("s".to_owned(), 1, 7)).len(), 89);
        assert!(calls(&mut lanes, 500, 7).is_none());
        lanes.done(first, Some(true));
        assert!(lanes.pop().is_some());
    }

    /// One collection alone has no more than three quarters, whatever its bound, and slow ones have less than quick ones.
    #[test]
    fn slow_lanes_shrink_first() {
        let bounds = Bounds { overall: 1000, per_collection: 1000, per_target: 1000 };
        assert_eq!(hang(&mut Many::new(bounds), 2000, |_| ("s".to_owned(), 1, 1)).len(), 750);
        let mut lanes = Many::new(bounds);
        let way = |call| ("s".to_owned(), call % 2, call % 2);
        let first = hang(&mut lanes, 2, way);
        for (quick, place) in [true, false].into_iter().zip(first) {
            lanes.done(place, Some(quick));
        }
        // The quick one grows first.
        hang(&mut lanes, 800, |_| ("s".to_owned(), 2, 2));
        hang(&mut lanes, 2000, way);
        let running = |of| lanes.shares.running_of(lanes.collections.numbers[&of]);
        assert!(running(0) > running(1) && running(1) > 0, "{} {}", running(0), running(1));
    }

    #[test]
    fn a_lane_is_known_as_long_as_somebody_has_a_place_in_it() {
        let mut lanes = Test::new(Bounds { overall: 1, per_collection: 1, per_target: 1 });
        let early = lanes.take_place("s", &1, &"a");
        let late = lanes.take_place("s", &1, &"b");
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
        assert_eq!((waiting(&lanes), known(&lanes)), (0, [0; 3]));
    }

    #[test]
    fn what_is_taken_out_leaves_nothing_behind_but_what_runs() {
        let mut lanes = Test::new(Bounds { overall: 2, per_collection: 2, per_target: 1 });
        for item in 0..4 {
            push(&mut lanes, (1, "a"), item);
        }
        push(&mut lanes, (2, "b"), 10);
        push(&mut lanes, (2, "c"), 11);
        let waits = lanes.take_place("s", &3, &"d");
        assert_eq!(started(&mut lanes), [0, 10]);
        let mut drained = lanes.drain();
        drained.sort_unstable();
        assert_eq!((drained, waiting(&lanes)), (vec![1, 2, 3, 11], 0));
        assert_eq!(known(&lanes), [3, 3, 3], "two run, and one place is taken");
        done(&mut lanes, (1, "a"));
        done(&mut lanes, (2, "b"));
        lanes.push(waits, 20);
        assert_eq!(started(&mut lanes), [20]);
        done(&mut lanes, (3, "d"));
        assert_eq!(known(&lanes), [0; 3]);
    }
}
