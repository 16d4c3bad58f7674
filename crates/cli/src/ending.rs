//! How a command ends: what is said of a failure, and the status that programs see.
//!
//! | status | meaning |
//! |---|---|
//! | 0 | done |
//! | 1 | it failed |
//! | 2 | wrong usage, or input that cannot be right |
//! | 3 | it is not there |
//! | 4 | a conflict: it is there already, was changed meanwhile, or its state or a quota does not allow it |
//! | 5 | the server cannot be reached or is too busy: try again later |
//! | 6 | it is not done yet: the same command goes on |

use std::io::{self, ErrorKind};
use std::process::ExitCode;

use crate::client::{Problem, Unreachable};
use crate::refused::Refused;
use crate::style;

const FAILED: u8 = 1;
const WRONG: u8 = 2;
const ABSENT: u8 = 3;
const CONFLICT: u8 = 4;
const AWAY: u8 = 5;
const UNFINISHED: u8 = 6;

/// What a command found that it was not asked to expect; it ends with a status of its own.
#[derive(Debug)]
pub(crate) struct Ended {
    status: u8,
    message: String,
}

impl Ended {
    /// Something is not there.
    pub(crate) fn absent(message: impl Into<String>) -> Self {
        Self { status: ABSENT, message: message.into() }
    }

    /// The same kind of failure as that of an error, in other words.
    pub(crate) fn like(error: &anyhow::Error, message: impl Into<String>) -> Self {
        Self { status: status(error), message: message.into() }
    }

    /// Something stands in the way.
    pub(crate) fn conflict(message: impl Into<String>) -> Self {
        Self { status: CONFLICT, message: message.into() }
    }

    /// Something cannot be reached at the moment.
    pub(crate) fn away(message: impl Into<String>) -> Self {
        Self { status: AWAY, message: message.into() }
    }

    /// There is more to do, later.
    pub(crate) fn unfinished(message: impl Into<String>) -> Self {
        Self { status: UNFINISHED, message: message.into() }
    }
}

impl std::fmt::Display for Ended {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for Ended {}

/// Says why it did not work, one line per reason, and what may have been meant; the status says what kind of reason that
/// is.
pub(crate) fn end(error: &anyhow::Error, similar: Option<&str>) -> ExitCode {
    let is_pipe = |error: &io::Error| error.kind() == ErrorKind::BrokenPipe;
    if error.chain().any(|cause| cause.downcast_ref::<io::Error>().is_some_and(is_pipe)) {
        // Whoever was reading has seen enough, as `| head` does.
        return ExitCode::SUCCESS;
    }
    if let Some(refused) = error.downcast_ref::<Refused>() {
        refused.reasons().for_each(|reason| style::say("error", reason));
    } else if let Some(problem) = error.downcast_ref::<Problem>() {
        problem.reasons.iter().for_each(|reason| style::say("error", reason));
    } else {
        style::say("error", &format!("{error:#}"));
    }
    if let Some(similar) = similar {
        style::say("note", similar);
    }
    ExitCode::from(status(error))
}

fn status(error: &anyhow::Error) -> u8 {
    if error.is::<Refused>() {
        return WRONG;
    }
    if error.is::<Unreachable>() {
        return AWAY;
    }
    if let Some(ended) = error.downcast_ref::<Ended>() {
        return ended.status;
    }
    match error.downcast_ref::<Problem>().map(|problem| problem.status) {
        Some(400 | 413 | 415) => WRONG,
        Some(404) => ABSENT,
        Some(409 | 412) => CONFLICT,
        Some(429 | 503) => AWAY,
        _ => FAILED,
    }
}
