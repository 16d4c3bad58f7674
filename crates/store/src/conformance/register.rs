//! Who may do what, and who did what.

use std::sync::Arc;

use access::audit::{Break, Link, Walk};
use access::{Act, Assignment, Entry, Note, PrincipalId, Role, Scope, Sight, Token, TokenRecord, Verdict};
use model::{CollectionPath, GroupPath, JobState, Plan, Timestamp};

use super::Backend;
use super::world::{World, collection, done, named, path};
use crate::{
    Added, AuditQuery, Deleted, Expected, ExpectedJob, JobQuery, LedgerQuery, Page, Session, Span, Store,
    Written,
};

const ALL: Page = Page { skip: 0, top: 100 };

fn token(world: &World<'_>, name: &str) -> TokenRecord {
    let token = Token::random().expect("random numbers");
    TokenRecord {
        id: token.id,
        hash: token.secret.hash(),
        name: name.to_owned(),
        created_at: world.now,
        created_by: "local".to_owned(),
        expires_at: world.after(1000),
        used_at: None,
        revoked_at: None,
    }
}

fn assignment(world: &World<'_>, principal: &PrincipalId, role: Role, scope: &str) -> Assignment {
    Assignment {
        principal: principal.clone(),
        role,
        scope: scope.parse().expect("a scope"),
        created_at: world.now,
        created_by: "local".to_owned(),
    }
}

/// A token comes with its roles, and takes them along.
#[allow(clippy::unwrap_used, reason = "a test that cannot go on shall stop")]
pub async fn tokens_are_kept_revoked_and_removed_with_their_roles(backend: &dyn Backend) {
    let mut world = World::new(backend).await;
    let first = token(&world, "first");
    let who = PrincipalId::token(&first.id);
    let role = assignment(&world, &who, Role::Reader, "/subscriptions/s");
    assert_eq!(world.store().add_token(first.clone(), vec![role.clone()]).await.unwrap(), Added::Done);
    assert_eq!(world.store().add_token(first.clone(), vec![]).await.unwrap(), Added::Already);
    world.pass(1);
    let second = token(&world, "second");
    assert_eq!(world.store().add_token(second.clone(), vec![]).await.unwrap(), Added::Done);
    world.restart().await;
    let store = world.store();
    assert_eq!(store.tokens().await.unwrap(), [second.clone(), first.clone()]);
    assert_eq!(store.assignments().await.unwrap(), [role]);
    store.use_token(&first.id, world.after(5)).await.unwrap();
    // What is told late is no news.
    store.use_token(&first.id, world.after(4)).await.unwrap();
    let found = store.token(&first.id).await.unwrap().unwrap();
    assert_eq!(found, TokenRecord { used_at: Some(world.after(5)), ..first.clone() });
    assert!(store.revoke_token(&first.id, world.after(6)).await.unwrap());
    assert!(!store.revoke_token(&first.id, world.after(7)).await.unwrap());
    let found = store.token(&first.id).await.unwrap().unwrap();
    assert_eq!(found.revoked_at, Some(world.after(6)));
    assert_eq!(store.assignments().await.unwrap(), []);
    let unknown = Token::random().unwrap().id;
    assert_eq!(store.token(&unknown).await.unwrap(), None);
    assert!(!store.revoke_token(&unknown, world.now).await.unwrap());
}

/// A role is the same in any case of its scope's names.
#[allow(clippy::unwrap_used, reason = "a test that cannot go on shall stop")]
pub async fn roles_are_given_once_in_any_case(backend: &dyn Backend) {
    let world = World::new(backend).await;
    let store = world.store();
    let ann = PrincipalId::user("ann");
    let owner = assignment(&world, &ann, Role::Owner, "/subscriptions/Sub-1");
    let reader = assignment(&world, &ann, Role::Reader, "/");
    assert_eq!(store.assign(owner.clone()).await.unwrap(), Added::Done);
    assert_eq!(store.assign(reader.clone()).await.unwrap(), Added::Done);
    let again = assignment(&world, &ann, Role::Owner, "/SUBSCRIPTIONS/SUB-1");
    assert_eq!(store.assign(again.clone()).await.unwrap(), Added::Already);
    assert_eq!(store.assignments().await.unwrap(), [reader.clone(), owner]);
    assert!(store.unassign(again.clone()).await.unwrap());
    assert!(!store.unassign(again).await.unwrap());
    assert_eq!(store.assignments().await.unwrap(), [reader]);
}

