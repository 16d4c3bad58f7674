//! What changes and settlements mean for rows, wherever those are kept.
//!
//! [`model::transition`] decides about a job; here its decisions meet what a store keeps beside the job: executions that
//! are claimed, begun or waiting. Nothing here reads or writes; the backends fetch what these functions need and write
//! what they say.

use model::transition::{self, Patience, Then};
use model::{
    Attempt, Cause, Counters, Definition, Execution, Fate, HistoryEntry, Job, JobState, LedgerEntry, Reason,
    Timestamp,
};
use std::time::Duration;

use crate::codec::ticks;
use crate::rows::{ExecutionRow, JobRow, Restored};
use crate::{ExpectedJob, JobWrite, Revision};

/// Whether a job stands as the writer of a change takes for granted.
pub(crate) fn is_expected(row: &JobRow, restored: &Restored, expected: ExpectedJob) -> bool {
    match expected {
        ExpectedJob::Absent => false,
        ExpectedJob::Standing { revision, next_number, next_at } => {
            Revision(row.revision) == revision
                && restored.next_number == next_number
                && restored.next_at.map(ticks) == next_at.map(ticks)
        }
    }
}

/// What is entered in the ledger when a change is why.
pub(crate) fn reason_of(write: &JobWrite) -> Reason {
    if write.standing.state == JobState::Disabled { Reason::JobDisabled } else { Reason::JobChanged }
}

/// Whether a change takes away what is due of a job and not claimed; `row` stands where it is restored to.
pub(crate) fn overtakes(row: &JobRow, write: &JobWrite) -> bool {
    // What was due in a pause that ends or gets other times comes with the standing.
    let next_at = write.standing.next_at.map(ticks);
    write.replace || (row.state == JobState::Enabled && next_at != row.next_at.map(ticks))
}

/// What becomes of an execution whose job is changed.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Carried {
    /// It is under way, and ends with the definition that it began with.
    OnAsItBegan,
    /// Nobody will carry it out.
    GivenUp(LedgerEntry),
    /// It has not begun, and runs what the job says now, in this generation.
    ToTheNew(i64),
}

/// Whether an execution goes on after a change even where nobody has begun its next attempt.
pub(crate) fn waits_for_retry(execution: &ExecutionRow, write: &JobWrite) -> bool {
    execution.is_under_way() && write.standing.state != JobState::Disabled
}

/// What becomes of an execution whose job is changed; `take_back` tells whether it could be taken back.
pub(crate) fn carry_over(
    row: &JobRow,
    execution: &ExecutionRow,
    write: &JobWrite,
    take_back: impl FnOnce() -> bool,
) -> Carried {
    if waits_for_retry(execution, write) || !take_back() {
        Carried::OnAsItBegan
    } else if write.standing.state == JobState::Disabled {
        Carried::GivenUp(give_up(execution, Reason::JobDisabled, write.now))
    } else if write.replace && execution.cause != Cause::Run {
        Carried::GivenUp(give_up(execution, Reason::JobChanged, write.now))
    } else {
        Carried::ToTheNew(row.generation + i64::from(write.replace))
    }
}

/// The entry of an execution that nobody will carry out.
pub(crate) fn give_up(execution: &ExecutionRow, reason: Reason, now: Timestamp) -> LedgerEntry {
    transition::abandon(&execution.execution(), Fate::Skipped, reason, now)
}

/// Returns the entry of an execution that has not begun and whose job is deleted; none where it was never due.
pub(crate) fn abandon(execution: &ExecutionRow, now: Timestamp) -> Option<LedgerEntry> {
    let never_due = execution.ahead && !execution.is_under_way() && execution.due_at > now;
    (!never_due).then(|| give_up(execution, Reason::JobDeleted, now))
}

/// Returns the entry of an execution of a deleted job whose call was under way when its process ended: the call was made,
/// and how it ended cannot be known.
pub(crate) fn left_behind(execution: &ExecutionRow, now: Timestamp) -> LedgerEntry {
    let started_at = execution.started_at.or(Some(execution.wake_at.unwrap_or(now).min(now)));
    transition::abandon(
        &Execution { started_at, ..execution.execution() },
        Fate::Faulted,
        Reason::JobDeleted,
        now,
    )
}

/// A job's row after a change. `resting` tells that it has no execution left.
pub(crate) fn rewritten(mut row: JobRow, write: &JobWrite, resting: bool) -> JobRow {
    let standing = &write.standing;
    if write.replace {
        row.counters = Counters::default();
        row.last_faulted = false;
        row.seed = write.seed;
        row.generation += 1;
    }
    row.state = if resting {
        transition::at_rest(standing.state, standing.next_at, row.last_faulted)
    } else {
        standing.state
    };
    row.next_number = standing.next_number;
    row.next_at = standing.next_at;
    row.paused_at = standing.paused_at;
    row
}

