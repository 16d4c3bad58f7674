//! Durations as people write them: `250ms`, `30s`, `5m`, `2h`, `60d`.

use std::time::Duration;

use serde::{Deserialize, Deserializer, de::Error};

pub(super) fn read<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Duration, D::Error> {
    let text = String::deserialize(deserializer)?;
    parse(&text).ok_or_else(|| {
        D::Error::custom(format!(
            "\"{text}\" is not a duration; allowed: a number and ms, s, m, h or d, such as \"30s\""
        ))
    })
}

/// Writes what [`read`] reads, in the largest unit that has no rest.
pub(crate) fn write(duration: Duration) -> String {
    let units = [("d", 86_400_000), ("h", 3_600_000), ("m", 60_000), ("s", 1000)];
    let milliseconds = duration.as_millis();
    let unit = units.iter().find(|(_, unit)| milliseconds > 0 && milliseconds.is_multiple_of(*unit));
    let (name, unit) = unit.unwrap_or(if milliseconds == 0 { &("s", 1000) } else { &("ms", 1) });
    format!("{}{name}", milliseconds / unit)
}

pub(crate) fn parse(text: &str) -> Option<Duration> {
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    let (number, unit) = text.split_at(digits);
    let number: u64 = number.parse().ok()?;
    let milliseconds = match unit.trim_start() {
        "ms" => 1,
        "s" => 1000,
        "m" => 60_000,
        "h" => 3_600_000,
        "d" => 86_400_000,
        _ => return None,
    };
    number.checked_mul(milliseconds).map(Duration::from_millis)
}

#[cfg(test)]
mod tests {
    use super::{parse, write};
    use std::time::Duration;

    #[test]
    fn what_is_written_is_read() {
        for text in ["250ms", "0s", "30s", "90s", "5m", "2h", "36h", "1d", "60d"] {
            assert_eq!(parse(text).map(write).as_deref(), Some(text));
        }
    }

    #[test]
    fn numbers_with_units() {
        for (text, seconds) in
            [("250ms", 0.25), ("0s", 0.0), ("30s", 30.0), ("5 m", 300.0), ("2h", 7200.0), ("1d", 86400.0)]
        {
            assert_eq!(parse(text), Some(Duration::from_secs_f64(seconds)), "{text}");
        }
        for text in [
            "",
            "s",
            "30",
            "30 seconds",
            "-1s",
            "1.5h",
            "99999999999999999999s",
            "18446744073709551615d",
            "1h30m",
        ] {
            assert_eq!(parse(text), None, "{text}");
        }
    }
}
