//! Revocation: a change wants back what is claimed ahead, and only the holder knows whether it is begun.
//!
//! The one who changes marks the claims and tells the holders. A holder tries to cancel the tickets and writes down what
//! came of it: the claim is given back, or it is begun. The other waits for that, at the longest until the holder's lease
//! has ended, and decides then by what the rows say. Meanwhile nobody claims what was given back.
//!
//! It is the same when holder and changer are one node; then there is nothing to wait for.

use std::time::Duration;

use tokio::time::{Instant, sleep};
use tokio_postgres::Client;

use super::fault::{Fault, Kind, Outcome};
use super::pulse::{CHANNEL, LEASE};
use super::{Shared, nodes, tickets};
use crate::{Error, Result};

/// How long what was given back is kept for whoever asked. Only a change that never ends needs it.
const KEPT_SECONDS: f64 = 10.0;

/// How long answers are waited for: until a holder that does not answer has lost its lease, and a little.
const PATIENCE: Duration = LEASE.saturating_mul(2);

/// The first and the longest pause between two looks for answers.
const PAUSE: Duration = Duration::from_millis(2);
const LONGEST_PAUSE: Duration = Duration::from_millis(50);

/// Asks the holders of claims, and returns when all have answered.
pub(super) async fn revoke(shared: &Shared, ids: &[i64]) -> Result<()> {
    let deadline = Instant::now() + PATIENCE;
    loop {
        match ask_and_wait(shared, ids, deadline).await {
            Ok(true) => return Ok(()),
            Ok(false) => return Err(Fault::Claimed(ids.to_vec()).tell(&shared.address.place)),
            Err(fault) if fault.kind() == Kind::Conflict && Instant::now() < deadline => sleep(PAUSE).await,
            Err(fault) => return Err(fault.tell(&shared.address.place)),
        }
    }
}

async fn ask_and_wait(shared: &Shared, ids: &[i64], deadline: Instant) -> Outcome<bool> {
    let mut client = shared.pool.get().await?;
    let asked = client
        .query(
            "UPDATE executions
             SET revoked = true, kept_until = clock_timestamp() + make_interval(secs => $2)
             WHERE id = ANY(ARRAY(SELECT id FROM executions WHERE id = ANY($1) AND claimed_by IS NOT NULL AND NOT begun
                          ORDER BY id FOR UPDATE))
             RETURNING claimed_by",
            &[&ids, &KEPT_SECONDS],
        )
        .await?;
    let mut holders: Vec<i64> =
        asked.iter().map(|row| row.try_get(0)).collect::<std::result::Result<_, _>>()?;
    holders.sort_unstable();
    holders.dedup();
    let own = shared.seat.epoch();
    for holder in holders {
        if holder == own {
            answer(shared, &client).await?;
        } else {
            client.query("SELECT pg_notify($1, $2)", &[&CHANNEL, &format!("revoked {holder}")]).await?;
        }
    }
    let mut pause = PAUSE;
    loop {
        let sql = "SELECT count(*) FROM executions WHERE id = ANY($1) AND revoked";
        if client.query_one(sql, &[&ids]).await?.try_get::<_, i64>(0)? == 0 {
            return Ok(true);
        }
        if Instant::now() >= deadline {
            return Ok(false);
        }
        sleep(pause).await;
        pause = (pause * 2).min(LONGEST_PAUSE);
        if pause == LONGEST_PAUSE {
            nodes::take_over(shared, &mut client, shared.now()).await?;
        }
    }
}

/// Answers for the claims that we hold and somebody wants back.
pub(super) async fn answer(shared: &Shared, client: &Client) -> Outcome<()> {
    let epoch = shared.seat.epoch();
    // In words that only the index of what is wanted back fits: by the others, this would read all that this node holds.
    let sql = "SELECT id FROM executions WHERE revoked AND claimed_by IS NOT DISTINCT FROM $1";
    let asked = client.query(sql, &[&epoch]).await?;
    if asked.is_empty() {
        return Ok(());
    }
    let asked: Vec<i64> = asked.iter().map(|row| row.try_get(0)).collect::<std::result::Result<_, _>>()?;
    let (mut taken_back, mut begun) = (Vec::new(), Vec::new());
    for id in asked {
        match shared.tickets.take_back(id) {
            Some(taken) => taken_back.push(taken),
            None => begun.push(id),
        }
    }
    let given_back = tickets::ids(&taken_back);
    tracing::debug!(given_back = given_back.len(), begun = begun.len(), "somebody wants claims back");
    client
        .execute(
            "UPDATE executions SET claimed_by = NULL, revoked = false
             WHERE id = ANY(ARRAY(SELECT id FROM executions WHERE id = ANY($1) AND claimed_by = $2 ORDER BY id FOR UPDATE))",
            &[&given_back, &epoch],
        )
        .await?;
    shared.tickets.forget(&taken_back);
    client
        .execute(
            "UPDATE executions SET begun = true, revoked = false
             WHERE id = ANY(ARRAY(SELECT id FROM executions WHERE id = ANY($1) AND claimed_by = $2 ORDER BY id FOR UPDATE))",
            &[&begun, &epoch],
        )
        .await?;
    Ok(())
}

/// Lets everybody claim again what was given back for a change that is made, or given up.
pub(super) async fn let_go(shared: &Shared, ids: &[i64]) {
    let freed = async {
        let client = shared.pool.get().await?;
        client
            .execute(
                "UPDATE executions SET kept_until = NULL
                 WHERE id = ANY(ARRAY(SELECT id FROM executions WHERE id = ANY($1) AND kept_until IS NOT NULL
                              ORDER BY id FOR UPDATE))",
                &[&ids],
            )
            .await
            .map_err(Fault::from)
    };
    match freed.await {
        Ok(0) => {}
        Ok(_) => shared.bell.ring(),
        // They can be claimed again soon, whatever happens.
        Err(fault) => {
            let error: Error = fault.tell(&shared.address.place);
            tracing::debug!(%error, "claims that were given back stay with us for a while");
        }
    }
}
