//! Job collections that are read, patched and written.

mod common;

use model::{Collection, CollectionState, Plan, Plans};
use serde_json::{Value, json};
use wire::dialect::Dialect;

#[track_caller]
fn collection(body: &Value) -> Collection {
    let request = wire::collection::read(body, None, &Plans::default());
    request.unwrap_or_else(|faults| panic!("{body}: {faults}")).collection(common::path())
}

#[test]
fn what_is_sent_and_what_comes_back() {
    for (body, answered) in [
        (json!({}), r#""location":"Local","properties":{"sku":{"name":"Standard"},"state":"Enabled"}"#),
        (
            json!({"Name": "other", "Location": "southcentralus", "tags": {}, "properties": {"quota": {}, "sku": {}}}),
            r#""location":"South Central US","properties":{"sku":{"name":"Standard"},"state":"Enabled"}"#,
        ),
        (
            json!({"location": "here", "tags": {"b": "1", "a": "2"}, "properties": {
                "sku": {"name": "P20PREMIUM"}, "state": "suspended",
                "quota": {"maxJobCount": 1000, "maxJobOccurrence": 3, "maxRecurrence": {"frequency": "Minute"}},
            }}),
            r#""location":"here","tags":{"b":"1","a":"2"},"properties":{"sku":{"name":"P20Premium"},"state":"Suspended","quota":{"maxJobCount":1000,"maxJobOccurrence":3,"maxRecurrence":{"frequency":"minute","interval":1}}}"#,
        ),
        (
            json!({"location": null, "properties": {"sku": {"name": "premium"}, "state": "Disabled"}}),
            r#""location":"Local","properties":{"sku":{"name":"P10Premium"},"state":"Disabled"}"#,
        ),
    ] {
        let collection = collection(&body);
        let answer = wire::collection::write(&collection, Dialect::default());
        let expected = format!(
            r#"{{"id":"/subscriptions/sub/resourceGroups/Group/providers/Microsoft.Scheduler/jobCollections/Coll","type":"Microsoft.Scheduler/jobCollections","name":"Coll",{answered}}}"#
        );
        assert_eq!(answer.to_string(), expected, "{body}");
        let again = wire::collection::read(&answer, None, &Plans::default()).expect("an answer is a body");
        assert_eq!(again.ignored, [""; 0]);
        assert_eq!(again.collection(common::path()), collection, "{body}");
    }
    let body = json!({"etag": 1, "properties": {"Quota": {"maxJobs": 1}, "sku": {"tier": "x"}}});
    let ignored = wire::collection::read(&body, None, &Plans::default()).expect("a collection").ignored;
    assert_eq!(ignored, ["etag", "properties.sku.tier", "properties.Quota.maxJobs"]);
}

#[test]
fn patches() {
    let stored = collection(&json!({"location": "West US", "tags": {"a": "1", "b": "2"}, "properties": {
        "sku": {"name": "Standard"}, "state": "Suspended",
        "quota": {"maxJobCount": 20, "maxRecurrence": {"frequency": "hour", "interval": 2}},
    }}));
    let patch = |body: Value| wire::collection::patch(&stored, &body, &Plans::default());
    let patched = |body: Value| patch(body).expect("a collection").collection(common::path());
    assert_eq!(patched(json!({})), stored);
    let tags = Some(vec![("A".to_owned(), "3".to_owned()), ("b".to_owned(), "2".to_owned())]);
    assert_eq!(patched(json!({"Tags": {"A": "3"}})).tags, tags);
    assert_eq!(patched(json!({"tags": null})), Collection { tags: None, ..stored.clone() });
    assert_eq!(patched(json!({"tags": {"a": null, "b": null}})), Collection { tags: None, ..stored.clone() });
    let enabled = Collection { state: CollectionState::Enabled, ..stored.clone() };
    assert_eq!(patched(json!({"properties": {"state": "enabled"}})), enabled);
    assert_eq!(patched(json!({"properties": {"state": null}})), enabled);
    let premium = Collection { plan: Plan::P20Premium, ..stored.clone() };
    assert_eq!(patched(json!({"properties": {"sku": {"name": "P20Premium"}}})), premium);
    assert_eq!(patched(json!({"properties": {"quota": null}})), Collection { quota: None, ..stored.clone() });
    let quota =
        patched(json!({"properties": {"quota": {"maxRecurrence": {"interval": 3}}}})).quota.expect("a quota");
    assert_eq!((quota.max_job_count, quota.max_recurrence.map(|max| max.interval)), (Some(20), Some(3)));

    let faults = patch(json!({"properties": {"sku": {"name": "Free"}}})).expect_err("beyond the plan");
    assert_eq!(faults.iter().next().map(|fault| fault.field.as_str()), Some("properties.quota.maxJobCount"));
    assert!(patch(json!([])).is_err());
    assert!(patch(json!({"properties": []})).is_err());
}

#[test]
fn bodies_that_are_refused() {
    let quota = |quota: Value| json!({"properties": {"quota": quota}});
    let on_free = |quota: Value| json!({"properties": {"sku": {"name": "Free"}, "quota": quota}});
    let every = |frequency: &str, interval: Value| json!({"maxRecurrence": {"frequency": frequency, "interval": interval}});
    for (body, path, says) in [
        (json!(null), "document", "an object such as"),
        (json!([]), "document", "an object such as"),
        (json!({"location": 5}), "location", "the name of a region"),
        (json!({"location": "a", "Location": "b"}), "Location", "only one of them"),
        (json!({"tags": ["a"]}), "tags", "an object of texts"),
        (json!({"tags": {"a": 1}}), "tags.a", "a text"),
        (json!({"tags": {"": "a"}}), "tags", "at most 50 tags"),
        (json!({"tags": {"x".repeat(513): "a"}}), "tags", "names of 1 to 512"),
        (json!({"tags": {"a": "é".repeat(257)}}), "tags", "values of at most 256 characters"),
        (
            json!({"tags": (0..51).map(|n| (n.to_string(), json!(""))).collect::<serde_json::Map<_, _>>()}),
            "tags",
            "at most 50",
        ),
        (json!({"properties": "Standard"}), "properties", "an object such as"),
        (json!({"properties": {"sku": "Standard"}}), "properties.sku", "an object such as"),
        (
            json!({"properties": {"sku": {"name": "Gold"}}}),
            "properties.sku.name",
            "Free, Standard, P10Premium",
        ),
        (json!({"properties": {"state": "Deleted"}}), "properties.state", "Enabled, Disabled or Suspended"),
        (quota(json!(5)), "properties.quota", "an object such as"),
        (quota(json!({"maxJobCount": 0})), "properties.quota.maxJobCount", "from 1 to 50"),
        (quota(json!({"maxJobCount": 51})), "properties.quota.maxJobCount", "the most on the plan Standard"),
        (quota(json!({"maxJobCount": "5"})), "properties.quota.maxJobCount", "a whole number"),
        (on_free(json!({"maxJobCount": 6})), "properties.quota.maxJobCount", "from 1 to 5"),
        (quota(json!({"maxJobOccurrence": -1})), "properties.quota.maxJobOccurrence", "not negative"),
        (quota(json!({"maxRecurrence": {}})), "properties.quota.maxRecurrence.frequency", "missing"),
        (quota(every("second", json!(1))), "properties.quota.maxRecurrence.frequency", "minute, hour"),
        (quota(every("hour", json!(0))), "properties.quota.maxRecurrence.interval", "from 1 to 1000"),
        (quota(every("week", json!(79))), "properties.quota.maxRecurrence.interval", "from 1 to 78"),
        (
            on_free(every("minute", json!(59))),
            "properties.quota.maxRecurrence",
            "every 3600 seconds, as on the plan Free",
        ),
    ] {
        let faults = wire::collection::read(&body, None, &Plans::default()).expect_err("a fault");
        let found: Vec<_> = faults.iter().map(|fault| fault.field.as_str()).collect();
        assert_eq!(found, [path], "{body}");
        assert!(faults.to_string().contains(says), "{body}: {faults}");
    }
    for quota in [every("minute", json!(60)), every("hour", json!(1)), json!({"maxJobCount": 5})] {
        collection(&on_free(quota));
    }
    // A plan whose fastest is a day allows days, though some have only 23 hours.
    let mut plans = Plans::default();
    plans.standard.fastest = std::time::Duration::from_secs(24 * 3600);
    assert!(wire::collection::read(&quota(every("day", json!(1))), None, &plans).is_ok());
    assert!(wire::collection::read(&quota(every("hour", json!(23))), None, &plans).is_err());
}

#[test]
fn tags_up_to_their_limits_are_taken() {
    let tags: serde_json::Map<_, _> =
        (0..50).map(|n| (format!("{n:0>512}"), json!("é".repeat(256)))).collect();
    let request = wire::group::read(&json!({"tags": tags})).expect("allowed");
    assert_eq!(request.tags.map(|tags| tags.len()), Some(50));
    // What is too long is not sent back.
    let fault =
        wire::group::read(&json!({"tags": {"a": "x".repeat(400_000)}})).expect_err("refused").to_string();
    assert!(fault.len() < 300 && fault.contains("400000 characters"), "{fault}");
}
