//! What the rows of jobs and executions say, in every database.
//!
//! A backend reads these from its columns; what follows from them is the same wherever they came from.

use std::sync::Arc;

use model::action::{Call, HttpAuthentication};
use model::{
    Cause, Collection, CollectionPath, Counters, Definition, Execution, Job, JobId, JobState, Occurrence,
    Plan, Timestamp, Uuid,
};

use crate::codec::{Unreadable, from_json, instant, open_definition, ticks};
use crate::decisions::Gain;
use crate::seal::Keyring;
use crate::{ClaimedJob, JobWrite, Revision, StoredJob};

/// What a job's row says, and what of its collection decisions need.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct JobRow {
    pub(crate) id: i64,
    pub(crate) collection_id: i64,
    pub(crate) name: String,
    pub(crate) seed: Uuid,
    pub(crate) state: JobState,
    pub(crate) counters: Counters,
    pub(crate) next_number: u32,
    pub(crate) next_at: Option<Timestamp>,
    pub(crate) paused_at: Option<Timestamp>,
    pub(crate) last_faulted: bool,
    pub(crate) generation: i64,
    pub(crate) revision: i64,
    pub(crate) history_total: i64,
    pub(crate) collection: CollectionGist,
    /// Whether it is deleted and kept for the ledger, and for calls that are under way.
    pub(crate) deleted: bool,
}

/// What of a collection decisions about its jobs need.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct CollectionGist {
    pub(crate) revision: i64,
    pub(crate) enabled: bool,
    pub(crate) plan: Plan,
    pub(crate) resumed_at: Option<Timestamp>,
}

impl JobRow {
    /// The whole job.
    pub(crate) fn job(&self, definition: Definition) -> Result<Job, Unreadable> {
        let rule = definition
            .rule()
            .map_err(|faults| Unreadable::at("definitions.definition", self.id, format!("{faults:?}")))?;
        Ok(Job {
            id: JobId(self.id),
            name: self.name.clone(),
            seed: self.seed,
            definition,
            rule,
            state: self.state,
            counters: self.counters,
            next_number: self.next_number,
            next_at: self.next_at,
            paused_at: self.paused_at,
            last_faulted: self.last_faulted,
            generation: self.generation,
        })
    }

    /// Brings a job of the same revision up to date.
    pub(crate) fn refresh(&self, job: &mut Job) {
        job.seed = self.seed;
        job.state = self.state;
        job.counters = self.counters;
        job.next_number = self.next_number;
        job.next_at = self.next_at;
        job.paused_at = self.paused_at;
        job.last_faulted = self.last_faulted;
        job.generation = self.generation;
    }

    /// Adds what attempts of a generation have brought.
    pub(crate) fn add(&mut self, generation: i64, gain: Gain) {
        if generation == self.generation {
            self.counters = self.counters + gain.counters;
            self.last_faulted = gain.last_faulted.unwrap_or(self.last_faulted);
        }
    }

    /// The job as callers see it: what is claimed and not begun is still to come.
    pub(crate) fn stored(
        mut self,
        executions: &[ExecutionRow],
        is_begun: impl Fn(&ExecutionRow) -> bool,
        definition: &str,
        keyring: &Keyring,
        collection: CollectionPath,
    ) -> Result<StoredJob, Unreadable> {
        let standing = restored(&self, executions, is_begun);
        self.next_number = standing.next_number;
        self.next_at = standing.next_at;
        let definition = open_definition(keyring, definition, "definitions.definition", self.id)?;
        let (revision, collection_enabled) = (Revision(self.revision), self.collection.enabled);
        Ok(StoredJob { revision, job: self.job(definition)?, collection, collection_enabled })
    }

    /// The job as callers see it, right after it was written.
    pub(crate) fn written(
        mut self,
        executions: &[ExecutionRow],
        is_begun: impl Fn(&ExecutionRow) -> bool,
        write: &JobWrite,
    ) -> Result<StoredJob, Unreadable> {
        self.next_at = self.next_at.map(as_written);
        self.paused_at = self.paused_at.map(as_written);
        let standing = restored(&self, executions, is_begun);
        self.next_number = standing.next_number;
        self.next_at = standing.next_at;
        let (revision, collection_enabled) = (Revision(self.revision), self.collection.enabled);
        let (job, collection) = (self.job(write.definition.clone())?, write.collection.clone());
        Ok(StoredJob { revision, job, collection, collection_enabled })
    }

