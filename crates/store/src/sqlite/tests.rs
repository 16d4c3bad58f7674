//! What only a look inside can show: groups, rollbacks, full disks.

use std::path::Path;
use std::sync::Arc;

use model::{Clock, JobState, Timestamp};
use tempfile::TempDir;

use super::fault::Fault;
use super::{Durability, SqliteSettings, SqliteStore, inspect};
use crate::conformance::{Backend, World, keyring};
use crate::{Error, Keyring, Register as _, Retention, Store};

pub(super) struct Sqlite {
    folder: TempDir,
    store: std::sync::Mutex<Option<Arc<SqliteStore>>>,
}

impl Sqlite {
    pub(super) fn new() -> Self {
        Self { folder: tempfile::tempdir().unwrap(), store: std::sync::Mutex::new(None) }
    }

    pub(super) fn store(&self) -> Arc<SqliteStore> {
        self.store.lock().unwrap().clone().unwrap()
    }

    fn path(&self) -> std::path::PathBuf {
        self.folder.path().join("punctual.db")
    }
}

#[async_trait::async_trait]
impl Backend for Sqlite {
    async fn open_with(&self, keyring: Keyring, now: Timestamp) -> crate::Result<Arc<dyn Store>> {
        let store = Arc::new(open_with(&self.path(), keyring, now)?);
        *self.store.lock().unwrap() = Some(store.clone());
        Ok(store)
    }
}

fn open(path: &Path, now: Timestamp) -> crate::Result<SqliteStore> {
    open_with(path, keyring(), now)
}

fn open_with(path: &Path, keyring: Keyring, now: Timestamp) -> crate::Result<SqliteStore> {
    let settings = SqliteSettings { durability: Durability::ProcessDeath, ..SqliteSettings::new(keyring) };
    SqliteStore::open(path, settings, now)
}

/// Lets the file grow by so many pages and no more; `None` lets it grow as it likes.
async fn limit(store: &SqliteStore, pages: Option<i64>) {
    store
        .writer
        .run(move |work| {
            let there: i64 = work.db.pragma_query_value(None, "page_count", |row| row.get(0))?;
            let most = pages.map_or(1 << 30, |pages| there + pages);
            work.db.pragma_update_and_check(None, "max_page_count", most, |_| Ok(()))?;
            Ok(())
        })
        .await
        .unwrap();
}

#[tokio::test]
async fn a_change_that_fails_goes_alone() {
    let backend = Sqlite::new();
    let world = World::new(&backend).await;
    let store = backend.store();
    let broken = store.writer.run(|work| {
        work.db.execute("UPDATE collections SET jobs = 77", [])?;
        Err::<(), _>(Fault::Unreadable("on purpose".into()))
    });
    let panicking = store.writer.run(|work| {
        work.db.execute("UPDATE collections SET jobs = 78", [])?;
        assert!(work.db.is_autocommit(), "on purpose");
        Ok(())
    });
    let (broken, panicking, _, _) =
        tokio::join!(broken, panicking, world.put("a", world.minutely()), world.put("b", world.minutely()));
    assert!(matches!(broken, Err(Error::Corrupt(_))));
    assert!(matches!(panicking, Err(Error::Failed(_))));
    assert_eq!(store.census().await.unwrap().jobs, 2);
}

