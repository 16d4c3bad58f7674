//! `punctual import` and `export` with the real binary: there and back again.

#[allow(dead_code, reason = "each test file uses its part")]
mod running;

use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Output, Stdio};

use running::Server;
use serde_json::{Value, json};

/// Runs a command against a server, with something on standard input.
fn run(server: &Server, arguments: &[&str], input: &str) -> Output {
    let mut process = Command::new(env!("CARGO_BIN_EXE_punctual"))
        .args(arguments)
        .env("PUNCTUAL_SERVER", format!("http://{}", server.address))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("started");
    process.stdin.take().expect("piped").write_all(input.as_bytes()).expect("written");
    process.wait_with_output().expect("waited for")
}

fn said(output: &Output) -> String {
    format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr))
}

#[track_caller]
fn import(server: &Server, template: &Value, more: &[&str]) -> Value {
    let arguments = [&["import", "-", "--subscription", "s", "--group", "g", "--json"], more].concat();
    let output = run(server, &arguments, &template.to_string());
    assert!(output.status.success(), "{}", said(&output));
    serde_json::from_slice(&output.stdout).expect("JSON")
}

#[track_caller]
fn export(server: &Server, more: &[&str]) -> Value {
    let output = run(server, &[&["export", "--subscription", "s"], more].concat(), "");
    assert!(output.status.success(), "{}", said(&output));
    serde_json::from_slice(&output.stdout).expect("JSON")
}

fn results(report: &Value) -> Vec<&str> {
    let resources = report["resources"].as_array().expect("a list");
    resources.iter().map(|resource| resource["result"].as_str().expect("a result")).collect()
}

/// The listed collections and jobs of a server, as its API answers them, without what time changes.
fn everything(server: &Server) -> Vec<Value> {
    let base = "/subscriptions/s/providers/Microsoft.Scheduler/jobCollections?api-version=2016-03-01";
    let (status, list) = server.call("GET", base, None);
    assert_eq!(status, 200, "{list}");
    let mut all = list["value"].as_array().expect("a list").clone();
    for collection in all.clone() {
        let id = collection["id"].as_str().expect("an id");
        let (_, jobs) = server.call("GET", &format!("{id}/jobs?api-version=2016-03-01"), None);
        all.extend(jobs["value"].as_array().expect("a list").iter().cloned());
    }
    for resource in &mut all {
        if let Some(properties) = resource["properties"].as_object_mut() {
            properties.remove("status");
        }
    }
    all
}

/// The ETags of all resources that a report names.
fn etags(server: &Server, report: &Value) -> Vec<String> {
    let resources = report["resources"].as_array().expect("a list").iter();
    let ids = resources.filter_map(|resource| resource["id"].as_str());
    ids.map(|id| running::etag(server, &format!("{id}?api-version=2016-03-01"))).collect()
}

