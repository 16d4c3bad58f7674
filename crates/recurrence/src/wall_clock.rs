//! A rule as a wall clock sees it: its slots in local time, and the changes that get in their way.

use std::ops::Range;

use crate::plan::Plan;
use crate::rule::Recurrence;
use crate::{Rule, Timestamp, Zone, compile, date_time};

/// The slots of a recurrence in wall-clock seconds, as if clocks never changed.
pub(crate) struct WallClock {
    plan: Plan,
}

/// What the wall clock of a rule shows at its start: the second, and the nanoseconds above it.
pub(crate) fn local_start(rule: &Rule) -> (i64, i64) {
    let start = rule.start_time().unwrap_or(rule.accepted_at());
    let (second, nanos) = date_time::split(start);
    (second + rule.zone().offset_at(start), nanos)
}

impl WallClock {
    /// For a recurrence that starts when the wall clock shows a second.
    pub(crate) fn of(recurrence: &Recurrence, start: i64) -> Self {
        // In UTC wall-clock time and elapsed time are one.
        let unmoved = Recurrence { zone: Zone::utc(), ..recurrence.clone() };
        Self { plan: compile::plan(&unmoved, Timestamp::from_second(start).unwrap_or_default()) }
    }

    /// The first slot at or after a wall-clock second.
    pub(crate) fn next(&self, from: i64) -> Option<i64> {
        self.plan.next(from)
    }

    /// The slots between two wall-clock seconds.
    pub(crate) fn slots(&self, between: Range<i64>) -> impl Iterator<Item = i64> {
        std::iter::successors(self.next(between.start), |last| self.next(last + 1))
            .take_while(move |slot| *slot < between.end)
    }
}

/// One change of a zone's clocks.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Change {
    /// The first second of the new time.
    pub(crate) at: i64,
    /// Seconds east of UTC before it.
    pub(crate) offset: i64,
    /// Seconds that clocks move forward, or back below 0.
    pub(crate) by: i64,
}

impl Change {
    /// The changes of a zone after an instant.
    pub(crate) fn after(zone: &Zone, at: Timestamp) -> impl Iterator<Item = Self> {
        let next = move |at: Timestamp| {
            let (change, by) = zone.next_change(at)?;
            Some(Self { at: change.as_second(), offset: zone.offset_at(change) - by, by })
        };
        std::iter::successors(next(at), move |last| next(Timestamp::from_second(last.at).ok()?))
    }

    /// The first instant whose wall-clock time it touches: a fold begins before clocks go back.
    pub(crate) fn first_touched(self) -> i64 {
        self.at + self.by.min(0)
    }

    /// What clocks show when it comes, and what they show from then on.
    pub(crate) fn readings(self) -> (i64, i64) {
        (self.at + self.offset, self.at + self.offset + self.by)
    }

    /// The wall-clock seconds that it leaves out or repeats.
    pub(crate) fn span(self) -> Range<i64> {
        let (from, to) = self.readings();
        from.min(to)..from.max(to)
    }
}
