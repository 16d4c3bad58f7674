//! Enum values in PascalCase, for clients that read nothing else; and nothing else changes with them.

mod common;

use common::{answer, job, path, read};
use model::{Collection, HistoryEntry, HistoryStatus, JobState, Plans};
use serde_json::{Value, json};
use wire::dialect::{Dialect, EnumCase};
use wire::version::Version;

const PASCAL: Dialect = Dialect { enum_case: EnumCase::Pascal, version: Version::V2016_03_01 };

/// A job that has every enum value which the two cases write differently, beside texts that only look like them.
fn body() -> Value {
    let decoys = json!({"state": "enabled", "day": "monday", "frequency": "week", "retryType": "fixed"});
    json!({"properties": {
        "action": {
            "type": "servicebusqueue",
            "serviceBusQueueMessage": {
                "queueName": "enabled", "namespace": "monday", "transportType": "amqp", "message": "fixed",
                "authentication": {"type": "sharedaccesskey", "sasKeyName": "fixed", "sasKey": "k"},
                "customMessageProperties": decoys,
            },
            "retryPolicy": {"retryType": "fixed", "retryCount": 2},
            "errorAction": {
                "type": "http",
                "request": {"uri": "http://example.org", "method": "get", "headers": decoys, "body": "none"},
                "retryPolicy": {"retryType": "none"},
                "errorAction": {
                    "type": "servicebustopic",
                    "serviceBusTopicMessage": {"topicPath": "t", "namespace": "n", "transportType": "netmessaging"},
                },
            },
        },
        "recurrence": {"frequency": "month", "schedule": {
            "monthlyOccurrences": [{"day": "friday", "occurrence": -1}], "hours": [5],
        }},
        "catchUp": {"policy": "all", "max": 3},
        "overlap": "queue",
        "state": "disabled",
    }})
}

/// What differs, by path.
fn differences(azure: &Value, pascal: &Value, path: &str, found: &mut Vec<(String, String, String)>) {
    match (azure, pascal) {
        (Value::Object(azure), Value::Object(pascal)) => {
            assert!(azure.keys().eq(pascal.keys()), "{path}");
            azure.iter().for_each(|(name, value)| {
                differences(value, &pascal[name], &format!("{path}/{name}"), found);
            });
        }
        (Value::Array(azure), Value::Array(pascal)) => {
            assert_eq!(azure.len(), pascal.len(), "{path}");
            azure.iter().zip(pascal).for_each(|(azure, pascal)| differences(azure, pascal, path, found));
        }
        (azure, pascal) if azure != pascal => {
            let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
            found.push((path.to_owned(), text(azure), text(pascal)));
        }
        _ => {}
    }
}

#[test]
fn every_enum_value_of_a_job_and_nothing_else() {
    let job = job("j", &read(&body()));
    let pascal = wire::job::write(&path(), &job, PASCAL);
    let mut found = Vec::new();
    differences(&answer(&body()), &pascal, "", &mut found);
    let expected = [
        ("action/serviceBusQueueMessage/transportType", "amqp", "AMQP"),
        ("action/serviceBusQueueMessage/authentication/type", "sharedAccessKey", "SharedAccessKey"),
        ("action/retryPolicy/retryType", "fixed", "Fixed"),
        ("action/errorAction/retryPolicy/retryType", "none", "None"),
        (
            "action/errorAction/errorAction/serviceBusTopicMessage/transportType",
            "netMessaging",
            "NetMessaging",
        ),
        ("recurrence/frequency", "month", "Month"),
        ("recurrence/schedule/monthlyOccurrences/day", "friday", "Friday"),
        ("catchUp/policy", "all", "All"),
        ("overlap", "queue", "Queue"),
        ("state", "disabled", "Disabled"),
    ];
    let expected = expected
        .map(|(path, azure, pascal)| (format!("/properties/{path}"), azure.to_owned(), pascal.to_owned()));
    assert_eq!(found, expected);
    // What was answered can be sent back.
    let back =
        wire::job::patch(&job.definition, job.state, &pascal, common::now()).expect("an answer is a body");
    assert_eq!(wire::job::write(&path(), &common::job("j", &back.request), PASCAL), pascal);
}

#[test]
fn every_state_frequency_and_day() {
    for state in JobState::ALL {
        let mut job = job("j", &read(&body()));
        job.state = state;
        let word = wire::job::write(&path(), &job, PASCAL)["properties"]["state"].clone();
        assert!(["Enabled", "Disabled", "Completed", "Faulted"].contains(&word.as_str().unwrap_or_default()));
    }
    let days = ["Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"];
    for frequency in ["Minute", "Hour", "Day", "Week", "Month", "Year"] {
        let mut body = body();
        let recurrence = &mut body["properties"]["recurrence"];
        *recurrence = json!({"frequency": frequency.to_lowercase()});
        if frequency == "Week" {
            recurrence["schedule"] = json!({"weekDays": days.map(str::to_lowercase)});
        }
        let pascal = wire::job::write(&path(), &job("j", &read(&body)), PASCAL);
        let recurrence = &pascal["properties"]["recurrence"];
        assert_eq!(recurrence["frequency"], frequency);
        if frequency == "Week" {
            assert_eq!(recurrence["schedule"]["weekDays"], json!(days));
        }
    }
}

#[test]
fn collections_and_histories() {
    let body = json!({"properties": {"quota": {"maxRecurrence": {"frequency": "week", "interval": 2}}}});
    let request = wire::collection::read(&body, None, &Plans::default()).expect("valid");
    let collection: Collection = request.collection(path());
    let answer = |dialect| wire::collection::write(&collection, dialect);
    let mut found = Vec::new();
    differences(&answer(Dialect::default()), &answer(PASCAL), "", &mut found);
    let frequency = "/properties/quota/maxRecurrence/frequency".to_owned();
    assert_eq!(found, [(frequency, "week".to_owned(), "Week".to_owned())]);

    let at = common::now();
    for (status, word) in [
        (HistoryStatus::Failed, json!("Failed")),
        (HistoryStatus::Postponed, json!("Postponed")),
        // Left out in either case.
        (HistoryStatus::Completed, Value::Null),
    ] {
        let entry = HistoryEntry {
            started_at: at,
            ended_at: at,
            expected_at: at,
            depth: 0,
            status,
            message: "failed".into(),
            retry_count: 0,
            repeat_count: 1,
        };
        let written = wire::history::write(&path(), "j", 1, &entry, PASCAL);
        assert_eq!(written["properties"]["status"], word);
        assert_eq!(written["properties"]["message"], "failed");
        assert_eq!(written["properties"]["actionName"], "MainAction");
    }
}
