//! Whether what lies in a data folder is a whole store, before anything of it is opened or changed.
//!
//! SQLite opens whatever is there: an empty file is an empty store, a log that is cut is a shorter one, a log of another
//! file is taken for its own. So three things are compared that are written at different times: the file alone, its log,
//! and the [`witness`]. What was acknowledged is in the log or in the file, and the witness knows how much that was.
//!
//! What cannot be known is left open: after a power failure the witness may be behind, so that a cut of the last commits
//! looks as if they had not been acknowledged.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

use super::fault::Outcome;
use super::standing::{Alone, Standing};
use super::wal::{self, Log};
use super::witness::{self, Found, Sum, Told};
use crate::{Error, Result};

/// What was found.
#[derive(Debug)]
pub(super) struct Examined {
    /// Whether there is no store yet.
    pub(super) is_new: bool,
    /// Whether the file is, bit for bit, what the last clean stop has left.
    pub(super) is_as_left: bool,
    /// What the witness says; nothing where it is of what was here before a copy was put there.
    pub(super) witness: Found,
}

/// Looks at a store that no server uses, without changing anything. `keys` is where a server would have made its own.
pub(super) fn examine(store: &Path, keys: Option<&Path>) -> Result<Examined> {
    let unreadable = |error: io::Error| {
        Error::Unavailable(format!("{}: the data folder cannot be read ({error})", store.display()))
    };
    let witness = witness::read(store).map_err(unreadable)?;
    let length = std::fs::metadata(store).map(|file| file.len());
    let is_missing = matches!(&length, Err(error) if error.kind() == io::ErrorKind::NotFound);
    if is_missing || matches!(length, Ok(0)) {
        return nothing(store, is_missing, &witness, keys);
    }
    length.map_err(unreadable)?;

    let name = Names(store);
    let length_of_log = std::fs::metadata(log_of(store)).map_or(0, |log| log.len());
    let alone = match Alone::read(store) {
        Ok(alone) => alone,
        // A checkpoint that was interrupted: what is half written is whole in the log.
        Err(_) if length_of_log > 0 => Alone { standing: None, page: None, is_copy: false },
        Err(fault) => return Err(fault.tell(store)),
    };
    let log = wal::read(&log_of(store), alone.page).map_err(unreadable)?;
    judge(name, &alone, &log, &witness)?;
    if alone.is_copy && log.bytes == 0 {
        return Ok(Examined { is_new: false, is_as_left: false, witness: Found::Nothing });
    }
    let summed = witness.told().and_then(|told| told.file.map(|file| (told, file)));
    let is_as_left = match summed {
        Some((told, file)) if is_of(&alone, told, file) => {
            let sum = File::open(store).and_then(|file| wal::sum(&file)).map_err(unreadable)?;
            if sum != (file.length, file.checksum) {
                return Err(if told.is_closed { name.changed() } else { name.damaged() });
            }
            true
        }
        _ => false,
    };
    Ok(Examined { is_new: false, is_as_left, witness })
}

/// Whether a file has to have the sum that its witness knows.
///
/// Another program that opens a store whose server was killed works the log into the file, which then has more commits.
fn is_of(alone: &Alone, told: &Told, sum: Sum) -> bool {
    let commits = alone.standing.as_ref().map(|file| file.commits);
    told.is_closed || commits.is_none_or(|commits| commits <= sum.commits)
}

/// A folder without a store, or with an empty one: right where nothing else says that there was one.
fn nothing(store: &Path, is_missing: bool, witness: &Found, keys: Option<&Path>) -> Result<Examined> {
    let log = log_of(store);
    let is_there = |path: &Path| std::fs::metadata(path).is_ok_and(|file| file.len() > 0);
    let mut signs: Vec<PathBuf> = Vec::new();
    signs.extend(is_there(&log).then_some(log));
    signs.extend((*witness != Found::Nothing).then(|| witness::beside(store)));
    signs.extend(keys.filter(|keys| is_there(keys)).map(Path::to_owned));
    if signs.is_empty() {
        return Ok(Examined { is_new: true, is_as_left: true, witness: Found::Nothing });
    }
    let signs: Vec<String> = signs.iter().map(|path| path.display().to_string()).collect();
    Err(Error::Damaged(format!(
        "{store}: the file is {what}, but a store was here: {signs} {are} still there. Put the file back, or restore a \
         backup: `punctual restore --help`. To begin with an empty store, move {signs} away",
        store = store.display(),
        what = if is_missing { "missing" } else { "empty" },
        are = if signs.len() == 1 { "is" } else { "are" },
        signs = signs.join(" and "),
    )))
}

