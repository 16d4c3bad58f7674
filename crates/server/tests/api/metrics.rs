//! What is told at `/metrics`, held against runs whose numbers are known.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use actions::scripted::{Scripted, Step};
use axum::body::{Body, to_bytes};
use axum::http::{HeaderMap, Request};
use serde_json::{Value, json};
use tokio::time::{sleep, timeout};
use tower::ServiceExt as _;

use super::door::{Door, id, job, with};

/// The samples of a page.
struct Page {
    text: String,
    samples: BTreeMap<String, f64>,
}

impl Page {
    async fn of(door: &Door) -> Self {
        let (headers, text) = ask(door.router.clone(), "/metrics", "*/*").await;
        assert_eq!(headers["content-type"], "text/plain; version=0.0.4; charset=utf-8");
        let samples = text.lines().filter(|line| !line.starts_with('#')).map(|line| {
            let (name, value) = line.rsplit_once(' ').expect("a value");
            (name.to_owned(), value.parse().unwrap_or_else(|_| panic!("{line}")))
        });
        Self { samples: samples.collect(), text }
    }

    #[track_caller]
    fn of_sample(&self, name: &str) -> f64 {
        *self.samples.get(name).unwrap_or_else(|| panic!("there is no {name} in {}", self.text))
    }

    /// A sample of a collection's, with what comes after its names.
    #[track_caller]
    fn of_collection(&self, family: &str, collection: &str, rest: &str) -> f64 {
        let (subscription, group) = if collection == "other" { ("", "") } else { ("s", "g") };
        let labels =
            format!("subscription=\"{subscription}\",resource_group=\"{group}\",collection=\"{collection}\"");
        self.of_sample(&format!("{family}{{{labels}{rest}}}"))
    }

    fn families(&self) -> BTreeSet<&str> {
        let types = self.text.lines().filter_map(|line| line.strip_prefix("# TYPE "));
        types.map(|line| line.split(' ').next().unwrap_or_default()).collect()
    }
}

async fn ask(router: axum::Router, path: &str, accept: &str) -> (HeaderMap, String) {
    let request = Request::builder().uri(path).header("accept", accept).header("host", "localhost");
    let request = request.body(Body::empty()).expect("a request");
    let (head, body) = router.oneshot(request).await.expect("infallible").into_parts();
    let bytes = to_bytes(body, usize::MAX).await.expect("a whole body");
    (head.headers, String::from_utf8(bytes.to_vec()).expect("UTF-8"))
}

/// A job that runs once, ten seconds from now.
fn once(more: &[(&str, Value)]) -> Value {
    let mut members = vec![("/startTime", json!("2027-01-31T12:00:10Z")), ("/recurrence", Value::Null)];
    members.extend_from_slice(more);
    with(&members)
}

/// Waits until so many occurrences are in the ledger.
async fn settled(door: &Door, count: usize) {
    let all = async {
        while door.get("/api/ledger").await["value"].as_array().expect("a list").len() < count {
            sleep(Duration::from_millis(100)).await;
        }
    };
    timeout(Duration::from_secs(600), all).await.expect("in time");
}

