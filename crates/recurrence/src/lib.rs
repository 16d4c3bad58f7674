//! When does a job run?
//!
//! This crate answers that one question, and is pure: a [`Draft`] and the moment it was accepted make a [`Rule`], and a
//! rule knows its occurrences. There is no clock here, no file, no network and no JSON; zone data is compiled in.
//!
//! ```
//! use recurrence::{Draft, RecurrenceDraft, Rule, ScheduleDraft, MonthlyOccurrenceDraft};
//!
//! // The last Friday of the month at 5:15 in Paris.
//! let draft = Draft {
//!     start_time: Some("2027-03-01".into()),
//!     recurrence: Some(RecurrenceDraft {
//!         frequency: Some("month".into()),
//!         time_zone: Some("Europe/Paris".into()),
//!         schedule: Some(ScheduleDraft {
//!             hours: Some(vec![5]),
//!             minutes: Some(vec![15]),
//!             monthly_occurrences: Some(vec![MonthlyOccurrenceDraft {
//!                 day: Some("Friday".into()),
//!                 occurrence: Some(-1),
//!             }]),
//!             ..Default::default()
//!         }),
//!         ..Default::default()
//!     }),
//! };
//! let rule = Rule::build(&draft, "2027-01-01T00:00:00Z".parse()?)?;
//! let next: Vec<String> = rule.occurrences().take(2).map(|occurrence| occurrence.at.to_string()).collect();
//! assert_eq!(next, ["2027-03-26T04:15:00Z", "2027-04-30T03:15:00Z"]);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # The way through
//!
//! [`Rule::build`] hands the draft to `check`, which finds every fault and compiles a `Plan`: elapsed steps, a grid of
//! elapsed steps seen through the wall clock, or days of the calendar with times of day. [`Rule::after`] asks the plan
//! for the first slot from an instant on, and [`Rule::last_by`] how many there are until then. To add an element to schedules: a field in `draft` and [`Schedule`], its
//! faults in `check`, its effect on the plan in `compile`, its words in `english`, and a line in the reference that the
//! property tests compare with.
//!
//! # What it refuses
//!
//! Rules that never fire, silently corrected values, and any notion of "now" beyond the moment of acceptance.

#![forbid(unsafe_code)]

mod calendar;
mod check;
mod civil;
mod compile;
mod cron;
mod date_time;
mod draft;
mod english;
mod fault;
mod names;
mod numbers;
mod plan;
mod remarks;
mod rule;
#[cfg(test)]
mod shorthand;
mod span;
mod speed;
mod wall_clock;
mod zone;

pub use calendar::{ClockChange, Day, Turn};
pub use cron::Cron;
pub use date_time::{DATE_TIME_FORMS, read_date_time};
pub use draft::{Draft, DstDraft, MonthlyOccurrenceDraft, RecurrenceDraft, ScheduleDraft};
pub use fault::{Fault, Faults};
pub use jiff::Timestamp;
pub use names::{Dst, Fold, Frequency, Gap, Weekday};
pub use numbers::Numbers;
pub use rule::{MonthlyOccurrence, Occurrence, Pattern, Recurrence, Rule, Schedule};
pub use zone::Zone;
