//! The API's description, held against real answers: every status, header and body that comes is one it names, and every
//! good answer that it names does come.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use actions::scripted::{Scripted, Step};
use axum::body::Body;
use axum::http::Request;
use jsonschema::Validator;
use serde_json::{Value, json};
use tokio::time::sleep;

use super::door::{Answer, Door, collection, id, job, plain, with};
use super::mutated::examples;
use super::roles::guarded;

/// Headers that are the API's own to describe; the others come with every answer.
const DESCRIBED_HEADERS: [&str; 5] =
    ["etag", "retry-after", "allow", "x-punctual-ignored", "x-punctual-execution-tag"];

struct Description {
    document: Value,
    /// The good answers that came: path, method, status.
    seen: BTreeSet<(String, String, String)>,
}

impl Description {
    /// What a reference leads to, or the value itself.
    fn resolved<'a>(&'a self, value: &'a Value) -> &'a Value {
        let Some(link) = value["$ref"].as_str() else { return value };
        let target = link.strip_prefix('#').and_then(|pointer| self.document.pointer(pointer));
        target.unwrap_or_else(|| panic!("{link} leads nowhere"))
    }

    fn validator(&self, schema: &Value) -> Validator {
        // References are resolved within the document that has them.
        let whole = json!({"allOf": [schema], "components": self.document["components"]});
        jsonschema::validator_for(&whole).unwrap_or_else(|error| panic!("{schema}: {error}"))
    }

    #[track_caller]
    fn conforms(&self, schema: &Value, value: &Value, what: &str) {
        let faults: Vec<String> = self
            .validator(schema)
            .iter_errors(value)
            .map(|fault| format!("{}: {fault}", fault.instance_path()))
            .collect();
        assert_eq!(faults, Vec::<String>::new(), "{what}: {value}");
    }

    /// The path in the document that a path of a request is meant by.
    fn template(&self, path: &str) -> Option<String> {
        let segments: Vec<&str> = path.split('/').collect();
        let fits = |template: &&String| {
            let parts: Vec<&str> = template.split('/').collect();
            parts.len() == segments.len()
                && parts.iter().zip(&segments).all(|(part, segment)| part.starts_with('{') || part == segment)
        };
        self.document["paths"].as_object().expect("paths").keys().find(fits).cloned()
    }

    fn check(&mut self, method: &str, path: &str, answer: &Answer) {
        let template = self.template(path.split('?').next().unwrap_or_default()).expect(path);
        let operation = &self.document["paths"][&template][method.to_lowercase()];
        let status = answer.status.to_string();
        let what = format!("{method} {template}: {status}");
        // A method that is not there has no operation; the others of the path say what is answered then.
        let operations = self.document["paths"][&template].as_object().expect("a path");
        let any = operations.iter().find(|(verb, _)| *verb != "parameters").map(|(_, operation)| operation);
        let operation = if operation.is_null() { any.expect("an operation") } else { operation };
        let response = &operation["responses"][&status];
        assert!(response.is_object(), "{what} is not described: {}", answer.body);
        let response = self.resolved(response);
        match response["content"]["application/json"].get("schema") {
            Some(schema) => {
                assert_eq!(answer.headers["content-type"], "application/json; charset=utf-8", "{what}");
                self.conforms(schema, &answer.body, &what);
            }
            None => assert!(answer.body.is_null(), "{what} is described as empty: {}", answer.body),
        }
        let none = json!({});
        let described = response.get("headers").unwrap_or(&none).as_object().expect("headers");
        for (name, header) in described {
            let is_there = answer.headers.contains_key(name.as_str());
            assert!(is_there || self.resolved(header)["required"] != true, "{what} lacks {name}");
            if let Some(value) = answer.headers.get(name.as_str()) {
                let value = json!(value.to_str().expect("a text"));
                self.conforms(&self.resolved(header)["schema"], &value, &format!("{what}, {name}"));
            }
        }
        for name in DESCRIBED_HEADERS.iter().filter(|name| answer.headers.contains_key(**name)) {
            let is_described = described.keys().any(|described| described.eq_ignore_ascii_case(name));
            assert!(is_described, "{what} has {name}, which is not described");
        }
        if answer.status < 400 {
            self.seen.insert((template, method.to_lowercase(), status));
        }
    }
}

async fn description(door: &Door) -> Description {
    let document = door.get("/api/openapi.json").await;
    Description { document, seen: BTreeSet::new() }
}