/// Roles end with the group or collection that they were given for, and are noted with its end.
#[allow(clippy::unwrap_used, reason = "a test that cannot go on shall stop")]
pub async fn roles_end_with_their_scope(backend: &dyn Backend) {
    let mut world = World::new(backend).await;
    let group = GroupPath::from(&path());
    let place = format!("/subscriptions/{}/resourceGroups/{}", group.subscription, group.name);
    let of = |name: &str| format!("{place}/providers/Microsoft.Scheduler/jobCollections/{name}");
    let write = |name: &str| {
        let collection = collection(&named(name), Plan::Standard);
        crate::CollectionWrite { collection, expected: Expected::Absent, most: None, now: world.now }
    };
    let store = world.store();
    // One whose name begins like that of another.
    let other = format!("{}2", path().name);
    done(store.put_collection(write(&other)).await.unwrap());
    let ann = PrincipalId::user("ann");
    let everywhere = [
        assignment(&world, &ann, Role::Owner, "/"),
        assignment(&world, &ann, Role::Owner, &format!("/subscriptions/{}", group.subscription)),
        assignment(
            &world,
            &ann,
            Role::Reader,
            &place
                .to_uppercase()
                .replace("RESOURCEGROUPS", "resourceGroups")
                .replace("SUBSCRIPTIONS", "subscriptions"),
        ),
        assignment(&world, &ann, Role::Operator, &of(&path().name)),
        assignment(&world, &PrincipalId::user("bob"), Role::Reader, &of(&path().name.to_uppercase())),
        assignment(&world, &ann, Role::Operator, &of(&other)),
    ];
    for role in &everywhere {
        assert_eq!(store.assign(role.clone()).await.unwrap(), Added::Done);
    }
    let scopes = async |store: &Arc<dyn Store>| -> Vec<String> {
        store
            .assignments()
            .await
            .unwrap()
            .iter()
            .map(|role| format!("{} {}", role.role.name(), role.scope))
            .collect()
    };
    let note = |act| note(world.after(1), act, "what was deleted");
    let noting = store.noting(note(Act::DeleteCollection));
    // What is not deleted keeps its roles.
    let refused = noting.delete_collection(&path(), Some(crate::Revision(-1)), world.now).await.unwrap();
    assert_eq!(refused, Deleted::Changed);
    assert_eq!(scopes(store).await.len(), 6);
    assert_eq!(noting.delete_collection(&path(), None, world.now).await.unwrap(), Deleted::Done);
    assert_eq!(scopes(store).await.len(), 4);
    let mut ended: Vec<_> = noted(store)
        .await
        .into_iter()
        .filter(|note| note.act == Act::RemoveRole)
        .map(|note| (note.who, note.detail))
        .collect();
    ended.sort();
    let told = |who, role| {
        let detail = serde_json::json!({"principal": who, "role": role, "deleted": "what was deleted"});
        ("user:ann".to_owned(), detail.to_string())
    };
    assert_eq!(ended, [told("user:ann", "Operator"), told("user:bob", "Reader")]);
    drop(noting);
    // The next one of that name begins without.
    done(store.put_collection(write(&path().name)).await.unwrap());
    world.restart().await;
    let store = world.store();
    assert_eq!(scopes(store).await.len(), 4);
    assert_eq!(store.delete_group(&group, None, world.now).await.unwrap(), Deleted::Done);
    let left = ["Owner /".to_owned(), format!("Owner /subscriptions/{}", group.subscription)];
    assert_eq!(scopes(store).await, left);
    assert_eq!(verify(store).await, Ok(3));
}

