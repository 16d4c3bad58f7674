//! Spans of a rule: how many occurrences lie in one, and which are its last. They are not walked through to find out,
//! so that a year of minutes costs about as much as a day of them.
//!
//! ```
//! use recurrence::{Draft, Occurrence, RecurrenceDraft, Rule};
//!
//! let recurrence = RecurrenceDraft { frequency: Some("minute".into()), ..Default::default() };
//! let draft = Draft { start_time: None, recurrence: Some(recurrence) };
//! let rule = Rule::build(&draft, "2027-01-01T00:00:00Z".parse()?)?;
//! let first = rule.first().expect("a rule has an occurrence");
//!
//! let last = rule.last_by(&first, "2027-12-31T23:59:30Z".parse()?).expect("the first is due by then");
//! assert_eq!((last.number, last.at.to_string()), (525_600, "2027-12-31T23:59:00Z".to_owned()));
//! let noon = "2027-12-31T12:00:00Z".parse()?;
//! assert_eq!(rule.back(&last, 719), Some(Occurrence { number: 524_881, at: noon }));
//! assert_eq!(rule.between(noon, last.at), 718);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

use jiff::SignedDuration;

use crate::Timestamp;
use crate::rule::{Occurrence, Recurrence, Rule};

impl Rule {
    /// How many occurrences there are after one instant and before another, whatever `count` says.
    pub fn between(&self, after: Timestamp, before: Timestamp) -> u64 {
        self.count(just_after(after), before)
    }

    /// The last occurrence before an instant, whatever `count` says.
    pub fn before(&self, instant: Timestamp) -> Option<Timestamp> {
        self.nth_last(instant, 1)
    }

    /// Of an occurrence and those that follow it, the last that is due by an instant; `None` when it is not due itself.
    pub fn last_by(&self, first: &Occurrence, instant: Timestamp) -> Option<Occurrence> {
        if first.at > instant {
            return None;
        }
        let Some(recurrence) = self.recurrence() else { return Some(*first) };
        let most = recurrence.count().unwrap_or(u32::MAX).saturating_sub(first.number);
        let (from, until) = (just_after(first.at), just_after(instant));
        let there = self.count(from, until);
        // Those after the last that `count` allows lie in the span and are left out.
        let steps = u32::try_from(there).map_or(most, |there| there.min(most));
        if steps == 0 {
            return Some(*first);
        }
        let at = self.nth_last(until, there - u64::from(steps) + 1)?;
        Some(Occurrence { number: first.number + steps, at })
    }

    /// The occurrence so many steps before another; `None` when there are not so many.
    pub fn back(&self, last: &Occurrence, steps: u32) -> Option<Occurrence> {
        let number = last.number.checked_sub(steps).filter(|number| *number > 0)?;
        let at = if steps == 0 { last.at } else { self.nth_last(last.at, steps.into())? };
        Some(Occurrence { number, at })
    }

    /// How many occurrences there are from one instant to another, that one left out.
    pub(crate) fn count(&self, from: Timestamp, until: Timestamp) -> u64 {
        let until = self.not_after_end(until);
        let slots = self.plan().count(self.second(from.max(self.from())), self.second(until));
        let extra = self.extra().is_some_and(|extra| from <= extra && extra < until);
        u64::try_from(slots).unwrap_or_default() + u64::from(extra)
    }

    /// The `nth` occurrence before an instant, 1 being the last.
    fn nth_last(&self, until: Timestamp, nth: u64) -> Option<Timestamp> {
        let until = self.not_after_end(until);
        let nth = i64::try_from(nth).ok()?;
        let (from, end) = (self.second(self.from()), self.second(until));
        if let Some(slot) = self.plan().nth_last(from, end, nth) {
            return self.instant(slot);
        }
        // It comes before all slots.
        let extra = self.extra().filter(|extra| *extra < until)?;
        (self.plan().count(from, end) + 1 == nth).then_some(extra)
    }

    /// The occurrence that is there whatever the plan says, unless the plan says it too.
    fn extra(&self) -> Option<Timestamp> {
        self.always().filter(|always| *always < self.from() || self.slot(*always) != Some(*always))
    }

    fn not_after_end(&self, until: Timestamp) -> Timestamp {
        let end = self.recurrence().and_then(Recurrence::end_time);
        end.map_or(until, |end| until.min(just_after(end)))
    }
}

/// No occurrence lies between an instant and this one.
fn just_after(instant: Timestamp) -> Timestamp {
    instant.checked_add(SignedDuration::from_nanos(1)).unwrap_or(Timestamp::MAX)
}
