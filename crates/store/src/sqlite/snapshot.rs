//! Copies of the whole store, made while it is in use.
//!
//! A copy says of when it is, to the commit. The instant is read where nothing can be committed: by the writer, between two
//! groups of changes. There a connection begins to read, and goes on seeing the store as it was then, while the writer
//! goes on and the copy is made.

use std::fs::{self, File};
use std::path::{Path, PathBuf};

use model::{Clock, Timestamp};
use rusqlite::backup::{Backup, StepResult};
use rusqlite::{Connection, params};

use super::connection;
use super::fault::Outcome;
use super::standing::Standing;
use crate::Error;
use crate::codec::{instant, ticks};

/// The store as it was at an instant.
pub(super) struct Moment {
    /// All that was committed before is there, and nothing else.
    pub(super) at: Timestamp,
    /// Has begun to read.
    db: Connection,
}

impl Moment {
    /// Takes hold of what is committed now. For the writer, before it commits anything else.
    pub(super) fn hold(store: &Path, clock: &dyn Clock) -> Outcome<Self> {
        let db = connection::reader(store)?;
        db.execute_batch("BEGIN")?;
        // A transaction sees what is committed when it reads for the first time.
        db.query_row("SELECT last FROM revisions", [], |_| Ok(()))?;
        // As the copy can write it.
        let at = instant(ticks(clock.now()));
        Ok(Self { at, db })
    }

    /// Copies it to a file beside the store, and takes the file's name away.
    ///
    /// All in one step: what the writer commits meanwhile does not make the copy begin again.
    pub(super) fn copy(&self, store: &Path) -> Outcome<File> {
        let to = beside(store);
        remove_unfinished(store);
        let copied = self.copy_all(&to).and_then(|()| {
            File::open(&to).map_err(|error| Error::Failed(format!("{}: {error}", to.display())).into())
        });
        remove_unfinished(store);
        copied
    }

    fn copy_all(&self, to: &Path) -> Outcome<()> {
        let copy = copy_to(&self.db, to)?;
        copy.execute("UPDATE moves SET copied_at = ?1", params![ticks(self.at)])?;
        Standing::part(&copy)
    }
}

/// Copies everything that a connection sees to a file that is complete in itself.
pub(super) fn copy_to(db: &Connection, to: &Path) -> Outcome<Connection> {
    let mut copy = connection::make(to)?;
    {
        let backup = Backup::new(db, &mut copy)?;
        match backup.step(-1)? {
            StepResult::Done => {}
            other => return Err(Error::Unavailable(format!("the copy had to stop: {other:?}")).into()),
        }
    }
    copy.pragma_update(None, "journal_mode", "delete")?;
    Ok(copy)
}

/// Removes what a process that died in the middle has left.
pub(super) fn remove_unfinished(store: &Path) {
    let partial = beside(store);
    let journal = PathBuf::from(format!("{}-journal", partial.display()));
    for file in [partial, journal] {
        // Mostly there is none; and where it cannot be removed, the next copy says why.
        let _ = fs::remove_file(file);
    }
}

/// Where a copy is made.
pub(super) fn beside(store: &Path) -> PathBuf {
    PathBuf::from(format!("{}.copy", store.display()))
}
