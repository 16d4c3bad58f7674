//! `punctual job`: jobs, from the first to the last.

mod action;
mod create;
mod edit;
mod list;
mod patch;
mod run;
mod show;
mod switch;
mod timing;
mod watch;

use clap::{Args, Subcommand};

use crate::client;

pub(crate) use list::Filter;

/// The options of `job`.
#[derive(Debug, Args)]
pub(crate) struct Options {
    #[command(subcommand)]
    what: What,
}

#[derive(Debug, Subcommand)]
enum What {
    /// Make a job
    Create(Box<create::Options>),
    /// Show a job: what it does, when it runs, how it went
    Show(show::Options),
    /// List jobs
    List(list::Options),
    /// Change a job, in an editor or by options
    Edit(edit::Options),
    /// Run a job now, besides its schedule
    Run(run::Options),
    /// Let jobs run again
    Enable(switch::Switch),
    /// Let jobs run no more, for now
    Disable(switch::Disable),
    /// Delete jobs, with their history
    Delete(switch::Delete),
    /// Follow runs as they happen
    Watch(watch::Options),
}

pub(crate) fn run(options: &Options) -> anyhow::Result<()> {
    client::wait(async {
        match &options.what {
            What::Create(options) => create::run(options).await,
            What::Show(options) => show::run(options).await,
            What::List(options) => list::run(options).await,
            What::Edit(options) => edit::run(options).await,
            What::Run(options) => run::run(options).await,
            What::Enable(options) => switch::enable(options).await,
            What::Disable(options) => switch::disable(options).await,
            What::Delete(options) => switch::delete(options).await,
            What::Watch(options) => watch::run(options).await,
        }
    })
}
