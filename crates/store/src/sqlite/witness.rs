//! The witness: a small file beside the store that says how far the store has come.
//!
//! Without it a log that is missing or cut looks like one that was never longer. It is written after each commit, before
//! anybody is answered, and left to the system to bring to the disk: so it survives the end of the process, and after a
//! power failure it may be behind the store, but it is never ahead of it. At a start and at a clean stop it is brought to
//! the disk at once.
//!
//! It also has the length and the checksum of the file: after a clean stop, and while a server runs for as long as everything
//! since the checksum was taken is in the log.

use std::fs::{self, File, OpenOptions};
use std::io::{self, ErrorKind, Read as _};
use std::os::unix::fs::{FileExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::wal::Checksum;

/// What it says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Told {
    /// The opening that was the last.
    pub(super) opening: String,
    /// So many commits were acknowledged, or more.
    pub(super) commits: i64,
    /// Whether that was a clean stop.
    pub(super) is_closed: bool,
    /// The file, where it is known.
    pub(super) file: Option<Sum>,
}

/// A file as it was after some commit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Sum {
    /// So many commits were in it.
    pub(super) commits: i64,
    /// In bytes.
    pub(super) length: u64,
    /// Of all of it.
    pub(super) checksum: u64,
}

impl Told {
    /// Always of the same length, so that each overwrites the one before it at once.
    fn text(&self) -> String {
        let Self { opening, commits, is_closed, file } = self;
        let state = if *is_closed { "closed" } else { "opened" };
        let Sum { commits: at, length, checksum } =
            file.unwrap_or(Sum { commits: 0, length: 0, checksum: 0 });
        let text = format!(
            "punctual witness 1\nopening {opening}\ncommits {commits:020}\nstate {state}\nlength {length:020}\n\
             checksum {checksum:016x}\nafter {at:020}\n"
        );
        let check = Checksum::default().add(text.as_bytes(), false).value();
        format!("{text}check {check:016x}\n")
    }

    fn read(text: &str) -> Option<Self> {
        let mut lines = text.lines().skip(1);
        let mut next = |name: &str| lines.next()?.strip_prefix(name)?.strip_prefix(' ');
        let (opening, commits) = (next("opening")?.to_owned(), next("commits")?.parse().ok()?);
        let is_closed = next("state")? == "closed";
        let length = next("length")?.parse().ok()?;
        let checksum = u64::from_str_radix(next("checksum")?, 16).ok()?;
        let file = Sum { commits: next("after")?.parse().ok()?, length, checksum };
        let told = Self { opening, commits, is_closed, file: (length > 0).then_some(file) };
        (told.text() == text).then_some(told)
    }
}

/// What lies where a witness should.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Found {
    /// Nothing: the store is of an earlier version, was copied without it, or it was removed.
    Nothing,
    /// Something that cannot be read.
    Unreadable,
    /// A witness.
    Told(Told),
}

impl Found {
    /// What it says, if it says anything.
    pub(super) fn told(&self) -> Option<&Told> {
        match self {
            Self::Told(told) => Some(told),
            Self::Nothing | Self::Unreadable => None,
        }
    }
}

/// Where the witness of a store is.
pub(super) fn beside(store: &Path) -> PathBuf {
    PathBuf::from(format!("{}.witness", store.display()))
}

/// Reads the witness of a store.
pub(super) fn read(store: &Path) -> io::Result<Found> {
    const MORE_THAN_IT_HAS: u64 = 1024;
    let mut text = String::new();
    let file = match File::open(beside(store)) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Found::Nothing),
        file => file?,
    };
    match file.take(MORE_THAN_IT_HAS).read_to_string(&mut text) {
        Err(error) if error.kind() == ErrorKind::InvalidData => Ok(Found::Unreadable),
        Err(error) => Err(error),
        Ok(_) => Ok(Told::read(&text).map_or(Found::Unreadable, Found::Told)),
    }
}

/// The witness of a store that is open.
#[derive(Debug)]
pub(super) struct Witness {
    store: PathBuf,
    file: Option<Arc<File>>,
}

impl Witness {
    pub(super) fn of(store: &Path) -> Self {
        Self { store: store.to_owned(), file: None }
    }

    /// Says something; on the disk when this returns.
    pub(super) fn swear(&mut self, told: &Told) -> io::Result<()> {
        let is_new = self.file.is_none() && !beside(&self.store).exists();
        let file = self.say(told)?;
        let text = told.text().len() as u64;
        if file.metadata()?.len() != text {
            file.set_len(text)?;
        }
        file.sync_all()?;
        if is_new {
            let folder = self.store.parent().filter(|folder| !folder.as_os_str().is_empty());
            File::open(folder.unwrap_or(Path::new(".")))?.sync_all()?;
        }
        Ok(())
    }

    /// Says something, without waiting for the disk.
    pub(super) fn say(&mut self, told: &Told) -> io::Result<&Arc<File>> {
        let file = match self.file.take() {
            Some(file) => file,
            None => {
                let mut options = OpenOptions::new();
                let options = options.write(true).create(true).truncate(false).mode(0o600);
                Arc::new(options.open(beside(&self.store))?)
            }
        };
        file.write_all_at(told.text().as_bytes(), 0)?;
        Ok(self.file.insert(file))
    }

    /// Takes it away: better no witness than one that says what is no longer so.
    pub(super) fn remove(&mut self) -> io::Result<()> {
        self.file = None;
        match fs::remove_file(beside(&self.store)) {
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(()),
            removed => removed,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_said_is_read_and_nothing_else() {
        let folder = tempfile::tempdir().unwrap();
        let store = folder.path().join("punctual.db");
        assert_eq!(read(&store).unwrap(), Found::Nothing);
        let opening = "0123456789abcdef0123456789abcdef".to_owned();
        let open = Told { opening, commits: 41, is_closed: false, file: None };
        let sum = Sum { commits: i64::MAX, length: u64::MAX, checksum: u64::MAX };
        let closed = Told { commits: i64::MAX, is_closed: true, file: Some(sum), ..open.clone() };
        let mut witness = Witness::of(&store);
        for told in [&open, &closed, &open] {
            witness.swear(told).unwrap();
            assert_eq!(read(&store).unwrap(), Found::Told(told.clone()));
            witness.say(told).unwrap();
            assert_eq!(read(&store).unwrap(), Found::Told(told.clone()));
        }
        let bytes = fs::read(beside(&store)).unwrap();
        for (at, bit) in (0..bytes.len()).zip((0..8).cycle()) {
            let mut flipped = bytes.clone();
            flipped[at] ^= 1 << bit;
            fs::write(beside(&store), &flipped).unwrap();
            assert_eq!(read(&store).unwrap(), Found::Unreadable, "bit {bit} of byte {at}");
            fs::write(beside(&store), &bytes[..at]).unwrap();
            assert_eq!(read(&store).unwrap(), Found::Unreadable, "cut to {at}");
        }
        witness.remove().unwrap();
        assert_eq!(read(&store).unwrap(), Found::Nothing);
    }
}
