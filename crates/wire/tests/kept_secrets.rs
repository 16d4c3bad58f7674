//! A stored secret stays with its destination: in a PATCH, and in a call to try out.

mod common;

use common::{job, now, read};
use recurrence::Faults;
use serde_json::{Value, json};

const SIGNING: &str = "whsec_UExBTlRFRC01ZWNyZXQtUExBTlRFRC01ZWNyZXQ=";

fn http(uri: &str, authentication: Value) -> Value {
    json!({"type": "Http", "request": {"uri": uri, "method": "GET", "authentication": authentication}})
}

fn basic() -> Value {
    json!({"type": "Basic", "username": "u", "password": "p"})
}

fn oauth() -> Value {
    json!({"type": "ActiveDirectoryOAuth", "tenant": "t", "audience": "a", "clientId": "c", "secret": "s"})
}

fn queue() -> Value {
    json!({"type": "StorageQueue", "queueMessage": {"storageAccount": "acc", "queueName": "q", "sasToken": "s", "message": "m"}})
}

fn bus() -> Value {
    let authentication = json!({"type": "SharedAccessKey", "sasKeyName": "k", "sasKey": "s"});
    json!({"type": "ServiceBusQueue", "serviceBusQueueMessage":
        {"queueName": "q", "namespace": "n", "transportType": "AMQP", "authentication": authentication}})
}

/// The paths of the faults of a PATCH, inside the action.
fn patched(stored: &Value, patch: &Value) -> Vec<String> {
    let stored = job("j", &read(&json!({"properties": {"action": stored}})));
    let body = json!({"properties": {"action": patch}});
    let ended = wire::job::patch(&stored.definition, stored.state, &body, now());
    let faults = ended.err().map_or_else(Vec::new, Faults::into_vec);
    faults.iter().for_each(|fault| assert!(fault.allowed.contains("given again"), "{fault}"));
    let prefix = "properties.action.";
    faults
        .into_iter()
        .map(|fault| fault.field.strip_prefix(prefix).expect("of the action").to_owned())
        .collect()
}

#[test]
fn a_patch_that_leads_elsewhere_gives_the_secret_again() {
    let (there, here) = ("https://b.test/", "https://a.test/");
    let hmac = json!({"type": "Hmac", "secrets": [SIGNING, SIGNING]});
    let nested = |authentication: Value| {
        let mut action = http("http://plain.test/", Value::Null);
        action["errorAction"] = http("http://plain.test/", Value::Null);
        action["errorAction"]["errorAction"] = http(here, authentication);
        action
    };
    let password = "request.authentication.password";
    let uri = |uri: &str| json!({"request": {"uri": uri}});
    for (stored, patch, missing) in [
        (http(here, basic()), uri("https://a.test/other?x=y"), &[][..]),
        (http(here, basic()), uri("HTTPS://A.Test:443"), &[]),
        (http(here, basic()), uri(there), &[password]),
        (http(here, basic()), uri("http://a.test/"), &[password]),
        (http(here, basic()), uri("https://a.test:8443/"), &[password]),
        (http(here, basic()), uri("https://a.test@b.test/"), &[password]),
        (http(here, basic()), uri("https://b.test\\@a.test/"), &[password]),
        (http(here, basic()), json!({"type": "Https", "request": {"uri": there}}), &[password]),
        (http(here, basic()), json!({"request": {"headers": {"host": "b.test"}}}), &[password]),
        // Given again, or of no use any more.
        (http(here, basic()), http(there, json!({"password": "p"})), &[]),
        (http(here, basic()), http(there, json!({"PassWord": "q"})), &[]),
        (
            http(here, basic()),
            http(there, json!({"password": null, "password ": 1, "type": "NotSpecified"})),
            &[],
        ),
        (http(here, basic()), json!({"request": {"uri": there, "authentication": null}}), &[]),
        (http(here, basic()), queue(), &[]),
        (http(here, basic()), http(there, oauth()), &[]),
        (http(here, Value::Null), uri(there), &[]),
        // Every kind of secret.
        (http(here, oauth()), uri(there), &["request.authentication.secret"]),
        (
            http(here, oauth()),
            json!({"request": {"authentication": {"tenant": "other"}}}),
            &["request.authentication.secret"],
        ),
        (
            http(here, oauth()),
            json!({"request": {"authentication": {"audience": "other"}}}),
            &["request.authentication.secret"],
        ),
        (http(here, oauth()), json!({"request": {"authentication": {"clientId": "other"}}}), &[]),
        (http(here, hmac.clone()), uri(there), &["request.authentication.secrets"]),
        (http(here, hmac.clone()), http(there, json!({"secret": SIGNING})), &[]),
        (queue(), json!({"queueMessage": {"storageAccount": "ACC", "queueName": "r"}}), &[]),
        (queue(), json!({"queueMessage": {"storageAccount": "bcc"}}), &["queueMessage.sasToken"]),
        (queue(), json!({"queueMessage": {"storageAccount": "bcc", "sasToken": "s"}}), &[]),
        (
            bus(),
            json!({"serviceBusQueueMessage": {"namespace": "m"}}),
            &["serviceBusQueueMessage.authentication.sasKey"],
        ),
        (
            bus(),
            json!({"serviceBusQueueMessage": {"transportType": "NetMessaging"}}),
            &["serviceBusQueueMessage.authentication.sasKey"],
        ),
        (bus(), json!({"serviceBusQueueMessage": {"queueName": "r", "message": "m"}}), &[]),
        // At any depth, and each by itself.
        (nested(basic()), uri(there), &[]),
        (
            nested(basic()),
            json!({"errorAction": {"errorAction": {"Request": {"uri": there}}}}),
            &["errorAction.errorAction.Request.authentication.password"],
        ),
        (nested(oauth()), json!({"errorAction": {"errorAction": {"request": {"body": "b"}}}}), &[]),
    ] {
        assert_eq!(patched(&stored, &patch), missing, "{stored} {patch}");
    }
}

