//! What can be done with jobs.

use access::Act;
use model::transition;
use model::{Action, Collection, CollectionPath, JobState, Timestamp, Uuid};
use recurrence::{Fault, Faults};
use serde_json::{Value, json};
use store::{
    Deleted, ExpectedJob, HistoryQuery, JobWrite, Page, StoredCollection, StoredHistory, StoredJob, Written,
};
use wire::job::JobRequest;

use super::{App, Preconditions, Result, TRIES, audited, names, too_many_changes};
use crate::live::ChangeKind;
use crate::problem::Problem;
use crate::rates::{Kind, Spent};

/// The member of a job that switches it.
const STATE: &str = "properties.state";

/// A job that was written.
pub struct PutJob {
    /// As it stands now.
    pub stored: StoredJob,
    /// Whether it is new.
    pub created: bool,
    /// Members of the body that mean nothing.
    pub ignored: Vec<String>,
}

/// Whether a change is made, or only judged.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mode {
    /// It is made.
    Write,
    /// It is judged by all that the server knows, and nothing is stored.
    DryRun,
}

impl App {
    /// Creates a job or replaces it as a whole.
    pub async fn put_job(
        &self,
        path: &CollectionPath,
        name: &str,
        body: &Value,
        preconditions: &Preconditions,
    ) -> Result<PutJob> {
        for _ in 0..TRIES {
            let found = self.store.job_in_collection(path, name).await?;
            let (StoredCollection { collection, .. }, existing) =
                found.ok_or_else(|| Problem::no_collection(&path.group, &path.name))?;
            if existing.is_none() {
                names::check("job", name, self.limits.name)?;
            }
            preconditions.check(existing.as_ref().map(|existing| existing.revision))?;
            if let Some(existing) = &existing {
                refuse_final(&existing.job.name, existing.job.state)?;
            }
            let now = self.clock.now();
            let request = wire::job::read(body, now).map_err(Problem::faulty)?;
            preconditions.check_members(&request.ignored)?;
            self.admit(&collection, &request, None, now)?;
            let state = request.state.unwrap_or(JobState::Enabled);
            let write = JobWrite {
                collection: collection.path.clone(),
                name: name.to_owned(),
                definition: request.definition(),
                standing: transition::begin(&request.rule, state),
                expected: expected(existing.as_ref()),
                replace: true,
                seed: Uuid::new_v4(),
                most: existing.is_none().then(|| collection.allowance(&self.plans).jobs),
                now,
            };
            if let Some(stored) = self.write_job(write, existing.as_ref(), ChangeKind::Written).await? {
                return Ok(PutJob { stored, created: existing.is_none(), ignored: request.ignored });
            }
        }
        Err(too_many_changes())
    }

    /// Changes parts of a job.
    pub async fn patch_job(
        &self,
        path: &CollectionPath,
        name: &str,
        body: &Value,
        preconditions: &Preconditions,
        mode: Mode,
    ) -> Result<PutJob> {
        for _ in 0..TRIES {
            let collection = self.collection(path).await?.collection;
            let existing = self.job(path, name).await?;
            preconditions.check(Some(existing.revision))?;
            refuse_final(&existing.job.name, existing.job.state)?;
            let now = self.clock.now();
            let job = &existing.job;
            let patched = wire::job::patch(&job.definition, job.state, body, now).map_err(Problem::faulty)?;
            let request = patched.request;
            preconditions.check_members(&request.ignored)?;
            self.admit(&collection, &request, Some(&job.definition.action), now)?;
            let state = request.state.unwrap_or(job.state);
            let write = JobWrite {
                collection: existing.collection.clone(),
                name: name.to_owned(),
                definition: request.definition(),
                standing: transition::amend(job, &request.rule, patched.timing_changed, state, now),
                expected: expected(Some(&existing)),
                replace: false,
                seed: job.seed,
                most: None,
                now,
            };
            if mode == Mode::DryRun {
                return Ok(PutJob {
                    stored: judged(&existing, write),
                    created: false,
                    ignored: request.ignored,
                });
            }
            let kind = if state == job.state { ChangeKind::Written } else { ChangeKind::Switched };
            if let Some(stored) = self.write_job(write, Some(&existing), kind).await? {
                return Ok(PutJob { stored, created: false, ignored: request.ignored });
            }
        }
        Err(too_many_changes())
    }

    /// Whether a job may be in a collection, by its plan, its quota and the limits.
    /// `before` is the action that the job had.
    pub(super) fn admit(
        &self,
        collection: &Collection,
        request: &JobRequest,
        before: Option<&Action>,
        now: Timestamp,
    ) -> Result<()> {
        let plan = self.plans.limits(collection.plan);
        let JobRequest { rule, action, catch_up, accepted_at, .. } = request;
        let mut faults = model::admission::check(rule, action, *catch_up, plan, &self.limits, *accepted_at);
        faults.extend(model::admission::expired(action, before, now));
        let mut faults = request.placed(faults);
        let size = request.size();
        if size > self.job_bytes {
            let allowed = format!("a job of at most {} bytes", self.job_bytes);
            faults.push(Fault::new("properties", format!("{size} bytes"), allowed));
        }
        Faults::check(faults).map_err(Problem::faulty)?;
        let too_fast = model::admission::quota(&request.rule, &collection.allowance(&self.plans));
        let faults = request.placed(too_fast.into_iter().collect());
        Faults::check(faults).map_err(Problem::conflicting)
    }

