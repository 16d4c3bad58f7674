//! Every decision about a running job, as pure functions: what is due, what an attempt leads to, what a change means.
//!
//! Nothing here reads a clock or a store. Whoever does hands over the job as it stands and the present moment, and
//! carries out what comes back in one transaction. `docs/STATES.md` draws the states that these functions move between.

use std::time::Duration;

use jiff::SignedDuration;
use recurrence::{Occurrence, Rule, Timestamp};
use uuid::Uuid;

use crate::action::Retries;
use crate::{
    Attempt, CatchUp, Cause, Counters, Definition, Execution, Fate, HistoryEntry, HistoryStatus, Job,
    JobState, LedgerEntry, Overlap, Reason,
};

/// How patient the scheduler is; an operator may change it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Patience {
    /// Later than this is "late" in the ledger, and too late for `catchUp: none`.
    pub late_after: Duration,
    /// The distance at which missed occurrences are made up.
    pub replay_pace: Duration,
    /// How many executions of one job may wait for each other.
    pub longest_queue: u32,
}

impl Default for Patience {
    fn default() -> Self {
        Self { late_after: Duration::from_secs(10), replay_pace: Duration::from_secs(1), longest_queue: 100 }
    }
}

/// How many executions of a job there are already.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Busy {
    /// Being carried out, or waiting for a retry.
    pub active: u32,
    /// Waiting for those.
    pub queued: u32,
}

/// What follows from the time that has passed.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Due {
    /// To be carried out.
    pub executions: Vec<Execution>,
    /// What will not be.
    pub ledger: Vec<LedgerEntry>,
    /// Entries for those that have to wait.
    pub history: Vec<HistoryEntry>,
    /// The job's next occurrence from now on.
    pub next_number: u32,
    /// When it is due.
    pub next_at: Option<Timestamp>,
}

/// Which occurrences of a job are to be carried out?
///
/// An occurrence that is still ahead is handed out too, so that its call can leave on the instant; but not where the
/// answer depends on what else is running by then.
pub fn due(job: &Job, resumed_at: Option<Timestamp>, busy: Busy, now: Timestamp, patience: &Patience) -> Due {
    let mut due = Due { next_number: job.next_number, next_at: job.next_at, ..Due::default() };
    let Some(next_at) = job.next_at.filter(|_| job.state == JobState::Enabled) else {
        return due;
    };
    let mut next = Occurrence { number: job.next_number, at: next_at };

    if let Some(resumed_at) = resumed_at.filter(|resumed_at| next.at < *resumed_at) {
        let (entry, after) =
            passed_over(job, next.at, next.number, resumed_at, Reason::CollectionDisabled, now);
        due.ledger.push(entry);
        let Some(at) = after.or_else(|| held(&job.rule, resumed_at)) else {
            due.next_at = None;
            return due;
        };
        next.at = at;
        due.next_at = Some(at);
    }

    if next.at > now {
        if job.definition.overlap == Overlap::Allow {
            due.executions.push(execution(job, next, Cause::Schedule, next.at));
            due.advance(&job.rule, &next);
        }
        return due;
    }

    let passed = Passed::of(&job.rule, next, now, job.definition.catch_up, patience);
    due.next_number = passed.next_number;
    due.next_at = passed.next_at;
    if let Some(missed) = passed.missed {
        due.ledger.push(missed.entry(job, now));
    }
    let replayed = passed.kept.len() > 1;
    for (i, occurrence) in passed.kept.into_iter().enumerate() {
        let late = later(occurrence.at, patience.late_after) < now;
        let cause = if late { Cause::CatchUp } else { Cause::Schedule };
        let wake_at = if replayed { later(now, patience.replay_pace * i as u32) } else { occurrence.at };
        let mut execution = execution(job, occurrence, cause, wake_at);
        let in_the_way = busy.active > 0 || busy.queued > 0 || i > 0;
        match job.definition.overlap {
            Overlap::Skip if in_the_way => {
                due.ledger.push(abandon(&execution, Fate::Skipped, Reason::StillRunning, now));
                continue;
            }
            Overlap::Queue if busy.queued as usize + i >= patience.longest_queue as usize => {
                due.ledger.push(abandon(&execution, Fate::Skipped, Reason::QueueFull, now));
                continue;
            }
            Overlap::Queue if in_the_way => {
                execution.wake_at = None;
                due.history.push(postponed(&execution, now));
            }
            _ => {}
        }
        due.executions.push(execution);
    }
    due
}

