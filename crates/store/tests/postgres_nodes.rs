//! Several nodes on one PostgreSQL database: who holds what, and what becomes of it.

mod pair;
mod postgres;
mod way;

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use async_trait::async_trait;
use model::transition::begin;
use model::{Fate, JobState, Timestamp};
use pair::Pair;
use postgres::{Postgres, Stopped};
use store::conformance::{Backend, World, changes, path, settling};
use store::{Claim, Error, ExpectedJob, Key, Keyring, Page, PostgresStore, Store, Written};
use way::Way;

/// A world of its own, and two nodes in it beside the world's own.
async fn nodes<'b>(world: &World<'b>, backend: &'b Postgres) -> [Arc<PostgresStore>; 2] {
    let clock = Arc::new(Stopped(world.now));
    [backend.node("a", clock.clone()).await, backend.node("b", clock).await]
}

/// What is late: any node claims that, whoever prefers it.
async fn claim(store: &dyn Store, world: &World<'_>) -> Vec<Claim> {
    store.claim_due(world.after(1), world.after(1), 1000).await.expect("claimed").claims
}

macro_rules! with {
    ($backend:ident) => {
        let Some($backend) = Postgres::fresh().await else { return };
    };
}

#[tokio::test]
async fn each_execution_is_claimed_by_one_node() {
    with!(backend);
    let world = World::new(&backend).await;
    for i in 0..40 {
        world.put(&format!("job{i}"), world.once_in(0)).await;
    }
    let stores = nodes(&world, &backend).await;
    let mut tags = Vec::new();
    for _ in 0..4 {
        let (one, other) = tokio::join!(
            stores[0].claim_due(world.now, world.now, 7),
            stores[1].claim_due(world.now, world.now, 7)
        );
        for claimed in [one, other] {
            tags.extend(claimed.expect("claimed").claims.into_iter().map(|claim| claim.execution.tag));
        }
    }
    let claims: u64 = world.store().nodes().await.expect("nodes").iter().map(|node| node.claims).sum();
    assert_eq!(claims, tags.len() as u64);
    let different: BTreeSet<_> = tags.iter().collect();
    assert_eq!(different.len(), tags.len(), "no execution came twice");
}

/// A limit is one limit, through however many nodes jobs come.
#[tokio::test]
async fn new_jobs_through_two_nodes_are_counted_together() {
    with!(backend);
    let world = World::new(&backend).await;
    let stores = nodes(&world, &backend).await;
    let mut writes = tokio::task::JoinSet::new();
    for i in 0..60 {
        let definition = world.minutely();
        let standing = begin(&definition.rule().expect("a rule"), JobState::Enabled);
        let mut write = world.write(&format!("job-{i}"), definition, standing, ExpectedJob::Absent, true);
        write.most = Some(25);
        let store = Arc::clone(&stores[i % 2]);
        writes.spawn(async move { store.put_job(write).await.expect("an answer") });
    }
    let written = writes.join_all().await;
    let made = written.iter().filter(|written| matches!(written, Written::Done(_))).count();
    let full = written.iter().filter(|written| matches!(written, Written::Full { there: 25, .. })).count();
    assert_eq!((made, full), (25, 35), "{written:?}");
    assert_eq!(backend.query("SELECT jobs FROM collections").await, 25);
    assert_eq!(backend.query("SELECT count(*) FROM definitions").await, 25);
    assert_eq!(backend.query("SELECT count(*) FROM due").await, 25);
}

/// Who writes a job tells the others, after it is committed.
#[tokio::test]
async fn other_nodes_hear_of_what_is_due_sooner() {
    with!(backend);
    let world = World::new(&backend).await;
    let [a, b] = nodes(&world, &backend).await;
    let mut bell = b.bell().listen();
    // A heartbeat that begins rings too, but not as often.
    for i in 0..10 {
        let definition = world.once_in(1000 - i);
        let standing = begin(&definition.rule().expect("a rule"), JobState::Enabled);
        let write = world.write(&format!("job-{i}"), definition, standing, ExpectedJob::Absent, true);
        bell.mark_unchanged();
        assert!(matches!(a.put_job(write).await, Ok(Written::Done(_))));
        bell.changed().await.expect("a bell");
    }
}

#[tokio::test]
async fn what_is_overdue_is_claimed_whoever_prefers_it() {
    with!(backend);
    let world = World::new(&backend).await;
    for i in 0..40 {
        world.put(&format!("job{i}"), world.once_in(0)).await;
    }
    let [a, _b] = nodes(&world, &backend).await;
    let mut held = 0;
    loop {
        let claims = claim(&*a, &world).await;
        held += claims.len();
        if claims.is_empty() {
            break;
        }
    }
    assert_eq!(held, 40, "one node alone claims all that is late");
}

