//! Routes: one function per resource; read, call the use-case, write.

use axum::http::{Method, header};
use model::{CollectionPath, Fate, Uuid};
use serde_json::json;
use store::{HistoryQuery, LedgerQuery, Page, Revision, Span, StoredJob};
use wire::list::{HistoryFilter, JobFilter};

use super::Call;
use super::answer::Answer;
use super::path::Resource;
use crate::app::{App, etag};
use crate::problem::Problem;
use crate::{VERSION, openapi};

type Answered = Result<Answer, Problem>;

/// The most and the usual entries of a page.
const JOBS_PAGE: u64 = 100;
const HISTORY_PAGE: u64 = 500;
const COLLECTIONS_PAGE: u64 = 1000;
const LEDGER_PAGE: u64 = 500;

pub(super) async fn answer(app: &App, call: &Call) -> Answered {
    match &call.resource {
        Resource::Collections { subscription, group } => {
            collections(app, call, subscription, group.as_deref()).await
        }
        Resource::Collection(path) => collection(app, call, path).await,
        Resource::Switch(path, on) => {
            app.switch_collection(path, *on).await?;
            Ok(Answer::empty(200))
        }
        Resource::Jobs(path) if call.method == Method::POST => {
            put_job(app, call, path, &Uuid::new_v4().to_string()).await
        }
        Resource::Jobs(path) => jobs(app, call, path).await,
        Resource::Job(path, name) => job(app, call, path, name).await,
        Resource::Run(path, name) => {
            app.run_job(path, name).await?;
            Ok(Answer::empty(200))
        }
        Resource::History(path, name) => history(app, call, path, name).await,
        Resource::Ledger => ledger(app, call).await,
        Resource::OpenApi => Ok(Answer::json(200, openapi::document())),
        Resource::Echo => Ok(echo(call)),
        Resource::Health => Ok(Answer::json(200, json!({"status": "ok", "version": VERSION}))),
        Resource::Ready => {
            app.store.check().await?;
            let census = app.store.census().await?;
            let counts = json!({
                "status": "ready",
                "jobCollections": census.collections,
                "jobs": census.jobs,
                "executions": census.executions,
            });
            Ok(Answer::json(200, counts))
        }
    }
}

async fn collections(app: &App, call: &Call, subscription: &str, group: Option<&str>) -> Answered {
    let (top, skip) = page(call, COLLECTIONS_PAGE, COLLECTIONS_PAGE)?;
    let found = app.collections(subscription, group, Page { skip, top: top as u32 + 1 }).await?;
    Ok(list(call, found, top, skip, |stored| wire::collection::write(&stored.collection)))
}

async fn collection(app: &App, call: &Call, path: &CollectionPath) -> Answered {
    let preconditions = call.preconditions();
    if call.method == Method::DELETE {
        app.delete_collection(path, &preconditions).await?;
        return Ok(Answer::empty(200));
    }
    if call.method == Method::GET {
        let stored = app.collection(path).await?;
        if preconditions.is_known(stored.revision) {
            return Ok(Answer::empty(304).with(header::ETAG, etag(stored.revision)));
        }
        return Ok(tagged(200, wire::collection::write(&stored.collection), stored.revision));
    }
    let body = call.json(super::LARGEST_BODY)?;
    // A PUT answers 201 for an update too, as the old service did.
    let (status, written) = if call.method == Method::PUT {
        (201, app.put_collection(path, &body, &preconditions).await?)
    } else {
        (200, app.patch_collection(path, &body, &preconditions).await?)
    };
    let answer = tagged(status, wire::collection::write(&written.stored.collection), written.stored.revision);
    Ok(answer.ignoring(&written.ignored))
}

async fn jobs(app: &App, call: &Call, path: &CollectionPath) -> Answered {
    let filter = match call.query.get("$filter") {
        Some(filter) => JobFilter::read(filter).map_err(Problem::faulty)?,
        None => JobFilter::default(),
    };
    let (top, skip) = page(call, JOBS_PAGE, JOBS_PAGE)?;
    let found = app.jobs(path, filter.state, Page { skip, top: top as u32 + 1 }).await?;
    Ok(list(call, found, top, skip, |stored| wire::job::write(&stored.collection, &stored.job)))
}

async fn job(app: &App, call: &Call, path: &CollectionPath, name: &str) -> Answered {
    let preconditions = call.preconditions();
    match call.method {
        Method::DELETE => {
            app.delete_job(path, name, &preconditions).await?;
            Ok(Answer::empty(200))
        }
        Method::PUT => put_job(app, call, path, name).await,
        Method::PATCH => {
            let body = call.json(app.job_bytes)?;
            let written = app.patch_job(path, name, &body, &preconditions).await?;
            Ok(job_answer(200, &written.stored).ignoring(&written.ignored))
        }
        _ => {
            let stored = app.job(path, name).await?;
            if preconditions.is_known(stored.revision) {
                return Ok(Answer::empty(304).with(header::ETAG, etag(stored.revision)));
            }
            Ok(job_answer(200, &stored))
        }
    }
}

