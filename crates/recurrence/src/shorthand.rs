//! Rules in one line, for tables of tests: `week/2; weekDays Monday,Friday; hours 10,22; start 2012-08-04; count 10`.

use crate::{Draft, DstDraft, MonthlyOccurrenceDraft, RecurrenceDraft, Rule, ScheduleDraft};

/// The rule that a line asks for, accepted at the start of 2012 unless the line says `now`.
pub(crate) fn rule(line: &str) -> Rule {
    let mut now = "2012-01-01T00:00:00Z";
    let (mut draft, mut recurrence) = (Draft::default(), RecurrenceDraft::default());
    let (mut schedule, mut dst) = (ScheduleDraft::default(), DstDraft::default());
    for part in line.split(';').map(str::trim) {
        let (key, value) = part.split_once(' ').unwrap_or((part, ""));
        let texts = || value.split(',').map(str::to_owned).collect::<Vec<_>>();
        let numbers = || Some(value.split(',').map(|number| number.parse().expect(line)).collect::<Vec<_>>());
        let text = Some(value.to_owned());
        match key {
            "now" => now = value,
            "start" => draft.start_time = text,
            "end" => recurrence.end_time = text,
            "zone" => recurrence.time_zone = text,
            "cron" => recurrence.cron = text,
            "count" => recurrence.count = value.parse().ok(),
            "gap" => dst.gap = text,
            "fold" => dst.fold = text,
            "minutes" => schedule.minutes = numbers(),
            "hours" => schedule.hours = numbers(),
            "weekDays" => schedule.week_days = Some(texts()),
            "monthDays" => schedule.month_days = numbers(),
            "months" => schedule.months = numbers(),
            "nth" => schedule.monthly_occurrences = Some(texts().iter().map(|text| nth(text)).collect()),
            "once" | "" => {}
            _ => {
                let (frequency, interval) = key.split_once('/').unwrap_or((key, "1"));
                recurrence.frequency = Some(frequency.to_owned());
                recurrence.interval = interval.parse().ok();
            }
        }
    }
    if !line.starts_with("once") {
        recurrence.schedule = (schedule != ScheduleDraft::default()).then_some(schedule);
        draft.recurrence = Some(RecurrenceDraft { dst: Some(dst), ..recurrence });
    }
    Rule::build(&draft, now.parse().expect(line)).unwrap_or_else(|faults| panic!("{line}: {faults:?}"))
}

/// `Friday` or `Friday -1`.
fn nth(text: &str) -> MonthlyOccurrenceDraft {
    let (day, occurrence) = text.split_once(' ').unwrap_or((text, ""));
    MonthlyOccurrenceDraft { day: Some(day.to_owned()), occurrence: occurrence.parse().ok() }
}