    /// What executions of this job need that run a definition.
    pub(crate) fn claimed(
        &self,
        collection: &str,
        definition: Definition,
    ) -> Result<Arc<ClaimedJob>, Unreadable> {
        let collection: Collection = from_json(collection, "collections.document", self.collection_id)?;
        Ok(Arc::new(ClaimedJob {
            collection: collection.path,
            location: collection.location,
            name: self.name.clone(),
            definition,
        }))
    }
}

/// A new job as callers see it, right after it was written.
pub(crate) fn created(
    id: i64,
    write: &JobWrite,
    revision: i64,
    collection_enabled: bool,
) -> Result<StoredJob, Unreadable> {
    let JobWrite { collection, name, definition, standing, seed, .. } = write;
    let rule = definition
        .rule()
        .map_err(|faults| Unreadable::at("definitions.definition", id, format!("{faults:?}")))?;
    let job = Job {
        id: JobId(id),
        name: name.clone(),
        seed: *seed,
        definition: definition.clone(),
        rule,
        state: standing.state,
        counters: Counters::default(),
        next_number: standing.next_number,
        next_at: standing.next_at.map(as_written),
        paused_at: standing.paused_at.map(as_written),
        last_faulted: false,
        generation: 1,
    };
    Ok(StoredJob { revision: Revision(revision), job, collection: collection.clone(), collection_enabled })
}

/// An instant as a row has it.
fn as_written(at: Timestamp) -> Timestamp {
    instant(ticks(at))
}

/// What an execution's row says, save for its own definition.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ExecutionRow {
    pub(crate) id: i64,
    pub(crate) job_id: i64,
    pub(crate) generation: i64,
    pub(crate) tag: Uuid,
    pub(crate) number: u32,
    pub(crate) due_at: Timestamp,
    pub(crate) cause: Cause,
    pub(crate) ahead: bool,
    pub(crate) depth: u8,
    pub(crate) attempt: u32,
    pub(crate) wake_at: Option<Timestamp>,
    pub(crate) started_at: Option<Timestamp>,
    pub(crate) claimed: bool,
}

impl ExecutionRow {
    /// As the model knows it.
    pub(crate) fn execution(&self) -> Execution {
        Execution {
            tag: self.tag,
            job: JobId(self.job_id),
            generation: self.generation,
            occurrence: Occurrence { number: self.number, at: self.due_at },
            cause: self.cause,
            depth: self.depth,
            attempt: self.attempt,
            wake_at: self.wake_at,
            started_at: self.started_at,
        }
    }

    /// Whether an attempt has ended already: what follows belongs to it.
    pub(crate) fn is_under_way(&self) -> bool {
        self.started_at.is_some() || self.attempt > 0 || self.depth > 0
    }
}

/// A client certificate that an action shows.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Shown<'d> {
    pub(crate) expiration: Timestamp,
    pub(crate) subject: &'d str,
    pub(crate) thumbprint: &'d str,
}

/// The certificates of a definition: those of the action (0), of its error action (1), and so on.
pub(crate) fn certificates_of(definition: &Definition) -> impl Iterator<Item = (i16, Shown<'_>)> {
    let actions = std::iter::successors(Some(&definition.action), |action| action.on_error.as_deref());
    actions.zip(0..).filter_map(|(action, depth)| {
        let Call::Http { request, .. } = &action.call else { return None };
        match &request.authentication {
            Some(HttpAuthentication::ClientCertificate { thumbprint, expiration, subject, .. }) => {
                Some((depth, Shown { expiration: *expiration, subject, thumbprint }))
            }
            _ => None,
        }
    })
}

/// Where a job stands when what can be taken back is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Restored {
    pub(crate) next_number: u32,
    pub(crate) next_at: Option<Timestamp>,
    /// The executions to take back for that, latest first.
    pub(crate) taken_back: Vec<i64>,
}

/// What can be taken back of a job's executions, which come in the order of their occurrences: the latest ones, in a
/// row, that were claimed ahead and that nobody has begun. Were one left out in the middle, it would come a second time.
pub(crate) fn restored(
    job: &JobRow,
    executions: &[ExecutionRow],
    is_begun: impl Fn(&ExecutionRow) -> bool,
) -> Restored {
    let mut restored =
        Restored { next_number: job.next_number, next_at: job.next_at, taken_back: Vec::new() };
    for execution in executions.iter().rev() {
        let next = execution.ahead
            && execution.generation == job.generation
            && !execution.is_under_way()
            && execution.number.checked_add(1) == Some(restored.next_number);
        if next && !is_begun(execution) {
            restored.next_number = execution.number;
            restored.next_at = Some(execution.due_at);
            restored.taken_back.push(execution.id);
        }
    }
    restored
}
