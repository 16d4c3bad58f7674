//! The contract's own examples and tables, with the instants written out: computed by hand or by an
//! independent calendar library, never by the engine. Clock changes have a file of their own.

use asked::{at, draft_of, first_occurrences};
use expected::{assert_all_runs, assert_runs};
use recurrence::Rule;
use serde_json::{Value, json};

mod asked;
mod expected;
mod reference;

/// A Monday; its minute is easy to see.
const START: &str = "2026-01-05T08:07:00Z";
const BEFORE_START: &str = "2026-01-05T08:00:00Z";

fn json_of(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_else(|error| panic!("{error} in {text}"))
}

/// Section 6, row by row: frequency, schedule, runs.
#[rustfmt::skip]
const EXAMPLES: &[(&str, &str, &str)] = &[
    (
        "day",
        r#"{"hours": [5]}"#,
        "2026-01-06 05:07, 2026-01-07 05:07, 2026-01-08 05:07",
    ),
    (
        "day",
        r#"{"minutes": [15], "hours": [5]}"#,
        "2026-01-06 05:15, 2026-01-07 05:15, 2026-01-08 05:15",
    ),
    (
        "day",
        r#"{"minutes": [15], "hours": [5, 17]}"#,
        "2026-01-05 17:15, 2026-01-06 05:15 17:15, 2026-01-07 05:15",
    ),
    (
        "day",
        r#"{"minutes": [15, 45], "hours": [5, 17]}"#,
        "2026-01-05 17:15 17:45, 2026-01-06 05:15 05:45 17:15 17:45",
    ),
    (
        "day",
        r#"{"minutes": [0, 15, 30, 45]}"#,
        "2026-01-05 08:15 08:30 08:45 09:00 09:15 09:30",
    ),
    (
        "day",
        r#"{"hours": [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11,
            12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23]}"#,
        "2026-01-05 08:07 09:07 10:07 11:07 12:07 13:07 14:07 15:07 16:07 17:07 18:07 19:07 20:07 21:07 \
         22:07 23:07, 2026-01-06 00:07 01:07",
    ),
    (
        "day",
        r#"{"minutes": [0]}"#,
        "2026-01-05 09:00 10:00 11:00 12:00 13:00 14:00 15:00 16:00 17:00 18:00 19:00 20:00 21:00 22:00 \
         23:00, 2026-01-06 00:00 01:00 02:00",
    ),
    (
        "week",
        r#"{"minutes": [0]}"#,
        "2026-01-05 09:00 10:00 11:00 12:00 13:00 14:00 15:00 16:00 17:00 18:00 19:00 20:00 21:00 22:00 \
         23:00, 2026-01-12 00:00 01:00 02:00",
    ),
    (
        "month",
        r#"{"minutes": [0]}"#,
        "2026-01-05 09:00 10:00 11:00 12:00 13:00 14:00 15:00 16:00 17:00 18:00 19:00 20:00 21:00 22:00 \
         23:00, 2026-02-05 00:00 01:00 02:00",
    ),
    (
        "day",
        r#"{"minutes": [15]}"#,
        "2026-01-05 08:15 09:15 10:15 11:15 12:15 13:15 14:15 15:15 16:15 17:15 18:15 19:15 20:15 21:15 \
         22:15 23:15, 2026-01-06 00:15 01:15",
    ),
    (
        "hour",
        r#"{"minutes": [15]}"#,
        "2026-01-05 08:15 09:15 10:15 11:15 12:15 13:15 14:15 15:15 16:15 17:15 18:15 19:15 20:15 21:15 \
         22:15 23:15, 2026-01-06 00:15 01:15",
    ),
    (
        "week",
        r#"{"hours": [17], "weekDays": ["saturday"]}"#,
        "2026-01-10 17:07, 2026-01-17 17:07, 2026-01-24 17:07",
    ),
    (
        "week",
        r#"{"hours": [17], "weekDays": ["monday", "wednesday", "friday"]}"#,
        "2026-01-05 17:07, 2026-01-07 17:07, 2026-01-09 17:07, 2026-01-12 17:07",
    ),
    (
        "week",
        r#"{"minutes": [15, 45], "hours": [17], "weekDays": ["monday", "wednesday", "friday"]}"#,
        "2026-01-05 17:15 17:45, 2026-01-07 17:15 17:45, 2026-01-09 17:15 17:45",
    ),
    (
        "week",
        r#"{"hours": [5, 17], "weekDays": ["monday", "wednesday", "friday"]}"#,
        "2026-01-05 17:07, 2026-01-07 05:07 17:07, 2026-01-09 05:07 17:07, 2026-01-12 05:07",
    ),
    (
        "week",
        r#"{"minutes": [15, 45], "hours": [5, 17], "weekDays": ["monday", "wednesday", "friday"]}"#,
        "2026-01-05 17:15 17:45, 2026-01-07 05:15 05:45 17:15 17:45",
    ),
    (
        "week",
        r#"{"minutes": [0, 15, 30, 45],
            "weekDays": ["monday", "tuesday", "wednesday", "thursday", "friday"]}"#,
        "2026-01-05 08:15 08:30 08:45 09:00 09:15",
    ),
    (
        "week",
        r#"{"minutes": [0, 15, 30, 45], "hours": [9, 10, 11, 12, 13, 14, 15, 16],
            "weekDays": ["monday", "tuesday", "wednesday", "thursday", "friday"]}"#,
        "2026-01-05 09:00 09:15 09:30 09:45 10:00 10:15 10:30 10:45 11:00 11:15 11:30 11:45 12:00 12:15 \
         12:30 12:45 13:00 13:15 13:30 13:45 14:00 14:15 14:30 14:45 15:00 15:15 15:30 15:45 16:00 16:15 \
         16:30 16:45, 2026-01-06 09:00",
    ),
    (
        "week",
        r#"{"weekDays": ["sunday"]}"#,
        "2026-01-11 08:07, 2026-01-18 08:07, 2026-01-25 08:07",
    ),
    (
        "week",
        r#"{"weekDays": ["tuesday", "thursday"]}"#,
        "2026-01-06 08:07, 2026-01-08 08:07, 2026-01-13 08:07, 2026-01-15 08:07",
    ),
    (
        "month",
        r#"{"minutes": [0], "hours": [6], "monthDays": [28]}"#,
        "2026-01-28 06:00, 2026-02-28 06:00, 2026-03-28 06:00",
    ),
    (
        "month",
        r#"{"minutes": [0], "hours": [6], "monthDays": [-1]}"#,
        "2026-01-31 06:00, 2026-02-28 06:00, 2026-03-31 06:00, 2026-04-30 06:00",
    ),
    (
        "month",
        r#"{"minutes": [0], "hours": [6], "monthDays": [1, -1]}"#,
        "2026-01-31 06:00, 2026-02-01 06:00, 2026-02-28 06:00, 2026-03-01 06:00, 2026-03-31 06:00",
    ),
    (
        "month",
        r#"{"monthDays": [1, -1]}"#,
        "2026-01-31 08:07, 2026-02-01 08:07, 2026-02-28 08:07, 2026-03-01 08:07",
    ),
    (
        "month",
        r#"{"monthDays": [1, 14]}"#,
        "2026-01-14 08:07, 2026-02-01 08:07, 2026-02-14 08:07, 2026-03-01 08:07",
    ),
    (
        "month",
        r#"{"monthDays": [2]}"#,
        "2026-02-02 08:07, 2026-03-02 08:07, 2026-04-02 08:07",
    ),
    (
        "month",
        r#"{"minutes": [0], "hours": [5], "monthlyOccurrences": [{"day": "friday", "occurrence": 1}]}"#,
        "2026-02-06 05:00, 2026-03-06 05:00, 2026-04-03 05:00, 2026-05-01 05:00",
    ),
    (
        "month",
        r#"{"monthlyOccurrences": [{"day": "friday", "occurrence": 1}]}"#,
        "2026-02-06 08:07, 2026-03-06 08:07, 2026-04-03 08:07, 2026-05-01 08:07",
    ),
    (
        "month",
        r#"{"monthlyOccurrences": [{"day": "friday", "occurrence": -3}]}"#,
        "2026-01-16 08:07, 2026-02-13 08:07, 2026-03-13 08:07, 2026-04-10 08:07",
    ),
    (
        "month",
        r#"{"minutes": [15], "hours": [5], "monthlyOccurrences": [{"day": "friday", "occurrence": 1},
            {"day": "friday", "occurrence": -1}]}"#,
        "2026-01-30 05:15, 2026-02-06 05:15, 2026-02-27 05:15, 2026-03-06 05:15, 2026-03-27 05:15",
    ),
    (
        "month",
        r#"{"monthlyOccurrences": [{"day": "friday", "occurrence": 1},
            {"day": "friday", "occurrence": -1}]}"#,
        "2026-01-30 08:07, 2026-02-06 08:07, 2026-02-27 08:07, 2026-03-06 08:07, 2026-03-27 08:07",
    ),
    (
        "month",
        r#"{"monthlyOccurrences": [{"day": "friday", "occurrence": 5}]}"#,
        "2026-01-30 08:07, 2026-05-29 08:07, 2026-07-31 08:07, 2026-10-30 08:07",
    ),
    (
        "month",
        r#"{"minutes": [0, 15, 30, 45], "monthlyOccurrences": [{"day": "friday", "occurrence": -1}]}"#,
        "2026-01-30 00:00 00:15 00:30 00:45 01:00",
    ),
    (
        "month",
        r#"{"minutes": [15, 45], "hours": [5, 17],
            "monthlyOccurrences": [{"day": "wednesday", "occurrence": 3}]}"#,
        "2026-01-21 05:15 05:45 17:15 17:45, 2026-02-18 05:15 05:45",
    ),
];

