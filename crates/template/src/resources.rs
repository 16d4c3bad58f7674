//! The resources of a template: loops unrolled, children and nested deployments brought into one list.

use std::collections::HashMap;

use serde_json::{Map, Value};

use crate::evaluate::{Evaluation, Frame, Loop, member};
use crate::fault::shown;
use crate::order::{self, Node};
use crate::parameters;
use crate::scope::{Place, Scope};
use crate::{LeftOut, MOST_RESOURCES, Resource, kind_of};

/// How deep deployments may be nested.
const DEEPEST: usize = 5;

/// The type of a nested deployment.
const DEPLOYMENT: &str = "Microsoft.Resources/deployments";

/// Members of a resource that speak to the deployment and are no part of what is written.
const NOT_WRITTEN: [&str; 11] = [
    "type",
    "name",
    "apiVersion",
    "dependsOn",
    "condition",
    "copy",
    "resources",
    "comments",
    "scope",
    "metadata",
    "existing",
];

/// What was found on the way through a template.
#[derive(Default)]
pub(crate) struct Found {
    pub(crate) resources: Vec<Resource>,
    pub(crate) left_out: Vec<LeftOut>,
    /// Of all templates so far.
    count: usize,
}

/// The parent of a resource that is written inside another.
#[derive(Clone, Copy)]
struct Parent<'p> {
    kind: &'p str,
    name: &'p str,
}

/// One template's list of resources on the way to its order.
struct Level<'l> {
    found: &'l mut Found,
    nodes: Vec<Node>,
    depth: usize,
}

/// Reads the resources of a template at a path.
pub(crate) fn read<'a>(
    evaluation: &mut Evaluation,
    frame: Frame<'_, 'a>,
    template: &'a Value,
    at: &str,
    found: &mut Found,
    depth: usize,
) {
    let at = member(at, "resources");
    let Some(resources) = template.get("resources") else {
        evaluation.faults.add(at, "missing; allowed: an array of resources");
        return;
    };
    let mut level = Level { found, nodes: Vec::new(), depth };
    level.list(evaluation, frame, resources, &at, None);
    let nodes = std::mem::take(&mut level.nodes);
    for node in order::sort(evaluation, nodes) {
        found.resources.extend(node.resources);
    }
}

