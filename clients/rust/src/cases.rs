//! The table of cases, and how what was written is compared with what is read back.

use serde_json::{Map, Value};
use time::OffsetDateTime;
use time::format_description::well_known::Rfc3339;

/// What `clients/cases.json` says.
pub struct Cases {
    table: Value,
    /// Whether the version is one from before 2016-03-01.
    is_old: bool,
}

impl Cases {
    pub fn read(path: &str, is_old: bool) -> Self {
        let text = std::fs::read_to_string(path).expect("the table of cases");
        Self { table: serde_json::from_str(&text).expect("JSON"), is_old }
    }

    /// A part of the table; nothing of it needs to be what this version can say.
    pub fn part(&self, name: &str) -> &Value {
        &self.table[name]
    }

    /// The names and bodies of a part, as this version can say them.
    pub fn bodies(&self, part: &str) -> Vec<(String, Value)> {
        let cases = self.part(part).as_object().expect("an object of cases");
        let cases = cases
            .iter()
            .filter(|(_, case)| !self.is_old || case["body"]["properties"]["sku"]["name"] != "P20Premium");
        cases.map(|(name, case)| (name.clone(), self.sayable(&case["body"]))).collect()
    }

    /// What is to be read back of a body: all of it but the secrets, and what the server fills in.
    pub fn expected(&self, case: &Value) -> Value {
        let mut expected = self.plain(&self.without_secrets(&self.sayable(&case["body"])));
        merge(&mut expected, &self.plain(&self.sayable(&case["answered"])));
        expected
    }

    /// A body with what the types of this client have: times with a zone, `Occurrence` with a capital; and in the older
    /// versions no plan P20Premium, no authentication but its type, and a date-time for a `timeToLive`.
    pub fn sayable(&self, body: &Value) -> Value {
        map(body, &|name, value| match value {
            Value::String(text)
                if self.is_in("instants", name) && OffsetDateTime::parse(&text, &Rfc3339).is_err() =>
            {
                Some((name.to_owned(), format!("{text}Z").into()))
            }
            Value::String(plan) if self.is_old && plan == "P10Premium" => {
                Some((name.to_owned(), "Premium".into()))
            }
            _ if name == "occurrence" => Some(("Occurrence".to_owned(), value)),
            _ if self.is_old && name == "timeToLive" => None,
            _ if self.is_old && name == "authentication" && value.get("sasKeyName").is_none() => None,
            _ => Some((name.to_owned(), value)),
        })
    }

    /// The same, for the newest version.
    pub fn sayable_by_the_newest(&self, body: &Value) -> Value {
        Self { table: self.table.clone(), is_old: false }.sayable(body)
    }

    fn without_secrets(&self, body: &Value) -> Value {
        map(body, &|name, value| (!self.is_in("secrets", name)).then(|| (name.to_owned(), value)))
    }

    /// A form in which equal values are equal: words in small letters, times as instants, no nulls. Durations are texts in
    /// this client, and come back as they were.
    pub fn plain(&self, value: &Value) -> Value {
        map(value, &|name, value| {
            let value = match value {
                Value::Null => return None,
                Value::String(word) if self.is_in("words", name) => word.to_lowercase().into(),
                Value::Array(words) if self.is_in("words", name) => {
                    words.iter().map(|word| word.as_str().expect("a word").to_lowercase()).collect()
                }
                Value::String(text) if self.is_in("instants", name) => {
                    let at = OffsetDateTime::parse(&text, &Rfc3339).expect("a date-time");
                    at.unix_timestamp_nanos().to_string().into()
                }
                value => value,
            };
            Some((name.to_owned(), value))
        })
    }

    fn is_in(&self, list: &str, name: &str) -> bool {
        self.part(list).as_array().is_some_and(|names| names.iter().any(|known| known == name))
    }
}

/// A member's name and value.
type Member = (String, Value);

/// A value whose members, from the innermost on, are what `change` makes of their name and value; `None` leaves one out.
fn map(value: &Value, change: &dyn Fn(&str, Value) -> Option<Member>) -> Value {
    match value {
        Value::Object(members) => members
            .iter()
            .filter_map(|(name, value)| change(name, map(value, change)))
            .collect::<Map<_, _>>()
            .into(),
        Value::Array(items) => items.iter().map(|item| map(item, change)).collect(),
        value => value.clone(),
    }
}

/// Writes the members of a patch into a value, at every depth.
pub fn merge(value: &mut Value, patch: &Value) {
    match (value, patch) {
        (_, Value::Null) => {}
        (Value::Object(value), Value::Object(patch)) => {
            for (name, patch) in patch {
                merge(value.entry(name.as_str()).or_insert(Value::Object(Map::new())), patch);
            }
        }
        (value, patch) => *value = patch.clone(),
    }
}

/// Where two values are not the same.
pub fn differences(expected: &Value, found: &Value, path: &str) -> Vec<String> {
    match (expected, found) {
        (Value::Object(left), Value::Object(right)) => {
            let mut names: Vec<_> = left.keys().chain(right.keys()).collect();
            names.sort();
            names.dedup();
            let nothing = Value::Null;
            let both = |name| (left.get(name).unwrap_or(&nothing), right.get(name).unwrap_or(&nothing));
            names
                .into_iter()
                .flat_map(|name| differences(both(name).0, both(name).1, &format!("{path}.{name}")))
                .collect()
        }
        _ if expected == found => Vec::new(),
        _ => vec![format!("{path}: expected {expected}, found {found}")],
    }
}