#[tokio::test]
async fn a_change_on_one_node_takes_back_what_another_has_not_begun() {
    with!(backend);
    let world = World::new(&backend).await;
    let stored = world.put("job", world.minutely_in(10)).await;
    let [a, b] = nodes(&world, &backend).await;
    // Ahead of time it is claimed by whoever prefers it.
    let (mut claims, mut changer) = (Vec::new(), &b);
    for (holder, other) in [(&a, &b), (&b, &a)] {
        if claims.is_empty() {
            claims = holder.claim_due(world.now, world.after(80), 10).await.expect("claimed").claims;
            changer = other;
        }
    }
    if claims.is_empty() {
        claims = world.claim(80).await;
    }
    assert_eq!(claims.len(), 2);

    let write = world.patched(&stored, JobState::Disabled, |_| ());
    let written = changer.put_job(write).await.expect("an answer");
    assert!(matches!(written, store::Written::Done(_)), "{written:?}");
    assert!(claims.iter().all(|claim| !claim.ticket.begin()), "the old definition is not fired");
    assert_eq!(b.census().await.expect("a census").executions, 0);
}

#[tokio::test]
async fn a_change_on_one_node_leaves_what_another_has_begun() {
    with!(backend);
    let world = World::new(&backend).await;
    world.put("job", world.once_in(0)).await;
    let [a, b] = nodes(&world, &backend).await;
    let claims = claim(&*a, &world).await;
    assert!(claims[0].ticket.begin());
    b.delete_job(&path(), "job", None, world.now).await.expect("deleted");
    a.settle(vec![world.attempted(&claims[0], true)]).await.expect("an answer");
    let ledger = world.ledger().await;
    assert_eq!(ledger.len(), 1);
    assert_eq!(ledger[0].fate, Fate::Ran, "its call was on the way, and its target answered");
}

#[tokio::test]
async fn a_node_that_lost_its_lease_settles_nothing() {
    with!(backend);
    let world = World::new(&backend).await;
    world.put("job", world.minutely()).await;
    let [a, b] = nodes(&world, &backend).await;
    let old = claim(&*a, &world).await;
    assert!(old[0].ticket.begin());
    // What whoever notices does when a lease has run out.
    backend
        .execute(
            "UPDATE executions SET claimed_by = NULL WHERE claimed_by IN (SELECT epoch FROM nodes WHERE name = 'a');
             DELETE FROM nodes WHERE name = 'a'",
        )
        .await;
    a.settle(vec![world.attempted(&old[0], false)]).await.expect("an answer");
    assert!(world.ledger().await.is_empty());
    assert_eq!(world.job("job").await.job.counters.failures, 0);

    let new = claim(&*b, &world).await;
    assert_eq!(new[0].execution.tag, old[0].execution.tag, "the same tag");
    assert!(new[0].ticket.begin());
    b.settle(vec![world.attempted(&new[0], true)]).await.expect("settled");
    a.settle(vec![world.attempted(&old[0], false)]).await.expect("an answer");
    let job = world.job("job").await.job;
    assert_eq!((job.counters.executions, job.counters.failures), (1, 0), "the successor counts");
    assert_eq!(world.ledger().await.len(), 1);

    // It joins again by itself, with a new epoch.
    let epoch =
        |nodes: Vec<store::Node>| nodes.into_iter().find(|node| node.name == "a").map(|node| node.epoch);
    let mut bell = a.bell().listen();
    while epoch(b.nodes().await.expect("nodes")).is_none() {
        let _ = tokio::time::timeout(std::time::Duration::from_millis(200), bell.changed()).await;
    }
    while a.check().await.is_err() {
        tokio::task::yield_now().await;
    }
}

