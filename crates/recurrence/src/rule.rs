//! The rule: when a job runs, checked and made ready.

use jiff::SignedDuration;

use crate::cron::Cron;
use crate::date_time::{split, whole_ticks};
use crate::draft::Draft;
use crate::fault::Faults;
use crate::names::{Dst, Fold, Frequency, Gap, Weekday};
use crate::numbers::Numbers;
use crate::plan::Plan;
use crate::zone::Zone;
use crate::{Timestamp, check, compile};

/// When a job runs. A value of this type is always valid, and has at least one occurrence.
///
/// It depends on nothing but the draft and the moment it was accepted, so a rule that was stored and is built again
/// gives the same occurrences.
#[derive(Debug, Clone)]
pub struct Rule {
    accepted_at: Timestamp,
    start_time: Option<Timestamp>,
    recurrence: Option<Recurrence>,
    /// An occurrence that is there whatever the plan says: "at once", or the start of a rule without a schedule.
    first: Option<Timestamp>,
    /// No slot of the plan counts before this.
    from: Timestamp,
    plan: Plan,
    /// The fraction of a second that all slots share, in nanoseconds.
    fraction: i64,
}

/// One instant at which a job is due.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Occurrence {
    /// Counted from 1; occurrences that were past when the job was accepted do not count.
    pub number: u32,
    /// When.
    pub at: Timestamp,
}

/// How a job repeats.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Recurrence {
    pub(crate) pattern: Pattern,
    pub(crate) count: Option<u32>,
    pub(crate) end_time: Option<Timestamp>,
    pub(crate) zone: Zone,
    pub(crate) dst: Dst,
}

/// What a recurrence repeats by.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Pattern {
    /// Every so many periods.
    Every {
        /// The period.
        frequency: Frequency,
        /// Every how many of them.
        interval: u16,
        /// Which instants of a period; `None` where the start says it all.
        schedule: Option<Schedule>,
    },
    /// A cron expression.
    Cron(Cron),
}

/// Which instants of a period. What is `None` was not given; a list that was given is not empty.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Schedule {
    /// 0 to 59.
    pub minutes: Option<Numbers>,
    /// 0 to 23.
    pub hours: Option<Numbers>,
    /// Days of the week, from Monday, each once.
    pub week_days: Option<Vec<Weekday>>,
    /// Days of the month, 1 to 31 and −1 (the last) to −31, sorted, each once.
    pub month_days: Option<Vec<i8>>,
    /// Weekdays counted within the month, each once.
    pub monthly_occurrences: Option<Vec<MonthlyOccurrence>>,
    /// 1 to 12.
    pub months: Option<Numbers>,
}

/// A weekday counted within a month: the first Friday, the last Monday.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct MonthlyOccurrence {
    /// The weekday.
    pub day: Weekday,
    /// 1 to 5 from the start of the month, −1 to −5 from its end; `None` means every such day.
    pub occurrence: Option<i8>,
}

/// Longer than any fold, shorter than the way from one day's slot to the next.
const PAST_ANY_FOLD: SignedDuration = SignedDuration::from_hours(12);

impl Pattern {
    /// Whether it is the wall-clock time of the start, again and again, day by day or in longer steps.
    fn repeats_start(&self) -> bool {
        matches!(self, Self::Every { frequency, schedule: None, .. } if *frequency >= Frequency::Day)
    }

    /// Whether it says at which minutes it runs; then it runs at their beginning, else at the second of the start.
    fn names_minutes(&self) -> bool {
        matches!(self, Self::Cron(_)) || self.schedule().is_some_and(|schedule| schedule.minutes.is_some())
    }

    /// Which instants of a period, where it says so.
    pub fn schedule(&self) -> Option<&Schedule> {
        match self {
            Self::Cron(_) => None,
            Self::Every { schedule, .. } => schedule.as_ref(),
        }
    }
}

impl Recurrence {
    /// What it repeats by.
    pub fn pattern(&self) -> &Pattern {
        &self.pattern
    }

    /// After how many occurrences the job is complete.
    pub fn count(&self) -> Option<u32> {
        self.count
    }

    /// The last instant at which the job may run.
    pub fn end_time(&self) -> Option<Timestamp> {
        self.end_time
    }

    /// The zone whose wall clock counts.
    pub fn zone(&self) -> &Zone {
        &self.zone
    }

    /// What happens when clocks change.
    pub fn dst(&self) -> Dst {
        self.dst
    }
}

impl Rule {
    /// Checks a draft that was accepted at a moment, and makes a rule of it; or says all that is wrong with it.
    pub fn build(draft: &Draft, accepted_at: Timestamp) -> Result<Self, Faults> {
        check::rule(draft, whole_ticks(accepted_at))
    }

