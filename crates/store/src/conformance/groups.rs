//! Resource groups: found, listed, written, deleted with all that is in them.

use model::{CollectionPath, Fate, Group, GroupPath, Plan};

use super::Backend;
use super::world::{World, collection, done, named, path};
use crate::{Deleted, Expected, GroupWrite, Page, Revision, TagQuery, Written};

const ALL: Page = Page { skip: 0, top: 1000 };

fn at(subscription: &str, name: &str) -> GroupPath {
    GroupPath { subscription: subscription.into(), name: name.into() }
}

fn group(name: &str, tags: &[(&str, &str)]) -> Group {
    let tags: Vec<(String, String)> =
        tags.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
    Group { path: at("sub-1", name), location: "West US".into(), tags: Some(tags).filter(|t| !t.is_empty()) }
}

async fn put(world: &World<'_>, group: Group, expected: Expected) -> Written {
    world.store().put_group(GroupWrite { group, expected }).await.unwrap()
}

/// Segments match in any case and keep the case they were created with.
pub async fn groups_are_found_in_any_case(backend: &dyn Backend) {
    let world = World::new(backend).await;
    assert!(world.store().group(&at("sub-1", "Müll")).await.unwrap().is_none());
    let made = done(put(&world, group("Müll", &[("b", "1"), ("a", "ü")]), Expected::Absent).await);
    let stored = world.store().group(&at("SUB-1", "mÜLL")).await.unwrap().unwrap();
    assert_eq!((&stored.group, stored.revision), (&group("Müll", &[("b", "1"), ("a", "ü")]), made));

    let changed = done(put(&world, group("MÜLL", &[]), Expected::Revision(made)).await);
    let stored = world.store().group(&at("sub-1", "müll")).await.unwrap().unwrap();
    assert_eq!(stored.group, group("Müll", &[]), "the case it was created with");
    assert_eq!(stored.revision, changed);
    assert_ne!(changed, made);
}

/// By name in any case; a tag picks, pages are parts of the same order.
pub async fn groups_are_sorted_filtered_and_paged(backend: &dyn Backend) {
    let world = World::new(backend).await;
    for (name, tags) in [
        ("zeta", &[("Team", "a"), ("cost", "1")][..]),
        ("Beta", &[("team", "b")]),
        ("alpha", &[("steam", "a")]),
        ("delta", &[]),
    ] {
        done(put(&world, group(name, tags), Expected::Absent).await);
    }
    done(put(&world, Group { path: at("sub-2", "foreign"), ..group("", &[]) }, Expected::Absent).await);
    let list = |tag: Option<(&'static str, Option<&'static str>)>, page| {
        let store = world.store().clone();
        async move {
            let tag = tag
                .map(|(name, value)| TagQuery { name: name.to_owned(), value: value.map(ToOwned::to_owned) });
            let found = store.groups("SUB-1", tag.as_ref(), page).await.unwrap();
            found.into_iter().map(|stored| stored.group.path.name).collect::<Vec<_>>().join(" ")
        }
    };
    // `Group` is that of the world's collection.
    assert_eq!(list(None, ALL).await, "alpha Beta delta Group zeta");
    assert_eq!(list(None, Page { skip: 1, top: 2 }).await, "Beta delta");
    assert_eq!(list(Some(("TEAM", None)), ALL).await, "Beta zeta");
    assert_eq!(list(Some(("team", Some("a"))), ALL).await, "zeta");
    assert_eq!(list(Some(("team", Some("A"))), ALL).await, "", "values match exactly");
    assert_eq!(list(Some(("team", None)), Page { skip: 1, top: 5 }).await, "zeta");
    assert_eq!(list(Some(("%", None)), ALL).await, "");
}

/// A write that took something else for granted changes nothing.
pub async fn groups_expect_a_revision(backend: &dyn Backend) {
    let world = World::new(backend).await;
    let absent = put(&world, group("g", &[]), Expected::Revision(Revision(1))).await;
    assert_eq!(absent, Written::Changed);
    let first = done(put(&world, group("g", &[]), Expected::Absent).await);
    assert_eq!(put(&world, group("G", &[]), Expected::Absent).await, Written::Changed);
    let second = done(put(&world, group("g", &[("a", "b")]), Expected::Revision(first)).await);
    assert_eq!(put(&world, group("g", &[]), Expected::Revision(first)).await, Written::Changed);
    let place = at("sub-1", "G");
    let delete = |expected| world.store().delete_group(&place, expected, world.now);
    assert_eq!(delete(Some(first)).await.unwrap(), Deleted::Changed);
    assert_eq!(delete(Some(second)).await.unwrap(), Deleted::Done);
    assert_eq!(delete(None).await.unwrap(), Deleted::Absent);
    let third = done(put(&world, group("g", &[]), Expected::Absent).await);
    assert!(third > second, "a revision is never used twice");
}

