//! The files that commands write. One gets its name when it is complete, so that half of it never looks like all of it.

use std::ffi::OsString;
use std::fs::{self, File};
use std::io::ErrorKind;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

use crate::refused::Refused;

/// Writes a file in place of what has its name. A device or a pipe stays what it is, and is written to; a link stays too,
/// and the file that it leads to is replaced.
pub(crate) async fn write(
    path: &Path,
    mode: u32,
    fill: impl AsyncFnOnce(&mut File) -> anyhow::Result<()>,
) -> anyhow::Result<()> {
    let path = &fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    if fs::metadata(path).is_ok_and(|there| !there.is_file()) {
        return fill(&mut File::options().write(true).open(path)?).await;
    }
    if is_store(path) {
        let says =
            format!("{} is the store of a server, which would be lost; name another file", path.display());
        return Err(Refused::new(says).into());
    }
    let partial = with_suffix(path, ".partial");
    let written = async {
        // What an earlier command left there, or somebody else has put there to read what is written.
        match fs::remove_file(&partial) {
            Err(error) if error.kind() != ErrorKind::NotFound => return Err(error.into()),
            _ => {}
        }
        let mut file = File::options().write(true).create_new(true).mode(mode).open(&partial)?;
        fill(&mut file).await?;
        file.sync_all()?;
        Ok(fs::rename(&partial, path)?)
    };
    let written = written.await;
    if written.is_err() {
        // Only tidying up; the first error says what is wrong.
        let _ = fs::remove_file(&partial);
    }
    written
}

/// Whether a server keeps its jobs there. What is beside a store gives it away.
fn is_store(path: &Path) -> bool {
    ["-wal", ".lock"].iter().any(|suffix| with_suffix(path, suffix).exists())
}

fn with_suffix(path: &Path, suffix: &str) -> PathBuf {
    let mut name = OsString::from(path);
    name.push(suffix);
    name.into()
}
