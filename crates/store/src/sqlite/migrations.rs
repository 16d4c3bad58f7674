//! The schema and how it came to be.
//!
//! A migration is a file of SQL; its place in [`MIGRATIONS`] is its number, and `PRAGMA user_version` counts those that
//! were run. That is all a framework would do here, and this way each migration and its number are one transaction.
//!
//! To change the schema: add a file, add it at the end of the list, never touch the older ones.

use rusqlite::{Connection, TransactionBehavior};

use super::fault::Outcome;
use crate::Error;

const MIGRATIONS: &[&str] =
    &[include_str!("migrations/0001_initial.sql"), include_str!("migrations/0002_groups.sql")];

/// "PUNC": marks the file as ours.
const APPLICATION: i64 = 0x5055_4E43;

/// Refuses files of other programs and of newer versions, before anything is written to them.
pub(super) fn check(db: &Connection) -> Outcome<()> {
    let application: i64 = db.pragma_query_value(None, "application_id", |row| row.get(0))?;
    let tables: i64 = db.query_row("SELECT count(*) FROM sqlite_schema", [], |row| row.get(0))?;
    if application != APPLICATION && (application != 0 || tables != 0) {
        return Err(Error::Failed(format!(
            "{} is a database of another program. Give another file, or a folder of its own",
            db.path().unwrap_or("the file")
        ))
        .into());
    }
    let version = version(db)?;
    if version > MIGRATIONS.len() {
        return Err(Error::Failed(format!(
            "{} was written by a newer version (schema {version}; this one knows up to {}). \
             Install that version again, or restore a backup made before the upgrade",
            db.path().unwrap_or("the file"),
            MIGRATIONS.len()
        ))
        .into());
    }
    Ok(())
}

/// Runs what was not run yet.
pub(super) fn run(db: &mut Connection) -> Outcome<()> {
    for (number, migration) in MIGRATIONS.iter().enumerate().skip(version(db)?) {
        let transaction = db.transaction_with_behavior(TransactionBehavior::Immediate)?;
        transaction.execute_batch(migration)?;
        transaction.pragma_update(None, "application_id", APPLICATION)?;
        transaction.pragma_update(None, "user_version", (number + 1) as i64)?;
        transaction.commit()?;
    }
    Ok(())
}

fn version(db: &Connection) -> Outcome<usize> {
    let version: i64 = db.pragma_query_value(None, "user_version", |row| row.get(0))?;
    Ok(usize::try_from(version).unwrap_or(usize::MAX))
}
