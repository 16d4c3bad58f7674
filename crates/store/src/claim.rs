//! Claims: executions handed out to be carried out, and what comes back.

use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};

use model::{Attempt, CollectionPath, Definition, Execution, Timestamp};

/// The number of an execution in its store.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ExecutionId(pub i64);

/// What of a job its executions need; shared by all of them that run the same definition.
#[derive(Debug, PartialEq, Eq)]
pub struct ClaimedJob {
    /// The collection.
    pub collection: CollectionPath,
    /// The collection's region, which messages carry.
    pub location: String,
    /// The job's name.
    pub name: String,
    /// What it does.
    pub definition: Definition,
}

/// An execution that is ours to carry out.
#[derive(Debug, Clone)]
pub struct Claim {
    /// Its number.
    pub id: ExecutionId,
    /// The execution.
    pub execution: Execution,
    /// Its job.
    pub job: Arc<ClaimedJob>,
    /// To be begun before the call is made.
    pub ticket: Ticket,
}

/// What a claim brought.
#[derive(Debug, Default)]
pub struct Claimed {
    /// What to carry out, soonest first.
    pub claims: Vec<Claim>,
    /// Whether there is more to claim right now.
    pub more: bool,
    /// When something becomes due that is not claimed yet, as far as is known.
    pub next_at: Option<Timestamp>,
}

/// What an attempt led to, for [`settle`](crate::Store::settle).
#[derive(Debug, Clone)]
pub struct Attempted {
    /// The execution.
    pub id: ExecutionId,
    /// The attempt.
    pub attempt: Attempt,
}

/// The right to make one call, which a change of the job takes away as long as it is not used.
#[derive(Debug, Clone, Default)]
pub struct Ticket(Arc<AtomicU8>);

impl Ticket {
    const WAITING: u8 = 0;
    const BEGUN: u8 = 1;
    const CANCELLED: u8 = 2;

    /// A ticket that is neither used nor taken away.
    pub fn new() -> Self {
        Self::default()
    }

    /// Uses it: whether the call may be made. From now on nobody can take it away.
    pub fn begin(&self) -> bool {
        self.move_on(Self::BEGUN)
    }

    /// Takes it away: whether that was still possible.
    pub fn cancel(&self) -> bool {
        self.move_on(Self::CANCELLED)
    }

    /// Whether it was used.
    pub fn is_begun(&self) -> bool {
        self.0.load(Ordering::Acquire) == Self::BEGUN
    }

    fn move_on(&self, to: u8) -> bool {
        self.0.compare_exchange(Self::WAITING, to, Ordering::AcqRel, Ordering::Acquire).is_ok()
    }
}
