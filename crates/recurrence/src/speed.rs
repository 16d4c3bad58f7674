//! How fast a rule is: the shortest distance between two of its occurrences. Quotas need it.

use std::ops::Range;
use std::time::Duration;

use crate::civil::{self, DAY};
use crate::date_time::split;
use crate::plan::{DayPlan, Days, FARTHEST_MOVE, MonthDays, Plan, Times, gcd};
use crate::rule::Rule;
use crate::zone::Zone;

/// A rule with fewer occurrences is simply listed.
const FEW: usize = 500;

impl Rule {
    /// The shortest distance between any two occurrences; `None` where there is only one.
    ///
    /// The run at once of a scheduled job without a start is left out: how near it is to the next one says when the
    /// job was made, not how fast it repeats. Clock changes count, until the calendar and the zone have shown all they
    /// have, some 400 years from now: a daily job in Paris is as fast as 23 hours. A rule that ends after a great many
    /// occurrences is judged by its pattern until its `endTime`, whatever its `count`, which never makes it slower.
    pub fn fastest(&self) -> Option<Duration> {
        let recurrence = self.recurrence()?;
        if recurrence.count().is_some() || recurrence.end_time().is_some() {
            let listed: Vec<_> = self.slots().take(FEW).collect();
            if listed.len() < FEW {
                let distances = listed.windows(2).map(|pair| pair[1].duration_since(pair[0]).unsigned_abs());
                return distances.min();
            }
        }
        let (from, _) = split(self.from());
        let until = recurrence.end_time().map_or(i64::MAX, |end| split(end).0);
        let span = from..until.min(recurrence.zone().repeats_after(from));
        let seconds = match self.plan() {
            Plan::Empty => return None,
            Plan::Steps { step, .. } => *step,
            Plan::Grid { grid, zone } => {
                let mut offsets: Vec<i64> = changes(zone, &span).map(|change| change.offset).collect();
                offsets.push(zone.regime(from).offset);
                offsets.sort_unstable();
                offsets.dedup();
                let usual = offsets.into_iter().filter_map(|offset| grid.fastest(from, offset)).min()?;
                near_changes(self.plan(), zone, &span, usual)
            }
            Plan::Days { days, zone, .. } => near_changes(self.plan(), zone, &span, days.fastest()?),
        };
        let usual = Duration::from_secs(seconds.unsigned_abs());
        // The start of a rule is no slot of its plan where the plan only repeats it.
        let begins = self.slots().take(2).collect::<Vec<_>>();
        let first = begins.windows(2).map(|pair| pair[1].duration_since(pair[0]).unsigned_abs()).next();
        Some(first.map_or(usual, |first| first.min(usual)))
    }

    /// The occurrences that follow from the rule: without a run at once that the schedule does not know.
    fn slots(&self) -> impl Iterator<Item = crate::Timestamp> {
        let scheduled = self.recurrence().is_some_and(|recurrence| recurrence.pattern().schedule().is_some());
        let at_once = self.always().filter(|_| self.runs_at_once() && scheduled);
        let extra = at_once.is_some_and(|at_once| self.slot(at_once) != Some(at_once));
        self.occurrences().map(|occurrence| occurrence.at).skip(usize::from(extra))
    }
}

struct ClockChange {
    at: i64,
    offset: i64,
    moved: i64,
}

/// The clock changes that touch a span: one just before it may still have moved what lies in it.
fn changes(zone: &Zone, span: &Range<i64>) -> impl Iterator<Item = ClockChange> {
    let until = span.end;
    let mut regime = zone.regime(span.start - FARTHEST_MOVE);
    std::iter::from_fn(move || {
        if regime.end > until {
            return None;
        }
        let moved = (regime.after - regime.offset).abs();
        regime = zone.regime(regime.end);
        Some(ClockChange { at: regime.start, offset: regime.offset, moved })
    })
}

