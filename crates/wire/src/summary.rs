//! Jobs in a line each, for lists that people search. An extension; the old service listed whole jobs.
//!
//! A line says what is called, but neither credentials nor what may be one: of an address the user and the query are left
//! out.

use model::action::{Call, HttpRequest};
use model::{CollectionPath, Definition, JobState};
use recurrence::Rule;
use serde_json::{Map, Value, json};

use crate::job::Shown;
use crate::{date_time, path};

/// A job in a line.
///
/// ```
/// # use model::action::{Call, HttpRequest};
/// let request: HttpRequest = HttpRequest {
///     uri: "https://user:word@example.org:8443/nightly?key=1".into(), method: "post".into(),
///     headers: None, body: None, authentication: None,
/// };
/// assert_eq!(wire::summary::target(&Call::Http { https: true, request }), "POST https://example.org:8443/nightly");
/// ```
pub fn write<S>(collection: &CollectionPath, collection_enabled: bool, job: &Shown<'_, S>) -> Value {
    let call = job.definition.map(|definition| &definition.action.call);
    // Only the rule can be said in English.
    let rule = job.definition.map(Definition::rule).transpose();
    let repeats = rule.as_ref().ok().and_then(Option::as_ref).filter(|rule| rule.recurrence().is_some());
    let line = json!({
        "id": path::job_id(collection, job.name),
        "name": job.name,
        "collection": collection.name,
        "action": call.map(kind),
        "target": call.map(target),
        "recurrence": repeats.map(Rule::describe),
    });
    let members = [line, standing(collection_enabled, job)].into_iter().filter_map(|part| match part {
        Value::Object(members) => Some(members),
        _ => None,
    });
    let mut line: Map<String, Value> = members.flatten().collect();
    let no_rule = rule.err().map(|faults| faults.to_string().replace('\n', "; "));
    if no_rule.is_some() {
        line["nextExecutionTime"] = Value::Null;
    }
    if let Some(why) = job.unreadable.map(str::to_owned).or(no_rule) {
        line.insert("unreadable".to_owned(), why.into());
    }
    Value::Object(line)
}

/// How a job stands: whether it runs, when next, and how it went. Unlike the `status` that the old service had, it is there for
/// disabled jobs too, and knows whether the collection is on.
pub fn standing<S>(collection_enabled: bool, job: &Shown<'_, S>) -> Value {
    json!({
        "state": job.state.map(JobState::name),
        "collectionEnabled": collection_enabled,
        "nextExecutionTime": job.next_at.filter(|_| collection_enabled).map(date_time::write),
        "lastExecutionTime": job.counters.last_execution.map(date_time::write),
        "executionCount": job.counters.executions,
        "failureCount": job.counters.failures,
        "faultedCount": job.counters.faulted,
    })
}

fn kind<S>(call: &Call<S>) -> &'static str {
    match call {
        Call::Http { https: false, .. } => "Http",
        Call::Http { https: true, .. } => "Https",
        Call::StorageQueue(_) => "StorageQueue",
        Call::ServiceBusQueue(_) => "ServiceBusQueue",
        Call::ServiceBusTopic(_) => "ServiceBusTopic",
    }
}

/// What is called: method and address, or queue and account.
pub fn target<S>(call: &Call<S>) -> String {
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
fn address<S>(request: &HttpRequest<S>) -> String {
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
            let request: HttpRequest = HttpRequest {
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
