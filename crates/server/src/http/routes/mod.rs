//! Routes: one function per resource; read, call the use-case, write.

mod audit;
mod deployments;
mod events;
mod groups;
mod keys;
mod ledger;
mod members;
mod nodes;
mod notifications;
mod overview;
mod preview;
mod register;
mod search;
mod session;
mod settings;
mod surroundings;
mod waiting;

use access::Act;
use axum::http::{HeaderName, Method, header};
use model::{CollectionPath, Uuid, Withheld};
use serde_json::json;
use store::{HistoryQuery, JobRecord, Page, Revision, Span, StoredCollection, StoredJob};
use wire::job::Shown;
use wire::list::{HistoryFilter, JobFilter};

use super::Call;
use super::answer::{Answer, compact};
use super::resource::{Resource, Versions};
use crate::app::{App, Mode, etag};
use crate::metrics::Form;
use crate::problem::Problem;
use crate::{metrics, openapi};

pub(super) use deployments::LARGEST_IMPORT;

/// Says which run was begun: an extension.
const EXECUTION_TAG: HeaderName = HeaderName::from_static("x-punctual-execution-tag");

/// Says of when a backup is.
const BACKUP_INSTANT: HeaderName = HeaderName::from_static("x-punctual-backup-instant");

/// Asks for a change to be judged and not made: an extension.
const DRY_RUN: &str = "dryRun";

type Answered = Result<Answer, Problem>;

/// The most and the usual entries of a page.
const JOBS_PAGE: u64 = 100;
const HISTORY_PAGE: u64 = 500;
const COLLECTIONS_PAGE: u64 = 1000;

