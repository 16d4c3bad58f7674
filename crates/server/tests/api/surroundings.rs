//! What clients ask the resource manager before they ask for a collection.

use serde_json::json;

use crate::world::{World, collection};

const VERSION: &str = "api-version=2021-04-01";

#[tokio::test]
async fn the_provider_is_registered_whatever_is_done() {
    let world = World::new();
    let path = "/subscriptions/S/providers/microsoft.scheduler";
    let read = world.get(&format!("{path}?api-version=2016-02-01")).await.expect(200);
    assert_eq!(read.body["namespace"], "Microsoft.Scheduler");
    assert_eq!(read.body["id"], "/subscriptions/S/providers/Microsoft.Scheduler");
    assert_eq!(read.body["registrationState"], "Registered");
    for verb in ["register", "Unregister"] {
        let changed = world.call("POST", &format!("{path}/{verb}?{VERSION}"), None).await.expect(200);
        assert_eq!(changed.body, read.body);
        world.get(&format!("{path}/{verb}?{VERSION}")).await.expect(405);
    }
    let list = world.get(&format!("/subscriptions/S/providers?{VERSION}")).await.expect(200);
    assert_eq!(list.body["value"], json!([read.body]));
    let other = format!("/subscriptions/S/providers/Microsoft.Web/register?{VERSION}");
    let refused = world.call("POST", &other, None).await.expect(404);
    assert_eq!(refused.body["error"]["code"], "InvalidResourceNamespace");
}

#[tokio::test]
async fn subscriptions_and_places() {
    let world = World::new();
    let list = format!("/subscriptions?{VERSION}");
    assert_eq!(world.get(&list).await.expect(200).body["value"], json!([]));
    world.put(&collection("c"), &json!({})).await.expect(201);
    world.put(&collection("c").replace("/s/", "/Other/"), &json!({})).await.expect(201);
    let listed = world.get(&list).await.expect(200);
    let ids: Vec<_> =
        listed.body["value"].as_array().expect("a list").iter().map(|s| &s["subscriptionId"]).collect();
    assert_eq!(ids, ["Other", "s"]);
    let one = world.get(&format!("/subscriptions/s?{VERSION}")).await.expect(200);
    assert_eq!(one.body, listed.body["value"][1]);
    assert_eq!(one.body["state"], "Enabled");

    let places = world.get(&format!("/subscriptions/s/locations?{VERSION}")).await.expect(200);
    assert!(places.names().contains(&"westus") && places.names().contains(&"local"));
}

#[tokio::test]
async fn operations_and_endpoints() {
    let world = World::new();
    let path = "/providers/Microsoft.Scheduler/operations?api-version=2016-03-01";
    let operations = world.get(path).await.expect(200);
    assert!(operations.names().contains(&"Microsoft.Scheduler/jobCollections/jobs/run/action"));

    let path = "/metadata/endpoints?api-version=";
    let old = world.get(&format!("{path}1.0")).await.expect(200);
    assert_eq!(old.body["authentication"]["loginEndpoint"], "http://punctual.test");
    let proxy = [("x-forwarded-proto", "https"), ("x-forwarded-host", "jobs.example.org")];
    let new = world.call_with("GET", &format!("{path}2022-09-01"), None, &proxy).await.expect(200);
    assert_eq!(new.body["resourceManager"], "https://jobs.example.org");
}

#[tokio::test]
async fn any_date_is_a_version_of_the_resource_manager() {
    let world = World::new();
    for version in ["2015-11-01", "2022-12-01", "2019-05-10-preview", "2099-01-01"] {
        world.get(&format!("/subscriptions?api-version={version}")).await.expect(200);
    }
    for version in ["1.0", "2021-4-1", "2021-04-01-", "2021-04-01preview", "latest", "2021-04-01-%C3%BC"] {
        let refused = world.get(&format!("/subscriptions?api-version={version}")).await.expect(400);
        assert_eq!(refused.body["error"]["code"], "InvalidApiVersionParameter", "{version}");
    }
    let missing = world.get("/subscriptions").await.expect(400);
    assert_eq!(missing.body["error"]["code"], "MissingApiVersionParameter");
}
