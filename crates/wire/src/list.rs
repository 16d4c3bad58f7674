//! Lists: which entries are asked for, and how they are answered.
//!
//! Filters are the few of OData that clients use: `state eq Enabled` for jobs, and for histories `status`, `actionName`
//! and spans of `startTime` and `endTime`, joined by `and`. The SDKs write values without quotes
//! (Scenario_JobList, Scenario_JobHistoryList), OData wants quotes: both are read, in any case.
//!
//! ```
//! use wire::list::HistoryFilter;
//!
//! let filter = HistoryFilter::read("status eq 'failed' and startTime ge 2027-01-01")?;
//! assert_eq!(filter.status, Some(model::HistoryStatus::Failed));
//! let fault = HistoryFilter::read("status eq Broken").unwrap_err();
//! assert_eq!(fault.to_string(), r#"$filter: "Broken" is not allowed here; allowed: Completed, Failed or Postponed"#);
//! # Ok::<(), recurrence::Faults>(())
//! ```

use ::recurrence::{DATE_TIME_FORMS, Fault, Faults, read_date_time};
use model::{HistoryStatus, JobState, Timestamp};
use serde_json::{Value, json};

use crate::members::quoted;

/// A list as the API answers it; where there is no next page, `nextLink` is null and not absent (Scenario_JobList).
///
/// ```
/// assert_eq!(wire::list::write(vec![], None).to_string(), r#"{"value":[],"nextLink":null}"#);
/// ```
pub fn write(entries: Vec<Value>, next_link: Option<&str>) -> Value {
    json!({"value": entries, "nextLink": next_link})
}

/// Which jobs of a collection.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct JobFilter {
    /// Only those in this state.
    pub state: Option<JobState>,
}

impl JobFilter {
    /// Reads a `$filter`.
    pub fn read(filter: &str) -> Result<Self, Faults> {
        let mut read = Self::default();
        for clause in clauses(filter, "state eq Enabled")? {
            if !clause.is("state", "eq") {
                return Err(clause.fault("state eq …"));
            }
            let states = JobState::ALL.map(|state| (state.name(), state));
            once(&mut read.state, clause.word(&states, "Enabled, Disabled, Completed or Faulted")?, &clause)?;
        }
        Ok(read)
    }
}

/// Which entries of a history.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct HistoryFilter {
    /// Only these.
    pub status: Option<HistoryStatus>,
    /// Only the action's (`Some(false)`) or only error actions' (`Some(true)`).
    pub error_action: Option<bool>,
    /// Only attempts that began at this instant or later.
    pub started_from: Option<Timestamp>,
    /// Only attempts that began at this instant or earlier.
    pub started_to: Option<Timestamp>,
    /// Only attempts that ended at this instant or later.
    pub ended_from: Option<Timestamp>,
    /// Only attempts that ended at this instant or earlier.
    pub ended_to: Option<Timestamp>,
}

impl HistoryFilter {
    /// Reads a `$filter`.
    pub fn read(filter: &str) -> Result<Self, Faults> {
        let mut read = Self::default();
        for clause in clauses(filter, "status eq Failed")? {
            if clause.is("status", "eq") {
                let words = HistoryStatus::ALL.map(|status| (status.name(), status));
                once(&mut read.status, clause.word(&words, "Completed, Failed or Postponed")?, &clause)?;
            } else if clause.is("actionName", "eq") {
                let words = [("MainAction", false), ("ErrorAction", true)];
                once(&mut read.error_action, clause.word(&words, "MainAction or ErrorAction")?, &clause)?;
            } else {
                let instant = match &clause {
                    clause if clause.is("startTime", "ge") => &mut read.started_from,
                    clause if clause.is("startTime", "le") => &mut read.started_to,
                    clause if clause.is("endTime", "ge") => &mut read.ended_from,
                    clause if clause.is("endTime", "le") => &mut read.ended_to,
                    clause => {
                        let allowed = "status eq …, actionName eq …, startTime ge …, startTime le …, \
                                       endTime ge … or endTime le …";
                        return Err(clause.fault(allowed));
                    }
                };
                let at =
                    read_date_time(&clause.value).ok_or_else(|| refused(&clause.value, DATE_TIME_FORMS))?;
                once(instant, at, &clause)?;
            }
        }
        Ok(read)
    }
}

fn once<T>(place: &mut Option<T>, value: T, clause: &Clause) -> Result<(), Faults> {
    match place.replace(value) {
        None => Ok(()),
        Some(_) => Err(clause.fault("each condition once")),
    }
}

fn refused(value: &str, allowed: &str) -> Faults {
    Fault::new("$filter", quoted(value), allowed).into()
}

/// `name operator value`.
struct Clause {
    name: String,
    operator: String,
    value: String,
}

impl Clause {
    fn is(&self, name: &str, operator: &str) -> bool {
        self.name.eq_ignore_ascii_case(name) && self.operator.eq_ignore_ascii_case(operator)
    }

    fn word<T: Copy>(&self, words: &[(&str, T)], allowed: &str) -> Result<T, Faults> {
        let word = words.iter().find(|(word, _)| self.value.eq_ignore_ascii_case(word));
        word.map(|(_, value)| *value).ok_or_else(|| refused(&self.value, allowed))
    }

    fn fault(&self, allowed: &str) -> Faults {
        refused(&format!("{} {} {}", self.name, self.operator, self.value), allowed)
    }
}

