//! Queues: which calls run and which wait at this moment, by collection and target, for callers that want to see them.

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError, Weak};

use actions::Target;
use model::{CollectionPath, Timestamp};

use crate::Wait;
use crate::calls::Calls;

/// The calls of one collection to one target.
#[derive(Debug, Clone)]
pub struct Queue {
    /// Whose calls they are.
    pub collection: CollectionPath,
    /// Where they go.
    pub target: Target,
    /// How many run.
    pub running: usize,
    /// How many are due and wait.
    pub waiting: usize,
    /// When the first of those was due, and what they wait for; `None` where none waits.
    pub first: Option<(Timestamp, Wait)>,
}

/// Where the queues of an engine are found, as long as it runs.
#[derive(Clone, Default)]
pub struct Queues(Arc<Mutex<Weak<Calls>>>);

impl Queues {
    /// Returns the queues in which calls run or wait, in no order.
    pub fn look(&self) -> Vec<Queue> {
        let calls = self.0.lock().unwrap_or_else(PoisonError::into_inner).upgrade();
        calls.map(|calls| calls.queues()).unwrap_or_default()
    }

    /// Shows the queues of these calls from now on.
    pub(crate) fn show(&self, calls: &Arc<Calls>) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Arc::downgrade(calls);
    }
}

impl fmt::Debug for Queues {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Queues").finish_non_exhaustive()
    }
}