/// A template with something of everything in it.
fn template() -> Value {
    let job = |name: &str, properties: Value| {
        json!({
            "type": "Microsoft.Scheduler/jobCollections/jobs",
            "apiVersion": "2016-03-01",
            "name": format!("[concat(parameters('collection'), '/{name}')]"),
            "dependsOn": ["[resourceId('Microsoft.Scheduler/jobCollections', parameters('collection'))]"],
            "properties": properties,
        })
    };
    let http = |more: Value| {
        let mut request = json!({"uri": "[variables('target')]", "method": "post"});
        for (name, value) in more.as_object().into_iter().flatten() {
            request[name] = value.clone();
        }
        json!({"type": "Http", "request": request})
    };
    json!({
        "$schema": "https://schema.management.azure.com/schemas/2015-01-01/deploymentTemplate.json#",
        "contentVersion": "1.0.0.0",
        "parameters": {
            "collection": {"type": "string", "defaultValue": "Billing.main"},
            "password": {"type": "securestring"},
            "count": {"type": "int", "defaultValue": 3},
        },
        "variables": {"target": "http://127.0.0.1:1/[x]?a=%2d"},
        "resources": [
            {
                "type": "Microsoft.Scheduler/jobCollections",
                "apiVersion": "2016-03-01",
                "name": "[parameters('collection')]",
                "location": "westeurope",
                "tags": {"team": "[[brackets]", "empty": ""},
                "properties": {
                    "sku": {"name": "P20Premium"},
                    "state": "Suspended",
                    "quota": {"maxJobCount": 20, "maxRecurrence": {"frequency": "minute", "interval": 1}},
                },
            },
            {"type": "Microsoft.Scheduler/jobCollections", "name": "plain"},
            job("everything", json!({
                "startTime": "2026-12-01T10:00:00.500+01:00",
                "action": {
                    "type": "Https",
                    "request": {
                        "uri": "https://example.org/", "method": "PUT", "body": "[[not an expression]",
                        "headers": {"Content-Type": "text/plain", "X-Key": "[[a]"},
                        "authentication": {"type": "Basic", "username": "u", "password": "[parameters('password')]"},
                    },
                    "retryPolicy": {"retryType": "fixed", "retryInterval": "PT2M", "retryCount": 3},
                    "errorAction": {
                        "type": "StorageQueue",
                        "queueMessage": {"storageAccount": "a", "queueName": "q", "sasToken": "[concat('?', parameters('password'))]", "message": "m"},
                        "retryPolicy": {"retryType": "none"},
                        "errorAction": {"type": "ServiceBusTopic", "serviceBusTopicMessage": {
                            "topicPath": "t", "namespace": "n", "transportType": "amqp", "message": "m",
                            "authentication": {"type": "sharedAccessKey", "sasKeyName": "k", "sasKey": "[parameters('password')]"},
                            "brokeredMessageProperties": {"label": "l", "timeToLive": "00:01:00"},
                            "customMessageProperties": {"A": "1", "a": "2"},
                        }},
                    },
                },
                "recurrence": {
                    "frequency": "Month", "interval": 2, "count": 10, "timeZone": "W. Europe Standard Time",
                    "dst": {"gap": "skip", "fold": "both"},
                    "schedule": {"hours": [5], "minutes": [15], "monthlyOccurrences": [{"day": "Friday", "Occurrence": -1}]},
                },
                "catchUp": {"policy": "all", "max": 5},
                "overlap": "queue",
            })),
            job("cron", json!({
                "action": http(json!({"authentication": {"type": "ActiveDirectoryOAuth", "tenant": "t", "audience": "a", "clientId": "c", "secret": "[parameters('password')]"}})),
                "recurrence": {"cron": "*/5 * * * *", "timeZone": "Europe/Paris", "endTime": "2030-01-01"},
                "state": "Disabled",
            })),
            {
                "type": "Microsoft.Scheduler/jobCollections/jobs",
                "name": "[concat('plain/loop-', copyIndex(1))]",
                "copy": {"name": "loop", "count": "[parameters('count')]"},
                "properties": {
                    "startTime": "2027-01-01T00:00:00Z",
                    "action": http(json!({"body": "[string(copyIndex())]"})),
                    "recurrence": {"frequency": "day", "interval": "[add(copyIndex(), 1)]"},
                },
            },
            {"type": "Microsoft.Storage/storageAccounts", "name": "other"},
        ],
        "outputs": {"target": {"type": "string", "value": "[variables('target')]"}},
    })
}

/// The settings that give every parameter of an exported template a value.
fn settings(template: &Value, value: &str) -> Vec<String> {
    let names = template["parameters"].as_object().expect("parameters").keys();
    names.flat_map(|name| ["--set".to_owned(), format!("{name}={value}")]).collect()
}

#[test]
fn there_and_back_again() {
    let folders = [tempfile::tempdir().expect("a folder"), tempfile::tempdir().expect("a folder")];
    let first = Server::start(folders[0].path(), &[]);
    let password = ["--set", "password=hunter=2"];

    // A dry run says all of it and leaves nothing behind.
    let planned = import(&first, &template(), &[&password[..], &["--dry-run"]].concat());
    let expected = ["create", "create", "create", "create", "create", "create", "create", "leftOut"];
    assert_eq!(results(&planned), expected);
    assert_eq!(planned["outputs"]["target"], "http://127.0.0.1:1/[x]?a=%2d");
    assert!(everything(&first).is_empty());

    let done = import(&first, &template(), &password);
    assert_eq!(results(&done), expected);
    let there = everything(&first);
    assert_eq!(there.len(), 7);
    let before = etags(&first, &done);

    // The second import finds everything as it is.
    let again = import(&first, &template(), &password);
    assert_eq!(results(&again), ["same", "same", "same", "same", "same", "same", "same", "leftOut"]);
    assert_eq!(etags(&first, &done), before);

    for more in [&["--group", "g"][..], &[][..]] {
        let exported = export(&first, more);
        let text = exported.to_string();
        assert!(!text.contains("hunter"), "{text}");
        let names: Vec<&String> = exported["parameters"].as_object().expect("parameters").keys().collect();
        assert_eq!(names.len(), 4, "{names:?}");
        assert!(names.iter().any(|name| name.ends_with(
            "Billing_main_everything_action_errorAction_errorAction_serviceBusTopicMessage_authentication_sasKey"
        )));
        // Without values for the secrets nothing is imported.
        let folder = tempfile::tempdir().expect("a folder");
        let second = Server::start(folder.path(), &[]);
        let refused = run(&second, &["import", "-", "--subscription", "s", "--group", "g"], &text);
        assert_eq!(refused.status.code(), Some(2), "{}", said(&refused));
        assert_eq!(said(&refused).matches("the parameter has no value").count(), 4, "{}", said(&refused));

        let settings = settings(&exported, "other");
        let settings: Vec<&str> = settings.iter().map(String::as_str).collect();
        let copied = import(&second, &exported, &settings);
        assert_eq!(results(&copied), ["create"; 7]);
        assert_eq!(everything(&second), there);
        assert_eq!(export(&second, more), exported);
        let before = etags(&second, &copied);
        assert_eq!(results(&import(&second, &exported, &settings)), ["same"; 7]);
        assert_eq!(etags(&second, &copied), before);
        second.kill();
    }

    // Other secrets are a change, and neither the old nor the new is shown.
    let exported = export(&first, &["--group", "g", "--collection", "billing.main"]);
    let settings = settings(&exported, "otter");
    let settings: Vec<&str> = settings.iter().map(String::as_str).chain(["--dry-run"]).collect();
    let changed = import(&first, &exported, &settings);
    assert_eq!(results(&changed), ["same", "change", "change"]);
    let text = changed.to_string();
    assert!(!text.contains("hunter") && !text.contains("otter"), "{text}");
    assert_eq!(changed["resources"][1]["changes"][0]["to"], "(another secret)", "{changed}");
    first.kill();
}

