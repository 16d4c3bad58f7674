//! Bodies that are refused: where the fault is, and what it says.

mod common;

use serde_json::{Value, json};

const SIGNING: &str = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";
const HTTP: &str = "properties.action.request";

/// The faults of a body: their paths, and how they are shown.
fn faults(body: &Value) -> Vec<(String, String)> {
    match wire::job::read(body, common::now()) {
        Ok(_) => Vec::new(),
        Err(faults) => faults.iter().map(|fault| (fault.field.clone(), fault.to_string())).collect(),
    }
}

#[track_caller]
fn refused(body: &Value, path: &str, says: &str) {
    let faults = faults(body);
    assert_eq!(faults.len(), 1, "{body}: {faults:?}");
    assert_eq!(faults[0].0, path, "{body}");
    assert!(faults[0].1.contains(says), "{body}: {faults:?}");
}

fn job(properties: &[(&str, Value)]) -> Value {
    let mut body = json!({"properties": {"action": action(&[])}});
    for (name, value) in properties {
        body["properties"][name] = value.clone();
    }
    body
}

fn action(members: &[(&str, Value)]) -> Value {
    let mut action = json!({"type": "Http", "request": {"uri": "http://example.org/", "method": "GET"}});
    for (name, value) in members {
        action[name] = value.clone();
    }
    action
}

fn request(members: &[(&str, Value)]) -> Value {
    let mut body = job(&[]);
    for (name, value) in members {
        body["properties"]["action"]["request"][name] = value.clone();
    }
    body
}

#[test]
fn documents() {
    for (body, path) in [
        (json!(null), "document"),
        (json!([]), "document"),
        (json!("job"), "document"),
        (json!({}), "properties"),
        (json!({"properties": null}), "properties"),
        (json!({"properties": 5}), "properties"),
        (json!({"properties": [], "action": {}}), "properties"),
        (json!({"properties": {}, "Properties": {}}), "Properties"),
        (json!({"properties": {}}), "properties.action"),
        (json!({"Properties": {"ACTION": null}}), "Properties.action"),
    ] {
        refused(&body, path, "allowed: ");
    }
}

#[test]
fn properties() {
    for (name, value, path, says) in [
        ("action", json!("Http"), "properties.action", "a text is not allowed"),
        ("action", json!([]), "properties.action", "a list"),
        ("action", json!({}), "properties.action.type", "missing; allowed: Http, Https, StorageQueue"),
        (
            "state",
            json!("Paused"),
            "properties.state",
            "\"Paused\" is not allowed here; allowed: Enabled or Disabled",
        ),
        ("state", json!("completed"), "properties.state", "for the scheduler to say"),
        ("state", json!("Faulted"), "properties.state", "for the scheduler to say"),
        ("State", json!(true), "properties.State", "Enabled or Disabled"),
        ("startTime", json!("soon"), "properties.startTime", "ISO 8601"),
        ("startTime", json!(5), "properties.startTime", "ISO 8601"),
        ("recurrence", json!({"frequency": "second"}), "properties.recurrence.frequency", "minute, hour"),
        (
            "recurrence",
            json!({"frequency": "day", "endTime": "2026-12-31"}),
            "properties.recurrence.endTime",
            "past",
        ),
        ("Recurrence", json!({"interval": 1}), "properties.Recurrence.frequency", "missing"),
        ("catchUp", json!("all"), "properties.catchUp", "{\"policy\": \"all\", \"max\": 10}"),
        ("catchUp", json!("some"), "properties.catchUp", "none, last or"),
        ("catchUp", json!(3), "properties.catchUp", "none, last or"),
        ("catchUp", json!({"policy": "first"}), "properties.catchUp.policy", "none, last or all"),
        ("catchUp", json!({"policy": "all"}), "properties.catchUp.max", "missing"),
        ("catchUp", json!({}), "properties.catchUp.max", "missing"),
        ("catchUp", json!({"policy": "all", "max": 0}), "properties.catchUp.max", "from 1 on"),
        ("catchUp", json!({"max": "10"}), "properties.catchUp.max", "from 1 on"),
        ("catchUp", json!({"max": 4_294_967_296_u64}), "properties.catchUp.max", "from 1 on"),
        ("overlap", json!("wait"), "properties.overlap", "allow, skip or queue"),
        ("overlap", json!({}), "properties.overlap", "allow, skip or queue"),
    ] {
        refused(&job(&[(name, value)]), path, says);
    }
}

