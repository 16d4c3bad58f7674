//! What is under way: the attempts of this moment, and word of each that begins or has ended.
//!
//! Whoever wants to see the engine at work asks [`UnderWay`]; the engine does not wait for them. Word is broadcast: where
//! nobody listens nothing is made, and whoever listens too slowly loses the oldest.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use actions::TraceContext;
use model::{Attempt, Execution, Timestamp};
use store::{ClaimedJob, Settlement};
use tokio::sync::broadcast;

use crate::numbered::Numbered;

/// How much word is kept for those who listen slowly: a second of a busy scheduler.
const KEPT: usize = 1024;

/// An attempt that has begun.
#[derive(Debug, Clone)]
pub struct Begun {
    /// Its job.
    pub job: Arc<ClaimedJob>,
    /// The execution, as it was before the attempt.
    pub execution: Execution,
    /// When.
    pub started_at: Timestamp,
    /// The span of the call, where traces are made.
    pub trace: Option<TraceContext>,
}

impl Begun {
    /// How long after its time it began: that of the occurrence, or of the retry.
    pub fn lateness(&self) -> Duration {
        let Execution { occurrence, attempt, depth, wake_at, .. } = &self.execution;
        let due = if *attempt == 0 && *depth == 0 { occurrence.at } else { wake_at.unwrap_or(occurrence.at) };
        Duration::try_from(due.duration_until(self.started_at)).unwrap_or_default()
    }
}

/// What happened to an attempt.
#[derive(Debug, Clone)]
pub enum Word {
    /// It has begun.
    Begun(Arc<Begun>),
    /// It has ended, and what came of it is written.
    Ended(Arc<Begun>, Arc<Attempt>, Settlement),
}

/// See the module.
#[derive(Debug)]
pub struct UnderWay {
    attempts: Mutex<Attempts>,
    word: broadcast::Sender<Word>,
}

#[derive(Debug, Default)]
struct Attempts {
    /// Each with how many began before it. As many as the engine's bounds allow.
    begun: Numbered<(u64, Arc<Begun>)>,
    next: u64,
}

impl Default for UnderWay {
    fn default() -> Self {
        Self { attempts: Mutex::default(), word: broadcast::Sender::new(KEPT) }
    }
}

impl UnderWay {
    /// How many attempts are under way.
    pub fn count(&self) -> usize {
        self.attempts().begun.count()
    }

    /// The attempts that are under way, the oldest first, at most so many.
    pub fn oldest(&self, most: usize) -> Vec<Arc<Begun>> {
        // Put in order here, where seldom anybody comes by, and not where they begin and end.
        let mut begun: Vec<(u64, Arc<Begun>)> = self.attempts().begun.iter().cloned().collect();
        begun.sort_unstable_by_key(|(before, _)| *before);
        begun.into_iter().take(most).map(|(_, begun)| begun).collect()
    }

    /// Word of all that begins and ends from now on.
    pub fn listen(&self) -> broadcast::Receiver<Word> {
        self.word.subscribe()
    }

    /// An attempt begins.
    pub(crate) fn begin(&self, begun: &Arc<Begun>) -> Entered<'_> {
        let number = {
            let mut attempts = self.attempts();
            let before = attempts.next;
            attempts.next += 1;
            attempts.begun.add((before, Arc::clone(begun)))
        };
        if self.is_watched() {
            // Whoever listened may be gone by now.
            let _ = self.word.send(Word::Begun(Arc::clone(begun)));
        }
        Entered { under_way: self, number }
    }

    /// An attempt has ended and is written.
    pub(crate) fn tell_end(&self, begun: &Arc<Begun>, attempt: &Arc<Attempt>, settlement: Settlement) {
        if self.is_watched() {
            let _ = self.word.send(Word::Ended(begun.clone(), attempt.clone(), settlement));
        }
    }

    fn is_watched(&self) -> bool {
        self.word.receiver_count() > 0
    }

    fn attempts(&self) -> MutexGuard<'_, Attempts> {
        self.attempts.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The place of an attempt that is under way; it is given up when this is dropped.
pub(crate) struct Entered<'a> {
    under_way: &'a UnderWay,
    number: usize,
}

impl Drop for Entered<'_> {
    fn drop(&mut self) {
        // What may be the last of it is dropped after the lock.
        let begun = self.under_way.attempts().begun.remove(self.number);
        drop(begun);
    }
}

#[cfg(test)]
mod tests {
    use store::Claim;
    use store::conformance::World;

    use super::*;
    use crate::embedded::Embedded;

    #[tokio::test]
    async fn the_oldest_come_first_whoever_had_their_places_before() {
        let backend = Embedded::new();
        let world = World::new(&backend).await;
        for name in ["a", "b", "c", "d"] {
            world.put(name, world.minutely()).await;
        }
        let begun = |claim: Claim| {
            let Claim { job, execution, .. } = claim;
            Arc::new(Begun { job, execution, started_at: world.now, trace: None })
        };
        let begun: Vec<Arc<Begun>> = world.claim(0).await.into_iter().map(begun).collect();
        let under_way = UnderWay::default();
        let is_oldest = |expected: &[usize]| {
            let oldest = under_way.oldest(expected.len());
            oldest.len() == expected.len()
                && oldest.iter().zip(expected).all(|(one, at)| Arc::ptr_eq(one, &begun[*at]))
        };
        let first = under_way.begin(&begun[0]);
        let second = under_way.begin(&begun[1]);
        let third = under_way.begin(&begun[2]);
        drop((first, second));
        let fourth = under_way.begin(&begun[3]);
        assert!(under_way.count() == 2 && is_oldest(&[2, 3]) && is_oldest(&[2]));
        drop((third, fourth));
        assert!(under_way.count() == 0 && under_way.oldest(1).is_empty());
        assert!(begun.iter().all(|begun| Arc::strong_count(begun) == 1), "nothing is kept");
    }
}
