//! Remarks on the days when clocks change.

use jiff::SignedDuration;

use crate::civil::DAY;
use crate::date_time::split;
use crate::english::Times;
use crate::english::words::{clock, date, list};
use crate::names::{Fold, Frequency, Gap};
use crate::rule::{Pattern, Recurrence, Rule};
use crate::wall_clock::{Change, WallClock, local_start};
use crate::{Timestamp, Zone};

/// How far ahead changes are looked for: clocks that change every year do so within this.
const AHEAD: SignedDuration = SignedDuration::from_hours(400 * 24);

/// So many changes get a remark; who sees ten years of a yearly rule need not hear of each.
const MOST: usize = 3;

/// How long after a change it can still have moved a run, in seconds; no clock was ever moved further.
const AFTERMATH: i64 = 2 * DAY;

/// As many times as this are listed one by one.
const LISTED: usize = 4;

/// The seconds that remarks look at, of one rule.
pub(super) struct Outlook<'a> {
    rule: &'a Rule,
    recurrence: &'a Recurrence,
    first: i64,
    /// The last that is shown.
    shown: i64,
    /// The last that counts.
    last: i64,
}

impl<'a> Outlook<'a> {
    /// From the first occurrence that is shown; no further than the occurrence that a count is known to reach.
    pub(super) fn new(
        rule: &'a Rule,
        recurrence: &'a Recurrence,
        first: Timestamp,
        shown: Timestamp,
        counted: Option<Timestamp>,
    ) -> Self {
        let ahead = first.checked_add(AHEAD).unwrap_or(Timestamp::MAX).max(shown);
        let last = counted.map_or(ahead, |counted| counted.min(ahead));
        Self { rule, recurrence, first: split(first).0, shown: split(shown).0, last: split(last).0 }
    }

    /// The changes that move, drop or repeat runs: those among the runs that are shown, or else the next.
    pub(super) fn moved_runs(&self) -> Vec<String> {
        let mut remarks = Vec::new();
        let (start, _) = local_start(self.rule);
        if !Times::of(self.recurrence, start, 0).is_some_and(Times::heed_clock_changes) {
            return remarks;
        }
        let wall_clock = WallClock::of(self.recurrence, start);
        for change in self.changes(&self.recurrence.zone) {
            if remarks.len() == MOST || (!remarks.is_empty() && change.first_touched() > self.shown) {
                break;
            }
            let slots: Vec<i64> =
                wall_clock.slots(change.span()).filter(|slot| self.is_met(change, *slot)).collect();
            if let Some(first) = slots.first() {
                let what = if change.by > 0 {
                    self.in_gap(&slots, change.by, &wall_clock)
                } else {
                    self.in_fold(&slots)
                };
                remarks.push(format!("On {} the clock {}: {what}", date(*first), movement(change)));
            }
        }
        remarks
    }

    /// Steps of elapsed time that keep to their times of day until clocks change.
    pub(super) fn drift(&self) -> Option<String> {
        let Pattern::Every { frequency, interval, schedule } = &self.recurrence.pattern else { return None };
        let step = i64::from(*interval)
            * match frequency {
                Frequency::Minute => 60,
                Frequency::Hour => 3600,
                _ => return None,
            };
        // Steps that fit no day meet other times every day; short ones meet nearly all.
        let steady = step >= 3600 && (DAY % step == 0 || step % DAY == 0);
        if !steady || (schedule.is_some() && *interval == 1) {
            return None;
        }
        let change = self
            .changes(&self.recurrence.zone)
            .find(|change| change.at > self.first && change.by % step != 0)?;
        let next = self.rule.after(Timestamp::from_second(change.at - 1).ok()?)?;
        let (next, nanos) = split(next);
        if next > self.last {
            return None;
        }
        let old = next + change.offset;
        let new = match schedule {
            Some(_) => "they meet other hours of the day".to_owned(),
            None => {
                let and_so_on = if step < DAY { ", and so on" } else { "" };
                format!(
                    "it runs at {} instead of {}{and_so_on}",
                    clock(old + change.by, nanos),
                    clock(old, nanos)
                )
            }
        };
        let on = date(change.at + change.offset);
        Some(format!("Its steps are of elapsed time: after the clock change of {on} {new}"))
    }

