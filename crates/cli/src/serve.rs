//! `punctual serve`: runs the scheduler. `punctual config`: prints every setting with its default.

use std::io::{self, Write as _};
use std::path::PathBuf;

use anyhow::Context;
use clap::Args;
use server::config::{DEFAULT, Flags, load_here};

use crate::refused::Refused;

/// The options of `serve`.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Options {
    /// Where to serve the API, such as 127.0.0.1:8042; port 0 takes a free one
    #[arg(long, value_name = "ADDR")]
    listen: Option<String>,
    /// The folder of the embedded store; made if it is not there
    #[arg(long, value_name = "DIR")]
    data: Option<PathBuf>,
    /// A PostgreSQL database in place of the embedded store; every server that names it is one of its nodes
    #[arg(long, value_name = "URL")]
    database: Option<String>,
    /// Where to serve /metrics, instead of beside the API; such as 0.0.0.0:9042
    #[arg(long, value_name = "ADDR")]
    metrics_listen: Option<String>,
    /// A file of settings; `punctual config` prints all of them with their defaults
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// Fill an empty store with examples that call the server itself
    #[arg(long)]
    demo: bool,
}

const EXAMPLES: &str = "Examples:
  punctual serve
  punctual serve --demo --data /tmp/punctual-demo
  punctual serve --listen 127.0.0.1:9000 --config punctual.toml

Every setting is also an environment variable: PUNCTUAL_LISTEN, PUNCTUAL_ENGINE_CALLS, …
When it is ready, one line with the address goes to standard output; logs go to standard error.
SIGTERM and Ctrl-C stop it after what is under way; a second one stops it at once.";

pub(crate) fn run(options: &Options) -> anyhow::Result<()> {
    let flags = Flags {
        config: options.config.clone(),
        listen: options.listen.clone(),
        data: options.data.clone(),
        database: options.database.clone(),
        metrics_listen: options.metrics_listen.clone(),
    };
    let config = load_here(&flags).map_err(|fault| Refused::new(fault.to_string()))?;
    let _log = server::Logging::start(&config)?;
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().context("cannot start")?;
    runtime.block_on(server::serve(config, server::Options { demo: options.demo }))
}

/// Prints the default configuration.
pub(crate) fn print_config() -> anyhow::Result<()> {
    Ok(io::stdout().write_all(DEFAULT.as_bytes())?)
}