pub(super) async fn answer(app: &App, call: &Call) -> Answered {
    // Azure ignored what it did not know; a change that was only to be tried must not be made.
    let is_tried = call.method == Method::PATCH && matches!(call.resource, Resource::Job(..));
    let takes_it = is_tried || call.resource.versions() == Versions::None || call.method == Method::GET;
    if !takes_it && let Some(given) = call.query.get(DRY_RUN) {
        return Err(Problem::refused_parameter(DRY_RUN, given, "with PATCH of a job only"));
    }
    match &call.resource {
        Resource::Collections { subscription, group } => {
            collections(app, call, subscription, group.as_deref()).await
        }
        Resource::Collection(path) => collection(app, call, path).await,
        Resource::Switch(path, on) => {
            app.switch_collection(path, *on, &call.preconditions()).await?;
            Ok(Answer::empty(200))
        }
        Resource::Jobs(path) if call.method == Method::POST => {
            put_job(app, call, path, &Uuid::new_v4().to_string()).await
        }
        Resource::Jobs(path) => jobs(app, call, path).await,
        Resource::Job(path, name) => job(app, call, path, name).await,
        Resource::Run(path, name) => {
            let tag = app.run_job(path, name, &call.preconditions()).await?;
            if let (Some(traces), Some(call)) = (&app.traces, &call.trace) {
                traces.note_run(call, tag);
            }
            // The tag that the call carries and the ledger keeps, written as there.
            Ok(Answer::empty(200).with(EXECUTION_TAG, tag.simple().to_string()))
        }
        Resource::History(path, name) => history(app, call, path, name).await,
        Resource::Groups(subscription) => groups::groups(app, call, subscription).await,
        Resource::Group(path) => groups::group(app, call, path).await,
        Resource::Resources { subscription, group } => {
            groups::resources(app, call, subscription, group.as_deref()).await
        }
        Resource::Subscriptions => surroundings::subscriptions(app, call).await,
        Resource::Subscription(id) => Ok(Answer::json(200, wire::surroundings::subscription(id))),
        Resource::Locations(id) => Ok(whole(wire::surroundings::locations(id))),
        Resource::Providers(subscription) => Ok(whole(vec![wire::surroundings::provider(subscription)])),
        Resource::Provider { subscription, namespace, .. } => surroundings::provider(subscription, namespace),
        Resource::Operations => Ok(whole(wire::surroundings::operations())),
        Resource::Endpoints => Ok(surroundings::endpoints(call)),
        Resource::Ledger => ledger::ledger(app, call).await,
        Resource::Overview => overview::overview(app, call).await,
        Resource::Search => search::search(app, call).await,
        Resource::Events => events::events(app, call).await,
        Resource::Preview => preview::preview(app, call),
        Resource::Upcoming => preview::upcoming(app, call).await,
        Resource::TestCall => test_call(app, call).await,
        Resource::Settings => settings::settings(app, call).await,
        Resource::Import => deployments::import(app, call).await,
        Resource::Export => deployments::export(app, call).await,
        Resource::Nodes => nodes::nodes(app, call).await,
        Resource::Waiting => waiting::waiting(app, call).await,
        Resource::Backup => {
            call.query.only(&[])?;
            app.note(Act::Backup, "", &serde_json::Value::Null).await?;
            let copy = app.store.snapshot(app.clock.clone()).await?;
            let copy = copy
                .ok_or_else(|| Problem::busy("Another backup is being made; one at a time is possible."))?;
            let name = format!("attachment; filename=\"punctual-{}.db\"", compact(copy.at));
            let at = copy.at.to_string();
            Ok(Answer::file(copy)?.with(header::CONTENT_DISPOSITION, name).with(BACKUP_INSTANT, at))
        }
        Resource::Keys | Resource::RotateKeys => keys::keys(app, call).await,
        Resource::Notifications => notifications::rules(app, call).await,
        Resource::Notification(name) => notifications::rule(app, call, name).await,
        Resource::Notices => notifications::notices(app, call).await,
        Resource::Audit => audit::audit(app, call).await,
        Resource::AuditVerify => audit::verify(app, call).await,
        Resource::Tokens => register::tokens(app, call).await,
        Resource::Token(id) => register::token(app, call, id).await,
        Resource::Session => session::session(app, call).await,
        Resource::Refer => session::refer(app, call).await,
        Resource::Referred => session::referred(app, call).await,
        Resource::Roles => register::roles(app, call).await,
        Resource::AssignRole => register::assign(app, call).await,
        Resource::RemoveRole => register::remove(app, call).await,
        Resource::OpenApi => Ok(Answer::json(200, openapi::document())),
        Resource::Echo => Ok(echo(call)),
        Resource::Health => nodes::health(app),
        Resource::Ready => nodes::ready(app).await,
        Resource::Metrics => {
            let form = Form::asked(&call.headers);
            Ok(Answer::text(form.media_type(), metrics::page(app, form).await))
        }
    }
}

async fn collections(app: &App, call: &Call, subscription: &str, group: Option<&str>) -> Answered {
    let (top, skip) = page(call, COLLECTIONS_PAGE, COLLECTIONS_PAGE)?;
    let found = app.collections(subscription, group, Page { skip, top: top as u32 + 1 }).await?;
    Ok(list(call, found, top, skip, |stored| collection_shown(call, stored)))
}

/// A collection as answers show it; of one that cannot be read only its names, and why.
fn collection_shown(call: &Call, stored: &StoredCollection) -> serde_json::Value {
    let mut shown = wire::collection::write(&stored.collection, call.dialect);
    if let Some(why) = &stored.unreadable {
        if let Some(members) = shown.as_object_mut() {
            members.shift_remove("location");
        }
        shown["properties"] = json!({});
        shown["unreadable"] = why.as_str().into();
    }
    shown
}

