//! The audit: who did what, when, from where; and a chain that shows whether somebody changed it afterwards.
//!
//! Each entry has a hash over what it says and over the hash of the entry before it. Whoever changes an entry, takes one
//! out or puts one in breaks the chain there, unless they write all that follows anew; the newest hash, kept
//! elsewhere, shows that too. A store has one chain or several, each with numbers without gaps.

use std::fmt;

use model::Timestamp;
use sha2::{Digest as _, Sha256};

use crate::Scope;
use crate::token::hex;

/// What was done, or tried.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Act {
    /// A resource group was written.
    WriteGroup,
    /// A resource group was deleted.
    DeleteGroup,
    /// A job collection was written.
    WriteCollection,
    /// A job collection was deleted.
    DeleteCollection,
    /// A job collection was enabled or disabled.
    SwitchCollection,
    /// A job was written.
    WriteJob,
    /// A job was deleted.
    DeleteJob,
    /// A job was enabled or disabled.
    SwitchJob,
    /// A job was run.
    RunJob,
    /// A call was tried out.
    TestCall,
    /// A template was imported.
    Import,
    /// The store was copied.
    Backup,
    /// The key of secrets was changed.
    RotateKeys,
    /// A token was made.
    CreateToken,
    /// A token was revoked.
    RevokeToken,
    /// A role was given.
    AssignRole,
    /// A role was taken away.
    RemoveRole,
    /// Somebody signed in to the portal, or tried to.
    SignIn,
    /// Somebody signed out.
    SignOut,
    /// Somebody said who they are, and was not believed.
    Authenticate,
    /// Something was looked at.
    Read,
    /// Old entries of the audit itself were removed by retention.
    PruneAudit,
}

impl Act {
    /// All of them, with the names that the API has for them.
    pub const NAMES: [(&'static str, Self); 22] = [
        ("resourceGroups/write", Self::WriteGroup),
        ("resourceGroups/delete", Self::DeleteGroup),
        ("jobCollections/write", Self::WriteCollection),
        ("jobCollections/delete", Self::DeleteCollection),
        ("jobCollections/switch", Self::SwitchCollection),
        ("jobs/write", Self::WriteJob),
        ("jobs/delete", Self::DeleteJob),
        ("jobs/switch", Self::SwitchJob),
        ("jobs/run", Self::RunJob),
        ("testCalls/run", Self::TestCall),
        ("import", Self::Import),
        ("backup", Self::Backup),
        ("keys/rotate", Self::RotateKeys),
        ("tokens/create", Self::CreateToken),
        ("tokens/revoke", Self::RevokeToken),
        ("roles/assign", Self::AssignRole),
        ("roles/remove", Self::RemoveRole),
        ("signIn", Self::SignIn),
        ("signOut", Self::SignOut),
        ("authenticate", Self::Authenticate),
        ("read", Self::Read),
        ("audit/prune", Self::PruneAudit),
    ];

    /// As in the API.
    pub fn name(self) -> &'static str {
        Self::NAMES.iter().find(|(_, act)| *act == self).map_or("", |(name, _)| name)
    }

    /// An act by its name in any case.
    pub fn named(name: &str) -> Option<Self> {
        Self::NAMES.iter().find(|(known, _)| known.eq_ignore_ascii_case(name)).map(|(_, act)| *act)
    }
}

/// What became of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Verdict {
    /// It was done.
    Done,
    /// Whoever asked may not.
    Denied,
    /// Whoever asked is not who they said.
    Refused,
}

impl Verdict {
    /// All of them, with the names that the API has for them.
    pub const NAMES: [(&'static str, Self); 3] =
        [("done", Self::Done), ("denied", Self::Denied), ("refused", Self::Refused)];

    /// As in the API.
    pub fn name(self) -> &'static str {
        Self::NAMES.iter().find(|(_, verdict)| *verdict == self).map_or("", |(name, _)| name)
    }

    /// A verdict by its name in any case.
    pub fn named(name: &str) -> Option<Self> {
        Self::NAMES.iter().find(|(known, _)| known.eq_ignore_ascii_case(name)).map(|(_, verdict)| *verdict)
    }
}

/// What is to be noted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Note {
    /// When.
    pub at: Timestamp,
    /// Who, as [`PrincipalId`](crate::PrincipalId) writes it.
    pub who: String,
    /// As people know them.
    pub name: String,
    /// From which address; empty where that is not known.
    pub from: String,
    /// What.
    pub act: Act,
    /// With which resource, by its id; empty where it was none.
    pub target: String,
    /// What became of it.
    pub verdict: Verdict,
    /// More about it, as JSON; empty where there is nothing to say.
    pub detail: String,
}

impl Note {
    /// The part of the tree that it is about; everything, where it is about the server.
    pub fn scope(&self) -> Scope {
        Scope::of_id(&self.target).unwrap_or_default()
    }
}

/// A note in its place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// Which chain.
    pub chain: i64,
    /// Its number in the chain, from 1 on.
    pub serial: i64,
    /// What was noted.
    pub note: Note,
    /// The hash over it and over the one before.
    pub hash: Hash,
}

