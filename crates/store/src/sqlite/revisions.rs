//! Revisions: one count for the whole store, so that none is ever used twice.
//!
//! Counted in memory during a group of changes and written once, before its commit. A change that fails alone leaves a gap.

use rusqlite::{Connection, params};

use super::fault::Outcome;

/// How far the count is.
#[derive(Debug, Default)]
pub(super) struct Revisions {
    /// The last one given; `None` when it has to be read.
    last: Option<i64>,
    written: i64,
}

impl Revisions {
    /// A revision that nothing had before.
    pub(super) fn next(&mut self, db: &Connection) -> Outcome<i64> {
        let last = match self.last {
            Some(last) => last,
            None => {
                let stored: i64 =
                    db.prepare_cached("SELECT last FROM revisions")?.query_row([], |row| row.get(0))?;
                self.written = stored;
                stored
            }
        };
        self.last = Some(last + 1);
        Ok(last + 1)
    }

    /// Writes how far it is, if it went on.
    pub(super) fn write(&mut self, db: &Connection) -> Outcome<()> {
        if let Some(last) = self.last.filter(|last| *last != self.written) {
            db.prepare_cached("UPDATE revisions SET last = ?1")?.execute(params![last])?;
            self.written = last;
        }
        Ok(())
    }

    /// After a rollback it is not known what is stored.
    pub(super) fn forget(&mut self) {
        *self = Self::default();
    }
}
