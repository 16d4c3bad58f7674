//! Calls to try out: an action without a job. An extension.

use model::{Action, Definition, Destination, JobState};
use recurrence::Faults;
use serde_json::{Map, Value};

use super::action::TYPE;
use super::concealed::SECRETS;
use super::{action, kept, write};
use crate::members::{Given, Names, Reader, is_named};
use crate::recurrence::ACTION;

const JOB: Names = &["job"];
const ERROR_ACTION: Names = &["errorAction"];

/// A call to try out.
#[derive(Debug, Clone)]
pub struct TestCall {
    /// What is called.
    pub action: Action,
    /// The paths of members that mean nothing.
    pub ignored: Vec<String>,
}

/// The id of the job whose secrets a call may use, where one is given.
pub fn job_of_test_call(document: &Value) -> Option<&str> {
    member(document.as_object()?, JOB)?.as_str()
}

/// Where a call would go, as far as its body says; for the audit, also of a call that is refused.
pub fn destination_of_test_call(document: &Value) -> Option<Destination> {
    let action = member(document.as_object()?, ACTION)?;
    let text = |names: &[&str]| kept::at(action, names).and_then(Value::as_str);
    if let Some(uri) = text(&["request", "uri"]) {
        return Some(Destination::of_uri(uri));
    }
    if let Some(account) = text(&["queueMessage", "storageAccount"]) {
        return Some(Destination::StorageAccount(account.to_owned()));
    }
    let message = ["serviceBusQueueMessage", "serviceBusTopicMessage"];
    let namespace = message.into_iter().find_map(|message| text(&[message, "namespace"]))?;
    let transport = message.into_iter().find_map(|message| text(&[message, "transportType"]));
    let amqp = transport.is_some_and(|transport| transport.eq_ignore_ascii_case("AMQP"));
    Some(Destination::ServiceBus { namespace: namespace.to_owned(), amqp })
}

/// Reads `{"action": {…}, "job": "…"}`, or says all that is wrong with it. Secrets that are left out are those of
/// `stored`, where it has the same kind of action with the same kind of authentication and the same destination;
/// nothing else is taken from it.
///
/// ```
/// let faults = wire::job::test_call(&serde_json::json!({"action": {"type": "Http"}}), None).unwrap_err();
/// assert_eq!(faults.iter().next().unwrap().field, "action.request");
/// ```
pub fn test_call(document: &Value, stored: Option<&Definition>) -> Result<TestCall, Faults> {
    let given = document;
    let mut document = given.clone();
    if let (Some(stored), Some(action)) = (stored, action_of(&mut document)) {
        let stored = write::document(stored, JobState::Enabled);
        fill(action, &stored["properties"]["action"]);
    }
    let mut reader = Reader::default();
    let allowed = "an object such as {\"action\": {\"type\": \"Http\", \"request\": {…}}}";
    let action = reader.object(Given::root(&document, ""), &[ACTION, JOB], allowed).and_then(|call| {
        if let Some(given) = reader.member(&call, JOB).filter(|given| given.as_str().is_none()) {
            reader.refuse(&given, "the id of a job, as a text");
        }
        let action =
            reader.required(&call, ACTION, "an object such as {\"type\": \"Http\", \"request\": {…}}")?;
        action::action(&mut reader, action, 0)
    });
    let mut faults = reader.faults();
    if let (Some(stored), Some(new)) = (stored, &action) {
        let part = |document| kept::at(document, ACTION).unwrap_or(&Value::Null);
        let parts = (part(&document), part(given));
        faults.extend(kept::misdirected(&reader, "action", parts, &stored.action, new));
    }
    Faults::check(faults)?;
    let ignored = reader.ignored().to_vec();
    // An action that was not read has left a fault; this is for the compiler.
    let missing = || recurrence::Fault::missing("action", "an action");
    action.map(|action| TestCall { action, ignored }).ok_or_else(|| missing().into())
}

fn action_of(document: &mut Value) -> Option<&mut Value> {
    document.as_object_mut()?.iter_mut().find(|(name, _)| is_named(name, ACTION)).map(|(_, value)| value)
}

/// Puts in the secrets that are left out.
fn fill(given: &mut Value, stored: &Value) {
    for names in SECRETS {
        fill_one(given, stored, names);
    }
    let (Some(given), Some(stored)) = (given.as_object_mut(), stored.as_object()) else { return };
    let inner = given.iter_mut().find(|(name, _)| is_named(name, ERROR_ACTION)).map(|(_, value)| value);
    if let (Some(inner), Some(stored)) = (inner, member(stored, ERROR_ACTION)) {
        fill(inner, stored);
    }
}

fn fill_one(given: &mut Value, stored: &Value, names: &[&str]) {
    let (Some(given), Some(stored), [name, rest @ ..]) = (given.as_object_mut(), stored.as_object(), names)
    else {
        return;
    };
    let same = |one: &str| one.eq_ignore_ascii_case(name);
    let Some((_, known)) = stored.iter().find(|(one, _)| same(one)) else { return };
    if rest.is_empty() {
        // Those of another kind of authentication are of no use here.
        let kind = |object: &Map<String, Value>| {
            member(object, TYPE).and_then(Value::as_str).map(str::to_ascii_lowercase)
        };
        let is_left_out = given.iter().all(|(one, value)| !same(one) || value.is_null());
        if is_left_out && kind(given) == kind(stored) {
            given.retain(|one, _| !same(one));
            given.insert((*name).to_owned(), known.clone());
        }
        return;
    }
    if let Some((_, inner)) = given.iter_mut().find(|(one, _)| same(one)) {
        fill_one(inner, known, rest);
    }
}

fn member(object: &Map<String, Value>, names: Names) -> Option<&Value> {
    object.iter().find(|(name, value)| is_named(name, names) && !value.is_null()).map(|(_, value)| value)
}
