//! What an import did or would do, as people read it.

use std::io::{self, Write};

use http::Method;
use serde_json::{Value, json};

use crate::client::Condition;
use crate::output::Format;
use crate::refused::Refused;
use crate::style;
use crate::target::{self, Target};

/// A value that is shown is cut here, in characters.
const LONGEST: usize = 60;

/// The results, in the order of the summary, with the words of a dry run and of a real one.
const RESULTS: [(&str, &str, &str); 6] = [
    ("create", "create", "created"),
    ("change", "change", "changed"),
    ("same", "same", "same"),
    ("leftOut", "left out", "left out"),
    ("failed", "failed", "failed"),
    ("notDone", "not done", "not done"),
];

/// Lets the server judge resources without writing them, and says what it would do.
pub(crate) async fn dry_run(target: &Target, resources: Vec<Value>, format: Format) -> anyhow::Result<()> {
    let (subscription, group) = (Some(target.subscription.as_str()), Some(target.group.as_str()));
    let path = target::query(
        "/api/import",
        &[("subscription", subscription), ("group", group), ("dryRun", Some("true"))],
    );
    let list = json!({"template": {"value": resources}});
    let report = target.client.ask(Method::POST, &path, Some(&list), &Condition::Always).await?.body;
    // What the server does not know is a typing mistake, and the change itself would be refused.
    let resources = report["resources"].as_array().into_iter().flatten();
    let ignored = resources.filter_map(|resource| resource["ignored"].as_array()).flatten();
    let refused: Vec<String> = ignored
        .filter_map(Value::as_str)
        .map(|member| format!("{member}: a member of this name is not allowed here; allowed: the members that the API describes"))
        .collect();
    if !refused.is_empty() {
        return Err(refused.into_iter().collect::<Refused>().into());
    }
    let mut out = io::stdout().lock();
    if format.json {
        serde_json::to_writer_pretty(&mut out, &report).map_err(io::Error::from)?;
        writeln!(out)?;
    } else {
        write(&mut out, &report)?;
    }
    Ok(out.flush()?)
}

/// Writes a line for each resource, what changes of it below, and a summary.
pub(crate) fn write(out: &mut impl Write, report: &Value) -> io::Result<()> {
    let dry_run = report["dryRun"] == true;
    let empty = Vec::new();
    let resources = report["resources"].as_array().unwrap_or(&empty);
    let width = RESULTS.iter().map(|(_, would, did)| would.len().max(did.len())).max().unwrap_or_default();
    for resource in resources {
        let result = word(resource["result"].as_str().unwrap_or_default(), dry_run);
        let note = resource["note"].as_str().map(|note| format!("  ({note})")).unwrap_or_default();
        writeln!(out, "{}", style::harmless(&format!("{result:width$}  {}{note}", name(resource))))?;
        for change in resource["changes"].as_array().into_iter().flatten() {
            let member = change["member"].as_str().unwrap_or_default();
            let (from, to) = (shown(change.get("from")), shown(change.get("to")));
            writeln!(out, "{:width$}    {}", "", style::harmless(&format!("{member}: {from} -> {to}")))?;
        }
        for member in resource["ignored"].as_array().into_iter().flatten().filter_map(Value::as_str) {
            writeln!(
                out,
                "{:width$}    {}",
                "",
                style::harmless(&format!("{member} means nothing here; it is ignored"))
            )?;
        }
    }
    let counts = RESULTS.iter().filter_map(|(result, ..)| {
        let many = resources.iter().filter(|resource| resource["result"] == **result).count();
        (many > 0).then(|| format!("{many} {}", word(result, dry_run)))
    });
    let counts: Vec<String> = counts.collect();
    let counts = if counts.is_empty() { "nothing to import".to_owned() } else { counts.join(", ") };
    let ending = if dry_run { "; nothing was changed" } else { "" };
    writeln!(out, "{counts}{ending}")?;
    for (name, value) in report["outputs"].as_object().into_iter().flatten() {
        writeln!(out, "output {}", style::harmless(&format!("{name}: {}", shown(Some(value)))))?;
    }
    for note in report["notes"].as_array().into_iter().flatten().filter_map(Value::as_str) {
        style::say("note", note);
    }
    Ok(())
}

fn word(result: &str, dry_run: bool) -> &str {
    RESULTS
        .iter()
        .find(|(name, ..)| *name == result)
        .map_or(result, |(_, would, did)| if dry_run { would } else { did })
}

/// `group/collection/job`, or where it stands in the document.
fn name(resource: &Value) -> String {
    let Some(id) = resource["id"].as_str() else {
        let at = resource["at"].as_str().unwrap_or_default();
        return resource["name"].as_str().unwrap_or(at).to_owned();
    };
    // /subscriptions/s/resourceGroups/g/providers/Microsoft.Scheduler/jobCollections/c/jobs/j
    let segments: Vec<&str> = id.split('/').collect();
    [4, 8, 10].iter().filter_map(|place| segments.get(*place).copied()).collect::<Vec<_>>().join("/")
}

fn shown(value: Option<&Value>) -> String {
    let Some(value) = value else { return "nothing".to_owned() };
    let text = value.to_string();
    match text.char_indices().nth(LONGEST) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text,
    }
}
