//! How values of the model look in columns, the same in every database.

use jiff::Timestamp;
use model::{
    Cause, Collection, CollectionPath, CollectionState, Definition, Fate, HistoryStatus, JobId, JobState,
    Plan, Reason,
};
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

/// The condition that leaves out rows in which a column has a value of a newer version: what they say is not known here.
pub(crate) fn known<T: Coded>(column: &str) -> String {
    format!("{column} BETWEEN 0 AND {}", T::CODES.len() - 1)
}

/// The path of a collection, in the case it was created with; where its document cannot be read, by its keys.
pub(crate) fn path_of(document: &str, keys: CollectionPath) -> CollectionPath {
    from_json::<Collection>(document, "collections.document", 0).map_or(keys, |collection| collection.path)
}

/// A collection by its document. Where that cannot be read, what else its row says, and why.
pub(crate) fn collection(
    id: i64,
    document: &str,
    keys: CollectionPath,
    enabled: bool,
) -> (Collection, Option<String>) {
    match from_json(document, "collections.document", id) {
        Ok(collection) => (collection, None),
        Err(Unreadable(why)) => {
            let collection = Collection {
                path: keys,
                location: String::new(),
                tags: None,
                plan: Plan::Standard,
                state: if enabled { CollectionState::Enabled } else { CollectionState::Disabled },
                quota: None,
                resumed_at: None,
            };
            (collection, Some(why))
        }
    }
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

/// Why there is an execution. One of a newer version is carried out as one of the schedule: that it runs matters more than
/// what it is counted as.
pub(crate) fn cause(code: i64) -> Cause {
    Cause::from_code(code, 0).unwrap_or(Cause::Schedule)
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

    /// What is stored: a number never changes its meaning, and a name in a column never changes either.
    #[test]
    fn numbers_and_names_are_pinned() {
        fn numbers<T: Coded>(values: &[(T, i64)]) {
            assert_eq!(values.len(), T::CODES.len(), "{}: a new value is pinned here too", T::NAME);
            for (value, number) in values {
                assert_eq!(value.code(), *number, "{}", T::NAME);
            }
        }
        numbers(&[
            (JobState::Enabled, 0),
            (JobState::Disabled, 1),
            (JobState::Completed, 2),
            (JobState::Faulted, 3),
        ]);
        numbers(&[(Cause::Schedule, 0), (Cause::CatchUp, 1), (Cause::Run, 2)]);
        numbers(&[
            (Fate::Ran, 0),
            (Fate::RanLate, 1),
            (Fate::Faulted, 2),
            (Fate::Skipped, 3),
            (Fate::Missed, 4),
        ]);
        numbers(&[
            (Reason::RetriesUsedUp, 0),
            (Reason::JobDisabled, 1),
            (Reason::CollectionDisabled, 2),
            (Reason::JobDeleted, 3),
            (Reason::JobChanged, 4),
            (Reason::StillRunning, 5),
            (Reason::QueueFull, 6),
            (Reason::Superseded, 7),
            (Reason::TooLate, 8),
        ]);
        numbers(&[(HistoryStatus::Completed, 0), (HistoryStatus::Failed, 1), (HistoryStatus::Postponed, 2)]);
        for (name, expected) in [
            ("Free", Plan::Free),
            ("Standard", Plan::Standard),
            ("P10Premium", Plan::P10Premium),
            ("P20Premium", Plan::P20Premium),
        ] {
            assert_eq!(plan(name, 0).ok(), Some(expected), "{name}");
        }
        assert_eq!(ticks("2027-01-01T00:00:00.1234567Z".parse().unwrap()), 17_987_616_001_234_567);
        assert_eq!(key("Grüße-ÄB"), "grüße-äb");
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
