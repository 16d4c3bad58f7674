//! Errors as the API says them: `{"error": {"code", "message", "details"?}}`.
//!
//! The shape without `details` is that of TestCreateHttpJob (`NotFound`) and TestCreateJobCollection
//! (`ResourceNotFound`); `details` come along where something in a body is to blame.

use ::recurrence::{Fault, Faults};
use serde_json::{Value, json};

/// What is wrong with a request that nobody could carry out.
pub const BAD_REQUEST: &str = "BadRequest";

/// More faults than anybody would read; a list of a thousand wrong numbers is one mistake.
const MOST_DETAILS: usize = 100;

/// An error with a code and a message.
///
/// ```
/// let body = wire::error::body("NotFound", "Job 'x' cannot be found.");
/// assert_eq!(body.to_string(), r#"{"error":{"code":"NotFound","message":"Job 'x' cannot be found."}}"#);
/// ```
pub fn body(code: &str, message: &str) -> Value {
    json!({"error": {"code": code, "message": message}})
}

/// An error with many faults, each with its target and its message.
pub fn listed<'a>(code: &str, message: &str, faults: impl IntoIterator<Item = (&'a str, &'a str)>) -> Value {
    let mut faults = faults.into_iter();
    let detail = |(target, message)| json!({"code": code, "target": target, "message": message});
    let mut details: Vec<Value> = faults.by_ref().take(MOST_DETAILS).map(detail).collect();
    let more = faults.count();
    if more > 0 {
        details.push(json!({"code": code, "message": format!("and {more} more like these")}));
    }
    json!({"error": {"code": code, "message": message, "details": details}})
}

/// The error of a body with faults. The message says the first; each has a detail with its path as `target`, also when
/// there is only one, so that a program finds the path always in the same place.
///
/// ```
/// use recurrence::{Fault, Faults};
/// use wire::error::BAD_REQUEST;
///
/// let fault = |field: &str| Fault::missing(field, "a text");
/// let one = wire::error::faults(BAD_REQUEST, &fault("location").into());
/// assert_eq!(one["error"]["message"], "location: missing; allowed: a text");
/// assert_eq!(one["error"]["details"][0]["target"], "location");
/// let two = wire::error::faults(BAD_REQUEST, &Faults::check(vec![fault("a"), fault("b")]).unwrap_err());
/// assert_eq!(two["error"]["message"], "The request has 2 faults; the first is a: missing; allowed: a text");
/// assert_eq!(two["error"]["details"][1]["target"], "b");
/// ```
pub fn faults(code: &str, faults: &Faults) -> Value {
    let all: Vec<&Fault> = faults.iter().collect();
    let first = all.first().map(ToString::to_string).unwrap_or_default();
    let message = match all.len() {
        1 => first,
        several => format!("The request has {several} faults; the first is {first}"),
    };
    let details: Vec<Value> = all
        .into_iter()
        .take(MOST_DETAILS)
        .map(|fault| json!({"code": code, "target": fault.field, "message": fault.to_string()}))
        .collect();
    json!({"error": {"code": code, "message": message, "details": details}})
}
