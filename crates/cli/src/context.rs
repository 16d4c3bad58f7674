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
    #[command(after_help = "Examples:\n  punctual context use home\n  punctual context use --none")]
    Use {
        /// Which
        #[arg(required_unless_present = "none")]
        name: Option<String>,
        /// None at all
        #[arg(long, conflicts_with = "name")]
        none: bool,
        /// Say what would be done, and do nothing
        #[arg(long)]
        dry_run: bool,
    },
    /// Remove a stored context
    #[command(after_help = "Examples:\n  punctual context remove home")]
    Remove {
        /// Which
        name: String,
        /// Say what would be done, and do nothing
        #[arg(long)]
        dry_run: bool,
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
    /// Say what would be done, and do nothing
    #[arg(long)]
    dry_run: bool,
}

pub(crate) fn run(options: &Options) -> anyhow::Result<()> {
    match &options.what {
        What::List { format } => list(*format),
        What::Set(options) => set(options),
        What::Use { name, dry_run, .. } => change_use(name.as_deref(), *dry_run),
        What::Remove { name, dry_run } => remove(name, *dry_run),
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
    let done = if is_new { "stored" } else { "changed" };
    finish(&contexts, options.dry_run, &format!("{done} the context {}", options.name))
}

fn change_use(name: Option<&str>, dry_run: bool) -> anyhow::Result<()> {
    let mut contexts = Contexts::load()?;
    if let Some(name) = name {
        contexts.named(name)?;
    }
    contexts.current = name.map(str::to_owned);
    finish(&contexts, dry_run, &format!("the context in use is now {}", name.unwrap_or("none")))
}

fn remove(name: &str, dry_run: bool) -> anyhow::Result<()> {
    let mut contexts = Contexts::load()?;
    contexts.named(name)?;
    contexts.contexts.remove(name);
    if contexts.current.as_deref() == Some(name) {
        contexts.current = None;
    }
    finish(&contexts, dry_run, &format!("removed the context {name}"))
}

fn finish(contexts: &Contexts, dry_run: bool, done: &str) -> anyhow::Result<()> {
    let plain = Format { json: false, quiet: false };
    if dry_run {
        let file = contexts::path()?;
        let said = format!("a dry run, {} is as it was; otherwise: {done}", file.display());
        return Ok(Output::new(plain).done(&said, &json!(null))?);
    }
    contexts.save()?;
    Ok(Output::new(plain).done(done, &json!(null))?)
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
