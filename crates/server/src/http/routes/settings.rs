//! How this server is set, for whoever operates it. What is secret is not among it: each member is named here.

use std::time::Duration;

use model::Plan;
use serde_json::{Value, json};
use store::StoredCertificate;

use super::{Answered, Call};
use crate::VERSION;
use crate::app::App;
use crate::config::{Config, EnumCase, duration};
use crate::http::answer::Answer;

/// The most certificates that are listed.
const CERTIFICATES: u32 = 100;

pub(super) async fn settings(app: &App, call: &Call) -> Answered {
    call.query.only(&[])?;
    let certificates = app.store.certificates(CERTIFICATES).await?;
    let Config { listen, data, database, node, api, engine, http, egress, retention, limits, .. } =
        &*app.config;
    let time = |time: Duration| duration::write(time);
    let mut body = json!({
        "version": VERSION,
        "listen": listen.to_string(),
        "api": {
            "enumCase": match api.enum_case {
                EnumCase::Azure => "azure",
                EnumCase::Pascal => "pascal",
            },
            "reads": api.reads,
            "writes": api.writes,
            "rateWindow": time(api.rate_window),
            "runsPerJob": api.runs_per_job,
            "callsFromJobs": api.calls_from_jobs,
        },
        "engine": {
            "horizon": time(engine.horizon),
            "batch": engine.batch,
            "settleWithin": time(engine.settle_within),
            "longestNap": time(engine.longest_nap),
            "calls": engine.calls,
            "callsPerCollection": engine.calls_per_collection,
            "callsPerTarget": engine.calls_per_target,
            "lateAfter": time(engine.late_after),
            "replayPace": time(engine.replay_pace),
            "longestQueue": engine.longest_queue,
            "drain": time(engine.drain),
        },
        "http": {
            "timeout": time(http.timeout),
            "resolveTimeout": time(http.resolve_timeout),
            "connectTimeout": time(http.connect_timeout),
            "tlsTimeout": time(http.tls_timeout),
            "answerTimeout": time(http.answer_timeout),
            "maxRedirects": http.max_redirects,
            "maxAnswer": http.max_answer,
            "maxAnswerHeaders": http.max_answer_headers,
            "maxAnswerHeaderLines": http.max_answer_header_lines,
        },
        "retention": {"keep": time(retention.keep), "historyPerJob": retention.history_per_job,
            "believeClockAfter": time(retention.believe_clock_after)},
        "limits": {
            "job": limits.job,
            "uri": limits.uri,
            "body": limits.body,
            "headerCharacters": limits.header_characters,
            "headers": limits.headers,
            "startMonths": limits.start_months,
            "retryCount": limits.retry_count,
            "retryInterval": time(limits.retry_interval),
            "catchUp": limits.catch_up,
            "name": limits.name,
        },
        "plans": plans(app),
        "egress": egress,
        "certificates": certificates.iter().map(certificate).collect::<Vec<_>>(),
    });
    // Where the jobs are: in a database, as one of its nodes, or in a folder.
    match database {
        Some(database) => {
            body["database"] = database.shown().into();
            body["node"] = node.as_str().into();
        }
        None => body["data"] = data.display().to_string().into(),
    }
    Ok(Answer::json(200, body))
}

fn plans(app: &App) -> Vec<Value> {
    let plan = |plan: Plan| {
        let limits = app.plans.limits(plan);
        json!({
            "name": plan.name(),
            "jobs": limits.jobs,
            "fastest": duration::write(limits.fastest),
            "collections": limits.collections,
            "authentication": limits.authentication,
            "shortestRetry": duration::write(limits.shortest_retry),
            "defaultRetry": duration::write(limits.default_retry),
        })
    };
    Plan::ALL.map(plan).to_vec()
}

fn certificate(stored: &StoredCertificate) -> Value {
    json!({
        "id": wire::path::job_id(&stored.collection, &stored.job),
        "subject": stored.subject,
        "thumbprint": stored.thumbprint,
        "expiration": wire::date_time::write(stored.expiration),
    })
}