/// Whether file, log and witness belong together and nothing is missing.
fn judge(name: Names<'_>, alone: &Alone, log: &Log, witness: &Found) -> Result<()> {
    let of_file = alone.standing.as_ref();
    if let (Some(file), Some(first)) = (of_file, &log.first) {
        let is_its_log = [&first.opening, &first.before].contains(&&file.opening);
        // The file has everything that was committed before its log began.
        if !is_its_log || first.commits > file.commits + 1 {
            return Err(if alone.is_copy { name.copy_with_log() } else { name.other_log() });
        }
    }
    // Each opening says so in the log before anything else.
    if of_file.is_some_and(|file| file.closed) && log.transactions > 0 && log.first.is_none() {
        return Err(if alone.is_copy { name.copy_with_log() } else { name.other_log() });
    }
    let now = log.last.as_ref().or(of_file);
    let commits = now.map_or(-1, |now| now.commits);
    let is_marked = now.is_some() || alone.page.is_some();
    if log.is_broken && (!is_marked || log.beyond.is_some_and(|beyond| beyond > commits)) {
        return Err(name.broken_log());
    }
    if alone.is_copy && log.last.is_none() {
        // Somebody has put it there. What was there before is not asked about.
        return if log.bytes == 0 { Ok(()) } else { Err(name.copy_with_log()) };
    }
    match (now, witness.told()) {
        (Some(now), Some(told)) => all_there(name, now, told, log),
        (Some(now), None) if !now.closed && log.transactions == 0 => Err(name.without_log()),
        _ => Ok(()),
    }
}

/// Whether a store has come as far as its witness says.
fn all_there(name: Names<'_>, now: &Standing, told: &Told, log: &Log) -> Result<()> {
    let is_known = [&now.opening, &now.before].contains(&&told.opening);
    let missing = told.commits - now.commits;
    if is_known && missing <= 0 {
        return Ok(());
    }
    Err(match (is_known, log.bytes) {
        (true, 0) if !now.closed => name.no_log(missing),
        (true, 1..) => name.cut_log(missing),
        _ => name.older(),
    })
}

/// The same, of a store that SQLite has opened.
pub(super) fn check_opened(store: &Path, now: Option<&Standing>, witness: &Found) -> Outcome<()> {
    if let (Some(now), Some(told)) = (now, witness.told()) {
        let log =
            Log { bytes: std::fs::metadata(log_of(store)).map_or(0, |log| log.len()), ..Log::default() };
        all_there(Names(store), now, told, &log)?;
    }
    Ok(())
}

/// Where SQLite keeps the log of a store.
pub(super) fn log_of(store: &Path) -> PathBuf {
    PathBuf::from(format!("{}-wal", store.display()))
}

/// Puts into words what is wrong with a store.
#[derive(Clone, Copy)]
struct Names<'a>(&'a Path);

impl Names<'_> {
    fn refuse(self, what: &str) -> Error {
        Error::Damaged(format!("{}: {what}", self.0.display()))
    }

    fn restore(self) -> String {
        format!(
            "Restore a backup (`punctual restore --help`); `punctual restore {}` keeps what can still be read",
            self.0.display()
        )
    }

    fn log(self) -> String {
        log_of(self.0).display().to_string()
    }

    fn witness(self) -> String {
        witness::beside(self.0).display().to_string()
    }

    fn changed(self) -> Error {
        self.refuse(&format!(
            "the file was changed or damaged since the server was stopped: it is not the one that was left. {}. \
             If it was meant to be changed by another program, remove {}",
            self.restore(),
            self.witness()
        ))
    }

    fn damaged(self) -> Error {
        self.refuse(&format!("the file is damaged: it is not what its checksum says. {}", self.restore()))
    }

    fn older(self) -> Error {
        self.refuse(&format!(
            "this is not the file that was served here last, but an older one, or one of another store. Put the right one \
             back. {}. If this one is to be served, put it into an empty data folder, with its keys",
            self.restore()
        ))
    }

    fn no_log(self, missing: i64) -> Error {
        self.refuse(&format!(
            "the log {} is missing or empty, and with it {} that had been acknowledged. Put it back. {}",
            self.log(),
            changes(missing),
            self.restore()
        ))
    }

    fn cut_log(self, missing: i64) -> Error {
        self.refuse(&format!(
            "the log {} is cut or damaged: {} that had been acknowledged cannot be read. Put it back as it was. {}",
            self.log(),
            changes(missing),
            self.restore()
        ))
    }

    fn broken_log(self) -> Error {
        self.refuse(&format!(
            "the log {} is damaged in the middle: there are whole changes behind the damage, which cannot be used. Put it \
             back as it was. {}",
            self.log(),
            self.restore()
        ))
    }

    fn other_log(self) -> Error {
        self.refuse(&format!(
            "the log {} is not of this file: one of them is older, or of another store. Put back the two that belong \
             together. {}",
            self.log(),
            self.restore()
        ))
    }

    fn copy_with_log(self) -> Error {
        self.refuse(&format!(
            "this is a copy of a store, and the log {} beside it is of the store that was here before. To serve the copy, \
             move the log away; the copy is complete without it",
            self.log()
        ))
    }

    fn without_log(self) -> Error {
        self.refuse(&format!(
            "the file was copied from a server that was running or was killed, without its log: some of what had been \
             acknowledged may be missing. Copy {} too, or the whole folder. {}",
            self.log(),
            self.restore()
        ))
    }
}

fn changes(commits: i64) -> String {
    match commits {
        1 => "one commit".to_owned(),
        many => format!("{many} commits"),
    }
}
