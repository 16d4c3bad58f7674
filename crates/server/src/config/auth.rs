//! Who may ask.

use std::time::Duration;

use access::PrincipalId;
use serde::de::Error as _;
use serde::{Deserialize, Deserializer};

use super::{ConfigFault, Tls, duration};
use crate::guard::{Guard, IssuerSettings, Patience};

/// Who may ask.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Auth {
    /// Whether callers have to say who they are.
    pub enabled: bool,
    /// Owners of everything.
    #[serde(deserialize_with = "principals")]
    pub owners: Vec<PrincipalId>,
    /// How long a sign-in to the portal holds without being used.
    #[serde(deserialize_with = "duration::read")]
    pub session_idle: Duration,
    /// How long it holds at all.
    #[serde(deserialize_with = "duration::read")]
    pub session_lifetime: Duration,
    /// Whose tokens are believed besides our own.
    pub oidc: Oidc,
}

/// An issuer of tokens.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Oidc {
    /// As it names itself; empty where there is none.
    pub issuer: String,
    /// For whom its tokens are meant, where they are for this server.
    pub audiences: Vec<String>,
    /// How far clocks may differ.
    #[serde(deserialize_with = "duration::read")]
    pub skew: Duration,
}

fn principals<'de, D: Deserializer<'de>>(given: D) -> Result<Vec<PrincipalId>, D::Error> {
    let texts: Vec<String> = Vec::deserialize(given)?;
    texts.iter().map(|text| text.parse().map_err(D::Error::custom)).collect()
}

impl Auth {
    /// Who stands at the door.
    pub(crate) fn guard(&self) -> Guard {
        let patience = Patience { idle: self.session_idle, lifetime: self.session_lifetime };
        if self.enabled { Guard::watchful(self.owners.clone(), patience) } else { Guard::open() }
    }

    /// Whose tokens are believed besides our own, if anybody's.
    pub(super) fn issuer(&self, tls: &Tls) -> Result<Option<IssuerSettings>, ConfigFault> {
        let Oidc { issuer, audiences, skew } = &self.oidc;
        if issuer.is_empty() {
            return Ok(None);
        }
        if !self.enabled {
            return Err(ConfigFault::new("auth.oidc.issuer", "it is set, but auth.enabled is not true"));
        }
        if !issuer.starts_with("https://") {
            let problem = format!("'{issuer}' is no issuer; allowed: an address that begins with https://");
            return Err(ConfigFault::new("auth.oidc.issuer", problem));
        }
        if audiences.iter().all(|audience| audience.trim().is_empty()) {
            let problem = "without one, tokens for anybody else would be accepted; allowed: the audiences of this server";
            return Err(ConfigFault::new("auth.oidc.audiences", problem));
        }
        Ok(Some(IssuerSettings {
            issuer: issuer.clone(),
            audiences: audiences.clone(),
            skew: *skew,
            extra_roots: tls.extra_roots()?,
        }))
    }
}