#[tokio::test]
async fn the_audit_goes_on_where_a_change_left_nothing() {
    let backend = Sqlite::new();
    let world = World::new(&backend).await;
    let store = backend.store();
    let note = |target: &str| access::Note {
        at: world.now,
        who: "local".into(),
        name: "local".into(),
        from: String::new(),
        act: access::Act::Read,
        target: target.into(),
        verdict: access::Verdict::Denied,
        detail: String::new(),
    };
    let lost = note("lost");
    let broken = store.writer.run(move |work| {
        super::audit::insert(work, &lost)?;
        Err::<(), _>(Fault::Unreadable("on purpose".into()))
    });
    let (first, broken, last) = tokio::join!(store.note(note("1")), broken, store.note(note("2")));
    assert!(first.is_ok() && broken.is_err() && last.is_ok());
    // All of a group, and the writer's memory with it.
    let lost = note("lost");
    let broken = store.writer.run(move |work| {
        super::audit::insert(work, &lost)?;
        work.db.execute_batch("ROLLBACK")?;
        Err::<(), _>(Fault::Unreadable("on purpose".into()))
    });
    assert!(broken.await.is_err());
    store.note(note("3")).await.unwrap();
    let chain = store.audit_chains().await.unwrap()[0];
    let mut walk = access::audit::Walk::from(chain.number, chain.before);
    for entry in store.audit_of(chain.number, 0, 100).await.unwrap() {
        walk.step(&entry).unwrap();
    }
    assert_eq!(walk.end(chain.last), Ok(chain.last));
    assert_eq!(chain.last.serial, 3);
}

#[tokio::test]
async fn a_full_disk_is_told_and_overcome() {
    let backend = Sqlite::new();
    let world = World::new(&backend).await;
    let store = backend.store();
    world.put("before", world.minutely()).await;
    limit(&store, Some(8)).await;
    let mut accepted = Vec::new();
    let error = loop {
        let name = format!("job{}", accepted.len());
        let mut definition = world.minutely();
        definition.action = crate::conformance::action(&format!("http://example.com/{}", "x".repeat(2000)));
        let standing = model::transition::begin(&definition.rule().unwrap(), JobState::Enabled);
        let write = world.write(&name, definition, standing, crate::ExpectedJob::Absent, true);
        match store.put_job(write).await {
            Ok(_) => accepted.push(name),
            Err(error) => break error,
        }
        assert!(accepted.len() < 1000);
    };
    assert!(matches!(&error, Error::Full(text) if text.contains("punctual.db")), "{error}");
    assert!(!accepted.is_empty());
    for name in &accepted {
        world.job(name).await;
    }
    assert_eq!(store.census().await.unwrap().jobs, 1 + accepted.len() as u64, "reading goes on");
    limit(&store, None).await;
    world.put("after", world.minutely()).await;
    let sound: String = store
        .readers
        .run(|db, _| Ok(db.pragma_query_value(None, "integrity_check", |row| row.get(0))?))
        .await
        .unwrap();
    assert_eq!(sound, "ok");
}

/// The change cancelled tickets, then could not be committed: nothing may be lost by that.
#[tokio::test]
async fn claims_survive_a_change_that_was_not_committed() {
    let backend = Sqlite::new();
    let world = World::new(&backend).await;
    let store = backend.store();
    world.put("job", world.minutely_in(10)).await;
    let claims = world.claim(80).await;
    assert_eq!(claims.len(), 2);
    let stored = world.job("job").await;
    let write = world.patched(&stored, JobState::Disabled, |_| ());
    let mut bell = store.bell().listen();
    let spoilt = store.writer.run(move |work| {
        super::changes::put_job(work, &write)?;
        Err::<(), _>(Fault::Unreadable("on purpose".into()))
    });
    assert!(spoilt.await.is_err());
    assert!(bell.has_changed().unwrap(), "there is something to claim again");
    bell.mark_unchanged();
    assert!(claims.iter().all(|claim| !claim.ticket.begin()), "a cancelled ticket stays cancelled");
    assert_eq!(world.job("job").await.job.next_number, 1);
    let again = world.claim(80).await;
    assert_eq!(
        again.iter().map(|claim| claim.execution.tag).collect::<Vec<_>>(),
        claims.iter().map(|claim| claim.execution.tag).collect::<Vec<_>>()
    );
    assert!(again.iter().all(|claim| claim.ticket.begin()));
}

