//! The audit: many chains, so that changes of all nodes need not wait for each other.
//!
//! A note is written last in its transaction, at the end of a chain that nobody else holds at the moment. All chains
//! together tell what happened; each has no gaps.

use std::sync::Arc;

use access::audit::{Hash, Link, Removed};
use access::{Act, Entry, Note, Verdict};
use jiff::Timestamp;
use tokio_postgres::types::ToSql;
use tokio_postgres::{Row, Transaction};

use super::columns::{instant_of, key, text};
use super::fault::{Fault, Outcome};
use super::sight::Columns;
use super::work::Work;
use crate::codec::ticks;
use crate::register::note_as_kept;
use crate::{AuditQuery, Chain};

/// The most entries that one call removes.
const CHUNK: i64 = 1_000;

/// The most chains that one call looks after.
const CHAINS: i64 = 8;

const COLUMNS: &str = "chain, serial, at, who, name, source, act, target, verdict, detail, hash";

/// Makes the chains that are not there.
pub(super) async fn make_chains(transaction: &Transaction<'_>) -> Outcome<()> {
    transaction
        .batch_execute(
            "INSERT INTO audit_chains
             SELECT chain, 0, decode(repeat('00', 32), 'hex'), 0, decode(repeat('00', 32), 'hex')
             FROM generate_series(0, 63) AS chain ON CONFLICT DO NOTHING",
        )
        .await?;
    Ok(())
}

/// Writes the notes of a transaction, as the last thing that it does: all of them in one chain.
pub(super) async fn insert(work: &Work<'_>, notes: &[Arc<Note>]) -> Outcome<()> {
    if notes.is_empty() {
        return Ok(());
    }
    let free = "SELECT chain, serial, hash FROM audit_chains ORDER BY chain LIMIT 1 FOR UPDATE SKIP LOCKED";
    let row = match work.query_opt(free, &[]).await? {
        Some(row) => row,
        // All are taken: wait for one, by chance.
        None => {
            let any = "SELECT chain, serial, hash FROM audit_chains
                       WHERE chain = (SELECT floor(random() * count(*))::bigint FROM audit_chains) FOR UPDATE";
            let row = work.query_opt(any, &[]).await?;
            row.ok_or(Fault::Overtaken("there is no chain of the audit"))?
        }
    };
    append(work, row.try_get(0)?, link(&row, 1)?, notes).await
}

/// Writes notes at the end of a chain that is held on to.
async fn append(work: &Work<'_>, chain: i64, mut last: Link, notes: &[Arc<Note>]) -> Outcome<()> {
    let mut links = Vec::with_capacity(notes.len());
    for note in notes {
        last = last.follow(chain, note);
        links.push(last);
    }
    let serials: Vec<i64> = links.iter().map(|link| link.serial).collect();
    let hashes: Vec<&[u8]> = links.iter().map(|link| &link.hash.0[..]).collect();
    let at: Vec<i64> = notes.iter().map(|note| ticks(note.at)).collect();
    let of = |value: fn(&Note) -> &str| notes.iter().map(|note| value(note)).collect::<Vec<&str>>();
    let keys: Vec<[Option<String>; 3]> = notes.iter().map(|note| note.scope().keys()).collect();
    let key = |place: usize| keys.iter().map(|keys| keys[place].as_deref()).collect::<Vec<Option<&str>>>();
    work.execute(
        // Both at once: each way to the database and back is one more while the chain is held.
        "WITH ended AS (UPDATE audit_chains SET serial = $2, hash = $3 WHERE chain = $1) \
         INSERT INTO audit (chain, serial, at, who, name, source, act, target, verdict, detail, hash, \
         subscription_key, group_key, name_key)
         SELECT $1::bigint, * FROM unnest($4::bigint[], $5::bigint[], $6::text[], $7::text[], $8::text[], $9::text[],
           $10::text[], $11::text[], $12::text[], $13::bytea[], $14::text[], $15::text[], $16::text[])",
        &[
            &chain,
            &last.serial,
            &&last.hash.0[..],
            &serials,
            &at,
            &of(|note| &note.who),
            &of(|note| &note.name),
            &of(|note| &note.from),
            &of(|note| note.act.name()),
            &of(|note| &note.target),
            &of(|note| note.verdict.name()),
            &of(|note| &note.detail),
            &hashes,
            &key(0),
            &key(1),
            &key(2),
        ],
    )
    .await?;
    Ok(())
}

fn link(row: &Row, column: usize) -> Outcome<Link> {
    Ok(Link { serial: row.try_get(column)?, hash: hash(row, column + 1)? })
}

fn hash(row: &Row, column: usize) -> Outcome<Hash> {
    let bytes: &[u8] = row.try_get(column)?;
    let bytes =
        bytes.try_into().map_err(|_| Fault::Unreadable("audit: a hash has not 32 bytes".to_owned()))?;
    Ok(Hash(bytes))
}

