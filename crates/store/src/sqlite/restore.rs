//! Puts a copy of a store in the place of what a data folder has.

use std::fs::{self, DirBuilder, File};
use std::io;
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};

use model::Timestamp;

use super::connection::{self, Lock};
use super::fault::Outcome;
use super::standing::Standing;
use super::{examine, keys, migrations, moves, opening, snapshot, witness};
use crate::seal::KeyId;
use crate::{Error, Result};

/// A store that was restored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Restored {
    /// The instant that a backup is of; `None` where it is what was left of a store.
    pub at: Option<Timestamp>,
    /// How many jobs there are.
    pub jobs: u64,
    /// The keys that it needs.
    pub keys: Vec<KeyId>,
    /// Where the files are that were there before, if there were any.
    pub aside: Option<PathBuf>,
}

/// Copies a store to where a server looks for it: from a backup, or from files of which something is missing, as far as
/// they can be read. What was there is moved aside.
pub fn restore(from: &Path, store: &Path, now: Timestamp) -> Result<Restored> {
    match fs::metadata(from) {
        Ok(file) if !file.is_file() => {
            return Err(Error::Failed(format!("{}: this is no file", from.display())));
        }
        // SQLite would take it for a new store, and remove its log.
        Ok(file) if file.len() == 0 => return Err(Error::Failed(format!("{}: it is empty", from.display()))),
        Ok(_) => {}
        Err(error) => return Err(Error::Failed(format!("{}: it cannot be read ({error})", from.display()))),
    }
    // Before it is ours, which is the same when it is restored in its place.
    if connection::is_held(from) && fs::canonicalize(from).ok() != fs::canonicalize(store).ok() {
        return Err(Error::Unavailable(format!(
            "{}: a server is using it. `punctual backup` copies the store of a running server",
            from.display()
        )));
    }
    let _lock = Lock::take(store)?;
    let copy = snapshot::beside(store);
    snapshot::remove_unfinished(store);
    let put = copy_whole(from, &copy).map_err(|fault| fault.tell(from)).and_then(|mut restored| {
        let failed = |error: io::Error| {
            Error::Unavailable(format!("{}: it cannot be put there ({error})", store.display()))
        };
        File::open(&copy).and_then(|file| file.sync_all()).map_err(failed)?;
        restored.aside = move_aside(store, now).map_err(failed)?;
        fs::rename(&copy, store).map_err(failed)?;
        File::open(connection::folder_of(store)).and_then(|folder| folder.sync_all()).map_err(failed)?;
        Ok(restored)
    });
    snapshot::remove_unfinished(store);
    put
}

fn copy_whole(from: &Path, to: &Path) -> Outcome<Restored> {
    let db = connection::reader(from)?;
    migrations::check(&db)?;
    if migrations::version(&db)? == 0 {
        return Err(Error::Failed(format!("{}: there is no store in it", from.display())).into());
    }
    let mut copy = snapshot::copy_to(&db, to)?;
    let faults = opening::faults(&copy, "integrity_check")?;
    if !faults.is_empty() {
        let faults = faults.join("; ");
        return Err(Error::Corrupt(format!("{}: the file is damaged: {faults}", from.display())).into());
    }
    migrations::run(&mut copy)?;
    Standing::part(&copy)?;
    Ok(Restored {
        at: moves::copied_at(&copy)?,
        jobs: copy.query_row("SELECT count(*) FROM jobs WHERE deleted_at IS NULL", [], |row| row.get(0))?,
        keys: keys::proofs(&copy)?.into_keys().collect(),
        aside: None,
    })
}

/// Moves the files of a store into a folder beside it.
fn move_aside(store: &Path, now: Timestamp) -> io::Result<Option<PathBuf>> {
    let index = PathBuf::from(format!("{}-shm", store.display()));
    let files = [store.to_owned(), examine::log_of(store), index, witness::beside(store)];
    let there: Vec<&PathBuf> = files.iter().filter(|file| file.exists()).collect();
    if there.is_empty() {
        return Ok(None);
    }
    let aside = connection::folder_of(store).join(format!("before-{}", now.strftime("%Y%m%dT%H%M%SZ")));
    DirBuilder::new().recursive(true).mode(0o700).create(&aside)?;
    for file in there {
        fs::rename(file, aside.join(file.file_name().unwrap_or_default()))?;
    }
    Ok(Some(aside))
}
