//! Where the store is: the embedded one, or a database that many nodes share.

use std::fmt;

use serde::de::Error as _;
use serde::{Deserialize, Deserializer};

/// The URL of a PostgreSQL database; it may have a password, which is not shown.
#[derive(Clone, PartialEq, Eq)]
pub struct DatabaseUrl(String);

impl DatabaseUrl {
    /// The whole URL.
    pub fn reveal(&self) -> &str {
        &self.0
    }

    /// Who, where and which database, to be shown: without the password, and without options, which may have one too.
    pub fn shown(&self) -> String {
        let (url, _options) = self.0.split_once('?').unwrap_or((&self.0, ""));
        let (scheme, rest) = url.split_once("://").unwrap_or(("postgres", url));
        // A password may have a sign of its own that looks like the end of it; a host has none.
        match rest.rsplit_once('@') {
            None => format!("{scheme}://{rest}"),
            Some((credentials, place)) => {
                let user = credentials.split(':').next().unwrap_or_default();
                format!("{scheme}://{user}@{place}")
            }
        }
    }
}

impl fmt::Debug for DatabaseUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("DatabaseUrl(…)")
    }
}

/// Reads a setting that is empty or a URL.
pub(super) fn read<'de, D: Deserializer<'de>>(from: D) -> Result<Option<DatabaseUrl>, D::Error> {
    let text = String::deserialize(from)?;
    match text.trim() {
        "" => Ok(None),
        url if url.starts_with("postgres://") || url.starts_with("postgresql://") => {
            Ok(Some(DatabaseUrl(url.to_owned())))
        }
        // What was given may have a password: it is not repeated.
        _ => Err(D::Error::custom(
            "this is no URL of a PostgreSQL database; allowed: nothing, for the embedded store, or \
             postgres://user:password@host:5432/database",
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_shown_has_no_password() {
        for (url, shown) in [
            ("postgres://u:secret@db:5432/d", "postgres://u@db:5432/d"),
            ("postgresql://u:sec@ret@a,b:6432/d?sslmode=require", "postgresql://u@a,b:6432/d"),
            ("postgres://db/d?user=u&password=secret", "postgres://db/d"),
            ("postgres://u@%2Frun%2Fpostgresql/d", "postgres://u@%2Frun%2Fpostgresql/d"),
            ("postgres://:secret@/d", "postgres://@/d"),
        ] {
            assert_eq!(DatabaseUrl(url.to_owned()).shown(), shown);
        }
    }
}
