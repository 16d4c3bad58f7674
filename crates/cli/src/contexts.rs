//! Stored contexts: which server, and where on it, under a name.
//!
//! They lie in `punctual/contexts.toml` in the user's folder for settings (`$XDG_CONFIG_HOME`, or `~/.config`), for their
//! owner's eyes only. The file is replaced as a whole, so that it is never half written.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{ErrorKind, Write as _};
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use serde::{Deserialize, Serialize};

use crate::refused::Refused;

/// Names the context to use, as `--context` does.
pub(crate) const VARIABLE: &str = "PUNCTUAL_CONTEXT";

/// All contexts, and the one in use.
#[derive(Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub(crate) struct Contexts {
    /// The context in use.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) current: Option<String>,
    #[serde(default)]
    pub(crate) contexts: BTreeMap<String, Context>,
}

/// A server and a place on it; what is not said is left to the defaults.
#[derive(Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub(crate) struct Context {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) server: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) subscription: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) group: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) collection: Option<String>,
    /// Says who calls, where the server asks.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) token: Option<String>,
}

impl std::fmt::Debug for Context {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { server, subscription, group, collection, token } = self;
        let token = token.as_ref().map(|_| "…");
        f.debug_struct("Context")
            .field("server", server)
            .field("subscription", subscription)
            .field("group", group)
            .field("collection", collection)
            .field("token", &token)
            .finish()
    }
}

/// Where the contexts lie.
pub(crate) fn path() -> anyhow::Result<PathBuf> {
    let folder = |name: &str| std::env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
    let settings = folder("XDG_CONFIG_HOME").or_else(|| Some(folder("HOME")?.join(".config")));
    let settings = settings.context("neither XDG_CONFIG_HOME nor HOME names a folder for settings")?;
    Ok(settings.join("punctual").join("contexts.toml"))
}

impl Contexts {
    /// Reads the file; where there is none, there is no context.
    pub(crate) fn load() -> anyhow::Result<Self> {
        match path() {
            Ok(path) => Self::read(&path),
            // A daemon without a home has no contexts either.
            Err(_) => Ok(Self::default()),
        }
    }

    fn read(path: &Path) -> anyhow::Result<Self> {
        let text = match fs::read_to_string(path) {
            Ok(text) => text,
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Self::default()),
            Err(error) => {
                return Err(Refused::new(format!("{} cannot be read: {error}", path.display())).into());
            }
        };
        let wrong = |error: toml::de::Error| Refused::new(format!("{}: {error}", path.display()));
        Ok(toml::from_str(&text).map_err(wrong)?)
    }

    /// Writes the file, for its owner's eyes only.
    pub(crate) fn save(&self) -> anyhow::Result<()> {
        let path = path()?;
        self.write(&path).with_context(|| format!("{} cannot be written", path.display()))
    }

    fn write(&self, path: &Path) -> anyhow::Result<()> {
        use std::os::unix::fs::OpenOptionsExt as _;
        // Where it is a link, the file that it leads to is replaced.
        let path = &fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
        if let Some(folder) = path.parent() {
            fs::create_dir_all(folder)?;
        }
        let partial = path.with_extension(format!("{}.partial", std::process::id()));
        let written = File::options()
            .write(true)
            .create_new(true)
            .mode(0o600)
            .open(&partial)
            .map_err(anyhow::Error::from)
            .and_then(|mut file| {
                file.write_all(toml::to_string(self)?.as_bytes())?;
                Ok(file.sync_all()?)
            })
            .and_then(|()| Ok(fs::rename(&partial, path)?));
        if written.is_err() {
            // Only tidying up; the first error says what is wrong.
            let _ = fs::remove_file(&partial);
        }
        written
    }

    /// The context with a name.
    pub(crate) fn named(&self, name: &str) -> Result<&Context, Refused> {
        self.contexts.get(name).ok_or_else(|| {
            let known: Vec<&str> = self.contexts.keys().map(String::as_str).collect();
            let known = if known.is_empty() { "none is stored".to_owned() } else { known.join(", ") };
            Refused::new(format!(
                "there is no context '{name}'; known: {known}. `punctual context set {name} --server URL` makes it"
            ))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt as _;

    #[test]
    fn contexts_are_kept_for_their_owner_alone() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("punctual/contexts.toml");
        assert_eq!(Contexts::read(&path).unwrap(), Contexts::default());
        let context = Context { server: Some("http://10.0.0.5:8042".into()), ..Context::default() };
        let contexts = Contexts {
            current: Some("office".into()),
            contexts: [("office".to_owned(), context), ("empty".to_owned(), Context::default())].into(),
        };
        contexts.write(&path).unwrap();
        assert_eq!(Contexts::read(&path).unwrap(), contexts);
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        assert_eq!(fs::read_dir(path.parent().unwrap()).unwrap().count(), 1);
    }

    #[test]
    fn a_wrong_file_is_named_with_what_is_wrong() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("contexts.toml");
        fs::write(&path, "[contexts.office]\nsevrer = \"http://x\"\n").unwrap();
        let said = Contexts::read(&path).unwrap_err().to_string();
        assert!(said.contains("contexts.toml") && said.contains("sevrer"), "{said}");
    }
}
