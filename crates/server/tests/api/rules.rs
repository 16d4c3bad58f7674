//! Rules of notices over the API: making, seeing, following and deleting them.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use access::Role;
use actions::scripted::{Scripted, Step};
use serde_json::{Value, json};
use server::notices::{Draft, Notifier, collection as notices};
use tokio::time::{sleep, timeout};
use tokio_util::sync::CancellationToken;

use super::door::{Door, Refusal, id, job, with};
use super::roles::{COLLECTION, SUBSCRIPTION, guarded, put};

const RULE: &str = "/api/notifications/ops";

fn rule() -> Value {
    json!({"when": "faulted", "collection": "c", "uri": "http://hooks.test/key?secret=1", "headers": {"X-Team": "ops"}})
}

/// A rule is followed from soon after it is made until soon after it is gone.
#[tokio::test(start_paused = true)]
async fn a_rule_that_is_made_is_followed_and_one_that_is_deleted_is_not() {
    let door = Door::open(&[]);
    let (told, fails) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicBool::new(true)));
    let (heard, failing) = (told.clone(), fails.clone());
    let runner = Scripted::new(move |order, _| {
        if order.collection == notices().name {
            heard.store(true, Ordering::SeqCst);
            return Step::success();
        }
        if failing.load(Ordering::SeqCst) { Step::failure("not today") } else { Step::success() }
    });
    let engine = door.start(Arc::new(runner));
    let stop = CancellationToken::new();
    let notifier = Notifier::start(door.app.clone(), stop.clone());
    door.collection("c", "Standard").await;
    let minutely = with(&[
        ("/startTime", json!("2027-01-31T12:00:10Z")),
        ("/recurrence", json!({"frequency": "minute", "interval": 1})),
        ("/action/retryPolicy", json!({"retryType": "None"})),
    ]);
    door.accepts("PUT", &job("c", "j"), &minutely).await;
    sleep(Duration::from_secs(100)).await;
    assert_eq!(door.get("/api/notices").await, json!({"value": []}), "nobody wants to know");

    // What happened before the rule was made is found by it.
    assert_eq!(door.accepts("PUT", RULE, &rule()).await.status, 201);
    let until = async |what: &str, is_so: &dyn Fn(&[Value]) -> bool| {
        let found = async {
            loop {
                let all = door.get("/api/notices").await["value"].as_array().expect("a list").clone();
                if is_so(&all) {
                    return all;
                }
                sleep(Duration::from_millis(100)).await;
            }
        };
        timeout(Duration::from_secs(600), found).await.unwrap_or_else(|_| panic!("never: {what}"))
    };
    let all =
        until("a notice is delivered", &|all| all.iter().any(|one| one["delivery"] == "delivered")).await;
    let [notice] = &all[..] else { panic!("one notice: {all:?}") };
    assert_eq!(
        [&notice["notification"], &notice["when"], &notice["state"], &notice["job"], &notice["message"]],
        ["ops", "faulted", "raised", &*id("c", "j"), "not today"],
    );
    assert_eq!((&notice["to"], &notice["failures"]), (&json!("http://hooks.test"), &json!(0)));
    assert!(notice["triedAt"].is_string(), "{notice}");

    fails.store(false, Ordering::SeqCst);
    let all = until("it is over", &|all| all.iter().any(|one| one["state"] == "recovered")).await;
    assert!(all.iter().all(|one| one["state"] == "recovered"), "{all:?}");

    // Without the rule, nobody is told of the next trouble, and what was in trouble is forgotten.
    fails.store(true, Ordering::SeqCst);
    until("it is in trouble again", &|all| all.iter().any(|one| one["state"] == "raised")).await;
    assert_eq!(door.call("DELETE", RULE, None).await.status, 204);
    until("that is forgotten", &|all| all.iter().all(|one| one["state"] == "recovered")).await;
    told.store(false, Ordering::SeqCst);
    sleep(Duration::from_secs(300)).await;
    assert!(!told.load(Ordering::SeqCst), "there is no rule any more");
    stop.cancel();
    notifier.await.expect("it ended well");
    assert!(engine.stop().await);
}

#[tokio::test(start_paused = true)]
async fn what_is_wrong_with_a_rule_is_told_where_it_is() {
    let door = Door::open(&[]);
    let with = |member: &str, value: Value| {
        let mut rule = rule();
        rule[member] = value;
        rule
    };
    for (body, target, says) in [
        (with("when", json!("often")), "when", "no-success-for"),
        (with("when", json!(7)), "when", "7"),
        (with("after", json!("1h")), "after", "means nothing with faulted"),
        (with("when", json!("late")), "after", "missing"),
        (with("job", json!("")), "job", "leave it out"),
        (with("uri", Value::Null), "uri", "missing"),
        (with("uri", json!("mailto:ops@example.com")), "uri", "https://"),
        (with("uri", json!("http://")), "uri", "uri"),
        (with("headers", json!({"X": 1})), "headers", "texts"),
        (with("headers", json!({"a b": "x"})), "headers", "a b"),
    ] {
        let answer = door.call("PUT", RULE, Some(&body)).await;
        let error = &answer.body["error"];
        assert_eq!(answer.status, 400, "{body}: {error}");
        let found = error["details"][0]["target"].as_str().unwrap_or_default();
        assert_eq!(found.split(['.', '[']).next(), Some(target), "{body}: {error}");
        let message = error["message"].as_str().unwrap_or_default();
        assert!(message.contains(says), "{body}: {message}");
    }
    // All of it at once.
    let body = json!({"when": "no-success-for", "after": "soon", "uri": 1});
    let answer = door.call("PUT", RULE, Some(&body)).await;
    let details = answer.body["error"]["details"].as_array().expect("details");
    let targets: Vec<&Value> = details.iter().map(|detail| &detail["target"]).collect();
    assert_eq!(targets, ["uri", "after"], "{}", answer.body);
    let refusal = Refusal { status: 400, code: "BadRequest", target: "name", says: &["letters", "-ops"] };
    door.refuses("PUT", "/api/notifications/-ops", &rule(), refusal).await;
    assert_eq!(door.get("/api/notifications").await, json!({"value": []}), "nothing was made");
}

