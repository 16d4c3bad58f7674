//! Copies of the whole store, made while it is in use.

use std::fs::{self, File};
use std::path::{Path, PathBuf};

use rusqlite::Connection;
use rusqlite::backup::{Backup, StepResult};

use super::fault::Outcome;
use crate::Error;

/// Copies what the store holds at this moment to a file beside it, and takes the file's name away.
///
/// All in one step, on a connection of its own: the writer goes on, and what it writes meanwhile does not make the copy
/// begin again.
pub(super) fn copy(db: &Connection, store: &Path) -> Outcome<File> {
    let to = beside(store);
    remove_unfinished(store);
    let copied = copy_all(db, &to).and_then(|()| {
        File::open(&to).map_err(|error| Error::Failed(format!("{}: {error}", to.display())).into())
    });
    remove_unfinished(store);
    copied
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

fn beside(store: &Path) -> PathBuf {
    PathBuf::from(format!("{}.copy", store.display()))
}

fn copy_all(db: &Connection, to: &Path) -> Outcome<()> {
    let mut copy = Connection::open(to)?;
    {
        let backup = Backup::new(db, &mut copy)?;
        match backup.step(-1)? {
            StepResult::Done => {}
            other => return Err(Error::Unavailable(format!("the copy had to stop: {other:?}")).into()),
        }
    }
    // One file, complete in itself.
    copy.pragma_update(None, "journal_mode", "delete")?;
    Ok(())
}
