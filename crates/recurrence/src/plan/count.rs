//! How many slots a span holds, and which is the n-th from its end.
//!
//! As for the next slot, nothing is walked through: a regime (see [`Regime`]) is counted by arithmetic. Only what a
//! gap moved is looked at one by one, since it may meet a slot that is there anyway.

use super::{DayPlan, Found, Plan, in_regime, moved_by_gap, shown};
use crate::names::Dst;
use crate::zone::{Regime, Zone};

/// The shortest distance in seconds that rules usually have.
const MINUTE: i64 = 60;

impl Plan {
    /// How many slots there are from one second to another, that one left out.
    pub(crate) fn count(&self, from: i64, until: i64) -> i64 {
        if from >= until {
            return 0;
        }
        match self {
            Self::Empty => 0,
            Self::Steps { origin, step } => {
                multiples_below(until - origin, *step) - multiples_below(from - origin, *step)
            }
            Self::Grid { grid, zone } => in_each_regime(zone, from, until, |regime, from, until| {
                grid.count(from, regime.offset, until)
            }),
            Self::Days { days, zone, dst } => in_each_regime(zone, from, until, |regime, from, until| {
                count_shown(days, regime, *dst, from, until) + count_moved(days, regime, *dst, from, until)
            }),
        }
    }

    /// The `nth` slot from the end of a span, 1 being the last one in it.
    pub(crate) fn nth_last(&self, from: i64, until: i64, nth: i64) -> Option<i64> {
        let (mut until, mut nth) = (until, nth);
        // A few wide steps back find a span that holds it.
        let mut width = nth.max(1).saturating_mul(MINUTE);
        let mut low = until.saturating_sub(width).max(from);
        let mut there = self.count(low, until);
        while there < nth {
            if low <= from {
                return None;
            }
            (until, nth) = (low, nth - there);
            width = width.saturating_mul(2);
            low = until.saturating_sub(width).max(from);
            there = self.count(low, until);
        }
        // Halves of it find the one in which it is the first.
        while there > nth {
            let middle = low.midpoint(until);
            let later = self.count(middle, until);
            if later >= nth {
                (low, there) = (middle, later);
            } else {
                (until, nth, there) = (middle, nth - later, there - later);
            }
        }
        self.next(low)
    }
}

/// How many multiples of a step, from 0 on, are below a number; less than none below 0.
pub(super) fn multiples_below(number: i64, step: i64) -> i64 {
    (number - 1).div_euclid(step) + 1
}

/// The sum of what is counted in the parts of a span in which clocks do not change.
fn in_each_regime(zone: &Zone, from: i64, until: i64, count: impl Fn(&Regime, i64, i64) -> i64) -> i64 {
    let (mut counted, mut from) = (0, from);
    while from < until {
        let regime = zone.regime(from);
        counted += count(&regime, from, until.min(regime.end));
        from = regime.end;
    }
    counted
}

/// The slots that the clocks of a regime really show, in a part of it.
fn count_shown(days: &DayPlan, regime: &Regime, dst: Dst, from: i64, until: i64) -> i64 {
    let shown = shown(regime, dst);
    days.count((from + regime.offset).max(shown.start), (until + regime.offset).min(shown.end))
}

/// The slots that the gap at the start of a regime moved, in a part of it; without those that meet another.
fn count_moved(days: &DayPlan, regime: &Regime, dst: Dst, from: i64, until: i64) -> i64 {
    let moved = |at: i64| moved_by_gap(days, regime, dst, at).filter(|slot| *slot < until);
    let alone = |slot: &i64| !matches!(in_regime(days, regime, dst, *slot), Found::At(at) if at == *slot);
    std::iter::successors(moved(from), |last| moved(last + 1)).filter(alone).count() as i64
}
