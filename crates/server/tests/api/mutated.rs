//! Requests that nobody would send on purpose: valid ones, broken in every way that comes to mind.
//!
//! Whatever comes, the answer is never a 5xx, and an error always says what is wrong. What is accepted reads back; and
//! what reads back is accepted again and changes nothing. `PROPTEST_CASES` sets how many are tried.

mod break_json;
pub(crate) mod examples;
mod requests;

use axum::body::Body;
use axum::http::Request;
use proptest::prelude::*;
use proptest::test_runner::{Config, TestCaseError, TestRunner};
use serde_json::{Value, json};
use tokio::runtime::{Builder, Runtime};

use super::door::{Answer, Door, collection, id, job};
use break_json::Broken;

type Verdict = Result<(), TestCaseError>;

/// A server at a moment that stays.
struct World {
    runtime: Runtime,
    door: Door,
}

impl World {
    fn new() -> Self {
        let runtime =
            Builder::new_current_thread().enable_all().start_paused(true).build().expect("a runtime");
        let door = runtime.block_on(async { Door::open(&[]) });
        Self { runtime, door }
    }

    /// Runs a property; each case begins with the same collection and the same job.
    fn hold<S: Strategy>(strategy: &S, property: impl AsyncFn(&Door, S::Value) -> Verdict) {
        let world = Self::new();
        // A found case becomes a test with a name; a file of seeds would only be in the way.
        let mut runner = TestRunner::new(Config { failure_persistence: None, ..Config::default() });
        let outcome = runner.run(strategy, |case| {
            world.runtime.block_on(async {
                let body = json!({"location": "Local", "properties": {"state": "Enabled"}});
                world.door.accepts("PUT", &collection("c"), &body).await;
                world.door.accepts("PUT", &job("c", "j"), &examples::jobs()[0]).await;
                property(&world.door, case).await
            })
        });
        if let Err(failure) = outcome {
            panic!("{failure}");
        }
    }
}

/// An answer that a client can do something with.
fn is_usable(answer: &Answer) -> Verdict {
    let Answer { status, body, .. } = answer;
    prop_assert!(*status < 500, "{status}: {body}");
    for name in ["x-ms-request-id", "x-ms-correlation-request-id"] {
        prop_assert!(answer.headers.contains_key(name), "{name} is missing");
    }
    if *status < 400 {
        return Ok(());
    }
    let is_text = |value: &Value| value.as_str().is_some_and(|text| !text.is_empty());
    let error = &body["error"];
    prop_assert!(is_text(&error["code"]) && is_text(&error["message"]), "{status}: {body}");
    for detail in error["details"].as_array().into_iter().flatten() {
        let whole = ["code", "target", "message"].iter().all(|member| is_text(&detail[member]));
        prop_assert!(whole, "{status}: {body}");
    }
    Ok(())
}

/// What was accepted reads back; what reads back is accepted again, and changes nothing.
async fn stays(door: &Door, written: &Answer) -> Verdict {
    let path = format!("{}?api-version=2016-03-01", written.body["id"].as_str().unwrap_or("no id"));
    let read = door.call("GET", &path, None).await;
    prop_assert_eq!((read.status, &read.body), (200, &written.body));
    let mut again = read.body.clone();
    add_secrets(&mut again);
    let answer = door.call("PUT", &path, Some(&again)).await;
    prop_assert!(answer.status < 300, "not accepted again: {again}: {}", answer.body);
    prop_assert_eq!(&answer.body, &read.body, "it drifts");
    prop_assert_eq!(door.call("GET", &path, None).await.body, read.body);
    Ok(())
}

