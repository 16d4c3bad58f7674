//! Cron lines, as the reference reads them: five fields, and the question whether a day fits.

use super::Today;

/// The five fields of a cron line.
pub(super) struct Cron {
    pub(super) minutes: Vec<i64>,
    /// The field is a star: every hour that really elapses.
    pub(super) every_hour: bool,
    pub(super) hours: Vec<i64>,
    month_days: Vec<CronDay>,
    months: Vec<i64>,
    week_days: Vec<CronDay>,
    /// Both day fields name days: then either will do. Otherwise both must fit.
    either_day: bool,
}

/// One day of a cron line's day fields.
enum CronDay {
    /// A day of the month, or a weekday (0 to 7).
    Numbered(i64),
    /// `L`: the last day of the month.
    LastOfMonth,
    /// `5L`: the last such weekday of the month.
    Last(i64),
    /// `5#2`: such a weekday, counted within the month.
    Counted(i64, i64),
}

impl Cron {
    pub(super) fn read(line: &str) -> Self {
        let line = line.to_ascii_lowercase();
        let fields: Vec<&str> = line.split_ascii_whitespace().collect();
        let [minutes, hours, month_days, months, week_days] = fields.as_slice() else {
            panic!("{line} has not five fields")
        };
        let numbers = |field: &str, names: &[&str], first: i64, last: i64| -> Vec<i64> {
            field.split(',').flat_map(|part| cron_numbers(part, names, first, last)).collect()
        };
        let month_names =
            ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"];
        let day_names = ["sun", "mon", "tue", "wed", "thu", "fri", "sat"];
        let month_days_read = month_days.split(',').flat_map(|part| match part {
            "l" => vec![CronDay::LastOfMonth],
            _ => cron_numbers(part, &[], 1, 31).into_iter().map(CronDay::Numbered).collect(),
        });
        let week_days_read = week_days.split(',').flat_map(|part| {
            if let Some((day, which)) = part.split_once('#') {
                vec![CronDay::Counted(cron_number(day, &day_names, 0), which.parse().unwrap())]
            } else if let Some(day) = part.strip_suffix('l') {
                vec![CronDay::Last(cron_number(day, &day_names, 0))]
            } else {
                cron_numbers(part, &day_names, 0, 7).into_iter().map(CronDay::Numbered).collect()
            }
        });
        Self {
            minutes: numbers(minutes, &[], 0, 59),
            every_hour: *hours == "*",
            hours: numbers(hours, &[], 0, 23),
            month_days: month_days_read.collect(),
            months: numbers(months, &month_names, 1, 12),
            week_days: week_days_read.collect(),
            either_day: !month_days.starts_with('*') && !week_days.starts_with('*'),
        }
    }

    pub(super) fn is_chosen(&self, today: Today) -> bool {
        // Monday is 1 in both countings; Sunday is 0 or 7 here.
        let is_weekday = |number: i64| number % 7 == today.weekday() % 7;
        let fits = |day: &CronDay, of_month: bool| match day {
            CronDay::Numbered(number) if of_month => *number == today.day_of_month(),
            CronDay::Numbered(number) => is_weekday(*number),
            CronDay::LastOfMonth => today.day_from_end() == -1,
            CronDay::Last(number) => is_weekday(*number) && today.occurrence_from_end() == -1,
            CronDay::Counted(number, which) => is_weekday(*number) && today.occurrence() == *which,
        };
        let by_month_day = self.month_days.iter().any(|day| fits(day, true));
        let by_week_day = self.week_days.iter().any(|day| fits(day, false));
        let day_fits =
            if self.either_day { by_month_day || by_week_day } else { by_month_day && by_week_day };
        day_fits && self.months.contains(&today.month())
    }
}

/// The numbers of one part of a cron field: `*`, `7`, `1-5`, each of the first and the last also with `/2`.
fn cron_numbers(part: &str, names: &[&str], first: i64, last: i64) -> Vec<i64> {
    let (range, step) = match part.split_once('/') {
        Some((range, step)) => (range, step.parse().unwrap()),
        None => (part, 1),
    };
    let (from, to) = match range.split_once('-') {
        _ if range == "*" => (first, last),
        Some((from, to)) => (cron_number(from, names, first), cron_number(to, names, first)),
        None => {
            assert_eq!(step, 1, "{part}: a step needs a range");
            (cron_number(range, names, first), cron_number(range, names, first))
        }
    };
    (from..=to).step_by(step).collect()
}

fn cron_number(text: &str, names: &[&str], first: i64) -> i64 {
    match names.iter().position(|name| *name == text) {
        Some(position) => first + i64::try_from(position).unwrap(),
        None => text.parse().unwrap(),
    }
}
