//! Sealing: how secrets get to where other keys may be at home.
//!
//! A value that one of the destination's keys has sealed is taken as it is: it is bound to its job, and jobs keep their
//! numbers. Any other is opened and sealed anew.

use model::{JobId, Secret};
use sha2::{Digest as _, Sha256};

use super::cell::{Cell, Row};
use super::kinds::Kind;
use crate::seal::{KeyId, Keyring, SealFault, Sealed};

/// The keys of a move.
#[derive(Debug, Clone)]
pub struct MoveKeys {
    /// Those of the source; the first seals there.
    pub source: Keyring,
    /// Those that the nodes of the destination will be given; the first seals.
    pub destination: Keyring,
}

impl MoveKeys {
    /// What opens everything at the source. The source's own key is the first: looking at a store must not make it need
    /// another.
    pub(crate) fn at_source(&self) -> Keyring {
        joined(&self.source, &self.destination)
    }

    /// What opens everything, and seals for the destination.
    fn for_destination(&self) -> Keyring {
        joined(&self.destination, &self.source)
    }
}

fn joined(first: &Keyring, other: &Keyring) -> Keyring {
    let new = other.iter().filter(|key| first.get(key.id()).is_none());
    Keyring::new(first.first().clone(), first.iter().skip(1).chain(new).cloned())
}

/// Seals rows, and tells what is in them.
pub(crate) struct Sealing {
    destination: Keyring,
    all: Keyring,
}

/// Where a kind has what is sealed.
struct Places {
    job: usize,
    definition: usize,
    sealed_by: usize,
}

fn places(kind: &Kind) -> Option<Places> {
    let (definition, sealed_by) = (kind.place("definition")?, kind.place("sealed_by")?);
    Some(Places { job: kind.place("job_id")?, definition, sealed_by })
}

impl Sealing {
    pub(crate) fn new(keys: &MoveKeys) -> Self {
        Self { destination: keys.destination.clone(), all: keys.for_destination() }
    }

    /// A row of the source as it is to be written.
    pub(crate) fn seal(&self, kind: &Kind, mut row: Row) -> Result<Row, SealFault> {
        let Some(places) = places(kind) else { return Ok(row) };
        if self.is_at_home(&row[places.sealed_by]) {
            return Ok(row);
        }
        let job = JobId(row[places.job].number().unwrap_or_default());
        if let Cell::Text(text) = std::mem::replace(&mut row[places.definition], Cell::Null) {
            let sealed = self.all.seal_anew(text, job)?;
            row[places.definition] = Cell::Text(sealed.text);
            row[places.sealed_by] = sealed.key.map_or(Cell::Null, |key| Cell::Text(key.as_str().to_owned()));
        }
        Ok(row)
    }

    /// A row as it can be compared: every definition opened, with a hash in the place of each secret. A row of the source
    /// gets the key that it should have at the destination.
    pub(crate) fn open(&self, kind: &Kind, mut row: Row, of_source: bool) -> Row {
        let Some(places) = places(kind) else { return row };
        let job = JobId(row[places.job].number().unwrap_or_default());
        let Some(opened) = row[places.definition].text().map(|text| self.opened(text, job)) else {
            return row;
        };
        if of_source && !self.is_at_home(&row[places.sealed_by]) {
            let key = self.destination.first().id().as_str().to_owned();
            row[places.sealed_by] = if opened.is_ok() { Cell::Text(key) } else { Cell::Null };
        }
        if let Ok(text) = opened {
            row[places.definition] = Cell::Text(text);
        }
        row
    }

    /// Whether the destination's nodes can open it, or have nothing to open.
    fn is_at_home(&self, sealed_by: &Cell) -> bool {
        let key = sealed_by.text().map(KeyId::read);
        key.is_none_or(|key| key.is_some_and(|key| self.destination.get(&key).is_some()))
    }

    fn opened(&self, text: &str, job: JobId) -> Result<String, SealFault> {
        let hashed = self.all.open(text, job)?.try_map(&mut |secret: Secret| {
            let hash = Sha256::digest(secret.expose());
            let hex: String = hash.iter().map(|byte| format!("{byte:02x}")).collect();
            Ok::<_, SealFault>(Sealed::from_column(hex))
        })?;
        serde_json::to_string(&hashed).map_err(|error| SealFault::NoDefinition(error.to_string()))
    }
}
