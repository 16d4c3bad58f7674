//! Templates as people write them, and as nobody should.

use serde_json::{Value, json};
use template::{Deployment, Input, Place, Uuid, read};

fn deploy(document: &Value, parameters: Option<&Value>) -> Result<Deployment, Vec<String>> {
    let input = Input {
        document,
        parameters,
        place: Place { subscription: "sub".into(), group: "grp".into(), deployment: "import".into() },
        now: "2027-03-04T05:06:07Z".parse().expect("a time"),
        seed: Uuid::nil(),
    };
    read(&input).map_err(|faults| faults.iter().map(ToString::to_string).collect())
}

#[track_caller]
fn deployed(document: &Value, parameters: Option<&Value>) -> Deployment {
    deploy(document, parameters).unwrap_or_else(|faults| panic!("{faults:#?}"))
}

/// What is written, by group and name, in order.
fn labels(deployment: &Deployment) -> Vec<String> {
    deployment.resources.iter().map(|each| format!("{}:{}", each.group, each.label())).collect()
}

const COLLECTION: &str = "Microsoft.Scheduler/jobCollections";
const JOB: &str = "Microsoft.Scheduler/jobCollections/jobs";

#[test]
fn a_collection_with_its_jobs_inside() {
    let document = json!({
        "$schema": "https://schema.management.azure.com/schemas/2015-01-01/deploymentTemplate.json#",
        "contentVersion": "1.0.0.0",
        "parameters": {
            "collection": {"type": "string", "metadata": {"description": "The name"}},
            "url": {"type": "String", "defaultValue": "https://example.org/ping"},
            "password": {"type": "securestring"},
        },
        "variables": {
            "auth": {"type": "Basic", "username": "clerk", "password": "[parameters('password')]"},
        },
        "resources": [{
            "apiVersion": "2016-03-01",
            "type": "microsoft.scheduler/JOBCOLLECTIONS",
            "name": "[parameters('collection')]",
            "location": "[resourceGroup().location]",
            "comments": "ours",
            "tags": {"displayName": "jobs"},
            "properties": {"sku": {"name": "Standard"}},
            "resources": [{
                "apiVersion": "2016-03-01",
                "type": "jobs",
                "name": "ping",
                "dependsOn": ["[resourceId('Microsoft.Scheduler/jobCollections', parameters('collection'))]"],
                "properties": {
                    "action": {"type": "Https", "request": {
                        "method": "GET",
                        "uri": "[concat(parameters('url'), '?from=', parameters('collection'))]",
                        "authentication": "[variables('auth')]",
                        "headers": {"copy": "a header", "x-list": "[[1]"},
                    }},
                    "recurrence": {"frequency": "hour", "interval": 1},
                },
            }],
        }],
        "outputs": {
            "id": {"type": "string", "value": "[resourceId('Microsoft.Scheduler/jobCollections', parameters('collection'))]"},
            "state": {"type": "string", "value": "[reference(parameters('collection')).state]"},
            "hidden": {"type": "securestring", "value": "[parameters('password')]"},
        },
    });
    let given = json!({
        "$schema": "https://schema.management.azure.com/schemas/2015-01-01/deploymentParameters.json#",
        "contentVersion": "1.0.0.0",
        "parameters": {"Collection": {"value": "billing"}, "password": {"value": "swordfish"}},
    });
    let deployment = deployed(&document, Some(&given));
    assert_eq!(labels(&deployment), ["grp:billing", "grp:billing/ping"]);
    let [collection, job] = &deployment.resources[..] else { panic!("two") };
    assert_eq!(collection.at, "resources[0]");
    assert_eq!(collection.api_version.as_deref(), Some("2016-03-01"));
    assert_eq!(
        collection.body,
        json!({
            "location": "Local",
            "tags": {"displayName": "jobs"},
            "properties": {"sku": {"name": "Standard"}},
        })
    );
    assert_eq!(job.at, "resources[0].resources[0]");
    let request = &job.body["properties"]["action"]["request"];
    assert_eq!(request["uri"], "https://example.org/ping?from=billing");
    assert_eq!(request["authentication"]["password"], "swordfish");
    assert_eq!(request["headers"], json!({"copy": "a header", "x-list": "[1]"}));
    assert_eq!(deployment.secrets, ["swordfish"]);
    assert_eq!(deployment.outputs["hidden"], Value::Null);
    assert!(deployment.outputs["id"].as_str().is_some_and(|id| id.ends_with("/jobCollections/billing")));
    assert!(
        deployment.notes[0].starts_with("outputs.state.value, column 2: reference()"),
        "{:?}",
        deployment.notes
    );

    // The bare form of the same, of both kinds.
    let bare = json!({"collection": "billing", "password": {"value": "swordfish"}});
    assert_eq!(deployed(&document, Some(&bare)), deployment);
}

