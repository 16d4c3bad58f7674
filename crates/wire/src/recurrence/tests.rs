use ::recurrence::{Draft, DstDraft, MonthlyOccurrenceDraft, RecurrenceDraft, ScheduleDraft};
use serde_json::{Value, json};

use super::*;

const NOW: &str = "2027-01-01T00:00:00Z";

fn reading(document: &Value) -> Reading {
    read(document, recognise(document).unwrap_or_else(|fault| panic!("{document}: {fault}")))
}

/// The faults of a document, as they are shown.
fn faults(document: &Value) -> Vec<String> {
    match reading(document).rule(NOW.parse().expect("a timestamp")) {
        Ok(_) => Vec::new(),
        Err(faults) => faults.iter().map(ToString::to_string).collect(),
    }
}

/// The recurrence that a document asks for.
fn asked(recurrence: Value) -> RecurrenceDraft {
    let document = json!({ "recurrence": recurrence });
    assert_eq!(faults(&document), [""; 0], "{document}");
    reading(&document).draft().recurrence.clone().expect("a recurrence")
}

#[test]
fn shapes_are_told_apart() {
    for (document, shape) in [
        (json!({"properties": {}}), Shape::Job),
        (json!({"PROPERTIES": 5, "frequency": "day"}), Shape::Job),
        (json!({"startTime": null}), Shape::Properties),
        (json!({"recurrence": null}), Shape::Properties),
        (json!({"properties": null, "recurrence": {}}), Shape::Properties),
        (json!({"Recurrence": {}, "frequency": "day"}), Shape::Properties),
        (json!({"action": {}}), Shape::Properties),
        (json!({"state": "enabled"}), Shape::Properties),
        (json!({"frequency": "day"}), Shape::Recurrence),
        (json!({"FREQUENCY": null}), Shape::Recurrence),
        (json!({"cron": "@daily", "startTime": "2027-01-01"}), Shape::Recurrence),
    ] {
        assert_eq!(recognise(&document), Ok(shape), "{document}");
    }
    for (document, shown) in [
        (json!({}), "an object without"),
        (json!({"name": "a/b", "frequenzy": "day"}), "an object without"),
        (json!({"properties": null}), "an object without"),
        (json!([{"frequency": "day"}]), "a list"),
        (json!("day"), "\"day\""),
        (json!(5), "5"),
        (json!(null), "null"),
    ] {
        let fault = recognise(&document).expect_err("no shape").to_string();
        assert!(fault.starts_with(&format!("document: {shown}")), "{fault}");
        assert!(fault.contains("a job"), "{fault}");
    }
}

#[test]
fn every_member_finds_its_place() {
    let document = json!({"properties": {"startTime": "2027-02-01", "state": "Disabled", "recurrence": {
        "frequency": "year", "interval": 1, "count": 2, "endTime": "2037-01-01", "timeZone": "Europe/Paris",
        "dst": {"gap": "skip", "fold": "both"},
        "schedule": {
            "minutes": [1, 2], "hours": [3], "monthDays": [4, -1], "months": [5],
            "monthlyOccurrences": [{"day": "friday", "occurrence": 1}, {"day": "monday"}],
        },
    }}});
    let monthly = |day: &str, occurrence| MonthlyOccurrenceDraft { day: Some(day.into()), occurrence };
    let draft = Draft {
        start_time: Some("2027-02-01".into()),
        recurrence: Some(RecurrenceDraft {
            frequency: Some("year".into()),
            interval: Some(1),
            count: Some(2),
            end_time: Some("2037-01-01".into()),
            schedule: Some(ScheduleDraft {
                minutes: Some(vec![1, 2]),
                hours: Some(vec![3]),
                week_days: None,
                month_days: Some(vec![4, -1]),
                monthly_occurrences: Some(vec![monthly("friday", Some(1)), monthly("monday", None)]),
                months: Some(vec![5]),
            }),
            cron: None,
            time_zone: Some("Europe/Paris".into()),
            dst: Some(DstDraft { gap: Some("skip".into()), fold: Some("both".into()) }),
        }),
    };
    let job = reading(&document);
    assert_eq!(job.draft(), &draft);
    assert_eq!(job.state(), Some("Disabled"));
    assert_eq!(job.ignored(), [""; 0]);
    assert_eq!(reading(&document["properties"]).draft(), &draft);
    let bare = reading(&document["properties"]["recurrence"]);
    assert_eq!(bare.draft(), &Draft { start_time: None, ..draft });
    assert_eq!(asked(json!({"cron": "@daily"})).cron.as_deref(), Some("@daily"));
    let weekly = asked(json!({"frequency": "week", "schedule": {"weekDays": ["monday", "Friday"]}}));
    assert_eq!(weekly.schedule.and_then(|s| s.week_days), Some(vec!["monday".into(), "Friday".into()]));
}

