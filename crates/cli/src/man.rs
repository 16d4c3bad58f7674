//! `punctual man`: the manual, made of the commands themselves.

use std::fs;
use std::io::{self, Write as _};
use std::path::PathBuf;

use anyhow::Context as _;
use clap::Args;

/// The options of `man`.
#[derive(Debug, Args)]
#[command(after_help = "The Debian package brings the pages along: man punctual, man punctual-serve.

Examples:
  punctual man > punctual.1
  punctual man man1")]
pub(crate) struct Options {
    /// The folder for a page of each command; made if it is not there. Without it, the page of `punctual` itself is printed
    #[arg(value_name = "DIR")]
    folder: Option<PathBuf>,
}

pub(crate) fn run(options: &Options, command: clap::Command) -> anyhow::Result<()> {
    let Some(folder) = &options.folder else {
        let mut page = Vec::new();
        clap_mangen::Man::new(command).render(&mut page)?;
        let mut out = io::stdout().lock();
        out.write_all(&page)?;
        return Ok(out.flush()?);
    };
    let shown = folder.display();
    fs::create_dir_all(folder).with_context(|| format!("{shown}: the folder cannot be made"))?;
    // `help` of every command says nothing that its page does not.
    clap_mangen::generate_to(command.disable_help_subcommand(true), folder)
        .with_context(|| format!("{shown}: the pages cannot be written"))
}
