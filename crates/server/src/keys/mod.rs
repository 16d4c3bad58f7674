//! Keys: where they come from, and how one takes the place of another while the server runs.
//!
//! They come from the environment, from a file of the operator's, or from a file that the server makes for itself in its
//! data folder. [`rotate`](Keys::rotate) puts another key first; what is there is then sealed anew, a
//! little at a time beside the work of the day, and the old key let go. How far it has come only the store knows, so
//! after a crash it goes on by itself.

mod file;

use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context as _, bail};
use store::{Error, Key, KeyId, KeyUse, Keyring, Store};
use tokio::sync::{Mutex, Notify};
use tokio::time::sleep;

use crate::config::{Config, KEY_VARIABLE};
use crate::problem::Problem;

/// The file of the server's own keys, in the data folder.
const MANAGED: &str = "keys";

/// How many definitions are sealed anew in one change: what comes meanwhile waits for a few milliseconds.
const BATCH: u32 = 200;

/// How long to wait before trying again where the store fails.
const PAUSE: Duration = Duration::from_secs(5);

/// Where keys come from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Source {
    /// `PUNCTUAL_SECRETS_KEY`: they change with a restart only.
    Environment,
    /// A file that the operator writes.
    File(PathBuf),
    /// A file that the server writes.
    Managed(PathBuf),
}

impl Source {
    /// As the API calls it.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Environment => "environment",
            Self::File(_) => "file",
            Self::Managed(_) => "managed",
        }
    }

    /// For messages.
    pub fn place(&self) -> String {
        match self {
            Self::Environment => KEY_VARIABLE.to_owned(),
            Self::File(path) => format!("{} (secrets.key-file)", path.display()),
            Self::Managed(path) => path.display().to_string(),
        }
    }

    /// The file, where there is one.
    pub fn file(&self) -> Option<&Path> {
        match self {
            Self::Environment => None,
            Self::File(path) | Self::Managed(path) => Some(path),
        }
    }
}

/// The keys of a start. `needed` are those that the store asks for.
///
/// Where nobody gives any, the server makes one; but not where the store needs one already: then it was lost.
pub(crate) fn load(config: &Config, needed: &[KeyId]) -> anyhow::Result<(Keyring, Source)> {
    let (keyring, source) = at_hand(config)?;
    let keyring = match keyring {
        Some(keyring) => keyring,
        None => {
            let path = managed(config);
            if !needed.is_empty() {
                bail!("{}", missing(needed, &path));
            }
            make(&path)?
        }
    };
    if let Some(path) = source.file() {
        file::warn_if_open(path);
    }
    Ok((keyring, source))
}

/// The keys that the settings lead to, and where they come from. There are none where the server has yet to make its own;
/// nothing is made to find out.
pub fn at_hand(config: &Config) -> anyhow::Result<(Option<Keyring>, Source)> {
    let (file, variable) = (&config.secrets.key_file, &config.secrets.key);
    let has_file = !file.as_os_str().is_empty();
    Ok(match variable {
        Some(_) if has_file => {
            bail!("secrets: both {KEY_VARIABLE} and secrets.key-file are set; give all keys in one of them")
        }
        Some(keys) => {
            let keyring = Keyring::read(keys.expose());
            let keyring = keyring.map_err(|fault| anyhow::anyhow!("{KEY_VARIABLE}: {fault}"))?;
            (Some(keyring), Source::Environment)
        }
        None if has_file => {
            let source = Source::File(file.clone());
            (Some(read(&source)?), source)
        }
        None => {
            let source = Source::Managed(managed(config));
            let is_there = source.file().is_some_and(Path::exists);
            (is_there.then(|| read(&source)).transpose()?, source)
        }
    })
}

/// Where the server has the keys that it has made for itself.
pub fn managed(config: &Config) -> PathBuf {
    config.data.join(MANAGED)
}

fn missing(needed: &[KeyId], path: &Path) -> String {
    let ids: Vec<&str> = needed.iter().map(KeyId::as_str).collect();
    format!(
        "the secrets of this store are sealed with the key {}, and there is none: {} is not there, and neither \
         {KEY_VARIABLE} nor secrets.key-file is set. Put the file back from where you keep it apart from the data",
        ids.join(" and "),
        path.display()
    )
}

fn make(path: &Path) -> anyhow::Result<Keyring> {
    let keyring = Keyring::new(Key::generate()?, []);
    let made = file::create(path, &keyring).map_err(|error| {
        let remedy = match error.kind() {
            io::ErrorKind::StorageFull => "There is no room on the disk; free some space",
            _ => "The folder must exist and be writable for this user",
        };
        anyhow::anyhow!("{}: the key cannot be written ({error}). {remedy}", path.display())
    })?;
    if !made {
        // Another server was faster; only one of us will get the store.
        return read(&Source::Managed(path.to_owned()));
    }
    tracing::warn!(
        key = %keyring.first().id(),
        file = %path.display(),
        "a key for secrets was made; back it up apart from the data: without it a backup's secrets cannot be read"
    );
    Ok(keyring)
}

fn read(source: &Source) -> anyhow::Result<Keyring> {
    let Some(path) = source.file() else { bail!("{}: it is read at start only", source.place()) };
    let text = file::read(path).with_context(|| source.place())?;
    Keyring::read(&text).map_err(|fault| anyhow::anyhow!("{}: {fault}", source.place()))
}

/// Says where the keys came from that a store was not content with.
pub(crate) fn explain(error: Error, source: &Source) -> anyhow::Error {
    match error {
        Error::Keys(why) => anyhow::anyhow!(
            "the store cannot be opened: {why}. The keys are looked for in {}; add the missing one there, after the one \
             that shall seal",
            source.place()
        ),
        error => error.into(),
    }
}

