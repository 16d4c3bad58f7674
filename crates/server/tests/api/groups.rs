//! Resource groups: clients make one first and delete it last.

use serde_json::{Value, json};

use crate::world::{World, collection, within};

fn group(name: &str) -> String {
    format!("/subscriptions/s/resourcegroups/{name}?api-version=2021-04-01")
}

const GROUPS: &str = "/subscriptions/s/resourcegroups?api-version=2021-04-01";

fn job() -> Value {
    json!({"properties": {"action": {"type": "Http", "request": {"uri": "http://example.org/", "method": "GET"}}}})
}

#[tokio::test]
async fn a_group_is_made_changed_and_deleted() {
    let world = World::new();
    world.call("HEAD", &group("g"), None).await.expect(404);
    let missing = world.get(&group("g")).await.expect(404);
    assert_eq!(missing.body["error"]["code"], "ResourceGroupNotFound");
    assert_eq!(missing.body["error"]["message"], "Resource group 'g' could not be found.");

    let body = json!({"location": "westus", "tags": {"Team": "a", "cost": "1"}, "managedBy": "x"});
    let made = world.put(&group("Gr%C3%B6up(1)"), &body).await.expect(201);
    assert_eq!(
        made.text,
        r#"{"id":"/subscriptions/s/resourceGroups/Gröup(1)","name":"Gröup(1)","type":"Microsoft.Resources/resourceGroups","location":"West US","tags":{"Team":"a","cost":"1"},"properties":{"provisioningState":"Succeeded"}}"#
    );
    assert_eq!(made.header("x-punctual-ignored"), Some("managedBy"));
    let made = world.put(&group("g"), &body).await.expect(201);
    let again = world.put(&group("G"), &body).await.expect(200);
    assert_eq!(again.body, made.body, "the case it was created with");
    let head = world.call("HEAD", &group("g"), None).await.expect(204);
    assert_eq!((head.text.as_str(), head.header("etag")), ("", again.header("etag")));

    let patch = json!({"tags": {"cost": null, "new": "2"}});
    let patched = world.call("PATCH", &group("g"), Some(&patch)).await.expect(200);
    assert_eq!(patched.body["tags"], json!({"Team": "a", "new": "2"}));
    assert_eq!(patched.body["location"], "West US");
    assert_eq!(world.get(&group("G")).await.expect(200).body, patched.body);

    let deleted = world.call("DELETE", &group("g"), None).await.expect(200);
    assert_eq!(deleted.text, "");
    world.call("DELETE", &group("g"), None).await.expect(404);
    world.call("PATCH", &group("g"), Some(&patch)).await.expect(404);
}

#[tokio::test]
async fn etags_guard_groups_as_everything_else() {
    let world = World::new();
    let body = json!({"location": "Local"});
    let with = |method: &'static str, name: &'static str, value: &str| {
        let (world, body, value) = (&world, &body, value.to_owned());
        async move {
            let body = (method != "GET" && method != "DELETE").then_some(body);
            world.call_with(method, &group("g"), body, &[(name, &value)]).await
        }
    };
    with("PUT", "if-match", "*").await.expect(412);
    let made = with("PUT", "if-none-match", "*").await.expect(201);
    let tag = made.header("etag").expect("a tag").to_owned();
    with("PUT", "if-none-match", "*").await.expect(412);
    with("GET", "if-none-match", &tag).await.expect(304);
    let changed = with("PATCH", "if-match", &tag).await.expect(200);
    with("DELETE", "if-match", &tag).await.expect(412);
    with("DELETE", "if-match", changed.header("etag").expect("a tag")).await.expect(200);
}

#[tokio::test]
async fn a_collection_needs_no_group_and_goes_with_it() {
    let world = World::new();
    world.put(&collection("c"), &json!({"location": "eastus"})).await.expect(201);
    world.put(&within("c", "jobs/j"), &job()).await.expect(201);
    let made = world.get(&group("G")).await.expect(200);
    assert_eq!((&made.body["name"], &made.body["location"]), (&json!("g"), &json!("East US")));

    world.call("DELETE", &group("g"), None).await.expect(200);
    world.get(&collection("c")).await.expect(404);
    world.get(&within("c", "jobs/j")).await.expect(404);
    let list = world.get(&collection("").replace("/?", "?")).await.expect(404);
    assert_eq!(list.body["error"]["code"], "ResourceGroupNotFound");
    world.put(&collection("c"), &json!({})).await.expect(201);
    assert_eq!(world.get(&within("c", "jobs")).await.expect(200).names(), [""; 0]);
}

#[tokio::test]
async fn groups_are_listed_in_pages_and_by_tag() {
    let world = World::new();
    for (name, tags) in [("b", json!({"Team": "x"})), ("A", json!({"team": "y"})), ("c", json!({}))] {
        world.put(&group(name), &json!({"location": "Local", "tags": tags})).await.expect(201);
    }
    assert_eq!(world.get(GROUPS).await.expect(200).names(), ["A", "b", "c"]);
    for (filter, names) in [
        ("tagName%20eq%20'team'", &["A", "b"][..]),
        ("tagname+eq+'TEAM'+and+tagvalue+eq+'x'", &["b"]),
        ("(tagName eq team) and (tagValue eq 'z')".replace(' ', "%20").as_str(), &[]),
    ] {
        let list = world.get(&format!("{GROUPS}&%24filter={filter}")).await.expect(200);
        assert_eq!(list.names(), names, "{filter}");
    }
    let refused = world.get(&format!("{GROUPS}&$filter=location%20eq%20'x'")).await.expect(400);
    assert!(refused.body["error"]["message"].as_str().expect("a message").contains("tagName eq"));

    let first = world.get(&format!("{GROUPS}&$top=2")).await.expect(200);
    assert_eq!(first.names(), ["A", "b"]);
    let next = first.body["nextLink"].as_str().expect("a link").strip_prefix("http://punctual.test");
    let second = world.get(next.expect("a link to us")).await.expect(200);
    assert_eq!((second.names(), &second.body["nextLink"]), (vec!["c"], &Value::Null));
}

