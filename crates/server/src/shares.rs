//! Shares: places that callers have together, of which each caller may have some.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Places, and who has them.
#[derive(Debug)]
pub(crate) struct Shares {
    most: usize,
    each: usize,
    held: Mutex<HashMap<String, usize>>,
}

/// A place, which is free again when this ends.
#[derive(Debug)]
pub(crate) struct Place {
    shares: Arc<Shares>,
    who: String,
}

/// Why there is no place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Taken {
    /// All are taken.
    All,
    /// The caller has this many, and may have no more.
    Share(usize),
}

impl Shares {
    /// So many in all, and a quarter of them for each caller.
    pub(crate) fn new(most: usize) -> Arc<Self> {
        Arc::new(Self { most, each: (most / 4).max(1), held: Mutex::default() })
    }

    fn held(&self) -> MutexGuard<'_, HashMap<String, usize>> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes a place. Without a name, where nobody has to say who they are, all callers share all places.
    pub(crate) fn take(self: &Arc<Self>, who: Option<&str>) -> Result<Place, Taken> {
        let mut held = self.held();
        let mine = who.and_then(|who| held.get(who)).copied().unwrap_or_default();
        if mine >= self.each {
            return Err(Taken::Share(mine));
        }
        if held.values().sum::<usize>() >= self.most {
            return Err(Taken::All);
        }
        let who = who.unwrap_or_default().to_owned();
        *held.entry(who.clone()).or_default() += 1;
        Ok(Place { shares: Arc::clone(self), who })
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let mut held = self.shares.held();
        if let Some(mine) = held.get_mut(&self.who) {
            *mine -= 1;
            if *mine == 0 {
                held.remove(&self.who);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_caller_has_a_share_and_all_have_the_places_together() {
        let shares = Shares::new(10);
        let take = |who| shares.take(Some(who));
        let ann = [take("ann").unwrap(), take("ann").unwrap()];
        assert_eq!(take("ann").unwrap_err(), Taken::Share(2));
        let others: Vec<_> = ["b", "b", "c", "c", "d", "d", "e", "e"].map(|who| take(who).unwrap()).into();
        assert_eq!(take("f").unwrap_err(), Taken::All);
        drop(ann);
        assert!(take("f").is_ok() && take("ann").is_ok());
        drop(others);
        assert!(shares.held().is_empty());
        let nobody: Vec<_> = (0..10).map(|_| shares.take(None).unwrap()).collect();
        assert_eq!(shares.take(None).unwrap_err(), Taken::All);
        drop(nobody);
    }
}