#[test]
fn names_in_any_case_and_one_value_for_a_list() {
    let expected = asked(json!({"frequency": "month", "schedule": {
        "minutes": [5], "hours": [6], "monthDays": [7], "monthlyOccurrences": [{"day": "friday", "occurrence": 1}],
    }}));
    for schedule in [
        json!({"minute": 5, "hour": 6, "monthDay": 7, "monthlyOccurrence": {"day": "friday", "Occurrence": 1}}),
        json!({"MINUTE": [5], "hour": [6], "MonthDay": [7], "MonthlyOccurrence": [{"Day": "friday", "occurrence": 1}]}),
        json!({"minutes": 5.0, "hours": 6e0, "monthDays": 7, "monthlyOccurrences": {"day": "friday", "occurrence": 1.0}}),
        json!({"minutes": 5, "minute": null, "hours": 6, "weekDays": null, "monthDays": 7, "MINUTES": null,
               "monthlyOccurrences": {"day": "friday", "occurrence": 1, "Occurrence": null}}),
    ] {
        assert_eq!(asked(json!({"Frequency": "month", "SCHEDULE": schedule})), expected, "{schedule}");
    }
    let months = asked(json!({"frequency": "year", "schedule": {"month": 2}}));
    assert_eq!(months.schedule.and_then(|schedule| schedule.months), Some(vec![2]));
    let days = asked(json!({"frequency": "week", "schedule": {"weekday": "friday"}}));
    assert_eq!(days.schedule.and_then(|schedule| schedule.week_days), Some(vec!["friday".into()]));
}

#[test]
fn null_is_absent() {
    assert_eq!(reading(&json!({"startTime": null, "recurrence": null})).draft(), &Draft::default());
    let nothing_but_nulls = json!({"frequency": "day", "interval": null, "count": null, "endTime": null,
        "schedule": null, "cron": null, "timeZone": null, "dst": null});
    let day = RecurrenceDraft { frequency: Some("day".into()), ..Default::default() };
    assert_eq!(asked(nothing_but_nulls), day);
    assert_eq!(asked(json!({"frequency": "day", "schedule": {}})).schedule, Some(ScheduleDraft::default()));
}

