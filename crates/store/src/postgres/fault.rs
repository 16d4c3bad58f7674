//! What goes wrong with PostgreSQL, what is worth another try, and how people are told.

use deadpool_postgres::PoolError;
use rustls::CertificateError;
use tokio_postgres::error::SqlState;

use crate::codec::Unreadable;
use crate::{Error, SealFault};

/// What goes wrong inside this backend.
#[derive(Debug)]
pub(super) enum Fault {
    /// The database said no, or nothing at all.
    Postgres(tokio_postgres::Error),
    /// There is no connection to be had.
    Pool(String),
    /// A stored value makes no sense: table, row and column, and what is wrong.
    Unreadable(String),
    /// These executions are claimed and perhaps begun: their holders have to be asked before this can be decided.
    Claimed(Vec<i64>),
    /// Something went away under our eyes: the same may work at once.
    Overtaken(&'static str),
    /// The connection was lost while a change was committed: it is made, or it is not.
    Uncertain,
    /// A pooler between us and the database does not keep sessions: where, and what to do.
    Pooled(String),
    /// It has its words already.
    Told(Error),
}

/// What the parts of this backend answer.
pub(super) type Outcome<T> = Result<T, Fault>;

impl From<tokio_postgres::Error> for Fault {
    fn from(error: tokio_postgres::Error) -> Self {
        Self::Postgres(error)
    }
}

impl From<PoolError> for Fault {
    fn from(error: PoolError) -> Self {
        match error {
            PoolError::Backend(error) => Self::Postgres(error),
            other => Self::Pool(other.to_string()),
        }
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

impl From<Error> for Fault {
    fn from(error: Error) -> Self {
        Self::Told(error)
    }
}

/// What a fault is, as far as the next step depends on it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// Somebody else was faster: the same may work at once.
    Conflict,
    /// The database is away, or cannot be written: it may work later, on another connection.
    Away,
    /// There is no room.
    Full,
    /// Anything else.
    Other,
}

impl Fault {
    /// Names a value that cannot be read.
    pub(super) fn unreadable(place: &str, row: i64, why: impl std::fmt::Display) -> Self {
        Unreadable::at(place, row, why).into()
    }

    /// See [`Kind`].
    pub(super) fn kind(&self) -> Kind {
        if self.is_stale() {
            return Kind::Conflict;
        }
        let error = match self {
            Self::Postgres(error) => error,
            Self::Pool(_) => return Kind::Away,
            Self::Overtaken(_) => return Kind::Conflict,
            _ => return Kind::Other,
        };
        let Some(state) = error.code() else {
            // What did not come from the database came from the way to it, or is a mistake of ours in a row.
            let ours = std::error::Error::source(error).is_some_and(|source| !source.is::<std::io::Error>());
            return if ours && !error.is_closed() && !is_connecting(error) {
                Kind::Other
            } else {
                Kind::Away
            };
        };
        if is_refused_parameter(error) {
            return Kind::Other;
        }
        kind_of(state)
    }

    /// Whether a migration has made useless what was prepared before it.
    pub(super) fn is_stale(&self) -> bool {
        let Self::Postgres(error) = self else { return false };
        // The code is one that many faults have; only the words tell this one.
        error.as_db_error().is_some_and(|db| {
            *db.code() == SqlState::FEATURE_NOT_SUPPORTED && db.message().contains("cached plan")
        })
    }

    /// Whether the database is away, or cannot be written.
    pub(super) fn is_away(&self) -> bool {
        self.kind() == Kind::Away
    }

    /// Whether the connection cannot be used any more.
    pub(super) fn ends_connection(&self) -> bool {
        self.is_away() || matches!(self, Self::Uncertain)
    }

    /// The error that callers see: what, where, and what helps.
    pub(super) fn tell(self, place: &str) -> Error {
        self.tell_for(place, "It goes on by itself when that is over")
    }