#[tokio::test]
async fn a_connection_that_broke_is_replaced() {
    let backend = Sqlite::new();
    let world = World::new(&backend).await;
    let store = backend.store();
    world.put("job", world.minutely()).await;
    let claim = world.begin_one().await;
    // As if the folder had become read-only under our feet.
    let refused = store.writer.run(|work| {
        work.db.pragma_update(None, "query_only", true)?;
        work.db.execute("UPDATE collections SET jobs = 0", [])?;
        Ok(())
    });
    let error = refused.await.unwrap_err();
    assert!(matches!(&error, Error::Unavailable(text) if text.contains("writable")), "{error}");
    world.settle(&claim, true).await;
    assert_eq!(world.ledger().await.len(), 1, "it goes on by itself, and knows what it had handed out");
}

#[tokio::test]
async fn a_file_has_one_server() {
    let backend = Sqlite::new();
    let world = World::new(&backend).await;
    let error = open(&backend.path(), world.now).err().unwrap();
    assert!(matches!(&error, Error::Unavailable(text) if text.contains("another server")), "{error}");
}

#[test]
fn a_folder_that_cannot_be_written_is_told() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("file");
    std::fs::write(&file, "").unwrap();
    let error = open(&file.join("punctual.db"), Timestamp::UNIX_EPOCH).err().unwrap();
    assert!(matches!(&error, Error::Unavailable(text) if text.contains("folder must exist")), "{error}");
}

#[test]
fn other_files_are_left_alone() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("punctual.db");
    let db = rusqlite::Connection::open(&path).unwrap();
    db.execute_batch("CREATE TABLE theirs (a)").unwrap();
    let error = open(&path, Timestamp::UNIX_EPOCH).err().unwrap();
    assert!(error.to_string().contains("another program"), "{error}");

    let path = folder.path().join("newer.db");
    drop(open(&path, Timestamp::UNIX_EPOCH).unwrap());
    rusqlite::Connection::open(&path).unwrap().pragma_update(None, "user_version", 1000).unwrap();
    let error = open(&path, Timestamp::UNIX_EPOCH).err().unwrap();
    assert!(error.to_string().contains("newer version"), "{error}");

    std::fs::write(folder.path().join("text.db"), "This is no database, whatever its name says. ".repeat(40))
        .unwrap();
    let error = open(&folder.path().join("text.db"), Timestamp::UNIX_EPOCH).err().unwrap();
    assert!(error.to_string().contains("no SQLite database"), "{error}");
}

/// A clock that stands still.
struct Still(Timestamp);

impl Clock for Still {
    fn now(&self) -> Timestamp {
        self.0
    }
}

#[tokio::test]
async fn a_snapshot_is_a_store() {
    let backend = Sqlite::new();
    let world = World::new(&backend).await;
    let store = backend.store();
    world.put("job", world.minutely()).await;
    let claim = world.begin_one().await;
    let clock: Arc<dyn Clock> = Arc::new(Still(world.now));
    // Others write meanwhile.
    let (snapshot, _) =
        tokio::join!(store.snapshot(clock.clone()), world.put("other", world.minutely_in(60)));
    let mut snapshot = snapshot.unwrap().expect("nobody holds another");
    world.settle(&claim, true).await;
    assert!(store.snapshot(clock.clone()).await.unwrap().is_none(), "one at a time");

    let elsewhere = tempfile::tempdir().unwrap();
    let to = elsewhere.path().join("copied.db");
    std::io::copy(&mut snapshot.file, &mut std::fs::File::create(&to).unwrap()).unwrap();
    assert_eq!(snapshot.at, world.now);
    drop(snapshot);
    assert_eq!(inspect(&to).unwrap().copied_at, Some(world.now), "the file tells it too");
    let copy = open(&to, world.now).unwrap();
    let path = crate::conformance::path();
    assert!(copy.job(&path, "job").await.unwrap().is_some());
    assert_eq!(copy.claim_due(world.now, world.now, 10).await.unwrap().claims.len(), 1);
    assert!(copy.ledger(&Default::default(), 10).await.unwrap().is_empty());
    assert_eq!(inspect(&to).unwrap().copied_at, None, "from now on there is more in it");

    assert!(store.snapshot(clock).await.unwrap().is_some(), "the one before was let go");
    let left: Vec<_> = std::fs::read_dir(backend.folder.path())
        .unwrap()
        .map(|entry| entry.unwrap().file_name())
        .filter(|name| name.to_string_lossy().contains(".copy"))
        .collect();
    assert!(left.is_empty(), "{left:?}");
}

