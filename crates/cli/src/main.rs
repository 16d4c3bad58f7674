//! The door: the binary `punctual` and its commands.
//!
//! A command is a module with its options and a `run`. It writes results to standard output and everything else to
//! standard error. How it ends, and with which status, is for `ending` to say.

#![forbid(unsafe_code)]

mod audit;
mod backup;
mod bench;
mod client;
mod collection;
mod completions;
mod confirm;
mod context;
mod contexts;
mod doctor;
mod document;
mod ending;
mod export;
mod history;
mod import;
mod job;
mod keys;
mod ledger;
mod man;
mod migrate;
mod moment;
mod nodes;
mod outfile;
mod output;
mod preview;
mod progress;
mod refused;
mod report;
mod restore;
mod role;
mod secret;
mod serve;
mod similar;
mod style;
mod table;
mod target;
mod token;
mod waiting;
mod window;

use std::process::ExitCode;

use clap::{CommandFactory, Parser, Subcommand};
use recurrence::Timestamp;

/// Calls your endpoints and queues on time.
#[derive(Debug, Parser)]
#[command(name = "punctual", version, arg_required_else_help = true, max_term_width = 100)]
#[command(after_help = "Every command has a --help of its own, with examples.")]
struct Cli {
    /// When to use colours
    #[arg(long, value_name = "WHEN", global = true, default_value = "auto", hide_possible_values = true)]
    color: style::Colour,
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Run the scheduler
    Serve(serve::Options),
    /// Make, show, change, run and watch jobs
    Job(job::Options),
    /// Make, show and switch job collections
    Collection(collection::Options),
    /// Show the attempts of a job
    History(history::Options),
    /// Show what became of every due instant: what ran, what did not, and why
    Ledger(ledger::Options),
    /// Store and choose servers to talk to
    Context(context::Options),
    /// Copy the store of a running server to a file
    Backup(backup::Options),
    /// Put a backup in the place of what a data folder has
    Restore(restore::Options),
    /// Move the store of a server from SQLite to PostgreSQL
    Migrate(migrate::Options),
    /// Write the collections and jobs of a deployment template to a server
    Import(import::Options),
    /// Write what a server holds as a deployment template
    Export(export::Options),
    /// Make, show and change the keys that seal the secrets of jobs
    Keys(keys::Options),
    /// Make, list and revoke the tokens of a server that asks who calls
    Token(token::Options),
    /// Give, list and take away roles: who may do what
    Role(role::Options),
    /// Show who did what, and verify that nobody has changed that
    Audit(audit::Options),
    /// Show the nodes that share a server's store
    Nodes(nodes::Options),
    /// Show which calls wait, for what, and whose calls hold their places
    Waiting(waiting::Options),
    /// Show when a job would run
    Preview(preview::Options),
    /// Measure lateness, throughput and memory on this machine
    Bench(bench::Options),
    /// Look for what is wrong with this machine and its settings, and say what helps
    Doctor(doctor::Options),
    /// Print every setting with its default, as a file for `serve --config`
    #[command(after_help = "Examples:\n  punctual config\n  punctual config > punctual.toml")]
    Config,
    /// Print what a shell needs to complete commands and names
    Completions(completions::Options),
    /// Write the manual: a page of each command
    Man(man::Options),
}

fn main() -> ExitCode {
    completions::answer();
    let cli = Cli::parse();
    style::choose(cli.color);
    let done = match &cli.command {
        Command::Serve(options) => serve::run(options),
        Command::Job(options) => job::run(options),
        Command::Collection(options) => collection::run(options),
        Command::History(options) => history::run(options),
        Command::Ledger(options) => ledger::run(options),
        Command::Context(options) => context::run(options),
        Command::Backup(options) => backup::run(options),
        Command::Restore(options) => restore::run(options),
        Command::Migrate(options) => migrate::run(options),
        Command::Import(options) => import::run(options),
        Command::Export(options) => export::run(options),
        Command::Keys(options) => keys::run(options),
        Command::Token(options) => token::run(options),
        Command::Role(options) => role::run(options),
        Command::Audit(options) => audit::run(options),
        Command::Nodes(options) => nodes::run(options),
        Command::Waiting(options) => waiting::run(options),
        Command::Preview(options) => preview::run(options),
        Command::Bench(options) => bench::run(options),
        Command::Doctor(options) => doctor::run(options),
        Command::Config => serve::print_config(),
        Command::Completions(options) => completions::run(options, &Cli::command()),
        Command::Man(options) => man::run(options, Cli::command()),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            let similar = similar::to_missing(&error);
            ending::end(&error, similar.as_deref())
        }
    }
}

/// The real clock, for commands that were not told the time.
#[expect(
    clippy::disallowed_methods,
    reason = "the one place where time comes in; everything else is handed it"
)]
fn now() -> Timestamp {
    Timestamp::now()
}
