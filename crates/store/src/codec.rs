//! How values of the model look in columns, the same in every database.

use jiff::Timestamp;
use model::{Cause, Definition, Fate, HistoryStatus, JobId, JobState, Plan, Reason};
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::seal::Keyring;

/// A stored value that makes no sense: table, row and column, and what is wrong.
#[derive(Debug)]
pub(crate) struct Unreadable(pub(crate) String);

impl Unreadable {
    /// Names a value that cannot be read.
    pub(crate) fn at(place: &str, row: i64, why: impl std::fmt::Display) -> Self {
        Self(format!("{place} of row {row}: {why}"))
    }
}

const TICKS_PER_SECOND: i64 = 10_000_000;
const NANOS_PER_TICK: i32 = 100;

/// An instant as a number of 100-nanosecond ticks, rounded down.
pub(crate) fn ticks(at: Timestamp) -> i64 {
    let nanos = at.subsec_nanosecond().div_euclid(NANOS_PER_TICK);
    at.as_second() * TICKS_PER_SECOND + i64::from(nanos)
}

/// The instant of a number of ticks; one that no calendar has becomes the last one that it has.
pub(crate) fn instant(ticks: i64) -> Timestamp {
    let nanos = ticks.rem_euclid(TICKS_PER_SECOND) as i32 * NANOS_PER_TICK;
    let last = if ticks < 0 { Timestamp::MIN } else { Timestamp::MAX };
    Timestamp::new(ticks.div_euclid(TICKS_PER_SECOND), nanos).unwrap_or(last)
}

/// What a name is found and sorted by.
pub(crate) fn key(name: &str) -> String {
    name.to_lowercase()
}

/// A value of the model as JSON. A definition has none; [`Keyring::seal`] makes its text.
pub(crate) fn to_json<T: Serialize>(value: &T) -> Result<String, Unreadable> {
    serde_json::to_string(value).map_err(|error| Unreadable(format!("a value has no JSON: {error}")))
}

/// Reads what [`to_json`] wrote.
pub(crate) fn from_json<T: DeserializeOwned>(text: &str, place: &str, row: i64) -> Result<T, Unreadable> {
    serde_json::from_str(text).map_err(|error| Unreadable::at(place, row, error))
}

/// Opens a definition that [`Keyring::seal`] sealed.
pub(crate) fn open_definition(
    keyring: &Keyring,
    text: &str,
    place: &str,
    job: i64,
) -> Result<Definition, Unreadable> {
    keyring.open(text, JobId(job)).map_err(|fault| Unreadable::at(place, job, fault))
}

/// A plan by the name it is stored under.
pub(crate) fn plan(name: &str, row: i64) -> Result<Plan, Unreadable> {
    let plan = Plan::ALL.into_iter().find(|plan| plan.name() == name);
    plan.ok_or_else(|| Unreadable::at("collections.plan", row, format!("'{name}' is no plan")))
}

/// A value of a small set, stored as its place in [`Coded::CODES`].
pub(crate) trait Coded: Copy + PartialEq + 'static {
    /// In the order of their numbers. New values go to the end: a number never changes its meaning.
    const CODES: &'static [Self];
    /// For messages.
    const NAME: &'static str;

    /// The number.
    fn code(self) -> i64 {
        Self::CODES.iter().position(|value| *value == self).map_or(-1, |code| code as i64)
    }

    /// The value of a number.
    fn from_code(code: i64, row: i64) -> Result<Self, Unreadable> {
        let value = usize::try_from(code).ok().and_then(|code| Self::CODES.get(code));
        value.copied().ok_or_else(|| Unreadable::at(Self::NAME, row, format!("{code} means nothing")))
    }
}

impl Coded for JobState {
    const CODES: &'static [Self] = &[Self::Enabled, Self::Disabled, Self::Completed, Self::Faulted];
    const NAME: &'static str = "jobs.state";
}

impl Coded for Cause {
    const CODES: &'static [Self] = &[Self::Schedule, Self::CatchUp, Self::Run];
    const NAME: &'static str = "cause";
}

impl Coded for Fate {
    const CODES: &'static [Self] = &[Self::Ran, Self::RanLate, Self::Faulted, Self::Skipped, Self::Missed];
    const NAME: &'static str = "ledger.fate";
}

impl Coded for Reason {
    const CODES: &'static [Self] = &[
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
    const NAME: &'static str = "ledger.reason";
}

impl Coded for HistoryStatus {
    const CODES: &'static [Self] = &[Self::Completed, Self::Failed, Self::Postponed];
    const NAME: &'static str = "history.status";
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn instants_survive_to_the_tick() {
        for text in [
            "1970-01-01T00:00:00Z",
            "2027-03-28T02:30:00.1234567Z",
            "1969-12-31T23:59:59.9999999Z",
            "1601-01-01T00:00:00Z",
            "9999-12-30T22:00:00Z",
        ] {
            let at: Timestamp = text.parse().unwrap();
            assert_eq!(instant(ticks(at)), at, "{text}");
        }
        let fine: Timestamp = "1969-12-31T23:59:59.99999995Z".parse().unwrap();
        assert_eq!(instant(ticks(fine)).to_string(), "1969-12-31T23:59:59.9999999Z");
        assert_eq!(instant(i64::MAX), Timestamp::MAX);
    }

    #[test]
    fn every_value_has_a_number() {
        fn all<T: Coded + std::fmt::Debug>(values: &[T]) {
            for value in values {
                assert_eq!(T::from_code(value.code(), 0).ok(), Some(*value));
            }
            assert!(T::from_code(values.len() as i64, 0).is_err());
            assert!(T::from_code(-1, 0).is_err());
        }
        all(&JobState::ALL);
        all(&Cause::ALL);
        all(&Fate::ALL);
        all(&Reason::ALL);
        all(&HistoryStatus::ALL);
    }
}
