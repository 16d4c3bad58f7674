//! Occurrences as people read them: the wall clock, UTC, and how far apart.

use std::io::{self, Write};

use jiff::tz::{Offset, TimeZone};
use recurrence::{Occurrence, Rule, Timestamp, Zone};

use crate::style::Style;

/// Writes the table. The column of the wall clock is left out where it would say the same as UTC.
pub(crate) fn write(
    out: &mut impl Write,
    style: Style,
    rule: &Rule,
    occurrences: &[Occurrence],
) -> io::Result<()> {
    let zone = rule.zone();
    let local = zone != Zone::utc();
    let mut previous = None;
    let rows = occurrences.iter().map(|Occurrence { number, at }| {
        let distance = match previous.replace(*at) {
            Some(previous) => distance(previous, *at),
            None if *at == rule.accepted_at() => "now".to_owned(),
            None => format!("in {}", distance(rule.accepted_at(), *at)),
        };
        let utc = wire::date_time::write(*at);
        let mut cells = vec![number.to_string()];
        if local {
            cells.extend([wall_clock(*at, zone.offset_at(*at)), utc]);
        } else {
            cells.push(format!("{} {utc}", at.to_zoned(TimeZone::UTC).strftime("%a")));
        }
        cells.push(distance);
        cells
    });
    let rows: Vec<Vec<String>> = rows.collect();

    let mut heading = vec!["#", "UTC", "distance"];
    if local {
        heading.insert(1, zone.name());
    }
    let width = |column: usize| {
        let cells = rows.iter().map(|row| row[column].chars().count());
        cells.chain([heading[column].len()]).max().unwrap_or_default()
    };
    let widths: Vec<usize> = (0..heading.len()).map(width).collect();
    let Style { bold, plain, .. } = style;
    writeln!(out, "{bold}{}{plain}", line(&heading, &widths))?;
    for row in &rows {
        writeln!(out, "{}", line(row, &widths))?;
    }
    Ok(())
}

/// The number to the right, everything else to the left.
fn line(cells: &[impl AsRef<str>], widths: &[usize]) -> String {
    let mut line = format!("{:>1$}", cells[0].as_ref(), widths[0]);
    for (cell, width) in cells.iter().zip(widths).skip(1) {
        line += &format!("  {:<width$}", cell.as_ref());
    }
    line.trim_end().to_owned()
}

/// What stands below the table: whether there is more, and if not, why.
pub(crate) fn ending(rule: &Rule, shown: &[Occurrence], goes_on: bool) -> String {
    if goes_on {
        return "… and so on.".to_owned();
    }
    let Some(recurrence) = rule.recurrence() else {
        return "That is the only occurrence: there is no recurrence.".to_owned();
    };
    let last = shown.last().map_or(0, |last| last.number);
    let reason = match (recurrence.count(), recurrence.end_time()) {
        (Some(count), _) if count <= last => format!("count is {count}"),
        (_, Some(end)) => format!("endTime is {}", wire::date_time::write(end)),
        _ => "the calendar ends with the year 9999".to_owned(),
    };
    format!("That was the last occurrence: {reason}.")
}

/// `Sun 2027-03-28 03:30:00 +02:00`
pub(crate) fn wall_clock(at: Timestamp, offset: i64) -> String {
    let offset = i32::try_from(offset).ok().and_then(|offset| Offset::from_seconds(offset).ok());
    let zoned = at.to_zoned(offset.map_or(TimeZone::UTC, TimeZone::fixed));
    zoned.strftime("%a %Y-%m-%d %H:%M:%S%.f %:z").to_string()
}

/// The time from one instant to another: `1d 2h`, `30d`, `23h`; to the second, in at most three units.
fn distance(from: Timestamp, to: Timestamp) -> String {
    const UNITS: [(i64, &str); 4] = [(86_400, "d"), (3_600, "h"), (60, "m"), (1, "s")];
    const MOST: usize = 3;
    let elapsed = to.duration_since(from);
    let mut left = elapsed.as_secs() + i64::from(elapsed.subsec_millis() >= 500);
    let parts = UNITS.iter().map(|(seconds, unit)| {
        let many = left / seconds;
        left %= seconds;
        (many, unit)
    });
    let parts: Vec<String> =
        parts.filter(|(many, _)| *many > 0).take(MOST).map(|(many, unit)| format!("{many}{unit}")).collect();
    if parts.is_empty() { "under 1s".to_owned() } else { parts.join(" ") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn distances() {
        let at = |text: &str| text.parse::<Timestamp>().expect(text);
        for (to, text) in [
            ("2027-01-01T00:00:00.2Z", "under 1s"),
            ("2027-01-01T00:00:00.5Z", "1s"),
            ("2027-01-01T00:01:00Z", "1m"),
            ("2027-01-01T23:00:00Z", "23h"),
            ("2027-01-01T23:59:59.7Z", "1d"),
            ("2027-01-02T02:00:00Z", "1d 2h"),
            ("2027-01-02T02:00:07Z", "1d 2h 7s"),
            ("2027-01-02T02:03:07Z", "1d 2h 3m"),
            ("2027-01-31T00:00:00Z", "30d"),
            ("2427-01-01T00:00:00Z", "146097d"),
        ] {
            assert_eq!(distance(at("2027-01-01T00:00:00Z"), at(to)), text);
        }
    }

    #[test]
    fn wall_clocks() {
        let at = |text: &str| text.parse::<Timestamp>().expect(text);
        assert_eq!(wall_clock(at("2027-03-28T01:30:00Z"), 7200), "Sun 2027-03-28 03:30:00 +02:00");
        assert_eq!(wall_clock(at("2027-03-28T01:30:00.25Z"), -12_600), "Sat 2027-03-27 22:00:00.25 -03:30");
    }
}
