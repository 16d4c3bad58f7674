//! Answers: status, body and the headers that the old service always sent.

use axum::body::Body;
use axum::http::{HeaderMap, HeaderName, HeaderValue, Response, StatusCode, header};
use model::Timestamp;
use serde_json::Value;
use store::Snapshot;
use uuid::Uuid;

use super::download;
use super::stream::{self, Chunks};
use crate::problem::Problem;

/// Who gave an answer that is an error.
const FAILURE_CAUSE: HeaderName = HeaderName::from_static("x-ms-failure-cause");
/// The most bytes of member names in a header: many clients and proxies give up on heads of 8 KiB.
const LONGEST_IGNORED: usize = 2048;

/// What a route answers.
#[derive(Debug)]
pub(super) struct Answer {
    status: u16,
    body: Content,
    headers: Vec<(HeaderName, String)>,
}

/// What an answer carries.
#[derive(Debug)]
enum Content {
    Nothing,
    Json(Value),
    /// A copy of the store and its bytes.
    File(Snapshot, u64),
    /// Text, and its type.
    Text(&'static str, String),
    /// What is made while it is sent, and its type.
    Stream(&'static str, Chunks),
}

impl Answer {
    pub(super) fn json(status: u16, body: Value) -> Self {
        Self { status, body: Content::Json(body), headers: Vec::new() }
    }

    pub(super) fn empty(status: u16) -> Self {
        Self { status, body: Content::Nothing, headers: Vec::new() }
    }

    pub(super) fn file(copy: Snapshot) -> Result<Self, Problem> {
        let length = copy.file.metadata().map_err(|error| {
            tracing::error!(%error, "the copy of the store cannot be read");
            Problem::busy("The copy of the store cannot be read; try again.")
        })?;
        Ok(Self { status: 200, body: Content::File(copy, length.len()), headers: Vec::new() })
    }

    pub(super) fn text(kind: &'static str, text: String) -> Self {
        Self { status: 200, body: Content::Text(kind, text), headers: Vec::new() }
    }

    pub(super) fn stream(kind: &'static str, chunks: Chunks) -> Self {
        Self { status: 200, body: Content::Stream(kind, chunks), headers: Vec::new() }
    }

    pub(super) fn with(mut self, name: HeaderName, value: String) -> Self {
        self.headers.push((name, value));
        self
    }

    /// Whether Azure's resource manager gave such an answer, and not the scheduler behind it.
    pub(super) fn is_gateways(&self) -> bool {
        self.headers.iter().any(|(name, _)| *name == FAILURE_CAUSE)
    }

    /// Names the members of the request's body that mean nothing, so that a misspelt one does not vanish silently.
    pub(super) fn ignoring(self, members: &[String]) -> Self {
        if members.is_empty() {
            return self;
        }
        let mut length = 0;
        let shown = members.iter().take_while(|member| {
            length += member.len() + ", ".len();
            length <= LONGEST_IGNORED
        });
        let mut shown: Vec<String> = shown.cloned().collect();
        if shown.len() < members.len() {
            shown.push(format!("and {} more", members.len() - shown.len()));
        }
        self.with(HeaderName::from_static("x-punctual-ignored"), shown.join(", "))
    }

    pub(super) fn into_response(self, ids: &Ids, now: Timestamp) -> Response<Body> {
        let (body, kind) = match self.body {
            Content::Nothing => (Body::empty(), None),
            Content::Json(body) => (Body::from(body.to_string()), Some("application/json; charset=utf-8")),
            Content::File(copy, length) => (download::body(copy, length), Some("application/vnd.sqlite3")),
            Content::Text(kind, text) => (Body::from(text), Some(kind)),
            Content::Stream(kind, chunks) => (stream::body(chunks), Some(kind)),
        };
        let mut response = Response::new(body);
        *response.status_mut() =
            StatusCode::from_u16(self.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        let headers = response.headers_mut();
        if let Some(kind) = kind {
            headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(kind));
        }
        headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-cache"));
        headers.insert(header::PRAGMA, HeaderValue::from_static("no-cache"));
        headers.insert(header::EXPIRES, HeaderValue::from_static("-1"));
        ids.write(headers, now);
        for (name, value) in self.headers {
            // A member's name may hold anything; what cannot stand in a header is left out.
            if let Ok(value) = HeaderValue::from_bytes(value.as_bytes()) {
                // Each cookie has a header of its own.
                if name == header::SET_COOKIE {
                    headers.append(name, value);
                } else {
                    headers.insert(name, value);
                }
            }
        }
        response
    }
}

impl From<Problem> for Answer {
    fn from(problem: Problem) -> Self {
        let body = match &problem.faults {
            Some(faults) => wire::error::faults(problem.code, faults),
            None if problem.details.is_empty() => wire::error::body(problem.code, &problem.message),
            None => {
                let details = problem.details.iter().map(|detail| (&*detail.target, &*detail.message));
                wire::error::listed(problem.code, &problem.message, details)
            }
        };
        let mut answer = Self::json(problem.status, body);
        if problem.is_gateways() {
            answer = answer.with(FAILURE_CAUSE, "gateway".to_owned());
        }
        if let Some(seconds) = problem.retry_after {
            answer = answer.with(header::RETRY_AFTER, seconds.to_string());
        }
        if let Some(challenge) = problem.challenge() {
            answer = answer.with(header::WWW_AUTHENTICATE, challenge.to_owned());
        }
        if let Some(methods) = problem.allow {
            answer = answer.with(header::ALLOW, methods.to_owned());
        }
        answer
    }
}

/// A moment in one word: `20160330T183355Z`.
pub(super) fn compact(at: Timestamp) -> String {
    let digits = at.to_string().chars().filter(|c| !"-:".contains(*c)).take(15).collect::<String>();
    digits + "Z"
}

/// The names of a request.
pub(super) struct Ids {
    request: Uuid,
    correlation: String,
    client: Option<HeaderValue>,
}

impl Ids {
    pub(super) fn of(headers: &HeaderMap) -> Self {
        let request = Uuid::new_v4();
        let given = headers.get("x-ms-correlation-request-id").and_then(|id| id.to_str().ok());
        let wants_back = headers
            .get("x-ms-return-client-request-id")
            .is_some_and(|wanted| wanted.as_bytes().eq_ignore_ascii_case(b"true"));
        Self {
            request,
            correlation: given.map_or_else(|| request.to_string(), str::to_owned),
            client: headers.get("x-ms-client-request-id").filter(|_| wants_back).cloned(),
        }
    }

    fn write(&self, headers: &mut HeaderMap, now: Timestamp) {
        let mut insert = |name: &'static str, value: &str| {
            if let Ok(value) = HeaderValue::from_str(value) {
                headers.insert(name, value);
            }
        };
        insert("x-ms-request-id", &self.request.to_string());
        insert("x-ms-correlation-request-id", &self.correlation);
        // PUNCTUAL:20160330T183355Z:<correlation>, where the old service named its region.
        insert("x-ms-routing-request-id", &format!("PUNCTUAL:{}:{}", compact(now), self.correlation));
        if let Some(client) = &self.client {
            headers.insert("x-ms-client-request-id", client.clone());
        }
    }
}
