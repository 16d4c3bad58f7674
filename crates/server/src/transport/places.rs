//! Places: how many connections there may be, and who goes when there are more.
//!
//! When all places are taken, a newcomer gets that of a connection that is without a request: of those from the address
//! that has the most, the one that was so the longest. So whoever opens connections by the thousand takes them from
//! themselves, and whoever is served stays. Where nobody can be sent away who has more than the newcomer, the newcomer is.

use std::collections::{BTreeMap, HashMap};
use std::net::IpAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::time::sleep;
use tokio_util::sync::CancellationToken;

/// See the module.
#[derive(Debug)]
pub(super) struct Places {
    most: usize,
    taken: Mutex<Taken>,
}

#[derive(Debug, Default)]
struct Taken {
    /// How many in all.
    count: usize,
    /// The last number that was given; each is given once.
    last: u64,
    from: HashMap<IpAddr, Held>,
}

/// The connections from one address.
#[derive(Debug, Default)]
struct Held {
    count: usize,
    /// Those that are without a request, by the number that they got when that began.
    idle: BTreeMap<u64, CancellationToken>,
}

/// The place of one connection.
#[derive(Debug)]
pub(super) struct Place {
    places: Arc<Places>,
    from: IpAddr,
    lost: CancellationToken,
    use_of: Mutex<Use>,
}

/// What a connection does.
#[derive(Debug)]
struct Use {
    requests: usize,
    /// While there are none: the number under which it is known as idle.
    idle: Option<u64>,
}

/// A request that is being answered.
#[derive(Debug)]
pub(super) struct Busy(Arc<Place>);

impl Places {
    pub(super) fn new(most: usize) -> Arc<Self> {
        Arc::new(Self { most, taken: Mutex::default() })
    }

    fn taken(&self) -> MutexGuard<'_, Taken> {
        self.taken.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A place for a connection, if there is one.
    pub(super) fn take(self: &Arc<Self>, from: IpAddr) -> Option<Arc<Place>> {
        let mut taken = self.taken();
        if taken.count >= self.most && !taken.make_room(from) {
            return None;
        }
        taken.count += 1;
        taken.from.entry(from).or_default().count += 1;
        let lost = CancellationToken::new();
        let idle = taken.rest(from, &lost);
        let use_of = Mutex::new(Use { requests: 0, idle: Some(idle) });
        Some(Arc::new(Place { places: Arc::clone(self), from, lost, use_of }))
    }
}

impl Taken {
    /// Notes that a connection is without a request; under which number.
    fn rest(&mut self, from: IpAddr, lost: &CancellationToken) -> u64 {
        self.last += 1;
        self.from.entry(from).or_default().idle.insert(self.last, lost.clone());
        self.last
    }

    /// Sends somebody away for a newcomer; whether that was possible.
    fn make_room(&mut self, newcomer: IpAddr) -> bool {
        let has = self.from.get(&newcomer).map_or(0, |held| held.count);
        let with_idle = self.from.iter().filter(|(_, held)| !held.idle.is_empty());
        let Some((&address, held)) = with_idle.max_by_key(|(_, held)| held.count) else { return false };
        if held.count < has {
            return false;
        }
        self.leave(address, None)
    }

    /// One connection less: the one that is known as idle under a number, or else the one that is so the longest.
    fn leave(&mut self, from: IpAddr, idle: Option<u64>) -> bool {
        let Some(held) = self.from.get_mut(&from) else { return false };
        match idle {
            Some(number) => _ = held.idle.remove(&number),
            None => {
                if let Some((_, lost)) = held.idle.pop_first() {
                    lost.cancel();
                }
            }
        }
        held.count -= 1;
        self.count -= 1;
        if held.count == 0 {
            self.from.remove(&from);
        }
        true
    }
}

impl Place {
    fn use_of(&self) -> MutexGuard<'_, Use> {
        self.use_of.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Until somebody else gets it.
    pub(super) async fn lost(&self) {
        self.lost.cancelled().await;
    }

    /// Until it was without a request for so long, and at most for twice as long.
    pub(super) async fn idle_for(&self, length: Duration) {
        loop {
            let before = self.use_of().idle;
            sleep(length).await;
            if before.is_some() && self.use_of().idle == before {
                return;
            }
        }
    }

