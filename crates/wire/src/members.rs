//! Takes values out of a tree, and remembers what was wrong with them and where they stood.
//!
//! Every value has two paths. The *canonical* one is what the engine would call it
//! (`properties.recurrence.schedule.minutes[0]`), the *written* one is where it stands in the document
//! (`recurrence.schedule.Minute`). Faults are matched by the first and shown with the second.
//!
//! A value of a wrong type goes into the draft as a value that no rule accepts. So the engine finds a fault at that very
//! path, says better than this module could what is allowed there, and draws no conclusion from a member that only
//! seems to be missing. [`Reader::merge`] then puts what was really given into the engine's fault.

mod take;

use std::collections::HashMap;

use ::recurrence::{Fault, Faults};
use serde_json::{Map, Value};

use crate::recurrence::DOCUMENT;

/// A member's name, and the other names it goes by. Case does not matter.
pub(crate) type Names = &'static [&'static str];

/// A text that is no name, no date-time and no zone.
pub(crate) fn wrong_text() -> String {
    String::new()
}

/// A number that is in no range.
const WRONG_NUMBER: i64 = i64::MIN;

/// What stands in for a member that is given twice: of no type that any member has.
static NEITHER: Value = Value::Null;

/// Where a value stands.
#[derive(Debug, Clone)]
struct Place {
    canonical: String,
    written: String,
}

impl Place {
    fn member(&self, canonical: &str, written: &str) -> Self {
        Self { canonical: join(&self.canonical, canonical), written: join(&self.written, written) }
    }
}

/// A value and where it stands.
#[derive(Debug, Clone)]
pub(crate) struct Given<'a> {
    place: Place,
    value: &'a Value,
}

impl<'a> Given<'a> {
    /// A whole document; `canonical` says which part of a job it is.
    pub(crate) fn root(value: &'a Value, canonical: &str) -> Self {
        Self { place: Place { canonical: canonical.to_owned(), written: String::new() }, value }
    }
}

/// An object and where it stands.
pub(crate) struct Object<'a> {
    place: Place,
    members: &'a Map<String, Value>,
}

impl<'a> Object<'a> {
    /// The members of a name that are not null, as they are written.
    pub(crate) fn values(&self, names: Names) -> impl Iterator<Item = (&'a str, &'a Value)> {
        self.members
            .iter()
            .filter(move |(name, value)| is_named(name, names) && !value.is_null())
            .map(|(name, value)| (name.as_str(), value))
    }
}

/// Whether a member is meant by a name.
pub(crate) fn is_named(written: &str, names: Names) -> bool {
    names.iter().any(|name| name.eq_ignore_ascii_case(written))
}

#[derive(Debug, Clone)]
struct Wrong {
    fault: Fault,
    /// Whether what it allows is better said here than by the engine.
    firm: bool,
}

/// What was found on the way through a document.
#[derive(Debug, Clone, Default)]
pub(crate) struct Reader {
    wrong: Vec<Wrong>,
    /// From canonical paths to positions in `wrong`.
    wrong_at: HashMap<String, usize>,
    /// From canonical to written paths, for whatever is not where its parent's path says.
    written: HashMap<String, String>,
    ignored: Vec<String>,
}

impl Reader {
    pub(crate) fn ignored(&self) -> &[String] {
        &self.ignored
    }

