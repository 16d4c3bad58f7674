//! The description of the API that is served, in OpenAPI 3.

use serde_json::{Map, Value, json};

use crate::VERSION;

const COLLECTIONS: &str = "/subscriptions/{subscription}/providers/Microsoft.Scheduler/jobCollections";
const GROUP_COLLECTIONS: &str =
    "/subscriptions/{subscription}/resourceGroups/{group}/providers/Microsoft.Scheduler/jobCollections";

/// The document.
pub(crate) fn document() -> Value {
    let collection = format!("{GROUP_COLLECTIONS}/{{collection}}");
    let job = format!("{collection}/jobs/{{job}}");
    let mut paths = Map::new();
    let mut add = |path: &str, operations: Vec<(&str, Value)>| {
        let operations: Map<String, Value> =
            operations.into_iter().map(|(method, operation)| (method.to_owned(), operation)).collect();
        paths.insert(path.to_owned(), operations.into());
    };
    add(
        COLLECTIONS,
        vec![("get", versioned("List the job collections of a subscription", &[200], None, COLLECTIONS))],
    );
    add(
        GROUP_COLLECTIONS,
        vec![(
            "get",
            versioned("List the job collections of a resource group", &[200], None, GROUP_COLLECTIONS),
        )],
    );
    add(&collection, resource("job collection", "Collection", &[201], &collection));
    for verb in ["enable", "disable"] {
        let path = format!("{collection}/{verb}");
        let summary = format!("{} a job collection", capital(verb));
        add(&path, vec![("post", versioned(&summary, &[200], None, &path))]);
    }
    let jobs = format!("{collection}/jobs");
    add(
        &jobs,
        vec![
            ("get", versioned("List jobs; $top, $skip, $filter=state eq Enabled", &[200], None, &jobs)),
            ("post", versioned("Create a job under a generated name", &[201], Some("Job"), &jobs)),
        ],
    );
    add(&job, resource("job", "Job", &[200, 201], &job));
    let run = format!("{job}/run");
    add(&run, vec![("post", versioned("Run a job once, now", &[200], None, &run))]);
    let history = format!("{job}/history");
    add(
        &history,
        vec![(
            "get",
            versioned("List a job's history; $top, $skip, $filter=status eq Failed", &[200], None, &history),
        )],
    );
    add("/api/ledger", vec![("get", ledger())]);
    for (path, summary) in
        [("/healthz", "Whether the process lives"), ("/readyz", "Whether it can do its work")]
    {
        add(path, vec![("get", json!({"summary": summary, "responses": responses(&[200])}))]);
    }
    let summary = "A copy of the whole store, as a SQLite file";
    add("/api/import", vec![("post", import())]);
    add("/api/export", vec![("get", export())]);
    add("/api/backup", vec![("post", json!({"summary": summary, "responses": responses(&[200])}))]);
    json!({
        "openapi": "3.0.3",
        "info": {"title": "Punctual", "version": VERSION},
        "paths": paths,
        "components": {"schemas": schemas()},
    })
}

/// GET, PUT, PATCH and DELETE of one kind of resource.
fn resource(what: &str, schema: &str, put: &[u16], path: &str) -> Vec<(&'static str, Value)> {
    vec![
        ("get", versioned(&format!("Read a {what}"), &[200], None, path)),
        ("put", versioned(&format!("Create or replace a {what}"), put, Some(schema), path)),
        ("patch", versioned(&format!("Change parts of a {what}"), &[200], Some(schema), path)),
        ("delete", versioned(&format!("Delete a {what}"), &[200], None, path)),
    ]
}

fn versioned(summary: &str, statuses: &[u16], body: Option<&str>, path: &str) -> Value {
    let mut parameters = vec![parameter("api-version", "query", true)];
    let segments = path.split('/').filter_map(|part| part.strip_prefix('{')?.strip_suffix('}'));
    parameters.extend(segments.map(|name| parameter(name, "path", true)));
    let mut operation =
        json!({"summary": summary, "parameters": parameters, "responses": responses(statuses)});
    if let Some(schema) = body {
        operation["requestBody"] = json!({"required": true, "content": {"application/json": {
            "schema": {"$ref": format!("#/components/schemas/{schema}")},
        }}});
    }
    operation
}

