//! How is a deployment written down?
//!
//! [`read`] takes a deployment template with its parameters, or a list of resources, and gives the job collections and
//! jobs that are to be written, in order, each with where it stands. It knows the language of templates and nothing of
//! what a job is: bodies are for others to judge. Nothing here asks for the time, the network or a disk.
//!
//! ```
//! use serde_json::json;
//! use template::{Input, Place};
//!
//! let document = json!({
//!     "$schema": "https://schema.management.azure.com/schemas/2015-01-01/deploymentTemplate.json#",
//!     "contentVersion": "1.0.0.0",
//!     "parameters": {"collection": {"type": "string"}},
//!     "resources": [{
//!         "type": "Microsoft.Scheduler/jobCollections",
//!         "apiVersion": "2016-03-01",
//!         "name": "[toLower(parameters('collection'))]",
//!         "location": "[resourceGroup().location]",
//!     }],
//! });
//! let input = Input {
//!     document: &document,
//!     parameters: Some(&json!({"collection": "Billing"})),
//!     place: Place { subscription: "s".into(), group: "g".into(), deployment: "import".into() },
//!     now: "2027-01-01T00:00:00Z".parse()?,
//!     seed: template::Uuid::nil(),
//! };
//! let deployment = template::read(&input).unwrap();
//! assert_eq!(deployment.resources[0].collection, "billing");
//! assert_eq!(deployment.resources[0].body, json!({"location": "Local"}));
//!
//! let faults = template::read(&Input { parameters: None, ..input }).unwrap_err();
//! assert_eq!(
//!     faults[0].to_string(),
//!     "parameters.collection: the parameter has no value; give one, or a defaultValue here",
//! );
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # The way through
//!
//! `expression` reads what stands in brackets, `evaluate` carries it out, `functions` has what it can call. `scope` is
//! what one template defines, `parameters` judges what was given. `resources` walks through loops, children and nested
//! deployments, `order` sorts by what depends on what, `list` reads lists.
//!
//! # Bounds
//!
//! A template may be hostile. Depth, repetitions, resources, the length of an expression and the bytes that all
//! expressions make together have limits; how large the document is, whoever reads it says.

#![forbid(unsafe_code)]

mod evaluate;
mod expression;
mod fault;
mod functions;
mod list;
mod order;
mod parameters;
mod resources;
mod scope;

use std::collections::HashMap;

pub use jiff::Timestamp;
use serde_json::{Map, Value};
pub use uuid::Uuid;

use evaluate::{Evaluation, Frame, member};
pub use expression::escape;
pub use fault::Fault;
pub use parameters::read_setting;
use resources::Found;
pub use scope::Place;
use scope::Scope;

/// The most resources of a deployment. Azure's limit of 800 would cut exports of large subscriptions.
pub const MOST_RESOURCES: usize = 20_000;

/// What is to be read.
#[derive(Debug, Clone)]
pub struct Input<'a> {
    /// A deployment template, or a list of resources.
    pub document: &'a Value,
    /// What is given for the parameters: a parameters file, or an object of names and values.
    pub parameters: Option<&'a Value>,
    /// Where it goes.
    pub place: Place,
    /// What `utcNow` says.
    pub now: Timestamp,
    /// What `newGuid` is made from.
    pub seed: Uuid,
}

/// What is to be written.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Deployment {
    /// Each after those that it depends on.
    pub resources: Vec<Resource>,
    /// What is in the document and not written, and why.
    pub left_out: Vec<LeftOut>,
    /// The outputs of the template.
    pub outputs: Map<String, Value>,
    /// What else is worth knowing.
    pub notes: Vec<String>,
    /// The texts of secure parameters: no report may show them.
    pub secrets: Vec<String>,
}

/// A job collection or a job.
#[derive(Debug, Clone, PartialEq)]
pub struct Resource {
    /// Where it stands in the document.
    pub at: String,
    /// The subscription.
    pub subscription: String,
    /// The resource group.
    pub group: String,
    /// The name of the collection.
    pub collection: String,
    /// The name of the job; `None` for the collection itself.
    pub job: Option<String>,
    /// The api-version that it was written for.
    pub api_version: Option<String>,
    /// The body of the PUT that writes it.
    pub body: Value,
}

impl Resource {
    /// `collection`, or `collection/job`.
    pub fn label(&self) -> String {
        match &self.job {
            Some(job) => format!("{}/{job}", self.collection),
            None => self.collection.clone(),
        }
    }
}

/// Something that is in the document and is not written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LeftOut {
    /// Where it stands.
    pub at: String,
    /// Its name, if that can be told.
    pub name: Option<String>,
    /// Why it is not written.
    pub why: String,
}

