//! Executions: occurrences being carried out, attempt by attempt; and what is kept of them.

use recurrence::{Occurrence, Timestamp};
use uuid::Uuid;

use crate::JobId;

/// An occurrence being carried out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Execution {
    /// The same for all attempts, and for a repetition after a crash: whoever is called can tell duplicates by it.
    pub tag: Uuid,
    /// Whose.
    pub job: JobId,
    /// The generation of the job that it belongs to.
    pub generation: i64,
    /// Which.
    pub occurrence: Occurrence,
    /// Why.
    pub cause: Cause,
    /// 0 for the action, 1 for its error action, and so on.
    pub depth: u8,
    /// How many attempts were made before, at this depth.
    pub attempt: u32,
    /// When the next attempt begins; `None` while it waits for an earlier execution of the job.
    pub wake_at: Option<Timestamp>,
    /// When its first attempt began.
    pub started_at: Option<Timestamp>,
}

/// Why there is an execution.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Cause {
    /// The schedule said so.
    Schedule,
    /// The schedule said so, but nobody was there.
    CatchUp,
    /// Somebody asked for it.
    Run,
}

impl Cause {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Schedule, Self::CatchUp, Self::Run];

    /// As in the API.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Schedule => "schedule",
            Self::CatchUp => "catchUp",
            Self::Run => "run",
        }
    }
}

impl Execution {
    /// The tag of an occurrence: the same whenever and wherever it is made, so that not even a claim that was lost
    /// with a database can make a duplicate that looks like another occurrence.
    pub fn tag_of(seed: Uuid, occurrence: &Occurrence) -> Uuid {
        let mut name = [0; 20];
        name[..16].copy_from_slice(&occurrence.at.as_nanosecond().to_be_bytes());
        name[16..].copy_from_slice(&occurrence.number.to_be_bytes());
        Uuid::new_v5(&seed, &name)
    }

    /// Returns the tag of a run that was asked for, made of a random UUID: with `hops`, how many calls of jobs led to it,
    /// where there are any. They stand in a byte that a UUID of version 8 leaves to its maker, so every store keeps them
    /// with the tag, and the tags of schedules and of people, which have other versions, say 0.
    pub fn tag_asked_for(random: Uuid, hops: u8) -> Uuid {
        if hops == 0 {
            return random;
        }
        let mut bytes = random.into_bytes();
        bytes[6] = 0x80 | (bytes[6] & 0x0f);
        bytes[7] = hops;
        Uuid::from_bytes(bytes)
    }

    /// Returns how many calls of jobs led to the run with this tag.
    pub fn hops_of(tag: Uuid) -> u8 {
        let bytes = tag.as_bytes();
        if bytes[6] >> 4 == 8 { bytes[7] } else { 0 }
    }
}

/// How a call went. A fault of the called side is an outcome, not an error of ours.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Outcome {
    /// Whether it counts as success.
    pub success: bool,
    /// What happened, for the history.
    pub message: String,
}

/// One try.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Attempt {
    /// When it began.
    pub started_at: Timestamp,
    /// When it ended.
    pub ended_at: Timestamp,
    /// How it went.
    pub outcome: Outcome,
}

/// How an attempt appears in the history.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum HistoryStatus {
    /// It succeeded.
    Completed,
    /// It failed.
    Failed,
    /// It has to wait for an earlier execution.
    Postponed,
}

impl HistoryStatus {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Completed, Self::Failed, Self::Postponed];

    /// As in the API.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Completed => "completed",
            Self::Failed => "failed",
            Self::Postponed => "postponed",
        }
    }
}

/// What is kept of an attempt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HistoryEntry {
    /// When it began.
    pub started_at: Timestamp,
    /// When it ended.
    pub ended_at: Timestamp,
    /// When it was due.
    pub expected_at: Timestamp,
    /// 0 for the action, more for error actions.
    pub depth: u8,
    /// How it went.
    pub status: HistoryStatus,
    /// What happened.
    pub message: String,
    /// How many attempts were made before.
    pub retry_count: u32,
    /// The number of the occurrence.
    pub repeat_count: u32,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tags_carry_hops_and_stay_random() {
        for random in [u128::MAX, 0x0123_4567_89ab_4def_8123_4567_89ab_cdef].map(Uuid::from_u128) {
            assert_eq!((Execution::tag_asked_for(random, 0), Execution::hops_of(random)), (random, 0));
            let tag = Execution::tag_asked_for(random, 5);
            assert_eq!(Execution::hops_of(tag), 5);
            let random_bits = !(0xfff_u128 << 68);
            assert_eq!(
                tag.as_u128() & random_bits & !(0xf << 64),
                random.as_u128() & random_bits & !(0xf << 64)
            );
        }
        let at = Occurrence { at: "2027-01-01T00:00:00Z".parse().expect("a timestamp"), number: 1 };
        assert_eq!(Execution::hops_of(Execution::tag_of(Uuid::from_u128(7), &at)), 0);
    }
}
