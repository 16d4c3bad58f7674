//! Functions on arrays and objects, and on texts where these do the same.

use serde_json::{Map, Value};

use super::texts::text_of;
use super::{Answer, Arguments};
use crate::evaluate::Evaluation;
use crate::fault::Raised;

/// The most elements of a `range`; as in Azure.
const LONGEST_RANGE: i64 = 10_000;

pub(super) fn call(evaluation: &mut Evaluation, name: &str, arguments: &Arguments<'_>) -> Answer {
    Some(match name {
        "concat" => concat(arguments),
        "length" => length(arguments),
        "empty" => empty(arguments),
        "first" => end(arguments, |list| list.first(), |text| text.chars().next()),
        "last" => end(arguments, |list| list.last(), |text| text.chars().last()),
        "take" => part(arguments, true),
        "skip" => part(arguments, false),
        "contains" => contains(arguments),
        "array" => arguments.count(1, 1).and_then(|()| {
            let value = arguments.value(0)?;
            Ok(if value.is_array() { value.clone() } else { vec![value.clone()].into() })
        }),
        "createarray" => Ok(arguments.iter().cloned().collect::<Vec<_>>().into()),
        "createobject" => create_object(arguments),
        "union" => union(arguments),
        "intersection" => intersection(arguments),
        "range" => range(evaluation, arguments),
        "min" => extreme(arguments, i64::min),
        "max" => extreme(arguments, i64::max),
        _ => return None,
    })
}

/// Arrays become one array, anything else becomes one text.
fn concat(arguments: &Arguments<'_>) -> Result<Value, Raised> {
    if arguments.len() > 0 && arguments.iter().all(Value::is_array) {
        let all = arguments.iter().flat_map(|list| list.as_array().into_iter().flatten());
        return Ok(all.cloned().collect::<Vec<_>>().into());
    }
    let mut text = String::new();
    for (place, value) in arguments.iter().enumerate() {
        if value.is_array() || value.is_object() {
            return Err(arguments.wrong(place, "strings, numbers and bools, or arrays alone"));
        }
        text.push_str(&text_of(value));
    }
    Ok(text.into())
}

fn length(arguments: &Arguments<'_>) -> Result<Value, Raised> {
    arguments.count(1, 1)?;
    let length = match arguments.value(0)? {
        Value::String(text) => text.chars().count(),
        Value::Array(list) => list.len(),
        Value::Object(members) => members.len(),
        _ => return Err(arguments.wrong(0, "a string, an array or an object")),
    };
    Ok(length.into())
}

fn empty(arguments: &Arguments<'_>) -> Result<Value, Raised> {
    if arguments.len() == 1 && arguments.value(0)?.is_null() {
        return Ok(true.into());
    }
    Ok((length(arguments)? == 0).into())
}

fn end(
    arguments: &Arguments<'_>,
    element: impl Fn(&Vec<Value>) -> Option<&Value>,
    letter: impl Fn(&str) -> Option<char>,
) -> Result<Value, Raised> {
    arguments.count(1, 1)?;
    match arguments.value(0)? {
        Value::String(text) => Ok(letter(text).map(String::from).unwrap_or_default().into()),
        Value::Array(list) => match element(list) {
            Some(value) => Ok(value.clone()),
            None => Err(arguments.raised(0, format!("{} of an empty array is nothing", arguments.function))),
        },
        _ => Err(arguments.wrong(0, "a string or an array")),
    }
}

/// The first so many, or what follows them. More than there are is no mistake, fewer than none is none.
fn part(arguments: &Arguments<'_>, first: bool) -> Result<Value, Raised> {
    arguments.count(2, 2)?;
    let many = usize::try_from(arguments.number(1)?.max(0)).unwrap_or(usize::MAX);
    match arguments.value(0)? {
        Value::String(text) if first => Ok(text.chars().take(many).collect::<String>().into()),
        Value::String(text) => Ok(text.chars().skip(many).collect::<String>().into()),
        Value::Array(list) if first => Ok(list.iter().take(many).cloned().collect::<Vec<_>>().into()),
        Value::Array(list) => Ok(list.iter().skip(many).cloned().collect::<Vec<_>>().into()),
        _ => Err(arguments.wrong(0, "a string or an array")),
    }
}

