//! Resource lists, as the API and its tools write them: `[…]` or `{"value": […]}`. Nothing in them is an expression.

use serde_json::{Map, Value};

use crate::evaluate::{Evaluation, member};
use crate::fault::{Fault, shown};
use crate::resources::Found;
use crate::scope::Place;
use crate::{LeftOut, MOST_RESOURCES, Resource, kind_of, names};

/// The elements of a list, and where they stand; `None` where the document is none.
pub(crate) fn elements(document: &Value) -> Option<(&[Value], &'static str)> {
    match document {
        Value::Array(list) => Some((list, "")),
        Value::Object(members) if !members.contains_key("resources") => {
            Some((members.get("value")?.as_array()?, "value"))
        }
        _ => None,
    }
}

/// Members that say which resource it is, and are no part of what is written.
const NOT_WRITTEN: [&str; 4] = ["id", "type", "name", "apiVersion"];

/// Reads the resources of a list; all go to one place, wherever they were.
pub(crate) fn read(evaluation: &mut Evaluation, list: &[Value], at: &str, place: &Place, found: &mut Found) {
    if list.len() > MOST_RESOURCES {
        evaluation.faults.add(at, format!("there are more than {MOST_RESOURCES} resources"));
        return;
    }
    for (i, element) in list.iter().enumerate() {
        let at = format!("{at}[{i}]");
        let Value::Object(members) = element else {
            let problem =
                format!("{} is not allowed here; allowed: a resource, which is an object", shown(element));
            evaluation.faults.add(at, problem);
            continue;
        };
        let Some((kind, name)) = identity(evaluation, members, &at) else { continue };
        if kind_of(&kind).is_none() {
            let why = format!("{kind} is not a type of Punctual's");
            found.left_out.push(LeftOut { at, name: Some(name), why });
            continue;
        }
        let (collection, job) = match names(&kind, &name) {
            Ok(names) => names,
            Err(problem) => {
                evaluation.faults.add(member(&at, "name"), problem);
                continue;
            }
        };
        // Tools write null for whatever a resource does not have.
        let body =
            members.iter().filter(|(name, value)| !NOT_WRITTEN.contains(&name.as_str()) && !value.is_null());
        let body = body.map(|(name, value)| (name.clone(), value.clone())).collect::<Map<_, _>>().into();
        let api_version = members.get("apiVersion").and_then(Value::as_str).map(str::to_owned);
        let Place { subscription, group, .. } = place.clone();
        found.resources.push(Resource { at, subscription, group, collection, job, api_version, body });
    }
}

/// The type and the whole name: from `type` and `name`, or else from `id`.
fn identity(evaluation: &mut Evaluation, members: &Map<String, Value>, at: &str) -> Option<(String, String)> {
    let text = |name: &str| members.get(name).and_then(Value::as_str);
    let of_id = text("id").and_then(|id| {
        let start = id.to_lowercase().rfind("/providers/")? + "/providers/".len();
        let mut segments = id.get(start..)?.split('/');
        let mut kind = segments.next()?.to_owned();
        let mut name = Vec::new();
        while let Some(segment) = segments.next() {
            kind += &format!("/{segment}");
            name.push(segments.next()?);
        }
        Some((kind, name.join("/")))
    });
    let kind = text("type").map(str::to_owned).or_else(|| Some(of_id.clone()?.0));
    // Some tools write a job's own name and leave its collection to the id.
    let name = match (text("name"), &of_id) {
        (Some(name), Some((_, whole))) if !name.contains('/') => Some(whole.clone()),
        (Some(name), _) => Some(name.to_owned()),
        (None, of_id) => of_id.clone().map(|(_, name)| name),
    };
    let fault = |name: &str| Fault {
        at: member(at, name),
        column: None,
        problem: "missing; allowed: a text, or an id that tells it".to_owned(),
    };
    if kind.is_none() {
        evaluation.faults.push(fault("type"));
    }
    if name.is_none() {
        evaluation.faults.push(fault("name"));
    }
    Some((kind?, name?))
}