    /// The value as an object with these members.
    pub(crate) fn object<'a>(
        &mut self,
        given: Given<'a>,
        known: &[Names],
        allowed: &str,
    ) -> Option<Object<'a>> {
        self.written.insert(given.place.canonical.clone(), given.place.written.clone());
        let Value::Object(members) = given.value else {
            self.wrong(&given, allowed, true);
            return None;
        };
        for name in members.keys().filter(|name| !known.iter().any(|names| is_named(name, names))) {
            self.ignored.push(join(&given.place.written, &shown_name(name)));
        }
        Some(Object { place: given.place, members })
    }

    /// A member that is given and is not null.
    pub(crate) fn member<'a>(&mut self, object: &Object<'a>, names: Names) -> Option<Given<'a>> {
        let mut values = object.values(names);
        let (name, mut value) = values.next()?;
        let place = object.place.member(names[0], name);
        self.written.insert(place.canonical.clone(), place.written.clone());
        if let Some((other, _)) = values.next() {
            let both = format!("{name} beside {other}");
            let fault = Fault::new(object.place.member(names[0], other).written, both, "only one of them");
            self.add(&place.canonical, fault, true);
            value = &NEITHER;
        }
        Some(Given { place, value })
    }

    pub(crate) fn missing(&mut self, object: &Object<'_>, names: Names, allowed: &str) {
        let place = object.place.member(names[0], names[0]);
        self.add(&place.canonical, Fault::missing(place.written, allowed), true);
    }

    pub(crate) fn text(&mut self, object: &Object<'_>, names: Names) -> Option<String> {
        self.member(object, names).map(|given| self.as_text(given))
    }

    /// A text of which the engine would say something odd if it were not given as one.
    pub(crate) fn text_with(&mut self, object: &Object<'_>, names: Names, allowed: &str) -> Option<String> {
        let given = self.member(object, names)?;
        if !given.value.is_string() {
            self.wrong(&given, allowed, true);
        }
        Some(self.as_text(given))
    }

    pub(crate) fn number(&mut self, object: &Object<'_>, names: Names) -> Option<i64> {
        self.member(object, names).map(|given| self.as_number(given))
    }

    /// The values of a list, or the one value that stands for a list of one.
    pub(crate) fn list<T>(
        &mut self,
        object: &Object<'_>,
        names: Names,
        read: impl Fn(&mut Self, Given<'_>) -> T,
    ) -> Option<Vec<T>> {
        let Given { place, value } = self.member(object, names)?;
        let at = |i: usize| format!("{}[{i}]", place.canonical);
        if let Value::Array(values) = value {
            let items = values.iter().enumerate().map(|(i, value)| {
                let place = Place { canonical: at(i), written: format!("{}[{i}]", place.written) };
                read(self, Given { place, value })
            });
            return Some(items.collect());
        }
        let only = Place { canonical: at(0), written: place.written.clone() };
        self.written.insert(only.canonical.clone(), only.written.clone());
        Some(vec![read(self, Given { place: only, value })])
    }

    pub(crate) fn as_text(&mut self, given: Given<'_>) -> String {
        match given.value {
            Value::String(text) => text.clone(),
            _ => {
                self.wrong(&given, "a text", false);
                wrong_text()
            }
        }
    }

    pub(crate) fn as_number(&mut self, given: Given<'_>) -> i64 {
        whole_number(given.value).unwrap_or_else(|| {
            self.wrong(&given, "a whole number", false);
            WRONG_NUMBER
        })
    }

    fn wrong(&mut self, given: &Given<'_>, allowed: &str, firm: bool) {
        let Place { canonical, written } = &given.place;
        let field = if written.is_empty() { DOCUMENT } else { written };
        self.add(canonical, Fault::new(field, shown(given.value), allowed), firm);
    }

    /// Adds a fault, unless there is one at that place or around it.
    fn add(&mut self, canonical: &str, fault: Fault, firm: bool) {
        if self.wrong_around(canonical).is_none() {
            self.wrong_at.insert(canonical.to_owned(), self.wrong.len());
            self.wrong.push(Wrong { fault, firm });
        }
    }

    fn wrong_around<'a>(&self, canonical: &'a str) -> Option<(usize, &'a str)> {
        upwards(canonical).find_map(|path| self.wrong_at.get(path).map(|i| (*i, path)))
    }

    /// The faults found here.
    pub(crate) fn faults(&self) -> Vec<Fault> {
        self.wrong.iter().map(|wrong| wrong.fault.clone()).collect()
    }

    /// The engine's faults with the paths that the document has, and the faults found here in their places.
    pub(crate) fn merge(&self, engine: Faults) -> Faults {
        let mut told = vec![false; self.wrong.len()];
        let mut merged = Vec::new();
        for fault in engine.iter() {
            let canonical = join("properties", &fault.field);
            match self.wrong_around(&canonical) {
                None => merged.push(Fault { field: self.written(&canonical), ..fault.clone() }),
                Some((i, _)) if told[i] => {}
                Some((i, path)) => {
                    told[i] = true;
                    let Wrong { fault: own, firm } = &self.wrong[i];
                    let engine_knows = !firm && path == canonical;
                    let allowed = if engine_knows { &fault.allowed } else { &own.allowed };
                    merged.push(Fault { allowed: allowed.clone(), ..own.clone() });
                }
            }
        }
        // What the engine did not look at, such as a schedule beside cron.
        let untold = self.wrong.iter().zip(told).filter(|(_, told)| !told);
        merged.extend(untold.map(|(wrong, _)| wrong.fault.clone()));
        Faults::check(merged).err().unwrap_or(engine)
    }

    fn written(&self, canonical: &str) -> String {
        let known = upwards(canonical)
            .find_map(|path| self.written.get(path).map(|written| join(written, &canonical[path.len()..])));
        known.unwrap_or_else(|| canonical.to_owned())
    }
}

/// `a` and `b`, `.b` or `[0]` as one path.
fn join(path: &str, further: &str) -> String {
    let further = further.strip_prefix('.').unwrap_or(further);
    if path.is_empty() || further.is_empty() || further.starts_with('[') {
        format!("{path}{further}")
    } else {
        format!("{path}.{further}")
    }
}

/// A path and the paths around it: `a.b[0]`, `a.b`, `a` and that of the document.
fn upwards(path: &str) -> impl Iterator<Item = &str> {
    std::iter::successors(Some(path), |path| {
        (!path.is_empty()).then(|| &path[..path.rfind(['.', '[']).unwrap_or(0)])
    })
}

/// Clients that know only floating-point numbers write 1.0 for 1.
fn whole_number(value: &Value) -> Option<i64> {
    const BEYOND: f64 = 9_223_372_036_854_775_808.0;
    value.as_i64().or_else(|| {
        let number = value.as_f64()?;
        (number.fract() == 0.0 && (-BEYOND..BEYOND).contains(&number)).then_some(number as i64)
    })
}

/// Texts with names, as an object.
pub(crate) fn object_of(texts: &[(String, String)]) -> Value {
    texts.iter().map(|(name, text)| (name.clone(), Value::from(text.as_str()))).collect::<Map<_, _>>().into()
}

/// A value as a fault shows it.
pub(crate) fn shown(value: &Value) -> String {
    match value {
        Value::String(text) => quoted(text),
        Value::Array(_) => "a list".to_owned(),
        Value::Object(_) => "an object".to_owned(),
        Value::Null | Value::Bool(_) | Value::Number(_) => value.to_string(),
    }
}

/// A name as part of a path; whatever is not plain is quoted, so that it cannot play tricks on a terminal or a header.
fn shown_name(name: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '$');
    if (1..=100).contains(&name.len()) && name.chars().all(plain) {
        name.to_owned()
    } else {
        format!("[{}]", quoted(name))
    }
}

/// A text in quotes, cut where it would fill the page.
pub(crate) fn quoted(text: &str) -> String {
    const LONGEST: usize = 100;
    match text.char_indices().nth(LONGEST) {
        Some((end, _)) => format!("{:?}…", &text[..end]),
        None => format!("{text:?}"),
    }
}