async fn put_job(app: &App, call: &Call, path: &CollectionPath, name: &str) -> Answered {
    let body = call.json(app.job_bytes)?;
    let written = app.put_job(path, name, &body, &call.preconditions()).await?;
    let status = if written.created { 201 } else { 200 };
    Ok(job_answer(status, &written.stored).ignoring(&written.ignored))
}

fn job_answer(status: u16, stored: &StoredJob) -> Answer {
    tagged(status, wire::job::write(&stored.collection, &stored.job), stored.revision)
}

async fn history(app: &App, call: &Call, path: &CollectionPath, name: &str) -> Answered {
    let filter = match call.query.get("$filter") {
        Some(filter) => HistoryFilter::read(filter).map_err(Problem::faulty)?,
        None => HistoryFilter::default(),
    };
    let query = HistoryQuery {
        status: filter.status,
        error_action: filter.error_action,
        started: Span { from: filter.started_from, to: filter.started_to },
        ended: Span { from: filter.ended_from, to: filter.ended_to },
    };
    let (top, skip) = page(call, HISTORY_PAGE, HISTORY_PAGE)?;
    let job = app.job(path, name).await?;
    let found = app.history(path, name, &query, Page { skip, top: top as u32 + 1 }).await?;
    Ok(list(call, found, top, skip, |stored| {
        wire::history::write(&job.collection, &job.job.name, stored.serial, &stored.entry)
    }))
}

async fn ledger(app: &App, call: &Call) -> Answered {
    let top = call.query.number("top", 1, LEDGER_PAGE)?.unwrap_or(100);
    let query = ledger_query(call)?;
    let mut found = app.store.ledger(&query, top as u32 + 1).await?;
    let more = found.len() as u64 > top;
    found.truncate(top as usize);
    let next = found.last().filter(|_| more).map(|last| {
        let mark = format!("{}~{}", wire::date_time::write(last.entry.due_at), last.serial);
        call.link("before", &mark)
    });
    let entries =
        found.iter().map(|stored| wire::ledger::write(&stored.collection, &stored.job, &stored.entry));
    Ok(Answer::json(200, wire::list::write(entries.collect(), next.as_deref())))
}

fn ledger_query(call: &Call) -> Result<LedgerQuery, Problem> {
    let refuse = |name: &str, value: &str, allowed: &str| {
        Problem::bad_request(format!("{name}: '{value}' is not allowed here; allowed: {allowed}."))
    };
    let time = |name: &str| match call.query.get(name) {
        None => Ok(None),
        Some(text) => match recurrence::read_date_time(text) {
            Some(at) => Ok(Some(at)),
            None => Err(refuse(name, text, recurrence::DATE_TIME_FORMS)),
        },
    };
    let mut fates = Vec::new();
    for word in
        call.query.get("state").unwrap_or_default().split(',').map(str::trim).filter(|word| !word.is_empty())
    {
        if word.eq_ignore_ascii_case("notRun") {
            fates.extend([Fate::Faulted, Fate::Skipped, Fate::Missed]);
            continue;
        }
        let fate = Fate::ALL.into_iter().find(|fate| fate.name().eq_ignore_ascii_case(word));
        fates.push(fate.ok_or_else(|| {
            refuse("state", word, "ran, ranLate, faulted, skipped, missed, or notRun for the last three")
        })?);
    }
    let before = match call.query.get("before") {
        None => None,
        Some(mark) => {
            let read = mark
                .split_once('~')
                .and_then(|(due, serial)| Some((recurrence::read_date_time(due)?, serial.parse().ok()?)));
            Some(read.ok_or_else(|| refuse("before", mark, "what a nextLink holds"))?)
        }
    };
    let subscription = call.query.get("subscription").map(str::to_owned);
    let collection = match (call.query.get("resourceGroup"), call.query.get("jobCollection"), &subscription) {
        (None, None, _) => None,
        (Some(group), Some(name), Some(subscription)) => Some(CollectionPath {
            subscription: subscription.clone(),
            group: group.to_owned(),
            name: name.to_owned(),
        }),
        _ => {
            return Err(Problem::bad_request(
                "A collection's ledger needs subscription, resourceGroup and jobCollection together.",
            ));
        }
    };
    let job = call.query.get("job").map(str::to_owned);
    if job.is_some() && collection.is_none() {
        return Err(Problem::bad_request(
            "A job's ledger needs subscription, resourceGroup and jobCollection as well as job.",
        ));
    }
    Ok(LedgerQuery {
        due: Span { from: time("from")?, to: time("to")? },
        fates,
        subscription,
        collection,
        job,
        before,
    })
}

/// Says what it was asked: a target to try jobs on.
fn echo(call: &Call) -> Answer {
    let headers: serde_json::Map<_, _> = call
        .headers
        .iter()
        .filter(|(name, _)| **name != header::AUTHORIZATION)
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
