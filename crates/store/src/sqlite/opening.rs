//! An opening of the file, from the lock to the clean stop.
//!
//! Between the two the file may need its log: the row in `revisions` says so, and the witness. A clean stop works
//! everything into the file and notes its checksum.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rusqlite::config::DbConfig;
use rusqlite::{Connection, ErrorCode};

use super::connection::{self, Lock};
use super::examine::{self, Examined, check_opened, examine};
use super::fault::{Fault, Outcome};
use super::standing::Standing;
use super::witness::{Found, Sum, Told, Witness};
use super::{Durability, keys, migrations, wal};
use crate::seal::KeyId;
use crate::{Error, Result};

/// The most faults that are named; a file with more is no less broken.
const MOST_FAULTS: u32 = 10;

/// The file of a store that nobody else can open, found to be whole or not to be there yet.
#[derive(Debug)]
pub struct SqliteFile {
    pub(super) path: PathBuf,
    lock: Lock,
    examined: Examined,
}

impl SqliteFile {
    /// Takes a file, and refuses one of which something is missing. `keys` is where a server would have made its own keys:
    /// where they are, a store was.
    ///
    /// Where there is no store yet, this makes an empty one, so that no keys are ever there without it.
    pub fn take(path: impl Into<PathBuf>, keys: Option<&Path>) -> Result<Self> {
        let path = path.into();
        let lock = Lock::take(&path)?;
        let file = Self { examined: examine(&path, keys)?, path, lock };
        if file.examined.is_new {
            let made = connection::make(&file.path).and_then(|mut db| migrations::run(&mut db));
            made.map_err(|fault| fault.tell(&file.path))?;
        }
        Ok(file)
    }

    /// The same without patience, of a file that is there; `None` where a server has it.
    pub(super) fn try_take(path: &Path) -> Result<Option<Self>> {
        let Some(lock) = Lock::try_take(path)? else { return Ok(None) };
        Ok(Some(Self { examined: examine(path, None)?, path: path.to_owned(), lock }))
    }

    /// The keys without which it cannot be opened.
    pub fn keys(&self) -> Result<Vec<KeyId>> {
        keys::of_file(&self.path).map_err(|fault| fault.tell(&self.path))
    }

    /// Opens it to write, and brings its schema up to date.
    pub(super) fn open(self, durability: Durability) -> Outcome<(Connection, Opening)> {
        let Self { path, lock, examined } = self;
        let mut witness = Witness::of(&path);
        let file = File::open(&path).map_err(|error| unwritable(&path, &error))?;
        if examined.witness.told().is_none() {
            // One that is of something else would be believed after a crash.
            witness.remove().map_err(|error| unwritable(&path, &error))?;
        }
        if examined.witness == Found::Unreadable {
            tracing::warn!(file = %path.display(), "the witness of the store could not be read; it is made anew");
        }
        if let Some(told) = examined.witness.told() {
            // From here on the file may change.
            let opened = witness.swear(&Told { is_closed: false, file: None, ..told.clone() });
            opened.or_else(|_| witness.remove()).map_err(|error| unwritable(&path, &error))?;
        }
        let mut db = connection::writer(&path, durability)?;
        // Nothing that was found may be changed before it is found to be right.
        db.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true)?;
        let standing = Standing::read(&db)?;
        check_opened(&path, standing.as_ref(), &examined.witness)?;
        if !examined.is_as_left {
            check_pages(&db, &path)?;
        }
        db.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, false)?;
        if standing.is_some() {
            begin(&db)?;
        }
        migrations::run(&mut db)?;
        if standing.is_none() {
            begin(&db)?;
        }
        let told = Standing::read(&db)?.map(|now| Told {
            opening: now.opening,
            commits: now.commits,
            is_closed: false,
            file: None,
        });
        if let Some(told) = &told
            && let Err(error) = witness.swear(told)
        {
            tracing::warn!(%error, "the witness of the store cannot be written");
        }
        let opening = Opening {
            path,
            durability,
            file,
            told: Mutex::new(told.map(|told| (told, witness))),
            is_summed: AtomicBool::new(false),
            _lock: lock,
        };
        Ok((db, opening))
    }
}