impl Due {
    fn advance(&mut self, rule: &Rule, last: &Occurrence) {
        self.next_number = last.number.saturating_add(1);
        self.next_at = rule.next(last).map(|next| next.at);
    }
}

/// The occurrences that are due by now: those to carry out, and those an outage made obsolete.
struct Passed {
    kept: Vec<Occurrence>,
    missed: Option<Missed>,
    next_number: u32,
    next_at: Option<Timestamp>,
}

struct Missed {
    first: Occurrence,
    last: Occurrence,
    reason: Reason,
}

impl Passed {
    /// Those that are due by now, of one that is and all that follow it. However many they are, only those to carry
    /// out are gone through.
    fn of(rule: &Rule, first: Occurrence, now: Timestamp, catch_up: CatchUp, patience: &Patience) -> Self {
        let last = rule.last_by(&first, now).unwrap_or(first);
        let superseded = |keep: u32| {
            let missed = (last.number - first.number).checked_sub(keep)?;
            if missed == 0 { Some(first) } else { rule.back(&last, keep) }
        };
        let (last_missed, reason) = match catch_up {
            CatchUp::None => {
                let too_late = patience.late_after.saturating_add(Duration::from_nanos(1));
                (rule.last_by(&first, earlier(now, too_late)), Reason::TooLate)
            }
            CatchUp::Last => (superseded(1), Reason::Superseded),
            CatchUp::All { max } => (superseded(max.max(1)), Reason::Superseded),
        };
        let kept = match last_missed {
            Some(missed) => rule.next(&missed),
            None => Some(first),
        };
        let kept = std::iter::successors(kept, |last| rule.next(last));
        Self {
            kept: kept.take_while(|occurrence| occurrence.at <= now).collect(),
            missed: last_missed.map(|last| Missed { first, last, reason }),
            next_number: last.number.saturating_add(1),
            next_at: rule.next(&last).map(|next| next.at),
        }
    }
}

impl Missed {
    fn entry(&self, job: &Job, now: Timestamp) -> LedgerEntry {
        LedgerEntry {
            job: job.id,
            due_at: self.first.at,
            due_until: self.last.at,
            occurrences: u64::from(self.last.number - self.first.number) + 1,
            number: self.first.number,
            cause: Cause::Schedule,
            fate: Fate::Missed,
            reason: Some(self.reason),
            started_at: None,
            ended_at: now,
            tag: None,
        }
    }
}

/// The entry for the occurrences from one on, before the instant at which the job may run again; and the first one
/// after.
fn passed_over(
    job: &Job,
    first: Timestamp,
    number: u32,
    resumed_at: Timestamp,
    reason: Reason,
    now: Timestamp,
) -> (LedgerEntry, Option<Timestamp>) {
    let last = job.rule.before(resumed_at).map_or(first, |last| last.max(first));
    let entry = LedgerEntry {
        job: job.id,
        due_at: first,
        due_until: last,
        occurrences: 1 + job.rule.between(first, resumed_at),
        number,
        cause: Cause::Schedule,
        fate: Fate::Skipped,
        reason: Some(reason),
        started_at: None,
        ended_at: now,
        tag: None,
    };
    (entry, job.rule.after(last))
}

/// Returns the instant at which a job that runs once is due again when its own instant passed while it was off, or its
/// collection was: as soon as both are on. A pause cannot take its only run away. Recurring jobs have no such instant.
fn held(rule: &Rule, resumed_at: Timestamp) -> Option<Timestamp> {
    rule.recurrence().is_none().then_some(resumed_at)
}

fn execution(job: &Job, occurrence: Occurrence, cause: Cause, wake_at: Timestamp) -> Execution {
    Execution {
        tag: Execution::tag_of(job.seed, &occurrence),
        job: job.id,
        generation: job.generation,
        occurrence,
        cause,
        depth: 0,
        attempt: 0,
        wake_at: Some(wake_at),
        started_at: None,
    }
}

