//! Principals: who asks.

use std::fmt;
use std::str::FromStr;

/// What a principal is known by: `token:…`, `user:…`, `group:…` or `app:…`.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct PrincipalId(String);

/// The kinds of principals that a role can be given to.
const KINDS: [&str; 4] = ["token", "user", "group", "app"];

/// The longest id, in bytes: longer than those of any directory.
const LONGEST: usize = 256;

impl PrincipalId {
    /// What a text must look like to be a principal that roles can be given to.
    pub const FORMS: &'static str = "token:ID, user:ID, group:ID or app:ID, at most 256 bytes";

    /// A token of ours.
    pub fn token(id: impl fmt::Display) -> Self {
        Self(format!("token:{id}"))
    }

    /// A person, by the id that the issuer has for them.
    pub fn user(id: &str) -> Self {
        Self(format!("user:{id}"))
    }

    /// A group of the issuer's directory.
    pub fn group(id: &str) -> Self {
        Self(format!("group:{id}"))
    }

    /// A program that signs in by itself.
    pub fn app(id: &str) -> Self {
        Self(format!("app:{id}"))
    }

    /// Whoever is on this machine, while nobody has to say who they are.
    pub fn local() -> Self {
        Self("local".to_owned())
    }

    /// Nobody that we know.
    pub fn anonymous() -> Self {
        Self("anonymous".to_owned())
    }

    /// Its text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for PrincipalId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl FromStr for PrincipalId {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let is_one = text.len() <= LONGEST
            && text.chars().all(|c| !c.is_control())
            && text.split_once(':').is_some_and(|(kind, id)| KINDS.contains(&kind) && !id.trim().is_empty());
        if is_one {
            return Ok(Self(text.to_owned()));
        }
        Err(format!("'{text}' is no principal; allowed: {}", Self::FORMS))
    }
}

/// Who asks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Principal {
    /// What they are known by.
    pub id: PrincipalId,
    /// As people know them.
    pub name: String,
    /// What else roles may have been given to: the groups they are in.
    pub also: Vec<PrincipalId>,
}

impl Principal {
    /// Whoever is on this machine.
    pub fn local() -> Self {
        Self { id: PrincipalId::local(), name: "local".to_owned(), also: Vec::new() }
    }

    /// Whether a role that was given to this id is theirs.
    pub fn is(&self, id: &PrincipalId) -> bool {
        self.id == *id || self.also.contains(id)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn principals_have_a_kind() {
        for text in ["token:ab12", "user:a@b", "group:1-2", "app:x"] {
            assert_eq!(text.parse::<PrincipalId>().map(|id| id.to_string()), Ok(text.to_owned()));
        }
        for text in ["", "x", "token:", "user: ", "local", "anonymous", "role:x", "user:a\nb"] {
            assert!(text.parse::<PrincipalId>().is_err(), "{text}");
        }
        assert!(format!("user:{}", "x".repeat(LONGEST)).parse::<PrincipalId>().is_err());
    }
}