/// Reads a document; or says all that is wrong with it.
pub fn read(input: &Input<'_>) -> Result<Deployment, Vec<Fault>> {
    let mut evaluation = Evaluation::new(input.now, input.seed);
    let mut found = Found::default();
    let mut deployment = Deployment::default();
    if let Some((elements, at)) = list::elements(input.document) {
        if input.parameters.is_some_and(|given| given.as_object().is_none_or(|given| !given.is_empty())) {
            evaluation.faults.add("parameters", "a list of resources has no parameters");
        }
        if input.document.get("nextLink").is_some_and(|link| !link.is_null()) {
            deployment.notes.push("nextLink: the list goes on there; only its first page is here".to_owned());
        }
        list::read(&mut evaluation, elements, at, &input.place, &mut found);
    } else if input.document.get("resources").is_some() {
        template(&mut evaluation, input, &mut found, &mut deployment);
    } else {
        let problem = "allowed: a template, which is an object with resources; or a list of resources, which is an \
                       array or an object with value";
        evaluation.faults.add("the document", problem);
    }
    finish(&mut evaluation, found, &mut deployment);
    let mut faults = evaluation.faults.into_vec();
    if !faults.is_empty() {
        faults.iter_mut().for_each(|fault| fault.conceal(&evaluation.secrets));
        return Err(faults);
    }
    deployment.secrets = evaluation.secrets;
    Ok(deployment)
}

fn template(evaluation: &mut Evaluation, input: &Input<'_>, found: &mut Found, deployment: &mut Deployment) {
    let template = input.document;
    let given = input.parameters.map_or_else(HashMap::new, |given| {
        // What was given is a document of its own; its paths must not look like those of the template.
        parameters::given(evaluation, given, "given")
    });
    let scope = Scope::new(evaluation, template, "", input.place.clone(), given);
    resources::read(evaluation, scope.frame(), template, "", found, 0);
    outputs(evaluation, scope.frame(), template, deployment);
}

/// What a template says it gives. What only Azure could tell is left out of it, with a note.
fn outputs(evaluation: &mut Evaluation, frame: Frame<'_, '_>, template: &Value, deployment: &mut Deployment) {
    for (name, output) in template.get("outputs").and_then(Value::as_object).into_iter().flatten() {
        let at = member("outputs", name);
        let ((), faults, are_unanswerable) = evaluation.attempt(|evaluation| {
            if output.get("condition").is_some_and(|condition| {
                evaluation.value(frame, condition, &member(&at, "condition")) == Some(Value::Bool(false))
            }) {
                return;
            }
            let value = match (output.get("value"), output.get("copy")) {
                (Some(value), _) => evaluation.value(frame, value, &member(&at, "value")),
                (None, Some(copy)) => {
                    let mut copy = copy.clone();
                    if let Value::Object(members) = &mut copy {
                        members.insert("name".to_owned(), name.as_str().into());
                    }
                    evaluation.repeated(frame, &copy, &member(&at, "copy")).map(|(_, list)| list)
                }
                (None, None) => {
                    evaluation.faults.add(member(&at, "value"), "missing; allowed: what the template gives");
                    None
                }
            };
            if let Some(value) = value {
                let kind = output.get("type").and_then(Value::as_str).unwrap_or_default();
                let is_secure = kind.to_ascii_lowercase().starts_with("secure");
                deployment.outputs.insert(name.clone(), if is_secure { Value::Null } else { value });
            }
        });
        if are_unanswerable {
            deployment.notes.extend(faults.iter().map(|fault| format!("{fault}; the output is left out")));
        } else {
            faults.into_iter().for_each(|fault| evaluation.faults.push(fault));
        }
    }
}

/// Checks that no resource is there twice, and leaves out what came to its end before.
fn finish(evaluation: &mut Evaluation, found: Found, deployment: &mut Deployment) {
    let mut seen: HashMap<String, String> = HashMap::new();
    deployment.left_out = found.left_out;
    for new in found.resources {
        let id = format!("{}/{}/{}", new.subscription, new.group, new.label()).to_lowercase();
        if let Some(other) = seen.insert(id, new.at.clone()) {
            let problem = format!("{} is given twice; the other stands at {other}", new.label());
            evaluation.faults.add(new.at, problem);
            continue;
        }
        let state = new.body.get("properties").and_then(|properties| properties.get("state"));
        let ended = state.and_then(Value::as_str).filter(|state| {
            new.job.is_some() && ["completed", "faulted"].iter().any(|end| end.eq_ignore_ascii_case(state))
        });
        if let Some(state) = ended {
            let why = format!("its state is {state}: it does not run again");
            deployment.left_out.push(LeftOut { at: new.at.clone(), name: Some(new.label()), why });
            continue;
        }
        deployment.resources.push(new);
    }
}

/// The kinds of resources that are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Collection,
    Job,
}

/// The kind that a full type names, in any case.
fn kind_of(name: &str) -> Option<Kind> {
    match name.to_ascii_lowercase().as_str() {
        "microsoft.scheduler/jobcollections" => Some(Kind::Collection),
        "microsoft.scheduler/jobcollections/jobs" => Some(Kind::Job),
        _ => None,
    }
}

/// The names of a collection and of a job in it.
fn names(kind: &str, name: &str) -> Result<(String, Option<String>), String> {
    let segments: Vec<&str> = name.split('/').collect();
    match (kind_of(kind), &segments[..]) {
        (Some(Kind::Collection), [collection]) => Ok(((*collection).to_owned(), None)),
        (Some(Kind::Job), [collection, job]) => Ok(((*collection).to_owned(), Some((*job).to_owned()))),
        (Some(Kind::Job), _) => Err(format!("{name:?} is not the name of a job; allowed: collection/job")),
        _ => Err(format!("{name:?} is not the name of a job collection; allowed: a name without slashes")),
    }
}
