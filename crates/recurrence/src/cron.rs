//! Cron expressions: five fields, as an alternative to `frequency`.
//!
//! `minute hour day-of-month month day-of-week`, with lists, ranges, steps, English names, `L` (the last day of the
//! month, `L-2` two days before it, `5L` the last Friday) and `#` (`5#2` the second Friday). As in the cron everybody
//! knows, a day must satisfy both day fields, but either is enough when both are restricted.

use std::fmt;

use crate::fault::quoted;
use crate::names::Weekday;
use crate::numbers::Numbers;
use crate::rule::MonthlyOccurrence;

/// A cron expression, checked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cron {
    text: String,
    minutes: Numbers,
    hours: Numbers,
    every_hour: bool,
    months: Numbers,
    /// 1 to 31.
    month_days: Numbers,
    /// Days before the last of the month: 0 is `L`.
    last_days: Numbers,
    /// Monday = 0.
    week_days: Numbers,
    nth_week_days: Vec<MonthlyOccurrence>,
    any_month_day: bool,
    any_week_day: bool,
}

const MONTHS: [&str; 12] =
    ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"];
const DAYS: [&str; 7] = ["sun", "mon", "tue", "wed", "thu", "fri", "sat"];

const MACROS: [(&str, &str); 7] = [
    ("@yearly", "0 0 1 1 *"),
    ("@annually", "0 0 1 1 *"),
    ("@monthly", "0 0 1 * *"),
    ("@weekly", "0 0 * * 0"),
    ("@daily", "0 0 * * *"),
    ("@midnight", "0 0 * * *"),
    ("@hourly", "0 * * * *"),
];

impl Cron {
    /// Reads an expression; or says, for each field that is wrong, what is allowed there.
    pub fn read(text: &str) -> Result<Self, Vec<String>> {
        let text = text.trim();
        let expanded = if text.starts_with('@') {
            let known = MACROS.iter().find(|(name, _)| text.eq_ignore_ascii_case(name));
            let Some((_, fields)) = known else {
                let names: Vec<_> = MACROS.iter().map(|(name, _)| *name).collect();
                return Err(vec![format!("five fields, or one of {}", names.join(", "))]);
            };
            fields
        } else {
            text
        };
        let fields: Vec<&str> = expanded.split_ascii_whitespace().collect();
        let [minute, hour, month_day, month, week_day] = fields[..] else {
            let hint = if fields.len() == 6 { " (there is no field for seconds or years)" } else { "" };
            return Err(vec![format!(
                "five fields: minute, hour, day of month, month, day of week; {} given{hint}",
                fields.len()
            )]);
        };

        let mut faults = Vec::new();
        let mut field = |kind: Field, text: &str| {
            let mut set = Set::default();
            for item in text.split(',') {
                if let Err(allowed) = kind.read(item, &mut set) {
                    faults.push(format!("in the {} field {}: {allowed}", kind.name, quoted(item)));
                }
            }
            set
        };
        let minutes = field(Field::MINUTE, minute).numbers;
        let hours = field(Field::HOUR, hour).numbers;
        let month_days = field(Field::MONTH_DAY, month_day);
        let months = field(Field::MONTH, month).numbers;
        let week_days = field(Field::WEEK_DAY, week_day);
        if !faults.is_empty() {
            return Err(faults);
        }
        Ok(Self {
            text: text.split_ascii_whitespace().collect::<Vec<_>>().join(" "),
            minutes,
            hours,
            every_hour: hour == "*" || hour == "*/1",
            months,
            month_days: month_days.numbers,
            last_days: month_days.last,
            week_days: week_days.numbers.iter().map(|day| (day + 6) % 7).collect(),
            nth_week_days: week_days.nth,
            any_month_day: month_day.starts_with(['*', '?']),
            any_week_day: week_day.starts_with(['*', '?']),
        })
    }

    /// Minutes of the hour.
    pub fn minutes(&self) -> Numbers {
        self.minutes
    }

    /// Hours of the day.
    pub fn hours(&self) -> Numbers {
        self.hours
    }

    /// Whether the hour field is `*`: every hour that really passes, whatever the clocks do.
    pub fn every_hour(&self) -> bool {
        self.every_hour
    }

    /// Months, 1 to 12.
    pub fn months(&self) -> Numbers {
        self.months
    }

    /// Days of the month, 1 to 31.
    pub fn month_days(&self) -> Numbers {
        self.month_days
    }

    /// Days counted back from the last of the month, which is 0.
    pub fn last_days(&self) -> Numbers {
        self.last_days
    }

    /// Days of the week.
    pub fn week_days(&self) -> impl Iterator<Item = Weekday> {
        self.week_days.iter().map(|day| Weekday::ALL[day as usize])
    }

    /// Weekdays counted within the month.
    pub fn nth_week_days(&self) -> &[MonthlyOccurrence] {
        &self.nth_week_days
    }