#[test]
fn the_documents_examples() {
    // 29 rows, some of which stand for several.
    assert_eq!(EXAMPLES.len(), 34);
    for (frequency, schedule, expected) in EXAMPLES {
        let recurrence = json!({"frequency": frequency, "schedule": json_of(schedule)});
        assert_runs(Some(START), BEFORE_START, &recurrence, expected);
    }
}

/// What the sentences of section 4 say beyond the examples.
#[rustfmt::skip]
const SCHEDULES: &[(&str, &str, &str)] = &[
    (
        "month",
        r#"{"monthDays": [13], "monthlyOccurrences": [{"day": "friday"}]}"#,
        "2026-02-13 08:07, 2026-03-13 08:07, 2026-11-13 08:07, 2027-08-13 08:07",
    ),
    (
        "month",
        r#"{"monthDays": [31]}"#,
        "2026-01-31 08:07, 2026-03-31 08:07, 2026-05-31 08:07, 2026-07-31 08:07",
    ),
    (
        "month",
        r#"{"monthDays": [29]}"#,
        "2026-01-29 08:07, 2026-03-29 08:07, 2026-04-29 08:07, 2026-05-29 08:07",
    ),
    (
        "month",
        r#"{"monthDays": [-31, -30]}"#,
        "2026-03-01 08:07, 2026-03-02 08:07, 2026-04-01 08:07, 2026-05-01 08:07",
    ),
    (
        "month",
        r#"{"monthlyOccurrences": [{"day": "sunday", "occurrence": -5}]}"#,
        "2026-03-01 08:07, 2026-05-03 08:07, 2026-08-02 08:07, 2026-11-01 08:07",
    ),
    (
        "month",
        r#"{"hours": [9], "minutes": [30], "monthlyOccurrences": [{"day": "monday"}]}"#,
        "2026-01-05 09:30, 2026-01-12 09:30, 2026-01-19 09:30, 2026-01-26 09:30, 2026-02-02 09:30",
    ),
    (
        "year",
        r#"{"months": [2, 8]}"#,
        "2026-02-05 08:07, 2026-08-05 08:07, 2027-02-05 08:07, 2027-08-05 08:07",
    ),
    (
        "year",
        r#"{"months": [2], "monthDays": [29]}"#,
        "2028-02-29 08:07, 2032-02-29 08:07, 2036-02-29 08:07",
    ),
    (
        "year",
        r#"{"months": [6, 12], "monthlyOccurrences": [{"day": "friday", "occurrence": -1}], "hours": [18],
            "minutes": [0]}"#,
        "2026-06-26 18:00, 2026-12-25 18:00, 2027-06-25 18:00, 2027-12-31 18:00",
    ),
    (
        "year",
        r#"{"monthDays": [1, -1]}"#,
        "2026-01-31 08:07, 2027-01-01 08:07, 2027-01-31 08:07, 2028-01-01 08:07",
    ),
];

