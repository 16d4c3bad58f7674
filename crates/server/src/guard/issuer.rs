//! The issuer: tokens of a directory, such as Entra ID, by OpenID Connect.
//!
//! Where its keys are the issuer itself tells (discovery). They are kept, and asked for again when they are old or when a
//! token names one that is not among them, but not more often than every few seconds, whoever sends what. An issuer that
//! is away does no harm while its keys are known: they hold for a day.

use std::sync::Arc;
use std::time::Duration;

use access::Principal;
use access::jwt::{self, Expected, Fault, KeySet};
use anyhow::{Context, bail};
use axum::body::Bytes;
use http_body_util::{BodyExt as _, Empty, Limited};
use hyper_rustls::HttpsConnector;
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioExecutor;
use model::Timestamp;
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject as _;
use serde_json::Value;
use tokio::sync::Mutex;

use crate::problem::Problem;

/// How old keys may become before they are asked for again, in seconds.
const FRESH: i64 = 3600;
/// How old they may become while the issuer cannot be asked.
const HOLD: i64 = 24 * 3600;
/// How long after a try the next may be.
const PAUSE: i64 = 10;
/// The longest that the issuer may take to answer.
const LONGEST: Duration = Duration::from_secs(10);
/// The most bytes of an answer.
const LARGEST: usize = 1 << 20;

/// Whom tokens come from, and for whom they are meant.
#[derive(Debug, Clone)]
pub struct IssuerSettings {
    /// The issuer, as it names itself.
    pub issuer: String,
    /// For whom its tokens are meant, where they are for this server.
    pub audiences: Vec<String>,
    /// How far clocks may differ.
    pub skew: Duration,
    /// Certificates that are trusted besides those of the machine, as PEM.
    pub extra_roots: Vec<u8>,
}

/// See the module.
pub(super) struct Issuer {
    settings: IssuerSettings,
    client: Client<HttpsConnector<HttpConnector>, Empty<Bytes>>,
    known: Mutex<Known>,
}

#[derive(Default)]
struct Known {
    keys: Option<(Arc<Published>, Timestamp)>,
    tried_at: Option<Timestamp>,
}

/// What the issuer publishes.
struct Published {
    /// The names under which it signs.
    issuers: Vec<String>,
    keys: KeySet,
}

impl std::fmt::Debug for Issuer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Issuer").field("settings", &self.settings).finish_non_exhaustive()
    }
}

impl Issuer {
    pub(super) fn new(settings: IssuerSettings) -> anyhow::Result<Self> {
        let mut roots = rustls::RootCertStore::empty();
        // Certificates of the machine that cannot be read are left out: the others still serve.
        roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
        for certificate in CertificateDer::pem_slice_iter(&settings.extra_roots) {
            roots.add(certificate?)?;
        }
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let tls = rustls::ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()?
            .with_root_certificates(roots)
            .with_no_client_auth();
        let connector = hyper_rustls::HttpsConnectorBuilder::new()
            .with_tls_config(tls)
            .https_only()
            .enable_http1()
            .build();
        let client = Client::builder(TokioExecutor::new()).build(connector);
        Ok(Self { settings, client, known: Mutex::default() })
    }

    /// Who a token speaks for.
    pub(super) async fn check(&self, token: &str, now: Timestamp) -> Result<Principal, Problem> {
        let mut published = self.published(now, false).await?;
        let mut checked = self.judge(token, &published, now);
        if checked == Err(Fault::UnknownKey) {
            // The issuer may have changed its keys.
            published = self.published(now, true).await?;
            checked = self.judge(token, &published, now);
        }
        match checked.and_then(|claims| claims.principal()) {
            Ok(principal) => Ok(principal),
            Err(Fault::Expired) => Err(Problem::expired_token()),
            Err(fault) => Err(Problem::bad_token(&fault.to_string())),
        }
    }

    fn judge(&self, token: &str, published: &Published, now: Timestamp) -> Result<jwt::Claims, Fault> {
        let expected = Expected {
            issuers: published.issuers.clone(),
            audiences: self.settings.audiences.clone(),
            skew: i64::try_from(self.settings.skew.as_secs()).unwrap_or(i64::MAX),
        };
        jwt::check(token, &published.keys, &expected, now)
    }

