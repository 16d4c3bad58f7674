//! Job collections, the plans they are on, and what a plan allows.

use std::time::Duration;

use recurrence::{Frequency, Timestamp};
use serde::{Deserialize, Serialize};

/// Where a collection lives. Segments keep the case they were created with and match in any case.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, PartialOrd, Ord, Hash)]
pub struct CollectionPath {
    /// The subscription.
    pub subscription: String,
    /// The resource group.
    pub group: String,
    /// The collection's own name.
    pub name: String,
}

/// A group of jobs that share a plan, a quota and a switch.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Collection {
    /// Where it lives.
    pub path: CollectionPath,
    /// A region's display name; only shown.
    pub location: String,
    /// In the order given; `None` where none were.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tags: Option<Vec<(String, String)>>,
    /// The plan.
    pub plan: Plan,
    /// Whether its jobs run.
    pub state: CollectionState,
    /// Limits below those of the plan.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub quota: Option<Quota>,
    /// When it was last switched on again: what was due before and did not run is not made up.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resumed_at: Option<Timestamp>,
}

/// Whether the jobs of a collection run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum CollectionState {
    /// They do.
    Enabled,
    /// Switched off by an operator.
    Disabled,
    /// Switched off by a client.
    Suspended,
}

/// What a collection is allowed: `sku.name` on the wire.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Plan {
    /// To try things.
    Free,
    /// What a collection gets that does not say.
    Standard,
    /// As Standard, in more collections.
    P10Premium,
    /// For many jobs.
    P20Premium,
}

impl Plan {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::Free, Self::Standard, Self::P10Premium, Self::P20Premium];

    /// As in the API.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Free => "Free",
            Self::Standard => "Standard",
            Self::P10Premium => "P10Premium",
            Self::P20Premium => "P20Premium",
        }
    }
}

/// Limits that a collection sets below those of its plan.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Quota {
    /// The most jobs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_job_count: Option<u32>,
    /// Had no effect in the old service and has none here; kept for whoever reads it back.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_job_occurrence: Option<i64>,
    /// The fastest recurrence.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_recurrence: Option<MaxRecurrence>,
}

/// The fastest recurrence that a collection allows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct MaxRecurrence {
    /// The unit, a [`Frequency`] by name.
    #[serde(with = "frequency_name")]
    pub frequency: Frequency,
    /// How many of them.
    pub interval: u32,
}

impl MaxRecurrence {
    /// The shortest distance between two occurrences that it allows.
    ///
    /// Calendar units are as short as they get: the day of a clock change, February.
    pub fn shortest(self) -> Duration {
        const HOUR: u64 = 3600;
        const DAY: u64 = 24 * HOUR;
        // No zone moves its clocks by more than two hours at a time these days.
        const CLOCK_CHANGE: u64 = 2 * HOUR;
        let interval = u64::from(self.interval);
        let calendar = |days: u64| (interval * days * DAY).saturating_sub(CLOCK_CHANGE);
        Duration::from_secs(match self.frequency {
            Frequency::Minute => interval * 60,
            Frequency::Hour => interval * HOUR,
            Frequency::Day => calendar(1),
            Frequency::Week => calendar(7),
            Frequency::Month => calendar(28),
            Frequency::Year => calendar(365),
        })
    }
}

/// The limits of a plan.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PlanLimits {
    /// The most jobs in a collection.
    pub jobs: u32,
    /// The fastest recurrence.
    pub fastest: Duration,
    /// The most collections of this plan in a subscription.
    pub collections: u32,
    /// Whether calls may carry credentials.
    pub authentication: bool,
    /// The shortest retry interval.
    pub shortest_retry: Duration,
    /// The retry interval of a job that does not say.
    pub default_retry: Duration,
}

/// The limits of all plans; an operator may change every number.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Plans {
    /// Of [`Plan::Free`].
    pub free: PlanLimits,
    /// Of [`Plan::Standard`].
    pub standard: PlanLimits,
    /// Of [`Plan::P10Premium`].
    pub p10_premium: PlanLimits,
    /// Of [`Plan::P20Premium`].
    pub p20_premium: PlanLimits,
}

impl Plans {
    /// The limits of one.
    pub fn limits(&self, plan: Plan) -> &PlanLimits {
        match plan {
            Plan::Free => &self.free,
            Plan::Standard => &self.standard,
            Plan::P10Premium => &self.p10_premium,
            Plan::P20Premium => &self.p20_premium,
        }
    }
}

impl Default for Plans {
    fn default() -> Self {
        let standard = PlanLimits {
            jobs: 50,
            fastest: Duration::from_secs(60),
            collections: 100,
            authentication: true,
            shortest_retry: Duration::from_secs(15),
            default_retry: Duration::from_secs(30),
        };
        let hour = Duration::from_secs(3600);
        Self {
            free: PlanLimits {
                jobs: 5,
                fastest: hour,
                collections: 1,
                authentication: false,
                shortest_retry: hour,
                default_retry: hour,
            },
            standard,
            p10_premium: PlanLimits { collections: 10_000, ..standard },
            p20_premium: PlanLimits { collections: 10_000, jobs: 1000, ..standard },
        }
    }
}

/// What one collection is held to: its plan and, where lower, its own quota.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Allowance {
    /// The most jobs.
    pub jobs: u32,
    /// The fastest recurrence.
    pub fastest: Duration,
}

impl Collection {
    /// What it is held to.
    pub fn allowance(&self, plans: &Plans) -> Allowance {
        let limits = plans.limits(self.plan);
        let quota = self.quota.as_ref();
        let jobs =
            quota.and_then(|quota| quota.max_job_count).map_or(limits.jobs, |jobs| jobs.min(limits.jobs));
        let fastest = quota.and_then(|quota| quota.max_recurrence).map(MaxRecurrence::shortest);
        Allowance { jobs, fastest: fastest.map_or(limits.fastest, |fastest| fastest.max(limits.fastest)) }
    }
}

mod frequency_name {
    use recurrence::Frequency;
    use serde::{Deserialize, Deserializer, Serializer, de::Error};

    #[allow(clippy::trivially_copy_pass_by_ref, reason = "serde asks for a reference")]
    pub(super) fn serialize<S: Serializer>(frequency: &Frequency, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(frequency.name())
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Frequency, D::Error> {
        let name = String::deserialize(deserializer)?;
        Frequency::read(&name).ok_or_else(|| D::Error::custom(format!("'{name}' is no frequency")))
    }
}