async fn collection(app: &App, call: &Call, path: &CollectionPath) -> Answered {
    let preconditions = call.preconditions();
    if call.method == Method::DELETE {
        app.delete_collection(path, &preconditions).await?;
        return Ok(Answer::empty(200));
    }
    if call.method == Method::HEAD {
        return Ok(is_there(app.collection(path).await?.revision));
    }
    if call.method == Method::GET {
        let stored = app.collection(path).await?;
        if preconditions.is_known(stored.revision) {
            return Ok(Answer::empty(304).with(header::ETAG, etag(stored.revision)));
        }
        return Ok(tagged(200, collection_shown(call, &stored), stored.revision));
    }
    let body = call.json(super::LARGEST_BODY)?;
    // A PUT answers 201 for an update too, as the old service did.
    let (status, written) = if call.method == Method::PUT {
        (201, app.put_collection(path, &body, &preconditions).await?)
    } else {
        (200, app.patch_collection(path, &body, &preconditions).await?)
    };
    let answer = tagged(
        status,
        wire::collection::write(&written.stored.collection, call.dialect),
        written.stored.revision,
    );
    Ok(answer.ignoring(&written.ignored))
}

async fn jobs(app: &App, call: &Call, path: &CollectionPath) -> Answered {
    let filter = filter(call, JobFilter::read)?;
    let (top, skip) = page(call, JOBS_PAGE, JOBS_PAGE)?;
    let found = app.jobs(path, filter.state, Page { skip, top: top as u32 + 1 }).await?;
    Ok(list(call, found, top, skip, |record| {
        wire::job::write(&record.collection, shown(record), call.dialect)
    }))
}

async fn job(app: &App, call: &Call, path: &CollectionPath, name: &str) -> Answered {
    let preconditions = call.preconditions();
    match call.method {
        Method::DELETE => {
            app.delete_job(path, name, &preconditions).await?;
            Ok(Answer::empty(200))
        }
        Method::HEAD => Ok(is_there(app.record(path, name).await?.revision)),
        Method::PUT => put_job(app, call, path, name).await,
        Method::PATCH => {
            let body = call.json(app.job_bytes.saturating_mul(super::ROOM))?;
            let mode = if call.query.flag(DRY_RUN)? { Mode::DryRun } else { Mode::Write };
            let written = app.patch_job(path, name, &body, &preconditions, mode).await?;
            if mode == Mode::Write {
                note_job(app, call, path, name);
            }
            Ok(job_answer(call, 200, &written.stored).ignoring(&written.ignored))
        }
        _ => {
            let record = app.record(path, name).await?;
            if preconditions.is_known(record.revision) {
                return Ok(Answer::empty(304).with(header::ETAG, etag(record.revision)));
            }
            Ok(tagged(
                200,
                wire::job::write(&record.collection, shown(&record), call.dialect),
                record.revision,
            ))
        }
    }
}

async fn put_job(app: &App, call: &Call, path: &CollectionPath, name: &str) -> Answered {
    let body = call.json(app.job_bytes.saturating_mul(super::ROOM))?;
    let written = app.put_job(path, name, &body, &call.preconditions()).await?;
    note_job(app, call, path, name);
    let status = if written.created { 201 } else { 200 };
    Ok(job_answer(call, status, &written.stored).ignoring(&written.ignored))
}

/// The occurrences of a job have a link to the call that last wrote it.
fn note_job(app: &App, call: &Call, path: &CollectionPath, name: &str) {
    if let (Some(traces), Some(call)) = (&app.traces, &call.trace) {
        traces.note_job(call, path, name);
    }
}

/// A job as answers show it.
fn shown(record: &JobRecord) -> Shown<'_, Withheld> {
    let JobRecord { name, definition, state, counters, unreadable, .. } = record;
    Shown {
        name,
        definition: definition.as_ref(),
        state: *state,
        counters,
        // When it would have run is no promise.
        next_at: record.next_run().filter(|_| unreadable.is_none()),
        unreadable: unreadable.as_deref(),
    }
}

fn job_answer(call: &Call, status: u16, stored: &StoredJob) -> Answer {
    tagged(status, job_body(call, stored), stored.revision)
}

