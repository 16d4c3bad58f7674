//! The overview: all at a glance.

use access::Scope;
use model::Tally;
use serde_json::{Value, json};
use store::StoredJob;
use wire::date_time;

use super::search::choice;
use super::{Answered, Call, ledger};
use crate::VERSION;
use crate::app::App;
use crate::app::overview::Lookback;
use crate::http::answer::Answer;

/// The most attempts under way that are named.
const RUNNING: usize = 20;

pub(super) async fn overview(app: &App, call: &Call) -> Answered {
    call.query.only(&["span"])?;
    let lookback = call.query.get("span").map(|text| choice("span", text, &Lookback::NAMES)).transpose()?;
    let lookback = lookback.unwrap_or_default();
    let overview = app.overview(lookback).await?;
    let mut totals = Tally::default();
    for part in &overview.parts {
        totals.add(&part.tally);
    }
    let sees_all = app.caller.sees_all();
    // The ledger does not tell how many attempts an occurrence took.
    let write = |tally: &Tally| {
        let mut written = wire::tally::write(tally);
        if !sees_all {
            written.insert("failedAttempts".to_owned(), Value::Null);
        }
        written
    };
    let buckets = overview.parts.iter().map(|part| {
        let mut bucket = write(&part.tally);
        bucket.shift_insert(0, "at".to_owned(), date_time::write(part.at).into());
        Value::from(bucket)
    });
    let sight = app.caller.grants.sight();
    let mut running = app.live.watched.under_way.oldest(if sees_all { RUNNING } else { usize::MAX });
    running.retain(|begun| sees_all || sight.covers(&Scope::Collection(begun.job.collection.clone())));
    let count = if sees_all { app.live.watched.under_way.count() } else { running.len() };
    running.truncate(RUNNING);
    let running = running.iter().map(|begun| {
        let job = &begun.job;
        Value::from(wire::live::attempt(&job.collection, &job.name, &begun.execution, begun.started_at))
    });
    let jobs = &overview.jobs;
    Ok(Answer::json(
        200,
        json!({
            "now": date_time::write(overview.now),
            "startedAt": date_time::write(app.started_at),
            "version": VERSION,
            "span": lookback.name(),
            "partial": !sees_all,
            "collections": overview.collections,
            "jobs": {
                "enabled": jobs.enabled,
                "disabled": jobs.disabled,
                "completed": jobs.completed,
                "faulted": jobs.faulted,
            },
            "running": count,
            "bucketSeconds": lookback.parts().1,
            "buckets": buckets.collect::<Vec<_>>(),
            "countedSince": overview.counted_since.map(date_time::write),
            "totals": write(&totals),
            "runningNow": running.collect::<Vec<_>>(),
            "next": overview.next.iter().map(next).collect::<Vec<_>>(),
            "notRun": overview.not_run.iter().map(ledger::entry).collect::<Vec<_>>(),
            "off": {"jobs": overview.off.entries.len(), "more": overview.off.more},
            "warnings": super::nodes::warnings(app),
        }),
    ))
}

fn next(stored: &StoredJob) -> Value {
    json!({
        "id": wire::path::job_id(&stored.collection, &stored.job.name),
        "collection": stored.collection.name,
        "job": stored.job.name,
        "at": stored.next_run().map(date_time::write),
    })
}
