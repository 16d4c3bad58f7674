//! Date-times as text: ISO 8601 in the forms the API reads.

use crate::{Timestamp, civil};

/// The forms that [`read_date_time`] reads, for fault messages.
pub const DATE_TIME_FORMS: &str = "an ISO 8601 date-time such as 2027-03-28T02:30:00Z, 2027-03-28T02:30+01:00 \
     or 2027-03-28 (UTC where no offset is given)";

/// The API keeps seven digits of a second.
const TICK: i64 = 100;

/// Reads a date-time: with or without seconds, fraction or offset, or a bare date.
///
/// No offset means UTC; a bare date is its midnight. A fraction is rounded to seven digits.
///
/// ```
/// let read = |text| recurrence::read_date_time(text).map(|at| at.to_string());
/// assert_eq!(read("2012-11-04").as_deref(), Some("2012-11-04T00:00:00Z"));
/// assert_eq!(read("2012-11-04T05:15+02:00").as_deref(), Some("2012-11-04T03:15:00Z"));
/// assert_eq!(read("2016-03-30T18:33:55.9049999999999999Z").as_deref(), Some("2016-03-30T18:33:55.905Z"));
/// assert_eq!(read("2012-02-30"), None);
/// ```
pub fn read_date_time(text: &str) -> Option<Timestamp> {
    let (seconds, nanos) = scan(text)?;
    Timestamp::new(seconds, nanos).ok()
}

/// Whether a text is a date-time of the year 9999 that no instant can say, since its last day is not the same day in
/// every zone. Clients on .NET write `9999-12-31T23:59:59.9999999Z` for an end that never comes.
pub(crate) fn is_end_of_time(text: &str) -> bool {
    let year_10000 = (civil::LAST_DAY + 1) * civil::DAY;
    scan(text).is_some_and(|(seconds, nanos)| seconds < year_10000 && Timestamp::new(seconds, nanos).is_err())
}

/// The second and nanosecond of a date-time.
fn scan(text: &str) -> Option<(i64, i32)> {
    let mut rest = Scanner(text.as_bytes());
    let year = rest.digits(4)?;
    rest.byte(b"-")?;
    let month = rest.digits(2).filter(|month| (1..=12).contains(month))?;
    rest.byte(b"-")?;
    let day = rest.digits(2)?;
    let longest = civil::length(year * 12 + month - 1);
    if year == 0 || day == 0 || day > longest {
        return None;
    }
    let mut seconds = civil::day_of(year, month, day) * civil::DAY;
    let mut nanos = 0;
    if rest.byte(b"Tt ").is_some() {
        seconds += rest.digits(2).filter(|hour| *hour < 24)? * 3600;
        rest.byte(b":")?;
        seconds += rest.digits(2).filter(|minute| *minute < 60)? * 60;
        if rest.byte(b":").is_some() {
            seconds += rest.digits(2).filter(|second| *second < 60)?;
            if rest.byte(b".,").is_some() {
                nanos = rest.fraction()?;
            }
        }
        seconds -= rest.offset()?;
    }
    if !rest.0.is_empty() {
        return None;
    }
    Some((seconds + nanos / 1_000_000_000, (nanos % 1_000_000_000) as i32))
}

/// Cuts a timestamp to what the API can write, so that what is stored is what is shown.
pub(crate) fn whole_ticks(at: Timestamp) -> Timestamp {
    let (seconds, nanos) = split(at);
    Timestamp::new(seconds, (nanos - nanos % TICK) as i32).unwrap_or(at)
}

/// Seconds, rounded down, and the nanoseconds above them; never negative nanoseconds.
pub(crate) fn split(at: Timestamp) -> (i64, i64) {
    let (seconds, nanos) = (at.as_second(), i64::from(at.subsec_nanosecond()));
    if nanos < 0 { (seconds - 1, nanos + 1_000_000_000) } else { (seconds, nanos) }
}

struct Scanner<'a>(&'a [u8]);

