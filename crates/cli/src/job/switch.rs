//! `punctual job enable`, `disable` and `delete`: one job, or many at once.
//!
//! The names are all known before the first job is touched: pages of a list would shift under whoever deletes from it.

use clap::Args;
use http::Method;
use serde_json::{Value, json};

use super::list::Filter;
use crate::client::{Condition, Going};
use crate::confirm::confirm;
use crate::ending::Ended;
use crate::output::{Format, Output, outcome, text};
use crate::progress::Progress;
use crate::style;
use crate::target::{self, InCollection, Target};

/// The options of `job enable`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  punctual job enable mail
  punctual job enable --all --state disabled --yes")]
pub(crate) struct Switch {
    #[command(flatten)]
    many: Many,
}

/// The options of `job disable`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  punctual job disable report mail --dry-run
  punctual job disable report
  punctual job disable --all --search rep --yes")]
pub(crate) struct Disable {
    #[command(flatten)]
    many: Many,
}

/// The options of `job delete`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  punctual job delete report --dry-run
  punctual job delete --all --state completed --yes
  punctual job delete report mail --yes")]
pub(crate) struct Delete {
    #[command(flatten)]
    many: Many,
}

#[derive(Debug, Args)]
struct Many {
    /// Which jobs
    #[arg(value_parser = target::name, required_unless_present = "all", add = crate::completions::jobs())]
    names: Vec<String>,
    /// All of the collection, or those that --state and --search let through
    #[arg(long, conflicts_with = "names")]
    all: bool,
    #[command(flatten)]
    filter: Filter,
    /// Do not ask
    #[arg(short, long)]
    yes: bool,
    /// Say what would be done, and do nothing
    #[arg(long)]
    dry_run: bool,
    #[command(flatten)]
    format: Format,
    #[command(flatten)]
    place: InCollection,
}

/// What is done to each.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Deed {
    Enable,
    Disable,
    Delete,
}

impl Deed {
    fn verb(self) -> &'static str {
        match self {
            Self::Enable => "enable",
            Self::Disable => "disable",
            Self::Delete => "delete",
        }
    }

    /// The state that it leads to.
    fn state(self) -> Option<&'static str> {
        match self {
            Self::Enable => Some("Enabled"),
            Self::Disable => Some("Disabled"),
            Self::Delete => None,
        }
    }
}

pub(crate) async fn enable(options: &Switch) -> anyhow::Result<()> {
    run(&options.many, Deed::Enable).await
}

pub(crate) async fn disable(options: &Disable) -> anyhow::Result<()> {
    run(&options.many, Deed::Disable).await
}

pub(crate) async fn delete(options: &Delete) -> anyhow::Result<()> {
    run(&options.many, Deed::Delete).await
}

async fn run(many: &Many, deed: Deed) -> anyhow::Result<()> {
    let target = many.place.resolve()?;
    let names = names(many, &target).await?;
    let (verb, number) = (deed.verb(), names.len());
    if names.is_empty() {
        let words = many.filter.words().map_or_else(String::new, |words| format!(" that match: {words}"));
        style::say("note", &format!("the collection {} has no jobs{words}", target.collection));
        return Ok(());
    }
    if !many.dry_run && (many.all || deed == Deed::Delete) {
        let what = match &names[..] {
            [name] => format!("the job {name}"),
            _ => format!("{number} jobs of the collection {}", target.collection),
        };
        let Some(first) = verb.get(..1) else { return Ok(()) };
        let question = format!("{}{} {what}?", first.to_uppercase(), &verb[1..]);
        confirm(&question, many.yes)?;
    }
    let mut output = Output::new(many.format);
    let progress = (number > 1).then(|| Progress::steps(number as u64));
    let (mut failed, mut first_failure) = (0, None);
    for (i, name) in names.iter().enumerate() {
        match one(&target, name, deed, many.dry_run).await {
            Ok((said, result)) => {
                let value = outcome(&target.job_id(name), result, many.dry_run);
                output.done(&said, &value)?;
            }
            // Whoever named one job hears of it alone; of many, the others are done all the same.
            Err(error) if number == 1 => return Err(error),
            Err(error) => {
                style::say("error", &format!("{name}: {error:#}"));
                failed += 1;
                first_failure.get_or_insert(error);
            }
        }
        if let Some(progress) = &progress {
            progress.at(i as u64 + 1);
        }
    }
    drop(progress);
    match first_failure {
        None => Ok(()),
        Some(first) => {
            Err(Ended::like(&first, format!("{failed} of {number} jobs could not be {verb}d")).into())
        }
    }
}

async fn names(many: &Many, target: &Target) -> anyhow::Result<Vec<String>> {
    if !many.all {
        let mut names = many.names.clone();
        let mut seen = std::collections::HashSet::new();
        names.retain(|name| seen.insert(name.to_lowercase()));
        return Ok(names);
    }
    let mut names = Vec::new();
    let found = many.filter.each(target, |job| {
        names.push(text(&job["name"]));
        Ok(Going::On)
    });
    found.await?;
    Ok(names)
}

/// Does it to one job: what is said, and the word for programs.
async fn one(
    target: &Target,
    name: &str,
    deed: Deed,
    dry_run: bool,
) -> anyhow::Result<(String, &'static str)> {
    let (path, verb) = (target.job(name, ""), deed.verb());
    let done = match deed {
        Deed::Enable => "enabled",
        Deed::Disable => "disabled",
        Deed::Delete => "deleted",
    };
    if let Some(wanted) = deed.state() {
        let state: Value = target.client.get(&path).await?.body["properties"]["state"].take();
        if text(&state).eq_ignore_ascii_case(wanted) {
            return Ok((format!("{name} is {done} already"), "same"));
        }
    } else if dry_run {
        target.client.get(&path).await?;
    }
    if dry_run {
        return Ok((format!("would {verb} {name}"), done));
    }
    match deed.state() {
        Some(state) => {
            let patch = json!({"properties": {"state": state}});
            target.client.ask(Method::PATCH, &path, Some(&patch), &Condition::Always).await?;
        }
        None => {
            target.client.ask(Method::DELETE, &path, None, &Condition::Always).await?;
        }
    }
    Ok((format!("{done} {name}"), done))
}
