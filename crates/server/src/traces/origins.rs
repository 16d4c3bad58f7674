//! Which call of the API made a job or asked for a run: as much as this process remembers.

use std::collections::hash_map::RandomState;
use std::collections::{HashMap, VecDeque};
use std::hash::BuildHasher as _;
use std::sync::{Mutex, MutexGuard, PoisonError};

use actions::TraceContext;
use model::{CollectionPath, Uuid};

/// How many calls are remembered; those before are forgotten.
const REMEMBERED: usize = 10_000;

/// See the module.
#[derive(Debug, Default)]
pub(super) struct Origins {
    /// Names can be of any length; what is kept of one is a number.
    hasher: RandomState,
    known: Mutex<Known>,
}

#[derive(Debug, Default)]
struct Known {
    calls: HashMap<Key, TraceContext>,
    /// The oldest first.
    order: VecDeque<Key>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Key {
    Job(u64),
    Run(Uuid),
}

impl Origins {
    pub(super) fn note_job(&self, path: &CollectionPath, job: &str, call: TraceContext) {
        self.known().note(self.key(path, job), call);
    }

    pub(super) fn note_run(&self, tag: Uuid, call: TraceContext) {
        self.known().note(Key::Run(tag), call);
    }

    pub(super) fn of_job(&self, path: &CollectionPath, job: &str) -> Option<TraceContext> {
        self.known().calls.get(&self.key(path, job)).copied()
    }

    pub(super) fn of_run(&self, tag: Uuid) -> Option<TraceContext> {
        self.known().calls.get(&Key::Run(tag)).copied()
    }

    /// Names are the same in any case.
    fn key(&self, path: &CollectionPath, job: &str) -> Key {
        let names = [&path.subscription, &path.group, &path.name, job].map(str::to_lowercase);
        Key::Job(self.hasher.hash_one(names))
    }

    fn known(&self) -> MutexGuard<'_, Known> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Known {
    fn note(&mut self, key: Key, call: TraceContext) {
        if self.calls.insert(key, call).is_some() {
            return;
        }
        self.order.push_back(key);
        if self.order.len() > REMEMBERED
            && let Some(oldest) = self.order.pop_front()
        {
            self.calls.remove(&oldest);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_call_is_remembered_and_memory_is_bounded() {
        let origins = Origins::default();
        let path = CollectionPath { subscription: "s".into(), group: "g".into(), name: "c".into() };
        let call = |span| TraceContext { trace: 1, span, sampled: true };
        origins.note_job(&path, "Job", call(1));
        origins.note_job(&path, "JOB", call(2));
        assert_eq!(origins.of_job(&path, "job"), Some(call(2)));
        for number in 0..REMEMBERED as u128 {
            origins.note_run(Uuid::from_u128(number), call(3));
        }
        assert_eq!(origins.of_job(&path, "job"), None, "others came since");
        assert_eq!(origins.of_run(Uuid::from_u128(0)), Some(call(3)));
        let known = origins.known();
        assert_eq!((known.calls.len(), known.order.len()), (REMEMBERED, REMEMBERED));
    }
}
