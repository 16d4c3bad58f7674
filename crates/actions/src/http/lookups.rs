//! Lookups: from a name to its addresses, so that names which get no reply hold up only themselves.
//!
//! The machine's resolver blocks a thread for each lookup, and those threads, 512 by tokio's default, are shared with the
//! whole process, so not all of them are for lookups. Calls to one name share a lookup. What is left is shared by what is known of a name: one
//! whose last lookup was quick may use all threads, one that is new two thirds of them, and one whose last lookup was slow
//! a third.

use std::collections::hash_map::RandomState;
use std::collections::{HashMap, hash_map::Entry};
use std::hash::BuildHasher;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

use tokio::sync::{OwnedSemaphorePermit, Semaphore, watch};
use tokio::time::Instant;

use crate::fault::root_cause;
use crate::resolver::Resolver;

/// How many lookups run at once in each third. Two thirds are more than the calls of one collection that run at a time, 200, so
/// that it cannot keep the names of others from being resolved.
const THIRD: usize = 128;

/// A lookup that takes no longer is quick.
const QUICK: Duration = Duration::from_secs(1);

/// How many lookups of one name run at once: the second begins when the first is not quick, in case the resolver has lost it.
const OF_ONE_NAME: usize = 2;

/// Of how many names it is known whether they are quick.
const KNOWN: usize = 4096;

/// What became of a lookup.
type Found = Result<Vec<SocketAddr>, String>;

/// See the module.
pub(super) struct Lookups(Arc<Shared>);

struct Shared {
    resolver: Arc<dyn Resolver>,
    under_way: Mutex<HashMap<String, UnderWay>>,
    thirds: [Arc<Semaphore>; 3],
    known: Mutex<Known>,
}

/// The lookups of a name that are under way.
struct UnderWay {
    count: usize,
    /// When the last one began.
    since: Instant,
    /// Where its result appears, as long as a call waits for it or the resolver works on it.
    last: Weak<watch::Sender<Option<Found>>>,
}

/// Which names were quick: a table of their hashes, in which a new one takes the place of an old one.
struct Known {
    hasher: RandomState,
    names: Vec<(u64, bool)>,
}

impl Known {
    /// Returns how many thirds a lookup of a name may use.
    fn thirds(&self, name: &str) -> usize {
        let hash = self.hasher.hash_one(name);
        match self.names[hash as usize % KNOWN] {
            (known, true) if known == hash => 3,
            (known, false) if known == hash => 1,
            _ => 2,
        }
    }

    fn note(&mut self, name: &str, is_quick: bool) {
        let hash = self.hasher.hash_one(name);
        self.names[hash as usize % KNOWN] = (hash, is_quick);
    }
}

impl Lookups {
    pub(super) fn new(resolver: Arc<dyn Resolver>) -> Self {
        Self(Arc::new(Shared {
            resolver,
            under_way: Mutex::default(),
            thirds: std::array::from_fn(|_| Arc::new(Semaphore::new(THIRD))),
            known: Mutex::new(Known { hasher: RandomState::new(), names: vec![(0, false); KNOWN] }),
        }))
    }

    /// Returns the addresses of a name.
    pub(super) async fn find(&self, name: &str, port: u16) -> Found {
        let key = name.to_ascii_lowercase();
        loop {
            let mut result = self.0.join(&key, port);
            // A lookup that was given up, because its last call had gone, is begun again.
            if let Ok(found) = result.wait_for(Option::is_some).await {
                let mut found = found.clone().unwrap_or_else(|| Ok(Vec::new()))?;
                found.iter_mut().for_each(|address| address.set_port(port));
                return Ok(found);
            }
        }
    }

    /// Notes that a name got no reply in time.
    pub(super) fn note_slow(&self, name: &str) {
        self.0.known().note(&name.to_ascii_lowercase(), false);
    }
}