#[test]
fn days_that_not_every_month_has() {
    for (frequency, schedule, expected) in SCHEDULES {
        let recurrence = json!({"frequency": frequency, "schedule": json_of(schedule)});
        assert_runs(Some(START), BEFORE_START, &recurrence, expected);
    }
}

#[test]
fn the_worked_example() {
    assert_runs(
        Some("2015-04-07T14:00:00Z"),
        "2015-04-08T13:00:00Z",
        &json!({"frequency": "day", "interval": 2}),
        "2015-04-09 14:00, 2015-04-11 14:00, 2015-04-13 14:00",
    );
}

/// Section 2: what is asked × where start stands, all nine cells.
#[test]
fn the_three_kinds_of_job() {
    let now = "2026-03-10T12:00:00Z";
    let (missing, past, ahead) = (None, Some("2026-03-01T09:30:00Z"), Some("2026-03-12T09:30:00Z"));

    let once = Value::Null;
    assert_runs(missing, now, &once, "2026-03-10 12:00");
    assert_runs(past, now, &once, "2026-03-10 12:00");
    assert_runs(ahead, now, &once, "2026-03-12 09:30");

    let every_two_days = json!({"frequency": "day", "interval": 2});
    assert_runs(missing, now, &every_two_days, "2026-03-10 12:00, 2026-03-12 12:00, 2026-03-14 12:00");
    assert_runs(past, now, &every_two_days, "2026-03-11 09:30, 2026-03-13 09:30, 2026-03-15 09:30");
    assert_runs(ahead, now, &every_two_days, "2026-03-12 09:30, 2026-03-14 09:30, 2026-03-16 09:30");

    let at_six = json!({"frequency": "day", "interval": 2, "schedule": {"hours": [6]}});
    assert_runs(missing, now, &at_six, "2026-03-10 12:00, 2026-03-12 06:00, 2026-03-14 06:00");
    assert_runs(past, now, &at_six, "2026-03-11 06:30, 2026-03-13 06:30, 2026-03-15 06:30");
    assert_runs(ahead, now, &at_six, "2026-03-14 06:30, 2026-03-16 06:30");
}