/// Whether something may have been due of a job that is in no ledger yet.
pub(crate) fn may_be_overtaken(row: &JobRow, now: Timestamp) -> bool {
    let overdue = row.state == JobState::Enabled && row.next_at.is_some_and(|next_at| next_at <= now);
    overdue || row.state == JobState::Disabled
}

/// The entries for what of a job is due and not claimed, and will not be.
pub(crate) fn overtaken(row: &JobRow, job: &Job, reason: Reason, now: Timestamp) -> Vec<LedgerEntry> {
    let resumed_at = if row.collection.enabled { row.collection.resumed_at } else { Some(Timestamp::MAX) };
    transition::overtaken(job, resumed_at, reason, now)
}

/// What follows from an attempt.
pub(crate) struct Settled {
    /// For the history; `None` where no call was made.
    pub(crate) history: Option<HistoryEntry>,
    /// For the execution.
    pub(crate) then: Then,
    /// For its job.
    pub(crate) gain: Gain,
}

/// What a job gains by attempts that have ended, if it is still of their generation.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Gain {
    /// What is added.
    pub(crate) counters: Counters,
    /// How the last occurrence ended, if one did that counts.
    pub(crate) last_faulted: Option<bool>,
}

impl Gain {
    fn of(tally: Counters, then: &Then) -> Self {
        let last_faulted = match then {
            Then::Done(entry) if entry.cause != Cause::Run => Some(entry.fate == Fate::Faulted),
            Then::Done(_) | Then::Again(_) => None,
        };
        Self { counters: tally, last_faulted }
    }

    /// This, and what comes after it.
    pub(crate) fn and(self, more: Self) -> Self {
        Self {
            counters: self.counters + more.counters,
            last_faulted: more.last_faulted.or(self.last_faulted),
        }
    }
}

/// What follows from an attempt.
pub(crate) fn settle<S>(
    job: &JobRow,
    execution: &ExecutionRow,
    definition: &Definition<S>,
    default_retry: Duration,
    attempt: &Attempt,
    patience: &Patience,
) -> Settled {
    let settled = transition::settle(definition, default_retry, &execution.execution(), attempt, patience);
    let then = match settled.then {
        // Nothing new begins where the job or the collection is switched off.
        Then::Again(next) => match stopped(job) {
            Some(reason) => Then::Done(transition::abandon(&next, Fate::Faulted, reason, attempt.ended_at)),
            None => Then::Again(next),
        },
        done @ Then::Done(_) => done,
    };
    Settled { history: Some(settled.history), gain: Gain::of(settled.tally, &then), then }
}

/// The same of an attempt that went well: neither the definition nor the state of its job matters.
pub(crate) fn succeed(execution: &Execution, attempt: &Attempt, patience: &Patience) -> Settled {
    let transition::Settled { history, tally, then } = transition::succeed(execution, attempt, patience);
    Settled { history: Some(history), gain: Gain::of(tally, &then), then }
}

/// The same of an attempt whose job was deleted meanwhile, and its definition with it.
pub(crate) fn settle_deleted(execution: &ExecutionRow, attempt: &Attempt, patience: &Patience) -> Settled {
    let transition::Settled { history, tally, then } =
        transition::settle_deleted(&execution.execution(), attempt, patience);
    Settled { history: Some(history), gain: Gain::of(tally, &then), then }
}

/// What follows where no call was made, because it was too late for its job.
pub(crate) fn too_late(execution: &ExecutionRow, attempt: &Attempt) -> Settled {
    let entry = transition::too_late(&execution.execution(), attempt.ended_at);
    Settled { history: None, gain: Gain::default(), then: Then::Done(entry) }
}

fn stopped(job: &JobRow) -> Option<Reason> {
    match job.state {
        JobState::Disabled => Some(Reason::JobDisabled),
        _ if !job.collection.enabled => Some(Reason::CollectionDisabled),
        _ => None,
    }
}

/// What becomes due next and is not claimed yet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Soonest {
    /// Of executions that wait.
    pub(crate) waiting: Option<Timestamp>,
    /// Of jobs whose occurrences may be claimed ahead.
    pub(crate) ahead: Option<Timestamp>,
    /// Of jobs whose occurrences are claimed when they are due.
    pub(crate) on_time: Option<Timestamp>,
}

impl Soonest {
    /// Whether a claim until an instant would find something.
    pub(crate) fn is_near(&self, now: Timestamp, until: Timestamp) -> bool {
        self.waiting.is_some_and(|at| at <= until)
            || self.ahead.is_some_and(|at| at <= until)
            || self.on_time.is_some_and(|at| at <= now)
    }

    /// When to come back.
    pub(crate) fn next_at(&self) -> Option<Timestamp> {
        [self.waiting, self.ahead, self.on_time].into_iter().flatten().min()
    }
}