#[tokio::test]
async fn resources_are_the_collections() {
    let world = World::new();
    world.put(&collection("c"), &json!({"location": "westus", "tags": {"a": "b"}})).await.expect(201);
    let other = collection("d").replace("/g/", "/h/");
    world.put(&other, &json!({})).await.expect(201);
    // Asked only whether it is there, with an empty segment where a parent could stand.
    let head = collection("c").replace("/jobCollections", "//jobCollections");
    let there = world.call("HEAD", &head, None).await.expect(204);
    assert!(there.text.is_empty() && there.header("etag").is_some());
    world.call("HEAD", &collection("missing"), None).await.expect(404);
    world.call("HEAD", &within("c", "jobs/missing"), None).await.expect(404);
    let of_group = "/subscriptions/s/resourceGroups/G/resources?api-version=2021-04-01";
    let of_all = "/subscriptions/s/resources?api-version=2021-04-01";
    assert_eq!(
        world.get(of_group).await.expect(200).body["value"],
        json!([{
            "id": "/subscriptions/s/resourceGroups/g/providers/Microsoft.Scheduler/jobCollections/c",
            "name": "c",
            "type": "Microsoft.Scheduler/jobCollections",
            "location": "West US",
            "tags": {"a": "b"},
        }])
    );
    assert_eq!(world.get(of_all).await.expect(200).names(), ["c", "d"]);
    let ours = "resourceType%20eq%20'microsoft.scheduler/jobcollections'";
    assert_eq!(world.get(&format!("{of_all}&$filter={ours}")).await.expect(200).names(), ["c", "d"]);
    let theirs = "resourceType%20eq%20'Microsoft.Web/sites'";
    assert_eq!(world.get(&format!("{of_all}&$filter={theirs}")).await.expect(200).names(), [""; 0]);
    assert_eq!(world.get(&format!("{of_all}&$top=1")).await.expect(200).names(), ["c"]);
    world.get(&of_group.replace("/G/", "/nowhere/")).await.expect(404);
    // What the Azure CLI sends for `az resource list`: plain, and with -g, --name, --location and --tag.
    for (filter, names) in [
        ("", vec!["c", "d"]),
        ("resourceGroup%20eq%20'g'", vec!["c"]),
        ("name%20eq%20'C'", vec!["c"]),
        ("name%20eq%20'other'", vec![]),
        ("resourceGroup%20eq%20'g'%20and%20name%20eq%20'other'", vec![]),
        ("location%20eq%20'westus'", vec!["c"]),
        ("tagname%20eq%20'a'%20and%20tagvalue%20eq%20'b'", vec!["c"]),
        ("tagname%20eq%20'a'%20and%20tagvalue%20eq%20'x'", vec![]),
    ] {
        let path = format!("{of_all}&$filter={filter}&$expand=createdTime,changedTime,provisioningState");
        assert_eq!(world.get(&path).await.expect(200).names(), names, "{filter}");
    }
    world.get(&format!("{of_all}&$filter=resourceGroup%20eq%20'nosuch'")).await.expect(404);
    world.get(&format!("{of_all}&$filter=plan%20eq%20'c'")).await.expect(400);
    let groups = of_all.replace("/resources?", "/resourceGroups?");
    assert_eq!(
        world.get(&format!("{groups}&$filter=")).await.expect(200).body["value"].as_array().map(Vec::len),
        Some(2)
    );
}

#[tokio::test]
async fn names_and_bodies_that_cannot_be() {
    let world = World::new();
    for name in ["a.", "a%20b", "a%3Fb", &"x".repeat(91)] {
        let refused = world.put(&group(name), &json!({})).await.expect(400);
        assert!(refused.body["error"]["message"].as_str().expect("a message").contains("allowed: 1 to 90"));
        // Nor does a collection bring such a group along.
        world.put(&collection("c").replace("/g/", &format!("/{name}/")), &json!({})).await.expect(400);
    }
    for body in [json!([]), json!({"location": 7}), json!({"tags": {"a": 1}}), json!({"tags": []})] {
        world.put(&group("g"), &body).await.expect(400);
    }
    world.get(&group("g")).await.expect(404);
    world.put(&group("g"), &json!({"tags": {"a": "b"}})).await.expect(201);
    for body in [json!([]), json!({"location": 7}), json!({"tags": {"a": 1}})] {
        world.call("PATCH", &group("g"), Some(&body)).await.expect(400);
    }
    assert_eq!(world.get(&group("g")).await.expect(200).body["tags"], json!({"a": "b"}));
    let reply = world.call("POST", &group("g"), None).await.expect(405);
    assert_eq!(reply.header("allow"), Some("GET, HEAD, PUT, PATCH, DELETE"));
}
