//! Traces: what belongs together, from a call of the API to the calls of jobs, for a collector of OpenTelemetry.
//!
//! An occurrence is one trace, whose id is the execution tag: attempts on other nodes, after a restart, and what a target
//! adds to it all come together without anything being stored. Its spans are the occurrence and each call, of which HTTP
//! targets are told in `traceparent`. A call of the API is a span of the caller's trace, or of one of its own; the occurrence
//! has a link to the call that last wrote the job or asked for the run, where this process has seen it (`origins`).
//!
//! Nobody waits for a collector: spans go into queues with bounds (`exporter`), and what finds no room is dropped and
//! counted.

mod exporter;
mod origins;
mod otlp;

use std::sync::Arc;

use actions::{Sampling, TraceContext};
use axum::http::{HeaderMap, Method, StatusCode};
use engine::Begun;
use measure::Counter;
use model::{Attempt, CollectionPath, Timestamp, Uuid};
use store::Settlement;
use tokio::sync::mpsc;

pub(crate) use exporter::{Exporter, Settings};
use origins::Origins;
use otlp::{Kind, Span, Value};

/// How many spans of API calls may wait to be gathered.
const WAITING: usize = 2048;

/// Where spans are handed in. See the module.
#[derive(Debug)]
pub struct Traces {
    sampling: Sampling,
    spans: mpsc::Sender<Span>,
    origins: Origins,
    pub(crate) numbers: Arc<TraceNumbers>,
}

/// What became of spans.
#[derive(Debug, Default)]
pub(crate) struct TraceNumbers {
    /// The collector has taken them.
    pub(crate) exported: Counter,
    /// There was no room, or the collector did not take them.
    pub(crate) dropped: Counter,
}

/// A call of the API that has begun.
pub(crate) struct ApiCall {
    /// Its span.
    pub(crate) context: TraceContext,
    parent: Option<u64>,
    began_at: Timestamp,
}

impl Traces {
    /// Traces that are kept by a rule, and what the exporter gets.
    pub(crate) fn new(sampling: Sampling) -> (Arc<Self>, mpsc::Receiver<Span>) {
        let (spans, received) = mpsc::channel(WAITING);
        let traces =
            Self { sampling, spans, origins: Origins::default(), numbers: Arc::new(TraceNumbers::default()) };
        (Arc::new(traces), received)
    }

    /// A call of the API begins: in the caller's trace, if there is one.
    pub(crate) fn begin(&self, headers: &HeaderMap, now: Timestamp) -> ApiCall {
        let given = headers.get("traceparent").and_then(|value| value.to_str().ok());
        let parent = given.and_then(TraceContext::parse);
        let fresh = Uuid::new_v4().as_u128();
        // A half of a random UUID that is never 0: it holds the version.
        let span = (Uuid::new_v4().as_u128() >> 64) as u64;
        let context = match parent {
            // Whoever began the trace has decided for all.
            Some(parent) => TraceContext { span, ..parent },
            None => TraceContext { trace: fresh, span, sampled: self.sampling.keeps(fresh) },
        };
        ApiCall { context, parent: parent.map(|parent| parent.span), began_at: now }
    }

    /// It was answered.
    pub(crate) fn end(
        &self,
        call: ApiCall,
        kind: &'static str,
        method: &Method,
        status: StatusCode,
        now: Timestamp,
    ) {
        if !call.context.sampled {
            return;
        }
        self.hand_in(Span {
            trace: call.context.trace,
            id: call.context.span,
            parent: call.parent,
            name: format!("{method} {kind}"),
            kind: Kind::Server,
            began_at: call.began_at,
            ended_at: now,
            attributes: vec![
                ("http.request.method", Value::Text(method.to_string())),
                ("http.response.status_code", Value::Number(i64::from(status.as_u16()))),
                ("punctual.resource", Value::Text(kind.to_owned())),
            ],
            link: None,
            // A refusal is the caller's affair; only what went wrong here is an error of this span.
            fault: status.is_server_error().then(|| status.to_string()),
        });
    }

    /// A job was written by a call.
    pub(crate) fn note_job(&self, call: &TraceContext, path: &CollectionPath, job: &str) {
        self.origins.note_job(path, job, *call);
    }

    /// A run was asked for by a call.
    pub(crate) fn note_run(&self, call: &TraceContext, tag: Uuid) {
        self.origins.note_run(tag, *call);
    }

    /// The spans of an attempt that has ended: its call, and the occurrence when that is done with.
    fn of_attempt(&self, begun: &Begun, attempt: &Attempt, settlement: Settlement) -> Vec<Span> {
        let Some(context) = begun.trace.filter(|context| context.sampled) else { return Vec::new() };
        let (job, execution) = (&begun.job, &begun.execution);
        let occurrence = engine::occurrence_span(execution.tag);
        let about = || {
            vec![
                ("punctual.subscription", Value::Text(job.collection.subscription.clone())),
                ("punctual.resource_group", Value::Text(job.collection.group.clone())),
                ("punctual.collection", Value::Text(job.collection.name.clone())),
                ("punctual.job", Value::Text(job.name.clone())),
                ("punctual.execution_tag", Value::Text(execution.tag.simple().to_string())),
            ]
        };
        let mut call = about();
        call.extend([
            ("punctual.attempt", Value::Number(i64::from(execution.attempt) + 1)),
            ("punctual.error_action", Value::Truth(execution.depth > 0)),
        ]);
        let mut spans = vec![Span {
            trace: context.trace,
            id: context.span,
            parent: Some(occurrence),
            name: format!("call {}", job.name),
            kind: Kind::Client,
            began_at: begun.started_at,
            ended_at: attempt.ended_at,
            attributes: call,
            link: None,
            fault: (!attempt.outcome.success).then(|| attempt.outcome.message.clone()),
        }];
        if let Settlement::Done(fate) = settlement {
            let mut attributes = about();
            attributes.extend([
                ("punctual.fate", Value::Text(fate.name().to_owned())),
                ("punctual.cause", Value::Text(execution.cause.name().to_owned())),
                ("punctual.due_at", Value::Text(execution.occurrence.at.to_string())),
            ]);
            let origin = self.origins.of_run(execution.tag);
            spans.push(Span {
                trace: context.trace,
                id: occurrence,
                parent: None,
                name: format!("occurrence {}", job.name),
                kind: Kind::Internal,
                began_at: execution.started_at.unwrap_or(begun.started_at),
                ended_at: attempt.ended_at,
                attributes,
                link: origin.or_else(|| self.origins.of_job(&job.collection, &job.name)),
                fault: (fate == model::Fate::Faulted).then(|| attempt.outcome.message.clone()),
            });
        }
        spans
    }

    fn hand_in(&self, span: Span) {
        if self.spans.try_send(span).is_err() {
            self.numbers.dropped.count();
        }
    }
}
