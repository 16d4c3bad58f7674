//! Checkpoints: what the write-ahead log has is worked into the file, beside the writer.
//!
//! Left to itself, SQLite lets whoever commits do that, and all others wait behind him. Here a task of its own does it,
//! with a connection of its own, while the next groups are committed. What they write meanwhile stays in the log. Where
//! the writer never rests, the log would grow without end; so when it has grown large the writer works the little that is
//! left into the file himself (`connection::LONGEST_LOG`), and the log begins anew.

use std::sync::{Arc, Mutex, PoisonError, TryLockError};

use rusqlite::Connection;

use super::connection;
use super::fault::Outcome;
use super::writer::Shared;

/// Rows that are changed between two checkpoints: about a thousand pages, written one by one; fewer where many rows are
/// written together.
const ROWS: u64 = 1_500;

/// See the module.
#[derive(Debug, Default)]
pub(super) struct Checkpoints {
    /// Rows changed since the last one.
    changed: u64,
    /// Taken by the one that is under way.
    desk: Arc<Mutex<Option<Connection>>>,
}

impl Checkpoints {
    /// Notes what was committed; begins a checkpoint where that is much and none is under way.
    pub(super) fn committed(&mut self, rows: u64, shared: &Arc<Shared>) {
        self.changed += rows;
        let is_busy = matches!(self.desk.try_lock(), Err(TryLockError::WouldBlock));
        if self.changed < ROWS || is_busy {
            return;
        }
        self.changed = 0;
        let (desk, shared) = (Arc::clone(&self.desk), Arc::clone(shared));
        tokio::task::spawn_blocking(move || {
            let mut desk = desk.lock().unwrap_or_else(PoisonError::into_inner);
            if let Err(fault) = run(&mut desk, &shared) {
                // Nothing is lost by it: the writer tries, too, and tells when it cannot go on.
                tracing::debug!(error = %fault.tell(&shared.path), "a checkpoint failed");
                *desk = None;
            }
        });
    }
}

fn run(desk: &mut Option<Connection>, shared: &Shared) -> Outcome<()> {
    let db = match desk {
        Some(db) => db,
        none => none.insert(connection::checkpointer(&shared.path, shared.settings.durability)?),
    };
    // Waits for nobody, neither readers nor the writer.
    db.query_row("PRAGMA wal_checkpoint(PASSIVE)", [], |_| Ok(()))?;
    Ok(())
}