impl Scanner<'_> {
    fn byte(&mut self, any_of: &[u8]) -> Option<u8> {
        let (first, rest) = self.0.split_first()?;
        any_of.contains(first).then(|| {
            self.0 = rest;
            *first
        })
    }

    fn digits(&mut self, count: usize) -> Option<i64> {
        let (digits, rest) = self.0.split_at_checked(count)?;
        if !digits.iter().all(u8::is_ascii_digit) {
            return None;
        }
        self.0 = rest;
        Some(digits.iter().fold(0, |number, digit| number * 10 + i64::from(digit - b'0')))
    }

    /// Nanoseconds, rounded to a tick; a whole second when `.99999999` is rounded up.
    fn fraction(&mut self) -> Option<i64> {
        let count = self.0.iter().take_while(|byte| byte.is_ascii_digit()).count();
        let (digits, rest) = self.0.split_at(count);
        self.0 = rest;
        if digits.is_empty() {
            return None;
        }
        let digit = |i: usize| digits.get(i).map_or(0, |digit| i64::from(digit - b'0'));
        let ticks = (0..7).fold(0, |ticks, i| ticks * 10 + digit(i));
        Some((ticks + i64::from(digit(7) >= 5)) * TICK)
    }

    /// Seconds east of UTC; nothing at all means UTC.
    fn offset(&mut self) -> Option<i64> {
        if self.0.is_empty() || self.byte(b"Zz").is_some() {
            return Some(0);
        }
        let sign = if self.byte(b"+-")? == b'-' { -1 } else { 1 };
        let hours = self.digits(2).filter(|hours| *hours < 24)?;
        let minutes = if self.0.is_empty() {
            0
        } else {
            let _ = self.byte(b":");
            self.digits(2).filter(|minutes| *minutes < 60)?
        };
        Some(sign * (hours * 3600 + minutes * 60))
    }
}

#[cfg(test)]
mod tests {
    use super::{is_end_of_time, read_date_time};

    #[test]
    fn forms_that_are_read() {
        for (text, utc) in [
            ("2012-11-04", "2012-11-04T00:00:00Z"),
            ("2012-11-04T05:15", "2012-11-04T05:15:00Z"),
            ("2012-11-04 05:15:07", "2012-11-04T05:15:07Z"),
            ("2012-11-04t05:15:07.5z", "2012-11-04T05:15:07.5Z"),
            ("2012-11-04T05:15:07.1234567Z", "2012-11-04T05:15:07.1234567Z"),
            ("2012-11-04T05:15:07.12345674Z", "2012-11-04T05:15:07.1234567Z"),
            ("2012-12-31T23:59:59.99999995Z", "2013-01-01T00:00:00Z"),
            ("2012-11-04T05:15:07-08:00", "2012-11-04T13:15:07Z"),
            ("2012-11-04T05:15:07+0530", "2012-11-03T23:45:07Z"),
            ("2012-11-04T05:15+02", "2012-11-04T03:15:00Z"),
            ("1969-12-31T23:59:59.5Z", "1969-12-31T23:59:59.5Z"),
            ("2024-02-29", "2024-02-29T00:00:00Z"),
        ] {
            assert_eq!(read_date_time(text).map(|at| at.to_string()).as_deref(), Some(utc), "{text}");
        }
    }

    #[test]
    fn the_end_of_time() {
        for text in [
            "9999-12-31T23:59:59Z",
            "9999-12-31T23:59:59.9999999Z",
            "9999-12-31",
            "9999-12-31T23:59:59+14:00",
        ] {
            assert!(is_end_of_time(text) && read_date_time(text).is_none(), "{text}");
        }
        for text in [
            "9999-12-30",
            "2027-01-01",
            "9999-12-31T23:59:59-00:01",
            "9999-12-31T23:59:59.99999995Z",
            "soon",
            "",
        ] {
            assert!(!is_end_of_time(text), "{text}");
        }
    }

    #[test]
    fn forms_that_are_refused() {
        for text in [
            "",
            "tomorrow",
            "2012",
            "2012-11",
            "2012-13-01",
            "2012-00-01",
            "2012-11-31",
            "2023-02-29",
            "0000-01-01",
            "2012-11-04T",
            "2012-11-04T5:15",
            "2012-11-04T24:00",
            "2012-11-04T05:60",
            "2012-11-04T05:15:60Z",
            "2012-11-04T05:15:07.Z",
            "2012-11-04T05:15:07ZZ",
            "2012-11-04T05:15:07+25:00",
            "2012-11-04T05:15:07+",
            "2012-11-04Z",
            "20121104T051507Z",
            "2012-11-04T05:15:07 Z",
            "+2012-11-04",
            "2012-11-04T05:15:07+02:60",
            "9999-12-31T23:59:59-23:59",
            "２０12-11-04",
        ] {
            assert_eq!(read_date_time(text), None, "{text}");
        }
    }
}
