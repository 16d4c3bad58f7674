//! The issuer: tokens of a directory, such as Entra ID, by OpenID Connect.
//!
//! Where its keys are the issuer itself tells (discovery). They are kept, and asked for again when they are old or when a
//! token names one that is not among them, but not more often than every few seconds, whoever sends what. An issuer that
//! is away does no harm while its keys are known: they hold for a day. Nor does one that does not answer: only callers who
//! need what it has not told yet wait for it.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use access::Principal;
use access::jwt::{self, Expected, Fault, KeySet};
use anyhow::{Context, bail};
use axum::body::Bytes;
use axum::http::{Method, Request, header};
use http_body_util::{BodyExt as _, Full, Limited};
use hyper_rustls::HttpsConnector;
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioExecutor;
use model::{Secret, Timestamp};
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject as _;
use serde_json::Value;
use tokio::sync;

use super::referral::{Referral, form};
use crate::problem::Problem;

/// How old keys may become before they are asked for again, in seconds.
const FRESH: i64 = 3600;
/// How old they may become while the issuer cannot be asked.
const HOLD: i64 = 24 * 3600;
/// How long after a try the next may be.
const PAUSE: i64 = 10;
/// How long the caller who finds keys old waits for new ones, before the old ones are taken once more.
const BRIEFLY: Duration = Duration::from_secs(2);
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
    /// As whom this server sends browsers there to sign in; `None` where it does not.
    pub client: Option<OidcClient>,
}

/// What the issuer knows this server as.
#[derive(Debug, Clone)]
pub struct OidcClient {
    /// Its id.
    pub id: String,
    /// What it proves that with, where it was given something.
    pub secret: Option<Secret>,
}

/// See the module.
pub(super) struct Issuer {
    settings: IssuerSettings,
    http: Client<HttpsConnector<HttpConnector>, Full<Bytes>>,
    /// Never locked while the issuer is asked.
    known: Mutex<Known>,
    /// Held while the issuer is asked.
    asking: Arc<sync::Mutex<()>>,
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
    /// Where people sign in, and where codes are exchanged.
    sign_in: Option<(String, String)>,
}

/// Why somebody who comes back from the issuer is not signed in.
#[derive(Debug)]
pub(crate) enum Unsigned {
    /// What they bring is not believed; for the audit.
    Refused(String),
    /// It cannot be found out at the moment.
    Unknown(Problem),
}

impl From<Problem> for Unsigned {
    fn from(problem: Problem) -> Self {
        if problem.status == 401 { Self::Refused(problem.message) } else { Self::Unknown(problem) }
    }
}

impl std::fmt::Debug for Issuer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Issuer").field("settings", &self.settings).finish_non_exhaustive()
    }
}

impl Issuer {
    pub(super) fn new(settings: IssuerSettings) -> anyhow::Result<Arc<Self>> {
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
        let http = Client::builder(TokioExecutor::new()).build(connector);
        Ok(Arc::new(Self { settings, http, known: Mutex::default(), asking: Arc::default() }))
    }

    /// Who a token speaks for.
    pub(super) async fn check(self: &Arc<Self>, token: &str, now: Timestamp) -> Result<Principal, Problem> {
        let claims = self.believed(token, &self.settings.audiences, now).await?;
        claims.principal().map_err(|fault| Problem::bad_token(&fault.to_string()))
    }

    /// What a token for one of these audiences says.
    async fn believed(
        self: &Arc<Self>,
        token: &str,
        audiences: &[String],
        now: Timestamp,
    ) -> Result<jwt::Claims, Problem> {
        let judge = |published: &Published| {
            let expected = Expected {
                issuers: published.issuers.clone(),
                audiences: audiences.to_vec(),
                skew: i64::try_from(self.settings.skew.as_secs()).unwrap_or(i64::MAX),
            };
            jwt::check(token, &published.keys, &expected, now)
        };
        let mut checked = judge(&*self.published(now, false).await?);
        if checked == Err(Fault::UnknownKey) {
            // The issuer may have changed its keys.
            checked = judge(&*self.published(now, true).await?);
        }
        match checked {
            Ok(claims) => Ok(claims),
            Err(Fault::Expired) => Err(Problem::expired_token()),
            Err(fault) => Err(Problem::bad_token(&fault.to_string())),
        }
    }

    /// As what people know it, where they can sign in there.
    pub(super) fn name(&self) -> Option<&str> {
        let host = self.settings.issuer.strip_prefix("https://").unwrap_or(&self.settings.issuer);
        self.settings.client.as_ref().map(|_| host.split('/').next().unwrap_or(host))
    }

    /// Where a browser is sent to sign in.
    pub(super) async fn place(
        self: &Arc<Self>,
        referral: &Referral,
        back: &str,
        now: Timestamp,
    ) -> Result<String, Problem> {
        let (client, published) = self.client(now).await?;
        let (authorize, _) = published.sign_in.as_ref().ok_or_else(no_sign_in)?;
        let query = form(&[
            ("response_type", "code"),
            ("response_mode", "query"),
            ("client_id", &client.id),
            ("redirect_uri", back),
            ("scope", "openid profile email"),
            ("state", &referral.state()),
            ("nonce", &referral.nonce()),
            ("code_challenge", &referral.challenge()),
            ("code_challenge_method", "S256"),
        ]);
        let joint = if authorize.contains('?') { '&' } else { '?' };
        Ok(format!("{authorize}{joint}{query}"))
    }

