//! Pauses: what was due while a job or its collection was off is in the ledger, however the pause ends, and says so.

use model::{CollectionPath, Definition, Fate, JobState, LedgerEntry, Plan, Reason, Timestamp};

use super::Backend;
use super::world::{World, collection, done, named, path};
use crate::{Expected, FoundJob, JobQuery, LedgerQuery, Page, SkippedSoFar, Span};

/// Every two minutes, beginning in half a minute.
fn other_times(world: &World<'_>) -> impl Fn(&mut Definition) {
    let start_time = Some(world.after(30).to_string());
    move |definition| {
        definition.timing.start_time = start_time.clone();
        if let Some(recurrence) = &mut definition.timing.recurrence {
            recurrence.interval = Some(2);
        }
    }
}

/// First, last, how many, why; in the order of the ledger.
async fn skipped(world: &World<'_>) -> Vec<(Timestamp, Timestamp, u64, Reason)> {
    let row = |entry: LedgerEntry| {
        assert_eq!(entry.fate, Fate::Skipped, "{entry:?}");
        (entry.due_at, entry.due_until, entry.occurrences, entry.reason.unwrap())
    };
    world.ledger().await.into_iter().map(row).collect()
}

/// How a pause may end other than by the switch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum End {
    Replaced(JobState),
    OtherTimes(JobState),
    Deleted,
    CollectionDeleted,
}

impl End {
    const ALL: [Self; 6] = [
        Self::Replaced(JobState::Enabled),
        Self::Replaced(JobState::Disabled),
        Self::OtherTimes(JobState::Enabled),
        Self::OtherTimes(JobState::Disabled),
        Self::Deleted,
        Self::CollectionDeleted,
    ];

    async fn come(self, world: &World<'_>) {
        match self {
            Self::Replaced(state) => {
                world.put_as("job", world.minutely_in(30), state).await;
            }
            Self::OtherTimes(state) => {
                world.patch("job", state, other_times(world)).await;
            }
            Self::Deleted => {
                world.store().delete_job(&path(), "job", None, world.now).await.unwrap();
            }
            Self::CollectionDeleted => {
                world.store().delete_collection(&path(), None, world.now).await.unwrap();
                let collection = collection(&path(), Plan::P20Premium);
                world.put_collection(collection, Expected::Absent).await;
            }
        }
    }
}

/// Switched off, twice even, and then replaced, deleted or given other times: one entry, with the change.
pub async fn a_pause_is_accounted_for_however_it_ends(backend: &dyn Backend) {
    let mut world = World::new(backend).await;
    for (i, end) in End::ALL.into_iter().enumerate() {
        world.put("job", world.minutely_in(60)).await;
        world.pass(130);
        // Two were due and nobody claimed them.
        world.patch("job", JobState::Disabled, |_| ()).await;
        world.pass(60);
        world.patch("job", JobState::Disabled, |_| ()).await;
        world.pass(60);
        let since = skipped(&world).await.len();
        end.come(&world).await;
        let off = Reason::JobDisabled;
        let entries = skipped(&world).await;
        assert_eq!(entries.len(), since + 1, "{i} {end:?}");
        assert_eq!(entries[since], (world.after(-70), world.after(-10), 2, off), "{end:?}");
        assert_eq!(entries[since - 1], (world.after(-190), world.after(-130), 2, off), "{end:?}");
        // What follows by the new times is no part of it.
        world.pass(20);
        world.store().delete_job(&path(), "job", None, world.now).await.unwrap();
        assert_eq!(skipped(&world).await.len(), since + 1, "{end:?}");
        world.pass(1000);
    }
}

