//! The settings: the file, the variables, the stored contexts.

use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use server::config::{Config, ConfigFault};

use super::Finding;
use crate::contexts::{self, Contexts};

pub(super) fn look(loaded: &Result<Config, ConfigFault>, file: Option<&Path>) -> Vec<Finding> {
    let settings = match loaded {
        Ok(_) => {
            let from =
                file.map(Path::to_path_buf).or_else(|| std::env::var_os("PUNCTUAL_CONFIG").map(Into::into));
            let from = from.map_or("no file, so the defaults".to_owned(), |file| file.display().to_string());
            Finding::ok(
                "configuration.settings",
                format!("{from}; every key is known and has a value that is allowed"),
            )
        }
        Err(fault) => Finding::wrong(
            "configuration.settings",
            fault.to_string(),
            "`punctual config` prints every setting with what it takes",
        ),
    };
    vec![settings, contexts_file()]
}

fn contexts_file() -> Finding {
    const CHECK: &str = "configuration.contexts";
    let path = match contexts::path() {
        Ok(path) => path,
        Err(error) => return Finding::unknown(CHECK, error.to_string()),
    };
    let shown = path.display();
    if let Err(error) = Contexts::load() {
        return Finding::wrong(CHECK, error.to_string(), format!("correct {shown}, or remove it"));
    }
    let Ok(metadata) = path.metadata() else { return Finding::ok(CHECK, "no context is stored") };
    if metadata.permissions().mode() & 0o077 != 0 {
        return Finding::warning(CHECK, format!("others can read {shown}"), format!("chmod 600 '{shown}'"));
    }
    Finding::ok(CHECK, format!("{shown} can be read, by its owner alone"))
}
