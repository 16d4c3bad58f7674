//! Who shares the store, and whether this one can do its work.

use engine::{Ailing, ClockTrouble};
use serde_json::{Value, json};
use store::Node;

use super::{Answered, Call};
use crate::VERSION;
use crate::app::App;
use crate::http::answer::Answer;
use crate::problem::Problem;

pub(super) async fn nodes(app: &App, call: &Call) -> Answered {
    call.query.only(&[])?;
    let nodes = app.store.nodes().await?;
    Ok(Answer::json(200, json!({"value": nodes.iter().map(write).collect::<Vec<_>>()})))
}

fn write(node: &Node) -> Value {
    json!({
        "name": node.name,
        "epoch": node.epoch,
        "version": node.version,
        "startedAt": wire::date_time::write(node.started_at),
        "state": if node.lease_left.is_negative() { "lost" } else { "alive" },
        "leaseMilliseconds": milliseconds(node.lease_left.as_millis()),
        "clockOffsetMilliseconds": milliseconds(node.clock_offset.as_millis()),
        "claims": node.claims,
        "answers": node.is_this,
    })
}

fn milliseconds(span: i128) -> i64 {
    i64::try_from(span).unwrap_or(i64::MAX)
}

/// Whether the process does its work: it answers, and so does every part of its engine. Of the store `ready` tells.
pub(super) fn health(app: &App) -> Answered {
    let ailing = app.live.watched.pulse.ailing();
    if ailing.is_empty() {
        return Ok(Answer::json(200, json!({"status": "ok", "version": VERSION})));
    }
    let told: Vec<String> = ailing
        .iter()
        .map(|Ailing { part, stuck_for }| match stuck_for {
            Some(stuck_for) => format!("the {part} has been stuck for {} seconds", stuck_for.as_secs()),
            None => format!("the {part} has ended"),
        })
        .collect();
    Err(Problem::busy(format!(
        "The server does not do its work: {}. Start it again; the log may say why.",
        told.join(", ")
    )))
}

/// What is wrong though the server is ready: it takes no server out of service, because no other one would do better.
pub(super) fn warnings(app: &App) -> Vec<Value> {
    let trouble = app.live.watched.clock.trouble();
    let warning = |trouble: ClockTrouble| {
        let (ClockTrouble::Behind { by } | ClockTrouble::Ahead { by, .. }) = trouble;
        json!({"code": trouble.code(), "message": trouble.sentence(), "seconds": by.as_secs()})
    };
    trouble.map(warning).into_iter().collect()
}

pub(super) async fn ready(app: &App) -> Answered {
    if app.live.is_stopping() {
        return Err(Problem::busy(
            "The server is stopping: what is under way may finish, nothing new begins.",
        ));
    }
    app.live.try_store(&*app.store).await.map_err(|error| match error {
        // Whether it is the database or this node's lease; of the embedded store the log tells more.
        store::Error::Unavailable(why) if app.config.database.is_some() => {
            Problem::busy(format!("The server is not ready: {why}."))
        }
        other => other.into(),
    })?;
    // Whoever asks from anywhere is told no more than that.
    let warnings = warnings(app);
    if !app.caller.sees_all() {
        let mut answer = json!({"status": "ready"});
        if !warnings.is_empty() {
            answer["warnings"] = warnings.iter().map(|warning| warning["code"].clone()).collect();
        }
        return Ok(Answer::json(200, answer));
    }
    let census = app.store.census().await?;
    let mut answer = json!({
        "status": "ready",
        "warnings": warnings,
        "jobCollections": census.collections,
        "jobs": census.jobs,
        "executions": census.executions,
    });
    if let Some(node) = app.store.nodes().await?.iter().find(|node| node.is_this) {
        answer["node"] = write(node);
    }
    Ok(Answer::json(200, answer))
}
