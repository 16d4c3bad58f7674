//! PATCH: the part that is sent, merged into the whole that is stored.
//!
//! Objects merge, down to the last; everything else replaces; `null` removes. So what a PATCH does not speak of stays,
//! credentials included (TestUpdateHttpJob) while the call goes where it went, and so does the end of a recurrence that is only given another frequency
//! (Scenario_JobCreatePatchDeleteStorageJob). What cannot stay beside what is new goes: the message of another action
//! type, the credentials of another authentication type, `cron` beside `frequency`.
//!
//! The whole document exists only in here, because it holds the secrets.

use model::{Definition, JobState};
use recurrence::{Fault, Faults, Rule, Timestamp};
use serde_json::{Map, Value};

use super::action::{MESSAGES, RETRY_COUNT, RETRY_INTERVAL, RETRY_TYPE, TYPE, message_of};
use super::concealed::remove_secrets;
use super::http::SIGNING_SECRETS;
use super::{JobRequest, read, write};
use crate::members::{self, Names, is_named};
use crate::merge::{self, Merge};
use crate::recurrence::{CRON, DOCUMENT, FREQUENCY, INTERVAL, OF_SCHEDULE, SCHEDULE};

/// A job after a PATCH.
#[derive(Debug, Clone)]
pub struct Patched {
    /// The whole job.
    pub request: JobRequest,
    /// Whether it now runs at other times. If not, its rule is anchored where it was.
    pub timing_changed: bool,
}

/// Reads the body of a PATCH that came at a moment, for a job that is stored so; or says all that is wrong with it.
pub fn patch(stored: &Definition, state: JobState, body: &Value, now: Timestamp) -> Result<Patched, Faults> {
    if !body.is_object() {
        let allowed = "an object such as {\"properties\": {\"state\": \"Disabled\"}}";
        return Err(Fault::new(DOCUMENT, members::shown(body), allowed).into());
    }
    let mut whole = write::document(stored, state);
    let mut without_secrets = whole.clone();
    remove_secrets(&mut without_secrets);
    for document in [&mut whole, &mut without_secrets] {
        merge::into_value(document, body, "", &JobMerge);
    }
    let reading = read::reading(&whole);
    let mut others = reading.misdirected(&whole, &without_secrets, &stored.action);

    // The same times in other words, such as `Minute` for `minute`, are the same times.
    let times = |rule: &Rule| (rule.start_time(), rule.recurrence().cloned());
    let at = stored.accepted_at;
    let unchanged = Rule::build(&reading.timing, at)
        .is_ok_and(|rule| stored.rule().is_ok_and(|old| times(&rule) == times(&old)));
    let request = reading.request(if unchanged { at } else { now });

    match request {
        Ok(request) => {
            Faults::check(others)?;
            Ok(Patched { request, timing_changed: !unchanged })
        }
        Err(faults) => {
            others.extend(faults.into_vec());
            Err(Faults::check(others).err().unwrap_or_else(|| Fault::missing(DOCUMENT, "a job").into()))
        }
    }
}

/// What is special about jobs.
struct JobMerge;

impl Merge for JobMerge {
    fn same(&self, parent: &str, one: &str, other: &str) -> bool {
        match parent {
            // Names of the receiver's own, which may tell them apart by case.
            "customMessageProperties" => one == other,
            "schedule" => one.eq_ignore_ascii_case(other) || same_element(one, other),
            _ => one.eq_ignore_ascii_case(other),
        }
    }

    fn replaces(&self, name: &str) -> bool {
        name.eq_ignore_ascii_case("catchUp")
    }

    fn prepare(&self, name: &str, target: &mut Map<String, Value>, changes: &Map<String, Value>) {
        let given = |names| text(changes, names);
        match name {
            "action" | "errorAction" => {
                let (old, new) = (text(target, TYPE).and_then(message_of), given(TYPE).and_then(message_of));
                if new.is_some() && old != new {
                    remove(target, &MESSAGES);
                }
            }
            "authentication" => {
                let is_other =
                    |new: &str| !text(target, TYPE).is_some_and(|old| old.eq_ignore_ascii_case(new));
                if given(TYPE).is_some_and(is_other) {
                    target.clear();
                }
                // One secret takes the place of several, and the other way round.
                if changes.iter().any(|(name, value)| is_named(name, SIGNING_SECRETS) && !value.is_null()) {
                    remove(target, &[SIGNING_SECRETS]);
                }
            }
            "retryPolicy" if given(RETRY_TYPE).is_some_and(|new| new.eq_ignore_ascii_case("none")) => {
                remove(target, &[RETRY_INTERVAL, RETRY_COUNT]);
            }
            "recurrence" if given(CRON).is_some() => remove(target, &[FREQUENCY, INTERVAL, SCHEDULE]),
            "recurrence" if given(FREQUENCY).is_some() => remove(target, &[CRON]),
            _ => {}
        }
    }
}

/// `minute` and `minutes`.
fn same_element(one: &str, other: &str) -> bool {
    OF_SCHEDULE.iter().any(|names| is_named(one, names) && is_named(other, names))
}

fn text(object: &Map<String, Value>, names: Names) -> Option<&str> {
    object.iter().find(|(name, _)| is_named(name, names)).and_then(|(_, value)| value.as_str())
}

fn remove(object: &mut Map<String, Value>, members: &[Names]) {
    object.retain(|name, _| !members.iter().any(|names| is_named(name, names)));
}