/// See [`Register::audit`](crate::Register::audit).
pub(super) async fn audit(
    work: &Work<'_>,
    query: &AuditQuery,
    sight: Option<&str>,
    top: u32,
) -> Outcome<Vec<Entry>> {
    let from = query.at.from.map_or(i64::MIN, ticks);
    let latest = query.before.map(|(at, ..)| ticks(at));
    let to = latest.into_iter().chain(query.at.to.map(ticks)).min().unwrap_or(i64::MAX);
    let before = query.before.map(|(at, chain, serial)| (ticks(at), chain, serial));
    let (top, who) = (i64::from(top), query.who.as_deref().map(text));
    let (act, verdict) = (query.act.map(Act::name), query.verdict.map(Verdict::name));
    let search = query.search.as_deref().map(key).filter(|text| !text.is_empty());
    let mut sql = format!("SELECT {COLUMNS} FROM audit WHERE at BETWEEN $1 AND $2");
    let mut values: Vec<&(dyn ToSql + Sync)> = vec![&from, &to, &top];
    if let Some((at, chain, serial)) = &before {
        values.extend([at as &(dyn ToSql + Sync), chain, serial]);
        sql.push_str(" AND (at, chain, serial) < ($4, $5, $6)");
    }
    if let Some(who) = &who {
        values.push(who);
        sql.push_str(&format!(" AND who = ${}", values.len()));
    }
    if let Some(act) = &act {
        values.push(act);
        sql.push_str(&format!(" AND act = ${}", values.len()));
    }
    if let Some(verdict) = &verdict {
        values.push(verdict);
        sql.push_str(&format!(" AND verdict = ${}", values.len()));
    }
    if let Some(search) = &search {
        values.push(search);
        let number = values.len();
        sql.push_str(&format!(
            " AND (strpos(lower(target), ${number}) > 0 OR strpos(lower(name), ${number}) > 0)"
        ));
    }
    if sight.is_some() {
        values.push(&sight);
        sql.push_str(&format!(" AND {}", Columns::COLLECTION.seen(values.len())));
    }
    sql.push_str(" ORDER BY at DESC, chain DESC, serial DESC LIMIT $3");
    work.query(&sql, &values).await?.iter().map(read).collect()
}

fn read(row: &Row) -> Outcome<Entry> {
    let serial: i64 = row.try_get(1)?;
    let unreadable = |what: &str| Fault::Unreadable(format!("audit.{what} of row {serial}: it is none"));
    let note = Note {
        at: instant_of(row, 2)?,
        who: row.try_get(3)?,
        name: row.try_get(4)?,
        from: row.try_get(5)?,
        act: Act::named(row.try_get(6)?).ok_or_else(|| unreadable("act"))?,
        target: row.try_get(7)?,
        verdict: Verdict::named(row.try_get(8)?).ok_or_else(|| unreadable("verdict"))?,
        detail: row.try_get(9)?,
    };
    Ok(Entry { chain: row.try_get(0)?, serial, note, hash: hash(row, 10)? })
}

/// See [`Register::audit_chains`](crate::Register::audit_chains).
pub(super) async fn chains(work: &Work<'_>) -> Outcome<Vec<Chain>> {
    let sql = "SELECT chain, serial, hash, before_serial, before_hash, unmarked_serial FROM audit_chains WHERE serial > 0
               ORDER BY chain";
    let rows = work.query(sql, &[]).await?;
    rows.iter()
        .map(|row| {
            let (last, before) = (link(row, 1)?, link(row, 3)?);
            Ok(Chain { number: row.try_get(0)?, last, before, unmarked: row.try_get(5)? })
        })
        .collect()
}

/// See [`Register::audit_of`](crate::Register::audit_of).
pub(super) async fn of_chain(work: &Work<'_>, chain: i64, after: i64, top: u32) -> Outcome<Vec<Entry>> {
    let sql =
        format!("SELECT {COLUMNS} FROM audit WHERE chain = $1 AND serial > $2 ORDER BY serial LIMIT $3");
    work.query(&sql, &[&chain, &after, &i64::from(top)]).await?.iter().map(read).collect()
}

/// See [`Register::prune_audit`](crate::Register::prune_audit). Only what stands at the beginning of a chain goes, so that
/// the rest is a chain.
pub(super) async fn prune(work: &Work<'_>, before: Timestamp, now: Timestamp) -> Outcome<bool> {
    // A few at a time, so that some are left for those who write; one that is written to has its turn next time.
    let chains = work
        .ids(
            "SELECT chain FROM audit_chains c
             WHERE EXISTS (SELECT 1 FROM audit a
                           WHERE a.chain = c.chain AND a.serial = c.before_serial + 1 AND a.at < $1)
             ORDER BY chain LIMIT $2 FOR UPDATE SKIP LOCKED",
            &[&ticks(before), &CHAINS],
        )
        .await?;
    let mut more = chains.len() as i64 == CHAINS;
    for chain in chains {
        let sql = "SELECT serial, hash, at FROM audit WHERE chain = $1 ORDER BY serial LIMIT $2";
        let mut rows = work.query(sql, &[&chain, &CHUNK]).await?;
        let kept = rows.iter().position(|row| row.try_get(2).is_ok_and(|at: i64| at >= ticks(before)));
        rows.truncate(kept.unwrap_or(rows.len()));
        let Some(last) = rows.last() else { continue };
        let last = link(last, 0)?;
        work.execute("DELETE FROM audit WHERE chain = $1 AND serial <= $2", &[&chain, &last.serial]).await?;
        work.execute(
            "UPDATE audit_chains SET before_serial = $2, before_hash = $3 WHERE chain = $1",
            &[&chain, &last.serial, &&last.hash.0[..]],
        )
        .await?;
        let end = work.query_opt("SELECT serial, hash FROM audit_chains WHERE chain = $1", &[&chain]).await?;
        let end = end.ok_or(Fault::Overtaken("a chain of the audit is gone"))?;
        let mark = note_as_kept(Removed { last, at: now, before }.note());
        append(work, chain, link(&end, 0)?, &[Arc::new(mark)]).await?;
        more |= rows.len() as i64 == CHUNK;
    }
    Ok(more)
}