/// Whether a store is whole, as far as can be known without changing anything; where a server uses it, nothing is.
pub fn examine_unused(path: &Path, keys: Option<&Path>) -> Result<()> {
    if connection::is_held(path) {
        return Ok(());
    }
    match examine(path, keys) {
        // A server has come meanwhile.
        Err(_) if connection::is_held(path) => Ok(()),
        examined => examined.map(drop),
    }
}

/// Up to this size everything in a file is compared with everything else after a crash, which takes about ten seconds for a
/// gigabyte, and jobs wait for it.
const COMPARED: u64 = 256 << 20;

/// Up to this size the pages are looked through after a crash, which is about twice as fast; and after a clean stop the
/// checksum is taken.
const LOOKED_THROUGH: u64 = 1 << 30;

/// Whether the pages of a file and what they hold fit together.
fn check_pages(db: &Connection, path: &Path) -> Outcome<()> {
    let length = std::fs::metadata(path).map_or(0, |file| file.len());
    if length > LOOKED_THROUGH {
        return Ok(());
    }
    let check = if length > COMPARED { "quick_check" } else { "integrity_check" };
    let faults = faults(db, check)?;
    if faults.is_empty() {
        return Ok(());
    }
    let faults = faults.join("; ");
    Err(Error::Corrupt(format!("{}: the file is damaged: {faults}. Restore a backup", path.display())).into())
}

/// What SQLite finds wrong with a file.
pub(super) fn faults(db: &Connection, check: &str) -> Outcome<Vec<String>> {
    let mut statement = db.prepare(&format!("PRAGMA {check}({MOST_FAULTS})"))?;
    let lines = statement.query_map([], |row| row.get::<_, String>(0))?;
    let mut faults: Vec<String> = lines.collect::<rusqlite::Result<_>>()?;
    faults.retain(|line| line != "ok");
    Ok(faults)
}

/// Writes that the file is open. A store can be read on a disk that is full; then it goes by the name that it had.
fn begin(db: &Connection) -> Outcome<()> {
    match Standing::open(db) {
        Err(Fault::Sqlite(error)) if error.sqlite_error_code() == Some(ErrorCode::DiskFull) => Ok(()),
        begun => begun,
    }
}

fn unwritable(path: &Path, error: &std::io::Error) -> Fault {
    let error = format!("{}: it cannot be written ({error})", super::witness::beside(path).display());
    Fault::Told(Error::Unavailable(format!("{error}. Make the folder writable for this user")))
}

/// The largest file of which the sum is taken while it is used. It is read for that, which for this one takes about 0.1 s.
const LARGEST: u64 = 256 << 20;

/// Bytes of log until which the sum of the file is kept. Before there are so many that SQLite would work them in by itself.
const LOG_BESIDE_SUM: u64 = 8_000 * 4_096;

/// A file that is open.
#[derive(Debug)]
pub(super) struct Opening {
    path: PathBuf,
    durability: Durability,
    /// Kept open: SQLite's own locks on a file end when the process closes it anywhere.
    file: File,
    told: Mutex<Option<(Told, Witness)>>,
    /// Whether the witness knows the file, so that nothing may be worked into it unseen.
    is_summed: AtomicBool,
    /// Keeps others away as long as any part of the store is in use.
    _lock: Lock,
}

impl Opening {
    /// Works everything into the file, which the witness knows from then on. For the end of a start, before anything else
    /// uses the file.
    pub(super) fn settle(&self, db: &Connection) {
        let emptied = connection::cut_log(db);
        if let Err(error) = &emptied {
            tracing::warn!(%error, "the log could not be worked into the file; it is tried again");
            return;
        }
        self.swear(|told| told.file = self.sum(told.commits, LARGEST));
    }

