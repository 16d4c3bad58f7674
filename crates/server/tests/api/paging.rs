//! Lists: pages that lead on, filters in every spelling, links that the client can follow.

use serde_json::{Value, json};

use crate::world::{Reply, World, collection, within};

async fn filled() -> World {
    let world = World::new();
    for name in ["c", "D", "e"] {
        world.put(&collection(name), &json!({})).await.expect(201);
    }
    world.put(&collection("f").replace("/g/", "/Other/"), &json!({})).await.expect(201);
    let job = |state: &str| {
        let action = json!({"type": "Http", "request": {"uri": "http://example.org/", "method": "GET"}});
        json!({"properties": {"action": action, "state": state, "recurrence": {"frequency": "day"}}})
    };
    for name in ["j1", "J2", "j3", "j4", "j5"] {
        world.put(&within("c", &format!("jobs/{name}")), &job("enabled")).await.expect(201);
    }
    for name in ["k1", "K2"] {
        world.put(&within("c", &format!("jobs/{name}")), &job("disabled")).await.expect(201);
    }
    world
}

/// Follows a list to its end, each link as it is, and says what was on each page.
async fn pages(world: &World, path: &str) -> Vec<String> {
    let mut pages = Vec::new();
    let mut path = path.to_owned();
    loop {
        let page: Reply = world.get(&path).await.expect(200);
        pages.push(page.names().join(" ").replace("c/", ""));
        let Some(next) = page.body["nextLink"].as_str() else {
            assert_eq!(page.body["nextLink"], Value::Null, "null and not absent");
            return pages;
        };
        assert!(next.contains("api-version=2016-03-01"), "{next}");
        path = next.strip_prefix("http://punctual.test").expect("a link to us").to_owned();
    }
}

fn collections(of: &str) -> String {
    format!("/subscriptions/s{of}/providers/Microsoft.Scheduler/jobCollections?api-version=2016-03-01")
}

#[tokio::test]
async fn links_lead_through_all_pages() {
    let world = filled().await;
    assert_eq!(pages(&world, &format!("{}&$top=2", collections(""))).await, ["c D", "e f"]);
    assert_eq!(pages(&world, &format!("{}&$top=3", collections(""))).await, ["c D e", "f"]);
    assert_eq!(pages(&world, &format!("{}&%24top=2", collections("/resourceGroups/G"))).await, ["c D", "e"]);
    let jobs = within("c", "jobs");
    assert_eq!(pages(&world, &format!("{jobs}&$top=3")).await, ["j1 J2 j3", "j4 j5 k1", "K2"]);
    assert_eq!(pages(&world, &format!("{jobs}&%24top=4&%24skip=2")).await, ["j3 j4 j5 k1", "K2"]);
    assert_eq!(pages(&world, &jobs).await, ["j1 J2 j3 j4 j5 k1 K2"]);
    let filtered = format!("{jobs}&$filter=state+eq+'Enabled'&$top=2");
    assert_eq!(pages(&world, &filtered).await, ["j1 J2", "j3 j4", "j5"]);
    assert_eq!(pages(&world, &format!("{jobs}&$skip=7")).await, [""]);
    assert_eq!(pages(&world, &format!("{jobs}&$skip={}", i64::MAX)).await, [""]);
}

#[tokio::test]
async fn filters_in_every_spelling() {
    let world = filled().await;
    for spelling in [
        "$filter=state%20eq%20Disabled",
        "%24filter=state+eq+disabled",
        "%24FILTER=state%20eq%20%27Disabled%27",
        "$Filter=STATE%20EQ%20'DISABLED'",
        "$filter=(state%20eq%20'Disabled')",
        "$filter=%28%20state+eq+disabled%20%29",
        "$filter=%20%20state%20%20eq%20%20disabled%20",
    ] {
        let list = world.get(&format!("{}&{spelling}", within("c", "jobs"))).await.expect(200);
        assert_eq!(list.names(), ["c/k1", "c/K2"], "{spelling}");
    }
    // The Azure CLI sends an empty one with every list.
    for empty in ["$filter=", "$filter=%20"] {
        for list in ["jobs", "jobs/j1/history"] {
            world.get(&format!("{}&{empty}", within("c", list))).await.expect(200);
        }
    }
    for refused in ["$filter=state", "$filter=state%20ne%20Enabled", "$filter=(state%20eq%20Enabled"] {
        let reply = world.get(&format!("{}&{refused}", within("c", "jobs"))).await.expect(400);
        let message = reply.body["error"]["message"].as_str().expect("a message");
        assert!(message.starts_with("$filter: "), "{message}");
    }
    for refused in ["$top=0", "$top=101", "$top=ten", "$skip=-1", "$skip=9223372036854775808"] {
        let reply = world.get(&format!("{}&{refused}", within("c", "jobs"))).await.expect(400);
        let message = reply.body["error"]["message"].as_str().expect("a message");
        assert!(message.contains("allowed: a whole number from"), "{message}");
    }
}

#[tokio::test]
async fn links_lead_back_the_way_the_client_came() {
    let world = filled().await;
    let path = format!("{}&$top=1", collections(""));
    for (headers, base) in [
        (&[][..], "http://punctual.test"),
        (&[("x-forwarded-proto", "https")], "https://punctual.test"),
        (&[("x-forwarded-proto", "HTTPS, http")], "https://punctual.test"),
        (&[("x-forwarded-proto", "ftp")], "http://punctual.test"),
        (&[("x-forwarded-host", "jobs.example.org:8443")], "http://jobs.example.org:8443"),
        (&[("x-forwarded-host", "[::1]:1, inner"), ("x-forwarded-proto", "https")], "https://[::1]:1"),
        (&[("x-forwarded-host", "evil/path?x=")], "http://punctual.test"),
        (&[("x-forwarded-host", "")], "http://punctual.test"),
    ] {
        let reply = world.call_with("GET", &path, None, headers).await.expect(200);
        let next = reply.body["nextLink"].as_str().expect("a link");
        assert!(next.starts_with(&format!("{base}/subscriptions/s/providers/")), "{headers:?}: {next}");
    }
}
