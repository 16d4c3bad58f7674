//! Days in words: "every Monday", "the last Friday of every month", "every year on 24 December".

use super::words::{SHORTEST_SPAN, every, list, month, ordinal, spans};
use crate::civil::{self, DAY};
use crate::cron::Cron;
use crate::names::{Frequency, Weekday};
use crate::numbers::Numbers;
use crate::rule::{MonthlyOccurrence, Pattern, Recurrence, Schedule};

const ALL_MONTHS: Numbers = Numbers::range(1, 12);

/// As many days as this are looked at one by one; whoever asks for more does not mind that some months lack a few.
const FEW: usize = 4;

/// Which days a recurrence runs on.
#[derive(Debug, Clone)]
pub(crate) struct Days {
    cadence: Cadence,
    /// The months it can meet, 1 to 12.
    months: Numbers,
    /// Days of the month, from the start and then from the end; `None` means any.
    numbers: Option<Vec<i8>>,
    /// Weekdays, from Monday, within the month or all of them; `None` means any.
    weekdays: Option<Vec<MonthlyOccurrence>>,
    /// Whether a day of either kind is enough; else it must be of both.
    either: bool,
    /// The day of the start, which stands for the month's last day where the month is too short.
    start_day: Option<u32>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Cadence {
    Days(u32),
    Weeks(u32),
    Months(u32),
    /// Some months of every year.
    Years,
}

/// Days that some of the months do not have.
pub(crate) struct Lacking {
    /// Their names with "a": "a 31st", "a fifth Friday".
    pub(crate) days: Vec<String>,
    /// Whether the rule has other days too.
    pub(crate) among_others: bool,
    /// The month, where there is only one: then it is years that lack them.
    pub(crate) month: Option<u32>,
}

impl Days {
    /// The days of a recurrence that starts at a wall-clock second.
    pub(crate) fn of(recurrence: &Recurrence, start: i64) -> Self {
        let day = start.div_euclid(DAY);
        let (frequency, interval, schedule) = match &recurrence.pattern {
            Pattern::Cron(cron) => return Self::of_cron(cron),
            Pattern::Every { frequency, interval, schedule } => (*frequency, *interval, schedule.clone()),
        };
        let interval = u32::from(interval);
        let schedule = schedule.unwrap_or_default();
        let any = Self::any(Cadence::Months(1), ALL_MONTHS);
        match frequency {
            // With an interval of 1 and a schedule these two run by the wall clock, every day.
            Frequency::Minute | Frequency::Hour => any,
            Frequency::Day if interval == 1 => any,
            Frequency::Day => Self::any(Cadence::Days(interval), ALL_MONTHS),
            Frequency::Week => {
                let cadence = if interval == 1 { Cadence::Months(1) } else { Cadence::Weeks(interval) };
                let of_start = || vec![Weekday::ALL[civil::weekday(day) as usize]];
                let weekdays = schedule.week_days.unwrap_or_else(of_start).into_iter().map(each).collect();
                Self { weekdays: Some(weekdays), ..Self::any(cadence, ALL_MONTHS) }.simplified()
            }
            Frequency::Month => {
                let origin = civil::month_of(day).0.rem_euclid(12) as u32;
                let months = (0..12).map(|step| (origin + step * interval) % 12 + 1).collect();
                Self::of_month(Cadence::Months(interval), months, schedule, day)
            }
            Frequency::Year => {
                let of_start = || Numbers::one(civil::month_of(day).0.rem_euclid(12) as u32 + 1);
                let months = schedule.months.unwrap_or_else(of_start);
                Self::of_month(in_months(months), months, schedule, day)
            }
        }
    }

    fn of_month(cadence: Cadence, months: Numbers, schedule: Schedule, start: i64) -> Self {
        let (numbers, weekdays) = (schedule.month_days, schedule.monthly_occurrences);
        let by_start = numbers.is_none() && weekdays.is_none();
        let start_day = by_start.then(|| civil::month_of(start).1 as u32);
        Self { numbers, weekdays, start_day, ..Self::any(cadence, months) }.simplified()
    }

    fn of_cron(cron: &Cron) -> Self {
        let from_start = cron.month_days().iter().map(|day| day as i8);
        let from_end = cron.last_days().iter().map(|before| -(before as i8) - 1);
        let weekdays = cron.week_days().map(each).chain(cron.nth_week_days().iter().copied());
        Self {
            numbers: Some(from_start.chain(from_end).collect()),
            weekdays: Some(weekdays.collect()),
            either: !cron.any_month_day() && !cron.any_week_day(),
            ..Self::any(in_months(cron.months()), cron.months())
        }
        .simplified()
    }

