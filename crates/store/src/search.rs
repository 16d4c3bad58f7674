//! Questions about all jobs: a list that people search and sort.

use model::{CollectionPath, JobState};

use crate::JobRecord;

/// Which jobs, and in which order.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct JobQuery {
    /// Only those with this text, in any case, in their name or their collection's. Within one collection, only its jobs'
    /// names tell them apart.
    pub search: Option<String>,
    /// Only these.
    pub state: Option<JobState>,
    /// Only of this subscription.
    pub subscription: Option<String>,
    /// Only of this collection.
    pub collection: Option<CollectionPath>,
    /// By what they are sorted.
    pub sort: JobSort,
    /// Whether the greatest comes first. What has no time comes last all the same.
    pub descending: bool,
}

/// By what jobs are sorted; equals are sorted by name.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum JobSort {
    /// Their name, in any case.
    #[default]
    Name,
    /// When they are due next.
    Next,
    /// When they last ran.
    Last,
    /// Enabled, disabled, completed, faulted.
    State,
    /// How many attempts failed.
    Failures,
}

impl JobSort {
    /// All of them, with the names that the API has for them.
    pub const NAMES: [(&'static str, Self); 5] = [
        ("name", Self::Name),
        ("next", Self::Next),
        ("last", Self::Last),
        ("state", Self::State),
        ("failures", Self::Failures),
    ];
}

/// A page of jobs.
#[derive(Debug, Clone, Default)]
pub struct FoundJobs {
    /// The jobs.
    pub jobs: Vec<JobRecord>,
    /// How many there are on all pages.
    pub total: u64,
}

/// How many jobs there are in each state.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct JobStates {
    /// Those that run.
    pub enabled: u64,
    /// Those that are switched off.
    pub disabled: u64,
    /// Those that are done.
    pub completed: u64,
    /// Those that are done, and whose last occurrence faulted.
    pub faulted: u64,
}

impl JobStates {
    /// Notes how many there are in one state.
    pub(crate) fn note(&mut self, state: JobState, jobs: u64) {
        *match state {
            JobState::Enabled => &mut self.enabled,
            JobState::Disabled => &mut self.disabled,
            JobState::Completed => &mut self.completed,
            JobState::Faulted => &mut self.faulted,
        } = jobs;
    }
}

impl JobSort {
    /// The order as SQL, by the columns of jobs. What equals is sorted by name; what has no time comes last.
    pub(crate) fn order(self, descending: bool) -> String {
        let direction = if descending { "DESC" } else { "ASC" };
        // By name the order is that of an index, from either end.
        let by_name = |direction: &str| format!("name_key {direction}, collection_id {direction}");
        let column = match self {
            Self::Name => return by_name(direction),
            Self::Next => "next_at",
            Self::Last => "last_execution",
            Self::State => "state",
            Self::Failures => "failures",
        };
        format!("{column} IS NULL, {column} {direction}, {}", by_name("ASC"))
    }
}
