//! What commands print: tables for people, JSON for programs, nothing but names for the quiet.
//!
//! A list is written as it comes, page by page, so that a long one needs no more memory than a page.

use std::io::{self, BufWriter, IsTerminal, StdoutLock, Write};

use clap::Args;
use console::{Term, measure_text_width, truncate_str};
use serde_json::{Value, json};

use crate::style::{self, Style};

/// For whom a command prints.
#[derive(Debug, Clone, Copy, Args)]
pub(crate) struct Format {
    /// Print JSON: one object, or for a list one object on each line
    #[arg(long)]
    pub(crate) json: bool,
    /// Print names only, or nothing where there is nothing but a confirmation to print
    #[arg(short, long, conflicts_with = "json")]
    pub(crate) quiet: bool,
}

/// Standard output.
pub(crate) struct Output {
    out: BufWriter<StdoutLock<'static>>,
    style: Style,
    pub(crate) format: Format,
    /// How many characters fit in a line; `None` where lines are not cut.
    width: Option<usize>,
}

impl Output {
    pub(crate) fn new(format: Format) -> Self {
        let stdout = io::stdout();
        let width = stdout.is_terminal().then(|| usize::from(Term::stdout().size().1));
        let style = style::of(&stdout);
        Self { out: BufWriter::new(stdout.lock()), style, format, width }
    }

    /// A thing: JSON of several lines, or what `people` write.
    pub(crate) fn thing(
        &mut self,
        value: &Value,
        name: &str,
        people: impl FnOnce(&mut Self) -> io::Result<()>,
    ) -> io::Result<()> {
        if self.format.json {
            serde_json::to_writer_pretty(&mut self.out, value)?;
            writeln!(self.out)?;
        } else if self.format.quiet {
            self.line(name)?;
        } else {
            people(self)?;
        }
        self.out.flush()
    }

    /// One object on one line.
    pub(crate) fn json_line(&mut self, value: &Value) -> io::Result<()> {
        serde_json::to_writer(&mut self.out, value)?;
        writeln!(self.out)
    }

    /// A line of text.
    pub(crate) fn line(&mut self, text: &str) -> io::Result<()> {
        writeln!(self.out, "{}", style::harmless(text))
    }

    /// `label  text`, with the labels of a block below each other.
    pub(crate) fn field(&mut self, label: &str, text: &str) -> io::Result<()> {
        let Style { bold, plain, .. } = self.style;
        let colour = self.style.of_word(text);
        writeln!(self.out, "{bold}{label:<12}{plain}  {colour}{}{plain}", style::harmless(text))
    }

    /// `verdict  check  text`, the verdict in its colour.
    pub(crate) fn verdict(&mut self, verdict: &str, check: &str, text: &str) -> io::Result<()> {
        let (colour, plain) = (self.style.of_word(verdict), self.style.plain);
        writeln!(self.out, "{colour}{verdict:<9}{plain}  {check}: {}", style::harmless(text))
    }

    /// What was done, for people; programs get the object, the quiet nothing.
    pub(crate) fn done(&mut self, text: &str, value: &Value) -> io::Result<()> {
        match self.format {
            Format { json: true, .. } => self.json_line(value)?,
            Format { quiet: true, .. } => {}
            _ => text.lines().try_for_each(|line| self.line(line))?,
        }
        self.out.flush()
    }

    pub(crate) fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }

    /// A list with these headings. The entries follow.
    pub(crate) fn list(self, headings: &'static [&'static str]) -> List {
        let widths = headings.iter().map(|heading| measure_text_width(heading)).collect();
        List { output: self, headings, widths, page: Vec::new(), written: 0 }
    }
}

/// How many rows share one measure of the columns.
const PAGE: usize = 100;

/// A list that is being written.
pub(crate) struct List {
    output: Output,
    headings: &'static [&'static str],
    widths: Vec<usize>,
    page: Vec<Vec<String>>,
    written: u64,
}

