//! From a draft to a rule: every fault is found, none is corrected.

use std::fmt::Display;

use crate::Timestamp;
use crate::cron::Cron;
use crate::date_time::{DATE_TIME_FORMS, is_end_of_time, read_date_time};
use crate::draft::{Draft, DstDraft, MonthlyOccurrenceDraft, RecurrenceDraft, ScheduleDraft};
use crate::fault::{Fault, Faults, quoted};
use crate::names::{Dst, Fold, Frequency, Gap, Weekday};
use crate::numbers::Numbers;
use crate::rule::{MonthlyOccurrence, Pattern, Recurrence, Rule, Schedule};
use crate::zone::{ZONE_NAMES, Zone};

const FREQUENCIES: &str = "minute, hour, day, week, month or year";
const LARGEST_COUNT: i64 = i32::MAX as i64;

/// The rule that a draft asks for.
pub(crate) fn rule(draft: &Draft, accepted_at: Timestamp) -> Result<Rule, Faults> {
    let mut faults = Found::default();
    let start_time = faults.date_time("startTime", draft.start_time.as_deref());
    let recurrence = draft.recurrence.as_ref().and_then(|draft| recurrence(draft, accepted_at, &mut faults));
    Faults::check(faults.0)?;
    let rule = Rule::new(accepted_at, start_time, recurrence);
    if let Some(asked) = &draft.recurrence {
        if !rule.recurs_without_end() {
            return Err(never(asked, &rule).into());
        }
        if rule.first().is_none() {
            let end = quoted(asked.end_time.as_deref().unwrap_or_default());
            let allowed = "an end that is not before the first occurrence";
            return Err(Fault::new("recurrence.endTime", end, allowed).into());
        }
    }
    Ok(rule)
}

/// The fault of a recurrence that has no occurrence.
fn never(asked: &RecurrenceDraft, rule: &Rule) -> Fault {
    if rule.with_gap(Gap::Shift).recurs_without_end() {
        let allowed = "shift: each of its times falls into a clock change, so that it never fires";
        return Fault::new("recurrence.dst.gap", quoted(Gap::Skip.name()), allowed);
    }
    if let Some(cron) = &asked.cron {
        let allowed = "an expression that some day satisfies; this one never fires";
        return Fault::new("recurrence.cron", quoted(cron), allowed);
    }
    let allowed = "days and times that occur in some of its periods; this recurrence never fires";
    let schedule = asked.schedule.clone().unwrap_or_default();
    match (&schedule.month_days, &schedule.monthly_occurrences) {
        (Some(days), _) => Fault::new("recurrence.schedule.monthDays", listed(days), allowed),
        (None, Some(_)) => Fault::new("recurrence.schedule.monthlyOccurrences", "this list", allowed),
        (None, None) => Fault::new("recurrence.schedule", "this schedule", allowed),
    }
}

fn recurrence(draft: &RecurrenceDraft, accepted_at: Timestamp, faults: &mut Found) -> Option<Recurrence> {
    let pattern = match &draft.cron {
        Some(cron) => cron_pattern(cron, draft, faults),
        None => every_pattern(draft, faults),
    };
    let count = faults.number("recurrence.count", draft.count, 1, LARGEST_COUNT, "a whole number");
    // An end that no instant can say comes after all that can: it is none.
    let end_time = draft.end_time.as_deref().filter(|text| !is_end_of_time(text));
    let end_time = faults.date_time("recurrence.endTime", end_time);
    if end_time.is_some_and(|end| end < accepted_at) {
        let allowed = format!("a date-time that is not past (it is {accepted_at})");
        faults.add("recurrence.endTime", quoted(draft.end_time.as_deref().unwrap_or_default()), allowed);
    }
    let zone = match draft.time_zone.as_deref() {
        None => Some(Zone::utc()),
        Some(name) => faults.name("recurrence.timeZone", name, Zone::named, ZONE_NAMES),
    };
    let dst = dst(draft.dst.as_ref(), faults);
    Some(Recurrence { pattern: pattern?, count: count.map(|count| count as u32), end_time, zone: zone?, dst })
}

