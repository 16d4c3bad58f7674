//! Values of a template, with the expressions in them carried out.
//!
//! What has no value leaves a fault at its path, and the evaluation goes on with what stands beside it: so all faults
//! are found at once. A variable that has none is told once, where it stands, and not again wherever it is used.

use std::collections::HashMap;
use std::rc::Rc;

use jiff::Timestamp;
use serde_json::{Map, Value};
use uuid::Uuid;

use crate::expression::{self, Expression, Meaning, What};
use crate::fault::{Fault, Faults, Raised, kind, shown};
use crate::functions;
use crate::scope::{Place, Scope};

/// The most repetitions of a loop; as in Azure.
pub(crate) const MOST_REPETITIONS: i64 = 800;

/// How deep values, expressions and variables may lead into one another: far below what the stack holds.
const DEEPEST: usize = 200;

/// The most bytes that expressions may make, all together. A variable that is twice another, many times over, would
/// fill any memory.
const MOST_BYTES: usize = 64 << 20;

/// One repetition of a loop.
#[derive(Debug, Clone)]
pub(crate) struct Loop {
    pub(crate) name: String,
    pub(crate) index: i64,
    /// Whether resources are repeated, not members.
    pub(crate) of_resources: bool,
}

/// Where a value is evaluated.
#[derive(Clone, Copy)]
pub(crate) struct Frame<'s, 'a> {
    pub(crate) scope: &'s Scope<'a>,
    /// Where resources go, which may be elsewhere than the scope's own place.
    pub(crate) target: &'s Place,
    pub(crate) loops: &'s [Loop],
    /// Inside a function of the template's own, which sees nothing but these.
    pub(crate) arguments: Option<&'s HashMap<String, Rc<Value>>>,
}

/// An evaluation under way.
pub(crate) struct Evaluation {
    pub(crate) faults: Faults,
    pub(crate) now: Timestamp,
    pub(crate) seed: Uuid,
    /// How many `newGuid` have been made.
    pub(crate) guids: u32,
    /// Texts that came in through secure parameters.
    pub(crate) secrets: Vec<String>,
    /// Faults that only Azure could help with.
    unanswerable: usize,
    spent: usize,
    depth: usize,
}

impl Evaluation {
    pub(crate) fn new(now: Timestamp, seed: Uuid) -> Self {
        Self {
            faults: Faults::default(),
            now,
            seed,
            guids: 0,
            secrets: Vec::new(),
            unanswerable: 0,
            spent: 0,
            depth: 0,
        }
    }

    /// The value; `None` where something is wrong, which is a fault by then.
    pub(crate) fn value(&mut self, frame: Frame<'_, '_>, value: &Value, at: &str) -> Option<Value> {
        if let Err(raised) = self.deeper(1) {
            self.raise(at, raised);
            return None;
        }
        let result = match value {
            Value::String(text) => match self.text(frame, text) {
                Ok(value) => Some(Rc::unwrap_or_clone(value)),
                Err(raised) => {
                    self.raise(at, raised);
                    None
                }
            },
            Value::Array(list) => {
                let values: Vec<_> = list
                    .iter()
                    .enumerate()
                    .map(|(i, value)| self.value(frame, value, &format!("{at}[{i}]")))
                    .collect();
                values.into_iter().collect::<Option<Vec<_>>>().map(Value::Array)
            }
            Value::Object(members) => self.object(frame, members, at),
            other => Some(other.clone()),
        };
        self.depth -= 1;
        result
    }

    fn object(&mut self, frame: Frame<'_, '_>, members: &Map<String, Value>, at: &str) -> Option<Value> {
        let mut object = Map::new();
        let mut is_whole = true;
        for (name, value) in members {
            let at = member(at, name);
            if let Some(loops) = loops_of(name, value) {
                for (i, entry) in loops.iter().enumerate() {
                    match self.repeated(frame, entry, &format!("{at}[{i}]")) {
                        Some((name, list)) => _ = object.insert(name, list),
                        None => is_whole = false,
                    }
                }
                continue;
            }
            match self.value(frame, value, &at) {
                Some(value) => _ = object.insert(name.clone(), value),
                None => is_whole = false,
            }
        }
        is_whole.then_some(Value::Object(object))
    }

