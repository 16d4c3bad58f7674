//! What was measured, as a table or as JSON; and what this process has used.

use std::borrow::Cow;
use std::io::{self, Write};

use serde_json::{Map, Value};

/// One number.
pub(super) struct Line {
    name: Cow<'static, str>,
    value: f64,
    unit: &'static str,
}

impl Line {
    pub(super) fn new(name: impl Into<Cow<'static, str>>, value: f64, unit: &'static str) -> Self {
        Self { name: name.into(), value, unit }
    }

    fn shown(&self) -> String {
        let digits = if self.value >= 100.0 || self.value.fract() == 0.0 { 0 } else { 2 };
        format!("{:.digits$} {}", self.value, self.unit)
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

pub(super) fn print(lines: &[Line], json: bool) -> anyhow::Result<()> {
    let mut out = io::stdout().lock();
    if json {
        let key = |line: &Line| {
            if line.unit.is_empty() {
                line.name.to_string()
            } else {
                format!("{} ({})", line.name, line.unit)
            }
        };
        let object: Map<String, Value> = lines.iter().map(|line| (key(line), line.value.into())).collect();
        writeln!(out, "{:#}", Value::Object(object))?;
        return Ok(());
    }
    let width = lines.iter().map(|line| line.name.chars().count()).max().unwrap_or_default();
    for line in lines {
        writeln!(out, "{:width$}  {}", line.name, line.shown().trim_end())?;
    }
    Ok(())
}

/// Seconds of CPU that this process has used, by the kernel's count; 0 where there is none to ask.
pub(super) fn cpu_seconds() -> f64 {
    // Ticks are hundredths of a second on every Linux that Rust runs on.
    const TICKS: f64 = 100.0;
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let fields: Vec<&str> = stat.rsplit(')').next().unwrap_or_default().split_whitespace().collect();
    let ticks = |i: usize| fields.get(i).and_then(|field| field.parse::<f64>().ok()).unwrap_or_default();
    (ticks(11) + ticks(12)) / TICKS
}

/// Megabytes in memory now.
pub(super) fn memory() -> f64 {
    status("VmRSS:")
}

/// Megabytes in memory at the most.
pub(super) fn peak_memory() -> f64 {
    status("VmHWM:")
}

fn status(name: &str) -> f64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix(name)).unwrap_or_default();
    line.split_whitespace().next().and_then(|kilobytes| kilobytes.parse::<f64>().ok()).unwrap_or_default()
        / 1024.0
}
