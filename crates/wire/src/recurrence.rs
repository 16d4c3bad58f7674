//! When a job runs, read from JSON: `startTime` and `recurrence`, out of whatever part of a job is given.
//!
//! Only the JSON types are judged here; whether 60 is a minute is the engine's business. Member names are read in any
//! case, `null` is the same as no member, a list of one value may be written as the value, and what nobody knows is
//! ignored but remembered.
//!
//! ```
//! use wire::recurrence::{Shape, read, recognise};
//!
//! let job = serde_json::json!({"properties": {"recurrence": {
//!     "Frequency": "week", "schedule": {"weekDay": "friday", "hours": [17, 25], "minuets": [0]},
//! }}});
//! assert_eq!(recognise(&job), Ok(Shape::Job));
//! let reading = read(&job, Shape::Job);
//! assert_eq!(reading.ignored(), ["properties.recurrence.schedule.minuets"]);
//! let faults = reading.rule("2027-01-01T00:00:00Z".parse()?).unwrap_err();
//! assert_eq!(faults.iter().next().unwrap().field, "properties.recurrence.schedule.hours[1]");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

#[cfg(test)]
mod tests;

use ::recurrence::{
    Draft, DstDraft, Fault, Faults, MonthlyOccurrenceDraft, RecurrenceDraft, Rule, ScheduleDraft, Timestamp,
};
use serde_json::Value;

use crate::members::{self, Given, Names, Object, Reader, is_named};

/// What a document is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Shape {
    /// A whole job: `{"properties": {…}}`.
    Job,
    /// A job's properties: `{"startTime": …, "recurrence": {…}}`.
    Properties,
    /// A recurrence alone: `{"frequency": …}`.
    Recurrence,
}

/// The path of a fault that is about the whole document.
pub const DOCUMENT: &str = "document";

const SHAPES: &str = "a job (an object with properties), its properties (with recurrence, startTime, action or state) \
     or its recurrence (with frequency or cron)";

/// Tells the shape of a document by the members that it has.
pub fn recognise(document: &Value) -> Result<Shape, Faults> {
    let Value::Object(object) = document else {
        return Err(Fault::new(DOCUMENT, members::shown(document), SHAPES).into());
    };
    let has = |any: &[Names]| object.keys().any(|name| any.iter().any(|names| is_named(name, names)));
    if object.iter().any(|(name, value)| is_named(name, PROPERTIES) && !value.is_null()) {
        Ok(Shape::Job)
    } else if has(&[RECURRENCE]) {
        Ok(Shape::Properties)
    } else if has(&[FREQUENCY, CRON]) {
        Ok(Shape::Recurrence)
    } else if has(&[START_TIME, ACTION, STATE]) {
        Ok(Shape::Properties)
    } else {
        Err(Fault::new(DOCUMENT, "an object without any of these members", SHAPES).into())
    }
}

/// What a document says about when a job runs.
#[derive(Debug, Clone)]
pub struct Reading {
    draft: Draft,
    state: Option<String>,
    reader: Reader,
}

/// Reads a document of a known shape.
pub fn read(document: &Value, shape: Shape) -> Reading {
    let mut reader = Reader::default();
    let (draft, state) = match shape {
        Shape::Job => job(&mut reader, Given::root(document, "")),
        Shape::Properties => properties(&mut reader, Given::root(document, "properties")),
        Shape::Recurrence => {
            let recurrence = recurrence(&mut reader, Given::root(document, "properties.recurrence"));
            (Draft { start_time: None, recurrence: Some(recurrence) }, None)
        }
    };
    Reading { draft, state, reader }
}

impl Reading {
    /// The draft, for [`Rule::build`]. Where the document holds a wrong type, the draft holds a value that no rule
    /// accepts; [`Reading::rule`] says what is really wrong.
    pub fn draft(&self) -> &Draft {
        &self.draft
    }

    /// The job's state as it is written, if it is a text; which states there are is not judged here.
    pub fn state(&self) -> Option<&str> {
        self.state.as_deref()
    }

    /// The paths of members that nobody knows, in the order of the document's objects.
    pub fn ignored(&self) -> &[String] {
        self.reader.ignored()
    }

    /// The rule, accepted at a moment; or all that is wrong with the document, types and values in one list.
    pub fn rule(&self, accepted_at: Timestamp) -> Result<Rule, Faults> {
        match Rule::build(&self.draft, accepted_at) {
            Ok(rule) => Faults::check(self.reader.faults()).map(|()| rule),
            Err(faults) => Err(self.reader.merge(faults)),
        }
    }
}

pub(crate) const PROPERTIES: Names = &["properties"];
pub(crate) const JOB: &[Names] = &[PROPERTIES, &["id"], &["name"], &["type"]];

fn job(reader: &mut Reader, given: Given<'_>) -> (Draft, Option<String>) {
    let allowed = "an object with properties";
    let Some(job) = reader.object(given, JOB, allowed) else { return (wrong_draft(), None) };
    match reader.member(&job, PROPERTIES) {
        Some(given) => properties(reader, given),
        None => {
            reader.missing(&job, PROPERTIES, "an object such as {\"startTime\": …, \"recurrence\": {…}}");
            (wrong_draft(), None)
        }
    }
}

pub(crate) const START_TIME: Names = &["startTime"];
pub(crate) const RECURRENCE: Names = &["recurrence"];
pub(crate) const ACTION: Names = &["action"];
pub(crate) const STATE: Names = &["state"];
pub(crate) const STATUS: Names = &["status"];
pub(crate) const CATCH_UP: Names = &["catchUp"];
pub(crate) const OVERLAP: Names = &["overlap"];
/// What has nothing to do with when a job runs is known, and that is all.
pub(crate) const OF_PROPERTIES: &[Names] =
    &[START_TIME, RECURRENCE, ACTION, STATE, STATUS, CATCH_UP, OVERLAP];

