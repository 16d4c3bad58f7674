//! What happens now, as it is told to those who watch.

use std::sync::Arc;
use std::time::Duration;

use actions::scripted::{Scripted, Step};
use axum::body::{Body, Bytes};
use serde_json::{Value, json};
use server::live::ChangeKind;
use tokio::time::timeout;

use super::door::{Door, collection, id, job, plain, with};

/// An open stream.
struct Stream {
    body: Body,
    text: String,
}

impl Stream {
    async fn open(door: &Door, path: &str) -> Self {
        let (status, headers, body) = door.open_stream(path).await;
        assert_eq!(status, 200);
        assert_eq!(headers["content-type"], "text/event-stream");
        Self { body, text: String::new() }
    }

    async fn chunk(&mut self) -> Option<Bytes> {
        let frame = std::future::poll_fn(|context| {
            axum::body::HttpBody::poll_frame(std::pin::Pin::new(&mut self.body), context)
        });
        frame.await.map(|frame| frame.expect("a frame").into_data().expect("data"))
    }

    /// The next event that has one of these names, within ten minutes of the test's time.
    async fn next(&mut self, names: &[&str]) -> (String, Value) {
        timeout(Duration::from_secs(600), self.next_ever(names)).await.expect("in time")
    }

    async fn next_ever(&mut self, names: &[&str]) -> (String, Value) {
        loop {
            if let Some((event, rest)) = self.text.clone().split_once("\n\n") {
                self.text = rest.to_owned();
                let Some(event) = event.strip_prefix("event: ") else { continue };
                let (name, data) = event.split_once("\ndata: ").expect("data");
                if names.contains(&name) {
                    return (name.to_owned(), serde_json::from_str(data).expect("JSON"));
                }
                continue;
            }
            let chunk = self.chunk().await.expect("not the end");
            self.text.push_str(std::str::from_utf8(&chunk).expect("UTF-8"));
        }
    }
}

fn due_soon(name: &str) -> Value {
    with(&[
        ("/startTime", json!("2027-01-31T12:00:10Z")),
        ("/recurrence", Value::Null),
        ("/action/request/uri", json!(format!("http://{name}.test/"))),
    ])
}

#[tokio::test(start_paused = true)]
async fn attempts_are_told_when_they_begin_and_when_they_have_ended() {
    let door = Door::open(&[]);
    door.collection("c", "Standard").await;
    let mut stream = Stream::open(&door, "/api/events").await;
    let runner = Scripted::new(|_, attempt| match attempt {
        0 => Step::failure("x".repeat(1000)).after(Duration::from_secs(3)),
        _ => Step::success(),
    });
    let engine = door.start(Arc::new(runner));
    door.accepts("PUT", &job("c", "j"), &due_soon("a")).await;

    let (_, change) = stream.next(&["change"]).await;
    assert_eq!(change, json!({"id": id("c", "j"), "kind": "written"}));
    let (_, began) = stream.next(&["attempt"]).await;
    assert_eq!(
        (&began["phase"], &began["attempt"], &began["errorAction"]),
        (&json!("started"), &json!(1), &json!(false))
    );
    assert_eq!(
        (&began["id"], &began["collection"], &began["job"]),
        (&json!(id("c", "j")), &json!("c"), &json!("j"))
    );
    assert_eq!(began["expectedAt"], "2027-01-31T12:00:10Z");
    assert!(began["latenessMs"].as_u64().is_some_and(|late| late < 1000), "{began}");
    assert!(began.get("status").is_none());
    let (_, pulse) = stream.next(&["pulse"]).await;
    assert_eq!(pulse, json!({"running": 1}));
    // The call ends, then it is written; the pulse may come in between.
    let mut last = [stream.next(&["attempt", "pulse"]).await, stream.next(&["attempt", "pulse"]).await];
    last.sort_by(|one, other| one.0.cmp(&other.0));
    let [(_, ended), (_, pulse)] = last;
    assert_eq!(pulse, json!({"running": 0}));
    assert_eq!(
        (&ended["phase"], &ended["status"], &ended["tag"]),
        (&json!("ended"), &json!("failed"), &began["tag"])
    );
    assert_eq!(ended["message"].as_str().map(|text| text.chars().count()), Some(300));
    // What has ended is written already.
    let history = door.get(&job("c", "j/history")).await;
    assert_eq!(history["value"].as_array().map(Vec::len), Some(1));
    let (_, again) = stream.next(&["attempt"]).await;
    assert_eq!((&again["phase"], &again["attempt"]), (&json!("started"), &json!(2)));
    assert!(again["latenessMs"].as_u64().is_some_and(|late| late < 1000), "since the retry was due: {again}");
    let (_, done) = stream.next(&["attempt"]).await;
    assert_eq!((&done["phase"], &done["status"]), (&json!("ended"), &json!("completed")));

    door.app.live.stop();
    while let Some(chunk) = stream.chunk().await {
        assert!(!chunk.starts_with(b"event: attempt"), "{chunk:?}");
    }
    assert!(engine.stop().await);
}

