//! Who may do what, what they see of it, and what is noted. Every operation by every role is in `matrix`.

use std::sync::Arc;

use access::{Act, Role};
use actions::scripted::{Scripted, Step};
use axum::body::Body;
use axum::http::Request;
use http_body_util::BodyExt as _;
use model::Clock;
use serde_json::{Value, json};
use server::app::{App, Trials};
use server::guard::{Guard, Patience};
use store::AuditQuery;
use tower_service::Service as _;

use super::world::{Reply, World};

pub(crate) const SUBSCRIPTION: &str = "/subscriptions/s";
pub(crate) const GROUP: &str = "/subscriptions/s/resourceGroups/g";
pub(crate) const COLLECTION: &str =
    "/subscriptions/s/resourceGroups/g/providers/Microsoft.Scheduler/jobCollections/c";

pub(crate) fn job() -> Value {
    json!({"properties": {
        "startTime": "2027-06-01T00:00:00Z",
        "action": {"type": "Http", "request": {"method": "GET", "uri": "http://example.com/"}},
        "recurrence": {"frequency": "day", "interval": 1},
    }})
}

/// A world with a door, and the token of an owner of everything.
pub(crate) async fn guarded() -> (World, String) {
    let world = World::with(|app| {
        let runner = Scripted::new(|_, _| Step::success());
        App {
            guard: Arc::new(Guard::watchful(Vec::new(), Patience::default())),
            trials: Some(Arc::new(Trials::new(Arc::new(runner)))),
            ..app
        }
    });
    let owner = world.token(Role::Owner, "/").await;
    for group in ["g", "h"] {
        let path = GROUP.replace("/g", &format!("/{group}"));
        put(&world, &owner, &format!("{path}?api-version=2020-06-01"), &json!({"location": "x"})).await;
        for name in ["c", "d"] {
            let path = COLLECTION.replace("/g/", &format!("/{group}/"));
            let path = format!("{}{name}", path.trim_end_matches('c'));
            put(&world, &owner, &format!("{path}?api-version=2016-03-01"), &json!({"location": "x"})).await;
            put(&world, &owner, &format!("{path}/jobs/j?api-version=2016-03-01"), &job()).await;
        }
    }
    (world, owner)
}

pub(crate) async fn put(world: &World, token: &str, path: &str, body: &Value) {
    let reply = world.as_holder(token, "PUT", path, Some(body)).await;
    assert!(reply.status < 300, "{path}: {}", reply.text);
}

impl World {
    /// A token with a role.
    pub(crate) async fn token(&self, role: Role, scope: &str) -> String {
        let app = App { guard: self.guard.clone(), ..App::new(self.store.clone(), self.clock.clone()) };
        let new = server::app::register::NewToken {
            name: format!("{} of {scope}", role.name()),
            expires_at: "2027-02-01T00:00:00Z".parse().expect("a time"),
            roles: vec![(role, scope.parse().expect("a scope"))],
        };
        app.create_token(new).await.expect("a token").0.reveal()
    }

    pub(crate) async fn as_holder(
        &self,
        token: &str,
        method: &str,
        path: &str,
        body: Option<&Value>,
    ) -> Reply {
        let header = format!("Bearer {token}");
        self.call_with(method, path, body, &[("authorization", &header)]).await
    }
}