/// "startTime now or later" and "not before now": the moment itself belongs to what is to come.
#[test]
fn the_moment_of_acceptance_itself() {
    let now = "2026-03-10T12:00:00Z";
    assert_runs(Some(now), now, &Value::Null, "2026-03-10 12:00");
    assert_runs(Some(now), now, &json!({"frequency": "hour"}), "2026-03-10 12:00 13:00");
    let on_the_hour = json!({"frequency": "day", "schedule": {"minutes": [0]}});
    assert_runs(Some(now), now, &on_the_hour, "2026-03-10 12:00 13:00");
    // The run at once and the slot of the same instant are one.
    assert_runs(None, now, &on_the_hour, "2026-03-10 12:00 13:00");
    // The past start's own step falls on now.
    assert_runs(Some("2026-03-09T12:00:00Z"), now, &json!({"frequency": "day"}), "2026-03-10 12:00");
}

#[test]
fn an_empty_schedule_is_none() {
    let recurrence = json!({"frequency": "day", "interval": 3, "schedule": {}});
    assert_runs(
        Some(START),
        BEFORE_START,
        &recurrence,
        "2026-01-05 08:07, 2026-01-08 08:07, 2026-01-11 08:07",
    );
}

#[test]
fn month_and_year_steps_clamp_and_recover() {
    let now = "2026-01-01T00:00:00Z";
    for (start, recurrence, expected) in [
        (
            "2026-01-31T10:00:00Z",
            json!({"frequency": "month"}),
            "2026-01-31 10:00, 2026-02-28 10:00, 2026-03-31 10:00, 2026-04-30 10:00, 2026-05-31 10:00",
        ),
        (
            "2027-12-31T10:00:00Z",
            json!({"frequency": "month", "interval": 2}),
            "2027-12-31 10:00, 2028-02-29 10:00, 2028-04-30 10:00, 2028-06-30 10:00, 2028-08-31 10:00",
        ),
        (
            "2026-08-30T10:00:00Z",
            json!({"frequency": "month", "interval": 18}),
            "2026-08-30 10:00, 2028-02-29 10:00, 2029-08-30 10:00, 2031-02-28 10:00",
        ),
        (
            "2028-02-29T10:00:00Z",
            json!({"frequency": "year"}),
            "2028-02-29 10:00, 2029-02-28 10:00, 2030-02-28 10:00, 2031-02-28 10:00, 2032-02-29 10:00",
        ),
        (
            // The day of start is clamped in every month that a year's schedule names.
            "2026-01-31T10:00:00Z",
            json!({"frequency": "year", "schedule": {"months": [1, 2, 4]}}),
            "2026-01-31 10:00, 2026-02-28 10:00, 2026-04-30 10:00, 2027-01-31 10:00",
        ),
        (
            // The same with a schedule that gives the time of day only.
            "2026-01-31T10:00:00Z",
            json!({"frequency": "month", "schedule": {"hours": [7], "minutes": [0]}}),
            "2026-02-28 07:00, 2026-03-31 07:00, 2026-04-30 07:00",
        ),
    ] {
        assert_runs(Some(start), now, &recurrence, expected);
    }
}

