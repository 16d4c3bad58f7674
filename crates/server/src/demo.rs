//! The demo: a collection of living examples, so that there is something to look at after a minute.

use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr};

use model::CollectionPath;
use serde_json::{Value, json};
use tracing::info;

use crate::app::{App, Preconditions};
use crate::problem::Problem;

/// Where the examples live.
fn path() -> CollectionPath {
    CollectionPath { subscription: "demo".into(), group: "demo".into(), name: "examples".into() }
}

/// Fills an empty store; one that holds anything is left alone.
pub(crate) async fn fill(app: &App, address: SocketAddr) -> anyhow::Result<()> {
    let census = app.store.census().await?;
    if census.collections > 0 {
        info!("the store is not empty: no examples are added");
        return Ok(());
    }
    let told = |problem: Problem| anyhow::anyhow!("the examples could not be made: {}", problem.message);
    let none = Preconditions::default();
    let collection = json!({"location": "Local", "properties": {"sku": {"name": "Standard"}}});
    app.put_collection(&path(), &collection, &none).await.map_err(told)?;
    for (name, job) in examples(&target(address, app.guard.is_watchful())) {
        app.put_job(&path(), name, &job, &none).await.map_err(told)?;
    }
    info!("examples are in the collection 'examples' of group and subscription 'demo'");
    Ok(())
}

/// What the examples call, each by its name: this server, as it reaches itself.
fn target(mut address: SocketAddr, is_guarded: bool) -> impl Fn(&str) -> Value {
    if address.ip().is_unspecified() {
        let itself = if address.is_ipv4() { Ipv4Addr::LOCALHOST.into() } else { Ipv6Addr::LOCALHOST.into() };
        address.set_ip(itself);
    }
    move |name| {
        if is_guarded {
            // The echo wants a token, and a token does not belong into an example.
            json!({"uri": format!("http://{address}/healthz"), "method": "GET"})
        } else {
            json!({"uri": format!("http://{address}/api/echo/{name}"), "method": "POST", "body": name})
        }
    }
}

/// What people schedule: something often, something daily, something rare, something that fails.
fn examples(call: &impl Fn(&str) -> Value) -> Vec<(&'static str, Value)> {
    let http = |path: &str| json!({"type": "Http", "request": call(path)});
    let job = |action: Value, recurrence: Value| json!({"properties": {"startTime": "2026-01-01T00:00:00Z", "action": action, "recurrence": recurrence}});
    vec![
        ("every-minute", job(http("every-minute"), json!({"frequency": "minute"}))),
        (
            "workdays-at-nine",
            job(
                http("workdays-at-nine"),
                json!({
                    "frequency": "week",
                    "timeZone": "Europe/Paris",
                    "schedule": {
                        "weekDays": ["monday", "tuesday", "wednesday", "thursday", "friday"],
                        "hours": [9],
                        "minutes": [0],
                    },
                }),
            ),
        ),
        (
            "last-friday-of-the-month",
            job(
                http("last-friday-of-the-month"),
                json!({
                    "frequency": "month",
                    "schedule": {
                        "monthlyOccurrences": [{"day": "friday", "occurrence": -1}],
                        "hours": [5],
                        "minutes": [15],
                    },
                }),
            ),
        ),
        ("by-cron", job(http("by-cron"), json!({"cron": "*/5 * * * *"}))),
        (
            "fails-and-says-so",
            job(
                json!({
                    "type": "Http",
                    "request": {"uri": "http://127.0.0.1:1/nobody-listens-here", "method": "GET"},
                    "retryPolicy": {"retryType": "fixed", "retryInterval": "PT15S", "retryCount": 2},
                    "errorAction": http("error-action"),
                }),
                json!({"frequency": "minute", "interval": 5}),
            ),
        ),
    ]
}