#[tokio::test]
async fn lists_have_only_what_is_seen() {
    let (world, owner) = guarded().await;
    let reader = world.token(Role::Reader, COLLECTION).await;
    let get = async |token: &str, path: &str| world.as_holder(token, "GET", path, None).await.expect(200);
    let collections = "/subscriptions/s/providers/Microsoft.Scheduler/jobCollections?api-version=2016-03-01";
    assert_eq!(get(&owner, collections).await.names(), ["c", "d", "c", "d"]);
    assert_eq!(get(&reader, collections).await.names(), ["c"]);
    let groups = "/subscriptions/s/resourceGroups?api-version=2020-06-01";
    assert_eq!(get(&owner, groups).await.names(), ["g", "h"]);
    assert_eq!(get(&reader, groups).await.names(), ["g"]);
    assert_eq!(get(&owner, "/api/jobs").await.body["total"], 4);
    let jobs = get(&reader, "/api/jobs").await.body;
    assert_eq!(
        (&jobs["total"], &jobs["value"][0]["id"]),
        (&json!(1), &json!(format!("{COLLECTION}/jobs/j")))
    );
    let overview = get(&reader, "/api/overview").await.body;
    assert_eq!((&overview["partial"], &overview["collections"]), (&json!(true), &json!(1)));
    assert_eq!(overview["buckets"].as_array().map(Vec::len), Some(60));
    assert_eq!((&overview["countedSince"], &overview["jobs"]["enabled"]), (&Value::Null, &json!(1)));
    assert_eq!(
        (&overview["totals"]["ran"], &overview["totals"]["failedAttempts"]),
        (&json!(0), &Value::Null)
    );
    assert_eq!(overview["next"].as_array().map(Vec::len), Some(1));
    assert_eq!(get(&owner, "/api/overview").await.body["partial"], false);
    let export = get(&reader, "/api/export?subscription=s").await;
    assert!(export.text.contains("\"c\"") && !export.text.contains("\"d\""), "{}", export.text);
    let mine = get(&reader, "/api/roles").await.body;
    assert_eq!(mine["value"].as_array().map(Vec::len), Some(1), "{mine}");
    // The audit: only of what is seen, and of that all.
    let audit = get(&reader, "/api/audit").await.body;
    let targets: Vec<&str> = audit["value"]
        .as_array()
        .expect("a list")
        .iter()
        .map(|entry| entry["target"].as_str().expect("an id"))
        .collect();
    assert_eq!(targets, [&format!("{COLLECTION}/jobs/j"), COLLECTION]);
    assert_eq!(get(&reader, "/readyz").await.body, json!({"status": "ready"}));
    assert_eq!(get(&owner, "/readyz").await.body["jobs"], 4);
}

#[tokio::test]
async fn what_is_hidden_looks_like_what_is_not_there() {
    let (world, _) = guarded().await;
    let elsewhere = world.token(Role::Owner, "/subscriptions/other").await;
    for (hidden, absent) in [
        (COLLECTION.to_owned(), COLLECTION.replace("/c", "/n").replace("/nobC", "/jobC")),
        (
            format!("{COLLECTION}/jobs/j"),
            format!("{}/jobs/j", COLLECTION.replace("/c", "/n").replace("/nobC", "/jobC")),
        ),
        (GROUP.to_owned(), GROUP.replace("/g", "/n")),
    ] {
        for method in ["GET", "PUT", "PATCH", "DELETE"] {
            let call = async |path: &str| {
                let path = format!("{path}?api-version=2016-03-01");
                world.as_holder(&elsewhere, method, &path, Some(&job())).await
            };
            let (one, other) = (call(&hidden).await, call(&absent).await);
            assert_eq!((one.status, other.status), (404, 404), "{method} {hidden}");
            let same =
                |reply: &Reply| reply.text.replace("/n'", "/c'").replace("'n'", "'g'").replace("/n", "/c");
            assert_eq!(
                same(&one).replace("jobcollections/n", "jobcollections/c"),
                same(&other),
                "{method} {hidden}"
            );
        }
    }
}

