//! `punctual context`: stored contexts, so that nobody types a server's address twice.

use std::path::PathBuf;

use clap::{Args, Subcommand};
use serde_json::json;

use crate::contexts::{self, Contexts};
use crate::output::{Format, Output};
use crate::target::Target;
use crate::{client, secret, target};

/// The options of `context`.
#[derive(Debug, Args)]
pub(crate) struct Options {
    #[command(subcommand)]
    what: What,
}

#[derive(Debug, Subcommand)]
enum What {
    /// List the stored contexts; a star marks the one in use
    #[command(after_help = "Examples:\n  punctual context list\n  punctual context list --json")]
    List {
        #[command(flatten)]
        format: Format,
    },
    /// Store a context, or change one that is stored
    #[command(after_help = "What is not given stays as it was; an empty text removes it.

Examples:
  punctual context set office --server http://127.0.0.1:8042 --subscription acme --group billing --use
  punctual context set office --collection invoices --dry-run")]
    Set(Set),
    /// Use a context from now on
    #[command(
        after_help = "Examples:\n  punctual context use home --dry-run\n  punctual context use home\n  punctual context use --none"
    )]
    Use {
        /// Which
        #[arg(required_unless_present = "none")]
        name: Option<String>,
        /// None at all
        #[arg(long, conflicts_with = "name")]
        none: bool,
        #[command(flatten)]
        change: Change,
    },
    /// Remove a stored context
    #[command(
        after_help = "Examples:\n  punctual context remove home --dry-run\n  punctual context remove home"
    )]
    Remove {
        /// Which
        name: String,
        #[command(flatten)]
        change: Change,
    },
    /// Show where commands go now
    #[command(after_help = "Examples:\n  punctual context show\n  punctual context show --json")]
    Show {
        #[command(flatten)]
        format: Format,
        #[command(flatten)]
        place: target::InCollection,
    },
}

#[derive(Debug, Args)]
struct Set {
    /// Its name
    #[arg(value_parser = target::name)]
    name: String,
    /// The server, such as http://127.0.0.1:8042
    #[arg(long, value_name = "URL")]
    server: Option<String>,
    /// The subscription
    #[arg(long, value_name = "NAME")]
    subscription: Option<String>,
    /// The resource group
    #[arg(long, value_name = "NAME")]
    group: Option<String>,
    /// The job collection
    #[arg(long, value_name = "NAME")]
    collection: Option<String>,
    /// A file with the token for a server that asks who calls; - is standard input, an empty file removes it
    #[arg(long, value_name = "FILE")]
    token_file: Option<PathBuf>,
    /// Use it from now on
    #[arg(long = "use")]
    in_use: bool,
    #[command(flatten)]
    change: Change,
}

/// What every change takes.
#[derive(Debug, Clone, Copy, Args)]
struct Change {
    /// Say what would be done, and do nothing
    #[arg(long)]
    dry_run: bool,
    #[command(flatten)]
    format: Format,
}

pub(crate) fn run(options: &Options) -> anyhow::Result<()> {
    match &options.what {
        What::List { format } => list(*format),
        What::Set(options) => set(options),
        What::Use { name, change, .. } => change_use(name.as_deref(), *change),
        What::Remove { name, change } => remove(name, *change),
        What::Show { format, place } => {
            // A client lives on a runtime, though nothing is asked of the server.
            let target = client::wait(async { place.resolve() })?;
            show(*format, &target)
        }
    }
}

fn list(format: Format) -> anyhow::Result<()> {
    let contexts = Contexts::load()?;
    let mut list =
        Output::new(format).list(&["NAME", "IN USE", "SERVER", "SUBSCRIPTION", "GROUP", "COLLECTION"]);
    for (name, context) in &contexts.contexts {
        let in_use = contexts.current.as_deref() == Some(name);
        let cell = |text: &Option<String>| text.clone().unwrap_or_else(|| "-".to_owned());
        let value = json!({
            "name": name,
            "inUse": in_use,
            "server": context.server,
            "subscription": context.subscription,
            "group": context.group,
            "collection": context.collection,
        });
        let cells = vec![
            name.clone(),
            if in_use { "*" } else { "" }.to_owned(),
            cell(&context.server),
            cell(&context.subscription),
            cell(&context.group),
            cell(&context.collection),
        ];
        list.add(&value, cells)?;
    }
    list.end("no context is stored; `punctual context set NAME --server URL` stores one")?;
    Ok(())
}

fn set(options: &Set) -> anyhow::Result<()> {
    if let Some(server) = options.server.as_deref().filter(|server| !server.is_empty()) {
        client::wait(async { client::Client::new(server, "--server") })?;
    }
    let mut contexts = Contexts::load()?;
    let is_new = !contexts.contexts.contains_key(&options.name);
    let context = contexts.contexts.entry(options.name.clone()).or_default();
    for (slot, given) in [
        (&mut context.server, &options.server),
        (&mut context.subscription, &options.subscription),
        (&mut context.group, &options.group),
        (&mut context.collection, &options.collection),
    ] {
        if let Some(given) = given {
            *slot = Some(given.clone()).filter(|given| !given.is_empty());
        }
    }
    if let Some(file) = &options.token_file {
        context.token = Some(secret::of_file(file, "--token-file")?).filter(|token| !token.is_empty());
    }
    if options.in_use {
        contexts.current = Some(options.name.clone());
    }
    let result = if is_new { "stored" } else { "changed" };
    let done =
        Done { name: Some(&options.name), result, text: format!("{result} the context {}", options.name) };
    finish(&contexts, options.change, &done)
}

fn change_use(name: Option<&str>, change: Change) -> anyhow::Result<()> {
    let mut contexts = Contexts::load()?;
    if let Some(name) = name {
        contexts.named(name)?;
    }
    contexts.current = name.map(str::to_owned);
    let text = format!("the context in use is now {}", name.unwrap_or("none"));
    finish(&contexts, change, &Done { name, result: "inUse", text })
}

fn remove(name: &str, change: Change) -> anyhow::Result<()> {
    let mut contexts = Contexts::load()?;
    contexts.named(name)?;
    contexts.contexts.remove(name);
    if contexts.current.as_deref() == Some(name) {
        contexts.current = None;
    }
    let text = format!("removed the context {name}");
    finish(&contexts, change, &Done { name: Some(name), result: "removed", text })
}

/// What a change does.
struct Done<'a> {
    /// To which context; to none where none is in use any more.
    name: Option<&'a str>,
    /// For programs.
    result: &'static str,
    /// For people.
    text: String,
}

fn finish(contexts: &Contexts, change: Change, done: &Done<'_>) -> anyhow::Result<()> {
    let Change { dry_run, format } = change;
    let value = json!({"name": done.name, "result": done.result, "dryRun": dry_run});
    if dry_run {
        let file = contexts::path()?;
        let said = format!("a dry run, {} is as it was; otherwise: {}", file.display(), done.text);
        return Ok(Output::new(format).done(&said, &value)?);
    }
    contexts.save()?;
    Ok(Output::new(format).done(&done.text, &value)?)
}

fn show(format: Format, target: &Target) -> anyhow::Result<()> {
    let value = json!({
        "server": target.client.address(),
        "subscription": target.subscription,
        "group": target.group,
        "collection": target.collection,
    });
    Output::new(format).thing(&value, target.client.address(), |out| {
        out.field("server", target.client.address())?;
        out.field("subscription", &target.subscription)?;
        out.field("group", &target.group)?;
        out.field("collection", &target.collection)
    })?;
    Ok(())
}
