//! The ledger: what became of every occurrence.

use model::{CollectionPath, Fate, Reason};
use serde_json::Value;
use store::{LedgerQuery, Span, StoredLedger};

use super::{Answered, Call};
use crate::app::App;
use crate::http::answer::Answer;
use crate::problem::Problem;

/// The most entries of a page.
const LARGEST_PAGE: u64 = 500;

pub(super) async fn ledger(app: &App, call: &Call) -> Answered {
    call.query.only(&[
        "from",
        "to",
        "state",
        "subscription",
        "resourceGroup",
        "jobCollection",
        "job",
        "top",
        "before",
    ])?;
    let top = call.query.number("top", 1, LARGEST_PAGE)?.unwrap_or(100);
    let page = app.ledger(&ledger_query(call)?, top as u32).await?;
    let next = page
        .next
        .map(|(due_at, serial)| call.link("before", &format!("{}~{serial}", wire::date_time::write(due_at))));
    let mut body = wire::list::write(page.entries.iter().map(entry).collect(), next.as_deref());
    if page.more_off {
        body["moreOff"] = true.into();
    }
    Ok(Answer::json(200, body))
}

/// Writes an entry; one about a pause that still lasts says so.
pub(super) fn entry(stored: &StoredLedger) -> Value {
    let StoredLedger { collection, job, entry, .. } = stored;
    let mut written = wire::ledger::write(collection, job, entry);
    if stored.is_ongoing() {
        written["ongoing"] = true.into();
        written["message"] = match entry.reason {
            Some(Reason::CollectionDisabled) => "The job collection is disabled.".into(),
            _ => "The job is disabled.".into(),
        };
    }
    written
}

fn ledger_query(call: &Call) -> Result<LedgerQuery, Problem> {
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
            Problem::refused_parameter(
                "state",
                word,
                "ran, ranLate, faulted, skipped, missed, or notRun for the last three",
            )
        })?);
    }
    let before = match call.query.get("before") {
        None => None,
        Some(mark) => {
            let read = mark
                .split_once('~')
                .and_then(|(due, serial)| Some((recurrence::read_date_time(due)?, serial.parse().ok()?)));
            Some(read.ok_or_else(|| Problem::refused_parameter("before", mark, "what a nextLink holds"))?)
        }
    };
    let subscription = call.query.get("subscription").map(str::to_owned);
    let group = call.query.get("resourceGroup").map(str::to_owned);
    let collection = match (&group, call.query.get("jobCollection"), &subscription) {
        (None, None, _) | (Some(_), None, Some(_)) => None,
        (Some(group), Some(name), Some(subscription)) => Some(CollectionPath {
            subscription: subscription.clone(),
            group: group.clone(),
            name: name.to_owned(),
        }),
        (Some(_), None, None) => {
            return Err(Problem::bad_request(
                "A resource group's ledger needs subscription as well as resourceGroup.",
            ));
        }
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
        due: Span { from: call.query.time("from")?, to: call.query.time("to")? },
        fates,
        subscription,
        group,
        collection,
        job,
        before,
    })
}
