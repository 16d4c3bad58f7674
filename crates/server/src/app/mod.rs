//! Use-cases: load, decide, store. What is decided is in [`model`]; here it is brought together.

mod collections;
pub mod export;
pub mod import;
mod jobs;
mod preconditions;

use std::sync::Arc;

use model::admission::Limits;
use model::{Clock, Plans};
use store::Store;

pub use preconditions::{Preconditions, etag};

use crate::problem::Problem;

/// What every use-case needs.
#[derive(Clone)]
pub struct App {
    /// Where it is kept.
    pub store: Arc<dyn Store>,
    /// What time it is.
    pub clock: Arc<dyn Clock>,
    /// What collections may do.
    pub plans: Plans,
    /// How large jobs may be.
    pub limits: Limits,
    /// The most bytes of a job's body.
    pub job_bytes: usize,
}

/// What a use-case answers.
pub type Result<T> = std::result::Result<T, Problem>;

/// How often a change is decided anew because somebody else was faster.
const TRIES: usize = 20;

fn too_many_changes() -> Problem {
    Problem::busy("The resource is being changed by others all the time; nothing was changed. Try again.")
}
