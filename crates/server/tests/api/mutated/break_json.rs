//! Documents, broken: first as trees, then as bytes.

use proptest::collection::vec;
use proptest::prelude::*;
use serde_json::{Map, Value, json};

/// A document, and what it is as bytes.
#[derive(Debug, Clone)]
pub(super) struct Broken {
    pub(super) bytes: Vec<u8>,
}

/// What is done to one place of a tree.
#[derive(Debug, Clone)]
enum Change {
    Drop,
    /// Again, under the same name in another case.
    Twice,
    Rename(String),
    Replace(Value),
    /// So many lists, or objects, around it.
    Nest(usize, bool),
    Add(String, Value),
}

/// What is done to the bytes.
#[derive(Debug, Clone)]
enum Damage {
    None,
    Cut(prop::sample::Index),
    Put(prop::sample::Index, Vec<u8>),
    /// What stands where a number, or anything else, stood.
    Literal(&'static str),
    Around(Vec<u8>, Vec<u8>),
}

pub(super) fn broken(documents: Vec<Value>) -> impl Strategy<Value = Broken> {
    let changes = vec((any::<prop::sample::Index>(), change()), 0..4);
    (prop::sample::select(documents), changes, damage()).prop_map(|(mut document, changes, damage)| {
        let mut literal = None;
        for (place, change) in changes {
            let places = places(&document);
            let place = &places[place.index(places.len())];
            apply(&mut document, place, change);
        }
        if let Damage::Literal(text) = damage {
            let places = places(&document);
            if let Some(value) = places.last().and_then(|place| document.pointer_mut(place)) {
                *value = MARK.into();
                literal = Some(text);
            }
        }
        let mut text = document.to_string();
        if let Some(literal) = literal {
            text = text.replace(&format!("\"{MARK}\""), literal);
        }
        Broken { bytes: damaged(text.into_bytes(), damage) }
    })
}

const MARK: &str = "the place of a literal";

fn damaged(mut bytes: Vec<u8>, damage: Damage) -> Vec<u8> {
    match damage {
        Damage::None | Damage::Literal(_) => bytes,
        Damage::Cut(at) => {
            bytes.truncate(at.index(bytes.len() + 1));
            bytes
        }
        Damage::Put(at, more) => {
            let at = at.index(bytes.len() + 1);
            bytes.splice(at..at, more);
            bytes
        }
        Damage::Around(before, after) => [before, bytes, after].concat(),
    }
}

/// The pointers of all values of a tree, the tree's own first.
fn places(value: &Value) -> Vec<String> {
    fn walk(value: &Value, at: &str, places: &mut Vec<String>) {
        places.push(at.to_owned());
        match value {
            Value::Object(members) => {
                for (name, value) in members {
                    walk(value, &format!("{at}/{}", name.replace('~', "~0").replace('/', "~1")), places);
                }
            }
            Value::Array(items) => {
                for (i, value) in items.iter().enumerate() {
                    walk(value, &format!("{at}/{i}"), places);
                }
            }
            _ => {}
        }
    }
    let mut places = Vec::new();
    walk(value, "", &mut places);
    places
}

fn apply(document: &mut Value, place: &str, change: Change) {
    let Some((parent, name)) = place.rsplit_once('/') else {
        return match change {
            Change::Replace(value) => *document = value,
            Change::Nest(depth, list) => *document = nested(document.clone(), depth, list),
            _ => {}
        };
    };
    let name = name.replace("~1", "/").replace("~0", "~");
    let Some(Value::Object(members)) = document.pointer_mut(parent) else {
        if let (Change::Replace(value), Some(item)) = (change, document.pointer_mut(place)) {
            *item = value;
        }
        return;
    };
    let swapped = |name: &str| -> String {
        name.chars()
            .map(|c| if c.is_ascii_lowercase() { c.to_ascii_uppercase() } else { c.to_ascii_lowercase() })
            .collect()
    };
    match change {
        Change::Drop => {
            members.remove(&name);
        }
        Change::Twice => {
            let value = members[&name].clone();
            members.insert(swapped(&name), value);
        }
        Change::Rename(new) => {
            let value = members.remove(&name).unwrap_or_default();
            members.insert(if new.is_empty() { swapped(&name) } else { new }, value);
        }
        Change::Replace(value) => members[&name] = value,
        Change::Nest(depth, list) => members[&name] = nested(members[&name].clone(), depth, list),
        Change::Add(name, value) => {
            members.insert(name, value);
        }
    }
}

fn nested(value: Value, depth: usize, list: bool) -> Value {
    (0..depth).fold(value, |inner, _| if list { json!([inner]) } else { json!({"errorAction": inner}) })
}

fn change() -> impl Strategy<Value = Change> {
    prop_oneof![
        2 => Just(Change::Drop),
        1 => Just(Change::Twice),
        1 => prop_oneof![Just(String::new()), text()].prop_map(Change::Rename),
        6 => value().prop_map(Change::Replace),
        1 => (prop_oneof![1..6_usize, Just(200)], any::<bool>()).prop_map(|(depth, list)| Change::Nest(depth, list)),
        1 => (text(), value()).prop_map(|(name, value)| Change::Add(name, value)),
    ]
}

fn value() -> impl Strategy<Value = Value> {
    let number = prop_oneof![
        (-3_i64..70).prop_map(Value::from),
        prop::sample::select(vec![
            json!(0),
            json!(-0.0),
            json!(0.5),
            json!(1e300),
            json!(1.0),
            json!(i64::MIN),
            json!(i64::MAX),
            json!(u64::MAX),
            json!(2_147_483_648_u64),
            json!(4_294_967_296_u64),
        ]),
        any::<f64>().prop_map(Value::from),
    ];
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        number,
        text().prop_map(Value::from),
    ];
    leaf.prop_recursive(2, 8, 4, |inner| {
        prop_oneof![
            vec(inner.clone(), 0..4).prop_map(Value::from),
            vec((text(), inner), 0..4).prop_map(|members| members.into_iter().collect::<Map<_, _>>().into()),
        ]
    })
}