    /// The job as it was written; `None` when somebody else was faster.
    async fn write_job(
        &self,
        write: JobWrite,
        existing: Option<&StoredJob>,
        kind: ChangeKind,
    ) -> Result<Option<StoredJob>> {
        let (path, name, most) = (write.collection.clone(), write.name.clone(), write.most);
        let (act, detail) = match existing {
            None => (Act::WriteJob, audited::created()),
            Some(StoredJob { job, .. }) => {
                let changes = audited::job_changes(job, &write.definition, write.standing.state, &[]);
                let is_switch = !changes.is_empty() && changes.iter().all(|change| change.member == STATE);
                (if is_switch { Act::SwitchJob } else { Act::WriteJob }, audited::told(&changes))
            }
        };
        match self.noting(act, &wire::path::job_id(&path, &name), &detail).put_job(write).await? {
            Written::Done(stored) => {
                self.live.tell(kind, || wire::path::job_id(&path, &name));
                Ok(Some(stored))
            }
            Written::Changed => Ok(None),
            Written::Full { there, finished } => {
                Err(Problem::conflict(no_more_jobs(most.unwrap_or_default(), there, finished)))
            }
            Written::NoCollection => Err(Problem::no_collection(&path.group, &path.name)),
        }
    }

    /// A job.
    pub async fn job(&self, path: &CollectionPath, name: &str) -> Result<StoredJob> {
        match self.store.job(path, name).await? {
            Some(stored) => Ok(stored),
            None => {
                self.collection(path).await?;
                Err(Problem::no_job(name))
            }
        }
    }

    /// Jobs of a collection.
    pub async fn jobs(
        &self,
        path: &CollectionPath,
        state: Option<JobState>,
        page: Page,
    ) -> Result<Vec<StoredJob>> {
        let jobs = self.store.jobs(path, state, page).await?;
        jobs.ok_or_else(|| Problem::no_collection(&path.group, &path.name))
    }

    /// Deletes a job.
    pub async fn delete_job(
        &self,
        path: &CollectionPath,
        name: &str,
        preconditions: &Preconditions,
    ) -> Result<()> {
        for _ in 0..TRIES {
            let existing = self.job(path, name).await?;
            preconditions.check(Some(existing.revision))?;
            let id = wire::path::job_id(&existing.collection, &existing.job.name);
            let detail = audited::deleted(audited::masked(&existing.job));
            let store = self.noting(Act::DeleteJob, &id, &detail);
            match store.delete_job(path, name, Some(existing.revision), self.clock.now()).await? {
                Deleted::Done => {
                    let id = || wire::path::job_id(&existing.collection, &existing.job.name);
                    self.live.tell(ChangeKind::Deleted, id);
                    return Ok(());
                }
                Deleted::Absent => return Err(Problem::no_job(name)),
                Deleted::Changed => {}
            }
        }
        Err(too_many_changes())
    }

    /// Runs a job once more, now; the tag of that run.
    pub async fn run_job(
        &self,
        path: &CollectionPath,
        name: &str,
        preconditions: &Preconditions,
    ) -> Result<Uuid> {
        let collection = self.collection(path).await?.collection;
        let existing = self.job(path, name).await?;
        preconditions.check(Some(existing.revision))?;
        refuse_final(&existing.job.name, existing.job.state)?;
        if collection.state != model::CollectionState::Enabled {
            return Err(Problem::conflict(format!(
                "The job collection '{}' is not enabled, so none of its jobs can run.",
                collection.path.name
            )));
        }
        let (tag, now) = (self.fresh_tag(), self.clock.now());
        let id = wire::path::job_id(&existing.collection, &existing.job.name);
        if let Spent::UsedUp(seconds) = self.runs.spend("run", Some(&id), Kind::Write, now) {
            return Err(Problem::too_many_runs(&existing.job.name, self.config.api.runs_per_job, seconds));
        }
        let execution = transition::run_now(&existing.job, tag, now);
        let detail = json!({"executionTag": tag.simple().to_string()});
        self.noting(Act::RunJob, &id, &detail).add_execution(execution).await?;
        Ok(tag)
    }

    /// Entries of a job's history.
    pub async fn history(
        &self,
        path: &CollectionPath,
        name: &str,
        query: &HistoryQuery,
        page: Page,
    ) -> Result<Vec<StoredHistory>> {
        match self.store.history(path, name, query, page).await? {
            Some(entries) => Ok(entries),
            None => {
                self.collection(path).await?;
                Err(Problem::no_job(name))
            }
        }
    }
}

/// A job as a change would leave it.
fn judged(existing: &StoredJob, write: JobWrite) -> StoredJob {
    let mut stored = existing.clone();
    let job = &mut stored.job;
    (job.state, job.next_at) = (write.standing.state, write.standing.next_at);
    job.definition = write.definition;
    stored
}

fn no_more_jobs(most: u32, there: u64, finished: u64) -> String {
    let besides = match finished {
        0 => String::new(),
        1 => "; 1 finished job does not count".to_owned(),
        many => format!("; {many} finished jobs do not count"),
    };
    format!(
        "The job collection has reached its quota of '{most}' jobs. Delete jobs before adding new ones, or choose a larger \
         plan. In use: {there} of {most}{besides}."
    )
}

fn expected(existing: Option<&StoredJob>) -> ExpectedJob {
    match existing {
        None => ExpectedJob::Absent,
        Some(StoredJob { job, revision, .. }) => {
            ExpectedJob::Standing { revision: *revision, next_number: job.next_number, next_at: job.next_at }
        }
    }
}

pub(super) fn refuse_final(name: &str, state: JobState) -> Result<()> {
    if state.is_final() {
        return Err(Problem::conflict(format!(
            "The job '{name}' is {}, which is final: it can be deleted, but neither changed nor run.",
            state.name()
        )));
    }
    Ok(())
}
