//! Days of the calendar, each with times of day: the plan of day, week, month and year rules and of cron.
//!
//! Everything here is wall-clock time; clock changes are the business of [`Plan`](super::Plan).

use super::count::multiples_below;
use crate::civil::{self, DAY, LAST_DAY};
use crate::numbers::Numbers;

/// Which days, and when on them.
#[derive(Debug, Clone)]
pub(crate) struct DayPlan {
    pub(crate) days: Days,
    pub(crate) times: Times,
}

impl DayPlan {
    /// The first slot at or after a wall-clock second.
    pub(crate) fn next(&self, from: i64) -> Option<i64> {
        // Clocks that go back over midnight show a day again that lies before the first period.
        let from = from.max(self.days.first() * DAY);
        let day = from.div_euclid(DAY);
        let first = self.days.next(day)?;
        if first == day {
            if let Some(time) = self.times.next(from.rem_euclid(DAY)) {
                return Some(day * DAY + time);
            }
            let next = self.days.next(day + 1)?;
            return Some(next * DAY + self.times.first());
        }
        Some(first * DAY + self.times.first())
    }

    /// How many slots there are from one wall-clock second to another, that one left out.
    pub(crate) fn count(&self, from: i64, until: i64) -> i64 {
        // The same bounds as those of `next`.
        let from = from.max(self.days.first() * DAY);
        let until = until.min((LAST_DAY + 1) * DAY);
        if from >= until {
            return 0;
        }
        let (first, last) = (from.div_euclid(DAY), until.div_euclid(DAY));
        let whole = self.days.count(first, last) * self.times.len();
        let left_out = if self.days.contain(first) { self.times.before(from.rem_euclid(DAY)) } else { 0 };
        let begun = if self.days.contain(last) { self.times.before(until.rem_euclid(DAY)) } else { 0 };
        whole - left_out + begun
    }
}

/// Times of day: every hour with every minute, all at the same second.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Times {
    pub(crate) hours: Numbers,
    pub(crate) minutes: Numbers,
    pub(crate) second: i64,
}

impl Times {
    /// The first time of a day.
    pub(crate) fn first(self) -> i64 {
        self.next(0).unwrap_or_default()
    }

    /// The first time at or after a second of the day.
    pub(crate) fn next(self, from: i64) -> Option<i64> {
        let minute = (from - self.second + 59).div_euclid(60) as u32;
        let (hour, minute) = (minute / 60, minute % 60);
        if self.hours.contains(hour)
            && let Some(minute) = self.minutes.at_least(minute)
        {
            return Some(self.at(hour, minute));
        }
        Some(self.at(self.hours.at_least(hour + 1)?, self.minutes.at_least(0)?))
    }

    fn at(self, hour: u32, minute: u32) -> i64 {
        i64::from(hour) * 3600 + i64::from(minute) * 60 + self.second
    }

    /// How many times a day has.
    fn len(self) -> i64 {
        i64::from(self.hours.len() * self.minutes.len())
    }

    /// How many times of a day come before a second of it.
    fn before(self, until: i64) -> i64 {
        let minute = (until - self.second + 59).div_euclid(60) as u32;
        let (hour, minute) = (minute / 60, minute % 60);
        let begun = if self.hours.contains(hour) { self.minutes.below(minute) } else { 0 };
        i64::from(self.hours.below(hour) * self.minutes.len() + begun)
    }

    /// How many times there are from one wall-clock second to another, that one left out, if every day has them.
    pub(super) fn count_daily(self, from: i64, until: i64) -> i64 {
        let before = |at: i64| at.div_euclid(DAY) * self.len() + self.before(at.rem_euclid(DAY));
        before(until) - before(from)
    }

    /// All times of a day, in order.
    pub(crate) fn iter(self) -> impl Iterator<Item = i64> {
        std::iter::successors(self.next(0), move |last| self.next(last + 1))
    }
}

/// Which days of the calendar.
#[derive(Debug, Clone)]
pub(crate) enum Days {
    /// Every so many days.
    Steps {
        /// The first day of the sequence.
        origin: i64,
        /// The distance in days.
        step: i64,
    },
    /// Weekdays of every so many weeks.
    Weeks {
        /// The Monday of the first week of the sequence.
        monday: i64,
        /// The distance in weeks.
        step: i64,
        /// Monday = 0.
        weekdays: Numbers,
    },
    /// Days of every so many months.
    Months {
        /// The first month of the sequence.
        origin: i64,
        /// The distance in months.
        step: i64,
        /// January = 0.
        months: Numbers,
        days: MonthDays,
    },
}

