//! Secrets: values that may be used and stored, never shown.

use std::fmt;

use serde::{Deserialize, Serialize};

/// A password, key or token. It cannot be printed; [`expose`](Self::expose) is the one way to the value.
///
/// Its stored form is the value itself: whoever writes it to a disk seals it first.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Secret(String);

impl Secret {
    /// Wraps a value.
    pub fn new(value: impl Into<String>) -> Self {
        Self(value.into())
    }

    /// The value, for the call that needs it.
    pub fn expose(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret(…)")
    }
}
