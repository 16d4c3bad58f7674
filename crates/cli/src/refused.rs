//! What the caller got wrong.

use std::fmt;

/// Input that cannot be used, with at least one reason.
#[derive(Debug)]
pub(crate) struct Refused(Vec<String>);

/// More reasons than anybody would read; a list of a thousand wrong numbers is one mistake.
const MOST: usize = 20;

impl Refused {
    pub(crate) fn new(reason: impl Into<String>) -> Self {
        Self(vec![reason.into()])
    }

    /// All of the reasons, for whoever has bounded them already.
    pub(crate) fn all(reasons: Vec<String>) -> Self {
        Self(reasons)
    }

    /// The reasons, as many as anybody would read.
    pub(crate) fn reasons(&self) -> impl Iterator<Item = &str> {
        self.0.iter().map(String::as_str)
    }
}

impl<T: Into<String>> FromIterator<T> for Refused {
    fn from_iter<I: IntoIterator<Item = T>>(reasons: I) -> Self {
        let mut all = reasons.into_iter();
        let mut reasons: Vec<String> = all.by_ref().take(MOST).map(Into::into).collect();
        let more = all.count();
        if more > 0 {
            reasons.push(format!("and {more} more like these"));
        }
        Self(reasons)
    }
}

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0.join("\n"))
    }
}

impl std::error::Error for Refused {}
