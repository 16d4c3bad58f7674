//! What happens now: attempts that begin and end, and changes that are made; for whoever watches.

use std::sync::Arc;
use std::time::Duration;

use engine::{Numbers, Watched};
use store::Store;
use tokio::sync::{Mutex, broadcast};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::shares::{Place, Shares, Taken};

/// How many changes are kept for those who listen slowly.
const KEPT: usize = 1024;

/// How many may watch at a time: each costs a connection and a little memory.
const MOST_WATCHERS: usize = 100;

/// How long a trial of the store holds: probes come from everywhere, and each would be a commit.
const TRY_HOLDS: Duration = Duration::from_secs(1);

/// What was done to a resource.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ChangeKind {
    /// It was made or changed.
    Written,
    /// It is gone, with all that is in it.
    Deleted,
    /// It was switched on or off.
    Switched,
}

impl ChangeKind {
    /// As in the API.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Written => "written",
            Self::Deleted => "deleted",
            Self::Switched => "switched",
        }
    }
}

/// A change that was made.
#[derive(Debug, Clone)]
pub struct Change {
    /// The resource's id.
    pub id: String,
    /// What was done to it.
    pub kind: ChangeKind,
}

/// See the module.
#[derive(Debug)]
pub struct Live {
    /// The attempts of this moment, and what was counted; the engine is started with it.
    pub watched: Watched,
    changes: broadcast::Sender<Change>,
    watchers: Arc<Shares>,
    /// When the store was tried last, and what came of it.
    tried: Mutex<Option<(Instant, store::Result<()>)>>,
    stop: CancellationToken,
}

impl Default for Live {
    fn default() -> Self {
        Self {
            watched: Watched::default(),
            changes: broadcast::Sender::new(KEPT),
            watchers: Shares::new(MOST_WATCHERS),
            tried: Mutex::default(),
            stop: CancellationToken::new(),
        }
    }
}

impl Live {
    /// With so many collections that are counted by themselves.
    pub fn counting(collections: usize) -> Self {
        let numbers = Arc::new(Numbers::new(collections));
        Self { watched: Watched { numbers, ..Watched::default() }, ..Self::default() }
    }

    /// Tells of a change; `id` is asked for only where somebody listens.
    pub fn tell(&self, kind: ChangeKind, id: impl FnOnce() -> String) {
        if self.changes.receiver_count() > 0 {
            // Whoever listened may be gone by now.
            let _ = self.changes.send(Change { id: id(), kind });
        }
    }

    /// All changes from now on.
    pub fn changes(&self) -> broadcast::Receiver<Change> {
        self.changes.subscribe()
    }

    /// Takes a place among those who watch, in a caller's name where callers have names.
    pub(crate) fn watch(&self, who: Option<&str>) -> Result<Place, Taken> {
        self.watchers.take(who)
    }

    /// Whether a store takes changes. It is tried by a commit, so whoever asks again within a second hears what came of that.
    pub async fn try_store(&self, store: &dyn Store) -> store::Result<()> {
        // Held meanwhile: of many who ask at once, one tries.
        let mut tried = self.tried.lock().await;
        match &*tried {
            Some((at, outcome)) if at.elapsed() < TRY_HOLDS => outcome.clone(),
            _ => {
                let outcome = store.check().await;
                *tried = Some((Instant::now(), outcome.clone()));
                outcome
            }
        }
    }

    /// Sends all who watch away: the process ends.
    pub fn stop(&self) {
        self.stop.cancel();
    }

    /// Whether the process ends.
    pub fn is_stopping(&self) -> bool {
        self.stop.is_cancelled()
    }

    /// When those who watch have to go.
    pub fn stopped(&self) -> CancellationToken {
        self.stop.clone()
    }
}