fn cron_pattern(cron: &str, draft: &RecurrenceDraft, faults: &mut Found) -> Option<Pattern> {
    if draft.frequency.is_some() {
        faults.add("recurrence.cron", quoted(cron), "either cron or frequency, not both");
    }
    if let Some(interval) = draft.interval {
        faults.add("recurrence.interval", interval, "no interval beside cron; write a step, such as */15");
    }
    if draft.schedule.is_some() {
        faults.add(
            "recurrence.schedule",
            "a schedule",
            "no schedule beside cron; the expression is the schedule",
        );
    }
    match Cron::read(cron) {
        Ok(cron) => Some(Pattern::Cron(cron)),
        Err(problems) => {
            for allowed in problems {
                faults.add("recurrence.cron", quoted(cron), allowed);
            }
            None
        }
    }
}

fn every_pattern(draft: &RecurrenceDraft, faults: &mut Found) -> Option<Pattern> {
    let frequency = match draft.frequency.as_deref() {
        None => {
            faults.0.push(Fault::missing(
                "recurrence.frequency",
                format!("{FREQUENCIES}, or a cron expression instead"),
            ));
            None
        }
        Some(name) => faults.name("recurrence.frequency", name, Frequency::read, FREQUENCIES),
    };
    // Without a frequency its own limits are unknown; what no frequency allows is wrong all the same.
    let longest = frequency.map_or(1000, Frequency::longest_interval);
    let what =
        frequency.map_or("a whole number".to_owned(), |f| format!("with frequency {f}, a whole number"));
    let interval = faults.number("recurrence.interval", draft.interval, 1, longest.into(), &what);
    let schedule = draft.schedule.as_ref().map(|schedule_draft| schedule(schedule_draft, frequency, faults));
    Some(Pattern::Every {
        frequency: frequency?,
        interval: interval.unwrap_or(1) as u16,
        schedule: schedule.filter(|schedule| *schedule != Schedule::default()),
    })
}

fn schedule(draft: &ScheduleDraft, frequency: Option<Frequency>, faults: &mut Found) -> Schedule {
    let mut element = |name: &'static str, given: bool, homes: &[Frequency]| {
        if given && let Some(frequency) = frequency.filter(|frequency| !homes.contains(frequency)) {
            let homes: Vec<_> = homes.iter().map(|home| home.name()).collect();
            let allowed = format!("{name} only with frequency {}, not with {frequency}", homes.join(" or "));
            faults.add(format!("recurrence.schedule.{name}"), name, allowed);
        }
    };
    element("weekDays", draft.week_days.is_some(), &[Frequency::Week]);
    element("monthDays", draft.month_days.is_some(), &[Frequency::Month, Frequency::Year]);
    element("monthlyOccurrences", draft.monthly_occurrences.is_some(), &[Frequency::Month, Frequency::Year]);
    element("months", draft.months.is_some(), &[Frequency::Year]);
    Schedule {
        minutes: faults.numbers("minutes", draft.minutes.as_deref(), 0, 59),
        hours: faults.numbers("hours", draft.hours.as_deref(), 0, 23),
        week_days: faults.list("weekDays", draft.week_days.as_deref(), |faults, field, name| {
            faults.name(field, name, Weekday::read, WEEKDAYS)
        }),
        month_days: faults.list("monthDays", draft.month_days.as_deref(), |faults, field, day| {
            faults.number_but_0(field, *day, 31, "the month's last day")
        }),
        monthly_occurrences: faults.list(
            "monthlyOccurrences",
            draft.monthly_occurrences.as_deref(),
            monthly_occurrence,
        ),
        months: faults.numbers("months", draft.months.as_deref(), 1, 12),
    }
}

const WEEKDAYS: &str = "Monday, Tuesday, Wednesday, Thursday, Friday, Saturday or Sunday";

