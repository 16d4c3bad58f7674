//! What is wrong with a template: one [`Fault`] per mistake, all of them at once.

use std::collections::HashSet;
use std::fmt;

/// One mistake: where it stands and what is wrong there. It never shows the value of a secure parameter.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Fault {
    /// The path in the document, such as `resources[2].properties.action`.
    pub at: String,
    /// Where in the expression that stands there, in characters, counted from 1.
    pub column: Option<usize>,
    /// What is wrong, and what would be right.
    pub problem: String,
}

impl Fault {
    /// Takes out what secure parameters hold. A short one may be part of any word: it is taken out where it is shown as
    /// a whole value.
    pub(crate) fn conceal(&mut self, secrets: &[String]) {
        const SHORT: usize = 4;
        for secret in secrets {
            let quoted = serde_json::Value::from(secret.as_str()).to_string();
            self.problem = self.problem.replace(&quoted, "(secret)");
            if secret.chars().count() >= SHORT {
                self.problem = self.problem.replace(secret.as_str(), "(secret)");
            }
        }
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.column {
            Some(column) => write!(f, "{}, column {column}: {}", self.at, self.problem),
            None => write!(f, "{}: {}", self.at, self.problem),
        }
    }
}

/// The faults found so far. A loop makes the same one again and again: it is kept once.
#[derive(Debug, Default)]
pub(crate) struct Faults {
    all: Vec<Fault>,
    seen: HashSet<Fault>,
}

/// More than anybody would read.
const MOST: usize = 1000;

impl Faults {
    pub(crate) fn add(&mut self, at: impl Into<String>, problem: impl Into<String>) {
        self.push(Fault { at: at.into(), column: None, problem: problem.into() });
    }

    pub(crate) fn push(&mut self, fault: Fault) {
        if self.all.len() < MOST && self.seen.insert(fault.clone()) {
            self.all.push(fault);
        }
    }

    pub(crate) fn into_vec(self) -> Vec<Fault> {
        self.all
    }
}

/// Why an expression has no value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Raised {
    /// Something is wrong at a column.
    Wrong { column: usize, problem: String },
    /// Only Azure could say it.
    Unanswerable { column: usize, problem: String },
    /// It needs something of which a fault is already known.
    Known,
}

/// How a value is shown in a fault: as JSON, cut where it would fill the page.
pub(crate) fn shown(value: &serde_json::Value) -> String {
    const LONGEST: usize = 60;
    let text = match value {
        serde_json::Value::Array(list) if list.len() > 20 => return format!("an array of {}", list.len()),
        serde_json::Value::Object(members) if members.len() > 20 => {
            return format!("an object of {} members", members.len());
        }
        value => value.to_string(),
    };
    match text.char_indices().nth(LONGEST) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text,
    }
}

/// What kind of value it is, for faults that must not show it.
pub(crate) fn kind(value: &serde_json::Value) -> &'static str {
    match value {
        serde_json::Value::Null => "null",
        serde_json::Value::Bool(_) => "a bool",
        serde_json::Value::Number(_) => "a number",
        serde_json::Value::String(_) => "a string",
        serde_json::Value::Array(_) => "an array",
        serde_json::Value::Object(_) => "an object",
    }
}
