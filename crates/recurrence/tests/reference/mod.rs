//! A second opinion on when a job runs: slow, plain, and sharing nothing with the engine.
//!
//! It computes nothing cleverly. It walks through the days (or, for the minute and hour frequencies, through
//! the elapsed minutes and hours), asks of each one "does the contract's sentence hold here?", and collects
//! the instants for which it does. Day and longer frequencies, and cron, go day by day and try every
//! wall-clock time of the day; a wall-clock time becomes an instant by trying every offset the zone has ever
//! had.
//!
//! It reads sound drafts only: names in their plain lower-case form, date-times in full with an offset. What
//! a draft may say is another matter, and `refused.rs` sees to that.

// Each test file uses its own part of this one.
#![allow(dead_code)]

use std::collections::HashMap;
use std::sync::{Arc, Mutex, OnceLock};

use jiff::civil::{Date, date};
use jiff::tz::TimeZoneDatabase;
use jiff::{Timestamp, ToSpan, Unit};
use recurrence::{Draft, MonthlyOccurrenceDraft, RecurrenceDraft, ScheduleDraft};

use cron::Cron;

mod cron;

/// An instant: nanoseconds since 1970 in UTC. A wall clock's reading: nanoseconds since 1970 as it shows
/// them.
type Nanos = i64;

const SECOND: Nanos = 1_000_000_000;
const MINUTE: Nanos = 60 * SECOND;
const HOUR: Nanos = 60 * MINUTE;
const DAY: Nanos = 24 * HOUR;

/// How long the walk goes on before it gives up: longer than the rarest day of the calendar, a 29 February on
/// a given weekday, is apart (28 years, or 40 across 2100).
const PATIENCE: Nanos = 50 * 366 * DAY;
/// How many elapsed minutes are looked at before the walk gives up: over a year of every other minute, so
/// that both winter and summer time are seen.
const MINUTES_OF_PATIENCE: i64 = 300_000;
/// The same for elapsed hours: almost a year of every other hour.
const HOURS_OF_PATIENCE: i64 = 4_000;
/// How many more days are walked once enough was found: a clock change moves an instant by a day at most, so
/// nothing later can still come before what was found.
const MARGIN_DAYS: i64 = 3;

/// What the walk found.
#[derive(Debug, Clone)]
pub(crate) struct Walk {
    /// The occurrences, in order, no more than were wanted.
    pub(crate) found: Vec<Timestamp>,
    /// Up to and including this instant nothing is missing from `found`.
    pub(crate) complete_until: Timestamp,
}

/// The first `want` occurrences of a job accepted at `now`; honours `count` and `endTime`.
pub(crate) fn occurrences(draft: &Draft, now: Timestamp, want: usize) -> Walk {
    let count = draft.recurrence.as_ref().and_then(|r| r.count);
    let want = count.map_or(want, |count| want.min(usize::try_from(count).unwrap()));
    uncounted(draft, now, want)
}

/// The same as [`occurrences`], as if there were no `count`.
pub(crate) fn uncounted(draft: &Draft, now: Timestamp, want: usize) -> Walk {
    let now = nanos(now);
    let start = draft.start_time.as_ref().map(|text| nanos(text.parse().unwrap()));
    let Some(asked) = &draft.recurrence else {
        // "once, at once" or "once, at start".
        let at = start.filter(|start| *start >= now).unwrap_or(now);
        return Walk { found: vec![timestamp(at)], complete_until: Timestamp::MAX };
    };
    let rule = Rule::read(asked, start.unwrap_or(now));

    // "at once, then …": the first run needs no slot. A cron job waits for its first slot.
    let at_once = start.is_none() && asked.cron.is_none();
    let end = asked.end_time.as_ref().map(|text| nanos(text.parse().unwrap()));
    let not_before = rule.start.max(now);
    let (mut found, walked_until) = rule.slots(not_before, want, end);
    if at_once {
        found.insert(0, now);
    }
    found.retain(|at| end.is_none_or(|end| *at <= end));
    found.sort_unstable();
    found.dedup();
    found.truncate(want);
    // Beyond the last one that was wanted nothing is claimed; beyond the end there is nothing.
    let complete_until = match found.last() {
        Some(last) if found.len() == want => timestamp(*last),
        _ if end.is_some_and(|end| end <= walked_until) => Timestamp::MAX,
        _ => timestamp(walked_until),
    };
    Walk { found: found.into_iter().map(timestamp).collect(), complete_until }
}