impl Level<'_> {
    fn list<'a>(
        &mut self,
        evaluation: &mut Evaluation,
        frame: Frame<'_, 'a>,
        resources: &'a Value,
        at: &str,
        parent: Option<Parent<'_>>,
    ) {
        match resources {
            Value::Array(list) => {
                for (i, source) in list.iter().enumerate() {
                    self.unroll(evaluation, frame, source, &format!("{at}[{i}]"), None, parent);
                }
            }
            // The newer form: each has a name that others depend on.
            Value::Object(members) => {
                for (symbol, source) in members {
                    self.unroll(evaluation, frame, source, &member(at, symbol), Some(symbol), parent);
                }
            }
            _ => evaluation.faults.add(at, "allowed: an array of resources"),
        }
    }

    /// As many resources as the loop says.
    fn unroll<'a>(
        &mut self,
        evaluation: &mut Evaluation,
        frame: Frame<'_, 'a>,
        source: &'a Value,
        at: &str,
        symbol: Option<&str>,
        parent: Option<Parent<'_>>,
    ) {
        let Value::Object(members) = source else {
            let problem =
                format!("{} is not allowed here; allowed: a resource, which is an object", shown(source));
            evaluation.faults.add(at, problem);
            return;
        };
        let mut keys: Vec<String> = symbol.map(str::to_lowercase).into_iter().collect();
        let Some(copy) = members.get("copy").filter(|copy| !copy.is_null()) else {
            self.one(evaluation, frame, members, at, keys, parent);
            return;
        };
        let at_copy = member(at, "copy");
        let Some(name) = copy.get("name").and_then(Value::as_str) else {
            evaluation.faults.add(member(&at_copy, "name"), "missing; allowed: the name of the loop, a text");
            return;
        };
        let Some(count) = evaluation.count(frame, copy, &at_copy) else { return };
        keys.push(name.to_lowercase());
        if count == 0 {
            // Others may depend on a loop that makes nothing.
            self.nodes.push(Node { at: at.to_owned(), keys: keys.clone(), ..Node::default() });
        }
        let mut loops = frame.loops.to_vec();
        loops.push(Loop { name: name.to_owned(), index: 0, of_resources: true });
        for index in 0..count {
            if let Some(innermost) = loops.last_mut() {
                innermost.index = index;
            }
            let frame = Frame { loops: &loops, ..frame };
            if !self.one(evaluation, frame, members, at, keys.clone(), parent) {
                return;
            }
        }
    }

    /// One resource with what is inside it; whether there is room for more.
    fn one<'a>(
        &mut self,
        evaluation: &mut Evaluation,
        frame: Frame<'_, 'a>,
        members: &'a Map<String, Value>,
        at: &str,
        mut keys: Vec<String>,
        parent: Option<Parent<'_>>,
    ) -> bool {
        self.found.count += 1;
        if self.found.count > MOST_RESOURCES {
            let problem = format!("there are more than {MOST_RESOURCES} resources");
            evaluation.faults.add("resources", problem);
            return false;
        }
        let Some(kind) = self.full_kind(evaluation, frame, members, at, parent) else { return true };
        let kept = kind_of(&kind).is_some() || kind.eq_ignore_ascii_case(DEPLOYMENT);
        let stays = if kept { self.condition(evaluation, frame, members, at) } else { Some(false) };
        // Of what is left out only the name is of interest, and only if it has one.
        let (name, faults, _) =
            evaluation.attempt(|evaluation| self.full_name(evaluation, frame, members, at, parent));
        if kept && stays != Some(false) {
            faults.into_iter().for_each(|fault| evaluation.faults.push(fault));
        }
        if let Some(name) = &name {
            keys.extend(order::keys(frame.target, &kind, name));
        }
        let mut node = Node { at: at.to_owned(), keys, ..Node::default() };
        let Some(stays) = stays else { return true };
        if !stays {
            let why = if members.get("existing") == Some(&Value::Bool(true)) {
                "it is said to exist already".to_owned()
            } else if kept {
                "its condition is false".to_owned()
            } else {
                format!("{kind} is not a type of Punctual's")
            };
            self.found.left_out.push(LeftOut { at: at.to_owned(), name: name.clone(), why });
        } else if let Some(name) = &name {
            node.depends = dependencies(evaluation, frame, members, at);
            if kind.eq_ignore_ascii_case(DEPLOYMENT) {
                node.resources = self.deployment(evaluation, frame, members, at, name);
            } else {
                node.resources.extend(resource(evaluation, frame, members, at, &kind, name));
            }
        }
        self.nodes.push(node);
        // The children of other people's resources are other people's too.
        if let (Some(children), Some(name)) = (members.get("resources"), &name)
            && kind_of(&kind).is_some()
        {
            let parent = Parent { kind: &kind, name };
            self.list(evaluation, frame, children, &member(at, "resources"), Some(parent));
        }
        true
    }

    fn full_kind<'a>(
        &self,
        evaluation: &mut Evaluation,
        frame: Frame<'_, 'a>,
        members: &Map<String, Value>,
        at: &str,
        parent: Option<Parent<'_>>,
    ) -> Option<String> {
        let kind = text(
            evaluation,
            frame,
            members,
            at,
            "type",
            "a type such as Microsoft.Scheduler/jobCollections",
        )?;
        Some(match parent {
            Some(parent) if !starts_with(&kind, &format!("{}/", parent.kind)) => {
                format!("{}/{kind}", parent.kind)
            }
            _ => kind,
        })
    }

    fn full_name<'a>(
        &self,
        evaluation: &mut Evaluation,
        frame: Frame<'_, 'a>,
        members: &Map<String, Value>,
        at: &str,
        parent: Option<Parent<'_>>,
    ) -> Option<String> {
        let name = text(evaluation, frame, members, at, "name", "the name of the resource, a text")?;
        Some(match parent {
            Some(parent) if !starts_with(&name, &format!("{}/", parent.name)) => {
                format!("{}/{name}", parent.name)
            }
            _ => name,
        })
    }

    /// Whether the resource is wanted; `None` where nobody can tell.
    fn condition<'a>(
        &self,
        evaluation: &mut Evaluation,
        frame: Frame<'_, 'a>,
        members: &Map<String, Value>,
        at: &str,
    ) -> Option<bool> {
        if members.get("existing") == Some(&Value::Bool(true)) {
            return Some(false);
        }
        let at = member(at, "condition");
        let Some(condition) = members.get("condition") else { return Some(true) };
        match evaluation.value(frame, condition, &at)? {
            Value::Bool(is_so) => Some(is_so),
            other => {
                evaluation.faults.add(at, format!("{} is not allowed here; allowed: a bool", shown(&other)));
                None
            }
        }
    }

    /// The resources of a deployment inside this one.
    fn deployment<'a>(
        &mut self,
        evaluation: &mut Evaluation,
        frame: Frame<'_, 'a>,
        members: &'a Map<String, Value>,
        at: &str,
        name: &str,
    ) -> Vec<Resource> {
        let at_properties = member(at, "properties");
        if self.depth == DEEPEST {
            evaluation.faults.add(at, format!("deployments are nested more than {DEEPEST} deep"));
            return Vec::new();
        }
        let properties = members.get("properties").unwrap_or(&Value::Null);
        let Some(template) = properties.get("template").filter(|template| template.is_object()) else {
            let problem = match properties.get("templateLink") {
                Some(_) => "the template is elsewhere; put it here, as properties.template",
                None => "missing; allowed: a template, which is an object",
            };
            evaluation.faults.add(member(&at_properties, "template"), problem);
            return Vec::new();
        };
        let mut place = Place { deployment: name.to_owned(), ..frame.target.clone() };
        for (member_name, target) in
            [("resourceGroup", &mut place.group), ("subscriptionId", &mut place.subscription)]
        {
            if members.get(member_name).is_some_and(|value| !value.is_null()) {
                match text(evaluation, frame, members, at, member_name, "a text") {
                    Some(given) => *target = given,
                    None => return Vec::new(),
                }
            }
        }
        let scope = properties.get("expressionEvaluationOptions").and_then(|options| options.get("scope"));
        let is_inner = scope.and_then(Value::as_str).is_some_and(|scope| scope.eq_ignore_ascii_case("inner"));
        let at_template = member(&at_properties, "template");
        let mut found = Found { count: self.found.count, ..Found::default() };
        if is_inner {
            let at_parameters = member(&at_properties, "parameters");
            let given = properties.get("parameters").filter(|given| !given.is_null());
            let given = given.map_or_else(HashMap::new, |given| {
                let given = evaluation.value(frame, given, &at_parameters).unwrap_or_default();
                parameters::values(evaluation, &given, &at_parameters, true)
            });
            let scope = Scope::new(evaluation, template, &at_template, place, given);
            let frame = Frame { scope: &scope, target: &scope.place, loops: &[], arguments: None };
            read(evaluation, frame, template, &at_template, &mut found, self.depth + 1);
        } else {
            // Azure's choice: the expressions inside mean what they would mean outside, wherever it is deployed to.
            let frame = Frame { target: &place, ..frame };
            read(evaluation, frame, template, &at_template, &mut found, self.depth + 1);
        }
        self.found.count = found.count;
        self.found.left_out.append(&mut found.left_out);
        found.resources
    }
}

