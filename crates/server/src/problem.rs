//! Problems: what an API call is answered with when it cannot be done.

use std::num::NonZeroU32;

use access::{Act, Permission, Principal, Role, Scope};
use actions::HOPS;
use recurrence::Faults;

/// The code of a call that does not say who makes it.
const UNAUTHENTICATED: &str = "AuthenticationFailed";

/// The code of what whoever asks may not do.
const DENIED: &str = "AuthorizationFailed";

/// The code of a collection that is not there.
const NO_RESOURCE: &str = "ResourceNotFound";

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
    /// The faults of a whole document of resources.
    pub details: Vec<Detail>,
    /// When to try again, in seconds.
    pub retry_after: Option<u32>,
    /// The methods that are allowed.
    pub allow: Option<&'static str>,
}

/// One fault of a document of resources.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Detail {
    /// Where it stands.
    pub target: String,
    /// What is wrong there, and what is allowed.
    pub message: String,
    /// Whether the document may be right and only does not fit with what is there.
    pub is_conflict: bool,
}

impl Problem {
    fn new(status: u16, code: &'static str, message: impl Into<String>) -> Self {
        Self {
            status,
            code,
            message: message.into(),
            faults: None,
            details: Vec::new(),
            retry_after: None,
            allow: None,
        }
    }

    /// 400.
    pub fn bad_request(message: impl Into<String>) -> Self {
        Self::new(400, "BadRequest", message)
    }

    /// 400 for a parameter of the query.
    pub fn refused_parameter(name: &str, given: &str, allowed: &str) -> Self {
        Self::bad_request(format!("{name}: '{given}' is not allowed here; allowed: {allowed}."))
    }

    /// 400 for a body with faults.
    pub fn faulty(faults: Faults) -> Self {
        Self { message: faults.to_string(), faults: Some(faults), ..Self::bad_request("") }
    }

    /// 400 for a document of resources with faults; 409 where all of them are conflicts.
    pub fn listed(details: Vec<Detail>) -> Self {
        let first = details.first().map(|detail| detail.message.clone()).unwrap_or_default();
        let message = match details.len() {
            1 => first,
            many => format!("The document has {many} faults; the first is {first}"),
        };
        let problem = if details.iter().all(|detail| detail.is_conflict) {
            Self::conflict(message)
        } else {
            Self::bad_request(message)
        };
        Self { details, ..problem }
    }

    /// 409 for a body that is right, but not where it is to be kept.
    pub fn conflicting(faults: Faults) -> Self {
        Self { message: faults.to_string(), faults: Some(faults), ..Self::conflict("") }
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

    /// 400: an api-version that cannot be one.
    pub fn malformed_api_version(given: &str) -> Self {
        let message = format!(
            "The api-version '{given}' is none; allowed: a date such as 2021-04-01, or 2021-04-01-preview."
        );
        Self::new(400, "InvalidApiVersionParameter", message)
    }

    /// 401: nobody says who asks.
    pub fn unauthenticated() -> Self {
        let message = "The call does not say who makes it; send a token: 'Authorization: Bearer …'.";
        Self::new(401, UNAUTHENTICATED, message)
    }

    /// 401: a token that is not believed.
    pub fn bad_token(why: &str) -> Self {
        Self::new(401, "InvalidAuthenticationToken", format!("The token of the call is not accepted: {why}."))
    }

    /// 401: a token whose time is over.
    pub fn expired_token() -> Self {
        let problem = Self::bad_token("it has expired");
        Self { code: "ExpiredAuthenticationToken", ..problem }
    }

    /// Whether nobody says who asks, which is no attempt at anything.
    pub fn is_unauthenticated(&self) -> bool {
        self.code == UNAUTHENTICATED
    }

    /// What is asked of whoever is not known, in `WWW-Authenticate`.
    pub fn challenge(&self) -> Option<&'static str> {
        match self.status {
            401 if self.is_unauthenticated() => Some("Bearer realm=\"punctual\""),
            401 => Some("Bearer realm=\"punctual\", error=\"invalid_token\""),
            _ => None,
        }
    }

    /// 403: whoever asks may not.
    pub fn forbidden(who: &Principal, act: Act, permission: Permission, scope: &Scope) -> Self {
        let enough = Role::ALL.into_iter().find(|role| role.allows(permission)).unwrap_or(Role::Owner);
        let message = format!(
            "'{}' ({}) may not do '{}' at '{scope}'; allowed: with the role {} there, or one that may more.",
            who.name,
            who.id,
            act.name(),
            enough.name()
        );
        Self::new(403, DENIED, message)
    }

    /// Whether somebody asks for what they may not.
    pub fn is_denial(&self) -> bool {
        self.code == DENIED
    }

    /// 404: what may not be seen is answered as if it were not there.
    pub fn missing(scope: &Scope) -> Self {
        match scope {
            Scope::Root => Self::no_path("/"),
            Scope::Subscription(id) => Self::no_subscription(id),
            Scope::Group(path) => Self::no_group(&path.name),
            Scope::Collection(path) => Self::no_collection(&path.group, &path.name),
        }
    }

