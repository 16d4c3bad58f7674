//! Keys: which of them the store needs, and how everything comes to be sealed with another.
//!
//! Every node needs all keys that any node seals with. One that lacks a key claims nothing, so that it cannot take what
//! it cannot open for damaged.

use std::collections::BTreeMap;

use model::JobId;

use super::columns::number;
use super::fault::{Fault, Outcome};
use super::work::Work;
use crate::seal::{KeyId, Keyring, Proofs, Sealed, SealedDefinition};
use crate::{Error, KeyUse};

/// Whether the keys given are those that the store needs; then notes the one that seals from now on.
pub(super) async fn check(work: &mut Work<'_>) -> Outcome<()> {
    let keyring = work.shared.sealer.keyring();
    keyring.check_all(&proofs(work).await?)?;
    note(work, &keyring).await
}

/// Writes the proof of the key that seals, unless it is there. A key that was retired is needed again when somebody seals
/// with it.
pub(super) async fn note(work: &Work<'_>, keyring: &Keyring) -> Outcome<()> {
    let proof = keyring.proof()?;
    work.execute(
        "INSERT INTO keys (id, proof) VALUES ($1, $2) ON CONFLICT DO NOTHING",
        &[&keyring.first().id().as_str(), &proof.as_str()],
    )
    .await?;
    Ok(())
}

/// Refuses to go on where this node lacks a key that others seal with.
pub(super) async fn none_is_lacking(work: &Work<'_>) -> Outcome<()> {
    let rows = work.query("SELECT id FROM keys", &[]).await?;
    all_are_held(work, rows.iter().map(|row| row.try_get(0)).collect::<Result<_, _>>()?)
}

/// The same, where the keys are known.
pub(super) fn all_are_held(work: &Work<'_>, ids: Vec<&str>) -> Outcome<()> {
    let keyring = work.shared.sealer.keyring();
    for id in ids {
        let id = key_id(id)?;
        if keyring.get(&id).is_none() {
            return Err(Fault::Told(Error::Unavailable(format!(
                "{}: other nodes seal secrets with the key {id}, which this node was not given",
                work.shared.address.place
            ))));
        }
    }
    Ok(())
}

async fn proofs(work: &Work<'_>) -> Outcome<Proofs> {
    let rows = work.query("SELECT id, proof FROM keys", &[]).await?;
    rows.iter().map(|row| Ok((key_id(row.try_get(0)?)?, Sealed::from_column(row.try_get(1)?)))).collect()
}

pub(super) fn key_id(text: &str) -> Outcome<KeyId> {
    KeyId::read(text).ok_or_else(|| Fault::Unreadable(format!("keys: '{text}' is no id of a key")))
}

/// See [`Store::keys`](crate::Store::keys).
pub(super) async fn uses(work: &Work<'_>) -> Outcome<Vec<KeyUse>> {
    let proofs = proofs(work).await?;
    let rows = work
        .query(
            "SELECT sealed_by, count(*) FROM definitions WHERE sealed_by IS NOT NULL GROUP BY 1
             UNION ALL SELECT sealed_by, count(*) FROM executions WHERE sealed_by IS NOT NULL GROUP BY 1",
            &[],
        )
        .await?;
    let mut counts: BTreeMap<KeyId, u64> = BTreeMap::new();
    for row in &rows {
        *counts.entry(key_id(row.try_get(0)?)?).or_default() += number::<u64>(row, 1)?;
    }
    Ok(work.shared.sealer.keyring().uses(&proofs, &counts))
}

/// See [`Store::reseal`](crate::Store::reseal).
pub(super) async fn reseal(work: &mut Work<'_>, most: u32) -> Outcome<u32> {
    let keyring = work.shared.sealer.keyring();
    let first = keyring.first().id().as_str();
    let mut done = 0;
    for (table, id) in [("definitions", "job_id"), ("executions", "id")] {
        // What somebody is changing is sealed by that change, or the next time.
        let sql = format!(
            "SELECT {id}, job_id, definition FROM {table} WHERE sealed_by IS NOT NULL AND sealed_by <> $1
             LIMIT $2 FOR UPDATE SKIP LOCKED"
        );
        for row in work.query(&sql, &[&first, &i64::from(most - done)]).await? {
            let sealed = keyring.seal_anew(row.try_get(2)?, JobId(row.try_get(1)?))?;
            write(work, table, id, row.try_get(0)?, &sealed).await?;
            done += 1;
        }
    }
    if done > 0 {
        note(work, &keyring).await?;
    }
    Ok(done)
}

async fn write(work: &Work<'_>, table: &str, id: &str, row: i64, sealed: &SealedDefinition) -> Outcome<()> {
    let sql = format!("UPDATE {table} SET definition = $2, sealed_by = $3 WHERE {id} = $1");
    work.execute(&sql, &[&row, &sealed.text, &sealed.key.as_ref().map(KeyId::as_str)]).await?;
    Ok(())
}

/// See [`Store::retire_keys`](crate::Store::retire_keys).
pub(super) async fn retire(work: &mut Work<'_>) -> Outcome<Vec<KeyId>> {
    let keyring = work.shared.sealer.keyring();
    let rows = work
        .query(
            "DELETE FROM keys WHERE id <> $1
             AND NOT EXISTS (SELECT 1 FROM definitions WHERE sealed_by = keys.id)
             AND NOT EXISTS (SELECT 1 FROM executions WHERE sealed_by = keys.id)
             RETURNING id",
            &[&keyring.first().id().as_str()],
        )
        .await?;
    rows.iter().map(|row| key_id(row.try_get(0)?)).collect()
}