    /// What the issuer publishes: as it is known, or asked for anew.
    async fn published(&self, now: Timestamp, wants_new: bool) -> Result<Arc<Published>, Problem> {
        let mut known = self.known.lock().await;
        let since = |at: Timestamp| now.as_second().saturating_sub(at.as_second());
        let is_fresh = known.keys.as_ref().is_some_and(|(_, at)| (0..FRESH).contains(&since(*at)));
        let may_try = known.tried_at.is_none_or(|at| !(0..PAUSE).contains(&since(at)));
        if may_try && (wants_new || !is_fresh) {
            known.tried_at = Some(now);
            match self.fetch().await {
                Ok(published) => known.keys = Some((Arc::new(published), now)),
                Err(error) => {
                    let error = format!("{error:#}");
                    tracing::warn!(
                        issuer = self.settings.issuer,
                        error,
                        "the issuer of tokens cannot be asked"
                    );
                }
            }
        }
        match &known.keys {
            Some((published, at)) if since(*at) < HOLD => Ok(Arc::clone(published)),
            _ => Err(Problem::busy("The issuer of tokens cannot be asked at the moment. Try again.")),
        }
    }

    async fn fetch(&self) -> anyhow::Result<Published> {
        let base = self.settings.issuer.trim_end_matches('/');
        let described = self.get(&format!("{base}/.well-known/openid-configuration")).await?;
        let name = described["issuer"].as_str().context("its description names no issuer")?;
        let issuers = names(&self.settings.issuer);
        if !issuers.iter().any(|one| one == name) {
            bail!("it calls itself '{name}', and not '{}'", self.settings.issuer);
        }
        let place = described["jwks_uri"].as_str().context("its description names no jwks_uri")?;
        let keys = KeySet::read(&self.get(place).await?).map_err(anyhow::Error::msg)?;
        if keys.is_empty() {
            bail!("it publishes no key that could be used");
        }
        Ok(Published { issuers, keys })
    }

    async fn get(&self, place: &str) -> anyhow::Result<Value> {
        let asked = async {
            let answer = self.client.get(place.parse()?).await?;
            let status = answer.status();
            if !status.is_success() {
                bail!("it answers {status}");
            }
            let body = Limited::new(answer.into_body(), LARGEST).collect().await;
            let body = body.map_err(anyhow::Error::from_boxed)?.to_bytes();
            Ok(serde_json::from_slice(&body)?)
        };
        let answer = tokio::time::timeout(LONGEST, asked).await.context("it takes too long")?;
        answer.with_context(|| place.to_owned())
    }
}

/// The names under which an issuer signs. Entra ID has two for a tenant, by the version of the token.
fn names(issuer: &str) -> Vec<String> {
    let mut names = vec![issuer.to_owned()];
    let tenant = issuer
        .strip_prefix("https://login.microsoftonline.com/")
        .or_else(|| issuer.strip_prefix("https://sts.windows.net/"))
        .map(|rest| rest.trim_end_matches('/').trim_end_matches("/v2.0"))
        .filter(|tenant| !tenant.is_empty() && !tenant.contains('/'));
    if let Some(tenant) = tenant {
        let forms = [
            format!("https://login.microsoftonline.com/{tenant}/v2.0"),
            format!("https://sts.windows.net/{tenant}/"),
        ];
        names.extend(forms.into_iter().filter(|form| form != issuer));
    }
    names
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entra_signs_under_two_names() {
        let (old, new) = ("https://sts.windows.net/t-1/", "https://login.microsoftonline.com/t-1/v2.0");
        for issuer in [old, new] {
            let names = names(issuer);
            assert!(
                names.len() == 2 && names.contains(&old.to_owned()) && names.contains(&new.to_owned()),
                "{names:?}"
            );
        }
        assert_eq!(names("https://issuer.test"), ["https://issuer.test"]);
        assert_eq!(names("https://login.microsoftonline.com/"), ["https://login.microsoftonline.com/"]);
    }
}
