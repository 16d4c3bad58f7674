//! "A daily job runs exactly once every day": every day from 1970 to 2037, in every zone there is.
//!
//! One truth is not bent: in a few zones a clock change takes away the last hour of a day. A job at 23:30
//! then runs at 00:30, and that is the day after. Such a day has no run of its own and the next one has two;
//! the test knows these days from the wall clocks themselves and insists on them.

use std::collections::{BTreeMap, BTreeSet};

use jiff::civil::{Date, Time, date, time};
use jiff::tz::{TimeZone, TimeZoneDatabase};
use recurrence::{Draft, RecurrenceDraft, Rule, ScheduleDraft, Timestamp};
use reference::Walls;

mod reference;

const FIRST: Date = date(1970, 1, 2);
const LAST: Date = date(2037, 12, 30);

/// Where clocks are changed most often: at midnight, soon after it, at two or three, late in the evening.
const TIMES: [Time; 4] = [time(0, 0, 0, 0), time(0, 30, 0, 0), time(2, 30, 0, 0), time(23, 30, 0, 0)];

/// Unoptimised, a whole life of every zone at every time takes minutes: then one in `SAMPLE` is lived
/// through, and the days around clock changes have to speak for the rest.
const SAMPLE: usize = if cfg!(debug_assertions) { 48 } else { 1 };

/// A daily job at a time of day, with nothing said about clock changes.
fn daily(zone: &str, time: Time, from: Timestamp) -> Rule {
    let draft = Draft {
        start_time: Some(from.to_string()),
        recurrence: Some(RecurrenceDraft {
            frequency: Some("day".to_owned()),
            time_zone: Some(zone.to_owned()),
            schedule: Some(ScheduleDraft {
                hours: Some(vec![time.hour().into()]),
                minutes: Some(vec![time.minute().into()]),
                ..Default::default()
            }),
            ..Default::default()
        }),
    };
    Rule::build(&draft, from).unwrap_or_else(|faults| panic!("{zone} {time}: {faults}"))
}

/// The zones of the database, one of each kind: names that have meant the same clocks all along are one.
fn zones() -> Vec<(String, TimeZone)> {
    let database = TimeZoneDatabase::bundled();
    let mut zones = BTreeMap::new();
    for name in database.available() {
        let zone = database.get(name.as_str()).unwrap();
        let clocks: Vec<(Timestamp, i32)> = zone
            .following(Timestamp::UNIX_EPOCH)
            .map(|change| (change.timestamp(), change.offset().seconds()))
            .take_while(|(at, _)| at.as_second() < 2_145_916_800)
            .collect();
        let at_first = zone.to_offset(Timestamp::UNIX_EPOCH).seconds();
        zones.entry((at_first, clocks)).or_insert_with(|| (name.as_str().to_owned(), zone));
    }
    zones.into_values().collect()
}

/// How often the job runs on each of the days `first..=last`, held against what the wall clocks allow.
/// Returns how many days there are.
fn assert_once_a_day(name: &str, zone: &TimeZone, time: Time, first: Date, last: Date) -> usize {
    let existing: BTreeSet<Date> =
        Walls::of(name).dates(first.yesterday().unwrap(), last).into_iter().collect();
    // A day earlier, so that a run pushed over midnight from the day before is seen.
    let from = first.yesterday().unwrap().to_zoned(zone.clone()).unwrap().timestamp();
    let mut runs: BTreeMap<Date, usize> = BTreeMap::new();
    for occurrence in daily(name, time, from).occurrences() {
        let day = zone.to_datetime(occurrence.at).date();
        if day > last {
            break;
        }
        *runs.entry(day).or_default() += 1;
    }
    // Whether the time of day of this day exists only on the next one.
    let pushed_out = |day: Date| {
        let wall = day.to_datetime(time);
        let moved = zone.to_ambiguous_zoned(wall).compatible().unwrap().datetime();
        moved.date() > day
    };
    for day in existing.range(first..=last) {
        let yesterday = day.yesterday().unwrap();
        let from_yesterday = existing.contains(&yesterday) && pushed_out(yesterday);
        let expected = 1 - usize::from(pushed_out(*day)) + usize::from(from_yesterday);
        let seen = runs.get(day).copied().unwrap_or(0);
        assert_eq!(seen, expected, "{name}: a daily job at {time} on {day}");
    }
    for day in runs.keys() {
        assert!(existing.contains(day), "{name}: {day} does not exist");
    }
    existing.len()
}

#[test]
fn a_daily_job_runs_once_every_day_of_its_life() {
    let zones = zones();
    assert!(zones.len() > 300, "only {} zones", zones.len());
    let mut days = 0;
    for (i, (name, zone)) in zones.iter().enumerate() {
        for (j, time) in TIMES.into_iter().enumerate() {
            if (i + j) % SAMPLE == 0 {
                days += assert_once_a_day(name, zone, time, FIRST, LAST);
            }
        }
    }
    println!("{} zones, {days} days", zones.len());
}

#[test]
fn a_daily_job_runs_once_on_the_days_around_a_clock_change() {
    let mut changes = 0;
    for (name, zone) in zones() {
        for change in Walls::of(&name).changes() {
            let day = zone.to_datetime(change).date();
            let (first, last) = (day.yesterday().unwrap(), day.tomorrow().unwrap());
            if FIRST < first && last < LAST {
                changes += 1;
                let time = TIMES[changes % TIMES.len()];
                assert_once_a_day(&name, &zone, time, first, last);
            }
        }
    }
    println!("{changes} clock changes");
    assert!(changes > 10_000, "only {changes} clock changes");
}

/// The days that the tests above know to be missing, so that they cannot pass by believing in none.
#[test]
fn days_that_never_were() {
    for (zone, day) in [
        ("Pacific/Apia", date(2011, 12, 30)),
        ("Pacific/Fakaofo", date(2011, 12, 30)),
        ("Pacific/Kwajalein", date(1993, 8, 21)),
        ("Pacific/Kiritimati", date(1994, 12, 31)),
        ("Pacific/Enderbury", date(1994, 12, 31)),
    ] {
        let (before, after) = (day.yesterday().unwrap(), day.tomorrow().unwrap());
        assert_eq!(Walls::of(zone).dates(before, after), [before, after], "{zone}");
        let clocks = TimeZoneDatabase::bundled().get(zone).unwrap();
        let from = before.to_zoned(clocks.clone()).unwrap().timestamp();
        let rule = daily(zone, time(9, 0, 0, 0), from);
        let runs: Vec<_> = rule.occurrences().take(2).map(|run| clocks.to_datetime(run.at)).collect();
        assert_eq!(runs, [before.at(9, 0, 0, 0), after.at(9, 0, 0, 0)], "{zone}");
    }
}
