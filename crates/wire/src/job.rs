//! Jobs: requests read into the model, jobs written from it.
//!
//! [`read()`] takes the body of a PUT or POST, [`patch()`] that of a PATCH; both find every fault at once, with the paths
//! that the body has, and neither ever shows a secret. [`write()`] makes the answer: the order and casing of the
//! recordings, and no secrets. [`concealed()`] makes a copy that can be asked for again, with something else in the
//! place of each secret. [`test_call()`] takes an action without a job.
//!
//! ```
//! use wire::job;
//!
//! let now = "2027-01-01T00:00:00Z".parse()?;
//! let body = serde_json::json!({"properties": {
//!     "action": {"type": "http", "request": {"uri": "example.org", "method": "GET", "timeout": 5}},
//!     "recurrence": {"frequency": "Day", "interval": 0},
//! }});
//! let faults = job::read(&body, now).unwrap_err();
//! let fields: Vec<_> = faults.iter().map(|fault| fault.field.as_str()).collect();
//! assert_eq!(fields, ["properties.recurrence.interval", "properties.action.request.uri"]);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Extensions
//!
//! `properties.catchUp` is `"none"`, `"last"` (the default) or `{"policy": "all", "max": 10}`; the object may also name
//! the other two. `properties.overlap` is `"allow"` (the default), `"skip"` or `"queue"`. They come back once either of
//! them was given.

mod action;
mod concealed;
mod http;
mod kept;
mod patch;
mod read;
mod test_call;
mod write;

use ::recurrence::{Draft, Fault, Faults, Rule, Timestamp};
use model::{Action, CatchUp, Definition, JobState, Overlap};
use serde_json::Value;

use crate::members::Reader;

pub use concealed::concealed;
pub use patch::{Patched, patch};
pub use test_call::{TestCall, destination_of_test_call, job_of_test_call, test_call};
pub use write::{Shown, write};

/// A job as it was asked for: every value is one that the model knows. Limits are not judged yet.
#[derive(Debug, Clone)]
pub struct JobRequest {
    /// When it runs, as it was written.
    pub timing: Draft,
    /// The moment from which the timing counts.
    pub accepted_at: Timestamp,
    /// The rule of the timing.
    pub rule: Rule,
    /// What it does.
    pub action: Action,
    /// [`Enabled`](JobState::Enabled) or [`Disabled`](JobState::Disabled); `None` where nothing was said, which means
    /// enabled (TestCreateHttpJob).
    pub state: Option<JobState>,
    /// What becomes of occurrences that an outage kept from running.
    pub catch_up: CatchUp,
    /// What becomes of an occurrence that is due while the one before is still being carried out.
    pub overlap: Overlap,
    /// Whether `catchUp` or `overlap` was given.
    pub extensions_given: bool,
    /// Whether `monthlyOccurrences` were written with the key `Occurrence`.
    pub capital_occurrence: bool,
    /// The paths of members that mean nothing, in the order of the document's objects.
    pub ignored: Vec<String>,
    reader: Reader,
}

impl JobRequest {
    /// What is to be kept.
    pub fn definition(&self) -> Definition {
        Definition {
            timing: self.timing.clone(),
            accepted_at: self.accepted_at,
            action: self.action.clone(),
            catch_up: self.catch_up,
            overlap: self.overlap,
            extensions_given: self.extensions_given,
            capital_occurrence: self.capital_occurrence,
        }
    }

    /// How many bytes the job is, however its request was indented or escaped.
    pub fn size(&self) -> usize {
        write::size(&self.definition(), self.state.unwrap_or(JobState::Enabled))
    }

    /// Faults that were found in the request later, such as those of [`model::admission`], with paths as the body has
    /// them: `action.request.uri` becomes `properties.action.request.uri`, or what stands there in its case.
    pub fn placed(&self, faults: Vec<Fault>) -> Vec<Fault> {
        let placed = |fault: Fault| Fault {
            field: self.reader.written_path(&format!("properties.{}", fault.field)),
            ..fault
        };
        faults.into_iter().map(placed).collect()
    }
}

/// Reads the body of a PUT or POST that came at a moment; or says all that is wrong with it.
///
/// Names and enum values are read in any case, and `null` is the same as no member. What an answer has besides (`id`,
/// `name`, `type`, `status`) may stay in the body and means nothing there.
pub fn read(body: &Value, now: Timestamp) -> Result<JobRequest, Faults> {
    read::reading(body).request(now)
}