/// A job that is written switched off has been off from its first instant on; so has one with other times.
pub async fn a_job_that_was_never_on_is_accounted_for(backend: &dyn Backend) {
    let mut world = World::new(backend).await;
    let off = Reason::JobDisabled;
    world.put_as("job", world.minutely(), JobState::Disabled).await;
    world.pass(130);
    world.patch("job", JobState::Disabled, other_times(&world)).await;
    let mut expected = vec![(world.after(-130), world.after(-10), 3, off)];
    assert_eq!(skipped(&world).await, expected);

    world.pass(300);
    let on = world.patch("job", JobState::Enabled, |_| ()).await;
    expected.push((world.after(-270), world.after(-30), 3, off));
    assert_eq!(skipped(&world).await, expected);
    assert_eq!((on.job.next_number, on.job.next_at), (1, Some(world.after(90))));
    assert_eq!(on.job.paused_at, None);
}

/// Whatever is done to a job while its collection is off, or before the engine has looked at it again: that was why.
pub async fn a_disabled_collection_is_the_reason(backend: &dyn Backend) {
    let mut world = World::new(backend).await;
    let off = Reason::CollectionDisabled;
    for end in End::ALL {
        for (on_again, reason) in [(false, off), (true, Reason::JobDeleted)] {
            world.put("job", world.minutely_in(60)).await;
            world.switch_collection(false).await;
            world.pass(130);
            if on_again {
                world.switch_collection(true).await;
                world.pass(60);
            }
            let since = skipped(&world).await.len();
            end.come(&world).await;
            let entries = skipped(&world).await.split_off(since);
            let reason = match end {
                End::Replaced(JobState::Disabled) | End::OtherTimes(JobState::Disabled) => {
                    Reason::JobDisabled
                }
                End::Replaced(_) | End::OtherTimes(_) => Reason::JobChanged,
                End::Deleted | End::CollectionDeleted => reason,
            };
            let expected = if on_again {
                let due = world.after(-10);
                vec![(world.after(-130), world.after(-70), 2, off), (due, due, 1, reason)]
            } else {
                vec![(world.after(-70), world.after(-10), 2, off)]
            };
            assert_eq!(entries, expected, "{end:?}, on again: {on_again}");
            world.store().delete_job(&path(), "job", None, world.now).await.unwrap();
            if !on_again && end != End::CollectionDeleted {
                world.switch_collection(true).await;
            }
            world.pass(1000);
        }
    }

    // Switched off itself while its collection is: until then it was the collection, from then on the job.
    world.put("job", world.minutely_in(60)).await;
    world.switch_collection(false).await;
    world.pass(130);
    let since = skipped(&world).await.len();
    world.patch("job", JobState::Disabled, |_| ()).await;
    world.pass(60);
    world.switch_collection(true).await;
    world.pass(60);
    world.patch("job", JobState::Enabled, |_| ()).await;
    let entries = skipped(&world).await.split_off(since);
    let job_off = Reason::JobDisabled;
    assert_eq!(
        entries,
        [(world.after(-190), world.after(-130), 2, off), (world.after(-70), world.after(-10), 2, job_off)]
    );
}