fn nanos(at: Timestamp) -> Nanos {
    Nanos::try_from(at.as_nanosecond()).unwrap()
}

fn timestamp(at: Nanos) -> Timestamp {
    Timestamp::from_nanosecond(at.into()).unwrap()
}

/// What the wall clocks of a zone show, and when they are changed.
#[derive(Debug)]
pub(crate) struct Walls {
    /// From when on which offset holds, in order.
    pieces: Vec<(Nanos, Nanos)>,
    /// Every offset there ever was, once.
    offsets: Vec<Nanos>,
}

impl Walls {
    /// The wall clocks of a zone from 1960 to 2150; read once, since the minute walk asks them often.
    pub(crate) fn of(zone: &str) -> Arc<Self> {
        static READ: OnceLock<Mutex<HashMap<String, Arc<Walls>>>> = OnceLock::new();
        let mut read = READ.get_or_init(Mutex::default).lock().unwrap();
        read.entry(zone.to_owned()).or_insert_with(|| Arc::new(Self::read(zone))).clone()
    }

    fn read(zone: &str) -> Self {
        let zone = TimeZoneDatabase::bundled().get(zone).unwrap();
        let from: Timestamp = "1960-01-01T00:00:00Z".parse().unwrap();
        let until: Timestamp = "2150-01-01T00:00:00Z".parse().unwrap();
        let mut pieces = vec![(nanos(from), Nanos::from(zone.to_offset(from).seconds()) * SECOND)];
        for change in zone.following(from).take_while(|change| change.timestamp() < until) {
            let offset = Nanos::from(change.offset().seconds()) * SECOND;
            // The data also tell of changes of the zone's name only.
            if pieces.last().is_some_and(|(_, before)| *before != offset) {
                pieces.push((nanos(change.timestamp()), offset));
            }
        }
        let mut offsets: Vec<Nanos> = pieces.iter().map(|(_, offset)| *offset).collect();
        offsets.sort_unstable();
        offsets.dedup();
        Self { pieces, offsets }
    }

    /// The instants at which the clocks are changed.
    pub(crate) fn changes(&self) -> impl Iterator<Item = Timestamp> {
        self.pieces.iter().skip(1).map(|(from, _)| timestamp(*from))
    }

    /// The local dates that exist, from and to the given ones: those that some wall clock has shown.
    pub(crate) fn dates(&self, first: Date, last: Date) -> Vec<Date> {
        let (first, last) = (day_number(first), day_number(last));
        let mut shown = Vec::new();
        for (i, (from, offset)) in self.pieces.iter().enumerate() {
            // The last piece has no end; a few days past the last one asked for will do.
            let until = self.pieces.get(i + 1).map_or((last + 3) * DAY, |next| next.0);
            let first = first.max((from + offset).div_euclid(DAY));
            shown.extend((first..=last).take_while(|day| day * DAY < until + offset));
        }
        shown.sort_unstable();
        shown.dedup();
        shown.into_iter().map(numbered_day).collect()
    }

    /// What the clock shows at an instant.
    fn shown(&self, at: Nanos) -> Nanos {
        let piece = self.pieces.partition_point(|(from, _)| *from <= at);
        at + self.pieces[piece.max(1) - 1].1
    }

    /// The instants at which the clock shows this: none in a gap, two in a fold.
    fn instants(&self, wall: Nanos) -> Vec<Nanos> {
        let mut instants: Vec<Nanos> =
            self.offsets.iter().map(|offset| wall - offset).filter(|at| self.shown(*at) == wall).collect();
        instants.sort_unstable();
        instants
    }