    fn any(cadence: Cadence, months: Numbers) -> Self {
        Self { cadence, months, numbers: None, weekdays: None, either: false, start_day: None }
    }

    /// The same days, put in order, and without lists that leave nothing out.
    fn simplified(mut self) -> Self {
        if let Some(numbers) = &mut self.numbers {
            numbers.sort_unstable_by_key(|number| (*number < 0, *number));
        }
        self.numbers = self.numbers.filter(|numbers| !(1..=31).all(|number| numbers.contains(&number)));
        if let Some(weekdays) = &mut self.weekdays {
            let whole: Vec<Weekday> =
                weekdays.iter().filter(|day| day.occurrence.is_none()).map(|day| day.day).collect();
            weekdays.retain(|day| day.occurrence.is_none() || !whole.contains(&day.day));
            weekdays.sort_unstable_by_key(|day| (day.day, day.occurrence.map(|nth| (nth < 0, nth))));
            weekdays.dedup();
        }
        let weeks = matches!(self.cadence, Cadence::Weeks(_));
        self.weekdays =
            self.weekdays.filter(|days| weeks || !Weekday::ALL.iter().all(|day| days.contains(&each(*day))));
        if self.either && (self.numbers.is_none() || self.weekdays.is_none()) {
            (self.numbers, self.weekdays) = (None, None);
        }
        self.either &= self.numbers.is_some();
        self
    }

    /// Whether it is plainly every day.
    pub(super) fn are_all(&self) -> bool {
        self.cadence == Cadence::Months(1)
            && self.numbers.is_none()
            && self.weekdays.is_none()
            && self.start_day.is_none()
    }

    /// Whether the phrase names its own rhythm, so that it reads best before that of the times.
    pub(super) fn come_first(&self) -> bool {
        self.cadence != Cadence::Months(1) || self.start_day.is_some()
    }

    /// Whether a day need be of one of two kinds only.
    pub(crate) fn are_of_either_kind(&self) -> bool {
        self.either
    }

    /// The days that some months lack, and that are left out there.
    pub(crate) fn lacking(&self) -> Option<Lacking> {
        if self.numbers.is_some() && self.weekdays.is_some() && !self.either {
            return None;
        }
        let numbers =
            self.numbers.iter().flatten().filter(|day| u32::from(day.unsigned_abs()) > self.shortest());
        let weekdays = self.weekdays.iter().flatten().filter(|day| matches!(day.occurrence, Some(5 | -5)));
        let number = |day: &i8| {
            if self.is_leap_day() { "29 February".to_owned() } else { format!("a {}", counted(*day)) }
        };
        let days: Vec<String> =
            numbers.map(number).chain(weekdays.map(|day| format!("a {}", nth_weekday(*day)))).collect();
        let all = self.numbers.iter().flatten().count() + self.weekdays.iter().flatten().count();
        let month = self.months.iter().next().filter(|_| self.months.len() == 1);
        (!days.is_empty() && all <= FEW).then_some(Lacking { among_others: all > days.len(), days, month })
    }

    /// Whether the day of the start is more than some of the months have.
    pub(crate) fn are_clamped(&self) -> bool {
        self.start_day.is_some_and(|day| day > self.shortest())
    }

    /// 29 February and no other day.
    pub(crate) fn is_leap_day(&self) -> bool {
        let only = self.numbers.as_deref() == Some(&[29]) && self.weekdays.is_none();
        self.months == Numbers::one(2) && (only || self.start_day == Some(29))
    }

    /// The least length of its months.
    fn shortest(&self) -> u32 {
        // 2027 is no leap year.
        self.months
            .iter()
            .map(|month| civil::length(12 * 2027 + i64::from(month) - 1) as u32)
            .min()
            .unwrap_or(31)
    }

    /// In words, in lower case; with a comma at the end where one must follow.
    pub(super) fn phrase(&self) -> String {
        if let Some(day) = self.start_day {
            return self.day_of_start(day);
        }
        match (self.cadence, &self.numbers, &self.weekdays) {
            (Cadence::Days(interval), ..) => every(interval, "day"),
            (Cadence::Weeks(interval), _, weekdays) => {
                let weekdays: Numbers = weekdays.iter().flatten().map(|day| day.day as u32).collect();
                match span_of_weekdays(weekdays, false) {
                    Some(span) => format!("{}, {span}", every(interval, "week")),
                    None => format!("{} on {}", every(interval, "week"), weekday_list(weekdays, "and")),
                }
            }
            (_, None, None) => self.on_each("every day".to_owned()),
            (_, Some(numbers), None) => match self.dates(numbers) {
                Some(dates) => dates,
                None => self.of_months(&numbered(numbers, "and")),
            },
            (_, None, Some(weekdays)) => match whole_weekdays(weekdays) {
                Some(whole) => self.on_each(match span_of_weekdays(whole, true) {
                    Some(span) => span,
                    None => format!("every {}", weekday_list(whole, "and")),
                }),
                None => self.of_months(&nth_weekdays(weekdays)),
            },
            (_, Some(numbers), Some(weekdays)) if self.either => self.either_of(numbers, weekdays),
            (_, Some(numbers), Some(weekdays)) => self.weekdays_on(weekdays, &numbered(numbers, "or")),
        }
    }

