//! Emphasis and colours, where they are wanted.

use std::io::{self, IsTerminal, Write};
use std::sync::OnceLock;

use clap::ValueEnum;

/// When to use colours.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Colour {
    /// On terminals, unless NO_COLOR is set
    Auto,
    /// Everywhere
    Always,
    /// Nowhere
    Never,
}

/// What `--color` says; set once, before anything is written.
static CHOSEN: OnceLock<Colour> = OnceLock::new();

/// Takes note of what `--color` says.
pub(crate) fn choose(colour: Colour) {
    // Whoever was first was right: there is one command line.
    let _ = CHOSEN.set(colour);
}

/// How to switch emphasis on and off; nothing where it would be in the way.
#[derive(Clone, Copy)]
pub(crate) struct Style {
    pub(crate) bold: &'static str,
    pub(crate) red: &'static str,
    pub(crate) green: &'static str,
    pub(crate) yellow: &'static str,
    pub(crate) dim: &'static str,
    pub(crate) plain: &'static str,
}

const NONE: Style = Style { bold: "", red: "", green: "", yellow: "", dim: "", plain: "" };
const ANSI: Style = Style {
    bold: "\x1b[1m",
    red: "\x1b[1;31m",
    green: "\x1b[32m",
    yellow: "\x1b[33m",
    dim: "\x1b[2m",
    plain: "\x1b[0m",
};

impl Style {
    /// The colour of a word that says how something is: a job's state, an occurrence's fate, an attempt's status.
    pub(crate) fn of_word(self, word: &str) -> &'static str {
        match word.to_ascii_lowercase().as_str() {
            "enabled" | "ran" | "completed" | "ok" => self.green,
            "faulted" | "failed" | "missed" | "wrong" => self.red,
            "ranlate" | "skipped" | "postponed" | "warning" => self.yellow,
            "disabled" | "suspended" | "unknown" => self.dim,
            _ => "",
        }
    }
}

/// The style for a stream: see <https://no-color.org>.
pub(crate) fn of(stream: &impl IsTerminal) -> Style {
    let set = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty());
    match CHOSEN.get().copied().unwrap_or(Colour::Auto) {
        Colour::Always => return ANSI,
        Colour::Never => return NONE,
        Colour::Auto => {}
    }
    let refused = set("NO_COLOR").is_some() || set("TERM").is_some_and(|term| term == "dumb");
    if stream.is_terminal() && !refused { ANSI } else { NONE }
}

/// One message on standard error: `error: …`, `warning: …`.
pub(crate) fn say(kind: &str, message: &str) {
    let mut stderr = io::stderr().lock();
    let Style { bold, red, plain, .. } = of(&stderr);
    let emphasis = if kind == "error" { red } else { bold };
    // Where standard error is gone, there is nobody left to tell.
    let _ = writeln!(stderr, "{emphasis}{kind}:{plain} {}", lines(message));
}

/// What files, options and servers say must not steer the terminal.
pub(crate) fn harmless(text: &str) -> String {
    text.chars().map(|c| if c.is_control() || reorders(c) { '\u{fffd}' } else { c }).collect()
}

/// Whether a character changes the order in which others are shown, or ends a line: with one, a text can look like another.
fn reorders(c: char) -> bool {
    matches!(c, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

/// The same, for texts of several lines.
fn lines(text: &str) -> String {
    text.split('\n').map(harmless).collect::<Vec<_>>().join("\n")
}
