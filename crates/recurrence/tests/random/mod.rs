//! Random rules, and the moments at which they are accepted: every frequency, and cron lines, in zones whose clocks do
//! odd things, mostly near a clock change.

// Each test file uses its own part of this one.
#![allow(dead_code)]

use std::ops::RangeInclusive;

use proptest::option::{of, weighted};
use proptest::prelude::*;
use proptest::sample::{Index, select, subsequence};
use proptest::test_runner::Config;
use recurrence::{Draft, DstDraft, MonthlyOccurrenceDraft, RecurrenceDraft, Rule, ScheduleDraft, Timestamp};

use crate::reference::{self, Walk, Walls};

/// How many occurrences of each rule are compared.
pub(crate) const COMPARED: usize = 40;

/// UTC, and zones for every oddity: changes at midnight, by half an hour, by two hours, four times a year, a
/// missing day, offsets of a quarter of an hour, changes that stopped.
const ZONES: &[Option<&str>] = &[
    None,
    Some("UTC"),
    Some("Africa/Cairo"),
    Some("Africa/Casablanca"),
    Some("America/Asuncion"),
    Some("America/Havana"),
    Some("America/New_York"),
    Some("America/Nuuk"),
    Some("America/Santiago"),
    Some("America/Sao_Paulo"),
    Some("America/St_Johns"),
    Some("Antarctica/Casey"),
    Some("Antarctica/Troll"),
    Some("Asia/Beirut"),
    Some("Asia/Gaza"),
    Some("Asia/Kathmandu"),
    Some("Asia/Tehran"),
    Some("Australia/Lord_Howe"),
    Some("Europe/London"),
    Some("Europe/Paris"),
    Some("Pacific/Apia"),
    Some("Pacific/Auckland"),
    Some("Pacific/Chatham"),
    Some("Pacific/Kiritimati"),
];

const FREQUENCIES: &[&str] = &["minute", "hour", "day", "week", "month", "year"];
const WEEKDAYS: &[&str] = &["monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"];

/// A job and the moment it is accepted.
#[derive(Debug, Clone)]
pub(crate) struct Asked {
    pub(crate) draft: Draft,
    pub(crate) now: Timestamp,
}

impl Asked {
    pub(crate) fn recurrence(&self) -> &RecurrenceDraft {
        self.draft.recurrence.as_ref().unwrap()
    }

    pub(crate) fn walk(&self) -> Walk {
        reference::occurrences(&self.draft, self.now, COMPARED)
    }

    pub(crate) fn walk_uncounted(&self) -> Walk {
        reference::uncounted(&self.draft, self.now, COMPARED)
    }

    /// Whether nothing ever comes of it: no occurrence at all, or none but the run at once, whatever its end.
    fn never_fires(&self) -> bool {
        let mut endless = self.draft.clone();
        endless.recurrence.as_mut().unwrap().end_time = None;
        let by_its_slots = reference::occurrences(&endless, self.now, COMPARED).found;
        let runs_at_once = self.draft.start_time.is_none() && self.recurrence().cron.is_none();
        self.walk().found.is_empty() || (runs_at_once && by_its_slots == [self.now])
    }

    /// The rule; `None` when it is refused, and rightly so.
    pub(crate) fn rule(&self) -> Result<Option<Rule>, TestCaseError> {
        match Rule::build(&self.draft, self.now) {
            Ok(rule) => Ok(Some(rule)),
            Err(faults) => {
                // The drafts are well formed, so all that can be wrong is that nothing ever comes of them.
                for fault in faults.iter() {
                    prop_assert!(fault.field.starts_with("recurrence."), "{faults}");
                }
                prop_assert!(
                    self.never_fires(),
                    "refused ({faults}), though it runs at {:?}",
                    self.walk().found
                );
                Ok(None)
            }
        }
    }
}

/// Seconds since 1970 of the years that starts are drawn from.
const EPOCHS: RangeInclusive<i64> = 946_684_800..=2_082_758_400;

/// A moment in a zone: mostly within a few days or hours of one of its clock changes, else anywhere.
fn moment(zone: Option<&'static str>) -> BoxedStrategy<Timestamp> {
    let changes: Vec<i64> = Walls::of(zone.unwrap_or("UTC"))
        .changes()
        .map(Timestamp::as_second)
        .filter(|second| EPOCHS.contains(second))
        .collect();
    let anywhere = EPOCHS.prop_map(|second| second - second % 60);
    let near_a_change = (any::<Index>(), prop_oneof![-4 * 1440..=4 * 1440_i64, -200..=200_i64, -75..=75_i64]);
    let minute = if changes.is_empty() {
        anywhere.boxed()
    } else {
        let near_a_change = near_a_change
            .prop_map(move |(which, minutes)| changes[which.index(changes.len())] + minutes * 60);
        prop_oneof![1 => anywhere, 9 => near_a_change].boxed()
    };
    // A whole minute, a second of it, or a fraction as fine as is kept.
    let nanosecond = prop_oneof![
        4 => Just(0),
        1 => (0..60_i64).prop_map(|second| second * 1_000_000_000),
        1 => (0..600_000_000_i64).prop_map(|tenth_of_a_microsecond| tenth_of_a_microsecond * 100),
    ];
    (minute, nanosecond)
        .prop_map(|(second, nanosecond)| {
            Timestamp::from_nanosecond(i128::from(second) * 1_000_000_000 + i128::from(nanosecond)).unwrap()
        })
        .boxed()
}