/// Every statement that must be fast uses its index, also when there are no statistics.
#[tokio::test]
async fn queries_walk_along_indexes() {
    let backend = Sqlite::new();
    let _world = World::new(&backend).await;
    let plans: Vec<(String, String)> = backend
        .store()
        .writer
        .run(|work| {
            let mut plans = Vec::new();
            for sql in [
                "SELECT id FROM jobs WHERE collection_id = 1 AND deleted_at IS NULL ORDER BY name_key LIMIT 9",
                "SELECT id FROM jobs WHERE collection_id = 1 AND deleted_at IS NULL AND state = 1 \
                 ORDER BY name_key LIMIT 9",
                "SELECT id FROM jobs j INDEXED BY jobs_due WHERE j.ahead = 1 AND j.due_at IS NOT NULL \
                 AND j.due_at <= 5 ORDER BY j.due_at LIMIT 9",
                "SELECT min(due_at) FROM jobs INDEXED BY jobs_due WHERE ahead = 1 AND due_at IS NOT NULL",
                "SELECT serial, at FROM history_filed WHERE job_id = 1 AND serial <= 5 \
                 ORDER BY at DESC, serial DESC LIMIT 9",
                "SELECT serial FROM history h WHERE h.serial > 5 AND h.job_id = 1",
                "SELECT l.serial FROM ledger l NOT INDEXED WHERE l.due_at BETWEEN 1 AND 9 AND l.job_id = 1 \
                 AND l.serial > 5",
                "SELECT serial FROM ledger INDEXED BY ledger_trouble_by_due WHERE due_at BETWEEN 1 AND 9 \
                 AND fate > 0 ORDER BY due_at DESC, serial DESC LIMIT 9",
                "SELECT serial FROM ledger INDEXED BY ledger_by_collection WHERE due_at BETWEEN 1 AND 9 \
                 AND collection_id = 1 ORDER BY due_at DESC, serial DESC LIMIT 9",
                "SELECT l.serial FROM ledger_filed i CROSS JOIN ledger l ON l.serial = i.serial \
                 WHERE i.at BETWEEN 1 AND 9 AND (i.at, i.serial) < (8, 5) AND i.job_id = 1 \
                 ORDER BY i.at DESC, i.serial DESC LIMIT 9",
                "SELECT id FROM executions INDEXED BY executions_waiting WHERE claimed = 0 \
                 AND wake_at IS NOT NULL AND wake_at <= 5 ORDER BY wake_at LIMIT 9",
            ] {
                let mut statement = work.db.prepare(&format!("EXPLAIN QUERY PLAN {sql}"))?;
                let steps: Vec<String> = statement
                    .query_map([], |row| row.get(3))?
                    .collect::<rusqlite::Result<_>>()?;
                plans.push((sql.to_owned(), steps.join("; ")));
            }
            Ok(plans)
        })
        .await
        .unwrap();
    for (sql, plan) in plans {
        assert!(plan.contains("SEARCH") && !plan.contains("TEMP B-TREE"), "{sql}\n{plan}");
    }
}

