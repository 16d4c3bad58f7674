//! Proofs: by which a store knows its keys again, whichever backend keeps them.

use std::collections::{BTreeMap, BTreeSet};

use model::JobId;

use super::{Key, KeyId, Keyring, SealFault, Sealed, SealedDefinition};
use crate::{Error, KeyUse, Result};

/// The keys that a store needs, each with its proof.
pub(crate) type Proofs = BTreeMap<KeyId, Sealed>;

impl Keyring {
    /// Whether these are the keys that a store needs.
    pub(crate) fn check_all(&self, proofs: &Proofs) -> Result<()> {
        let missing: Vec<&str> =
            proofs.keys().filter(|id| self.get(id).is_none()).map(KeyId::as_str).collect();
        if !missing.is_empty() {
            let given: Vec<&str> = self.iter().map(|key| key.id().as_str()).collect();
            return Err(Error::Keys(format!(
                "its secrets are sealed with the key {}; given: {}",
                missing.join(" and "),
                given.join(" and ")
            )));
        }
        for (id, proof) in proofs {
            self.check(id, proof)
                .map_err(|fault| Error::Keys(format!("the proof of the key {id}: {fault}")))?;
        }
        Ok(())
    }

    /// The keys given and needed, the one that seals first, then the others in a fixed order.
    pub(crate) fn uses(&self, proofs: &Proofs, counts: &BTreeMap<KeyId, u64>) -> Vec<KeyUse> {
        let first = self.first().id();
        let others: BTreeSet<&KeyId> =
            self.iter().map(Key::id).chain(proofs.keys()).filter(|id| *id != first).collect();
        let uses = std::iter::once(first).chain(others).map(|id| KeyUse {
            id: id.clone(),
            seals: id == first,
            needed: proofs.contains_key(id),
            definitions: counts.get(id).copied().unwrap_or_default(),
        });
        uses.collect()
    }

    /// A definition that another key has sealed, sealed with the one that seals now.
    pub(crate) fn seal_anew(
        &self,
        text: String,
        job: JobId,
    ) -> std::result::Result<SealedDefinition, SealFault> {
        match self.open(&text, job) {
            Ok(definition) => self.seal(&definition, job),
            Err(fault) => {
                // No key opens it, so that it needs none; it stays for whoever repairs it.
                tracing::error!(job = job.0, %fault, "a definition is unreadable; it is not sealed anew");
                Ok(SealedDefinition { text, key: None })
            }
        }
    }
}