    /// The changes in sight, and one shortly before that may have moved the first run.
    fn changes(&self, zone: &Zone) -> impl Iterator<Item = Change> {
        let from = Timestamp::from_second(self.first - AFTERMATH).unwrap_or(Timestamp::MIN);
        Change::after(zone, from).take_while(|change| change.first_touched() <= self.last)
    }

    /// Whether a slot that a change leaves out or repeats is one of the rule's.
    fn is_met(&self, change: Change, slot: i64) -> bool {
        let (by_old_time, by_new_time) = (slot - change.offset, slot - change.offset - change.by);
        if change.by > 0 {
            return match self.recurrence.dst.gap {
                Gap::Shift => self.runs_in(by_old_time),
                Gap::Skip => self.holds(by_old_time),
            };
        }
        match self.recurrence.dst.fold {
            Fold::First => self.runs_in(by_old_time),
            Fold::Last => self.runs_in(by_new_time),
            Fold::Both => self.runs_in(by_old_time) && self.runs_in(by_new_time),
        }
    }

    fn holds(&self, second: i64) -> bool {
        let end = self.recurrence.end_time.map_or(i64::MAX, |end| split(end).0);
        (self.first..=self.last.min(end)).contains(&second)
    }

    /// Whether an occurrence lies in a second.
    fn runs_in(&self, second: i64) -> bool {
        let before = Timestamp::new(second - 1, 999_999_999).ok();
        let next = before.and_then(|before| self.rule.after(before));
        self.holds(second) && next.is_some_and(|next| split(next).0 == second)
    }

    /// What happens to slots that a change leaves out.
    fn in_gap(&self, slots: &[i64], by: i64, wall_clock: &WallClock) -> String {
        let many = slots.len() > 1;
        let runs = format!("the {} of {}", if many { "runs" } else { "run" }, times(slots));
        if self.recurrence.dst.gap == Gap::Skip {
            return format!("{runs} {} left out", if many { "are" } else { "is" });
        }
        let moved: Vec<i64> = slots.iter().map(|slot| slot + by).collect();
        let next_day = slots[0].div_euclid(DAY) != moved[0].div_euclid(DAY);
        let later = times(&moved) + if next_day { " the next day" } else { "" };
        if moved.iter().all(|slot| wall_clock.next(*slot) == Some(*slot)) {
            return format!(
                "{runs} and {} of {later} are one and the same",
                if many { "those" } else { "that" }
            );
        }
        format!("{runs} {} at {later}", if many { "happen" } else { "happens" })
    }

    /// What happens to slots that a change repeats.
    fn in_fold(&self, slots: &[i64]) -> String {
        let which = match self.recurrence.dst.fold {
            Fold::First => "the first time",
            Fold::Last => "the last time",
            Fold::Both => "both times",
        };
        let happen = if slots.len() > 1 { "happen" } else { "happens" };
        format!("{} {happen} twice, this runs {which}", times(slots))
    }
}

/// `jumps from 02:00 to 03:00`, `goes back from 03:00 to 02:00`; midnight is 24:00 where a day ends with it.
fn movement(change: Change) -> String {
    let (from, to) = change.readings();
    let end = change.span().end;
    let bound = |at: i64| if at == end && at % DAY == 0 { "24:00".to_owned() } else { clock(at, 0) };
    let moves = if change.by > 0 { "jumps" } else { "goes back" };
    format!("{moves} from {} to {}", bound(from), bound(to))
}

/// `02:00 and 02:30`; many by the first and the last.
fn times(slots: &[i64]) -> String {
    let names: Vec<String> = slots.iter().map(|slot| clock(*slot, 0)).collect();
    match &names[..] {
        [first, .., last] if names.len() > LISTED => format!("{first} to {last}"),
        _ => list(&names, "and"),
    }
}
