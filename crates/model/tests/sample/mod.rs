//! A job to decide about.

use model::action::{Call, HttpRequest};
use model::{
    Action, CatchUp, Counters, Definition, Job, JobId, JobState, Overlap, Timestamp, Uuid, transition,
};
use recurrence::{Draft, RecurrenceDraft};

pub(crate) fn at(text: &str) -> Timestamp {
    text.parse().unwrap_or_else(|_| panic!("{text} is no time"))
}

/// An enabled job that was accepted at an instant and begins then.
pub(crate) fn job(recurrence: Option<RecurrenceDraft>, accepted_at: Timestamp) -> Job {
    let request = HttpRequest {
        uri: "http://example.com/".into(),
        method: "GET".into(),
        headers: None,
        body: None,
        authentication: None,
    };
    let definition = Definition {
        timing: Draft { start_time: None, recurrence },
        accepted_at,
        action: Action { call: Call::Http { https: false, request }, retry: None, on_error: None },
        catch_up: CatchUp::Last,
        overlap: Overlap::Allow,
        extensions_given: false,
        capital_occurrence: false,
    };
    let rule = definition.rule().expect("a rule");
    let standing = transition::begin(&rule, JobState::Enabled);
    Job {
        id: JobId(1),
        name: "job".into(),
        seed: Uuid::nil(),
        rule,
        definition,
        state: standing.state,
        counters: Counters::default(),
        next_number: standing.next_number,
        next_at: standing.next_at,
        paused_at: None,
        last_faulted: false,
        generation: 1,
    }
}