#[test]
fn loops_conditions_and_other_peoples_resources() {
    let document = json!({
        "parameters": {"regions": {"type": "array"}, "withTest": {"type": "bool", "defaultValue": false}},
        "resources": [
            {
                "type": JOB,
                "name": "[concat(parameters('regions')[copyIndex()], '/job', copyIndex('everywhere', 1))]",
                "copy": {"name": "everywhere", "count": "[length(parameters('regions'))]", "mode": "serial"},
                "dependsOn": ["collections", "[concat('Microsoft.Web/sites/', 'site')]"],
                "properties": {
                    "index": "[copyIndex()]",
                    "copy": [{"name": "minutes", "count": 2, "input": "[add(mul(copyIndex('minutes'), 10), copyIndex())]"}],
                },
            },
            {
                "type": COLLECTION,
                "name": "[parameters('regions')[copyIndex()]]",
                "copy": {"name": "collections", "count": 2},
            },
            {"type": COLLECTION, "condition": "[parameters('withTest')]", "name": "test"},
            {"type": "Microsoft.Web/sites", "name": "[reference('x').name]", "properties": "[listKeys('x', 'y')]"},
            {"type": COLLECTION, "name": "none", "copy": {"name": "nothing", "count": 0}},
        ],
    });
    let deployment = deployed(&document, Some(&json!({"regions": ["east", "west"]})));
    assert_eq!(labels(&deployment), ["grp:east", "grp:west", "grp:east/job1", "grp:west/job2"]);
    assert_eq!(deployment.resources[3].body, json!({"properties": {"index": 1, "minutes": [1, 11]}}));
    let left: Vec<_> = deployment.left_out.iter().map(|left| (left.at.as_str(), left.why.as_str())).collect();
    assert_eq!(
        left,
        [
            ("resources[2]", "its condition is false"),
            ("resources[3]", "Microsoft.Web/sites is not a type of Punctual's"),
        ]
    );
}

#[test]
fn deployments_inside_deployments() {
    let inner = |scope: Option<&str>| {
        let mut properties = json!({
            "mode": "Incremental",
            "parameters": {"name": {"value": "[concat(parameters('name'), '-inner')]"}},
            "template": {
                "parameters": {"name": {"type": "string"}},
                "variables": {"kind": "inner"},
                "resources": [{
                    "type": COLLECTION,
                    "name": "[parameters('name')]",
                    "tags": {"kind": "[variables('kind')]", "group": "[resourceGroup().name]"},
                }],
            },
        });
        if let Some(scope) = scope {
            properties["expressionEvaluationOptions"] = json!({"scope": scope});
        } else if let Some(properties) = properties.as_object_mut() {
            properties.remove("parameters");
        }
        json!({
            "type": "Microsoft.Resources/deployments",
            "name": "[concat('nested-', variables('kind'))]",
            "apiVersion": "2017-05-10",
            "resourceGroup": "other",
            "properties": properties,
        })
    };
    let document = |nested: Value| {
        json!({
            "parameters": {"name": {"type": "string", "defaultValue": "c"}},
            "variables": {"kind": "outer"},
            "resources": [
                {"type": COLLECTION, "name": "last", "dependsOn": ["nested-outer"]},
                nested,
            ],
        })
    };
    let outer = deployed(&document(inner(None)), None);
    assert_eq!(labels(&outer), ["other:c", "grp:last"]);
    assert_eq!(outer.resources[0].body, json!({"tags": {"kind": "outer", "group": "grp"}}));
    assert_eq!(outer.resources[0].at, "resources[1].properties.template.resources[0]");
    let inner = deployed(&document(inner(Some("Inner"))), None);
    assert_eq!(labels(&inner), ["other:c-inner", "grp:last"]);
    assert_eq!(inner.resources[0].body, json!({"tags": {"kind": "inner", "group": "other"}}));
}

#[test]
fn resources_by_symbols() {
    let document = json!({
        "languageVersion": "2.0",
        "resources": {
            "theJob": {"type": JOB, "name": "c/j", "dependsOn": ["theCollection"], "properties": {}},
            "theCollection": {"type": COLLECTION, "name": "c"},
            "old": {"type": COLLECTION, "name": "old", "existing": true},
        },
    });
    let deployment = deployed(&document, None);
    assert_eq!(labels(&deployment), ["grp:c", "grp:c/j"]);
    assert_eq!(deployment.left_out[0].why, "it is said to exist already");
}

