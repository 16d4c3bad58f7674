//! Changes that are read strictly, and changes that are only judged.

use axum::body::Body;
use axum::http::Request;
use serde_json::{Value, json};

use super::door::{Answer, Door, collection, job, plain, with};

async fn preferring(door: &Door, prefer: &str, method: &str, path: &str, body: &Value) -> Answer {
    let request = Request::builder().method(method).uri(path).header("content-type", "application/json");
    let request = request.header("prefer", prefer).body(Body::from(body.to_string()));
    door.send(request.expect("a request")).await
}

/// Nothing is half done: a member that means nothing is refused before anything is stored.
#[tokio::test(start_paused = true)]
async fn strict_handling_refuses_members_that_mean_nothing() {
    let door = Door::open(&[]);
    door.collection("c", "Standard").await;
    door.accepts("PUT", &job("c", "j"), &plain()).await;
    let before = door.get(&job("c", "j")).await;
    let wrong =
        with(&[("/recurrence", json!({"frequency": "day", "intervall": 2})), ("/recurence", json!(1))]);
    let patch = json!({"properties": {"recurence": {"interval": 5}, "state": "disabled"}});
    let group = "/subscriptions/s/resourceGroups/g?api-version=2021-04-01";
    for (method, path, body, target) in [
        ("PUT", job("c", "j"), &wrong, "properties.recurence"),
        ("PUT", job("c", "new"), &wrong, "properties.recurence"),
        ("PATCH", job("c", "j"), &patch, "properties.recurence"),
        ("PATCH", job("c", "j").replace('?', "?dryRun=true&"), &patch, "properties.recurence"),
        ("PUT", collection("c"), &json!({"properties": {"satte": "Disabled"}}), "properties.satte"),
        ("PATCH", collection("c"), &json!({"tag": {"a": "b"}}), "tag"),
        ("PUT", group.to_owned(), &json!({"location": "westus", "tag": {}}), "tag"),
    ] {
        for prefer in ["handling=strict", "respond-async, Handling=\"strict\""] {
            let answer = preferring(&door, prefer, method, &path, body).await;
            assert_eq!(answer.status, 400, "{method} {path}: {}", answer.body);
            let faults = answer.body["error"]["details"].as_array().expect("details").clone();
            let targets: Vec<_> = faults.iter().filter_map(|fault| fault["target"].as_str()).collect();
            assert!(targets.contains(&target), "{method} {path}: {targets:?}");
        }
        if method != "PATCH" || !path.contains("dryRun") {
            continue;
        }
        // Who does not ask for it hears of it in a header, as ever.
        let answer = preferring(&door, "handling=lenient", method, &path, body).await;
        assert_eq!(
            (answer.status, &answer.headers["x-punctual-ignored"]),
            (200, &target.parse().expect("a header"))
        );
    }
    assert_eq!(door.get(&job("c", "j")).await, before);
    assert_eq!(door.call("GET", &job("c", "new"), None).await.status, 404);
    // What a GET answers can be sent back as it is, whatever is read-only in it.
    for method in ["PUT", "PATCH"] {
        let answer = preferring(&door, "handling=strict", method, &job("c", "j"), &before).await;
        assert_eq!(answer.status, 200, "{method}: {}", answer.body);
    }
}

/// A dry run is judged by all that the server knows, and leaves everything as it is.
#[tokio::test(start_paused = true)]
async fn a_patch_can_be_tried() {
    let door = Door::open(&[]);
    door.collection("c", "Standard").await;
    door.accepts("PUT", &job("c", "j"), &plain()).await;
    let before = door.get(&job("c", "j")).await;
    let dry = job("c", "j").replace('?', "?dryRun=true&");
    let tried =
        door.accepts("PATCH", &dry, &json!({"properties": {"startTime": "2027-03-01T00:00:00Z"}})).await.body;
    assert_eq!(tried["properties"]["startTime"], "2027-03-01T00:00:00Z");
    assert_eq!(tried["properties"]["status"]["nextExecutionTime"], "2027-03-01T00:00:00Z");
    for (patch, status) in [
        (json!({"properties": {"recurrence": {"interval": 0}}}), 400),
        (json!({"properties": {"recurrence": {"frequency": "minute", "interval": 1}}}), 200),
        (json!({"properties": {"state": "disabled"}}), 200),
    ] {
        let answer = door.call("PATCH", &dry, Some(&patch)).await;
        assert_eq!(answer.status, status, "{}", answer.body);
    }
    assert_eq!(door.get(&job("c", "j")).await, before);
    assert_eq!(door.get("/api/audit?act=jobs/write&top=1").await["value"][0]["detail"]["created"], true);
    // Where it means nothing, a change that was only to be tried is not made.
    for (method, path) in [
        ("PUT", job("c", "j")),
        ("DELETE", job("c", "j")),
        ("POST", job("c", "j/run")),
        ("PATCH", collection("c")),
        ("DELETE", collection("c")),
        ("POST", collection("c").replace('?', "/disable?")),
        ("DELETE", "/subscriptions/s/resourceGroups/g?api-version=2021-04-01".to_owned()),
    ] {
        let path = path.replace('?', "?dryRun=true&");
        let answer = door.call(method, &path, Some(&plain())).await;
        assert_eq!(answer.status, 400, "{method} {path}: {}", answer.body);
    }
    assert_eq!(door.get(&job("c", "j")).await, before);
}
