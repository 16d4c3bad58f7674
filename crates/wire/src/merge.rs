//! Merging a part into a whole: RFC 7396, with names in any case.

use serde_json::{Map, Value};

/// What is special about a kind of document. Objects are known by the name of the member that holds them, in the case
/// of the API; the document itself by none.
pub(crate) trait Merge {
    /// Whether two names mean the same member of an object.
    fn same(&self, _parent: &str, one: &str, other: &str) -> bool {
        one.eq_ignore_ascii_case(other)
    }

    /// Whether a member is replaced as a whole, though it is an object.
    fn replaces(&self, _name: &str) -> bool {
        false
    }

    /// Removes from an object what cannot stay beside the changes to it.
    fn prepare(&self, _name: &str, _target: &mut Map<String, Value>, _changes: &Map<String, Value>) {}
}

/// Merges changes into a value. Members stay in their places, under the names that the changes have for them, so that
/// faults point there.
pub(crate) fn into_value(target: &mut Value, changes: &Value, name: &str, rules: &impl Merge) {
    match (target, changes) {
        (Value::Object(target), Value::Object(changes)) if !rules.replaces(name) => {
            rules.prepare(name, target, changes);
            into_object(target, changes, name, rules);
        }
        (target, changes) => *target = changes.clone(),
    }
}

fn into_object(
    target: &mut Map<String, Value>,
    changes: &Map<String, Value>,
    parent: &str,
    rules: &impl Merge,
) {
    for (name, change) in changes {
        let rivals = changes
            .iter()
            .filter(|(other, value)| !value.is_null() && rules.same(parent, other, name))
            .count();
        match (change.is_null(), rivals) {
            (true, 0) => target.retain(|other, _| !rules.same(parent, other, name)),
            // Said twice, and once it is null.
            (true, _) => {}
            (false, 1) => {
                let place = target.keys().position(|other| rules.same(parent, other, name));
                let old = place.and_then(|place| target.keys().nth(place).cloned());
                let known = old.clone().unwrap_or_else(|| name.clone());
                let mut value = old.and_then(|old| target.shift_remove(&old)).unwrap_or(Value::Null);
                into_value(&mut value, change, &known, rules);
                target.shift_insert(place.unwrap_or(target.len()), name.clone(), value);
            }
            // Said twice: both are left for the reader to complain of.
            (false, _) => {
                target.retain(|other, _| changes.contains_key(other) || !rules.same(parent, other, name));
                target.insert(name.clone(), change.clone());
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    struct Plain;
    impl Merge for Plain {}

    #[test]
    fn merging() {
        for (target, changes, merged) in [
            (json!({"a": 1}), json!({}), json!({"a": 1})),
            (json!({"a": 1}), json!({"b": 2}), json!({"a": 1, "b": 2})),
            (json!({"a": 1}), json!({"A": 2}), json!({"A": 2})),
            (json!({"a": 1, "b": 2}), json!({"A": null}), json!({"b": 2})),
            (json!({"a": {"b": 1, "c": 2}}), json!({"A": {"B": 3}}), json!({"A": {"B": 3, "c": 2}})),
            (json!({"a": [1, 2]}), json!({"a": [3]}), json!({"a": [3]})),
            (json!({"a": {"b": 1}}), json!({"a": 5}), json!({"a": 5})),
            (json!({"a": 5}), json!({"a": {"b": 1}}), json!({"a": {"b": 1}})),
            (json!({"a": 1}), json!({"a": 2, "A": 3}), json!({"a": 2, "A": 3})),
            (json!({"aA": 1}), json!({"aa": 2, "AA": 3}), json!({"aa": 2, "AA": 3})),
            (json!({"a": 1}), json!({"a": null, "A": 3}), json!({"A": 3})),
            (json!({"a": 1}), json!({"A": 3, "a": null}), json!({"A": 3})),
            (json!({"a": 1}), json!({"a": null, "A": null}), json!({})),
            (json!({"a": 1}), json!(5), json!(5)),
        ] {
            let mut result = target.clone();
            into_value(&mut result, &changes, "", &Plain);
            assert_eq!(result.to_string(), merged.to_string(), "{target} {changes}");
        }
    }
}