/// A role is given in what is there, and to a token that is.
#[allow(clippy::unwrap_used, reason = "a test that cannot go on shall stop")]
pub async fn roles_are_given_in_what_is_there(backend: &dyn Backend) {
    let world = World::new(backend).await;
    let store = world.store();
    let group = GroupPath::from(&path());
    let place = format!("/subscriptions/{}/resourceGroups/{}", group.subscription, group.name);
    let gone = format!("{place}/providers/Microsoft.Scheduler/jobCollections/gone");
    let ann = PrincipalId::user("ann");
    for missing in [&gone, "/subscriptions/s/resourceGroups/gone"] {
        let role = assignment(&world, &ann, Role::Reader, missing);
        assert_eq!(store.assign(role.clone()).await.unwrap(), Added::NoScope(role.scope.clone()));
        let added = store.add_token(token(&world, "t"), vec![role.clone()]).await.unwrap();
        assert_eq!(added, Added::NoScope(role.scope));
    }
    assert_eq!((store.tokens().await.unwrap(), store.assignments().await.unwrap()), (vec![], vec![]));
    for there in ["/", "/subscriptions/not-yet", &place] {
        assert_eq!(store.assign(assignment(&world, &ann, Role::Reader, there)).await.unwrap(), Added::Done);
    }
    let record = token(&world, "t");
    let role = assignment(&world, &PrincipalId::token(&record.id), Role::Reader, "/");
    assert_eq!(store.assign(role.clone()).await.unwrap(), Added::NoToken);
    store.add_token(record.clone(), vec![]).await.unwrap();
    assert_eq!(store.assign(role.clone()).await.unwrap(), Added::Done);
    store.revoke_token(&record.id, world.now).await.unwrap();
    assert_eq!(store.assign(role).await.unwrap(), Added::NoToken);
}

/// A sign-in is found by its hash, and goes when it ends or was idle for long.
#[allow(clippy::unwrap_used, reason = "a test that cannot go on shall stop")]
pub async fn sessions_begin_are_used_and_end(backend: &dyn Backend) {
    let world = World::new(backend).await;
    let store = world.store();
    let session = |number: u8, used_at| Session {
        hash: [number; 32],
        who: format!("{{\"n\":{number}}}"),
        created_at: world.now,
        used_at,
    };
    let (one, two, three) = (session(1, world.now), session(2, world.after(5)), session(3, world.after(10)));
    store.add_session(one.clone(), Timestamp::MIN).await.unwrap();
    store.add_session(two.clone(), Timestamp::MIN).await.unwrap();
    assert_eq!(store.session([1; 32]).await.unwrap(), Some(one));
    store.use_session([2; 32], world.after(9)).await.unwrap();
    store.add_session(three.clone(), world.after(9)).await.unwrap();
    assert_eq!(store.session([1; 32]).await.unwrap(), None);
    assert_eq!(store.session([2; 32]).await.unwrap(), Some(Session { used_at: world.after(9), ..two }));
    assert!(store.end_session([3; 32]).await.unwrap());
    assert!(!store.end_session([3; 32]).await.unwrap());
    assert_eq!(store.session([3; 32]).await.unwrap(), None);
}

fn note(at: Timestamp, act: Act, target: &str) -> Note {
    Note {
        at,
        who: "user:ann".to_owned(),
        name: "Ann".to_owned(),
        from: "127.0.0.1".to_owned(),
        act,
        target: target.to_owned(),
        verdict: Verdict::Done,
        detail: "{\"a\":1}".to_owned(),
    }
}

#[allow(clippy::unwrap_used, reason = "a test that cannot go on shall stop")]
async fn noted(store: &Arc<dyn Store>) -> Vec<Note> {
    let entries = store.audit(&AuditQuery::default(), 1000).await.unwrap();
    entries.into_iter().map(|entry| entry.note).collect()
}

/// Walks along all chains.
#[allow(clippy::unwrap_used, reason = "a test that cannot go on shall stop")]
async fn verify(store: &Arc<dyn Store>) -> Result<usize, Break> {
    let mut count = 0;
    for chain in store.audit_chains().await.unwrap() {
        let mut walk = Walk::from(chain.number, chain.before);
        loop {
            let entries = store.audit_of(chain.number, walk.last().serial, 2).await.unwrap();
            for entry in &entries {
                walk.step(entry)?;
                count += 1;
            }
            if entries.is_empty() {
                break;
            }
        }
        walk.end(chain.last)?;
        walk.beginning(chain.unmarked)?;
    }
    Ok(count)
}

