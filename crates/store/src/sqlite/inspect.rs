//! A look at a file from outside: nothing in it is changed, and whoever uses it is not disturbed.

use std::path::Path;

use jiff::Timestamp;

use super::fault::Outcome;
use super::{collections, connection, jobs, migrations, moves, opening};
use crate::{Keyring, Result, UnreadableJob};

/// What a look at a file of a [`SqliteStore`](crate::SqliteStore) finds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Inspection {
    /// The version of its schema.
    pub schema: usize,
    /// The version that this program writes. A file with an older one is brought up to date when it is opened.
    pub newest_schema: usize,
    /// Of when it is, where it is a copy that nobody has served yet.
    pub copied_at: Option<Timestamp>,
    /// What is damaged, in SQLite's words; empty where nothing is.
    pub faults: Vec<String>,
}

/// Looks at a file. It reads all of it, which takes a while for a large one.
pub fn inspect(path: &Path) -> Result<Inspection> {
    look(path).map_err(|fault| fault.tell(path))
}

fn look(path: &Path) -> Outcome<Inspection> {
    let db = connection::reader(path)?;
    migrations::check(&db)?;
    let faults = opening::faults(&db, "quick_check")?;
    // What is damaged may not tell anything else.
    let copied_at = if faults.is_empty() { moves::copied_at(&db)? } else { None };
    Ok(Inspection {
        schema: migrations::version(&db)?,
        newest_schema: migrations::newest(),
        copied_at,
        faults,
    })
}

/// The jobs in a file that cannot be read as they are stored. Without keys, secrets are not opened. `None` where the file is
/// of an earlier version: opening it brings it up to date first.
pub fn unreadable_jobs(path: &Path, keyring: Option<&Keyring>) -> Result<Option<Vec<UnreadableJob>>> {
    look_at_jobs(path, keyring).map_err(|fault| fault.tell(path))
}

fn look_at_jobs(path: &Path, keyring: Option<&Keyring>) -> Outcome<Option<Vec<UnreadableJob>>> {
    let db = connection::reader(path)?;
    if migrations::version(&db)? != migrations::newest() {
        return Ok(None);
    }
    let mut statement = db.prepare(&format!(
        "SELECT {}, d.definition FROM jobs j
         JOIN collections c ON c.id = j.collection_id
         LEFT JOIN definitions d ON d.job_id = j.id
         WHERE j.deleted_at IS NULL ORDER BY j.id",
        jobs::COLUMNS
    ))?;
    let mut rows = statement.query([])?;
    let mut found = Vec::new();
    while let Some(row) = rows.next()? {
        let definition: Option<String> = row.get(jobs::WIDTH)?;
        let row = jobs::read(row)?;
        if let Some(why) = row.fault(definition.as_deref(), keyring) {
            let collection = collections::path_of(&db, row.collection_id)?;
            found.push(UnreadableJob { collection, name: row.name, why });
        }
    }
    Ok(Some(found))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::conformance::keyring;
    use crate::{SqliteSettings, SqliteStore};

    #[test]
    fn a_file_is_looked_at_while_a_server_uses_it() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("punctual.db");
        assert!(inspect(&path).is_err(), "there is none");
        let now = "2027-01-01T00:00:00Z".parse().unwrap();
        let store = SqliteStore::open(&path, SqliteSettings::new(keyring()), now).unwrap();
        let found = inspect(&path).unwrap();
        assert_eq!((found.schema, &found.faults), (found.newest_schema, &Vec::new()));
        drop(store);
        assert_eq!(inspect(&path).unwrap(), found);
    }

    #[test]
    fn a_damaged_file_is_told() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("punctual.db");
        let now = "2027-01-01T00:00:00Z".parse().unwrap();
        drop(SqliteStore::open(&path, SqliteSettings::new(keyring()), now).unwrap());
        let mut bytes = std::fs::read(&path).unwrap();
        let page = 4096;
        assert!(bytes.len() > 4 * page);
        // Not the first page, which says that this is a database at all.
        bytes[2 * page..4 * page].fill(0xff);
        std::fs::write(&path, bytes).unwrap();
        let damaged = match inspect(&path) {
            Ok(found) => !found.faults.is_empty(),
            Err(error) => matches!(error, crate::Error::Corrupt(_)),
        };
        assert!(damaged);
        std::fs::write(&path, "this is a text, and no database at all; it is long enough to be read as one")
            .unwrap();
        assert!(matches!(inspect(&path), Err(crate::Error::Corrupt(_))));
    }
}
