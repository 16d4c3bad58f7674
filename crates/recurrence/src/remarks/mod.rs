//! Remarks on a rule: what may surprise whoever wrote it, as sentences without a full stop.
//!
//! A remark says what will happen, never that something is wrong: a rule is always valid. Where nothing can surprise
//! there is no remark, so that those there are get read.
//!
//! ```
//! # use recurrence::{Draft, Occurrence, RecurrenceDraft, Rule};
//! let draft = Draft {
//!     start_time: Some("2027-01-31T10:00:00Z".into()),
//!     recurrence: Some(RecurrenceDraft { frequency: Some("month".into()), ..Default::default() }),
//! };
//! let rule = Rule::build(&draft, "2027-01-01T00:00:00Z".parse()?)?;
//! let shown: Vec<Occurrence> = rule.occurrences().take(10).collect();
//! assert_eq!(rule.remarks(&shown), ["In shorter months it runs on the last day"]);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod clock_changes;

#[cfg(test)]
mod tests;

use jiff::SignedDuration;

use crate::english::words::{list, month};
use crate::english::{Days, Times};
use crate::names::Frequency;
use crate::rule::{Occurrence, Pattern, Recurrence, Rule};
use crate::wall_clock::local_start;
use clock_changes::Outlook;

const DAYS: SignedDuration = SignedDuration::from_hours(24);

/// Yearly runs on a weekday lie up to 371 days apart; only what is clearly more is worth a remark.
const OVER_A_YEAR: i32 = 400;

/// By how many days runs can lie further apart than their interval says: one is early in its month, the next late.
const WITHIN_A_PERIOD: i32 = 32;

/// How far occurrences are counted to find the last one.
const COUNTED: usize = 2000;

impl Rule {
    /// What may surprise about this rule, given the occurrences that are shown with it: the next few, in order.
    pub fn remarks(&self, occurrences: &[Occurrence]) -> Vec<String> {
        let mut remarks = Vec::new();
        let Some(recurrence) = self.recurrence() else {
            remarks.extend(beginning(self, occurrences));
            remarks.extend(rare(self, occurrences));
            return remarks;
        };
        let (start, nanos) = local_start(self);
        let days = Days::of(recurrence, start);
        remarks.extend(beginning(self, occurrences));
        remarks.extend(without_hours(recurrence, Times::of(recurrence, start, nanos)));
        remarks.extend(days.are_of_either_kind().then(|| {
            "It runs when either the day of month or the day of week matches, not only when both do"
                .to_owned()
        }));
        remarks.extend(short_months(&days));
        remarks.extend(rare(self, occurrences));
        if let (Some(first), Some(last)) = (occurrences.first(), occurrences.last()) {
            let counted = recurrence.count.map(|_| farthest(self, last));
            remarks.extend(counted.and_then(|counted| ends_early(self, recurrence, counted)));
            let outlook =
                Outlook::new(self, recurrence, first.at, last.at, counted.map(|counted| counted.at));
            remarks.extend(outlook.moved_runs());
            remarks.extend(outlook.drift());
        }
        remarks
    }
}

/// How a new rule begins, where its start does not say it all.
fn beginning(rule: &Rule, occurrences: &[Occurrence]) -> Option<String> {
    occurrences.first().filter(|first| first.number == 1)?;
    let past = rule.start_time().is_some_and(|start| start < rule.accepted_at());
    let Some(recurrence) = rule.recurrence() else {
        return past.then(|| "The start is past, so it runs at once".to_owned());
    };
    if past {
        return Some("The start is past: the first run is the first slot after now".to_owned());
    }
    let scheduled = matches!(recurrence.pattern(), Pattern::Every { schedule: Some(_), .. });
    match recurrence.count() {
        _ if !rule.runs_at_once() => None,
        Some(1) => Some("The count of 1 is used up by the run at once".to_owned()),
        _ => scheduled.then(|| "No startTime is given, so it also runs once at once".to_owned()),
    }
}

/// Minutes alone mean every hour, which people often do not mean.
fn without_hours(recurrence: &Recurrence, times: Option<Times>) -> Option<String> {
    let Pattern::Every { frequency, schedule: Some(schedule), .. } = recurrence.pattern() else {
        return None;
    };
    let alone = *frequency >= Frequency::Day && schedule.minutes.is_some() && schedule.hours.is_none();
    let times = times.filter(|_| alone)?.count();
    Some(format!("No hours are given, so it runs in every hour of the day: {times} times a day"))
}

/// Days that some months do not have.
fn short_months(days: &Days) -> Option<String> {
    if days.are_clamped() {
        return Some(if days.is_leap_day() {
            "In years without 29 February it runs on 28 February".to_owned()
        } else {
            "In shorter months it runs on the last day".to_owned()
        });
    }
    let lacking = days.lacking()?;
    let names = list(&lacking.days, "or");
    Some(match (lacking.among_others, lacking.month) {
        (false, Some(_)) if days.is_leap_day() => format!("Years without {names} are left out"),
        (false, Some(number)) => format!("Years without {names} in {} are left out", month(number)),
        (false, None) => format!("Months without {names} are left out"),
        (true, _) if lacking.days.len() == 1 => format!("In months without {names} that day is left out"),
        (true, _) => format!("In months without {names} such a day is left out"),
    })
}

/// Runs that are far away, or further apart than the interval says.
fn rare(rule: &Rule, occurrences: &[Occurrence]) -> Option<String> {
    let first = occurrences.first()?;
    if first.number == 1 && first.at.duration_since(rule.accepted_at()) > DAYS * OVER_A_YEAR {
        return Some("The first run is more than a year away".to_owned());
    }
    let interval = match rule.recurrence()?.pattern() {
        Pattern::Every { frequency, interval, .. } => longest_days(*frequency) * i32::from(*interval),
        Pattern::Cron(_) => 0,
    };
    let longest = DAYS * OVER_A_YEAR.max(interval + WITHIN_A_PERIOD);
    let apart = occurrences.windows(2).any(|pair| pair[1].at.duration_since(pair[0].at) > longest);
    apart.then(|| "Some runs are more than a year apart".to_owned())
}

/// How many days a period has at most; those of hours and minutes never make a year.
const fn longest_days(frequency: Frequency) -> i32 {
    match frequency {
        Frequency::Minute | Frequency::Hour => 0,
        Frequency::Day => 1,
        Frequency::Week => 7,
        Frequency::Month => 31,
        Frequency::Year => 366,
    }
}

/// The last occurrence, or one so far away that nobody need know.
fn farthest(rule: &Rule, from: &Occurrence) -> Occurrence {
    std::iter::successors(Some(*from), |last| rule.next(last)).take(COUNTED).last().unwrap_or(*from)
}

fn ends_early(rule: &Rule, recurrence: &Recurrence, last: Occurrence) -> Option<String> {
    let count = recurrence.count().filter(|count| last.number < *count)?;
    recurrence.end_time().filter(|_| rule.next(&last).is_none())?;
    let times = if last.number == 1 { "once".to_owned() } else { format!("{} times", last.number) };
    Some(format!("The end comes before the count: it runs {times}, not {count} times"))
}