#[test]
fn every_fault_is_told_and_nothing_is_written() {
    let folder = tempfile::tempdir().expect("a folder");
    let server = Server::start(folder.path(), &[]);
    let mut template = template();
    template["resources"][2]["properties"]["recurrence"]["interval"] = json!(0);
    template["resources"][3]["properties"]["action"]["request"]["uri"] = json!("nowhere");
    template["resources"][0]["properties"]["quota"]["maxJobCount"] = json!(1);
    let arguments = ["import", "-", "--subscription", "s", "--group", "g", "--set", "password=p"];
    let refused = run(&server, &arguments, &template.to_string());
    assert_eq!(refused.status.code(), Some(2), "{}", said(&refused));
    let text = said(&refused);
    for words in [
        "resources[2].properties.recurrence.interval: 0 is not allowed here",
        "resources[3].properties.action.request.uri: \"nowhere\" is not allowed here",
    ] {
        assert!(text.contains(words), "{text}");
    }
    assert!(everything(&server).is_empty());

    // A quota alone is a conflict.
    let mut template = self::template();
    template["resources"][0]["properties"]["quota"]["maxJobCount"] = json!(1);
    let refused = run(&server, &arguments, &template.to_string());
    assert_eq!(refused.status.code(), Some(4), "{}", said(&refused));
    assert!(said(&refused).contains("holds at most 1 jobs"), "{}", said(&refused));
    assert!(everything(&server).is_empty());

    for (arguments, words) in [
        (&["--set", "password"][..], "--set: expected NAME=VALUE"),
        (&["--set", "other=1"][..], "--set other: the template has no such parameter"),
        (&["--set", "count=three"][..], "allowed: a whole number"),
        (&["--parameters", "/nowhere.json"][..], "/nowhere.json cannot be read"),
        (&["--server", "nonsense"][..], "--server"),
    ] {
        let base = ["import", "-", "--subscription", "s", "--group", "g"];
        let refused = run(&server, &[&base[..], arguments].concat(), &self::template().to_string());
        assert_eq!(refused.status.code(), Some(2), "{}", said(&refused));
        assert!(said(&refused).contains(words), "{}", said(&refused));
    }
    let away = ["--server", "http://127.0.0.1:1"];
    let refused = run(&server, &[&arguments[..], &away].concat(), &self::template().to_string());
    assert_eq!(refused.status.code(), Some(5), "{}", said(&refused));
    server.kill();
}

#[test]
fn changes_are_told_member_by_member() {
    let folder = tempfile::tempdir().expect("a folder");
    let server = Server::start(folder.path(), &[]);
    import(&server, &template(), &["--set", "password=p"]);
    let mut template = template();
    template["resources"][4]["properties"]["recurrence"]["frequency"] = json!("week");
    template["resources"][1]["tags"] = json!({"a": "b"});
    let arguments =
        ["import", "-", "--subscription", "s", "--group", "g", "--set", "password=p", "--dry-run"];
    let output = run(&server, &arguments, &template.to_string());
    let text = said(&output);
    for line in [
        "change    g/plain\n",
        "tags: nothing -> {\"a\":\"b\"}\n",
        "change    g/plain/loop-1\n",
        "properties.recurrence.frequency: \"day\" -> \"week\"\n",
        "same      g/Billing.main/cron\n",
        "left out  other  (Microsoft.Storage/storageAccounts is not a type of Punctual's)\n",
        "4 change, 3 same, 1 left out; nothing was changed\n",
    ] {
        assert!(text.contains(line), "{line:?} is not in {text}");
    }
    server.kill();
}

