//! Filing: the entries of each job, listed in two levels.
//!
//! What history and ledger say of one job is found through `history_filed` and `ledger_filed`, which are as large as
//! the tables themselves. A new entry would be written there at a place of its own, a page for every job that fires.
//! So it is listed in `history_unfiled` or `ledger_unfiled` first: small trees, in which the entries of jobs that fire
//! together share pages. When such a tree has grown, every group of changes files a few of its entries, in the order of
//! the large tree, so that all entries of a job are one visit to its page.
//!
//! Whoever reads looks at both levels. The lists are kept here and not by triggers: SQLite notes for every statement with
//! a trigger how to undo it, which took longer than the rest of a settlement.

use rusqlite::{Connection, Row, params};

use super::fault::Outcome;
use super::many::{Cell, Insert, insert};

/// The entries that stay unfiled. Small enough for the writer's cache, large enough for a job that fires often to have
/// several among them.
const UNFILED: i64 = 100_000;

/// The most entries of each kind that one group of changes files: a few milliseconds.
const BITE: i64 = 2_000;

/// Which entries.
#[derive(Debug, Clone, Copy)]
pub(super) enum Kind {
    /// Of the history, listed by their start.
    History,
    /// Of the ledger, listed by when they were due.
    Ledger,
}

/// An entry as it is listed.
#[derive(Debug, Clone, Copy)]
pub(super) struct Listed {
    pub(super) job: i64,
    pub(super) at: i64,
    pub(super) serial: i64,
}

impl Listed {
    /// Reads `job_id`, the instant and `serial` from the beginning of a row.
    pub(super) fn read(row: &Row<'_>) -> rusqlite::Result<Self> {
        Ok(Self { job: row.get(0)?, at: row.get(1)?, serial: row.get(2)? })
    }
}

impl Kind {
    fn name(self) -> &'static str {
        match self {
            Self::History => "history",
            Self::Ledger => "ledger",
        }
    }

    /// Lists new entries.
    pub(super) fn list(self, db: &Connection, entries: &[Listed]) -> Outcome<()> {
        static HISTORY: Insert<3> = insert!("history_unfiled (job_id, at, serial)");
        static LEDGER: Insert<3> = insert!("ledger_unfiled (job_id, at, serial)");
        self.insert(db, [&HISTORY, &LEDGER], entries)
    }

    /// Takes removed entries off both lists.
    pub(super) fn strike(self, db: &Connection, entries: &[Listed]) -> Outcome<()> {
        for level in ["filed", "unfiled"] {
            let mut statement = db.prepare_cached(&format!(
                "DELETE FROM {}_{level} WHERE job_id = ?1 AND at = ?2 AND serial = ?3",
                self.name()
            ))?;
            for entry in entries {
                statement.execute(params![entry.job, entry.at, entry.serial])?;
            }
        }
        Ok(())
    }

    /// Files entries.
    fn file(self, db: &Connection, entries: &[Listed]) -> Outcome<()> {
        static HISTORY: Insert<3> = insert!("history_filed (job_id, at, serial)");
        static LEDGER: Insert<3> = insert!("ledger_filed (job_id, at, serial)");
        self.insert(db, [&HISTORY, &LEDGER], entries)
    }

    fn insert(self, db: &Connection, [history, ledger]: [&Insert<3>; 2], entries: &[Listed]) -> Outcome<()> {
        let rows = entries.iter().map(|entry| [entry.job, entry.at, entry.serial].map(Cell::from));
        let rows: Vec<_> = rows.collect();
        match self {
            Self::History => history.run(db, &rows)?,
            Self::Ledger => ledger.run(db, &rows)?,
        };
        Ok(())
    }
}

/// How far the filing of both kinds is. Only a hint: after a start it is gathered again.
#[derive(Debug)]
pub(super) struct Filing {
    history: Level,
    ledger: Level,
}

#[derive(Debug)]
struct Level {
    kind: Kind,
    /// About how many are unfiled; `None` when they have to be counted.
    unfiled: Option<i64>,
    /// The last serial that was seen.
    seen: i64,
    /// The last entry that was filed.
    last: Listed,
}

impl Default for Filing {
    fn default() -> Self {
        let level = |kind| Level { kind, unfiled: None, seen: 0, last: BEGINNING };
        Self { history: level(Kind::History), ledger: level(Kind::Ledger) }
    }
}

