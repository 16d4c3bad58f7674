//! Calls that are tried out.

use std::sync::Arc;
use std::time::Duration;

use actions::scripted::{Scripted, Step};
use model::action::{Call, HttpAuthentication};
use serde_json::{Value, json};
use server::app::Trials;

use super::door::{Door, Refusal, id, job, with};

/// A server whose calls go to a script, and the script.
fn door(script: impl Fn(&actions::Order<'_>) -> Step + Send + Sync + 'static) -> (Door, Arc<Scripted>) {
    let runner = Arc::new(Scripted::new(move |order, _| script(order)));
    let mut door = Door::open(&[]);
    door.app.trials = Some(Arc::new(Trials::new(runner.clone())));
    (door.reopened(), runner)
}

fn basic() -> Value {
    json!({"type": "Basic", "username": "u"})
}

fn get(authentication: Value) -> Value {
    json!({"type": "Http", "request": {"uri": "http://a.test/x", "method": "GET", "authentication": authentication}})
}

#[tokio::test(start_paused = true)]
async fn one_call_is_made_and_nothing_is_kept() {
    let (door, runner) = door(|_| {
        Step::failure("Http Action - Response from host 'a.test': 'no'").after(Duration::from_secs(2))
    });
    let body = json!({"action": get(Value::Null), "x": 1});
    let answer = door.call("POST", "/api/test-call", Some(&body)).await;
    assert_eq!(answer.status, 200, "{}", answer.body);
    assert_eq!(
        answer.body,
        json!({"success": false, "message": "Http Action - Response from host 'a.test': 'no'",
            "startedAt": super::door::NOW, "durationMs": 2000})
    );
    assert_eq!(answer.headers["x-punctual-ignored"], "x");
    assert_eq!(runner.seen().len(), 1);
    assert_eq!(door.get("/api/ledger").await["value"], json!([]));
}

#[tokio::test(start_paused = true)]
async fn secrets_that_are_left_out_are_those_of_the_job() {
    let (door, _) = door(|order| match order.call {
        Call::Http { request, .. } => match &request.authentication {
            Some(HttpAuthentication::Basic { username, password }) => {
                Step::failure(format!("{} {username}:{}", request.uri, password.expose()))
            }
            other => Step::failure(format!("{other:?} {:?}", request.headers)),
        },
        _ => Step::success(),
    });
    door.collection("c", "Standard").await;
    let mut authentication = basic();
    authentication["password"] = json!("s3cret");
    let body = with(&[
        ("/action/request/authentication", authentication),
        ("/action/request/uri", json!("http://a.test/y")),
        ("/action/request/headers", json!({"a": "b"})),
    ]);
    door.accepts("PUT", &job("c", "j"), &body).await;
    let call = async |action: Value, job: Option<String>| {
        let body = json!({"action": action, "job": job});
        door.call("POST", "/api/test-call", Some(&body)).await
    };
    let filled = call(get(basic()), Some(id("c", "j"))).await;
    assert_eq!(filled.body["message"], "http://a.test/x u:s3cret");
    let mut other = basic();
    other["PassWord"] = json!("other");
    let given = call(get(other), Some(id("c", "j"))).await;
    assert_eq!(given.body["message"], "http://a.test/x u:other", "what is given stays");
    let none = call(get(Value::Null), Some(id("c", "j"))).await;
    assert_eq!(none.body["message"], "None None", "nothing else is taken");
    let alone = call(get(basic()), None).await;
    assert_eq!(alone.status, 400);
    assert_eq!(alone.body["error"]["details"][0]["target"], "action.request.authentication.password");
    let oauth = json!({"type": "ActiveDirectoryOAuth", "tenant": "t", "audience": "a", "clientId": "c"});
    let kind = call(get(oauth), Some(id("c", "j"))).await;
    assert_eq!(
        kind.body["error"]["details"][0]["target"], "action.request.authentication.secret",
        "{}",
        kind.body
    );
}

/// A secret of a job stays with the host that it was given for, whichever way the job or the call is led elsewhere.
#[tokio::test(start_paused = true)]
async fn secrets_stay_with_their_destination() {
    let (door, runner) = door(|_| Step::success());
    door.collection("c", "Standard").await;
    let mut authentication = basic();
    authentication["password"] = json!("s3cret");
    let mut action = get(authentication);
    action["errorAction"] = json!({"type": "StorageQueue",
        "queueMessage": {"storageAccount": "acc", "queueName": "q", "sasToken": "sig=t0ken", "message": "m"}});
    door.accepts("PUT", &job("c", "j"), &with(&[("/action", action)])).await;
    let before = door.get(&job("c", "j")).await;

    let mut elsewhere = get(basic());
    elsewhere["request"]["uri"] = json!("http://b.test/?key=1");
    let refusal = |target| Refusal {
        status: 400,
        code: "BadRequest",
        target,
        says: &["given again", "for http://a.test", "goes to http://b.test"],
    };
    let body = json!({"action": elsewhere, "job": id("c", "j")});
    door.refuses("POST", "/api/test-call", &body, refusal("action.request.authentication.password")).await;
    let body = json!({"properties": {"action": {"request": {"uri": "http://b.test/"}}}});
    let password = "properties.action.request.authentication.password";
    door.refuses("PATCH", &job("c", "j"), &body, refusal(password)).await;
    let body =
        json!({"properties": {"action": {"errorAction": {"queueMessage": {"storageAccount": "other"}}}}});
    let token = Refusal {
        target: "properties.action.errorAction.queueMessage.sasToken",
        says: &["the storage account 'acc'", "the storage account 'other'"],
        ..refusal("")
    };
    door.refuses("PATCH", &job("c", "j"), &body, token).await;
    assert_eq!(door.get(&job("c", "j")).await, before);
    assert_eq!(runner.seen().len(), 0);

    let body = json!({"properties": {"action": {"request":
        {"uri": "http://b.test/", "authentication": {"password": "other"}}}}});
    door.accepts("PATCH", &job("c", "j"), &body).await;
}

#[tokio::test(start_paused = true)]
async fn the_audit_tells_where_a_call_goes_and_how_it_went() {
    let (door, _) = door(|_| Step::failure("Http Action - no"));
    let mut action = get(Value::Null);
    action["request"]["uri"] = json!("https://u:w0rd@A.test:8443/path?key=1");
    door.accepts("POST", "/api/test-call", &json!({"action": action})).await;
    let noted = door.get("/api/audit?act=testCalls/run").await;
    let details: Vec<&Value> =
        noted["value"].as_array().expect("a list").iter().map(|entry| &entry["detail"]).collect();
    let destination = "https://a.test:8443";
    assert_eq!(
        details,
        [&json!({"destination": destination, "outcome": "failed"}), &json!({"destination": destination})]
    );
    assert!(!noted.to_string().contains("w0rd") && !noted.to_string().contains("key=1"), "{noted}");
}

#[tokio::test(start_paused = true)]
async fn limits_and_plans_hold() {
    let (door, runner) = door(|_| Step::success());
    door.collection("free", "Free").await;
    door.accepts("PUT", &job("free", "j"), &with(&[])).await;
    let mut authentication = basic();
    authentication["password"] = json!("s");
    let refusal = |status, code, target, says| Refusal { status, code, target, says };
    for (body, refusal) in [
        (
            json!({"action": get(authentication), "job": id("free", "j")}),
            refusal(400, "BadRequest", "action.request.authentication", &["Free"][..0]),
        ),
        (
            json!({"action": {"type": "Http", "request": {"uri": format!("http://a.test/{}", "x".repeat(2048)), "method": "GET"}}}),
            refusal(400, "BadRequest", "action.request.uri", &["2048"]),
        ),
        (
            json!({"action": {"type": "Http", "request": {"uri": "nowhere"}}}),
            refusal(400, "BadRequest", "action.request.uri", &["2 faults"]),
        ),
        (json!({}), refusal(400, "BadRequest", "action", &["missing"])),
        (json!([1]), refusal(400, "BadRequest", "document", &["an object"])),
        (
            json!({"action": get(Value::Null), "job": 5}),
            refusal(400, "BadRequest", "job", &["the id of a job"]),
        ),
        (
            json!({"action": get(Value::Null), "job": "j"}),
            refusal(400, "BadRequest", "job", &["the id of a job"]),
        ),
        (json!({"action": get(Value::Null), "job": id("free", "x")}), refusal(404, "NotFound", "", &["'x'"])),
    ] {
        door.refuses("POST", "/api/test-call", &body, refusal).await;
    }
    let misspelt =
        door.call("POST", "/api/test-call?count=1", Some(&json!({"action": get(Value::Null)}))).await;
    assert_eq!(misspelt.status, 400);
    assert_eq!(runner.seen().len(), 0);
}

#[tokio::test(start_paused = true)]
async fn so_many_calls_at_a_time() {
    let (door, runner) = door(|_| Step::success().after(Duration::from_secs(10)));
    let door = Arc::new(door);
    let body = json!({"action": get(Value::Null)});
    let calls: Vec<_> = (0..16)
        .map(|_| {
            let (door, body) = (door.clone(), body.clone());
            tokio::spawn(async move { door.call("POST", "/api/test-call", Some(&body)).await.status })
        })
        .collect();
    while runner.running() < 16 {
        tokio::task::yield_now().await;
    }
    let refused = door.call("POST", "/api/test-call", Some(&body)).await;
    assert_eq!((refused.status, &refused.body["error"]["code"]), (503, &json!("ServerBusy")));
    for call in calls {
        assert_eq!(call.await.expect("it ends"), 200);
    }
    assert_eq!(door.call("POST", "/api/test-call", Some(&body)).await.status, 200);
}