/// The note of a change that is refused is not there; that of one that is made is.
#[allow(clippy::unwrap_used, reason = "a test that cannot go on shall stop")]
pub async fn a_change_is_noted_with_it_or_not_at_all(backend: &dyn Backend) {
    let mut world = World::new(backend).await;
    let write = |name: &str, expected| {
        let definition = world.minutely();
        let rule = definition.rule().unwrap();
        world.write(name, definition, model::transition::begin(&rule, JobState::Enabled), expected, true)
    };
    let store = world.store();
    assert_eq!(noted(store).await, []);
    let by_ann = |act, seconds| store.noting(note(world.after(seconds), act, "/subscriptions/s"));
    done(by_ann(Act::WriteJob, 1).put_job(write("a", ExpectedJob::Absent)).await.unwrap());
    let refused = by_ann(Act::WriteJob, 2).put_job(write("a", ExpectedJob::Absent)).await.unwrap();
    assert!(matches!(refused, Written::Changed));
    let job = store.job(&path(), "a").await.unwrap().unwrap();
    let execution = model::transition::run_now(&job.job, world.seed(), world.now);
    by_ann(Act::RunJob, 3).add_execution(execution).await.unwrap();
    let gone = by_ann(Act::DeleteJob, 4).delete_job(&path(), "a", None, world.now).await.unwrap();
    assert_eq!(gone, Deleted::Done);
    let gone = by_ann(Act::DeleteJob, 5).delete_job(&path(), "a", None, world.now).await.unwrap();
    assert_eq!(gone, Deleted::Absent);
    // Without a name nobody is noted.
    done(store.put_job(write("b", ExpectedJob::Absent)).await.unwrap());
    let group = GroupPath::from(&path());
    let gone = by_ann(Act::DeleteGroup, 6).delete_group(&group, None, world.now).await.unwrap();
    assert_eq!(gone, Deleted::Done);
    store.note(note(world.after(7), Act::SignIn, "")).await.unwrap();
    world.restart().await;
    let store = world.store();
    let acts: Vec<(Act, Timestamp)> = noted(store).await.iter().map(|note| (note.act, note.at)).collect();
    let expected =
        [(Act::SignIn, 7), (Act::DeleteGroup, 6), (Act::DeleteJob, 4), (Act::RunJob, 3), (Act::WriteJob, 1)];
    assert_eq!(acts, expected.map(|(act, seconds)| (act, world.after(seconds))));
    assert_eq!(noted(store).await[4], note(world.after(1), Act::WriteJob, "/subscriptions/s"));
    assert_eq!(verify(store).await, Ok(5));
}

/// Whoever comes at the same time as others is noted like them, and what is not made is not.
#[allow(clippy::unwrap_used, reason = "a test that cannot go on shall stop")]
pub async fn changes_that_come_at_once_are_all_noted(backend: &dyn Backend) {
    let world = World::new(backend).await;
    let mut writes = tokio::task::JoinSet::new();
    for i in 0..30 {
        let definition = world.minutely();
        let standing = model::transition::begin(&definition.rule().unwrap(), JobState::Enabled);
        let write = world.write(&format!("job-{}", i / 2), definition, standing, ExpectedJob::Absent, true);
        let store = world.store().noting(note(world.after(i), Act::WriteJob, "/subscriptions/s"));
        writes.spawn(async move { (i, store.put_job(write).await.unwrap()) });
    }
    let made = writes.join_all().await.into_iter().filter(|(_, written)| matches!(written, Written::Done(_)));
    let mut made: Vec<Timestamp> = made.map(|(i, _)| world.after(i)).collect();
    made.sort();
    let mut told: Vec<Timestamp> = noted(world.store()).await.iter().map(|note| note.at).collect();
    told.sort();
    assert_eq!((made.len(), &made), (15, &told));
    assert_eq!(verify(world.store()).await, Ok(15));
}

