//! Problems: what an API call is answered with when it cannot be done.

use recurrence::Faults;

/// An answer that is an error. Its message is for whoever called; what only we need to know is logged where it arose.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    /// The HTTP status.
    pub status: u16,
    /// The error code of the API.
    pub code: &'static str,
    /// What was wrong, where, and what is allowed.
    pub message: String,
    /// The faults of a body, where that is the problem.
    pub faults: Option<Faults>,
    /// When to try again, in seconds.
    pub retry_after: Option<u32>,
    /// The methods that are allowed.
    pub allow: Option<&'static str>,
}

impl Problem {
    fn new(status: u16, code: &'static str, message: impl Into<String>) -> Self {
        Self { status, code, message: message.into(), faults: None, retry_after: None, allow: None }
    }

    /// 400.
    pub fn bad_request(message: impl Into<String>) -> Self {
        Self::new(400, "BadRequest", message)
    }

    /// 400 for a body with faults.
    pub fn faulty(faults: Faults) -> Self {
        Self { message: faults.to_string(), faults: Some(faults), ..Self::bad_request("") }
    }

    /// 400: there is no api-version.
    pub fn missing_api_version(known: &str) -> Self {
        let message =
            format!("The query parameter api-version is required on every call; known versions: {known}.");
        Self::new(400, "MissingApiVersionParameter", message)
    }

    /// 400: an api-version that nobody knows.
    pub fn unknown_api_version(given: &str, known: &str) -> Self {
        let message = format!("The api-version '{given}' is not known; known versions: {known}.");
        Self::new(400, "InvalidApiVersionParameter", message)
    }

    /// 404: the answer of the old resource manager to a collection that is not there.
    pub fn no_collection(group: &str, name: &str) -> Self {
        let message = format!(
            "The Resource 'Microsoft.Scheduler/jobcollections/{name}' under resource group '{group}' was not found."
        );
        Self::new(404, "ResourceNotFound", message)
    }

    /// 404: the answer of the old service to a job that is not there.
    pub fn no_job(name: &str) -> Self {
        Self::new(404, "NotFound", format!("Job '{name}' cannot be found."))
    }

    /// 404: nothing is served at this path.
    pub fn no_path(path: &str) -> Self {
        Self::new(404, "NotFound", format!("Nothing is served at '{path}'."))
    }

    /// 405.
    pub fn method_not_allowed(method: &str, allow: &'static str) -> Self {
        let message = format!("{method} is not allowed here; allowed: {allow}.");
        Self { allow: Some(allow), ..Self::new(405, "MethodNotAllowed", message) }
    }

    /// 409.
    pub fn conflict(message: impl Into<String>) -> Self {
        Self::new(409, "Conflict", message)
    }

    /// 412.
    pub fn precondition_failed(message: impl Into<String>) -> Self {
        Self::new(412, "PreconditionFailed", message)
    }

    /// 413.
    pub fn too_large(most: usize) -> Self {
        Self::new(413, "PayloadTooLarge", format!("The body is larger than {most} bytes."))
    }

    /// 415.
    pub fn not_json(given: &str) -> Self {
        let message = format!("The body's Content-Type is '{given}'; application/json is expected.");
        Self::new(415, "UnsupportedMediaType", message)
    }

    /// 503.
    pub fn busy(message: impl Into<String>) -> Self {
        Self { retry_after: Some(1), ..Self::new(503, "ServerBusy", message) }
    }
}

impl From<store::Error> for Problem {
    fn from(error: store::Error) -> Self {
        match error {
            // The store has logged that itself, and once for many.
            store::Error::Full(_) => {
                tracing::debug!(%error, "the disk is full");
                Self::busy(
                    "The disk of the scheduler is full; nothing was changed. Try again when there is room.",
                )
            }
            store::Error::Unavailable(_) => {
                tracing::debug!(%error, "the store cannot be used");
                Self::busy("The store cannot be used at the moment; nothing was changed. Try again.")
            }
            store::Error::Corrupt(_) | store::Error::Failed(_) => {
                tracing::error!(%error, "the store failed");
                Self::new(
                    500,
                    "InternalError",
                    "The scheduler failed; its log says why. Nothing was changed.",
                )
            }
        }
    }
}