/// Texts that mean something somewhere, and texts that mean nothing anywhere.
pub(super) fn text() -> impl Strategy<Value = String> {
    let known: Vec<String> = [
        "",
        " ",
        "null",
        "NaN",
        "Infinity",
        "true",
        "0",
        "-1",
        "Enabled",
        "DISABLED",
        "completed",
        "none",
        "fixed",
        "all",
        "minute",
        "Hour",
        "month",
        "YEAR",
        "second",
        "monday",
        "Free",
        "P20Premium",
        "Premium",
        "Http",
        "https",
        "Basic",
        "PT1M",
        "PT0S",
        "P99999999D",
        "00:00:14",
        "1.00:00:00",
        "99999999.00:00:00",
        "2027-02-30",
        "9999-12-31T23:59:59Z",
        "-0001-01-01",
        "2027-02-01T00:00:00.12345678901234567890Z",
        "0001-01-01T00:00:00",
        "2027-02-01T25:00:00Z",
        "UTC",
        "Europe/Berlin",
        "W. Europe Standard Time",
        "Nowhere/Land",
        "* * * * *",
        "0 0 30 2 *",
        "@daily",
        "* * * * * *",
        "0-59/0 * * * *",
        "http://",
        "http://[::1]:0/",
        "HTTPS://EXAMPLE.ORG",
        "http://a/\u{202e}b",
        "file:///etc/passwd",
        "\0",
        "\u{7f}",
        "\u{feff}",
        "\u{ffff}",
        "\u{10ffff}",
        "e\u{301}\u{301}",
        "İ",
        "ß",
        "\r\nx: y",
        "\"",
        "\\",
        "/",
        "~",
        "%00",
        "../..",
        "properties",
        "action",
        "state",
        "STATUS",
        "errorAction",
        "authentication",
        "cron",
        "frequency",
        "tags",
    ]
    .map(str::to_owned)
    .into();
    prop_oneof![
        6 => prop::sample::select(known),
        1 => any::<String>(),
        1 => (prop::sample::select(vec!["x", "é", "😀", "\u{0}", "\""]), prop::sample::select(vec![101_usize, 2049, 8193, 20_000]))
            .prop_map(|(letter, times)| letter.repeat(times)),
    ]
}

fn damage() -> impl Strategy<Value = Damage> {
    let bytes = prop_oneof![
        prop::sample::select(vec![
            vec![0xff],
            vec![0xc3],
            vec![0xed, 0xa0, 0x80],
            vec![0],
            b",".to_vec(),
            b"//".to_vec(),
            b"\\ud800".to_vec(),
            b"\"".to_vec(),
            b"}".to_vec(),
            b"[".to_vec(),
            "\u{feff}".as_bytes().to_vec(),
            "“".as_bytes().to_vec(),
        ]),
        vec(any::<u8>(), 1..4),
    ];
    let literals = prop::sample::select(vec![
        "NaN",
        "-Infinity",
        "1e400",
        "-1e400",
        "00",
        "0x10",
        "1_000",
        ".5",
        "1.",
        "--1",
        "1e",
        "undefined",
        "True",
        "'a'",
        "\"\\ud800\"",
        "\"\\x\"",
        "99999999999999999999999999999999",
        "1.0000000000000000000000000001",
        "{\"a\":1,\"a\":2}",
        "",
    ]);
    let before = prop::sample::select(vec![
        vec![],
        "\u{feff}".as_bytes().to_vec(),
        vec![0xff, 0xfe],
        b"[".repeat(5000),
        vec![b' '; 70_000],
    ]);
    let after = prop::sample::select(vec![
        vec![],
        b" ".to_vec(),
        b"{}".to_vec(),
        b",".to_vec(),
        vec![0],
        b"\n// end".to_vec(),
    ]);
    prop_oneof![
        12 => Just(Damage::None),
        1 => any::<prop::sample::Index>().prop_map(Damage::Cut),
        1 => (any::<prop::sample::Index>(), bytes).prop_map(|(at, bytes)| Damage::Put(at, bytes)),
        1 => literals.prop_map(Damage::Literal),
        1 => (before, after).prop_map(|(before, after)| Damage::Around(before, after)),
    ]
}