    /// A wall-clock time that does not exist, moved forward by the length of its gap: what a clock that was
    /// not changed would show.
    fn moved_out_of_gap(&self, wall: Nanos) -> Nanos {
        for change in self.pieces.windows(2) {
            let ((_, before), (at, after)) = (change[0], change[1]);
            if at + before <= wall && wall < at + after {
                return wall - before;
            }
        }
        panic!("{wall} is in no gap");
    }
}

/// The number of a date, counted from 1970-01-01.
fn day_number(day: Date) -> i64 {
    date(1970, 1, 1).until((Unit::Day, day)).unwrap().get_days().into()
}

fn numbered_day(number: i64) -> Date {
    date(1970, 1, 1).checked_add(number.days()).unwrap()
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Frequency {
    Minute,
    Hour,
    Day,
    Week,
    Month,
    Year,
}

/// Which of the two, or none, when clocks are changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fold {
    First,
    Last,
    Both,
}

/// A day as the walk looks at it.
#[derive(Debug, Clone, Copy)]
struct Today {
    number: i64,
    date: Date,
}

impl Today {
    fn numbered(number: i64) -> Self {
        Self { number, date: numbered_day(number) }
    }

    /// Monday is 1, Sunday is 7.
    fn weekday(self) -> i64 {
        self.date.weekday().to_monday_one_offset().into()
    }

    fn month(self) -> i64 {
        self.date.month().into()
    }

    fn day_of_month(self) -> i64 {
        self.date.day().into()
    }

    fn days_in_month(self) -> i64 {
        self.date.days_in_month().into()
    }

    /// −1 on the last day of the month.
    fn day_from_end(self) -> i64 {
        self.day_of_month() - self.days_in_month() - 1
    }

    /// The how manieth of its weekday this is in its month.
    fn occurrence(self) -> i64 {
        (self.day_of_month() - 1) / 7 + 1
    }

    /// The same, counted from the end: −1 is the last.
    fn occurrence_from_end(self) -> i64 {
        -((self.days_in_month() - self.day_of_month()) / 7 + 1)
    }

    /// The number of its Monday.
    fn week(self) -> i64 {
        self.number - (self.weekday() - 1)
    }

    /// Months since the year 0.
    fn months(self) -> i64 {
        i64::from(self.date.year()) * 12 + self.month()
    }
}

/// A recurrence, read.
struct Rule {
    walls: Arc<Walls>,
    start: Nanos,
    /// The local date of start.
    start_day: Today,
    gap_skips: bool,
    fold: Fold,
    kind: Kind,
}

enum Kind {
    Plain { frequency: Frequency, interval: i64, schedule: Option<ScheduleDraft> },
    Cron(Cron),
}

impl Rule {
    fn read(asked: &RecurrenceDraft, start: Nanos) -> Self {
        let dst = asked.dst.clone().unwrap_or_default();
        let kind = match &asked.cron {
            Some(fields) => Kind::Cron(Cron::read(fields)),
            None => Kind::Plain {
                frequency: match asked.frequency.as_deref().unwrap() {
                    "minute" => Frequency::Minute,
                    "hour" => Frequency::Hour,
                    "day" => Frequency::Day,
                    "week" => Frequency::Week,
                    "month" => Frequency::Month,
                    "year" => Frequency::Year,
                    other => panic!("{other} is not a frequency"),
                },
                interval: asked.interval.unwrap_or(1),
                // "`schedule` given but empty is the same as no schedule."
                schedule: asked.schedule.clone().filter(|schedule| *schedule != ScheduleDraft::default()),
            },
        };
        let walls = Walls::of(asked.time_zone.as_deref().unwrap_or("UTC"));
        Self {
            start,
            start_day: Today::numbered(walls.shown(start).div_euclid(DAY)),
            walls,
            gap_skips: dst.gap.as_deref() == Some("skip"),
            fold: match dst.fold.as_deref() {
                None | Some("first") => Fold::First,
                Some("last") => Fold::Last,
                Some("both") => Fold::Both,
                Some(other) => panic!("{other} is not a fold"),
            },
            kind,
        }
    }