#[test]
fn every_fault_has_the_path_that_the_document_has() {
    for (document, expected) in [
        (
            json!({"properties": {"recurrence": {"frequency": "day", "interval": 0}}}),
            "properties.recurrence.interval: 0 is not allowed",
        ),
        (json!({"recurrence": {"frequency": "day", "interval": 0}}), "recurrence.interval: 0 is not allowed"),
        (json!({"frequency": "day", "interval": 0}), "interval: 0 is not allowed"),
        (
            json!({"Properties": {"RECURRENCE": {"frequency": "day", "Interval": 0}}}),
            "Properties.RECURRENCE.Interval: 0 is not allowed",
        ),
        (json!({"properties": {"recurrence": {}}}), "properties.recurrence.frequency: missing"),
        (json!({"recurrence": {}}), "recurrence.frequency: missing"),
        (json!({"properties": {"STARTtime": "x"}}), "properties.STARTtime: \"x\" is not allowed"),
        (json!({"startTime": 5}), "startTime: 5 is not allowed here; allowed: an ISO 8601"),
        // One value, one of a list, a singular name.
        (json!({"frequency": "day", "schedule": {"minutes": 60}}), "schedule.minutes: 60 is not allowed"),
        (
            json!({"frequency": "day", "schedule": {"minutes": [0, 60]}}),
            "schedule.minutes[1]: 60 is not allowed",
        ),
        (json!({"frequency": "day", "schedule": {"Minute": 60}}), "schedule.Minute: 60 is not allowed"),
        (
            json!({"frequency": "day", "schedule": {"minute": [0, 60]}}),
            "schedule.minute[1]: 60 is not allowed",
        ),
        (
            json!({"frequency": "month", "schedule": {"monthlyOccurrence": {"Day": "frday"}}}),
            "schedule.monthlyOccurrence.Day: \"frday\" is not allowed",
        ),
        (
            json!({"frequency": "month", "schedule": {"monthlyOccurrences": [{"occurrence": 1}]}}),
            "schedule.monthlyOccurrences[0].day: missing",
        ),
        (
            json!({"frequency": "month", "schedule": {"monthlyOccurrences": [{"day": "friday", "Occurrence": 0}]}}),
            "schedule.monthlyOccurrences[0].Occurrence: 0 is not allowed",
        ),
    ] {
        let found = faults(&document);
        assert_eq!(found.len(), 1, "{document}: {found:?}");
        assert!(found[0].starts_with(expected), "{document}: {found:?}");
    }
}

