//! 2014-08-01-preview: as 2016-01-01. The two descriptions differ in the order of weekdays only, the recordings not at
//! all.
//!
//! Until November 2015 the service gave away secrets of error actions (Scenario_JobCreateWithScheduleForDay of
//! 2015-11-13). That was a matter of the date and not of the version, and is not repeated.

use super::{Differences, v2016_01_01};

pub(super) const DIFFERENCES: Differences =
    Differences { name: "2014-08-01-preview", plan_name: v2016_01_01::plan_name };