#[test]
fn every_so_manieth_period_counts_from_the_one_that_holds_start() {
    for (start, recurrence, expected) in [
        (
            // A Wednesday: the Monday of its week is over, the Sunday is not; then the week after next.
            "2026-01-07T08:07:00Z",
            json!({"frequency": "week", "interval": 2, "schedule": {"weekDays": ["monday", "sunday"]}}),
            "2026-01-11 08:07, 2026-01-19 08:07, 2026-01-25 08:07, 2026-02-02 08:07",
        ),
        (
            START,
            json!({"frequency": "month", "interval": 3, "schedule": {"monthDays": [31]}}),
            "2026-01-31 08:07, 2026-07-31 08:07, 2026-10-31 08:07, 2027-01-31 08:07",
        ),
        (
            START,
            json!({"frequency": "day", "interval": 10, "schedule": {"hours": [6, 20]}}),
            "2026-01-05 20:07, 2026-01-15 06:07 20:07, 2026-01-25 06:07 20:07, 2026-02-04 06:07",
        ),
        (
            START,
            json!({"frequency": "hour", "interval": 5, "schedule": {"minutes": [0, 30]}}),
            "2026-01-05 08:30 13:00 13:30 18:00 18:30 23:00 23:30, 2026-01-06 04:00",
        ),
        (
            START,
            json!({"frequency": "hour", "interval": 5, "schedule": {"hours": [13, 14, 23]}}),
            "2026-01-05 13:07 23:07, 2026-01-06 14:07, 2026-01-10 13:07",
        ),
        (
            "2026-01-05T08:07:20Z",
            json!({"frequency": "minute", "interval": 20, "schedule": {"hours": [9]}}),
            "2026-01-05 09:07:20 09:27:20 09:47:20, 2026-01-06 09:07:20",
        ),
        (
            "2026-01-05T08:07:20Z",
            json!({"frequency": "minute", "interval": 3, "schedule": {"minutes": [7, 10, 11]}}),
            "2026-01-05 08:10 09:07 09:10 10:07",
        ),
    ] {
        assert_runs(Some(start), BEFORE_START, &recurrence, expected);
    }
}

/// Seconds and their fraction come from start, except where minutes are given.
#[test]
fn seconds_of_start() {
    let start = Some("2026-01-05T08:07:20.1234567Z");
    for (recurrence, expected) in [
        (json!({"frequency": "month"}), "2026-01-05 08:07:20.1234567, 2026-02-05 08:07:20.1234567"),
        (json!({"frequency": "minute"}), "2026-01-05 08:07:20.1234567 08:08:20.1234567"),
        (
            json!({"frequency": "day", "schedule": {"hours": [9]}}),
            "2026-01-05 09:07:20.1234567, 2026-01-06 09:07:20.1234567",
        ),
        (json!({"frequency": "week", "schedule": {"weekDays": ["friday"]}}), "2026-01-09 08:07:20.1234567"),
        (
            json!({"frequency": "hour", "schedule": {"hours": [8, 9]}}),
            "2026-01-05 08:07:20.1234567 09:07:20.1234567",
        ),
        (json!({"frequency": "hour", "schedule": {"minutes": [7]}}), "2026-01-05 09:07"),
        (json!({"frequency": "minute", "schedule": {"minutes": [7, 9]}}), "2026-01-05 08:09 09:07"),
        (json!({"frequency": "day", "schedule": {"minutes": [7]}}), "2026-01-05 09:07 10:07"),
    ] {
        assert_runs(start, BEFORE_START, &recurrence, expected);
    }
}

