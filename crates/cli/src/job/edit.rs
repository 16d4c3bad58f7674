//! `punctual job edit`: a job is changed in an editor, by a file or by options.
//!
//! What is sent is the difference, on the condition that nobody has changed the job meanwhile. Secrets, which the API never
//! shows, stay as they are. A text that was refused is not lost: it can be opened again, and is kept.

use std::io::{Seek as _, Write as _};
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, bail};
use clap::Args;
use http::Method;
use serde_json::{Map, Value, json};
use tempfile::NamedTempFile;

use super::{patch, show};
use crate::client::{Condition, Problem};
use crate::collection::is_precondition;
use crate::confirm::{ask, somebody_is_there};
use crate::ending::Ended;
use crate::output::{Format, Output, outcome};
use crate::refused::Refused;
use crate::target::{self, InCollection, Target, with};
use crate::{document, style};

/// The options of `job edit`.
#[derive(Debug, Args)]
#[command(
    after_help = "The editor is that of VISUAL or EDITOR, or vi. A VALUE of --set is JSON where it can be read as such, and a
text otherwise; null removes. Secrets that the text does not mention stay as they are.

Examples:
  punctual job edit report
  punctual job edit report --set recurrence.interval=2 --set state=Disabled --dry-run
  punctual job edit report --set recurrence.interval=2
  punctual job edit report --file job.json"
)]
pub(crate) struct Options {
    /// Which job
    #[arg(value_parser = target::name, add = crate::completions::jobs())]
    name: String,
    /// Set a member of the job's properties, such as action.request.method=POST; may be repeated
    #[arg(long, value_name = "PATH=VALUE", conflicts_with = "file")]
    set: Vec<String>,
    /// The job as it shall be, as JSON; - for standard input
    #[arg(long, value_name = "FILE")]
    file: Option<PathBuf>,
    /// Say what would be changed, and change nothing
    #[arg(long)]
    dry_run: bool,
    #[command(flatten)]
    format: Format,
    #[command(flatten)]
    place: InCollection,
}

/// A job as it was found.
struct Found {
    tag: String,
    properties: Value,
}

pub(crate) async fn run(options: &Options) -> anyhow::Result<()> {
    let target = options.place.resolve()?;
    let answer = target.client.get(&target.job(&options.name, "")).await?;
    let tag = answer.header("etag").context("the server does not say which version of the job this is")?;
    let tag = tag.to_owned();
    let properties = without_status(&answer.body["properties"]);
    let found = Found { tag, properties };
    if !options.set.is_empty() {
        let change = settings(&options.set)?;
        return send(options, &target, &found, &patch::apply(&found.properties, &change)).await;
    }
    if let Some(file) = &options.file {
        return send(options, &target, &found, &wanted(&document::read(file)?)?).await;
    }
    in_editor(options, &target, &found).await
}

/// The patch that `--set` asks for.
fn settings(set: &[String]) -> Result<Value, Refused> {
    let mut change = Map::new();
    let mut faults = Vec::new();
    for setting in set {
        let Some((path, text)) = setting.split_once('=') else {
            faults.push(format!("--set: '{setting}' is not allowed here; expected PATH=VALUE"));
            continue;
        };
        let value = serde_json::from_str(text).unwrap_or_else(|_| text.into());
        let path = path.strip_prefix("properties.").unwrap_or(path);
        if !patch::set(&mut change, path, value) {
            faults
                .push(format!("--set: '{path}' cannot be set; expected a path such as recurrence.interval"));
        }
    }
    if faults.is_empty() { Ok(change.into()) } else { Err(faults.into_iter().collect()) }
}

/// The properties that a document asks for: it is a whole job or its properties.
fn wanted(document: &Value) -> Result<Value, Refused> {
    let mut properties = document.get("properties").unwrap_or(document).clone();
    match properties.as_object_mut() {
        Some(members) if members.contains_key("action") => {
            members.remove("status");
            Ok(properties)
        }
        _ => Err(Refused::new("there is no action; expected a job {\"properties\": {\"action\": {…}, …}}")),
    }
}

