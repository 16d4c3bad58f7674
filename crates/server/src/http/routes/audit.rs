//! Who did what, and whether somebody has changed that since.

use access::audit::Walk;
use access::{Act, Entry, Verdict};
use serde_json::{Value, json};
use store::{AuditQuery, Chain, Span};
use wire::date_time;

use super::search::choice;
use super::{Answered, Call};
use crate::app::App;
use crate::http::answer::Answer;
use crate::problem::Problem;

/// The most and the usual entries of a page.
const LARGEST_PAGE: u64 = 1000;
const USUAL_PAGE: u64 = 100;

/// How many entries are read at a time while a chain is walked along.
const STRIDE: u32 = 1000;

/// The most characters of a search.
const LONGEST_SEARCH: usize = 200;

pub(super) async fn audit(app: &App, call: &Call) -> Answered {
    call.query.only(&["from", "to", "who", "act", "verdict", "search", "top", "before"])?;
    let top = call.query.number("top", 1, LARGEST_PAGE)?.unwrap_or(USUAL_PAGE);
    let query = query(call)?;
    let mut found = app.store.audit(&query, top as u32 + 1).await?;
    let more = found.len() as u64 > top;
    found.truncate(top as usize);
    let next = found.last().filter(|_| more).map(|last| {
        let mark = format!("{}~{}~{}", date_time::write(last.note.at), last.chain, last.serial);
        call.link("before", &mark)
    });
    let mut page = json!({"value": found.iter().map(write).collect::<Vec<_>>()});
    if let Some(next) = next {
        page["nextLink"] = next.into();
    }
    Ok(Answer::json(200, page))
}

fn query(call: &Call) -> Result<AuditQuery, Problem> {
    let given = |name: &str| call.query.get(name).filter(|text| !text.is_empty());
    let before = given("before").map(|mark| {
        let mut parts = mark.split('~');
        let read = (|| {
            let at = recurrence::read_date_time(parts.next()?)?;
            let (chain, serial) = (parts.next()?.parse().ok()?, parts.next()?.parse().ok()?);
            parts.next().is_none().then_some((at, chain, serial))
        })();
        read.ok_or_else(|| Problem::refused_parameter("before", mark, "what a nextLink holds"))
    });
    if given("search").is_some_and(|text| text.chars().count() > LONGEST_SEARCH) {
        return Err(Problem::bad_request(format!("search: allowed: at most {LONGEST_SEARCH} characters.")));
    }
    Ok(AuditQuery {
        at: Span { from: call.query.time("from")?, to: call.query.time("to")? },
        who: given("who").map(str::to_owned),
        act: given("act").map(|text| choice("act", text, &Act::NAMES)).transpose()?,
        verdict: given("verdict").map(|text| choice("verdict", text, &Verdict::NAMES)).transpose()?,
        search: given("search").map(str::to_owned),
        before: before.transpose()?,
    })
}

fn write(entry: &Entry) -> Value {
    let note = &entry.note;
    // What was written as JSON is told as JSON.
    let detail = serde_json::from_str(&note.detail).unwrap_or(Value::Null);
    json!({
        "at": date_time::write(note.at),
        "who": note.who,
        "name": note.name,
        "from": note.from,
        "act": note.act.name(),
        "target": note.target,
        "verdict": note.verdict.name(),
        "detail": detail,
        "chain": entry.chain,
        "serial": entry.serial,
        "hash": entry.hash.to_string(),
    })
}

/// Walks along all chains.
pub(super) async fn verify(app: &App, call: &Call) -> Answered {
    call.query.only(&[])?;
    let mut chains = Vec::new();
    let mut is_whole = true;
    for mut chain in app.store.audit_chains().await? {
        let mut walked = walk(app, &chain).await?;
        // Retention may have taken away what we stood on.
        let now = app.store.audit_chains().await?.into_iter().find(|now| now.number == chain.number);
        if let Some(now) = now.filter(|now| walked.broken.is_some() && now.before != chain.before) {
            chain = now;
            walked = walk(app, &chain).await?;
        }
        is_whole &= walked.broken.is_none();
        chains.push(json!({
            "chain": chain.number,
            "entries": walked.entries,
            "first": chain.before.serial + 1,
            "last": chain.last.serial,
            "hash": chain.last.hash.to_string(),
            "removed": walked.removed,
            "broken": walked.broken,
        }));
    }
    Ok(Answer::json(200, json!({"whole": is_whole, "chains": chains})))
}

/// What a walk along a chain has found.
struct Walked {
    /// How many entries are as they were written.
    entries: u64,
    /// What retention has removed before them, and when, as JSON; null where nothing is missing.
    removed: Value,
    /// What is wrong with the next.
    broken: Option<String>,
}

async fn walk(app: &App, chain: &Chain) -> Result<Walked, Problem> {
    let mut walk = Walk::from(chain.number, chain.before);
    let mut entries = 0;
    while walk.last().serial < chain.last.serial {
        let mut next = app.store.audit_of(chain.number, walk.last().serial, STRIDE).await?;
        // What is written meanwhile is left for the next walk.
        next.retain(|entry| entry.serial <= chain.last.serial);
        if next.is_empty() {
            break;
        }
        for entry in &next {
            if let Err(broken) = walk.step(entry) {
                return Ok(Walked { entries, removed: Value::Null, broken: Some(broken.to_string()) });
            }
            entries += 1;
        }
    }
    let found = walk.end(chain.last).and_then(|_| walk.beginning(chain.unmarked));
    let (removed, broken) = match found {
        Err(broken) => (Value::Null, Some(broken.to_string())),
        Ok(_) if chain.before.serial == 0 => (Value::Null, None),
        // Versions before left no marks.
        Ok(None) => (json!({"last": chain.before.serial}), None),
        Ok(Some(removed)) => (
            json!({
                "last": removed.last.serial,
                "at": date_time::write(removed.at),
                "before": date_time::write(removed.before),
            }),
            None,
        ),
    };
    Ok(Walked { entries, removed, broken })
}
