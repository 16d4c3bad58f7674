//! What a session took for granted, made before it begins.
//!
//! Two rules, and nothing else:
//!
//! 1. A collection that a list shows, and that no call before it made, was there. It is made by a PUT with what a
//!    client can say of a collection: its location, tags, plan, state and quota.
//! 2. A job whose history is listed was there, and had run. It is made by a PUT, never to be due by itself, and every
//!    entry that some list shows is settled as an attempt, at the times and with the number and message that the entry
//!    has. Recordings keep the first entries of a list and tell how long it was: what is between those that are kept, and
//!    after them, is filled with attempts that succeeded.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use model::{Attempt, Cause, CollectionPath, Execution, Occurrence, Outcome, Timestamp, Uuid};
use serde_json::{Value, json};
use store::{Attempted, Page};

use crate::Call;
use crate::world::World;

const VERSION: &str = "api-version=2016-03-01";

pub(crate) async fn prepare(world: &World, calls: &[Call]) {
    let Some(first) = calls.first() else { return };
    world.clock.set(first.date);
    let mut made = BTreeSet::new();
    for call in calls {
        if call.method == "PUT" {
            made.insert(call.resource());
        }
        let of_collections = call.resource().ends_with("/jobcollections");
        let listed = call.answer["value"].as_array().filter(|_| of_collections);
        for entry in listed.into_iter().flatten() {
            let id = entry["id"].as_str().expect("an id");
            if made.insert(id.to_lowercase()) {
                let body = json!({
                    "location": entry["location"],
                    "tags": entry["tags"],
                    "properties": {
                        "sku": entry["properties"]["sku"],
                        "state": entry["properties"]["state"],
                        "quota": entry["properties"]["quota"],
                    },
                });
                world.put(&format!("{id}?{VERSION}"), &body).await.expect(201);
            }
        }
    }
    let histories: BTreeSet<String> = calls
        .iter()
        .filter(|call| call.is_of_history())
        .map(|call| call.path.split("/history").next().unwrap_or_default().to_owned())
        .collect();
    for job in histories {
        let calls: Vec<&Call> =
            calls.iter().filter(|call| call.is_of_history() && call.path.starts_with(&job)).collect();
        run(world, &job, first.date, &entries(&calls)).await;
    }
}

/// An attempt that a history tells of.
#[derive(Clone)]
struct Entry {
    started_at: Timestamp,
    ended_at: Timestamp,
    expected_at: Timestamp,
    number: u32,
    success: bool,
    message: String,
}

impl Entry {
    fn read(entry: &Value) -> Self {
        let properties = &entry["properties"];
        let at = |name: &str| properties[name].as_str().expect("a time").parse().expect("a timestamp");
        assert_eq!((&properties["retryCount"], &properties["actionName"]), (&json!(0), &json!("MainAction")));
        Self {
            started_at: at("startTime"),
            ended_at: at("endTime"),
            expected_at: at("expectedExecutionTime"),
            number: properties["repeatCount"].as_u64().and_then(|n| n.try_into().ok()).expect("a number"),
            success: properties["status"].is_null(),
            message: properties["message"].as_str().expect("a message").to_owned(),
        }
    }

    /// One that nobody kept, some time before this one.
    fn filler_before(&self, seconds: usize) -> Self {
        let at = self.started_at.checked_sub(Duration::from_secs(seconds as u64)).expect("a timestamp");
        Self {
            started_at: at,
            ended_at: at,
            expected_at: at,
            number: 1,
            success: true,
            message: String::new(),
        }
    }
}

