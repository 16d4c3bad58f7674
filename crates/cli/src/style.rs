//! Emphasis, on terminals only.

use std::io::{self, IsTerminal, Write};

/// How to switch emphasis on and off; nothing where it would be in the way.
#[derive(Clone, Copy)]
pub(crate) struct Style {
    pub(crate) bold: &'static str,
    pub(crate) red: &'static str,
    pub(crate) plain: &'static str,
}

const NONE: Style = Style { bold: "", red: "", plain: "" };
const ANSI: Style = Style { bold: "\x1b[1m", red: "\x1b[1;31m", plain: "\x1b[0m" };

/// The style for a stream: see <https://no-color.org>.
pub(crate) fn of(stream: &impl IsTerminal) -> Style {
    let set = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty());
    let refused = set("NO_COLOR").is_some() || set("TERM").is_some_and(|term| term == "dumb");
    if stream.is_terminal() && !refused { ANSI } else { NONE }
}

/// One message on standard error: `error: …`, `warning: …`.
pub(crate) fn say(kind: &str, message: &str) {
    let mut stderr = io::stderr().lock();
    let Style { bold, red, plain } = of(&stderr);
    let emphasis = if kind == "error" { red } else { bold };
    // Messages repeat what files and options say, and those must not steer the terminal.
    let harmless = |c: char| if c.is_control() && c != '\n' { '\u{fffd}' } else { c };
    let message: String = message.chars().map(harmless).collect();
    // Where standard error is gone, there is nobody left to tell.
    let _ = writeln!(stderr, "{emphasis}{kind}:{plain} {message}");
}