#[test]
fn lists() {
    let id = "/subscriptions/x/resourceGroups/y/providers/Microsoft.Scheduler/jobCollections/c";
    let elements = json!([
        {"id": id, "type": COLLECTION, "name": "c", "location": "West US", "kind": null, "properties": {"sku": {"name": "Free"}}},
        {"id": format!("{id}/jobs/j"), "type": JOB, "name": "c/j", "properties": {"startTime": "[not an expression]"}},
        {"id": format!("{id}/jobs/short"), "type": JOB, "name": "short", "properties": {}},
        {"id": format!("{id}/jobs/unnamed")},
        {"id": format!("{id}/jobs/done"), "name": "c/done", "properties": {"state": "completed"}},
        {"type": "Microsoft.Web/sites", "name": "site"},
    ]);
    for document in [elements.clone(), json!({"value": elements, "nextLink": null})] {
        let deployment = deployed(&document, None);
        assert_eq!(labels(&deployment), ["grp:c", "grp:c/j", "grp:c/short", "grp:c/unnamed"]);
        assert_eq!(
            deployment.resources[0].body,
            json!({"location": "West US", "properties": {"sku": {"name": "Free"}}})
        );
        assert_eq!(deployment.resources[1].body["properties"]["startTime"], "[not an expression]");
        let left: Vec<_> = deployment.left_out.iter().filter_map(|left| left.name.as_deref()).collect();
        assert_eq!(left, ["site", "c/done"]);
    }
    let page = json!({"value": [], "nextLink": "https://example.org/"});
    assert!(deployed(&page, None).notes[0].contains("goes on"));
    let faults = deploy(&json!([5, {"name": "c"}]), Some(&json!({"a": 1}))).unwrap_err();
    assert_eq!(faults.len(), 3, "{faults:?}");
}

#[test]
fn every_fault_at_once() {
    let document = json!({
        "parameters": {
            "size": {"type": "int", "minValue": 1, "maxValue": 5},
            "plan": {"type": "string", "allowedValues": ["Free", "Standard"]},
            "secret": {"type": "securestring", "minLength": 8},
            "vault": {"type": "securestring"},
            "odd": {"type": "number"},
            "missing": {"type": "string"},
        },
        "variables": {"a": "[variables('b')]", "b": "[variables('a')]"},
        "resources": [
            {"type": COLLECTION, "name": "c", "properties": {
                "one": "[nonsense()]", "two": ["[parameters('missing')]", "[parameters('missing')]"],
                "three": "[variables('a')]",
            }},
            {"type": COLLECTION, "name": "C"},
            {"type": COLLECTION, "name": "a/b"},
            {"type": JOB, "name": "j"},
            {"name": "untyped"},
            {"type": COLLECTION},
            5,
            {"type": COLLECTION, "name": "d", "dependsOn": ["nowhere", "[resourceId('Microsoft.Scheduler/jobCollections', 'x')]"]},
            {"type": COLLECTION, "name": "e", "dependsOn": ["f"]},
            {"type": COLLECTION, "name": "f", "dependsOn": ["e"]},
            {"type": COLLECTION, "name": "g", "condition": "maybe"},
            {"type": COLLECTION, "name": "h", "copy": {"name": "many", "count": 801}},
            {"type": "Microsoft.Resources/deployments", "name": "linked", "properties": {"templateLink": {"uri": "x"}}},
        ],
    });
    let given = json!({"parameters": {
        "size": {"value": 9},
        "plan": {"value": "Gold"},
        "secret": {"value": "short"},
        "vault": {"reference": {"keyVault": {"id": "x"}, "secretName": "y"}},
        "unknown": {"value": 1},
    }});
    let faults = deploy(&document, Some(&given)).unwrap_err();
    let expected = [
        "given.parameters.size: 9 is not allowed here; allowed: at most 5",
        "given.parameters.plan: \"Gold\" is not allowed here; allowed: \"Free\", \"Standard\"",
        "given.parameters.secret: a secret value is not allowed here; allowed: at least 8 characters",
        "given.parameters.vault: a reference to a key vault cannot be followed",
        "given.parameters.unknown: the template has no such parameter; it has",
        "parameters.odd.type: allowed: string, securestring",
        "parameters.missing: the parameter has no value",
        "resources[0].properties.one, column 2: nonsense",
        "variables.b, column 12: the variable 'a' needs its own value",
        "resources[2].name: \"a/b\" is not the name of a job collection",
        "resources[3].name: \"j\" is not the name of a job; allowed: collection/job",
        "resources[4].type: missing",
        "resources[5].name: missing",
        "resources[6]: 5 is not allowed here",
        "resources[7].dependsOn[0]: there is no resource \"nowhere\"",
        "resources[7].dependsOn[1]: there is no resource \"/subscriptions/",
        "the resource depends on itself in the end",
        "resources[10].condition: \"maybe\" is not allowed here; allowed: a bool",
        "resources[11].copy.count: 801 is not allowed here; allowed: a whole number from 0 to 800",
        "resources[12].properties.template: the template is elsewhere",
    ];
    for words in expected {
        assert!(faults.iter().any(|fault| fault.contains(words)), "{words:?} is not in {faults:#?}");
    }
    assert_eq!(faults.len(), expected.len(), "{faults:#?}");
}

