//! Functions on numbers and truth: arithmetic, comparison, conversion.

use serde_json::Value;

use super::{Answer, Arguments};
use crate::fault::Raised;

pub(super) fn call(name: &str, arguments: &Arguments<'_>) -> Answer {
    Some(match name {
        "true" => arguments.count(0, 0).map(|()| true.into()),
        "false" => arguments.count(0, 0).map(|()| false.into()),
        "null" => arguments.count(0, 0).map(|()| Value::Null),
        "and" => all(arguments).map(|values| values.into_iter().all(|value| value).into()),
        "or" => all(arguments).map(|values| values.into_iter().any(|value| value).into()),
        "not" => arguments.count(1, 1).and_then(|()| Ok((!arguments.bool(0)?).into())),
        "equals" => {
            arguments.count(2, 2).and_then(|()| Ok((arguments.value(0)? == arguments.value(1)?).into()))
        }
        "less" => compare(arguments, std::cmp::Ordering::is_lt),
        "lessorequals" => compare(arguments, std::cmp::Ordering::is_le),
        "greater" => compare(arguments, std::cmp::Ordering::is_gt),
        "greaterorequals" => compare(arguments, std::cmp::Ordering::is_ge),
        "coalesce" => arguments
            .count(1, usize::MAX)
            .map(|()| arguments.iter().find(|value| !value.is_null()).cloned().unwrap_or(Value::Null)),
        "int" => int(arguments),
        "bool" => bool(arguments),
        "add" => compute(arguments, i64::checked_add),
        "sub" => compute(arguments, i64::checked_sub),
        "mul" => compute(arguments, i64::checked_mul),
        "div" => compute(arguments, i64::checked_div),
        "mod" => compute(arguments, i64::checked_rem),
        _ => return None,
    })
}

fn all(arguments: &Arguments<'_>) -> Result<Vec<bool>, Raised> {
    arguments.count(2, usize::MAX)?;
    (0..arguments.len()).map(|place| arguments.bool(place)).collect()
}

fn compare(arguments: &Arguments<'_>, is_so: impl Fn(std::cmp::Ordering) -> bool) -> Result<Value, Raised> {
    arguments.count(2, 2)?;
    let order = match arguments.value(0)? {
        Value::String(text) => text.as_str().cmp(arguments.text(1)?),
        Value::Number(_) => arguments.number(0)?.cmp(&arguments.number(1)?),
        _ => return Err(arguments.wrong(0, "a string or a whole number")),
    };
    Ok(is_so(order).into())
}

fn compute(arguments: &Arguments<'_>, operation: impl Fn(i64, i64) -> Option<i64>) -> Result<Value, Raised> {
    arguments.count(2, 2)?;
    let (one, other) = (arguments.number(0)?, arguments.number(1)?);
    operation(one, other).map(Value::from).ok_or_else(|| {
        let problem = format!("{} of {one} and {other} is no whole number of 64 bits", arguments.function);
        Raised::Wrong { column: arguments.column, problem }
    })
}

fn int(arguments: &Arguments<'_>) -> Result<Value, Raised> {
    arguments.count(1, 1)?;
    let value = arguments.value(0)?;
    let number = match value {
        Value::String(text) => text.trim().parse().ok(),
        value => value.as_i64(),
    };
    number.map(|number: i64| number.into()).ok_or_else(|| {
        arguments.raised(0, "the value cannot be a whole number; allowed: one, or a string that holds one")
    })
}

fn bool(arguments: &Arguments<'_>) -> Result<Value, Raised> {
    arguments.count(1, 1)?;
    let truth = match arguments.value(0)? {
        Value::Bool(truth) => Some(*truth),
        Value::Number(number) => number.as_i64().map(|number| number != 0),
        Value::String(text) => ["false", "true"]
            .iter()
            .position(|word| word.eq_ignore_ascii_case(text.trim()))
            .map(|place| place == 1),
        _ => None,
    };
    truth.map(Value::from).ok_or_else(|| {
        arguments.raised(0, "the value cannot be a bool; allowed: a number, or the string true or false")
    })
}