fn postponed(execution: &Execution, now: Timestamp) -> HistoryEntry {
    HistoryEntry {
        started_at: now,
        ended_at: now,
        expected_at: execution.occurrence.at,
        depth: 0,
        status: HistoryStatus::Postponed,
        message: "The run before is still going; this one follows it.".to_owned(),
        retry_count: 0,
        repeat_count: execution.occurrence.number,
    }
}

/// One extra occurrence, now, whatever the schedule says. It does not move the schedule.
pub fn run_now(job: &Job, tag: Uuid, now: Timestamp) -> Execution {
    let number = u32::try_from(job.counters.executions + 1).unwrap_or(u32::MAX);
    Execution { tag, ..execution(job, Occurrence { number, at: now }, Cause::Run, now) }
}

/// What follows from an attempt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Settled {
    /// What is kept of it.
    pub history: HistoryEntry,
    /// What is added to the job's counters.
    pub tally: Counters,
    /// What comes next.
    pub then: Then,
}

/// What comes after an attempt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Then {
    /// Another attempt, or the error action's first.
    Again(Execution),
    /// The occurrence is done with.
    Done(LedgerEntry),
}

/// What an attempt leads to. `default_retry` is the interval that the plan gives to those who do not ask.
pub fn settle<S>(
    definition: &Definition<S>,
    default_retry: Duration,
    execution: &Execution,
    attempt: &Attempt,
    patience: &Patience,
) -> Settled {
    if attempt.outcome.success {
        return succeed(execution, attempt, patience);
    }
    let main = execution.depth == 0;
    let mut tally = tally(execution, attempt);
    tally.failures = u64::from(main);
    let begun = begun(execution, attempt);
    let retries = Retries::of(definition.action.retry_at_depth(execution.depth), default_retry);
    let then = if execution.attempt < retries.count {
        Then::Again(Execution {
            attempt: execution.attempt + 1,
            wake_at: Some(later(attempt.ended_at, retries.interval)),
            ..begun
        })
    } else {
        tally.faulted = u64::from(main);
        if definition.action.at_depth(execution.depth + 1).is_some() {
            Then::Again(Execution {
                depth: execution.depth + 1,
                attempt: 0,
                wake_at: Some(attempt.ended_at),
                ..begun
            })
        } else {
            Then::Done(entry(&begun, Fate::Faulted, Some(Reason::RetriesUsedUp), attempt.ended_at))
        }
    };
    Settled { history: told(execution, attempt, HistoryStatus::Failed), tally, then }
}

/// What an attempt leads to that went well, whatever the job's definition says.
pub fn succeed(execution: &Execution, attempt: &Attempt, patience: &Patience) -> Settled {
    let begun = begun(execution, attempt);
    let started_at = begun.started_at.unwrap_or(attempt.started_at);
    let late = later(execution.occurrence.at, patience.late_after) < started_at;
    let (fate, reason) = match (execution.depth == 0, late) {
        (true, false) => (Fate::Ran, None),
        (true, true) => (Fate::RanLate, None),
        // The error action did what it is for; the job's own has failed.
        (false, _) => (Fate::Faulted, Some(Reason::RetriesUsedUp)),
    };
    Settled {
        history: told(execution, attempt, HistoryStatus::Completed),
        tally: tally(execution, attempt),
        then: Then::Done(entry(&begun, fate, reason, attempt.ended_at)),
    }
}

/// Returns the entry of an execution that waited for room until its job did not want it any more: it was not called.
pub fn too_late(execution: &Execution, now: Timestamp) -> LedgerEntry {
    entry(execution, Fate::Missed, Some(Reason::TooLate), now)
}

/// Whether a job that does not want to be late ([`CatchUp::None`]) does not want an execution any more that has not begun.
///
/// What waited for the run before it was postponed and is not late: it is due when that has ended.
pub fn is_too_late(
    definition: &Definition,
    execution: &Execution,
    now: Timestamp,
    late_after: Duration,
) -> bool {
    let is_first = execution.attempt == 0 && execution.depth == 0 && execution.started_at.is_none();
    let due_at = execution.wake_at.unwrap_or(execution.occurrence.at);
    definition.catch_up == CatchUp::None
        && execution.cause != Cause::Run
        && is_first
        && later(due_at, late_after) < now
}

