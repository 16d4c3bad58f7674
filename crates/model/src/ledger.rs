//! The ledger: every due instant of every job ends here, in exactly one state.

use recurrence::Timestamp;
use uuid::Uuid;

use crate::{Cause, JobId};

/// What became of an occurrence.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Fate {
    /// It ran on time.
    Ran,
    /// It ran, but not on time.
    RanLate,
    /// It was tried as often as the retry policy allows, in vain.
    Faulted,
    /// It was left out on purpose.
    Skipped,
    /// It should have run and did not.
    Missed,
}

impl Fate {
    /// All of them.
    pub const ALL: [Self; 5] = [Self::Ran, Self::RanLate, Self::Faulted, Self::Skipped, Self::Missed];

    /// As in the API.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Ran => "ran",
            Self::RanLate => "ranLate",
            Self::Faulted => "faulted",
            Self::Skipped => "skipped",
            Self::Missed => "missed",
        }
    }
}

/// Why an occurrence did not simply run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Reason {
    /// The retries were used up.
    RetriesUsedUp,
    /// The job was switched off, or replaced by one that is.
    JobDisabled,
    /// The collection was switched off.
    CollectionDisabled,
    /// The job was deleted, or its collection.
    JobDeleted,
    /// The job was changed before it was due.
    JobChanged,
    /// The occurrence before was still being carried out.
    StillRunning,
    /// Too many occurrences were waiting already.
    QueueFull,
    /// Nobody was there to run it in time, and a later one took its place.
    Superseded,
    /// The scheduler was not running or too busy to run it in time, and the job does not want to be late.
    TooLate,
}

impl Reason {
    /// All of them.
    pub const ALL: [Self; 9] = [
        Self::RetriesUsedUp,
        Self::JobDisabled,
        Self::CollectionDisabled,
        Self::JobDeleted,
        Self::JobChanged,
        Self::StillRunning,
        Self::QueueFull,
        Self::Superseded,
        Self::TooLate,
    ];

    /// As in the API.
    pub const fn name(self) -> &'static str {
        match self {
            Self::RetriesUsedUp => "retriesUsedUp",
            Self::JobDisabled => "jobDisabled",
            Self::CollectionDisabled => "collectionDisabled",
            Self::JobDeleted => "jobDeleted",
            Self::JobChanged => "jobChanged",
            Self::StillRunning => "stillRunning",
            Self::QueueFull => "queueFull",
            Self::Superseded => "superseded",
            Self::TooLate => "tooLate",
        }
    }

    /// A sentence for people.
    pub const fn sentence(self) -> &'static str {
        match self {
            Self::RetriesUsedUp => "Every attempt that the retry policy allows failed.",
            Self::JobDisabled => "The job was disabled.",
            Self::CollectionDisabled => "The job collection was disabled.",
            Self::JobDeleted => "The job was deleted.",
            Self::JobChanged => "The job was changed before it was due.",
            Self::StillRunning => "The run before was still going, and the job does not overlap.",
            Self::QueueFull => "Too many runs of the job were waiting already.",
            Self::Superseded => {
                "The scheduler was not running when it was due; by the catch-up policy a later run took its place."
            }
            Self::TooLate => {
                "The scheduler was not running or too busy when it was due; by the catch-up policy it is not made up."
            }
        }
    }
}

/// What became of an occurrence, or of several in a row that shared their fate.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LedgerEntry {
    /// Whose.
    pub job: JobId,
    /// When it was due; of several, the first.
    pub due_at: Timestamp,
    /// Of several, when the last was due; else the same.
    pub due_until: Timestamp,
    /// How many.
    pub occurrences: u64,
    /// The number of the first.
    pub number: u32,
    /// Why there was one.
    pub cause: Cause,
    /// What became of it.
    pub fate: Fate,
    /// Why, where it did not simply run.
    pub reason: Option<Reason>,
    /// When its first attempt began.
    pub started_at: Option<Timestamp>,
    /// When this was known.
    pub ended_at: Timestamp,
    /// The tag of its execution, where there was one.
    pub tag: Option<Uuid>,
}