#[tokio::test(start_paused = true)]
async fn what_ran_is_what_is_told() {
    let door = Door::open(&[("PUNCTUAL_METRICS_COLLECTIONS", "2")]);
    // Each call takes three seconds; those of `bad` fail, and so does the first of `again`.
    let runner = Scripted::new(|order, attempt| {
        let fails = order.job == "bad" || (order.job == "again" && attempt == 0);
        let step = if fails { Step::failure("no") } else { Step::success() };
        step.after(Duration::from_secs(3))
    });
    let engine = door.start(Arc::new(runner));
    for collection in ["c", "d", "e", "f"] {
        door.collection(collection, "Standard").await;
    }
    let retries = |count: i64| json!({"retryType": "Fixed", "retryInterval": "PT15S", "retryCount": count});
    let error_action = json!({
        "type": "Http",
        "request": {"method": "GET", "uri": "http://sorry.test/"},
        "retryPolicy": {"retryType": "None"},
    });
    for (collection, name, body) in [
        ("c", "good", once(&[])),
        ("c", "again", once(&[("/action/retryPolicy", retries(2))])),
        ("c", "bad", once(&[("/action/retryPolicy", retries(1)), ("/action/errorAction", error_action)])),
    ] {
        door.accepts("PUT", &job(collection, name), &body).await;
    }
    settled(&door, 3).await;
    // What comes later than the first two collections is counted together.
    for collection in ["d", "e", "f"] {
        door.accepts(
            "PUT",
            &job(collection, "good"),
            &once(&[("/startTime", json!("2027-01-31T13:00:00Z"))]),
        )
        .await;
        sleep(Duration::from_secs(1)).await;
    }
    sleep(Duration::from_secs(3600)).await;
    settled(&door, 6).await;
    let page = Page::of(&door).await;

    let settled = |collection, fate: &str| {
        page.of_collection("punctual_settled_total", collection, &format!(",fate=\"{fate}\""))
    };
    assert_eq!([settled("c", "ran"), settled("c", "ranLate"), settled("c", "faulted")], [2.0, 0.0, 1.0]);
    assert_eq!(settled("other", "ran") + 1.0, 3.0, "one of the three had room: {}", page.text);
    let calls = |collection, outcome: &str| {
        page.of_collection("punctual_calls_total", collection, &format!(",outcome=\"{outcome}\""))
    };
    // good once, again twice, bad twice, and its error action, which carries the job's name.
    assert_eq!([calls("c", "succeeded"), calls("c", "failed")], [2.0, 4.0]);
    assert_eq!(page.of_collection("punctual_lateness_seconds_count", "c", ""), 3.0);
    assert_eq!(page.of_sample("punctual_retries_total"), 2.0);
    assert_eq!(page.of_sample("punctual_error_actions_total"), 1.0);
    for (fate, count) in [("ran", 5.0), ("ranLate", 0.0), ("faulted", 1.0), ("skipped", 0.0), ("missed", 0.0)]
    {
        assert_eq!(
            page.of_sample(&format!("punctual_occurrences_total{{fate=\"{fate}\"}}")),
            count,
            "{fate}"
        );
    }
    let durations = |outcome: &str, rest: &str| {
        page.of_sample(&format!(
            "punctual_call_duration_seconds{rest}{{kind=\"http\",outcome=\"{outcome}\"}}"
        ))
    };
    assert_eq!([durations("succeeded", "_count"), durations("failed", "_count")], [5.0, 4.0]);
    // Three seconds each, and the milliseconds that a simulated clock is off by.
    assert_eq!([durations("succeeded", "_sum").round(), durations("failed", "_sum").round()], [15.0, 12.0]);
    for name in ["punctual_calls_under_way", "punctual_calls_queued", "punctual_claims_waiting"] {
        assert_eq!(page.of_sample(name), 0.0, "{name}");
    }
    for (name, count) in
        [("punctual_jobs", 6.0), ("punctual_job_collections", 4.0), ("punctual_executions", 0.0)]
    {
        assert_eq!(page.of_sample(name), count, "{name}");
    }
    let asked = |method: &str, status: u16| {
        format!("punctual_api_requests_total{{resource=\"job\",method=\"{method}\",status=\"{status}\"}}")
    };
    assert_eq!(page.of_sample(&asked("PUT", 201)), 6.0);
    assert_eq!(page.of_sample("punctual_claim_size_sum"), 9.0, "three retries and error actions among them");
    assert_eq!(page.of_sample("punctual_settlement_size_sum"), 9.0);
    assert_eq!(page.of_sample("punctual_store_up"), 1.0);
    assert!(engine.stop().await);
}

