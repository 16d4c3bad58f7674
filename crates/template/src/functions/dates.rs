//! Functions on date-times.
//!
//! As in Azure, a year is 365 days and a month 30, and a result has the form of what it was made from.

use jiff::civil::DateTime;
use jiff::fmt::strtime;
use jiff::tz::TimeZone;
use jiff::{SignedDuration, Span, Timestamp};
use serde_json::Value;

use super::{Answer, Arguments};
use crate::evaluate::Evaluation;
use crate::fault::Raised;

/// The form of `utcNow`.
const COMPACT: &str = "yyyyMMddTHHmmssZ";
const EXTENDED: &str = "yyyy-MM-ddTHH:mm:ssZ";
const SPACED: &str = "yyyy-MM-dd HH:mm:ssZ";

/// Letters of a form: what they are, and how `strftime` calls it. Longer ones first.
const LETTERS: [(&str, &str); 20] = [
    ("yyyy", "%Y"),
    ("yy", "%y"),
    ("MMMM", "%B"),
    ("MMM", "%b"),
    ("MM", "%m"),
    ("M", "%-m"),
    ("dddd", "%A"),
    ("ddd", "%a"),
    ("dd", "%d"),
    ("d", "%-d"),
    ("HH", "%H"),
    ("H", "%-H"),
    ("hh", "%I"),
    ("h", "%-I"),
    ("mm", "%M"),
    ("m", "%-M"),
    ("ss", "%S"),
    ("s", "%-S"),
    ("tt", "%p"),
    ("zzz", "+00:00"),
];

pub(super) fn call(evaluation: &Evaluation, name: &str, arguments: &Arguments<'_>) -> Answer {
    Some(match name {
        "utcnow" => utc_now(evaluation, arguments),
        "datetimeadd" => add(arguments),
        _ => return None,
    })
}

fn utc_now(evaluation: &Evaluation, arguments: &Arguments<'_>) -> Result<Value, Raised> {
    arguments.count(0, 1)?;
    let form = if arguments.len() == 1 { arguments.text(0)? } else { COMPACT };
    write(evaluation.now, form).ok_or_else(|| unknown_form(arguments, 0))
}

fn add(arguments: &Arguments<'_>) -> Result<Value, Raised> {
    arguments.count(2, 3)?;
    let (at, form) = read(arguments.text(0)?).ok_or_else(|| {
        arguments.raised(0, "the text is not an ISO 8601 date-time such as 2027-01-01T00:00:00Z")
    })?;
    let duration = duration(arguments.text(1)?)
        .ok_or_else(|| arguments.raised(1, "the text is not an ISO 8601 duration such as P1D or -PT1H30M"))?;
    let later = at
        .checked_add(duration)
        .map_err(|_| arguments.raised(1, "the result is beyond the years from -9999 to 9999"))?;
    let form = if arguments.len() == 3 { arguments.text(2)? } else { form };
    write(later, form).ok_or_else(|| unknown_form(arguments, 2))
}

fn unknown_form(arguments: &Arguments<'_>, place: usize) -> Raised {
    arguments.raised(
        place,
        "the form is not known here; allowed: letters such as yyyy-MM-ddTHH:mm:ssZ, or u, s or o",
    )
}

/// An instant and the form it is written in; without an offset it is UTC.
fn read(text: &str) -> Option<(Timestamp, &'static str)> {
    let compact = strtime::parse("%Y%m%dT%H%M%SZ", text).and_then(|broken| broken.to_datetime());
    if let Ok(at) = compact {
        return utc(at).map(|at| (at, COMPACT));
    }
    let form = if text.contains(' ') { SPACED } else { EXTENDED };
    let at = text.parse::<Timestamp>().ok().or_else(|| utc(text.parse().ok()?))?;
    Some((at, form))
}

fn utc(at: DateTime) -> Option<Timestamp> {
    at.to_zoned(TimeZone::UTC).ok().map(|at| at.timestamp())
}

fn duration(text: &str) -> Option<SignedDuration> {
    let is_iso = text.trim_start_matches(['-', '+']).starts_with('P');
    let span: Span = text.parse().ok().filter(|_| is_iso)?;
    let days = i64::from(span.get_years()) * 365
        + i64::from(span.get_months()) * 30
        + i64::from(span.get_weeks()) * 7
        + i64::from(span.get_days());
    let time = span.years(0).months(0).weeks(0).days(0);
    let time = SignedDuration::try_from(time).ok()?;
    SignedDuration::try_from_hours(days * 24)?.checked_add(time)
}

/// A date-time in a form of .NET; `None` where the form is not one of those that are known.
fn write(at: Timestamp, form: &str) -> Option<Value> {
    let form = match form {
        "u" => SPACED,
        "s" => "yyyy-MM-ddTHH:mm:ss",
        "o" | "O" => "yyyy-MM-ddTHH:mm:ss.fffffffZ",
        "d" => "MM/dd/yyyy",
        "T" => "HH:mm:ss",
        form if form.len() < 2 || form.len() > 100 => return None,
        form => form,
    };
    let at = at.to_zoned(TimeZone::UTC);
    let mut text = String::new();
    let mut rest = form;
    while let Some(letter) = rest.chars().next() {
        let run = rest.len() - rest.trim_start_matches(letter).len();
        if letter == '\'' {
            let (quoted, after) = rest[1..].split_once('\'')?;
            text.push_str(quoted);
            rest = after;
        } else if letter == 'f' {
            let digits = format!("{:09}", at.subsec_nanosecond());
            text.push_str(digits.get(..run)?);
            rest = &rest[run..];
        } else if let Some((name, directive)) = LETTERS.iter().find(|(name, _)| rest.starts_with(name)) {
            text.push_str(&at.strftime(directive).to_string());
            rest = &rest[name.len()..];
        } else if letter.is_ascii_alphabetic() && !"TZ".contains(letter) {
            return None;
        } else {
            text.push(letter);
            rest = &rest[letter.len_utf8()..];
        }
    }
    Some(text.into())
}
