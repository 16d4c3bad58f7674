//! The state of a collection is a switch: only who speaks of it uses it.

use std::sync::Arc;
use std::time::Duration;

use actions::scripted::Scripted;
use serde_json::{Value, json};
use tokio::time::{sleep, timeout};

use super::door::{Door, collection, job, with};

async fn state(door: &Door) -> Value {
    door.get(&collection("c")).await["properties"]["state"].clone()
}

/// A template that is deployed every night does not switch on what an operator has switched off.
#[tokio::test(start_paused = true)]
async fn a_put_without_state_leaves_the_switch_alone() {
    let door = Door::open(&[]);
    let described = json!({"location": "Local", "tags": {"team": "billing"}, "properties": {"sku": {"name": "Standard"}}});
    let stated = |state: &str| json!({"location": "Local", "properties": {"state": state}});
    door.accepts("PUT", &collection("c"), &described).await;
    assert_eq!(state(&door).await, "Enabled", "a new one is on");

    assert_eq!(door.call("POST", &collection("c").replace('?', "/disable?"), None).await.status, 200);
    for body in [described.clone(), json!({"location": "Local"}), json!({"properties": {"state": null}})] {
        let answer = door.accepts("PUT", &collection("c"), &body).await;
        assert_eq!(answer.body["properties"]["state"], "Disabled");
        assert_eq!(state(&door).await, "Disabled", "{body}");
    }
    assert!(door.get(&collection("c")).await["tags"].is_null(), "everything else was replaced");
    door.accepts("PUT", &collection("c"), &stated("Enabled")).await;
    assert_eq!(state(&door).await, "Enabled", "whoever says it means it");
    door.accepts("PUT", &collection("c"), &stated("Suspended")).await;
    door.accepts("PUT", &collection("c"), &described).await;
    assert_eq!(state(&door).await, "Suspended");
    door.accepts("PATCH", &collection("c"), &json!({"tags": {"a": "b"}})).await;
    assert_eq!(state(&door).await, "Suspended");
    // A removed state is the usual one.
    door.accepts("PATCH", &collection("c"), &json!({"properties": {"state": null}})).await;
    assert_eq!(state(&door).await, "Enabled");

    assert_eq!(door.call("POST", &collection("c").replace('?', "/disable?"), None).await.status, 200);
    assert_eq!(door.call("DELETE", &collection("c"), None).await.status, 200);
    door.accepts("PUT", &collection("c"), &described).await;
    assert_eq!(state(&door).await, "Enabled", "a deleted one is not remembered");
}

/// A job that runs once and came due while its collection was off.
#[tokio::test(start_paused = true)]
async fn a_job_that_runs_once_runs_when_its_collection_is_on_again() {
    let once = |start: Option<&str>| with(&[("/startTime", json!(start)), ("/recurrence", Value::Null)]);
    let door = Door::open(&[]);
    door.collection("c", "Standard").await;
    let engine = door.start(Arc::new(Scripted::succeeding()));
    door.accepts("PUT", &job("c", "before"), &once(Some("2027-01-31T12:10:00Z"))).await;
    let [disable, enable] = ["disable", "enable"].map(|to| collection("c").replace('?', &format!("/{to}?")));
    let suspended = json!({"properties": {"state": "Suspended"}});
    assert_eq!(door.call("POST", &disable, None).await.status, 200);
    door.accepts("PUT", &job("c", "at-once"), &once(None)).await;
    door.accepts("PUT", &job("c", "past"), &once(Some("2027-01-01T00:00:00Z"))).await;
    door.accepts("PATCH", &collection("c"), &suspended).await;
    sleep(Duration::from_secs(3600)).await;
    for name in ["before", "at-once", "past"] {
        assert_eq!(door.get(&job("c", name)).await["properties"]["state"], "enabled", "{name}");
    }

    let ledger = "/api/ledger?subscription=s&resourceGroup=g&jobCollection=c";
    let resumed_at = door.now();
    assert_eq!(door.call("POST", &enable, None).await.status, 200);
    for name in ["before", "at-once", "past"] {
        let has_run = async {
            while door.get(&job("c", name)).await["properties"]["state"] == "enabled" {
                sleep(Duration::from_millis(100)).await;
            }
        };
        assert!(timeout(Duration::from_secs(60), has_run).await.is_ok(), "{name} does not run");
        let properties = door.get(&job("c", name)).await["properties"].clone();
        let standing = (&properties["state"], &properties["status"]["executionCount"]);
        assert_eq!(standing, (&json!("completed"), &json!(1)), "{name}");
        let history = door.get(&job("c", &format!("{name}/history"))).await;
        let entries = history["value"].as_array().expect("a list");
        assert_eq!(entries.len(), 1, "{name}");
        assert_eq!(entries[0]["properties"]["expectedExecutionTime"], resumed_at.to_string(), "{name}");
        let rows = door.get(&format!("{ledger}&job={name}")).await;
        let rows = rows["value"].as_array().expect("a list").iter();
        let rows: Vec<_> = rows.map(|row| (row["state"].clone(), row["reason"].clone())).collect();
        let expected = [(json!("ran"), Value::Null), (json!("skipped"), json!("collectionDisabled"))];
        assert_eq!(rows, expected, "{name}");
    }
    assert!(engine.stop().await);
}