/// A node that lost its lease and claimed the same again brings both outcomes at once.
#[tokio::test]
async fn of_two_outcomes_that_come_together_the_one_with_a_lease_counts() {
    with!(backend);
    let world = World::new(&backend).await;
    world.put("job", world.minutely()).await;
    let [a, _b] = nodes(&world, &backend).await;
    let old = claim(&*a, &world).await;
    assert!(old[0].ticket.begin());
    backend
        .execute(
            "UPDATE executions SET claimed_by = NULL WHERE claimed_by IN (SELECT epoch FROM nodes WHERE name = 'a');
             DELETE FROM nodes WHERE name = 'a'",
        )
        .await;
    let mut bell = a.bell().listen();
    let new = loop {
        match a.claim_due(world.after(1), world.after(1), 1000).await {
            Ok(claimed) if !claimed.claims.is_empty() => break claimed.claims,
            _ => {
                let _ = tokio::time::timeout(std::time::Duration::from_millis(200), bell.changed()).await;
            }
        }
    };
    assert_eq!(new[0].id, old[0].id);
    assert!(new[0].ticket.begin());
    a.settle(vec![world.attempted(&old[0], false), world.attempted(&new[0], true)]).await.expect("settled");
    let job = world.job("job").await.job;
    assert_eq!((job.counters.executions, job.counters.failures), (1, 0), "the lost one does not count");
    assert_eq!(world.ledger().await.len(), 1);
}

/// A settlement that is committed while its connection breaks is tried again, by a node that did not hear of it.
#[tokio::test]
async fn a_settlement_that_comes_again_leaves_the_next_attempt_alone() {
    with!(backend);
    let world = World::new(&backend).await;
    world.put("job", world.minutely()).await;
    let [a, _b] = nodes(&world, &backend).await;
    let first = claim(&*a, &world).await;
    assert!(first[0].ticket.begin());
    a.settle(vec![world.attempted(&first[0], false)]).await.expect("settled");
    let later = world.after(3600);
    let next = a.claim_due(later, later, 1000).await.expect("claimed").claims;
    let next = next.iter().find(|claim| claim.id == first[0].id).expect("its retry");
    assert_eq!(next.execution.attempt, 1);
    assert!(next.ticket.begin());

    a.settle(vec![world.attempted(&first[0], false)]).await.expect("an answer");
    let failures = world.job("job").await.job.counters.failures;
    assert_eq!(failures, 1, "the failure counts once");
    a.settle(vec![world.attempted(next, true)]).await.expect("settled");
    assert_eq!(world.job("job").await.job.counters.failures, 1);
    let ledger = world.ledger().await;
    let ran = ledger.iter().find(|entry| entry.tag == Some(first[0].execution.tag)).map(|entry| entry.fate);
    assert!(matches!(ran, Some(Fate::Ran | Fate::RanLate)), "settled by its own outcome, not {ran:?}");
}

/// As when a server stands still: nothing is refused, and nothing is answered.
#[tokio::test]
async fn a_database_that_is_silent_is_away_and_comes_back() {
    with!(backend);
    let server: tokio_postgres::Config = backend.url().parse().expect("a URL");
    let address = format!("127.0.0.1:{}", server.get_ports()[0]);
    let way = Way::to(address.clone()).await;
    let url = backend.url().replace(&address, &format!("127.0.0.1:{}", way.port));
    let clock = Arc::new(Stopped("2027-01-01T00:00:00Z".parse().expect("an instant")));
    let store = backend.node_at(url, "a", clock).await.expect("the store opens");
    store.check().await.expect("it answers");

    way.block(true);
    let minute = std::time::Duration::from_secs(60);
    let answer = tokio::time::timeout(minute, store.subscriptions(Page { skip: 0, top: 1 })).await;
    assert!(matches!(answer, Ok(Err(Error::Unavailable(_)))), "{answer:?}");
    assert!(store.check().await.is_err(), "its lease has run out, or it cannot write");
    let mut bell = store.bell().listen();
    way.block(false);
    while store.check().await.is_err() {
        // It rings when the heartbeat is back.
        let _ = tokio::time::timeout(std::time::Duration::from_millis(200), bell.changed()).await;
    }
}

/// Of several hosts the first takes connections and says nothing.
#[tokio::test]
async fn a_silent_host_does_not_hide_those_after_it() {
    with!(backend);
    let silent = tokio::net::TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let port = silent.local_addr().expect("an address").port();
    let taken = Arc::new(AtomicU32::new(0));
    let count = Arc::clone(&taken);
    let taking = tokio::spawn(async move {
        let mut held = Vec::new();
        while let Ok((connection, _)) = silent.accept().await {
            count.fetch_add(1, Ordering::Relaxed);
            held.push(connection);
        }
    });
    let server: tokio_postgres::Config = backend.url().parse().expect("a URL");
    let address = format!("127.0.0.1:{}", server.get_ports()[0]);
    let url = backend.url().replace(&address, &format!("127.0.0.1:{port},{address}"));
    let clock = Arc::new(Stopped("2027-01-01T00:00:00Z".parse().expect("an instant")));
    let store = backend.node_at(url, "a", clock).await.expect("the store opens");
    store.check().await.expect("it answers");
    // The host that could be used is asked first from then on.
    assert_eq!(taken.load(Ordering::Relaxed), 1);
    taking.abort();
}

