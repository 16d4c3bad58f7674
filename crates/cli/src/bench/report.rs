//! What was measured, as a table or as JSON.

use std::borrow::Cow;
use std::collections::HashMap;
use std::io::{self, Write};

use serde_json::{Map, Value};

/// A number, or one of each round.
pub(super) struct Line {
    name: Cow<'static, str>,
    values: Vec<f64>,
    unit: &'static str,
}

impl Line {
    pub(super) fn new(name: impl Into<Cow<'static, str>>, value: f64, unit: &'static str) -> Self {
        Self { name: name.into(), values: vec![value], unit }
    }

    fn key(&self) -> String {
        if self.unit.is_empty() { self.name.to_string() } else { format!("{} ({})", self.name, self.unit) }
    }

    /// The median, and where there are several, the least and the most.
    fn shown(&self) -> String {
        let value = format!("{} {}", digits(median(self.values.clone())), self.unit);
        let (least, most) = self
            .values
            .iter()
            .fold((f64::MAX, f64::MIN), |(least, most), value| (least.min(*value), most.max(*value)));
        match self.values.len() {
            1 => value,
            _ if least == most => value,
            _ => format!("{} ({} to {})", value.trim_end(), digits(least), digits(most)),
        }
    }
}

fn digits(value: f64) -> String {
    let digits = if value.abs() >= 100.0 || value.fract() == 0.0 { 0 } else { 2 };
    format!("{value:.digits$}")
}

/// The lines of all rounds as one each, in the order in which they first come.
pub(super) fn over(rounds: Vec<Vec<Line>>) -> Vec<Line> {
    let (mut lines, mut places) = (Vec::<Line>::new(), HashMap::new());
    for line in rounds.into_iter().flatten() {
        let place = *places.entry(line.name.clone()).or_insert(lines.len());
        match lines.get_mut(place) {
            Some(before) => before.values.extend(line.values),
            None => lines.push(line),
        }
    }
    lines
}

/// Half of the values are not above it.
pub(super) fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    let middle = values.len() / 2;
    match values.len() {
        0 => 0.0,
        even if even.is_multiple_of(2) => f64::midpoint(values[middle - 1], values[middle]),
        _ => values[middle],
    }
}

/// Measured times, in milliseconds, sorted.
pub(super) struct Spread(Vec<f64>);

impl Spread {
    pub(super) fn new(mut times: Vec<f64>) -> Self {
        times.sort_by(f64::total_cmp);
        Self(times)
    }

    /// The time that such a part of them did not exceed.
    pub(super) fn at(&self, part: f64) -> f64 {
        let last = self.0.len().saturating_sub(1);
        self.0.get((part * last as f64).round() as usize).copied().unwrap_or_default()
    }
}

/// Prints the lines. As JSON they are medians by name; where there were several rounds, `rounds` has the value of each.
pub(super) fn print(lines: &[Line], json: bool) -> anyhow::Result<()> {
    let mut out = io::stdout().lock();
    if json {
        let mut object: Map<String, Value> =
            lines.iter().map(|line| (line.key(), median(line.values.clone()).into())).collect();
        let several = lines.iter().filter(|line| line.values.len() > 1);
        let rounds: Map<String, Value> =
            several.map(|line| (line.key(), line.values.clone().into())).collect();
        if !rounds.is_empty() {
            object.insert("rounds".to_owned(), rounds.into());
        }
        writeln!(out, "{:#}", Value::Object(object))?;
        return Ok(());
    }
    let width = lines.iter().map(|line| line.name.chars().count()).max().unwrap_or_default();
    for line in lines {
        writeln!(out, "{:width$}  {}", line.name, line.shown().trim_end())?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rounds_become_a_median_with_its_range() {
        let round = |rate, jobs| vec![Line::new("rate", rate, "1/s"), Line::new("jobs", jobs, "")];
        // What one of them could not tell does not put the others out of step.
        let partly = vec![Line::new("jobs", 8.0, "")];
        let lines = over(vec![round(3.0, 7.0), partly, round(1.5, 7.0), round(2.0, 7.0)]);
        let shown: Vec<String> = lines.iter().map(Line::shown).collect();
        assert_eq!(shown, ["2 1/s (1.50 to 3)", "7 (7 to 8)"]);
        assert_eq!(over(vec![round(0.25, 7.0)])[0].shown(), "0.25 1/s");
    }
}
