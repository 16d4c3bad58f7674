//! Jobs that are read and written: what comes back, what is ignored, what a PATCH keeps.

mod common;

use common::{answer, job, now, path, read};
use model::JobState;
use serde_json::{Value, json};
use wire::dialect::Dialect;
use wire::job::Patched;

/// A body with everything that a job can have, in the API's own order.
fn everything() -> Value {
    json!({"properties": {
        "startTime": "2027-02-01T00:00:00Z",
        "action": {
            "request": {
                "uri": "https://example.org/a%2fb", "method": "post",
                "headers": {"Content-Type": "text/plain", "x-b": "2"},
                "body": "hello", "authentication": {"username": "user", "password": "p1", "type": "Basic"},
            },
            "type": "Https",
            "retryPolicy": {"retryType": "fixed", "retryInterval": "PT1H30M", "retryCount": 3},
            "errorAction": {
                "queueMessage": {"storageAccount": "a", "queueName": "q", "sasToken": "s1", "message": "m", "delivery": "raw"},
                "type": "StorageQueue",
                "retryPolicy": {"retryType": "none"},
                "errorAction": {
                    "serviceBusTopicMessage": {
                        "topicPath": "t", "namespace": "n", "transportType": "amqp",
                        "authentication": {"sasKeyName": "k", "sasKey": "s2", "type": "sharedAccessKey"},
                        "message": "m2",
                        "brokeredMessageProperties": {"label": "l", "forcePersistence": true, "timeToLive": "PT1M"},
                        "customMessageProperties": {"A": "1", "a": "2"},
                    },
                    "type": "ServiceBusTopic",
                },
            },
        },
        "recurrence": {
            "frequency": "month", "count": 5, "endTime": "2037-01-01T00:00:00.5Z", "interval": 2,
            "schedule": {"minutes": [30, 0], "hours": [9], "monthlyOccurrences": [{"day": "friday", "occurrence": -1}]},
            "timeZone": "Europe/Paris", "dst": {"gap": "skip", "fold": "both"},
        },
        "catchUp": {"policy": "all", "max": 7}, "overlap": "queue",
        "state": "enabled",
    }})
}

fn without_secrets(mut body: Value) -> Value {
    fn remove(value: &mut Value) {
        if let Value::Object(members) = value {
            members.retain(|name, _| {
                !["password", "sasToken", "sasKey", "secret", "pfx"].contains(&name.as_str())
            });
            members.values_mut().for_each(remove);
        }
    }
    remove(&mut body);
    body
}

#[test]
fn everything_comes_back_in_order_but_for_secrets() {
    let mut expected = without_secrets(everything())["properties"].clone();
    expected["status"] = json!({
        "nextExecutionTime": "2027-02-26T08:00:00Z", "executionCount": 0, "failureCount": 0, "faultedCount": 0,
    });
    let answer = answer(&everything());
    assert_eq!(answer["properties"].to_string(), expected.to_string());
    assert_eq!(
        answer["id"],
        "/subscriptions/sub/resourceGroups/Group/providers/Microsoft.Scheduler/jobCollections/Coll/jobs/j"
    );
    assert_eq!(answer["type"], "Microsoft.Scheduler/jobCollections/jobs");
    assert_eq!(answer["name"], "Coll/j");
    let members: Vec<_> = answer.as_object().expect("an object").keys().map(String::as_str).collect();
    assert_eq!(members, ["id", "type", "name", "properties"]);
}

/// An answer can be sent back. Secrets are not in it, so a PUT has to say them again.
#[test]
fn an_answer_is_a_body() {
    let faults = wire::job::read(&answer(&everything()), now()).expect_err("secrets are missing");
    let fields: Vec<_> = faults.iter().map(|fault| fault.field.replace("properties.action.", "")).collect();
    assert_eq!(
        fields,
        [
            "request.authentication.password",
            "errorAction.queueMessage.sasToken",
            "errorAction.errorAction.serviceBusTopicMessage.authentication.sasKey",
        ]
    );

    let mut body = everything();
    body["properties"]["action"]["request"]["authentication"] = Value::Null;
    body["properties"]["action"]["errorAction"] = Value::Null;
    let first = answer(&body);
    assert_eq!(read(&first).ignored, [""; 0]);
    assert_eq!(answer(&first), first);
}