fn monthly_occurrence(
    faults: &mut Found,
    field: &str,
    draft: &MonthlyOccurrenceDraft,
) -> Option<MonthlyOccurrence> {
    let occurrence = draft
        .occurrence
        .map(|nth| faults.number_but_0(&format!("{field}.occurrence"), nth, 5, "the last in the month"));
    let Some(day) = &draft.day else {
        faults.0.push(Fault::missing(format!("{field}.day"), WEEKDAYS));
        return None;
    };
    let day = faults.name(&format!("{field}.day"), day, Weekday::read, WEEKDAYS)?;
    match occurrence {
        Some(faulty) => Some(MonthlyOccurrence { day, occurrence: Some(faulty?) }),
        None => Some(MonthlyOccurrence { day, occurrence: None }),
    }
}

fn dst(draft: Option<&DstDraft>, faults: &mut Found) -> Dst {
    let Some(draft) = draft else { return Dst::default() };
    let gap = draft
        .gap
        .as_deref()
        .and_then(|name| faults.name("recurrence.dst.gap", name, Gap::read, "shift or skip"));
    let fold = draft
        .fold
        .as_deref()
        .and_then(|name| faults.name("recurrence.dst.fold", name, Fold::read, "first, last or both"));
    Dst { gap: gap.unwrap_or_default(), fold: fold.unwrap_or_default() }
}

/// The faults found so far. Its methods answer `None` where they add one, or where nothing was given.
#[derive(Default)]
struct Found(Vec<Fault>);

impl Found {
    fn add(&mut self, field: impl Into<String>, value: impl Display, allowed: impl Into<String>) {
        self.0.push(Fault::new(field, value, allowed));
    }

    fn date_time(&mut self, field: &str, text: Option<&str>) -> Option<Timestamp> {
        let text = text?;
        self.name(field, text, read_date_time, DATE_TIME_FORMS)
    }

    fn name<T>(
        &mut self,
        field: &str,
        text: &str,
        read: impl Fn(&str) -> Option<T>,
        allowed: &str,
    ) -> Option<T> {
        let read = read(text);
        if read.is_none() {
            self.add(field, quoted(text), allowed);
        }
        read
    }

    fn number(&mut self, field: &str, number: Option<i64>, low: i64, high: i64, what: &str) -> Option<i64> {
        let number = number?;
        if !(low..=high).contains(&number) {
            let allowed =
                if low == high { format!("{what}: {low}") } else { format!("{what} from {low} to {high}") };
            self.add(field, number, allowed);
            return None;
        }
        Some(number)
    }

    /// 1 to `most`, or the same counted from the end.
    fn number_but_0(&mut self, field: &str, number: i64, most: i64, last: &str) -> Option<i8> {
        if number == 0 || number.abs_diff(0) > most as u64 {
            self.add(field, number, format!("1 to {most}, or -1 ({last}) to -{most}"));
            return None;
        }
        Some(number as i8)
    }

    fn numbers(&mut self, name: &str, list: Option<&[i64]>, low: i64, high: i64) -> Option<Numbers> {
        let numbers = self.list(name, list, |faults, field, number| {
            faults.number(field, Some(*number), low, high, "a whole number").map(|number| number as u32)
        })?;
        Some(numbers.into_iter().collect())
    }

    /// The elements of a list, sorted, each once.
    fn list<T, U: Ord>(
        &mut self,
        name: &str,
        list: Option<&[T]>,
        read: impl Fn(&mut Self, &str, &T) -> Option<U>,
    ) -> Option<Vec<U>> {
        let list = list?;
        let field = format!("recurrence.schedule.{name}");
        if list.is_empty() {
            self.add(field, "[]", "at least one value, or no such member");
            return None;
        }
        let mut values: Vec<U> = list
            .iter()
            .enumerate()
            .filter_map(|(i, item)| read(self, &format!("{field}[{i}]"), item))
            .collect();
        values.sort_unstable();
        values.dedup();
        Some(values)
    }
}

fn listed(numbers: &[i64]) -> String {
    let numbers: Vec<_> = numbers.iter().map(i64::to_string).collect();
    format!("[{}]", numbers.join(", "))
}
