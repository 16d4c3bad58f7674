//! Opening the file: who may, and with which settings.

use std::fs::{File, OpenOptions, TryLockError};
use std::path::{Path, PathBuf};
use std::time::Duration;

use rusqlite::config::DbConfig;
use rusqlite::{Connection, OpenFlags};

use super::fault::Outcome;
use super::{Durability, migrations};
use crate::Error;

/// How long SQLite waits for a lock that another program holds, such as a copy being made with `sqlite3`.
const BUSY: Duration = Duration::from_secs(5);

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
#[derive(Debug)]
pub(super) struct Lock {
    _file: File,
}

impl Lock {
    /// Takes the lock beside the database.
    ///
    /// It is a file of its own because SQLite's exclusive mode would keep our own readers away too.
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
        let path = PathBuf::from(format!("{}.lock", database.display()));
        let opened = OpenOptions::new().read(true).write(true).create(true).truncate(false).open(&path);
        let file = opened.map_err(|error| {
            Error::Unavailable(format!(
                "{}: it cannot be made ({error}). The folder must exist and be writable for this user",
                path.display()
            ))
        })?;
        match file.try_lock() {
            Ok(()) => Ok(Some(Self { _file: file })),
            Err(TryLockError::WouldBlock) => Ok(None),
            Err(TryLockError::Error(error)) => {
                Err(Error::Unavailable(format!("{}: it cannot be locked ({error})", path.display())))
            }
        }
    }
}

/// Opens the one connection that writes, and brings the schema up to date.
pub(super) fn writer(path: &Path, durability: Durability) -> Outcome<Connection> {
    let mut db = Connection::open(path)?;
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
    migrations::run(&mut db)?;
    Ok(db)
}

/// Opens the connection that works the write-ahead log into the file, and does nothing else.
pub(super) fn checkpointer(path: &Path, durability: Durability) -> Outcome<Connection> {
    let db = Connection::open_with_flags(path, OpenFlags::SQLITE_OPEN_READ_WRITE)?;
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
