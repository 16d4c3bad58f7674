//! Filing: the entries of each job, listed late and many at a time.
//!
//! What history and ledger say of one job is found through `history_filed` and `ledger_filed`, which are as large as
//! the tables themselves. A new entry would be written there at a place of its own, a page for every job that fires.
//! So it is not listed at once: serials only grow, and all entries above one serial, which `filed` names, are the tail.
//! When the tail has grown, its entries are filed in the order of the lists, so that neighbours share a visit to their
//! page; a few with every group of changes. At last `filed` moves on, and the tail is short again.
//!
//! Whoever reads looks at both: the list up to the serial in `filed`, and the rows above it. What is in the list already
//! but above that serial does not count, so a tail that is half filed shows nothing twice.

use std::collections::HashSet;

use rusqlite::{Connection, Row, params};

use super::fault::Outcome;
use super::many::{Cell, Insert, insert};

/// The entries of a tail that is filed. Looking through one and a half times as many, for one job, takes a millisecond
/// or two; the more there are, the more of them share a page.
const TAIL: usize = 20_000;

/// The most entries of each kind that one group of changes files: a few milliseconds.
const BITE: usize = 2_000;

/// Which entries.
#[derive(Debug, Clone, Copy)]
pub(super) enum Kind {
    /// Of the history, listed by their start.
    History,
    /// Of the ledger, listed by when they were due.
    Ledger,
}

/// An entry as it is listed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
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
    /// The table, and its column in `filed`.
    fn name(self) -> &'static str {
        match self {
            Self::History => "history",
            Self::Ledger => "ledger",
        }
    }

    /// The column by which entries are listed.
    fn at(self) -> &'static str {
        match self {
            Self::History => "started_at",
            Self::Ledger => "due_at",
        }
    }

    /// Files entries. Those that a server before this one has filed, without getting to the end, are there already.
    fn file(self, db: &Connection, entries: &[Listed]) -> Outcome<()> {
        static HISTORY: Insert<3> = insert!("OR IGNORE INTO history_filed (job_id, at, serial)");
        static LEDGER: Insert<3> = insert!("OR IGNORE INTO ledger_filed (job_id, at, serial)");
        let rows = entries.iter().map(|entry| Ok([entry.job, entry.at, entry.serial].map(Cell::from)));
        match self {
            Self::History => HISTORY.run(db, rows)?,
            Self::Ledger => LEDGER.run(db, rows)?,
        };
        Ok(())
    }

    /// The serial up to which entries are filed.
    pub(super) fn filed_to(self, db: &Connection) -> Outcome<i64> {
        let mut statement = db.prepare_cached(&format!("SELECT {} FROM filed", self.name()))?;
        Ok(statement.query_row([], |row| row.get(0))?)
    }
}

/// The tails of both kinds, as the writer knows them.
#[derive(Debug)]
pub(super) struct Filing {
    history: Tail,
    ledger: Tail,
}

#[derive(Debug)]
struct Tail {
    kind: Kind,
    /// `None` when it has to be read: after a start, and after a rollback.
    entries: Option<Entries>,
    /// How many were added since the last step.
    fresh: usize,
}

#[derive(Debug, Default)]
struct Entries {
    /// Those that are being filed, in the order of the list, and how many of them are in it.
    batch: Vec<Listed>,
    done: usize,
    /// Those that came later.
    rest: Vec<Listed>,
}

impl Entries {
    fn all(&self) -> impl Iterator<Item = &Listed> {
        self.batch.iter().chain(&self.rest)
    }
}

impl Default for Filing {
    fn default() -> Self {
        let tail = |kind| Tail { kind, entries: None, fresh: 0 };
        Self { history: tail(Kind::History), ledger: tail(Kind::Ledger) }
    }
}

impl Filing {
    /// Notes entries that were written.
    pub(super) fn add(&mut self, kind: Kind, entries: impl Iterator<Item = Listed>) {
        let tail = self.tail(kind);
        match &mut tail.entries {
            Some(known) => {
                let before = known.rest.len();
                known.rest.extend(entries);
                tail.fresh += known.rest.len() - before;
            }
            None => tail.fresh += entries.count(),
        }
    }

