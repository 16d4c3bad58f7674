//! Moments, as people write them on a command line: a date-time, or how long ago.

use recurrence::{DATE_TIME_FORMS, Timestamp, read_date_time};

/// Reads a moment: ISO 8601, or a time before now such as `90m`, `12h`, `2d` or `1w`.
pub(crate) fn read(text: &str, now: Timestamp) -> Result<Timestamp, String> {
    if let Some(at) = read_date_time(text) {
        return Ok(at);
    }
    ago(text)
        .and_then(|seconds| now.checked_sub(jiff::SignedDuration::from_secs(seconds)).ok())
        .ok_or_else(|| format!("expected how long ago, such as 90m, 12h, 2d or 1w, or {DATE_TIME_FORMS}"))
}

/// For clap: by the machine's clock.
pub(crate) fn read_now(text: &str) -> Result<Timestamp, String> {
    read(text, crate::now())
}

fn ago(text: &str) -> Option<i64> {
    let (number, unit) = text.split_at(text.find(|c: char| !c.is_ascii_digit())?);
    let seconds = match unit {
        "s" => 1,
        "m" => 60,
        "h" => 3_600,
        "d" => 86_400,
        "w" => 7 * 86_400,
        _ => return None,
    };
    number.parse::<i64>().ok()?.checked_mul(seconds)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moments() {
        let now = "2027-01-08T00:00:00Z".parse().unwrap();
        for (text, at) in [
            ("90m", "2027-01-07T22:30:00Z"),
            ("1w", "2027-01-01T00:00:00Z"),
            ("0s", "2027-01-08T00:00:00Z"),
            ("2026-12-24", "2026-12-24T00:00:00Z"),
        ] {
            assert_eq!(read(text, now).map(|at| at.to_string()), Ok(at.to_owned()), "{text}");
        }
        for text in ["", "d", "2", "2 d", "-1d", "1y", "99999999999999999999d", "9999999999999d", "yesterday"]
        {
            assert!(read(text, now).is_err(), "{text}");
        }
    }
}
