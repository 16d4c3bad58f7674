//! Headers that mean something: conditions that cannot hold, content types, and the list of what was ignored.

use axum::body::Body;
use axum::http::{HeaderValue, Request};
use serde_json::{Map, Value, json};

use super::door::{Answer, Door, collection, job, plain};

async fn put(door: &Door, headers: &[(&str, &[u8])]) -> Answer {
    let mut request = Request::builder().method("PUT").uri(job("c", "j"));
    for (name, value) in headers {
        request = request.header(*name, HeaderValue::from_bytes(value).expect("a header"));
    }
    door.send(request.body(Body::from(plain().to_string())).expect("a request")).await
}

/// Nobody who asked for a condition gets a change without one.
#[tokio::test(start_paused = true)]
async fn a_condition_that_cannot_be_read_does_not_hold() {
    let door = Door::open(&[]);
    door.collection("c", "Standard").await;
    let made = put(&door, &[]).await;
    let etag = made.headers["etag"].as_bytes().to_vec();
    for wrong in [&b"\xff\xfe"[..], b"", b",", b"\"", b"W/", b"\"0\"", "\"ä\"".as_bytes()] {
        let answer = put(&door, &[("if-match", wrong)]).await;
        assert_eq!(answer.status, 412, "{wrong:?}: {}", answer.body);
        assert_eq!(answer.body["error"]["code"], "PreconditionFailed");
    }
    assert_eq!(door.call("GET", &job("c", "j"), None).await.headers["etag"].as_bytes(), etag);
    // Repeated headers are one list.
    assert_eq!(put(&door, &[("if-match", b"\"0\""), ("if-match", &etag)]).await.status, 200);
}

/// A switch and a run are changes too.
#[tokio::test(start_paused = true)]
async fn a_condition_holds_for_every_change() {
    let door = Door::open(&[]);
    door.collection("c", "Standard").await;
    let here =
        door.call("GET", &collection("c"), None).await.headers["etag"].to_str().expect("text").to_owned();
    put(&door, &[]).await;
    let post = async |path: String, name: &str, value: &str| {
        let request = Request::builder().method("POST").uri(path).header(name, value).body(Body::empty());
        door.send(request.expect("a request")).await.status
    };
    let switch = |how: &str| collection("c").replace("?", &format!("/{how}?"));
    assert_eq!(post(switch("disable"), "if-match", "\"none\"").await, 412);
    assert_eq!(door.call("GET", &collection("c"), None).await.body["properties"]["state"], "Enabled");
    assert_eq!(post(job("c", "j/run"), "if-match", "\"none\"").await, 412);
    assert_eq!(post(job("c", "j/run"), "if-none-match", "*").await, 412);
    assert_eq!(door.get("/readyz").await["executions"], 0);
    assert_eq!(post(job("c", "j/run"), "if-match", "*").await, 200);
    assert_eq!(door.get("/readyz").await["executions"], 1);
    assert_eq!(post(switch("disable"), "if-match", &here).await, 200);
    assert_eq!(post(switch("enable"), "if-match", &here).await, 412);
}

#[tokio::test(start_paused = true)]
async fn content_types() {
    let door = Door::open(&[]);
    door.collection("c", "Standard").await;
    for right in
        ["application/json", "Application/JSON; charset=utf-8", "text/json", "application/merge-patch+json"]
    {
        assert!(put(&door, &[("content-type", right.as_bytes())]).await.status < 300, "{right}");
    }
    for wrong in [&b"text/plain"[..], b"", b"\xff", b"application/xml", b"multipart/form-data; boundary=x"] {
        let answer = put(&door, &[("content-type", wrong)]).await;
        assert_eq!(
            (answer.status, &answer.body["error"]["code"]),
            (415, &json!("UnsupportedMediaType")),
            "{wrong:?}"
        );
    }
    assert!(put(&door, &[("content-encoding", b"identity")]).await.status < 300);
    let answer = put(&door, &[("content-encoding", b"gzip")]).await;
    let message = "The body's Content-Encoding is 'gzip'; send it without one.";
    assert_eq!((answer.status, &answer.body["error"]["message"]), (415, &json!(message)));
}

#[tokio::test(start_paused = true)]
async fn what_is_ignored_is_named_up_to_a_point() {
    let door = Door::open(&[]);
    let with = |names: &[String]| -> Value {
        names.iter().map(|name| (name.clone(), json!(1))).collect::<Map<_, _>>().into()
    };
    let few = ["frequencey".to_owned(), "ä\r\nx: y".to_owned()];
    let answer = door.accepts("PUT", &collection("c"), &with(&few)).await;
    assert_eq!(answer.headers["x-punctual-ignored"].as_bytes(), "frequencey, [\"ä\\r\\nx: y\"]".as_bytes());
    let many: Vec<String> = (0..5000).map(|n| format!("member-{n}")).collect();
    let answer = door.accepts("PUT", &collection("c"), &with(&many)).await;
    let header = answer.headers["x-punctual-ignored"].to_str().expect("a text");
    let (named, more) = header.split_once(", and ").expect("an end");
    assert!(header.len() < 2100, "{header}");
    assert_eq!(more, format!("{} more", 5000 - named.split(", ").count()));
    assert!(
        !door.accepts("PUT", &collection("c"), &json!({})).await.headers.contains_key("x-punctual-ignored")
    );
}

#[tokio::test]
async fn a_browser_is_told_to_take_every_answer_for_what_it_says() {
    let world = super::world::World::new();
    for (method, path) in [
        ("GET", "/api/jobs"),
        ("GET", "/api/nothing"),
        ("GET", "/healthz"),
        ("GET", "/metrics"),
        ("GET", "/ui/"),
        ("GET", "/api/openapi.json"),
        ("PUT", "/subscriptions/s/resourceGroups/g?api-version=2020-06-01"),
        ("BREW", "/api/jobs"),
    ] {
        let reply = world.call(method, path, None).await;
        assert_eq!(
            reply.header("x-content-type-options"),
            Some("nosniff"),
            "{method} {path}: {}",
            reply.status
        );
    }
    let from_job = world.call_with("GET", "/api/jobs", None, &[("x-punctual-hops", "1")]).await.expect(403);
    assert_eq!(from_job.header("x-content-type-options"), Some("nosniff"));
}
