//! The door: the binary `punctual` and its commands.
//!
//! A command is a module with its options and a `run`. It writes results to standard output and everything else to
//! standard error. What the caller got wrong is a [`Refused`] and ends with status 2, like a wrong option; any other
//! failure ends with status 1.

#![forbid(unsafe_code)]

mod backup;
mod bench;
mod client;
mod document;
mod export;
mod import;
mod nodes;
mod preview;
mod progress;
mod refused;
mod report;
mod serve;
mod style;
mod table;

use std::io::{self, ErrorKind};
use std::process::ExitCode;

use clap::{Parser, Subcommand};
use recurrence::Timestamp;

use refused::Refused;

/// Calls your endpoints and queues on time.
#[derive(Debug, Parser)]
#[command(name = "punctual", version, arg_required_else_help = true, max_term_width = 100)]
#[command(after_help = "Run `punctual preview --help` for examples; every command has a --help of its own.")]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Run the scheduler
    Serve(serve::Options),
    /// Copy the store of a running server to a file
    Backup(backup::Options),
    /// Write the collections and jobs of a deployment template to a server
    Import(import::Options),
    /// Write what a server holds as a deployment template
    Export(export::Options),
    /// Show the nodes that share a server's store
    Nodes(nodes::Options),
    /// Show when a job would run
    Preview(preview::Options),
    /// Measure lateness, throughput and memory on this machine
    Bench(bench::Options),
    /// Print every setting with its default, as a file for `serve --config`
    Config,
}

fn main() -> ExitCode {
    let cli = Cli::parse();
    let done = match &cli.command {
        Command::Serve(options) => serve::run(options),
        Command::Backup(options) => backup::run(options),
        Command::Import(options) => import::run(options),
        Command::Export(options) => export::run(options),
        Command::Nodes(options) => nodes::run(options),
        Command::Preview(options) => preview::run(options),
        Command::Bench(options) => bench::run(options),
        Command::Config => serve::print_config(),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => end(&error),
    }
}

/// Says why it did not work, one line per reason.
fn end(error: &anyhow::Error) -> ExitCode {
    if error.downcast_ref::<io::Error>().is_some_and(|error| error.kind() == ErrorKind::BrokenPipe) {
        // Whoever was reading has seen enough, as `| head` does.
        return ExitCode::SUCCESS;
    }
    if let Some(refused) = error.downcast_ref::<Refused>() {
        refused.reasons().for_each(|reason| style::say("error", reason));
        return ExitCode::from(2);
    }
    style::say("error", &format!("{error:#}"));
    ExitCode::FAILURE
}

/// The real clock, for commands that were not told the time.
#[expect(
    clippy::disallowed_methods,
    reason = "the one place where time comes in; everything else is handed it"
)]
fn now() -> Timestamp {
    Timestamp::now()
}
