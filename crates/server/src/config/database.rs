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