#[tokio::test]
async fn tokens_that_are_not_accepted() {
    let (world, owner) = guarded().await;
    let path = "/api/jobs";
    let refused = async |header: &str, code: &str| {
        let reply = world.call_with("GET", path, None, &[("authorization", header)]).await.expect(401);
        assert_eq!(reply.body["error"]["code"], code, "{}", reply.text);
        assert!(reply.header("www-authenticate").is_some_and(|text| text.contains("invalid_token")));
        assert!(!reply.text.contains(owner.get(20..40).expect("a part")), "{}", reply.text);
    };
    let bare = world.get(path).await.expect(401);
    assert_eq!(bare.body["error"]["code"], "AuthenticationFailed");
    let invalid = "InvalidAuthenticationToken";
    for header in ["Basic YTpi", "Bearer", "Bearer ", "bearer x", "Bearer a.b.c", &owner, "Bearer ä"] {
        refused(header, invalid).await;
    }
    let mut damaged = owner.clone();
    damaged.replace_range(40..41, if &owner[40..41] == "0" { "1" } else { "0" });
    refused(&format!("Bearer {damaged}"), invalid).await;
    // A token that is whole, but that nobody was given; one with the id of another.
    let stranger = access::Token::random().expect("random numbers");
    refused(&format!("Bearer {}", stranger.reveal()), invalid).await;
    let forged = access::Token { id: access::Token::read(&owner).expect("one").id, ..stranger };
    refused(&format!("Bearer {}", forged.reveal()), invalid).await;
    // A scheme in any case, and blanks around.
    for header in [format!("bearer {owner}"), format!("BEARER  {owner} ")] {
        world.call_with("GET", path, None, &[("authorization", &header)]).await.expect(200);
    }
    let twice = [("authorization", "Bearer x"), ("authorization", "Bearer y")];
    world.call_with("GET", path, None, &twice).await.expect(401);

    // Revoked, from the next call on; so are its roles.
    let other = world.token(Role::Owner, "/").await;
    let id = access::Token::read(&other).expect("a token").id;
    world.as_holder(&other, "GET", path, None).await.expect(200);
    world.as_holder(&owner, "DELETE", &format!("/api/tokens/{id}"), None).await.expect(204);
    refused(&format!("Bearer {other}"), invalid).await;
    world.as_holder(&owner, "DELETE", &format!("/api/tokens/{id}"), None).await.expect(404);
    let listed = world.as_holder(&owner, "GET", "/api/tokens", None).await.body;
    let listed =
        listed["value"].as_array().expect("a list").iter().find(|one| one["id"] == id.as_str()).cloned();
    assert_eq!(listed.expect("there")["state"], "revoked");
    // And expired.
    world.clock.set("2027-02-01T00:00:00Z".parse().expect("a time"));
    refused(&format!("Bearer {owner}"), "ExpiredAuthenticationToken").await;
}

#[tokio::test]
async fn roles_hold_from_the_next_call_on() {
    let (world, owner) = guarded().await;
    let made = json!({"name": "robot", "role": "Reader", "scope": "/subscriptions/other", "x": 1});
    let made = world.as_holder(&owner, "POST", "/api/tokens", Some(&made)).await.expect(201);
    assert_eq!(made.header("x-punctual-ignored"), Some("x"));
    let token = made.body["token"].as_str().expect("a token").to_owned();
    let path = format!("{COLLECTION}?api-version=2016-03-01");
    world.as_holder(&token, "GET", &path, None).await.expect(404);
    let principal = format!("token:{}", made.body["id"].as_str().expect("an id"));
    let role = json!({"principal": principal, "role": "reader", "scope": COLLECTION.to_uppercase()});
    let assign =
        async |status| world.as_holder(&owner, "POST", "/api/roles/assign", Some(&role)).await.expect(status);
    assign(201).await;
    assign(200).await;
    world.as_holder(&token, "GET", &path, None).await.expect(200);
    world.as_holder(&owner, "POST", "/api/roles/remove", Some(&role)).await.expect(200);
    world.as_holder(&token, "GET", &path, None).await.expect(404);
    world.as_holder(&owner, "POST", "/api/roles/remove", Some(&role)).await.expect(404);
    // Its use is written down, in the background.
    let id = access::Token::read(&token).expect("a token").id;
    while world.store.token(&id).await.expect("read").expect("there").used_at.is_none() {
        tokio::task::yield_now().await;
    }
    for (body, target) in [
        (json!({"name": "", "role": "Reader"}), "name"),
        (json!({"name": "n"}), "role"),
        (json!({"name": "n", "role": "Admin"}), "role"),
        (json!({"name": "n", "role": "Reader", "scope": "x"}), "scope"),
        (json!({"name": "n", "role": "Reader", "expiresAt": "2026-01-01T00:00:00Z"}), "expiresAt"),
        (json!({"name": "n", "role": "Reader", "expiresAt": 5}), "expiresAt"),
        (json!([]), ""),
    ] {
        let reply = world.as_holder(&owner, "POST", "/api/tokens", Some(&body)).await.expect(400);
        assert!(reply.text.contains(target), "{body}: {}", reply.text);
    }
    let bad = json!({"principal": "ann", "role": "Reader", "scope": "/"});
    world.as_holder(&owner, "POST", "/api/roles/assign", Some(&bad)).await.expect(400);
}