impl Shared {
    /// Returns where the result of a lookup appears: of one that is under way, or of a new one.
    fn join(self: &Arc<Self>, name: &str, port: u16) -> watch::Receiver<Option<Found>> {
        let mut under_way = self.under_way();
        let (sender, result) = watch::channel(None);
        let sender = Arc::new(sender);
        let (last, since) = (Arc::downgrade(&sender), Instant::now());
        match under_way.entry(name.to_owned()) {
            Entry::Vacant(entry) => drop(entry.insert(UnderWay { count: 1, since, last })),
            Entry::Occupied(mut entry) => {
                let before = entry.get_mut();
                let is_fresh = before.count >= OF_ONE_NAME || before.since.elapsed() <= QUICK;
                if is_fresh && let Some(last) = before.last.upgrade() {
                    return last.subscribe();
                }
                *before = UnderWay { count: before.count + 1, since, last };
            }
        }
        drop(under_way);
        tokio::spawn(Arc::clone(self).look_up(name.to_owned(), port, sender));
        result
    }

    async fn look_up(self: Arc<Self>, name: String, port: u16, result: Arc<watch::Sender<Option<Found>>>) {
        let thirds = self.known().thirds(&name);
        let permit = tokio::select! {
            permit = self.permit(thirds) => permit,
            () = result.closed() => None,
        };
        if let Some(permit) = permit {
            let (shared, name) = (Arc::clone(&self), name.clone());
            // The thread keeps the permit also when no call waits for it any more: it is the thread that is scarce.
            let found = tokio::task::spawn_blocking(move || {
                let _permit = permit;
                let began = Instant::now();
                let found = shared.resolver.resolve(&name, port);
                shared.known().note(&name, began.elapsed() <= QUICK);
                found.map_err(|error| root_cause(&error))
            });
            let found = found.await.unwrap_or_else(|error| Err(error.to_string()));
            result.send_replace(Some(found));
        }
        // Before it is forgotten: a call that joined it meanwhile begins another one.
        drop(result);
        let mut under_way = self.under_way();
        if let Entry::Occupied(mut entry) = under_way.entry(name) {
            entry.get_mut().count -= 1;
            if entry.get().count == 0 {
                entry.remove();
            }
        }
    }

    /// Waits for a place in one of the first thirds.
    async fn permit(&self, thirds: usize) -> Option<OwnedSemaphorePermit> {
        let [slow, new, quick] = self.thirds.each_ref().map(|third| Arc::clone(third).acquire_owned());
        tokio::select! {
            permit = quick, if thirds > 2 => permit,
            permit = new, if thirds > 1 => permit,
            permit = slow => permit,
        }
        .ok()
    }

    fn under_way(&self) -> MutexGuard<'_, HashMap<String, UnderWay>> {
        self.under_way.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn known(&self) -> MutexGuard<'_, Known> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;
    use std::io;
    use std::sync::Condvar;
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;

    /// Answers names that begin with "good" at once, and others when it is let go.
    #[derive(Debug, Default)]
    struct Stuck {
        asked: AtomicUsize,
        let_go: (Mutex<bool>, Condvar),
    }

    impl Stuck {
        fn asked(&self) -> usize {
            self.asked.load(Ordering::SeqCst)
        }

        fn let_go(&self) {
            *self.let_go.0.lock().unwrap() = true;
            self.let_go.1.notify_all();
        }
    }

    impl Resolver for Stuck {
        fn resolve(&self, name: &str, port: u16) -> io::Result<Vec<SocketAddr>> {
            self.asked.fetch_add(1, Ordering::SeqCst);
            if !name.starts_with("good") {
                let free = self.let_go.0.lock().unwrap();
                drop(self.let_go.1.wait_while(free, |free| !*free));
            }
            Ok(vec![([192, 0, 2, 1], port).into()])
        }
    }

    /// Waits until so many lookups run at once.
    async fn until_asked(resolver: &Stuck, count: usize) {
        while resolver.asked() < count {
            tokio::task::yield_now().await;
        }
    }