#[test]
fn actions() {
    let nested = (0..4).fold(action(&[]), |inner, _| action(&[("errorAction", inner)]));
    for (members, path, says) in [
        (json!({"type": "Smtp"}), "properties.action.type", "\"Smtp\" is not allowed here; allowed: Http"),
        (json!({"type": 1}), "properties.action.type", "allowed: Http"),
        (json!({"type": null}), "properties.action.type", "missing"),
        (json!({"Type": "Http"}), "properties.action.Type", "type beside Type"),
        (json!({"request": null}), "properties.action.request", "missing"),
        (json!({"request": "GET"}), "properties.action.request", "a text"),
        (json!({"type": "StorageQueue"}), "properties.action.queueMessage", "missing"),
        (json!({"type": "ServiceBusQueue"}), "properties.action.serviceBusQueueMessage", "missing"),
        (json!({"type": "servicebustopic"}), "properties.action.serviceBusTopicMessage", "missing"),
        (json!({"retryPolicy": 5}), "properties.action.retryPolicy", "an object such as"),
        (
            json!({"retryPolicy": {}}),
            "properties.action.retryPolicy.retryType",
            "missing; allowed: none or fixed",
        ),
        (
            json!({"retryPolicy": {"retryType": "often"}}),
            "properties.action.retryPolicy.retryType",
            "none or fixed",
        ),
        (json!({"errorAction": "x"}), "properties.action.errorAction", "a text"),
        (json!({"errorAction": {"request": {}}}), "properties.action.errorAction.type", "missing"),
        (
            json!({"errorAction": action(&[("request", json!({"uri": "x", "method": "GET"}))])}),
            "properties.action.errorAction.request.uri",
            "an absolute URI",
        ),
        (
            nested,
            "properties.action.errorAction.errorAction.errorAction.errorAction",
            "nested at most 3 deep",
        ),
    ] {
        let mut whole = action(&[]);
        for (name, value) in members.as_object().expect("members") {
            whole[name] = value.clone();
        }
        refused(&job(&[("action", whole)]), path, says);
    }
}

#[test]
fn retries() {
    for (member, value) in [
        ("retryInterval", json!("a minute")),
        ("retryInterval", json!("")),
        ("retryInterval", json!("P0.5M")),
        ("retryInterval", json!("24:00:00")),
        ("retryInterval", json!("-00:01:00")),
        ("retryInterval", json!("PT0.5S")),
        ("retryInterval", json!(60)),
        ("RetryInterval", json!([])),
        ("retryCount", json!(-1)),
        ("retryCount", json!("4")),
        ("retryCount", json!(1.5)),
        ("retryCount", json!(4_294_967_296_u64)),
    ] {
        let body =
            job(&[("action", action(&[("retryPolicy", json!({"retryType": "Fixed", member: value}))]))]);
        refused(&body, &format!("properties.action.retryPolicy.{member}"), "is not allowed here");
    }
}

