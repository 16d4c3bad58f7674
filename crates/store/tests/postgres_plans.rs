//! What statements cost on PostgreSQL must not depend on what its planner believes.

mod postgres;

use std::sync::Arc;
use std::time::Duration;

use postgres::{Postgres, Stopped};
use store::conformance::World;
use store::{Claim, Store};

/// Executions that are settled a few at a time while the others wait for it.
const MANY: i64 = 400;

/// How many rows of executions were read so far, by whatever way.
const READ: &str = "SELECT (seq_tup_read
    + (SELECT coalesce(sum(idx_tup_read), 0) FROM pg_stat_user_indexes i WHERE i.relid = t.relid))::bigint
  FROM pg_stat_user_tables t WHERE relid = 'executions'::regclass";

/// What the planner believes there is, where it believes in pages.
const BELIEVED: &str = "SELECT CASE WHEN relpages > 0 THEN reltuples::bigint ELSE -1 END
  FROM pg_class WHERE oid = 'executions'::regclass";

/// Writes jobs that are due, and claims them all.
async fn claim(world: &World<'_>, store: &dyn Store, prefix: &str) -> Vec<Claim> {
    for n in 0..MANY {
        world.put(&format!("{prefix}{n}"), world.once_in(0)).await;
    }
    let at = world.after(1);
    let claims = store.claim_due(at, at, 10_000).await.expect("claimed").claims;
    assert_eq!(claims.len() as i64, MANY);
    claims
}

/// Settles claims, a few at a time.
async fn settle(world: &World<'_>, store: &dyn Store, claims: &[Claim]) {
    for some in claims.chunks(4) {
        assert!(some.iter().all(|claim| claim.ticket.begin()));
        let attempts = some.iter().map(|claim| world.attempted(claim, true)).collect();
        store.settle(attempts).await.expect("settled");
    }
}

/// Executions come and go by the thousand, so their statistics are mostly of a moment when there was none. Plans that are
/// made for none read all of them for each, or meet each with every other.
#[tokio::test]
async fn settlements_read_what_they_settle() {
    let Some(backend) = Postgres::fresh().await else { return };
    let world = World::new(&backend).await;
    let name = format!("plans_{}", std::process::id());
    let url = format!("{}&application_name={name}", backend.url());
    let node = backend.node_at(url, "settler", Arc::new(Stopped(world.now))).await.expect("the store opens");

    // The last one stays, and with it the pages before it.
    let claims = claim(&world, &*node, "before").await;
    settle(&world, &*node, &claims[..claims.len() - 1]).await;
    backend.execute("VACUUM ANALYZE executions").await;
    let believed = backend.query(BELIEVED).await;
    assert!((0..=1).contains(&believed), "the statistics know nothing of what comes: {believed}");

    let claims = claim(&world, &*node, "after").await;
    settle(&world, &*node, &claims).await;
    drop(node);
    // A session that ends has told all that it read.
    let sessions = format!("SELECT count(*) FROM pg_stat_activity WHERE application_name = '{name}'");
    while backend.query(&sessions).await > 0 {
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    // Twice as many were settled. Each is read once when it is removed, and perhaps by another statement; were all others
    // read with it, each settlement would read two hundred on average.
    let read = backend.query(READ).await;
    assert!(read >= 2 * MANY - 1, "only {read} rows were read to settle {MANY} twice: it was not counted");
    assert!(read < 16 * MANY, "{read} rows were read to settle {MANY} twice");
}
