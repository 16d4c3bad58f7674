//! Sealing: what a definition looks like on a disk.
//!
//! Each secret is sealed on its own with XChaCha20-Poly1305, under a random nonce and bound to its job: a sealed value
//! that is copied to another job's row does not open. [`Sealed`] is the only form of a secret that can be serialised, so
//! a backend cannot write a definition but through [`Keyring::seal`].
//!
//! A sealed value is a text: `sealed1.`, the id of the key, `.`, and nonce and ciphertext in Base64.
//!
//! ```
//! # use store::{Key, Keyring};
//! let keyring = Keyring::new(Key::generate()?, []);
//! let again = Keyring::read(&keyring.text()).expect("its own text");
//! assert_eq!(again.first().id(), keyring.first().id());
//! # Ok::<(), store::SealFault>(())
//! ```

mod key;
mod proofs;

use std::sync::{Arc, PoisonError, RwLock};

use base64::Engine as _;
use base64::prelude::BASE64_URL_SAFE_NO_PAD as BASE64;
use chacha20poly1305::aead::{Aead as _, Payload};
use chacha20poly1305::{XChaCha20Poly1305, XNonce};
use model::{Definition, JobId, Secret};
use serde::{Deserialize, Serialize};

pub(crate) use key::random;
pub use key::{Key, KeyFault, KeyId, Keyring};
pub(crate) use proofs::Proofs;

/// Begins every sealed value; the number is that of the form.
const FORM: &str = "sealed1";

/// Bytes of a nonce.
const NONCE: usize = 24;

/// A secret as it is stored.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Sealed(String);

/// A definition as it is stored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SealedDefinition {
    /// JSON.
    pub text: String,
    /// The key of its secrets; `None` where it has none.
    pub key: Option<KeyId>,
}

/// What keeps a value from being sealed or opened.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SealFault {
    /// Nobody gave this key.
    #[error("it is sealed with the key {0}, which is not among those given")]
    UnknownKey(KeyId),
    /// Right key, wrong value or place.
    #[error("it does not open with the key {0}: it was changed, or it belongs elsewhere")]
    DoesNotOpen(KeyId),
    /// It was never sealed.
    #[error("it has not the form of a sealed value")]
    NotSealed,
    /// What was sealed is no definition.
    #[error("{0}")]
    NoDefinition(String),
    /// The system has no random numbers to give, or the value is larger than can be sealed.
    #[error("it cannot be sealed: {0}")]
    CannotSeal(String),
}

/// To what a sealed value is bound. It opens nowhere else.
#[derive(Debug, Clone, Copy)]
enum Place<'a> {
    Job(JobId),
    Proof(&'a KeyId),
}

impl Place<'_> {
    fn bytes(self) -> Vec<u8> {
        match self {
            Self::Job(id) => format!("job {}", id.0).into_bytes(),
            Self::Proof(id) => format!("key {id}").into_bytes(),
        }
    }
}

impl Keyring {
    /// A definition in the form in which it is stored.
    pub fn seal(&self, definition: &Definition, job: JobId) -> Result<SealedDefinition, SealFault> {
        let mut any = false;
        let sealed = definition.clone().try_map(&mut |secret: Secret| {
            any = true;
            seal(self.first(), secret.expose(), Place::Job(job))
        })?;
        let text =
            serde_json::to_string(&sealed).map_err(|error| SealFault::NoDefinition(error.to_string()))?;
        Ok(SealedDefinition { text, key: any.then(|| self.first().id().clone()) })
    }

    /// The definition of a stored text.
    pub fn open(&self, text: &str, job: JobId) -> Result<Definition, SealFault> {
        closed(text)?
            .try_map(&mut |sealed: Sealed| self.open_value(&sealed, Place::Job(job)).map(Secret::new))
    }

    /// A value that only the first key opens, by which a store knows the key again.
    pub fn proof(&self) -> Result<Sealed, SealFault> {
        let id = self.first().id();
        seal(self.first(), id.as_str(), Place::Proof(id))
    }

    /// Whether a key is the one that a proof was made with.
    pub fn check(&self, id: &KeyId, proof: &Sealed) -> Result<(), SealFault> {
        if proof.key().is_some_and(|key| key != *id) {
            return Err(SealFault::DoesNotOpen(id.clone()));
        }
        self.open_value(proof, Place::Proof(id)).map(drop)
    }

    fn open_value(&self, sealed: &Sealed, place: Place<'_>) -> Result<String, SealFault> {
        let (id, bytes) = sealed.parts().ok_or(SealFault::NotSealed)?;
        let key = self.get(&id).ok_or_else(|| SealFault::UnknownKey(id.clone()))?;
        let (nonce, ciphertext) = bytes.split_first_chunk::<NONCE>().ok_or(SealFault::NotSealed)?;
        let payload = Payload { msg: ciphertext, aad: &place.bytes() };
        let opened = key.cipher().decrypt(&XNonce::from(*nonce), payload).ok();
        opened.and_then(|bytes| String::from_utf8(bytes).ok()).ok_or(SealFault::DoesNotOpen(id))
    }
}

/// A stored definition whose secrets stay sealed: for decisions that do not need them.
pub fn closed(text: &str) -> Result<Definition<Sealed>, SealFault> {
    serde_json::from_str(text).map_err(|error| SealFault::NoDefinition(error.to_string()))
}

/// The definition of a text that was written before secrets were sealed.
pub fn plain(text: &str) -> Result<Definition, SealFault> {
    closed(text)?.try_map(&mut |Sealed(text)| Ok(Secret::new(text)))
}

impl Sealed {
    /// As it stands in a column of its own.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// What stood in a column.
    pub fn from_column(text: String) -> Self {
        Self(text)
    }

    fn key(&self) -> Option<KeyId> {
        self.parts().map(|(id, _)| id)
    }

    fn parts(&self) -> Option<(KeyId, Vec<u8>)> {
        let mut parts = self.0.splitn(3, '.');
        let (form, id, bytes) = (parts.next()?, parts.next()?, parts.next()?);
        (form == FORM).then_some(())?;
        Some((KeyId::read(id)?, BASE64.decode(bytes).ok()?))
    }
}

fn seal(key: &Key, value: &str, place: Place<'_>) -> Result<Sealed, SealFault> {
    let mut nonce = [0; NONCE];
    random(&mut nonce)?;
    let payload = Payload { msg: value.as_bytes(), aad: &place.bytes() };
    let cipher: XChaCha20Poly1305 = key.cipher();
    let ciphertext = cipher
        .encrypt(&XNonce::from(nonce), payload)
        .map_err(|_| SealFault::CannotSeal(format!("it has {} bytes", value.len())))?;
    let bytes = [&nonce[..], &ciphertext].concat();
    Ok(Sealed(format!("{FORM}.{}.{}", key.id(), BASE64.encode(bytes))))
}

/// The keys of a store in use. They only become more: whoever still reads an older state of the store finds the keys
/// for that too.
#[derive(Debug)]
pub struct Sealer(RwLock<Arc<Keyring>>);

impl Sealer {
    /// With the keys of the start.
    pub fn new(keyring: Keyring) -> Self {
        Self(RwLock::new(Arc::new(keyring)))
    }

    /// The keys as they are now. Ask after reading what is to be opened.
    pub fn keyring(&self) -> Arc<Keyring> {
        Arc::clone(&self.0.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// Seals with another key from now on.
    pub fn put_first(&self, key: Key) {
        let mut keyring = self.0.write().unwrap_or_else(PoisonError::into_inner);
        *keyring = Arc::new(keyring.with_first(key));
    }
}

#[cfg(test)]
mod tests;
