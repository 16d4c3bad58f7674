//! `punctual collection`: job collections.

use clap::{Args, Subcommand};
use http::Method;
use serde_json::{Map, Value, json};

use crate::client::{self, Condition, Going, Problem};
use crate::confirm::confirm;
use crate::ending::Ended;
use crate::output::{Format, Output, many, outcome, text};
use crate::refused::Refused;
use crate::report;
use crate::target::{self, Place, Target, own_name};

/// The options of `collection`.
#[derive(Debug, Args)]
pub(crate) struct Options {
    #[command(subcommand)]
    what: What,
}

#[derive(Debug, Subcommand)]
enum What {
    /// List the job collections of the subscription, or with --group of a group
    #[command(
        after_help = "Examples:\n  punctual collection list\n  punctual collection list --group default --json"
    )]
    List {
        #[command(flatten)]
        format: Format,
        #[command(flatten)]
        place: Place,
    },
    /// Show a job collection
    #[command(
        after_help = "Examples:\n  punctual collection show\n  punctual collection show billing --json"
    )]
    Show {
        /// Which; by default that of the context, or "default"
        #[arg(value_parser = target::name)]
        name: Option<String>,
        #[command(flatten)]
        format: Format,
        #[command(flatten)]
        place: Place,
    },
    /// Make a job collection
    #[command(after_help = "Examples:
  punctual collection create reports
  punctual collection create invoices --plan p20premium --tag team=billing --dry-run
  punctual collection create reports --if-absent")]
    Create(Create),
    /// Delete job collections, with all their jobs
    #[command(
        after_help = "Examples:\n  punctual collection delete old --dry-run\n  punctual collection delete old --yes"
    )]
    Delete {
        /// Which
        #[arg(required = true, value_parser = target::name)]
        names: Vec<String>,
        /// Do not ask
        #[arg(short, long)]
        yes: bool,
        #[command(flatten)]
        change: Change,
    },
    /// Let the jobs of collections run again
    #[command(after_help = "Examples:\n  punctual collection enable billing")]
    Enable {
        /// Which
        #[arg(required = true, value_parser = target::name)]
        names: Vec<String>,
        #[command(flatten)]
        change: Change,
    },
    /// Let no job of collections run
    #[command(
        after_help = "Examples:\n  punctual collection disable billing --dry-run\n  punctual collection disable billing"
    )]
    Disable {
        /// Which
        #[arg(required = true, value_parser = target::name)]
        names: Vec<String>,
        #[command(flatten)]
        change: Change,
    },
}

/// What every change takes.
#[derive(Debug, Args)]
struct Change {
    /// Say what would be done, and do nothing
    #[arg(long)]
    dry_run: bool,
    #[command(flatten)]
    format: Format,
    #[command(flatten)]
    place: Place,
}

#[derive(Debug, Args)]
struct Create {
    /// Its name
    #[arg(value_parser = target::name)]
    name: String,
    /// Its plan: free, standard, p10premium or p20premium; by default standard
    #[arg(long)]
    plan: Option<String>,
    /// Where it is said to be
    #[arg(long, value_name = "REGION")]
    location: Option<String>,
    /// A tag; may be repeated
    #[arg(long, value_name = "NAME=VALUE")]
    tag: Vec<String>,
    /// The most jobs that it may hold, at most those of the plan
    #[arg(long, value_name = "N")]
    max_jobs: Option<u32>,
    /// Let its jobs wait until it is enabled
    #[arg(long)]
    disabled: bool,
    /// Leave one that is there already as it is, and succeed
    #[arg(long)]
    if_absent: bool,
    #[command(flatten)]
    change: Change,
}

pub(crate) fn run(options: &Options) -> anyhow::Result<()> {
    client::wait(async {
        match &options.what {
            What::List { format, place } => list(*format, place).await,
            What::Show { name, format, place } => show(name.as_deref(), *format, place).await,
            What::Create(options) => create(options).await,
            What::Delete { names, yes, change } => delete(names, *yes, change).await,
            What::Enable { names, change } => switch(names, "enable", "Enabled", change).await,
            What::Disable { names, change } => switch(names, "disable", "Disabled", change).await,
        }
    })
}

