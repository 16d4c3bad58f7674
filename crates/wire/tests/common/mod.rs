//! Jobs made from requests, without a store.
#![allow(dead_code, reason = "each test takes what it needs")]

use model::transition::{Standing, begin};
use model::{CollectionPath, Counters, Job, JobId, JobState, Timestamp, Uuid};
use serde_json::Value;
use wire::dialect::Dialect;
use wire::job::JobRequest;

pub(crate) fn now() -> Timestamp {
    "2027-01-01T00:00:00Z".parse().expect("a timestamp")
}

pub(crate) fn path() -> CollectionPath {
    CollectionPath { subscription: "sub".into(), group: "Group".into(), name: "Coll".into() }
}

/// The job that a request makes.
pub(crate) fn job(name: &str, request: &JobRequest) -> Job {
    let state = request.state.unwrap_or(JobState::Enabled);
    let Standing { state, next_number, next_at, .. } = begin(&request.rule, state);
    Job {
        id: JobId(1),
        name: name.to_owned(),
        seed: Uuid::nil(),
        definition: request.definition(),
        rule: request.rule.clone(),
        state,
        counters: Counters::default(),
        next_number,
        next_at,
        paused_at: None,
        last_faulted: false,
        generation: 1,
    }
}

#[track_caller]
pub(crate) fn read(body: &Value) -> JobRequest {
    wire::job::read(body, now()).unwrap_or_else(|faults| panic!("{body}: {faults}"))
}

/// What a PUT of a body is answered with.
#[track_caller]
pub(crate) fn answer(body: &Value) -> Value {
    wire::job::write(&path(), &job("j", &read(body)), Dialect::default())
}
