//! What the ledger and the overview say of jobs that are off now, and of names that do not exist.

use std::sync::Arc;
use std::time::Duration;

use access::{Grants, Role, Scope};
use serde_json::{Value, json};
use tokio::time::sleep;

use super::door::{Door, collection, id, job, with};

fn minutely() -> Value {
    with(&[
        ("/startTime", json!("2027-01-31T12:00:30Z")),
        ("/recurrence", json!({"frequency": "minute"})),
        ("/action/retryPolicy", json!({"retryType": "none"})),
    ])
}

async fn switch(door: &Door, path: &str, verb: &str) {
    let answer = door.call("POST", &path.replace('?', &format!("/{verb}?")), None).await;
    assert_eq!(answer.status, 200, "{}", answer.body);
}

fn jobs_of(page: &Value) -> Vec<String> {
    let entries = page["value"].as_array().expect("a list");
    entries
        .iter()
        .map(|entry| {
            let own = entry["job"].as_str().and_then(|id| id.rsplit('/').next()).unwrap_or_default();
            let mark = if entry["ongoing"] == true { "*" } else { "" };
            format!("{own}{mark} {}", entry["state"].as_str().unwrap_or_default())
        })
        .collect()
}

/// Three jobs for four minutes: one runs, one is switched off, and one is in a collection that is.
async fn partly_off() -> Door {
    let door = Door::open(&[]);
    for name in ["c", "b"] {
        door.collection(name, "Standard").await;
    }
    for path in [job("c", "on"), job("c", "off"), job("b", "held")] {
        door.accepts("PUT", &path, &minutely()).await;
    }
    door.accepts("PATCH", &job("c", "off"), &json!({"properties": {"state": "disabled"}})).await;
    switch(&door, &collection("b"), "disable").await;
    let engine = door.start(Arc::new(actions::scripted::Scripted::succeeding()));
    sleep(Duration::from_secs(4 * 60)).await;
    assert!(engine.stop().await);
    door
}

#[tokio::test(start_paused = true)]
async fn the_ledger_answers_for_what_is_off_now() {
    let door = partly_off().await;
    let not_run = door.get("/api/ledger?state=notRun&from=2027-01-31T12:02:00Z").await;
    assert_eq!(jobs_of(&not_run), ["off* skipped", "held* skipped"]);
    let [off, held] = [&not_run["value"][0], &not_run["value"][1]];
    assert_eq!((&held["reason"], &off["reason"]), (&json!("collectionDisabled"), &json!("jobDisabled")));
    assert_eq!(
        (&held["message"], &off["message"]),
        (&json!("The job collection is disabled."), &json!("The job is disabled."))
    );
    for entry in [held, off] {
        assert_eq!(entry["occurrences"], 4, "{entry}");
        assert_eq!(
            (&entry["dueTime"], &entry["until"]),
            (&json!("2027-01-31T12:00:30Z"), &json!("2027-01-31T12:03:30Z"))
        );
    }
    assert_eq!(jobs_of(&door.get("/api/ledger?state=skipped").await).len(), 2);
    assert_eq!(jobs_of(&door.get("/api/ledger?state=missed,faulted").await).len(), 0);
    assert_eq!(jobs_of(&door.get("/api/ledger?state=ran").await), ["on ran"; 4]);
    assert_eq!(jobs_of(&door.get("/api/ledger?state=notRun&from=2027-01-31T12:10:00Z").await).len(), 0);
    let of = |rest: &str| format!("/api/ledger?subscription=s&resourceGroup=g{rest}");
    assert_eq!(jobs_of(&door.get(&of("&jobCollection=c&job=OFF")).await), ["off* skipped"]);
    assert_eq!(jobs_of(&door.get(&of("&jobCollection=b")).await), ["held* skipped"]);
    assert_eq!(jobs_of(&door.get(&of("")).await).len(), 6);

    // On again, the same is an entry as any other.
    door.accepts("PATCH", &job("c", "off"), &json!({"properties": {"state": "enabled"}})).await;
    let after = door.get(&of("&jobCollection=c&job=off")).await;
    assert_eq!(jobs_of(&after), ["off skipped"]);
    for member in ["dueTime", "until", "occurrences", "reason"] {
        assert_eq!(after["value"][0][member], off[member], "{member}");
    }
}