/// A node starts while no host can be used. With several of them one may take over; a single one is told of at once.
#[tokio::test]
async fn a_start_waits_until_one_of_several_hosts_takes_over() {
    const REFUSED: u32 = 4;
    with!(backend);
    let server: tokio_postgres::Config = backend.url().parse().expect("a URL");
    let address = format!("127.0.0.1:{}", server.get_ports()[0]);
    let door = tokio::net::TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let port = door.local_addr().expect("an address").port();
    let behind = address.clone();
    let opening = tokio::spawn(async move {
        let mut taken = 0;
        while let Ok((mut connection, _)) = door.accept().await {
            taken += 1;
            if taken <= REFUSED {
                continue;
            }
            let behind = behind.clone();
            tokio::spawn(async move {
                let mut server = tokio::net::TcpStream::connect(behind).await?;
                tokio::io::copy_bidirectional(&mut connection, &mut server).await
            });
        }
    });
    let clock = Arc::new(Stopped("2027-01-01T00:00:00Z".parse().expect("an instant")));
    let alone = backend.url().replace(&address, &format!("127.0.0.1:{port}"));
    let answer = backend.node_at(alone, "a", clock.clone()).await.map(|_| "it opens");
    assert!(matches!(answer, Err(Error::Unavailable(_))), "{answer:?}");
    let both = backend.url().replace(&address, &format!("127.0.0.1:{port},127.0.0.1:{port}"));
    let store = backend.node_at(both, "a", clock).await.expect("the store opens");
    store.check().await.expect("it answers");
    opening.abort();
}

#[tokio::test]
async fn the_claims_of_a_node_that_is_gone_are_taken_over() {
    with!(backend);
    let world = World::new(&backend).await;
    world.put("job", world.once_in(0)).await;
    let [a, b] = nodes(&world, &backend).await;
    let old = claim(&*a, &world).await;
    // Nobody renews its lease from here on.
    drop(a);
    let mut bell = b.bell().listen();
    let new = loop {
        let claims = claim(&*b, &world).await;
        if !claims.is_empty() {
            break claims;
        }
        let _ = tokio::time::timeout(std::time::Duration::from_millis(200), bell.changed()).await;
    };
    assert_eq!(new[0].execution.tag, old[0].execution.tag);
    assert!(!old[0].ticket.begin(), "its own clock said so first");
}

#[tokio::test]
async fn a_node_that_leaves_hands_over_at_once() {
    with!(backend);
    let world = World::new(&backend).await;
    world.put("job", world.once_in(0)).await;
    let [a, b] = nodes(&world, &backend).await;
    let old = claim(&*a, &world).await;
    a.leave().await.expect("goodbye");
    assert!(!old[0].ticket.begin());
    assert!(a.claim_due(world.now, world.now, 10).await.is_err());
    assert!(a.check().await.is_err());
    assert_eq!(claim(&*b, &world).await.len(), 1);
    assert!(b.nodes().await.expect("nodes").iter().all(|node| node.name != "a"));
}

#[tokio::test]
async fn a_name_belongs_to_whoever_came_last() {
    with!(backend);
    let world = World::new(&backend).await;
    let clock = Arc::new(Stopped(world.now));
    let first = backend.node("same", clock.clone()).await;
    let second = backend.node("same", clock).await;
    second.check().await.expect("it has a lease");
    let why = loop {
        match first.check().await {
            Err(error) if error.to_string().contains("name of its own") => break error.to_string(),
            _ => tokio::task::yield_now().await,
        }
    };
    assert!(why.contains("'same'"), "{why}");
    second.check().await.expect("it still has");
}

#[tokio::test]
async fn a_node_without_a_key_that_others_seal_with_claims_nothing() {
    with!(backend);
    let world = World::new(&backend).await;
    world.put("job", world.once_in(0)).await;
    let [a, b] = nodes(&world, &backend).await;
    a.add_key(Key::generate().expect("a key")).await.expect("added");
    let refused = b.claim_due(world.after(1), world.after(1), 10).await.expect_err("it lacks a key");
    assert!(refused.to_string().contains("was not given"), "{refused}");
    assert_eq!(claim(&*a, &world).await.len(), 1);
}

#[tokio::test]
async fn a_store_is_not_copied_but_says_how() {
    with!(backend);
    let world = World::new(&backend).await;
    let error =
        world.store().snapshot(Arc::new(Stopped(world.now))).await.expect_err("nothing to copy").to_string();
    assert!(error.contains("pg_dump"), "{error}");
}

