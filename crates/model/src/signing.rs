//! Signing secrets: what calls are signed with, in the form of Standard Webhooks.
//!
//! A secret is `whsec_` and the key in Base64. It is read twice: when a job is written, to refuse what cannot be used,
//! and before a call.

use base64::{Engine as _, prelude::BASE64_STANDARD};

use crate::Secret;

/// What stands before the key.
const PREFIX: &str = "whsec_";

/// Bytes of a key: fewer can be guessed, more are hashed down.
const LENGTHS: std::ops::RangeInclusive<usize> = 24..=64;

/// How many secrets an action has at the most: the old one, the new one, and some for those who are slow.
pub const MOST_SECRETS: usize = 4;

/// What a signing secret must be.
pub const ALLOWED: &str = "whsec_ followed by the Base64 of 24 to 64 bytes";

/// Why a text is no signing secret.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum KeyFault {
    /// It begins with something else.
    #[error("a secret that does not begin with whsec_")]
    NoPrefix,
    /// What follows is no Base64.
    #[error("a secret that is not Base64 after whsec_")]
    NotBase64,
    /// The key is too short or too long.
    #[error("a secret of {0} bytes")]
    Length(usize),
}

/// The key of a signing secret.
///
/// # Errors
///
/// When it is none.
pub fn key(secret: &Secret) -> Result<Vec<u8>, KeyFault> {
    let text = secret.expose().strip_prefix(PREFIX).ok_or(KeyFault::NoPrefix)?;
    // With padding: those who verify insist on it.
    let key = BASE64_STANDARD.decode(text).map_err(|_| KeyFault::NotBase64)?;
    if LENGTHS.contains(&key.len()) { Ok(key) } else { Err(KeyFault::Length(key.len())) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys() {
        let of = |bytes: &[u8]| key(&Secret::new(format!("whsec_{}", BASE64_STANDARD.encode(bytes))));
        for length in [24, 25, 32, 64] {
            assert_eq!(of(&vec![0xfb; length]), Ok(vec![0xfb; length]));
        }
        for length in [0, 23, 65] {
            assert_eq!(of(&vec![0; length]), Err(KeyFault::Length(length)));
        }
        for (text, fault) in [
            ("", KeyFault::NoPrefix),
            ("MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", KeyFault::NoPrefix),
            ("WHSEC_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", KeyFault::NoPrefix),
            ("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaS!", KeyFault::NotBase64),
            ("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSwAA", KeyFault::NotBase64),
            ("whsec_ MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", KeyFault::NotBase64),
        ] {
            assert_eq!(key(&Secret::new(text)), Err(fault), "{text}");
        }
    }
}