/// Each wrong type is one fault, and no other fault follows from it.
#[test]
fn wrong_types() {
    let whole = |most| format!("a whole number from 0 to {most}");
    for (recurrence, expected, allowed) in [
        (json!(5), "recurrence: 5 is", "an object such as".into()),
        (json!("day"), "recurrence: \"day\" is", "an object such as".into()),
        (json!([{"frequency": "day"}]), "recurrence: a list is", "an object such as".into()),
        (json!(false), "recurrence: false is", "an object such as".into()),
        (json!({"frequency": 1}), "recurrence.frequency: 1 is", "minute, hour, day".into()),
        (json!({"frequency": ["day"]}), "recurrence.frequency: a list is", "minute, hour, day".into()),
        (
            json!({"frequency": "day", "interval": "2"}),
            "recurrence.interval: \"2\" is",
            "from 1 to 548".into(),
        ),
        (json!({"frequency": "day", "interval": 1.5}), "recurrence.interval: 1.5 is", "from 1 to 548".into()),
        (
            json!({"frequency": "day", "interval": true}),
            "recurrence.interval: true is",
            "from 1 to 548".into(),
        ),
        (
            json!({"frequency": "day", "interval": 1e300}),
            "recurrence.interval: 1e+300 is",
            "from 1 to 548".into(),
        ),
        (
            json!({"frequency": "day", "interval": u64::MAX}),
            "recurrence.interval: 18446744073709551615 is",
            "from 1 to 548".into(),
        ),
        (json!({"frequency": "day", "count": {}}), "recurrence.count: an object is", "a whole number".into()),
        (
            json!({"frequency": "day", "endTime": 20270101}),
            "recurrence.endTime: 20270101 is",
            "ISO 8601".into(),
        ),
        (json!({"frequency": "day", "timeZone": 1}), "recurrence.timeZone: 1 is", "Europe/Paris".into()),
        (json!({"frequency": "day", "schedule": 5}), "recurrence.schedule: 5 is", "an object such as".into()),
        (
            json!({"frequency": "day", "schedule": []}),
            "recurrence.schedule: a list is",
            "an object such as".into(),
        ),
        (
            json!({"frequency": "day", "dst": "skip"}),
            "recurrence.dst: \"skip\" is",
            "an object such as".into(),
        ),
        (
            json!({"frequency": "day", "dst": {"gap": true}}),
            "recurrence.dst.gap: true is",
            "shift or skip".into(),
        ),
        (
            json!({"frequency": "day", "schedule": {"minutes": "5"}}),
            "recurrence.schedule.minutes: \"5\" is",
            whole(59),
        ),
        (
            json!({"frequency": "day", "schedule": {"minutes": [0, null]}}),
            "recurrence.schedule.minutes[1]: null is",
            whole(59),
        ),
        (
            json!({"frequency": "day", "schedule": {"hour": [[1]]}}),
            "recurrence.schedule.hour[0]: a list is",
            whole(23),
        ),
        (
            json!({"frequency": "day", "schedule": {"hours": [1, 2.5]}}),
            "recurrence.schedule.hours[1]: 2.5 is",
            whole(23),
        ),
        (
            json!({"frequency": "week", "schedule": {"weekDays": [1]}}),
            "recurrence.schedule.weekDays[0]: 1 is",
            "Monday, Tuesday".into(),
        ),
        (
            json!({"frequency": "month", "schedule": {"monthDays": "last"}}),
            "recurrence.schedule.monthDays: \"last\" is",
            "-1 (the month's last day)".into(),
        ),
        (
            json!({"frequency": "month", "schedule": {"monthlyOccurrences": "friday"}}),
            "recurrence.schedule.monthlyOccurrences: \"friday\" is",
            "an object such as".into(),
        ),
        (
            json!({"frequency": "month", "schedule": {"monthlyOccurrences": [{"day": "friday", "occurrence": "1"}]}}),
            "recurrence.schedule.monthlyOccurrences[0].occurrence: \"1\" is",
            "1 to 5".into(),
        ),
        (
            json!({"frequency": "month", "schedule": {"monthlyOccurrences": [{"day": 5}]}}),
            "recurrence.schedule.monthlyOccurrences[0].day: 5 is",
            "Monday, Tuesday".into(),
        ),
        (json!({"cron": 5}), "recurrence.cron: 5 is", "a text of five fields".into()),
        (
            json!({"cron": ["@daily"], "frequency": "day"}),
            "recurrence.cron: a list is",
            "a text of five".into(),
        ),
        (
            json!({"cron": "@daily", "interval": "2"}),
            "recurrence.interval: \"2\" is",
            "no interval beside cron".into(),
        ),
        // Twice: in two spellings, or once for one and once for many.
        (
            json!({"frequency": "day", "interval": 1, "Interval": 1}),
            "recurrence.Interval: interval beside Interval is",
            "only one of them".into(),
        ),
        (
            json!({"frequency": "day", "schedule": {"minutes": [1], "minute": 2}}),
            "recurrence.schedule.minute: minutes beside minute is",
            "only one of them".into(),
        ),
        (
            json!({"frequency": "day", "schedule": {"hour": 1}, "Schedule": {}}),
            "recurrence.Schedule: schedule beside Schedule is",
            "only one of them".into(),
        ),
        (
            json!({"frequency": "day", "FREQUENCY": "week"}),
            "recurrence.FREQUENCY: frequency beside FREQUENCY is",
            "only one of them".into(),
        ),
    ] {
        let found = faults(&json!({ "recurrence": recurrence }));
        assert_eq!(found.len(), 1, "{recurrence}: {found:?}");
        assert!(found[0].starts_with(expected), "{recurrence}: {found:?}");
        assert!(
            found[0].split("allowed: ").nth(1).is_some_and(|end| end.contains(&allowed)),
            "{recurrence}: {found:?}"
        );
    }
}