#[test]
fn casing_and_forms() {
    let body = |text: &str| serde_json::from_str::<Value>(text).expect("JSON");
    for (sent, answered) in [
        (
            r#"{"properties":{"ACTION":{"TYPE":"HTTP","Request":{"URI":"http://a","METHOD":"get","headers":{}}},"STATE":"DISABLED"}}"#,
            r#"{"action":{"request":{"uri":"http://a","method":"get","headers":{}},"type":"Http"},"state":"disabled"}"#,
        ),
        (
            r#"{"properties":{"startTime":"2027-03-01 02:00+02:00","action":{"type":"http","request":{"uri":"http://a","method":"GET","body":null},
                "retryPolicy":{"retryType":"FIXED","retryInterval":"1.00:00:00"},"errorAction":null},
                "recurrence":{"Frequency":"Weekly","schedule":{"weekday":"MONDAY","hour":5}},"state":"Disabled"}}"#,
            r#"{"startTime":"2027-03-01T00:00:00Z","action":{"request":{"uri":"http://a","method":"GET"},"type":"Http","retryPolicy":{"retryType":"fixed","retryInterval":"1.00:00:00"}},"recurrence":{"frequency":"week","interval":1,"schedule":{"hours":[5],"weekDays":["monday"]}},"state":"disabled"}"#,
        ),
        (
            r#"{"properties":{"action":{"type":"storagequeue","queueMessage":{"storageAccount":"a","queueName":"q","sasToken":"s","message":"m"}},"state":"Disabled"}}"#,
            r#"{"action":{"queueMessage":{"storageAccount":"a","queueName":"q","message":"m"},"type":"StorageQueue"},"state":"disabled"}"#,
        ),
        (
            r#"{"properties":{"action":{"type":"storagequeue","queueMessage":{"storageAccount":"a","queueName":"q","sasToken":"s","message":"","Delivery":"Envelope"}},"state":"Disabled"}}"#,
            r#"{"action":{"queueMessage":{"storageAccount":"a","queueName":"q","message":"","delivery":"envelope"},"type":"StorageQueue"},"state":"disabled"}"#,
        ),
        (
            r#"{"properties":{"action":{"type":"servicebusqueue","serviceBusQueueMessage":{"queueName":"q","namespace":"n",
                "authentication":{"sasKey":"k","sasKeyName":"n","type":"sharedaccesskey"},"transportType":"netmessaging",
                "brokeredMessageProperties":{"ContentType":"x"}}},
                "recurrence":{"cron":"0 9 * * *","schedule":{}},"overlap":"SKIP","state":"Disabled"}}"#,
            "",
        ),
        (
            r#"{"properties":{"action":{"type":"servicebusqueue","serviceBusQueueMessage":{"queueName":"q","namespace":"n",
                "authentication":{"sasKey":"k","sasKeyName":"n","type":"sharedaccesskey"},"transportType":"netmessaging",
                "brokeredMessageProperties":{"ContentType":"x"}}},
                "recurrence":{"cron":"0 9 * * *"},"overlap":"SKIP","state":"Disabled"}}"#,
            r#"{"action":{"serviceBusQueueMessage":{"queueName":"q","namespace":"n","transportType":"netMessaging","authentication":{"sasKeyName":"n","type":"sharedAccessKey"},"brokeredMessageProperties":{"contentType":"x"}},"type":"ServiceBusQueue"},"recurrence":{"cron":"0 9 * * *"},"catchUp":"last","overlap":"skip","state":"disabled"}"#,
        ),
        (
            r#"{"properties":{"action":{"type":"http","request":{"uri":"http://a","method":"GET","authentication":{
                "type":"activedirectoryoauth","secret":"s","tenant":"t","audience":"a","clientid":"c"}}},
                "recurrence":{"frequency":"day","schedule":{}},"catchUp":"None","state":"Disabled"}}"#,
            r#"{"action":{"request":{"uri":"http://a","method":"GET","authentication":{"tenant":"t","audience":"a","clientId":"c","type":"ActiveDirectoryOAuth"}},"type":"Http"},"recurrence":{"frequency":"day","interval":1},"catchUp":"none","overlap":"allow","state":"disabled"}"#,
        ),
        (
            r#"{"properties":{"action":{"type":"http","request":{"uri":"http://a","method":"GET","authentication":{
                "type":"hmac","secrets":["whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"],"secretCount":7}}},"state":"Disabled"}}"#,
            r#"{"action":{"request":{"uri":"http://a","method":"GET","authentication":{"secretCount":1,"type":"Hmac"}},"type":"Http"},"state":"disabled"}"#,
        ),
        (
            r#"{"properties":{"action":{"type":"http","request":{"uri":"http://a","method":"GET","authentication":{"type":"NotSpecified"}}},
                "recurrence":{"frequency":"month","schedule":{"monthlyOccurrences":[{"Day":"Friday","Occurrence":2},{"day":"monday","occurrence":1}]}},
                "state":"Disabled"}}"#,
            r#"{"action":{"request":{"uri":"http://a","method":"GET"},"type":"Http"},"recurrence":{"frequency":"month","interval":1,"schedule":{"monthlyOccurrences":[{"day":"friday","Occurrence":2},{"day":"monday","Occurrence":1}]}},"state":"disabled"}"#,
        ),
    ] {
        let sent = body(sent);
        if answered.is_empty() {
            assert!(wire::job::read(&sent, now()).is_err(), "{sent}");
        } else {
            assert_eq!(answer(&sent)["properties"].to_string(), answered, "{sent}");
        }
    }
}

