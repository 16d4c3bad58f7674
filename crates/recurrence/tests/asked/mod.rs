//! Jobs as the tests' tables write them: JSON, read into a [`Draft`] without checking any value.

// Each test file uses its own part of this one.
#![allow(dead_code)]

use recurrence::{
    Draft, DstDraft, MonthlyOccurrenceDraft, Occurrence, RecurrenceDraft, Rule, ScheduleDraft, Timestamp,
};
use serde_json::{Map, Value};

/// Reads `{"startTime": …, "recurrence": {…}}`. A name that a draft does not have is a slip of the test.
pub(crate) fn draft(json: &str) -> Draft {
    draft_of(&serde_json::from_str(json).unwrap_or_else(|error| panic!("{error} in {json}")))
}

/// The same, of JSON that is already read.
pub(crate) fn draft_of(job: &Value) -> Draft {
    let job = members(job, &["startTime", "recurrence"]);
    Draft {
        start_time: text(job.get("startTime")),
        recurrence: given(job.get("recurrence")).map(|recurrence| {
            let names = ["frequency", "interval", "count", "endTime", "schedule", "cron", "timeZone", "dst"];
            let recurrence = members(recurrence, &names);
            RecurrenceDraft {
                frequency: text(recurrence.get("frequency")),
                interval: number(recurrence.get("interval")),
                count: number(recurrence.get("count")),
                end_time: text(recurrence.get("endTime")),
                schedule: given(recurrence.get("schedule")).map(schedule),
                cron: text(recurrence.get("cron")),
                time_zone: text(recurrence.get("timeZone")),
                dst: given(recurrence.get("dst")).map(|dst| {
                    let dst = members(dst, &["gap", "fold"]);
                    DstDraft { gap: text(dst.get("gap")), fold: text(dst.get("fold")) }
                }),
            }
        }),
    }
}

fn schedule(schedule: &Value) -> ScheduleDraft {
    let names = ["minutes", "hours", "weekDays", "monthDays", "monthlyOccurrences", "months"];
    let schedule = members(schedule, &names);
    let numbers = |name| list(schedule.get(name), |value| number(Some(value)).unwrap());
    ScheduleDraft {
        minutes: numbers("minutes"),
        hours: numbers("hours"),
        week_days: list(schedule.get("weekDays"), |value| text(Some(value)).unwrap()),
        month_days: numbers("monthDays"),
        monthly_occurrences: list(schedule.get("monthlyOccurrences"), |value| {
            let value = members(value, &["day", "occurrence"]);
            MonthlyOccurrenceDraft {
                day: text(value.get("day")),
                occurrence: number(value.get("occurrence")),
            }
        }),
        months: numbers("months"),
    }
}

fn members<'a>(value: &'a Value, names: &[&str]) -> &'a Map<String, Value> {
    let members = value.as_object().unwrap_or_else(|| panic!("{value} is not an object"));
    for name in members.keys() {
        assert!(names.contains(&name.as_str()), "a draft has no {name}");
    }
    members
}

fn given(value: Option<&Value>) -> Option<&Value> {
    value.filter(|value| !value.is_null())
}

fn text(value: Option<&Value>) -> Option<String> {
    given(value).map(|value| value.as_str().unwrap_or_else(|| panic!("{value} is not text")).to_owned())
}

fn number(value: Option<&Value>) -> Option<i64> {
    given(value).map(|value| value.as_i64().unwrap_or_else(|| panic!("{value} is not a whole number")))
}

fn list<T>(value: Option<&Value>, element: impl Fn(&Value) -> T) -> Option<Vec<T>> {
    let elements = given(value)?.as_array().unwrap_or_else(|| panic!("not a list: {value:?}"));
    Some(elements.iter().map(element).collect())
}

/// Reads an instant, for the tables.
pub(crate) fn at(text: &str) -> Timestamp {
    text.parse().unwrap_or_else(|error| panic!("{error} in {text}"))
}

/// The first occurrences of a sound job, numbered from 1 without a break.
pub(crate) fn first_occurrences(draft: &Draft, now: Timestamp, want: usize) -> Vec<Timestamp> {
    let rule = Rule::build(draft, now).unwrap_or_else(|faults| panic!("{faults}\nin {draft:#?}"));
    let occurrences: Vec<Occurrence> = rule.occurrences().take(want).collect();
    for (i, occurrence) in occurrences.iter().enumerate() {
        assert_eq!(occurrence.number as usize, i + 1, "{draft:#?}");
    }
    occurrences.iter().map(|occurrence| occurrence.at).collect()
}