/// How far from one another two moments of a job are: in seconds, of all sizes.
fn distance() -> impl Strategy<Value = i64> {
    prop_oneof![
        Just(0),
        0..=120_i64,
        (0..=4320_i64).prop_map(|m| m * 60),
        (0..=800_i64).prop_map(|d| d * 86400)
    ]
}

pub(crate) fn later(at: Timestamp, seconds: i64) -> Timestamp {
    at + jiff::SignedDuration::from_secs(seconds)
}

/// Start and now: either may be the moment that is near a clock change.
pub(crate) fn start_and_now(
    zone: Option<&'static str>,
) -> impl Strategy<Value = (Option<Timestamp>, Timestamp)> {
    (moment(zone), distance(), 0..5).prop_map(|(moment, distance, kind)| match kind {
        0 => (None, moment),
        1 => (Some(moment), later(moment, -distance)),
        2 => (Some(later(moment, distance)), moment),
        3 => (Some(moment), later(moment, distance)),
        _ => (Some(later(moment, -distance)), moment),
    })
}

fn some_of<T: Clone + std::fmt::Debug + 'static>(
    values: Vec<T>,
    most: usize,
) -> impl Strategy<Value = Vec<T>> {
    subsequence(values, 1..=most).prop_shuffle()
}

fn minutes() -> impl Strategy<Value = Vec<i64>> {
    prop_oneof![
        some_of((0..60).collect(), 3),
        Just(vec![0, 15, 30, 45]),
        some_of(vec![0, 1, 15, 29, 30, 31, 45, 59], 3),
    ]
}

fn hours() -> impl Strategy<Value = Vec<i64>> {
    // Clocks are mostly changed at night.
    prop_oneof![2 => some_of(vec![0, 1, 2, 3, 4, 22, 23], 3), 1 => some_of((0..24).collect(), 4)]
}

fn month_days() -> impl Strategy<Value = Vec<i64>> {
    prop_oneof![
        some_of((-31..=31).filter(|day| *day != 0).collect(), 4),
        some_of(vec![-31, -30, -29, -1, 1, 28, 29, 30, 31], 2),
    ]
}

fn monthly_occurrences() -> impl Strategy<Value = Vec<MonthlyOccurrenceDraft>> {
    let one = (select(WEEKDAYS), of(select(vec![-5, -4, -3, -2, -1, 1, 2, 3, 4, 5])))
        .prop_map(|(day, occurrence)| MonthlyOccurrenceDraft { day: Some(day.to_owned()), occurrence });
    prop::collection::vec(one, 1..=2)
}

fn week_days() -> impl Strategy<Value = Vec<String>> {
    some_of(WEEKDAYS.iter().map(|day| (*day).to_owned()).collect(), 3)
}

/// Given in `probability` of the cases, which may be none.
fn given<T: Clone + std::fmt::Debug + 'static>(
    probability: f64,
    value: impl Strategy<Value = T> + 'static,
) -> BoxedStrategy<Option<T>> {
    if probability == 0.0 { Just(None).boxed() } else { weighted(probability, value).boxed() }
}

/// A schedule that the frequency knows; perhaps an empty one.
fn schedule(frequency: &'static str) -> impl Strategy<Value = ScheduleDraft> {
    let of_week = given(if frequency == "week" { 0.7 } else { 0.0 }, week_days());
    let of_month = if matches!(frequency, "month" | "year") { 0.5 } else { 0.0 };
    let of_year = given(if frequency == "year" { 0.6 } else { 0.0 }, some_of((1..=12).collect(), 3));
    (
        of(minutes()),
        of(hours()),
        of_week,
        given(of_month, month_days()),
        given(of_month * 0.7, monthly_occurrences()),
        of_year,
    )
        .prop_map(|(minutes, hours, week_days, month_days, monthly_occurrences, months)| ScheduleDraft {
            minutes,
            hours,
            week_days,
            month_days,
            monthly_occurrences,
            months,
        })
}

fn interval(frequency: &'static str) -> BoxedStrategy<Option<i64>> {
    let most = match frequency {
        "minute" | "hour" => 1000,
        "day" => 548,
        "week" => 78,
        "month" => 18,
        _ => return of(Just(1)).boxed(),
    };
    let round = select(vec![1_i64, 2, 3, 5, 10, 12, 15, 24, 30, 48, 60, 90, 120]);
    prop_oneof![
        2 => Just(None),
        2 => (1..=4_i64).prop_map(Some),
        2 => round.prop_map(move |interval| Some(interval.min(most))),
        1 => (1..=most).prop_map(Some),
    ]
    .boxed()
}