impl List {
    /// Adds an entry: as JSON, or the first of its cells, or the row.
    pub(crate) fn add(&mut self, value: &Value, cells: Vec<String>) -> io::Result<()> {
        self.written += 1;
        if self.output.format.json {
            return self.output.json_line(value);
        }
        if self.output.format.quiet {
            return self.output.line(&cells[0]);
        }
        self.page.push(cells.iter().map(|cell| style::harmless(cell)).collect());
        if self.page.len() >= PAGE { self.write_page() } else { Ok(()) }
    }

    /// Whether nothing was added yet.
    pub(crate) fn is_empty(&self) -> bool {
        self.written == 0
    }

    /// Ends the list; `none` is said, on standard error, where there was no entry.
    pub(crate) fn end(mut self, none: &str) -> io::Result<u64> {
        self.write_page()?;
        self.output.flush()?;
        if self.written == 0 && !self.output.format.json && !self.output.format.quiet {
            style::say("note", none);
        }
        Ok(self.written)
    }

    fn write_page(&mut self) -> io::Result<()> {
        let is_first = self.written <= self.page.len() as u64;
        for row in &self.page {
            for (width, cell) in self.widths.iter_mut().zip(row) {
                *width = (*width).max(measure_text_width(cell));
            }
        }
        if is_first && !self.page.is_empty() {
            let Style { bold, plain, .. } = self.output.style;
            let headings: Vec<String> = self.headings.iter().map(ToString::to_string).collect();
            let line = self.row(&headings, false);
            writeln!(self.output.out, "{bold}{line}{plain}")?;
        }
        for row in std::mem::take(&mut self.page) {
            let line = self.row(&row, true);
            writeln!(self.output.out, "{line}")?;
        }
        Ok(())
    }

    /// The cells below their headings; what does not fit into the terminal is cut at the end.
    fn row(&self, cells: &[String], coloured: bool) -> String {
        let mut line = String::new();
        let mut room = self.output.width.unwrap_or(usize::MAX);
        for (i, (cell, width)) in cells.iter().zip(&self.widths).enumerate() {
            if room == 0 {
                break;
            }
            let is_last = i + 1 == cells.len();
            let cell = truncate_str(cell, room, "…");
            let used = measure_text_width(&cell);
            let colour = if coloured { self.output.style.of_word(&cell) } else { "" };
            let plain = if colour.is_empty() { "" } else { self.output.style.plain };
            line += &format!("{colour}{cell}{plain}");
            if !is_last {
                line += &" ".repeat((width + 2).saturating_sub(used).min(room));
            }
            room = room.saturating_sub(width.max(&used) + 2);
        }
        line.trim_end().to_owned()
    }
}

/// What was done, or with a dry run would be, to a resource.
pub(crate) fn outcome(id: &str, result: &str, dry_run: bool) -> Value {
    json!({"id": id, "result": result, "dryRun": dry_run})
}

/// `1 job`, `2 jobs`.
pub(crate) fn many(number: u64, one: &str) -> String {
    if number == 1 { format!("1 {one}") } else { format!("{number} {one}s") }
}

/// A time of the API as people read it: to the second, in UTC.
pub(crate) fn time(value: &Value) -> String {
    let Some(text) = value.as_str() else { return "-".to_owned() };
    match text.parse::<recurrence::Timestamp>() {
        Ok(at) => at.to_zoned(jiff::tz::TimeZone::UTC).strftime("%Y-%m-%d %H:%M:%SZ").to_string(),
        Err(_) => text.to_owned(),
    }
}

/// A long text of the API on one line, cut where nobody reads on; JSON has all of it.
pub(crate) fn brief(value: &Value) -> String {
    const LONGEST: usize = 100;
    let words = text(value).split_whitespace().collect::<Vec<_>>().join(" ");
    // First of all: what is left of a sequence that steers terminals would count as no width.
    truncate_str(&style::harmless(&words), LONGEST, "…").into_owned()
}

/// A text or a number of the API; a dash where there is none.
pub(crate) fn text(value: &Value) -> String {
    match value {
        Value::Null => "-".to_owned(),
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}