async fn list(format: Format, place: &Place) -> anyhow::Result<()> {
    let target = place.resolve()?;
    let mut list = Output::new(format).list(&["NAME", "GROUP", "STATE", "PLAN", "LOCATION"]);
    let path = target.collections(!place.names_group());
    let added = target.client.each(&path, |collection| {
        let group = target.within(&text(&collection["id"])).map(|place| place.group);
        let properties = &collection["properties"];
        let cells = vec![
            own_name(&collection),
            group.unwrap_or_default(),
            text(&properties["state"]),
            text(&properties["sku"]["name"]),
            text(&collection["location"]),
        ];
        list.add(&collection, cells)?;
        Ok(Going::On)
    });
    added.await?;
    if list.is_empty() && target.chosen.subscription {
        // Azure lists what is in any subscription, whether or not it exists; this says whether it does.
        target
            .client
            .get(&target::query("/api/jobs", &[("subscription", Some(&target.subscription))]))
            .await?;
    }
    list.end("there is no job collection; `punctual collection create NAME` makes one")?;
    Ok(())
}

fn named(place: &Place, name: Option<&str>) -> anyhow::Result<Target> {
    let mut target = place.resolve()?;
    if let Some(name) = name {
        name.clone_into(&mut target.collection);
    }
    Ok(target)
}

async fn show(name: Option<&str>, format: Format, place: &Place) -> anyhow::Result<()> {
    let target = named(place, name)?;
    let collection = target.client.get(&target.collection("")).await?.body;
    let mut output = Output::new(format);
    output.thing(&collection, &own_name(&collection), |out| {
        let properties = &collection["properties"];
        out.field("name", &own_name(&collection))?;
        out.field("id", &text(&collection["id"]))?;
        out.field("state", &text(&properties["state"]))?;
        out.field("plan", &text(&properties["sku"]["name"]))?;
        out.field("location", &text(&collection["location"]))?;
        for (name, value) in collection["tags"].as_object().into_iter().flatten() {
            out.field("tag", &format!("{name}={}", text(value)))?;
        }
        if let Some(most) = properties["quota"]["maxJobCount"].as_u64() {
            out.field("quota", &many(most, "job"))?;
        }
        Ok(())
    })?;
    Ok(())
}

async fn create(options: &Create) -> anyhow::Result<()> {
    let target = named(&options.change.place, Some(&options.name))?;
    let body = body(options)?;
    if options.change.dry_run {
        if !is_there(&target).await? {
            return report::dry_run(&target, vec![resource(&target, &body)], options.change.format).await;
        }
        if !options.if_absent {
            return Err(there_already(&options.name).into());
        }
        let same = outcome(&target.collection_id(), "same", true);
        let said = format!("{} is there already and would be left as it is", options.name);
        return Ok(Output::new(options.change.format).done(&said, &same)?);
    }
    let mut output = Output::new(options.change.format);
    match target.client.ask(Method::PUT, &target.collection(""), Some(&body), &Condition::Absent).await {
        Ok(made) => {
            let group = &target.group;
            output.done(
                &format!("made the job collection {} in the group {group}", options.name),
                &made.body,
            )?;
            Ok(())
        }
        Err(error) if is_precondition(&error) && options.if_absent => {
            let collection = target.client.get(&target.collection("")).await?.body;
            output.done(&format!("{} is there already and was left as it is", options.name), &collection)?;
            Ok(())
        }
        Err(error) if is_precondition(&error) => Err(there_already(&options.name).into()),
        Err(error) => Err(error),
    }
}

fn there_already(name: &str) -> Ended {
    Ended::conflict(format!("the job collection {name} is there already; --if-absent leaves it as it is"))
}