#[test]
fn requests() {
    for (name, value, path, says) in [
        ("uri", json!(null), "uri", "missing"),
        ("uri", json!(""), "uri", "an absolute URI"),
        ("uri", json!("example.org"), "uri", "\"example.org\" is not allowed"),
        ("uri", json!("ftp://example.org/"), "uri", "http or https"),
        ("uri", json!("http://"), "uri", "and a host"),
        ("uri", json!("http://example.org/a b"), "uri", "an absolute URI"),
        ("uri", json!(5), "uri", "an absolute URI"),
        ("method", json!(null), "method", "missing"),
        ("method", json!("G ET"), "method", "the name of an HTTP method"),
        ("method", json!("GET\r\nX: y"), "method", "the name of an HTTP method"),
        ("method", json!(["GET"]), "method", "the name of an HTTP method"),
        ("method", json!("CONNECT"), "method", "not CONNECT"),
        ("method", json!("connect"), "method", "not CONNECT"),
        ("body", json!({"a": 1}), "body", "an object is not allowed here; allowed: a text"),
        ("body", json!(5), "body", "a text"),
        ("headers", json!("a: b"), "headers", "an object of texts"),
        ("headers", json!([]), "headers", "an object of texts"),
        ("headers", json!({"a": 1}), "headers.a", "1 is not allowed here; allowed: a text"),
        ("headers", json!({"a b": "c"}), "headers[\"a b\"]", "the name of an HTTP header"),
        ("headers", json!({"": "c"}), "headers[\"\"]", "the name of an HTTP header"),
        ("headers", json!({"a": "b\r\nc: d"}), "headers.a", "a text of one line"),
        ("headers", json!({"a": "b", "A": "c"}), "headers.A", "each header once"),
        ("authentication", json!("Basic"), "authentication", "a text is not allowed"),
        ("authentication", json!({}), "authentication.type", "missing; allowed: Basic"),
        ("authentication", json!({"type": "Digest"}), "authentication.type", "\"Digest\" is not allowed"),
        (
            "authentication",
            json!({"type": "clientcertificate", "password": "y"}),
            "authentication.pfx",
            "missing; allowed: a PKCS #12 file",
        ),
        (
            "authentication",
            json!({"type": "clientcertificate", "pfx": "!", "password": "y"}),
            "authentication.pfx",
            "a text that is not Base64",
        ),
        (
            "authentication",
            json!({"type": "clientcertificate", "pfx": "AAAA", "password": "y"}),
            "authentication.pfx",
            "no PKCS #12 file",
        ),
        (
            "authentication",
            json!({"type": "hmac"}),
            "authentication.secrets",
            "missing; allowed: a list of 1 to 4 secrets",
        ),
        (
            "authentication",
            json!({"type": "Hmac", "secret": "hunter2"}),
            "authentication.secret",
            "a secret that does not begin with whsec_ is not allowed here; allowed: whsec_ followed by the Base64 of 24 \
             to 64 bytes",
        ),
        (
            "authentication",
            json!({"type": "Hmac", "Secrets": [SIGNING, "whsec_AAAA"]}),
            "authentication.Secrets[1]",
            "a secret of 3 bytes",
        ),
        (
            "authentication",
            json!({"type": "Hmac", "secrets": [SIGNING, 5]}),
            "authentication.secrets[1]",
            "(a secret)",
        ),
        ("authentication", json!({"type": "Hmac", "secrets": []}), "authentication.secrets", "a list of 0"),
        (
            "authentication",
            json!({"type": "Hmac", "secrets": [SIGNING, SIGNING, SIGNING, SIGNING, SIGNING]}),
            "authentication.secrets",
            "a list of 5 is not allowed here; allowed: from 1 to 4 secrets",
        ),
        (
            "authentication",
            json!({"type": "Hmac", "secrets": [SIGNING], "secret": SIGNING}),
            "authentication.secret",
            "only one of them",
        ),
        ("authentication", json!({"type": "Basic", "username": "u"}), "authentication.password", "missing"),
        ("authentication", json!({"type": "Basic", "password": "p"}), "authentication.username", "missing"),
        (
            "authentication",
            json!({"type": "Basic", "username": "", "password": "p"}),
            "authentication.username",
            "\"\"",
        ),
        (
            "authentication",
            json!({"type": "Basic", "username": "u", "Password": 5}),
            "authentication.Password",
            "(a secret) is not allowed here",
        ),
        (
            "authentication",
            json!({"type": "ActiveDirectoryOAuth", "tenant": "t", "audience": "a", "clientId": 5, "secret": "s"}),
            "authentication.clientId",
            "the client's id",
        ),
        (
            "authentication",
            json!({"type": "ActiveDirectoryOAuth", "tenant": "t", "audience": "a", "clientId": "c"}),
            "authentication.secret",
            "missing",
        ),
    ] {
        refused(&request(&[(name, value)]), &format!("{HTTP}.{path}"), says);
    }
}