/// What is due waits where nobody may call, and is told as waiting.
#[tokio::test(start_paused = true)]
async fn what_waits_is_told() {
    let door = Door::open(&[("PUNCTUAL_ENGINE_CALLS", "1")]);
    let runner = Scripted::new(|_, _| Step::success().after(Duration::from_secs(100)));
    let engine = door.start(Arc::new(runner));
    door.collection("c", "Standard").await;
    for name in ["a", "b", "c"] {
        door.accepts("PUT", &job("c", name), &once(&[])).await;
    }
    sleep(Duration::from_secs(60)).await;
    let page = Page::of(&door).await;
    assert_eq!(page.of_sample("punctual_calls_under_way"), 1.0);
    assert_eq!(page.of_sample("punctual_calls_queued"), 2.0);
    let waiting = |wait: &str| page.of_sample(&format!("punctual_calls_waiting{{for=\"{wait}\"}}"));
    assert_eq!(["pool", "target", "collection", "share"].map(waiting), [2.0, 0.0, 0.0, 0.0]);
    // They were due ten seconds after the start.
    assert_eq!(page.of_sample("punctual_calls_waiting_seconds").round(), 50.0);
    for by in ["subscription", "collection", "target"] {
        assert_eq!(page.of_sample(&format!("punctual_calls_held_most{{by=\"{by}\"}}")), 1.0, "{by}");
    }
    assert_eq!(page.of_sample("punctual_calls_limit"), 1.0);
    let told = door.get("/api/waiting").await;
    let collection = id("c", "").trim_end_matches("/jobs/").to_owned();
    assert_eq!((&told["running"], &told["waiting"]), (&json!(1), &json!(2)));
    assert_eq!(told["waitingFor"], json!({"pool": 2, "target": 0, "collection": 0, "share": 0}));
    assert_eq!(told["limits"], json!({"calls": 1, "callsPerCollection": 200, "callsPerTarget": 100}));
    assert_eq!(told["collections"], json!([{"collection": collection, "running": 1, "waiting": 2}]));
    let queue = &told["queues"][0];
    assert_eq!((&queue["collection"], &queue["waitsFor"]), (&json!(collection), &json!("pool")));
    assert_eq!(queue["heldBy"], json!([{"collection": collection, "target": null, "calls": 1}]));
    settled(&door, 3).await;
    // The second waited for the first, the third for both.
    let page = Page::of(&door).await;
    let lateness = page.of_collection("punctual_lateness_seconds_sum", "c", "");
    assert_eq!(lateness.round(), 300.0);
    let below = |bound: &str| {
        page.of_collection("punctual_lateness_seconds_bucket", "c", &format!(",le=\"{bound}\""))
    };
    assert_eq!([below("60.0"), below("300.0"), below("+Inf")], [1.0, 3.0, 3.0]);
    assert_eq!(page.of_collection("punctual_settled_total", "c", ",fate=\"ranLate\""), 2.0);
    assert!(engine.stop().await);
}

#[tokio::test(start_paused = true)]
async fn who_accepts_openmetrics_gets_it() {
    let door = Door::open(&[]);
    let accept = "application/openmetrics-text;version=1.0.0,text/plain;version=0.0.4;q=0.5";
    let (headers, text) = ask(door.router.clone(), "/metrics", accept).await;
    assert_eq!(headers["content-type"], "application/openmetrics-text; version=1.0.0; charset=utf-8");
    assert!(text.ends_with("\n# EOF\n") && text.contains("# TYPE punctual_retries counter\n"), "{text}");
}

#[tokio::test(start_paused = true)]
async fn where_metrics_are_told_is_the_operators_choice() {
    let off = Door::open(&[("PUNCTUAL_METRICS_ENABLED", "false")]);
    let apart = Door::open(&[("PUNCTUAL_METRICS_LISTEN", "127.0.0.1:0")]);
    for door in [&off, &apart] {
        assert_eq!(door.call("GET", "/metrics", None).await.status, 404);
    }
    let watching = server::http::watching_router(apart.app.clone());
    let (_, text) = ask(watching.clone(), "/metrics", "*/*").await;
    assert!(text.contains("punctual_build_info"), "{text}");
    let (_, health) = ask(watching.clone(), "/healthz", "*/*").await;
    assert!(health.contains("\"ok\""), "{health}");
    for path in ["/", "/api/ledger", "/subscriptions?api-version=2016-03-01"] {
        let (_, refused) = ask(watching.clone(), path, "*/*").await;
        assert!(refused.contains("NotFound"), "{path}: {refused}");
    }
}

/// The page about them lists every family, and no other.
#[tokio::test(start_paused = true)]
async fn every_family_is_described() {
    const PAGE: &str = include_str!("../../../../docs/observing.md");
    let door = Door::open(&[]);
    let page = Page::of(&door).await;
    let rows = PAGE.lines().filter_map(|line| line.strip_prefix("| `"));
    let listed: BTreeSet<&str> = rows.filter_map(|row| row.split('`').next()).collect();
    let listed: BTreeSet<&str> = listed
        .into_iter()
        .filter(|name| name.starts_with("punctual_") || name.starts_with("process_"))
        .collect();
    assert_eq!(page.families(), listed);
}