#[test]
fn count_and_end() {
    let twice_daily = |more: Value| {
        let mut recurrence = json!({"frequency": "day", "schedule": {"hours": [6, 18], "minutes": [0]}});
        recurrence.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        recurrence
    };
    for (more, expected) in [
        (json!({"count": 3}), "2026-01-05 18:00, 2026-01-06 06:00 18:00"),
        // An occurrence exactly at endTime still runs.
        (json!({"endTime": "2026-01-06T18:00:00Z"}), "2026-01-05 18:00, 2026-01-06 06:00 18:00"),
        (json!({"endTime": "2026-01-06T17:59:59.9999999Z"}), "2026-01-05 18:00, 2026-01-06 06:00"),
        // Whichever comes first.
        (json!({"count": 2, "endTime": "2026-01-08T00:00:00Z"}), "2026-01-05 18:00, 2026-01-06 06:00"),
        (json!({"count": 9, "endTime": "2026-01-06T06:30:00Z"}), "2026-01-05 18:00, 2026-01-06 06:00"),
    ] {
        assert_all_runs(Some(START), BEFORE_START, &twice_daily(more), expected);
    }
    // Those before now are discarded and do not count.
    assert_all_runs(
        Some("2025-01-05T08:07:00Z"),
        BEFORE_START,
        &twice_daily(json!({"count": 3})),
        "2026-01-05 18:00, 2026-01-06 06:00 18:00",
    );
    // The run at once counts.
    assert_all_runs(None, BEFORE_START, &twice_daily(json!({"count": 2})), "2026-01-05 08:00 18:00");
}

/// `after` knows `endTime`, but not `count`: whoever asks it keeps the count.
#[test]
fn after_an_instant() {
    let draft = draft_of(&json!({"startTime": START, "recurrence": {
        "frequency": "day", "count": 1, "endTime": "2026-01-07T08:07:00Z"
    }}));
    let rule = Rule::build(&draft, at(BEFORE_START)).unwrap();
    for (instant, expected) in [
        ("1999-01-01T00:00:00Z", Some("2026-01-05T08:07:00Z")),
        ("2026-01-05T08:06:59.9999999Z", Some("2026-01-05T08:07:00Z")),
        ("2026-01-05T08:07:00Z", Some("2026-01-06T08:07:00Z")),
        ("2026-01-06T08:07:00.0000001Z", Some("2026-01-07T08:07:00Z")),
        ("2026-01-07T08:07:00Z", None),
        ("2200-01-01T00:00:00Z", None),
    ] {
        assert_eq!(rule.after(at(instant)), expected.map(at), "after {instant}");
    }
}

#[test]
fn names_are_read_in_every_case_and_spelling() {
    for (spellings, schedule) in [
        (vec!["minute", "minutely", "minutes", "Minute", "MINUTES"], json!({"minutes": [9]})),
        (vec!["hour", "hourly", "hours", "Hour", "HOURLY"], json!({"minutes": [9]})),
        (vec!["day", "daily", "days", "Day", "dAILY"], json!({"hours": [9]})),
        (vec!["week", "weekly", "weeks", "Week"], json!({"weekDays": ["friday"]})),
        (vec!["month", "monthly", "months", "Month"], json!({"monthDays": [9]})),
        (vec!["year", "yearly", "years", "Year"], json!({"months": [9]})),
    ] {
        let runs_of = |frequency: &str| {
            let recurrence = json!({"frequency": frequency, "schedule": schedule});
            let draft = draft_of(&json!({"startTime": START, "recurrence": recurrence}));
            first_occurrences(&draft, at(BEFORE_START), 5)
        };
        for spelling in &spellings {
            assert_eq!(runs_of(spelling), runs_of(spellings[0]), "{spelling}");
        }
    }
    let last_friday = |name: &str, gap: &str, fold: &str, zone: &str| {
        let draft = draft_of(&json!({"startTime": START, "recurrence": {
            "frequency": "month", "timeZone": zone, "dst": {"gap": gap, "fold": fold},
            "schedule": {"monthlyOccurrences": [{"day": name, "occurrence": -1}], "hours": [2]},
        }}));
        first_occurrences(&draft, at(BEFORE_START), 30)
    };
    let expected = last_friday("friday", "skip", "last", "Europe/Paris");
    assert_eq!(last_friday("Friday", "SKIP", "Last", "europe/paris"), expected);
    assert_eq!(last_friday("FRIDAY", "Skip", "LAST", "EUROPE/PARIS"), expected);
    // Windows' name of the same zone.
    assert_eq!(last_friday("friday", "skip", "last", "Romance Standard Time"), expected);
}