/// The end of a chain, or of a part of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Link {
    /// The number of the last entry; 0 before the first.
    pub serial: i64,
    /// Its hash.
    pub hash: Hash,
}

/// A hash of the chain.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Hash(pub [u8; 32]);

impl fmt::Display for Hash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&hex(&self.0))
    }
}

impl fmt::Debug for Hash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Hash({self})")
    }
}

/// What stores keep of an instant: steps of 100 nanoseconds.
const NANOS_KEPT: i128 = 100;

impl Link {
    /// Before the first entry.
    pub const START: Self = Self { serial: 0, hash: Hash([0; 32]) };

    /// The entry of a note that follows.
    pub fn follow(&self, chain: i64, note: &Note) -> Self {
        let serial = self.serial + 1;
        let mut digest = Sha256::new();
        digest.update(self.hash.0);
        digest.update(chain.to_be_bytes());
        digest.update(serial.to_be_bytes());
        digest.update(note.at.as_nanosecond().div_euclid(NANOS_KEPT).to_be_bytes());
        let texts = [
            &note.who,
            &note.name,
            &note.from,
            note.act.name(),
            &note.target,
            note.verdict.name(),
            &note.detail,
        ];
        for text in texts {
            // With its length, so that no two notes read the same.
            digest.update((text.len() as u64).to_be_bytes());
            digest.update(text.as_bytes());
        }
        Self { serial, hash: Hash(digest.finalize().into()) }
    }
}

/// What retention has removed from a chain, as its mark in that chain says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Removed {
    /// The last entry that it removed.
    pub last: Link,
    /// When.
    pub at: Timestamp,
    /// Entries from before this instant were too old.
    pub before: Timestamp,
}

/// In whose name retention marks what it removes.
const RETENTION: &str = "retention";

impl Removed {
    /// Returns the mark: a note like any other, so it cannot be changed or left out unseen.
    pub fn note(&self) -> Note {
        let Link { serial, hash } = self.last;
        let detail = serde_json::json!({
            "removedTo": serial,
            "hash": hash.to_string(),
            "before": self.before.to_string(),
        });
        Note {
            at: self.at,
            who: RETENTION.to_owned(),
            name: RETENTION.to_owned(),
            from: String::new(),
            act: Act::PruneAudit,
            target: String::new(),
            verdict: Verdict::Done,
            detail: detail.to_string(),
        }
    }

    /// Reads a mark; `None` where a note is none.
    fn read(note: &Note) -> Option<Self> {
        let detail: serde_json::Value =
            (note.act == Act::PruneAudit).then(|| serde_json::from_str(&note.detail).ok())??;
        let hash = detail["hash"].as_str().and_then(from_hex)?;
        let last = Link { serial: detail["removedTo"].as_i64()?, hash: Hash(hash) };
        Some(Self { last, at: note.at, before: detail["before"].as_str()?.parse().ok()? })
    }
}

fn from_hex(text: &str) -> Option<[u8; 32]> {
    let mut bytes = [0; 32];
    if text.len() != 2 * bytes.len() {
        return None;
    }
    for (i, byte) in bytes.iter_mut().enumerate() {
        *byte = u8::from_str_radix(text.get(2 * i..2 * i + 2)?, 16).ok()?;
    }
    Some(bytes)
}

/// What is wrong with a chain.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Break {
    /// There are no entries between this number and the next one that is there.
    Missing {
        /// The first that is missing.
        serial: i64,
    },
    /// The entry does not say what it said when it was written, or the one before it does not.
    Changed {
        /// Its number.
        serial: i64,
    },
    /// The chain ends before the entry that is noted as its last.
    Cut {
        /// The last entry that is there.
        serial: i64,
        /// The one that is noted.
        noted: i64,
    },
    /// Entries at the beginning are not there, and no mark in the chain says that retention has removed them.
    Gone {
        /// The last of them.
        serial: i64,
    },
}

impl fmt::Display for Break {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Missing { serial } => write!(f, "entry {serial} is missing"),
            Self::Changed { serial } => write!(f, "entry {serial} was changed, or the one before it"),
            Self::Cut { serial, noted } => {
                write!(f, "it ends with entry {serial}, where {noted} was written")
            }
            Self::Gone { serial } => {
                write!(
                    f,
                    "entries 1 to {serial} are gone, and retention has left no mark that it removed them"
                )
            }
        }
    }
}

/// Walks along a chain, oldest entry first.
#[derive(Debug, Clone)]
pub struct Walk {
    chain: i64,
    before: Link,
    last: Link,
    removed: Option<Removed>,
}

impl Walk {
    /// The last entry that was seen.
    pub fn last(&self) -> Link {
        self.last
    }

    /// From the entry before the first that is kept.
    pub fn from(chain: i64, before: Link) -> Self {
        Self { chain, before, last: before, removed: None }
    }

    /// One entry further.
    ///
    /// # Errors
    ///
    /// When the entry is not the one that follows.
    pub fn step(&mut self, entry: &Entry) -> Result<(), Break> {
        let next = self.last.follow(self.chain, &entry.note);
        if entry.serial != next.serial {
            return Err(Break::Missing { serial: next.serial });
        }
        if entry.hash != next.hash {
            return Err(Break::Changed { serial: next.serial });
        }
        self.last = next;
        self.removed = Removed::read(&entry.note).or(self.removed.take());
        Ok(())
    }