    /// Who has signed in there, by the code that a browser brings back.
    pub(super) async fn exchange(
        self: &Arc<Self>,
        referral: &Referral,
        code: &str,
        back: &str,
        now: Timestamp,
    ) -> Result<Principal, Unsigned> {
        let (client, published) = self.client(now).await?;
        let (_, place) = published.sign_in.as_ref().ok_or_else(no_sign_in)?;
        let verifier = referral.verifier();
        let mut members = vec![
            ("grant_type", "authorization_code"),
            ("code", code),
            ("redirect_uri", back),
            ("client_id", &client.id),
            ("code_verifier", &verifier),
        ];
        if let Some(secret) = &client.secret {
            members.push(("client_secret", secret.expose()));
        }
        let answer = self.ask(place, Some(form(&members))).await.map_err(|error| {
            let error = format!("{error:#}");
            tracing::warn!(issuer = self.settings.issuer, error, "a code cannot be exchanged");
            Unsigned::Refused(format!("the issuer does not exchange the code: {error}"))
        })?;
        let refused = |why: &str| Unsigned::Refused(why.to_owned());
        let token = answer["id_token"].as_str().ok_or_else(|| refused("the issuer sends no id_token"))?;
        let claims = self.believed(token, std::slice::from_ref(&client.id), now).await?;
        if claims.text("nonce") != Some(&referral.nonce()) {
            return Err(refused("the token is for another sign-in: its nonce is wrong"));
        }
        if claims.text("azp").is_some_and(|party| party != client.id) {
            return Err(refused("the token was given to another client: its azp is wrong"));
        }
        claims.principal().map_err(|fault| refused(&fault.to_string()))
    }

    /// As whom browsers are sent there, and where that is.
    async fn client(self: &Arc<Self>, now: Timestamp) -> Result<(&OidcClient, Arc<Published>), Problem> {
        let client = self.settings.client.as_ref().ok_or_else(no_sign_in)?;
        Ok((client, self.published(now, false).await?))
    }

    /// What the issuer publishes: as it is known, or asked for anew.
    async fn published(self: &Arc<Self>, now: Timestamp, wants_new: bool) -> Result<Arc<Published>, Problem> {
        let held = self.held(now);
        if let Some((published, true)) = &held
            && !wants_new
        {
            return Ok(Arc::clone(published));
        }
        let begun = self.renew(now);
        match held {
            // One caller waits a little for what is new; the others go on with what is known.
            Some((published, _)) if !wants_new => {
                if begun {
                    let _ = tokio::time::timeout(BRIEFLY, self.asking.lock()).await;
                }
                Ok(self.held(now).map_or(published, |(published, _)| published))
            }
            _ => {
                drop(self.asking.lock().await);
                let held = self.held(now).map(|(published, _)| published);
                held.ok_or_else(|| {
                    Problem::busy("The issuer of tokens cannot be asked at the moment. Try again.")
                })
            }
        }
    }

    fn known(&self) -> MutexGuard<'_, Known> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What is known and still holds, and whether it is fresh.
    fn held(&self, now: Timestamp) -> Option<(Arc<Published>, bool)> {
        let known = self.known();
        let (published, at) = known.keys.as_ref()?;
        let age = now.as_second().saturating_sub(at.as_second());
        (age < HOLD).then(|| (Arc::clone(published), (0..FRESH).contains(&age)))
    }

    /// Begins to ask the issuer, unless that is under way or was done a moment ago; whether it has begun. It goes on when
    /// the caller is gone, since others wait for it too.
    fn renew(self: &Arc<Self>, now: Timestamp) -> bool {
        let Ok(turn) = Arc::clone(&self.asking).try_lock_owned() else { return false };
        {
            let mut known = self.known();
            let since = |at: Timestamp| now.as_second().saturating_sub(at.as_second());
            if known.tried_at.is_some_and(|at| (0..PAUSE).contains(&since(at))) {
                return false;
            }
            known.tried_at = Some(now);
        }
        let issuer = Arc::clone(self);
        tokio::spawn(async move {
            match issuer.fetch().await {
                Ok(published) => issuer.known().keys = Some((Arc::new(published), now)),
                Err(error) => {
                    let (error, issuer) = (format!("{error:#}"), &issuer.settings.issuer);
                    tracing::warn!(issuer, error, "the issuer of tokens cannot be asked");
                }
            }
            drop(turn);
        });
        true
    }

    async fn fetch(&self) -> anyhow::Result<Published> {
        let base = self.settings.issuer.trim_end_matches('/');
        let described = self.ask(&format!("{base}/.well-known/openid-configuration"), None).await?;
        let name = described["issuer"].as_str().context("its description names no issuer")?;
        let issuers = names(&self.settings.issuer);
        if !issuers.iter().any(|one| one == name) {
            bail!("it calls itself '{name}', and not '{}'", self.settings.issuer);
        }
        let place = described["jwks_uri"].as_str().context("its description names no jwks_uri")?;
        let text = |name: &str| described[name].as_str().map(str::to_owned);
        let sign_in = text("authorization_endpoint").zip(text("token_endpoint"));
        let keys = KeySet::read(&self.ask(place, None).await?).map_err(anyhow::Error::msg)?;
        if keys.is_empty() {
            bail!("it publishes no key that could be used");
        }
        Ok(Published { issuers, keys, sign_in })
    }

    /// Asks the issuer for JSON: with a form, where there is one.
    async fn ask(&self, place: &str, form: Option<String>) -> anyhow::Result<Value> {
        let asked = async {
            let mut request = Request::builder().uri(place).header(header::ACCEPT, "application/json");
            if form.is_some() {
                let kind = "application/x-www-form-urlencoded";
                request = request.method(Method::POST).header(header::CONTENT_TYPE, kind);
            }
            let answer = self.http.request(request.body(form.unwrap_or_default().into())?).await?;
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

pub(super) fn no_sign_in() -> Problem {
    Problem::conflict("Nobody can sign in to the portal by way of an issuer here.")
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
