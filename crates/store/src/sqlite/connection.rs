//! Opening the file: who may, and with which settings.

use std::fs::{File, OpenOptions, TryLockError};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use rusqlite::config::DbConfig;
use rusqlite::{Connection, OpenFlags};

use super::fault::Outcome;
use super::{Durability, migrations};
use crate::Error;

/// How long SQLite waits for a lock that another program holds, such as a copy being made with `sqlite3`.
pub(super) const BUSY: Duration = Duration::from_secs(5);

/// Kibibytes of pages that the writer keeps. Enough for the inner pages of every index with a million jobs.
const WRITER_CACHE: i64 = 32 * 1024;

/// Kibibytes of pages that each reader keeps; what it lacks the system's own cache has.
const READER_CACHE: i64 = 4 * 1024;

/// Pages in the write-ahead log after which the writer himself works into the file what `checkpoints` has left, which
/// is little. Everybody waits for that, so it shall be seldom; but reading gets slower with the length of the log.
const LONGEST_LOG: i64 = 16_000;

/// Bytes to which the write-ahead log is cut after it grew, for instance during a backup.
const LOG_LIMIT: i64 = 64 * 1024 * 1024;

/// More than there are different statements.
const STATEMENTS: usize = 128;

/// How often an occupied lock is tried again: a server that is being replaced may still be on its way out.
const LOCK_TRIES: u32 = 20;
const LOCK_PAUSE: Duration = Duration::from_millis(50);

/// Keeps a second server away from the file as long as it lives. The system lets go of it when the process dies.
///
/// Locked are the folder, which cannot be deleted while there is something in it, and a file in it, which servers of
/// earlier versions look at. It is not the database itself, because SQLite's exclusive mode would keep our own readers
/// away too.
#[derive(Debug)]
pub(super) struct Lock {
    _folder: File,
    _file: File,
}

impl Lock {
    /// Takes the lock of a database.
    pub(super) fn take(database: &Path) -> crate::Result<Self> {
        for _ in 0..LOCK_TRIES {
            if let Some(lock) = Self::try_take(database)? {
                return Ok(lock);
            }
            std::thread::sleep(LOCK_PAUSE);
        }
        Err(Error::Unavailable(format!(
            "{}: another server is using it. Stop that one, or give this one a data folder of its own",
            database.display()
        )))
    }

    /// The same without patience: `None` where a server has it.
    pub(super) fn try_take(database: &Path) -> crate::Result<Option<Self>> {
        let (folder, path) = (folder_of(database), lock_of(database));
        let locked_folder = File::open(folder).map_err(|error| {
            Error::Unavailable(format!(
                "{}: the folder cannot be opened ({error}). It must exist and be readable for this user",
                folder.display()
            ))
        })?;
        // The file first: where it cannot be made, that is what has to be said.
        let opened =
            OpenOptions::new().read(true).write(true).create(true).truncate(false).mode(PRIVATE).open(&path);
        let file = opened.map_err(|error| {
            Error::Unavailable(format!(
                "{}: it cannot be made ({error}). The folder must exist and be writable for this user",
                path.display()
            ))
        })?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => return Ok(None),
            Err(TryLockError::Error(error)) => {
                return Err(Error::Unavailable(format!("{}: it cannot be locked ({error})", path.display())));
            }
        }
        match locked_folder.try_lock() {
            Err(TryLockError::WouldBlock) => return Ok(None),
            // Some network drives lock files only.
            Err(TryLockError::Error(error)) => {
                tracing::debug!(folder = %folder.display(), %error, "the folder cannot be locked");
            }
            Ok(()) => {}
        }
        Ok(Some(Self { _folder: locked_folder, _file: file }))
    }
}

/// Whether a server has a database; nothing is made or kept to find out.
pub(super) fn is_held(database: &Path) -> bool {
    [folder_of(database).to_owned(), lock_of(database)].iter().any(|path| {
        File::open(path).is_ok_and(|file| matches!(file.try_lock_shared(), Err(TryLockError::WouldBlock)))
    })
}

fn lock_of(database: &Path) -> PathBuf {
    PathBuf::from(format!("{}.lock", database.display()))
}

