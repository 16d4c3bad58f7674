//! What seals secrets.

use std::path::PathBuf;

use model::Secret;
use serde::Deserialize;

/// What seals secrets.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Secrets {
    /// A file of keys; empty where there is none.
    pub key_file: PathBuf,
    /// Keys from the environment. A file of settings cannot have them: it is shown around.
    #[serde(skip)]
    pub key: Option<Secret>,
}