    /// A rule from checked parts; it may have no occurrence yet.
    pub(crate) fn new(
        accepted_at: Timestamp,
        start_time: Option<Timestamp>,
        recurrence: Option<Recurrence>,
    ) -> Self {
        let start = start_time.unwrap_or(accepted_at);
        let (plan, first, slots_from) = match &recurrence {
            None => (Plan::Empty, Some(start.max(accepted_at)), start),
            Some(recurrence) => {
                let at_once = start_time.is_none() && !matches!(recurrence.pattern, Pattern::Cron(_));
                let repeats_start = recurrence.pattern.repeats_start();
                let at_start = repeats_start && start >= accepted_at;
                // The start runs when it says, be it the first or the second of two equal wall-clock times; its day is
                // done with it.
                let slots_from = if repeats_start && recurrence.dst.fold != Fold::Both {
                    start.checked_add(PAST_ANY_FOLD).unwrap_or(start)
                } else {
                    start
                };
                (compile::plan(recurrence, start), (at_once || at_start).then_some(start), slots_from)
            }
        };
        let from = slots_from.max(accepted_at);
        let shares_fraction =
            recurrence.as_ref().is_some_and(|recurrence| !recurrence.pattern.names_minutes());
        let fraction = if shares_fraction { split(start).1 } else { 0 };
        Self { accepted_at, start_time, recurrence, first, from, plan, fraction }
    }

    /// The moment the rule was accepted, from which its occurrences count.
    pub fn accepted_at(&self) -> Timestamp {
        self.accepted_at
    }

    /// The start that was asked for.
    pub fn start_time(&self) -> Option<Timestamp> {
        self.start_time
    }

    /// How the job repeats; `None` for a job that runs once.
    pub fn recurrence(&self) -> Option<&Recurrence> {
        self.recurrence.as_ref()
    }

    /// The zone whose wall clock counts; UTC for a job that runs once.
    pub fn zone(&self) -> Zone {
        self.recurrence.as_ref().map_or_else(Zone::utc, |recurrence| recurrence.zone.clone())
    }

    /// The first occurrence.
    pub fn first(&self) -> Option<Occurrence> {
        self.at_or_after(self.accepted_at).map(|at| Occurrence { number: 1, at })
    }

    /// The occurrence that follows another; `None` when the job is complete with it.
    pub fn next(&self, last: &Occurrence) -> Option<Occurrence> {
        let number = last.number.checked_add(1)?;
        if self.recurrence.as_ref()?.count.is_some_and(|count| number > count) {
            return None;
        }
        Some(Occurrence { number, at: self.after(last.at)? })
    }

    /// All occurrences, in order.
    pub fn occurrences(&self) -> impl Iterator<Item = Occurrence> {
        std::iter::successors(self.first(), |last| self.next(last))
    }

    /// The first occurrence after an instant, not counting how many there were before.
    pub fn after(&self, instant: Timestamp) -> Option<Timestamp> {
        self.at_or_after(instant.checked_add(SignedDuration::from_nanos(1)).ok()?)
    }

    /// The first occurrence at an instant or after it, not counting how many there were before.
    fn at_or_after(&self, instant: Timestamp) -> Option<Timestamp> {
        let always = self.first.filter(|first| *first >= instant);
        let slot = self.slot(instant.max(self.from));
        let next = match (always, slot) {
            (Some(always), Some(slot)) => Some(always.min(slot)),
            (always, slot) => always.or(slot),
        };
        let end = self.recurrence.as_ref().and_then(|recurrence| recurrence.end_time);
        next.filter(|next| end.is_none_or(|end| *next <= end))
    }

    /// The first slot of the plan at an instant or after it.
    pub(crate) fn slot(&self, from: Timestamp) -> Option<Timestamp> {
        self.instant(self.plan.next(self.second(from))?)
    }

    /// The first second of the plan whose instant is not before this one.
    pub(crate) fn second(&self, from: Timestamp) -> i64 {
        let (seconds, nanos) = split(from);
        seconds + i64::from(nanos > self.fraction)
    }

    /// The instant of a slot.
    pub(crate) fn instant(&self, slot: i64) -> Option<Timestamp> {
        Timestamp::new(slot, self.fraction as i32).ok()
    }

    /// The occurrence that is there whatever the plan says; no slot that counts lies before it.
    pub(crate) fn always(&self) -> Option<Timestamp> {
        self.first
    }

    /// Whether its first occurrence is the moment at which it was accepted, whatever its schedule says.
    pub(crate) fn runs_at_once(&self) -> bool {
        self.start_time.is_none() && self.first.is_some()
    }

    /// No slot of the plan counts before this.
    pub(crate) fn from(&self) -> Timestamp {
        self.from
    }

    pub(crate) fn plan(&self) -> &Plan {
        &self.plan
    }

    /// The same rule with another choice for clocks that go forward.
    pub(crate) fn with_gap(&self, gap: Gap) -> Self {
        let recurrence = self.recurrence.clone().map(|mut recurrence| {
            recurrence.dst.gap = gap;
            recurrence
        });
        Self::new(self.accepted_at, self.start_time, recurrence)
    }

    /// Whether it would recur if there were no end. A run at once is no recurrence.
    pub(crate) fn recurs_without_end(&self) -> bool {
        self.slot(self.from).is_some()
    }
}
