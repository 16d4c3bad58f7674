//! Secrets go in and never come out: not in answers, not in faults, not in what is printed for debugging.

mod common;

use common::{job, now, path};
use serde_json::{Value, json};
use wire::dialect::Dialect;

const PLANTED: &str = "PLANTED-5ecret";

/// A signing secret has a form; the other is found in none of them.
const SIGNING: &str = "whsec_UExBTlRFRC01ZWNyZXQtUExBTlRFRC01ZWNyZXQ=";

/// Actions with a secret at every place where one belongs.
fn actions() -> Vec<Value> {
    let bus = json!({"queueName": "q", "topicPath": "t", "namespace": "n", "authentication":
        {"type": "SharedAccessKey", "sasKeyName": "k", "sasKey": PLANTED}});
    let http = |authentication: Value| json!({"type": "Http", "request": {"uri": "http://a", "method": "GET", "authentication": authentication}});
    vec![
        http(json!({"type": "Basic", "username": "u", "password": PLANTED})),
        http(
            json!({"type": "ActiveDirectoryOAuth", "tenant": "t", "audience": "a", "clientId": "c", "secret": PLANTED}),
        ),
        http(json!({"type": "ClientCertificate", "pfx": PLANTED, "password": PLANTED})),
        http(json!({"type": "Hmac", "secrets": [SIGNING, SIGNING]})),
        http(json!({"type": "Hmac", "secret": SIGNING})),
        json!({"type": "StorageQueue", "queueMessage": {"storageAccount": "a", "queueName": "q", "sasToken": PLANTED, "message": "m"}}),
        json!({"type": "ServiceBusQueue", "serviceBusQueueMessage": bus}),
        json!({"type": "ServiceBusTopic", "serviceBusTopicMessage": bus}),
    ]
}

fn body(action: &Value) -> Value {
    json!({"properties": {"action": action}})
}

#[track_caller]
fn silent(text: &str) {
    assert!(!text.contains(PLANTED) && !text.contains(&SIGNING[6..]), "{text}");
}

#[test]
fn answers_and_debugging() {
    for action in actions() {
        for action in [
            action.clone(),
            json!({"type": "Http", "request": {"uri": "http://a", "method": "GET"}, "errorAction": action}),
        ] {
            match wire::job::read(&body(&action), now()) {
                Ok(request) => {
                    let job = job("j", &request);
                    silent(&wire::job::write(&path(), &job, Dialect::default()).to_string());
                    silent(&format!("{request:?}"));
                    silent(&format!("{job:?}"));
                    let copy = wire::job::concealed(&job.definition, job.state, |_, secret| {
                        assert!([PLANTED, SIGNING].contains(&secret.expose()));
                        "concealed".into()
                    });
                    silent(&copy.to_string());
                    assert!(copy.to_string().contains("concealed"), "{copy}");
                    let patch = json!({"properties": {"startTime": "soon"}});
                    let faults =
                        wire::job::patch(&job.definition, job.state, &patch, now()).expect_err("a fault");
                    silent(&wire::error::faults(wire::error::BAD_REQUEST, &faults).to_string());
                }
                Err(faults) => silent(&wire::error::faults(wire::error::BAD_REQUEST, &faults).to_string()),
            }
        }
    }
}

/// Every member of every action, replaced by something wrong that holds the secret, and every secret by a wrong type.
#[test]
fn faults() {
    fn places(value: &Value, place: &str, found: &mut Vec<String>) {
        for (name, member) in value.as_object().into_iter().flatten() {
            let place = format!("{place}/{name}");
            places(member, &place, found);
            found.push(place);
        }
    }
    let mut refused = 0;
    for action in actions() {
        let mut found = Vec::new();
        places(&action, "", &mut found);
        for place in found {
            let is_secret = ["password", "pfx", "secret", "secrets", "sasKey", "sasToken"]
                .iter()
                .any(|name| place.ends_with(name));
            let holds_secrets = action.pointer(&place).is_some_and(Value::is_object);
            let mut replacements = vec![json!([PLANTED]), json!({PLANTED: PLANTED, "a": PLANTED}), json!(5)];
            if holds_secrets || is_secret {
                replacements.push(json!(PLANTED));
            }
            for replacement in replacements {
                let mut action = action.clone();
                *action.pointer_mut(&place).expect("a place") = replacement.clone();
                let Err(faults) = wire::job::read(&body(&action), now()) else { continue };
                refused += 1;
                silent(&wire::error::faults(wire::error::BAD_REQUEST, &faults).to_string());
                silent(&format!("{faults:?}"));
            }
        }
    }
    assert!(refused > 50, "{refused}");
}

#[test]
fn a_secret_of_a_wrong_type_is_not_even_shown_as_a_number() {
    let body = body(&json!({"type": "StorageQueue", "queueMessage":
        {"storageAccount": "a", "queueName": "q", "sasToken": 4711}}));
    let faults = wire::job::read(&body, now()).expect_err("a fault");
    assert!(!faults.to_string().contains("4711"), "{faults}");
}
