//! How long the next occurrence of a rule takes to find. Here the ceiling is a look at the clock, which a scheduler needs
//! as often.

use std::hint::black_box;

use engine::SystemClock;
use jiff::SignedDuration;
use model::{Clock, Timestamp};
use serde_json::json;

use super::report::{self, Line};

/// Measures; the lines of the report.
pub(super) fn recurrences(questions: u32, rounds: u32) -> anyhow::Result<Vec<Line>> {
    let rules = [
        ("every 5 minutes", json!({"frequency": "minute", "interval": 5})),
        ("every 2 hours", json!({"frequency": "hour", "interval": 2})),
        ("daily at two times", json!({"frequency": "day", "schedule": {"hours": [5, 17], "minutes": [15]}})),
        (
            "weekdays at 9",
            json!({"frequency": "week", "schedule": {"weekDays":
            ["monday", "tuesday", "wednesday", "thursday", "friday"], "hours": [9], "minutes": [0]}}),
        ),
        (
            "last Friday of the month",
            json!({"frequency": "month", "schedule": {"monthlyOccurrences":
            [{"day": "friday", "occurrence": -1}], "hours": [5], "minutes": [15]}}),
        ),
    ];
    let start = SystemClock.now();
    let mut measured = Vec::new();
    for _ in 0..rounds {
        let mut lines =
            vec![Line::new("look at the clock", each(questions, |_| Some(SystemClock.now())), "ns")];
        for (name, recurrence) in &rules {
            let document = json!({"startTime": wire::date_time::write(start), "recurrence": recurrence});
            let shape = wire::recurrence::recognise(&document).map_err(told)?;
            let reading = wire::recurrence::read(&document, shape);
            let built = each(questions, |_| reading.rule(start).ok()?.first().map(|first| first.at));
            let rule = reading.rule(start).map_err(told)?;
            // Within a year, not in order.
            let any = |i: u32| start + SignedDuration::from_secs(i64::from(i) * 7_919 % (365 * 86_400));
            lines.extend([
                Line::new(
                    format!("{name}: the next after any instant"),
                    each(questions, |i| rule.after(any(i))),
                    "ns",
                ),
                Line::new(format!("{name}: the rule from its JSON"), built, "ns"),
            ]);
        }
        measured.push(lines);
    }
    Ok(report::over(measured))
}

fn told(faults: recurrence::Faults) -> anyhow::Error {
    anyhow::anyhow!("a rule of our own is refused: {faults:?}")
}

/// Nanoseconds of a question.
fn each(questions: u32, ask: impl Fn(u32) -> Option<Timestamp>) -> f64 {
    let began = SystemClock.now();
    for i in 0..questions {
        black_box(ask(black_box(i)));
    }
    began.duration_until(SystemClock.now()).as_secs_f64() * 1e9 / f64::from(questions)
}