#[test]
fn what_means_nothing_is_ignored_and_named() {
    let body = json!({"id": "x", "name": "y", "Type": "z", "tags": {}, "properties": {
        "status": {"executionCount": 5}, "priority": 1, "catchUp": {"policy": "last", "max": 3},
        "action": {
            "type": "Http",
            "request": {"uri": "http://a", "method": "GET", "timeout": 5},
            "queueMessage": "of another type", "serviceBusTopicMessage": null,
            "retryPolicy": {"retryType": "none", "retryInterval": "whatever", "retryCount": 3},
            "errorAction": {"type": "ServiceBusQueue", "serviceBusQueueMessage": {
                "queueName": "q", "topicPath": "t", "namespace": "n", "brokeredMessageProperties": {"colour": "red"},
            }},
        },
    }});
    assert_eq!(
        read(&body).ignored,
        [
            "tags",
            "properties.priority",
            "properties.action.queueMessage",
            "properties.action.request.timeout",
            "properties.action.retryPolicy.retryInterval",
            "properties.action.retryPolicy.retryCount",
            "properties.action.errorAction.serviceBusQueueMessage.topicPath",
            "properties.action.errorAction.serviceBusQueueMessage.brokeredMessageProperties.colour",
            "properties.catchUp.max",
        ]
    );
}

