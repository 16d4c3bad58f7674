//! Questions about all jobs.

use model::{CollectionPath, JobState, Plan};

use super::Backend;
use super::world::{ALL, World, collection, done, named, path};
use crate::{Expected, FoundJobs, JobQuery, JobSort, JobStates, Page};

#[allow(clippy::unwrap_used, reason = "a test that cannot go on shall stop")]
async fn find(world: &World<'_>, query: &JobQuery, page: Page) -> FoundJobs {
    world.store().find_jobs(query, page).await.unwrap()
}

fn names(found: &FoundJobs) -> Vec<String> {
    found.jobs.iter().map(|stored| format!("{}/{}", stored.collection.name, stored.name)).collect()
}

/// Jobs in two collections, one of another subscription.
async fn filled(backend: &dyn Backend) -> World<'_> {
    let world = World::new(backend).await;
    let other = CollectionPath { subscription: "Sub-2".into(), ..named("Reports") };
    done(world.put_collection(collection(&other, Plan::Standard), Expected::Absent).await);
    for (name, seconds) in [("Beta", 300), ("alpha", 200), ("gamma", 100)] {
        world.put(name, world.once_in(seconds)).await;
    }
    world.put_as("delta", world.minutely(), JobState::Disabled).await;
    let mut write = world.write(
        "Alpha",
        world.once_in(150),
        model::transition::begin(&world.once_in(150).rule().expect("a rule"), JobState::Enabled),
        crate::ExpectedJob::Absent,
        true,
    );
    write.collection = other;
    done(world.store().put_job(write).await.expect("written"));
    world
}

/// A search by what it is asked for.
pub async fn jobs_are_searched_in_all_collections(backend: &dyn Backend) {
    let world = filled(backend).await;
    let everything = ["Team/alpha", "Reports/Alpha", "Team/Beta", "Team/delta", "Team/gamma"];
    let query = JobQuery::default;
    let of =
        |subscription: &str, name: &str| CollectionPath { subscription: subscription.into(), ..named(name) };
    for (query, expected) in [
        (query(), &everything[..]),
        (JobQuery { search: Some("ALPH".into()), ..query() }, &everything[..2]),
        (JobQuery { search: Some("report".into()), ..query() }, &["Reports/Alpha"]),
        (JobQuery { search: Some(String::new()), ..query() }, &everything),
        (JobQuery { search: Some("a%".into()), ..query() }, &[]),
        (JobQuery { state: Some(JobState::Disabled), ..query() }, &["Team/delta"]),
        (JobQuery { state: Some(JobState::Faulted), ..query() }, &[]),
        (JobQuery { subscription: Some("SUB-2".into()), ..query() }, &["Reports/Alpha"]),
        (JobQuery { collection: Some(of("sub-2", "REPORTS")), ..query() }, &["Reports/Alpha"]),
        (JobQuery { collection: Some(of("sub-1", "reports")), ..query() }, &[]),
        (
            JobQuery {
                collection: Some(path()),
                search: Some("ta".into()),
                state: Some(JobState::Enabled),
                ..query()
            },
            &["Team/Beta"],
        ),
        (JobQuery { collection: Some(path()), search: Some("team".into()), ..query() }, &[]),
    ] {
        let found = find(&world, &query, ALL).await;
        assert_eq!(
            (names(&found), found.total),
            (expected.iter().map(|&s| s.to_owned()).collect(), expected.len() as u64),
            "{query:?}"
        );
    }
}

/// Every order, both ways, and pages of each.
pub async fn found_jobs_are_sorted_and_paged(backend: &dyn Backend) {
    let mut world = filled(backend).await;
    // Both alphas run, and the one of the other collection fails.
    world.pass(200);
    for claim in world.claim(0).await {
        assert!(claim.ticket.begin());
        if claim.job.name != "gamma" {
            world.settle(&claim, claim.job.name == "alpha").await;
        }
    }
    let name = ["Team/alpha", "Reports/Alpha", "Team/Beta", "Team/delta", "Team/gamma"];
    for (sort, up, down) in [
        (JobSort::Name, name, ["Team/gamma", "Team/delta", "Team/Beta", "Reports/Alpha", "Team/alpha"]),
        // Only one is due still; those that are not come last, by name.
        (
            JobSort::Next,
            ["Team/Beta", "Team/alpha", "Reports/Alpha", "Team/delta", "Team/gamma"],
            ["Team/Beta", "Team/alpha", "Reports/Alpha", "Team/delta", "Team/gamma"],
        ),
        (JobSort::Last, name, name),
        (
            JobSort::State,
            ["Reports/Alpha", "Team/Beta", "Team/gamma", "Team/delta", "Team/alpha"],
            ["Team/alpha", "Team/delta", "Reports/Alpha", "Team/Beta", "Team/gamma"],
        ),
        (
            JobSort::Failures,
            ["Team/alpha", "Team/Beta", "Team/delta", "Team/gamma", "Reports/Alpha"],
            ["Reports/Alpha", "Team/alpha", "Team/Beta", "Team/delta", "Team/gamma"],
        ),
    ] {
        for (descending, expected) in [(false, up), (true, down)] {
            let query = JobQuery { sort, descending, ..JobQuery::default() };
            assert_eq!(names(&find(&world, &query, ALL).await), expected, "{query:?}");
            let mut paged = Vec::new();
            for skip in [0, 2, 4, 6] {
                let page = find(&world, &query, Page { skip, top: 2 }).await;
                assert_eq!(page.total, 5);
                paged.extend(names(&page));
            }
            assert_eq!(paged, expected, "{query:?}");
        }
    }
}

/// What is due next, whoever has claimed it.
#[allow(clippy::unwrap_used, reason = "a test that cannot go on shall stop")]
pub async fn the_soonest_jobs_come_first(backend: &dyn Backend) {
    let mut world = filled(backend).await;
    let soonest = async |world: &World<'_>, top| {
        let jobs = world.store().soonest_jobs(top).await.unwrap();
        names(&FoundJobs { jobs, total: 0 })
    };
    let all = ["Team/gamma", "Reports/Alpha", "Team/alpha", "Team/Beta"];
    assert_eq!(soonest(&world, 10).await, all);
    assert_eq!(soonest(&world, 2).await, all[..2]);
    world.pass(99);
    let claims = world.claim(2).await;
    assert_eq!(soonest(&world, 10).await, all, "claimed is not begun");
    assert!(claims[0].ticket.begin());
    assert_eq!(soonest(&world, 10).await, all[1..]);
    world.switch_collection(false).await;
    assert_eq!(soonest(&world, 10).await, ["Reports/Alpha"], "a collection that is off runs nothing");
}

/// How many jobs are in each state.
#[allow(clippy::unwrap_used, reason = "a test that cannot go on shall stop")]
pub async fn jobs_are_counted_by_state(backend: &dyn Backend) {
    let mut world = filled(backend).await;
    let states = world.store().job_states().await.unwrap();
    assert_eq!(states, JobStates { enabled: 4, disabled: 1, ..JobStates::default() });
    world.pass(100);
    world.run_one(true).await;
    world.store().delete_job(&path(), "delta", None, world.now).await.unwrap();
    let states = world.store().job_states().await.unwrap();
    assert_eq!(states, JobStates { enabled: 3, completed: 1, ..JobStates::default() });
}
