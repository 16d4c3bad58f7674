//! The calls of jobs, known by the header that marks them, and runs by request.

use std::sync::Arc;

use axum::body::{Body, to_bytes};
use axum::http::Request;
use engine::SimulatedClock;
use model::{Execution, Uuid};
use serde_json::{Value, json};
use tower::ServiceExt as _;

use super::door::{Answer, Door, NOW, collection, job, with};

/// A call of a job, so many hops away from the first.
async fn marked(door: &Door, method: &str, path: &str, hops: &str) -> Answer {
    let request = Request::builder().method(method).uri(path).header(actions::HOPS, hops);
    let body = if method == "PUT" { Body::from("{}") } else { Body::empty() };
    door.send(request.header("content-type", "application/json").body(body).expect("a request")).await
}

fn run(name: &str) -> String {
    job("c", &format!("{name}/run"))
}

async fn with_jobs(settings: &[(&str, &str)]) -> Door {
    let door = Door::open(settings);
    door.collection("c", "Standard").await;
    let far = with(&[("/startTime", json!("2027-06-01T00:00:00Z"))]);
    for name in ["j", "k"] {
        door.accepts("PUT", &job("c", name), &far).await;
    }
    door
}

fn hops_of(answer: &Answer) -> u8 {
    let tag = answer.headers["x-punctual-execution-tag"].to_str().expect("text");
    Execution::hops_of(tag.parse::<Uuid>().expect("a tag"))
}

#[tokio::test(start_paused = true)]
async fn the_calls_of_jobs_are_refused_before_anything_else() {
    for settings in [&[][..], &[("PUNCTUAL_AUTH_ENABLED", "true")]] {
        let door = Door::open(settings);
        let off = collection("c").replace('?', "/disable?");
        for (method, path) in [
            ("POST", off.as_str()),
            ("DELETE", &collection("c")),
            ("POST", &run("j")),
            ("PUT", &job("c", "new")),
            ("GET", "/api/jobs"),
            ("GET", "/API/%6aobs/"),
            ("POST", "/api/keys/rotate"),
            ("GET", "/metrics"),
            ("GET", "/readyz"),
            ("GET", "/"),
            ("GET", "/ui/jobs"),
            ("GET", "/assets/x/app.js"),
            ("GET", "/nothing/here"),
            ("OPTIONS", "/api/jobs"),
        ] {
            for hops in ["1", "", "x"] {
                let answer = marked(&door, method, path, hops).await;
                let message = answer.body["error"]["message"].as_str().unwrap_or_default();
                assert_eq!(
                    (answer.status, &answer.body["error"]["code"]),
                    (403, &json!("Forbidden")),
                    "{path}"
                );
                assert!(message.starts_with("The scheduler refuses the calls of jobs"), "{path}: {message}");
                assert!(message.contains("api.calls-from-jobs"), "{path}: {message}");
            }
        }
        assert_eq!(marked(&door, "GET", "/healthz", "1").await.status, 200);
    }
    let door = with_jobs(&[]).await;
    assert_eq!(marked(&door, "POST", &collection("c").replace('?', "/disable?"), "1").await.status, 403);
    assert_eq!(door.get(&collection("c")).await["properties"]["state"], "Enabled");
    let echoed = marked(&door, "PUT", "/api/echo/x", "1").await;
    assert_eq!((echoed.status, &echoed.body["headers"][actions::HOPS]), (200, &json!("1")));
    let (_, page) = door.raw("GET", "/metrics").await;
    let counted = r#"punctual_api_requests_total{resource="from-job",method="POST",status="403"} 1"#;
    assert!(String::from_utf8_lossy(&page).contains(counted));
}

