//! Import over HTTP: what is planned against what is there, and what happens when somebody else is faster.

use serde_json::{Value, json};
use server::app::App;
use server::app::import::{Import, Verdict};
use template::Place;

use super::world::World;

const BASE: &str = "/subscriptions/s/resourceGroups/g/providers/Microsoft.Scheduler/jobCollections/c";
const IMPORT: &str = "/api/import?subscription=s&group=g";

fn job(name: &str, frequency: &str) -> Value {
    json!({"type": "Microsoft.Scheduler/jobCollections/jobs", "name": format!("c/{name}"), "properties": {
        "startTime": "2027-02-01T00:00:00Z",
        "action": {"type": "Http", "request": {"uri": "http://example.org/", "method": "GET"}},
        "recurrence": {"frequency": frequency},
    }})
}

fn collection(plan: &str) -> Value {
    json!({"type": "Microsoft.Scheduler/jobCollections", "name": "c", "properties": {"sku": {"name": plan}}})
}

#[tokio::test]
async fn a_resource_that_changed_meanwhile_is_not_overwritten() {
    let world = World::new();
    let list = json!([collection("Standard"), job("a", "day"), job("b", "day")]);
    world.call("POST", IMPORT, Some(&list)).await.expect(200);

    let app = App::new(world.store.clone(), world.clock.clone());
    let document = json!([job("a", "week"), job("b", "week"), job("new", "week")]);
    let place = Place { subscription: "s".into(), group: "g".into(), deployment: "d".into() };
    let plan = app.plan_import(Import { document, parameters: None, place }).await.expect("a plan");
    let verdicts: Vec<Verdict> = plan.steps.iter().map(|step| step.verdict).collect();
    assert_eq!(verdicts, [Verdict::Change, Verdict::Change, Verdict::Create]);

    for name in ["b", "new"] {
        let path = format!("{BASE}/jobs/{name}?api-version=2016-03-01");
        world.put(&path, &job(name, "month")).await;
    }
    app.carry_out(&plan.steps[0]).await.expect("nobody touched it");
    for (step, name) in [(1, "b"), (2, "new")] {
        let problem = app.carry_out(&plan.steps[step]).await.expect_err("somebody was faster");
        assert_eq!(problem.status, 412, "{problem:?}");
        let there = world.get(&format!("{BASE}/jobs/{name}?api-version=2016-03-01")).await;
        assert_eq!(there.body["properties"]["recurrence"]["frequency"], "month");
    }
}

#[tokio::test]
async fn quotas_are_those_of_what_would_be_there() {
    let world = World::new();
    // Five jobs fit into a free collection, and none may be faster than an hour.
    let jobs =
        |many: usize, frequency: &'static str| (0..many).map(move |i| job(&format!("j{i}"), frequency));
    let list = |plan: &str, many, frequency| -> Value {
        std::iter::once(collection(plan)).chain(jobs(many, frequency)).collect()
    };
    let full = world.call("POST", IMPORT, Some(&list("Free", 6, "day"))).await.expect(409);
    assert_eq!(full.body["error"]["details"][0]["target"], "[6]", "{}", full.text);
    let fast = world.call("POST", IMPORT, Some(&list("Free", 1, "minute"))).await.expect(409);
    assert!(fast.text.contains("[1].properties.recurrence"), "{}", fast.text);
    let orphan = world.call("POST", IMPORT, Some(&json!([job("a", "day")]))).await.expect(400);
    assert!(orphan.text.contains("there is no job collection 'c'"), "{}", orphan.text);
    world.get(&format!("{BASE}?api-version=2016-03-01")).await.expect(404);

    world.call("POST", IMPORT, Some(&list("Standard", 1, "minute"))).await.expect(200);
    let smaller = world.call("POST", IMPORT, Some(&json!([collection("Free")]))).await.expect(409);
    assert_eq!(smaller.body["error"]["details"][0]["target"], "[0]", "{}", smaller.text);
}

#[tokio::test]
async fn what_is_asked_for_wrongly_is_refused() {
    let world = World::new();
    let list = json!([collection("Standard")]);
    for (path, body, words) in [
        ("/api/import?group=g", &list, "subscription: missing"),
        ("/api/import?subscription=s", &list, "group: missing"),
        ("/api/import?subscription=s&group=a/b", &list, "a name without slashes"),
        ("/api/import?subscription=s&group=g&dryRun=maybe", &list, "allowed: true or false"),
        (IMPORT, &json!({"a": 1}), "the document: allowed: a template"),
        ("/api/import?subscription=s&group=g.", &list, "resource group"),
    ] {
        let refused = world.call("POST", path, Some(body)).await.expect(400);
        assert!(refused.text.contains(words), "{path}: {}", refused.text);
    }
    world.get("/api/export").await.expect(400);
    world.get("/api/export?subscription=s&collection=c").await.expect(400);
    world.get("/api/export?subscription=s&group=nowhere").await.expect(404);
}
