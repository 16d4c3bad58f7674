//! Jobs that cannot be read as they are stored: other jobs go on, and such a job can be deleted and replaced.

use model::action::{Call, HttpAuthentication};
use model::{Definition, JobState, Secret};

use super::world::{ALL, done};
use super::{Backend, World, path};
use crate::{
    Deleted, Error, ExpectedJob, FoundJob, HistoryQuery, JobQuery, JobRecord, LedgerQuery, Page, Written,
};

/// What can be wrong with a job, and the SQL that makes it so.
fn damages() -> Vec<(&'static str, String)> {
    let of = "job_id IN (SELECT id FROM jobs WHERE name = 'c' AND deleted_at IS NULL)";
    let replace = |from: &str, to: &str| {
        format!("UPDATE definitions SET definition = replace(definition, '{from}', '{to}') WHERE {of}")
    };
    vec![
        ("a policy of a newer version", replace(r#""catch_up":"Last""#, r#""catch_up":"Newest""#)),
        ("an action of a newer version", replace(r#""call":{"Http""#, r#""call":{"Grpc""#)),
        ("a zone that is gone", replace("Europe/Berlin", "US/Pacific-New")),
        (
            "a secret that was changed",
            format!("UPDATE definitions SET definition = replace({}, '.!', '.') WHERE {of}", flipped()),
        ),
        ("no JSON", format!("UPDATE definitions SET definition = '{{\"timing\": ' WHERE {of}")),
        ("no definition", format!("DELETE FROM definitions WHERE {of}")),
        (
            "a state of a newer version",
            "UPDATE jobs SET state = 9 WHERE name = 'c' AND deleted_at IS NULL".to_owned(),
        ),
    ]
}

/// A definition in which the nonce of each secret begins with another letter.
fn flipped() -> String {
    let key = super::keyring();
    let before = format!("sealed1.{}.", key.first().id());
    let letters = ('a'..='z').chain('A'..='Z').chain('0'..='9').chain(['-', '_']);
    letters.fold("definition".to_owned(), |sql, letter| {
        let other = if letter == 'a' { 'A' } else { 'a' };
        // The mark keeps a letter that was changed from being changed again.
        format!("replace({sql}, '{before}{letter}', '{before}!{other}')")
    })
}

/// With a zone and a secret, so that each damage finds something.
fn with_everything(world: &World<'_>, seconds: i64) -> Definition {
    let mut definition = world.minutely_in(seconds);
    if let Some(recurrence) = &mut definition.timing.recurrence {
        recurrence.time_zone = Some("Europe/Berlin".into());
    }
    if let Call::Http { request, .. } = &mut definition.action.call {
        request.authentication =
            Some(HttpAuthentication::Basic { username: "clerk".into(), password: Secret::new("password") });
    }
    definition
}

/// Three jobs, of which `c` cannot be read.
async fn damage(backend: &dyn Backend, world: &mut World<'_>, sql: &str) {
    for name in ["a", "b", "c"] {
        world.put(name, with_everything(world, 60)).await;
    }
    world.close();
    backend.damage(sql).await;
    world.restart().await;
}

/// Finds what only shows when a job is opened, as a server does in the background.
#[allow(clippy::unwrap_used, reason = "a test that cannot go on shall stop")]
async fn look_through(world: &World<'_>) {
    let mut after = 0;
    while let Some(last) = world.store().look_through(after, 2).await.unwrap() {
        after = last;
    }
}

#[allow(clippy::unwrap_used, reason = "a test that cannot go on shall stop")]
async fn record(world: &World<'_>) -> JobRecord {
    world.store().record(&path(), "C").await.unwrap().unwrap()
}

/// Replaces the job, as PUT does.
#[allow(clippy::unwrap_used, reason = "a test that cannot go on shall stop")]
async fn replace(world: &World<'_>, definition: Definition) {
    let (_, found) = world.store().job_in_collection(&path(), "c").await.unwrap().unwrap();
    let standing = model::transition::begin(&definition.rule().unwrap(), JobState::Enabled);
    let write = world.write("c", definition, standing, found.unwrap().expected(), true);
    done(world.store().put_job(write).await.unwrap());
}

fn marked(jobs: &[JobRecord]) -> Vec<(&str, bool)> {
    jobs.iter().map(|record| (record.name.as_str(), record.unreadable.is_some())).collect()
}

/// Lists answer with all jobs, and say of the one what is wrong.
#[allow(clippy::unwrap_used, reason = "a test that cannot go on shall stop")]
pub async fn an_unreadable_job_spoils_no_list(backend: &dyn Backend) {
    let mut world = World::new(backend).await;
    for (what, sql) in damages() {
        damage(backend, &mut world, &sql).await;
        look_through(&world).await;
        let store = world.store();
        let expected = [("a", false), ("b", false), ("c", true)];
        let jobs = store.jobs(&path(), None, ALL).await.unwrap().unwrap();
        assert_eq!(marked(&jobs), expected, "{what}");
        let found = store.find_jobs(&JobQuery::default(), ALL).await.unwrap();
        assert_eq!((marked(&found.jobs), found.total), (expected.to_vec(), 3), "{what}");
        assert_eq!(marked(&store.soonest_jobs(10).await.unwrap()), expected, "{what}");
        assert_eq!(store.numbers().unreadable_jobs(), 1, "{what}");
        assert!(store.job_states().await.unwrap().enabled >= 2, "{what}");
        assert_eq!(store.census().await.unwrap().jobs, 3, "{what}");
        let all = store.all_jobs(&path()).await.unwrap();
        let readable: Vec<bool> = all.iter().map(|found| found.readable().is_some()).collect();
        assert_eq!(readable, [true, true, false], "{what}");
        let history = store.history(&path(), "c", &HistoryQuery::default(), ALL).await.unwrap();
        assert!(history.is_some(), "{what}");
        store.ledger(&LedgerQuery::default(), 10).await.unwrap();
        store.skipped_so_far(&LedgerQuery::default(), world.now, 10).await.unwrap();
        store.certificates(10).await.unwrap();
        let error = store.job(&path(), "c").await.unwrap_err();
        assert!(matches!(error, Error::Unreadable(_)), "{what}: {error}");
        assert!(store.job(&path(), "a").await.unwrap().is_some(), "{what}");
        // Neither is it in the way of a change of its collection.
        world.switch_collection(false).await;
        store.skipped_so_far(&LedgerQuery::default(), world.now, 10).await.unwrap();
        world.switch_collection(true).await;
        for name in ["a", "b", "c"] {
            let revision = store.record(&path(), name).await.unwrap().unwrap().revision;
            let deleted = store.delete_job(&path(), name, Some(revision), world.now).await.unwrap();
            assert_eq!(deleted, Deleted::Done, "{what}: {name}");
        }
        assert_eq!(store.numbers().unreadable_jobs(), 0, "{what}");
        assert!(store.record(&path(), "c").await.unwrap().is_none(), "{what}");
    }
}

/// A claim takes the others, leaves the one aside, and does not come back for it at once.
#[allow(clippy::unwrap_used, reason = "a test that cannot go on shall stop")]
pub async fn an_unreadable_job_keeps_no_other_waiting(backend: &dyn Backend) {
    let mut world = World::new(backend).await;
    for (what, sql) in damages() {
        damage(backend, &mut world, &sql).await;
        world.pass(60);
        let claimed = world.claimed(1, 10).await;
        let mut names: Vec<&str> = claimed.claims.iter().map(|claim| claim.job.name.as_str()).collect();
        names.sort_unstable();
        assert_eq!(names, ["a", "b"], "{what}");
        assert!(!claimed.more, "{what}");
        assert!(claimed.next_at.is_none_or(|at| at > world.now), "{what}: {:?}", claimed.next_at);
        for claim in &claimed.claims {
            assert!(claim.ticket.begin());
            world.settle(claim, true).await;
        }
        assert!(record(&world).await.unreadable.is_some(), "{what}");
        let deleted = world.store().delete_collection(&path(), None, world.now).await.unwrap();
        assert_eq!(deleted, Deleted::Done, "{what}");
        let again = super::world::collection(&path(), model::Plan::P20Premium);
        done(world.put_collection(again, crate::Expected::Absent).await);
    }
}

/// A replacement runs as any other job does.
#[allow(clippy::unwrap_used, reason = "a test that cannot go on shall stop")]
pub async fn an_unreadable_job_is_repaired_by_another(backend: &dyn Backend) {
    let mut world = World::new(backend).await;
    for (what, sql) in damages() {
        damage(backend, &mut world, &sql).await;
        // Set aside first.
        world.pass(61);
        let others = world.claim(1).await;
        assert_eq!(others.len(), 2, "{what}");
        let stale = ExpectedJob::Standing { revision: crate::Revision(-1), next_number: 0, next_at: None };
        let definition = world.once_in(10);
        let standing = model::transition::begin(&definition.rule().unwrap(), JobState::Enabled);
        let write = world.write("c", definition, standing, stale, true);
        assert!(matches!(world.store().put_job(write).await.unwrap(), Written::Changed), "{what}");
        replace(&world, world.once_in(10)).await;
        assert_eq!(world.store().numbers().unreadable_jobs(), 0, "{what}");
        assert_eq!(record(&world).await.unreadable, None, "{what}");
        world.pass(10);
        let claims = world.claim(0).await;
        let names: Vec<&str> = claims.iter().map(|claim| claim.job.name.as_str()).collect();
        assert_eq!(names, ["c"], "{what}");
        for claim in others.iter().chain(&claims) {
            assert!(claim.ticket.begin(), "{what}");
            world.settle(claim, true).await;
        }
        assert_eq!(record(&world).await.state, Some(JobState::Completed), "{what}");
        world.store().delete_job(&path(), "c", None, world.now).await.unwrap();
    }
}

/// Another version, other keys or other zones may read it: it is not lost by being set aside.
#[allow(clippy::unwrap_used, reason = "a test that cannot go on shall stop")]
pub async fn an_unreadable_job_runs_when_it_can_be_read_again(backend: &dyn Backend) {
    let mut world = World::new(backend).await;
    let change = |from: &str, to: &str| {
        format!("UPDATE definitions SET definition = replace(definition, '{from}', '{to}')")
    };
    world.put("c", with_everything(&world, 60)).await;
    world.close();
    backend.damage(&change("Europe/Berlin", "Mars/Olympus")).await;
    world.restart().await;
    world.pass(60);
    assert!(world.claim(0).await.is_empty());
    backend.damage(&change("Mars/Olympus", "Europe/Berlin")).await;
    look_through(&world).await;
    assert_eq!(world.store().numbers().unreadable_jobs(), 0);
    world.pass(62);
    let claims = world.claim(0).await;
    assert!(!claims.is_empty());
    assert!(claims.iter().all(|claim| claim.job.name == "c"), "{claims:?}");
}

/// It would be repeated by a definition that nothing can read.
#[allow(clippy::unwrap_used, reason = "a test that cannot go on shall stop")]
pub async fn a_retry_that_cannot_be_read_ends_with_its_replacement(backend: &dyn Backend) {
    let mut world = World::new(backend).await;
    let mut definition = world.once_in(0);
    definition.action.on_error = None;
    world.put("c", definition).await;
    world.run_one(false).await;
    world.close();
    backend.damage("UPDATE definitions SET definition = 'no JSON'").await;
    world.restart().await;
    world.pass(15);
    assert!(world.claim(0).await.is_empty(), "it is set aside");
    replace(&world, world.once_in(100)).await;
    let ledger = world.ledger().await;
    assert_eq!(ledger.len(), 1, "{ledger:?}");
    assert_eq!(ledger[0].reason, Some(model::Reason::JobChanged), "{ledger:?}");
    world.pass(100);
    world.run_one(true).await;
    assert_eq!(record(&world).await.state, Some(JobState::Completed));
}

/// What follows from success stands in no definition.
#[allow(clippy::unwrap_used, reason = "a test that cannot go on shall stop")]
pub async fn a_run_that_succeeds_needs_no_definition(backend: &dyn Backend) {
    let world = World::new(backend).await;
    world.put("c", world.once_in(0)).await;
    let claim = world.begin_one().await;
    backend.damage("UPDATE definitions SET definition = 'no JSON'").await;
    world.settle(&claim, true).await;
    assert_eq!(world.ledger().await.len(), 1);
    assert_eq!(record(&world).await.state, Some(JobState::Completed));
    let (_, found) = world.store().job_in_collection(&path(), "c").await.unwrap().unwrap();
    assert!(matches!(found, Some(FoundJob::Unreadable(_))));
}

/// The jobs of a collection that cannot be read are listed by the names that find it, and do not run.
#[allow(clippy::unwrap_used, reason = "a test that cannot go on shall stop")]
pub async fn an_unreadable_collection_spoils_no_jobs(backend: &dyn Backend) {
    let mut world = World::new(backend).await;
    let other = super::world::named("Other");
    done(
        world
            .put_collection(super::world::collection(&other, model::Plan::Standard), crate::Expected::Absent)
            .await,
    );
    world.put("c", world.minutely()).await;
    let definition = world.minutely();
    let standing = model::transition::begin(&definition.rule().unwrap(), JobState::Enabled);
    let mut write = world.write("d", definition, standing, ExpectedJob::Absent, true);
    write.collection = other.clone();
    done(world.store().put_job(write).await.unwrap());
    world.close();
    backend
        .damage("UPDATE collections SET document = replace(document, 'P20Premium', 'P99'), plan = 'p99' WHERE name_key = 'team'")
        .await;
    world.restart().await;
    look_through(&world).await;
    let found = world.store().find_jobs(&JobQuery::default(), ALL).await.unwrap();
    assert_eq!(marked(&found.jobs), [("c", true), ("d", false)]);
    let claims = world.claim(0).await;
    assert_eq!(claims.len(), 1, "{claims:?}");
    assert_eq!(claims[0].job.collection, other);
    let stored = world.store().collection(&path()).await.unwrap().unwrap();
    assert!(stored.unreadable.is_some());
    let listed = world.store().collections("sub-1", None, ALL).await.unwrap();
    let marks: Vec<bool> = listed.iter().map(|stored| stored.unreadable.is_some()).collect();
    assert_eq!(marks, [false, true]);
    world.store().ledger(&LedgerQuery::default(), 10).await.unwrap();
    // A replacement repairs it, and its jobs run again.
    let again = super::world::collection(&path(), model::Plan::P20Premium);
    done(world.put_collection(again, crate::Expected::Revision(stored.revision)).await);
    let repaired = world.store().collection(&path()).await.unwrap().unwrap();
    assert_eq!((repaired.unreadable, repaired.collection.path), (None, path()));
    world.pass(62);
    let claims = world.claim(0).await;
    assert!(claims.iter().any(|claim| claim.job.name == "c"), "{claims:?}");
    world.store().delete_job(&path(), "c", None, world.now).await.unwrap();
}

/// What a newer version has entered says nothing to this one, and is left out; all else is listed.
#[allow(clippy::unwrap_used, reason = "a test that cannot go on shall stop")]
pub async fn entries_of_a_newer_version_spoil_no_list(backend: &dyn Backend) {
    let mut world = World::new(backend).await;
    world.put("c", world.minutely()).await;
    for _ in 0..4 {
        world.run_one(true).await;
        world.pass(60);
    }
    backend
        .damage(
            "UPDATE ledger SET fate = 9 WHERE serial = (SELECT min(serial) FROM ledger);
             UPDATE ledger SET reason = 99 WHERE serial = (SELECT max(serial) FROM ledger);
             UPDATE history SET status = 9 WHERE serial = (SELECT max(serial) FROM history)",
        )
        .await;
    assert_eq!(world.ledger().await.len(), 3);
    let page = Page { skip: 0, top: 2 };
    let history = world.store().history(&path(), "c", &HistoryQuery::default(), page).await.unwrap();
    assert_eq!(history.unwrap().len(), 2, "a page is full where there is more");
    // A cause that is not known is no reason not to run.
    assert_eq!(world.claim(0).await.len(), 1);
    world.close();
    backend.damage("UPDATE executions SET cause = 9").await;
    world.restart().await;
    world.run_one(true).await;
}