/// A new collection makes its group, in its own place, and leaves one alone that is there.
pub async fn a_collection_brings_its_group_along(backend: &dyn Backend) {
    let world = World::new(backend).await;
    let stored = world.store().group(&at("sub-1", "group")).await.unwrap().unwrap();
    let location = collection(&path(), Plan::Free).location;
    assert_eq!(stored.group, Group { path: GroupPath::from(&path()), location, tags: None });

    let tagged = Group { path: stored.group.path.clone(), ..group("", &[("a", "b")]) };
    let revision = done(put(&world, tagged.clone(), Expected::Revision(stored.revision)).await);
    done(world.put_collection(collection(&named("Second"), Plan::Standard), Expected::Absent).await);
    let stored = world.store().group(&tagged.path).await.unwrap().unwrap();
    assert_eq!((stored.group, stored.revision), (tagged, revision));

    // What is refused makes nothing.
    let lost = CollectionPath { group: "Lost".into(), ..path() };
    let refused = world.put_collection(collection(&lost, Plan::Free), Expected::Revision(Revision(1))).await;
    assert_eq!(refused, Written::Changed);
    assert!(world.store().group(&GroupPath::from(&lost)).await.unwrap().is_none());
}

/// Collections, jobs and history go with their group; what was in flight is entered in the ledger; the names are free.
pub async fn a_deleted_group_takes_everything_along(backend: &dyn Backend) {
    let mut world = World::new(backend).await;
    let second = CollectionPath { group: "gROUP".into(), ..named("Second") };
    done(world.put_collection(collection(&second, Plan::Standard), Expected::Absent).await);
    let other = CollectionPath { group: "Other".into(), ..path() };
    done(world.put_collection(collection(&other, Plan::Standard), Expected::Absent).await);
    world.put("job", world.minutely()).await;
    world.run_one(true).await;
    world.pass(60);
    let claim = world.begin_one().await;

    let here = GroupPath::from(&path());
    assert_eq!(world.store().delete_group(&here, None, world.now).await.unwrap(), Deleted::Done);
    assert!(world.store().group(&here).await.unwrap().is_none());
    assert!(world.store().collection(&path()).await.unwrap().is_none());
    assert!(world.store().collection(&second).await.unwrap().is_none());
    assert!(world.store().collection(&other).await.unwrap().is_some(), "other groups stay");
    world.settle(&claim, true).await;
    let ledger = world.ledger().await;
    let last = ledger.iter().max_by_key(|entry| entry.due_at).unwrap();
    assert_eq!((last.fate, last.reason), (Fate::Ran, None), "what the target answered");
    let census = world.store().census().await.unwrap();
    assert_eq!((census.collections, census.jobs, census.executions), (1, 0, 0));

    done(world.put_collection(collection(&path(), Plan::P20Premium), Expected::Absent).await);
    assert!(world.store().group(&here).await.unwrap().is_some());
    assert!(world.store().all_jobs(&path()).await.unwrap().is_empty());
    world.put("job", world.minutely()).await;
    let history = world.store().history(&path(), "job", &Default::default(), ALL).await.unwrap().unwrap();
    assert!(history.is_empty(), "the history went with the first");
}

/// As everything else does.
pub async fn groups_survive_a_restart(backend: &dyn Backend) {
    let mut world = World::new(backend).await;
    let revision = done(put(&world, group("g", &[("a", "b")]), Expected::Absent).await);
    world.restart().await;
    let stored = world.store().group(&at("sub-1", "g")).await.unwrap().unwrap();
    assert_eq!((stored.group, stored.revision), (group("g", &[("a", "b")]), revision));
}

/// Each once, in the case of its first group, in the order of their names.
pub async fn subscriptions_are_those_with_groups(backend: &dyn Backend) {
    let world = World::new(backend).await;
    for (subscription, name) in [("Zed", "a"), ("ZED", "b"), ("alpha", "c")] {
        let group = Group { path: at(subscription, name), ..group("", &[]) };
        done(put(&world, group, Expected::Absent).await);
    }
    let list = |page| world.store().subscriptions(page);
    assert_eq!(list(ALL).await.unwrap(), ["alpha", "Sub-1", "Zed"]);
    assert_eq!(list(Page { skip: 1, top: 1 }).await.unwrap(), ["Sub-1"]);
    world.store().delete_group(&at("alpha", "C"), None, world.now).await.unwrap();
    assert_eq!(list(ALL).await.unwrap(), ["Sub-1", "Zed"]);
}
