//! The write-ahead log of the embedded store is worked into the file beside the writer, long before it is long.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use model::{JobState, Timestamp};
use store::conformance::{Backend, World};
use store::{ExpectedJob, Keyring, SqliteSettings, SqliteStore, Store};
use tempfile::TempDir;

struct Sqlite(TempDir);

impl Sqlite {
    fn path(&self) -> PathBuf {
        self.0.path().join("punctual.db")
    }
}

#[async_trait]
impl Backend for Sqlite {
    async fn open_with(&self, keyring: Keyring, now: Timestamp) -> store::Result<Arc<dyn Store>> {
        Ok(Arc::new(SqliteStore::open(self.path(), SqliteSettings::new(keyring), now)?))
    }
}

/// Far fewer pages than those after which the writer would do it himself.
#[tokio::test(flavor = "multi_thread")]
async fn the_log_is_worked_into_the_file_beside_the_writer() {
    let backend = Sqlite(TempDir::new().unwrap());
    let world = World::new(&backend).await;
    let size = || std::fs::metadata(backend.path()).unwrap().len();
    let before = size();
    let definition = world.minutely_in(60);
    let standing = model::transition::begin(&definition.rule().unwrap(), JobState::Enabled);
    let mut writes = tokio::task::JoinSet::new();
    for i in 0..1000 {
        let name = format!("job-{i}");
        let write = world.write(&name, definition.clone(), standing.clone(), ExpectedJob::Absent, true);
        let store = Arc::clone(world.store());
        writes.spawn(async move { store.put_job(write).await.unwrap() });
    }
    writes.join_all().await;
    let log = std::fs::metadata(backend.path().with_extension("db-wal")).unwrap().len();
    assert!(log < 4_000 * 4096, "the writer would have done it: {log} bytes");
    // The jobs alone take more than this.
    let worked_in = async {
        while size() < before + 100 * 1024 {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(60), worked_in).await.expect("the file grows");
    assert_eq!(world.store().census().await.unwrap().jobs, 1000);
}

/// Where little happens, everything is in the file some minutes later, and the log is empty.
#[tokio::test(start_paused = true)]
async fn a_little_is_worked_into_the_file_some_minutes_later() {
    let backend = Sqlite(TempDir::new().unwrap());
    let log = || std::fs::metadata(backend.path().with_extension("db-wal")).map_or(0, |log| log.len());
    let world = World::new(&backend).await;
    for round in 0..3 {
        world.put(&format!("job-{round}"), world.minutely_in(60)).await;
        assert!(log() > 0, "it is in the log first");
        let empty = async {
            while log() > 0 {
                tokio::time::sleep(Duration::from_secs(1)).await;
            }
        };
        // By the paused clock, which nobody waits for.
        tokio::time::timeout(Duration::from_secs(3600), empty).await.expect("the log is emptied");
        let jobs = world.store().all_jobs(&store::conformance::path()).await.unwrap();
        assert_eq!(jobs.len(), round + 1);
    }
}
