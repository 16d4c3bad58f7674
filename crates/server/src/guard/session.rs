//! Sign-ins to the portal: a cookie in the place of a token.
//!
//! What the cookie holds is drawn anew at every sign-in, so that nobody can be given one beforehand; the store keeps its
//! hash, so that every node knows it and a sign-out ends it everywhere. A browser sends cookies by itself, whoever's page
//! asks: so changes also need a word that only our own pages can read (`x-punctual-csrf`).

use std::sync::Arc;
use std::time::Duration;

use access::{Principal, PrincipalId, Secret32, TokenId};
use axum::http::{HeaderMap, HeaderName, Method, header};
use model::Timestamp;
use serde_json::{Value, json};
use store::{Session, Store};

use crate::problem::Problem;

/// The header of changes that says the word of the session.
pub(crate) const WORD: HeaderName = HeaderName::from_static("x-punctual-csrf");

/// The cookie. With TLS it has the name that browsers let nobody else set, neither without TLS nor from another host.
const SECURE_COOKIE: &str = "__Host-punctual";
const PLAIN_COOKIE: &str = "punctual";

/// How long after a use the next is written down, in seconds.
const USE_EVERY: i64 = 60;

/// How long sign-ins hold.
#[derive(Debug, Clone, Copy)]
pub struct Patience {
    /// Without being used.
    pub idle: Duration,
    /// At all.
    pub lifetime: Duration,
}

impl Default for Patience {
    fn default() -> Self {
        Self { idle: Duration::from_secs(30 * 60), lifetime: Duration::from_secs(12 * 3600) }
    }
}

/// Whether somebody who looks at a sign-in uses it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Use {
    Counts,
    DoesNotCount,
}

/// A sign-in that is in use.
#[derive(Debug, Clone)]
pub(crate) struct SignedIn {
    /// Whose it is.
    pub(super) holder: Holder,
    /// The word that changes need.
    pub(crate) word: String,
}

/// Whose a sign-in is.
#[derive(Debug, Clone)]
pub(super) enum Holder {
    /// The holder of the token with which it was begun, and with which it ends.
    Token(TokenId),
    /// Somebody whom the issuer knows, as it said at that moment.
    Person(Principal),
}

impl Holder {
    fn write(&self, word: &str) -> String {
        let told = match self {
            Self::Token(token) => json!({"token": token.as_str(), "word": word}),
            Self::Person(Principal { id, name, also }) => {
                let also: Vec<&str> = also.iter().map(PrincipalId::as_str).collect();
                json!({"person": {"id": id.as_str(), "name": name, "also": also}, "word": word})
            }
        };
        told.to_string()
    }

    fn read(told: &Value) -> Option<Self> {
        let id = |value: &Value| value.as_str()?.parse().ok();
        if let Some(token) = told["token"].as_str() {
            return Some(Self::Token(token.parse().ok()?));
        }
        let person = &told["person"];
        let also = person["also"].as_array()?.iter().map(id).collect::<Option<_>>()?;
        Some(Self::Person(Principal {
            id: id(&person["id"])?,
            name: person["name"].as_str()?.to_owned(),
            also,
        }))
    }
}

/// A sign-in that has just begun.
pub(crate) struct Begun {
    /// The cookie, with all that is said about it.
    pub(crate) cookie: String,
    /// The word that changes need.
    pub(crate) word: String,
}

/// Begins a sign-in; one that was there before ends. Sign-ins that were idle for long are removed, by the time that
/// retention goes by.
pub(super) async fn begin(
    store: &Arc<dyn Store>,
    patience: Patience,
    headers: &HeaderMap,
    holder: &Holder,
    now: Timestamp,
    retention_now: Timestamp,
) -> Result<Begun, Problem> {
    end(store, headers).await?;
    let (secret, word) = (draw()?, draw()?.reveal());
    let session = Session { hash: secret.hash(), who: holder.write(&word), created_at: now, used_at: now };
    let idle_since = retention_now.checked_sub(patience.idle).unwrap_or(Timestamp::MIN);
    store.add_session(session, idle_since).await?;
    Ok(Begun { cookie: cookie(headers, &secret.reveal(), patience.lifetime), word })
}