const BEGINNING: Listed = Listed { job: i64::MIN, at: i64::MIN, serial: i64::MIN };

impl Filing {
    /// Files some of what is unfiled, if that is much: more than has come since the last time, so that it gets less.
    pub(super) fn step(&mut self, db: &Connection) -> Outcome<()> {
        self.history.step(db)?;
        self.ledger.step(db)
    }

    /// After a rollback the numbers are wrong.
    pub(super) fn forget(&mut self) {
        *self = Self::default();
    }
}

impl Level {
    fn step(&mut self, db: &Connection) -> Outcome<()> {
        let serial: Option<i64> = db
            .prepare_cached("SELECT max(seq) FROM sqlite_sequence WHERE name = ?1")?
            .query_row(params![self.kind.name()], |row| row.get(0))?;
        let serial = serial.unwrap_or_default();
        let fresh = serial - std::mem::replace(&mut self.seen, serial);
        let unfiled = match self.unfiled {
            Some(unfiled) => unfiled + fresh,
            None => db
                .prepare_cached(&format!("SELECT count(*) FROM {}_unfiled", self.kind.name()))?
                .query_row([], |row| row.get(0))?,
        };
        self.unfiled = Some(unfiled);
        if unfiled > UNFILED && fresh > 0 {
            self.file(db, fresh.saturating_mul(2).min(BITE))?;
        }
        Ok(())
    }

