//! Who may ask.

use std::path::PathBuf;
use std::time::Duration;

use access::PrincipalId;
use model::Secret;
use serde::de::Error as _;
use serde::{Deserialize, Deserializer};

use super::{ConfigFault, Tls, duration};
use crate::guard::{Guard, IssuerSettings, OidcClient, Patience};

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
    /// As whom this server sends people there to sign in; empty where it does not.
    pub client_id: String,
    /// The file of what it proves that with; empty where there is none.
    pub client_secret_file: PathBuf,
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
        let Oidc { issuer, audiences, skew, client_id, .. } = &self.oidc;
        if issuer.is_empty() {
            return match client_id.is_empty() {
                true => Ok(None),
                false => {
                    Err(ConfigFault::new("auth.oidc.client-id", "it is set, but auth.oidc.issuer is not"))
                }
            };
        }
        if !self.enabled {
            return Err(ConfigFault::new("auth.oidc.issuer", "it is set, but auth.enabled is not true"));
        }
        if !issuer.starts_with("https://") {
            let problem = format!("'{issuer}' is no issuer; allowed: an address that begins with https://");
            return Err(ConfigFault::new("auth.oidc.issuer", problem));
        }
        if client_id.is_empty() && audiences.iter().all(|audience| audience.trim().is_empty()) {
            let problem = "without one no token is accepted; allowed: the audiences of this server. For sign-ins to the \
                           portal alone, set auth.oidc.client-id";
            return Err(ConfigFault::new("auth.oidc.audiences", problem));
        }
        Ok(Some(IssuerSettings {
            issuer: issuer.clone(),
            audiences: audiences.clone(),
            skew: *skew,
            extra_roots: tls.extra_roots()?,
            client: self.oidc.client()?,
        }))
    }
}

impl Oidc {
    fn client(&self) -> Result<Option<OidcClient>, ConfigFault> {
        let file = &self.client_secret_file;
        if self.client_id.is_empty() {
            return match file.as_os_str().is_empty() {
                true => Ok(None),
                false => {
                    let problem = "it is set, but auth.oidc.client-id is not";
                    Err(ConfigFault::new("auth.oidc.client-secret-file", problem))
                }
            };
        }
        let secret = if file.as_os_str().is_empty() {
            None
        } else {
            let fault = |problem: String| {
                ConfigFault::new("auth.oidc.client-secret-file", format!("{}: {problem}", file.display()))
            };
            let text = std::fs::read_to_string(file).map_err(|error| fault(error.to_string()))?;
            if text.trim().is_empty() {
                return Err(fault("there is no secret in it".to_owned()));
            }
            Some(Secret::new(text.trim()))
        };
        Ok(Some(OidcClient { id: self.client_id.clone(), secret }))
    }
}