/// Secrets are never answered, so whoever sends an answer back has to know them.
fn add_secrets(value: &mut Value) {
    match value {
        Value::Object(members) => {
            let secret = match members.get("type").and_then(Value::as_str) {
                Some("Basic") => Some("password"),
                Some("ActiveDirectoryOAuth" | "Hmac") => Some("secret"),
                Some("sharedAccessKey") => Some("sasKey"),
                _ => members.get("storageAccount").map(|_| "sasToken"),
            };
            if let Some(name) = secret {
                members.insert(name.to_owned(), "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw".into());
            }
            members.values_mut().for_each(add_secrets);
        }
        Value::Array(items) => items.iter_mut().for_each(add_secrets),
        _ => {}
    }
}

async fn send(door: &Door, method: &str, path: &str, body: Vec<u8>) -> Answer {
    let request = Request::builder().method(method).uri(path).header("content-type", "application/json");
    door.send(request.body(Body::from(body)).expect("a request")).await
}

async fn try_body(door: &Door, method: &str, path: &str, broken: Broken) -> Verdict {
    let answer = send(door, method, path, broken.bytes).await;
    is_usable(&answer)?;
    if answer.status < 300 {
        stays(door, &answer).await?;
    }
    Ok(())
}

#[test]
fn bodies_of_jobs() {
    let methods = prop_oneof![Just("PUT"), Just("POST"), Just("PATCH")];
    World::hold(&(methods, break_json::broken(examples::jobs())), async |door, (method, broken)| {
        let path = match method {
            "POST" => job("c", "").replace("/?", "?"),
            _ => job("c", "j"),
        };
        let verdict = try_body(door, method, &path, broken).await;
        // Names that POST makes up would fill the collection.
        let jobs = door.get(&job("c", "").replace("/?", "?")).await;
        for made in jobs["value"].as_array().into_iter().flatten() {
            let id = made["id"].as_str().unwrap_or_default();
            door.call("DELETE", &format!("{id}?api-version=2016-03-01"), None).await;
        }
        verdict
    });
}

#[test]
fn bodies_of_collections() {
    let methods = prop_oneof![Just("PUT"), Just("PATCH")];
    let bodies = break_json::broken(examples::collections());
    World::hold(&(methods, bodies), async |door, (method, broken)| {
        try_body(door, method, &collection("c"), broken).await
    });
}

#[test]
fn bodies_of_previews() {
    let bodies = break_json::broken(examples::jobs());
    World::hold(&bodies, async |door, broken| {
        let answer = send(door, "POST", "/api/preview?count=3", broken.bytes).await;
        is_usable(&answer)?;
        if answer.status < 300 {
            let occurrences = answer.body["occurrences"].as_array().map_or(0, Vec::len);
            prop_assert!((1..=3).contains(&occurrences), "{}", answer.body);
        }
        Ok(())
    });
}

#[test]
fn bodies_of_test_calls() {
    let calls = examples::jobs()
        .into_iter()
        .map(|job| json!({"action": job["properties"]["action"], "job": id("c", "j")}));
    World::hold(&break_json::broken(calls.collect()), async |door, broken| {
        let answer = send(door, "POST", "/api/test-call", broken.bytes).await;
        is_usable(&answer)
    });
}

#[test]
fn paths_queries_and_headers() {
    World::hold(&requests::odd(), async |door, request| {
        let before = door.get(&job("c", "j")).await;
        let (method, has_condition) = (request.method().clone(), request.headers().contains_key("if-match"));
        let answer = door.send(request).await;
        if method == "HEAD" {
            prop_assert!(answer.status < 500 && answer.body.is_null());
            return Ok(());
        }
        // The page of the portal, for people; what it is served with has tests of its own.
        if answer.headers.contains_key("content-security-policy") {
            prop_assert!(method == "GET" && matches!(answer.status, 200 | 304), "{}", answer.status);
            return Ok(());
        }
        is_usable(&answer)?;
        // No condition here ever holds, so nothing may have happened.
        if has_condition && method != "GET" && method != "POST" {
            prop_assert!(answer.status >= 400, "{}", answer.status);
            prop_assert_eq!(door.get(&job("c", "j")).await, before);
        }
        Ok(())
    });
}
