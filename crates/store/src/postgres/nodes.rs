//! Nodes: who lives, and what becomes of the claims of those who do not.
//!
//! A node is a row with a lease, by the clock of the database. A claim names its node's epoch, and a claiming transaction
//! holds on to the node's row; so once the row is gone, no claim can come after it, and all that were there are free.

use jiff::SignedDuration;
use model::Timestamp;
use tokio::time::Instant;
use tokio_postgres::{Client, Row};

use super::fault::Outcome;
use super::pulse::{CHANNEL, HELD, LEASE};
use super::{Shared, columns, migrations, moves, tickets};
use crate::codec::{instant, ticks};
use crate::lease::{Lease, Moment};
use crate::node::Node;

/// The lease's length for SQL.
const LEASE_SECONDS: f64 = LEASE.as_secs() as f64;

/// The instant of the database, in ticks.
pub(super) const NOW: &str = "(extract(epoch FROM clock_timestamp()) * 10000000)::bigint";

/// Joins the others: a new epoch with a lease. Whoever had this node's name before has lost its lease at once.
///
/// `None` where the name is taken and must not be taken away.
pub(super) async fn join(
    shared: &Shared,
    client: &mut Client,
    displace: bool,
    now: Timestamp,
) -> Outcome<Option<Lease>> {
    let transaction = client.transaction().await?;
    let name = &shared.settings.node;
    let same = transaction.query("SELECT epoch FROM nodes WHERE name = $1 FOR UPDATE", &[name]).await?;
    if !same.is_empty() && !displace {
        return Ok(None);
    }
    let before: Vec<i64> = same.iter().map(|row| row.try_get(0)).collect::<Result<_, _>>()?;
    transaction.execute("DELETE FROM nodes WHERE epoch = ANY($1)", &[&before]).await?;
    free_claims(&transaction, &before, now).await?;
    let asked_at = Moment::now();
    let row = transaction
        .query_one(
            "INSERT INTO nodes (name, version, started_at, lease_until)
             VALUES ($1, $2, $3, clock_timestamp() + make_interval(secs => $4)) RETURNING epoch",
            &[name, &shared.settings.version, &ticks(now), &LEASE_SECONDS],
        )
        .await?;
    let epoch = row.try_get(0)?;
    let (known, place) = (shared.schema, &shared.address.place);
    migrations::join(&transaction, known, place).await?;
    if known >= migrations::TELLS {
        transaction.execute("UPDATE nodes SET schema = $2 WHERE epoch = $1", &[&epoch, &known]).await?;
        // After the row is there: a move that begins at this moment waits for us, or we see it.
        moves::serve(&transaction, place).await?;
    }
    transaction.commit().await?;
    Ok(Some(Lease::new(epoch, asked_at, HELD)))
}

/// How often the database is asked for its time in a row. The clock is late by as much as the quickest answer took, and each
/// alone may be held up.
const QUESTIONS: usize = 3;

/// Asks the database for its time.
pub(super) async fn ask_for_time(shared: &Shared, client: &Client) -> Outcome<()> {
    // Apart from the questions, because it would be part of what they take.
    let question = client.prepare(&format!("SELECT {NOW}")).await?;
    for _ in 0..QUESTIONS {
        let before = Instant::now();
        let row = client.query_one(&question, &[]).await?;
        shared.time.measure(before, instant(row.try_get(0)?), Instant::now());
    }
    Ok(())
}

/// Renews a lease: whether it was not lost.
pub(super) async fn renew(shared: &Shared, client: &Client, lease: &Lease) -> Outcome<bool> {
    // The time first: as soon as the lease holds, calls are begun by it.
    ask_for_time(shared, client).await?;
    let asked_at = Moment::now();
    let offset = shared.time.ahead_of(&*shared.clock);
    let renewed = client
        .execute(
            "UPDATE nodes SET lease_until = clock_timestamp() + make_interval(secs => $2), clock_offset = $3
             WHERE epoch = $1",
            &[&lease.epoch(), &LEASE_SECONDS, &(offset.as_nanos() as i64 / 100)],
        )
        .await?;
    if renewed == 0 {
        return Ok(false);
    }
    lease.renew(asked_at);
    Ok(true)
}

/// The epochs of all nodes, and whether any of them has let its lease run out.
pub(super) async fn living(client: &Client) -> Outcome<(Vec<i64>, bool)> {
    let rows = client.query("SELECT epoch, lease_until < clock_timestamp() FROM nodes", &[]).await?;
    let (mut living, mut any_gone) = (Vec::new(), false);
    for row in rows {
        if row.try_get(1)? {
            any_gone = true;
        } else {
            living.push(row.try_get(0)?);
        }
    }
    Ok((living, any_gone))
}

