//! The SQLite store does what every store must do.

use std::sync::Arc;

use async_trait::async_trait;
use model::{CatchUp, Overlap, Timestamp};
use proptest::prelude::*;
use store::conformance::Backend;
use store::conformance::accounting::{self, Step};
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
}

store::conformance!(crate::fresh());

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn every_instant_is_accounted_for(
        overlap in prop_oneof![Just(Overlap::Allow), Just(Overlap::Skip), Just(Overlap::Queue)],
        catch_up in prop_oneof![Just(CatchUp::Last), Just(CatchUp::None), Just(CatchUp::All { max: 3 })],
        steps in prop::collection::vec(any::<[u8; 3]>().prop_map(Step::from_bytes), 0..60),
    ) {
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).build().expect("a runtime");
        runtime.block_on(accounting::holds(&fresh(), overlap, catch_up, &steps));
    }
}
