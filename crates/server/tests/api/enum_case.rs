//! Enum values in the case that a client, or the operator, asks for.

use serde_json::{Value, json};
use server::app::App;
use wire::dialect::EnumCase;

use crate::world::{World, collection, within};

const HEADER: &str = "x-punctual-enum-case";

fn body() -> Value {
    json!({"properties": {
        "action": {"type": "http", "request": {"uri": "http://example.org/", "method": "GET"}},
        "recurrence": {"frequency": "week", "schedule": {"weekDays": ["friday"]}},
    }})
}

fn words(job: &Value) -> [&Value; 3] {
    let properties = &job["properties"];
    let recurrence = &properties["recurrence"];
    [&properties["state"], &recurrence["frequency"], &recurrence["schedule"]["weekDays"][0]]
}

const AZURE: [&str; 3] = ["enabled", "week", "friday"];
const PASCAL: [&str; 3] = ["Enabled", "Week", "Friday"];

#[tokio::test]
async fn the_header_decides_and_then_the_setting() {
    let plain = World::new();
    let pascal = World::with(|app| App { enum_case: EnumCase::Pascal, ..app });
    for (world, usual) in [(plain, AZURE), (pascal, PASCAL)] {
        world.put(&collection("c"), &json!({})).await.expect(201);
        for (header, expected) in [(None, usual), (Some("Pascal"), PASCAL), (Some("azure"), AZURE)] {
            let headers: Vec<_> = header.map(|value| (HEADER, value)).into_iter().collect();
            let path = within("c", "jobs/j");
            let put = world.call_with("PUT", &path, Some(&body()), &headers).await;
            assert_eq!(words(&put.body), expected);
            let patch = json!({"properties": {"state": "enabled"}});
            let patched = world.call_with("PATCH", &path, Some(&patch), &headers).await;
            assert_eq!(words(&patched.body), expected);
            let got = world.call_with("GET", &path, None, &headers).await;
            assert_eq!(words(&got.body), expected);
            let list = world.call_with("GET", &within("c", "jobs"), None, &headers).await;
            assert_eq!(words(&list.body["value"][0]), expected);
        }
    }
}

#[tokio::test]
async fn another_word_is_refused_and_changes_nothing() {
    let world = World::new();
    let reply =
        world.call_with("PUT", &collection("c"), Some(&json!({})), &[(HEADER, "camel")]).await.expect(400);
    assert_eq!(
        reply.body["error"]["message"],
        "The header x-punctual-enum-case is 'camel'; allowed: azure or pascal."
    );
    world.get(&collection("c")).await.expect(404);
}
