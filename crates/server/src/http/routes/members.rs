//! Bodies of our own: their members are read one by one, and all that is wrong is told.

use std::collections::BTreeMap;

use recurrence::{Fault, Faults};
use serde_json::{Map, Value};

/// The members of a body, taken one by one; what is left means nothing.
pub(super) struct Members {
    left: Map<String, Value>,
    faults: Vec<Fault>,
}

impl Members {
    pub(super) fn of(body: &Value) -> Result<Self, Faults> {
        match body {
            Value::Object(members) => Ok(Self { left: members.clone(), faults: Vec::new() }),
            other => Err(Fault::new("", shown(other), "an object").into()),
        }
    }

    /// A member that is read from a text; a fault where it is not one that is allowed.
    pub(super) fn take<T>(
        &mut self,
        name: &str,
        allowed: &str,
        read: impl FnOnce(&str) -> Option<T>,
    ) -> Option<T> {
        match self.left.remove(name) {
            None | Some(Value::Null) => None,
            Some(given) => {
                let found = given.as_str().and_then(read);
                if found.is_none() {
                    self.faults.push(Fault::new(name, shown(&given), allowed));
                }
                found
            }
        }
    }

    /// The same for one that must be there.
    pub(super) fn need<T>(
        &mut self,
        name: &str,
        allowed: &str,
        read: impl FnOnce(&str) -> Option<T>,
    ) -> Option<T> {
        if self.left.get(name).is_none_or(Value::is_null) {
            self.faults.push(Fault::new(name, "nothing", allowed));
        }
        self.take(name, allowed, read)
    }

    /// A member that is an object of texts.
    pub(super) fn texts(&mut self, name: &str) -> BTreeMap<String, String> {
        match self.left.remove(name) {
            None | Some(Value::Null) => BTreeMap::new(),
            Some(given) => serde_json::from_value(given.clone()).unwrap_or_else(|_| {
                self.faults.push(Fault::new(name, shown(&given), "an object of texts"));
                BTreeMap::new()
            }),
        }
    }

    /// What somebody else found wrong; where a member has a fault already, that is enough.
    pub(super) fn add(&mut self, faults: Faults) {
        for fault in faults.into_vec() {
            if self.faults.iter().all(|known| known.field != fault.field) {
                self.faults.push(fault);
            }
        }
    }

    /// What means nothing.
    pub(super) fn end(self) -> Result<Vec<String>, Faults> {
        Faults::check(self.faults)?;
        Ok(self.left.into_iter().map(|(name, _)| name).collect())
    }
}

fn shown(value: &Value) -> String {
    let text = value.to_string();
    text.chars().take(100).collect()
}
