//! Requests: what is sent on one hop of an attempt.
//!
//! The action's method, headers and body go out as given, with these exceptions: standard methods are written in
//! capitals, the headers that frame the body are ours, and so are the six that tell the called side what this is.
//! Header names leave in lower case, which is how the client writes them; HTTP does not care.

use ::http::{HeaderMap, HeaderName, HeaderValue, Method, Request, header};
use base64::{Engine as _, prelude::BASE64_STANDARD};
use bytes::Bytes;
use http_body_util::Full;
use model::{
    Clock, Execution,
    action::{HttpAuthentication, HttpRequest},
};

use super::{redirect::Hop, signed};
use crate::{
    fault::{Fault, Kind},
    order::{self, EXPECTED_TIME, Order, write_expected_time},
};

static JOB_ID: HeaderName = HeaderName::from_static("x-ms-scheduler-jobid");
static COLLECTION_ID: HeaderName = HeaderName::from_static("x-ms-scheduler-jobcollectionid");
static EXPECTED_AT: HeaderName = HeaderName::from_static("x-ms-scheduler-expected-execution-time");
static TAG: HeaderName = HeaderName::from_static("x-ms-execution-tag");
static TRACEPARENT: HeaderName = HeaderName::from_static("traceparent");
static REQUEST_ID: HeaderName = HeaderName::from_static("x-ms-client-request-id");
static HOPS: HeaderName = HeaderName::from_static(order::HOPS);

/// The headers that we add, `User-Agent`, `Authorization` and `Host`, three of a signature, and one of a trace.
const OWN_HEADERS: usize = 13;

/// What a job may say in `Connection`. Anything else there names headers that a proxy on the way takes out, ours among them.
const CONNECTION_OPTIONS: [&str; 4] = ["close", "keep-alive", "te", "upgrade"];

/// What comes from the scheduler and not from the action.
pub(crate) struct Own<'a> {
    pub(crate) user_agent: &'a HeaderValue,
    /// `Bearer …`, for actions that say who they are by a token.
    pub(crate) bearer: Option<&'a HeaderValue>,
    /// Says when it is sent, for signatures.
    pub(crate) clock: &'a dyn Clock,
}

/// The request of a hop.
pub(crate) fn build(
    order: &Order<'_>,
    action: &HttpRequest,
    hop: &Hop,
    own: &Own<'_>,
) -> Result<Request<Full<Bytes>>, Fault> {
    let given = action.headers.as_deref().unwrap_or_default();
    let mut headers = HeaderMap::with_capacity(given.len() + OWN_HEADERS);
    for (name, value) in given {
        let read =
            HeaderName::from_bytes(name.as_bytes()).ok().zip(HeaderValue::from_bytes(value.as_bytes()).ok());
        // The value may be a secret, and stays out of the fault.
        let (name, value) = read.ok_or_else(|| {
            Fault::new(Kind::UnknownError, format!("the header '{}' cannot be sent", name.escape_debug()))
        })?;
        if goes_along(&name, hop) && !takes_headers_out(&name, &value) {
            headers.append(name, value);
        }
    }
    headers.entry(header::USER_AGENT).or_insert_with(|| own.user_agent.clone());
    if hop.trusted {
        authenticate(&mut headers, action, hop, own.bearer)?;
    }
    let mut tag = [0; 32];
    let tag = order.tag.simple().encode_lower(&mut tag);
    introduce(&mut headers, order, tag)?;
    mark(&mut headers, Execution::hops_of(order.tag));
    // Whoever sends one of their own has a trace of their own.
    if let Some(trace) = &order.trace
        && !headers.contains_key(&TRACEPARENT)
    {
        headers.insert(&TRACEPARENT, text(&trace.to_string())?);
    }

    let body = match &action.body {
        Some(body) if hop.with_body => Bytes::copy_from_slice(body.as_bytes()),
        _ => Bytes::new(),
    };
    // To another host a redirect takes no signature: it would be proof to somebody who can pass it on.
    if let Some(HttpAuthentication::Hmac { secrets }) = &action.authentication
        && hop.trusted
    {
        signed::sign(&mut headers, secrets, tag, own.clock.now(), &body)?;
    }
    // The client writes the length of a body that there is. That there is none must be said where one is expected:
    // some servers answer 411 otherwise.
    if body.is_empty() && [Method::POST, Method::PUT, Method::PATCH].contains(&hop.method) {
        headers.insert(header::CONTENT_LENGTH, HeaderValue::from_static("0"));
    }
    let mut request = Request::new(Full::new(body));
    *request.method_mut() = hop.method.clone();
    *request.uri_mut() = hop.uri.clone();
    *request.headers_mut() = headers;
    Ok(request)
}

/// Marks a request as the call of a job, after so many others that led to it.
pub(super) fn mark(headers: &mut HeaderMap, hops: u8) {
    let value = match hops {
        0 => HeaderValue::from_static("1"),
        more => HeaderValue::from(u16::from(more) + 1),
    };
    headers.insert(&HOPS, value);
}

/// Reads a method. Standard ones are known in any case; CONNECT asks for a tunnel, which no action needs.
pub(crate) fn method(text: &str) -> Result<Method, Fault> {
    const STANDARD: [Method; 8] = [
        Method::GET,
        Method::POST,
        Method::PUT,
        Method::DELETE,
        Method::PATCH,
        Method::HEAD,
        Method::OPTIONS,
        Method::TRACE,
    ];
    if let Some(method) = STANDARD.into_iter().find(|method| method.as_str().eq_ignore_ascii_case(text)) {
        return Ok(method);
    }
    match Method::from_bytes(text.as_bytes()) {
        Ok(method) if !text.eq_ignore_ascii_case("CONNECT") => Ok(method),
        _ => {
            let cause = format!("the method '{}' cannot be sent", text.escape_debug());
            Err(Fault::new(Kind::UnknownError, cause))
        }
    }
}

