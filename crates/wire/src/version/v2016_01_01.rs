//! 2016-01-01: one plan above `Standard`, called `Premium` (its description; Scenario_JobCollectionCreateUpdateDelete of
//! 2016-01-04).
//!
//! Its description calls `brokeredMessageProperties.timeToLive` a date-time. That was corrected in the next version and
//! never recorded; it is a duration here in every version. It does not ask for `authentication.type` either, but without
//! it nothing says what the other members mean, and no recording lacks it.

use model::Plan;

use super::Differences;

pub(super) const DIFFERENCES: Differences = Differences { name: "2016-01-01", plan_name };

/// Both plans of today are shown as the one that clients of this version know.
pub(super) fn plan_name(plan: Plan) -> &'static str {
    match plan {
        Plan::P10Premium | Plan::P20Premium => "Premium",
        plan => plan.name(),
    }
}