    /// Whether the day-of-month field begins with `*`. When neither day field does, a day need satisfy only one.
    pub fn any_month_day(&self) -> bool {
        self.any_month_day
    }

    /// Whether the day-of-week field begins with `*`.
    pub fn any_week_day(&self) -> bool {
        self.any_week_day
    }

    /// Whether it runs on a day, given its number, the length of its month, and its weekday from Monday = 0.
    pub(crate) fn is_on(&self, number: i64, length: i64, weekday: i64) -> bool {
        let by_number =
            self.month_days.contains(number as u32) || self.last_days.contains((length - number) as u32);
        let by_weekday = self.week_days.contains(weekday as u32)
            || self.nth_week_days.iter().any(|nth| nth.is_on(number, length, weekday));
        if self.any_month_day || self.any_week_day {
            by_number && by_weekday
        } else {
            by_number || by_weekday
        }
    }
}

impl fmt::Display for Cron {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

/// What a field's items add up to.
#[derive(Default)]
struct Set {
    numbers: Numbers,
    last: Numbers,
    nth: Vec<MonthlyOccurrence>,
}

/// One of the five fields.
#[derive(Clone, Copy)]
struct Field {
    name: &'static str,
    low: u32,
    high: u32,
    names: &'static [&'static str],
    allowed: &'static str,
}

impl Field {
    const MINUTE: Self = Self {
        name: "minute",
        low: 0,
        high: 59,
        names: &[],
        allowed: "*, 0 to 59, a range 0-29, a step */15",
    };
    const HOUR: Self =
        Self { name: "hour", low: 0, high: 23, names: &[], allowed: "*, 0 to 23, a range 9-17, a step */2" };
    const MONTH_DAY: Self = Self {
        name: "day-of-month",
        low: 1,
        high: 31,
        names: &[],
        allowed: "*, ?, 1 to 31, a range 1-7, a step */2, L for the last day, L-1 to L-30 for days before it",
    };
    const MONTH: Self = Self {
        name: "month",
        low: 1,
        high: 12,
        names: &MONTHS,
        allowed: "*, 1 to 12, JAN to DEC, a range 1-6, a step */3",
    };
    const WEEK_DAY: Self = Self {
        name: "day-of-week",
        low: 0,
        high: 7,
        names: &DAYS,
        allowed: "*, ?, 0 to 7 (0 and 7 are Sunday), SUN to SAT, a range MON-FRI, 5L for the last Friday, \
                  5#2 for the second",
    };

    fn read(self, item: &str, set: &mut Set) -> Result<(), &'static str> {
        self.read_last(item, set)
            .or_else(|| self.read_nth(item, set))
            .or_else(|| self.read_range(item, set))
            .ok_or(self.allowed)
    }

    /// `L`, `L-3` for days of the month, `5L` for days of the week.
    fn read_last(self, item: &str, set: &mut Set) -> Option<()> {
        let upper = item.to_ascii_uppercase();
        match self.name {
            "day-of-month" => {
                let before = match upper.strip_prefix('L')? {
                    "" => 0,
                    rest => number(rest.strip_prefix('-')?).filter(|days| (1..=30).contains(days))?,
                };
                set.last.insert(before);
                Some(())
            }
            "day-of-week" => {
                let day = self.value(upper.strip_suffix('L')?)?;
                set.nth.push(nth(day, -1));
                Some(())
            }
            _ => None,
        }
    }

    /// `5#2` for days of the week.
    fn read_nth(self, item: &str, set: &mut Set) -> Option<()> {
        if self.name != "day-of-week" {
            return None;
        }
        let (day, which) = item.split_once('#')?;
        let which = number(which).filter(|which| (1..=5).contains(which))?;
        set.nth.push(nth(self.value(day)?, which as i8));
        Some(())
    }

    /// `*`, `7`, `9-17`, each with or without a step; `7/2` goes on to the end.
    fn read_range(self, item: &str, set: &mut Set) -> Option<()> {
        let (range, step) = match item.split_once('/') {
            Some((range, step)) => (range, Some(number(step).filter(|step| (1..=self.high).contains(step))?)),
            None => (item, None),
        };
        let (low, high) = if range == "*" || (range == "?" && self.name.starts_with("day")) {
            // Sunday has two numbers; one is enough.
            (self.low, if self.high == 7 { 6 } else { self.high })
        } else if let Some((low, high)) = range.split_once('-') {
            let (low, high) = (self.value(low)?, self.value(high)?);
            // FRI-SUN ends with the Sunday that follows the Friday.
            (low, if self.high == 7 && high == 0 && low > 0 { 7 } else { high })
        } else {
            let value = self.value(range)?;
            (value, if step.is_some() { self.high } else { value })
        };
        if low > high {
            return None;
        }
        for value in (low..=high).step_by(step.unwrap_or(1) as usize) {
            set.numbers.insert(if self.high == 7 { value % 7 } else { value });
        }
        Some(())
    }

    fn value(self, text: &str) -> Option<u32> {
        let named = self.names.iter().position(|name| text.eq_ignore_ascii_case(name));
        let value = match named {
            Some(position) => position as u32 + self.low,
            None => number(text)?,
        };
        (self.low..=self.high).contains(&value).then_some(value)
    }
}

