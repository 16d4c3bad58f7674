//! A rule as a calendar shows it: how many occurrences a day has, when clocks change, and when it is over.
//!
//! An occurrence belongs to the day that the wall clock of its rule shows. Days are counted by arithmetic, as in
//! [`Rule::between`]: a year of minutes is 366 counts and not half a million steps.
//!
//! ```
//! use recurrence::{Draft, RecurrenceDraft, Rule, Turn};
//!
//! let draft = Draft { start_time: None, recurrence: Some(RecurrenceDraft {
//!     frequency: Some("hour".into()), time_zone: Some("Europe/Paris".into()), ..Default::default()
//! })};
//! let rule = Rule::build(&draft, "2027-03-26T23:00:00Z".parse()?)?;
//! let counts: Vec<u64> = rule.days(3).iter().map(|day| day.count).collect();
//! assert_eq!(counts, [24, 23, 24]);
//! let change = rule.zone().clock_changes(rule.accepted_at(), 3)[0];
//! assert_eq!((change.date.to_string().as_str(), change.turn), ("2027-03-28", Turn::Forward));
//! assert!(rule.last().is_none());
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

use jiff::SignedDuration;
use jiff::civil::{Date, DateTime};
use jiff::tz::{Offset, TimeZone};

use crate::civil::DAY;
use crate::plan::FARTHEST_MOVE;
use crate::rule::{Occurrence, Rule};
use crate::wall_clock::Change;
use crate::zone::Zone;
use crate::{Timestamp, date_time};

/// A day and how many occurrences it has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Day {
    /// The day.
    pub date: Date,
    /// How many.
    pub count: u64,
}

/// Which way clocks are moved.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Turn {
    /// An hour is left out.
    Forward,
    /// An hour comes twice.
    Back,
}

/// A day on which clocks are moved.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ClockChange {
    /// The day that clocks show right after it.
    pub date: Date,
    /// Which way.
    pub turn: Turn,
}

/// How far the last of counted occurrences is looked for at first: most end within.
const FIRST_LOOK: SignedDuration = SignedDuration::from_hours(24 * 366);

impl Zone {
    /// What the wall clock shows at an instant.
    pub fn local(&self, at: Timestamp) -> DateTime {
        let offset =
            i32::try_from(self.offset_at(at)).ok().and_then(|offset| Offset::from_seconds(offset).ok());
        at.to_zoned(offset.map_or(TimeZone::UTC, TimeZone::fixed)).datetime()
    }

    /// The days on which clocks are moved, of so many days from that of an instant on.
    pub fn clock_changes(&self, from: Timestamp, days: u16) -> Vec<ClockChange> {
        let first = self.day(from);
        // The day of the instant counts as a whole.
        let before = from.checked_sub(SignedDuration::from_secs(FARTHEST_MOVE)).unwrap_or(from);
        Change::after(self, before)
            .map(|change| (change.readings().1.div_euclid(DAY), change))
            .skip_while(|(day, _)| *day < first)
            .take_while(|(day, _)| *day < first + i64::from(days))
            .filter_map(|(day, change)| {
                let turn = if change.by > 0 { Turn::Forward } else { Turn::Back };
                Some(ClockChange { date: date(day)?, turn })
            })
            .collect()
    }

    /// The number of the day that the wall clock shows.
    fn day(&self, at: Timestamp) -> i64 {
        (date_time::split(at).0 + self.offset_at(at)).div_euclid(DAY)
    }
}

impl Rule {
    /// The days with occurrences, of so many days from that of its acceptance on.
    pub fn days(&self, days: u16) -> Vec<Day> {
        let zone = self.zone();
        let first = zone.day(self.accepted_at());
        let end = first + i64::from(days);
        let mut counts = vec![0; usize::from(days)];
        let mut left = match self.recurrence() {
            None => 1,
            Some(recurrence) => recurrence.count().map_or(u64::MAX, u64::from),
        };
        let mut from = date_time::split(self.accepted_at()).0;
        // In the order of time, since `count` leaves out what is last.
        while left > 0 && from < end.saturating_mul(DAY) + FARTHEST_MOVE {
            let regime = zone.regime(from);
            let until = regime.end.min(end * DAY - regime.offset);
            while from < until && left > 0 {
                let day = (from + regime.offset).div_euclid(DAY);
                let next = until.min((day + 1) * DAY - regime.offset);
                let there = self.count_seconds(from, next).min(left);
                if let Some(count) = usize::try_from(day - first).ok().and_then(|day| counts.get_mut(day)) {
                    *count += there;
                }
                left -= there;
                from = next;
            }
            from = regime.end;
        }
        let counted = (first..).zip(counts).filter(|(_, count)| *count > 0);
        counted.filter_map(|(day, count)| Some(Day { date: date(day)?, count })).collect()
    }

    /// The last occurrence; `None` when there is none.
    pub fn last(&self) -> Option<Occurrence> {
        let first = self.first()?;
        let Some(recurrence) = self.recurrence() else { return Some(first) };
        if let Some(end) = recurrence.end_time() {
            return self.last_by(&first, end);
        }
        let count = recurrence.count()?;
        let mut look = FIRST_LOOK;
        loop {
            let until = first.at.checked_add(look).unwrap_or(Timestamp::MAX);
            let last = self.last_by(&first, until)?;
            if last.number >= count || until == Timestamp::MAX {
                return Some(last);
            }
            look = look.saturating_add(look);
        }
    }