#[test]
fn messages() {
    let queue = |mut members: Value| {
        if members.is_object() && members.get("message").is_none() {
            members["message"] = json!("m");
        }
        json!({"type": "StorageQueue", "queueMessage": members})
    };
    let bus = |members: Value| {
        let mut message = json!({"namespace": "n", "queueName": "q"});
        for (name, value) in members.as_object().expect("members") {
            message[name] = value.clone();
        }
        json!({"type": "ServiceBusQueue", "serviceBusQueueMessage": message})
    };
    let bus_path = |member: &str| format!("properties.action.serviceBusQueueMessage.{member}");
    for (action, path, says) in [
        (queue(json!("sv=1&sig=x")), "properties.action.queueMessage".to_owned(), "a text is not allowed"),
        (
            queue(json!({"queueName": "q", "sasToken": "s"})),
            "properties.action.queueMessage.storageAccount".into(),
            "missing",
        ),
        (
            queue(json!({"storageAccount": "a", "queueName": "", "sasToken": "s"})),
            "properties.action.queueMessage.queueName".into(),
            "the name of a queue",
        ),
        (
            queue(json!({"storageAccount": "a", "queueName": "q"})),
            "properties.action.queueMessage.sasToken".into(),
            "missing",
        ),
        (
            queue(json!({"storageAccount": "a", "queueName": "q", "sasToken": ["s"]})),
            "properties.action.queueMessage.sasToken".into(),
            "(a secret)",
        ),
        (
            queue(json!({"storageAccount": "a", "queueName": "q", "sasToken": "s", "message": null})),
            "properties.action.queueMessage.message".into(),
            "missing",
        ),
        (
            queue(json!({"storageAccount": "a", "queueName": "q", "sasToken": "s", "message": {"a": 1}})),
            "properties.action.queueMessage.message".into(),
            "a text",
        ),
        (
            queue(json!({"storageAccount": "a", "queueName": "q", "sasToken": "s", "delivery": "pigeon"})),
            "properties.action.queueMessage.delivery".into(),
            "envelope, raw or base64",
        ),
        (bus(json!({"namespace": null})), bus_path("namespace"), "missing"),
        (bus(json!({"queueName": null, "topicPath": "t"})), bus_path("queueName"), "missing"),
        (bus(json!({"transportType": "carrier pigeon"})), bus_path("transportType"), "NetMessaging or AMQP"),
        (bus(json!({"authentication": "key"})), bus_path("authentication"), "a text is not allowed"),
        (
            bus(json!({"authentication": {"type": "None"}})),
            bus_path("authentication.type"),
            "SharedAccessKey",
        ),
        (bus(json!({"authentication": {"sasKey": "k"}})), bus_path("authentication.sasKeyName"), "missing"),
        (
            bus(json!({"authentication": {"sasKeyName": "n", "sasKey": true}})),
            bus_path("authentication.sasKey"),
            "(a secret)",
        ),
        (bus(json!({"message": 5})), bus_path("message"), "a text"),
        (
            bus(json!({"brokeredMessageProperties": []})),
            bus_path("brokeredMessageProperties"),
            "an object such as",
        ),
        (
            bus(json!({"brokeredMessageProperties": {"label": 5}})),
            bus_path("brokeredMessageProperties.label"),
            "a text",
        ),
        (
            bus(json!({"brokeredMessageProperties": {"label": "a", "Label": "b"}})),
            bus_path("brokeredMessageProperties.Label"),
            "only one of them",
        ),
        (
            bus(json!({"brokeredMessageProperties": {"forcePersistence": "yes"}})),
            bus_path("brokeredMessageProperties.forcePersistence"),
            "true or false",
        ),
        (
            bus(json!({"brokeredMessageProperties": {"scheduledEnqueueTimeUtc": "later"}})),
            bus_path("brokeredMessageProperties.scheduledEnqueueTimeUtc"),
            "ISO 8601",
        ),
        (
            bus(json!({"brokeredMessageProperties": {"timeToLive": "long"}})),
            bus_path("brokeredMessageProperties.timeToLive"),
            "PT1M",
        ),
        (bus(json!({"customMessageProperties": {"a": 1}})), bus_path("customMessageProperties.a"), "a text"),
        (
            bus(json!({"customMessageProperties": "a"})),
            bus_path("customMessageProperties"),
            "an object of texts",
        ),
    ] {
        refused(&job(&[("action", action)]), &path, says);
    }
}

