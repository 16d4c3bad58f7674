//! What goes wrong with SQLite, and how people are told.

use std::path::Path;

use rusqlite::ErrorCode;

use crate::codec::Unreadable;
use crate::{Error, SealFault};

/// What goes wrong inside this backend, before it is known where.
#[derive(Debug)]
pub(super) enum Fault {
    /// SQLite said no.
    Sqlite(rusqlite::Error),
    /// A stored value makes no sense: table, row and column, and what is wrong.
    Unreadable(String),
    /// It has its words already.
    Told(Error),
}

/// What the parts of this backend answer.
pub(super) type Outcome<T> = Result<T, Fault>;

impl From<rusqlite::Error> for Fault {
    fn from(error: rusqlite::Error) -> Self {
        Self::Sqlite(error)
    }
}

impl From<Error> for Fault {
    fn from(error: Error) -> Self {
        Self::Told(error)
    }
}

impl From<Unreadable> for Fault {
    fn from(Unreadable(what): Unreadable) -> Self {
        Self::Unreadable(what)
    }
}

impl From<SealFault> for Fault {
    fn from(fault: SealFault) -> Self {
        Self::Told(Error::Failed(format!("a secret: {fault}")))
    }
}

impl Fault {
    /// Names a value that cannot be read.
    pub(super) fn unreadable(place: &str, row: i64, why: impl std::fmt::Display) -> Self {
        Unreadable::at(place, row, why).into()
    }

    /// Whether the connection may be the cause, so that a new one should be tried.
    pub(super) fn spoils_connection(&self) -> bool {
        let Self::Sqlite(error) = self else { return false };
        matches!(
            error.sqlite_error_code(),
            Some(
                ErrorCode::SystemIoFailure
                    | ErrorCode::ReadOnly
                    | ErrorCode::CannotOpen
                    | ErrorCode::DatabaseCorrupt
                    | ErrorCode::NotADatabase
                    | ErrorCode::FileLockingProtocolFailed
                    | ErrorCode::OutOfMemory
            )
        )
    }

    /// The error that callers see: what, where, and what helps.
    pub(super) fn tell(self, path: &Path) -> Error {
        let path = path.display();
        let error = match self {
            Self::Told(error) => return error,
            Self::Unreadable(what) => return Error::Corrupt(format!("{path}: {what}")),
            Self::Sqlite(error) => error,
        };
        match error.sqlite_error_code() {
            Some(ErrorCode::DiskFull) => Error::Full(format!(
                "{path}: no room is left on the disk ({error}). Nothing that was accepted is lost; \
                 free some space, and it goes on by itself"
            )),
            Some(ErrorCode::ReadOnly | ErrorCode::PermissionDenied) => Error::Unavailable(format!(
                "{path}: it cannot be written ({error}). Make the file and its folder writable for this user; \
                 it goes on by itself"
            )),
            Some(ErrorCode::CannotOpen) => Error::Unavailable(format!(
                "{path}: it cannot be opened ({error}). The folder must exist and be writable for this user"
            )),
            Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => Error::Unavailable(format!(
                "{path}: another program holds it ({error}). Close that program, and try again"
            )),
            Some(ErrorCode::SystemIoFailure | ErrorCode::OutOfMemory) => Error::Unavailable(format!(
                "{path}: the system refused to read or write ({error}). Look at the disk; it is tried again"
            )),
            Some(ErrorCode::DatabaseCorrupt) => {
                Error::Corrupt(format!("{path}: the file is damaged ({error}). Restore it from a backup"))
            }
            Some(ErrorCode::NotADatabase) => {
                Error::Corrupt(format!("{path}: this is no SQLite database ({error})"))
            }
            _ => Error::Failed(format!("{path}: {error}")),
        }
    }
}