impl Days {
    /// The first day of the period that holds the start.
    fn first(&self) -> i64 {
        match self {
            Self::Steps { origin, .. } => *origin,
            Self::Weeks { monday, .. } => *monday,
            Self::Months { origin, .. } => civil::first_day(*origin),
        }
    }

    /// The first such day at or after a day.
    pub(crate) fn next(&self, day: i64) -> Option<i64> {
        let found = match self {
            Self::Steps { origin, step } => day + (origin - day).rem_euclid(*step),
            Self::Weeks { monday, step, weekdays } => {
                let weeks = (day - monday).div_euclid(7);
                let ahead = (-weeks).rem_euclid(*step);
                let this = monday + weeks * 7;
                let first = weekdays.at_least(0)?;
                if ahead > 0 {
                    this + ahead * 7 + i64::from(first)
                } else if let Some(weekday) = weekdays.at_least((day - this) as u32) {
                    this + i64::from(weekday)
                } else {
                    this + step * 7 + i64::from(first)
                }
            }
            Self::Months { origin, step, months, days } => {
                let (mut month, number) = civil::month_of(day);
                if (month - origin).rem_euclid(*step) == 0
                    && months.contains(month.rem_euclid(12) as u32)
                    && let Some(number) = days.in_month(month).at_least(number as u32)
                {
                    return Some(civil::first_day(month) + i64::from(number) - 1);
                }
                // After so many periods the calendar has shown all it has.
                let mut left = 4800;
                loop {
                    month += 1;
                    month += (origin - month).rem_euclid(*step);
                    while !months.contains(month.rem_euclid(12) as u32) {
                        // Only a step of one month comes with a choice of months, so this stays in the sequence.
                        month += step;
                    }
                    if let Some(number) = days.in_month(month).at_least(1) {
                        break civil::first_day(month) + i64::from(number) - 1;
                    }
                    left -= 1;
                    if left == 0 {
                        return None;
                    }
                }
            }
        };
        (found <= LAST_DAY).then_some(found)
    }

    /// Whether it is such a day.
    fn contain(&self, day: i64) -> bool {
        self.count(day, day + 1) > 0
    }

    /// How many such days there are from one day to another, that one left out.
    fn count(&self, from: i64, until: i64) -> i64 {
        match self {
            Self::Steps { origin, step } => {
                multiples_below(until - origin, *step) - multiples_below(from - origin, *step)
            }
            Self::Weeks { monday, step, weekdays } => {
                let round = step * 7;
                let before = |day: i64| {
                    let into = (day - monday).rem_euclid(round) as u32;
                    (day - monday).div_euclid(round) * i64::from(weekdays.len())
                        + i64::from(weekdays.below(into.min(7)))
                };
                before(until) - before(from)
            }
            Self::Months { origin, step, months, days } => {
                let ((first, number), (last, end)) = (civil::month_of(from), civil::month_of(until));
                let mut counted = 0;
                let mut month = first + (origin - first).rem_euclid(*step);
                while month <= last {
                    if months.contains(month.rem_euclid(12) as u32) {
                        let days = days.in_month(month);
                        let until = if month == last { days.below(end as u32) } else { days.len() };
                        let from = if month == first { days.below(number as u32) } else { 0 };
                        counted += i64::from(until) - i64::from(from);
                    }
                    month += step;
                }
                counted
            }
        }
    }
}

/// The days of a month, worked out for all 28 kinds of month: four lengths, seven weekdays to begin with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct MonthDays([u32; 28]);

impl MonthDays {
    /// The days for which `holds(number, length of the month, weekday)` is true.
    pub(crate) fn of(holds: impl Fn(i64, i64, i64) -> bool) -> Self {
        let mut kinds = [0; 28];
        for length in 28..=31 {
            for first in 0..7 {
                for number in (1..=length).filter(|number| holds(*number, length, (first + number - 1) % 7)) {
                    kinds[Self::kind(length, first)] |= 1 << number;
                }
            }
        }
        Self(kinds)
    }

    pub(crate) fn in_month(&self, month: i64) -> Numbers {
        let first = civil::weekday(civil::first_day(month));
        Numbers::from_bits(self.0[Self::kind(civil::length(month), first)].into())
    }

    const fn kind(length: i64, first: i64) -> usize {
        ((length - 28) * 7 + first) as usize
    }
}
