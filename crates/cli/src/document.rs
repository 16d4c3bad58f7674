//! A JSON document from a file or from standard input.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use serde_json::Value;

use crate::refused::Refused;

/// In bytes. A job has at most 16 KiB; this leaves room for comparing odd files and none for a wrong one.
const LARGEST: u64 = 1 << 20;

/// Reads the document; `-` is standard input.
pub(crate) fn read(path: &Path) -> Result<Value, Refused> {
    read_within(path, LARGEST, "a job is a few kilobytes")
}

/// Reads a document of so many bytes at the most; `hint` says why it is no larger.
pub(crate) fn read_within(path: &Path, largest: u64, hint: &str) -> Result<Value, Refused> {
    let name = if path == Path::new("-") { "standard input".into() } else { path.display().to_string() };
    let bytes =
        bytes(path, largest).map_err(|error| Refused::new(format!("{name} cannot be read: {error}")))?;
    if bytes.len() as u64 > largest {
        return Err(Refused::new(format!("{name} has more than {} MiB; {hint}", largest >> 20)));
    }
    wire::json::read(&bytes).map_err(|fault| {
        let message = format!("{name}:{}:{}: {}\n{}", fault.line, fault.column, fault.problem, fault.pointer);
        Refused::new(message.trim_end())
    })
}

fn bytes(path: &Path, largest: u64) -> io::Result<Vec<u8>> {
    let source: Box<dyn Read> =
        if path == Path::new("-") { Box::new(io::stdin().lock()) } else { Box::new(File::open(path)?) };
    let mut bytes = Vec::new();
    // One byte more than allowed is enough to know; a device would never end.
    source.take(largest + 1).read_to_end(&mut bytes)?;
    Ok(bytes)
}