#[tokio::test]
async fn pruning_takes_small_bites() {
    let backend = Sqlite::new();
    let world = World::new(&backend).await;
    let store = backend.store();
    let job = world.put("job", world.minutely()).await.job.id.0;
    let ended = crate::codec::ticks(world.now);
    store
        .writer
        .run(move |work| {
            work.db.execute(
                "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 2500)
                 INSERT INTO history (job_id, started_at, ended_at, expected_at, depth, status, retry_count, \
                 repeat_count, message) SELECT ?1, i, ?2, i, 0, 0, 0, 0, '' FROM n",
                rusqlite::params![job, ended],
            )?;
            work.db.execute_batch(
                "INSERT INTO history_filed SELECT job_id, started_at, serial FROM history;
                 UPDATE filed SET history = (SELECT max(serial) FROM history)",
            )?;
            Ok(())
        })
        .await
        .unwrap();
    let retention = Retention { now: world.now, before: world.after(1), history_per_job: 1000 };
    let mut bites = 0;
    while store.prune(retention).await.unwrap() {
        bites += 1;
    }
    assert!((24..30).contains(&bites), "{bites}");
    let path = crate::conformance::path();
    let page = crate::Page { skip: 0, top: 10 };
    assert!(store.history(&path, "job", &Default::default(), page).await.unwrap().unwrap().is_empty());
}

/// A store of the first schema, written as the version before groups wrote it.
#[tokio::test]
async fn a_store_from_before_groups_gets_its_groups() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("punctual.db");
    let db = rusqlite::Connection::open(&path).unwrap();
    db.execute_batch(include_str!("migrations/0001_initial.sql")).unwrap();
    db.pragma_update(None, "application_id", 0x5055_4E43).unwrap();
    db.pragma_update(None, "user_version", 1).unwrap();
    for (subscription, group, name, location, revision, deleted) in [
        ("Sub", "Ümlaut", "one", "West \"US\"", 3, None),
        ("sub", "üMLAUT", "two", "East US", 4, None),
        ("Sub", "other", "one", "Local", 5, None),
        ("Sub", "gone", "one", "Local", 6, Some(1)),
    ] {
        let document = serde_json::json!({
            "path": {"subscription": subscription, "group": group, "name": name},
            "location": location, "plan": "Standard", "state": "Enabled",
        });
        db.execute(
            "INSERT INTO collections (subscription_key, group_key, name_key, document, plan, enabled, revision, \
             deleted_at) VALUES (?1, ?2, ?3, ?4, 'Standard', 1, ?5, ?6)",
            rusqlite::params![
                subscription.to_lowercase(),
                group.to_lowercase(),
                name,
                document.to_string(),
                revision,
                deleted
            ],
        )
        .unwrap();
    }
    db.execute("UPDATE revisions SET last = 6", []).unwrap();
    drop(db);

    let store = open(&path, Timestamp::UNIX_EPOCH).unwrap();
    let page = crate::Page { skip: 0, top: 10 };
    let groups: Vec<_> = store.groups("SUB", None, page).await.unwrap();
    let seen: Vec<_> = groups
        .iter()
        .map(|stored| (stored.group.path.name.as_str(), stored.group.location.as_str(), stored.revision.0))
        .collect();
    assert_eq!(seen, [("other", "Local", 8), ("Ümlaut", "West \"US\"", 7)]);
    assert!(
        groups.iter().all(|stored| stored.group.path.subscription == "Sub" && stored.group.tags.is_none())
    );
    assert_eq!(store.collections("sub", None, page).await.unwrap().len(), 3, "collections stay");

    // The next revision is a new one.
    let group = groups[0].group.clone();
    let expected = crate::Expected::Revision(groups[0].revision);
    let written = store.put_group(crate::GroupWrite { group, expected }).await.unwrap();
    assert_eq!(written, crate::Written::Done(crate::Revision(9)));
    drop(store);
    let again = open(&path, Timestamp::UNIX_EPOCH).unwrap();
    assert_eq!(again.groups("sub", None, page).await.unwrap().len(), 2, "once is enough");
}