#[tokio::test]
async fn what_is_done_and_what_is_denied_is_noted() {
    let (world, owner) = guarded().await;
    let reader = world.token(Role::Reader, COLLECTION).await;
    let job_path = format!("{COLLECTION}/jobs/j?api-version=2016-03-01");
    let mut changed = job();
    changed["properties"]["action"]["request"]["authentication"] =
        json!({"type": "Basic", "username": "u", "password": "swordfish-1"});
    world.as_holder(&owner, "PUT", &job_path, Some(&changed)).await.expect(200);
    changed["properties"]["action"]["request"]["authentication"]["password"] = "swordfish-2".into();
    world.as_holder(&owner, "PUT", &job_path, Some(&changed)).await.expect(200);
    world.as_holder(&reader, "DELETE", &job_path, None).await.expect(403);
    world.as_holder(&reader, "GET", "/subscriptions/other?api-version=2020-06-01", None).await.expect(404);
    world.call_with("GET", "/api/jobs", None, &[("authorization", "Bearer pt_x")]).await.expect(401);
    world.as_holder(&owner, "DELETE", &job_path, None).await.expect(200);
    let noted = world.as_holder(&owner, "GET", "/api/audit?top=6", None).await.expect(200);
    assert!(!noted.text.contains("swordfish") && !noted.text.contains("pt_x"), "{}", noted.text);
    let entries = noted.body["value"].as_array().expect("a list");
    let told: Vec<(&str, &str)> = entries
        .iter()
        .map(|entry| (entry["act"].as_str().expect("an act"), entry["verdict"].as_str().expect("a verdict")))
        .collect();
    assert_eq!(
        told,
        [
            ("jobs/delete", "done"),
            ("authenticate", "refused"),
            ("read", "denied"),
            ("jobs/delete", "denied"),
            ("jobs/write", "done"),
            ("jobs/write", "done"),
        ]
    );
    assert_eq!(entries[3]["name"], format!("Reader of {COLLECTION}"));
    assert_eq!(entries[3]["target"], format!("{COLLECTION}/jobs/j"));
    let members = |entry: &Value| entry["detail"]["changes"].to_string();
    assert!(members(&entries[4]).contains("(another secret)"), "{}", entries[4]);
    assert!(members(&entries[5]).contains("authentication"), "{}", entries[5]);
    assert!(entries[0]["detail"]["deleted"].is_object(), "{}", entries[0]);
    // Page by page, and by what is asked for.
    let mut next = Some("/api/audit?top=5".to_owned());
    let mut walked = 0;
    while let Some(path) = next.take() {
        let page = world.as_holder(&owner, "GET", &path, None).await.expect(200);
        walked += page.body["value"].as_array().expect("a list").len();
        next = page.body["nextLink"].as_str().map(|link| link.replace("http://punctual.test", ""));
    }
    let all = world.store.audit(&AuditQuery::default(), 10_000).await.expect("read");
    assert_eq!(walked, all.len());
    let by = |query: &str| format!("/api/audit?{query}");
    for (query, count) in [
        ("act=jobs/run", 0),
        ("act=JOBS/DELETE", 2),
        ("verdict=denied", 2),
        ("act=jobs/delete&verdict=denied", 1),
        ("who=anonymous", 1),
        ("from=2028-01-01T00:00:00Z", 0),
        ("search=READER%20of", 2),
    ] {
        let page = world.as_holder(&owner, "GET", &by(query), None).await.expect(200);
        assert_eq!(page.body["value"].as_array().map(Vec::len), Some(count), "{query}: {}", page.text);
    }
    for query in ["act=x", "verdict=x", "top=0", "before=x", "y=1", "from=x"] {
        world.as_holder(&owner, "GET", &by(query), None).await.expect(400);
    }
    let verified = world.as_holder(&owner, "GET", "/api/audit/verify", None).await.expect(200);
    assert_eq!(verified.body["whole"], true, "{}", verified.text);
    assert_eq!(verified.body["chains"][0]["broken"], Value::Null);
}