    /// Takes removed entries off the list, and out of the tail.
    pub(super) fn strike(&mut self, kind: Kind, db: &Connection, removed: &[Listed]) -> Outcome<()> {
        let mut statement = db.prepare_cached(&format!(
            "DELETE FROM {}_filed WHERE job_id = ?1 AND at = ?2 AND serial = ?3",
            kind.name()
        ))?;
        for entry in removed {
            statement.execute(params![entry.job, entry.at, entry.serial])?;
        }
        let Some(known) = &mut self.tail(kind).entries else { return Ok(()) };
        let first = known.all().map(|entry| entry.serial).min().unwrap_or(i64::MAX);
        let gone: HashSet<i64> =
            removed.iter().map(|entry| entry.serial).filter(|serial| *serial >= first).collect();
        if !gone.is_empty() {
            let filed = &known.batch[..known.done];
            known.done -= filed.iter().filter(|entry| gone.contains(&entry.serial)).count();
            known.batch.retain(|entry| !gone.contains(&entry.serial));
            known.rest.retain(|entry| !gone.contains(&entry.serial));
        }
        Ok(())
    }

    /// All entries that are not filed.
    pub(super) fn unfiled(&mut self, kind: Kind, db: &Connection) -> Outcome<impl Iterator<Item = &Listed>> {
        Ok(self.tail(kind).known(db)?.all())
    }

    /// Files some of a tail that has grown: more than has come since the last time, so that it gets shorter.
    pub(super) fn step(&mut self, db: &Connection) -> Outcome<()> {
        self.history.step(db)?;
        self.ledger.step(db)
    }

    /// After a rollback the tails are not what they seemed to be.
    pub(super) fn forget(&mut self) {
        *self = Self::default();
    }

    fn tail(&mut self, kind: Kind) -> &mut Tail {
        match kind {
            Kind::History => &mut self.history,
            Kind::Ledger => &mut self.ledger,
        }
    }
}

impl Tail {
    fn known(&mut self, db: &Connection) -> Outcome<&mut Entries> {
        if self.entries.is_none() {
            let (name, at) = (self.kind.name(), self.kind.at());
            let rest = db
                .prepare_cached(&format!("SELECT job_id, {at}, serial FROM {name} WHERE serial > ?1"))?
                .query_map(params![self.kind.filed_to(db)?], Listed::read)?
                .collect::<rusqlite::Result<_>>()?;
            self.entries = Some(Entries { rest, ..Entries::default() });
        }
        Ok(self.entries.get_or_insert_default())
    }

    fn step(&mut self, db: &Connection) -> Outcome<()> {
        let fresh = std::mem::take(&mut self.fresh);
        if fresh > 0 { self.file(db, fresh.saturating_mul(2).min(BITE), TAIL) } else { Ok(()) }
    }

