//! Where traces go.

use actions::Sampling;
use serde::de::Error as _;
use serde::{Deserialize, Deserializer};

/// Where traces go.
#[derive(Clone, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Traces {
    /// The collector; nowhere where it is empty.
    #[serde(deserialize_with = "endpoint")]
    pub endpoint: String,
    /// How many of all traces are kept, from 0 to 1.
    #[serde(deserialize_with = "part")]
    pub sample_ratio: f64,
    /// Headers that the collector wants.
    #[serde(deserialize_with = "headers")]
    pub headers: Vec<(String, String)>,
}

impl Traces {
    /// Which traces are kept; `None` where there are none.
    pub fn sampling(&self) -> Option<Sampling> {
        (!self.endpoint.is_empty()).then(|| Sampling::new(self.sample_ratio))
    }
}

impl std::fmt::Debug for Traces {
    /// What a header says may be a key.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let names: Vec<&str> = self.headers.iter().map(|(name, _)| &**name).collect();
        f.debug_struct("Traces")
            .field("endpoint", &self.endpoint)
            .field("sample_ratio", &self.sample_ratio)
            .field("headers", &names)
            .finish()
    }
}

fn endpoint<'de, D: Deserializer<'de>>(input: D) -> Result<String, D::Error> {
    let text = String::deserialize(input)?;
    let is_address = ["http://", "https://"].iter().any(|scheme| text.starts_with(scheme));
    if !text.is_empty() && !is_address {
        return Err(D::Error::custom(format!(
            "\"{text}\" is no address of a collector, such as http://127.0.0.1:4318"
        )));
    }
    Ok(text.trim_end_matches('/').to_owned())
}

fn part<'de, D: Deserializer<'de>>(input: D) -> Result<f64, D::Error> {
    let part = f64::deserialize(input)?;
    if (0.0..=1.0).contains(&part) {
        return Ok(part);
    }
    Err(D::Error::custom(format!("{part} is not from 0 to 1")))
}

fn headers<'de, D: Deserializer<'de>>(input: D) -> Result<Vec<(String, String)>, D::Error> {
    let entries = Vec::<String>::deserialize(input)?;
    let read = entries.iter().map(|entry| {
        // The value may be a key: it is not repeated.
        let named = entry.split_once('=').filter(|(name, _)| !name.trim().is_empty());
        let (name, value) = named.ok_or_else(|| D::Error::custom("an entry is no name=value"))?;
        Ok((name.trim().to_owned(), value.trim().to_owned()))
    });
    read.collect()
}
