//! Keys: how they are written, known by name, and kept together.

use std::fmt;

use base64::Engine as _;
use base64::prelude::BASE64_URL_SAFE_NO_PAD as BASE64;
use chacha20poly1305::{KeyInit as _, XChaCha20Poly1305};
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};
use zeroize::Zeroizing;

use super::SealFault;

/// Begins every key, so that people and programs that look for leaked keys know one when they see it.
const PREFIX: &str = "punctual1_";

/// Bytes of a key.
const LENGTH: usize = 32;

/// The name of a key, made from it: it can be shown, and tells nothing about the key.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct KeyId(String);

impl KeyId {
    /// Sixteen hex digits.
    pub fn read(text: &str) -> Option<Self> {
        let is_digit = |byte: u8| matches!(byte, b'0'..=b'9' | b'a'..=b'f');
        (text.len() == 16 && text.bytes().all(is_digit)).then(|| Self(text.to_owned()))
    }

    /// The digits.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for KeyId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// A key that seals secrets. It shows only its name.
#[derive(Clone)]
pub struct Key {
    id: KeyId,
    bytes: Zeroizing<[u8; LENGTH]>,
}

impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Key({})", self.id)
    }
}

/// Why a text holds no keys. It never repeats the text.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum KeyFault {
    /// There is nothing.
    #[error("it holds no key; expected: at least one as `punctual keys generate` prints it")]
    Empty,
    /// So-manieth of so many.
    #[error(
        "key {0} of {1} is none; expected: {PREFIX} and 43 letters, digits, - or _, as `punctual keys generate` \
         prints it, several with commas or on lines of their own"
    )]
    Malformed(usize, usize),
    /// It is there twice.
    #[error("the key {0} is there twice")]
    Twice(KeyId),
}

impl Key {
    /// A new key.
    pub fn generate() -> Result<Self, SealFault> {
        let mut bytes = Zeroizing::new([0; LENGTH]);
        random(&mut *bytes)?;
        Ok(Self::of(bytes))
    }

    fn of(bytes: Zeroizing<[u8; LENGTH]>) -> Self {
        let digest = Sha256::new().chain_update("punctual key id").chain_update(*bytes).finalize();
        let id = digest[..8].iter().map(|byte| format!("{byte:02x}")).collect();
        Self { id: KeyId(id), bytes }
    }

    fn read(text: &str) -> Option<Self> {
        let decoded = Zeroizing::new(BASE64.decode(text.strip_prefix(PREFIX)?).ok()?);
        let bytes: [u8; LENGTH] = decoded.as_slice().try_into().ok()?;
        Some(Self::of(Zeroizing::new(bytes)))
    }

    /// Its name.
    pub fn id(&self) -> &KeyId {
        &self.id
    }

    /// The key itself, for the file or the terminal that it is for.
    pub fn text(&self) -> Zeroizing<String> {
        Zeroizing::new(format!("{PREFIX}{}", BASE64.encode(*self.bytes)))
    }

    pub(super) fn cipher(&self) -> XChaCha20Poly1305 {
        XChaCha20Poly1305::new((&*self.bytes).into())
    }
}

/// Keys: the first seals, all of them open.
#[derive(Debug, Clone)]
pub struct Keyring {
    first: Key,
    others: Vec<Key>,
}

impl Keyring {
    /// With a key that seals, and others that only open.
    pub fn new(first: Key, others: impl IntoIterator<Item = Key>) -> Self {
        Self { first, others: others.into_iter().collect() }
    }

    /// Reads keys that are separated by commas, blanks or line ends; a `#` begins a comment.
    pub fn read(text: &str) -> Result<Self, KeyFault> {
        let lines = text.lines().map(|line| line.split_once('#').map_or(line, |(before, _)| before));
        let words: Vec<&str> = lines
            .flat_map(|line| line.split(|c: char| c == ',' || c.is_whitespace()))
            .filter(|word| !word.is_empty())
            .collect();
        let mut keys: Vec<Key> = Vec::with_capacity(words.len());
        for (i, word) in words.iter().enumerate() {
            let key = Key::read(word).ok_or(KeyFault::Malformed(i + 1, words.len()))?;
            if keys.iter().any(|other| other.id == key.id) {
                return Err(KeyFault::Twice(key.id));
            }
            keys.push(key);
        }
        let mut keys = keys.into_iter();
        let first = keys.next().ok_or(KeyFault::Empty)?;
        Ok(Self::new(first, keys))
    }

    /// One key on each line, as [`read`](Self::read) takes them.
    pub fn text(&self) -> Zeroizing<String> {
        let mut text = Zeroizing::new(String::new());
        for key in self.iter() {
            text.push_str(&key.text());
            text.push('\n');
        }
        text
    }

    /// The one that seals.
    pub fn first(&self) -> &Key {
        &self.first
    }

    /// All of them, the one that seals first.
    pub fn iter(&self) -> impl Iterator<Item = &Key> {
        std::iter::once(&self.first).chain(&self.others)
    }

    /// The key of a name.
    pub fn get(&self, id: &KeyId) -> Option<&Key> {
        self.iter().find(|key| key.id == *id)
    }

    /// The same keys with this one in front.
    #[must_use]
    pub fn with_first(&self, key: Key) -> Self {
        let others = self.iter().filter(|other| other.id != key.id).cloned().collect();
        Self { first: key, others }
    }
}

/// Fills a buffer from the system's source of random numbers.
pub(crate) fn random(bytes: &mut [u8]) -> Result<(), SealFault> {
    getrandom::fill(bytes)
        .map_err(|error| SealFault::CannotSeal(format!("the system has no random numbers ({error})")))
}