#[test]
fn all_at_once() {
    let body = json!({"properties": {
        "startTime": "soon", "state": "completed", "overlap": 1, "catchUp": "x",
        "action": {
            "type": "Http",
            "request": {"uri": "x", "method": "", "headers": {"a": 1}, "body": [], "authentication": {"type": "Basic"}},
            "retryPolicy": {"retryType": "fixed", "retryInterval": "x", "retryCount": -1},
            "errorAction": {"type": "StorageQueue", "queueMessage": {}},
        },
        "recurrence": {"frequency": "day", "interval": 0},
    }});
    let fields: Vec<_> =
        faults(&body).into_iter().map(|(field, _)| field.replace("properties.", "")).collect();
    assert_eq!(
        fields,
        [
            "startTime",
            "recurrence.interval",
            "action.request.uri",
            "action.request.method",
            "action.request.headers.a",
            "action.request.body",
            "action.request.authentication.username",
            "action.request.authentication.password",
            "action.retryPolicy.retryInterval",
            "action.retryPolicy.retryCount",
            "action.errorAction.queueMessage.storageAccount",
            "action.errorAction.queueMessage.queueName",
            "action.errorAction.queueMessage.sasToken",
            "action.errorAction.queueMessage.message",
            "state",
            "catchUp",
            "overlap",
        ]
    );
}

/// Faults that are found later point into the body as it is written, too.
#[test]
fn limits_are_placed_in_the_body() {
    use model::admission::{Limits, check};

    let body = json!({"Properties": {"Action": {"type": "http", "REQUEST": {
        "Uri": format!("http://example.org/{}", "x".repeat(2048)), "method": "GET", "headers": {"a": "b"},
    }}}});
    let request = common::read(&body);
    let plans = model::Plans::default();
    let limits = Limits { headers: 0, ..Limits::default() };
    let faults =
        check(&request.rule, &request.action, request.catch_up, &plans.standard, &limits, common::now());
    let fields: Vec<_> = request.placed(faults).into_iter().map(|fault| fault.field).collect();
    assert_eq!(fields, ["Properties.Action.REQUEST.Uri", "Properties.Action.REQUEST.headers"]);
}

/// The documents show jobs whose members stand at the top; the answer says where they belong.
#[test]
fn a_job_without_properties() {
    let whole = job(&[]);
    let says = "an object into which action, startTime, recurrence and state are put";
    refused(&whole["properties"], "properties", says);
    refused(&json!({"Action": {}}), "properties", says);
    refused(&json!({"tags": {}}), "properties", "an object such as {\"action\"");
}

#[test]
fn days_of_the_week_are_seven() {
    let days = |many: usize| {
        let recurrence = json!({"frequency": "week", "schedule": {"weekDays": vec!["Monday"; many]}});
        job(&[("recurrence", recurrence)])
    };
    refused(&days(8), "properties.recurrence.schedule.weekDays", "at most 7 days, each of them once");
    assert!(wire::job::read(&days(7), "2027-01-01T00:00:00Z".parse().expect("a time")).is_ok());
}
