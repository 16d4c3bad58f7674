//! The state of a collection is a switch: only who speaks of it uses it.

use serde_json::{Value, json};

use super::door::{Door, collection};

async fn state(door: &Door) -> Value {
    door.get(&collection("c")).await["properties"]["state"].clone()
}

/// A template that is deployed every night does not switch on what an operator has switched off.
#[tokio::test(start_paused = true)]
async fn a_put_without_state_leaves_the_switch_alone() {
    let door = Door::open(&[]);
    let described = json!({"location": "Local", "tags": {"team": "billing"}, "properties": {"sku": {"name": "Standard"}}});
    let stated = |state: &str| json!({"location": "Local", "properties": {"state": state}});
    door.accepts("PUT", &collection("c"), &described).await;
    assert_eq!(state(&door).await, "Enabled", "a new one is on");

    assert_eq!(door.call("POST", &collection("c").replace('?', "/disable?"), None).await.status, 200);
    for body in [described.clone(), json!({"location": "Local"}), json!({"properties": {"state": null}})] {
        let answer = door.accepts("PUT", &collection("c"), &body).await;
        assert_eq!(answer.body["properties"]["state"], "Disabled");
        assert_eq!(state(&door).await, "Disabled", "{body}");
    }
    assert!(door.get(&collection("c")).await["tags"].is_null(), "everything else was replaced");
    door.accepts("PUT", &collection("c"), &stated("Enabled")).await;
    assert_eq!(state(&door).await, "Enabled", "whoever says it means it");
    door.accepts("PUT", &collection("c"), &stated("Suspended")).await;
    door.accepts("PUT", &collection("c"), &described).await;
    assert_eq!(state(&door).await, "Suspended");
    door.accepts("PATCH", &collection("c"), &json!({"tags": {"a": "b"}})).await;
    assert_eq!(state(&door).await, "Suspended");
    // A removed state is the usual one.
    door.accepts("PATCH", &collection("c"), &json!({"properties": {"state": null}})).await;
    assert_eq!(state(&door).await, "Enabled");

    assert_eq!(door.call("POST", &collection("c").replace('?', "/disable?"), None).await.status, 200);
    assert_eq!(door.call("DELETE", &collection("c"), None).await.status, 200);
    door.accepts("PUT", &collection("c"), &described).await;
    assert_eq!(state(&door).await, "Enabled", "a deleted one is not remembered");
}
