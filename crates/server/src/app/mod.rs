//! Use-cases: load, decide, store. What is decided is in [`model`]; here it is brought together.

mod audited;
mod collections;
pub mod export;
mod groups;
pub mod import;
mod jobs;
pub mod ledger;
mod names;
pub mod overview;
mod preconditions;
pub mod register;
mod test_call;
mod upcoming;

use std::sync::Arc;

use model::admission::Limits;
use model::{Clock, Execution, Plans, Timestamp, Uuid};
use store::Store;
use tokio::sync::Semaphore;
use wire::dialect::EnumCase;

pub use jobs::Mode;
pub use preconditions::{Preconditions, etag};
pub use test_call::{Called, Trials};

use crate::config::Config;
use crate::guard::{Caller, Guard};
use crate::http::{Hosts, MOST_CHANGES_BY_JOBS};
use crate::keys::{Keys, Source};
use crate::live::Live;
use crate::metrics::{Requests, Survey};
use crate::problem::Problem;
use crate::rates::{Budget, Rates};
use crate::traces::Traces;

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
    /// The most bytes of a job.
    pub job_bytes: usize,
    /// How much each subscription may ask.
    pub budget: Budget,
    /// What jobs were run by request.
    pub runs: Arc<Rates>,
    /// What the calls of jobs have changed.
    pub changes_by_jobs: Arc<Rates>,
    /// How enum values are written where a client does not say.
    pub enum_case: EnumCase,
    /// What happens now.
    pub live: Arc<Live>,
    /// What the API was asked.
    pub requests: Arc<Requests>,
    /// What the store was asked for metrics.
    pub survey: Arc<Survey>,
    /// Where spans are handed in; `None` where nobody wants traces.
    pub traces: Option<Arc<Traces>>,
    /// The names under which it is served.
    pub hosts: Hosts,
    /// Who makes calls to try out; `None` where nobody does.
    pub trials: Option<Arc<Trials>>,
    /// The places of exports: each costs the memory of a collection.
    pub exports: Arc<Semaphore>,
    /// How the server is set.
    pub config: Arc<Config>,
    /// Since when.
    pub started_at: Timestamp,
    /// The keys of secrets.
    pub keys: Arc<Keys>,
    /// Who finds out who asks.
    pub guard: Arc<Guard>,
    /// In whose name it is done.
    pub caller: Caller,
}

impl App {
    /// The name of the caller, by which shares are counted; `None` where nobody has to say who they are.
    pub(crate) fn caller_name(&self) -> Option<&str> {
        self.guard.is_watchful().then(|| self.caller.principal.id.as_str())
    }

    /// With an operator's settings.
    pub fn configured(config: &Config, store: Arc<dyn Store>, clock: Arc<dyn Clock>) -> Self {
        let started_at = clock.now();
        Self {
            store,
            clock,
            plans: config.plans(),
            limits: config.admission(),
            job_bytes: config.limits.job,
            budget: config.budget(),
            runs: Arc::new(Rates::by_minute(config.api.runs_per_job)),
            changes_by_jobs: Arc::new(Rates::by_minute(MOST_CHANGES_BY_JOBS)),
            enum_case: config.api.enum_case.into(),
            live: Arc::new(Live::counting(config.metrics.collections)),
            requests: Arc::default(),
            survey: Arc::default(),
            traces: None,
            hosts: Hosts::of(config.listen, &config.api.hosts),
            trials: None,
            exports: Arc::new(Semaphore::new(export::MOST)),
            config: Arc::new(config.clone()),
            started_at,
            keys: Arc::new(Keys::new(Source::Environment)),
            guard: Arc::new(config.auth.guard()),
            caller: Caller::local(),
        }
    }

    /// Returns the tag of a call that is asked for now: it carries on how many calls of jobs led to it.
    fn fresh_tag(&self) -> Uuid {
        Execution::tag_asked_for(Uuid::new_v4(), self.caller.hops)
    }

    /// With keys that came from elsewhere than the environment.
    #[must_use]
    pub fn with_keys(self, source: Source) -> Self {
        Self { keys: Arc::new(Keys::new(source)), ..self }
    }

    /// With the settings of the default configuration.
    pub fn new(store: Arc<dyn Store>, clock: Arc<dyn Clock>) -> Self {
        Self { hosts: Hosts::Any, ..Self::configured(&Config::default(), store, clock) }
    }
}

/// What a use-case answers.
pub type Result<T> = std::result::Result<T, Problem>;

/// How often a change is decided anew because somebody else was faster.
const TRIES: usize = 20;

fn too_many_changes() -> Problem {
    Problem::busy("The resource is being changed by others all the time; nothing was changed. Try again.")
}
