//! A job's document, read: everything that is wrong with it in one list.

use model::{Action, CatchUp, JobState, Overlap};
use recurrence::{Draft, Fault, Faults, Rule, Timestamp};
use serde_json::Value;

use super::{JobRequest, action, kept};
use crate::members::{Given, Names, Object, Reader, is_named};
use crate::recurrence::{
    ACTION, CATCH_UP, JOB, MONTHLY_OCCURRENCES, OF_PROPERTIES, OVERLAP, PROPERTIES, RECURRENCE, SCHEDULE,
    STATE, timing, wrong_draft,
};

/// What a document says, before its timing is judged.
pub(super) struct Reading {
    pub(super) timing: Draft,
    action: Option<Action>,
    state: Option<JobState>,
    catch_up: Option<CatchUp>,
    overlap: Option<Overlap>,
    capital_occurrence: bool,
    reader: Reader,
}

pub(super) fn reading(document: &Value) -> Reading {
    let mut reader = Reader::default();
    let allowed = "an object such as {\"properties\": {\"action\": {…}}}";
    let properties = reader
        .object(Given::root(document, ""), JOB, allowed)
        .and_then(|job| reader.required(&job, PROPERTIES, of_properties(document)))
        .and_then(|given| reader.object(given, OF_PROPERTIES, "an object such as {\"action\": {…}}"));
    let Some(properties) = properties else {
        return Reading {
            timing: wrong_draft(),
            action: None,
            state: None,
            catch_up: None,
            overlap: None,
            capital_occurrence: false,
            reader,
        };
    };
    Reading {
        timing: timing(&mut reader, &properties),
        action: reader
            .required(&properties, ACTION, "an object such as {\"type\": \"Http\", \"request\": {…}}")
            .and_then(|given| action::action(&mut reader, given, 0)),
        state: reader.member(&properties, STATE).and_then(|given| state(&mut reader, &given)),
        catch_up: reader.member(&properties, CATCH_UP).and_then(|given| catch_up(&mut reader, given)),
        overlap: reader.member(&properties, OVERLAP).and_then(|given| overlap(&mut reader, &given)),
        capital_occurrence: writes_capital_occurrence(&properties),
        reader,
    }
}

/// What is allowed as the properties of a job. The documents show jobs whose members stand at the top.
fn of_properties(document: &Value) -> &'static str {
    let is_at_top = OF_PROPERTIES.iter().any(|names| members(document, names).next().is_some());
    if is_at_top {
        "an object into which action, startTime, recurrence and state are put, as in {\"properties\": {\"action\": {…}}}"
    } else {
        "an object such as {\"action\": {…}}"
    }
}

impl Reading {
    /// Faults for the stored secrets that would go to another destination than before; see
    /// [`misdirected`](kept::misdirected).
    pub(super) fn misdirected(&self, whole: &Value, given: &Value, old: &Action) -> Vec<Fault> {
        const PLACE: &[&str] = &["properties", "action"];
        match (&self.action, kept::at(whole, PLACE), kept::at(given, PLACE)) {
            (Some(new), Some(whole), Some(given)) => {
                kept::misdirected(&self.reader, "properties.action", (whole, given), old, new)
            }
            _ => Vec::new(),
        }
    }

    /// The request, with a rule that was accepted at a moment.
    pub(super) fn request(self, accepted_at: Timestamp) -> Result<JobRequest, Faults> {
        let rule = match Rule::build(&self.timing, accepted_at) {
            Ok(rule) => rule,
            Err(faults) => return Err(self.reader.merge(faults)),
        };
        Faults::check(self.reader.faults())?;
        let Some(action) = self.action else {
            // An action that was not read has left a fault; this is for the compiler.
            return Err(recurrence::Fault::missing("properties.action", "an action").into());
        };
        Ok(JobRequest {
            accepted_at,
            rule,
            action,
            state: self.state,
            extensions_given: self.catch_up.is_some() || self.overlap.is_some(),
            catch_up: self.catch_up.unwrap_or_default(),
            overlap: self.overlap.unwrap_or_default(),
            capital_occurrence: self.capital_occurrence,
            ignored: self.reader.ignored().to_vec(),
            timing: self.timing,
            reader: self.reader,
        })
    }
}

fn state(reader: &mut Reader, given: &Given<'_>) -> Option<JobState> {
    let allowed = "Enabled or Disabled; Completed and Faulted are for the scheduler to say";
    reader.choice(given, &[("Enabled", JobState::Enabled), ("Disabled", JobState::Disabled)], allowed)
}

const POLICY: Names = &["policy"];
const MAX: Names = &["max"];

/// A word, or an object that has the word as `policy`; only an object can say how many `all` are.
fn catch_up(reader: &mut Reader, given: Given<'_>) -> Option<CatchUp> {
    #[derive(Clone, Copy, PartialEq)]
    enum Policy {
        None,
        Last,
        All,
    }
    const ALLOWED: &str = "none, last or {\"policy\": \"all\", \"max\": 10}";
    let words = [("none", Policy::None), ("last", Policy::Last), ("all", Policy::All)];
    if given.as_str().is_some() {
        // "all" alone would be without bounds.
        return reader.choice(&given, &[("none", CatchUp::None), ("last", CatchUp::Last)], ALLOWED);
    }
    let object = reader.object(given, &[POLICY, MAX], ALLOWED)?;
    let policy = match reader.member(&object, POLICY) {
        Some(given) => reader.choice(&given, &words, "none, last or all")?,
        None => Policy::All,
    };
    let whole = "how many of the missed occurrences run, a whole number from 1 on";
    if policy == Policy::All {
        let max = reader.required(&object, MAX, whole)?;
        let max = reader.whole(&max, 1, u32::MAX.into(), whole)?;
        return Some(CatchUp::All { max: u32::try_from(max).unwrap_or(u32::MAX) });
    }
    if let Some(max) = reader.member(&object, MAX) {
        reader.ignore(&max);
    }
    Some(if policy == Policy::None { CatchUp::None } else { CatchUp::Last })
}

fn overlap(reader: &mut Reader, given: &Given<'_>) -> Option<Overlap> {
    let words = [("allow", Overlap::Allow), ("skip", Overlap::Skip), ("queue", Overlap::Queue)];
    reader.choice(given, &words, "allow, skip or queue")
}

/// The API's description calls the member `Occurrence` and nothing else so; the service read it in any case
/// (Scenario_JobCreateWithScheduleForMonthlyOccurrence).
fn writes_capital_occurrence(properties: &Object<'_>) -> bool {
    let recurrence = properties.values(RECURRENCE).map(|(_, value)| value);
    let schedules = recurrence.flat_map(|value| members(value, SCHEDULE));
    let mut occurrences = schedules
        .flat_map(|value| members(value, MONTHLY_OCCURRENCES))
        .flat_map(|value| value.as_array().map_or(std::slice::from_ref(value), Vec::as_slice));
    occurrences.any(|occurrence| occurrence.get("Occurrence").is_some_and(|number| !number.is_null()))
}

fn members(value: &Value, names: Names) -> impl Iterator<Item = &Value> {
    let object = value.as_object();
    object.into_iter().flatten().filter(move |(name, _)| is_named(name, names)).map(|(_, value)| value)
}