    /// Slots from `not_before` on: at least `want` of them in order, or all up to the instant that is
    /// returned with them. Past `end` it does not look.
    fn slots(&self, not_before: Nanos, want: usize, end: Option<Nanos>) -> (Vec<Nanos>, Nanos) {
        let give_up = end.unwrap_or(Nanos::MAX).min(not_before + PATIENCE);
        match &self.kind {
            Kind::Plain { frequency: Frequency::Minute, interval, schedule } => {
                self.minutes(*interval, schedule.as_ref(), not_before, want, give_up)
            }
            Kind::Plain { frequency: Frequency::Hour, interval, schedule } => {
                self.hours(*interval, schedule.as_ref(), not_before, want, give_up)
            }
            _ => self.days(not_before, want, give_up),
        }
    }

    /// Elapsed minutes.
    fn minutes(
        &self,
        interval: i64,
        schedule: Option<&ScheduleDraft>,
        not_before: Nanos,
        want: usize,
        give_up: Nanos,
    ) -> (Vec<Nanos>, Nanos) {
        let minutes = schedule.and_then(|s| s.minutes.as_ref());
        let hours = schedule.and_then(|s| s.hours.as_ref());
        // "second 0 if minutes are given, else the second of start"
        let first = if minutes.is_some() {
            self.start - self.shown(self.start).rem_euclid(MINUTE)
        } else {
            self.start
        };
        let mut found = Vec::new();
        let step = interval * MINUTE;
        let first_step = ((not_before - first) / step - 1).max(0);
        for k in first_step..first_step + MINUTES_OF_PATIENCE {
            let at = first + k * step;
            if at > give_up || found.len() > want {
                return (found, at - 1);
            }
            let wall = self.shown(at);
            let minute_fits = minutes.is_none_or(|list| list.contains(&(wall.rem_euclid(HOUR) / MINUTE)));
            let hour_fits = hours.is_none_or(|list| list.contains(&(wall.rem_euclid(DAY) / HOUR)));
            if at >= not_before && minute_fits && hour_fits {
                found.push(at);
            }
        }
        (found, first + (first_step + MINUTES_OF_PATIENCE) * step - 1)
    }

    /// Elapsed hours.
    fn hours(
        &self,
        interval: i64,
        schedule: Option<&ScheduleDraft>,
        not_before: Nanos,
        want: usize,
        give_up: Nanos,
    ) -> (Vec<Nanos>, Nanos) {
        let minutes = schedule.and_then(|s| s.minutes.as_ref());
        let hours = schedule.and_then(|s| s.hours.as_ref());
        let hour_fits = |wall: Nanos| hours.is_none_or(|list| list.contains(&(wall.rem_euclid(DAY) / HOUR)));
        // The period is the hour; it is counted from the one that holds start.
        let first = self.start - self.shown(self.start).rem_euclid(HOUR);
        let into_the_hour = self.start - first;
        let mut found = Vec::new();
        let step = interval * HOUR;
        let first_step = ((not_before - first) / step - 1).max(0);
        for k in first_step..first_step + HOURS_OF_PATIENCE {
            let hour = first + k * step;
            if hour > give_up || found.len() > want {
                return (found, hour - 1);
            }
            let Some(minutes) = minutes else {
                // "else the minute and second of start"
                let at = hour + into_the_hour;
                if at >= not_before && hour_fits(self.shown(at)) {
                    found.push(at);
                }
                continue;
            };
            // "minutes as given at second 0", read on the wall clock. Every second 0 of the hour is looked
            // at, and every second 30 too: a few zones were half a minute off.
            let half_minutes = hour.div_euclid(MINUTE / 2) * (MINUTE / 2);
            for i in 0..=120 {
                let at = half_minutes + i * (MINUTE / 2);
                let wall = self.shown(at);
                if (hour..hour + HOUR).contains(&at)
                    && wall.rem_euclid(MINUTE) == 0
                    && minutes.contains(&(wall.rem_euclid(HOUR) / MINUTE))
                    && hour_fits(wall)
                    && at >= not_before
                {
                    found.push(at);
                }
            }
        }
        (found, first + (first_step + HOURS_OF_PATIENCE) * step - 1)
    }