/// What the walk along a chain finds, whoever keeps it.
#[allow(clippy::unwrap_used, reason = "a test that cannot go on shall stop")]
pub async fn what_was_changed_breaks_the_chain(backend: &dyn Backend) {
    let world = World::new(backend).await;
    let store = world.store();
    for i in 0..5 {
        // One after the other, so that all are in one chain.
        store.note(note(world.after(i), Act::SignIn, "\0 ä")).await.unwrap();
    }
    let chains = store.audit_chains().await.unwrap();
    assert_eq!(chains.len(), 1);
    let entries = store.audit_of(chains[0].number, 0, 100).await.unwrap();
    let walk = |entries: &[Entry]| {
        let mut walk = Walk::from(chains[0].number, Link::START);
        entries.iter().try_for_each(|entry| walk.step(entry))?;
        walk.end(chains[0].last)
    };
    assert_eq!(walk(&entries), Ok(chains[0].last));
    let mut changed = entries.clone();
    changed[3].note.name = "Eve".into();
    assert_eq!(walk(&changed), Err(Break::Changed { serial: 4 }));
    assert_eq!(walk(&entries[..4]), Err(Break::Cut { serial: 4, noted: 5 }));
}

/// By who, what, where, when and how it ended.
#[allow(clippy::unwrap_used, reason = "a test that cannot go on shall stop")]
pub async fn the_audit_is_filtered_and_paged(backend: &dyn Backend) {
    let world = World::new(backend).await;
    let store = world.store();
    let job = format!("{}/jobs/Nightly", Scope::Collection(path()));
    let mut denied = note(world.after(2), Act::DeleteJob, &job);
    denied.verdict = Verdict::Denied;
    denied.who = "token:1".to_owned();
    denied.name = "Robot".to_owned();
    let notes = [
        note(world.after(0), Act::WriteGroup, &Scope::Group(GroupPath::from(&path())).to_string()),
        note(world.after(1), Act::WriteJob, &job),
        denied,
        note(world.after(3), Act::SignIn, ""),
    ];
    for note in &notes {
        store.note(note.clone()).await.unwrap();
    }
    let query = AuditQuery::default;
    let time = |seconds| Some(world.after(seconds));
    for (query, expected) in [
        (query(), &[3, 2, 1, 0][..]),
        (AuditQuery { who: Some("token:1".into()), ..query() }, &[2]),
        (AuditQuery { act: Some(Act::WriteJob), ..query() }, &[1]),
        (AuditQuery { verdict: Some(Verdict::Done), ..query() }, &[3, 1, 0]),
        (AuditQuery { at: Span { from: time(1), to: time(2) }, ..query() }, &[2, 1]),
        (AuditQuery { search: Some("NIGHT".into()), ..query() }, &[2, 1]),
        (AuditQuery { search: Some("robo".into()), ..query() }, &[2]),
        (AuditQuery { search: Some("%".into()), ..query() }, &[]),
    ] {
        let found: Vec<Note> =
            store.audit(&query, 10).await.unwrap().into_iter().map(|entry| entry.note).collect();
        let expected: Vec<Note> = expected.iter().map(|i| notes[*i].clone()).collect();
        assert_eq!(found, expected, "{query:?}");
    }
    let mut before = None;
    let mut walked = Vec::new();
    while let Some(entry) =
        store.audit(&AuditQuery { before, ..query() }, 1).await.unwrap().into_iter().next()
    {
        before = Some((entry.note.at, entry.chain, entry.serial));
        walked.push(entry.note);
    }
    walked.reverse();
    assert_eq!(walked, notes);
    let sees = Sight::Within(vec![Scope::Collection(path())]);
    assert_eq!(noted(&store.seen_by(&sees)).await, [notes[2].clone(), notes[1].clone()]);
    let sees = Sight::Within(vec![Scope::Subscription("SUB-1".into())]);
    assert_eq!(noted(&store.seen_by(&sees)).await.len(), 3);
}