/// The clauses of a filter, which are joined by `and`.
fn clauses(filter: &str, example: &str) -> Result<Vec<Clause>, Faults> {
    let broken = || refused(filter, &format!("conditions such as {example}, joined by and"));
    // Three words a clause, and between two of them the fourth.
    let words = words(filter).filter(|words| words.len() % 4 == 3).ok_or_else(broken)?;
    let clause = |words: &[String]| match words {
        [name, operator, value, and @ ..] if and.iter().all(|and| and.eq_ignore_ascii_case("and")) => {
            Ok(Clause { name: name.clone(), operator: operator.clone(), value: value.clone() })
        }
        _ => Err(broken()),
    };
    words.chunks(4).map(clause).collect()
}

/// Words between blanks; one in single quotes may hold blanks, and a quote written twice. `datetime'…'` is its text.
fn words(filter: &str) -> Option<Vec<String>> {
    let mut words = Vec::new();
    let mut rest = filter.trim_start();
    while !rest.is_empty() {
        let prefix = "datetime'";
        let is_dated = rest.get(..prefix.len()).is_some_and(|start| start.eq_ignore_ascii_case(prefix));
        let quoted = if is_dated { rest.get(prefix.len()..) } else { rest.strip_prefix('\'') };
        if let Some(mut text) = quoted {
            let mut word = String::new();
            loop {
                let (part, after) = text.split_once('\'')?;
                word.push_str(part);
                match after.strip_prefix('\'') {
                    Some(after) => {
                        word.push('\'');
                        text = after;
                    }
                    None => {
                        text = after;
                        break;
                    }
                }
            }
            if !text.is_empty() && !text.starts_with(char::is_whitespace) {
                return None;
            }
            words.push(word);
            rest = text.trim_start();
        } else {
            let end = rest.find(char::is_whitespace).unwrap_or(rest.len());
            words.push(rest[..end].to_owned());
            rest = rest[end..].trim_start();
        }
    }
    Some(words)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(text: &str) -> Option<Timestamp> {
        Some(text.parse().expect("a timestamp"))
    }

    #[test]
    fn filters_that_are_read() {
        for (filter, state) in [
            ("state eq Enabled", JobState::Enabled),
            ("state eq 'Disabled'", JobState::Disabled),
            ("  State  EQ  completed ", JobState::Completed),
            ("STATE eq 'FAULTED'", JobState::Faulted),
        ] {
            assert_eq!(JobFilter::read(filter), Ok(JobFilter { state: Some(state) }), "{filter}");
        }
        let none = HistoryFilter::default();
        for (filter, expected) in [
            ("status eq Failed", HistoryFilter { status: Some(HistoryStatus::Failed), ..none }),
            ("status eq 'completed'", HistoryFilter { status: Some(HistoryStatus::Completed), ..none }),
            ("Status Eq postponed", HistoryFilter { status: Some(HistoryStatus::Postponed), ..none }),
            ("actionName eq mainaction", HistoryFilter { error_action: Some(false), ..none }),
            (
                "status eq Failed and actionName eq 'ErrorAction'",
                HistoryFilter { status: Some(HistoryStatus::Failed), error_action: Some(true), ..none },
            ),
            (
                "startTime ge 2027-01-01 AND startTime le datetime'2027-01-02T00:00:00' \
                 and endtime GE '2027-01-01 05:00:00' and endTime le 2027-01-03T00:00:00Z",
                HistoryFilter {
                    started_from: at("2027-01-01T00:00:00Z"),
                    started_to: at("2027-01-02T00:00:00Z"),
                    ended_from: at("2027-01-01T05:00:00Z"),
                    ended_to: at("2027-01-03T00:00:00Z"),
                    ..none
                },
            ),
        ] {
            assert_eq!(HistoryFilter::read(filter), Ok(expected), "{filter}");
        }
    }

    #[test]
    fn filters_that_are_refused() {
        for (filter, says) in [
            ("", "status eq Failed, joined by and"),
            ("status", "joined by and"),
            ("status eq", "joined by and"),
            ("status eq 'Failed", "joined by and"),
            ("status eq 'Failed'x", "joined by and"),
            ("status eq Failed and", "joined by and"),
            ("status eq Failed or actionName eq MainAction", "joined by and"),
            ("status eq Failed and and actionName eq MainAction", "joined by and"),
            ("status eq Failed status eq Failed", "joined by and"),
            ("status eq Broken", "Completed, Failed or Postponed"),
            ("status eq 'Fai''led'", "\"Fai'led\""),
            ("status ne Failed", "status eq …"),
            ("state eq Enabled", "status eq …"),
            ("status eq Failed and status eq Completed", "each condition once"),
            ("startTime gt 2027-01-01", "startTime ge …"),
            ("startTime ge yesterday", "ISO 8601"),
            ("actionName eq Main", "MainAction or ErrorAction"),
            ("é eq é", "status eq …"),
        ] {
            let fault = HistoryFilter::read(filter).expect_err(filter).to_string();
            assert!(fault.starts_with("$filter: ") && fault.contains(says), "{filter}: {fault}");
        }
        for filter in ["status eq Failed", "state eq Paused", "state eq Enabled and state eq Enabled"] {
            assert!(JobFilter::read(filter).is_err(), "{filter}");
        }
    }
}
