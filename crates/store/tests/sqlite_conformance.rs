//! The SQLite store does what every store must do.

use std::sync::Arc;

use async_trait::async_trait;
use model::Timestamp;
use store::conformance::Backend;
use store::{Durability, Keyring, SqliteSettings, SqliteStore, Store};
use tempfile::TempDir;

/// A file that goes with the test.
struct Sqlite(TempDir);

fn fresh() -> Sqlite {
    Sqlite(tempfile::tempdir().expect("a folder for the test"))
}

#[async_trait]
impl Backend for Sqlite {
    async fn open_with(&self, keyring: Keyring, now: Timestamp) -> store::Result<Arc<dyn Store>> {
        let settings =
            SqliteSettings { durability: Durability::ProcessDeath, ..SqliteSettings::new(keyring) };
        Ok(Arc::new(SqliteStore::open(self.0.path().join("punctual.db"), settings, now)?))
    }

    async fn damage(&self, sql: &str) {
        let db = rusqlite::Connection::open(self.0.path().join("punctual.db")).expect("the file opens");
        // What is known of the file itself stays true.
        db.set_db_config(rusqlite::config::DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true).expect("set");
        db.execute_batch(sql).expect("it is run");
    }
}

store::conformance!(crate::fresh());

store::accounting!(every_instant_is_accounted_for, 48, where Some(backend) = Some(fresh()));