#[test]
fn secrets_are_not_shown_in_faults() {
    let document = json!({
        "parameters": {"short": {"type": "securestring"}, "long": {"type": "securestring"}},
        "resources": [
            {"type": COLLECTION, "name": "c", "condition": "[parameters('short')]"},
            {"type": COLLECTION, "name": "d", "condition": "[concat('x', parameters('long'))]"},
        ],
    });
    let faults = deploy(&document, Some(&json!({"short": "a", "long": "swordfish"}))).unwrap_err();
    let allowed = "(secret) is not allowed here; allowed: a bool";
    assert_eq!(faults[0], format!("resources[0].condition: {allowed}"));
    assert_eq!(
        faults[1],
        format!("resources[1].condition: {}", allowed.replace("(secret)", "\"x(secret)\""))
    );
}

#[test]
fn a_resource_given_twice() {
    let document =
        json!({"resources": [{"type": COLLECTION, "name": "c"}, {"type": COLLECTION, "name": "C"}]});
    let faults = deploy(&document, None).unwrap_err();
    assert_eq!(faults, ["resources[1]: C is given twice; the other stands at resources[0]"]);
}

#[test]
fn what_is_no_template() {
    for document in [json!(null), json!(5), json!({}), json!({"properties": {}}), json!({"value": 5})] {
        let faults = deploy(&document, None).unwrap_err();
        assert!(faults[0].starts_with("the document: allowed: a template"), "{faults:?}");
    }
    assert!(deploy(&json!({"resources": 5}), None).is_err());
}

#[test]
fn what_grows_without_bounds_is_refused() {
    // Each is twice the one before: two to the power of sixty characters.
    let mut variables = serde_json::Map::new();
    variables.insert("v0".into(), "0123456789abcdef".into());
    for i in 1..60 {
        variables
            .insert(format!("v{i}"), format!("[concat(variables('v{0}'), variables('v{0}'))]", i - 1).into());
    }
    let document = json!({
        "variables": variables,
        "resources": [{"type": COLLECTION, "name": "c", "tags": {"a": "[variables('v59')]"}}],
    });
    let faults = deploy(&document, None).unwrap_err();
    assert!(faults.len() == 1 && faults[0].contains("make more than 64 MiB"), "{faults:?}");

    // A chain that is longer than any stack would be.
    let chain: serde_json::Map<_, _> =
        (0..5000).map(|i| (format!("v{i}"), format!("[variables('v{}')]", i + 1).into())).collect();
    let document = json!({
        "variables": chain,
        "resources": [{"type": COLLECTION, "name": "[variables('v0')]"}],
    });
    let faults = deploy(&document, None).unwrap_err();
    assert!(faults.len() == 1 && faults[0].contains("deep"), "{faults:?}");

    // Loops of loops.
    let mut input = json!("x");
    for _ in 0..8 {
        input = json!({"copy": [{"name": "n", "count": 800, "input": input}]});
    }
    let document = json!({"resources": [{"type": COLLECTION, "name": "c", "tags": input}]});
    let faults = deploy(&document, None).unwrap_err();
    assert!(faults.iter().all(|fault| fault.contains("make more than 64 MiB")), "{faults:?}");

    let many: Vec<Value> = (0..30)
        .map(|i| json!({"type": COLLECTION, "name": format!("[concat('c{i}-', copyIndex())]"), "copy": {"name": "n", "count": 800}}))
        .collect();
    let faults = deploy(&json!({"resources": many}), None).unwrap_err();
    assert_eq!(faults, ["resources: there are more than 20000 resources"]);
}

#[test]
fn a_deep_document_in_a_small_stack() {
    let mut value = json!("[parameters('p')]");
    for _ in 0..120 {
        value = json!({"a": [value]});
    }
    let mut deployment = json!({"type": COLLECTION, "name": "c", "tags": value});
    for i in 0..7 {
        deployment = json!({"type": "Microsoft.Resources/deployments", "name": format!("d{i}"),
            "properties": {"template": {"resources": [deployment]}}});
    }
    let faults = deploy(&json!({"resources": [deployment]}), None).unwrap_err();
    assert!(faults[0].contains("more than 5 deep"), "{faults:?}");
}

#[test]
fn guids_differ_from_one_another_and_repeat_with_the_seed() {
    let document = json!({"resources": [], "outputs": {
        "one": {"type": "string", "value": "[newGuid()]"}, "two": {"type": "string", "value": "[newGuid()]"},
    }});
    let (first, again) = (deployed(&document, None).outputs, deployed(&document, None).outputs);
    assert_ne!(first["one"], first["two"]);
    assert_eq!(first, again);
}