    fn ask(lookups: &Arc<Lookups>, name: String) -> tokio::task::JoinHandle<Found> {
        let lookups = Arc::clone(lookups);
        tokio::spawn(async move { lookups.find(&name, 80).await })
    }

    #[tokio::test]
    async fn names_without_a_reply_hold_up_neither_new_names_nor_quick_ones() {
        let resolver = Arc::new(Stuck::default());
        let lookups = Arc::new(Lookups::new(resolver.clone()));
        assert!(lookups.find("good.example", 80).await.is_ok());
        // Names that are known as slow fill their third.
        // Each has a place of its own among those that are known.
        let hasher = lookups.0.known().hasher.clone();
        let place = |name: &str| hasher.hash_one(name) as usize % KNOWN;
        let mut taken = HashSet::from([place("good.example")]);
        let names = (0..).map(|number| format!("slow-{number}.example"));
        let names: Vec<String> = names.filter(|name| taken.insert(place(name))).take(2 * THIRD).collect();
        names.iter().for_each(|name| lookups.note_slow(name));
        let mut waiting: Vec<_> = names.into_iter().map(|name| ask(&lookups, name)).collect();
        until_asked(&resolver, 1 + THIRD).await;
        assert!(lookups.find("good-new.example", 80).await.is_ok());
        // New ones fill theirs; what was quick has one more.
        let asked = resolver.asked();
        waiting.extend((0..2 * THIRD).map(|number| ask(&lookups, format!("new-{number}.example"))));
        until_asked(&resolver, asked + THIRD).await;
        assert!(lookups.find("GOOD.example", 443).await.unwrap()[0].port() == 443);
        assert_eq!(resolver.asked(), asked + THIRD + 1);
        resolver.let_go();
        for waits in waiting {
            assert!(waits.await.unwrap().is_ok());
        }
        assert!(lookups.0.under_way().is_empty());
    }

    #[tokio::test]
    async fn calls_to_one_name_share_a_lookup() {
        let resolver = Arc::new(Stuck::default());
        let lookups = Arc::new(Lookups::new(resolver.clone()));
        let mut waiting: Vec<_> = (0..1000).map(|_| ask(&lookups, "slow.example".to_owned())).collect();
        until_asked(&resolver, 1).await;
        tokio::time::pause();
        tokio::time::advance(2 * QUICK).await;
        tokio::time::resume();
        // The resolver may have lost the first one. Not more than one is lost.
        waiting.extend((0..1000).map(|_| ask(&lookups, "slow.example".to_owned())));
        until_asked(&resolver, 2).await;
        // Calls that go do not take the lookup of others with them.
        waiting.drain(..500).for_each(|waits| waits.abort());
        resolver.let_go();
        for waits in waiting {
            assert!(waits.await.unwrap().is_ok());
        }
        assert_eq!(resolver.asked(), 2);
        assert!(lookups.find("slow.example", 80).await.is_ok());
        assert_eq!(resolver.asked(), 3, "nothing is kept");
    }

    #[tokio::test]
    async fn a_lookup_that_waits_for_its_turn_ends_with_its_calls() {
        let resolver = Arc::new(Stuck::default());
        let lookups = Arc::new(Lookups::new(resolver.clone()));
        let waiting: Vec<_> =
            (0..3 * THIRD).map(|number| ask(&lookups, format!("new-{number}.example"))).collect();
        until_asked(&resolver, 2 * THIRD).await;
        waiting.iter().for_each(tokio::task::JoinHandle::abort);
        while lookups.0.under_way().len() > 2 * THIRD {
            tokio::task::yield_now().await;
        }
        resolver.let_go();
        while !lookups.0.under_way().is_empty() {
            tokio::task::yield_now().await;
        }
        assert_eq!(resolver.asked(), 2 * THIRD);
    }
}
