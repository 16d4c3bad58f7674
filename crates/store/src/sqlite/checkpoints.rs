//! Checkpoints: what the write-ahead log has is worked into the file, beside the writer and a while later.
//!
//! Left to itself, SQLite lets whoever commits do that, and all others wait behind him. Here a task of its own does it,
//! with a connection of its own, while the next groups are committed. What they write meanwhile stays in the log. It waits
//! a little before it begins: thousands may be due together and have better use for the machine, and a page that many of
//! them change goes into the file once. Where the writer never rests, the log would grow without end; so when it has grown
//! large the writer works the little that is left into the file himself (`connection::LONGEST_LOG`), and the log begins
//! anew.
//!
//! A store in which little happens would stay in its log for ever. So some minutes after a commit everything is worked in
//! and the log is emptied: in a second in which nothing is committed, because a commit would have to wait for that. A
//! store that has no such second empties its log by itself.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError, TryLockError};
use std::time::Duration;

use rusqlite::Connection;
use tokio::task::spawn_blocking;
use tokio::time::sleep;

use super::fault::Outcome;
use super::writer::Shared;
use super::{Durability, connection};

/// Rows that are worth a checkpoint: about a thousand pages, written one by one; fewer where many rows are written
/// together.
const ROWS: u64 = 1_500;

/// So many rows are not put off: about half of the longest log, written together.
const MANY_ROWS: u64 = 200_000;

/// How long a checkpoint is put off.
const PUT_OFF: Duration = Duration::from_secs(1);

/// How long after a commit the log is emptied. Not a whole minute: at those many jobs are due.
const EMPTIED_AFTER: Duration = Duration::from_secs(3 * 60 + 7);

/// For how long nothing may have been committed then, and how often that is tried.
const QUIET: Duration = Duration::from_secs(1);
const TRIES: u32 = 60;

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
    /// Whether the log is going to be emptied.
    is_to_empty: AtomicBool,
    /// Counts commits.
    commits: AtomicU64,
}

impl Checkpoints {
    /// Notes what was committed; begins a checkpoint, or puts one off, where that is much and none is under way.
    pub(super) fn committed(&mut self, rows: u64, shared: &Arc<Shared>) {
        self.changed += rows;
        self.desk.commits.fetch_add(1, Ordering::Relaxed);
        if rows > 0 {
            self.empty_later(shared);
        }
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

    /// Has the log emptied in some minutes.
    fn empty_later(&self, shared: &Arc<Shared>) {
        // Where commits do not wait for the disk, nobody minds where they are.
        let is_wanted = shared.settings.durability == Durability::PowerFailure;
        if !is_wanted || self.desk.is_to_empty.swap(true, Ordering::Relaxed) {
            return;
        }
        let (desk, shared) = (Arc::downgrade(&self.desk), Arc::downgrade(shared));
        tokio::spawn(async move {
            sleep(EMPTIED_AFTER).await;
            for _ in 0..TRIES {
                let Some(before) = desk.upgrade().map(|desk| desk.commits()) else { return };
                sleep(QUIET).await;
                let (Some(desk), Some(shared)) = (desk.upgrade(), shared.upgrade()) else { return };
                if desk.commits() == before {
                    desk.is_to_empty.store(false, Ordering::Relaxed);
                    spawn_blocking(move || desk.empty(&shared));
                    return;
                }
            }
            if let Some(desk) = desk.upgrade() {
                desk.is_to_empty.store(false, Ordering::Relaxed);
            }
        });
    }

    /// Closes the connection of checkpoints, once none is under way.
    pub(super) fn close(&self) {
        *self.desk.db.lock().unwrap_or_else(PoisonError::into_inner) = None;
    }
}

impl Desk {
    fn is_due(&self) -> bool {
        self.is_due.load(Ordering::Relaxed)
    }

    fn is_busy(&self) -> bool {
        matches!(self.db.try_lock(), Err(TryLockError::WouldBlock))
    }

    fn commits(&self) -> u64 {
        self.commits.load(Ordering::Relaxed)
    }

    /// Works everything into the file and empties the log, unless somebody reads there.
    fn empty(&self, shared: &Shared) {
        self.work(shared);
        let db = self.db.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(db) = &*db
            && let Err(error) = shared.opening.empty_log(db)
        {
            tracing::debug!(%error, "the log is not emptied; it is tried again after the next commit");
        }
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
    shared.opening.forget_sum();
    // Waits for nobody, neither readers nor the writer.
    db.query_row("PRAGMA wal_checkpoint(PASSIVE)", [], |_| Ok(()))?;
    Ok(())
}
