//! Notes of what is done: who, what, from where, and what it changed.

use std::collections::HashMap;
use std::sync::Arc;

use access::{Act, Decision, Note, Permission, Scope, Verdict};
use model::{Definition, Job, JobState, Secret};
use serde_json::{Value, json};
use store::{JobRecord, Store};

use super::import::changes::{ANOTHER_SECRET, Change, SECRET, changes};
use super::{App, Result};
use crate::problem::Problem;

/// The most bytes of what is told about a change. A job has at most 16 KiB, and is there twice.
const LONGEST_DETAIL: usize = 64 << 10;

impl App {
    /// A note in the name of whoever asks.
    pub(crate) fn note_of(&self, act: Act, target: &str, verdict: Verdict, detail: &Value) -> Note {
        let detail = if detail.is_null() { String::new() } else { detail.to_string() };
        let detail =
            if detail.len() > LONGEST_DETAIL { json!({"tooLong": detail.len()}).to_string() } else { detail };
        Note {
            at: self.clock.now(),
            who: self.caller.principal.id.to_string(),
            name: self.caller.principal.name.clone(),
            from: self.caller.from.clone(),
            act,
            target: target.to_owned(),
            verdict,
            detail,
        }
    }

    /// The store, which notes the change that it is given next.
    pub(super) fn noting(&self, act: Act, target: &str, detail: &Value) -> Arc<dyn Store> {
        self.store.noting(self.note_of(act, target, Verdict::Done, detail))
    }

    /// Notes what is no change of the store.
    pub(crate) async fn note(&self, act: Act, target: &str, detail: &Value) -> Result<()> {
        Ok(self.store.note(self.note_of(act, target, Verdict::Done, detail)).await?)
    }

    /// Whether whoever asks may do something in a scope; otherwise what they are answered.
    pub(crate) fn require(&self, permission: Permission, scope: &Scope, act: Act) -> Result<()> {
        match self.caller.grants.decide(permission, scope) {
            Decision::Allowed => Ok(()),
            // That the server itself is there everybody knows.
            Decision::Hidden if *scope != Scope::Root => Err(Problem::missing(scope)),
            Decision::Denied | Decision::Hidden => {
                Err(Problem::forbidden(&self.caller.principal, act, permission, scope))
            }
        }
    }
}

/// What a note tells of something new.
pub(super) fn created() -> Value {
    json!({"created": true})
}

/// What a note tells of something that is gone.
pub(super) fn deleted(document: Value) -> Value {
    json!({"deleted": document})
}

/// What a note tells of a change from one document to another.
pub(super) fn changed(old: &Value, new: &Value) -> Value {
    told(&changes(old, new, &[]))
}

/// What a note tells of changes.
pub(super) fn told(changes: &[Change]) -> Value {
    let told: Vec<Value> = changes
        .iter()
        .map(|change| {
            let mut told = json!({"member": change.member});
            for (name, value) in [("from", &change.from), ("to", &change.to)] {
                if let Some(value) = value {
                    told[name] = value.clone();
                }
            }
            told
        })
        .collect();
    json!({"changes": told})
}

/// What a note tells of a job that could not be read and was written anew.
pub(super) fn repaired(record: &JobRecord) -> Value {
    json!({"replaced": masked(record)})
}

/// A job as notes show it: with a mark in the place of each secret, and why it cannot be read, if it cannot.
pub(super) fn masked(record: &JobRecord) -> Value {
    let mut document = match (&record.definition, record.state) {
        (Some(definition), Some(state)) => wire::job::concealed(definition, state, |_, _| SECRET.into()),
        _ => json!({}),
    };
    if let Some(why) = &record.unreadable {
        document["unreadable"] = why.as_str().into();
    }
    document
}

/// What a definition changes of a job; secrets are told apart, and not shown.
pub(super) fn job_changes(job: &Job, new: &Definition, state: JobState, secrets: &[String]) -> Vec<Change> {
    let mut known: HashMap<String, Secret> = HashMap::new();
    let old = wire::job::concealed(&job.definition, job.state, |path, secret| {
        known.insert(path.to_owned(), secret.clone());
        SECRET.into()
    });
    let new = wire::job::concealed(new, state, |path, secret| {
        if known.get(path) == Some(secret) { SECRET.into() } else { ANOTHER_SECRET.into() }
    });
    changes(&old, &new, secrets)
}
