//! Readers: a few connections that only read, each asked by one caller at a time.
//!
//! A reader sees the store as it was at one moment, and neither waits for the writer nor makes it wait.

use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use rusqlite::Connection;
use tokio::sync::Semaphore;
use tokio::time::Instant;

use super::connection;
use super::fault::Outcome;
use super::writer::Shared;
use crate::{Error, Result};

/// How many reads run at the same time; more would only take turns on the disk.
const READERS: usize = 4;

/// See the module.
#[derive(Clone)]
pub(super) struct Readers {
    shared: Arc<Shared>,
    idle: Arc<Mutex<Vec<Connection>>>,
    permits: Arc<Semaphore>,
}

impl Readers {
    pub(super) fn new(shared: Arc<Shared>) -> Self {
        Self { shared, idle: Arc::default(), permits: Arc::new(Semaphore::new(READERS)) }
    }

    /// Reads; all that one call asks for is of the same moment.
    pub(super) async fn run<T: Send + 'static>(
        &self,
        read: impl FnOnce(&Connection, &Shared) -> Outcome<T> + Send + 'static,
    ) -> Result<T> {
        let closed = |_| Error::Unavailable("the store is closed: the server stops".to_owned());
        let permit = Arc::clone(&self.permits).acquire_owned().await.map_err(closed)?;
        let (shared, idle) = (Arc::clone(&self.shared), Arc::clone(&self.idle));
        let task = tokio::task::spawn_blocking(move || {
            let kept = idle.lock().unwrap_or_else(PoisonError::into_inner).pop();
            let began = Instant::now();
            let (outcome, db) = read_with(kept, &shared, read);
            shared.numbers.reads.time(began.elapsed());
            idle.lock().unwrap_or_else(PoisonError::into_inner).extend(db);
            drop(permit);
            outcome.map_err(|fault| {
                shared.numbers.failed.count();
                let error = fault.tell(&shared.path);
                tracing::error!(%error, "a read failed");
                error
            })
        });
        task.await.unwrap_or_else(|error| Err(Error::Failed(format!("a read was lost: {error}"))))
    }

    /// Waits until nobody reads, and lets nobody begin.
    pub(super) async fn close(&self) {
        // The permits come back to nobody: they are closed.
        let _all = self.permits.acquire_many(READERS as u32).await;
        self.permits.close();
        self.idle.lock().unwrap_or_else(PoisonError::into_inner).clear();
    }
}

/// Reads, and gives the connection back if it is still good.
fn read_with<T>(
    kept: Option<Connection>,
    shared: &Shared,
    read: impl FnOnce(&Connection, &Shared) -> Outcome<T>,
) -> (Outcome<T>, Option<Connection>) {
    let db = match kept.map_or_else(|| open(&shared.path), Ok) {
        Ok(db) => db,
        Err(fault) => return (Err(fault), None),
    };
    let outcome = at_one_moment(&db, |db| read(db, shared));
    let good = outcome.as_ref().err().is_none_or(|fault| !fault.spoils_connection());
    (outcome, (good && db.is_autocommit()).then_some(db))
}

/// Reads inside a transaction. Its statements are compiled once, unlike those of [`rusqlite::Transaction`].
fn at_one_moment<T>(db: &Connection, read: impl FnOnce(&Connection) -> Outcome<T>) -> Outcome<T> {
    let execute = |sql: &str| db.prepare_cached(sql)?.execute([]);
    execute("BEGIN")?;
    let outcome = read(db);
    let ended = execute("COMMIT");
    // What the read ran into says more than what followed from it.
    let read = outcome?;
    ended?;
    Ok(read)
}

fn open(path: &Path) -> Outcome<Connection> {
    connection::reader(path)
}
