//! A store for the tests of this crate.

use std::sync::Arc;

use model::Timestamp;
use store::conformance::Backend;
use store::{Keyring, SqliteSettings, SqliteStore, Store};
use tempfile::TempDir;

/// The embedded store, in a folder that goes with this.
pub(crate) struct Embedded(TempDir);

impl Embedded {
    pub(crate) fn new() -> Self {
        Self(TempDir::new().unwrap())
    }
}

#[async_trait::async_trait]
impl Backend for Embedded {
    async fn open_with(&self, keyring: Keyring, now: Timestamp) -> store::Result<Arc<dyn Store>> {
        let path = self.0.path().join("punctual.db");
        Ok(Arc::new(SqliteStore::open(path, SqliteSettings::new(keyring), now)?))
    }
}