    /// A request has come.
    pub(super) fn begin(self: &Arc<Self>) -> Busy {
        let mut use_of = self.use_of();
        use_of.requests += 1;
        if let Some(idle) = use_of.idle.take()
            && let Some(held) = self.places.taken().from.get_mut(&self.from)
        {
            held.idle.remove(&idle);
        }
        Busy(Arc::clone(self))
    }
}

impl Drop for Busy {
    fn drop(&mut self) {
        let place = &self.0;
        let mut use_of = place.use_of();
        use_of.requests -= 1;
        if use_of.requests == 0 && !place.lost.is_cancelled() {
            use_of.idle = Some(place.places.taken().rest(place.from, &place.lost));
        }
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let idle = self.use_of().idle;
        let mut taken = self.places.taken();
        // Whoever was sent away has been counted already.
        if !self.lost.is_cancelled() {
            match idle {
                Some(_) => _ = taken.leave(self.from, idle),
                // It ended in the middle of a request.
                None => _ = taken.leave(self.from, Some(0)),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn address(last: u8) -> IpAddr {
        IpAddr::from([10, 0, 0, last])
    }

    fn count(places: &Places) -> (usize, usize) {
        let taken = places.taken();
        assert_eq!(taken.count, taken.from.values().map(|held| held.count).sum::<usize>());
        (taken.count, taken.from.values().map(|held| held.idle.len()).sum())
    }

    #[test]
    fn whoever_has_the_most_makes_room() {
        let places = Places::new(4);
        let greedy: Vec<_> = (0..3).map(|_| places.take(address(1)).expect("a place")).collect();
        let modest = places.take(address(2)).expect("a place");
        let other = places.take(address(3)).expect("a place");
        assert_eq!(
            greedy.iter().map(|place| place.lost.is_cancelled()).collect::<Vec<_>>(),
            [true, false, false]
        );
        // The greedy one gets only what is theirs.
        let again = places.take(address(1)).expect("a place");
        assert!(greedy[1].lost.is_cancelled() && !modest.lost.is_cancelled() && !other.lost.is_cancelled());
        assert_eq!(count(&places), (4, 4));
        drop(greedy);
        assert_eq!(count(&places), (3, 3));
        drop((modest, other, again));
        assert_eq!(count(&places), (0, 0));
        assert!(places.taken().from.is_empty());
    }

    #[test]
    fn whoever_is_served_stays() {
        let places = Places::new(2);
        let (first, second) =
            (places.take(address(1)).expect("a place"), places.take(address(1)).expect("a place"));
        let (one, two) = (first.begin(), second.begin());
        let another = first.begin();
        assert!(places.take(address(1)).is_none());
        assert!(places.take(address(2)).is_none());
        drop(one);
        assert!(places.take(address(2)).is_none(), "one of two requests is still there");
        drop(another);
        let newcomer = places.take(address(2)).expect("a place");
        assert!(first.lost.is_cancelled() && !second.lost.is_cancelled());
        drop((first, newcomer));
        assert_eq!(count(&places), (1, 0));
        drop(second);
        drop(two);
        assert_eq!(count(&places), (0, 0));
    }

    #[test]
    fn nobody_is_sent_away_for_somebody_who_has_more() {
        let places = Places::new(3);
        let greedy: Vec<_> = (0..2).map(|_| places.take(address(1)).expect("a place")).collect();
        let busy: Vec<_> = greedy.iter().map(Place::begin).collect();
        let modest = places.take(address(2)).expect("a place");
        assert!(places.take(address(1)).is_none());
        assert!(!modest.lost.is_cancelled());
        drop(busy);
    }

    #[tokio::test(start_paused = true)]
    async fn a_place_that_is_not_used_is_idle() {
        let places = Places::new(1);
        let place = places.take(address(1)).expect("a place");
        let minute = Duration::from_secs(60);
        let busy = place.begin();
        let waiting = tokio::time::timeout(minute * 10, place.idle_for(minute));
        assert!(waiting.await.is_err());
        drop(busy);
        assert!(tokio::time::timeout(minute * 2, place.idle_for(minute)).await.is_ok());
    }
}