#[tokio::test]
async fn entries_lie_in_partitions_that_are_dropped_when_they_are_old() {
    with!(backend);
    // Partitions are made by the database's clock.
    let now = backend.query("SELECT extract(epoch FROM now())::bigint").await;
    let mut world = World::new_at(&backend, Timestamp::from_second(now).expect("an instant")).await;
    world.put("job", world.once_in(0)).await;
    world.run_one(true).await;
    assert_eq!(backend.query("SELECT count(*) FROM ledger_stray").await, 0, "not among the strays");
    assert_eq!(backend.query("SELECT count(*) FROM ledger").await, 1);
    world.pass(40 * 86_400);
    world.restart().await;
    let retention = store::Retention { now: world.now, before: world.after(-86_400), history_per_job: 1000 };
    while world.store().prune(retention).await.expect("pruned") {}
    assert_eq!(backend.query("SELECT count(*) FROM ledger").await, 0, "gone with its partition");
}

/// A job's whole life with claims on one node and changes on another.
macro_rules! across_nodes {
    ($($subject:ident::$behaviour:ident,)+) => {
        $(#[tokio::test]
        async fn $behaviour() {
            with!(backend);
            $subject::$behaviour(&Across(backend)).await;
        })+
    };
}

mod across {
    use super::*;

    across_nodes! {
        changes::a_change_takes_back_what_is_not_begun,
        changes::a_change_leaves_what_is_begun,
        changes::a_change_of_the_timing_accounts_for_what_was_due,
        changes::disabling_stops_retries,
        changes::deleting_accounts_for_what_was_in_flight,
        changes::a_disabled_collection_runs_nothing,
        changes::a_disabled_collection_stops_retries,
        changes::a_deleted_collection_takes_its_jobs_along,
        settling::batches_are_settled_together,
        settling::what_went_well_counts_beside_what_did_not,
    }
}

/// Two nodes as one store: one claims and settles, the other does the rest.
struct Across(Postgres);

#[async_trait]
impl Backend for Across {
    async fn open_with(&self, keyring: Keyring, now: Timestamp) -> store::Result<Arc<dyn Store>> {
        let clock = Arc::new(Stopped(now));
        let engine = self.0.node_with("engine", keyring.clone(), clock.clone()).await?;
        Ok(Arc::new(Pair { engine, api: self.0.node_with("api", keyring, clock).await? }))
    }
}

store::accounting!(
    every_instant_is_accounted_for_across_nodes,
    8,
    where Some(backend) = Postgres::fresh().await.map(Across)
);

/// In a rolling upgrade a newer node writes what an older one cannot read: the older one leaves it alone and goes on, and
/// the newer one runs it.
#[tokio::test]
async fn what_one_node_cannot_read_another_runs() {
    with!(backend);
    let mut world = World::new(&backend).await;
    for name in ["old", "new"] {
        world.put(name, world.minutely_in(60)).await;
    }
    let of = "job_id = (SELECT id FROM jobs WHERE name = 'new')";
    let change = |from: &str, to: &str| {
        format!("UPDATE definitions SET definition = replace(definition, '{from}', '{to}') WHERE {of}")
    };
    backend.execute(&change(r#""Last""#, r#""Newest""#)).await;
    let [older, newer] = nodes(&world, &backend).await;
    world.pass(60);
    let claimed = claim(&*older, &world).await;
    let names: Vec<&str> = claimed.iter().map(|claim| claim.job.name.as_str()).collect();
    assert_eq!(names, ["old"]);
    for claim in &claimed {
        assert!(claim.ticket.begin());
        older.settle(vec![world.attempted(claim, true)]).await.expect("settled");
    }
    assert_eq!(older.numbers().unreadable_jobs(), 1);
    let listed = older.jobs(&path(), None, Page { skip: 0, top: 10 }).await.expect("a list").expect("there");
    let marks: Vec<bool> = listed.iter().map(|job| job.unreadable.is_some()).collect();
    assert_eq!(marks, [true, false]);
    // What the newer one reads is as good to it as the other form is to this test.
    backend.execute(&change(r#""Newest""#, r#""Last""#)).await;
    assert!(claim(&*older, &world).await.is_empty(), "it was set aside, and is not looked at again");
    let claimed = claim(&*newer, &world).await;
    let names: Vec<&str> = claimed.iter().map(|claim| claim.job.name.as_str()).collect();
    assert_eq!(names, ["new"], "being set aside by one node takes nothing from another");
}