/// A resource of ours, with its values.
fn resource(
    evaluation: &mut Evaluation,
    frame: Frame<'_, '_>,
    members: &Map<String, Value>,
    at: &str,
    kind: &str,
    name: &str,
) -> Option<Resource> {
    let mut body = Map::new();
    let mut is_whole = true;
    for (name, value) in members.iter().filter(|(name, _)| !NOT_WRITTEN.contains(&name.as_str())) {
        match evaluation.value(frame, value, &member(at, name)) {
            Some(value) => _ = body.insert(name.clone(), value),
            None => is_whole = false,
        }
    }
    let api_version = match members.get("apiVersion") {
        None | Some(Value::Null) => None,
        Some(_) => Some(text(evaluation, frame, members, at, "apiVersion", "a version such as 2016-03-01")?),
    };
    let (collection, job) = match crate::names(kind, name) {
        Ok(names) => names,
        Err(problem) => {
            evaluation.faults.add(member(at, "name"), problem);
            return None;
        }
    };
    let Place { subscription, group, .. } = frame.target.clone();
    let body = Value::Object(body);
    let whole = Resource { at: at.to_owned(), subscription, group, collection, job, api_version, body };
    is_whole.then_some(whole)
}

/// What a resource says it depends on.
fn dependencies(
    evaluation: &mut Evaluation,
    frame: Frame<'_, '_>,
    members: &Map<String, Value>,
    at: &str,
) -> Vec<(String, String)> {
    let at = member(at, "dependsOn");
    let list = match members.get("dependsOn") {
        None | Some(Value::Null) => return Vec::new(),
        Some(value) => evaluation.value(frame, value, &at),
    };
    match list {
        None => Vec::new(),
        Some(Value::Array(list)) if list.iter().all(Value::is_string) => {
            let texts = list.iter().filter_map(Value::as_str).enumerate();
            texts.map(|(i, text)| (format!("{at}[{i}]"), text.to_owned())).collect()
        }
        Some(other) => {
            evaluation
                .faults
                .add(at, format!("{} is not allowed here; allowed: an array of texts", shown(&other)));
            Vec::new()
        }
    }
}

/// A member that must be a text.
fn text(
    evaluation: &mut Evaluation,
    frame: Frame<'_, '_>,
    members: &Map<String, Value>,
    at: &str,
    name: &str,
    allowed: &str,
) -> Option<String> {
    let at = member(at, name);
    let Some(value) = members.get(name) else {
        evaluation.faults.add(at, format!("missing; allowed: {allowed}"));
        return None;
    };
    match evaluation.value(frame, value, &at)? {
        Value::String(text) => Some(text),
        other => {
            evaluation.faults.add(at, format!("{} is not allowed here; allowed: {allowed}", shown(&other)));
            None
        }
    }
}

/// Whether a text begins with another, in any case.
fn starts_with(text: &str, start: &str) -> bool {
    text.get(..start.len()).is_some_and(|beginning| beginning.eq_ignore_ascii_case(start))
}