/// A member's name matches in any case, everything else exactly.
fn contains(arguments: &Arguments<'_>) -> Result<Value, Raised> {
    arguments.count(2, 2)?;
    let wanted = arguments.value(1)?;
    let is_there = match arguments.value(0)? {
        Value::String(text) => text.contains(&text_of(wanted)),
        Value::Array(list) => list.contains(wanted),
        Value::Object(members) => {
            let wanted = arguments.text(1)?;
            members.keys().any(|name| name.eq_ignore_ascii_case(wanted))
        }
        _ => return Err(arguments.wrong(0, "a string, an array or an object")),
    };
    Ok(is_there.into())
}

fn create_object(arguments: &Arguments<'_>) -> Result<Value, Raised> {
    if !arguments.len().is_multiple_of(2) {
        return Err(Raised::Wrong {
            column: arguments.column,
            problem: "createObject takes names and values in turn; a value is missing".to_owned(),
        });
    }
    let mut members = Map::new();
    for place in (0..arguments.len()).step_by(2) {
        members.insert(arguments.text(place)?.to_owned(), arguments.value(place + 1)?.clone());
    }
    Ok(members.into())
}

fn union(arguments: &Arguments<'_>) -> Result<Value, Raised> {
    arguments.count(2, usize::MAX)?;
    if arguments.value(0)?.is_array() {
        let mut all: Vec<Value> = Vec::new();
        let mut seen = std::collections::HashSet::new();
        for place in 0..arguments.len() {
            for value in arguments.array(place)? {
                if seen.insert(value.to_string()) {
                    all.push(value.clone());
                }
            }
        }
        return Ok(all.into());
    }
    let mut whole = Map::new();
    for place in 0..arguments.len() {
        let members = arguments.value(place)?.as_object();
        merge(&mut whole, members.ok_or_else(|| arguments.wrong(place, "all arrays, or all objects"))?);
    }
    Ok(whole.into())
}

/// Objects merge, down to the last; everything else replaces.
fn merge(whole: &mut Map<String, Value>, members: &Map<String, Value>) {
    for (name, value) in members {
        match (whole.get_mut(name), value) {
            (Some(Value::Object(whole)), Value::Object(members)) => merge(whole, members),
            _ => _ = whole.insert(name.clone(), value.clone()),
        }
    }
}

fn intersection(arguments: &Arguments<'_>) -> Result<Value, Raised> {
    arguments.count(2, usize::MAX)?;
    if let Value::Array(first) = arguments.value(0)? {
        let mut common = first.clone();
        for place in 1..arguments.len() {
            let others: std::collections::HashSet<String> =
                arguments.array(place)?.iter().map(Value::to_string).collect();
            common.retain(|value| others.contains(&value.to_string()));
        }
        let mut seen = std::collections::HashSet::new();
        common.retain(|value| seen.insert(value.to_string()));
        return Ok(common.into());
    }
    let allowed = "all arrays, or all objects";
    let first = arguments.value(0)?.as_object().ok_or_else(|| arguments.wrong(0, allowed))?;
    let mut common = first.clone();
    for place in 1..arguments.len() {
        let other = arguments.value(place)?.as_object().ok_or_else(|| arguments.wrong(place, allowed))?;
        common.retain(|name, value| other.get(name) == Some(value));
    }
    Ok(common.into())
}

fn range(evaluation: &mut Evaluation, arguments: &Arguments<'_>) -> Result<Value, Raised> {
    arguments.count(2, 2)?;
    let (first, count) = (arguments.number(0)?, arguments.number(1)?);
    let end = first.checked_add(count).filter(|_| (0..=LONGEST_RANGE).contains(&count));
    let Some(end) = end else {
        let problem = format!("{count} numbers are not allowed here; allowed: from 0 to {LONGEST_RANGE}");
        return Err(arguments.raised(1, problem));
    };
    evaluation.spend(usize::try_from(count).unwrap_or(0) * 64, arguments.column)?;
    Ok((first..end).map(Value::from).collect::<Vec<_>>().into())
}

/// Of an array of numbers, or of several arguments.
fn extreme(arguments: &Arguments<'_>, choose: fn(i64, i64) -> i64) -> Result<Value, Raised> {
    arguments.count(1, usize::MAX)?;
    let numbers: Option<Vec<i64>> = match arguments.value(0)? {
        Value::Array(list) if arguments.len() == 1 => list.iter().map(Value::as_i64).collect(),
        _ => arguments.iter().map(Value::as_i64).collect(),
    };
    let chosen = numbers.and_then(|numbers| numbers.into_iter().reduce(choose));
    chosen
        .map(Value::from)
        .ok_or_else(|| arguments.wrong(0, "whole numbers, or one array of them, not empty"))
}
