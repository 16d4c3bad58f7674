//! Who waits for whom, as callers with different roles see it.

use std::sync::Arc;
use std::time::Duration;

use access::Role;
use actions::scripted::{Scripted, Step};
use engine::{Bounds, Engine, Settings};
use serde_json::{Value, json};
use server::app::App;
use server::guard::{Guard, Patience};

use super::roles::{COLLECTION, put};
use super::world::World;

fn collection(name: &str) -> String {
    COLLECTION.replace("Collections/c", &format!("Collections/{name}"))
}

#[tokio::test]
async fn callers_see_names_of_their_part_and_the_rest_is_counted() {
    let mut live = None;
    let world = World::with(|app| {
        live = Some(Arc::clone(&app.live));
        App { guard: Arc::new(Guard::watchful(Vec::new(), Patience::default())), ..app }
    });
    let watched = live.expect("an app").watched.clone();
    let owner = world.token(Role::Owner, "/").await;
    for name in ["mine", "theirs"] {
        put(
            &world,
            &owner,
            &format!("{}?api-version=2016-03-01", collection(name)),
            &json!({"location": "x"}),
        )
        .await;
    }
    let run = async |name: &str, job: &str, host: &str| {
        let action = json!({"type": "Http", "request": {"method": "GET", "uri": format!("http://{host}/")}});
        let path = format!("{}/jobs/{job}?api-version=2016-03-01", collection(name));
        put(&world, &owner, &path, &json!({"properties": {"action": action}})).await;
    };
    let waiting =
        async |token: &str| world.as_holder(token, "GET", "/api/waiting", None).await.expect(200).body;
    let until = async |member: &str, count: u64| {
        while waiting(&owner).await[member] != json!(count) {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    // One call hangs, and two others wait for the target that it goes to.
    let settings =
        Settings { bounds: Bounds { overall: 10, per_collection: 10, per_target: 1 }, ..Settings::default() };
    let runner = Arc::new(Scripted::new(|_, _| Step::never()));
    let clock = world.clock.clone();
    let _engine = Engine::start_watched(world.store.clone(), runner, clock, settings, watched);
    run("theirs", "hangs", "shared.test").await;
    until("running", 1).await;
    run("mine", "waits", "shared.test").await;
    run("theirs", "waits", "shared.test").await;
    until("waiting", 2).await;

    let all = waiting(&owner).await;
    assert_eq!(all["partial"], json!(false));
    assert_eq!(all["waitingFor"], json!({"pool": 0, "target": 2, "collection": 0, "share": 0}));
    assert_eq!(all["queues"].as_array().map(Vec::len), Some(2));
    let theirs = json!([{"collection": collection("theirs"), "target": "shared.test:80", "calls": 1}]);
    assert_eq!(all["queues"][0]["heldBy"], theirs);

    let mine = waiting(&world.token(Role::Reader, &collection("mine")).await).await;
    assert!(!mine.to_string().contains("theirs"), "{mine}");
    assert_eq!((&mine["partial"], &mine["others"]), (&json!(true), &json!({"running": 1, "waiting": 1})));
    let queue = &mine["queues"][0];
    assert_eq!((&queue["collection"], &queue["waitsFor"]), (&json!(collection("mine")), &json!("target")));
    assert_eq!(queue["since"], json!("2027-01-01T00:00:00Z"));
    assert_eq!(queue["heldBy"], json!([{"collection": null, "target": "shared.test:80", "calls": 1}]));

    let stranger = waiting(&world.token(Role::Owner, "/subscriptions/other").await).await;
    assert!(!stranger.to_string().contains("shared") && !stranger.to_string().contains("mine"), "{stranger}");
    let lists: Vec<&Value> =
        ["queues", "collections", "targets", "subscriptions"].map(|list| &stranger[list]).to_vec();
    assert_eq!(lists, [&json!([]); 4]);
    assert_eq!(stranger["others"], json!({"running": 1, "waiting": 2}));
}