/// Retention takes the oldest, and remembers where the chain goes on.
#[allow(clippy::unwrap_used, reason = "a test that cannot go on shall stop")]
pub async fn old_notes_are_pruned_and_the_rest_is_a_chain(backend: &dyn Backend) {
    let world = World::new(backend).await;
    let store = world.store();
    for i in 0..6 {
        store.note(note(world.after(i), Act::SignIn, "")).await.unwrap();
    }
    let marks = async |now: i64| {
        while store.prune_audit(world.after(now), world.after(now + 1)).await.unwrap() {}
        let noted = noted(store).await;
        noted.iter().map(|note| (note.at, note.act)).collect::<Vec<_>>()
    };
    let mark = |seconds: i64| (world.after(seconds), Act::PruneAudit);
    let (fourth, fifth) = ((world.after(4), Act::SignIn), (world.after(5), Act::SignIn));
    let left = marks(4).await;
    assert!(left.len() == 3 && [fourth, fifth, mark(5)].iter().all(|one| left.contains(one)), "{left:?}");
    assert_eq!(verify(store).await, Ok(3));
    // However much is removed, the chain says so: it is never empty again.
    assert_eq!(marks(100).await, [mark(101)]);
    assert_eq!(verify(store).await, Ok(1));
    assert_eq!(marks(100).await, [mark(101)], "there is nothing to remove");
    assert_eq!(marks(1000).await, [mark(1001)]);
    assert_eq!(verify(store).await, Ok(1));
    store.note(note(world.after(1002), Act::SignIn, "")).await.unwrap();
    assert_eq!(verify(store).await, Ok(2));
    let chain = store.audit_chains().await.unwrap()[0];
    assert_eq!((chain.before.serial, chain.last.serial, chain.unmarked), (8, 10, 0));
}

/// A store that is seen by somebody lists what they see, and finds the rest by name.
#[allow(clippy::unwrap_used, reason = "a test that cannot go on shall stop")]
pub async fn lists_have_only_what_is_seen(backend: &dyn Backend) {
    let mut world = World::new(backend).await;
    let elsewhere = CollectionPath { subscription: "Sub-2".into(), ..named("Other") };
    let beside = CollectionPath { group: "Beside".into(), ..named("Third") };
    for path in [&elsewhere, &beside, &named("Fourth")] {
        done(world.put_collection(collection(path, Plan::Standard), Expected::Absent).await);
    }
    for (path, name) in
        [(path(), "j1"), (elsewhere.clone(), "j2"), (beside.clone(), "j3"), (named("Fourth"), "j4")]
    {
        let definition = world.minutely();
        let standing = model::transition::begin(&definition.rule().unwrap(), JobState::Enabled);
        let mut write = world.write(name, definition, standing, ExpectedJob::Absent, true);
        write.collection = path;
        done(world.store().put_job(write).await.unwrap());
    }
    // All are skipped, so that the ledger knows them.
    world.pass(120);
    for path in [path(), elsewhere.clone(), beside.clone(), named("Fourth")] {
        let job = world.store().jobs(&path, None, ALL).await.unwrap().unwrap().remove(0);
        let gone = world.store().delete_job(&path, &job.job.name, None, world.now).await.unwrap();
        assert_eq!(gone, Deleted::Done);
        let definition = world.minutely_in(60);
        let standing = model::transition::begin(&definition.rule().unwrap(), JobState::Enabled);
        let mut write = world.write(&job.job.name, definition, standing, ExpectedJob::Absent, true);
        write.collection = path;
        done(world.store().put_job(write).await.unwrap());
    }
    let group = Scope::Group(GroupPath::from(&beside));
    for (scopes, jobs, collections, groups, subscriptions) in [
        (vec![Scope::Collection(path())], &["j1"][..], 1, 1, 1),
        (vec![Scope::Collection(elsewhere.clone())], &["j2"], 0, 0, 1),
        (vec![group.clone()], &["j3"], 1, 1, 1),
        (vec![group, Scope::Collection(elsewhere.clone())], &["j2", "j3"], 1, 1, 2),
        (vec![Scope::Subscription("sub-1".into())], &["j1", "j3", "j4"], 3, 2, 1),
        (vec![Scope::Subscription("sub".into())], &[], 0, 0, 0),
        (vec![], &[], 0, 0, 0),
    ] {
        let sight = Sight::Within(scopes);
        let store = world.store().seen_by(&sight);
        let found = store.find_jobs(&JobQuery::default(), ALL).await.unwrap();
        let names: Vec<&str> = found.jobs.iter().map(|stored| stored.job.name.as_str()).collect();
        assert_eq!((&names[..], found.total), (jobs, jobs.len() as u64), "{sight:?}");
        let mut soonest: Vec<String> =
            store.soonest_jobs(10).await.unwrap().into_iter().map(|stored| stored.job.name).collect();
        soonest.sort();
        assert_eq!(soonest, jobs, "{sight:?}");
        assert_eq!(store.job_states().await.unwrap().enabled, jobs.len() as u64, "{sight:?}");
        let census = store.census().await.unwrap();
        assert_eq!((census.collections, census.jobs), (jobs.len() as u64, jobs.len() as u64), "{sight:?}");
        let mut told: Vec<String> = store
            .ledger(&LedgerQuery::default(), 100)
            .await
            .unwrap()
            .into_iter()
            .map(|entry| entry.job)
            .collect();
        told.sort();
        told.dedup();
        assert_eq!(told, jobs, "{sight:?}");
        assert_eq!(store.collections("sub-1", None, ALL).await.unwrap().len(), collections, "{sight:?}");
        assert_eq!(store.groups("sub-1", None, ALL).await.unwrap().len(), groups, "{sight:?}");
        assert_eq!(store.subscriptions(ALL).await.unwrap().len(), subscriptions, "{sight:?}");
        assert!(store.collection(&elsewhere).await.unwrap().is_some());
        let everything = store.seen_by(&Sight::All);
        assert_eq!(everything.find_jobs(&JobQuery::default(), ALL).await.unwrap().total, 4);
    }
}