/// Each entry comes once: what lasts comes first, whatever the size of a page.
#[tokio::test(start_paused = true)]
async fn what_is_off_is_paged_with_the_rest() {
    let door = partly_off().await;
    let whole = jobs_of(&door.get("/api/ledger").await);
    assert_eq!(whole.len(), 6, "{whole:?}");
    for top in 1..7 {
        let mut path = Some(format!("/api/ledger?top={top}"));
        let mut found = Vec::new();
        while let Some(next) = path.take() {
            let page = door.get(&next).await;
            let entries = jobs_of(&page);
            assert!(entries.len() <= top && !entries.is_empty(), "{top}: {entries:?}");
            found.extend(entries);
            path = page["nextLink"].as_str().and_then(|link| Some(link[link.find("/api/")?..].to_owned()));
        }
        assert_eq!(found, whole, "{top}");
    }
}

#[tokio::test(start_paused = true)]
async fn an_overview_counts_what_is_off() {
    let door = partly_off().await;
    let found = door.get("/api/overview").await;
    assert_eq!(found["off"], json!({"jobs": 2, "more": false}));
    assert_eq!(found["notRun"].as_array().map(Vec::len), Some(2));
    assert!(found["notRun"].as_array().into_iter().flatten().all(|entry| entry["ongoing"] == true));
    assert_eq!(found["totals"]["ran"], 4);
}

#[tokio::test(start_paused = true)]
async fn who_sees_a_part_hears_of_what_is_off_there() {
    let door = partly_off().await;
    let scope: Scope = id("c", "").trim_end_matches("/jobs/").parse().expect("a scope");
    let mut app = door.app.clone();
    app.caller.grants = Grants::new([(Role::Reader, scope)]);
    app.store = app.store.seen_by(&app.caller.grants.sight());
    let page = app.ledger(&store::LedgerQuery::default(), 100).await.expect("a page");
    let names: Vec<&str> =
        page.entries.iter().filter(|entry| entry.is_ongoing()).map(|entry| entry.job.as_str()).collect();
    assert_eq!(names, ["off"]);
    // What is not seen is not told apart from what does not exist.
    let query = |name: &str| store::LedgerQuery {
        collection: Some(model::CollectionPath {
            subscription: "s".into(),
            group: "g".into(),
            name: name.into(),
        }),
        ..Default::default()
    };
    for name in ["b", "nosuch"] {
        let problem = app.ledger(&query(name), 100).await.expect_err("not seen");
        assert_eq!((problem.status, problem.code), (404, "ResourceNotFound"), "{name}");
    }
}

/// "Nothing" is an answer about what exists, or once did.
#[tokio::test(start_paused = true)]
async fn a_name_that_does_not_exist_is_no_empty_ledger() {
    let door = partly_off().await;
    door.accepts("PUT", &job("c", "new"), &with(&[("/startTime", json!("2027-02-01T00:00:00Z"))])).await;
    let answer = door.call("DELETE", &job("c", "on"), None).await;
    assert_eq!(answer.status, 200);
    for (names, status, says) in [
        ("subscription=s&resourceGroup=g&jobCollection=c&job=nosuch", 404, "Job 'nosuch' cannot be found"),
        ("subscription=s&resourceGroup=g&jobCollection=nosuch", 404, "nosuch"),
        ("subscription=s&resourceGroup=nosuch", 404, "Resource group 'nosuch' could not be found"),
        ("subscription=nosuch", 404, "The subscription 'nosuch' could not be found"),
        ("resourceGroup=g", 400, "needs subscription"),
        ("subscription=s&jobCollection=c", 400, "together"),
        // It exists and nothing was due; it was deleted and has entries, though none of this kind.
        ("subscription=s&resourceGroup=g&jobCollection=c&job=new", 200, ""),
        ("subscription=s&resourceGroup=g&jobCollection=c&job=on&state=missed", 200, ""),
    ] {
        let answer = door.call("GET", &format!("/api/ledger?{names}"), None).await;
        assert_eq!(answer.status, status, "{names}: {}", answer.body);
        let message = answer.body["error"]["message"].as_str().unwrap_or_default();
        assert!(message.contains(says), "{names}: {message}");
    }
    for path in [
        "/api/export?subscription=nosuch",
        "/api/export?subscription=s&group=nosuch",
        "/api/jobs?subscription=nosuch",
        "/api/jobs?collection=/subscriptions/s/resourceGroups/g/providers/Microsoft.Scheduler/jobCollections/nosuch",
    ] {
        assert_eq!(door.call("GET", path, None).await.status, 404, "{path}");
    }
}