    /// The day of the start, month by month or year by year.
    fn day_of_start(&self, day: u32) -> String {
        let number = [day as i8];
        match self.cadence {
            Cadence::Months(interval) => {
                let text = format!("{} on the {}", every(interval, "month"), ordinal(day));
                if self.are_clamped() {
                    text + ", or the month's last day where there is none,"
                } else {
                    text
                }
            }
            _ if self.is_leap_day() => {
                "every year on 29 February, or 28 February where there is none,".to_owned()
            }
            _ if self.are_clamped() => format!(
                "every year on the {} of {}, or the month's last day where there is none,",
                ordinal(day),
                self.each_month("and")
            ),
            _ => self.dates(&number).unwrap_or_else(|| self.of_months(&numbered(&number, "and"))),
        }
    }

    /// "every year on 24 December": a few days of a few months by their dates, where every year has them.
    fn dates(&self, numbers: &[i8]) -> Option<String> {
        if self.is_leap_day() {
            return Some("every leap year on 29 February".to_owned());
        }
        let few = self.months.len() as usize * numbers.len() <= FEW;
        let exist = numbers.iter().all(|day| *day > 0 && u32::from(day.unsigned_abs()) <= self.shortest());
        (self.cadence == Cadence::Years && few && exist).then(|| {
            let dates: Vec<String> = (self.months.iter())
                .flat_map(|number| numbers.iter().map(move |day| format!("{day} {}", month(number))))
                .collect();
            format!("every year on {}", list(&dates, "and"))
        })
    }

    /// Days of each week, in those months.
    fn on_each(&self, days: String) -> String {
        match self.cadence {
            Cadence::Years => format!("{days} {}", self.in_months()),
            Cadence::Months(interval) if interval > 1 => format!("{} on {days}", every(interval, "month")),
            _ => days,
        }
    }

    /// Days of the month, in those months, with a word on months that lack them.
    fn of_months(&self, days: &str) -> String {
        let lacking = self.lacking().filter(|_| !self.either);
        let single = lacking.as_ref().is_some_and(|lacking| !lacking.among_others && lacking.days.len() == 1);
        let (text, clause) = match self.cadence {
            Cadence::Years => (
                format!("every year on {days} of {}", self.each_month("and")),
                if self.months.len() == 1 {
                    ", in years that have one,"
                } else {
                    ", in months that have one,"
                },
            ),
            Cadence::Months(interval) if interval > 1 => {
                (format!("{} on {days}", every(interval, "month")), ", in months that have one,")
            }
            _ => (format!("{days} of every month"), " that has one,"),
        };
        match lacking {
            None => text,
            Some(_) if single => text + clause,
            Some(_) => text + ", as far as the month has them,",
        }
    }

    /// Days of the month, and weekdays besides.
    fn either_of(&self, numbers: &[i8], weekdays: &[MonthlyOccurrence]) -> String {
        let numbers = numbered(numbers, "and");
        let whole = whole_weekdays(weekdays).map(|whole| format!("every {}", weekday_list(whole, "and")));
        match (self.cadence, whole) {
            (Cadence::Years, whole) => {
                let weekdays = whole.unwrap_or_else(|| nth_weekdays(weekdays));
                format!("{}, {numbers} and also {weekdays},", self.in_months())
            }
            (_, Some(whole)) => format!("{} and also {whole},", self.of_months(&numbers)),
            (_, None) => self.of_months(&format!("{numbers} and also {}", nth_weekdays(weekdays))) + ",",
        }
    }

    /// Weekdays that are at the same time days of the month: Friday the 13th.
    fn weekdays_on(&self, weekdays: &[MonthlyOccurrence], numbers: &str) -> String {
        let Some(whole) = whole_weekdays(weekdays) else {
            let text = self.of_months(&nth_weekdays(weekdays));
            return format!("{}, when that is {numbers},", text.trim_end_matches(','));
        };
        let days = format!("every {} that is {numbers}", weekday_list(whole, "or"));
        match self.cadence {
            Cadence::Years => format!("{days} of {}", self.each_month("or")),
            Cadence::Months(interval) if interval > 1 => format!("{} on {days}", every(interval, "month")),
            _ => format!("{days} of the month"),
        }
    }

