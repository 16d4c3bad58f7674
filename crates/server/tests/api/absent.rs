//! A name that does not exist is an error wherever the API takes one.
//!
//! The operations are those of the API's own description: one that takes a name and has no answer here fails this test.

use serde_json::{Value, json};

use super::door::{Door, collection, id, job, plain};

/// What a name stands for in the path or the query of an operation.
const NAMES: [&str; 5] = ["subscription", "group", "resourceGroup", "collection", "job"];

/// Operations that make what they name, or for which Azure takes any subscription as one.
fn makes_or_takes_any(method: &str, template: &str) -> bool {
    let of_manager = template.starts_with("/subscriptions/{subscription}")
        && !template.contains("{group}")
        && method != "delete";
    of_manager || method == "put" || template == "/api/import"
}

#[tokio::test(start_paused = true)]
async fn a_name_that_does_not_exist_is_an_error_in_every_operation() {
    let door = Door::open(&[]);
    door.collection("c", "Standard").await;
    door.accepts("PUT", &job("c", "j"), &plain()).await;
    let document = door.get("/api/openapi.json").await;
    let mut asked = 0;
    for (template, operations) in document["paths"].as_object().expect("paths") {
        for (method, operation) in operations.as_object().expect("operations") {
            if method == "parameters" || makes_or_takes_any(method, template) {
                continue;
            }
            for path in wrong_paths(template, operation) {
                let body = if template.contains("/jobs") { plain() } else { json!({}) };
                let body = matches!(method.as_str(), "put" | "patch" | "post").then_some(body);
                let answer = door.call(&method.to_uppercase(), &path, body.as_ref()).await;
                let what = format!("{method} {path}: {}", answer.body);
                // An answer to HEAD has no body.
                assert_eq!(answer.status, 404, "{what}");
                asked += 1;
            }
        }
    }
    assert!(asked > 60, "only {asked} were asked");
    assert_eq!(door.call("GET", &job("c", "j"), None).await.status, 200, "nothing was changed");
    assert_eq!(
        door.get(&collection("c").replace("/c?", "?")).await["value"].as_array().map(Vec::len),
        Some(1)
    );
}

/// The paths of an operation with one name at a time that does not exist.
fn wrong_paths(template: &str, operation: &Value) -> Vec<String> {
    let right = [("{subscription}", "s"), ("{group}", "g"), ("{collection}", "c"), ("{job}", "j")];
    let version = if template.contains("Microsoft.Scheduler") { "2016-03-01" } else { "2021-04-01" };
    let mut paths = Vec::new();
    let in_path: Vec<_> = right.iter().filter(|(place, _)| template.contains(place)).collect();
    for (wrong, _) in &in_path {
        let filled = right.iter().fold(template.to_owned(), |path, (place, name)| {
            path.replace(place, if place == wrong { "nosuch" } else { name })
        });
        paths.push(format!("{filled}?api-version={version}"));
    }
    let parameters = operation["parameters"].as_array().into_iter().flatten();
    for name in parameters.filter_map(|parameter| parameter["name"].as_str()) {
        if in_path.is_empty() && (NAMES.contains(&name) || name == "jobCollection") {
            paths.push(format!("{template}?{}", wrong_query(template, name)));
        }
    }
    paths
}

/// A query in which one name does not exist, and those that it needs do.
fn wrong_query(template: &str, name: &str) -> String {
    let below = |name: &str| id(name, "").trim_end_matches("/jobs/").to_owned();
    match (template, name) {
        (_, "subscription") => "subscription=nosuch".to_owned(),
        ("/api/ledger", "resourceGroup") => "subscription=s&resourceGroup=nosuch".to_owned(),
        ("/api/ledger", "jobCollection") => "subscription=s&resourceGroup=g&jobCollection=nosuch".to_owned(),
        ("/api/ledger", "job") => "subscription=s&resourceGroup=g&jobCollection=c&job=nosuch".to_owned(),
        ("/api/export", "group") => "subscription=s&group=nosuch".to_owned(),
        ("/api/export", "collection") => "subscription=s&group=g&collection=nosuch".to_owned(),
        (_, "collection") => format!("collection={}", below("nosuch")),
        (_, "job") => format!("job={}", id("c", "nosuch")),
        _ => panic!("{template} takes '{name}' and has no row here"),
    }
}

/// A rule of notices may be made before its job; one that is about no job says so, for it may be misspelt.
#[tokio::test(start_paused = true)]
async fn a_rule_that_watches_nothing_says_so() {
    let door = Door::open(&[]);
    door.collection("c", "Standard").await;
    let rule = |scope: Value| {
        let mut rule = json!({"when": "faulted", "uri": "http://hooks.test/"});
        rule.as_object_mut().expect("an object").extend(scope.as_object().expect("an object").clone());
        rule
    };
    let scopes = [
        ("all", json!({}), false),
        ("of-c", json!({"collection": "c"}), true),
        ("of-j", json!({"subscription": "s", "resourceGroup": "g", "collection": "C", "job": "J"}), true),
        ("any-j", json!({"job": "j"}), true),
        ("of-group", json!({"subscription": "s", "resourceGroup": "g"}), true),
        ("typo", json!({"collection": "nosuch", "job": "alsonot"}), true),
        // A part of a name is another name.
        ("part", json!({"job": "nightl"}), true),
        // The rules are kept as jobs, and this is the name of one.
        ("itself", json!({"job": "itself"}), true),
    ];
    for (name, scope, nothing) in &scopes {
        let path = format!("/api/notifications/{name}");
        let made = door.accepts("PUT", &path, &rule(scope.clone())).await.body;
        assert_eq!(made["watchesNothing"] == true, *nothing, "{name}: {made}");
        assert_eq!(door.get(&path).await["watchesNothing"], made["watchesNothing"], "{name}");
    }
    for name in ["j", "nightly"] {
        door.accepts("PUT", &job("c", name), &plain()).await;
    }
    let rules = door.get("/api/notifications").await;
    let idle: Vec<_> = rules["value"]
        .as_array()
        .into_iter()
        .flatten()
        .filter(|rule| rule["watchesNothing"] == true)
        .filter_map(|rule| rule["name"].as_str())
        .collect();
    assert_eq!(idle, ["itself", "part", "typo"]);
}
