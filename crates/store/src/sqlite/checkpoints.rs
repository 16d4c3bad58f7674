//! Checkpoints: what the write-ahead log has is worked into the file, beside the writer and a while later.
//!
//! Left to itself, SQLite lets whoever commits do that, and all others wait behind him. Here a task of its own does it,
//! with a connection of its own, while the next groups are committed. What they write meanwhile stays in the log. It waits
//! a little before it begins: thousands may be due together and have better use for the machine, and a page that many of
//! them change goes into the file once. Where the writer never rests, the log would grow without end; so when it has grown
//! large the writer works the little that is left into the file himself (`connection::LONGEST_LOG`), and the log begins
//! anew.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError, TryLockError};
use std::time::Duration;

use rusqlite::Connection;
use tokio::task::spawn_blocking;
use tokio::time::sleep;

use super::connection;
use super::fault::Outcome;
use super::writer::Shared;

/// Rows that are worth a checkpoint: about a thousand pages, written one by one; fewer where many rows are written
/// together.
const ROWS: u64 = 1_500;

/// So many rows are not put off: about half of the longest log, written together.
const MANY_ROWS: u64 = 200_000;

/// How long a checkpoint is put off.
const PUT_OFF: Duration = Duration::from_secs(1);

/// See the module.
#[derive(Debug, Default)]
pub(super) struct Checkpoints {
    /// Rows changed since one was begun or put off.
    changed: u64,
    desk: Arc<Desk>,
}

#[derive(Debug, Default)]
struct Desk {
    /// Taken by the checkpoint that is under way.
    db: Mutex<Option<Connection>>,
    /// Whether one is put off.
    is_due: AtomicBool,
}

impl Checkpoints {
    /// Notes what was committed; begins a checkpoint, or puts one off, where that is much and none is under way.
    pub(super) fn committed(&mut self, rows: u64, shared: &Arc<Shared>) {
        self.changed += rows;
        let at_once = self.changed >= MANY_ROWS;
        if self.changed < ROWS || self.desk.is_busy() || (!at_once && self.desk.is_due()) {
            return;
        }
        self.changed = 0;
        if at_once {
            let (desk, shared) = (Arc::clone(&self.desk), Arc::clone(shared));
            spawn_blocking(move || desk.work(&shared));
            return;
        }
        self.desk.is_due.store(true, Ordering::Relaxed);
        // It keeps no store open that nobody uses any more: closing the last connection does the same.
        let (desk, shared) = (Arc::downgrade(&self.desk), Arc::downgrade(shared));
        tokio::spawn(async move {
            sleep(PUT_OFF).await;
            if let (Some(desk), Some(shared)) = (desk.upgrade(), shared.upgrade()) {
                desk.is_due.store(false, Ordering::Relaxed);
                spawn_blocking(move || desk.work(&shared));
            }
        });
    }
}

impl Desk {
    fn is_due(&self) -> bool {
        self.is_due.load(Ordering::Relaxed)
    }

    fn is_busy(&self) -> bool {
        matches!(self.db.try_lock(), Err(TryLockError::WouldBlock))
    }

    fn work(&self, shared: &Shared) {
        let mut db = self.db.lock().unwrap_or_else(PoisonError::into_inner);
        if let Err(fault) = run(&mut db, shared) {
            // Nothing is lost by it: the writer tries, too, and tells when it cannot go on.
            tracing::debug!(error = %fault.tell(&shared.path), "a checkpoint failed");
            *db = None;
        }
    }
}

fn run(db: &mut Option<Connection>, shared: &Shared) -> Outcome<()> {
    let db = match db {
        Some(db) => db,
        none => none.insert(connection::checkpointer(&shared.path, shared.settings.durability)?),
    };
    // Waits for nobody, neither readers nor the writer.
    db.query_row("PRAGMA wal_checkpoint(PASSIVE)", [], |_| Ok(()))?;
    Ok(())
}