fn import() -> Value {
    let parameters = [
        parameter("subscription", "query", true),
        parameter("group", "query", true),
        parameter("dryRun", "query", false),
        parameter("progress", "query", false),
    ];
    json!({
        "summary": "Write the collections and jobs of a deployment template or a resource list; a dry run only says what \
                    would change. With progress=true, a line of JSON for each resource as it is done",
        "parameters": parameters,
        "requestBody": {"required": true, "content": {"application/json": {"schema": {
            "type": "object",
            "properties": {"template": {}, "parameters": {"type": "object"}},
        }}}},
        "responses": responses(&[200]),
    })
}

fn export() -> Value {
    let parameters = [
        parameter("subscription", "query", true),
        parameter("group", "query", false),
        parameter("collection", "query", false),
    ];
    json!({
        "summary": "A deployment template of the collections and jobs, without the values of their secrets",
        "parameters": parameters,
        "responses": responses(&[200]),
    })
}

fn ledger() -> Value {
    let names =
        ["from", "to", "state", "subscription", "resourceGroup", "jobCollection", "job", "top", "before"];
    let parameters: Vec<Value> = names.iter().map(|name| parameter(name, "query", false)).collect();
    json!({
        "summary": "What became of every occurrence: state is ran, ranLate, faulted, skipped, missed or notRun",
        "parameters": parameters,
        "responses": responses(&[200]),
    })
}

fn parameter(name: &str, place: &str, required: bool) -> Value {
    json!({"name": name, "in": place, "required": required, "schema": {"type": "string"}})
}

fn responses(statuses: &[u16]) -> Value {
    let mut responses = Map::new();
    for status in statuses {
        responses.insert(status.to_string(), json!({"description": "Done"}));
    }
    let error = json!({"$ref": "#/components/schemas/Error"});
    responses.insert(
        "default".into(),
        json!({"description": "What was wrong", "content": {"application/json": {"schema": error}}}),
    );
    responses.into()
}

fn schemas() -> Value {
    let object = json!({"type": "object"});
    json!({
        "Error": {"type": "object", "required": ["error"], "properties": {"error": {
            "type": "object",
            "required": ["code", "message"],
            "properties": {
                "code": {"type": "string"},
                "message": {"type": "string"},
                "details": {"type": "array", "items": {"type": "object", "properties": {
                    "code": {"type": "string"}, "target": {"type": "string"}, "message": {"type": "string"},
                }}},
            },
        }}},
        "Collection": {"type": "object", "properties": {
            "location": {"type": "string"},
            "tags": {"type": "object", "additionalProperties": {"type": "string"}},
            "properties": {"type": "object", "properties": {
                "sku": {"type": "object", "properties": {
                    "name": {"type": "string", "enum": ["Free", "Standard", "P10Premium", "P20Premium"]},
                }},
                "state": {"type": "string", "enum": ["Enabled", "Disabled", "Suspended"]},
                "quota": object,
            }},
        }},
        "Job": {"type": "object", "required": ["properties"], "properties": {"properties": {
            "type": "object",
            "required": ["action"],
            "properties": {
                "startTime": {"type": "string", "format": "date-time"},
                "action": object,
                "recurrence": object,
                "state": {"type": "string", "enum": ["Enabled", "Disabled"]},
                "catchUp": {"description": "none, last, or {policy: all, max: N}"},
                "overlap": {"type": "string", "enum": ["allow", "skip", "queue"]},
            },
        }}},
    })
}

fn capital(word: &str) -> String {
    let mut letters = word.chars();
    letters.next().map(|first| first.to_ascii_uppercase()).into_iter().chain(letters).collect()
}