/// What [`register_by!`](crate::register_by) needs by name.
#[doc(hidden)]
pub mod names {
    pub use std::sync::Arc;

    pub use access::{Assignment, Entry, Note, Sight, TokenId, TokenRecord};
    pub use async_trait::async_trait;
    pub use model::Timestamp;

    pub use crate::{Added, AuditQuery, Chain, Register, Result, Session, Store};
}

/// [`Register`](crate::Register) for a store of a test that has another one in a field. Its method `like_this` makes the
/// same of what that store becomes in somebody's name; `pass` is how its calls are made.
#[macro_export]
macro_rules! register_by {
    ($type:ty, $field:ident) => {
        $crate::register_by! { $type, $field;
            note(note: Note) -> ();
            audit(query: &AuditQuery, top: u32) -> Vec<Entry>;
            audit_chains() -> Vec<Chain>;
            audit_of(chain: i64, after: i64, top: u32) -> Vec<Entry>;
            prune_audit(before: Timestamp, now: Timestamp) -> bool;
            token(id: &TokenId) -> Option<TokenRecord>;
            tokens() -> Vec<TokenRecord>;
            add_token(record: TokenRecord, roles: Vec<Assignment>) -> Added;
            revoke_token(id: &TokenId, now: Timestamp) -> bool;
            use_token(id: &TokenId, now: Timestamp) -> ();
            assignments() -> Vec<Assignment>;
            assign(assignment: Assignment) -> Added;
            unassign(assignment: Assignment) -> bool;
            add_session(session: Session, idle_since: Timestamp) -> ();
            session(hash: [u8; 32]) -> Option<Session>;
            use_session(hash: [u8; 32], now: Timestamp) -> ();
            end_session(hash: [u8; 32]) -> bool;
        }
    };
    ($type:ty, $field:ident; $($name:ident($($value:ident: $of:ty),*) -> $answer:ty;)+) => {
        const _: () = {
            use $crate::conformance::register::names::*;

            #[async_trait]
            impl Register for $type {
                fn noting(&self, note: Note) -> Arc<dyn Store> {
                    self.like_this(self.$field.noting(note))
                }

                fn seen_by(&self, sight: &Sight) -> Arc<dyn Store> {
                    self.like_this(self.$field.seen_by(sight))
                }

                $(async fn $name(&self, $($value: $of),*) -> Result<$answer> {
                    self.pass(self.$field.$name($($value),*)).await
                })+
            }
        };
    };
}
