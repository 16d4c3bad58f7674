//! Times of day in words: "10:00 and 22:00", "every 15 minutes from 09:00 to 16:45".

use super::words::{clock, every, list, spans};
use crate::civil::DAY;
use crate::names::Frequency;
use crate::numbers::Numbers;
use crate::rule::{Pattern, Recurrence};

const ALL_HOURS: Numbers = Numbers::range(0, 23);
const ALL_MINUTES: Numbers = Numbers::range(0, 59);

/// As many times as this are listed one by one; more are drawn together where that can be done.
const LISTED: u32 = 4;

/// Times of day: every hour with every minute, all at the same second.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Times {
    hours: Numbers,
    minutes: Numbers,
    second: i64,
    nanos: i64,
    /// Every hour that passes, whatever the clocks do.
    every_hour: bool,
}

/// How times of day are put.
pub(super) enum TimesPhrase {
    /// To follow the days: "at 10:00 and 22:00".
    At(String),
    /// A rhythm: "every 15 minutes".
    Every {
        text: String,
        /// Whether it ends with a time of day, so that the name of a zone can follow.
        ends_with_time: bool,
    },
}

impl Times {
    /// The times of day of a recurrence that starts at a wall-clock second; `None` where it steps in elapsed time and
    /// the wall clock only limits it.
    pub(crate) fn of(recurrence: &Recurrence, start: i64, nanos: i64) -> Option<Self> {
        let of_day = start.rem_euclid(DAY);
        let second = of_day % 60;
        let hour = Numbers::one((of_day / 3600) as u32);
        let minute = Numbers::one((of_day / 60 % 60) as u32);
        let (frequency, interval, schedule) = match &recurrence.pattern {
            Pattern::Cron(cron) => {
                let (hours, minutes, every_hour) = (cron.hours(), cron.minutes(), cron.every_hour());
                return Some(Self { hours, minutes, second: 0, nanos: 0, every_hour });
            }
            Pattern::Every { frequency, interval, schedule } => (*frequency, *interval, schedule.as_ref()),
        };
        let elapsed = frequency <= Frequency::Hour;
        if elapsed && (interval > 1 || schedule.is_none()) {
            return None;
        }
        let (hours, minutes) = schedule.map_or((None, None), |schedule| (schedule.hours, schedule.minutes));
        let every_hour = elapsed || (hours.is_none() && minutes.is_some());
        let (second, nanos) = if minutes.is_some() { (0, 0) } else { (second, nanos) };
        let hours = hours.unwrap_or(if every_hour { ALL_HOURS } else { hour });
        let minutes = minutes.unwrap_or(if frequency == Frequency::Minute { ALL_MINUTES } else { minute });
        Some(Self { hours, minutes, second, nanos, every_hour })
    }

    /// How many there are on a day.
    pub(crate) fn count(self) -> u32 {
        self.hours.len() * self.minutes.len()
    }

    /// Whether a clock change can move, drop or repeat them.
    pub(crate) fn heed_clock_changes(self) -> bool {
        !self.every_hour
    }

    /// Whether one of them lies between two wall-clock seconds, on whatever day.
    pub(crate) fn any_between(self, from: i64, until: i64) -> bool {
        (from.div_euclid(60)..=until.div_euclid(60)).any(|minute| {
            let at = minute * 60 + self.second;
            let of_day = minute.rem_euclid(DAY / 60) as u32;
            (from..until).contains(&at)
                && self.hours.contains(of_day / 60)
                && self.minutes.contains(of_day % 60)
        })
    }

    pub(super) fn phrase(self) -> TimesPhrase {
        let on_the_minute = self.second == 0 && self.nanos == 0;
        let rhythm = even_step(self.minutes).filter(|step| step * self.minutes.len() == 60);
        let from_zero = self.minutes.contains(0);
        if self.hours == ALL_HOURS && on_the_minute {
            match rhythm {
                Some(step) if from_zero => return rhythmic(every(step, "minute"), false),
                Some(_) => {}
                None if from_zero && self.minutes.len() == 1 => {
                    return rhythmic("every hour on the hour".to_owned(), false);
                }
                None => return rhythmic(format!("every hour at {}", past(self.minutes, "and")), false),
            }
        }
        let even_hours = even_step(self.hours);
        if self.count() > LISTED {
            let (first, last) = self.bounds();
            match rhythm {
                Some(step) if even_hours == Some(1) || self.hours.len() == 1 => {
                    return rhythmic(format!("{} from {first} to {last}", every(step, "minute")), true);
                }
                Some(step) if from_zero => {
                    return rhythmic(format!("{} {}", every(step, "minute"), during(self.hours)), true);
                }
                _ => {}
            }
            if self.minutes.len() > 1 {
                let hours = list(&spans(self.hours, |hour| hour.to_string()), "and");
                return TimesPhrase::At(format!("{} each of the hours {hours}", past(self.minutes, "and")));
            }
            if let Some(step) = even_hours {
                return rhythmic(format!("{} from {first} to {last}", every(step, "hour")), true);
            }
        }
        let each: Vec<String> = (self.hours.iter())
            .flat_map(|hour| self.minutes.iter().map(move |minute| self.clock(hour, minute)))
            .collect();
        TimesPhrase::At(list(&each, "and"))
    }

    /// The first and the last time of a day.
    fn bounds(self) -> (String, String) {
        let first = |numbers: Numbers| numbers.iter().next().unwrap_or_default();
        let last = |numbers: Numbers| numbers.iter().next_back().unwrap_or_default();
        (self.clock(first(self.hours), first(self.minutes)), self.clock(last(self.hours), last(self.minutes)))
    }

    fn clock(self, hour: u32, minute: u32) -> String {
        clock(i64::from(hour) * 3600 + i64::from(minute) * 60 + self.second, self.nanos)
    }
}

fn rhythmic(text: String, ends_with_time: bool) -> TimesPhrase {
    TimesPhrase::Every { text, ends_with_time }
}

/// The distance of numbers that all lie equally far apart.
fn even_step(numbers: Numbers) -> Option<u32> {
    let mut steps = numbers.iter().zip(numbers.iter().skip(1)).map(|(a, b)| b - a);
    let step = steps.next()?;
    steps.all(|other| other == step).then_some(step)
}

/// `0, 15 and 40 minutes past`.
pub(super) fn past(minutes: Numbers, word: &str) -> String {
    let unit = if minutes == Numbers::one(1) { "minute" } else { "minutes" };
    format!("{} {unit} past", list(&spans(minutes, |minute| minute.to_string()), word))
}

/// `during the hours 9 to 17`; a single hour by its bounds.
pub(super) fn during(hours: Numbers) -> String {
    match hours.iter().next() {
        Some(hour) if hours.len() == 1 => format!("between {hour:02}:00 and {hour:02}:59"),
        _ => format!("during the hours {}", list(&spans(hours, |hour| hour.to_string()), "and")),
    }
}