#[test]
fn every_fault_is_told_at_once_and_no_secret() {
    let mut action = http("https://a.test/", basic());
    action["errorAction"] = queue();
    let stored = job("j", &read(&json!({"properties": {"action": action}})));
    let body = json!({"properties": {"state": "lost", "action": {
        "request": {"uri": "https://u:w0rd@b.test/?key=1"},
        "errorAction": {"queueMessage": {"storageAccount": "bcc"}},
    }}});
    let faults = wire::job::patch(&stored.definition, stored.state, &body, now()).expect_err("faults");
    let fields: Vec<_> = faults.iter().map(|fault| fault.field.as_str()).collect();
    assert_eq!(
        fields,
        [
            "properties.action.request.authentication.password",
            "properties.action.errorAction.queueMessage.sasToken",
            "properties.state",
        ]
    );
    let told = faults.to_string();
    assert!(told.contains("for https://a.test, and the call now goes to https://b.test\n"), "{told}");
    assert!(
        told.contains("for the storage account 'acc', and the call now goes to the storage account 'bcc'")
    );
    assert!(!told.contains("w0rd") && !told.contains("key=1"), "{told}");
}

#[test]
fn a_call_to_try_out_takes_secrets_to_their_destination_only() {
    let without = |mut action: Value, pointer: &str, name: &str| {
        action.pointer_mut(pointer).and_then(Value::as_object_mut).expect("an object").shift_remove(name);
        action
    };
    let password = |uri: &str| without(http(uri, basic()), "/request/authentication", "password");
    let token = |account: &str| {
        let mut action = without(queue(), "/queueMessage", "sasToken");
        action["queueMessage"]["storageAccount"] = json!(account);
        action
    };
    for (stored, given, missing) in [
        (http("https://a.test/", basic()), password("https://a.test/b"), &[][..]),
        (
            http("https://a.test/", basic()),
            password("https://b.test/"),
            &["action.request.authentication.password"],
        ),
        (http("https://a.test/", basic()), http("https://b.test/", basic()), &[]),
        (queue(), token("ACC"), &[]),
        (queue(), token("bcc"), &["action.queueMessage.sasToken"]),
    ] {
        let stored = job("j", &read(&json!({"properties": {"action": stored}})));
        let called = wire::job::test_call(&json!({"action": given}), Some(&stored.definition));
        let faults = called.err().map_or_else(Vec::new, Faults::into_vec);
        let fields: Vec<_> = faults.iter().map(|fault| fault.field.as_str()).collect();
        assert_eq!(fields, missing, "{given}");
    }
}
