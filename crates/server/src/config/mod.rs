//! Configuration: the default file is the documentation, and the law.
//!
//! `config.default.toml` is compiled in. It names every key, gives its default and its type; what it does not name does
//! not exist. A file, then environment variables, then flags are laid over it, and a fault in any of them ends the start
//! with the key's name, where it was set, and what is allowed.

mod auth;
mod database;
pub(crate) mod duration;
mod layers;
mod metrics;
mod notifications;
mod oauth;
mod queues;
mod ranges;
mod secrets;
mod serving;
mod traces;

use std::net::SocketAddr;
use std::num::NonZeroU32;
use std::path::PathBuf;
use std::time::Duration;

use actions::{ActionSettings, EgressSettings};
use anyhow::Context as _;
use serde::{Deserialize, Serialize};

use crate::guard::Guard;
use crate::notices::Notification;
use crate::rates::Budget;

pub use auth::{Auth, Oidc};
pub use database::DatabaseUrl;
pub use layers::{ConfigFault, Flags, KEY_VARIABLE, load, load_here};
pub use metrics::Metrics;
pub use oauth::{Oauth, Tenant, Tls};
pub use queues::{Login, Namespace, ServiceBus, StorageQueue};
pub use secrets::Secrets;
pub use serving::Serving;
pub use traces::Traces;

/// The default configuration file.
pub const DEFAULT: &str = include_str!("../../config.default.toml");

/// The file of the embedded store, in the data folder.
const DATABASE: &str = "punctual.db";

/// Everything an operator may set.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Config {
    /// Where the API is served.
    pub listen: SocketAddr,
    /// The folder of the embedded store.
    pub data: PathBuf,
    /// The database that nodes share, in place of the embedded store.
    #[serde(deserialize_with = "database::read")]
    pub database: Option<DatabaseUrl>,
    /// The most connections to it.
    pub database_connections: NonZeroU32,
    /// The name of this node; a new one for each start where it is empty.
    pub node: String,
    /// Whom to tell of jobs in trouble.
    #[serde(deserialize_with = "notifications::read")]
    pub notifications: Vec<Notification>,
    /// What seals secrets.
    pub secrets: Secrets,
    /// Who may ask.
    pub auth: Auth,
    /// How connections are taken.
    pub server: Serving,
    /// How the API speaks.
    pub api: Api,
    /// What is logged.
    pub log: Log,
    /// What is told in numbers.
    pub metrics: Metrics,
    /// Where traces go.
    pub traces: Traces,
    /// How jobs are run.
    pub engine: Engine,
    /// How calls are made.
    pub http: Http,
    /// Whom calls trust.
    pub tls: Tls,
    /// Where tokens come from.
    pub oauth: Oauth,
    /// Whom actions may call.
    pub egress: Egress,
    /// Where storage accounts are.
    pub storage_queue: StorageQueue,
    /// Where namespaces of Service Bus are.
    pub service_bus: ServiceBus,
    /// What is kept how long.
    pub retention: Retention,
    /// How large a job may be.
    pub limits: Limits,
    /// What collections may do.
    pub plans: Plans,
}

/// How the API speaks.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Api {
    /// Further names under which it is served.
    pub hosts: String,
    /// How enum values are written.
    pub enum_case: EnumCase,
    /// Whether jobs may call the API.
    pub calls_from_jobs: bool,
    /// How many reads a subscription may ask for within a window.
    pub reads: NonZeroU32,
    /// How many writes.
    pub writes: NonZeroU32,
    /// How long a window is.
    #[serde(deserialize_with = "duration::read")]
    pub rate_window: Duration,
    /// How often a job may be run by request within a minute.
    pub runs_per_job: NonZeroU32,
}

/// How enum values are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum EnumCase {
    /// As Azure answered.
    Azure,
    /// As the API's description has them.
    Pascal,
}

impl From<EnumCase> for wire::dialect::EnumCase {
    fn from(case: EnumCase) -> Self {
        match case {
            EnumCase::Azure => Self::Azure,
            EnumCase::Pascal => Self::Pascal,
        }
    }
}

/// What is logged.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Log {
    /// A level or a filter.
    pub level: String,
    /// For whom.
    pub format: LogFormat,
    /// The most bytes that wait to be written.
    pub buffer: usize,
}

/// For whom logs are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum LogFormat {
    /// People.
    Text,
    /// Programs.
    Json,
}