/// A job that runs once and came due while it was off, or its collection: it runs once, as soon as both are on, and the
/// ledger says what became of the instant that passed.
pub async fn a_job_that_runs_once_runs_after_a_pause(backend: &dyn Backend) {
    #[derive(Debug, Clone, Copy, PartialEq)]
    enum Off {
        Job,
        Collection,
        /// It was claimed ahead when its collection was switched off.
        CollectionWhileClaimed,
        /// It was written while its collection was off, due at once.
        CollectionBefore,
    }
    let mut world = World::new(backend).await;
    for off in [Off::Job, Off::Collection, Off::CollectionWhileClaimed, Off::CollectionBefore] {
        let since = world.ledger().await.len();
        let due_at = world.after(if off == Off::CollectionBefore { 0 } else { 60 });
        if off == Off::CollectionBefore {
            world.switch_collection(false).await;
            world.put("once", world.once_in(-3600)).await;
        } else {
            world.put("once", world.once_in(60)).await;
        }
        match off {
            Off::Job => drop(world.patch("once", JobState::Disabled, |_| ()).await),
            Off::Collection => world.switch_collection(false).await,
            Off::CollectionWhileClaimed => {
                assert_eq!(world.claim(90).await.len(), 1);
                world.switch_collection(false).await;
            }
            Off::CollectionBefore => {}
        }
        world.pass(1000);
        assert_eq!(world.claim(600).await.len(), 0, "{off:?}");
        match off {
            Off::Job => drop(world.patch("once", JobState::Enabled, |_| ()).await),
            _ => {
                assert_eq!(world.job("once").await.job.state, JobState::Enabled, "{off:?}");
                world.switch_collection(true).await;
            }
        }
        let resumed_at = world.now;
        let claim = world.run_one(true).await;
        assert_eq!((claim.execution.occurrence.number, claim.execution.occurrence.at), (1, resumed_at));
        let job = world.job("once").await.job;
        assert_eq!((job.state, job.counters.executions), (JobState::Completed, 1), "{off:?}");
        let reason = if off == Off::Job { Reason::JobDisabled } else { Reason::CollectionDisabled };
        let entries = world.ledger().await.split_off(since);
        let rows: Vec<_> = entries.iter().map(|entry| (entry.due_at, entry.fate, entry.reason)).collect();
        assert_eq!(
            rows,
            [(due_at, Fate::Skipped, Some(reason)), (resumed_at, Fate::Ran, None)],
            "{off:?}: {entries:?}"
        );
        world.store().delete_job(&path(), "once", None, world.now).await.unwrap();
        world.pass(1000);
    }
}

async fn so_far(world: &World<'_>, query: &LedgerQuery, most: u32) -> SkippedSoFar {
    world.store().skipped_so_far(query, world.now, most).await.unwrap()
}

async fn names_so_far(world: &World<'_>, query: LedgerQuery) -> String {
    let names = so_far(world, &query, 100).await.entries.into_iter().map(|stored| stored.job);
    names.collect::<Vec<_>>().join(" ")
}

/// While a job or its collection is off, the answer is the entry that is written when it is on again.
pub async fn what_is_off_has_skipped_what_is_entered_later(backend: &dyn Backend) {
    let mut world = World::new(backend).await;
    let nothing = SkippedSoFar::default();
    let all = LedgerQuery::default();
    world.put("job", world.minutely_in(60)).await;
    world.put_as("template", world.once_in(0), JobState::Disabled).await;
    world.pass(30);
    for by_collection in [false, true] {
        if by_collection {
            world.switch_collection(false).await;
        } else {
            world.patch("job", JobState::Disabled, |_| ()).await;
        }
        assert_eq!(so_far(&world, &all, 100).await, nothing, "nothing was due yet");
        world.pass(180);
        let found = so_far(&world, &all, 100).await;
        let [stored] = &found.entries[..] else { panic!("{found:?}") };
        assert!(stored.is_ongoing() && !found.more, "{found:?}");
        assert_eq!((stored.job.as_str(), &stored.collection), ("job", &path()));
        let before = skipped(&world).await.len();
        if by_collection {
            world.switch_collection(true).await;
            assert!(world.claim(0).await.is_empty());
        } else {
            world.patch("job", JobState::Enabled, |_| ()).await;
        }
        let entered = world.ledger().await.split_off(before);
        assert_eq!(entered, std::slice::from_ref(&stored.entry));
        let expected = if by_collection { Reason::CollectionDisabled } else { Reason::JobDisabled };
        assert_eq!((entered[0].occurrences, entered[0].reason), (3, Some(expected)));
        assert_eq!(so_far(&world, &all, 100).await, nothing, "it is on again");
    }

    // A job that runs once still has to run; while it is off, it has not.
    world.put("once", world.once_in(30)).await;
    world.patch("once", JobState::Disabled, |_| ()).await;
    world.pass(60);
    assert_eq!(names_so_far(&world, all.clone()).await, "once");
    // What is deleted is over.
    world.store().delete_job(&path(), "once", None, world.now).await.unwrap();
    assert_eq!(so_far(&world, &all, 100).await, nothing);
}

