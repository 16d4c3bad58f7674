//! What a rule may not say. Every fault names the member it is about, and all of them come at once.

use std::collections::BTreeSet;

use asked::{at, draft};
use recurrence::{Fault, Rule};
use serde_json::{Value, json};

mod asked;

const NOW: &str = "2026-01-05T08:00:00Z";

fn faults(job: &str) -> Vec<Fault> {
    match Rule::build(&draft(job), at(NOW)) {
        Ok(_) => panic!("accepted: {job}"),
        Err(faults) => faults.iter().cloned().collect(),
    }
}

/// Jobs with one mistake each: the recurrence (or the whole job, where it has a `startTime`), the fault's
/// field.
#[rustfmt::skip]
const MISTAKES: &[(&str, &str)] = &[
    // Date-times.
    (r#"{"startTime": ""}"#, "startTime"),
    (r#"{"startTime": "yesterday"}"#, "startTime"),
    (r#"{"startTime": "2026-13-01T00:00:00Z"}"#, "startTime"),
    (r#"{"startTime": "2026-02-30T00:00:00Z"}"#, "startTime"),
    (r#"{"startTime": "2026-02-29"}"#, "startTime"),
    (r#"{"startTime": "2026-02-01T24:30:00Z"}"#, "startTime"),
    (r#"{"startTime": "2026-02-01T10:60:00Z"}"#, "startTime"),
    (r#"{"startTime": "2026-02-01T10:00:00+25:00"}"#, "startTime"),
    (r#"{"startTime": "02/01/2026"}"#, "startTime"),
    (r#"{"startTime": "10:30"}"#, "startTime"),
    (r#"{"startTime": "2026-02-01T10:00:00Z trailing"}"#, "startTime"),
    (r#"{"frequency": "day", "endTime": ""}"#, "recurrence.endTime"),
    (r#"{"frequency": "day", "endTime": "never"}"#, "recurrence.endTime"),
    (r#"{"frequency": "day", "endTime": "2027-02-29T00:00:00Z"}"#, "recurrence.endTime"),
    // An end already past, by years and by the smallest step there is.
    (r#"{"frequency": "day", "endTime": "2020-01-01T00:00:00Z"}"#, "recurrence.endTime"),
    (r#"{"frequency": "day", "endTime": "2026-01-05T07:59:59.9999999Z"}"#, "recurrence.endTime"),
    (r#"{"cron": "* * * * *", "endTime": "2020-01-01T00:00:00Z"}"#, "recurrence.endTime"),

    // Frequency.
    (r#"{}"#, "recurrence.frequency"),
    (r#"{"interval": 1}"#, "recurrence.frequency"),
    (r#"{"frequency": ""}"#, "recurrence.frequency"),
    (r#"{"frequency": "second"}"#, "recurrence.frequency"),
    (r#"{"frequency": "fortnight"}"#, "recurrence.frequency"),
    (r#"{"frequency": "dayly"}"#, "recurrence.frequency"),
    (r#"{"frequency": "day "}"#, "recurrence.frequency"),

    // Interval, just outside its limits; inside them see below.
    (r#"{"frequency": "minute", "interval": 0}"#, "recurrence.interval"),
    (r#"{"frequency": "minute", "interval": -1}"#, "recurrence.interval"),
    (r#"{"frequency": "minute", "interval": 1001}"#, "recurrence.interval"),
    (r#"{"frequency": "hour", "interval": 0}"#, "recurrence.interval"),
    (r#"{"frequency": "hour", "interval": 1001}"#, "recurrence.interval"),
    (r#"{"frequency": "day", "interval": 0}"#, "recurrence.interval"),
    (r#"{"frequency": "day", "interval": 549}"#, "recurrence.interval"),
    (r#"{"frequency": "week", "interval": 0}"#, "recurrence.interval"),
    (r#"{"frequency": "week", "interval": 79}"#, "recurrence.interval"),
    (r#"{"frequency": "month", "interval": 0}"#, "recurrence.interval"),
    (r#"{"frequency": "month", "interval": 19}"#, "recurrence.interval"),
    (r#"{"frequency": "year", "interval": 0}"#, "recurrence.interval"),
    (r#"{"frequency": "year", "interval": 2}"#, "recurrence.interval"),
    (r#"{"frequency": "Days", "interval": 549}"#, "recurrence.interval"),
    (r#"{"frequency": "day", "interval": 9223372036854775807}"#, "recurrence.interval"),
    (r#"{"frequency": "day", "interval": -9223372036854775808}"#, "recurrence.interval"),

    // Count.
    (r#"{"frequency": "day", "count": 0}"#, "recurrence.count"),
    (r#"{"frequency": "day", "count": -1}"#, "recurrence.count"),
    (r#"{"frequency": "day", "count": 2147483648}"#, "recurrence.count"),
    (r#"{"frequency": "day", "count": 9223372036854775807}"#, "recurrence.count"),

    // Zones and clock changes.
    (r#"{"frequency": "day", "timeZone": ""}"#, "recurrence.timeZone"),
    (r#"{"frequency": "day", "timeZone": "Europe/Pariss"}"#, "recurrence.timeZone"),
    (r#"{"frequency": "day", "timeZone": "Mars/Olympus_Mons"}"#, "recurrence.timeZone"),
    (r#"{"frequency": "day", "timeZone": "Romance Standard"}"#, "recurrence.timeZone"),
    (r#"{"frequency": "day", "timeZone": "../../etc/passwd"}"#, "recurrence.timeZone"),
    (r#"{"frequency": "day", "timeZone": "Europe/Paris", "dst": {"gap": "jump"}}"#, "recurrence.dst.gap"),
    (r#"{"frequency": "day", "timeZone": "Europe/Paris", "dst": {"gap": "first"}}"#, "recurrence.dst.gap"),
    (r#"{"frequency": "day", "timeZone": "Europe/Paris", "dst": {"gap": ""}}"#, "recurrence.dst.gap"),
    (r#"{"frequency": "day", "timeZone": "Europe/Paris", "dst": {"fold": "second"}}"#, "recurrence.dst.fold"),
    (r#"{"frequency": "day", "timeZone": "Europe/Paris", "dst": {"fold": "skip"}}"#, "recurrence.dst.fold"),

    // Elements of a schedule: out of range, with the place of the bad one.
    (r#"{"frequency": "day", "schedule": {"minutes": [60]}}"#, "recurrence.schedule.minutes[0]"),
    (r#"{"frequency": "day", "schedule": {"minutes": [0, -1]}}"#, "recurrence.schedule.minutes[1]"),
    (r#"{"frequency": "hour", "schedule": {"minutes": [0, 59, 99]}}"#, "recurrence.schedule.minutes[2]"),
    (r#"{"frequency": "day", "schedule": {"hours": [24]}}"#, "recurrence.schedule.hours[0]"),
    (r#"{"frequency": "day", "schedule": {"hours": [23, -1]}}"#, "recurrence.schedule.hours[1]"),
    (r#"{"frequency": "week", "schedule": {"weekDays": ["payday"]}}"#, "recurrence.schedule.weekDays[0]"),
    (r#"{"frequency": "week", "schedule": {"weekDays": ["monday", ""]}}"#, "recurrence.schedule.weekDays[1]"),
    (r#"{"frequency": "month", "schedule": {"monthDays": [0]}}"#, "recurrence.schedule.monthDays[0]"),
    (r#"{"frequency": "month", "schedule": {"monthDays": [31, 32]}}"#, "recurrence.schedule.monthDays[1]"),
    (r#"{"frequency": "month", "schedule": {"monthDays": [-31, 1, -32]}}"#,
     "recurrence.schedule.monthDays[2]"),
    (r#"{"frequency": "year", "schedule": {"months": [0]}}"#, "recurrence.schedule.months[0]"),
    (r#"{"frequency": "year", "schedule": {"months": [12, 13]}}"#, "recurrence.schedule.months[1]"),
    (r#"{"frequency": "year", "schedule": {"months": [-1]}}"#, "recurrence.schedule.months[0]"),
    (r#"{"frequency": "month", "schedule": {"monthlyOccurrences": [{"day": "noday", "occurrence": 1}]}}"#,
     "recurrence.schedule.monthlyOccurrences[0].day"),
    (r#"{"frequency": "month", "schedule": {"monthlyOccurrences": [{"occurrence": 1}]}}"#,
     "recurrence.schedule.monthlyOccurrences[0].day"),
    (r#"{"frequency": "month", "schedule": {"monthlyOccurrences": [{"day": "friday", "occurrence": 0}]}}"#,
     "recurrence.schedule.monthlyOccurrences[0].occurrence"),
    (r#"{"frequency": "month", "schedule": {"monthlyOccurrences": [{"day": "friday", "occurrence": 6}]}}"#,
     "recurrence.schedule.monthlyOccurrences[0].occurrence"),
    (r#"{"frequency": "month", "schedule": {"monthlyOccurrences": [
        {"day": "friday"}, {"day": "friday", "occurrence": -6}]}}"#,
     "recurrence.schedule.monthlyOccurrences[1].occurrence"),

    // Empty lists.
    (r#"{"frequency": "day", "schedule": {"minutes": []}}"#, "recurrence.schedule.minutes"),
    (r#"{"frequency": "day", "schedule": {"hours": []}}"#, "recurrence.schedule.hours"),
    (r#"{"frequency": "week", "schedule": {"weekDays": []}}"#, "recurrence.schedule.weekDays"),
    (r#"{"frequency": "month", "schedule": {"monthDays": []}}"#, "recurrence.schedule.monthDays"),
    (r#"{"frequency": "month", "schedule": {"monthlyOccurrences": []}}"#,
     "recurrence.schedule.monthlyOccurrences"),
    (r#"{"frequency": "year", "schedule": {"months": []}}"#, "recurrence.schedule.months"),

    // Cron, and cron beside what it replaces.
    (r#"{"cron": ""}"#, "recurrence.cron"),
    (r#"{"cron": "* * * *"}"#, "recurrence.cron"),
    (r#"{"cron": "* * * * * *"}"#, "recurrence.cron"),
    (r#"{"cron": "60 * * * *"}"#, "recurrence.cron"),
    (r#"{"cron": "* 24 * * *"}"#, "recurrence.cron"),
    (r#"{"cron": "* * 0 * *"}"#, "recurrence.cron"),
    (r#"{"cron": "* * 32 * *"}"#, "recurrence.cron"),
    (r#"{"cron": "* * * 13 *"}"#, "recurrence.cron"),
    (r#"{"cron": "* * * * 8"}"#, "recurrence.cron"),
    (r#"{"cron": "* * * * friyay"}"#, "recurrence.cron"),
    (r#"{"cron": "*/0 * * * *"}"#, "recurrence.cron"),
    (r#"{"cron": "30-10 * * * *"}"#, "recurrence.cron"),
    (r#"{"cron": "1,,2 * * * *"}"#, "recurrence.cron"),
    (r#"{"cron": "-1 * * * *"}"#, "recurrence.cron"),
    (r#"{"cron": "* * * * 5#6"}"#, "recurrence.cron"),
    (r#"{"cron": "* * * * 5#0"}"#, "recurrence.cron"),
    (r#"{"cron": "L * * * *"}"#, "recurrence.cron"),
    (r#"{"cron": "* * * * *", "frequency": "day"}"#, "recurrence.cron"),
    (r#"{"cron": "* * * * *", "interval": 1}"#, "recurrence.interval"),
    (r#"{"cron": "* * * * *", "schedule": {"minutes": [5]}}"#, "recurrence.schedule"),
    (r#"{"cron": "* * * * *", "count": 0}"#, "recurrence.count"),
];

/// A job of the table: a recurrence alone stands for a job that starts soon.
fn job_of(asked: &str) -> String {
    let asked: Value = serde_json::from_str(asked).unwrap_or_else(|error| panic!("{error} in {asked}"));
    if asked.get("startTime").is_some() {
        asked.to_string()
    } else {
        json!({"startTime": "2026-01-05T08:07:00Z", "recurrence": asked}).to_string()
    }
}

#[test]
fn one_mistake_one_fault() {
    let distinct: BTreeSet<&str> = MISTAKES.iter().map(|(asked, _)| *asked).collect();
    assert_eq!(distinct.len(), MISTAKES.len(), "a row stands there twice");
    assert!(MISTAKES.len() >= 60);
    let mut wrong = Vec::new();
    for (asked, field) in MISTAKES {
        let job = job_of(asked);
        match Rule::build(&draft(&job), at(NOW)) {
            Ok(_) => wrong.push(format!("accepted: {job}")),
            Err(faults) => {
                let fields: Vec<&str> = faults.iter().map(|fault| fault.field.as_str()).collect();
                if fields != [*field] {
                    wrong.push(format!("{fields:?} instead of {field}: {job}"));
                }
                assert!(faults.iter().all(|fault| !fault.allowed.is_empty()), "{job}: {faults}");
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Section 4's last column, whole: what each frequency has no use for is refused, not ignored.
#[test]
fn elements_that_a_frequency_does_not_know() {
    let elements = [
        ("weekDays", json!(["monday"])),
        ("monthDays", json!([1])),
        ("monthlyOccurrences", json!([{"day": "monday", "occurrence": 1}])),
        ("months", json!([1])),
    ];
    for (frequency, refused) in [
        ("minute", vec!["weekDays", "monthDays", "monthlyOccurrences", "months"]),
        ("hour", vec!["weekDays", "monthDays", "monthlyOccurrences", "months"]),
        ("day", vec!["weekDays", "monthDays", "monthlyOccurrences", "months"]),
        ("week", vec!["monthDays", "monthlyOccurrences", "months"]),
        ("month", vec!["weekDays", "months"]),
        ("year", vec!["weekDays"]),
    ] {
        for (name, value) in &elements {
            let job = json!({"startTime": "2026-01-05T08:07:00Z", "recurrence": {
                "frequency": frequency, "schedule": {*name: value},
            }})
            .to_string();
            if refused.contains(name) {
                let faults = faults(&job);
                assert_eq!(faults.len(), 1, "{job}: {faults:?}");
                assert_eq!(faults[0].field, format!("recurrence.schedule.{name}"), "{job}");
            } else {
                assert!(Rule::build(&draft(&job), at(NOW)).is_ok(), "{job}");
            }
        }
    }
}

/// The other side of each limit.
#[test]
fn what_stands_just_inside_is_accepted() {
    for asked in [
        r#"{"frequency": "minute", "interval": 1000}"#,
        r#"{"frequency": "hour", "interval": 1000}"#,
        r#"{"frequency": "day", "interval": 548}"#,
        r#"{"frequency": "week", "interval": 78}"#,
        r#"{"frequency": "month", "interval": 18}"#,
        r#"{"frequency": "year", "interval": 1}"#,
        r#"{"frequency": "minute", "interval": 1}"#,
        r#"{"frequency": "day", "count": 1}"#,
        r#"{"frequency": "day", "count": 2147483647}"#,
        r#"{"frequency": "day", "endTime": "2026-01-05T08:07:00Z"}"#,
        r#"{"frequency": "day", "schedule": {"minutes": [0, 59], "hours": [0, 23]}}"#,
        r#"{"frequency": "month", "schedule": {"monthDays": [-31, -1, 1, 31]}}"#,
        r#"{"frequency": "month", "schedule": {"monthlyOccurrences": [
            {"day": "friday", "occurrence": -5}, {"day": "friday", "occurrence": 5}]}}"#,
        r#"{"frequency": "year", "schedule": {"months": [1, 12]}}"#,
        r#"{"cron": "59 23 31 12 7"}"#,
        r#"{"cron": "0 0 1 1 0", "count": 2147483647, "endTime": "2027-01-01T00:00:00Z"}"#,
    ] {
        let job = job_of(asked);
        if let Err(faults) = Rule::build(&draft(&job), at(NOW)) {
            panic!("{faults}\nin {job}");
        }
    }
    // An end at the moment of acceptance is not past: the job still runs at once.
    let job = json!({"recurrence": {"frequency": "day", "endTime": NOW}}).to_string();
    assert!(Rule::build(&draft(&job), at(NOW)).is_ok(), "{job}");
}

/// A rule that can never fire is refused rather than accepted and silent.
#[test]
fn rules_that_never_fire() {
    for (start, asked) in [
        (
            "2026-02-03T08:07:00Z",
            r#"{"frequency": "month", "interval": 12, "schedule": {"monthDays": [31]}}"#,
        ),
        (
            "2026-02-03T08:07:00Z",
            r#"{"frequency": "month", "interval": 12, "schedule": {"monthDays": [30]}}"#,
        ),
        (
            "2026-04-03T08:07:00Z",
            r#"{"frequency": "month", "interval": 6, "schedule": {"monthDays": [-31],
            "monthlyOccurrences": [{"day": "friday", "occurrence": 5}]}}"#,
        ),
        ("2026-01-05T08:07:00Z", r#"{"frequency": "year", "schedule": {"months": [2], "monthDays": [30]}}"#),
        (
            "2026-01-05T08:07:00Z",
            r#"{"frequency": "year", "schedule": {"months": [4, 6, 9, 11], "monthDays": [31]}}"#,
        ),
        (
            "2026-01-05T08:07:00Z",
            r#"{"frequency": "month", "schedule": {"monthDays": [1],
            "monthlyOccurrences": [{"day": "friday", "occurrence": 2}]}}"#,
        ),
        ("2026-01-05T08:07:00Z", r#"{"frequency": "minute", "interval": 60, "schedule": {"minutes": [30]}}"#),
        (
            "2026-01-05T08:07:00Z",
            r#"{"frequency": "minute", "interval": 10, "schedule": {"minutes": [0, 30]}}"#,
        ),
        ("2026-01-05T08:07:00Z", r#"{"frequency": "hour", "interval": 24, "schedule": {"hours": [5]}}"#),
        (
            "2026-01-05T08:07:00Z",
            r#"{"frequency": "hour", "interval": 2, "schedule": {"hours": [5], "minutes": [0]}}"#,
        ),
        ("2026-01-05T08:07:00Z", r#"{"cron": "0 0 30 2 *"}"#),
        ("2026-01-05T08:07:00Z", r#"{"cron": "0 0 31 4,6,9,11 *"}"#),
        // The end comes before the first occurrence.
        ("2026-01-05T08:07:00Z", r#"{"frequency": "day", "endTime": "2026-01-05T08:06:59Z"}"#),
        ("2026-03-01T08:07:00Z", r#"{"frequency": "day", "endTime": "2026-02-01T00:00:00Z"}"#),
        (
            "2026-01-05T08:07:00Z",
            r#"{"frequency": "week", "schedule": {"weekDays": ["sunday"]},
            "endTime": "2026-01-10T00:00:00Z"}"#,
        ),
        ("2026-01-05T08:07:00Z", r#"{"cron": "0 0 1 1 *", "endTime": "2026-12-31T23:59:59Z"}"#),
    ] {
        let recurrence: Value = serde_json::from_str(asked).unwrap();
        let job = json!({"startTime": start, "recurrence": recurrence}).to_string();
        let faults = faults(&job);
        assert!(!faults.is_empty());
        for fault in faults {
            assert!(fault.field.starts_with("recurrence."), "{job}: {fault}");
        }
    }
}

/// Without a start the job would run at once, and then never again: refused as well. An end that leaves just
/// the run at once is no mistake of the schedule.
#[test]
fn rules_that_never_fire_again() {
    for asked in [
        r#"{"frequency": "year", "schedule": {"months": [2], "monthDays": [30]}}"#,
        r#"{"frequency": "month", "schedule": {"monthDays": [1],
            "monthlyOccurrences": [{"day": "friday", "occurrence": 2}]}}"#,
        r#"{"frequency": "minute", "interval": 60, "schedule": {"minutes": [30]}}"#,
        r#"{"frequency": "hour", "interval": 24, "schedule": {"hours": [5]}}"#,
        r#"{"cron": "0 0 30 2 *"}"#,
    ] {
        let recurrence: Value = serde_json::from_str(asked).unwrap();
        let job = json!({"recurrence": recurrence}).to_string();
        for fault in faults(&job) {
            assert!(fault.field.starts_with("recurrence."), "{job}: {fault}");
        }
    }
    let job = json!({"recurrence": {
        "frequency": "day", "schedule": {"hours": [5]}, "endTime": "2026-01-05T12:00:00Z",
    }});
    let rule = Rule::build(&draft(&job.to_string()), at(NOW)).unwrap();
    assert_eq!(rule.occurrences().map(|run| run.at).collect::<Vec<_>>(), [at(NOW)]);
}

#[test]
fn all_the_faults_at_once() {
    let faults = faults(
        r#"{"startTime": "soon", "recurrence": {
            "frequency": "week", "interval": 79, "count": 0, "endTime": "later", "timeZone": "Nowhere",
            "dst": {"gap": "leap", "fold": "third"},
            "schedule": {
                "minutes": [0, 60, -1], "hours": [], "weekDays": ["monday", "dimanche"], "monthDays": [1],
                "monthlyOccurrences": [{"day": "friday", "occurrence": 1}], "months": [1]
            }
        }}"#,
    );
    let fields: BTreeSet<&str> = faults.iter().map(|fault| fault.field.as_str()).collect();
    let expected = BTreeSet::from([
        "startTime",
        "recurrence.interval",
        "recurrence.count",
        "recurrence.endTime",
        "recurrence.timeZone",
        "recurrence.dst.gap",
        "recurrence.dst.fold",
        "recurrence.schedule.minutes[1]",
        "recurrence.schedule.minutes[2]",
        "recurrence.schedule.hours",
        "recurrence.schedule.weekDays[1]",
        "recurrence.schedule.monthDays",
        "recurrence.schedule.monthlyOccurrences",
        "recurrence.schedule.months",
    ]);
    assert_eq!(fields, expected);
    assert_eq!(faults.len(), expected.len(), "each fault once: {faults:#?}");
}

/// A fault shows what was given, as JSON would write it, and `None` where something is missing.
#[test]
fn a_fault_shows_what_was_given() {
    for (asked, value) in [
        (r#"{}"#, None),
        (r#"{"frequency": "fortnight"}"#, Some(r#""fortnight""#)),
        (r#"{"frequency": "day", "interval": 549}"#, Some("549")),
        (r#"{"frequency": "day", "schedule": {"minutes": [0, 61]}}"#, Some("61")),
        (r#"{"frequency": "day", "timeZone": "Nowhere"}"#, Some(r#""Nowhere""#)),
        (r#"{"frequency": "month", "schedule": {"monthlyOccurrences": [{"occurrence": 1}]}}"#, None),
    ] {
        let faults = faults(&job_of(asked));
        assert_eq!(faults.len(), 1, "{asked}");
        assert_eq!(faults[0].value.as_deref(), value, "{asked}");
    }
}
