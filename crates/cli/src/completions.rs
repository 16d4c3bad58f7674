//! `punctual completions`: what a shell needs to complete commands, options and the names of jobs.
//!
//! The script that is printed asks this binary while somebody types, so that it never grows old and can ask the server.

use std::ffi::OsStr;
use std::io::{self, Write as _};
use std::time::Duration;

use clap::{Args, CommandFactory as _, ValueEnum};
use clap_complete::engine::{ArgValueCompleter, CompletionCandidate};
use clap_complete::env::{CompleteEnv, Shells};

use crate::client::{self, Going};
use crate::job::Filter;
use crate::output::text;
use crate::target::InCollection;

/// Set by the script when it asks.
const VARIABLE: &str = "PUNCTUAL_COMPLETE";

/// Nobody waits longer for a key.
const PATIENCE: Duration = Duration::from_millis(800);

/// More names than anybody chooses from.
const MOST_NAMES: usize = 200;

/// The options of `completions`.
#[derive(Debug, Args)]
#[command(
    after_help = "Put it where your shell starts, such as in ~/.bashrc: source <(punctual completions bash)

Examples:
  punctual completions bash
  punctual completions zsh > _punctual
  punctual completions fish > punctual.fish"
)]
pub(crate) struct Options {
    /// For which shell
    shell: Shell,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum Shell {
    Bash,
    Zsh,
    Fish,
    Elvish,
    Powershell,
}

/// Answers a shell that asks what fits; returns where none does.
pub(crate) fn answer() {
    CompleteEnv::with_factory(crate::Cli::command).var(VARIABLE).complete();
}

pub(crate) fn run(options: &Options, command: &clap::Command) -> anyhow::Result<()> {
    let shell = match options.shell {
        Shell::Bash => "bash",
        Shell::Zsh => "zsh",
        Shell::Fish => "fish",
        Shell::Elvish => "elvish",
        Shell::Powershell => "powershell",
    };
    let name = command.get_name();
    let mut script = Vec::new();
    if let Some(shell) = Shells::builtins().completer(shell) {
        shell.write_registration(VARIABLE, name, name, name, &mut script)?;
    }
    let mut out = io::stdout().lock();
    out.write_all(&script)?;
    Ok(out.flush()?)
}

/// Whether a shell takes it as one word. Every job's name is of these characters; another server may say anything.
fn is_name(text: &str) -> bool {
    text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte))
}

/// Completes the names of jobs, in the collection of the context.
pub(crate) fn jobs() -> ArgValueCompleter {
    ArgValueCompleter::new(job_names)
}

fn job_names(begun: &OsStr) -> Vec<CompletionCandidate> {
    let Some(begun) = begun.to_str() else { return Vec::new() };
    let names = client::wait(async {
        let found = tokio::time::timeout(PATIENCE, async {
            let target = InCollection::default().resolve()?;
            let mut names = Vec::new();
            let like = Filter { search: Some(begun.to_owned()), ..Filter::default() };
            let listed = like.each(&target, |job| {
                names
                    .extend(Some(text(&job["name"])).filter(|name| name.starts_with(begun) && is_name(name)));
                Ok(if names.len() < MOST_NAMES { Going::On } else { Going::Enough })
            });
            listed.await?;
            anyhow::Ok(names)
        });
        found.await?
    });
    // Whoever is typing has no use for a message about a server.
    names.unwrap_or_default().into_iter().map(CompletionCandidate::new).collect()
}