/// Which key comes first next.
enum Next<'a> {
    /// The one that does: what it shall seal is not done yet.
    UnderWay,
    /// One that the operator has given.
    Given(Key),
    /// One that is still to be made, before the others of the file.
    Made { path: &'a Path, others: Keyring },
}

fn unreadable(error: anyhow::Error) -> Problem {
    tracing::error!(error = format!("{error:#}"), "the keys cannot be changed");
    Problem::busy(format!("The keys cannot be changed: {error:#}."))
}

/// The keys of a running server.
#[derive(Debug)]
pub struct Keys {
    source: Source,
    /// One rotation begins at a time.
    turn: Mutex<()>,
    /// Wakes whoever seals anew.
    more: Notify,
}

/// Where the keys of a server stand.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Standing {
    /// Where they come from.
    pub source: Source,
    /// Those given or needed, the one that seals first.
    pub keys: Vec<KeyUse>,
}

impl Keys {
    /// Keys that came from somewhere.
    pub fn new(source: Source) -> Self {
        Self { source, turn: Mutex::default(), more: Notify::new() }
    }

    /// Where they stand.
    pub async fn standing(&self, store: &dyn Store) -> Result<Standing, Problem> {
        Ok(Standing { source: self.source.clone(), keys: store.keys().await? })
    }

    /// Puts another key first, and has everything sealed with it.
    pub async fn rotate(&self, store: &dyn Store) -> Result<Standing, Problem> {
        let _turn = self.turn.lock().await;
        match self.next(&store.keys().await?)? {
            Next::UnderWay => {}
            Next::Given(key) => store.add_key(key).await?,
            Next::Made { path, others } => {
                let key = Key::generate().map_err(|fault| unreadable(fault.into()))?;
                // It is on the disk before anything is sealed with it.
                file::write(path, &others.with_first(key.clone()))
                    .map_err(|error| unreadable(error.into()))?;
                store.add_key(key).await?;
            }
        }
        self.more.notify_one();
        self.standing(store).await
    }

    /// Where the keys stand, and the key that [`rotate`](Keys::rotate) would put first. It is known where it does not have
    /// to be made. Nothing is changed.
    pub async fn foresee(&self, store: &dyn Store) -> Result<(Standing, Option<KeyId>), Problem> {
        let standing = self.standing(store).await?;
        let next = match self.next(&standing.keys)? {
            Next::UnderWay => standing.keys.iter().find(|key| key.seals).map(|key| key.id.clone()),
            Next::Given(key) => Some(key.id().clone()),
            Next::Made { .. } => None,
        };
        Ok((standing, next))
    }

    /// What a rotation has to do first.
    fn next(&self, keys: &[KeyUse]) -> Result<Next<'_>, Problem> {
        // One change of keys after the other: what an interrupted one left is done first.
        if keys.iter().any(|key| key.needed && !key.seals) {
            return Ok(Next::UnderWay);
        }
        match &self.source {
            Source::Environment => Err(Problem::keys_of_environment(format!(
                "The keys come from {KEY_VARIABLE}, which is read at start: put a new key before the old one there, \
                 separated by a comma, and start the server again. It then seals everything with the new key."
            ))),
            source @ Source::File(path) => {
                let first = read(source).map_err(unreadable)?.first().clone();
                if keys.iter().any(|key| key.seals && key.id == *first.id()) {
                    return Err(Problem::conflict(format!(
                        "The first key of {} seals already; put a new one before it, as `punctual keys generate` \
                         prints it, and try again.",
                        path.display()
                    )));
                }
                Ok(Next::Given(first))
            }
            source @ Source::Managed(path) => {
                Ok(Next::Made { path, others: read(source).map_err(unreadable)? })
            }
        }
    }

    /// Seals anew what other keys have sealed, now and whenever there is more, and never ends.
    pub(crate) async fn reseal(&self, store: &dyn Store) {
        loop {
            while let Err(error) = self.reseal_all(store).await {
                tracing::warn!(error = format!("{error:#}"), "sealing anew has stopped; it is tried again");
                sleep(PAUSE).await;
            }
            self.more.notified().await;
        }
    }

    async fn reseal_all(&self, store: &dyn Store) -> anyhow::Result<()> {
        let mut done = 0;
        loop {
            let sealed = store.reseal(BATCH).await?;
            if sealed == 0 {
                break;
            }
            done += u64::from(sealed);
        }
        let retired = store.retire_keys().await?;
        if let Source::Managed(path) = &self.source {
            self.tidy(store, path).await?;
        }
        if done > 0 || !retired.is_empty() {
            let retired: Vec<&str> = retired.iter().map(KeyId::as_str).collect();
            tracing::info!(
                definitions = done,
                no_longer_needed = retired.join(" "),
                "secrets are sealed with the new key"
            );
        }
        Ok(())
    }

    /// Leaves only keys in the server's own file that the store needs.
    async fn tidy(&self, store: &dyn Store, path: &Path) -> anyhow::Result<()> {
        let _turn = self.turn.lock().await;
        let keyring = read(&self.source)?;
        let keys = store.keys().await?;
        let needed = |key: &Key| keys.iter().any(|one| one.needed && one.id == *key.id());
        if needed(keyring.first()) && !keyring.iter().all(needed) {
            let others = keyring.iter().skip(1).filter(|key| needed(key)).cloned();
            let kept = Keyring::new(keyring.first().clone(), others);
            file::write(path, &kept).with_context(|| path.display().to_string())?;
        }
        Ok(())
    }
}
