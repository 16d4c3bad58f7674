//! The store that the configuration asks for, and what goes with it: the clock and the keys.

use std::sync::Arc;

use anyhow::{Context, bail};
use model::Clock;
use store::{Keyring, PostgresSettings, PostgresStore, SqliteSettings, SqliteStore, Store};
use uuid::Uuid;

use crate::VERSION;
use crate::config::{Config, DatabaseUrl, KEY_VARIABLE};
use crate::keys::{self, Source};

/// A store that is open.
pub(crate) struct Opened {
    pub(crate) store: Arc<dyn Store>,
    /// The clock to go by: where nodes share a store, the store's.
    pub(crate) clock: Arc<dyn Clock>,
    /// Where the keys came from.
    pub(crate) source: Source,
}

/// Opens the store.
pub(crate) async fn open(config: &Config, clock: Arc<dyn Clock>) -> anyhow::Result<Opened> {
    match &config.database {
        Some(database) => shared(config, database, clock).await,
        None => embedded(config, clock),
    }
}

fn embedded(config: &Config, clock: Arc<dyn Clock>) -> anyhow::Result<Opened> {
    std::fs::create_dir_all(&config.data)
        .with_context(|| format!("data: cannot make the folder {}", config.data.display()))?;
    let file = config.store_file();
    let (keyring, source) = keys::load(config, &SqliteStore::keys_of(&file)?)?;
    let settings =
        SqliteSettings { plans: config.plans(), patience: config.patience(), ..SqliteSettings::new(keyring) };
    let store = SqliteStore::open(file, settings, clock.now());
    let store = Arc::new(store.map_err(|error| keys::explain(error, &source))?);
    Ok(Opened { store, clock, source })
}

async fn shared(config: &Config, database: &DatabaseUrl, clock: Arc<dyn Clock>) -> anyhow::Result<Opened> {
    if config.secrets.key.is_none() && config.secrets.key_file.as_os_str().is_empty() {
        bail!(
            "secrets: with `database`, the keys that seal secrets have to be given, in {KEY_VARIABLE} or \
             secrets.key-file: all nodes need the same. `punctual keys generate` prints one"
        );
    }
    let (keyring, source) = keys::load(config, &[])?;
    let store = PostgresStore::open(settings(config, database, keyring), clock).await;
    let store = store.map_err(|error| keys::explain(error, &source))?;
    let clock = store.clock();
    Ok(Opened { store: Arc::new(store), clock, source })
}

/// The name that the operator gave to this node, or one for this start alone.
pub(crate) fn node_name(config: &Config) -> String {
    match config.node.trim() {
        "" => format!("{}-{:04x}", machine(), Uuid::new_v4().as_u128() & 0xffff),
        name => name.to_owned(),
    }
}

fn settings(config: &Config, database: &DatabaseUrl, keyring: Keyring) -> PostgresSettings {
    PostgresSettings {
        url: database.reveal().to_owned(),
        node: config.node.clone(),
        version: VERSION.to_owned(),
        connections: config.database_connections.get() as usize,
        plans: config.plans(),
        patience: config.patience(),
        keyring,
        held_at: None,
    }
}

/// The name of this machine, where it has one that can be told.
fn machine() -> String {
    let name = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
    let name = name.trim();
    if name.is_empty() { "node".to_owned() } else { name.to_owned() }
}
