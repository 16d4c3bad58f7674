//! Spans as OTLP has them, in JSON: ids in hex, times in nanoseconds as text, enums as numbers.

use actions::TraceContext;
use model::Timestamp;
use serde_json::{Value as Json, json};

use crate::VERSION;

/// The most characters of what an error says.
const LONGEST_FAULT: usize = 500;

/// A span that has ended.
#[derive(Debug)]
pub(crate) struct Span {
    pub(super) trace: u128,
    pub(super) id: u64,
    pub(super) parent: Option<u64>,
    pub(super) name: String,
    pub(super) kind: Kind,
    pub(super) began_at: Timestamp,
    pub(super) ended_at: Timestamp,
    pub(super) attributes: Vec<(&'static str, Value)>,
    pub(super) link: Option<TraceContext>,
    /// What went wrong, if it did.
    pub(super) fault: Option<String>,
}

/// Its role.
#[derive(Debug, Clone, Copy)]
pub(super) enum Kind {
    Internal = 1,
    Server = 2,
    Client = 3,
}

/// What an attribute says.
#[derive(Debug)]
pub(super) enum Value {
    Text(String),
    Number(i64),
    Truth(bool),
}

/// The body of one request: all spans of a batch, and who tells of them.
pub(super) fn request(node: &str, spans: &[Span]) -> Json {
    let text = |key: &str, value: &str| json!({"key": key, "value": {"stringValue": value}});
    json!({"resourceSpans": [{
        "resource": {"attributes": [
            text("service.name", "punctual"),
            text("service.version", VERSION),
            text("service.instance.id", node),
        ]},
        "scopeSpans": [{
            "scope": {"name": "punctual", "version": VERSION},
            "spans": spans.iter().map(span).collect::<Vec<_>>(),
        }],
    }]})
}

fn span(span: &Span) -> Json {
    let mut written = json!({
        "traceId": format!("{:032x}", span.trace),
        "spanId": format!("{:016x}", span.id),
        "name": span.name,
        "kind": span.kind as u8,
        "startTimeUnixNano": span.began_at.as_nanosecond().to_string(),
        "endTimeUnixNano": span.ended_at.max(span.began_at).as_nanosecond().to_string(),
        "attributes": span.attributes.iter().map(attribute).collect::<Vec<_>>(),
        "status": match &span.fault {
            None => json!({}),
            Some(fault) => json!({"code": 2, "message": fault.chars().take(LONGEST_FAULT).collect::<String>()}),
        },
    });
    if let Some(parent) = span.parent {
        written["parentSpanId"] = format!("{parent:016x}").into();
    }
    if let Some(link) = &span.link {
        written["links"] = json!([{
            "traceId": format!("{:032x}", link.trace),
            "spanId": format!("{:016x}", link.span),
        }]);
    }
    written
}

fn attribute((key, value): &(&'static str, Value)) -> Json {
    let value = match value {
        Value::Text(text) => json!({"stringValue": text}),
        // 64 bits are text in this JSON, as they are in that of all protocol buffers.
        Value::Number(number) => json!({"intValue": number.to_string()}),
        Value::Truth(truth) => json!({"boolValue": truth}),
    };
    json!({"key": key, "value": value})
}