/// How jobs are run.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Engine {
    /// How long before it is due an occurrence is claimed.
    #[serde(deserialize_with = "duration::read")]
    pub horizon: Duration,
    /// The most claims and settlements at a time.
    pub batch: u32,
    /// How long what has ended may wait to be written down with others.
    #[serde(deserialize_with = "duration::read")]
    pub settle_within: Duration,
    /// The longest sleep without a look at clock and store.
    #[serde(deserialize_with = "duration::read")]
    pub longest_nap: Duration,
    /// The most calls at once.
    pub calls: usize,
    /// The most calls of one collection.
    pub calls_per_collection: usize,
    /// The most calls to one target.
    pub calls_per_target: usize,
    /// Later than this is late.
    #[serde(deserialize_with = "duration::read")]
    pub late_after: Duration,
    /// The distance of replays.
    #[serde(deserialize_with = "duration::read")]
    pub replay_pace: Duration,
    /// The most runs of one job that wait for each other.
    pub longest_queue: u32,
    /// How long a stop waits.
    #[serde(deserialize_with = "duration::read")]
    pub drain: Duration,
}

/// How calls are made.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Http {
    /// The longest a call may take.
    #[serde(deserialize_with = "duration::read")]
    pub timeout: Duration,
    /// The longest resolving a name may take.
    #[serde(deserialize_with = "duration::read")]
    pub resolve_timeout: Duration,
    /// The longest connecting may take.
    #[serde(deserialize_with = "duration::read")]
    pub connect_timeout: Duration,
    /// The longest the TLS handshake may take.
    #[serde(deserialize_with = "duration::read")]
    pub tls_timeout: Duration,
    /// The longest wait for the head of an answer.
    #[serde(deserialize_with = "duration::read")]
    pub answer_timeout: Duration,
    /// How many redirects are followed.
    pub max_redirects: u32,
    /// The most bytes of an answer's body.
    pub max_answer: u64,
    /// The most bytes of an answer's head.
    pub max_answer_headers: usize,
    /// The most lines of an answer's headers.
    pub max_answer_header_lines: usize,
}

/// Whom actions may call: the entries as the operator wrote them. It can be shown, for there is no secret in it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Egress {
    /// If there are entries, nobody else.
    pub allow: Vec<String>,
    /// Not these.
    pub deny: Vec<String>,
    /// What is not refused by itself any more.
    pub lift: Vec<String>,
}

/// What is kept how long.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Retention {
    /// How long.
    #[serde(deserialize_with = "duration::read")]
    pub keep: Duration,
    /// The most history entries of one job.
    pub history_per_job: u32,
    /// How long the audit is kept.
    #[serde(deserialize_with = "duration::read")]
    pub audit: Duration,
    /// For how long the server has to run with a clock that has leapt until retention goes by it.
    #[serde(deserialize_with = "duration::read")]
    pub believe_clock_after: Duration,
}

/// How large a job may be.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Limits {
    /// The most bytes of a job.
    pub job: usize,
    /// The most characters of a URI.
    pub uri: usize,
    /// The most characters of a body.
    pub body: usize,
    /// The most characters of all headers.
    pub header_characters: usize,
    /// The most headers.
    pub headers: usize,
    /// How many months ahead a job may start.
    pub start_months: u32,
    /// The most retries.
    pub retry_count: u32,
    /// The longest time between two.
    #[serde(deserialize_with = "duration::read")]
    pub retry_interval: Duration,
    /// The most missed occurrences that a job may make up for.
    pub catch_up: u32,
    /// The most characters of a name.
    pub name: usize,
}

/// What collections may do, by plan.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "lowercase", deny_unknown_fields)]
pub struct Plans {
    /// Free.
    pub free: PlanLimits,
    /// Standard.
    pub standard: PlanLimits,
    /// P10Premium.
    pub p10premium: PlanLimits,
    /// P20Premium.
    pub p20premium: PlanLimits,
}

/// What collections of one plan may do.
#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct PlanLimits {
    /// The most jobs.
    pub jobs: u32,
    /// The fastest recurrence.
    #[serde(deserialize_with = "duration::read")]
    pub fastest: Duration,
    /// The most collections in a subscription.
    pub collections: u32,
    /// Whether calls may carry credentials.
    pub authentication: bool,
    /// The shortest retry interval.
    #[serde(deserialize_with = "duration::read")]
    pub shortest_retry: Duration,
    /// The retry interval of jobs that do not say.
    #[serde(deserialize_with = "duration::read")]
    pub default_retry: Duration,
}

