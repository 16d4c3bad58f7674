//! Intervals, as texts: ISO 8601 durations as in the documents, TimeSpans as in the recordings.
//!
//! `00:01:00` and `30.00:00:00` were sent and came back (Scenario_JobCreateUpdateDeleteHttpJob,
//! python_test_scheduler_job_custom_time); the documents say `PT1M`. Each client reads only one of the two, so an
//! interval remembers how it was written.

use crate::action::{IntervalForm, RetryInterval};

/// What is read, for faults.
pub const FORMS: &str =
    "whole seconds as an ISO 8601 duration such as PT1M, PT1H30M, P1D or P18M, or as 00:01:00 or 1.00:00:00";

const MINUTE: u64 = 60;
const HOUR: u64 = 60 * MINUTE;
const DAY: u64 = 24 * HOUR;
/// As .NET reads them, in which the old service was written. So 18 months, the documented maximum, are below 548 days.
const MONTH: u64 = 30 * DAY;
const YEAR: u64 = 365 * DAY;

/// Reads an interval of whole seconds.
pub fn read(text: &str) -> Option<RetryInterval> {
    let form = if text.starts_with(['P', 'p']) { IntervalForm::Iso } else { IntervalForm::TimeSpan };
    let seconds = match form {
        IntervalForm::Iso => iso(text),
        IntervalForm::TimeSpan => time_span(text),
    };
    Some(RetryInterval { seconds: seconds?, form })
}

/// Writes an interval the way it was written.
pub fn write(interval: RetryInterval) -> String {
    let RetryInterval { seconds, form } = interval;
    let (days, hours) = (seconds / DAY, seconds % DAY / HOUR);
    let (minutes, seconds) = (seconds % HOUR / MINUTE, seconds % MINUTE);
    match form {
        IntervalForm::TimeSpan if days > 0 => format!("{days}.{hours:02}:{minutes:02}:{seconds:02}"),
        IntervalForm::TimeSpan => format!("{hours:02}:{minutes:02}:{seconds:02}"),
        IntervalForm::Iso => {
            let part = |number: u64, unit: &str| match number {
                0 => String::new(),
                _ => format!("{number}{unit}"),
            };
            let time = [part(hours, "H"), part(minutes, "M"), part(seconds, "S")].concat();
            match (part(days, "D"), time.is_empty()) {
                (days, true) if days.is_empty() => "PT0S".to_owned(),
                (days, true) => format!("P{days}"),
                (days, false) => format!("P{days}T{time}"),
            }
        }
    }
}

/// A month is 30 days and a year 365 days: an interval has a length, wherever in the calendar it begins.
fn iso(text: &str) -> Option<u64> {
    let rest = text.get(1..)?;
    let (date, time) = match rest.split_once(['T', 't']) {
        Some((date, time)) => (date, Some(time).filter(|time| !time.is_empty())?),
        None => (rest, ""),
    };
    if date.is_empty() && time.is_empty() {
        return None;
    }
    parts(date, &[('Y', YEAR), ('M', MONTH), ('W', 7 * DAY), ('D', DAY)])?
        .checked_add(parts(time, &[('H', HOUR), ('M', MINUTE), ('S', 1)])?)
}

/// `1H30M`: numbers with units, each unit at most once and in this order.
fn parts(mut text: &str, units: &[(char, u64)]) -> Option<u64> {
    let mut seconds: u64 = 0;
    let mut units = units.iter();
    while !text.is_empty() {
        let end = text.find(|c: char| c.is_ascii_alphabetic())?;
        let unit = text[end..].chars().next()?.to_ascii_uppercase();
        let (_, length) = units.find(|(name, _)| *name == unit)?;
        let number = match text[..end].split_once(['.', ',']) {
            // PT30.0S is what some clients make of 30 seconds.
            Some((whole, fraction)) if unit == 'S' && is_zero(fraction) => whole,
            Some(_) => return None,
            None => &text[..end],
        };
        seconds = seconds.checked_add(digits(number)?.checked_mul(*length)?)?;
        text = &text[end + 1..];
    }
    Some(seconds)
}

