//! The jobs of an import.

use std::collections::{HashMap, HashSet};

use model::{Collection, Job, JobState, Timestamp};
use recurrence::Rule;
use serde_json::Value;
use store::FoundJob;
use template::Resource;
use wire::job::JobRequest;

use super::{Planning, Step, Verdict, key, path_of};
use crate::app::audited::job_changes;
use crate::app::jobs::refuse_final;
use crate::app::{App, Result, names};
use crate::problem::Problem;

/// The collection of some jobs: as it will be, and the jobs that it has.
struct Around {
    /// `None` where there will be none of that name.
    collection: Option<Collection>,
    there: HashMap<String, FoundJob>,
    /// Of jobs that count against the quota.
    names: HashSet<String>,
    told_full: bool,
}

impl App {
    pub(super) async fn plan_jobs(&self, planning: &mut Planning, resources: Vec<Resource>) -> Result<()> {
        let now = self.clock.now();
        let mut around: HashMap<String, Around> = HashMap::new();
        for resource in resources {
            let key = key(&path_of(&resource));
            let around = match around.entry(key) {
                std::collections::hash_map::Entry::Occupied(entry) => entry.into_mut(),
                std::collections::hash_map::Entry::Vacant(entry) => {
                    let around = self.around(planning, &resource, entry.key()).await?;
                    entry.insert(around)
                }
            };
            self.plan_job(planning, around, resource, now);
        }
        Ok(())
    }

    async fn around(&self, planning: &Planning, resource: &Resource, key: &str) -> Result<Around> {
        let path = path_of(resource);
        let stored = self.store.collection(&path).await?;
        let there = match &stored {
            Some(stored) => self.store.all_jobs(&stored.collection.path).await?,
            None => Vec::new(),
        };
        let there: HashMap<String, FoundJob> =
            there.into_iter().map(|found| (found.name().to_lowercase(), found)).collect();
        let planned = planning.collections.get(key).cloned();
        let collection = planned.or_else(|| stored.map(|stored| stored.collection));
        let living = there.iter().filter(|(_, found)| !found.state().is_some_and(JobState::is_final));
        let names = living.map(|(name, _)| name.clone()).collect();
        Ok(Around { collection, there, names, told_full: false })
    }

    fn plan_job(&self, planning: &mut Planning, around: &mut Around, resource: Resource, now: Timestamp) {
        let (at, name) = (resource.at.clone(), resource.job.clone().unwrap_or_default());
        let Some(collection) = &around.collection else {
            let message = format!(
                "{at}: there is no job collection '{}' in group '{}', neither here nor in the document",
                resource.collection, resource.group
            );
            return planning.fault(at, message, false);
        };
        let path = collection.path.clone();
        let stored = around.there.get(&name.to_lowercase());
        let opened = stored.and_then(FoundJob::readable).map(|stored| &stored.job);
        if let Some(same) = opened.and_then(|job| same(&resource.body, job)) {
            let note = opened.map(|job| job.state).filter(|state| state.is_final());
            let note = note.map(|state| format!("it is {}, which is final", state.name()));
            planning.steps.push(Step {
                resource,
                path,
                verdict: Verdict::Same,
                changes: Vec::new(),
                ignored: same.ignored,
                note,
                revision: stored.map(FoundJob::revision),
            });
            return;
        }
        match stored {
            Some(stored) => {
                if let Err(problem) = refuse_final(stored.name(), stored.state()) {
                    planning.problem(&at, problem);
                }
            }
            None => {
                if let Err(problem) = names::check("job", &name, self.limits.name) {
                    planning.problem(&at, problem);
                }
            }
        }
        let request = match wire::job::read(&resource.body, now) {
            Ok(request) => request,
            Err(faults) => return planning.problem(&at, Problem::faulty(faults)),
        };
        if let Err(problem) = self.admit(collection, &request, None, now) {
            planning.problem(&at, problem);
        }
        around.names.insert(name.to_lowercase());
        let most = collection.allowance(&self.plans).jobs;
        if stored.is_none() && around.names.len() as u64 > u64::from(most) && !around.told_full {
            around.told_full = true;
            let message = format!("{at}: the job collection '{}' holds at most {most} jobs", path.name);
            planning.fault(at, message, true);
        }
        let verdict = if stored.is_some() { Verdict::Change } else { Verdict::Create };
        let changes = opened.map(|job| differences(job, &request, &planning.secrets)).unwrap_or_default();
        let note = match stored {
            Some(FoundJob::Unreadable(record)) => record.unreadable.as_ref(),
            _ => None,
        };
        let note = note.map(|why| format!("it cannot be read as it is stored and is written anew: {why}"));
        let revision = stored.map(FoundJob::revision);
        let ignored = request.ignored;
        planning.steps.push(Step { resource, path, verdict, changes, ignored, note, revision });
    }
}

/// The request of a body that asks for a job as it stands. It is read as of the moment when the job was accepted: what
/// was right then need not be right for a new job, such as an end that has passed since.
fn same(body: &Value, job: &Job) -> Option<JobRequest> {
    let accepted_at = job.definition.accepted_at;
    let request = wire::job::read(body, accepted_at).ok()?;
    // The same times in other words are the same times.
    let times = |rule: &Rule| (rule.start_time(), rule.recurrence().cloned());
    let mut definition = request.definition();
    if times(&request.rule) == times(&job.rule) {
        definition.timing.clone_from(&job.definition.timing);
    }
    let state = request.state.unwrap_or(JobState::Enabled);
    let is_so = definition == job.definition && (state == job.state || job.state.is_final());
    is_so.then_some(request)
}

/// What the request changes of a job.
fn differences(job: &Job, request: &JobRequest, secrets: &[String]) -> Vec<super::Change> {
    job_changes(job, &request.definition(), request.state.unwrap_or(JobState::Enabled), secrets)
}