impl From<PlanLimits> for model::PlanLimits {
    fn from(limits: PlanLimits) -> Self {
        Self {
            jobs: limits.jobs,
            fastest: limits.fastest,
            collections: limits.collections,
            authentication: limits.authentication,
            shortest_retry: limits.shortest_retry,
            default_retry: limits.default_retry,
        }
    }
}

impl Default for Config {
    /// The default configuration.
    fn default() -> Self {
        load(&Flags::default(), std::iter::empty())
            .expect("the default configuration: it is compiled in, and a test reads it")
    }
}

impl Config {
    /// The file of the embedded store.
    pub fn store_file(&self) -> PathBuf {
        self.data.join(DATABASE)
    }

    /// The plans, as the model knows them.
    pub fn plans(&self) -> model::Plans {
        model::Plans {
            free: self.plans.free.into(),
            standard: self.plans.standard.into(),
            p10_premium: self.plans.p10premium.into(),
            p20_premium: self.plans.p20premium.into(),
        }
    }

    /// How large jobs may be, as the model knows it.
    pub fn admission(&self) -> model::admission::Limits {
        model::admission::Limits {
            uri: self.limits.uri,
            headers: self.limits.headers,
            header_characters: self.limits.header_characters,
            body: self.limits.body,
            start_months: self.limits.start_months,
            retries: self.limits.retry_count,
            longest_retry: self.limits.retry_interval,
            catch_up: self.limits.catch_up,
            name: self.limits.name,
            ..model::admission::Limits::default()
        }
    }

    /// How much each subscription may ask.
    pub fn budget(&self) -> Budget {
        Budget { reads: self.api.reads, writes: self.api.writes, window: self.api.rate_window }
    }

    /// Who stands at the door.
    ///
    /// # Errors
    ///
    /// When settings do not fit together, or a file cannot be read.
    pub fn guard(&self) -> anyhow::Result<Guard> {
        let guard = self.auth.guard();
        match self.auth.issuer(&self.tls)? {
            Some(issuer) => guard.believing(issuer).context("auth.oidc"),
            None => Ok(guard),
        }
    }

    /// How patient the scheduler is.
    pub fn patience(&self) -> model::transition::Patience {
        model::transition::Patience {
            late_after: self.engine.late_after,
            replay_pace: self.engine.replay_pace,
            longest_queue: self.engine.longest_queue,
        }
    }

    /// How calls are made, and where to.
    ///
    /// # Errors
    ///
    /// When the file of certificates cannot be read.
    pub fn actions(&self) -> Result<ActionSettings, ConfigFault> {
        Ok(ActionSettings {
            timeout: self.http.timeout,
            resolve_timeout: self.http.resolve_timeout,
            connect_timeout: self.http.connect_timeout,
            tls_timeout: self.http.tls_timeout,
            answer_timeout: self.http.answer_timeout,
            max_redirects: self.http.max_redirects,
            max_response_body: self.http.max_answer,
            max_response_headers: self.http.max_answer_headers,
            max_response_header_lines: self.http.max_answer_header_lines,
            storage_accounts: self.storage_queue.settings(),
            service_bus: self.service_bus.settings(),
            oauth: self.oauth.settings(),
            extra_roots: self.tls.extra_roots()?,
            egress: EgressSettings {
                allow: self.egress.allow.clone(),
                deny: self.egress.deny.clone(),
                lift: self.egress.lift.clone(),
            },
            ..ActionSettings::default()
        })
    }

    /// The engine's settings.
    pub fn engine(&self) -> engine::Settings {
        engine::Settings {
            horizon: self.engine.horizon,
            batch: self.engine.batch,
            settle_within: self.engine.settle_within,
            longest_nap: self.engine.longest_nap,
            bounds: engine::Bounds {
                overall: self.engine.calls,
                per_collection: self.engine.calls_per_collection,
                per_target: self.engine.calls_per_target,
            },
            keep: self.retention.keep,
            history_per_job: self.retention.history_per_job,
            drain: self.engine.drain,
            late_after: self.engine.late_after,
            traces: self.traces.sampling(),
        }
    }
}
