//! The store that the configuration asks for, and what goes with it: the clock and the keys.

use std::fs::DirBuilder;
use std::os::unix::fs::{DirBuilderExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::{Context, bail};
use model::Clock;
use store::{Keyring, PostgresSettings, PostgresStore, SqliteFile, SqliteSettings, SqliteStore, Store};
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
    make_folder(&config.data)?;
    let file = SqliteFile::take(config.store_file(), Some(&keys::managed(config)))?;
    warn_if_open(config);
    let (keyring, source) = keys::load(config, &file.keys()?)?;
    let settings =
        SqliteSettings { plans: config.plans(), patience: config.patience(), ..SqliteSettings::new(keyring) };
    let store = SqliteStore::open_file(file, settings, clock.now());
    let store = Arc::new(store.map_err(|error| keys::explain(error, &source))?);
    Ok(Opened { store, clock, source })
}

/// Makes the data folder, for its owner alone, where there is none.
pub fn make_folder(folder: &Path) -> anyhow::Result<()> {
    let made = DirBuilder::new().recursive(true).mode(0o700).create(folder);
    made.with_context(|| format!("data: cannot make the folder {}", folder.display()))
}

/// Says so where others than the owner may look into a store. Its modes are the operator's to change.
fn warn_if_open(config: &Config) {
    for (path, mode) in open_to_others(config) {
        tracing::warn!(
            path = %path.display(),
            mode = format!("{mode:o}"),
            "others than the owner may use the store; `chmod 700` on its folder keeps them away"
        );
    }
}

/// What of the embedded store others than its owner may use: the folder, where others may write to it, and the files in
/// it that they can reach and read. With the modes.
pub fn open_to_others(config: &Config) -> Vec<(PathBuf, u32)> {
    let mode = |path: &Path| std::fs::metadata(path).map_or(0, |there| there.permissions().mode() & 0o777);
    let folder = mode(&config.data);
    let file = config.store_file();
    let mut found = Vec::new();
    if folder & 0o022 != 0 {
        found.push((config.data.clone(), folder));
    }
    if folder & 0o011 != 0 && mode(&file) & 0o077 != 0 {
        let mode = mode(&file);
        found.push((file, mode));
    }
    found
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