    /// `in January and March`, `from March to September`.
    fn in_months(&self) -> String {
        match self.month_span() {
            Some(span) => format!("from {span}"),
            None => format!("in {}", list(&self.month_names(), "and")),
        }
    }

    /// `January and March`, `each month from March to September`.
    fn each_month(&self, word: &str) -> String {
        match self.month_span() {
            Some(span) => format!("each month from {span}"),
            None => list(&self.month_names(), word),
        }
    }

    fn month_span(&self) -> Option<String> {
        let mut spans = spans(self.months, month);
        spans.pop().filter(|_| spans.is_empty() && self.months.len() > 1)
    }

    fn month_names(&self) -> Vec<String> {
        self.months.iter().map(month).collect()
    }
}

fn each(day: Weekday) -> MonthlyOccurrence {
    MonthlyOccurrence { day, occurrence: None }
}

fn in_months(months: Numbers) -> Cadence {
    if months == ALL_MONTHS { Cadence::Months(1) } else { Cadence::Years }
}

/// The weekdays, if all of them are meant, not one of the month.
fn whole_weekdays(days: &[MonthlyOccurrence]) -> Option<Numbers> {
    days.iter().all(|day| day.occurrence.is_none()).then(|| days.iter().map(|day| day.day as u32).collect())
}

/// `Monday to Friday`, where the days are one long row; on into the next week only where every week counts.
fn span_of_weekdays(days: Numbers, into_next_week: bool) -> Option<String> {
    let length = days.len();
    let first = (0..7).find(|first| {
        (0..length).all(|step| days.contains((first + step) % 7)) && (into_next_week || first + length <= 7)
    })?;
    let name = |day: u32| Weekday::ALL[day as usize % 7].name();
    (length >= SHORTEST_SPAN).then(|| format!("{} to {}", name(first), name(first + length - 1)))
}

fn weekday_list(days: Numbers, word: &str) -> String {
    let names: Vec<&str> = days.iter().map(|day| Weekday::ALL[day as usize].name()).collect();
    list(&names, word)
}

/// `the first and last Friday`, `the first Monday and every Friday`.
fn nth_weekdays(days: &[MonthlyOccurrence]) -> String {
    let groups: Vec<String> = (days.chunk_by(|a, b| a.day == b.day))
        .map(|group| {
            let which: Vec<String> = group.iter().filter_map(|day| day.occurrence).map(nth).collect();
            let day = group[0].day;
            if which.is_empty() {
                format!("every {day}")
            } else {
                format!("the {} {day}", list(&which, "and"))
            }
        })
        .collect();
    list(&groups, "and")
}

/// `fifth Friday`.
fn nth_weekday(day: MonthlyOccurrence) -> String {
    format!("{} {}", nth(day.occurrence.unwrap_or(1)), day.day)
}

/// `first`, `last`, `second-to-last`.
fn nth(which: i8) -> String {
    const WORDS: [&str; 5] = ["first", "second", "third", "fourth", "fifth"];
    let word = WORDS[usize::from(which.unsigned_abs().clamp(1, 5)) - 1];
    match which {
        -1 => "last".to_owned(),
        ..-1 => format!("{word}-to-last"),
        _ => word.to_owned(),
    }
}

/// `the 1st, the 15th and the last day`; long rows of days drawn together.
fn numbered(days: &[i8], word: &str) -> String {
    let from_start: Numbers = days.iter().filter(|day| **day > 0).map(|day| *day as u32).collect();
    let from_end: Vec<i8> = days.iter().filter(|day| **day < 0).copied().collect();
    if let (Some(first), Some(second), [.., last]) = (days.first(), days.get(1), days) {
        let step = second - first;
        let even = days.windows(2).all(|pair| pair[1] - pair[0] == step);
        if word == "and" && days.len() > FEW && from_end.is_empty() && step > 1 && even {
            return format!(
                "every {} day from the {} to the {}",
                ordinal(step as u32),
                counted(*first),
                counted(*last)
            );
        }
    }
    let mut items = spans(from_start, |day| format!("the {}", ordinal(day)));
    items.extend(from_end.into_iter().map(|day| format!("the {}", counted(day))));
    list(&items, word)
}

/// `31st`, `last day`, `3rd-to-last day`.
fn counted(day: i8) -> String {
    match day {
        -1 => "last day".to_owned(),
        ..-1 => format!("{}-to-last day", ordinal(day.unsigned_abs().into())),
        _ => ordinal(day as u32),
    }
}