    /// Returns the latest mark of retention that was seen, which has to explain what is missing at the beginning. Up to
    /// the entry `unmarked` retention left no marks.
    ///
    /// # Errors
    ///
    /// When it does not.
    pub fn beginning(&self, unmarked: i64) -> Result<Option<&Removed>, Break> {
        let marked = self.removed.as_ref().filter(|removed| removed.last == self.before);
        if marked.is_none() && self.before.serial > unmarked {
            return Err(Break::Gone { serial: self.before.serial });
        }
        Ok(marked)
    }

    /// Whether this is the end that was noted.
    ///
    /// # Errors
    ///
    /// When it is not.
    pub fn end(&self, noted: Link) -> Result<Link, Break> {
        if self.last.serial != noted.serial {
            return Err(Break::Cut { serial: self.last.serial, noted: noted.serial });
        }
        if self.last.hash != noted.hash {
            return Err(Break::Changed { serial: noted.serial });
        }
        Ok(self.last)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn note(target: &str) -> Note {
        Note {
            at: Timestamp::UNIX_EPOCH,
            who: "token:1".into(),
            name: "n".into(),
            from: "127.0.0.1".into(),
            act: Act::WriteJob,
            target: target.into(),
            verdict: Verdict::Done,
            detail: String::new(),
        }
    }

    fn chain() -> Vec<Entry> {
        let mut last = Link::START;
        let mut entries = Vec::new();
        for i in 0..5 {
            let note = note(&format!("/subscriptions/s{i}"));
            last = last.follow(0, &note);
            entries.push(Entry { chain: 0, serial: last.serial, note, hash: last.hash });
        }
        entries
    }

    fn verify(entries: &[Entry], noted: Link) -> Result<Link, Break> {
        let mut walk = Walk::from(0, Link::START);
        for entry in entries {
            walk.step(entry)?;
        }
        walk.end(noted)
    }

    #[test]
    fn what_was_changed_is_found() {
        let entries = chain();
        let noted = Link { serial: 5, hash: entries[4].hash };
        assert_eq!(verify(&entries, noted), Ok(noted));
        let mut changed = entries.clone();
        changed[2].note.detail = "{}".into();
        assert_eq!(verify(&changed, noted), Err(Break::Changed { serial: 3 }));
        let mut moved = entries.clone();
        moved[2].note.who = "token:1n".into();
        moved[2].note.name = String::new();
        assert_eq!(verify(&moved, noted), Err(Break::Changed { serial: 3 }));
        let mut taken = entries.clone();
        taken.remove(1);
        assert_eq!(verify(&taken, noted), Err(Break::Missing { serial: 2 }));
        assert_eq!(verify(&entries[..4], noted), Err(Break::Cut { serial: 4, noted: 5 }));
        assert_eq!(verify(&[], noted), Err(Break::Cut { serial: 0, noted: 5 }));
        let mut swapped = entries;
        swapped.swap(0, 1);
        assert_eq!(verify(&swapped, noted), Err(Break::Missing { serial: 1 }));
    }

    #[test]
    fn what_is_missing_at_the_beginning_has_a_mark() {
        let entries = chain();
        let before = Link { serial: 2, hash: entries[1].hash };
        let walk = |more: &[Note], unmarked: i64| {
            let mut walk = Walk::from(0, before);
            entries[2..].iter().try_for_each(|entry| walk.step(entry))?;
            for note in more {
                let Link { serial, hash } = walk.last().follow(0, note);
                walk.step(&Entry { chain: 0, serial, note: note.clone(), hash })?;
            }
            walk.beginning(unmarked).map(Option::<&Removed>::cloned)
        };
        let gone = Err(Break::Gone { serial: 2 });
        assert_eq!(walk(&[], 0), gone);
        assert_eq!(walk(&[], 1), gone);
        assert_eq!(walk(&[], 2), Ok(None), "there were no marks then");
        let removed = Removed { last: before, at: Timestamp::UNIX_EPOCH, before: Timestamp::UNIX_EPOCH };
        assert_eq!(walk(&[removed.note(), note("later")], 0), Ok(Some(removed.clone())));
        let other = Removed { last: Link { serial: 1, hash: entries[0].hash }, ..removed };
        assert_eq!(walk(&[other.note()], 0), gone, "more is missing than the mark says");
        assert_eq!(Walk::from(0, Link::START).beginning(0), Ok(None), "nothing is missing");
    }

    #[test]
    fn names_are_read_as_they_are_written() {
        for (name, act) in Act::NAMES {
            assert_eq!((act.name(), Act::named(&name.to_uppercase())), (name, Some(act)));
        }
        for (name, verdict) in Verdict::NAMES {
            assert_eq!((verdict.name(), Verdict::named(name)), (name, Some(verdict)));
        }
        assert_eq!(note("/api/keys").scope(), Scope::Root);
    }
}