async fn send(options: &Options, target: &Target, found: &Found, to: &Value) -> anyhow::Result<()> {
    let name = &options.name;
    let mut output = Output::new(options.format);
    let Some(change) = patch::between(&found.properties, to) else {
        let same = outcome(&target.job_id(name), "same", options.dry_run);
        return Ok(output.done(&format!("{name} is like that already; nothing was changed"), &same)?);
    };
    let lines = patch::lines(&found.properties, to);
    let (path, condition) = (target.job(name, ""), Condition::Unchanged(found.tag.clone()));
    let body = json!({"properties": change});
    if options.dry_run {
        // The server judges it as if it were sent.
        target.client.ask(Method::PATCH, &with(&path, "dryRun", "true"), Some(&body), &condition).await?;
        let mut value = outcome(&target.job_id(name), "changed", true);
        value["patch"] = body;
        return Ok(output.done(&format!("would change {name}:\n{}", indented(&lines)), &value)?);
    }
    let job = target.client.ask(Method::PATCH, &path, Some(&body), &condition).await?.body;
    // What the server stored, and when it runs next by its own account.
    let upcoming = show::upcoming(target, name, show::NEXT_RUNS).await?;
    let lines = patch::lines(&found.properties, &without_status(&job["properties"]));
    output.thing(&job, name, |out| {
        out.line(&format!("changed {name}:"))?;
        for line in &lines {
            out.line(&format!("  {line}"))?;
        }
        show::stands(out, &job, &upcoming)
    })?;
    Ok(())
}

fn without_status(properties: &Value) -> Value {
    let mut properties = properties.clone();
    if let Some(members) = properties.as_object_mut() {
        members.remove("status");
    }
    properties
}

fn indented(lines: &[String]) -> String {
    lines.iter().map(|line| format!("  {line}")).collect::<Vec<_>>().join("\n")
}

async fn in_editor(options: &Options, target: &Target, found: &Found) -> anyhow::Result<()> {
    let mut file = tempfile::Builder::new()
        .prefix("punctual-")
        .suffix(".json")
        .tempfile()
        .context("no place for the text")?;
    serde_json::to_writer_pretty(&mut file, &json!({"properties": found.properties}))?;
    writeln!(file)?;
    file.flush()?;
    loop {
        open(file.path())?;
        let sent = match document::read(file.path()).and_then(|document| wanted(&document)) {
            Ok(to) => send(options, target, found, &to).await,
            Err(refused) => Err(refused.into()),
        };
        let Err(error) = sent else { return Ok(()) };
        if is_precondition(&error) {
            let name = &options.name;
            let kept = keep(file)?;
            return Err(Ended::conflict(format!(
                "somebody has changed {name} meanwhile, so nothing was changed. Your text is kept: \
                 `punctual job edit {name} --file {kept}` makes the job as it says"
            ))
            .into());
        }
        let reasons: Option<Vec<String>> =
            match (error.downcast_ref::<Refused>(), error.downcast_ref::<Problem>()) {
                (Some(refused), _) => Some(refused.reasons().map(str::to_owned).collect()),
                (_, Some(problem)) if matches!(problem.status, 400 | 409 | 413) => {
                    Some(problem.reasons.clone())
                }
                _ => None,
            };
        let again = match &reasons {
            Some(reasons) if somebody_is_there() => {
                reasons.iter().for_each(|reason| style::say("error", reason));
                ask("Open the text again?", true)?
            }
            _ => false,
        };
        if !again {
            let kept = keep(file)?;
            style::say("note", &format!("nothing was changed; your text is kept in {kept}"));
            return Err(error);
        }
        file.rewind()?;
    }
}

fn keep(file: NamedTempFile) -> anyhow::Result<String> {
    let (_, path) = file.keep().context("your text cannot be kept")?;
    Ok(path.display().to_string())
}

/// Lets the user's editor change a file.
fn open(file: &Path) -> anyhow::Result<()> {
    let set = |name: &str| std::env::var(name).ok().filter(|editor| !editor.trim().is_empty());
    let editor = set("VISUAL").or_else(|| set("EDITOR")).unwrap_or_else(|| "vi".to_owned());
    // An editor may come with options of its own, so a shell reads it.
    let status = Command::new("sh")
        .args(["-c", &format!("{editor} \"$1\""), "sh"])
        .arg(file)
        .status()
        .with_context(|| format!("the editor '{editor}' cannot be started"))?;
    if !status.success() {
        bail!(
            "the editor '{editor}' ended with {status}; nothing was changed. VISUAL or EDITOR names another"
        );
    }
    Ok(())
}