/// The shortest distance, given that of ordinary days: a clock change brings slots nearer to each other.
fn near_changes(plan: &Plan, zone: &Zone, span: &Range<i64>, usual: i64) -> i64 {
    let grain = plan.grain();
    let mut fastest = usual;
    // The first slot after those that were looked at.
    let mut ahead = span.start;
    for change in changes(zone, span) {
        let settled = change.at + change.moved;
        // Nothing to move, or all distances are multiples of what the shortest is already.
        if ahead > settled || fastest <= gcd(grain, change.moved) {
            continue;
        }
        // Slots further away than this are not brought nearer than the usual distance.
        let mut last = None;
        let mut slot = plan.next((change.at - usual - 2 * change.moved).max(span.start));
        while let Some(at) = slot {
            if let Some(last) = last {
                fastest = fastest.min(at - last);
            }
            if at > settled {
                ahead = at;
                break;
            }
            last = Some(at);
            slot = plan.next(at + 1);
        }
    }
    fastest
}

impl Plan {
    /// While clocks do not change, or change by multiples of this, all distances are multiples of it.
    fn grain(&self) -> i64 {
        match self {
            Self::Empty => 1,
            Self::Steps { step, .. } => *step,
            Self::Grid { grid, .. } => grid.grain(),
            Self::Days { days, .. } => {
                let first = days.times.first();
                days.times.iter().fold(DAY, |grain, time| gcd(grain, time - first))
            }
        }
    }
}

impl DayPlan {
    /// The shortest distance between two slots while clocks do not change.
    fn fastest(&self) -> Option<i64> {
        let within = self.times.fastest();
        let between = self.days.fastest().map(|days| days * DAY - self.times.span());
        match (within, between) {
            (Some(within), Some(between)) => Some(within.min(between)),
            (within, between) => within.or(between),
        }
    }
}

impl Times {
    fn fastest(self) -> Option<i64> {
        let mut last = None;
        self.iter().filter_map(|time| last.replace(time).map(|last| time - last)).min()
    }

    /// From the first time of a day to its last.
    fn span(self) -> i64 {
        self.iter().last().unwrap_or_default() - self.first()
    }
}

impl Days {
    /// The shortest distance between two such days.
    fn fastest(&self) -> Option<i64> {
        match self {
            Self::Steps { step, .. } => Some(*step),
            Self::Weeks { step, weekdays, .. } => {
                let (first, last) = (weekdays.iter().next()?, weekdays.iter().next_back()?);
                let round = step * 7 - i64::from(last - first);
                let inside =
                    weekdays.iter().zip(weekdays.iter().skip(1)).map(|(a, b)| i64::from(b - a)).min();
                Some(inside.map_or(round, |inside| inside.min(round)))
            }
            Self::Months { origin, step, months, days } => fastest_in_months(*origin, *step, *months, days),
        }
    }
}

/// Looks at one whole cycle of the calendar, unless two days in a row turn up before.
fn fastest_in_months(origin: i64, step: i64, months: crate::Numbers, days: &MonthDays) -> Option<i64> {
    let mut fastest: Option<i64> = None;
    let mut last: Option<i64> = None;
    for month in (0..=4800).map(|period| origin + period * step) {
        if !months.contains(month.rem_euclid(12) as u32) {
            continue;
        }
        let first_day = civil::first_day(month);
        for day in days.in_month(month).iter().map(|number| first_day + i64::from(number)) {
            if let Some(distance) = last.replace(day).map(|last| day - last) {
                if distance == 1 {
                    return Some(1);
                }
                fastest = Some(fastest.map_or(distance, |fastest| fastest.min(distance)));
            }
        }
    }
    fastest
}

#[cfg(test)]
mod tests {
    use crate::{Draft, MonthlyOccurrenceDraft, RecurrenceDraft, Rule, ScheduleDraft};

    const MINUTE: u64 = 60;
    const HOUR: u64 = 3600;
    const DAY: u64 = 86_400;

    fn every(frequency: &str, interval: i64, schedule: ScheduleDraft) -> RecurrenceDraft {
        RecurrenceDraft {
            frequency: Some(frequency.into()),
            interval: Some(interval),
            schedule: Some(schedule),
            ..Default::default()
        }
    }

