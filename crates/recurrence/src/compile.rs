//! From a checked pattern to a plan: what hangs on the start is worked out here, once.

use crate::Timestamp;
use crate::civil::{self, DAY};
use crate::cron::Cron;
use crate::date_time::split;
use crate::names::{Dst, Fold, Frequency, Gap};
use crate::numbers::Numbers;
use crate::plan::{DayPlan, Days, Grid, MonthDays, Plan, Times};
use crate::rule::{MonthlyOccurrence, Pattern, Recurrence, Schedule};

const ALL_HOURS: Numbers = Numbers::range(0, 23);
const ALL_MINUTES: Numbers = Numbers::range(0, 59);
const ALL_MONTHS: Numbers = Numbers::range(0, 11);

/// "Every 15 minutes" means every hour that really passes: what a gap leaves out is not made up, what a fold repeats
/// runs again.
const AS_TIME_PASSES: Dst = Dst { gap: Gap::Skip, fold: Fold::Both };

/// The plan of a recurrence that starts at an instant.
pub(crate) fn plan(recurrence: &Recurrence, start: Timestamp) -> Plan {
    let (start, _) = split(start);
    let local = start + recurrence.zone.regime(start).offset;
    match &recurrence.pattern {
        Pattern::Cron(cron) => cron_plan(cron, recurrence),
        Pattern::Every { frequency, interval, schedule } => {
            let interval = i64::from(*interval);
            let nothing = Schedule::default();
            let elements = schedule.as_ref().unwrap_or(&nothing);
            match frequency {
                Frequency::Minute | Frequency::Hour => {
                    elapsed_plan(*frequency, interval, schedule.as_ref(), start, local, recurrence)
                }
                _ => {
                    let days = days(*frequency, interval, elements, local);
                    let (times, every_hour) = times(elements, local);
                    let dst = if every_hour { AS_TIME_PASSES } else { recurrence.dst };
                    days_plan(days, times, dst, recurrence)
                }
            }
        }
    }
}

fn days_plan(days: Days, times: Times, dst: Dst, recurrence: &Recurrence) -> Plan {
    Plan::Days { days: Box::new(DayPlan { days, times }), zone: recurrence.zone.clone(), dst }
}

/// Minute and hour rules: elapsed time, seen through the wall clock only where a schedule asks for it.
fn elapsed_plan(
    frequency: Frequency,
    interval: i64,
    schedule: Option<&Schedule>,
    start: i64,
    local: i64,
    recurrence: &Recurrence,
) -> Plan {
    let period = if frequency == Frequency::Minute { 60 } else { 3600 };
    let step = period * interval;
    let Some(schedule) = schedule else { return Plan::Steps { origin: start, step } };
    let hours = schedule.hours.unwrap_or(ALL_HOURS);
    let grid = match schedule.minutes {
        None => Grid::limited(start, step, hours, ALL_MINUTES),
        Some(minutes) => {
            let origin = start - local.rem_euclid(period);
            if frequency == Frequency::Minute {
                Grid::limited(origin, step, hours, minutes)
            } else {
                Grid::expanded(origin, step, hours, minutes)
            }
        }
    };
    Plan::Grid { grid, zone: recurrence.zone.clone() }
}

/// Times of day, and whether they are meant for every hour that passes.
fn times(schedule: &Schedule, local: i64) -> (Times, bool) {
    let of_day = local.rem_euclid(DAY);
    let (hour, minute, second) = (of_day / 3600, of_day / 60 % 60, of_day % 60);
    let start_minute = Numbers::one(minute as u32);
    match (schedule.hours, schedule.minutes) {
        (Some(hours), Some(minutes)) => (Times { hours, minutes, second: 0 }, false),
        (Some(hours), None) => (Times { hours, minutes: start_minute, second }, false),
        (None, Some(minutes)) => (Times { hours: ALL_HOURS, minutes, second: 0 }, true),
        (None, None) => (Times { hours: Numbers::one(hour as u32), minutes: start_minute, second }, false),
    }
}

fn days(frequency: Frequency, interval: i64, schedule: &Schedule, local: i64) -> Days {
    let day = local.div_euclid(DAY);
    let (month, number) = civil::month_of(day);
    match frequency {
        Frequency::Week => {
            let weekday = civil::weekday(day);
            let weekdays = match &schedule.week_days {
                Some(week_days) => week_days.iter().map(|day| *day as u32).collect(),
                None => Numbers::one(weekday as u32),
            };
            Days::Weeks { monday: day - weekday, step: interval, weekdays }
        }
        Frequency::Month => Days::Months {
            origin: month,
            step: interval,
            months: ALL_MONTHS,
            days: month_days(schedule, number),
        },
        Frequency::Year => {
            let months = match schedule.months {
                Some(months) => months.iter().map(|month| month - 1).collect(),
                None => Numbers::one(month.rem_euclid(12) as u32),
            };
            let january = month - month.rem_euclid(12);
            Days::Months { origin: january, step: 1, months, days: month_days(schedule, number) }
        }
        _ => Days::Steps { origin: day, step: interval },
    }
}

/// The days of a month that a schedule wants; without a word about days, that of the start, or else the last.
fn month_days(schedule: &Schedule, start: i64) -> MonthDays {
    let (by_number, by_weekday) = (&schedule.month_days, &schedule.monthly_occurrences);
    if by_number.is_none() && by_weekday.is_none() {
        return MonthDays::of(|number, length, _| number == start.min(length));
    }
    MonthDays::of(|number, length, weekday| {
        let from_end = number - length - 1;
        by_number.as_ref().is_none_or(|days| {
            days.iter().any(|day| i64::from(*day) == number || i64::from(*day) == from_end)
        }) && by_weekday
            .as_ref()
            .is_none_or(|days| days.iter().any(|occurrence| occurrence.is_on(number, length, weekday)))
    })
}

impl MonthlyOccurrence {
    pub(crate) fn is_on(self, number: i64, length: i64, weekday: i64) -> bool {
        self.day as i64 == weekday
            && self.occurrence.is_none_or(|occurrence| {
                let (nth, nth_last) = ((number + 6) / 7, (length - number) / 7 + 1);
                i64::from(occurrence) == nth || i64::from(occurrence) == -nth_last
            })
    }
}

fn cron_plan(cron: &Cron, recurrence: &Recurrence) -> Plan {
    let times = Times { hours: cron.hours(), minutes: cron.minutes(), second: 0 };
    let dst = if cron.every_hour() { AS_TIME_PASSES } else { recurrence.dst };
    days_plan(cron_days(cron), times, dst, recurrence)
}

/// Most expressions name days of the week at most; those need no months.
fn cron_days(cron: &Cron) -> Days {
    let months: Numbers = cron.months().iter().map(|month| month - 1).collect();
    let any_day = cron.any_month_day() && cron.month_days() == Numbers::range(1, 31) && months == ALL_MONTHS;
    if any_day && cron.nth_week_days().is_empty() {
        let weekdays: Numbers = cron.week_days().map(|day| day as u32).collect();
        return if weekdays.len() == 7 {
            Days::Steps { origin: civil::FIRST_MONDAY, step: 1 }
        } else {
            Days::Weeks { monday: civil::FIRST_MONDAY, step: 1, weekdays }
        };
    }
    let days = MonthDays::of(|number, length, weekday| cron.is_on(number, length, weekday));
    Days::Months { origin: 0, step: 1, months, days }
}