fn by_frequency() -> impl Strategy<Value = RecurrenceDraft> {
    select(FREQUENCIES).prop_flat_map(|frequency| {
        (interval(frequency), weighted(0.75, schedule(frequency))).prop_map(move |(interval, schedule)| {
            RecurrenceDraft {
                frequency: Some(frequency.to_owned()),
                interval,
                schedule,
                ..Default::default()
            }
        })
    })
}

/// One part of a cron field: a number, a range, a range with a step.
fn cron_part(first: i64, last: i64) -> impl Strategy<Value = String> {
    let range = move || (first..=last, first..=last).prop_map(|(a, b)| format!("{}-{}", a.min(b), a.max(b)));
    prop_oneof![
        3 => (first..=last).prop_map(|number| number.to_string()),
        1 => range(),
        1 => (range(), 1..=7).prop_map(|(range, step)| format!("{range}/{step}")),
    ]
}

fn cron_list(part: impl Strategy<Value = String>) -> impl Strategy<Value = String> {
    prop::collection::vec(part, 1..=2).prop_map(|parts| parts.join(","))
}

fn by_cron() -> impl Strategy<Value = RecurrenceDraft> {
    let star = || Just("*".to_owned());
    let every = |most: i64| (2..=most).prop_map(|step| format!("*/{step}"));
    let minute = prop_oneof![1 => star(), 1 => every(30), 4 => cron_list(cron_part(0, 59))];
    let hour = prop_oneof![2 => star(), 1 => every(12), 4 => cron_list(cron_part(0, 23))];
    let day = prop_oneof![1 => Just("L".to_owned()), 4 => cron_part(1, 31)];
    let month_day = prop_oneof![4 => star(), 1 => every(15), 3 => cron_list(day)];
    let month_name = select(vec!["jan", "FEB", "Mar", "apr-jun", "oct,nov"]).prop_map(str::to_owned);
    let month = prop_oneof![6 => star(), 1 => every(6), 2 => cron_list(cron_part(1, 12)), 1 => month_name];
    let counted = (0..=7, 1..=5).prop_map(|(day, which)| format!("{day}#{which}"));
    let last = (0..=7).prop_map(|day| format!("{day}L"));
    let day_name = select(vec!["mon", "SUN", "Tue-Thu", "fri"]).prop_map(str::to_owned);
    let day = prop_oneof![4 => cron_part(0, 7), 1 => counted, 1 => last, 1 => day_name];
    let week_day = prop_oneof![4 => star(), 1 => every(3), 3 => cron_list(day)];
    (minute, hour, month_day, month, week_day).prop_map(|(minute, hour, month_day, month, week_day)| {
        let cron = Some(format!("{minute} {hour} {month_day} {month} {week_day}"));
        RecurrenceDraft { cron, ..Default::default() }
    })
}

fn dst() -> impl Strategy<Value = DstDraft> {
    let owned = |names: Vec<&'static str>| of(select(names).prop_map(str::to_owned));
    (owned(vec!["shift", "skip"]), owned(vec!["first", "last", "both"]))
        .prop_map(|(gap, fold)| DstDraft { gap, fold })
}

/// Any well-formed job that repeats.
pub(crate) fn asked() -> impl Strategy<Value = Asked> {
    let recurrence = prop_oneof![4 => by_frequency(), 1 => by_cron()];
    let count = weighted(0.2, prop_oneof![4 => 1..=60_i64, 1 => Just(2_147_483_647)]);
    let moments = select(ZONES).prop_flat_map(|zone| (Just(zone), start_and_now(zone)));
    (recurrence, moments, weighted(0.8, dst()), count, weighted(0.15, distance())).prop_map(
        |(recurrence, (zone, (start, now)), dst, count, until_end)| Asked {
            draft: Draft {
                start_time: start.map(|start| start.to_string()),
                recurrence: Some(RecurrenceDraft {
                    time_zone: zone.map(str::to_owned),
                    dst,
                    count,
                    end_time: until_end
                        .map(|seconds| later(start.unwrap_or(now).max(now), seconds).to_string()),
                    ..recurrence
                }),
            },
            now,
        },
    )
}

/// A moment before, at, or after another.
pub(crate) fn beside(at: Timestamp, nanoseconds: i64) -> Timestamp {
    at + jiff::SignedDuration::from_nanos(nanoseconds)
}

/// A few seconds' worth of rules, or as many as `PROPTEST_CASES` says. No file remembers failures: a rule
/// that was ever answered wrongly belongs, written out, into a table.
pub(crate) fn config() -> Config {
    let asked_for = std::env::var_os("PROPTEST_CASES").is_some();
    let cases = if asked_for { Config::default().cases } else { 400 };
    Config { cases, failure_persistence: None, ..Config::default() }
}
