//! Parameters: what a template declares, what was given, and whether that is allowed.

use std::collections::HashMap;

use serde_json::Value;

use crate::evaluate::{Evaluation, member};
use crate::fault::{Fault, kind, shown};

/// A value that was given for a parameter, and where.
pub(crate) struct Given {
    pub(crate) at: String,
    pub(crate) value: Value,
}

/// A parameter that a template declares.
pub(crate) struct Declaration<'a> {
    pub(crate) name: &'a str,
    pub(crate) at: String,
    kind: Kind,
    is_secure: bool,
    source: &'a Value,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Text,
    Int,
    Bool,
    Object,
    Array,
}

const KINDS: &str = "string, securestring, int, bool, object, secureObject or array";

/// The kind that a type names, and whether its values are secret.
fn kind_of(name: &str) -> Option<(Kind, bool)> {
    Some(match name.to_ascii_lowercase().as_str() {
        "string" => (Kind::Text, false),
        "securestring" => (Kind::Text, true),
        "int" => (Kind::Int, false),
        "bool" => (Kind::Bool, false),
        "object" => (Kind::Object, false),
        "secureobject" => (Kind::Object, true),
        "array" => (Kind::Array, false),
        _ => return None,
    })
}

impl Kind {
    fn fits(self, value: &Value) -> bool {
        match self {
            Self::Text => value.is_string(),
            Self::Int => value.is_i64(),
            Self::Bool => value.is_boolean(),
            Self::Object => value.is_object(),
            Self::Array => value.is_array(),
        }
    }

    fn words(self) -> &'static str {
        match self {
            Self::Text => "a string",
            Self::Int => "a whole number",
            Self::Bool => "true or false",
            Self::Object => "an object",
            Self::Array => "an array",
        }
    }
}

/// What a template declares, by names in lower case.
pub(crate) fn declarations<'a>(
    evaluation: &mut Evaluation,
    template: &'a Value,
    at: &str,
) -> HashMap<String, Declaration<'a>> {
    let at = member(at, "parameters");
    let mut declarations = HashMap::new();
    let members = match template.get("parameters") {
        None | Some(Value::Null) => return declarations,
        Some(Value::Object(members)) => members,
        Some(_) => {
            evaluation.faults.add(at, "allowed: an object of parameters");
            return declarations;
        }
    };
    for (name, source) in members {
        let at = member(&at, name);
        let kind = source.get("type").and_then(Value::as_str).and_then(kind_of);
        let Some((kind, is_secure)) = kind else {
            evaluation.faults.add(member(&at, "type"), format!("allowed: {KINDS}"));
            continue;
        };
        let declaration = Declaration { name, at: at.clone(), kind, is_secure, source };
        if declarations.insert(name.to_lowercase(), declaration).is_some() {
            evaluation.faults.add(at, "there is another parameter of this name");
        }
    }
    declarations
}

impl<'a> Declaration<'a> {
    /// The value of a parameter for which none was given.
    pub(crate) fn default(&self) -> Option<&'a Value> {
        self.source.get("defaultValue")
    }

    /// The value, if it is one that the declaration allows; a fault at its place if not.
    pub(crate) fn check(&self, evaluation: &mut Evaluation, value: Value, at: &str) -> Option<Value> {
        if self.is_secure {
            remember(&value, &mut evaluation.secrets);
        }
        let shown = if self.is_secure { "a secret value".to_owned() } else { shown(&value) };
        let mut allowed = Vec::new();
        if !self.kind.fits(&value) {
            let given = if self.is_secure { kind(&value).to_owned() } else { shown };
            let words = self.kind.words();
            evaluation.faults.add(at, format!("{given} is not allowed here; allowed: {words}"));
            return None;
        }
        let bound = |name: &str| self.source.get(name).and_then(Value::as_i64);
        let length = match &value {
            Value::String(text) => Some(text.chars().count()),
            Value::Array(list) => Some(list.len()),
            _ => None,
        };
        if let Some(length) = length.and_then(|length| i64::try_from(length).ok()) {
            let unit = if value.is_string() { "characters" } else { "elements" };
            if let Some(least) = bound("minLength").filter(|least| length < *least) {
                allowed.push(format!("at least {least} {unit}"));
            }
            if let Some(most) = bound("maxLength").filter(|most| length > *most) {
                allowed.push(format!("at most {most} {unit}"));
            }
        }
        if let Some(number) = value.as_i64() {
            if let Some(least) = bound("minValue").filter(|least| number < *least) {
                allowed.push(format!("at least {least}"));
            }
            if let Some(most) = bound("maxValue").filter(|most| number > *most) {
                allowed.push(format!("at most {most}"));
            }
        }
        if let Some(values) = self.source.get("allowedValues").and_then(Value::as_array) {
            // Of an array, each element must be allowed.
            let is_allowed = match &value {
                Value::Array(list) if !values.contains(&value) => {
                    list.iter().all(|element| values.contains(element))
                }
                value => values.contains(value),
            };
            if !is_allowed {
                let values: Vec<String> = values.iter().map(crate::fault::shown).collect();
                allowed.push(values.join(", "));
            }
        }
        if allowed.is_empty() {
            return Some(value);
        }
        evaluation.faults.add(at, format!("{shown} is not allowed here; allowed: {}", allowed.join("; ")));
        None
    }
}

