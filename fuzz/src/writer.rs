//! A draft as somebody might write it down: any shape, any case of letters, singular or plural, null or nothing.

use recurrence::{Draft, DstDraft, MonthlyOccurrenceDraft, RecurrenceDraft, ScheduleDraft};
use serde_json::{Map, Value, json};

use super::Choices;

/// Which shape a document gets.
#[derive(Debug, Clone, Copy)]
pub enum Wrapping {
    /// A whole job.
    Job,
    /// Its properties.
    Properties,
    /// Its recurrence.
    Recurrence,
}

impl Wrapping {
    /// A shape that can hold a draft: a recurrence alone has no start, and names its frequency or cron.
    pub fn choose(choices: &mut Choices<'_>, draft: &Draft) -> Self {
        let alone = draft.start_time.is_none()
            && draft
                .recurrence
                .as_ref()
                .is_some_and(|asked| asked.frequency.is_some() || asked.cron.is_some());
        if alone && choices.one_in(2) {
            Self::Recurrence
        } else if choices.one_in(2) {
            Self::Job
        } else {
            Self::Properties
        }
    }
}

/// The draft as a document of a shape.
pub fn written(draft: &Draft, wrapping: Wrapping, choices: &mut Choices<'_>) -> Value {
    let pen = &mut Pen { choices };
    let recurrence = draft.recurrence.as_ref().map(|asked| recurrence(pen, asked));
    if let (Wrapping::Recurrence, Some(recurrence)) = (wrapping, &recurrence) {
        return recurrence.clone();
    }
    let properties = pen.object([
        (&["action"], Some(json!({"type": "http"}))),
        (&["startTime"], draft.start_time.clone().map(Value::from)),
        (&["recurrence"], recurrence),
    ]);
    match wrapping {
        Wrapping::Job => pen.object([(&["name"], Some(json!("a/b"))), (&["properties"], Some(properties))]),
        Wrapping::Properties | Wrapping::Recurrence => properties,
    }
}

fn recurrence(pen: &mut Pen<'_, '_>, asked: &RecurrenceDraft) -> Value {
    let schedule = asked.schedule.as_ref().map(|asked| schedule(pen, asked));
    let dst = asked.dst.as_ref().map(|DstDraft { gap, fold }| {
        pen.object([(&["gap"], gap.clone().map(Value::from)), (&["fold"], fold.clone().map(Value::from))])
    });
    let interval = asked.interval.map(|number| pen.number(number));
    let count = asked.count.map(|number| pen.number(number));
    pen.object([
        (&["frequency"], asked.frequency.clone().map(Value::from)),
        (&["interval"], interval),
        (&["count"], count),
        (&["endTime"], asked.end_time.clone().map(Value::from)),
        (&["schedule"], schedule),
        (&["cron"], asked.cron.clone().map(Value::from)),
        (&["timeZone"], asked.time_zone.clone().map(Value::from)),
        (&["dst"], dst),
    ])
}

fn schedule(pen: &mut Pen<'_, '_>, asked: &ScheduleDraft) -> Value {
    let minutes = pen.list(&asked.minutes, |pen, number| pen.number(*number));
    let hours = pen.list(&asked.hours, |pen, number| pen.number(*number));
    let week_days = pen.list(&asked.week_days, |_, day| json!(day));
    let month_days = pen.list(&asked.month_days, |pen, number| pen.number(*number));
    let months = pen.list(&asked.months, |pen, number| pen.number(*number));
    let monthly = pen.list(&asked.monthly_occurrences, |pen, MonthlyOccurrenceDraft { day, occurrence }| {
        let occurrence = occurrence.map(|number| pen.number(number));
        pen.object([(&["day"], day.clone().map(Value::from)), (&["occurrence"], occurrence)])
    });
    pen.object([
        (&["minutes", "minute"], minutes),
        (&["hours", "hour"], hours),
        (&["weekDays", "weekDay"], week_days),
        (&["monthDays", "monthDay"], month_days),
        (&["monthlyOccurrences", "monthlyOccurrence"], monthly),
        (&["months", "month"], months),
    ])
}

/// Writes things in one of the ways that mean the same.
struct Pen<'a, 'b> {
    choices: &'a mut Choices<'b>,
}

impl Pen<'_, '_> {
    fn object<const N: usize>(&mut self, members: [(&[&str], Option<Value>); N]) -> Value {
        let mut object = Map::new();
        for (names, value) in members {
            let name = self.choices.of(names);
            let name = match self.choices.of(&[0, 0, 0, 1, 2]) {
                0 => name.to_owned(),
                1 => name.to_ascii_uppercase(),
                _ => name.to_ascii_lowercase(),
            };
            match value {
                Some(value) => drop(object.insert(name, value)),
                None if self.choices.one_in(4) => drop(object.insert(name, Value::Null)),
                None => {}
            }
        }
        Value::Object(object)
    }

    fn number(&mut self, number: i64) -> Value {
        // A floating-point number has 53 bits; beyond them it would be another number.
        let exact = number.unsigned_abs() < 1 << 53;
        if exact && self.choices.one_in(4) { json!(number as f64) } else { json!(number) }
    }

    fn list<T>(
        &mut self,
        items: &Option<Vec<T>>,
        mut write: impl FnMut(&mut Self, &T) -> Value,
    ) -> Option<Value> {
        let items: Vec<_> = items.as_ref()?.iter().map(|item| write(self, item)).collect();
        match &items[..] {
            [only] if self.choices.one_in(2) => Some(only.clone()),
            _ => Some(Value::Array(items)),
        }
    }
}
