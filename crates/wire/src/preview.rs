//! Previews: when a job would run, out of a document that nobody has to keep. An extension.
//!
//! The command and the API read and tell the same with this.
//!
//! ```
//! let job = serde_json::json!({"recurrence": {"frequency": "day", "count": 2, "timeZone": "Europe/Paris",
//!     "schedule": {"hours": [2], "minutes": [30]}}, "startTime": "2027-03-28", "state": "Disabled"});
//! let (preview, _) = wire::preview::read(&job, "2027-03-27T12:00:00Z".parse()?)?;
//! let written = preview.write(10);
//! assert_eq!(written["occurrences"][0].to_string(),
//!     r#"{"at":"2027-03-28T01:30:00Z","local":"2027-03-28 03:30","offset":"+02:00","clockChange":"forward"}"#);
//! assert_eq!(written["days"][1].to_string(), r#"{"date":"2027-03-29","count":1}"#);
//! assert_eq!(written["ends"], "2027-03-29T00:30:00Z");
//! assert_eq!(written["remarks"][1], "The job is disabled: it does not run until it is enabled");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

use ::recurrence::{Faults, Occurrence, Rule, Timestamp, Turn, Zone};
use serde_json::{Value, json};

use crate::{date_time, recurrence};

/// How many days are counted: from today on, a year and the day on which it comes again.
const DAYS: u16 = 366;

/// A job's times, if it were written now.
#[derive(Debug, Clone)]
pub struct Preview {
    rule: Rule,
    /// As it is written.
    state: Option<String>,
}

/// Reads a job, its properties or its recurrence, as if it were accepted at a moment, with the paths of members that
/// nobody knows; or says all that is wrong with it.
pub fn read(document: &Value, now: Timestamp) -> Result<(Preview, Vec<String>), Faults> {
    let shape = recurrence::recognise(document)?;
    let reading = recurrence::read(document, shape);
    let rule = reading.rule(now)?;
    Ok((Preview::of(rule, reading.state()), reading.ignored().to_vec()))
}

impl Preview {
    /// Of a rule, and the state that the job has.
    pub fn of(rule: Rule, state: Option<&str>) -> Self {
        Self { rule, state: state.map(str::to_owned) }
    }

    /// The rule of its times.
    pub fn rule(&self) -> &Rule {
        &self.rule
    }

    /// What may surprise about it, given the occurrences that are shown.
    pub fn remarks(&self, shown: &[Occurrence]) -> Vec<String> {
        let mut remarks = self.rule.remarks(shown);
        let state = self.state.as_deref().unwrap_or_default().to_ascii_lowercase();
        match state.as_str() {
            "disabled" => {
                remarks.push("The job is disabled: it does not run until it is enabled".to_owned());
            }
            "completed" | "faulted" => remarks.push(format!("The job is {state}: it does not run again")),
            _ => {}
        }
        remarks
    }

    /// All of it, with so many occurrences.
    pub fn write(&self, count: usize) -> Value {
        let rule = &self.rule;
        let zone = rule.zone();
        let shown: Vec<Occurrence> = rule.occurrences().take(count).collect();
        let days = rule.days(DAYS);
        let days = days.iter().map(|day| json!({"date": day.date.to_string(), "count": day.count}));
        let changes = zone.clock_changes(rule.accepted_at(), DAYS);
        let changes =
            changes.iter().map(|change| json!({"date": change.date.to_string(), "kind": name(change.turn)}));
        json!({
            "sentence": rule.describe(),
            "remarks": self.remarks(&shown),
            "timeZone": zone.name(),
            "occurrences": occurrences(&zone, shown.iter().map(|occurrence| occurrence.at)),
            "days": days.collect::<Vec<_>>(),
            "clockChanges": changes.collect::<Vec<_>>(),
            "ends": rule.last().map(|last| date_time::write(last.at)),
        })
    }
}

/// Occurrences, each with what the wall clock shows and whether it is moved on that day.
pub fn occurrences(zone: &Zone, occurrences: impl Iterator<Item = Timestamp>) -> Value {
    occurrences
        .map(|at| {
            let change = zone.clock_changes(at, 1).first().map(|change| name(change.turn));
            let local = zone.local(at);
            // Seconds are said only where there are some: nearly all jobs run on the minute.
            let form = if local.second() == 0 { "%Y-%m-%d %H:%M" } else { "%Y-%m-%d %H:%M:%S" };
            json!({
                "at": date_time::write(at),
                "local": local.strftime(form).to_string(),
                "offset": offset(zone.offset_at(at)),
                "clockChange": change,
            })
        })
        .collect()
}

fn name(turn: Turn) -> &'static str {
    match turn {
        Turn::Forward => "forward",
        Turn::Back => "back",
    }
}

/// `+02:00`
fn offset(seconds: i64) -> String {
    let sign = if seconds < 0 { '-' } else { '+' };
    let minutes = seconds.abs() / 60;
    format!("{sign}{:02}:{:02}", minutes / 60, minutes % 60)
}
