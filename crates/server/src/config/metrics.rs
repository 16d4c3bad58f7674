//! What is told in numbers, and where.

use std::net::SocketAddr;

use serde::de::Error as _;
use serde::{Deserialize, Deserializer};

/// What is told in numbers.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Metrics {
    /// Whether it is.
    pub enabled: bool,
    /// Where, if not beside the API.
    #[serde(deserialize_with = "address")]
    pub listen: Option<SocketAddr>,
    /// The most job collections that are counted by themselves.
    pub collections: usize,
}

/// An address; none where the text is empty.
fn address<'de, D: Deserializer<'de>>(input: D) -> Result<Option<SocketAddr>, D::Error> {
    let text = String::deserialize(input)?;
    if text.is_empty() {
        return Ok(None);
    }
    let wrong = |_| D::Error::custom(format!("\"{text}\" is no address with a port, such as 127.0.0.1:9042"));
    text.parse().map(Some).map_err(wrong)
}
