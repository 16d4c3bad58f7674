//! A rule in plain English: one sentence, without a full stop.
//!
//! ```
//! # use recurrence::{Draft, RecurrenceDraft, Rule};
//! let draft = Draft {
//!     start_time: Some("2012-08-04T10:00:00Z".into()),
//!     recurrence: Some(RecurrenceDraft { frequency: Some("week".into()), ..Default::default() }),
//! };
//! let rule = Rule::build(&draft, "2012-08-01T00:00:00Z".parse()?)?;
//! assert_eq!(rule.describe(), "Every Saturday at 10:00 UTC, from 4 August 2012");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! A sentence is made of parts, with commas between: when it runs (`days` and `times`, or steps of elapsed time), what
//! clock changes do to it, from when, until when, how often. All times are those of the rule's zone, which is named
//! with them. The sentence says what was asked for and does not repeat what follows from it: that is left to
//! [`Rule::remarks`].

mod days;
mod times;
pub(crate) mod words;

#[cfg(test)]
mod tests;

pub(crate) use days::Days;
pub(crate) use times::Times;

use crate::civil::DAY;
use crate::names::{Fold, Frequency, Gap};
use crate::rule::{Pattern, Recurrence, Rule};
use crate::wall_clock::{Change, WallClock, local_start};
use crate::zone::Zone;
use times::{TimesPhrase, during, past};
use words::{date, date_and_time, every, sentence, zone_time};

/// How many clock changes are looked at to see whether they can matter: two years with two each.
const CHANGES: usize = 4;

impl Rule {
    /// The rule in plain English, without a full stop.
    pub fn describe(&self) -> String {
        let Some(recurrence) = self.recurrence() else {
            return match self.start_time().filter(|start| *start >= self.accepted_at()) {
                Some(start) => format!("Once, on {}", date_and_time(start, &Zone::utc())),
                None => "Once, at once".to_owned(),
            };
        };
        let at_once = self.runs_at_once();
        if at_once && recurrence.count == Some(1) {
            return "Once, at once".to_owned();
        }
        let (start, nanos) = local_start(self);
        // Nobody asked for the fraction of the moment at which a job was accepted.
        let nanos = if self.start_time().is_some() { nanos } else { 0 };
        let times = Times::of(recurrence, start, nanos);
        let when = match times {
            Some(times) => on_days(&Days::of(recurrence, start), times, &recurrence.zone),
            None => in_steps(recurrence),
        };
        let parts = [
            Some(if at_once { format!("at once, then {}", adverbial(&when)) } else { when }),
            times.and_then(|times| when_clocks_change(self, recurrence, times)),
            from(self, recurrence, start, times.is_none()),
            recurrence.end_time.map(|end| format!("until {}", date_and_time(end, &recurrence.zone))),
            recurrence.count.map(|count| match count {
                1 => "once".to_owned(),
                _ => format!("{count} times{}", if at_once { " in all" } else { "" }),
            }),
        ];
        sentence(&parts.into_iter().flatten().collect::<Vec<_>>().join(", "))
    }
}

/// Days of the calendar with times of day.
fn on_days(days: &Days, times: Times, zone: &Zone) -> String {
    let name = zone_time(zone);
    match times.phrase() {
        TimesPhrase::At(text) => format!("{} at {text} {name}", days.phrase()),
        TimesPhrase::Every { text, ends_with_time } => {
            let zoned = if ends_with_time { format!("{text} {name}") } else { format!("{text}, {name}") };
            let phrase = days.phrase();
            let phrase = phrase.trim_end_matches(',');
            if days.are_all() {
                // Every hour has the same minutes in most zones, and always in UTC.
                if !ends_with_time && *zone == Zone::utc() { text } else { zoned }
            } else if days.come_first() {
                // "every 2 days, every 15 minutes" could be two rhythms; "all day" makes it one within the other.
                format!("{phrase}, {}{zoned}", if ends_with_time { "" } else { "all day " })
            } else {
                format!("{text}, {}, {name}", adverbial(phrase))
            }
        }
    }
}

/// Steps of elapsed time, with the limits that the wall clock sets.
fn in_steps(recurrence: &Recurrence) -> String {
    let Pattern::Every { frequency, interval, schedule } = &recurrence.pattern else { return String::new() };
    let mut text = every((*interval).into(), frequency.name());
    let Some(schedule) = schedule else { return text };
    if let Some(minutes) = schedule.minutes {
        if *frequency == Frequency::Hour {
            text += &format!(" at {}", past(minutes, "and"));
        } else {
            text += &format!(", where that is {} the hour", past(minutes, "or"));
        }
    }
    match schedule.hours {
        Some(hours) => {
            let comma = if schedule.minutes.is_some() { "," } else { "" };
            text + &format!("{comma} {} {}", during(hours), zone_time(&recurrence.zone))
        }
        None if recurrence.zone == Zone::utc() => text,
        None => format!("{text}, {}", zone_time(&recurrence.zone)),
    }
}

/// The days so that they can follow something else: "on the last Friday", but "every Friday".
fn adverbial(days: &str) -> String {
    if days.starts_with("the ") { format!("on {days}") } else { days.to_owned() }
}

/// From when on, by the date alone where its time of day makes no difference.
fn from(rule: &Rule, recurrence: &Recurrence, local: i64, in_steps: bool) -> Option<String> {
    let start = rule.start_time()?;
    let midnight = local - local.rem_euclid(DAY);
    let first = WallClock::of(recurrence, local).next(midnight);
    if in_steps || first.is_some_and(|first| first < local) {
        return Some(format!("from {}", date_and_time(start, &recurrence.zone)));
    }
    Some(format!("from {}", date(local)))
}

/// What clock changes do to it, where that was chosen and can happen.
fn when_clocks_change(rule: &Rule, recurrence: &Recurrence, times: Times) -> Option<String> {
    let from = rule.start_time().unwrap_or(rule.accepted_at()).max(rule.accepted_at());
    let met: Vec<Change> = (Change::after(&recurrence.zone, from).take(CHANGES))
        .filter(|change| {
            times.heed_clock_changes() && times.any_between(change.span().start, change.span().end)
        })
        .collect();
    let gap = match recurrence.dst.gap {
        Gap::Skip if met.iter().any(|change| change.by > 0) => Some("skipped when the clock jumps over it"),
        _ => None,
    };
    let fold = match recurrence.dst.fold {
        Fold::Last if met.iter().any(|change| change.by < 0) => {
            Some("the last time when the clock repeats it")
        }
        Fold::Both if met.iter().any(|change| change.by < 0) => Some("both times when the clock repeats it"),
        _ => None,
    };
    let parts: Vec<&str> = gap.into_iter().chain(fold).collect();
    (!parts.is_empty()).then(|| parts.join(", "))
}
