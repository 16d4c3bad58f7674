//! The headers that tell what is left of a subscription's budget.
//!
//! They are those of the sessions from March 2016 on: a call to the scheduler has two, its own and the resource manager's.
//! They had budgets of their own; here it is one, told twice.

use axum::http::{HeaderName, Method};

use super::answer::Answer;
use super::resource::{Resource, Versions};
use crate::rates::{Kind, Spent};

const BURST_READS: HeaderName = HeaderName::from_static("x-ms-ratelimit-burst-remaining-scheduler-reads");
const BURST_WRITES: HeaderName = HeaderName::from_static("x-ms-ratelimit-burst-remaining-scheduler-writes");
const READS: HeaderName = HeaderName::from_static("x-ms-ratelimit-remaining-subscription-reads");
const WRITES: HeaderName = HeaderName::from_static("x-ms-ratelimit-remaining-subscription-writes");
const RESOURCES: HeaderName =
    HeaderName::from_static("x-ms-ratelimit-remaining-subscription-resource-requests");

/// Which headers a call's answer has.
pub(super) struct Meter {
    kind: Kind,
    /// The scheduler's own.
    burst: Option<HeaderName>,
    /// The resource manager's.
    subscription: HeaderName,
}

impl Meter {
    pub(super) fn of(resource: &Resource, method: &Method) -> Self {
        let is_ours = resource.versions() == Versions::Scheduler;
        let (kind, burst, subscription) = match *method {
            Method::GET | Method::HEAD => (Kind::Read, BURST_READS, READS),
            Method::PUT | Method::PATCH if is_ours => (Kind::Write, BURST_WRITES, RESOURCES),
            _ => (Kind::Write, BURST_WRITES, WRITES),
        };
        Self { kind, burst: is_ours.then_some(burst), subscription }
    }

    pub(super) fn kind(&self) -> Kind {
        self.kind
    }

    /// Tells what is left.
    pub(super) fn show(self, answer: Answer, spent: Spent) -> Answer {
        // The answer to a missing collection was the resource manager's, and had no such header
        // (TestCreateJobCollection).
        if answer.is_gateways() {
            return answer;
        }
        let left = match spent {
            Spent::Left(left) => left,
            Spent::UsedUp(_) => 0,
        };
        let answer = answer.with(self.subscription, left.to_string());
        match self.burst {
            Some(burst) => answer.with(burst, left.to_string()),
            None => answer,
        }
    }
}