    fn times(hours: &[i64], minutes: &[i64]) -> ScheduleDraft {
        let list = |numbers: &[i64]| (!numbers.is_empty()).then(|| numbers.to_vec());
        ScheduleDraft { hours: list(hours), minutes: list(minutes), ..Default::default() }
    }

    fn seconds(recurrence: RecurrenceDraft) -> Option<u64> {
        let draft = Draft { start_time: Some("2026-01-05T08:07:00Z".into()), recurrence: Some(recurrence) };
        let rule = Rule::build(&draft, "2026-01-01T00:00:00Z".parse().expect("valid")).expect("valid");
        rule.fastest().map(|fastest| fastest.as_secs())
    }

    #[test]
    fn steps_and_schedules() {
        let none = ScheduleDraft::default;
        let week_days = |days: &[&str]| ScheduleDraft {
            week_days: Some(days.iter().map(ToString::to_string).collect()),
            ..Default::default()
        };
        let month_days =
            |days: &[i64]| ScheduleDraft { month_days: Some(days.to_vec()), ..times(&[6], &[0]) };
        for (recurrence, expected) in [
            (every("minute", 7, none()), 7 * MINUTE),
            (every("hour", 3, none()), 3 * HOUR),
            (every("hour", 3, times(&[], &[10, 40])), 30 * MINUTE),
            (every("hour", 24, times(&[8], &[10])), DAY),
            (every("minute", 30, times(&[8, 9, 20], &[7, 37])), 30 * MINUTE),
            (every("day", 2, none()), 2 * DAY),
            (every("day", 1, times(&[5, 17], &[15])), 12 * HOUR),
            (every("day", 1, times(&[0, 23], &[0, 30])), 30 * MINUTE),
            (every("day", 1, times(&[0, 23], &[0])), HOUR),
            (every("day", 2, times(&[0, 23], &[0])), 23 * HOUR),
            (every("week", 1, none()), 7 * DAY),
            (every("week", 1, week_days(&["Monday", "Wednesday", "Friday"])), 2 * DAY),
            (every("week", 1, week_days(&["Monday", "Sunday"])), DAY),
            (every("week", 2, week_days(&["Monday", "Sunday"])), 6 * DAY),
            (every("month", 1, times(&[], &[0, 1])), MINUTE),
            (every("month", 1, month_days(&[28])), 28 * DAY),
            (every("month", 1, month_days(&[31])), 31 * DAY),
            (every("month", 1, month_days(&[1, -1])), DAY),
            (every("month", 2, month_days(&[1, -1])), 29 * DAY),
            (every("year", 1, none()), 365 * DAY),
        ] {
            assert_eq!(seconds(recurrence.clone()), Some(expected), "{recurrence:?}");
        }
        let leap_days = ScheduleDraft { months: Some(vec![2]), ..month_days(&[29]) };
        assert_eq!(seconds(every("year", 1, leap_days)), Some((4 * 365 + 1) * DAY));
    }

    #[test]
    fn clock_changes_bring_occurrences_nearer() {
        let in_paris = |recurrence| RecurrenceDraft { time_zone: Some("Europe/Paris".into()), ..recurrence };
        assert_eq!(seconds(in_paris(every("day", 1, times(&[2], &[30])))), Some(23 * HOUR));
        assert_eq!(
            seconds(in_paris(every("day", 1, times(&[2, 3], &[30])))),
            Some(HOUR),
            "02:30 moves onto 03:30"
        );
        assert_eq!(seconds(in_paris(every("day", 1, times(&[2, 3], &[15])))), Some(HOUR));
        let near = RecurrenceDraft { cron: Some("30 2 * * *".into()), ..Default::default() };
        assert_eq!(seconds(in_paris(near)), Some(23 * HOUR));
        let first_sunday = ScheduleDraft {
            monthly_occurrences: Some(vec![MonthlyOccurrenceDraft {
                day: Some("Sunday".into()),
                occurrence: Some(-1),
            }]),
            ..times(&[12], &[0])
        };
        assert_eq!(seconds(in_paris(every("month", 1, first_sunday))), Some(28 * DAY - HOUR));
    }

