//! On what a change depends: `If-Match`, `If-None-Match`, and `Prefer: handling=strict`.

use recurrence::{Fault, Faults};
use store::Revision;

use super::Result;
use crate::problem::Problem;

/// What a caller takes for granted about a resource.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Preconditions {
    if_match: Option<Tags>,
    if_none_match: Option<Tags>,
    strict: bool,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Tags {
    Any,
    These(Vec<String>),
}

/// The ETag of a revision.
pub fn etag(revision: Revision) -> String {
    format!("\"{}\"", revision.0)
}

impl Preconditions {
    /// Reads the two headers.
    pub fn read(if_match: Option<&str>, if_none_match: Option<&str>) -> Self {
        Self {
            if_match: if_match.map(Tags::read),
            if_none_match: if_none_match.map(Tags::read),
            strict: false,
        }
    }

    /// The same for a caller that prefers something (RFC 7240): with `handling=strict` members that mean nothing are refused,
    /// not ignored.
    pub fn preferring(mut self, prefer: Option<&str>) -> Self {
        let mut preferences = prefer.into_iter().flat_map(|text| text.split([',', ';']));
        self.strict = preferences.any(|one| {
            one.split_once('=').is_some_and(|(name, value)| {
                name.trim().eq_ignore_ascii_case("handling")
                    && value.trim().trim_matches('"').eq_ignore_ascii_case("strict")
            })
        });
        self
    }

    /// Whether members that mean nothing are refused.
    pub fn is_strict(&self) -> bool {
        self.strict
    }

    /// Refuses members that mean nothing, before anything is stored, where the caller wants that.
    pub fn check_members(&self, ignored: &[String]) -> Result<()> {
        if !self.strict {
            return Ok(());
        }
        let fault = |member: &String| {
            Fault::new(member, "a member of this name", "the members that the API describes")
        };
        Faults::check(ignored.iter().map(fault).collect()).map_err(Problem::faulty)
    }

    /// Whether a change of a resource as it stands is what the caller wants.
    pub fn check(&self, current: Option<Revision>) -> Result<()> {
        if self.if_match.as_ref().is_some_and(|tags| !tags.include(current)) {
            let now = current
                .map_or("it does not exist".to_owned(), |revision| format!("its ETag is {}", etag(revision)));
            return Err(Problem::precondition_failed(format!(
                "The resource is not the one that If-Match names: {now}."
            )));
        }
        if self.if_none_match.as_ref().is_some_and(|tags| tags.include(current)) {
            return Err(Problem::precondition_failed(
                "The resource is there already, and If-None-Match rules that out.",
            ));
        }
        Ok(())
    }

    /// Whether the caller has this revision already.
    pub fn is_known(&self, current: Revision) -> bool {
        self.if_none_match.as_ref().is_some_and(|tags| tags.include(Some(current)))
    }
}

impl Tags {
    fn read(text: &str) -> Self {
        if text.trim() == "*" {
            return Self::Any;
        }
        let weak = |tag: &str| tag.trim().trim_start_matches("W/").to_owned();
        Self::These(text.split(',').map(weak).collect())
    }

    fn include(&self, current: Option<Revision>) -> bool {
        match (self, current) {
            (_, None) => false,
            (Self::Any, Some(_)) => true,
            (Self::These(tags), Some(revision)) => tags.contains(&etag(revision)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_may_change_what() {
        let (here, absent) = (Some(Revision(7)), None);
        for (if_match, if_none_match, current, allowed) in [
            (None, None, here, true),
            (None, None, absent, true),
            (Some("\"7\""), None, here, true),
            (Some("\"6\", W/\"7\""), None, here, true),
            (Some("\"6\""), None, here, false),
            (Some("\"7\""), None, absent, false),
            (Some("*"), None, here, true),
            (Some("*"), None, absent, false),
            (None, Some("*"), here, false),
            (None, Some("*"), absent, true),
            (None, Some("\"7\""), here, false),
            (None, Some("\"6\""), here, true),
        ] {
            let checked = Preconditions::read(if_match, if_none_match).check(current);
            assert_eq!(checked.is_ok(), allowed, "{if_match:?} {if_none_match:?} {current:?}");
        }
    }
}
