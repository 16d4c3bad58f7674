//! Claims: executions handed out to be carried out, and what comes back.

use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};

use model::{Attempt, CollectionPath, Definition, Execution, Fate, Timestamp};

use crate::lease::Lease;

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
    /// The attempt, which whoever settles keeps too: a store that is away is asked again.
    pub attempt: Arc<Attempt>,
    /// The ticket that it was begun with: it tells by which right.
    pub ticket: Ticket,
    /// Whether the call was not made: it waited for room until its job did not want it any more. The attempt says when.
    pub too_late: bool,
}

/// What an attempt led to, as it is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Settlement {
    /// The occurrence is done with.
    Done(Fate),
    /// Another attempt follows, or the error action.
    Again,
    /// Nothing: it was settled before, or its lease was lost and its successor counts.
    Nothing,
}

/// The right to make one call, which a change of the job takes away as long as it is not used.
///
/// Where claims are held under a lease, the right ends with the lease: from then on another node may hold it.
#[derive(Debug, Clone, Default)]
pub struct Ticket(Arc<Right>);

#[derive(Debug, Default)]
struct Right {
    state: AtomicU8,
    lease: Option<Arc<Lease>>,
}

impl Ticket {
    const WAITING: u8 = 0;
    const BEGUN: u8 = 1;
    const CANCELLED: u8 = 2;

    /// A ticket that is neither used nor taken away, and does not end.
    pub fn new() -> Self {
        Self::default()
    }

    /// A ticket that ends with a lease.
    pub(crate) fn under(lease: Arc<Lease>) -> Self {
        Self(Arc::new(Right { state: AtomicU8::default(), lease: Some(lease) }))
    }

    /// Uses it: whether the call may be made. From now on nobody can take it away.
    pub fn begin(&self) -> bool {
        if self.0.lease.as_ref().is_some_and(|lease| !lease.holds()) {
            self.cancel();
            return false;
        }
        self.move_on(Self::BEGUN)
    }

    /// Takes it away: whether that was still possible.
    pub fn cancel(&self) -> bool {
        self.move_on(Self::CANCELLED)
    }

    /// Whether it was used.
    pub fn is_begun(&self) -> bool {
        self.state() == Self::BEGUN
    }

    /// Whether it was taken away, or ended unused.
    pub(crate) fn is_cancelled(&self) -> bool {
        self.state() == Self::CANCELLED
    }

    /// Whether both are the same right, not only equal ones.
    pub(crate) fn is(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }

    /// The epoch of its lease, where there is one.
    pub(crate) fn epoch(&self) -> Option<i64> {
        self.0.lease.as_ref().map(|lease| lease.epoch())
    }

    fn state(&self) -> u8 {
        self.0.state.load(Ordering::Acquire)
    }

    fn move_on(&self, to: u8) -> bool {
        self.0.state.compare_exchange(Self::WAITING, to, Ordering::AcqRel, Ordering::Acquire).is_ok()
    }
}
