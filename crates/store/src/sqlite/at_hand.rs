//! What is at hand: executions that are handed out, and their jobs, as the writer has left their rows.
//!
//! A settlement needs them, and nearly always they were claimed a moment before. The rows stay the truth: what is here is
//! what reading them would bring. So whoever changes such a row in another way than by a claim or a settlement takes it
//! out of here, and a rollback leaves nothing.

use std::collections::BTreeMap;

use rusqlite::Connection;

use super::fault::Outcome;
use super::{executions, jobs};
use crate::rows::{ExecutionRow, JobRow};

/// See the module.
#[derive(Debug, Default)]
pub(super) struct AtHand {
    executions: BTreeMap<i64, ExecutionRow>,
    /// The jobs of these, and of how many of them.
    jobs: BTreeMap<i64, Held>,
    /// Whether it is certain that no execution waits for another one.
    none_queued: bool,
}

#[derive(Debug, Default)]
struct Held {
    row: Option<JobRow>,
    executions: usize,
}

impl AtHand {
    /// Keeps an execution that is handed out, and its job as it stands after the claim.
    pub(super) fn keep(&mut self, execution: ExecutionRow, job: Option<JobRow>) {
        let held = self.jobs.entry(execution.job_id).or_default();
        held.executions += 1;
        held.row = job.or(held.row.take());
        self.executions.insert(execution.id, execution);
    }

    /// Lets an execution go that is handed out no longer.
    pub(super) fn let_go(&mut self, id: i64) {
        let Some(execution) = self.executions.remove(&id) else { return };
        let Some(held) = self.jobs.get_mut(&execution.job_id) else { return };
        held.executions -= 1;
        if held.executions == 0 {
            self.jobs.remove(&execution.job_id);
        }
    }

    /// Forgets how a job stands, which is about to change.
    pub(super) fn forget_job(&mut self, job: i64) {
        if let Some(held) = self.jobs.get_mut(&job) {
            held.row = None;
        }
    }

    /// Forgets everything.
    pub(super) fn clear(&mut self) {
        *self = Self::default();
    }

    /// An execution that is claimed; `None` where its row says otherwise, or there is none.
    pub(super) fn execution(&self, db: &Connection, id: i64) -> Outcome<Option<ExecutionRow>> {
        let Some(kept) = self.executions.get(&id) else { return executions::claimed(db, id) };
        debug_assert_eq!(executions::claimed(db, id).ok().flatten().as_ref(), Some(kept));
        Ok(Some(kept.clone()))
    }

    /// The job of an execution, to be changed and [put back](Self::put_back).
    pub(super) fn take_job(&mut self, db: &Connection, id: i64) -> Outcome<Option<JobRow>> {
        let Some(row) = self.jobs.get_mut(&id).and_then(|held| held.row.take()) else {
            return jobs::by_id(db, id);
        };
        debug_assert_eq!(jobs::by_id(db, id).ok().flatten().as_ref(), Some(&row));
        Ok(Some(row))
    }

    /// Keeps a job as it is written now, if executions of it are at hand.
    pub(super) fn put_back(&mut self, row: JobRow) {
        if let Some(held) = self.jobs.get_mut(&row.id) {
            held.row = Some(row);
        }
    }

    /// Whether executions may be waiting for others of their job.
    pub(super) fn may_be_queued(&mut self, db: &Connection) -> Outcome<bool> {
        if !self.none_queued {
            self.none_queued = !executions::any_queued(db)?;
        }
        Ok(!self.none_queued)
    }

    /// Notes that an execution waits for another one.
    pub(super) fn note_queued(&mut self) {
        self.none_queued = false;
    }
}
