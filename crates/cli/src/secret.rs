//! Secrets of a job, by ways that no list of processes shows: a file, standard input, the environment, a prompt.

use std::io::{self, Read};
use std::path::Path;

use console::Term;

use crate::confirm::somebody_is_there;
use crate::refused::Refused;

/// Holds a secret for a command that was not told a file.
pub(crate) const VARIABLE: &str = "PUNCTUAL_SECRET";

/// In bytes; a certificate in Base64 is the longest that anybody has.
const LARGEST: u64 = 64 << 10;

/// Reads the secret that is called `what`.
pub(crate) fn read(file: Option<&Path>, what: &str) -> anyhow::Result<String> {
    let secret = match file {
        Some(file) => of_file(file, "--secret-file")?,
        None => match std::env::var(VARIABLE) {
            Ok(secret) => secret,
            Err(_) if somebody_is_there() => {
                let terminal = Term::stderr();
                terminal.write_str(&format!("{what}: "))?;
                terminal.read_secure_line()?
            }
            Err(_) => {
                return Err(Refused::new(format!(
                    "{what} is missing; --secret-file FILE, --secret-file - (standard input) or {VARIABLE} gives it"
                ))
                .into());
            }
        },
    };
    if secret.is_empty() {
        return Err(Refused::new(format!("{what} is empty")).into());
    }
    Ok(secret)
}

/// The text of a file without the line break at its end, which editors add.
pub(crate) fn of_file(file: &Path, option: &str) -> anyhow::Result<String> {
    let mut text = String::new();
    let read = if file == Path::new("-") {
        io::stdin().lock().take(LARGEST).read_to_string(&mut text)
    } else {
        std::fs::File::open(file).and_then(|file| file.take(LARGEST).read_to_string(&mut text))
    };
    read.map_err(|error| Refused::new(format!("{option}: {} cannot be read: {error}", file.display())))?;
    let text = text.strip_suffix('\n').unwrap_or(&text);
    Ok(text.strip_suffix('\r').unwrap_or(text).to_owned())
}
