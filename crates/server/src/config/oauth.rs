//! Where tokens come from, and whom outbound calls trust.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use actions::{Authority, OauthSettings};
use serde::Deserialize;

use super::{ConfigFault, duration};

/// Whom outbound calls trust.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Tls {
    /// Certificates besides those of the machine; empty for none.
    pub ca_file: PathBuf,
}

/// Where tokens come from.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Oauth {
    /// Who gives them out.
    pub authority: String,
    /// Where it does.
    pub token_path: String,
    /// What is asked for; empty for the audience as `resource`.
    pub scope: String,
    /// The longest that it may take.
    #[serde(deserialize_with = "duration::read")]
    pub timeout: Duration,
    /// Those that are elsewhere.
    pub tenants: BTreeMap<String, Tenant>,
}

/// What is different about one tenant.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Tenant {
    /// Who gives out its tokens.
    pub authority: Option<String>,
    /// Where.
    pub token_path: Option<String>,
    /// What is asked for.
    pub scope: Option<String>,
}

impl Tls {
    /// The certificates of the file.
    pub(super) fn extra_roots(&self) -> Result<Vec<u8>, ConfigFault> {
        if self.ca_file.as_os_str().is_empty() {
            return Ok(Vec::new());
        }
        std::fs::read(&self.ca_file)
            .map_err(|error| ConfigFault::new("tls.ca-file", format!("{}: {error}", self.ca_file.display())))
    }
}

impl Oauth {
    /// As the actions know it.
    pub(super) fn settings(&self) -> OauthSettings {
        let or = |own: &Option<String>, other: &String| own.as_ref().unwrap_or(other).clone();
        let complete = |own: &Tenant| Authority {
            address: or(&own.authority, &self.authority),
            token_path: or(&own.token_path, &self.token_path),
            scope: Some(or(&own.scope, &self.scope)).filter(|scope| !scope.is_empty()),
        };
        OauthSettings {
            others: complete(&Tenant { authority: None, token_path: None, scope: None }),
            tenants: self.tenants.iter().map(|(name, own)| (name.clone(), complete(own))).collect(),
            timeout: self.timeout,
        }
    }
}