/// Keeps the texts of a secure value, so that reports can mask them.
fn remember(value: &Value, secrets: &mut Vec<String>) {
    match value {
        Value::String(text) if !text.is_empty() => secrets.push(text.clone()),
        Value::Array(list) => list.iter().for_each(|value| remember(value, secrets)),
        Value::Object(members) => members.values().for_each(|value| remember(value, secrets)),
        _ => {}
    }
}

/// Reads what was given: a parameters file, or a bare object of names and values.
pub(crate) fn given(evaluation: &mut Evaluation, document: &Value, at: &str) -> HashMap<String, Given> {
    let Value::Object(members) = document else {
        let problem = format!("{} is not allowed here; allowed: an object of parameters", kind(document));
        evaluation.faults.add(at, problem);
        return HashMap::new();
    };
    let is_file = members.get("parameters").is_some_and(Value::is_object)
        && members.keys().all(|name| ["$schema", "contentVersion", "parameters"].contains(&name.as_str()));
    if is_file {
        // Only a file is told apart by its wrapping; below it every parameter is wrapped as well.
        return values(evaluation, &members["parameters"], &member(at, "parameters"), true);
    }
    values(evaluation, document, at, false)
}

/// The values of parameters. In a file each is `{"value": …}`; a bare object may hold the values themselves.
pub(crate) fn values(
    evaluation: &mut Evaluation,
    document: &Value,
    at: &str,
    wrapped: bool,
) -> HashMap<String, Given> {
    let mut given = HashMap::new();
    for (name, entry) in document.as_object().into_iter().flatten() {
        let at = member(at, name);
        let only = entry.as_object().filter(|members| members.len() == 1);
        let value = if let Some(value) = only.and_then(|members| members.get("value")) {
            value.clone()
        } else if entry.get("reference").is_some() && (wrapped || only.is_some()) {
            let problem =
                "a reference to a key vault cannot be followed; give the value itself, as a value here";
            evaluation.faults.add(at, problem);
            continue;
        } else if let Some(value) = entry.get("value").filter(|_| wrapped) {
            value.clone()
        } else if wrapped {
            evaluation.faults.add(at, "allowed: an object such as {\"value\": …}");
            continue;
        } else {
            entry.clone()
        };
        if given.insert(name.to_lowercase(), Given { at: at.clone(), value }).is_some() {
            evaluation.faults.add(at, "the parameter is given twice");
        }
    }
    given
}

/// Reads the text of a parameter as its declaration wants it: a text stays one, anything else is JSON.
///
/// ```
/// use serde_json::json;
///
/// let template = json!({"parameters": {"name": {"type": "string"}, "count": {"type": "int"}}, "resources": []});
/// assert_eq!(template::read_setting(&template, "name", "5").unwrap(), json!("5"));
/// assert_eq!(template::read_setting(&template, "count", "5").unwrap(), json!(5));
/// assert!(template::read_setting(&template, "count", "five").is_err());
/// assert!(template::read_setting(&template, "size", "5").is_err());
/// ```
pub fn read_setting(template: &Value, name: &str, text: &str) -> Result<Value, Fault> {
    let fault = |problem: String| Fault { at: name.to_owned(), column: None, problem };
    let declared = template.get("parameters").and_then(Value::as_object);
    let declared = declared.and_then(|all| all.iter().find(|(other, _)| other.eq_ignore_ascii_case(name)));
    let Some((_, declaration)) = declared else {
        return Err(fault("the template has no such parameter".to_owned()));
    };
    let declared = declaration.get("type").and_then(Value::as_str).and_then(kind_of);
    let Some((kind, is_secure)) = declared else {
        return Err(fault(format!("the template gives it no type; allowed there: {KINDS}")));
    };
    if kind == Kind::Text {
        return Ok(text.into());
    }
    let value = serde_json::from_str(text).ok().filter(|value| kind.fits(value));
    let given = if is_secure { "a secret value".to_owned() } else { shown(&text.into()) };
    value.ok_or_else(|| fault(format!("{given} is not allowed here; allowed: {}", kind.words())))
}
