//! Jobs: what was asked for, and how far they have come.

use recurrence::{Draft, Faults, Rule, Timestamp};
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use crate::{Action, Secret};

/// The number of a job in its store.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct JobId(pub i64);

/// What was asked for.
///
/// `S` stands where a secret belongs. A definition with [`Secret`]s cannot be written to a disk, since they have no
/// stored form; [`try_map`](Self::try_map) makes one that can.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Definition<S = Secret> {
    /// When it runs, as it was written.
    pub timing: Draft,
    /// The moment from which the timing counts: when it was last written.
    pub accepted_at: Timestamp,
    /// What it does.
    pub action: Action<S>,
    /// What becomes of occurrences that an outage kept from running.
    #[serde(default)]
    pub catch_up: CatchUp,
    /// What becomes of an occurrence that is due while the one before is still being carried out.
    #[serde(default)]
    pub overlap: Overlap,
    /// Whether `catchUp` and `overlap` were written, so that a client that does not know them never meets them.
    #[serde(default)]
    pub extensions_given: bool,
    /// Whether `monthlyOccurrences` were written with the key `Occurrence`; clients read back only what they write.
    #[serde(default)]
    pub capital_occurrence: bool,
}

impl<S> Definition<S> {
    /// The rule of its timing.
    pub fn rule(&self) -> Result<Rule, Faults> {
        Rule::build(&self.timing, self.accepted_at)
    }
}

/// What becomes of occurrences that an outage kept from running.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub enum CatchUp {
    /// Nothing: they are missed.
    None,
    /// The latest runs, the others are missed.
    #[default]
    Last,
    /// The latest so many run, one after the other; the others are missed.
    All {
        /// How many.
        max: u32,
    },
}

/// What becomes of an occurrence that is due while the one before is still being carried out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub enum Overlap {
    /// Both run.
    #[default]
    Allow,
    /// It is skipped.
    Skip,
    /// It waits.
    Queue,
}

/// Whether a job runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum JobState {
    /// It does.
    Enabled,
    /// Switched off.
    Disabled,
    /// Done: no occurrence is left.
    Completed,
    /// Done, and its last occurrence faulted.
    Faulted,
}

impl JobState {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::Enabled, Self::Disabled, Self::Completed, Self::Faulted];

    /// As in the API.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Enabled => "enabled",
            Self::Disabled => "disabled",
            Self::Completed => "completed",
            Self::Faulted => "faulted",
        }
    }

    /// Whether nothing can change it any more.
    pub const fn is_final(self) -> bool {
        matches!(self, Self::Completed | Self::Faulted)
    }
}

/// What a job has done so far.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Counters {
    /// Occurrences started.
    pub executions: u64,
    /// Attempts of the action that failed.
    pub failures: u64,
    /// Occurrences whose retries were used up.
    pub faulted: u64,
    /// When an attempt last began.
    pub last_execution: Option<Timestamp>,
}

impl std::ops::Add for Counters {
    type Output = Self;

    fn add(self, more: Self) -> Self {
        Self {
            executions: self.executions + more.executions,
            failures: self.failures + more.failures,
            faulted: self.faulted + more.faulted,
            last_execution: self.last_execution.max(more.last_execution),
        }
    }
}

/// A job as it stands.
#[derive(Debug, Clone)]
pub struct Job {
    /// Its number.
    pub id: JobId,
    /// Its name, in the case it was created with.
    pub name: String,
    /// What the tags of its executions are made from.
    pub seed: Uuid,
    /// What was asked for.
    pub definition: Definition,
    /// The rule of its timing.
    pub rule: Rule,
    /// Whether it runs.
    pub state: JobState,
    /// What it has done.
    pub counters: Counters,
    /// The number of its next occurrence, whether or not there is one.
    pub next_number: u32,
    /// When it is due next; `None` unless it is enabled.
    pub next_at: Option<Timestamp>,
    /// When it was switched off, while it is; `None` too where it has never been on with its present times.
    pub paused_at: Option<Timestamp>,
    /// Whether the last scheduled occurrence that ended had faulted.
    pub last_faulted: bool,
    /// Raised whenever the job is replaced: what an earlier generation started no longer counts for this one.
    pub generation: i64,
}