fn body(options: &Create) -> Result<Value, Refused> {
    let mut properties = Map::new();
    let mut body = Map::new();
    if let Some(location) = &options.location {
        body.insert("location".to_owned(), location.as_str().into());
    }
    let mut tags = Map::new();
    for tag in &options.tag {
        let Some((name, value)) = tag.split_once('=') else {
            return Err(Refused::new(format!("--tag: '{tag}' is not allowed here; expected NAME=VALUE")));
        };
        tags.insert(name.to_owned(), value.into());
    }
    if !tags.is_empty() {
        body.insert("tags".to_owned(), tags.into());
    }
    if let Some(plan) = &options.plan {
        properties.insert("sku".to_owned(), json!({"name": plan}));
    }
    if options.disabled {
        properties.insert("state".to_owned(), "Disabled".into());
    }
    if let Some(most) = options.max_jobs {
        properties.insert("quota".to_owned(), json!({"maxJobCount": most}));
    }
    body.insert("properties".to_owned(), properties.into());
    Ok(body.into())
}

/// A collection as a list of resources holds it.
pub(crate) fn resource(target: &Target, body: &Value) -> Value {
    let mut resource = body.clone();
    resource["type"] = "Microsoft.Scheduler/jobCollections".into();
    resource["name"] = target.collection.as_str().into();
    resource
}

/// Whether the collection is there.
pub(crate) async fn is_there(target: &Target) -> anyhow::Result<bool> {
    match target.client.get(&target.collection("")).await {
        Ok(_) => Ok(true),
        Err(error) if is_absent(&error) => Ok(false),
        Err(error) => Err(error),
    }
}

pub(crate) fn is_absent(error: &anyhow::Error) -> bool {
    error.downcast_ref::<Problem>().is_some_and(|problem| problem.status == 404)
}

pub(crate) fn is_precondition(error: &anyhow::Error) -> bool {
    error.downcast_ref::<Problem>().is_some_and(|problem| problem.status == 412)
}

async fn delete(names: &[String], yes: bool, change: &Change) -> anyhow::Result<()> {
    let mut output = Output::new(change.format);
    let mut counts = Vec::new();
    // All are looked at before the first is gone: a wrong name deletes nothing.
    for name in names {
        let target = named(&change.place, Some(name))?;
        let mut jobs = 0_u64;
        let path = target.jobs();
        let counted = target.client.each(&path, |_| {
            jobs += 1;
            Ok(Going::On)
        });
        counted.await?;
        counts.push((target, jobs));
    }
    let what: Vec<String> = counts
        .iter()
        .map(|(target, jobs)| format!("{} ({})", target.collection, many(*jobs, "job")))
        .collect();
    if !change.dry_run {
        let whose = if counts.len() == 1 { "its" } else { "their" };
        confirm(&format!("Delete {} with all {whose} history?", what.join(", ")), yes)?;
    }
    for (target, jobs) in counts {
        let name = &target.collection;
        let value = outcome(&target.collection_id(), "deleted", change.dry_run);
        let jobs = many(jobs, "job");
        if change.dry_run {
            output.done(&format!("would delete {name} with {jobs}"), &value)?;
        } else {
            target.client.ask(Method::DELETE, &target.collection(""), None, &Condition::Always).await?;
            output.done(&format!("deleted {name} with {jobs}"), &value)?;
        }
    }
    Ok(())
}

async fn switch(names: &[String], verb: &str, wanted: &str, change: &Change) -> anyhow::Result<()> {
    let mut output = Output::new(change.format);
    for name in names {
        let target = named(&change.place, Some(name))?;
        let state = target.client.get(&target.collection("")).await?.body["properties"]["state"].take();
        let id = target.collection_id();
        let value = outcome(&id, &format!("{verb}d"), change.dry_run);
        if state == wanted {
            output.done(&format!("{name} is {verb}d already"), &outcome(&id, "same", change.dry_run))?;
        } else if change.dry_run {
            output.done(&format!("would {verb} {name}"), &value)?;
        } else {
            let path = target.collection(&format!("/{verb}"));
            target.client.ask(Method::POST, &path, None, &Condition::Always).await?;
            output.done(&format!("{verb}d {name}"), &value)?;
        }
    }
    Ok(())
}
