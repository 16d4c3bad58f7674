//! What is under way: the attempts of this moment, and word of each that begins or has ended.
//!
//! Whoever wants to see the engine at work asks [`UnderWay`]; the engine does not wait for them. Word is broadcast: where
//! nobody listens nothing is made, and whoever listens too slowly loses the oldest.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use actions::TraceContext;
use model::{Attempt, Execution, Timestamp};
use store::{ClaimedJob, Settlement};
use tokio::sync::broadcast;

/// How much word is kept for those who listen slowly: a second of a busy scheduler.
const KEPT: usize = 1024;

/// An attempt that has begun.
#[derive(Debug)]
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
    /// In the order in which they began. As many as the engine's bounds allow.
    begun: BTreeMap<u64, Arc<Begun>>,
    last: u64,
}

impl Default for UnderWay {
    fn default() -> Self {
        Self { attempts: Mutex::default(), word: broadcast::Sender::new(KEPT) }
    }
}

impl UnderWay {
    /// How many attempts are under way.
    pub fn count(&self) -> usize {
        self.attempts().begun.len()
    }

    /// The attempts that are under way, the oldest first, at most so many.
    pub fn oldest(&self, most: usize) -> Vec<Arc<Begun>> {
        self.attempts().begun.values().take(most).cloned().collect()
    }

    /// Word of all that begins and ends from now on.
    pub fn listen(&self) -> broadcast::Receiver<Word> {
        self.word.subscribe()
    }

    /// An attempt begins.
    pub(crate) fn begin(self: &Arc<Self>, begun: Begun) -> Entered {
        let begun = Arc::new(begun);
        let number = {
            let mut attempts = self.attempts();
            attempts.last += 1;
            let number = attempts.last;
            attempts.begun.insert(number, begun.clone());
            number
        };
        if self.is_watched() {
            // Whoever listened may be gone by now.
            let _ = self.word.send(Word::Begun(begun.clone()));
        }
        Entered { under_way: Arc::clone(self), number, begun }
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
pub(crate) struct Entered {
    under_way: Arc<UnderWay>,
    number: u64,
    pub(crate) begun: Arc<Begun>,
}

impl Drop for Entered {
    fn drop(&mut self) {
        self.under_way.attempts().begun.remove(&self.number);
    }
}
