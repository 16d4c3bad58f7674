//! A job that cannot be read as it is stored: everything else answers, the answer says which job and why, and DELETE and
//! PUT repair it.

use std::sync::Arc;
use std::time::Duration;

use actions::scripted::Scripted;
use serde_json::{Value, json};
use store::conformance::keyring;
use tokio::time::sleep;

use super::door::{Door, collection, id, job, with};

/// What can be wrong with the job `c`, and the SQL that makes it so.
fn damages() -> Vec<(&'static str, String)> {
    let of = "job_id = (SELECT id FROM jobs WHERE name = 'c' AND deleted_at IS NULL)";
    let replace = |from: &str, to: &str| {
        format!("UPDATE definitions SET definition = replace(definition, '{from}', '{to}') WHERE {of}")
    };
    let sealed = format!("sealed1.{}.", keyring().first().id());
    vec![
        ("a policy of a newer version", replace(r#""catch_up":"Last""#, r#""catch_up":"Newest""#)),
        ("an action of a newer version", replace(r#""call":{"Http""#, r#""call":{"Grpc""#)),
        (
            "a state of a newer version",
            "UPDATE jobs SET state = 9 WHERE name = 'c' AND deleted_at IS NULL".into(),
        ),
        ("a zone that is gone", replace("Europe/Berlin", "US/Pacific-New")),
        ("a secret that was changed", replace(&sealed, &format!("{sealed}AAAA"))),
        ("no JSON", format!("UPDATE definitions SET definition = '{{' WHERE {of}")),
    ]
}

fn secretive() -> Value {
    with(&[
        ("/startTime", json!("2027-01-31T12:00:30Z")),
        ("/recurrence", json!({"frequency": "minute", "timeZone": "Europe/Berlin"})),
        (
            "/action/request/authentication",
            json!({"type": "Basic", "username": "clerk", "password": "secret"}),
        ),
    ])
}

/// Jobs a, b and c, of which the last is damaged, as a server finds them some time after its start.
async fn damaged(sql: &str) -> Door {
    let door = Door::open(&[]);
    door.collection("team", "P20Premium").await;
    for name in ["a", "b", "c"] {
        door.accepts("PUT", &job("team", name), &secretive()).await;
    }
    door.damage(sql);
    assert_eq!(door.app.store.look_through(0, 100).await.expect("looked"), None);
    door
}

/// The names in a list, and whether each is marked.
fn marks(list: &Value) -> Vec<(String, bool)> {
    let name = |entry: &Value| {
        let name = entry["name"].as_str().or(entry["job"].as_str()).unwrap_or_default();
        name.rsplit('/').next().unwrap_or_default().to_owned()
    };
    let entries = list.as_array().expect("a list");
    entries.iter().map(|entry| (name(entry), entry["unreadable"].is_string())).collect()
}

#[tokio::test(start_paused = true)]
async fn an_unreadable_job_spoils_no_answer() {
    let expected = [("a".to_owned(), false), ("b".to_owned(), false), ("c".to_owned(), true)];
    for (what, sql) in damages() {
        let door = damaged(&sql).await;
        let list = door.get(&collection("team").replace('?', "/jobs?")).await;
        assert_eq!(marks(&list["value"]), expected, "{what}");
        for path in ["/api/jobs", "/api/jobs?search=c&sort=next"] {
            let lines = door.get(path).await;
            assert!(marks(&lines["value"]).contains(&expected[2]), "{what}: {lines}");
        }
        let overview = door.get("/api/overview").await;
        assert_eq!(marks(&overview["next"]), expected, "{what}");
        let history = door.get(&job("team", "c/history")).await;
        assert_eq!(history["value"], json!([]), "{what}");
        door.get("/api/ledger?state=notRun").await;
        let upcoming = door.get(&format!("/api/upcoming?job={}", id("team", "c"))).await;
        assert_eq!(
            (&upcoming["occurrences"], upcoming["unreadable"].is_string()),
            (&json!([]), true),
            "{what}"
        );

        // The job itself can be read as far as that is possible, and its secret is nowhere.
        let shown = door.get(&job("team", "c")).await;
        assert_eq!((&shown["name"], shown["unreadable"].is_string()), (&json!("team/c"), true), "{what}");
        assert!(!shown.to_string().contains("sealed1"), "{what}: {shown}");
        let head = door.call("HEAD", &job("team", "c"), None).await;
        assert_eq!(head.status, 204, "{what}");

        // What needs it says what to do.
        let patch = json!({"properties": {"state": "Disabled"}});
        for (method, path, body) in
            [("PATCH", job("team", "c"), Some(&patch)), ("POST", job("team", "c/run"), None)]
        {
            let refused = door.call(method, &path, body).await;
            let message = refused.body["error"]["message"].as_str().unwrap_or_default();
            assert_eq!(refused.status, 409, "{what}: {}", refused.body);
            assert!(message.contains("'c'") && message.contains("PUT"), "{what}: {message}");
        }
        let (_, page) = door.raw("GET", "/metrics").await;
        let page = String::from_utf8_lossy(&page);
        assert!(page.contains("punctual_jobs_unreadable 1"), "{what}: {page}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_collection_can_be_changed_beside_an_unreadable_job() {
    for (what, sql) in damages() {
        let door = damaged(&sql).await;
        let quota = json!({"properties": {"quota": {"maxJobCount": 10}}});
        door.accepts("PATCH", &collection("team"), &quota).await;
        for verb in ["disable", "enable"] {
            let path = collection("team").replace('?', &format!("/{verb}?"));
            let answer = door.call("POST", &path, None).await;
            assert_eq!(answer.status, 200, "{what}: {}", answer.body);
        }
        let exported = door.get("/api/export?subscription=s").await;
        let left_out = &exported["metadata"]["leftOut"];
        assert_eq!(left_out[0]["name"], "team/c", "{what}: {exported}");
        assert!(exported.to_string().contains("team/b"), "{what}");
        let import = json!({"properties": secretive()["properties"]});
        door.accepts("PUT", &job("team", "c"), &import).await;
        let exported = door.get("/api/export?subscription=s").await;
        assert!(exported["metadata"].is_null(), "{what}: {exported}");
    }
}

#[tokio::test(start_paused = true)]
async fn deleting_or_replacing_repairs_an_unreadable_job() {
    for (what, sql) in damages() {
        let door = damaged(&sql).await;
        let deleted = door.call("DELETE", &job("team", "c"), None).await;
        assert_eq!(deleted.status, 200, "{what}: {}", deleted.body);
        assert_eq!(door.call("GET", &job("team", "c"), None).await.status, 404, "{what}");

        let door = damaged(&sql).await;
        let engine = door.start(Arc::new(Scripted::succeeding()));
        sleep(Duration::from_secs(60)).await;
        let told = door.get(&job("team", "a")).await;
        assert_eq!(told["properties"]["status"]["executionCount"], 1, "{what}: others run");
        let stale = door.get(&job("team", "c")).await;
        assert!(stale["unreadable"].is_string(), "{what}");
        let put = door.accepts("PUT", &job("team", "c"), &secretive()).await;
        assert_eq!((put.status, &put.body["unreadable"]), (200, &Value::Null), "{what}");
        sleep(Duration::from_secs(120)).await;
        assert!(engine.stop().await);
        let repaired = door.get(&job("team", "c")).await;
        assert_eq!(repaired["unreadable"], Value::Null, "{what}");
        assert_eq!(repaired["properties"]["status"]["executionCount"], 2, "{what}: {repaired}");
        let audit = door.get("/api/audit").await.to_string();
        assert!(audit.contains("replaced") && !audit.contains("sealed1"), "{what}: {audit}");
    }
}