/// Returns what an attempt leads to whose job was deleted meanwhile: what it brought counts, and nothing follows it.
pub fn settle_deleted(execution: &Execution, attempt: &Attempt, patience: &Patience) -> Settled {
    if attempt.outcome.success {
        return succeed(execution, attempt, patience);
    }
    let begun = begun(execution, attempt);
    Settled {
        history: told(execution, attempt, HistoryStatus::Failed),
        tally: tally(execution, attempt),
        then: Then::Done(entry(&begun, Fate::Faulted, Some(Reason::JobDeleted), attempt.ended_at)),
    }
}

/// An execution from its first attempt on.
fn begun(execution: &Execution, attempt: &Attempt) -> Execution {
    Execution { started_at: execution.started_at.or(Some(attempt.started_at)), ..execution.clone() }
}

/// What every attempt adds to the job's counters.
fn tally(execution: &Execution, attempt: &Attempt) -> Counters {
    Counters {
        executions: u64::from(execution.depth == 0 && execution.attempt == 0),
        failures: 0,
        faulted: 0,
        last_execution: Some(attempt.started_at),
    }
}

fn told(execution: &Execution, attempt: &Attempt, status: HistoryStatus) -> HistoryEntry {
    HistoryEntry {
        started_at: attempt.started_at,
        ended_at: attempt.ended_at,
        expected_at: execution.occurrence.at,
        depth: execution.depth,
        status,
        message: attempt.outcome.message.clone(),
        retry_count: execution.attempt,
        repeat_count: execution.occurrence.number,
    }
}

/// The state of a job none of whose executions is left: final when no occurrence is either.
pub fn at_rest(state: JobState, next_at: Option<Timestamp>, last_faulted: bool) -> JobState {
    match (state, next_at) {
        (JobState::Enabled, None) if last_faulted => JobState::Faulted,
        (JobState::Enabled, None) => JobState::Completed,
        _ => state,
    }
}

/// The entry of an execution that is given up before it is done with.
pub fn abandon(execution: &Execution, fate: Fate, reason: Reason, now: Timestamp) -> LedgerEntry {
    // What was called in vain has not been left out.
    let fate = if execution.started_at.is_some() { Fate::Faulted } else { fate };
    entry(execution, fate, Some(reason), now)
}

/// The entries for what of a job is due by now and not claimed, when a change takes it away: the job is deleted,
/// replaced, switched off, or gets other times.
///
/// What was due while the job was off, or its collection, was skipped for that and not for the change. `resumed_at` says
/// when the collection was switched on again, as for [`due`]; while it is off, that is still to come.
pub fn overtaken(
    job: &Job,
    resumed_at: Option<Timestamp>,
    reason: Reason,
    now: Timestamp,
) -> Vec<LedgerEntry> {
    let mut entries = Vec::new();
    if job.state == JobState::Disabled {
        entries.extend(pause(job, just_after(now), now).0);
        return entries;
    }
    let mut next_at = job.next_at.filter(|next_at| job.state == JobState::Enabled && *next_at <= now);
    if let Some(first) = next_at.filter(|first| resumed_at.is_some_and(|resumed_at| *first < resumed_at)) {
        let until = resumed_at.map_or(now, |resumed_at| resumed_at.min(just_after(now)));
        let (entry, next) = passed_over(job, first, job.next_number, until, Reason::CollectionDisabled, now);
        entries.push(entry);
        let held_until = resumed_at.filter(|resumed_at| *resumed_at <= now);
        next_at = next.or_else(|| held(&job.rule, held_until?));
    }
    let first = next_at.map(|at| Occurrence { number: job.next_number, at });
    if let Some((first, last)) = first.and_then(|first| Some((first, job.rule.last_by(&first, now)?))) {
        let missed = Missed { first, last, reason };
        entries.push(LedgerEntry { fate: Fate::Skipped, ..missed.entry(job, now) });
    }
    entries
}