/// The file of settings is the operator's: what stands there is shown, and changed there.
#[tokio::test(start_paused = true)]
async fn a_rule_of_the_file_is_shown_and_not_changed() {
    let mut door = Door::open(&[]);
    let text = |text: &str| Some(text.to_owned());
    let draft = Draft {
        name: text("Ops"),
        when: text("late"),
        after: text("90s"),
        uri: text("http://h.test/x"),
        ..Draft::default()
    };
    door.config.notifications = vec![draft.read().expect("a rule")];
    door.app.config = Arc::new(door.config.clone());
    let door = door.reopened();
    door.accepts("PUT", "/api/notifications/stored", &rule()).await;
    let found = door.get("/api/notifications").await;
    assert_eq!(
        found["value"][0],
        json!({"name": "Ops", "when": "late", "after": "90s", "uri": "http://h.test/x", "headers": {},
            "source": "settings", "mayChange": false})
    );
    assert_eq!(
        (&found["value"][1]["name"], &found["value"][1]["source"]),
        (&json!("stored"), &json!("stored"))
    );
    let refusal = Refusal { status: 409, code: "Conflict", target: "", says: &["'Ops'", "file of settings"] };
    door.refuses("PUT", RULE, &rule(), refusal).await;
    assert_eq!(door.call("DELETE", RULE, None).await.status, 409);
}

/// A new rule does not take the place of another by accident, and one that was changed meanwhile stays.
#[tokio::test]
async fn a_rule_has_a_revision() {
    let (world, owner) = guarded().await;
    let put = async |name: &str, value: &str| {
        let bearer = format!("Bearer {owner}");
        let headers = [("authorization", bearer.as_str()), (name, value)];
        world.call_with("PUT", RULE, Some(&rule()), &headers).await
    };
    let made = put("if-none-match", "*").await.expect(201);
    put("if-none-match", "*").await.expect(412);
    put("if-match", "\"none\"").await.expect(412);
    let etag = made.header("etag").expect("an etag").to_owned();
    let changed = put("if-match", &etag).await.expect(200);
    assert_ne!(changed.header("etag"), Some(etag.as_str()));
    let other_case = world.as_holder(&owner, "PUT", &RULE.replace("ops", "OPS"), Some(&rule())).await;
    assert_eq!(other_case.expect(200).body["name"], "ops", "it keeps the name that it was made with");
}

/// Who sees all that a rule watches sees the rule; who may write that may change it, and reads all of it.
#[tokio::test]
async fn rules_and_notices_are_seen_by_those_who_see_the_jobs() {
    let (world, owner) = guarded().await;
    let of_collection = json!({"when": "late", "after": "1m", "subscription": "s", "resourceGroup": "g",
        "collection": "c", "uri": "https://user:word@hooks.test/key", "headers": {"X-Key": "k"}});
    let reader = world.token(Role::Reader, COLLECTION).await;
    let contributor = world.token(Role::Contributor, SUBSCRIPTION).await;
    // Where rules are kept is not theirs to write; their own rule is, be it the first one.
    put(&world, &contributor, RULE, &of_collection).await;
    put(&world, &owner, "/api/notifications/everything", &rule()).await;
    let elsewhere = world.token(Role::Contributor, "/subscriptions/other").await;
    let seen =
        async |token: &str| world.as_holder(token, "GET", "/api/notifications", None).await.expect(200);
    assert_eq!(seen(&owner).await.names(), ["everything", "ops"]);
    assert_eq!(seen(&elsewhere).await.names(), Vec::<&str>::new());
    let found = seen(&contributor).await;
    assert_eq!(found.names(), ["ops"]);
    let rule = &found.body["value"][0];
    assert_eq!((&rule["uri"], &rule["headers"]["X-Key"]), (&of_collection["uri"], &json!("k")));
    assert_eq!(rule["mayChange"], true);
    let found = seen(&reader).await;
    assert_eq!(found.names(), ["ops"]);
    let rule = &found.body["value"][0];
    assert_eq!((&rule["uri"], &rule["mayChange"]), (&json!("https://hooks.test"), &json!(false)));
    assert!(rule["headers"].is_null() && !found.text.contains("word"), "{}", found.text);

    // Whoever may write elsewhere may make no rule about these jobs, nor take the name of one.
    let call = async |token: &str, method: &str, body: Option<&Value>| {
        world.as_holder(token, method, RULE, body).await
    };
    assert_eq!(call(&elsewhere, "PUT", Some(&of_collection)).await.status, 404);
    assert_eq!(call(&elsewhere, "DELETE", None).await.status, 404);
    let mut theirs = of_collection.clone();
    theirs["subscription"] = json!("other");
    let refused = call(&elsewhere, "PUT", Some(&theirs)).await.expect(409);
    assert!(refused.text.contains("choose another") && !refused.text.contains("/s/"), "{}", refused.text);
    // A rule about more than they may write is denied.
    theirs["subscription"] = Value::Null;
    assert_eq!(call(&contributor, "PUT", Some(&theirs)).await.status, 403);
    call(&contributor, "DELETE", None).await.expect(204);
    assert_eq!(seen(&owner).await.names(), ["everything"]);
}
