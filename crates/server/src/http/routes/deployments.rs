//! Routes of import and export.

use axum::body::Bytes;
use serde_json::{Map, Value, json};
use template::{LeftOut, Place};
use tokio::sync::mpsc;

use super::{Answered, Call};
use crate::app::App;
use crate::app::export::ExportScope;
use crate::app::import::{Import, Plan, Step, Verdict};
use crate::http::answer::Answer;
use crate::http::stream::{self, Chunks};
use crate::problem::Problem;

/// The most bytes of a template with its parameters: twenty thousand jobs of the usual size.
pub(in crate::http) const LARGEST_IMPORT: usize = 64 << 20;

/// The name of what is imported: `deployment().name`.
const DEPLOYMENT: &str = "import";

/// Lines of JSON, one for each resource as it is done.
const LINES: &str = "application/x-ndjson";

pub(super) async fn import(app: &App, call: &Call) -> Answered {
    call.query.only(&["subscription", "group", "dryRun", "progress"])?;
    let place = Place {
        subscription: required(call, "subscription")?,
        group: required(call, "group")?,
        deployment: DEPLOYMENT.to_owned(),
    };
    let dry_run = call.query.flag("dryRun")?;
    let (document, parameters) = parts(call.json(LARGEST_IMPORT)?);
    let plan = app.plan_import(Import { document, parameters, place }).await?;
    if dry_run {
        return Ok(Answer::json(200, report(&plan, true, Vec::new(), None)));
    }
    if call.query.flag("progress")? {
        return Ok(Answer::stream(LINES, lines(app.clone(), plan)));
    }
    let mut done = 0;
    let mut problem = None;
    for step in &plan.steps {
        if let Err(found) = app.carry_out(step).await {
            problem = Some(found);
            break;
        }
        done += 1;
    }
    let status = problem.as_ref().map_or(200, |problem| problem.status);
    let results = (0..plan.steps.len()).map(|i| result(i, done, problem.as_ref())).collect();
    Ok(Answer::json(status, report(&plan, false, results, problem.as_ref())))
}

/// The document and its parameters: wrapped together, or the document alone.
fn parts(body: Value) -> (Value, Option<Value>) {
    match body {
        Value::Object(mut members) if members.contains_key("template") => {
            let document = members.remove("template").unwrap_or_default();
            (document, members.remove("parameters").filter(|given| !given.is_null()))
        }
        document => (document, None),
    }
}

/// How a step ended, where something else than its verdict is to be said.
fn result(step: usize, done: usize, problem: Option<&Problem>) -> Option<&'static str> {
    match (problem, step.cmp(&done)) {
        (Some(_), std::cmp::Ordering::Equal) => Some("failed"),
        (Some(_), std::cmp::Ordering::Greater) => Some("notDone"),
        _ => None,
    }
}

fn report(plan: &Plan, dry_run: bool, results: Vec<Option<&str>>, problem: Option<&Problem>) -> Value {
    let mut report = Map::new();
    if let Some(problem) = problem {
        report.insert("error".into(), error(problem));
    }
    report.insert("dryRun".into(), dry_run.into());
    let results = results.into_iter().chain(std::iter::repeat(None));
    let mut resources: Vec<Value> =
        plan.steps.iter().zip(results).map(|(step, result)| resource(step, result)).collect();
    resources.extend(plan.left_out.iter().map(left_out));
    report.insert("resources".into(), resources.into());
    report.insert("outputs".into(), plan.outputs.clone().into());
    report.insert("notes".into(), json!(plan.notes));
    report.into()
}

fn error(problem: &Problem) -> Value {
    json!({"code": problem.code, "message": problem.message})
}

fn resource(step: &Step, result: Option<&str>) -> Value {
    let verdict = match step.verdict {
        Verdict::Create => "create",
        Verdict::Change => "change",
        Verdict::Same => "same",
    };
    let mut written = Map::new();
    written.insert("id".into(), step.id().into());
    written.insert("at".into(), step.at().into());
    written.insert("result".into(), result.unwrap_or(verdict).into());
    if !step.changes.is_empty() {
        let changes = step.changes.iter().map(|change| {
            let mut written = Map::new();
            written.insert("member".into(), change.member.as_str().into());
            let values = [("from", &change.from), ("to", &change.to)];
            for (name, value) in values.into_iter().filter_map(|(name, value)| Some((name, value.as_ref()?)))
            {
                written.insert(name.into(), value.clone());
            }
            Value::from(written)
        });
        written.insert("changes".into(), changes.collect());
    }
    if !step.ignored.is_empty() {
        written.insert("ignored".into(), json!(step.ignored));
    }
    if let Some(note) = &step.note {
        written.insert("note".into(), note.as_str().into());
    }
    written.into()
}

fn left_out(left_out: &LeftOut) -> Value {
    json!({"at": left_out.at, "name": left_out.name, "result": "leftOut", "note": left_out.why})
}

/// Carries the plan out while its lines are taken: first how many there are, then each resource, then the rest. Whoever
/// stops listening stops the import.
fn lines(app: App, plan: Plan) -> Chunks {
    let (send, chunks) = mpsc::channel(1);
    tokio::spawn(async move {
        let line = |value: &Value| Ok(Bytes::from(format!("{value}\n")));
        if !stream::send(&send, line(&json!({"total": plan.steps.len()}))).await {
            return;
        }
        let mut problem: Option<Problem> = None;
        for step in &plan.steps {
            let result = match problem {
                Some(_) => Some("notDone"),
                None => match app.carry_out(step).await {
                    Ok(()) => None,
                    Err(found) => {
                        problem = Some(found);
                        Some("failed")
                    }
                },
            };
            if !stream::send(&send, line(&resource(step, result))).await {
                return;
            }
        }
        let left: Vec<Value> = plan.left_out.iter().map(left_out).collect();
        let mut last = json!({"leftOut": left, "outputs": plan.outputs, "notes": plan.notes});
        if let Some(problem) = &problem {
            last["error"] = error(problem);
        }
        stream::send(&send, line(&last)).await;
    });
    chunks
}

pub(super) async fn export(app: &App, call: &Call) -> Answered {
    call.query.only(&["subscription", "group", "collection"])?;
    let given = |name: &str| call.query.get(name).filter(|value| !value.is_empty()).map(str::to_owned);
    let scope = ExportScope {
        subscription: required(call, "subscription")?,
        group: given("group"),
        collection: given("collection"),
    };
    if scope.collection.is_some() && scope.group.is_none() {
        return Err(Problem::bad_request("collection: a collection is named together with its group."));
    }
    let mut export = app.export(&scope).await?;
    let (send, chunks) = mpsc::channel(1);
    tokio::spawn(async move {
        loop {
            let piece = match export.next().await {
                Ok(Some(piece)) => Ok(Bytes::from(piece)),
                Ok(None) => return,
                // The answer has begun: all that is left is to break it off.
                Err(problem) => Err(std::io::Error::other(problem.message)),
            };
            let is_broken = piece.is_err();
            if !stream::send(&send, piece).await || is_broken {
                return;
            }
        }
    });
    Ok(Answer::stream("application/json; charset=utf-8", chunks))
}

fn required(call: &Call, name: &str) -> Result<String, Problem> {
    match call.query.get(name) {
        Some(value) if !value.trim().is_empty() && !value.contains('/') => Ok(value.to_owned()),
        Some(value) => Err(Problem::bad_request(format!(
            "{name}: '{value}' is not allowed here; allowed: a name without slashes."
        ))),
        None => Err(Problem::bad_request(format!("{name}: missing; allowed: a name."))),
    }
}
