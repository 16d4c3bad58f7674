//! 2016-03-01: the plan `Premium` became two. The model has its words (TestUpdateJobCollection).

use model::Plan;

use super::Differences;

pub(super) const DIFFERENCES: Differences = Differences { name: "2016-03-01", plan_name: Plan::name };