/// The folder that a database is in.
pub(super) fn folder_of(database: &Path) -> &Path {
    database.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// So many bytes a disk has left, or it is full: a change may need as much at once.
const ROOM: u64 = 512 * 1024;

/// Whether there is room for changes.
pub(super) fn check_room(database: &Path) -> crate::Result<()> {
    // Where the system does not say, a commit will.
    let Ok(disk) = rustix::fs::statvfs(folder_of(database)) else { return Ok(()) };
    let free = disk.f_bavail.saturating_mul(disk.f_frsize);
    if free >= ROOM {
        return Ok(());
    }
    Err(Error::Full(format!(
        "{}: no room is left on the disk ({} KiB are free). Nothing that was accepted is lost; free some space, and it goes \
         on by itself",
        database.display(),
        free / 1024
    )))
}

/// What we make is for its owner alone. SQLite gives the log the mode of the file.
const PRIVATE: u32 = 0o600;

/// Makes a database for its owner alone, where there is none, and opens it.
pub(super) fn make(path: &Path) -> Outcome<Connection> {
    let made = OpenOptions::new().write(true).create(true).truncate(false).mode(PRIVATE).open(path);
    match made {
        // What keeps us from making it keeps SQLite too, and it says that in the words of all others.
        Ok(_) | Err(_) => Ok(Connection::open(path)?),
    }
}

/// Opens the one connection that writes. The schema is as it is.
pub(super) fn writer(path: &Path, durability: Durability) -> Outcome<Connection> {
    let db = Connection::open(path)?;
    db.busy_timeout(BUSY)?;
    // Before anything is changed: is this ours, and do we understand it?
    migrations::check(&db)?;
    db.pragma_update(None, "journal_mode", "wal")?;
    sync(&db, durability)?;
    db.pragma_update(None, "foreign_keys", true)?;
    db.pragma_update(None, "cache_size", -WRITER_CACHE)?;
    db.pragma_update(None, "wal_autocheckpoint", LONGEST_LOG)?;
    db.pragma_update(None, "journal_size_limit", LOG_LIMIT)?;
    // Deleted secrets shall not linger in free pages.
    db.pragma_update(None, "secure_delete", "fast")?;
    keep_plans(&db)?;
    Ok(db)
}

/// Works the log into the file and leaves an empty one. It fails where others use the log for longer than the connection
/// waits.
pub(super) fn cut_log(db: &Connection) -> rusqlite::Result<()> {
    db.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |row| match row.get::<_, i64>(0)? {
        0 => Ok(()),
        _ => Err(rusqlite::Error::SqliteFailure(
            rusqlite::ffi::Error::new(rusqlite::ffi::SQLITE_BUSY),
            Some("another program reads the file".to_owned()),
        )),
    })
}

/// Says whether the writer works a log that has grown long into the file, and what is left when it is closed.
pub(super) fn work_in_by_itself(db: &Connection, does: bool) -> Outcome<()> {
    db.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, !does)?;
    let pages = if does { LONGEST_LOG } else { 0 };
    // It answers with what it is set to.
    Ok(db.pragma_update_and_check(None, "wal_autocheckpoint", pages, |_| Ok(()))?)
}

/// Opens the connection that works the write-ahead log into the file, and does nothing else.
pub(super) fn checkpointer(path: &Path, durability: Durability) -> Outcome<Connection> {
    let db = Connection::open_with_flags(path, OpenFlags::SQLITE_OPEN_READ_WRITE)?;
    // Whoever waited for readers would keep the writer away meanwhile.
    db.busy_timeout(Duration::ZERO)?;
    // It may be the last one to be closed, when nobody is left to tell the witness.
    db.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true)?;
    sync(&db, durability)?;
    Ok(db)
}

/// Says what has to reach the disk, and when.
fn sync(db: &Connection, durability: Durability) -> Outcome<()> {
    let synchronous = match durability {
        Durability::PowerFailure => "full",
        Durability::ProcessDeath => "normal",
    };
    Ok(db.pragma_update(None, "synchronous", synchronous)?)
}

/// Opens a connection that can only read. Each of its transactions sees the store as it was at one moment.
pub(super) fn reader(path: &Path) -> Outcome<Connection> {
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let db = Connection::open_with_flags(path, flags)?;
    db.busy_timeout(BUSY)?;
    db.pragma_update(None, "query_only", true)?;
    db.pragma_update(None, "cache_size", -READER_CACHE)?;
    keep_plans(&db)?;
    Ok(db)
}

/// Compiles each statement once.
///
/// Left to itself, SQLite looks at parameters where a partial index may depend on them, and compiles such a statement
/// anew for every value: half the time of a settlement went there.
fn keep_plans(db: &Connection) -> Outcome<()> {
    db.set_prepared_statement_cache_capacity(STATEMENTS);
    db.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true)?;
    Ok(())
}