    #[test]
    fn a_rule_that_ends_soon_is_judged_by_what_it_does() {
        let once = RecurrenceDraft { count: Some(1), ..every("day", 1, ScheduleDraft::default()) };
        assert_eq!(seconds(once), None);
        let monthly = RecurrenceDraft { count: Some(2), ..every("month", 1, ScheduleDraft::default()) };
        assert_eq!(seconds(monthly), Some(31 * DAY));
    }

    /// On Lord Howe 02:05 and 02:20 come half an hour later on the day of the change, and 02:45 comes between them. The
    /// rule begins when clocks have just changed, and ends before they change in that way again.
    #[test]
    fn a_clock_change_just_before_the_start_still_moves_what_follows() {
        let recurrence = RecurrenceDraft {
            time_zone: Some("Australia/Lord_Howe".into()),
            end_time: Some("2027-09-30T00:00:00Z".into()),
            ..every("day", 1, times(&[2], &[5, 20, 45]))
        };
        let start = "2026-10-03T15:31:00Z";
        let draft = Draft { start_time: Some(start.into()), recurrence: Some(recurrence) };
        let rule = Rule::build(&draft, start.parse().expect("valid")).expect("valid");
        let first: Vec<String> = rule.occurrences().take(3).map(|first| first.at.to_string()).collect();
        assert_eq!(first, ["2026-10-03T15:35:00Z", "2026-10-03T15:45:00Z", "2026-10-03T15:50:00Z"]);
        assert_eq!(rule.fastest().map(|fastest| fastest.as_secs()), Some(5 * MINUTE));
    }

    /// Every 357 days a rule meets the one day on which clocks go forward only after many decades.
    #[test]
    fn a_clock_change_far_ahead_counts() {
        let recurrence = RecurrenceDraft {
            time_zone: Some("Asia/Gaza".into()),
            ..every("day", 357, times(&[1, 23], &[]))
        };
        let draft = Draft { start_time: None, recurrence: Some(recurrence) };
        let rule = Rule::build(&draft, "2026-03-28T00:00:00Z".parse().expect("valid")).expect("valid");
        let instants: Vec<_> = rule.occurrences().take(200).map(|occurrence| occurrence.at).collect();
        let nearest = instants[1..].windows(2).map(|pair| pair[1].duration_since(pair[0]).as_secs()).min();
        assert_eq!(nearest, Some(21 * 3600), "or it is no example any more");
        assert_eq!(rule.fastest().map(|fastest| fastest.as_secs()), Some(21 * HOUR));
    }

    #[test]
    fn a_run_at_once_that_the_schedule_wants_too_counts() {
        let recurrence = RecurrenceDraft { count: Some(2), ..every("day", 1, times(&[5], &[15, 16])) };
        let draft = Draft { start_time: None, recurrence: Some(recurrence) };
        let rule = Rule::build(&draft, "2026-01-05T05:15:00Z".parse().expect("valid")).expect("valid");
        assert_eq!(rule.fastest().map(|fastest| fastest.as_secs()), Some(MINUTE));
    }

    #[test]
    fn the_run_at_once_does_not_count() {
        let recurrence = every("day", 1, times(&[5], &[15]));
        let draft = Draft { start_time: None, recurrence: Some(recurrence) };
        let rule = Rule::build(&draft, "2026-01-05T05:14:59Z".parse().expect("valid")).expect("valid");
        assert_eq!(rule.fastest().map(|fastest| fastest.as_secs()), Some(DAY));
    }

    #[test]
    fn without_a_schedule_the_run_at_once_is_a_step_like_any_other() {
        let recurrence = RecurrenceDraft { count: Some(2), ..every("minute", 1, ScheduleDraft::default()) };
        let draft = Draft { start_time: None, recurrence: Some(recurrence) };
        let rule = Rule::build(&draft, "2026-01-05T05:14:59Z".parse().expect("valid")).expect("valid");
        assert_eq!(rule.fastest().map(|fastest| fastest.as_secs()), Some(MINUTE));
    }
}