/// `[d.]hh:mm[:ss[.0]]`, as .NET writes it.
fn time_span(text: &str) -> Option<u64> {
    let mut fields = text.split(':');
    let (days_and_hours, minutes) = (fields.next()?, fields.next()?);
    let seconds = fields.next().unwrap_or("0");
    if fields.next().is_some() {
        return None;
    }
    let (days, hours) = days_and_hours.split_once('.').unwrap_or(("0", days_and_hours));
    let seconds = match seconds.split_once('.') {
        Some((whole, fraction)) if is_zero(fraction) => whole,
        Some(_) => return None,
        None => seconds,
    };
    let below = |text: &str, limit: u64| digits(text).filter(|number| *number < limit);
    let time = below(hours, 24)? * HOUR + below(minutes, 60)? * MINUTE + below(seconds, 60)?;
    digits(days)?.checked_mul(DAY)?.checked_add(time)
}

fn digits(text: &str) -> Option<u64> {
    // The parser would take a sign.
    text.bytes().all(|byte| byte.is_ascii_digit()).then(|| text.parse().ok())?
}

fn is_zero(fraction: &str) -> bool {
    !fraction.is_empty() && fraction.bytes().all(|byte| byte == b'0')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_forms_are_read_and_come_back() {
        for (text, seconds, written) in [
            ("00:01:00", 60, "00:01:00"),
            ("1.00:00:00", DAY, "1.00:00:00"),
            ("30.00:00:00", 30 * DAY, "30.00:00:00"),
            ("23:59:59", DAY - 1, "23:59:59"),
            ("0.00:00:15", 15, "00:00:15"),
            ("1:2:3", HOUR + 2 * MINUTE + 3, "01:02:03"),
            ("00:01", 60, "00:01:00"),
            ("00:00:30.0000000", 30, "00:00:30"),
            ("PT1M", 60, "PT1M"),
            ("P1D", DAY, "P1D"),
            ("PT1H30M", 90 * MINUTE, "PT1H30M"),
            ("PT90S", 90, "PT1M30S"),
            ("P1DT12H", DAY + 12 * HOUR, "P1DT12H"),
            ("P2W", 14 * DAY, "P14D"),
            ("P1M", 30 * DAY, "P30D"),
            ("P18M", 540 * DAY, "P540D"),
            ("P1Y6M", 545 * DAY, "P545D"),
            ("p1y2m3w4dt5h", 450 * DAY + 5 * HOUR, "P450DT5H"),
            ("PT0S", 0, "PT0S"),
            ("PT30.0S", 30, "PT30S"),
            ("pt1m", 60, "PT1M"),
        ] {
            let interval = read(text).unwrap_or_else(|| panic!("{text}"));
            assert_eq!((interval.seconds, write(interval).as_str()), (seconds, written), "{text}");
            assert_eq!(read(&write(interval)), Some(interval), "{text}");
        }
    }

    #[test]
    fn nothing_else_is() {
        for text in [
            "",
            "P",
            "PT",
            "P1DT",
            "1M",
            "PT1",
            "PTM",
            "P1M1Y",
            "P0.5M",
            "PT1M1H",
            "PT1M1M",
            "PT0.5S",
            "PT0.5M",
            "-PT1M",
            "PT-1M",
            "PT+1M",
            "60",
            "24:00:00",
            "00:60:00",
            "00:00:60",
            "-00:01:00",
            "00:00:00.5",
            "1.2.00:00:00",
            "00:00:00:00",
            ":1:",
            "P99999999999999999999D",
            "999999999999999999.00:00:00",
            "PT1Mé",
            "Pé",
            "a minute",
        ] {
            assert_eq!(read(text), None, "{text}");
        }
    }
}