#[test]
fn wrong_documents() {
    let found = |document: Value, shape| {
        let faults = read(&document, shape).rule(NOW.parse().expect("a timestamp")).expect_err("faults");
        faults.iter().map(|fault| fault.field.clone()).collect::<Vec<_>>()
    };
    for shape in [Shape::Job, Shape::Properties, Shape::Recurrence] {
        assert_eq!(found(json!([]), shape), [DOCUMENT]);
    }
    assert_eq!(found(json!({"properties": []}), Shape::Job), ["properties"]);
    assert_eq!(found(json!({"name": "a"}), Shape::Job), ["properties"]);
    assert_eq!(found(json!({"properties": {}, "Properties": {}}), Shape::Job), ["Properties"]);
}

#[test]
fn all_faults_at_once_in_the_order_of_the_members() {
    let document = json!({"properties": {"startTime": "tomorrow", "recurrence": {
        "schedule": {"hours": ["x", 24, 1], "weekDays": "friday", "minutes": 1.5},
        "frequency": "day", "interval": true, "count": 0,
    }}});
    let fields: Vec<_> = faults(&document)
        .iter()
        .map(|fault| fault.split(": ").next().unwrap_or_default().replace("properties.", ""))
        .collect();
    assert_eq!(
        fields,
        [
            "startTime",
            "recurrence.interval",
            "recurrence.schedule.weekDays",
            "recurrence.schedule.minutes",
            "recurrence.schedule.hours[0]",
            "recurrence.schedule.hours[1]",
            "recurrence.count",
        ]
    );
    // A schedule beside cron is not looked into, but its wrong types were seen.
    let found = faults(&json!({"cron": "@daily", "schedule": {"minutes": ["x"]}}));
    assert_eq!(found.len(), 2, "{found:?}");
}

/// The start is unknown, so whether the rule ever fires is unknown as well.
#[test]
fn nothing_is_concluded_from_a_wrong_value() {
    let never_from_february = json!({"frequency": "month", "interval": 12, "schedule": {"monthDays": [31]}});
    let found = faults(&json!({"startTime": "2027-02-01", "recurrence": never_from_february}));
    assert!(found[0].contains("never fires"), "{found:?}");
    let found = faults(&json!({"startTime": 20270201, "recurrence": never_from_february}));
    assert_eq!(found.len(), 1, "{found:?}");
    assert!(found[0].starts_with("startTime"), "{found:?}");
}

#[test]
fn unknown_members_are_ignored_and_named() {
    let document = json!({"location": "x", "properties": {"starttime": null, "tags": {}, "recurrence": {
        "frequency": "month", "freqency": 1, "a.b": 1, "x\u{1b}[31m": 1, "": 1, "schedule": {
            "minuets": [], "monthlyOccurrences": [{"day": "friday", "nth": 1}],
        },
        "dst": {"gaps": 1},
    }}});
    assert_eq!(faults(&document), [""; 0]);
    assert_eq!(
        reading(&document).ignored(),
        [
            "location",
            "properties.tags",
            "properties.recurrence.freqency",
            r#"properties.recurrence["a.b"]"#,
            r#"properties.recurrence["x\u{1b}[31m"]"#,
            r#"properties.recurrence[""]"#,
            "properties.recurrence.schedule.minuets",
            "properties.recurrence.schedule.monthlyOccurrences[0].nth",
            "properties.recurrence.dst.gaps",
        ]
    );
    assert_eq!(reading(&json!({"frequency": "day", "startTime": "2027-01-01"})).ignored(), ["startTime"]);
    assert_eq!(
        reading(&json!({"startTime": "2027-02-01", "catchUp": {}, "action": {"x": 1}})).ignored(),
        [""; 0]
    );
}

/// As many faults as fit into a document are still found in no time.
#[test]
fn many_faults_take_no_longer_than_their_number() {
    let document = json!({"frequency": "day", "schedule": {"minutes": vec!["x"; 30_000]}});
    assert_eq!(faults(&document).len(), 30_000);
}