/// Digits only: `+5` and an empty text are no numbers here.
fn number(text: &str) -> Option<u32> {
    (!text.is_empty() && text.len() <= 4 && text.bytes().all(|byte| byte.is_ascii_digit()))
        .then(|| text.parse().ok())
        .flatten()
}

/// A weekday by its cron number, 0 and 7 being Sunday.
fn nth(day: u32, occurrence: i8) -> MonthlyOccurrence {
    MonthlyOccurrence { day: Weekday::ALL[(day as usize + 6) % 7], occurrence: Some(occurrence) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn list(numbers: Numbers) -> Vec<u32> {
        numbers.iter().collect()
    }

    #[test]
    fn fields_are_read() {
        let cron = Cron::read(" 0,30  9-17/4 1,L,L-2 JAN-MAR,dec Fri#2,0L,tue ").expect("valid");
        assert_eq!(cron.to_string(), "0,30 9-17/4 1,L,L-2 JAN-MAR,dec Fri#2,0L,tue");
        assert_eq!(list(cron.minutes()), [0, 30]);
        assert_eq!(list(cron.hours()), [9, 13, 17]);
        assert_eq!(list(cron.month_days()), [1]);
        assert_eq!(list(cron.last_days()), [0, 2]);
        assert_eq!(list(cron.months()), [1, 2, 3, 12]);
        assert_eq!(cron.week_days().collect::<Vec<_>>(), [Weekday::Tuesday]);
        assert_eq!(
            cron.nth_week_days(),
            [
                MonthlyOccurrence { day: Weekday::Friday, occurrence: Some(2) },
                MonthlyOccurrence { day: Weekday::Sunday, occurrence: Some(-1) },
            ]
        );
    }

    #[test]
    fn days_of_the_week() {
        let days =
            |text: &str| Cron::read(&format!("0 0 * * {text}")).expect(text).week_days().collect::<Vec<_>>();
        assert_eq!(days("0"), days("7"));
        assert_eq!(days("FRI-SUN"), [Weekday::Friday, Weekday::Saturday, Weekday::Sunday]);
        assert_eq!(days("5-7"), days("FRI-SUN"));
        assert_eq!(days("*").len(), 7);
        assert_eq!(days("*/2"), [Weekday::Tuesday, Weekday::Thursday, Weekday::Saturday, Weekday::Sunday]);
        assert_eq!(days("4/2"), [Weekday::Thursday, Weekday::Saturday]);
    }

    #[test]
    fn macros() {
        assert_eq!(list(Cron::read("@Daily").expect("valid").hours()), [0]);
        assert!(Cron::read("@hourly").expect("valid").every_hour());
        assert!(Cron::read("@reboot").is_err());
    }

    #[test]
    fn what_is_refused_names_the_field() {
        for (text, part) in [
            ("", "five fields"),
            ("* * * *", "4 given"),
            ("0 * * * * *", "no field for seconds"),
            ("60 * * * *", "minute field \"60\""),
            ("-1 * * * *", "minute field"),
            ("*/0 * * * *", "minute field"),
            ("*/60 * * * *", "minute field"),
            ("5-1 * * * *", "minute field"),
            ("1,,2 * * * *", "minute field \"\""),
            ("? * * * *", "minute field"),
            ("1- * * * *", "minute field"),
            ("0x1 * * * *", "minute field"),
            ("99999999999 * * * *", "minute field"),
            ("* 24 * * *", "hour field"),
            ("* L * * *", "hour field"),
            ("* * 0 * *", "day-of-month field"),
            ("* * 32 * *", "day-of-month field"),
            ("* * L-0 * *", "day-of-month field"),
            ("* * L-31 * *", "day-of-month field"),
            ("* * 15W * *", "day-of-month field"),
            ("* * 1#1 * *", "day-of-month field"),
            ("* * * 13 *", "month field"),
            ("* * * january *", "month field"),
            ("* * * * 8", "day-of-week field"),
            ("* * * * 5#0", "day-of-week field"),
            ("* * * * 5#6", "day-of-week field"),
            ("* * * * L", "day-of-week field"),
            ("* * * * monday", "day-of-week field"),
        ] {
            let faults = Cron::read(text).expect_err(text);
            assert!(faults.iter().any(|fault| fault.contains(part)), "{text}: {faults:?}");
        }
        assert_eq!(Cron::read("60 24 0 13 8").expect_err("all wrong").len(), 5);
    }
}
