//! What must hold for every input, on random ones: the checks that the fuzz targets make, with a stable compiler.

use proptest::collection::vec;
use proptest::prelude::*;
use serde_json::{Map, Value};

#[path = "../../../fuzz/src/lib.rs"]
#[allow(unreachable_pub, dead_code, reason = "a library for the fuzz targets, a module here")]
mod checks;

/// Names and words of the API, so that random trees mean something now and then.
const NAMES: &[&str] = &[
    "properties",
    "startTime",
    "recurrence",
    "action",
    "state",
    "frequency",
    "interval",
    "count",
    "endTime",
    "schedule",
    "cron",
    "timeZone",
    "dst",
    "gap",
    "fold",
    "minutes",
    "minute",
    "hours",
    "hour",
    "weekDays",
    "weekDay",
    "monthDays",
    "monthDay",
    "monthlyOccurrences",
    "monthlyOccurrence",
    "months",
    "month",
    "day",
    "occurrence",
    "Interval",
    "FREQUENCY",
    "Schedule",
];
const WORDS: &[&str] = &[
    "day",
    "Week",
    "month",
    "year",
    "minute",
    "hour",
    "friday",
    "Monday",
    "2027-03-28T02:30:00Z",
    "2030-01-01",
    "Europe/Paris",
    "skip",
    "both",
    "*/15 * * * *",
    "0 0 L * *",
    "disabled",
    "",
];

fn name() -> impl Strategy<Value = String> {
    prop_oneof![8 => proptest::sample::select(NAMES).prop_map(str::to_owned), 1 => any::<String>()]
}

fn tree() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        1 => Just(Value::Null),
        1 => any::<bool>().prop_map(Value::from),
        6 => (-40_i64..70).prop_map(Value::from),
        1 => any::<i64>().prop_map(Value::from),
        1 => any::<u64>().prop_map(Value::from),
        1 => any::<f64>().prop_map(Value::from),
        6 => proptest::sample::select(WORDS).prop_map(Value::from),
        1 => any::<String>().prop_map(Value::from),
    ];
    leaf.prop_recursive(5, 60, 8, |inner| {
        prop_oneof![
            1 => vec(inner.clone(), 0..4).prop_map(Value::Array),
            3 => vec((name(), inner), 0..9).prop_map(|members| Value::Object(Map::from_iter(members))),
        ]
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn bytes(bytes in vec(any::<u8>(), 0..200)) {
        checks::check_document(&bytes);
    }

    #[test]
    fn texts(text in r#"[{}\[\]:,"'/#*a-z0-9.\-+ \n\\\u{feff}“é]{0,60}"#) {
        checks::check_document(text.as_bytes());
    }

    #[test]
    fn trees(tree in tree()) {
        checks::check_document(tree.to_string().as_bytes());
    }

    /// Wherever a document is cut off or scratched, the fault points into it.
    #[test]
    fn damaged_documents(tree in tree(), at in any::<prop::sample::Index>(), byte in any::<u8>(), cut in any::<bool>()) {
        let mut bytes = serde_json::to_vec_pretty(&tree).expect("a tree is JSON");
        let at = at.index(bytes.len());
        if cut { bytes.truncate(at) } else { bytes[at] = byte }
        checks::check_document(&bytes);
    }

    #[test]
    fn drafts(bytes in vec(any::<u8>(), 0..120)) {
        checks::check_choices(&bytes);
    }
}
