//! Rules of notices, and what was told by them.

use axum::http::{Method, header};
use recurrence::{Fault, Faults};
use serde_json::{Map, Value, json};
use wire::date_time;

use super::members::Members;
use super::{Answered, Call, tagged};
use crate::app::{App, etag};
use crate::http::LARGEST_BODY;
use crate::http::answer::Answer;
use crate::notices::{self, Draft, Notice, Notification, Rule};
use crate::problem::Problem;

pub(super) async fn rules(app: &App, call: &Call) -> Answered {
    call.query.only(&[])?;
    let rules = app.rules_seen().await?;
    let mut written = Vec::with_capacity(rules.len());
    for rule in &rules {
        written.push(written_rule(app, rule).await?);
    }
    Ok(Answer::json(200, json!({"value": written})))
}

pub(super) async fn rule(app: &App, call: &Call, name: &str) -> Answered {
    call.query.only(&[])?;
    let preconditions = call.preconditions();
    match call.method {
        Method::DELETE => {
            app.delete_rule(name, &preconditions).await?;
            Ok(Answer::empty(204))
        }
        Method::PUT => {
            let (rule, ignored) = read(name, &call.json(LARGEST_BODY)?).map_err(Problem::faulty)?;
            preconditions.check_members(&ignored)?;
            let (rule, is_new) = app.put_rule(&rule, &preconditions).await?;
            Ok(answer(app, if is_new { 201 } else { 200 }, &rule).await?.ignoring(&ignored))
        }
        _ => {
            let rule = app.rule(name).await?;
            match rule.revision.filter(|revision| preconditions.is_known(*revision)) {
                Some(revision) => Ok(Answer::empty(304).with(header::ETAG, etag(revision))),
                None => answer(app, 200, &rule).await,
            }
        }
    }
}

async fn answer(app: &App, status: u16, rule: &Rule) -> Answered {
    let body = written_rule(app, rule).await?;
    Ok(match rule.revision {
        Some(revision) => tagged(status, body, revision),
        None => Answer::json(status, body),
    })
}

/// A rule as it is answered; one that watches no job says so.
async fn written_rule(app: &App, rule: &Rule) -> Result<Value, Problem> {
    let mut written = write(app, rule);
    if app.watches_nothing(&rule.notification.scope).await? {
        written["watchesNothing"] = true.into();
    }
    Ok(written)
}

/// A rule, as far as whoever asks may read it.
fn write(app: &App, Rule { notification: rule, revision }: &Rule) -> Value {
    let is_theirs = app.may_change(rule);
    let scope = &rule.scope;
    let texts = [
        ("name", Some(rule.name.clone())),
        ("when", Some(rule.trouble.name().to_owned())),
        ("after", rule.trouble.after()),
        ("subscription", scope.subscription.clone()),
        ("resourceGroup", scope.group.clone()),
        ("collection", scope.collection.clone()),
        ("job", scope.job.clone()),
        // The rest of an address, and headers, may be keys.
        ("uri", Some(if is_theirs { rule.uri.clone() } else { notices::place(&rule.uri) })),
        ("source", Some(if revision.is_some() { "stored" } else { "settings" }.to_owned())),
    ];
    let given = texts.into_iter().filter_map(|(name, text)| Some((name.to_owned(), text?.into())));
    let mut written: Map<String, Value> = given.collect();
    if is_theirs {
        written.insert("headers".to_owned(), json!(rule.headers));
    }
    written.insert("mayChange".to_owned(), (is_theirs && revision.is_some()).into());
    written.into()
}

fn read(name: &str, body: &Value) -> Result<(Notification, Vec<String>), Faults> {
    let mut members = Members::of(body)?;
    let mut text = |name: &str| members.take(name, "a text", |text| Some(text.to_owned()));
    let [when, after, subscription, resource_group] =
        ["when", "after", "subscription", "resourceGroup"].map(&mut text);
    let [collection, job, uri] = ["collection", "job", "uri"].map(&mut text);
    let headers = members.texts("headers");
    let name = Some(name.to_owned());
    let draft = Draft { name, when, after, subscription, resource_group, collection, job, uri, headers };
    let read = draft.read().map_err(|faults| members.add(faults));
    let ignored = members.end()?;
    // Nothing is wrong where there are no faults.
    read.map(|rule| (rule, ignored)).map_err(|()| Fault::new("", "the body", "a rule").into())
}

pub(super) async fn notices(app: &App, call: &Call) -> Answered {
    call.query.only(&[])?;
    let notices = app.notices().await?;
    Ok(Answer::json(200, json!({"value": notices.iter().map(write_notice).collect::<Vec<_>>()})))
}

fn write_notice(notice: &Notice) -> Value {
    json!({
        "id": wire::path::job_id(&notices::collection(), &notice.name),
        "notification": notice.rule,
        "when": notice.when,
        "state": notice.phase.name(),
        "job": wire::path::job_id(&notice.collection, &notice.job),
        "time": date_time::write(notice.at),
        "message": notice.message,
        "to": notice.to,
        "delivery": notice.delivery.name(),
        "triedAt": notice.tried_at.map(date_time::write),
        "failures": notice.failures,
    })
}