#[tokio::test(start_paused = true)]
async fn changes_are_told_with_what_was_done() {
    let door = Door::open(&[]);
    let mut stream = Stream::open(&door, "/api/events").await;
    let c = collection("c").replace("?api-version=2016-03-01", "");
    let state = |state: &str| json!({"properties": {"state": state}});
    door.collection("c", "Standard").await;
    door.accepts("PUT", &job("c", "j"), &plain()).await;
    door.accepts("PATCH", &job("c", "j"), &state("Disabled")).await;
    door.accepts("PATCH", &job("c", "j"), &json!({"properties": {"recurrence": {"interval": 2}}})).await;
    door.call("POST", &collection("c").replace('?', "/disable?"), None).await;
    door.call("PUT", &job("c", "wrong"), Some(&json!({}))).await;
    door.call("DELETE", &job("c", "j"), None).await;
    door.call("DELETE", &collection("c"), None).await;
    let j = id("c", "j");
    for (id, kind) in [
        (&c, "written"),
        (&j, "written"),
        (&j, "switched"),
        (&j, "written"),
        (&c, "switched"),
        (&j, "deleted"),
        (&c, "deleted"),
    ] {
        assert_eq!(stream.next(&["change"]).await.1, json!({"id": id, "kind": kind}));
    }
}

#[tokio::test(start_paused = true)]
async fn a_stream_of_one_job_or_collection_has_nothing_else() {
    let door = Door::open(&[]);
    door.collection("c", "Standard").await;
    door.collection("d", "Standard").await;
    for (collection, name) in [("c", "j"), ("c", "jj"), ("d", "j")] {
        door.accepts("PUT", &job(collection, name), &due_soon(name)).await;
    }
    let d = collection("d").replace("?api-version=2016-03-01", "");
    let mut of_job = Stream::open(&door, &format!("/api/events?job={}", id("C", "J"))).await;
    let mut of_collection = Stream::open(&door, &format!("/api/events?collection={d}")).await;
    let engine = door.start(Arc::new(Scripted::new(|_, _| Step::success())));
    for (stream, id) in [(&mut of_job, id("c", "j")), (&mut of_collection, id("d", "j"))] {
        for phase in ["started", "ended"] {
            let (_, attempt) = stream.next(&["attempt"]).await;
            assert_eq!((&attempt["id"], &attempt["phase"]), (&json!(id), &json!(phase)));
        }
    }
    assert!(engine.stop().await);
    door.call("DELETE", &job("c", "jj"), None).await;
    door.call("DELETE", &job("d", "j"), None).await;
    door.call("DELETE", &collection("c"), None).await;
    let c = collection("c").replace("?api-version=2016-03-01", "");
    assert_eq!(
        of_job.next(&["attempt", "change"]).await.1,
        json!({"id": c, "kind": "deleted"}),
        "it went along"
    );
    assert_eq!(of_collection.next(&["attempt", "change"]).await.1["id"], json!(id("d", "j")));
}

#[tokio::test(start_paused = true)]
async fn a_slow_reader_is_told_what_it_lost() {
    let door = Door::open(&[]);
    let mut stream = Stream::open(&door, "/api/events").await;
    for n in 0..3000 {
        door.app.live.tell(ChangeKind::Written, || format!("/{n}"));
    }
    let mut last = None;
    let mut told = 0;
    let lost = loop {
        match stream.next(&["change", "lagged"]).await {
            (name, data) if name == "lagged" => break data["lost"].as_u64().expect("a number"),
            _ => told += 1,
        }
    };
    while last != Some(json!("/2999")) {
        last = Some(stream.next(&["change"]).await.1["id"].clone());
        told += 1;
    }
    assert!(lost > 0);
    assert_eq!(told + lost, 3000, "each is told or counted");
}

#[tokio::test(start_paused = true)]
async fn a_silent_stream_has_a_heartbeat() {
    let door = Door::open(&[]);
    let mut stream = Stream::open(&door, "/api/events").await;
    let began = tokio::time::Instant::now();
    let mut beats = Vec::new();
    while beats.len() < 3 {
        let chunk = stream.chunk().await.expect("not the end");
        if chunk.starts_with(b":") {
            beats.push(began.elapsed().as_secs());
        }
    }
    assert_eq!(beats, [0, 15, 30]);
}

#[tokio::test(start_paused = true)]
async fn streams_are_bounded_and_given_back() {
    let door = Door::open(&[]);
    let mut streams = Vec::new();
    for _ in 0..100 {
        streams.push(Stream::open(&door, "/api/events").await);
    }
    let refused = door.call("GET", "/api/events", None).await;
    assert_eq!((refused.status, &refused.body["error"]["code"]), (503, &json!("ServerBusy")));
    streams.pop();
    timeout(Duration::from_secs(60), async {
        while door.open_stream("/api/events").await.0 != 200 {
            tokio::task::yield_now().await;
        }
    })
    .await
    .expect("a place that was given back");
}

#[tokio::test(start_paused = true)]
async fn what_cannot_be_watched_is_refused() {
    let door = Door::open(&[]);
    door.collection("c", "Standard").await;
    let c = collection("c").replace("?api-version=2016-03-01", "");
    for (query, status, says) in [
        (format!("job={}", id("c", "j")), 404, "cannot be found"),
        (format!("collection={c}x"), 404, "was not found"),
        (format!("job={c}"), 400, "allowed: the id of a job"),
        (format!("collection={c}&job={}", id("c", "j")), 400, "only one of them"),
        ("jobs=x".to_owned(), 400, "'jobs' means nothing here"),
    ] {
        let answer = door.call("GET", &format!("/api/events?{query}"), None).await;
        assert_eq!(answer.status, status, "{query}: {}", answer.body);
        let message = answer.body["error"]["message"].as_str().expect("a message");
        assert!(message.contains(says), "{query}: {message}");
    }
}