    /// How many occurrences there are from one second to another, that one left out.
    fn count_seconds(&self, from: i64, until: i64) -> u64 {
        let at = |second: i64| Timestamp::from_second(second).unwrap_or(Timestamp::MAX);
        self.count(at(from), at(until))
    }
}

/// The date of a day; `None` beyond the calendar.
fn date(day: i64) -> Option<Date> {
    let (month, day) = crate::civil::month_of(day);
    let (year, month) = (month.div_euclid(12), month.rem_euclid(12) + 1);
    Date::new(i16::try_from(year).ok()?, i8::try_from(month).ok()?, i8::try_from(day).ok()?).ok()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::{Draft, DstDraft, RecurrenceDraft, ScheduleDraft};

    fn rule(start: Option<&str>, recurrence: Option<RecurrenceDraft>, now: &str) -> Rule {
        let draft = Draft { start_time: start.map(str::to_owned), recurrence };
        Rule::build(&draft, now.parse().expect("a time")).expect("a rule")
    }

    fn rules() -> Vec<Rule> {
        let zones = [
            "UTC",
            "Europe/Paris",
            "America/New_York",
            "Australia/Lord_Howe",
            "Pacific/Apia",
            "America/Havana",
        ];
        let mut rules = vec![
            rule(None, None, "2027-01-01T00:00:00Z"),
            rule(Some("2027-06-01T10:00:00.5Z"), None, "2027-01-01T00:00:00Z"),
        ];
        for zone in zones {
            let with =
                |recurrence: RecurrenceDraft| RecurrenceDraft { time_zone: Some(zone.into()), ..recurrence };
            let every = |frequency: &str, count: Option<i64>, end: Option<&str>| RecurrenceDraft {
                frequency: Some(frequency.into()),
                count,
                end_time: end.map(str::to_owned),
                ..Default::default()
            };
            let times = ScheduleDraft {
                hours: Some(vec![0, 2, 23]),
                minutes: Some(vec![0, 30]),
                ..Default::default()
            };
            let both = DstDraft { gap: Some("shift".into()), fold: Some("both".into()) };
            for now in ["2027-01-01T05:30:00.25Z", "2011-12-28T11:00:00Z", "2027-10-31T00:30:00Z"] {
                rules.push(rule(None, Some(with(every("hour", None, None))), now));
                rules.push(rule(None, Some(with(every("day", Some(40), None))), now));
                rules.push(rule(None, Some(with(every("minute", Some(5000), None))), now));
                rules.push(rule(None, Some(with(every("month", None, Some("2028-02-02")))), now));
                let scheduled = RecurrenceDraft {
                    schedule: Some(times.clone()),
                    dst: Some(both.clone()),
                    ..every("day", None, None)
                };
                rules.push(rule(Some("2011-01-01"), Some(with(scheduled)), now));
                let cron = RecurrenceDraft { cron: Some("*/20 * * * *".into()), ..Default::default() };
                rules.push(rule(None, Some(with(cron)), now));
            }
        }
        rules
    }

    /// The same, by walking through them.
    fn walked(rule: &Rule, days: u16) -> Vec<Day> {
        let zone = rule.zone();
        let first = zone.day(rule.accepted_at());
        let mut counts: BTreeMap<i64, u64> = BTreeMap::new();
        for occurrence in rule.occurrences() {
            let day = zone.day(occurrence.at);
            // Clocks that go back may show the day before once more.
            if day > first + i64::from(days) + 1 {
                break;
            }
            *counts.entry(day).or_default() += 1;
        }
        let within = counts.into_iter().filter(|(day, _)| *day < first + i64::from(days));
        within.map(|(day, count)| Day { date: date(day).expect("a date"), count }).collect()
    }

    #[test]
    fn days_are_counted_as_if_walked_through() {
        for rule in rules() {
            assert_eq!(rule.days(366), walked(&rule, 366), "{} from {}", rule.describe(), rule.accepted_at());
        }
    }

    #[test]
    fn the_last_is_the_last() {
        for rule in rules() {
            let ends = rule.recurrence().is_none_or(|r| r.count().is_some() || r.end_time().is_some());
            let walked = ends.then(|| rule.occurrences().last()).flatten();
            assert_eq!(rule.last(), walked, "{} from {}", rule.describe(), rule.accepted_at());
        }
    }

    #[test]
    fn clock_changes_of_a_year() {
        let zone = Zone::named("Europe/Berlin").expect("a zone");
        let changes = |now: &str, days| {
            let changes = zone.clock_changes(now.parse().expect("a time"), days);
            changes.into_iter().map(|change| (change.date.to_string(), change.turn)).collect::<Vec<_>>()
        };
        let spring = ("2027-03-28".to_owned(), Turn::Forward);
        let autumn = ("2027-10-31".to_owned(), Turn::Back);
        assert_eq!(changes("2027-01-01T00:00:00Z", 366), [spring.clone(), autumn.clone()]);
        assert_eq!(changes("2027-03-28T20:00:00Z", 1), [spring], "the whole of today");
        assert_eq!(changes("2027-03-28T22:00:00Z", 216), [], "today is the 29th, and the last day the 30th");
        assert_eq!(changes("2027-03-28T22:00:00Z", 217), [autumn]);
        assert_eq!(Zone::utc().clock_changes("2027-01-01T00:00:00Z".parse().expect("a time"), 366), []);
    }
}