/// All attempts that the lists of one history presuppose, newest first.
fn entries(calls: &[&Call]) -> Vec<Entry> {
    let mut known: BTreeMap<Timestamp, Entry> = BTreeMap::new();
    // Where in the whole list an entry stands, as far as a list without a filter tells.
    let mut places: BTreeMap<usize, Timestamp> = BTreeMap::new();
    let mut completed = 0;
    for call in calls {
        let shown: Vec<Entry> =
            call.answer["value"].as_array().expect("a list").iter().map(Entry::read).collect();
        let is_filtered = call.path.contains("filter=");
        let skipped = call.path.split("$skip=").nth(1).and_then(|rest| rest.split('&').next());
        let skipped: usize = skipped.map_or(0, |text| text.parse().expect("a number"));
        for (i, entry) in shown.into_iter().enumerate() {
            if !is_filtered {
                places.insert(skipped + i, entry.started_at);
            }
            known.insert(entry.started_at, entry);
        }
        if !call.path.contains("Failed") && !call.path.contains("$top=") {
            completed = completed.max(call.entries.unwrap_or(0));
        }
    }
    // The last place and its entry, and how many are missing between two places.
    let mut fillers = Vec::new();
    let mut last: Option<(usize, Timestamp)> = None;
    for (place, at) in places {
        if let Some((before, newer)) = last {
            let between = known.range(at..newer).count() - 1;
            for n in 0..place - before - 1 - between {
                fillers.push(known[&newer].filler_before(n + 1));
            }
        }
        last = Some((place, at));
    }
    let succeeded = known.values().filter(|entry| entry.success).count() + fillers.len();
    if let Some((_, oldest)) = last {
        for n in succeeded..completed {
            fillers.push(known[&oldest].filler_before(60 * (n - succeeded + 1)));
        }
    }
    let mut all: Vec<Entry> = known.into_values().chain(fillers).collect();
    all.sort_by_key(|entry| std::cmp::Reverse(entry.started_at));
    all
}

/// Makes a job that has run.
async fn run(world: &World, path: &str, now: Timestamp, entries: &[Entry]) {
    let segments: Vec<&str> = path.split('/').collect();
    let [_, _, subscription, _, group, _, _, _, collection, _, name] = segments[..] else {
        panic!("{path} is no job")
    };
    let (collection_path, _) = path.split_once("/jobs/").expect("a job");
    world.put(&format!("{collection_path}?{VERSION}"), &json!({})).await.expect(201);
    let action = json!({
        "type": "Http",
        "request": {"uri": "http://www.bing.com/", "method": "GET"},
        "retryPolicy": {"retryType": "none"},
    });
    let body =
        json!({"properties": {"action": action, "recurrence": {"frequency": "minute"}, "state": "disabled"}});
    world.put(&format!("{path}?{VERSION}"), &body).await.expect(201);

    let place = CollectionPath {
        subscription: subscription.to_owned(),
        group: group.to_owned(),
        name: collection.to_owned(),
    };
    let store = &world.store;
    let job = store.job(&place, name).await.expect("the store").expect("the job").job;
    let mut by_tag = BTreeMap::new();
    for (i, entry) in entries.iter().enumerate() {
        let tag = Uuid::from_u128(i as u128 + 1);
        by_tag.insert(tag, entry);
        let execution = Execution {
            tag,
            job: job.id,
            generation: job.generation,
            occurrence: Occurrence { number: entry.number, at: entry.expected_at },
            cause: Cause::Run,
            depth: 0,
            attempt: 0,
            wake_at: Some(entry.started_at),
            started_at: None,
        };
        store.add_execution(execution).await.expect("added");
    }
    let claimed = store.claim_due(now, now, 10_000).await.expect("claimed");
    assert_eq!(claimed.claims.len(), entries.len());
    let attempts = claimed.claims.iter().map(|claim| {
        assert!(claim.ticket.begin());
        let entry = by_tag[&claim.execution.tag];
        let outcome = Outcome { success: entry.success, message: entry.message.clone() };
        let attempt = Attempt { started_at: entry.started_at, ended_at: entry.ended_at, outcome };
        Attempted { id: claim.id, attempt: attempt.into(), ticket: claim.ticket.clone(), too_late: false }
    });
    store.settle(attempts.collect()).await.expect("settled");
    let page = Page { skip: 0, top: 10_000 };
    let history = store.history(&place, name, &Default::default(), page).await.expect("read").expect("a job");
    assert_eq!(history.len(), entries.len());
}
