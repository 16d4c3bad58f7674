//! Tokens of an issuer: JSON web tokens, signed with keys that the issuer publishes.
//!
//! What a token says about its own signature is believed only as far as the key agrees: the key's kind says which
//! algorithms are possible, so neither `none` nor a public key used as a password gets anywhere. Where the keys come from
//! is for others to know.

mod keys;

use std::fmt;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use model::Timestamp;
use serde_json::{Map, Value};

pub use keys::KeySet;

use crate::{Principal, PrincipalId};

/// The longest token, in bytes: those of people in hundreds of groups included.
const LONGEST: usize = 16 << 10;

/// The most groups of one token that are looked at.
const MOST_GROUPS: usize = 1000;

/// Why a token is not believed. It never holds any of the token.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Fault {
    /// It is no token.
    Malformed(&'static str),
    /// An algorithm that is not allowed, or not for the key.
    Algorithm,
    /// The issuer has published no such key.
    UnknownKey,
    /// The signature is wrong.
    Signature,
    /// Another issuer's.
    Issuer,
    /// For somebody else.
    Audience,
    /// Its time is over.
    Expired,
    /// Its time has not come.
    NotYet,
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Malformed(why) => why,
            Self::Algorithm => "it is not signed with an algorithm that is allowed for its key",
            Self::UnknownKey => "it is signed with a key that the issuer does not publish",
            Self::Signature => "its signature is wrong",
            Self::Issuer => "it is from another issuer",
            Self::Audience => "it is meant for another audience",
            Self::Expired => "it has expired",
            Self::NotYet => "it is not valid yet",
        })
    }
}

/// What a token must say.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Expected {
    /// One of these issuers.
    pub issuers: Vec<String>,
    /// One of these audiences.
    pub audiences: Vec<String>,
    /// How far clocks may differ, in seconds.
    pub skew: i64,
}

/// What a token says, believed.
#[derive(Debug, Clone, PartialEq)]
pub struct Claims {
    members: Map<String, Value>,
    /// From when on it says nothing any more.
    pub expires_at: Timestamp,
}

/// Whether a text has the form of such a token.
pub fn claims_to_be(text: &str) -> bool {
    text.split('.').count() == 3
}

/// Checks a token.
///
/// # Errors
///
/// When anything about it is wrong.
pub fn check(token: &str, keys: &KeySet, expected: &Expected, now: Timestamp) -> Result<Claims, Fault> {
    if token.len() > LONGEST {
        return Err(Fault::Malformed("it is too long"));
    }
    let mut parts = token.split('.');
    let (Some(head), Some(body), Some(signature), None) =
        (parts.next(), parts.next(), parts.next(), parts.next())
    else {
        return Err(Fault::Malformed("it does not have three parts"));
    };
    let header = object(head)?;
    // An extension that must be understood, and is not.
    if header.contains_key("crit") {
        return Err(Fault::Malformed("it has an extension that is not known"));
    }
    let algorithm = header.get("alg").and_then(Value::as_str).ok_or(Fault::Algorithm)?;
    let kid = header.get("kid").and_then(Value::as_str);
    let signature = decode(signature)?;
    let signed = &token.as_bytes()[..head.len() + 1 + body.len()];
    keys.verify(algorithm, kid, signed, &signature)?;
    judge(object(body)?, expected, now)
}

fn judge(members: Map<String, Value>, expected: &Expected, now: Timestamp) -> Result<Claims, Fault> {
    let issuer = members.get("iss").and_then(Value::as_str).ok_or(Fault::Issuer)?;
    if !expected.issuers.iter().any(|one| one == issuer) {
        return Err(Fault::Issuer);
    }
    let is_meant = |audience: &Value| {
        audience.as_str().is_some_and(|audience| expected.audiences.iter().any(|one| one == audience))
    };
    let is_for_us = match members.get("aud") {
        Some(Value::Array(list)) => list.iter().any(is_meant),
        Some(one) => is_meant(one),
        None => false,
    };
    if !is_for_us {
        return Err(Fault::Audience);
    }
    let seconds = |name: &'static str, value: &Value| {
        // Some issuers write fractions.
        let seconds = value.as_i64().or_else(|| value.as_f64().map(|seconds| seconds as i64));
        let at = seconds.and_then(|seconds| Timestamp::from_second(seconds).ok());
        at.ok_or(Fault::Malformed(name))
    };
    let ends = members.get("exp").ok_or(Fault::Malformed("it does not say when it expires"))?;
    let expires_at = seconds("its exp is no time", ends)?;
    if now.as_second().saturating_sub(expected.skew) >= expires_at.as_second() {
        return Err(Fault::Expired);
    }
    if let Some(begins) = members.get("nbf") {
        let begins = seconds("its nbf is no time", begins)?;
        if now.as_second().saturating_add(expected.skew) < begins.as_second() {
            return Err(Fault::NotYet);
        }
    }
    Ok(Claims { members, expires_at })
}

impl Claims {
    /// A member that is a text.
    pub fn text(&self, name: &str) -> Option<&str> {
        self.members.get(name).and_then(Value::as_str).filter(|text| !text.is_empty())
    }

    /// Who it speaks for. Entra knows people and programs by `oid`, which is the same for all its applications, where
    /// `sub` is not; others have only `sub`.
    ///
    /// # Errors
    ///
    /// When it names nobody.
    pub fn principal(&self) -> Result<Principal, Fault> {
        let (subject, object) = (self.text("sub"), self.text("oid"));
        let known = object.or(subject).ok_or(Fault::Malformed("it names nobody"))?;
        let program = self.text("appid").or_else(|| self.text("azp"));
        // A program that came by itself: nobody has consented to anything, and it is its own subject.
        let is_program = self.text("idtyp") == Some("app")
            || (program.is_some() && object.is_some() && subject == object && self.text("scp").is_none());
        let mut also = Vec::new();
        let id = match program.filter(|_| is_program) {
            Some(program) => {
                also.push(PrincipalId::app(known));
                PrincipalId::app(program)
            }
            None => PrincipalId::user(known),
        };
        let groups = self.members.get("groups").and_then(Value::as_array).into_iter().flatten();
        also.extend(groups.filter_map(Value::as_str).take(MOST_GROUPS).map(PrincipalId::group));
        let names = ["preferred_username", "upn", "email", "unique_name", "name", "app_displayname"];
        let name = names.iter().find_map(|name| self.text(name)).unwrap_or(known);
        Ok(Principal { id, name: name.chars().filter(|c| !c.is_control()).take(200).collect(), also })
    }
}

fn decode(part: &str) -> Result<Vec<u8>, Fault> {
    URL_SAFE_NO_PAD.decode(part).map_err(|_| Fault::Malformed("its parts are not base64url"))
}

fn object(part: &str) -> Result<Map<String, Value>, Fault> {
    match serde_json::from_slice(&decode(part)?) {
        Ok(Value::Object(members)) => Ok(members),
        _ => Err(Fault::Malformed("its parts are not JSON")),
    }
}

#[cfg(test)]
mod tests;
