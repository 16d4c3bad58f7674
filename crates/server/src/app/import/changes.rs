//! What one document changes of another, member by member.

use serde_json::Value;

/// What stands where a secret would.
pub(in crate::app) const SECRET: &str = "(secret)";

/// What stands where a secret would that is not the one that was there.
pub(in crate::app) const ANOTHER_SECRET: &str = "(another secret)";

/// A member that becomes another; `None` where it is not there.
#[derive(Debug, Clone, PartialEq)]
pub struct Change {
    /// Its path.
    pub member: String,
    /// What it was.
    pub from: Option<Value>,
    /// What it will be.
    pub to: Option<Value>,
}

/// All changes from one document to another. What holds one of the secrets is not shown, neither before nor after.
pub(in crate::app) fn changes(old: &Value, new: &Value, secrets: &[String]) -> Vec<Change> {
    let mut changes = Vec::new();
    compare(old, new, "", &mut changes);
    for change in &mut changes {
        if [&change.from, &change.to].into_iter().flatten().any(|value| holds(value, secrets)) {
            let hide = |value: &mut Option<Value>| value.iter_mut().for_each(|value| *value = SECRET.into());
            hide(&mut change.from);
            hide(&mut change.to);
        }
    }
    changes
}

fn compare(old: &Value, new: &Value, path: &str, changes: &mut Vec<Change>) {
    let (Value::Object(before), Value::Object(after)) = (old, new) else {
        if old != new {
            changes.push(Change { member: path.to_owned(), from: Some(old.clone()), to: Some(new.clone()) });
        }
        return;
    };
    let below = |name: &str| if path.is_empty() { name.to_owned() } else { format!("{path}.{name}") };
    for (name, old) in before {
        match after.get(name) {
            Some(new) => compare(old, new, &below(name), changes),
            None => changes.push(Change { member: below(name), from: Some(old.clone()), to: None }),
        }
    }
    for (name, new) in after.iter().filter(|(name, _)| !before.contains_key(*name)) {
        changes.push(Change { member: below(name), from: None, to: Some(new.clone()) });
    }
}

fn holds(value: &Value, secrets: &[String]) -> bool {
    match value {
        Value::String(text) if [SECRET, ANOTHER_SECRET].contains(&text.as_str()) => false,
        Value::String(text) => secrets.iter().any(|secret| text.contains(secret.as_str())),
        Value::Array(list) => list.iter().any(|value| holds(value, secrets)),
        Value::Object(members) => members.values().any(|value| holds(value, secrets)),
        _ => false,
    }
}

/// What a fault shows of a value, unless a secret is in it.
pub(super) fn concealed(shown: String, secrets: &[String]) -> String {
    // It is shown as JSON would write it, so a secret may stand there in either spelling.
    let stands_there = |secret: &String| {
        let quoted = Value::from(secret.as_str()).to_string();
        shown.contains(secret.as_str()) || shown.contains(&quoted[1..quoted.len() - 1])
    };
    if secrets.iter().any(stands_there) { SECRET.to_owned() } else { shown }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_changes_is_told_member_by_member() {
        let old = json!({"a": 1, "b": {"c": [1], "d": "x"}, "gone": true});
        let new = json!({"a": 1, "b": {"c": [1, 2], "d": "x"}, "new": null});
        let told: Vec<_> = changes(&old, &new, &[])
            .into_iter()
            .map(|change| (change.member, change.from, change.to))
            .collect();
        assert_eq!(
            told,
            [
                ("b.c".to_owned(), Some(json!([1])), Some(json!([1, 2]))),
                ("gone".to_owned(), Some(json!(true)), None),
                ("new".to_owned(), None, Some(json!(null))),
            ]
        );
    }

    #[test]
    fn secrets_are_not_shown() {
        let secrets = ["sword\"fish".to_owned()];
        let old = json!({"uri": "http://a/?key=old"});
        let new = json!({"uri": "http://a/?key=sword\"fish"});
        let told = changes(&old, &new, &secrets);
        assert_eq!(told[0].from, Some(json!(SECRET)));
        assert_eq!(told[0].to, Some(json!(SECRET)));
        let hidden = changes(&json!({"a": SECRET}), &json!({"a": ANOTHER_SECRET}), &["other".to_owned()]);
        assert_eq!(hidden[0].to, Some(json!(ANOTHER_SECRET)));
        for shown in ["a sword\"fish", "\"a sword\\\"fish\""] {
            assert_eq!(concealed(shown.to_owned(), &secrets), SECRET);
        }
        assert_eq!(concealed("\"fish\"".to_owned(), &secrets), "\"fish\"");
    }
}