    /// Calendar days.
    fn days(&self, not_before: Nanos, want: usize, give_up: Nanos) -> (Vec<Nanos>, Nanos) {
        // A clock change moves an instant by a day at most, so days long before `not_before` need no look.
        let mut number = not_before.div_euclid(DAY) - MARGIN_DAYS;
        let mut found: Vec<Nanos> = Vec::new();
        let mut enough_since = None;
        loop {
            let today = Today::numbered(number);
            if self.is_chosen(today) {
                found.extend(self.times_of(today).into_iter().filter(|at| *at >= not_before));
            }
            if found.len() >= want {
                enough_since.get_or_insert(number);
            }
            let enough = enough_since.is_some_and(|since| number >= since + MARGIN_DAYS);
            if enough || (number - MARGIN_DAYS) * DAY > give_up {
                found.sort_unstable();
                found.dedup();
                // Two candidates on one instant are one: with the doubles gone there may be too few after
                // all.
                if found.len() < want && enough {
                    enough_since = None;
                } else {
                    let walked_until = (number - MARGIN_DAYS) * DAY;
                    if enough {
                        let last_wanted = want.checked_sub(1).map_or(walked_until, |last| found[last]);
                        return (found, walked_until.max(last_wanted));
                    }
                    // Days not yet walked may still have something before the last ones.
                    found.retain(|at| *at <= walked_until);
                    return (found, walked_until);
                }
            }
            number += 1;
        }
    }

    fn shown(&self, at: Nanos) -> Nanos {
        self.walls.shown(at)
    }

    /// Whether the job runs on this day at all.
    fn is_chosen(&self, today: Today) -> bool {
        match &self.kind {
            Kind::Cron(cron) => cron.is_chosen(today),
            Kind::Plain { frequency, interval, schedule } => {
                let nothing = ScheduleDraft::default();
                let schedule = schedule.as_ref().unwrap_or(&nothing);
                self.period_counts(*frequency, *interval, today)
                    && self.schedule_picks(*frequency, schedule, today)
            }
        }
    }

    /// "Every `interval`-th period counts, from the period that holds start (in the zone)."
    fn period_counts(&self, frequency: Frequency, interval: i64, today: Today) -> bool {
        let start = self.start_day;
        let periods = match frequency {
            Frequency::Day => today.number - start.number,
            Frequency::Week => (today.week() - start.week()) / 7,
            Frequency::Month => today.months() - start.months(),
            Frequency::Year => i64::from(today.date.year()) - i64::from(start.date.year()),
            Frequency::Minute | Frequency::Hour => unreachable!("these are not walked by days"),
        };
        periods >= 0 && periods % interval == 0
    }