    fn file(&mut self, db: &Connection, most: i64) -> Outcome<()> {
        let (name, from) = (self.kind.name(), self.last);
        let entries: Vec<Listed> = db
            .prepare_cached(&format!(
                "SELECT job_id, at, serial FROM {name}_unfiled WHERE (job_id, at, serial) > (?1, ?2, ?3)
                 ORDER BY job_id, at, serial LIMIT ?4"
            ))?
            .query_map(params![from.job, from.at, from.serial, most], Listed::read)?
            .collect::<rusqlite::Result<_>>()?;
        let Some(&last) = entries.last() else {
            // Once around: begin anew, with the true number.
            self.last = BEGINNING;
            self.unfiled = None;
            return Ok(());
        };
        self.kind.file(db, &entries)?;
        db.prepare_cached(&format!(
            "DELETE FROM {name}_unfiled
             WHERE (job_id, at, serial) > (?1, ?2, ?3) AND (job_id, at, serial) <= (?4, ?5, ?6)"
        ))?
        .execute(params![from.job, from.at, from.serial, last.job, last.at, last.serial])?;
        self.last = last;
        self.unfiled = self.unfiled.map(|unfiled| unfiled - entries.len() as i64);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use model::Fate;

    use super::*;
    use crate::conformance::{World, path};
    use crate::sqlite::tests::Sqlite;
    use crate::{HistoryQuery, LedgerQuery, Page, Retention};

    /// What is told of a job, read through both levels: serials of history and ledger, page by page.
    async fn told(world: &World<'_>, job: &str, fates: Vec<Fate>) -> (Vec<i64>, Vec<i64>) {
        let mut history = Vec::new();
        loop {
            let page = Page { skip: history.len() as u64, top: 2 };
            let found = world.store().history(&path(), job, &HistoryQuery::default(), page).await.unwrap();
            let found = found.unwrap();
            if found.is_empty() {
                break;
            }
            history.extend(found.iter().map(|stored| stored.serial));
        }
        let mut ledger = Vec::new();
        let mut query =
            LedgerQuery { collection: Some(path()), job: Some(job.into()), fates, ..Default::default() };
        loop {
            let found = world.store().ledger(&query, 2).await.unwrap();
            let Some(last) = found.last() else { return (history, ledger) };
            query.before = Some((last.entry.due_at, last.serial));
            ledger.extend(found.iter().map(|stored| stored.serial));
        }
    }

    async fn file(backend: &Sqlite, most: i64) {
        let store = backend.store();
        let filed = store.writer.run(move |work| {
            let mut filing = Filing::default();
            filing.history.file(work.db, most)?;
            filing.ledger.file(work.db, most)
        });
        filed.await.unwrap();
    }

    #[tokio::test]
    async fn it_does_not_matter_what_is_filed() {
        let backend = Sqlite::new();
        let mut world = World::new(&backend).await;
        for name in ["a", "b"] {
            world.put(name, world.minutely()).await;
        }
        for _ in 0..5 {
            for claim in world.claim(0).await {
                assert!(claim.ticket.begin());
                world.settle(&claim, true).await;
            }
            world.pass(60);
        }
        let (a, b) = (told(&world, "a", Vec::new()).await, told(&world, "b", Vec::new()).await);
        assert_eq!((a.0.len(), a.1.len()), (5, 5));
        assert!(a.0.is_sorted_by(|newer, older| newer > older), "{a:?}");
        // From none to all of them, and beyond.
        for _ in 0..5 {
            file(&backend, 3).await;
            assert_eq!(told(&world, "a", Vec::new()).await, a);
            assert_eq!(told(&world, "b", vec![Fate::Ran, Fate::Missed]).await, b);
        }
        let levels: (i64, i64) = backend
            .store()
            .readers
            .run(|db, _| {
                let sql =
                    "SELECT (SELECT count(*) FROM history_filed), (SELECT count(*) FROM ledger_unfiled)";
                Ok(db.query_row(sql, [], |row| Ok((row.get(0)?, row.get(1)?)))?)
            })
            .await
            .unwrap();
        assert_eq!(levels, (10, 0));
    }

    /// Retention, too many entries and a deleted job, with a part of the entries on each level.
    #[tokio::test]
    async fn what_is_removed_is_on_no_list() {
        let backend = Sqlite::new();
        let mut world = World::new(&backend).await;
        for name in ["a", "b", "c"] {
            world.put(name, world.minutely()).await;
        }
        for round in 0..6 {
            for claim in world.claim(0).await {
                assert!(claim.ticket.begin());
                world.settle(&claim, true).await;
            }
            world.pass(60);
            if round == 2 {
                file(&backend, 5).await;
            }
        }
        world.store().delete_job(&path(), "c", None, world.now).await.unwrap();
        // The first two rounds are too old, and of the four that are left one is too many.
        let retention = Retention { before: world.after(-240), history_per_job: 3 };
        while world.store().prune(retention).await.unwrap() {}
        for name in ["a", "b"] {
            let (history, ledger) = told(&world, name, Vec::new()).await;
            assert_eq!((history.len(), ledger.len()), (3, 4), "{name}");
        }
        let counts: Vec<i64> = backend
            .store()
            .readers
            .run(|db, _| {
                let mut counts = Vec::new();
                for table in [
                    "history",
                    "history_filed",
                    "history_unfiled",
                    "ledger",
                    "ledger_filed",
                    "ledger_unfiled",
                ] {
                    let sql = format!("SELECT count(*) FROM {table}");
                    counts.push(db.query_row(&sql, [], |row| row.get(0))?);
                }
                Ok(counts)
            })
            .await
            .unwrap();
        assert_eq!(counts[0], counts[1] + counts[2], "{counts:?}");
        assert_eq!(counts[3], counts[4] + counts[5], "{counts:?}");
        assert_eq!(counts[0], 6, "{counts:?}");
    }

    #[tokio::test]
    async fn much_that_is_unfiled_gets_less() {
        let backend = Sqlite::new();
        let _world = World::new(&backend).await;
        let store = backend.store();
        let left = store.writer.run(|work| {
            work.db.execute(
                "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ?1)
                 INSERT INTO history_unfiled (job_id, at, serial) SELECT i % 100, i, i FROM n",
                params![UNFILED + 100],
            )?;
            let mut filing = Filing::default();
            let mut left = Vec::new();
            // Every time 60 serials are given and twice as many are filed, until few enough are left.
            for serial in (UNFILED + 160..).step_by(60).take(4) {
                work.db.execute("DELETE FROM sqlite_sequence WHERE name = 'history'", [])?;
                work.db.execute("INSERT INTO sqlite_sequence VALUES ('history', ?1)", params![serial])?;
                if left.is_empty() {
                    filing.history.seen = serial - 60;
                }
                filing.step(work.db)?;
                let sql = "SELECT count(*) FROM history_unfiled";
                left.push(work.db.query_row(sql, [], |row| row.get::<_, i64>(0))? - UNFILED);
            }
            Ok(left)
        });
        assert_eq!(left.await.unwrap(), [-20, -140, -140, -260]);
    }
}
