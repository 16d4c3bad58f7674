//! Whatever is written, reading it ends: with a deployment or with faults, never with a panic.

use proptest::prelude::*;
use serde_json::{Value, json};
use template::{Input, Place, Uuid, escape, read};

fn input<'a>(document: &'a Value, parameters: Option<&'a Value>) -> Input<'a> {
    Input {
        document,
        parameters,
        place: Place { subscription: "s".into(), group: "g".into(), deployment: "d".into() },
        now: "2027-01-01T00:00:00Z".parse().expect("a time"),
        seed: Uuid::nil(),
    }
}

/// Words that mean something in a template, among those that mean nothing.
fn word() -> impl Strategy<Value = String> {
    prop_oneof![
        prop::sample::select(vec![
            "resources",
            "type",
            "name",
            "copy",
            "count",
            "input",
            "parameters",
            "variables",
            "functions",
            "outputs",
            "value",
            "condition",
            "dependsOn",
            "properties",
            "template",
            "defaultValue",
            "apiVersion",
            "namespace",
            "members",
            "output",
            "reference",
            "Microsoft.Scheduler/jobCollections",
            "jobs",
            "string",
            "int",
            "Microsoft.Resources/deployments",
            "a",
            "b",
        ])
        .prop_map(str::to_owned),
        expression().prop_map(|text| format!("[{text}]")),
        ".{0,12}",
    ]
}

fn expression() -> impl Strategy<Value = String> {
    let leaf = prop_oneof![
        Just("'a'".to_owned()),
        Just("''".to_owned()),
        any::<i64>().prop_map(|number| number.to_string()),
        Just("parameters('a')".to_owned()),
        Just("variables('b')".to_owned()),
        Just("copyIndex()".to_owned()),
        ".{0,6}",
    ];
    leaf.prop_recursive(4, 24, 3, |inner| {
        let function = prop::sample::select(vec![
            "concat",
            "format",
            "substring",
            "replace",
            "split",
            "join",
            "length",
            "first",
            "last",
            "take",
            "skip",
            "contains",
            "padLeft",
            "string",
            "int",
            "bool",
            "json",
            "array",
            "createArray",
            "createObject",
            "union",
            "intersection",
            "range",
            "min",
            "max",
            "add",
            "sub",
            "mul",
            "div",
            "mod",
            "if",
            "and",
            "equals",
            "less",
            "base64",
            "base64ToString",
            "uri",
            "uriComponent",
            "utcNow",
            "dateTimeAdd",
            "resourceId",
            "copyIndex",
            "parameters",
            "variables",
            "indexOf",
            "uniqueString",
            "coalesce",
            "a.b",
        ]);
        prop_oneof![
            (function, prop::collection::vec(inner.clone(), 0..4))
                .prop_map(|(name, arguments)| format!("{name}({})", arguments.join(","))),
            (inner.clone(), inner.clone()).prop_map(|(of, index)| format!("{of}[{index}]")),
            inner.prop_map(|of| format!("{of}.a")),
        ]
    })
}

fn tree() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        (-3i64..900).prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        word().prop_map(Value::from),
    ];
    leaf.prop_recursive(5, 40, 6, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..5).prop_map(Value::from),
            prop::collection::vec((word(), inner), 0..6)
                .prop_map(|members| Value::Object(members.into_iter().collect())),
        ]
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn any_document_is_read(document in tree(), parameters in prop::option::of(tree())) {
        _ = read(&input(&document, parameters.as_ref()));
    }

    #[test]
    fn any_parts_are_read(parameters in tree(), variables in tree(), functions in tree(), resource in tree(), outputs in tree()) {
        let document = json!({
            "parameters": parameters, "variables": variables, "functions": functions,
            "resources": [
                resource,
                {"type": "Microsoft.Scheduler/jobCollections", "name": "c", "properties": resource, "tags": variables},
                {"type": "Microsoft.Resources/deployments", "name": "n", "properties": {"template": {"resources": [resource]}}},
            ],
            "outputs": outputs,
        });
        _ = read(&input(&document, None));
    }

    #[test]
    fn any_expression_is_read(text in expression()) {
        let document = json!({
            "parameters": {"a": {"type": "string", "defaultValue": "x"}}, "variables": {"b": [1, "two", {"a": 3}]},
            "resources": [], "outputs": {"it": {"type": "string", "value": format!("[{text}]")}},
        });
        _ = read(&input(&document, None));
    }

    #[test]
    fn an_escaped_text_comes_back(text in "\\[{0,3}.{0,20}\\]{0,2}") {
        let document = json!({
            "resources": [{"type": "Microsoft.Scheduler/jobCollections", "name": "c", "tags": {"it": escape(&text)}}],
        });
        let deployment = read(&input(&document, None)).expect("a deployment");
        prop_assert_eq!(&deployment.resources[0].body["tags"]["it"], &Value::from(text));
    }
}