#[test]
fn signing_secrets_become_parameters_one_by_one() {
    let folders = [tempfile::tempdir().expect("a folder"), tempfile::tempdir().expect("a folder")];
    let first = Server::start(folders[0].path(), &[]);
    let list = json!({"value": [
        {"type": "Microsoft.Scheduler/jobCollections", "name": "c"},
        {"type": "Microsoft.Scheduler/jobCollections/jobs", "name": "c/signed", "properties": {
            "startTime": "2027-01-01T00:00:00Z", "recurrence": {"frequency": "day"}, "state": "Disabled",
            "action": {"type": "Http", "request": {"uri": "http://127.0.0.1:1/", "method": "POST", "authentication":
                {"type": "Hmac", "secrets": ["whsec_bmV3IG5ldyBuZXcgbmV3IG5ldyBuZXcg", "whsec_b2xkIG9sZCBvbGQgb2xkIG9sZCBvbGQg"]}}},
        }},
    ]});
    import(&first, &list, &[]);
    let exported = export(&first, &["--group", "g"]);
    let text = exported.to_string();
    assert!(!text.contains("bmV3") && !text.contains("b2xk"), "{text}");
    let names: Vec<&String> = exported["parameters"].as_object().expect("parameters").keys().collect();
    let name = "c_signed_action_request_authentication_secrets";
    assert_eq!(names, [&format!("{name}_0"), &format!("{name}_1")]);

    let second = Server::start(folders[1].path(), &[]);
    let set = |number: u8, secret: &str| format!("{name}_{number}={secret}");
    let (new, old) =
        (set(0, "whsec_bmV3IG5ldyBuZXcgbmV3IG5ldyBuZXcg"), set(1, "whsec_b2xkIG9sZCBvbGQgb2xkIG9sZCBvbGQg"));
    let copied = import(&second, &exported, &["--set", &new, "--set", &old]);
    assert_eq!(results(&copied), ["create", "create"]);
    assert_eq!(everything(&second), everything(&first));
    assert_eq!(results(&import(&second, &exported, &["--set", &new, "--set", &old])), ["same", "same"]);
    let other = set(1, "whsec_b3RoZXIgb3RoZXIgb3RoZXIgb3RoZXIg");
    let changed = import(&second, &exported, &["--set", &new, "--set", &other, "--dry-run"]);
    assert_eq!(results(&changed), ["same", "change"]);
    assert_eq!(
        changed["resources"][1]["changes"][0]["to"],
        json!(["(secret)", "(another secret)"]),
        "{changed}"
    );
    assert!(!changed.to_string().contains("whsec_"), "{changed}");
    first.kill();
    second.kill();
}

/// Ten thousand jobs, with their collections, from a list that the API could have written.
#[test]
fn ten_thousand_jobs() {
    let folder = tempfile::tempdir().expect("a folder");
    let server = Server::start(folder.path(), &[]);
    let mut list = Vec::new();
    for c in 0..10 {
        let name = format!("c{c}");
        list.push(json!({"type": "Microsoft.Scheduler/jobCollections", "name": name, "properties": {"sku": {"name": "P20Premium"}}}));
        list.extend((0..1000).map(|j| {
            json!({"type": "Microsoft.Scheduler/jobCollections/jobs", "name": format!("c{c}/j{j}"), "properties": {
                "startTime": "2027-01-01T00:00:00Z", "state": "Disabled",
                "action": {"type": "Http", "request": {"uri": "http://127.0.0.1:1/", "method": "GET"}},
                "recurrence": {"frequency": "day"},
            }})
        }));
    }
    let file = folder.path().join("list.json");
    std::fs::write(&file, json!({"value": list}).to_string()).expect("written");
    let file = file.to_str().expect("UTF-8");
    let arguments = ["import", file, "--subscription", "s", "--group", "g"];
    let output = run(&server, &arguments, "");
    assert!(said(&output).ends_with("10010 created\n"), "{}", said(&output));
    let exported = folder.path().join("exported.json");
    let path = exported.to_str().expect("UTF-8");
    let output = run(&server, &["export", "--subscription", "s", "--group", "g", "-o", path], "");
    assert!(output.status.success(), "{}", said(&output));
    let output = run(&server, &["import", path, "--subscription", "s", "--group", "g"], "");
    assert!(said(&output).ends_with("10010 same\n"), "{}", said(&output));
    assert!(!Path::new(&format!("{path}.partial")).exists());
    server.kill();
}
