//! Questions to whoever sits at the terminal.

use std::io::{self, BufRead, IsTerminal, Write};

use anyhow::bail;

use crate::refused::Refused;
use crate::style;

/// Whether anybody is there to answer.
pub(crate) fn somebody_is_there() -> bool {
    io::stdin().is_terminal() && io::stderr().is_terminal()
}

/// Goes on after a yes only. `--yes` is one, and where nobody can be asked the only one.
pub(crate) fn confirm(question: &str, yes: bool) -> anyhow::Result<()> {
    if yes {
        return Ok(());
    }
    if !somebody_is_there() {
        return Err(Refused::new(format!("{question} Nobody can be asked here; --yes says yes")).into());
    }
    if !ask(question, false)? {
        bail!("nothing was done");
    }
    Ok(())
}

/// Asks; `otherwise` is what no answer means.
pub(crate) fn ask(question: &str, otherwise: bool) -> io::Result<bool> {
    let choice = if otherwise { "[Y/n]" } else { "[y/N]" };
    let mut stderr = io::stderr().lock();
    write!(stderr, "{} {choice} ", style::harmless(question))?;
    stderr.flush()?;
    let mut answer = String::new();
    io::stdin().lock().read_line(&mut answer)?;
    Ok(match answer.trim().to_ascii_lowercase().as_str() {
        "" => otherwise,
        "y" | "yes" => true,
        _ => false,
    })
}
