//! The audit: one chain, since there is one writer.

use access::audit::{Hash, Link, Removed};
use access::{Act, Entry, Note, Verdict};
use jiff::Timestamp;
use rusqlite::types::Value;
use rusqlite::{Connection, Row, params, params_from_iter};

use super::columns::instant_of;
use super::fault::{Fault, Outcome};
use super::sight::Columns;
use super::writer::Work;
use crate::codec::{key, ticks};
use crate::register::note_as_kept;
use crate::{AuditQuery, Chain};

/// The chain of this store.
const CHAIN: i64 = 0;

/// The most entries that one call removes.
const CHUNK: i64 = 1_000;

const COLUMNS: &str = "chain, serial, at, who, name, source, act, target, verdict, detail, hash";

/// The end of the chain: followed in memory during a group of changes and written once, before its commit.
#[derive(Debug, Default, Clone, Copy)]
pub(super) struct End {
    /// The last entry; `None` when it has to be read.
    last: Option<Link>,
    /// The number of the last entry that is written as the end.
    written: i64,
}

impl End {
    fn read(&mut self, db: &Connection) -> Outcome<Link> {
        if let Some(last) = self.last {
            return Ok(last);
        }
        let last = db
            .prepare_cached("SELECT serial, hash FROM audit_chains WHERE chain = ?1")?
            .query_row(params![CHAIN], |row| link(row, 0))?;
        *self = Self { last: Some(last), written: last.serial };
        Ok(last)
    }

    /// Writes where the chain ends, if it went on.
    pub(super) fn write(&mut self, db: &Connection) -> Outcome<()> {
        if let Some(last) = self.last.filter(|last| last.serial != self.written) {
            db.prepare_cached("UPDATE audit_chains SET serial = ?2, hash = ?3 WHERE chain = ?1")?
                .execute(params![CHAIN, last.serial, last.hash.0])?;
            self.written = last.serial;
        }
        Ok(())
    }

    /// After a rollback it is not known what is stored.
    pub(super) fn forget(&mut self) {
        *self = Self::default();
    }
}

/// Writes a note at the end of the chain.
pub(super) fn insert(work: &mut Work<'_>, note: &Note) -> Outcome<()> {
    let db = work.db;
    let next = work.audit_end.read(db)?.follow(CHAIN, note);
    let [subscription, group, name] = note.scope().keys();
    db.prepare_cached(
        "INSERT INTO audit (chain, serial, at, who, name, source, act, target, verdict, detail, hash, \
         subscription_key, group_key, name_key) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14)",
    )?
    .execute(params![
        CHAIN,
        next.serial,
        ticks(note.at),
        note.who,
        note.name,
        note.from,
        note.act.name(),
        note.target,
        note.verdict.name(),
        note.detail,
        next.hash.0,
        subscription,
        group,
        name,
    ])?;
    work.audit_end.last = Some(next);
    Ok(())
}

fn link(row: &Row<'_>, column: usize) -> rusqlite::Result<Link> {
    Ok(Link { serial: row.get(column)?, hash: Hash(row.get(column + 1)?) })
}

/// See [`Register::audit`](crate::Register::audit).
pub(super) fn audit(
    db: &Connection,
    query: &AuditQuery,
    sight: Option<&str>,
    top: u32,
) -> Outcome<Vec<Entry>> {
    let mut sql = format!("SELECT {COLUMNS} FROM audit WHERE at BETWEEN ? AND ?");
    let latest = query.before.map(|(at, ..)| ticks(at));
    let to = latest.into_iter().chain(query.at.to.map(ticks)).min().unwrap_or(i64::MAX);
    let mut values: Vec<Value> = vec![query.at.from.map_or(i64::MIN, ticks).into(), to.into()];
    let mut add = |condition: &str, given: &[Value]| {
        sql.push_str(" AND ");
        sql.push_str(condition);
        values.extend_from_slice(given);
    };
    if let Some((at, chain, serial)) = query.before {
        add("(at, chain, serial) < (?, ?, ?)", &[ticks(at).into(), chain.into(), serial.into()]);
    }
    if let Some(who) = &query.who {
        add("who = ?", &[who.clone().into()]);
    }
    if let Some(act) = query.act {
        add("act = ?", &[act.name().to_owned().into()]);
    }
    if let Some(verdict) = query.verdict {
        add("verdict = ?", &[verdict.name().to_owned().into()]);
    }
    if let Some(text) = query.search.as_deref().map(key).filter(|text| !text.is_empty()) {
        add(
            "(instr(lower(target), ?) > 0 OR instr(lower(name), ?) > 0)",
            &[text.clone().into(), text.into()],
        );
    }
    if let Some(sight) = sight {
        add(&Columns::COLLECTION.seen("?"), &[sight.to_owned().into()]);
    }
    sql.push_str(" ORDER BY at DESC, chain DESC, serial DESC LIMIT ?");
    values.push(i64::from(top).into());
    let mut statement = db.prepare_cached(&sql)?;
    let mut rows = statement.query(params_from_iter(values))?;
    let mut found = Vec::new();
    while let Some(row) = rows.next()? {
        found.push(read(row)?);
    }
    Ok(found)
}

