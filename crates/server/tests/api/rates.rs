//! Request rates: what is left is told, and what is used up is refused.

use std::num::NonZeroU32;
use std::time::Duration;

use serde_json::json;
use server::app::App;
use server::rates::Budget;

use crate::world::{Reply, World, collection, within};

const BURST_READS: &str = "x-ms-ratelimit-burst-remaining-scheduler-reads";
const BURST_WRITES: &str = "x-ms-ratelimit-burst-remaining-scheduler-writes";
const READS: &str = "x-ms-ratelimit-remaining-subscription-reads";
const WRITES: &str = "x-ms-ratelimit-remaining-subscription-writes";
const RESOURCES: &str = "x-ms-ratelimit-remaining-subscription-resource-requests";

fn world(reads: u32, writes: u32) -> World {
    let some = |count| NonZeroU32::new(count).expect("some");
    let budget = Budget { reads: some(reads), writes: some(writes), window: Duration::from_secs(60) };
    World::with(|app| App { budget, ..app })
}

/// The rate headers of an answer, in the order of their names.
fn rates(reply: &Reply) -> Vec<(&str, &str)> {
    let mut rates: Vec<_> = reply
        .headers
        .keys()
        .map(axum::http::HeaderName::as_str)
        .filter(|name| name.starts_with("x-ms-ratelimit"))
        .map(|name| (name, reply.header(name).expect("a value")))
        .collect();
    rates.sort_unstable();
    rates
}

#[tokio::test]
async fn each_method_has_the_headers_that_were_recorded() {
    let world = world(100, 100);
    let put = world.put(&collection("c"), &json!({})).await.expect(201);
    assert_eq!(rates(&put), [(BURST_WRITES, "99"), (RESOURCES, "99")]);
    let patch = world.call("PATCH", &collection("c"), Some(&json!({}))).await.expect(200);
    assert_eq!(rates(&patch), [(BURST_WRITES, "98"), (RESOURCES, "98")]);
    let get = world.get(&collection("c")).await.expect(200);
    assert_eq!(rates(&get), [(BURST_READS, "99"), (READS, "99")]);
    let post = world.call("POST", &collection("c").replace('?', "/disable?"), None).await.expect(200);
    assert_eq!(rates(&post), [(BURST_WRITES, "97"), (WRITES, "97")]);
    let missing_job = world.get(&within("c", "jobs/j")).await.expect(404);
    assert_eq!(rates(&missing_job), [(BURST_READS, "98"), (READS, "98")]);
    let refused = world.put(&within("c", "jobs/j"), &json!([])).await.expect(400);
    assert_eq!(rates(&refused), [(BURST_WRITES, "96"), (RESOURCES, "96")]);
    let delete = world.call("DELETE", &collection("c"), None).await.expect(200);
    assert_eq!(rates(&delete), [(BURST_WRITES, "95"), (WRITES, "95")]);

    // A missing collection was the resource manager's to tell, which counted nothing; here it counts.
    let missing = world.get(&collection("c")).await.expect(404);
    assert_eq!(rates(&missing), []);
    assert_eq!(missing.header("x-ms-failure-cause"), Some("gateway"));
    // What is around the scheduler takes from the same budget.
    let group = world.get("/subscriptions/s/resourceGroups/g?api-version=2021-04-01").await.expect(200);
    assert_eq!(rates(&group), [(READS, "96")]);
    // What belongs to no subscription takes from none.
    assert_eq!(rates(&world.get("/healthz").await.expect(200)), []);
    assert_eq!(rates(&world.get("/api/ledger").await.expect(200)), []);
}

#[tokio::test]
async fn what_is_used_up_is_refused_until_the_window_is_over() {
    let world = world(3, 2);
    world.put(&collection("c"), &json!({})).await.expect(201);
    world.put(&collection("d"), &json!({})).await.expect(201);
    world.clock.set("2027-01-01T00:00:20Z".parse().expect("a timestamp"));
    let refused = world.put(&collection("e"), &json!({})).await.expect(429);
    assert_eq!(refused.body["error"]["code"], "TooManyRequests");
    assert_eq!(refused.header("retry-after"), Some("40"));
    assert_eq!(rates(&refused), [(BURST_WRITES, "0"), (RESOURCES, "0")]);
    world.call("DELETE", &collection("c"), None).await.expect(429);
    world.get(&collection("c")).await.expect(200);
    world.get(&collection("e")).await.expect(404);
    world.put(&collection("e").replace("/s/", "/other/"), &json!({})).await.expect(201);

    world.clock.set("2027-01-01T00:01:00Z".parse().expect("a timestamp"));
    world.put(&collection("e"), &json!({})).await.expect(201);
}

#[tokio::test]
async fn every_answer_names_its_request() {
    let world = World::new();
    let given = [
        ("x-ms-correlation-request-id", "3f2504e0-4f89-11d3-9a0c-0305e82c3301"),
        ("x-ms-client-request-id", "mine"),
        ("x-ms-return-client-request-id", "true"),
    ];
    for (method, path, status) in [
        ("PUT", collection("c"), 201),
        ("GET", collection("c"), 200),
        ("GET", collection("missing"), 404),
        ("GET", within("c", "jobs/missing"), 404),
        ("GET", "/nothing/here".to_owned(), 404),
        ("POST", collection("c"), 405),
        ("GET", collection("c").replace("2016-03-01", "x"), 400),
        ("DELETE", collection("c"), 200),
    ] {
        let body = (method == "PUT").then(|| json!({}));
        let reply = world.call_with(method, &path, body.as_ref(), &given).await.expect(status);
        let request = reply.header("x-ms-request-id").expect("an id");
        assert_eq!(request.len(), 36, "{request}");
        assert_eq!(reply.header("x-ms-correlation-request-id"), Some(given[0].1));
        let routing = format!("PUNCTUAL:20270101T000000Z:{}", given[0].1);
        assert_eq!(reply.header("x-ms-routing-request-id"), Some(routing.as_str()));
        assert_eq!(reply.header("x-ms-client-request-id"), Some("mine"));
        assert_eq!(reply.header("cache-control"), Some("no-cache"));
        assert_eq!(reply.header("pragma"), Some("no-cache"));
        assert_eq!(reply.header("expires"), Some("-1"));
        if !reply.text.is_empty() {
            assert_eq!(reply.header("content-type"), Some("application/json; charset=utf-8"));
        }
    }
    let silent = world.call_with("GET", &collection("c"), None, &[("x-ms-client-request-id", "mine")]).await;
    assert_eq!(silent.header("x-ms-client-request-id"), None);
}