    /// Whether the schedule picks this day of a period that counts.
    fn schedule_picks(&self, frequency: Frequency, schedule: &ScheduleDraft, today: Today) -> bool {
        let start = self.start_day;
        let of_month = || {
            let by_day = schedule
                .month_days
                .as_ref()
                .map(|list| list.contains(&today.day_of_month()) || list.contains(&today.day_from_end()));
            let by_weekday = schedule
                .monthly_occurrences
                .as_ref()
                .map(|list| list.iter().any(|asked| is_monthly_occurrence(asked, today)));
            match (by_day, by_weekday) {
                // "the day of month of start, clamped"
                (None, None) => today.day_of_month() == start.day_of_month().min(today.days_in_month()),
                // "a day must satisfy both"
                (by_day, by_weekday) => by_day.unwrap_or(true) && by_weekday.unwrap_or(true),
            }
        };
        match frequency {
            Frequency::Day => true,
            Frequency::Week => match &schedule.week_days {
                Some(names) => names.iter().any(|name| weekday_named(name) == today.weekday()),
                None => today.weekday() == start.weekday(),
            },
            Frequency::Month => of_month(),
            Frequency::Year => {
                let month_fits = match &schedule.months {
                    Some(months) => months.contains(&today.month()),
                    None => today.month() == start.month(),
                };
                month_fits && of_month()
            }
            Frequency::Minute | Frequency::Hour => unreachable!("these are not walked by days"),
        }
    }

    /// The instants of a chosen day.
    fn times_of(&self, today: Today) -> Vec<Nanos> {
        let day = today.number * DAY;
        let of_start = self.shown(self.start).rem_euclid(DAY);
        let (hours, minutes) = match &self.kind {
            Kind::Cron(cron) => {
                (if cron.every_hour { None } else { Some(cron.hours.clone()) }, Some(cron.minutes.clone()))
            }
            Kind::Plain { schedule: None, .. } => return self.without_schedule(today),
            Kind::Plain { schedule: Some(schedule), .. } => {
                (schedule.hours.clone(), schedule.minutes.clone())
            }
        };
        let mut times = Vec::new();
        match (hours, minutes) {
            // "every hour × every minute, second 0"
            (Some(hours), Some(minutes)) => {
                for hour in &hours {
                    for minute in &minutes {
                        times.extend(self.resolved(day + hour * HOUR + minute * MINUTE));
                    }
                }
            }
            // "each hour at the minute and second of start"
            (Some(hours), None) => {
                for hour in &hours {
                    times.extend(self.resolved(day + hour * HOUR + of_start % HOUR));
                }
            }
            // "every hour that really elapses", whatever the policy says
            (None, Some(minutes)) => {
                for hour in 0..24 {
                    for minute in &minutes {
                        times.extend(self.walls.instants(day + hour * HOUR + minute * MINUTE));
                    }
                }
            }
            // "the time of day of start"
            (None, None) => times.extend(self.resolved(day + of_start)),
        }
        times
    }

    /// The instants of a day of a job without a schedule: the time of day of start, but start itself stands
    /// whichever pass of a fold it is in.
    fn without_schedule(&self, today: Today) -> Vec<Nanos> {
        let wall = today.number * DAY + self.shown(self.start).rem_euclid(DAY);
        if today.number != self.start_day.number {
            return self.resolved(wall);
        }
        let mut times = vec![self.start];
        if self.fold == Fold::Both {
            times.extend(self.walls.instants(wall).into_iter().filter(|at| *at > self.start));
        }
        times
    }

    /// The instants of a wall-clock time, by the job's own policy for clock changes.
    fn resolved(&self, wall: Nanos) -> Vec<Nanos> {
        let instants = self.walls.instants(wall);
        match (instants.as_slice(), self.fold) {
            ([], _) if self.gap_skips => vec![],
            ([], _) => vec![self.walls.moved_out_of_gap(wall)],
            ([first, ..], Fold::First) => vec![*first],
            ([.., last], Fold::Last) => vec![*last],
            (_, Fold::Both) => instants,
        }
    }
}

fn is_monthly_occurrence(asked: &MonthlyOccurrenceDraft, today: Today) -> bool {
    let weekday = weekday_named(asked.day.as_deref().unwrap());
    let counted =
        asked.occurrence.is_none_or(|n| n == today.occurrence() || n == today.occurrence_from_end());
    weekday == today.weekday() && counted
}

/// Monday is 1, Sunday is 7.
fn weekday_named(name: &str) -> i64 {
    let names = ["monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"];
    1 + i64::try_from(names.iter().position(|known| *known == name).unwrap()).unwrap()
}
