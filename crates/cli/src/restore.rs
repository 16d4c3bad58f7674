//! `punctual restore`: a backup in the place of what a data folder has.

use std::io::{self, Write as _};
use std::path::PathBuf;

use anyhow::bail;
use clap::Args;
use server::config::{Flags, load};
use store::KeyId;

use crate::refused::Refused;

/// The options of `restore`.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Options {
    /// A backup, or the file punctual.db of a store of which something is missing
    file: PathBuf,
    /// The data folder of a server that is stopped; made if it is not there
    #[arg(long, value_name = "DIR")]
    data: Option<PathBuf>,
    /// The file of settings of that server
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
}

const EXAMPLES: &str = "The store that was there is moved to a folder before-… beside it, and can be put back. The keys of secrets are
not in a backup: those that the server made are in the file keys of its data folder, which stays as it is.
Where a server says that its store is not whole, the file punctual.db itself can be restored in its place: what can still
be read of it is served then, and what is missing is gone.

Examples:
  punctual restore punctual-sunday.db --data restored";

pub(crate) fn run(options: &Options) -> anyhow::Result<()> {
    let flags = Flags { config: options.config.clone(), data: options.data.clone(), ..Flags::default() };
    let config = load(&flags, std::env::vars()).map_err(|fault| Refused::new(fault.to_string()))?;
    if config.database.is_some() {
        bail!("the jobs of this server are in PostgreSQL: restore them with its own tools");
    }
    server::make_folder(&config.data)?;
    let store = config.store_file();
    let restored = store::restore(&options.file, &store, crate::now())?;
    let mut out = io::stdout();
    let (file, jobs) = (store.display(), restored.jobs);
    match restored.at {
        Some(at) => writeln!(out, "{file} holds the store as it was at {at}: {jobs} jobs")?,
        None => writeln!(out, "{file} holds what could be read of {}: {jobs} jobs", options.file.display())?,
    }
    if let Some(aside) = restored.aside {
        writeln!(out, "what was there before is in {}", aside.display())?;
    }
    let (keyring, source) = server::keys::at_hand(&config)?;
    let has = |id: &&KeyId| keyring.as_ref().is_some_and(|keyring| keyring.get(id).is_some());
    if let Some(missing) = restored.keys.iter().find(|id| !has(id)) {
        let place = source.place();
        writeln!(
            out,
            "its secrets are sealed with the key {missing}, which {place} has to have before it is served"
        )?;
    }
    Ok(())
}
