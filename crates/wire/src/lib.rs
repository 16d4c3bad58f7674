//! How is it spoken? The JSON of the API, read into the model and written from it.
//!
//! Reading goes in three steps, each with its own kind of complaint:
//!
//! 1. [`json::read`]: bytes become a tree, or a [`json::TextFault`] points at the line that is not JSON.
//! 2. [`job::read()`], [`collection::read`] and their `patch`: the tree becomes what the model knows. Members nobody
//!    knows are collected, not refused; whatever else is wrong comes back as one list of faults, with the paths that
//!    the document really has.
//! 3. Of a job's timing only the JSON types are judged here, so that no rule about times is written down twice:
//!    [`recurrence::read`] makes a draft and the engine judges it. Its faults join those of step 2.
//!
//! Whether a well-formed job may be kept is not for this crate to say: [`model::admission`] does, and
//! [`job::JobRequest::placed`] finds the place of its faults in the document.
//!
//! Writing is [`job::write()`], [`collection::write`], [`history::write`] and [`ledger::write`], [`group::write`] and
//! [`surroundings`] for what other providers served, [`preview`],
//! [`summary`], [`live`] and [`tally`] for what is only asked about, [`list::write`] around them, and [`error`] for what went wrong; [`dialect`] says in which words. Order, casing and oddities are those of recordings of the old service; the
//! name of the recording stands beside each oddity, and `tests/recordings.rs` compares all of them.
//!
//! A secret has no way out of here: answers leave it out, faults do not show it, and the one document that holds it,
//! a stored job that is being patched or copied, stays within `job`.
//!
//! ```
//! let tree = wire::json::read(br#"{"recurrence": {"frequency": "day", "interval": "2"}}"#)?;
//! let shape = wire::recurrence::recognise(&tree)?;
//! let faults = wire::recurrence::read(&tree, shape).rule("2027-01-01T00:00:00Z".parse()?).unwrap_err();
//! assert_eq!(
//!     faults.to_string(),
//!     r#"recurrence.interval: "2" is not allowed here; allowed: with frequency day, a whole number from 1 to 548"#,
//! );
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! To read one more member of a recurrence: its name in the table of its object and its line in the function below that
//! table, both in `recurrence.rs`. What values it may have is said in the `recurrence` crate and nowhere else. To read
//! one more member of an action: the same in `job/action.rs` or `job/http.rs`, its line in `job/write.rs`, and a line in
//! the tables of `tests/job_faults.rs` and `tests/job_round_trip.rs`.

#![forbid(unsafe_code)]

pub mod collection;
pub mod date_time;
pub mod dialect;
pub mod error;
pub mod group;
pub mod history;
pub mod job;
pub mod json;
pub mod ledger;
pub mod list;
pub mod live;
mod members;
mod merge;
pub mod path;
pub mod preview;
pub mod recurrence;
mod regions;
pub mod summary;
pub mod surroundings;
pub mod tally;
pub mod version;