#[tokio::test(start_paused = true)]
async fn metrics_at_an_address_of_their_own_are_no_target_either() {
    let door = Door::open(&[("PUNCTUAL_METRICS_LISTEN", "127.0.0.1:9042")]);
    let watching = server::http::watching_router(door.app.clone());
    for (path, status) in [("/metrics", 403), ("/readyz", 403), ("/healthz", 200), ("/api/echo", 403)] {
        let request = Request::builder().uri(path).header(actions::HOPS, "1").body(Body::empty());
        let answer = watching.clone().oneshot(request.expect("a request")).await.expect("infallible");
        assert_eq!(answer.status().as_u16(), status, "{path}");
        to_bytes(answer.into_body(), usize::MAX).await.expect("a body");
    }
}

#[tokio::test(start_paused = true)]
async fn calls_of_jobs_that_are_allowed_end_after_five() {
    let door = with_jobs(&[("PUNCTUAL_API_CALLS_FROM_JOBS", "true")]).await;
    assert_eq!(hops_of(&door.call("POST", &run("j"), None).await), 0);
    for hops in 1..=5 {
        let answer = marked(&door, "POST", &run("j"), &hops.to_string()).await;
        assert_eq!((answer.status, hops_of(&answer)), (200, hops));
    }
    for hops in ["6", "255", "256", "-1", "x"] {
        let answer = marked(&door, "POST", &run("j"), hops).await;
        let message = answer.body["error"]["message"].as_str().unwrap_or_default();
        assert!(answer.status == 403 && message.contains("looks like a loop"), "{hops}: {message}");
    }
    let audit = door.get("/api/audit?act=jobs/run").await;
    let from = |entry: &Value| entry["from"].as_str().is_some_and(|from| from.ends_with(", by a job"));
    let notes = audit["value"].as_array().expect("a list").iter().filter(|entry| from(entry)).count();
    assert_eq!(notes, 5, "{audit}");
}

/// Jobs that write jobs begin to count anew, so the pace of that is limited.
#[tokio::test(start_paused = true)]
async fn the_changes_that_calls_of_jobs_make_have_a_pace() {
    let clock = Arc::new(SimulatedClock::starting_at(NOW.parse().expect("a time")));
    let door = Door::with_clock(&[("PUNCTUAL_API_CALLS_FROM_JOBS", "true")], clock);
    for name in ["c", "d"] {
        door.collection(name, "Standard").await;
    }
    for _ in 0..60 {
        assert_eq!(marked(&door, "PUT", &collection("c"), "1").await.status, 201);
    }
    let refused = marked(&door, "PUT", &collection("C"), "1").await;
    assert_eq!((refused.status, &refused.headers["retry-after"]), (429, &"60".parse().expect("a value")));
    let message = refused.body["error"]["message"].as_str().unwrap_or_default();
    assert!(message.contains("60 changes here within a minute"), "{message}");
    assert_eq!(marked(&door, "GET", &collection("c"), "1").await.status, 200, "it changes nothing");
    assert_eq!(marked(&door, "PUT", &collection("d"), "1").await.status, 201);
    door.accepts("PUT", &collection("c"), &json!({})).await;
}

#[tokio::test(start_paused = true)]
async fn a_job_is_run_by_request_so_often_in_a_minute() {
    let door = with_jobs(&[("PUNCTUAL_API_RUNS_PER_JOB", "2")]).await;
    for _ in 0..2 {
        assert_eq!(door.call("POST", &run("j"), None).await.status, 200);
    }
    assert_eq!(door.call("POST", &run("missing"), None).await.status, 404);
    let refused = door.call("POST", &run("J"), None).await;
    assert_eq!((refused.status, &refused.headers["retry-after"]), (429, &"60".parse().expect("a value")));
    let error = &refused.body["error"];
    assert_eq!(error["code"], "TooManyRequests");
    assert_eq!(
        error["message"],
        "The job 'j' was run by request 2 times within a minute; allowed: 2 (the setting api.runs-per-job). Try again in \
         60 seconds."
    );
    assert_eq!(door.call("POST", &run("k"), None).await.status, 200, "another job");
    let usual = with_jobs(&[]).await;
    for _ in 0..60 {
        assert_eq!(usual.call("POST", &run("j"), None).await.status, 200);
    }
    assert_eq!(usual.call("POST", &run("j"), None).await.status, 429);
}
