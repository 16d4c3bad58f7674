//! Words and small phrases: lists, ordinals, months, dates and times of day.

use crate::civil::{self, DAY};
use crate::date_time::split;
use crate::numbers::Numbers;
use crate::{Timestamp, Zone};

/// Neighbours as many as this are given as a span: "March to June", but "March, April and May".
pub(super) const SHORTEST_SPAN: u32 = 4;

const MONTHS: [&str; 12] = [
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
];

/// `a`, `a and b`, `a, b and c`; `word` stands before the last.
pub(crate) fn list<T: AsRef<str>>(items: &[T], word: &str) -> String {
    match items {
        [] => String::new(),
        [one] => one.as_ref().to_owned(),
        [others @ .., last] => {
            let others: Vec<&str> = others.iter().map(AsRef::as_ref).collect();
            format!("{} {word} {}", others.join(", "), last.as_ref())
        }
    }
}

/// The names of numbers, long rows of neighbours as "first to last".
pub(crate) fn spans(numbers: Numbers, name: impl Fn(u32) -> String) -> Vec<String> {
    let mut items = Vec::new();
    let mut next = numbers.at_least(0);
    while let Some(first) = next {
        let last = (first..).take_while(|number| numbers.contains(*number)).last().unwrap_or(first);
        if last - first + 1 >= SHORTEST_SPAN {
            items.push(format!("{} to {}", name(first), name(last)));
        } else {
            items.extend((first..=last).map(&name));
        }
        next = numbers.at_least(last + 1);
    }
    items
}

/// `1st`, `22nd`, `13th`.
pub(crate) fn ordinal(number: u32) -> String {
    let ending = match (number % 10, number % 100) {
        (_, 11..=13) => "th",
        (1, _) => "st",
        (2, _) => "nd",
        (3, _) => "rd",
        _ => "th",
    };
    format!("{number}{ending}")
}

/// `every day`, `every 3 days`.
pub(crate) fn every(interval: u32, unit: &str) -> String {
    if interval == 1 { format!("every {unit}") } else { format!("every {interval} {unit}s") }
}

/// The name of a month, 1 to 12.
pub(crate) fn month(number: u32) -> String {
    MONTHS[(number as usize + 11) % 12].to_owned()
}

/// `4 August 2012`, of a wall-clock second.
pub(crate) fn date(local: i64) -> String {
    let (index, number) = civil::month_of(local.div_euclid(DAY));
    format!("{number} {} {}", month(index.rem_euclid(12) as u32 + 1), index.div_euclid(12))
}

/// `10:00`, `10:00:07`, `10:00:07.25`, of a wall-clock second or a second of a day.
pub(crate) fn clock(local: i64, nanos: i64) -> String {
    let of_day = local.rem_euclid(DAY);
    let mut text = format!("{:02}:{:02}", of_day / 3600, of_day / 60 % 60);
    if of_day % 60 != 0 || nanos != 0 {
        text += &format!(":{:02}", of_day % 60);
    }
    if nanos != 0 {
        text += format!(".{nanos:09}").trim_end_matches('0');
    }
    text
}

/// `4 August 2012 at 10:00 UTC`, as the clocks of a zone show it.
pub(crate) fn date_and_time(at: Timestamp, zone: &Zone) -> String {
    let (second, nanos) = split(at);
    let local = second + zone.offset_at(at);
    format!("{} at {} {}", date(local), clock(local, nanos), zone_time(zone))
}

/// `UTC`, `Europe/Paris time`, and Windows names as they are: `Romance Standard Time`.
pub(crate) fn zone_time(zone: &Zone) -> String {
    let name = zone.name();
    if name.starts_with("UTC") || name.contains("Time") { name.to_owned() } else { format!("{name} time") }
}

/// The text with its first letter as a capital.
pub(crate) fn sentence(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn small_phrases() {
        assert_eq!(list(&["a"], "and"), "a");
        assert_eq!(list(&["a", "b", "c"], "or"), "a, b or c");
        let ordinals: Vec<String> = [1, 2, 3, 4, 11, 12, 13, 21, 22, 23, 31].map(ordinal).to_vec();
        assert_eq!(ordinals.join(" "), "1st 2nd 3rd 4th 11th 12th 13th 21st 22nd 23rd 31st");
        let numbers: Numbers = [1, 3, 4, 5, 6, 58, 59].into_iter().collect();
        assert_eq!(spans(numbers, |n| n.to_string()), ["1", "3 to 6", "58", "59"]);
        assert_eq!(spans(Numbers::range(0, 63), |n| n.to_string()), ["0 to 63"]);
        assert_eq!(clock(36_000, 0), "10:00");
        assert_eq!(clock(36_007, 0), "10:00:07");
        assert_eq!(clock(36_000, 5_000_000), "10:00:00.005");
        assert_eq!(clock(-1, 0), "23:59:59");
        assert_eq!(date(-1), "31 December 1969");
        assert_eq!(sentence("every day"), "Every day");
    }
}
