//! Plans: rules made ready for two questions, "which is the first instant from here on?" and "how many are there until
//! then?".
//!
//! A plan never walks through the periods between. It works regime by regime (see [`Regime`]): while the clocks do not
//! change, wall-clock time is elapsed time plus a constant, and the first slot is found by arithmetic on whole
//! numbers. Where a regime holds no slot, the search jumps to the regime in which the next one lies.
//!
//! All instants here are whole seconds; the rule adds the fraction of its start.

mod count;
mod days;
mod grid;

pub(crate) use days::{DayPlan, Days, MonthDays, Times};
pub(crate) use grid::{Grid, gcd};

use std::ops::Range;

use crate::civil::{CYCLE_DAYS, DAY};
use crate::names::{Dst, Fold, Gap};
use crate::zone::{Regime, Zone};

/// How the occurrences of a rule are found.
#[derive(Debug, Clone)]
pub(crate) enum Plan {
    /// No slots at all: a job that runs once has only its first occurrence.
    Empty,
    /// Equal steps of elapsed time from an instant on.
    Steps {
        /// A second of the sequence.
        origin: i64,
        /// The distance in seconds.
        step: i64,
    },
    /// Steps of elapsed time, limited or expanded by the wall clock.
    Grid { grid: Grid, zone: Zone },
    /// Days of the calendar, with times of day.
    Days { days: Box<DayPlan>, zone: Zone, dst: Dst },
}

/// A rule that has no slot for so long has none at all: calendar and clock changes repeat every 400 years.
const NEVER: i64 = CYCLE_DAYS * DAY + 366 * DAY;

/// No clock was ever moved further than this (Samoa skipped a day).
pub(crate) const FARTHEST_MOVE: i64 = 2 * DAY;

impl Plan {
    /// The first slot at or after a second.
    pub(crate) fn next(&self, from: i64) -> Option<i64> {
        match self {
            Self::Empty => None,
            Self::Steps { origin, step } => Some(from + (origin - from).rem_euclid(*step)),
            Self::Grid { grid, zone } => {
                let mut regime = zone.regime(from);
                let mut at = from;
                loop {
                    if let Some(slot) = grid.next(at, regime.offset, regime.end) {
                        return Some(slot);
                    }
                    if regime.end > from.saturating_add(NEVER) {
                        return None;
                    }
                    at = regime.end;
                    regime = zone.regime(at);
                }
            }
            Self::Days { days, zone, dst } => {
                let mut regime = zone.regime(from);
                let mut at = from;
                loop {
                    let natural = in_regime(days, &regime, *dst, at);
                    let shifted = moved_by_gap(days, &regime, *dst, at);
                    match (natural, shifted) {
                        (Found::At(a), Some(b)) => return Some(a.min(b)),
                        (Found::At(slot), None) | (_, Some(slot)) => return Some(slot),
                        (Found::Never, None) => return None,
                        (Found::Later(local), None) => {
                            if regime.end == i64::MAX {
                                return None;
                            }
                            // Nothing is due before `local`, so what lies between need not be looked at; unless a fold
                            // is about to show wall-clock times again that we began behind.
                            at = if at + regime.offset > regime.end + regime.after {
                                regime.end
                            } else {
                                regime.end.max(local - FARTHEST_MOVE)
                            };
                            regime = zone.regime(at);
                        }
                    }
                }
            }
        }
    }
}

enum Found {
    /// This instant.
    At(i64),
    /// Not in this regime: the next slot is at this wall-clock second.
    Later(i64),
    /// In no regime.
    Never,
}

/// The wall-clock seconds that belong to a regime. A fold shows the same ones at the end of one regime and at the start
/// of the next, and may be meant to count in one of them only.
fn shown(regime: &Regime, dst: Dst) -> Range<i64> {
    let seen_before = dst.fold == Fold::First && regime.before > regime.offset && regime.start != i64::MIN;
    let seen_again = dst.fold == Fold::Last && regime.after < regime.offset && regime.end != i64::MAX;
    let start = if seen_before { regime.start + regime.before } else { i64::MIN };
    let end = if seen_again { regime.end + regime.after } else { regime.end.saturating_add(regime.offset) };
    start..end
}

/// The first slot that the clocks of a regime really show, from an instant on.
fn in_regime(days: &DayPlan, regime: &Regime, dst: Dst, at: i64) -> Found {
    let shown = shown(regime, dst);
    match days.next((at + regime.offset).max(shown.start)) {
        None => Found::Never,
        Some(local) if local < shown.end => Found::At(local - regime.offset),
        Some(local) => Found::Later(local),
    }
}

/// The first slot that the gap at the start of a regime left out, moved by the length of the gap.
fn moved_by_gap(days: &DayPlan, regime: &Regime, dst: Dst, at: i64) -> Option<i64> {
    if dst.gap == Gap::Skip
        || regime.offset <= regime.before
        || at >= regime.start + regime.offset - regime.before
    {
        return None;
    }
    let from = at.max(regime.start) + regime.before;
    days.next(from).filter(|local| *local < regime.start + regime.offset).map(|local| local - regime.before)
}
