//! The ledger: what became of every occurrence.

use model::{CollectionPath, Fate};
use store::{LedgerQuery, Span};

use super::{Answered, Call};
use crate::app::App;
use crate::http::answer::Answer;
use crate::problem::Problem;

/// The most entries of a page.
const LARGEST_PAGE: u64 = 500;

pub(super) async fn ledger(app: &App, call: &Call) -> Answered {
    let top = call.query.number("top", 1, LARGEST_PAGE)?.unwrap_or(100);
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
        due: Span { from: call.query.time("from")?, to: call.query.time("to")? },
        fates,
        subscription,
        collection,
        job,
        before,
    })
}
