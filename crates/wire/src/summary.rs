//! Jobs in a line each, for lists that people search. An extension; the old service listed whole jobs.
//!
//! A line says what is called, but neither credentials nor what may be one: of an address the user and the query are left
//! out.

use model::action::{Call, HttpRequest};
use model::{CollectionPath, Definition, JobState};
use recurrence::Rule;
use serde_json::{Value, json};

use crate::job::Shown;
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
pub fn write<'j, S: 'j>(collection: &CollectionPath, job: impl Into<Shown<'j, S>>) -> Value {
    let job = job.into();
    let call = job.definition.map(|definition| &definition.action.call);
    // Only the rule can be said in English.
    let rule = job.definition.map(Definition::rule);
    let repeats =
        rule.as_ref().and_then(|rule| rule.as_ref().ok()).filter(|rule| rule.recurrence().is_some());
    let no_rule = rule
        .as_ref()
        .and_then(|rule| rule.as_ref().err())
        .map(|faults| faults.to_string().replace('\n', "; "));
    let mut line = json!({
        "id": path::job_id(collection, job.name),
        "name": job.name,
        "collection": collection.name,
        "state": job.state.map(JobState::name),
        "action": call.map(kind),
        "target": call.map(target),
        "recurrence": repeats.map(Rule::describe),
        "nextExecutionTime": job.next_at.filter(|_| no_rule.is_none()).map(date_time::write),
        "lastExecutionTime": job.counters.last_execution.map(date_time::write),
        "executionCount": job.counters.executions,
        "failureCount": job.counters.failures,
        "faultedCount": job.counters.faulted,
    });
    if let Some(why) = job.unreadable.map(str::to_owned).or(no_rule) {
        line["unreadable"] = why.into();
    }
    line
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