    /// 404: the resource manager's answer to a subscription that is not there.
    pub fn no_subscription(id: &str) -> Self {
        Self::new(404, "SubscriptionNotFound", format!("The subscription '{id}' could not be found."))
    }

    /// 404: a token that is not there, or is revoked.
    pub fn no_token(id: &str) -> Self {
        Self::new(404, "NotFound", format!("There is no token '{id}' that could be revoked."))
    }

    /// 404: a role that nobody has.
    pub fn no_role() -> Self {
        Self::new(404, "NotFound", "That principal does not have that role in that scope.")
    }

    /// 404: a rule of notices that is not there, or that is not theirs to see.
    pub fn no_rule(name: &str) -> Self {
        Self::new(404, NO_RESOURCE, format!("There is no rule '{name}'."))
    }

    /// 403: the page of a stranger asks, in the name of whoever looks at it.
    pub fn foreign_page(sign: &str) -> Self {
        let message = format!(
            "A page of another origin may not change anything here ({sign}); allowed: pages of this server, and \
             clients that are no browsers."
        );
        Self::new(403, "Forbidden", message)
    }

    /// 403: a name that somebody has made to point at this machine.
    pub fn foreign_host(host: &str) -> Self {
        let message = format!(
            "The server does not answer under the name '{host}'; allowed: localhost, loopback addresses, and the names in \
             the setting api.hosts."
        );
        Self::new(403, "Forbidden", message)
    }

    /// 403: a job calls the scheduler.
    pub fn call_of_job() -> Self {
        let message = format!(
            "The scheduler refuses the calls of jobs, and the header {HOPS} marks this request as one: a job called this \
             address, or its target redirected the call here. Allowed: /api/echo and /healthz; everything else with the \
             setting api.calls-from-jobs of this server."
        );
        Self::new(403, "Forbidden", message)
    }

    /// 403: calls of jobs lead to one another without end.
    pub fn too_many_hops(most: u8) -> Self {
        let message = format!(
            "Jobs that call the scheduler have run each other {most} times in a row, which looks like a loop; allowed: \
             {most} calls from the first job to the last (the header {HOPS} counts them)."
        );
        Self::new(403, "Forbidden", message)
    }

    /// 404: the answer of the old resource manager to a collection that is not there.
    pub fn no_collection(group: &str, name: &str) -> Self {
        let message = format!(
            "The Resource 'Microsoft.Scheduler/jobcollections/{name}' under resource group '{group}' was not found."
        );
        Self::new(404, NO_RESOURCE, message)
    }

    /// Whether the old resource manager gave this answer before the scheduler was asked (TestCreateJobCollection).
    pub fn is_gateways(&self) -> bool {
        self.code == NO_RESOURCE
    }

    /// 404: the answer of the old service to a job that is not there.
    pub fn no_job(name: &str) -> Self {
        Self::new(404, "NotFound", format!("Job '{name}' cannot be found."))
    }

    /// 404: the resource manager's answer to a group that is not there.
    pub fn no_group(name: &str) -> Self {
        Self::new(404, "ResourceGroupNotFound", format!("Resource group '{name}' could not be found."))
    }

    /// 404: a provider that is not served.
    pub fn no_provider(namespace: &str) -> Self {
        let message = format!("The provider '{namespace}' is not served here; allowed: Microsoft.Scheduler.");
        Self::new(404, "InvalidResourceNamespace", message)
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

    /// 409: the keys of secrets are not the server's to change.
    pub fn keys_of_environment(message: impl Into<String>) -> Self {
        Self::new(409, "KeysFromEnvironment", message)
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

    /// 415.
    pub fn encoded(coding: &str) -> Self {
        let message = format!("The body's Content-Encoding is '{coding}'; send it without one.");
        Self::new(415, "UnsupportedMediaType", message)
    }

    /// 429.
    pub fn too_many_requests(seconds: u32) -> Self {
        let message = format!("You have used up your requests; try again in {seconds} seconds.");
        Self { retry_after: Some(seconds), ..Self::new(429, "TooManyRequests", message) }
    }

    /// 429: a job was run too often.
    pub fn too_many_runs(name: &str, most: NonZeroU32, seconds: u32) -> Self {
        let message = format!(
            "The job '{name}' was run by request {most} times within a minute; allowed: {most} (the setting \
             api.runs-per-job). Try again in {seconds} seconds."
        );
        Self { message, ..Self::too_many_requests(seconds) }
    }

    /// 429: jobs have changed too much.
    pub fn too_many_changes_by_jobs(most: u32, seconds: u32) -> Self {
        let message = format!(
            "The calls of jobs have made {most} changes here within a minute; allowed: {most} in each job collection, and \
             in all that is outside of collections. Try again in {seconds} seconds."
        );
        Self { message, ..Self::too_many_requests(seconds) }
    }

    /// 429: a caller has its share of something already.
    pub fn too_many_at_once(message: impl Into<String>) -> Self {
        Self { message: message.into(), ..Self::too_many_requests(1) }
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
            store::Error::Unsupported(why) => Self::conflict(format!("Not by this server: {why}.")),
            store::Error::Corrupt(_)
            | store::Error::Damaged(_)
            | store::Error::Failed(_)
            | store::Error::Keys(_)
            | store::Error::Moved(_) => {
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