/// By names in any case, by time, and never more than so many jobs.
pub async fn what_is_off_is_found_by_name_and_time(backend: &dyn Backend) {
    let mut world = World::new(backend).await;
    let other = CollectionPath { group: "Other".into(), ..named("Other") };
    done(world.put_collection(collection(&other, Plan::Standard), Expected::Absent).await);
    for name in ["a", "B", "c"] {
        world.put_as(name, world.minutely_in(60), JobState::Disabled).await;
        world.pass(600);
    }
    let of = |name: &str| LedgerQuery {
        collection: Some(path()),
        job: Some(name.to_owned()),
        ..LedgerQuery::default()
    };
    let default = LedgerQuery::default;
    assert_eq!(names_so_far(&world, default()).await, "c B a", "the latest pause comes first");
    assert_eq!(names_so_far(&world, of("b")).await, "B");
    assert_eq!(names_so_far(&world, of("d")).await, "");
    let subscription = |name: &str| LedgerQuery { subscription: Some(name.into()), ..default() };
    assert_eq!(names_so_far(&world, subscription("SUB-1")).await, "c B a");
    assert_eq!(names_so_far(&world, subscription("sub-2")).await, "");
    let group = |name: &str| LedgerQuery { group: Some(name.into()), ..subscription("sub-1") };
    assert_eq!(names_so_far(&world, group("GROUP")).await, "c B a");
    assert_eq!(names_so_far(&world, group("other")).await, "");
    assert_eq!(names_so_far(&world, LedgerQuery { collection: Some(other), ..default() }).await, "");
    // A pause that began before the time that is asked for is still going on within it.
    let since = LedgerQuery { due: Span { from: Some(world.after(-60)), to: None }, ..default() };
    assert_eq!(names_so_far(&world, since).await, "c B a");
    let until = LedgerQuery { due: Span { from: None, to: Some(world.after(-900)) }, ..default() };
    assert_eq!(names_so_far(&world, until).await, "B a");

    let found = so_far(&world, &default(), 2).await;
    assert_eq!((found.entries.len(), found.more), (2, true));
    assert!(!so_far(&world, &default(), 3).await.more);
}

/// While its collection is off a job has no next run, however it is found; what is stored of it stays.
pub async fn a_job_knows_whether_its_collection_is_on(backend: &dyn Backend) {
    let world = World::new(backend).await;
    let due = Some(world.after(60));
    assert_eq!(world.put("job", world.minutely_in(60)).await.next_run(), due);
    for on in [false, true] {
        world.switch_collection(on).await;
        let next = due.filter(|_| on);
        let patched = world.patch("job", JobState::Enabled, |_| ()).await;
        let new = world.put(if on { "later" } else { "new" }, world.minutely_in(60)).await;
        let page = Page { skip: 0, top: 10 };
        let mut found = world.store().find_jobs(&JobQuery::default(), page).await.unwrap().jobs;
        found.extend(world.store().jobs(&path(), None, page).await.unwrap().unwrap());
        let mut shown: Vec<_> = found
            .into_iter()
            .map(|record| (record.name.clone(), record.collection_enabled, record.next_run(), record.next_at))
            .collect();
        let mut opened = world.store().all_jobs(&path()).await.unwrap();
        opened.extend([patched, new].map(FoundJob::Readable));
        shown.extend(opened.iter().filter_map(FoundJob::readable).map(|stored| {
            (stored.job.name.clone(), stored.collection_enabled, stored.next_run(), stored.job.next_at)
        }));
        assert!(shown.len() > 7);
        for (name, is_on, next_run, next_at) in shown {
            assert_eq!((is_on, next_run, next_at), (on, next, due), "{name}");
        }
        let soonest = world.store().soonest_jobs(10).await.unwrap();
        assert_eq!(soonest.is_empty(), !on);
    }
}