    /// `{"name": …, "count": …, "input": …}`: a list of as many inputs.
    pub(crate) fn repeated(
        &mut self,
        frame: Frame<'_, '_>,
        entry: &Value,
        at: &str,
    ) -> Option<(String, Value)> {
        let name = entry.get("name").and_then(Value::as_str);
        if name.is_none() {
            self.faults
                .add(member(at, "name"), "missing; allowed: the name of the member to be made, a text");
        }
        let count = self.count(frame, entry, at);
        let input = entry.get("input");
        if input.is_none() {
            self.faults.add(member(at, "input"), "missing; allowed: what is to be repeated");
        }
        let (name, count, input) = (name?, count?, input?);
        let at = member(at, "input");
        let mut loops = frame.loops.to_vec();
        loops.push(Loop { name: name.to_owned(), index: 0, of_resources: false });
        let mut list = Vec::new();
        for index in 0..count {
            loops.last_mut()?.index = index;
            let value = self.value(Frame { loops: &loops, ..frame }, input, &at)?;
            if let Err(raised) = self.spend(size(&value), 1) {
                self.raise(&at, raised);
                return None;
            }
            list.push(value);
        }
        Some((name.to_owned(), list.into()))
    }

    /// The number of repetitions of a loop.
    pub(crate) fn count(&mut self, frame: Frame<'_, '_>, entry: &Value, at: &str) -> Option<i64> {
        let at = member(at, "count");
        let allowed = format!("a whole number from 0 to {MOST_REPETITIONS}");
        let Some(count) = entry.get("count") else {
            self.faults.add(at, format!("missing; allowed: {allowed}"));
            return None;
        };
        let count = self.value(frame, count, &at)?;
        let number = count.as_i64().filter(|number| (0..=MOST_REPETITIONS).contains(number));
        if number.is_none() {
            self.faults.add(at, format!("{} is not allowed here; allowed: {allowed}", shown(&count)));
        }
        number
    }

    /// A text, which may be an expression.
    pub(crate) fn text(&mut self, frame: Frame<'_, '_>, text: &str) -> Result<Rc<Value>, Raised> {
        match expression::read(text)? {
            Meaning::Literal(text) => Ok(Rc::new(text.into())),
            Meaning::Expression(expression) => self.expression(frame, &expression),
        }
    }

    pub(crate) fn expression(
        &mut self,
        frame: Frame<'_, '_>,
        expression: &Expression,
    ) -> Result<Rc<Value>, Raised> {
        let column = expression.column;
        self.deeper(column)?;
        let result = match &expression.what {
            What::Text(text) => Ok(Rc::new(text.as_str().into())),
            What::Number(number) => Ok(Rc::new((*number).into())),
            What::Call { namespace: Some(namespace), name, arguments } => {
                self.own_function(frame, column, namespace, name, arguments)
            }
            What::Call { namespace: None, name, arguments } => {
                functions::call(self, frame, column, name, arguments)
            }
            What::Member { of, name } => {
                self.expression(frame, of).and_then(|value| named_member(&value, name, column))
            }
            What::Index { of, index } => self.expression(frame, of).and_then(|value| {
                let index = self.expression(frame, index)?;
                indexed_member(&value, &index, column)
            }),
        };
        self.depth -= 1;
        result
    }

    /// A function that the template defines.
    fn own_function(
        &mut self,
        frame: Frame<'_, '_>,
        column: usize,
        namespace: &str,
        name: &str,
        arguments: &[Expression],
    ) -> Result<Rc<Value>, Raised> {
        let wrong = |problem: String| Err(Raised::Wrong { column, problem });
        if frame.arguments.is_some() {
            return wrong(format!(
                "a function cannot call {namespace}.{name}: only functions of the language"
            ));
        }
        let Some(function) = frame.scope.function(namespace, name) else {
            return wrong(format!("the template has no function {namespace}.{name}"));
        };
        if function.parameters.len() != arguments.len() {
            let most = function.parameters.len();
            return wrong(format!("{namespace}.{name} has {} arguments; allowed: {most}", arguments.len()));
        }
        let mut given = HashMap::new();
        for (name, argument) in function.parameters.iter().zip(arguments) {
            given.insert(name.to_lowercase(), self.expression(frame, argument)?);
        }
        let frame = Frame { loops: &[], arguments: Some(&given), ..frame };
        self.value(frame, function.output, &function.at).map(Rc::new).ok_or(Raised::Known)
    }

    /// Writes down what an expression at a path was refused for.
    pub(crate) fn raise(&mut self, at: &str, raised: Raised) {
        let (column, problem) = match raised {
            Raised::Known => return,
            Raised::Wrong { column, problem } => (column, problem),
            Raised::Unanswerable { column, problem } => {
                self.unanswerable += 1;
                (column, problem)
            }
        };
        self.faults.push(Fault { at: at.to_owned(), column: Some(column), problem });
    }

