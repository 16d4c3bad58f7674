//! What is there, and what is decided about it.
//!
//! Job collections, jobs, actions, executions and the ledger as plain types, and in [`transition`] every decision of
//! the product as a pure function: no clock, no store, no network. Whoever loads and stores calls these functions and
//! does what they say.

#![forbid(unsafe_code)]

pub mod action;
pub mod admission;
pub mod certificate;
mod clock;
mod collection;
mod destination;
mod execution;
mod group;
pub mod interval;
mod job;
mod ledger;
mod redaction;
mod secret;
pub mod signing;
mod tally;
pub mod transition;

pub use action::Action;
pub use clock::Clock;
pub use collection::{
    Allowance, Collection, CollectionPath, CollectionState, MaxRecurrence, Plan, PlanLimits, Plans, Quota,
};
pub use destination::{Destination, Origin, same_destination};
pub use execution::{Attempt, Cause, Execution, HistoryEntry, HistoryStatus, Outcome};
pub use group::{Group, GroupPath};
pub use job::{CatchUp, Counters, Definition, Job, JobId, JobState, Overlap};
pub use ledger::{Fate, LedgerEntry, Reason};
pub use recurrence::{Occurrence, Timestamp};
pub use redaction::{HIDDEN, Redaction};
pub use secret::Secret;
pub use tally::{Lateness, Tally};
pub use uuid::Uuid;