/// Whether a header of the action goes out on a hop.
fn goes_along(name: &HeaderName, hop: &Hop) -> bool {
    // How long the body is, is ours to say: a wrong length would let the called side wait, or read half a request
    // as another one.
    if name == header::CONTENT_LENGTH || name == header::TRANSFER_ENCODING {
        return false;
    }
    if !hop.with_body && is_about_body(name) {
        return false;
    }
    hop.trusted || is_harmless(name)
}

/// Whether a header of the action asks proxies to take other headers out.
fn takes_headers_out(name: &HeaderName, value: &HeaderValue) -> bool {
    let is_known = |option: &[u8]| {
        CONNECTION_OPTIONS.iter().any(|known| known.as_bytes().eq_ignore_ascii_case(option.trim_ascii()))
    };
    name == header::CONNECTION && !value.as_bytes().split(|byte| *byte == b',').all(is_known)
}

fn is_about_body(name: &HeaderName) -> bool {
    name.as_str().starts_with("content-")
}

/// Whether a header may be shown to a host that the action did not name. Keys hide under too many names to list
/// them, so this lists what is none.
fn is_harmless(name: &HeaderName) -> bool {
    is_about_body(name)
        || [
            header::ACCEPT,
            header::ACCEPT_CHARSET,
            header::ACCEPT_ENCODING,
            header::ACCEPT_LANGUAGE,
            header::CACHE_CONTROL,
            header::PRAGMA,
            header::USER_AGENT,
        ]
        .contains(name)
}

/// Says who calls. What the action's `authentication` says goes before a header of its own, and that goes before the
/// user information of the URI.
fn authenticate(
    headers: &mut HeaderMap,
    action: &HttpRequest,
    hop: &Hop,
    bearer: Option<&HeaderValue>,
) -> Result<(), Fault> {
    let (user, password) = match (&action.authentication, &hop.credentials) {
        (Some(HttpAuthentication::Basic { username, password }), _) => (username, password.expose()),
        // It is shown when the connection is made.
        (Some(HttpAuthentication::ClientCertificate { .. }), _) => return Ok(()),
        (Some(HttpAuthentication::ActiveDirectoryOAuth { .. }), _) => {
            if let Some(bearer) = bearer {
                headers.insert(header::AUTHORIZATION, bearer.clone());
            }
            return Ok(());
        }
        // A signature says nothing in this header.
        (None | Some(HttpAuthentication::Hmac { .. }), Some((user, password)))
            if !headers.contains_key(header::AUTHORIZATION) =>
        {
            (user, password.as_str())
        }
        (None | Some(HttpAuthentication::Hmac { .. }), _) => return Ok(()),
    };
    let mut plain = String::with_capacity(user.len() + password.len() + 1);
    plain.extend([user, ":", password]);
    let mut value = "Basic ".to_owned();
    BASE64_STANDARD.encode_string(plain, &mut value);
    let mut value = text(&value)?;
    value.set_sensitive(true);
    headers.insert(header::AUTHORIZATION, value);
    Ok(())
}

/// Tells the called side what this is. The values lie in one piece of memory.
fn introduce(headers: &mut HeaderMap, order: &Order<'_>, tag: &str) -> Result<(), Fault> {
    let mut request_id = [0; 36];
    let request_id: &str = order.request_id.hyphenated().encode_lower(&mut request_id);
    let length = order.job.len() + order.collection.len() + EXPECTED_TIME + tag.len() + request_id.len();
    // The time is written with a letter more, which is taken away again.
    let mut values = String::with_capacity(length + 1);
    let mut ends = [0; 5];
    values.push_str(order.job);
    ends[0] = values.len();
    values.push_str(order.collection);
    ends[1] = values.len();
    write_expected_time(&mut values, order.expected_at);
    ends[2] = values.len();
    values.push_str(tag);
    ends[3] = values.len();
    values.push_str(request_id);
    ends[4] = values.len();
    let values = Bytes::from(values);
    let mut start = 0;
    for (name, end) in [&JOB_ID, &COLLECTION_ID, &EXPECTED_AT, &TAG, &REQUEST_ID].into_iter().zip(ends) {
        let value = HeaderValue::from_maybe_shared(values.slice(start..end)).map_err(|_| unsendable())?;
        headers.insert(name, value);
        start = end;
    }
    Ok(())
}

fn text(text: &str) -> Result<HeaderValue, Fault> {
    HeaderValue::from_bytes(text.as_bytes()).map_err(|_| unsendable())
}

fn unsendable() -> Fault {
    Fault::new(Kind::UnknownError, "a header of the scheduler's own cannot be sent")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn standard_methods_are_known_in_any_case_and_others_stay() {
        for (given, sent) in [("get", "GET"), ("Post", "POST"), ("PATCH", "PATCH"), ("Purge", "Purge")] {
            assert_eq!(method(given).unwrap().as_str(), sent);
        }
        for given in ["", "GET /", "connect", "G\r\nX"] {
            assert!(method(given).is_err(), "{given:?}");
        }
    }
}