/// A job as the API answers it. While its collection is off it has no next run: what the old service answered then is in no
/// recording, and an instant at which nothing happens would be a false answer.
fn job_body(call: &Call, stored: &StoredJob) -> serde_json::Value {
    let shown = Shown { next_at: stored.next_run(), ..Shown::from(&stored.job) };
    wire::job::write(&stored.collection, shown, call.dialect)
}

async fn history(app: &App, call: &Call, path: &CollectionPath, name: &str) -> Answered {
    let filter = filter(call, HistoryFilter::read)?;
    let query = HistoryQuery {
        status: filter.status,
        error_action: filter.error_action,
        started: Span { from: filter.started_from, to: filter.started_to },
        ended: Span { from: filter.ended_from, to: filter.ended_to },
    };
    let (top, skip) = page(call, HISTORY_PAGE, HISTORY_PAGE)?;
    let job = app.record(path, name).await?;
    let found = app.history(path, name, &query, Page { skip, top: top as u32 + 1 }).await?;
    Ok(list(call, found, top, skip, |stored| {
        wire::history::write(&job.collection, &job.name, stored.serial, &stored.entry, call.dialect)
    }))
}

/// Makes a call to try it out.
async fn test_call(app: &App, call: &Call) -> Answered {
    call.query.only(&[])?;
    let called = app.test_call(&call.json(app.job_bytes.saturating_mul(super::ROOM))?).await?;
    let body = json!({
        "success": called.outcome.success,
        "message": called.outcome.message,
        "startedAt": wire::date_time::write(called.started_at),
        "durationMs": u64::try_from(called.took.as_millis()).unwrap_or(u64::MAX),
    });
    Ok(Answer::json(200, body).ignoring(&called.ignored))
}

/// Says what it was asked: a target to try jobs on.
fn echo(call: &Call) -> Answer {
    let headers: serde_json::Map<_, _> = call
        .headers
        .iter()
        .filter(|(name, _)| ![header::AUTHORIZATION, header::COOKIE].contains(name))
        .map(|(name, value)| (name.to_string(), String::from_utf8_lossy(value.as_bytes()).into()))
        .collect();
    let body = String::from_utf8_lossy(&call.body);
    Answer::json(
        200,
        json!({"method": call.method.as_str(), "path": call.path, "headers": headers, "body": body}),
    )
}

fn tagged(status: u16, body: serde_json::Value, revision: Revision) -> Answer {
    Answer::json(status, body).with(header::ETAG, etag(revision))
}

/// The answer of the resource manager to whoever asks only whether a resource is there.
fn is_there(revision: Revision) -> Answer {
    Answer::empty(204).with(header::ETAG, etag(revision))
}

/// A list that has one page.
fn whole(entries: Vec<serde_json::Value>) -> Answer {
    Answer::json(200, wire::list::write(entries, None))
}

/// What a `$filter` says; without one, everything.
fn filter<F: Default>(call: &Call, read: fn(&str) -> Result<F, recurrence::Faults>) -> Result<F, Problem> {
    // The Azure CLI sends an empty one with every list.
    let given = call.query.get("$filter").filter(|text| !text.trim().is_empty());
    given.map_or_else(|| Ok(F::default()), |text| read(text).map_err(Problem::faulty))
}

/// `$top` and `$skip`.
fn page(call: &Call, usual: u64, most: u64) -> Result<(u64, u64), Problem> {
    let top = call.query.number("$top", 1, most)?.unwrap_or(usual);
    let skip = call.query.number("$skip", 0, i64::MAX as u64)?.unwrap_or(0);
    Ok((top, skip))
}

/// A page of a list; one entry more than asked for tells that there is another.
fn list<T>(
    call: &Call,
    mut found: Vec<T>,
    top: u64,
    skip: u64,
    write: impl Fn(&T) -> serde_json::Value,
) -> Answer {
    let more = found.len() as u64 > top;
    found.truncate(top as usize);
    let next = more.then(|| call.link("$skip", &(skip + top).to_string()));
    Answer::json(200, wire::list::write(found.iter().map(write).collect(), next.as_deref()))
}
