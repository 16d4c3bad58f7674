//! Revisions: one count for the whole store, so that none is ever used twice.

use rusqlite::Connection;

use super::fault::Outcome;

/// A revision that nothing had before.
pub(super) fn next(db: &Connection) -> Outcome<i64> {
    let mut statement = db.prepare_cached("UPDATE revisions SET last = last + 1 RETURNING last")?;
    Ok(statement.query_row([], |row| row.get(0))?)
}
