//! How jobs stand that are off, or whose collection is: when they run next, and how they went.

use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};
use tokio::time::sleep;

use super::door::{Door, collection, id, job, with};

async fn post(door: &Door, path: &str) {
    let answer = door.call("POST", path, None).await;
    assert_eq!(answer.status, 200, "{}", answer.body);
}

async fn upcoming(door: &Door, name: &str) -> Value {
    door.get(&format!("/api/upcoming?job={}", id("c", name))).await
}

fn minutely() -> Value {
    with(&[("/startTime", json!("2027-01-31T12:00:30Z")), ("/recurrence", json!({"frequency": "minute"}))])
}

/// An instant at which nothing will happen is nobody's next run.
#[tokio::test(start_paused = true)]
async fn a_job_in_a_disabled_collection_has_no_next_run() {
    let door = Door::open(&[]);
    door.collection("c", "Standard").await;
    let path = job("c", "j");
    door.accepts("PUT", &path, &minutely()).await;
    let next = "2027-01-31T12:00:30Z";
    let line = async || door.get("/api/jobs").await["value"][0].clone();
    assert_eq!(
        (&line().await["collectionEnabled"], &line().await["nextExecutionTime"]),
        (&json!(true), &json!(next))
    );
    for switch in ["disable", "suspend"] {
        match switch {
            "disable" => post(&door, &collection("c").replace('?', "/disable?")).await,
            _ => drop(
                door.accepts("PATCH", &collection("c"), &json!({"properties": {"state": "Suspended"}})).await,
            ),
        }
        let status = json!({"executionCount": 0, "failureCount": 0, "faultedCount": 0});
        let patched = door.accepts("PATCH", &path, &json!({"properties": {"state": "enabled"}})).await.body;
        let listed = door.get(&job("c", "").replace("/?", "?")).await["value"][0].clone();
        for answered in [door.get(&path).await, patched, listed] {
            assert_eq!(answered["properties"]["state"], "enabled", "as Azure has it");
            assert_eq!(answered["properties"]["status"], status, "{switch}");
        }
        let line = line().await;
        assert_eq!(
            (&line["state"], &line["collectionEnabled"]),
            (&json!("enabled"), &json!(false)),
            "{switch}"
        );
        assert_eq!(line["nextExecutionTime"], Value::Null, "{switch}");
        let found = upcoming(&door, "j").await;
        assert_eq!(found["occurrences"], json!([]), "{switch}");
        assert_eq!(found["status"]["collectionEnabled"], false, "{switch}");
        assert_eq!(found["status"]["nextExecutionTime"], Value::Null, "{switch}");
        assert_eq!(door.get("/api/overview").await["next"], json!([]), "{switch}");
    }
    // The same for a job that is new there.
    let made = door.accepts("PUT", &job("c", "new"), &minutely()).await.body;
    assert_eq!(made["properties"]["status"].get("nextExecutionTime"), None);
    post(&door, &collection("c").replace('?', "/enable?")).await;
    assert_eq!(door.get(&path).await["properties"]["status"]["nextExecutionTime"], next);
    assert_eq!(upcoming(&door, "j").await["status"]["nextExecutionTime"], next);
}

/// The old service had no `status` for disabled jobs; what was counted is told beside it.
#[tokio::test(start_paused = true)]
async fn a_disabled_job_keeps_its_counters() {
    let door = Door::open(&[]);
    door.collection("c", "Standard").await;
    door.accepts("PUT", &job("c", "j"), &minutely()).await;
    let engine = door.start(Arc::new(actions::scripted::Scripted::succeeding()));
    sleep(Duration::from_secs(140)).await;
    assert!(engine.stop().await);
    door.accepts("PATCH", &job("c", "j"), &json!({"properties": {"state": "disabled"}})).await;
    assert_eq!(door.get(&job("c", "j")).await["properties"].get("status"), None);
    let found = upcoming(&door, "j").await;
    assert_eq!(
        found["status"],
        json!({
            "state": "disabled",
            "collectionEnabled": true,
            "nextExecutionTime": null,
            "lastExecutionTime": "2027-01-31T12:01:30Z",
            "executionCount": 2,
            "failureCount": 0,
            "faultedCount": 0,
        })
    );
}