/// Sets free what nodes have claimed whose leases have run out, unless we have just come back ourselves.
pub(super) async fn take_over(shared: &Shared, client: &mut Client, now: Timestamp) -> Outcome<()> {
    if !shared.seat.may_judge() {
        return Ok(());
    }
    let transaction = client.transaction().await?;
    let gone = transaction
        .query(
            "DELETE FROM nodes WHERE epoch IN (
               SELECT epoch FROM nodes WHERE lease_until < clock_timestamp() ORDER BY epoch FOR UPDATE SKIP LOCKED)
             RETURNING epoch, name",
            &[],
        )
        .await?;
    let epochs: Vec<i64> = gone.iter().map(|row| row.try_get(0)).collect::<Result<_, _>>()?;
    let freed = free_claims(&transaction, &epochs, now).await?;
    if !epochs.is_empty() {
        transaction.query("SELECT pg_notify($1, $2)", &[&CHANNEL, &"due 0"]).await?;
    }
    transaction.commit().await?;
    for row in gone {
        let (epoch, name): (i64, String) = (row.try_get(0)?, row.try_get(1)?);
        tracing::warn!(node = name, epoch, "a node has let its lease run out; its claims are free");
    }
    if !epochs.is_empty() {
        tracing::info!(freed, "took over");
        shared.bell.ring();
    }
    Ok(())
}

/// Gives the seat up and all that is claimed.
pub(super) async fn leave(client: &mut Client, epoch: i64, now: Timestamp) -> Outcome<()> {
    let transaction = client.transaction().await?;
    transaction.execute("DELETE FROM nodes WHERE epoch = $1", &[&epoch]).await?;
    if free_claims(&transaction, &[epoch], now).await? > 0 {
        transaction.query("SELECT pg_notify($1, $2)", &[&CHANNEL, &"due 0"]).await?;
    }
    Ok(transaction.commit().await?)
}

/// Sets the claims of epochs free whose nodes are gone.
///
/// Whether they were begun cannot be known: those that were due by now are executions for good.
async fn free_claims(
    transaction: &tokio_postgres::Transaction<'_>,
    epochs: &[i64],
    now: Timestamp,
) -> Outcome<u64> {
    if epochs.is_empty() {
        return Ok(0);
    }
    Ok(transaction
        .execute(
            "UPDATE executions
             SET claimed_by = NULL, revoked = false, begun = false, ahead = (ahead AND due_at > $2)
             WHERE id = ANY(ARRAY(SELECT id FROM executions WHERE claimed_by = ANY($1) ORDER BY id FOR UPDATE))",
            &[&epochs, &ticks(now)],
        )
        .await?)
}

/// Sets claims free that we hold and nobody will begin. It waits for a claim that is being committed.
pub(super) async fn free_lost(shared: &Shared, client: &mut Client) -> Outcome<()> {
    let lost = shared.tickets.lost();
    if lost.is_empty() {
        return Ok(());
    }
    let ids = tickets::ids(&lost);
    let epoch = shared.seat.epoch();
    let transaction = client.transaction().await?;
    transaction.query("SELECT epoch FROM nodes WHERE epoch = $1 FOR UPDATE", &[&epoch]).await?;
    transaction
        .execute(
            "UPDATE executions SET claimed_by = NULL, revoked = false, begun = false
             WHERE id = ANY(ARRAY(SELECT id FROM executions WHERE id = ANY($1) AND claimed_by = $2 ORDER BY id FOR UPDATE))",
            &[&ids, &epoch],
        )
        .await?;
    transaction.commit().await?;
    shared.tickets.forget(&lost);
    shared.bell.ring();
    Ok(())
}

/// See [`Store::nodes`](crate::Store::nodes).
pub(super) async fn list(work: &super::work::Work<'_>) -> Outcome<Vec<Node>> {
    read(&work.query(LIST, &[]).await?, work.epoch)
}

/// All nodes, by name, for [`read`].
pub(super) const LIST: &str = "SELECT n.epoch, n.name, n.version, n.started_at, n.clock_offset,
            (extract(epoch FROM n.lease_until - clock_timestamp()) * 1000)::bigint,
            (SELECT count(*) FROM executions e WHERE e.claimed_by = n.epoch)
     FROM nodes n ORDER BY n.name COLLATE \"C\"";

/// The nodes that rows of [`LIST`] tell of; `this` is the epoch of the one that asks, 0 where it is none.
pub(super) fn read(rows: &[Row], this: i64) -> Outcome<Vec<Node>> {
    rows.iter()
        .map(|row| {
            let epoch = row.try_get(0)?;
            Ok(Node {
                epoch,
                name: row.try_get(1)?,
                version: row.try_get(2)?,
                started_at: columns::instant_of(row, 3)?,
                clock_offset: SignedDuration::from_nanos(row.try_get::<_, i64>(4)?.saturating_mul(100)),
                lease_left: SignedDuration::from_millis(row.try_get(5)?),
                claims: columns::number(row, 6)?,
                is_this: epoch == this,
            })
        })
        .collect()
}
