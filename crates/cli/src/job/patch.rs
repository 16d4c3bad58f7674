//! The difference between two documents, as a patch that the API takes, and as lines that people read.

use serde_json::{Map, Value};

/// What must be sent so that `from` becomes `to`: changed members with their values, removed ones with null. `None` where
/// nothing changes.
pub(super) fn between(from: &Value, to: &Value) -> Option<Value> {
    let (Value::Object(before), Value::Object(after)) = (from, to) else {
        return (from != to).then(|| to.clone());
    };
    let mut patch = Map::new();
    for name in before.keys().filter(|name| !after.contains_key(*name)) {
        patch.insert(name.clone(), Value::Null);
    }
    for (name, value) in after {
        match before.get(name) {
            Some(old) => patch.extend(between(old, value).map(|value| (name.clone(), value))),
            None => {
                patch.insert(name.clone(), value.clone());
            }
        }
    }
    (!patch.is_empty()).then(|| patch.into())
}

/// A document with a patch laid over it.
pub(super) fn apply(document: &Value, patch: &Value) -> Value {
    let Value::Object(patch) = patch else { return patch.clone() };
    let mut patched = document.as_object().cloned().unwrap_or_default();
    for (name, value) in patch {
        if value.is_null() {
            patched.remove(name);
        } else {
            let under = patched.get(name).cloned().unwrap_or(Value::Null);
            patched.insert(name.clone(), apply(&under, value));
        }
    }
    patched.into()
}

/// Puts a value at a path such as `recurrence.interval`; false where something stands in the way.
pub(super) fn set(patch: &mut Map<String, Value>, path: &str, value: Value) -> bool {
    match path.split_once('.') {
        None => {
            !path.is_empty() && {
                patch.insert(path.to_owned(), value);
                true
            }
        }
        Some((first, rest)) => {
            let inner = patch.entry(first).or_insert_with(|| Map::new().into());
            !first.is_empty() && inner.as_object_mut().is_some_and(|inner| set(inner, rest, value))
        }
    }
}

/// A line for each member that changes: `recurrence.interval: 1 -> 2`.
pub(super) fn lines(from: &Value, to: &Value) -> Vec<String> {
    let mut lines = Vec::new();
    collect("", Some(from), Some(to), &mut lines);
    lines
}

fn collect(path: &str, from: Option<&Value>, to: Option<&Value>, lines: &mut Vec<String>) {
    if from == to {
        return;
    }
    if let (Some(Value::Object(before)), Some(Value::Object(after))) = (from, to) {
        let mut names: Vec<&String> = before.keys().collect();
        names.extend(after.keys().filter(|name| !before.contains_key(*name)));
        for name in names {
            let path = if path.is_empty() { name.clone() } else { format!("{path}.{name}") };
            collect(&path, before.get(name), after.get(name), lines);
        }
        return;
    }
    let shown = |value: Option<&Value>| value.map_or("nothing".to_owned(), ToString::to_string);
    lines.push(format!("{path}: {} -> {}", shown(from), shown(to)));
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_patch_leads_from_one_document_to_the_other() {
        for (from, to, patch) in [
            (json!({"a": 1}), json!({"a": 1}), None),
            (json!({"a": 1, "b": {"c": 2}}), json!({"b": {"c": 3}}), Some(json!({"a": null, "b": {"c": 3}}))),
            (json!({"a": [1, 2]}), json!({"a": [1]}), Some(json!({"a": [1]}))),
            (json!({"a": {"b": 1}}), json!({"a": "x"}), Some(json!({"a": "x"}))),
            (json!({}), json!({"a": {"b": 1}}), Some(json!({"a": {"b": 1}}))),
        ] {
            assert_eq!(between(&from, &to), patch);
            assert_eq!(apply(&from, &patch.unwrap_or_else(|| json!({}))), to);
        }
    }

    #[test]
    fn paths_are_set() {
        let mut patch = Map::new();
        assert!(set(&mut patch, "recurrence.interval", 2.into()));
        assert!(set(&mut patch, "recurrence.count", Value::Null));
        assert!(!set(&mut patch, "recurrence.interval.x", 1.into()), "a number has no members");
        assert!(!set(&mut patch, "", 1.into()) && !set(&mut patch, ".a", 1.into()));
        assert_eq!(patch["recurrence"], json!({"interval": 2, "count": null}));
    }

    #[test]
    fn changes_in_lines() {
        let (from, to) = (json!({"a": 1, "b": {"c": "x"}}), json!({"b": {"c": "y", "d": [1]}}));
        assert_eq!(lines(&from, &to), ["a: 1 -> nothing", "b.c: \"x\" -> \"y\"", "b.d: nothing -> [1]"]);
    }
}