#[test]
fn duplicates_and_order_do_not_matter() {
    let schedule = json!({
        "minutes": [45, 15, 45], "hours": [17, 5, 5], "monthDays": [-1, 28, 28, -1],
        "monthlyOccurrences": [
            {"day": "saturday"}, {"day": "saturday", "occurrence": 5}, {"day": "saturday"}
        ],
    });
    // Of the months' 28th and last days, the Saturdays.
    assert_runs(
        Some(START),
        BEFORE_START,
        &json!({"frequency": "month", "schedule": schedule}),
        "2026-01-31 05:15 05:45 17:15 17:45, 2026-02-28 05:15 05:45 17:15 17:45, 2026-03-28 05:15",
    );
}

/// Section 1: how a date-time may be written, and what it means.
#[test]
fn date_times() {
    for (start, expected) in [
        ("2026-01-05T08:07:00Z", "2026-01-05T08:07:00Z"),
        ("2026-01-05T08:07:00", "2026-01-05T08:07:00Z"),
        ("2026-01-05T08:07", "2026-01-05T08:07:00Z"),
        ("2026-01-05T08:07Z", "2026-01-05T08:07:00Z"),
        ("2026-01-06", "2026-01-06T00:00:00Z"),
        ("2026-01-05T08:07:20.5", "2026-01-05T08:07:20.5Z"),
        ("2026-01-05T08:07:20.1234567Z", "2026-01-05T08:07:20.1234567Z"),
        ("2026-01-05T10:07:00+02:00", "2026-01-05T08:07:00Z"),
        ("2026-01-05T10:07+02:00", "2026-01-05T08:07:00Z"),
        ("2026-01-05T02:37:00.25-05:30", "2026-01-05T08:07:00.25Z"),
    ] {
        let draft = draft_of(&json!({"startTime": start}));
        assert_eq!(first_occurrences(&draft, at(BEFORE_START), 2), [at(expected)], "{start}");
    }
    // An offset fixes the instant only; it sets no zone. In Paris the last two would come an hour earlier.
    assert_runs(
        Some("2026-03-28T03:00:00+01:00"),
        BEFORE_START,
        &json!({"frequency": "day"}),
        "2026-03-28 02:00, 2026-03-29 02:00, 2026-03-30 02:00",
    );
}