fn properties(reader: &mut Reader, given: Given<'_>) -> (Draft, Option<String>) {
    let allowed = "an object such as {\"startTime\": …, \"recurrence\": {…}}";
    let Some(properties) = reader.object(given, OF_PROPERTIES, allowed) else { return (wrong_draft(), None) };
    let draft = timing(reader, &properties);
    let state = properties.values(STATE).find_map(|(_, value)| value.as_str().map(str::to_owned));
    (draft, state)
}

/// What a job's properties say about when it runs.
pub(crate) fn timing(reader: &mut Reader, properties: &Object<'_>) -> Draft {
    Draft {
        start_time: reader.text(properties, START_TIME),
        recurrence: reader.member(properties, RECURRENCE).map(|given| recurrence(reader, given)),
    }
}

pub(crate) const FREQUENCY: Names = &["frequency"];
pub(crate) const INTERVAL: Names = &["interval"];
const COUNT: Names = &["count"];
const END_TIME: Names = &["endTime"];
pub(crate) const SCHEDULE: Names = &["schedule"];
pub(crate) const CRON: Names = &["cron"];
const TIME_ZONE: Names = &["timeZone"];
const DST: Names = &["dst"];
const OF_RECURRENCE: &[Names] = &[FREQUENCY, INTERVAL, COUNT, END_TIME, SCHEDULE, CRON, TIME_ZONE, DST];

fn recurrence(reader: &mut Reader, given: Given<'_>) -> RecurrenceDraft {
    let allowed = "an object such as {\"frequency\": \"day\"}, or null for a job that runs once";
    let Some(recurrence) = reader.object(given, OF_RECURRENCE, allowed) else {
        return RecurrenceDraft { frequency: Some(members::wrong_text()), ..Default::default() };
    };
    RecurrenceDraft {
        frequency: reader.text(&recurrence, FREQUENCY),
        interval: reader.number(&recurrence, INTERVAL),
        count: reader.number(&recurrence, COUNT),
        end_time: reader.text(&recurrence, END_TIME),
        schedule: reader.member(&recurrence, SCHEDULE).map(|given| schedule(reader, given)),
        cron: reader.text_with(&recurrence, CRON, "a text of five fields, such as \"30 9 * * 1-5\""),
        time_zone: reader.text(&recurrence, TIME_ZONE),
        dst: reader.member(&recurrence, DST).map(|given| dst(reader, given)),
    }
}

const MINUTES: Names = &["minutes", "minute"];
const HOURS: Names = &["hours", "hour"];
const WEEK_DAYS: Names = &["weekDays", "weekDay"];
const MONTH_DAYS: Names = &["monthDays", "monthDay"];
pub(crate) const MONTHLY_OCCURRENCES: Names = &["monthlyOccurrences", "monthlyOccurrence"];
const MONTHS: Names = &["months", "month"];
pub(crate) const OF_SCHEDULE: &[Names] =
    &[MINUTES, HOURS, WEEK_DAYS, MONTH_DAYS, MONTHLY_OCCURRENCES, MONTHS];

fn schedule(reader: &mut Reader, given: Given<'_>) -> ScheduleDraft {
    let Some(schedule) =
        reader.object(given, OF_SCHEDULE, "an object such as {\"hours\": [9], \"minutes\": [30]}")
    else {
        return ScheduleDraft { minutes: Some(Vec::new()), ..Default::default() };
    };
    let week_days = reader.list(&schedule, WEEK_DAYS, Reader::as_text);
    // The documents allow as many as there are; jobs that were stored with more keep running.
    if week_days.as_ref().is_some_and(|days| days.len() > 7)
        && let Some(given) = reader.member(&schedule, WEEK_DAYS)
    {
        reader.refuse(&given, "at most 7 days, each of them once");
    }
    ScheduleDraft {
        minutes: reader.list(&schedule, MINUTES, Reader::as_number),
        hours: reader.list(&schedule, HOURS, Reader::as_number),
        week_days,
        month_days: reader.list(&schedule, MONTH_DAYS, Reader::as_number),
        monthly_occurrences: reader.list(&schedule, MONTHLY_OCCURRENCES, monthly_occurrence),
        months: reader.list(&schedule, MONTHS, Reader::as_number),
    }
}

const DAY: Names = &["day"];
const OCCURRENCE: Names = &["occurrence"];

fn monthly_occurrence(reader: &mut Reader, given: Given<'_>) -> MonthlyOccurrenceDraft {
    let allowed = "an object such as {\"day\": \"friday\", \"occurrence\": -1}";
    let Some(monthly) = reader.object(given, &[DAY, OCCURRENCE], allowed) else {
        // Without a day, which no rule accepts.
        return MonthlyOccurrenceDraft::default();
    };
    MonthlyOccurrenceDraft {
        day: reader.text(&monthly, DAY),
        occurrence: reader.number(&monthly, OCCURRENCE),
    }
}

const GAP: Names = &["gap"];
const FOLD: Names = &["fold"];

fn dst(reader: &mut Reader, given: Given<'_>) -> DstDraft {
    let allowed = "an object such as {\"gap\": \"shift\", \"fold\": \"first\"}";
    let Some(dst) = reader.object(given, &[GAP, FOLD], allowed) else {
        return DstDraft { gap: Some(members::wrong_text()), fold: None };
    };
    DstDraft { gap: reader.text(&dst, GAP), fold: reader.text(&dst, FOLD) }
}

/// Stands in for the timing of a document that is none.
pub(crate) fn wrong_draft() -> Draft {
    Draft { start_time: Some(members::wrong_text()), recurrence: None }
}
