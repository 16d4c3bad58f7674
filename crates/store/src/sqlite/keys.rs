//! Keys: which of them the store needs, and how everything comes to be sealed with another.
//!
//! Nothing remembers how far a change of keys has come. What is left to do is what other keys have sealed, so it goes on
//! after a crash where it stopped.

use std::collections::BTreeMap;
use std::path::Path;

use model::JobId;
use rusqlite::{Connection, params};

use super::connection;
use super::fault::{Fault, Outcome};
use super::writer::{Shared, Work};
use crate::KeyUse;
use crate::seal::{Key, KeyId, Keyring, Proofs, Sealed, SealedDefinition};

/// The keys that a file's secrets are sealed with; none where there is no file, or one of before.
pub(super) fn of_file(path: &Path) -> Outcome<Vec<KeyId>> {
    if !path.exists() {
        return Ok(Vec::new());
    }
    let db = connection::reader(path)?;
    let there: bool =
        db.query_row("SELECT EXISTS (SELECT 1 FROM sqlite_schema WHERE name = 'keys')", [], |row| {
            row.get(0)
        })?;
    if there { Ok(proofs(&db)?.into_keys().collect()) } else { Ok(Vec::new()) }
}

/// Whether the keys given are those that the store needs; then notes the one that seals from now on.
pub(super) fn check(db: &Connection, keyring: &Keyring) -> Outcome<()> {
    let proofs = proofs(db)?;
    keyring.check_all(&proofs)?;
    // A start on a disk that is full writes nothing that it need not.
    if proofs.contains_key(keyring.first().id()) { Ok(()) } else { note(db, keyring) }
}

/// Writes the proof of the key that seals, unless it is there.
fn note(db: &Connection, keyring: &Keyring) -> Outcome<()> {
    db.prepare_cached("INSERT INTO keys (id, proof) VALUES (?1, ?2) ON CONFLICT DO NOTHING")?
        .execute(params![keyring.first().id().as_str(), keyring.proof()?.as_str()])?;
    Ok(())
}

pub(super) fn proofs(db: &Connection) -> Outcome<Proofs> {
    let mut statement = db.prepare_cached("SELECT id, proof FROM keys")?;
    let mut rows = statement.query([])?;
    let mut proofs = BTreeMap::new();
    while let Some(row) = rows.next()? {
        proofs.insert(key_id(&row.get::<_, String>(0)?)?, Sealed::from_column(row.get(1)?));
    }
    Ok(proofs)
}

fn key_id(text: &str) -> Outcome<KeyId> {
    KeyId::read(text).ok_or_else(|| Fault::Unreadable(format!("keys: '{text}' is no id of a key")))
}

/// See [`Store::keys`](crate::Store::keys).
pub(super) fn uses(db: &Connection, shared: &Shared) -> Outcome<Vec<KeyUse>> {
    let proofs = proofs(db)?;
    let mut counts: BTreeMap<KeyId, u64> = BTreeMap::new();
    let mut statement = db.prepare_cached(
        "SELECT sealed_by, count(*) FROM definitions WHERE sealed_by IS NOT NULL GROUP BY 1
         UNION ALL SELECT sealed_by, count(*) FROM executions WHERE sealed_by IS NOT NULL GROUP BY 1",
    )?;
    let mut rows = statement.query([])?;
    while let Some(row) = rows.next()? {
        *counts.entry(key_id(&row.get::<_, String>(0)?)?).or_default() += row.get::<_, u64>(1)?;
    }
    Ok(shared.sealer.keyring().uses(&proofs, &counts))
}

/// Writes the proof of a key that is to seal. It seals when this is durable, not before.
pub(super) fn add(work: &mut Work<'_>, key: Key) -> Outcome<()> {
    note(work.db, &Keyring::new(key, []))
}

/// See [`Store::reseal`](crate::Store::reseal).
pub(super) fn reseal(work: &mut Work<'_>, most: u32) -> Outcome<u32> {
    let keyring = work.sealer.keyring();
    let mut done = 0;
    for (table, id) in [("definitions", "job_id"), ("executions", "id")] {
        for (row, job, text) in sealed_by_others(work.db, table, id, &keyring, most - done)? {
            let sealed = keyring.seal_anew(text, job)?;
            write(work.db, table, id, row, &sealed)?;
            done += 1;
        }
    }
    Ok(done)
}

fn sealed_by_others(
    db: &Connection,
    table: &str,
    id: &str,
    keyring: &Keyring,
    most: u32,
) -> Outcome<Vec<(i64, JobId, String)>> {
    // Two ranges of the index: `<>` would read all of it.
    let mut statement = db.prepare_cached(&format!(
        "SELECT {id}, job_id, definition FROM {table} WHERE sealed_by IS NOT NULL AND sealed_by < ?1
         UNION ALL
         SELECT {id}, job_id, definition FROM {table} WHERE sealed_by IS NOT NULL AND sealed_by > ?1
         LIMIT ?2"
    ))?;
    let rows = statement.query_map(params![keyring.first().id().as_str(), most], |row| {
        Ok((row.get(0)?, JobId(row.get(1)?), row.get(2)?))
    })?;
    Ok(rows.collect::<rusqlite::Result<_>>()?)
}

/// Puts a definition in the place of the one that a row has.
pub(super) fn write(
    db: &Connection,
    table: &str,
    id: &str,
    row: i64,
    sealed: &SealedDefinition,
) -> Outcome<()> {
    db.prepare_cached(&format!("UPDATE {table} SET definition = ?2, sealed_by = ?3 WHERE {id} = ?1"))?
        .execute(params![row, sealed.text, sealed.key.as_ref().map(KeyId::as_str)])?;
    Ok(())
}

/// See [`Store::retire_keys`](crate::Store::retire_keys).
pub(super) fn retire(work: &mut Work<'_>) -> Outcome<Vec<KeyId>> {
    let mut statement = work.db.prepare_cached(
        "DELETE FROM keys WHERE id <> ?1
         AND NOT EXISTS (SELECT 1 FROM definitions WHERE sealed_by = keys.id)
         AND NOT EXISTS (SELECT 1 FROM executions WHERE sealed_by = keys.id)
         RETURNING id",
    )?;
    let keyring = work.sealer.keyring();
    let ids: Vec<String> = statement
        .query_map(params![keyring.first().id().as_str()], |row| row.get(0))?
        .collect::<rusqlite::Result<_>>()?;
    ids.iter().map(|id| key_id(id)).collect()
}