#[test]
fn status() {
    let mut job = job("j", &read(&everything()));
    job.counters.executions = 4;
    job.counters.failures = 3;
    job.counters.faulted = 2;
    job.counters.last_execution = Some("2027-01-01T00:00:00.1234567Z".parse().expect("a timestamp"));
    let status = |job: &model::Job| {
        wire::job::write(&path(), job, Dialect::default())["properties"]["status"].to_string()
    };
    let counts = r#""executionCount":4,"failureCount":3,"faultedCount":2"#;
    let last = r#""lastExecutionTime":"2027-01-01T00:00:00.1234567Z""#;
    assert_eq!(status(&job), format!(r#"{{{last},"nextExecutionTime":"2027-02-26T08:00:00Z",{counts}}}"#));
    (job.state, job.next_at) = (JobState::Completed, None);
    assert_eq!(status(&job), format!("{{{last},{counts}}}"));
    job.state = JobState::Disabled;
    assert_eq!(status(&job), "null");
}

#[track_caller]
fn patched(stored: &Value, patch: &Value) -> Patched {
    let job = job("j", &read(stored));
    let later = "2027-01-02T00:00:00Z".parse().expect("a timestamp");
    wire::job::patch(&job.definition, job.state, patch, later)
        .unwrap_or_else(|faults| panic!("{patch}: {faults}"))
}

/// A PATCH makes the job that a PUT of the merged body would have made.
#[test]
fn a_patch_keeps_what_it_does_not_speak_of() {
    let set = |pointer: &str, value: Value| {
        let mut body = everything();
        *body.pointer_mut(pointer).expect("a member") = value;
        body
    };
    let request = "/properties/action/request";
    let mut moved = everything();
    moved["properties"]["action"]["request"] = json!({
        "uri": "https://EXAMPLE.org:443/b", "method": "GET", "headers": {"CONTENT-TYPE": "a/b", "x-b": "2"},
        "body": "hello", "authentication": {"username": "other", "password": "p1", "type": "Basic"},
    });
    let mut to_queue = everything();
    let action = to_queue["properties"]["action"].as_object_mut().expect("an action");
    action.shift_remove("request");
    action.insert("type".into(), "StorageQueue".into());
    action.insert(
        "queueMessage".into(),
        json!({"storageAccount": "a", "queueName": "q", "sasToken": "t", "message": "m"}),
    );
    let oauth = json!({"type": "ActiveDirectoryOAuth", "tenant": "t", "audience": "a", "clientId": "c", "secret": "s"});
    let cron = json!({"cron": "0 9 * * *", "count": 5, "endTime": "2037-01-01T00:00:00.5Z",
                      "timeZone": "Europe/Paris", "dst": {"gap": "skip", "fold": "both"}});
    for (patch, merged) in [
        (json!({}), everything()),
        (json!({"properties": {}}), everything()),
        (json!({"properties": {"state": "Disabled"}}), set("/properties/state", json!("disabled"))),
        (
            json!({"Properties": {"Action": {"Request": {
                "URI": "https://EXAMPLE.org:443/b", "method": "GET", "headers": {"CONTENT-TYPE": "a/b"},
                "authentication": {"type": "basic", "userName": "other"},
            }}}}),
            moved,
        ),
        (
            json!({"properties": {"action": {"request": {"authentication": {"password": "p2"}}}}}),
            set(&format!("{request}/authentication/password"), json!("p2")),
        ),
        (json!({"properties": {"action": {"request": {"authentication": null, "body": null}}}}), {
            let mut body = set(&format!("{request}/authentication"), Value::Null);
            body["properties"]["action"]["request"]["body"] = Value::Null;
            body
        }),
        (
            json!({"properties": {"action": {"request": {"authentication": oauth}}}}),
            set(&format!("{request}/authentication"), oauth.clone()),
        ),
        (
            json!({"properties": {"action": {
                "type": "storagequeue", "queueMessage": {"storageAccount": "a", "queueName": "q", "sasToken": "t", "message": "m"},
            }}}),
            to_queue,
        ),
        (
            json!({"properties": {"action": {"errorAction": {"queueMessage": {"delivery": "BASE64"}}}}}),
            set("/properties/action/errorAction/queueMessage/delivery", json!("base64")),
        ),
        (
            json!({"properties": {"action": {"errorAction": {"queueMessage": {"delivery": null}}}}}),
            set("/properties/action/errorAction/queueMessage/delivery", Value::Null),
        ),
        (json!({"properties": {"action": {"type": "Http"}}}), set("/properties/action/type", json!("Http"))),
        (json!({"properties": {"action": {"errorAction": null, "retryPolicy": {"retryType": "none"}}}}), {
            let mut body = set("/properties/action/errorAction", Value::Null);
            body["properties"]["action"]["retryPolicy"] = json!({"retryType": "none"});
            body
        }),
        (
            json!({"properties": {"action": {"errorAction": {"errorAction": {"serviceBusTopicMessage": {
                "customMessageProperties": {"a": null, "B": "3"},
            }}}}}}),
            set(
                "/properties/action/errorAction/errorAction/serviceBusTopicMessage/customMessageProperties",
                json!({"A": "1", "B": "3"}),
            ),
        ),
        (
            json!({"properties": {"recurrence": {"schedule": {"minute": 5}}}}),
            set("/properties/recurrence/schedule/minutes", json!([5])),
        ),
        (json!({"properties": {"recurrence": {"cron": "0 9 * * *"}}}), set("/properties/recurrence", cron)),
        (json!({"properties": {"catchUp": "none"}}), set("/properties/catchUp", json!("none"))),
        (json!({"properties": {"catchUp": {"max": 9}}}), set("/properties/catchUp/max", json!(9))),
        (json!({"properties": {"catchUp": null, "overlap": null}}), {
            let mut body = set("/properties/catchUp", Value::Null);
            body["properties"]["overlap"] = Value::Null;
            body
        }),
    ] {
        let Patched { request, .. } = patched(&everything(), &patch);
        let (ours, expected) = (request.definition(), read(&merged).definition());
        assert_eq!(ours.action, expected.action, "{patch}");
        assert_eq!(ours.timing, expected.timing, "{patch}");
        assert_eq!((ours.catch_up, ours.overlap), (expected.catch_up, expected.overlap), "{patch}");
        assert_eq!(ours.extensions_given, expected.extensions_given, "{patch}");
        assert_eq!(request.state, read(&merged).state.or(Some(JobState::Enabled)), "{patch}");
        assert_eq!(request.ignored, [""; 0], "{patch}");
    }
    // A schedule without elements is kept, though nobody is told of it.
    let body = json!({"properties": {"action": {"type": "Http", "request": {"uri": "http://a", "method": "GET"}},
                      "recurrence": {"frequency": "day", "schedule": {}}}});
    assert_eq!(patched(&body, &json!({})).request.definition(), read(&body).definition());
    // One signing secret takes the place of two, two that of one; what is not spoken of stays.
    let (old, new) = ("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", "whsec_AAECAwQFBgcICQoLDA0ODxAREhMUFRYX");
    let signed = |authentication: Value| {
        json!({"properties": {"action": {"type": "Http", "request": {
            "uri": "http://a", "method": "GET", "authentication": authentication}}}})
    };
    let one = signed(json!({"type": "Hmac", "secret": old}));
    let two = signed(json!({"type": "Hmac", "secrets": [new, old]}));
    for (stored, patch, merged) in [
        (&one, json!({"authentication": {"secrets": [new, old]}}), &two),
        (&two, json!({"authentication": {"Secret": old}}), &one),
        (&two, json!({"authentication": {"type": "hmac"}}), &two),
        (&two, json!({"authentication": {"secret": null, "secretCount": 1}}), &two),
        (&two, json!({"uri": "http://a"}), &two),
    ] {
        let patch = json!({"properties": {"action": {"request": patch}}});
        assert_eq!(patched(stored, &patch).request.definition(), read(merged).definition(), "{patch}");
    }
    // From cron back to a frequency.
    let body = json!({"properties": {"action": {"type": "Http", "request": {"uri": "http://a", "method": "GET"}},
                      "recurrence": {"cron": "0 9 * * *", "count": 3}}});
    let back = patched(&body, &json!({"properties": {"recurrence": {"frequency": "day"}}}));
    let recurrence = back.request.timing.recurrence.expect("a recurrence");
    assert_eq!((recurrence.cron, recurrence.count), (None, Some(3)));
}

#[test]
fn a_patch_moves_a_job_only_if_its_times_change() {
    for (patch, changed) in [
        (json!({"properties": {"state": "Disabled"}}), false),
        (json!({"properties": {"startTime": "2027-02-01T01:00:00+01:00"}}), false),
        (json!({"properties": {"recurrence": {"frequency": "Month", "interval": 2}}}), false),
        (json!({"properties": {"recurrence": {"schedule": {"minutes": [0, 30]}}}}), false),
        (json!({"properties": {"recurrence": {"interval": null}}}), true),
        (json!({"properties": {"startTime": null}}), true),
        (json!({"properties": {"recurrence": {"count": 6}}}), true),
        (json!({"properties": {"recurrence": null}}), true),
    ] {
        let patched = patched(&everything(), &patch);
        assert_eq!(patched.timing_changed, changed, "{patch}");
        let anchor = if changed { "2027-01-02T00:00:00Z" } else { "2027-01-01T00:00:00Z" };
        assert_eq!(patched.request.accepted_at.to_string(), anchor, "{patch}");
        assert_eq!(patched.request.rule.accepted_at().to_string(), anchor, "{patch}");
    }
    // Long after its end, a job can still be switched off.
    let job = job("j", &read(&everything()));
    let after = "2040-01-01T00:00:00Z".parse().expect("a timestamp");
    let patch = |body: Value| wire::job::patch(&job.definition, job.state, &body, after);
    assert!(patch(json!({"properties": {"state": "Disabled"}})).is_ok());
    let faults = patch(json!({"properties": {"recurrence": {"interval": 3}}})).expect_err("past");
    assert_eq!(faults.iter().next().map(|fault| fault.field.as_str()), Some("properties.recurrence.endTime"));
}

#[test]
fn patches_that_are_refused() {
    let job = job("j", &read(&everything()));
    for (patch, fields) in [
        (json!([]), vec!["document"]),
        (json!(null), vec!["document"]),
        (json!({"properties": null}), vec!["properties"]),
        (json!({"properties": 5}), vec!["properties"]),
        (json!({"properties": {"action": null}}), vec!["properties.action"]),
        (json!({"properties": {"state": "completed"}}), vec!["properties.state"]),
        (json!({"Properties": {"State": "faulted", "status": 1}}), vec!["Properties.State"]),
        (
            json!({"properties": {"recurrence": {"interval": 1, "Interval": 2}}}),
            vec!["properties.recurrence.Interval"],
        ),
        (
            json!({"properties": {"recurrence": {"frequency": "week"}}}),
            vec!["properties.recurrence.schedule.monthlyOccurrences"],
        ),
        (json!({"properties": {"action": {"type": "StorageQueue"}}}), vec!["properties.action.queueMessage"]),
        (json!({"properties": {"action": {"request": {"Uri": "x"}}}}), vec!["properties.action.request.Uri"]),
        (
            json!({"properties": {"action": {"request": {"authentication": {"type": "ActiveDirectoryOAuth"}}}}}),
            vec![
                "properties.action.request.authentication.tenant",
                "properties.action.request.authentication.audience",
                "properties.action.request.authentication.clientId",
                "properties.action.request.authentication.secret",
            ],
        ),
    ] {
        let faults = wire::job::patch(&job.definition, job.state, &patch, now()).expect_err("a fault");
        let found: Vec<_> = faults.iter().map(|fault| fault.field.as_str()).collect();
        assert_eq!(found, fields, "{patch}");
    }
}