/// Returns the entry for what a pause that still lasts has kept from running by now: the one that is entered when the
/// pause ends. `collection_off` says whether the job's collection is off.
///
/// A job that runs once and has never been on still has to run, so nothing of it is skipped.
pub fn skipped_so_far(job: &Job, collection_off: bool, now: Timestamp) -> Option<LedgerEntry> {
    let is_off = job.state == JobState::Disabled;
    if is_off && job.paused_at.is_none() && job.rule.recurrence().is_none() {
        return None;
    }
    let resumed_at = collection_off.then_some(Timestamp::MAX);
    let entries = overtaken(job, resumed_at, Reason::JobChanged, now);
    entries.into_iter().find(|entry| entry.reason != Some(Reason::JobChanged))
}

fn entry(execution: &Execution, fate: Fate, reason: Option<Reason>, ended_at: Timestamp) -> LedgerEntry {
    LedgerEntry {
        job: execution.job,
        due_at: execution.occurrence.at,
        due_until: execution.occurrence.at,
        occurrences: 1,
        number: execution.occurrence.number,
        cause: execution.cause,
        fate,
        reason,
        started_at: execution.started_at,
        ended_at,
        tag: Some(execution.tag),
    }
}

/// Where a job stands after it was written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Standing {
    /// Whether it runs.
    pub state: JobState,
    /// The number of its next occurrence.
    pub next_number: u32,
    /// When it is due.
    pub next_at: Option<Timestamp>,
    /// When it was switched off; `None` when it is on, or has never been on with its present times.
    pub paused_at: Option<Timestamp>,
    /// What was due while it was switched off.
    pub ledger: Option<LedgerEntry>,
}

/// A job that is new, or replaced as a whole: it begins at the beginning.
pub fn begin(rule: &Rule, state: JobState) -> Standing {
    let first = rule.first().filter(|_| state == JobState::Enabled);
    let next_at = first.map(|first| first.at);
    Standing { state, next_number: 1, next_at, paused_at: None, ledger: None }
}

/// A job that is changed in part: its count goes on.
///
/// `rule` is the rule after the change. Where the timing was not touched it is still anchored where it was, and only
/// switching the job on again moves its next occurrence.
pub fn amend(job: &Job, rule: &Rule, timing_changed: bool, state: JobState, now: Timestamp) -> Standing {
    let was_off = job.state == JobState::Disabled;
    let mut standing =
        Standing { state, next_number: job.next_number, next_at: None, paused_at: None, ledger: None };
    if timing_changed && was_off {
        standing.ledger = pause(job, just_after(now), now).0;
    }
    if state != JobState::Enabled {
        standing.paused_at = if was_off { job.paused_at } else { Some(now) }.filter(|_| !timing_changed);
        return standing;
    }
    standing.next_at = if timing_changed {
        rule.first().map(|first| first.at)
    } else if !was_off {
        job.next_at
    } else {
        let (entry, next) = pause(job, now, now);
        standing.ledger = entry;
        next.or_else(|| held(rule, now))
    };
    if is_used_up(rule, standing.next_number) {
        standing.next_at = None;
    }
    standing
}

/// The entry for what a job's pause has kept from running before an instant, and the first occurrence from then on.
fn pause(job: &Job, until: Timestamp, now: Timestamp) -> (Option<LedgerEntry>, Option<Timestamp>) {
    if is_used_up(&job.rule, job.next_number) {
        return (None, None);
    }
    let first = match job.paused_at {
        Some(paused_at) => job.rule.after(paused_at),
        None => job.rule.first().map(|first| first.at),
    };
    match first.filter(|first| *first < until) {
        Some(first) => {
            let (entry, next) = passed_over(job, first, job.next_number, until, Reason::JobDisabled, now);
            (Some(entry), next)
        }
        None => (None, first),
    }
}

/// Whether a rule allows no occurrence of this number.
fn is_used_up(rule: &Rule, number: u32) -> bool {
    let count = rule.recurrence().map_or(Some(1), recurrence::Recurrence::count);
    count.is_some_and(|count| number > count)
}

fn later(at: Timestamp, by: Duration) -> Timestamp {
    SignedDuration::try_from(by).ok().and_then(|by| at.checked_add(by).ok()).unwrap_or(Timestamp::MAX)
}

fn earlier(at: Timestamp, by: Duration) -> Timestamp {
    SignedDuration::try_from(by).ok().and_then(|by| at.checked_sub(by).ok()).unwrap_or(Timestamp::MIN)
}

fn just_after(at: Timestamp) -> Timestamp {
    later(at, Duration::from_nanos(1))
}
