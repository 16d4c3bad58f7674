//! Jobs in a line each, for lists that people search. An extension; the old service listed whole jobs.
//!
//! A line says what is called, but neither credentials nor what may be one: of an address the user and the query are left
//! out.

use model::action::{Call, HttpRequest};
use model::{CollectionPath, Job};
use serde_json::{Value, json};

use crate::{date_time, path};

/// A job in a line.
///
/// ```
/// # use model::action::{Call, HttpRequest};
/// let request = HttpRequest {
///     uri: "https://user:word@example.org:8443/nightly?key=1".into(), method: "post".into(),
///     headers: None, body: None, authentication: None,
/// };
/// assert_eq!(wire::summary::target(&Call::Http { https: true, request }), "POST https://example.org:8443/nightly");
/// ```
pub fn write(collection: &CollectionPath, collection_enabled: bool, job: &Job) -> Value {
    let repeats = job.rule.recurrence().map(|_| job.rule.describe());
    let line = json!({
        "id": path::job_id(collection, &job.name),
        "name": job.name,
        "collection": collection.name,
        "action": kind(&job.definition.action.call),
        "target": target(&job.definition.action.call),
        "recurrence": repeats,
    });
    let members = [line, standing(collection_enabled, job)].into_iter().filter_map(|part| match part {
        Value::Object(members) => Some(members),
        _ => None,
    });
    Value::Object(members.flatten().collect())
}

/// How a job stands: whether it runs, when next, and how it went. Unlike the `status` that the old service had, it is there for
/// disabled jobs too, and knows whether the collection is on.
pub fn standing(collection_enabled: bool, job: &Job) -> Value {
    json!({
        "state": job.state.name(),
        "collectionEnabled": collection_enabled,
        "nextExecutionTime": job.next_at.filter(|_| collection_enabled).map(date_time::write),
        "lastExecutionTime": job.counters.last_execution.map(date_time::write),
        "executionCount": job.counters.executions,
        "failureCount": job.counters.failures,
        "faultedCount": job.counters.faulted,
    })
}

fn kind(call: &Call) -> &'static str {
    match call {
        Call::Http { https: false, .. } => "Http",
        Call::Http { https: true, .. } => "Https",
        Call::StorageQueue(_) => "StorageQueue",
        Call::ServiceBusQueue(_) => "ServiceBusQueue",
        Call::ServiceBusTopic(_) => "ServiceBusTopic",
    }
}

/// What is called: method and address, or queue and account.
pub fn target(call: &Call) -> String {
    match call {
        Call::Http { request, .. } => {
            format!("{} {}", request.method.to_ascii_uppercase(), address(request))
        }
        Call::StorageQueue(message) => format!("{}@{}", message.queue, message.account),
        Call::ServiceBusQueue(message) | Call::ServiceBusTopic(message) => {
            format!("{}@{}", message.entity, message.namespace)
        }
    }
}

/// Scheme, host and path.
fn address(request: &HttpRequest) -> String {
    let uri = request.uri.split(['?', '#']).next().unwrap_or_default();
    let (scheme, rest) = uri.split_once("://").unwrap_or(("http", uri));
    let (authority, path) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
    let host = authority.rsplit('@').next().unwrap_or_default();
    format!("{scheme}://{host}{path}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_without_what_may_be_secret() {
        for (uri, expected) in [
            ("http://example.org", "http://example.org"),
            ("http://example.org?sig=s3cret", "http://example.org"),
            ("http://example.org/a/b#s3cret", "http://example.org/a/b"),
            ("http://s3cret@example.org/a", "http://example.org/a"),
            ("http://user:s3@cret@example.org/a@b", "http://example.org/a@b"),
            ("http://user:s3cret@[::1]:80/a?u=http://x/y@z", "http://[::1]:80/a"),
        ] {
            let request = HttpRequest {
                uri: uri.into(),
                method: "GET".into(),
                headers: None,
                body: None,
                authentication: None,
            };
            assert_eq!(address(&request), expected);
        }
    }
}
