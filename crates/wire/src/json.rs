//! Text to tree: JSON, and when it is not JSON, where and why.
//!
//! People copy jobs out of documents that print JSON with comments, trailing commas and curly quotes. None of that is
//! read; the fault points at the place and says what to do about it. How large a text may be is for the caller to say,
//! before the bytes are read.
//!
//! ```
//! let fault = wire::json::read(b"{\n  \"interval\": 2, // every other day\n}").unwrap_err();
//! assert_eq!((fault.line, fault.column), (2, 18));
//! assert_eq!(fault.problem, "JSON has no comments: remove it");
//! assert_eq!(fault.pointer, "  2 |   \"interval\": 2, // every other day\n    |                  ^");
//! ```

mod hints;
#[cfg(test)]
mod tests;

use std::fmt;

use serde::de::{Deserialize, Deserializer, Error as _, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Number, Value};

/// A text that is not JSON.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TextFault {
    /// Counted from 1.
    pub line: usize,
    /// In characters, counted from 1.
    pub column: usize,
    /// What is wrong and what to do about it.
    pub problem: String,
    /// The line and a caret below it; empty where there is nothing to show. It repeats what the document says, which
    /// may be a secret: show it to whoever sent the document and to nobody else.
    pub pointer: String,
}

impl fmt::Display for TextFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}, column {}: {}", self.line, self.column, self.problem)
    }
}

impl std::error::Error for TextFault {}

/// Reads a document. Names that an object has twice are a fault; a byte order mark at the start is not.
pub fn read(bytes: &[u8]) -> Result<Value, TextFault> {
    // Editors put the mark there unseen, and RFC 8259 lets readers ignore it.
    let bytes = bytes.strip_prefix("\u{feff}".as_bytes()).unwrap_or(bytes);
    let text = match std::str::from_utf8(bytes) {
        Ok(text) => text,
        Err(error) => return Err(not_utf8(bytes, error.valid_up_to())),
    };
    if text.trim().is_empty() {
        let problem = "the input is empty; a JSON object is expected".to_owned();
        return Err(TextFault { line: 1, column: 1, problem, pointer: String::new() });
    }
    match serde_json::from_str::<Tree>(text) {
        Ok(Tree(value)) => Ok(value),
        Err(error) => {
            let at = byte_offset(text, error.line(), error.column());
            let message = error.to_string();
            let message = message.split(" at line ").next().unwrap_or(&message);
            let (at, problem) = hints::problem(text, at, message);
            Err(fault_at(text, at, problem))
        }
    }
}

fn not_utf8(bytes: &[u8], valid: usize) -> TextFault {
    let problem = if bytes.starts_with(&[0xff, 0xfe]) || bytes.starts_with(&[0xfe, 0xff]) {
        "this is UTF-16 text; save it as UTF-8"
    } else {
        "this is not UTF-8 text"
    };
    let before = String::from_utf8_lossy(&bytes[..valid]);
    TextFault { pointer: String::new(), ..fault_at(&before, valid, problem.to_owned()) }
}

/// Where the parser stopped; it counts bytes, from 1, and 0 for what stands just behind a line's end.
fn byte_offset(text: &str, line: usize, column: usize) -> usize {
    let line_start = match line {
        0 | 1 => 0,
        _ => text.match_indices('\n').nth(line - 2).map_or(text.len(), |(at, _)| at + 1),
    };
    let mut at = (line_start + column).saturating_sub(1).min(text.len());
    while !text.is_char_boundary(at) {
        at -= 1;
    }
    at
}

/// `at` is a byte of the text, on a character's boundary.
fn fault_at(text: &str, at: usize, problem: String) -> TextFault {
    let (before, after) = text.split_at(at);
    let line = before.matches('\n').count() + 1;
    let left = before.rsplit('\n').next().unwrap_or_default();
    let right = after.split(['\n', '\r']).next().unwrap_or_default();
    TextFault { line, column: left.chars().count() + 1, problem, pointer: pointer(line, left, right) }
}

/// The line, cut where it is long, with a caret below the first character of `right`.
fn pointer(line: usize, left: &str, right: &str) -> String {
    const SHOWN_LEFT: usize = 60;
    const SHOWN_RIGHT: usize = 30;
    // A control character would move the caret, or more than the caret.
    let plain =
        |c: char| if c == '\t' { ' ' } else { Some(c).filter(|c| !c.is_control()).unwrap_or('\u{fffd}') };
    let hidden = left.chars().count().saturating_sub(SHOWN_LEFT);
    let mut shown: String = if hidden > 0 { "…".into() } else { String::new() };
    shown.extend(left.chars().skip(hidden).map(plain));
    let caret = shown.chars().count();
    shown.extend(right.chars().take(SHOWN_RIGHT).map(plain));
    if right.chars().nth(SHOWN_RIGHT).is_some() {
        shown.push('…');
    }
    let number = line.to_string();
    let margin = " ".repeat(number.len());
    format!("  {number} | {}\n  {margin} | {}^", shown.trim_end(), " ".repeat(caret))
}

/// A value in which no object has a name twice. The parser's own would keep the last of them and say nothing.
struct Tree(Value);

impl<'de> Deserialize<'de> for Tree {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(Builder).map(Self)
    }
}

struct Builder;

impl<'de> Visitor<'de> for Builder {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Value, E> {
        Ok(Value::Bool(value))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Value, E> {
        Ok(Value::Number(value.into()))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Value, E> {
        Ok(Value::Number(value.into()))
    }

    fn visit_f64<E>(self, value: f64) -> Result<Value, E> {
        Ok(Number::from_f64(value).map_or(Value::Null, Value::Number))
    }

    fn visit_str<E>(self, value: &str) -> Result<Value, E> {
        Ok(Value::String(value.to_owned()))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Value, A::Error> {
        let mut list = Vec::new();
        while let Some(Tree(item)) = items.next_element()? {
            list.push(item);
        }
        Ok(Value::Array(list))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<Value, A::Error> {
        let mut object = Map::new();
        while let Some(name) = members.next_key::<String>()? {
            // Before the value is read, so that the fault is at the name.
            if object.contains_key(&name) {
                return Err(A::Error::custom(hints::TWICE));
            }
            let Tree(value) = members.next_value()?;
            object.insert(name, value);
        }
        Ok(Value::Object(object))
    }
}
