//! Clients of three api-versions on the same resources.

use serde_json::{Value, json};

use crate::world::{World, collection, within};

const VERSIONS: [&str; 3] = ["2016-03-01", "2016-01-01", "2014-08-01-preview"];

fn in_version(path: &str, version: &str) -> String {
    path.replace("2016-03-01", version)
}

fn plan(name: &str) -> Value {
    json!({"properties": {"sku": {"name": name}}})
}

#[tokio::test]
async fn what_one_version_wrote_the_others_read() {
    let world = World::new();
    for writer in VERSIONS {
        for (written, newest, older) in [
            ("Free", "Free", "Free"),
            ("Standard", "Standard", "Standard"),
            ("Premium", "P10Premium", "Premium"),
            ("P10Premium", "P10Premium", "Premium"),
            ("P20Premium", "P20Premium", "Premium"),
        ] {
            world.put(&in_version(&collection("c"), writer), &plan(written)).await.expect(201);
            for (reader, expected) in VERSIONS.into_iter().zip([newest, older, older]) {
                let read = world.get(&in_version(&collection("c"), reader)).await.expect(200);
                assert_eq!(read.body["properties"]["sku"]["name"], expected, "{writer} {reader}");
            }
            world.call("DELETE", &collection("c"), None).await.expect(200);
        }
    }
}

#[tokio::test]
async fn writing_back_what_was_read_changes_nothing() {
    let world = World::new();
    let quota = json!({"properties": {"sku": {"name": "P20Premium"}, "quota": {"maxJobCount": 900}}});
    let made = world.put(&collection("c"), &quota).await.expect(201);
    let old = in_version(&collection("c"), "2016-01-01");
    for method in ["PUT", "PATCH"] {
        let read = world.get(&old).await.expect(200);
        assert_eq!(read.body["properties"]["sku"]["name"], "Premium");
        let back = world.call(method, &old, Some(&read.body)).await;
        assert_eq!(back.body, read.body);
        assert_eq!(world.get(&collection("c")).await.body, made.body, "{method}");
    }
    // From Standard, Premium is the plan that it always was.
    world.put(&collection("d"), &plan("Standard")).await.expect(201);
    world.put(&in_version(&collection("d"), "2014-08-01-preview"), &plan("Premium")).await.expect(201);
    assert_eq!(world.get(&collection("d")).await.body["properties"]["sku"]["name"], "P10Premium");
}

#[tokio::test]
async fn jobs_are_the_same_in_every_version() {
    let world = World::new();
    world.put(&collection("c"), &json!({})).await.expect(201);
    let job = json!({"properties": {
        "action": {"type": "Http", "request": {"uri": "http://example.org/", "method": "GET"}},
        "recurrence": {"frequency": "Day"},
    }});
    let job = world.put(&within("c", "jobs/j"), &job).await.expect(201);
    for version in VERSIONS {
        let read = world.get(&in_version(&within("c", "jobs/j"), version)).await.expect(200);
        assert_eq!(read.text, job.text);
    }
}

#[tokio::test]
async fn unknown_versions_are_refused_with_those_known() {
    let world = World::new();
    for (path, code) in [
        (in_version(&collection("c"), "2015-01-01"), "InvalidApiVersionParameter"),
        (in_version(&collection("c"), "2016-03-01-preview"), "InvalidApiVersionParameter"),
        (in_version(&collection("c"), ""), "MissingApiVersionParameter"),
        (collection("c").replace("?api-version=2016-03-01", ""), "MissingApiVersionParameter"),
    ] {
        let reply = world.put(&path, &json!({})).await.expect(400);
        assert_eq!(reply.body["error"]["code"], code);
        let message = reply.body["error"]["message"].as_str().expect("a message");
        assert!(message.contains(&VERSIONS.join(", ")), "{message}");
    }
}