#[tokio::test(start_paused = true)]
async fn the_document_is_sound() {
    let door = Door::open(&[]);
    let description = description(&door).await;
    let document = &description.document;
    assert_eq!(document["openapi"], "3.1.0");
    assert_eq!(document["info"]["version"], server::VERSION);
    let schemas = document["components"]["schemas"].as_object().expect("schemas");
    for (name, schema) in schemas {
        jsonschema::meta::validate(schema).unwrap_or_else(|error| panic!("{name}: {error}"));
        description.validator(&json!({"$ref": format!("#/components/schemas/{name}")}));
    }
    // Every reference leads somewhere, and everything that can be referred to is.
    let mut links = BTreeSet::new();
    let mut rest = vec![document];
    while let Some(value) = rest.pop() {
        match value {
            Value::Object(members) => {
                if let Some(link) = members.get("$ref").and_then(Value::as_str) {
                    description.resolved(value);
                    links.insert(link.to_owned());
                }
                rest.extend(members.values());
            }
            Value::Array(items) => rest.extend(items),
            _ => {}
        }
    }
    for (kind, parts) in document["components"].as_object().expect("components") {
        for name in parts.as_object().expect("parts").keys() {
            assert!(links.contains(&format!("#/components/{kind}/{name}")), "nobody uses {kind}/{name}");
        }
    }
    for (path, item) in document["paths"].as_object().expect("paths") {
        let declared: BTreeSet<&str> = item["parameters"]
            .as_array()
            .into_iter()
            .flatten()
            .map(|parameter| description.resolved(parameter))
            .filter(|parameter| parameter["in"] == "path")
            .filter_map(|parameter| parameter["name"].as_str())
            .collect();
        let named: BTreeSet<&str> =
            path.split('/').filter_map(|part| part.strip_prefix('{')?.strip_suffix('}')).collect();
        assert_eq!(declared, named, "{path}");
    }
}