fn read(row: &Row<'_>) -> Outcome<Entry> {
    let serial = row.get(1)?;
    let (act, verdict): (String, String) = (row.get(6)?, row.get(8)?);
    let note = Note {
        at: instant_of(row, 2)?,
        who: row.get(3)?,
        name: row.get(4)?,
        from: row.get(5)?,
        act: Act::named(&act).ok_or_else(|| Fault::unreadable("audit.act", serial, "it is no act"))?,
        target: row.get(7)?,
        verdict: Verdict::named(&verdict)
            .ok_or_else(|| Fault::unreadable("audit.verdict", serial, "it is no verdict"))?,
        detail: row.get(9)?,
    };
    Ok(Entry { chain: row.get(0)?, serial, note, hash: Hash(row.get(10)?) })
}

/// See [`Register::audit_chains`](crate::Register::audit_chains).
pub(super) fn chains(db: &Connection) -> Outcome<Vec<Chain>> {
    let mut statement = db.prepare_cached(
        "SELECT chain, serial, hash, before_serial, before_hash, unmarked_serial FROM audit_chains WHERE serial > 0
         ORDER BY chain",
    )?;
    let rows = statement.query_map([], |row| {
        let (last, before) = (link(row, 1)?, link(row, 3)?);
        Ok(Chain { number: row.get(0)?, last, before, unmarked: row.get(5)? })
    })?;
    Ok(rows.collect::<rusqlite::Result<_>>()?)
}

/// See [`Register::audit_of`](crate::Register::audit_of).
pub(super) fn of_chain(db: &Connection, chain: i64, after: i64, top: u32) -> Outcome<Vec<Entry>> {
    let mut statement = db.prepare_cached(&format!(
        "SELECT {COLUMNS} FROM audit WHERE chain = ?1 AND serial > ?2 ORDER BY serial LIMIT ?3"
    ))?;
    let mut rows = statement.query(params![chain, after, top])?;
    let mut found = Vec::new();
    while let Some(row) = rows.next()? {
        found.push(read(row)?);
    }
    Ok(found)
}

/// See [`Register::prune_audit`](crate::Register::prune_audit). Only what stands at the beginning goes, so that the rest
/// is a chain.
pub(super) fn prune(work: &mut Work<'_>, before: Timestamp, now: Timestamp) -> Outcome<bool> {
    let db = work.db;
    let oldest: Vec<(Link, i64)> = db
        .prepare_cached("SELECT serial, hash, at FROM audit WHERE chain = ?1 ORDER BY serial LIMIT ?2")?
        .query_map(params![CHAIN, CHUNK], |row| Ok((link(row, 0)?, row.get(2)?)))?
        .collect::<rusqlite::Result<_>>()?;
    let old: Vec<Link> =
        oldest.into_iter().take_while(|(_, at)| *at < ticks(before)).map(|(link, _)| link).collect();
    let Some(last) = old.last() else { return Ok(false) };
    db.prepare_cached("DELETE FROM audit WHERE chain = ?1 AND serial <= ?2")?
        .execute(params![CHAIN, last.serial])?;
    db.prepare_cached("UPDATE audit_chains SET before_serial = ?2, before_hash = ?3 WHERE chain = ?1")?
        .execute(params![CHAIN, last.serial, last.hash.0])?;
    insert(work, &note_as_kept(Removed { last: *last, at: now, before }.note()))?;
    Ok(old.len() as i64 == CHUNK)
}
