//! Revisions: one count for the whole store, so that none is ever used twice.
//!
//! Counted in memory during a group of changes and written once, before its commit. A change that fails alone leaves a gap.

use rusqlite::{Connection, params};

use super::fault::Outcome;

/// How far the count is, and that of commits.
#[derive(Debug, Default)]
pub(super) struct Revisions {
    /// The last revision given, and how many commits there were; `None` when it has to be read.
    last: Option<(i64, i64)>,
    /// The revision that is stored.
    written: i64,
}

impl Revisions {
    /// A revision that nothing had before.
    pub(super) fn next(&mut self, db: &Connection) -> Outcome<i64> {
        let (last, commits) = self.read(db)?;
        self.last = Some((last + 1, commits));
        Ok(last + 1)
    }

    /// Writes how far it is and counts a commit, if there is anything to commit; how many there are then.
    pub(super) fn write(&mut self, db: &Connection, has_changes: bool) -> Outcome<Option<i64>> {
        let has_revisions = self.last.is_some_and(|(last, _)| last != self.written);
        if !has_changes && !has_revisions {
            return Ok(None);
        }
        let (last, commits) = self.read(db)?;
        db.prepare_cached("UPDATE revisions SET last = ?1, commits = ?2, closed = 0")?
            .execute(params![last, commits + 1])?;
        (self.last, self.written) = (Some((last, commits + 1)), last);
        Ok(Some(commits + 1))
    }

    fn read(&mut self, db: &Connection) -> Outcome<(i64, i64)> {
        if let Some(known) = self.last {
            return Ok(known);
        }
        let stored = db
            .prepare_cached("SELECT last, commits FROM revisions")?
            .query_row([], |row| Ok((row.get(0)?, row.get(1)?)))?;
        (self.last, self.written) = (Some(stored), stored.0);
        Ok(stored)
    }

    /// After a rollback it is not known what is stored.
    pub(super) fn forget(&mut self) {
        *self = Self::default();
    }
}