/// A secret that nobody had before.
pub(super) fn draw() -> Result<Secret32, Problem> {
    Secret32::random().map_err(|error| {
        tracing::error!(%error, "the machine gives no random numbers");
        Problem::busy("The machine gives no random numbers; nobody is signed in. Try again.")
    })
}

/// Ends the sign-in of a request; whether there was one.
pub(super) async fn end(store: &Arc<dyn Store>, headers: &HeaderMap) -> Result<bool, Problem> {
    match secret_of(headers) {
        Some(secret) => Ok(store.end_session(secret.hash()).await?),
        None => Ok(false),
    }
}

/// What takes the cookie away.
pub(crate) fn removal(headers: &HeaderMap) -> String {
    cookie(headers, "", Duration::ZERO)
}

/// The sign-in of a request; `None` where there is none that holds.
pub(super) async fn of(
    store: &Arc<dyn Store>,
    patience: Patience,
    headers: &HeaderMap,
    now: Timestamp,
    counted: Use,
) -> Result<Option<SignedIn>, Problem> {
    let Some(secret) = secret_of(headers) else { return Ok(None) };
    let Some(session) = store.session(secret.hash()).await? else { return Ok(None) };
    let holds = |since: Timestamp, length: Duration| {
        now.as_second().saturating_sub(since.as_second())
            < i64::try_from(length.as_secs()).unwrap_or(i64::MAX)
    };
    if !holds(session.used_at, patience.idle) || !holds(session.created_at, patience.lifetime) {
        store.end_session(session.hash).await?;
        return Ok(None);
    }
    let is_late = now.as_second().saturating_sub(session.used_at.as_second()) >= USE_EVERY;
    if is_late && counted == Use::Counts {
        store.use_session(session.hash, now).await?;
    }
    let who: Value = serde_json::from_str(&session.who).unwrap_or_default();
    let word = who["word"].as_str().map(str::to_owned);
    Ok(Holder::read(&who).zip(word).map(|(holder, word)| SignedIn { holder, word }))
}

/// Refuses a change that a page of ours did not ask for.
pub(super) fn check(signed_in: &SignedIn, method: &Method, headers: &HeaderMap) -> Result<(), Problem> {
    if [Method::GET, Method::HEAD, Method::OPTIONS].contains(method) {
        return Ok(());
    }
    let given = headers.get(WORD).and_then(|value| value.to_str().ok()).and_then(Secret32::read);
    let expected = Secret32::read(&signed_in.word);
    match (given, expected) {
        (Some(given), Some(expected)) if given.is(&expected.hash()) => Ok(()),
        _ => Err(Problem::foreign_page(&format!("{WORD} is missing or wrong"))),
    }
}

/// Whether the browser speaks TLS, with us or with a proxy.
pub(super) fn is_secure(headers: &HeaderMap) -> bool {
    let proto = headers.get("x-forwarded-proto").and_then(|value| value.to_str().ok()).unwrap_or_default();
    proto.split(',').next().is_some_and(|first| first.trim().eq_ignore_ascii_case("https"))
}

fn cookie(headers: &HeaderMap, value: &str, lifetime: Duration) -> String {
    let (name, secure) = if is_secure(headers) { (SECURE_COOKIE, "; Secure") } else { (PLAIN_COOKIE, "") };
    format!("{name}={value}; Path=/; HttpOnly; SameSite=Strict; Max-Age={}{secure}", lifetime.as_secs())
}

/// What the cookie of a request holds. Behind TLS only the cookie that nobody else can set counts.
fn secret_of(headers: &HeaderMap) -> Option<Secret32> {
    let name = if is_secure(headers) { SECURE_COOKIE } else { PLAIN_COOKIE };
    let values = headers.get_all(header::COOKIE).iter().filter_map(|value| value.to_str().ok());
    let mut found = values
        .flat_map(|value| value.split(';'))
        .filter_map(|pair| pair.trim().split_once('='))
        .filter(|(given, _)| *given == name);
    found.next().and_then(|(_, value)| Secret32::read(value))
}