    /// Has something said, and brings it to the disk. Commits do not wait for that.
    fn swear(&self, change: impl FnOnce(&mut Told)) {
        let said = match &mut *self.told() {
            Some((told, witness)) => {
                change(told);
                witness.say(told).map(Arc::clone)
            }
            None => return,
        };
        let sworn = said.and_then(|file| file.sync_all());
        let Some((told, witness)) = &mut *self.told() else { return };
        if let Err(error) = sworn {
            tracing::warn!(%error, "the witness of the store cannot be written");
            // No witness is better than one who is wrong.
            let _ = witness.remove();
        }
        self.is_summed.store(told.file.is_some() && !told.is_closed, Ordering::Release);
    }

    fn told(&self) -> MutexGuard<'_, Option<(Told, Witness)>> {
        self.told.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn sum(&self, commits: i64, largest: u64) -> Option<Sum> {
        if self.file.metadata().ok()?.len() > largest {
            return None;
        }
        let (length, checksum) = wal::sum(&self.file).ok()?;
        Some(Sum { commits, length, checksum })
    }

    /// Notes how many commits there are, before anybody is answered.
    pub(super) fn committed(&self, commits: i64) {
        // Where commits do not wait for the disk, the witness could be ahead of them after a power failure.
        if self.durability == Durability::ProcessDeath {
            return;
        }
        if let Some((told, witness)) = &mut *self.told() {
            told.commits = commits;
            // It may be behind the store: where it cannot be written, less is found out later.
            let _ = witness.say(told);
        }
    }

    /// Whether SQLite must not work anything into the file by itself.
    pub(super) fn keeps_log(&self) -> bool {
        self.is_summed.load(Ordering::Acquire)
    }

    /// Gives the sum up before the log is so long that SQLite should work it in.
    pub(super) fn look_at_log(&self) {
        if self.keeps_log() && self.log_length() > LOG_BESIDE_SUM {
            self.forget_sum();
        }
    }

    /// Takes back what the witness says of the file, which is about to change.
    pub(super) fn forget_sum(&self) {
        if self.keeps_log() {
            self.swear(|told| told.file = None);
        }
    }

    /// Works everything into the file, if nobody reads in the log or writes to it; then the witness knows the file.
    pub(super) fn empty_log(&self, db: &Connection) -> rusqlite::Result<()> {
        self.forget_sum();
        let Some(before) = self.told().as_ref().map(|(told, _)| told.commits) else { return Ok(()) };
        connection::cut_log(db)?;
        // What is committed from here on stays in the log.
        self.is_summed.store(true, Ordering::Release);
        let file = self.sum(before, LARGEST);
        self.swear(|told| {
            // A commit may have come before the log was empty, or so much since that it was worked in.
            let is_right = self.keeps_log() && told.commits == before && self.log_length() <= LOG_BESIDE_SUM;
            told.file = file.filter(|_| is_right);
        });
        Ok(())
    }

    fn log_length(&self) -> u64 {
        std::fs::metadata(examine::log_of(&self.path)).map_or(0, |log| log.len())
    }

    /// Works everything into the file, closes the last connection to it, and has its checksum witnessed.
    pub(super) fn close(&self, db: Connection) -> Outcome<()> {
        self.forget_sum();
        connection::work_in_by_itself(&db, true)?;
        Standing::close(&db)?;
        let standing = Standing::read(&db)?;
        connection::cut_log(&db)?;
        db.close().map_err(|(_, error)| error)?;
        if self.log_length() > 0 {
            return Err(Error::Unavailable(
                "another program uses the file, so that its log stays".to_owned(),
            )
            .into());
        }
        let mut told = self.told();
        if let (Some(standing), Some((told, witness))) = (standing, &mut *told) {
            let Standing { opening, commits, .. } = standing;
            let file = self.sum(commits, LOOKED_THROUGH);
            *told = Told { opening, commits, is_closed: true, file };
            witness.swear(told).map_err(|error| unwritable(&self.path, &error))?;
        }
        Ok(())
    }
}