/// Five fields instead of frequency, interval and schedule. Nothing runs at once.
#[test]
fn cron() {
    let now = START;
    for (line, expected) in [
        ("*/15 9-16 * * mon-fri", "2026-01-05 09:00 09:15 09:30 09:45 10:00"),
        ("* * * * *", "2026-01-05 08:07 08:08 08:09"),
        ("7 8 * * *", "2026-01-05 08:07, 2026-01-06 08:07"),
        ("5 4-8/2 * * *", "2026-01-06 04:05 06:05 08:05, 2026-01-07 04:05"),
        ("0,30 */6 * * *", "2026-01-05 12:00 12:30 18:00 18:30, 2026-01-06 00:00"),
        ("0 6 L * *", "2026-01-31 06:00, 2026-02-28 06:00, 2026-03-31 06:00"),
        ("0 6 1,L * *", "2026-01-31 06:00, 2026-02-01 06:00, 2026-02-28 06:00"),
        ("0 5 * * 5#1", "2026-02-06 05:00, 2026-03-06 05:00, 2026-04-03 05:00"),
        ("15 5 * * 5L", "2026-01-30 05:15, 2026-02-27 05:15, 2026-03-27 05:15"),
        ("0 0 * * 1-5/2", "2026-01-07 00:00, 2026-01-09 00:00, 2026-01-12 00:00"),
        ("0 12 * * 0", "2026-01-11 12:00, 2026-01-18 12:00"),
        ("0 12 * * 7", "2026-01-11 12:00, 2026-01-18 12:00"),
        ("0 12 * * SUN", "2026-01-11 12:00, 2026-01-18 12:00"),
        ("0 0 1,15 JAN,jul *", "2026-01-15 00:00, 2026-07-01 00:00, 2026-07-15 00:00, 2027-01-01 00:00"),
        ("0 0 29 2 *", "2028-02-29 00:00, 2032-02-29 00:00"),
        // Both day fields name days: either will do.
        ("0 0 13 * 5", "2026-01-09 00:00, 2026-01-13 00:00, 2026-01-16 00:00, 2026-01-23 00:00"),
        ("30 10 1-7 * 1", "2026-01-05 10:30, 2026-01-06 10:30, 2026-01-07 10:30, 2026-01-12 10:30"),
        // One begins with a star: both must fit. Odd days that are Mondays.
        ("0 0 */2 * 1", "2026-01-19 00:00, 2026-02-09 00:00, 2026-02-23 00:00, 2026-03-09 00:00"),
    ] {
        assert_runs(None, now, &json!({"cron": line}), expected);
        assert_runs(Some("2025-06-01T00:00:00Z"), now, &json!({"cron": line}), expected);
        assert_runs(Some(START), BEFORE_START, &json!({"cron": line}), expected);
    }
    assert_all_runs(
        None,
        now,
        &json!({"cron": "0 0 * * *", "count": 5, "endTime": "2026-01-07T00:00:00Z"}),
        "2026-01-06 00:00, 2026-01-07 00:00",
    );
}

/// How near to each other the occurrences of a rule can come.
#[test]
fn the_fastest_a_rule_can_be() {
    const MINUTE: u64 = 60;
    const HOUR: u64 = 60 * MINUTE;
    const DAY: u64 = 24 * HOUR;
    for (recurrence, seconds) in [
        (json!({"frequency": "minute"}), MINUTE),
        (json!({"frequency": "minute", "interval": 90}), 90 * MINUTE),
        (json!({"frequency": "hour", "interval": 5}), 5 * HOUR),
        (json!({"frequency": "day"}), DAY),
        (json!({"frequency": "week", "interval": 2}), 14 * DAY),
        // From one February, or the 28th of it, to March.
        (json!({"frequency": "month"}), 28 * DAY),
        (json!({"frequency": "year"}), 365 * DAY),
        (json!({"frequency": "day", "schedule": {"minutes": [0, 15, 30, 45]}}), 15 * MINUTE),
        (json!({"frequency": "hour", "schedule": {"minutes": [0, 50]}}), 10 * MINUTE),
        (json!({"frequency": "day", "schedule": {"hours": [1, 23], "minutes": [0]}}), 2 * HOUR),
        (json!({"frequency": "week", "schedule": {"weekDays": ["monday", "thursday"]}}), 3 * DAY),
        (json!({"frequency": "month", "schedule": {"monthDays": [1, -1]}}), DAY),
        (json!({"cron": "*/20 * * * *"}), 20 * MINUTE),
    ] {
        let draft = draft_of(&json!({"startTime": START, "recurrence": recurrence}));
        let rule = Rule::build(&draft, at(BEFORE_START)).unwrap();
        assert_eq!(rule.fastest().map(|fastest| fastest.as_secs()), Some(seconds), "{recurrence}");
    }
    let once = Rule::build(&draft_of(&json!({})), at(BEFORE_START)).unwrap();
    assert_eq!(once.fastest(), None);
    // A cron job has no run at once: its first two runs are both planned.
    let twice = draft_of(&json!({"recurrence": {"cron": "* * * * *", "count": 2}}));
    let twice = Rule::build(&twice, at(BEFORE_START)).unwrap();
    assert_eq!(twice.fastest().map(|fastest| fastest.as_secs()), Some(MINUTE));
}