/// Everything that the API does, at least once, with whatever can be in a body.
#[tokio::test(start_paused = true)]
async fn real_answers_are_as_described() {
    let door = Door::open(&[]);
    let mut description = description(&door).await;
    let schema = |name: &str| json!({"$ref": format!("#/components/schemas/{name}")});
    let jobs = job("c", "").replace("/?", "?");
    let groups = collection("").replace("/?", "?");
    let subscriptions = groups.replace("/resourceGroups/g", "");
    let around = |path: &str| format!("{path}?api-version=2020-06-01");
    let import = "/api/import?subscription=s&group=imported".to_owned();
    let template = json!({"resources": [
        {"type": "Microsoft.Scheduler/jobCollections", "name": "new", "apiVersion": "2016-03-01", "x": 1},
        {"type": "Microsoft.Web/sites", "name": "other", "apiVersion": "2016-03-01"},
    ]});
    let group = json!({"location": "westus", "tags": {"a": "b"}, "x": 1});
    let below = |name: &str| collection("c").replace('?', &format!("/{name}?"));

    let mut calls: Vec<(&str, String, Option<Value>)> = vec![("GET", collection("c"), None)];
    for body in examples::collections() {
        description.conforms(&schema("CollectionRequest"), &body, "an example");
        calls.push(("PUT", collection("c"), Some(body)));
    }
    for (n, body) in examples::jobs().into_iter().enumerate() {
        description.conforms(&schema("JobRequest"), &body, "an example");
        calls.push(("PUT", job("c", &format!("j{n}")), Some(body.clone())));
        calls.push(("PUT", job("c", &format!("j{n}")), Some(body)));
        calls.push(("GET", job("c", &format!("j{n}")), None));
    }
    let now = json!({"properties": {"action": plain()["properties"]["action"], "x": 1}});
    let part = json!({"properties": {"state": "Disabled"}, "x": 1});
    let wrong = json!({"properties": {"recurrence": {"interval": 0, "count": "x"}}});
    calls.extend([
        ("PATCH", job("c", "j5"), Some(part.clone())),
        ("PATCH", collection("c"), Some(part.clone())),
        ("POST", below("enable"), None),
        // After the collection was off: what falls due while it is off is not run.
        ("PUT", job("c", "once"), Some(now.clone())),
        ("POST", jobs.clone(), Some(now)),
        ("POST", job("c", "j0/run"), None),
        ("GET", jobs.clone(), None),
        ("GET", format!("{jobs}&$top=2"), None),
        ("GET", collection("c"), None),
        ("HEAD", collection("c"), None),
        ("HEAD", job("c", "j0"), None),
        ("GET", groups.clone(), None),
        ("GET", groups.replace("/g/", "/nowhere/"), None),
        ("GET", subscriptions.clone(), None),
        ("GET", around("/subscriptions"), None),
        ("GET", around("/subscriptions/s"), None),
        ("GET", around("/subscriptions/s/locations"), None),
        ("GET", around("/subscriptions/s/providers"), None),
        ("GET", around("/subscriptions/s/providers/Microsoft.Scheduler"), None),
        ("GET", around("/subscriptions/s/providers/Microsoft.Web"), None),
        ("POST", around("/subscriptions/s/providers/Microsoft.Scheduler/register"), None),
        ("GET", around("/subscriptions/s/resources"), None),
        ("GET", around("/subscriptions/s/resourceGroups"), None),
        ("PUT", around("/subscriptions/s/resourceGroups/other"), Some(group.clone())),
        ("PUT", around("/subscriptions/s/resourceGroups/other"), Some(group.clone())),
        ("PATCH", around("/subscriptions/s/resourceGroups/other"), Some(json!({"tags": {"a": null}}))),
        ("GET", around("/subscriptions/s/resourceGroups/other"), None),
        ("HEAD", around("/subscriptions/s/resourceGroups/other"), None),
        ("GET", around("/subscriptions/s/resourceGroups/g/resources"), None),
        ("GET", around("/subscriptions/s/resourceGroups/nowhere/resources"), None),
        ("GET", around("/providers/Microsoft.Scheduler/operations"), None),
        ("GET", around("/metadata/endpoints"), None),
        ("GET", "/subscriptions".into(), None),
        ("POST", format!("{import}&dryRun=true"), Some(template.clone())),
        ("POST", import.clone(), Some(template)),
        ("POST", import, Some(json!({"resources": [{"type": "Microsoft.Scheduler/jobCollections"}]}))),
        ("GET", "/api/export?subscription=s".into(), None),
        ("GET", "/api/export".into(), None),
        ("GET", "/api/overview?span=x".into(), None),
        ("GET", "/api/jobs?top=2".into(), None),
        ("GET", "/api/jobs?sort=x".into(), None),
        ("GET", "/api/nodes".into(), None),
        ("GET", "/api/nodes?x=1".into(), None),
        ("GET", "/api/waiting".into(), None),
        ("GET", "/api/waiting?x=1".into(), None),
        ("GET", "/api/events?job=x".into(), None),
        ("GET", format!("/api/events?job={}", id("c", "nothing")), None),
        ("POST", "/api/preview".into(), Some(examples::jobs()[2].clone())),
        ("POST", "/api/preview?count=0".into(), Some(plain())),
        (
            "POST",
            "/api/preview".into(),
            Some(json!({"recurrence": {"frequency": "day", "interval": 0, "x": 1}})),
        ),
        ("GET", format!("/api/upcoming?job={}", id("c", "j1")), None),
        ("GET", format!("/api/upcoming?job={}", id("c", "nothing")), None),
        ("GET", "/api/upcoming".into(), None),
        ("POST", "/api/test-call".into(), Some(json!({"action": plain()["properties"]["action"], "x": 1}))),
        ("POST", "/api/test-call".into(), Some(json!({"action": {}}))),
        ("POST", "/api/test-call".into(), Some(json!({"action": {}, "job": id("c", "nothing")}))),
        ("GET", "/api/settings".into(), None),
        ("GET", "/api/settings?x=1".into(), None),
        (
            "PUT",
            "/api/notifications/ops".into(),
            Some(
                json!({"when": "faulted", "uri": "http://hooks.test/", "headers": {"X-Team": "ops"}, "x": 1}),
            ),
        ),
        (
            "PUT",
            "/api/notifications/ops".into(),
            Some(json!({"when": "late", "after": "1m", "subscription": "s", "uri": "http://hooks.test/"})),
        ),
        ("PUT", "/api/notifications/ops".into(), Some(json!({"when": "often", "headers": 1}))),
        ("GET", "/api/notifications/ops".into(), None),
        ("GET", "/api/notifications/none".into(), None),
        ("GET", "/api/notifications".into(), None),
        ("GET", "/api/notifications?x=1".into(), None),
        ("DELETE", "/api/notifications/none".into(), None),
        ("GET", "/api/notices".into(), None),
        ("GET", "/api/audit?top=3".into(), None),
        ("GET", "/api/audit?act=x".into(), None),
        ("GET", "/api/audit/verify".into(), None),
        ("POST", "/api/tokens".into(), Some(json!({"name": "n", "role": "Reader", "x": 1}))),
        ("POST", "/api/tokens".into(), Some(json!({"name": ""}))),
        ("GET", "/api/tokens".into(), None),
        ("DELETE", "/api/tokens/0000000000000000".into(), None),
        (
            "POST",
            "/api/roles/assign".into(),
            Some(json!({"principal": "user:a", "role": "Owner", "scope": "/"})),
        ),
        (
            "POST",
            "/api/roles/assign".into(),
            Some(json!({"principal": "user:a", "role": "Owner", "scope": "/"})),
        ),
        ("POST", "/api/roles/assign".into(), Some(json!({"principal": "a"}))),
        ("GET", "/api/roles".into(), None),
        ("GET", "/api/session".into(), None),
        ("POST", "/api/session".into(), Some(json!({"token": "pt_"}))),
        ("POST", "/api/session".into(), Some(json!({}))),
        ("DELETE", "/api/session".into(), None),
        (
            "POST",
            "/api/roles/remove".into(),
            Some(json!({"principal": "user:a", "role": "Owner", "scope": "/"})),
        ),
        (
            "POST",
            "/api/roles/remove".into(),
            Some(json!({"principal": "user:a", "role": "Owner", "scope": "/"})),
        ),
        ("GET", "/healthz".into(), None),
        ("GET", "/readyz".into(), None),
        ("GET", "/api/openapi.json".into(), None),
        // What is refused.
        ("PUT", job("c", "new"), Some(wrong.clone())),
        ("PATCH", job("c", "j0"), Some(wrong)),
        ("PUT", job("c", "-"), Some(plain())),
        ("PUT", job("nowhere", "j"), Some(plain())),
        ("PATCH", collection("nowhere"), Some(part)),
        ("GET", job("c", "nothing"), None),
        ("GET", job("c", "nothing/history"), None),
        ("POST", job("c", "nothing/run"), None),
        ("DELETE", job("c", "nothing"), None),
        ("GET", format!("{jobs}&$top=0"), None),
        ("GET", format!("{jobs}&$filter=x"), None),
        ("GET", "/api/ledger?state=x".into(), None),
        ("GET", collection("c").replace("2016-03-01", "2000-01-01"), None),
        ("POST", job("c", "j0"), Some(plain())),
        ("PUT", jobs.clone(), Some(plain())),
        ("DELETE", "/api/ledger".into(), None),
        ("PUT", collection("c"), Some(json!({"properties": {"quota": {"maxJobCount": 1}}}))),
        ("PUT", job("c", "large"), Some(json!(" ".repeat(1 << 20)))),
    ]);
    calls.extend(["GET", "POST", "PUT", "PATCH", "DELETE"].map(|method| (method, "/api/echo".into(), None)));

    // One target fails, so that there is something to tell.
    let runner = Scripted::new(|order, _| match order.job {
        "j0" => Step::failure("not today"),
        _ => Step::success(),
    });
    let engine = door.start(Arc::new(runner));
    for (method, path, body) in calls {
        let answer = door.call(method, &path, body.as_ref()).await;
        description.check(method, &path, &answer);
    }
    // Long enough for all retries.
    sleep(Duration::from_secs(300)).await;
    let overview = door.call("GET", "/api/overview", None).await;
    assert_ne!(overview.body["notRun"], json!([]), "{}", overview.body);
    description.check("GET", "/api/overview", &overview);
    for path in [job("c", "j0/history"), job("c", "once/history"), "/api/ledger".into()] {
        let answer = door.call("GET", &path, None).await;
        assert!(!answer.body["value"].as_array().expect("a list").is_empty(), "{path}");
        description.check("GET", &path, &answer);
    }
    assert!(engine.stop().await);

    let conditional = |method: &str, path: &str, name: &str, value: &str| {
        let request = Request::builder().method(method).uri(path).header(name, value);
        request.body(Body::from(plain().to_string())).expect("a request")
    };
    let rows = [
        ("GET", job("c", "j1"), "if-none-match", "*", 304),
        ("GET", collection("c"), "if-none-match", "*", 304),
        ("GET", around("/subscriptions/s/resourceGroups/other"), "if-none-match", "*", 304),
        ("DELETE", around("/subscriptions/s/resourceGroups/other"), "if-match", "\"none\"", 412),
        ("DELETE", around("/subscriptions/s/resourceGroups/other"), "x", "y", 200),
        ("PUT", job("c", "j1"), "if-match", "\"none\"", 412),
        ("PUT", collection("c"), "if-match", "\"none\"", 412),
        ("DELETE", job("c", "j1"), "if-match", "\"none\"", 412),
        ("GET", "/api/notifications/ops".into(), "if-none-match", "*", 304),
        ("DELETE", "/api/notifications/ops".into(), "if-match", "\"none\"", 412),
        ("DELETE", "/api/notifications/ops".into(), "x", "y", 204),
        ("PUT", job("c", "j1"), "content-type", "text/plain", 415),
        ("POST", below("disable"), "if-match", "\"none\"", 412),
        ("POST", below("enable"), "if-match", "\"none\"", 412),
        ("POST", job("c", "j1/run"), "if-match", "\"none\"", 412),
        ("POST", below("disable"), "x", "y", 200),
        ("POST", job("c", "j1/run"), "x", "y", 409),
        ("PUT", job("c", "once"), "x", "y", 409),
        ("DELETE", job("c", "j1"), "x", "y", 200),
        ("DELETE", collection("c"), "x", "y", 200),
        ("GET", "/api/keys".into(), "x", "y", 200),
        ("POST", "/api/keys/rotate?dryRun=true".into(), "x", "y", 200),
        ("POST", "/api/keys/rotate?dryRun=maybe".into(), "x", "y", 400),
        ("POST", "/api/keys/rotate".into(), "x", "y", 202),
        ("GET", "/api/keys/rotate".into(), "x", "y", 405),
    ];
    for (method, path, name, value, status) in rows {
        let answer = door.send(conditional(method, &path, name, value)).await;
        assert_eq!(answer.status, status, "{method} {path}: {}", answer.body);
        description.check(method, &path, &answer);
    }

    // A token is revoked by its id, which only the answer tells.
    let made = door.call("POST", "/api/tokens", Some(&json!({"name": "n", "role": "Reader"}))).await;
    let path = format!("/api/tokens/{}", made.body["id"].as_str().expect("an id"));
    let answer = door.call("DELETE", &path, None).await;
    description.check("DELETE", &path, &answer);

    // To sign in takes a server that asks who calls.
    let (world, owner) = guarded().await;
    let signed_in = world.call("POST", "/api/session", Some(&json!({"token": owner}))).await.expect(201);
    description.conforms(&schema("Session"), &signed_in.body, "a sign-in");
    description.seen.insert(("/api/session".into(), "post".into(), signed_in.status.to_string()));

    // To sign in elsewhere takes an issuer.
    let key = super::issuers::Key::new("k1");
    let world = super::issuers::Issuer::start(&[&key]).await.world();
    for path in ["/api/session/oidc", "/api/session/oidc/callback"] {
        let sent = world.get(path).await.expect(303);
        assert!(sent.header("location").is_some() && sent.text.is_empty(), "{path}");
        description.seen.insert((path.into(), "get".into(), sent.status.to_string()));
    }

    // The copy is no JSON, so it is looked at here.
    let copy = door.raw("POST", "/api/backup").await;
    assert!(copy.1.starts_with(b"SQLite format 3"), "{:?}", copy.0);
    description.seen.insert(("/api/backup".into(), "post".into(), copy.0.as_u16().to_string()));

    // Neither are numbers; `metrics` has more of them.
    let (status, headers, _) = door.open_stream("/metrics").await;
    assert_eq!(headers["content-type"], "text/plain; version=0.0.4; charset=utf-8");
    description.seen.insert(("/metrics".into(), "get".into(), status.as_u16().to_string()));
    let refused = door.call("PUT", "/metrics", None).await;
    description.check("PUT", "/metrics", &refused);

    // And the stream of what happens has no end.
    let (status, _, _) = door.open_stream("/api/events").await;
    description.seen.insert(("/api/events".into(), "get".into(), status.as_u16().to_string()));

    let mut unseen = Vec::new();
    for (path, item) in description.document["paths"].as_object().expect("paths") {
        for (method, operation) in
            item.as_object().expect("an item").iter().filter(|(name, _)| *name != "parameters")
        {
            let statuses = operation["responses"].as_object().expect("responses").keys();
            for status in statuses.filter(|status| status.as_str() < "400") {
                let answer = (path.clone(), method.clone(), status.clone());
                if !description.seen.contains(&answer) {
                    unseen.push(answer);
                }
            }
        }
    }
    assert_eq!(unseen, [], "described, but not answered here");
}

/// The description would notice a member that nobody has described.
#[tokio::test(start_paused = true)]
#[should_panic(expected = "surprise")]
async fn an_undescribed_member_is_noticed() {
    let door = Door::open(&[]);
    door.collection("c", "Standard").await;
    let mut answer = door.accepts("PUT", &job("c", "j"), &with(&[])).await;
    answer.body["properties"]["action"]["request"]["surprise"] = json!(1);
    description(&door).await.check("PUT", &job("c", "j"), &answer);
}
