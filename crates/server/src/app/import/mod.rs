//! Import: the collections and jobs of a deployment template or of a resource list.
//!
//! It goes in two steps. [`App::plan_import`] reads the document and judges everything in it against what would be
//! there afterwards; nothing is written, and all faults come in one answer. [`App::carry_out`] then writes one
//! resource, through the same use-cases as PUT, if it still stands as it was planned. What is already the same is not
//! written, so that counters and history stay, and an import that broke off is continued by running it again.

pub(in crate::app) mod changes;
mod collections;
mod jobs;

use std::collections::HashMap;

use model::{Collection, CollectionPath, Uuid};
use recurrence::Fault;
use serde_json::{Map, Value};
use store::Revision;
use template::{Deployment, Input, LeftOut, Place, Resource};

pub use changes::Change;

use super::{App, Preconditions, Result, etag};
use crate::problem::{Detail, Problem};

/// What is to be imported, and where it goes.
#[derive(Debug, Clone)]
pub struct Import {
    /// A template or a list of resources.
    pub document: Value,
    /// What is given for the template's parameters.
    pub parameters: Option<Value>,
    /// Where to.
    pub place: Place,
}

/// What an import will do.
#[derive(Debug)]
pub struct Plan {
    /// For each resource what becomes of it, in the order of the writes.
    pub steps: Vec<Step>,
    /// What is in the document and not written.
    pub left_out: Vec<LeftOut>,
    /// The outputs of the template.
    pub outputs: Map<String, Value>,
    /// What else is worth knowing.
    pub notes: Vec<String>,
}

/// What becomes of one resource.
#[derive(Debug)]
pub struct Step {
    resource: Resource,
    path: CollectionPath,
    /// What is done with it.
    pub verdict: Verdict,
    /// What a change changes; secrets are masked.
    pub changes: Vec<Change>,
    /// Members of its body that mean nothing.
    pub ignored: Vec<String>,
    /// Something to know about it.
    pub note: Option<String>,
    revision: Option<Revision>,
}

/// What is done with a resource.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// It is not there and is made.
    Create,
    /// It is there and becomes another.
    Change,
    /// It is there already, just so.
    Same,
}

impl Step {
    /// Where the resource stands in the document.
    pub fn at(&self) -> &str {
        &self.resource.at
    }

    /// The id of the resource.
    pub fn id(&self) -> String {
        match &self.resource.job {
            Some(job) => wire::path::job_id(&self.path, job),
            None => wire::path::collection_id(&self.path),
        }
    }
}

/// What is found out while planning.
struct Planning {
    faults: Vec<Detail>,
    /// Texts that no fault and no change may show.
    secrets: Vec<String>,
    /// The collections as they will be, by their paths in lower case.
    collections: HashMap<String, Collection>,
    steps: Vec<Step>,
}

impl App {
    /// Judges everything and writes nothing; or says all that is in the way.
    pub async fn plan_import(&self, import: Import) -> Result<Plan> {
        let now = self.clock.now();
        // A large template takes a while, and others are waiting for this thread.
        let read = tokio::task::spawn_blocking(move || {
            let Import { document, parameters, place } = &import;
            let parameters = parameters.as_ref();
            template::read(&Input { document, parameters, place: place.clone(), now, seed: Uuid::new_v4() })
        });
        let read = read.await.map_err(|error| {
            tracing::error!(%error, "a template could not be read");
            Problem::busy("The template could not be read; nothing was changed.")
        })?;
        let deployment = read.map_err(|faults| {
            let detail = |fault: &template::Fault| Detail {
                target: fault.at.clone(),
                message: fault.to_string(),
                is_conflict: false,
            };
            Problem::listed(faults.iter().map(detail).collect())
        })?;
        let Deployment { resources, left_out, outputs, notes, secrets } = deployment;
        let (collections, jobs): (Vec<_>, Vec<_>) =
            resources.into_iter().partition(|resource| resource.job.is_none());
        let mut planning =
            Planning { faults: Vec::new(), secrets, collections: HashMap::new(), steps: Vec::new() };
        self.plan_collections(&mut planning, collections).await?;
        self.plan_jobs(&mut planning, jobs).await?;
        if planning.faults.is_empty() {
            return Ok(Plan { steps: planning.steps, left_out, outputs, notes });
        }
        Err(Problem::listed(planning.faults))
    }

    /// Writes one resource, unless there is nothing to write; or says why not.
    pub async fn carry_out(&self, step: &Step) -> Result<()> {
        let unchanged = match step.revision {
            Some(revision) => Preconditions::read(Some(&etag(revision)), None),
            None => Preconditions::read(None, Some("*")),
        };
        match (step.verdict, &step.resource.job) {
            (Verdict::Same, _) => Ok(()),
            (_, None) => self.put_collection(&step.path, &step.resource.body, &unchanged).await.map(|_| ()),
            (_, Some(job)) => {
                self.put_job(&step.path, job, &step.resource.body, &unchanged).await.map(|_| ())
            }
        }
    }
}

impl Planning {
    fn fault(&mut self, target: impl Into<String>, message: impl Into<String>, is_conflict: bool) {
        self.faults.push(Detail { target: target.into(), message: message.into(), is_conflict });
    }

    /// Takes what a use-case has against a resource, with the path in the document.
    fn problem(&mut self, at: &str, problem: Problem) {
        let is_conflict = problem.status == 409;
        let Some(faults) = problem.faults else {
            return self.fault(at, format!("{at}: {}", problem.message), is_conflict);
        };
        for fault in faults.into_vec() {
            let field = match fault.field.as_str() {
                wire::recurrence::DOCUMENT => at.to_owned(),
                field => format!("{at}.{field}"),
            };
            let value = fault.value.map(|value| changes::concealed(value, &self.secrets));
            let fault = Fault { field, value, ..fault };
            self.fault(fault.field.clone(), fault.to_string(), is_conflict);
        }
    }
}

/// How a collection is looked up.
fn key(path: &CollectionPath) -> String {
    format!("{}/{}/{}", path.subscription, path.group, path.name).to_lowercase()
}

fn path_of(resource: &Resource) -> CollectionPath {
    CollectionPath {
        subscription: resource.subscription.clone(),
        group: resource.group.clone(),
        name: resource.collection.clone(),
    }
}
