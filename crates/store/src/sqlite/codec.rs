//! How values of the model look in columns.

use jiff::Timestamp;
use model::{Cause, Definition, Fate, HistoryStatus, JobId, JobState, Reason, Uuid};
use rusqlite::Row;
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::fault::{Fault, Outcome};
use crate::seal::Keyring;

const TICKS_PER_SECOND: i64 = 10_000_000;
const NANOS_PER_TICK: i32 = 100;

/// An instant as a number of 100-nanosecond ticks, rounded down.
pub(super) fn ticks(at: Timestamp) -> i64 {
    let nanos = at.subsec_nanosecond().div_euclid(NANOS_PER_TICK);
    at.as_second() * TICKS_PER_SECOND + i64::from(nanos)
}

/// The instant of a number of ticks; one that no calendar has becomes the last one that it has.
pub(super) fn instant(ticks: i64) -> Timestamp {
    let nanos = ticks.rem_euclid(TICKS_PER_SECOND) as i32 * NANOS_PER_TICK;
    let last = if ticks < 0 { Timestamp::MIN } else { Timestamp::MAX };
    Timestamp::new(ticks.div_euclid(TICKS_PER_SECOND), nanos).unwrap_or(last)
}

/// What a name is found and sorted by.
pub(super) fn key(name: &str) -> String {
    name.to_lowercase()
}

/// A value of the model as JSON. A definition has none; [`Keyring::seal`] makes its text.
pub(super) fn to_json<T: Serialize>(value: &T) -> Outcome<String> {
    serde_json::to_string(value).map_err(|error| Fault::Unreadable(format!("a value has no JSON: {error}")))
}

/// Reads what [`to_json`] wrote.
pub(super) fn from_json<T: DeserializeOwned>(text: &str, place: &str, row: i64) -> Outcome<T> {
    serde_json::from_str(text).map_err(|error| Fault::unreadable(place, row, error))
}

/// Opens a definition that [`Keyring::seal`] sealed.
pub(super) fn open_definition(keyring: &Keyring, text: &str, place: &str, job: JobId) -> Outcome<Definition> {
    keyring.open(text, job).map_err(|fault| Fault::unreadable(place, job.0, fault))
}

/// A value of a small set, stored as its place in [`Coded::CODES`].
pub(super) trait Coded: Copy + PartialEq + 'static {
    /// In the order of their numbers. New values go to the end: a number never changes its meaning.
    const CODES: &'static [Self];
    /// For messages.
    const NAME: &'static str;

    /// The number.
    fn code(self) -> i64 {
        Self::CODES.iter().position(|value| *value == self).map_or(-1, |code| code as i64)
    }

    /// The value of a number.
    fn from_code(code: i64, row: i64) -> Outcome<Self> {
        let value = usize::try_from(code).ok().and_then(|code| Self::CODES.get(code));
        value.copied().ok_or_else(|| Fault::unreadable(Self::NAME, row, format!("{code} means nothing")))
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

/// An instant column that may be NULL.
pub(super) fn instant_or_none(row: &Row<'_>, column: usize) -> rusqlite::Result<Option<Timestamp>> {
    Ok(row.get::<_, Option<i64>>(column)?.map(instant))
}

/// An instant column.
pub(super) fn instant_of(row: &Row<'_>, column: usize) -> rusqlite::Result<Timestamp> {
    row.get(column).map(instant)
}

/// A UUID column.
pub(super) fn uuid_of(row: &Row<'_>, column: usize) -> rusqlite::Result<Uuid> {
    row.get::<_, [u8; 16]>(column).map(Uuid::from_bytes)
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