    /// Tries something: its faults come back instead of joining the others, with whether only Azure could help with
    /// each of them.
    pub(crate) fn attempt<T>(&mut self, attempt: impl FnOnce(&mut Self) -> T) -> (T, Vec<Fault>, bool) {
        let faults = std::mem::take(&mut self.faults);
        let unanswerable = std::mem::take(&mut self.unanswerable);
        let result = attempt(self);
        let found = std::mem::replace(&mut self.faults, faults).into_vec();
        let are_unanswerable = std::mem::replace(&mut self.unanswerable, unanswerable) == found.len();
        (result, found, are_unanswerable)
    }

    /// Takes a value that an expression made into account.
    pub(crate) fn made(&mut self, value: Value, column: usize) -> Result<Rc<Value>, Raised> {
        self.spend(size(&value), column)?;
        Ok(Rc::new(value))
    }

    /// Takes bytes into account, before or after they are made.
    pub(crate) fn spend(&mut self, bytes: usize, column: usize) -> Result<(), Raised> {
        let was_within = self.spent <= MOST_BYTES;
        self.spent = self.spent.saturating_add(bytes);
        match (was_within, self.spent <= MOST_BYTES) {
            (_, true) => Ok(()),
            (true, false) => {
                let problem =
                    format!("the expressions of this template make more than {} MiB", MOST_BYTES >> 20);
                Err(Raised::Wrong { column, problem })
            }
            // Told once.
            (false, false) => Err(Raised::Known),
        }
    }

    fn deeper(&mut self, column: usize) -> Result<(), Raised> {
        if self.depth == DEEPEST {
            let problem = format!("values and variables lead into one another more than {DEEPEST} deep");
            return Err(Raised::Wrong { column, problem });
        }
        self.depth += 1;
        Ok(())
    }
}

/// The loops of a `copy` among the members of an object; a header of that name is none.
pub(crate) fn loops_of<'v>(name: &str, value: &'v Value) -> Option<&'v [Value]> {
    let list = value.as_array().filter(|_| name.eq_ignore_ascii_case("copy"))?;
    let are_loops = list.iter().all(|entry| entry.get("count").is_some() || entry.get("input").is_some());
    (are_loops && !list.is_empty()).then_some(list)
}

/// The memory of a value, roughly.
fn size(value: &Value) -> usize {
    const EACH: usize = 64;
    EACH + match value {
        Value::Null | Value::Bool(_) | Value::Number(_) => 0,
        Value::String(text) => text.len(),
        Value::Array(list) => list.iter().map(size).sum(),
        Value::Object(members) => {
            members.iter().map(|(name, value)| EACH + name.len() + size(value)).sum::<usize>()
        }
    }
}

/// A member by its name in any case, as in Azure.
fn named_member(value: &Value, name: &str, column: usize) -> Result<Rc<Value>, Raised> {
    let wrong = |problem: String| Err(Raised::Wrong { column, problem });
    let Value::Object(members) = value else {
        return wrong(format!(".{name} asks for a member of {}; only objects have members", kind(value)));
    };
    let found = members.get(name).or_else(|| {
        members.iter().find(|(other, _)| other.eq_ignore_ascii_case(name)).map(|(_, value)| value)
    });
    match found {
        Some(value) => Ok(Rc::new(value.clone())),
        None => {
            let names: Vec<&str> = members.keys().take(10).map(String::as_str).collect();
            let has = if names.is_empty() { "none".to_owned() } else { names.join(", ") };
            wrong(format!("the object has no member {name}; it has {has}"))
        }
    }
}

fn indexed_member(value: &Value, index: &Value, column: usize) -> Result<Rc<Value>, Raised> {
    match (value, index) {
        (Value::Array(list), index) if index.is_i64() => {
            let place = index.as_i64().and_then(|index| usize::try_from(index).ok());
            match place.and_then(|place| list.get(place)) {
                Some(value) => Ok(Rc::new(value.clone())),
                None => {
                    let problem = format!("there is no [{index}] in an array of {}", list.len());
                    Err(Raised::Wrong { column, problem })
                }
            }
        }
        (Value::Object(_), Value::String(name)) => named_member(value, name, column),
        (value, index) => {
            let problem = format!(
                "{} cannot be asked for [{}]; arrays take whole numbers, objects take names",
                kind(value),
                shown(index)
            );
            Err(Raised::Wrong { column, problem })
        }
    }
}

/// The path of a member.
pub(crate) fn member(at: &str, name: &str) -> String {
    let plain = name.chars().all(|letter| letter.is_alphanumeric() || "_-$".contains(letter));
    match (at.is_empty(), plain && !name.is_empty()) {
        (true, true) => name.to_owned(),
        (false, true) => format!("{at}.{name}"),
        (_, false) => format!("{at}[{name:?}]"),
    }
}
