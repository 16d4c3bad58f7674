//! The functions of the expression language.
//!
//! [`call`] evaluates the arguments and finds the function in one of four tables: what it works on says which. A new
//! function is a line in its table and a line in `tests/expressions.rs`.

mod dates;
mod lists;
mod logic;
mod surroundings;
mod texts;
mod unique;

use std::rc::Rc;

use serde_json::Value;

use crate::evaluate::{Evaluation, Frame};
use crate::expression::Expression;
use crate::fault::{Raised, kind};

/// What a function gives; `None` where the table does not know it.
type Answer = Option<Result<Value, Raised>>;

/// Calls a function by its name in any case.
pub(crate) fn call(
    evaluation: &mut Evaluation,
    frame: Frame<'_, '_>,
    column: usize,
    name: &str,
    arguments: &[Expression],
) -> Result<Rc<Value>, Raised> {
    let lower = name.to_ascii_lowercase();
    if let Some(problem) = unanswerable(&lower) {
        return Err(Raised::Unanswerable { column, problem: format!("{name}() {problem}") });
    }
    if lower == "if" {
        return choose(evaluation, frame, column, arguments);
    }
    let mut values = Vec::with_capacity(arguments.len());
    for argument in arguments {
        values.push((argument.column, evaluation.expression(frame, argument)?));
    }
    let arguments = Arguments { function: name, column, values };
    match lower.as_str() {
        // These two hand out what is there already, however large.
        "parameters" => {
            let (name, column) = (arguments.only_text()?, arguments.column_of(0));
            let Some(own) = frame.arguments else { return frame.scope.parameter(evaluation, name, column) };
            let value = own.get(&name.to_lowercase()).cloned();
            return value.ok_or_else(|| {
                let problem = format!("the function has no parameter '{name}', and sees no others");
                Raised::Wrong { column, problem }
            });
        }
        "variables" => {
            let (name, column) = (arguments.only_text()?, arguments.column_of(0));
            if frame.arguments.is_some() {
                let problem = "a function of a template sees its own parameters and no variables".to_owned();
                return Err(Raised::Wrong { column, problem });
            }
            return frame.scope.variable(evaluation, name, column);
        }
        _ => {}
    }
    // What a function makes is hardly ever larger than what it is given; those of which that is not so say so first.
    let answer = texts::call(evaluation, &lower, &arguments)
        .or_else(|| lists::call(evaluation, &lower, &arguments))
        .or_else(|| logic::call(&lower, &arguments))
        .or_else(|| dates::call(evaluation, &lower, &arguments))
        .or_else(|| surroundings::call(evaluation, frame, &lower, &arguments));
    match answer {
        Some(value) => evaluation.made(value?, column),
        None => {
            let problem = format!("{name} is not a function that is known here");
            Err(Raised::Wrong { column, problem })
        }
    }
}

/// Why nobody but Azure could answer a function.
fn unanswerable(name: &str) -> Option<&'static str> {
    const ASKS: &str =
        "asks a running Azure; make what it gives a parameter of the template, and give its value";
    let asks =
        matches!(name, "reference" | "references" | "providers" | "pickzones" | "environment" | "getsecret");
    let lists = name.starts_with("list") && name.len() > "list".len();
    (asks || lists).then_some(ASKS)
}

/// `if` evaluates only the side that it takes.
fn choose(
    evaluation: &mut Evaluation,
    frame: Frame<'_, '_>,
    column: usize,
    arguments: &[Expression],
) -> Result<Rc<Value>, Raised> {
    let [condition, yes, no] = arguments else {
        let problem = format!("if has {} arguments; allowed: 3", arguments.len());
        return Err(Raised::Wrong { column, problem });
    };
    match *evaluation.expression(frame, condition)? {
        Value::Bool(is_so) => evaluation.expression(frame, if is_so { yes } else { no }),
        ref other => {
            let problem = format!("the first argument of if is {}; allowed: a bool", kind(other));
            Err(Raised::Wrong { column: condition.column, problem })
        }
    }
}

/// What a function was called with.
struct Arguments<'a> {
    function: &'a str,
    column: usize,
    values: Vec<(usize, Rc<Value>)>,
}

impl Arguments<'_> {
    fn len(&self) -> usize {
        self.values.len()
    }

    fn iter(&self) -> impl Iterator<Item = &Value> {
        self.values.iter().map(|(_, value)| &**value)
    }

    fn column_of(&self, place: usize) -> usize {
        self.values.get(place).map_or(self.column, |(column, _)| *column)
    }

    /// Checks how many there are.
    fn count(&self, least: usize, most: usize) -> Result<(), Raised> {
        if (least..=most).contains(&self.len()) {
            return Ok(());
        }
        let allowed = match (least, most) {
            (least, most) if least == most => least.to_string(),
            (least, usize::MAX) => format!("{least} or more"),
            (least, most) => format!("{least} to {most}"),
        };
        let problem = format!("{} has {} arguments; allowed: {allowed}", self.function, self.len());
        Err(Raised::Wrong { column: self.column, problem })
    }

    /// An argument; whoever asks for it has checked the count.
    fn value(&self, place: usize) -> Result<&Value, Raised> {
        match self.values.get(place) {
            Some((_, value)) => Ok(value),
            None => {
                let problem = format!("{} has too few arguments: {}", self.function, self.len());
                Err(Raised::Wrong { column: self.column, problem })
            }
        }
    }

    fn text(&self, place: usize) -> Result<&str, Raised> {
        self.value(place)?.as_str().ok_or_else(|| self.wrong(place, "a string"))
    }

    fn only_text(&self) -> Result<&str, Raised> {
        self.count(1, 1)?;
        self.text(0)
    }

    fn number(&self, place: usize) -> Result<i64, Raised> {
        self.value(place)?.as_i64().ok_or_else(|| self.wrong(place, "a whole number"))
    }

    fn bool(&self, place: usize) -> Result<bool, Raised> {
        self.value(place)?.as_bool().ok_or_else(|| self.wrong(place, "a bool"))
    }

    fn array(&self, place: usize) -> Result<&Vec<Value>, Raised> {
        self.value(place)?.as_array().ok_or_else(|| self.wrong(place, "an array"))
    }

    /// That an argument is none of those that are allowed.
    fn wrong(&self, place: usize, allowed: &str) -> Raised {
        let given = self.values.get(place).map_or("missing", |(_, value)| kind(value));
        let number = place + 1;
        self.raised(place, format!("argument {number} of {} is {given}; allowed: {allowed}", self.function))
    }

    fn raised(&self, place: usize, problem: impl Into<String>) -> Raised {
        Raised::Wrong { column: self.column_of(place), problem: problem.into() }
    }
}
