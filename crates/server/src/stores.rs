//! The store that the configuration asks for, and the clock that goes with it.

use std::sync::Arc;

use anyhow::Context;
use engine::CorrectedClock;
use model::Clock;
use store::{PostgresSettings, PostgresStore, SqliteSettings, SqliteStore, Store};
use uuid::Uuid;

use crate::VERSION;
use crate::config::{Config, DatabaseUrl};

/// The file of the embedded store, in the data folder.
const DATABASE: &str = "punctual.db";

/// Opens the store. Where nodes share one, they go by its clock.
pub(crate) async fn open(
    config: &Config,
    clock: Arc<dyn Clock>,
) -> anyhow::Result<(Arc<dyn Store>, Arc<dyn Clock>)> {
    if let Some(database) = &config.database {
        let store = PostgresStore::open(settings(config, database), clock.clone()).await?;
        let clock = Arc::new(CorrectedClock::new(clock, store.clock_offset()));
        return Ok((Arc::new(store), clock));
    }
    std::fs::create_dir_all(&config.data)
        .with_context(|| format!("data: cannot make the folder {}", config.data.display()))?;
    let settings =
        SqliteSettings { plans: config.plans(), patience: config.patience(), ..SqliteSettings::default() };
    let store = SqliteStore::open(config.data.join(DATABASE), settings, clock.now())?;
    Ok((Arc::new(store), clock))
}

fn settings(config: &Config, database: &DatabaseUrl) -> PostgresSettings {
    let node = match config.node.trim() {
        "" => format!("{}-{:04x}", machine(), Uuid::new_v4().as_u128() & 0xffff),
        name => name.to_owned(),
    };
    PostgresSettings {
        url: database.reveal().to_owned(),
        node,
        version: VERSION.to_owned(),
        connections: config.database_connections.get() as usize,
        plans: config.plans(),
        patience: config.patience(),
    }
}

/// The name of this machine, where it has one that can be told.
fn machine() -> String {
    let name = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
    let name = name.trim();
    if name.is_empty() { "node".to_owned() } else { name.to_owned() }
}