    /// Files at most so many, of a tail that has to be so long.
    fn file(&mut self, db: &Connection, most: usize, long: usize) -> Outcome<()> {
        let kind = self.kind;
        let known = self.known(db)?;
        if known.batch.is_empty() {
            if known.rest.len() < long {
                return Ok(());
            }
            known.batch = std::mem::take(&mut known.rest);
            known.batch.sort_unstable();
        }
        let end = known.batch.len().min(known.done + most);
        kind.file(db, &known.batch[known.done..end])?;
        known.done = end;
        if end == known.batch.len() {
            let last = known.batch.iter().map(|entry| entry.serial).max();
            db.prepare_cached(&format!("UPDATE filed SET {0} = coalesce(?1, {0})", kind.name()))?
                .execute(params![last])?;
            known.batch.clear();
            known.done = 0;
        }
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

    /// Files some, of tails of any length.
    async fn file(backend: &Sqlite, most: usize) {
        let store = backend.store();
        let filed = store.writer.run(move |work| {
            work.filing.history.file(work.db, most, 1)?;
            work.filing.ledger.file(work.db, most, 1)
        });
        filed.await.unwrap();
    }

    /// What is in the lists, and what is not filed; of the history, then of the ledger.
    async fn counts(backend: &Sqlite) -> [i64; 4] {
        let store = backend.store();
        let counted = store.readers.run(|db, _| {
            let sql = "SELECT (SELECT count(*) FROM history_filed),
                              (SELECT count(*) FROM history WHERE serial > (SELECT history FROM filed)),
                              (SELECT count(*) FROM ledger_filed),
                              (SELECT count(*) FROM ledger WHERE serial > (SELECT ledger FROM filed))";
            Ok(db.query_row(sql, [], |row| Ok([row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?]))?)
        });
        counted.await.unwrap()
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
        // From none to all of them, and beyond; the tail stays the tail until all of it is in the list.
        for filed in [3, 6, 9, 10, 10] {
            file(&backend, 3).await;
            assert_eq!(told(&world, "a", Vec::new()).await, a);
            assert_eq!(told(&world, "b", vec![Fate::Ran, Fate::Missed]).await, b);
            let tail = if filed < 10 { 10 } else { 0 };
            assert_eq!(counts(&backend).await, [filed, tail, filed, tail]);
        }
    }

    /// A server that dies while a tail is half filed leaves nothing that its successor shows twice, or not at all.
    #[tokio::test]
    async fn a_tail_that_is_half_filed_is_filed_again() {
        let backend = Sqlite::new();
        let mut world = World::new(&backend).await;
        world.put("a", world.minutely()).await;
        for _ in 0..5 {
            for claim in world.claim(0).await {
                assert!(claim.ticket.begin());
                world.settle(&claim, true).await;
            }
            world.pass(60);
        }
        let before = told(&world, "a", Vec::new()).await;
        file(&backend, 3).await;
        // What is only in memory is lost.
        let store = backend.store();
        let forgotten = store.writer.run(|work| {
            work.filing.forget();
            Ok(())
        });
        forgotten.await.unwrap();
        assert_eq!(counts(&backend).await, [3, 5, 3, 5]);
        assert_eq!(told(&world, "a", Vec::new()).await, before);
        file(&backend, 10).await;
        assert_eq!(counts(&backend).await, [5, 0, 5, 0]);
        assert_eq!(told(&world, "a", Vec::new()).await, before);
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
        let retention = Retention { now: world.now, before: world.after(-240), history_per_job: 3 };
        while world.store().prune(retention).await.unwrap() {}
        for name in ["a", "b"] {
            let (history, ledger) = told(&world, name, Vec::new()).await;
            assert_eq!((history.len(), ledger.len()), (3, 4), "{name}");
        }
        let kept: (i64, i64) = backend
            .store()
            .readers
            .run(|db, _| {
                let sql = "SELECT (SELECT count(*) FROM history), (SELECT count(*) FROM ledger)";
                Ok(db.query_row(sql, [], |row| Ok((row.get(0)?, row.get(1)?)))?)
            })
            .await
            .unwrap();
        assert_eq!(kept.0, 6);
        // All that is left is filed, and nothing else is in the lists.
        for _ in 0..2 {
            file(&backend, 100).await;
        }
        assert_eq!(counts(&backend).await, [kept.0, 0, kept.1, 0]);
    }

    #[tokio::test]
    async fn a_tail_that_has_grown_gets_shorter() {
        let backend = Sqlite::new();
        let _world = World::new(&backend).await;
        let store = backend.store();
        let left = store.writer.run(|work| {
            let write = |from: usize, count: usize| {
                work.db.execute(
                    "WITH RECURSIVE n (i) AS (SELECT ?1 UNION ALL SELECT i + 1 FROM n WHERE i < ?1 + ?2 - 1)
                     INSERT INTO history (serial, job_id, started_at, ended_at, expected_at, depth, status,
                       retry_count, repeat_count, message)
                     SELECT i, i % 100, i, i, i, 0, 0, 0, 0, '' FROM n",
                    params![from, count],
                )
            };
            let few = TAIL / 40;
            write(1, TAIL)?;
            let mut filing = Filing::default();
            let mut left = Vec::new();
            // Every time a few are written, and twice as many are filed.
            for round in 0..25 {
                let serials = TAIL + round * few + 1..=TAIL + (round + 1) * few;
                write(*serials.start(), few)?;
                let listed =
                    serials.map(|serial| Listed { job: 0, at: 0, serial: i64::try_from(serial).unwrap() });
                filing.add(Kind::History, listed);
                filing.step(work.db)?;
                let sql = "SELECT count(*) FROM history WHERE serial > (SELECT history FROM filed)";
                left.push(work.db.query_row(sql, [], |row| row.get::<_, usize>(0))?);
            }
            Ok(left)
        });
        let left = left.await.unwrap();
        assert!(left.iter().all(|left| *left < 2 * TAIL), "{left:?}");
        assert!(left.iter().any(|left| *left < TAIL * 6 / 10), "{left:?}");
    }
}