/// Of a test call with the secrets of a job that its caller may not use, the audit tells where they would have gone.
#[tokio::test]
async fn denied_test_calls_are_noted_with_their_destination() {
    let (world, owner) = guarded().await;
    let here =
        |collection: &str| COLLECTION.replace("jobCollections/c", &format!("jobCollections/{collection}"));
    let contributor = world.token(Role::Contributor, &here("d")).await;
    let call = json!({"job": format!("{COLLECTION}/jobs/j"), "action":
        {"type": "Http", "request": {"method": "GET", "uri": "https://u:w0rd@b.test/?key=1"}}});
    world.as_holder(&contributor, "POST", "/api/test-call", Some(&call)).await.expect(404);
    let noted = world.as_holder(&owner, "GET", "/api/audit?act=testCalls/run", None).await.expect(200);
    let entry = &noted.body["value"][0];
    assert_eq!(entry["verdict"], "denied", "{}", noted.text);
    assert_eq!(entry["detail"], json!({"job": call["job"], "destination": "https://b.test"}));
}

/// Without authentication nothing is asked, and all is noted in the name of `local`.
#[tokio::test]
async fn without_a_door_everybody_is_local() {
    let world = World::new();
    let path = format!("{COLLECTION}?api-version=2016-03-01");
    world.put(&path, &json!({"location": "x"})).await.expect(201);
    world.call_with("GET", &path, None, &[("authorization", "Bearer anything")]).await.expect(200);
    let entries = world.store.audit(&AuditQuery::default(), 10).await.expect("read");
    let [entry] = &entries[..] else { panic!("{entries:?}") };
    let noted = (entry.note.who.as_str(), entry.note.act, entry.note.target.as_str());
    assert_eq!(noted, ("local", Act::WriteCollection, COLLECTION));
    assert_eq!(entry.note.at, world.clock.now());
}

#[tokio::test]
async fn a_reader_runs_nothing_by_any_body() {
    let (world, _) = guarded().await;
    let operator = world.token(Role::Operator, COLLECTION).await;
    let path = format!("{COLLECTION}/jobs/j?api-version=2016-03-01");
    for (body, status) in [
        (json!({"properties": {"state": "disabled"}}), 200),
        (json!({"properties": {"state": "enabled"}}), 200),
        (json!({"properties": {"state": "enabled", "action": null}}), 403),
        (json!({"properties": {"recurrence": {"interval": 2}}}), 403),
        (json!({"properties": {"state": "enabled"}, "location": "y"}), 403),
        (json!({}), 403),
        (json!([]), 403),
    ] {
        let reply = world.as_holder(&operator, "PATCH", &path, Some(&body)).await;
        assert_eq!(reply.status, status, "{body}: {}", reply.text);
    }
}

#[tokio::test]
async fn events_are_those_that_are_seen() {
    let (world, owner) = guarded().await;
    let reader = world.token(Role::Reader, COLLECTION).await;
    let elsewhere = world.token(Role::Owner, "/subscriptions/other").await;
    let of_collection = format!("/api/events?collection={COLLECTION}");
    world.as_holder(&elsewhere, "GET", &of_collection, None).await.expect(404);
    world.get("/api/events").await.expect(401);
    let request = Request::builder().uri("/api/events").header("authorization", format!("Bearer {reader}"));
    let response = world.router.clone().call(request.body(Body::empty()).expect("a request")).await;
    let mut body = response.expect("an answer").into_body();
    // First what is not to be seen, then what is: whatever comes first was the second.
    let beside = format!("{COLLECTION}?api-version=2016-03-01").replace("/g/", "/h/");
    put(&world, &owner, &beside, &json!({"location": "x"})).await;
    let inside = format!("{COLLECTION}?api-version=2016-03-01");
    put(&world, &owner, &inside, &json!({"location": "x"})).await;
    loop {
        let frame = body.frame().await.expect("a stream").expect("a frame");
        let text = String::from_utf8_lossy(&frame.into_data().expect("data")).into_owned();
        assert!(!text.contains("/h/") && !text.contains("event: pulse"), "{text}");
        if text.contains("event: change") {
            assert!(text.contains(COLLECTION), "{text}");
            break;
        }
    }
}
