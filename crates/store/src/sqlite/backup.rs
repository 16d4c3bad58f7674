//! Backups, made while the store is in use.

use std::fs::{self, File};
use std::path::{Path, PathBuf};

use rusqlite::Connection;
use rusqlite::backup::{Backup, StepResult};

use super::fault::Outcome;
use crate::Error;

/// Copies what the store holds at this moment to a new file.
///
/// All in one step, on a connection of its own: the writer goes on, and what it writes meanwhile does not make the copy
/// begin again. The file gets its name when it is complete, so that half a backup never looks like one.
pub(super) fn copy(db: &Connection, to: &Path) -> Outcome<()> {
    let refused =
        |what: &str, why: String| Error::Failed(format!("the backup {} {what}: {why}", to.display()));
    if to.exists() {
        return Err(refused("is not made", "there is such a file already; name another".to_owned()).into());
    }
    let partial = PathBuf::from(format!("{}.partial", to.display()));
    File::create(&partial).map_err(|error| refused("cannot be made", error.to_string()))?;
    let copied = copy_all(db, &partial).and_then(|()| {
        let named =
            File::open(&partial).and_then(|file| file.sync_all()).and_then(|()| fs::rename(&partial, to));
        named.map_err(|error| refused("cannot be finished", error.to_string()).into())
    });
    if copied.is_err() {
        // Only tidying up; the first error says what is wrong.
        let _ = fs::remove_file(&partial);
    }
    copied
}

fn copy_all(db: &Connection, to: &Path) -> Outcome<()> {
    let mut copy = Connection::open(to)?;
    {
        let backup = Backup::new(db, &mut copy)?;
        match backup.step(-1)? {
            StepResult::Done => {}
            other => return Err(Error::Unavailable(format!("the backup had to stop: {other:?}")).into()),
        }
    }
    // One file, complete in itself.
    copy.pragma_update(None, "journal_mode", "delete")?;
    Ok(())
}
