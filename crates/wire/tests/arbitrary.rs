//! Whatever is sent is answered: nothing panics, and what is accepted comes back the same.

mod common;

use common::{job, now, path};
use model::Plans;
use proptest::prelude::*;
use serde_json::{Map, Value, json};
use wire::dialect::Dialect;

/// Names that lead into the readers, and a few that do not.
const NAMES: [&str; 53] = [
    "properties",
    "action",
    "type",
    "request",
    "uri",
    "method",
    "headers",
    "body",
    "authentication",
    "username",
    "password",
    "tenant",
    "audience",
    "clientId",
    "secret",
    "pfx",
    "queueMessage",
    "storageAccount",
    "queueName",
    "sasToken",
    "message",
    "delivery",
    "serviceBusQueueMessage",
    "serviceBusTopicMessage",
    "topicPath",
    "namespace",
    "transportType",
    "sasKey",
    "sasKeyName",
    "brokeredMessageProperties",
    "customMessageProperties",
    "timeToLive",
    "retryPolicy",
    "retryType",
    "retryInterval",
    "retryCount",
    "errorAction",
    "recurrence",
    "frequency",
    "interval",
    "schedule",
    "minutes",
    "monthlyOccurrences",
    "Occurrence",
    "state",
    "status",
    "catchUp",
    "max",
    "overlap",
    "tags",
    "sku",
    "quota",
    "x",
];
const TEXTS: [&str; 25] = [
    "",
    "Http",
    "StorageQueue",
    "ServiceBusQueue",
    "Basic",
    "ActiveDirectoryOAuth",
    "Hmac",
    "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw",
    "http://a",
    "GET",
    "fixed",
    "none",
    "PT1M",
    "00:01:00",
    "PT",
    "P1é",
    "day",
    "Enabled",
    "2027-02-01",
    "last",
    "skip",
    "raw",
    "SharedAccessKey",
    "a\r\nb",
    "é",
];

fn value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        (0..100i64).prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        prop::sample::select(TEXTS.to_vec()).prop_map(Value::from),
        ".{0,8}".prop_map(Value::from),
    ];
    let name = prop_oneof![
        8 => prop::sample::select(NAMES.to_vec()).prop_map(str::to_owned),
        1 => prop::sample::select(NAMES.to_vec()).prop_map(str::to_uppercase),
        1 => ".{0,4}",
    ];
    leaf.prop_recursive(6, 60, 8, move |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::vec((name.clone(), inner), 0..8)
                .prop_map(|members| members.into_iter().collect::<Map<_, _>>().into()),
        ]
    })
}

/// A whole job of which parts are replaced.
fn job_like() -> impl Strategy<Value = Value> {
    let whole = json!({"properties": {
        "startTime": "2027-02-01",
        "action": {
            "type": "Http",
            "request": {"uri": "http://a", "method": "GET", "headers": {"a": "b"}, "body": "c",
                        "authentication": {"type": "Basic", "username": "u", "password": "p"}},
            "retryPolicy": {"retryType": "fixed", "retryInterval": "PT1M", "retryCount": 3},
            "errorAction": {"type": "ServiceBusTopic", "serviceBusTopicMessage": {
                "topicPath": "t", "namespace": "n", "authentication": {"sasKeyName": "n", "sasKey": "k"},
                "brokeredMessageProperties": {"label": "x"}, "customMessageProperties": {"y": "z"},
            }},
        },
        "recurrence": {"frequency": "month", "schedule": {"monthlyOccurrences": [{"day": "friday", "Occurrence": 1}]}},
        "catchUp": "last", "overlap": "skip", "state": "Enabled",
    }});
    let mut places = Vec::new();
    fn walk(value: &Value, place: &str, places: &mut Vec<String>) {
        for (name, member) in value.as_object().into_iter().flatten() {
            places.push(format!("{place}/{name}"));
            walk(member, &format!("{place}/{name}"), places);
        }
    }
    walk(&whole, "", &mut places);
    prop::collection::vec((prop::sample::select(places), value()), 0..3).prop_map(move |changes| {
        let mut body = whole.clone();
        for (place, value) in changes {
            if let Some(member) = body.pointer_mut(&place) {
                *member = value;
            }
        }
        body
    })
}

fn body() -> impl Strategy<Value = Value> {
    prop_oneof![1 => value(), 3 => job_like()]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn jobs(body in body(), patch in body()) {
        if let Ok(request) = wire::job::read(&body, now()) {
            let first = job("j", &request);
            let answer = wire::job::write(&path(), &first, Dialect::default());
            // All that an answer leaves out are secrets.
            let unchanged = wire::job::patch(&first.definition, first.state, &json!({}), now()).expect("nothing new");
            prop_assert_eq!(unchanged.request.definition(), first.definition.clone());
            let echoed = match answer["properties"].clone() {
                Value::Object(mut members) => { members.shift_remove("status"); json!({"properties": members}) }
                other => other,
            };
            let echo = wire::job::patch(&first.definition, first.state, &echoed, now()).expect("an answer is a patch");
            prop_assert_eq!(&echo.request.action, &first.definition.action);
            prop_assert!(!echo.timing_changed, "{}", echoed);
            prop_assert_eq!(wire::job::write(&path(), &job("j", &echo.request), Dialect::default()), answer);
            if let Err(faults) = wire::job::patch(&first.definition, first.state, &patch, now()) {
                prop_assert!(faults.iter().count() > 0);
                let _ = wire::error::faults(wire::error::BAD_REQUEST, &faults);
            }
        }
    }

    #[test]
    fn collections(body in body(), patch in body()) {
        let plans = Plans::default();
        if let Ok(request) = wire::collection::read(&body, None, &plans) {
            let collection = request.collection(path());
            let again = wire::collection::read(&wire::collection::write(&collection, Dialect::default()), None, &plans).expect("an answer is a body");
            prop_assert_eq!(again.collection(path()), collection.clone());
            let _ = wire::collection::patch(&collection, &patch, &plans);
        }
    }

    #[test]
    fn filters(filter in "((status|state|startTime|é) ?(eq|ge)? ?('?Failed'?|'|datetime'2027-01-01'|2027-01-01)? ?(and|or)? ?){0,3}|.{0,20}") {
        let _ = wire::list::JobFilter::read(&filter);
        let _ = wire::list::HistoryFilter::read(&filter);
    }
}
