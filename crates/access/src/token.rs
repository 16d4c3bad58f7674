//! Tokens of our own: `pt_`, an id, 256 bits that nobody can guess, and a checksum.
//!
//! The id finds the record; the rest proves that somebody was given the token. Only its hash is kept, and a plain one is
//! enough: nobody tries 2²⁵⁶ secrets. The checksum tells a token that was cut short from one that is wrong, without a
//! look at the store, and lets whoever scans for lost secrets know one.

use std::fmt;
use std::str::FromStr;

use model::Timestamp;
use sha2::{Digest as _, Sha256};
use subtle::ConstantTimeEq as _;

const PREFIX: &str = "pt_";
/// In characters; each pair is a byte.
const ID: usize = 16;
const SECRET: usize = 64;
const CHECKSUM: usize = 8;

/// The id of a token: what it is listed and revoked by.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct TokenId(String);

impl TokenId {
    /// Its text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for TokenId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl FromStr for TokenId {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if text.len() == ID && is_hex(text) {
            Ok(Self(text.to_owned()))
        } else {
            Err(format!("'{text}' is no id of a token; allowed: {ID} of 0-9 and a-f"))
        }
    }
}

fn is_hex(text: &str) -> bool {
    text.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
}

/// 256 bits at random, and the hash that is kept in their place.
#[derive(Clone)]
pub struct Secret32([u8; 32]);

impl Secret32 {
    /// New ones.
    ///
    /// # Errors
    ///
    /// When the machine has no random numbers to give.
    pub fn random() -> Result<Self, getrandom::Error> {
        let mut bytes = [0; 32];
        getrandom::fill(&mut bytes)?;
        Ok(Self(bytes))
    }

    /// As text, of 0-9 and a-f.
    pub fn reveal(&self) -> String {
        hex(&self.0)
    }

    /// Reads what [`reveal`](Self::reveal) wrote.
    pub fn read(text: &str) -> Option<Self> {
        bytes_of(text).map(Self)
    }

    /// What is kept.
    pub fn hash(&self) -> [u8; 32] {
        Sha256::digest(self.0).into()
    }

    /// Whether this is what a hash was made of; how long that takes tells nothing.
    pub fn is(&self, hash: &[u8; 32]) -> bool {
        self.hash().ct_eq(hash).into()
    }
}

impl fmt::Debug for Secret32 {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret32(…)")
    }
}

/// A token as its holder has it.
#[derive(Debug, Clone)]
pub struct Token {
    /// Its id.
    pub id: TokenId,
    /// Its proof.
    pub secret: Secret32,
}

impl Token {
    /// A new one.
    ///
    /// # Errors
    ///
    /// When the machine has no random numbers to give.
    pub fn random() -> Result<Self, getrandom::Error> {
        let mut id = [0; ID / 2];
        getrandom::fill(&mut id)?;
        Ok(Self { id: TokenId(hex(&id)), secret: Secret32::random()? })
    }

    /// The text that its holder is given, once.
    pub fn reveal(&self) -> String {
        let text = format!("{PREFIX}{}{}", self.id, self.secret.reveal());
        let checksum = checksum(&text);
        text + &checksum
    }

    /// Whether a text wants to be one of ours, right or wrong.
    pub fn claims_to_be(text: &str) -> bool {
        text.starts_with(PREFIX)
    }

    /// Reads a token; `None` where the text is none, or was damaged.
    pub fn read(text: &str) -> Option<Self> {
        let rest = text.strip_prefix(PREFIX)?;
        if rest.len() != ID + SECRET + CHECKSUM || !is_hex(rest) {
            return None;
        }
        let (signed, given) = text.split_at(text.len() - CHECKSUM);
        if checksum(signed) != given {
            return None;
        }
        Some(Self { id: rest[..ID].parse().ok()?, secret: Secret32::read(&rest[ID..ID + SECRET])? })
    }
}

fn checksum(text: &str) -> String {
    hex(&Sha256::digest(text)[..CHECKSUM / 2])
}

pub(crate) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn bytes_of(text: &str) -> Option<[u8; 32]> {
    if text.len() != SECRET || !is_hex(text) {
        return None;
    }
    let mut bytes = [0; 32];
    for (i, byte) in bytes.iter_mut().enumerate() {
        *byte = u8::from_str_radix(&text[2 * i..2 * i + 2], 16).ok()?;
    }
    Some(bytes)
}

/// What is kept of a token.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TokenRecord {
    /// Its id.
    pub id: TokenId,
    /// The hash of its secret.
    pub hash: [u8; 32],
    /// As people know it.
    pub name: String,
    /// When it was made.
    pub created_at: Timestamp,
    /// By whom.
    pub created_by: String,
    /// From when on it is refused.
    pub expires_at: Timestamp,
    /// When it was last used, give or take a minute.
    pub used_at: Option<Timestamp>,
    /// When it was revoked.
    pub revoked_at: Option<Timestamp>,
}

impl TokenRecord {
    /// Whether it is good at a moment.
    pub fn is_good(&self, now: Timestamp) -> bool {
        self.revoked_at.is_none() && now < self.expires_at
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_is_read_as_it_was_written() {
        let token = Token::random().expect("random numbers");
        let text = token.reveal();
        assert_eq!(text.len(), 91);
        let read = Token::read(&text).expect("a token");
        assert_eq!(read.id, token.id);
        assert!(read.secret.is(&token.secret.hash()));
        assert!(!Token::random().expect("random numbers").secret.is(&token.secret.hash()));
        assert!(!format!("{token:?}").contains(&token.secret.reveal()));
    }

    #[test]
    fn damaged_tokens_are_none() {
        let text = Token::random().expect("random numbers").reveal();
        for i in 0..text.len() {
            let mut damaged = text.clone().into_bytes();
            damaged[i] = if damaged[i] == b'0' { b'1' } else { b'0' };
            let damaged = String::from_utf8(damaged).expect("a text");
            assert!(damaged == text || Token::read(&damaged).is_none(), "{i}");
            assert!(Token::read(&text[..i]).is_none(), "{i}");
        }
        for text in
            ["", "pt_", "pt_ä", &text.to_uppercase(), &format!("{text}0"), &text.replace("pt_", "pt-")]
        {
            assert!(Token::read(text).is_none(), "{text}");
        }
    }

    #[test]
    fn a_record_ends() {
        let at = |second| Timestamp::from_second(second).expect("a time");
        let token = Token::random().expect("random numbers");
        let record = TokenRecord {
            id: token.id,
            hash: token.secret.hash(),
            name: "n".into(),
            created_at: at(0),
            created_by: "local".into(),
            expires_at: at(10),
            used_at: None,
            revoked_at: None,
        };
        assert!(record.is_good(at(9)) && !record.is_good(at(10)));
        assert!(!TokenRecord { revoked_at: Some(at(1)), ..record }.is_good(at(5)));
    }
}