    /// The same for somebody who does not try again.
    pub(super) fn tell_for(self, place: &str, afterwards: &str) -> Error {
        let kind = self.kind();
        let what = match self {
            Self::Told(error) => return error,
            Self::Pooled(what) => return Error::Failed(what),
            Self::Unreadable(what) => return Error::Corrupt(format!("{place}: {what}")),
            Self::Claimed(_) => {
                return Error::Unavailable(format!(
                    "{place}: another node holds what is to be changed and does not answer; try again"
                ));
            }
            Self::Uncertain => {
                return Error::Unavailable(format!(
                    "{place}: the connection was lost while a change was committed; look whether it is there"
                ));
            }
            Self::Pool(what) => what,
            Self::Overtaken(what) => what.to_owned(),
            Self::Postgres(error) => words(&error),
        };
        match kind {
            Kind::Conflict => Error::Unavailable(format!("{place}: too many changes at once ({what})")),
            Kind::Away => {
                Error::Unavailable(format!("{place}: the database cannot be used ({what}). {afterwards}"))
            }
            Kind::Full => Error::Full(format!("{place}: the database has no room left ({what})")),
            Kind::Other => Error::Failed(format!("{place}: {what}")),
        }
    }
}

/// All that an error says, on one line, and what helps where that is known.
pub(super) fn words(error: &tokio_postgres::Error) -> String {
    let said = said(error);
    match remedy(error) {
        Some(remedy) => format!("{said}: {remedy}"),
        None => said,
    }
}

/// What helps against a connection that is refused for its options, cannot be encrypted, or not towards the right server.
fn remedy(error: &tokio_postgres::Error) -> Option<&'static str> {
    if is_refused_parameter(error) {
        return Some(
            "the pooler in between refuses it; take it out of the options of the URL, or connect to PostgreSQL directly",
        );
    }
    if let Some(db) = error.as_db_error() {
        return (*db.code() == SqlState::INVALID_AUTHORIZATION_SPECIFICATION
            && db.message().contains("client certificate"))
        .then_some("name it with sslcert=FILE and its key with sslkey=FILE");
    }
    let source = std::error::Error::source(error)?;
    let Some(io) = source.downcast_ref::<std::io::Error>() else {
        // The crate says it in words only.
        return source.to_string().contains("does not support TLS").then_some(
            "switch ssl on in its settings; sslmode=disable goes without, where nobody is in between who could listen",
        );
    };
    let Some(rustls::Error::InvalidCertificate(fault)) = io.get_ref()?.downcast_ref() else { return None };
    Some(match fault {
        CertificateError::UnknownIssuer | CertificateError::BadSignature => {
            "nobody that this machine trusts has signed its certificate; name the file of who did with sslrootcert=FILE"
        }
        CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. } => {
            "its certificate is for another name; use a name that is in it"
        }
        CertificateError::Expired | CertificateError::ExpiredContext { .. } => {
            "its certificate has expired; renew it on the server"
        }
        _ => return None,
    })
}

fn said(error: &tokio_postgres::Error) -> String {
    match (error.as_db_error(), std::error::Error::source(error)) {
        (Some(db), _) => format!("{} {}", db.code().code(), db.message()),
        (None, Some(source)) => format!("{error}: {source}").replace('\n', " "),
        (None, None) => error.to_string(),
    }
}

/// Whether a pooler refuses a connection for what the URL wants of it. It has the same code for a database that is away, so
/// only the words tell.
pub(super) fn is_refused_parameter(error: &tokio_postgres::Error) -> bool {
    error.as_db_error().is_some_and(|db| {
        *db.code() == SqlState::PROTOCOL_VIOLATION && db.message().contains("startup parameter")
    })
}

fn is_connecting(error: &tokio_postgres::Error) -> bool {
    // The crate tells its kinds apart only in words.
    let words = error.to_string();
    words.starts_with("error connecting")
        || words.starts_with("error communicating")
        || words.starts_with("error performing TLS")
        || words.starts_with("timeout")
}

fn kind_of(state: &SqlState) -> Kind {
    match *state {
        SqlState::T_R_SERIALIZATION_FAILURE
        | SqlState::T_R_DEADLOCK_DETECTED
        | SqlState::LOCK_NOT_AVAILABLE
        // Two that make the same row or table at the same time: the second look finds it.
        | SqlState::UNIQUE_VIOLATION
        | SqlState::DUPLICATE_TABLE
        | SqlState::DUPLICATE_OBJECT => Kind::Conflict,
        SqlState::DISK_FULL => Kind::Full,
        SqlState::QUERY_CANCELED
        | SqlState::ADMIN_SHUTDOWN
        | SqlState::CRASH_SHUTDOWN
        | SqlState::CANNOT_CONNECT_NOW
        | SqlState::IDLE_IN_TRANSACTION_SESSION_TIMEOUT
        | SqlState::READ_ONLY_SQL_TRANSACTION => Kind::Away,
        _ if matches!(&state.code()[..2], "08" | "53") => Kind::Away,
        _ => Kind::Other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_may_pass_is_told_from_what_may_not() {
        for (code, kind) in [
            ("40001", Kind::Conflict),
            ("40P01", Kind::Conflict),
            ("55P03", Kind::Conflict),
            ("57P01", Kind::Away),
            ("57P03", Kind::Away),
            ("25006", Kind::Away),
            ("08006", Kind::Away),
            ("53300", Kind::Away),
            ("53100", Kind::Full),
            ("42P01", Kind::Other),
            ("22021", Kind::Other),
        ] {
            assert_eq!(kind_of(&SqlState::from_code(code)), kind, "{code}");
        }
        assert_eq!(Fault::Pool("timeout".into()).kind(), Kind::Away);
    }
}
