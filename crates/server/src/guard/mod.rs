//! The guard: who asks, and which roles they have.
//!
//! Without authentication everybody is `local`, who may do everything; the server is then for this machine only. With it
//! a caller shows a token of ours in `Authorization: Bearer …`, or the cookie that a browser was given for one
//! (`session`), or a token of an issuer that the operator trusts (`issuer`). What may be done is decided by [`access`]; what an
//! operation needs is a table in `http/needs.rs`.
//!
//! Tokens and roles are read from the store and kept for a moment (`FRESH`), so that a herd of calls does not become
//! twice the herd. Changes by this process count at once; those of other nodes when the moment has passed.

mod denials;
mod directory;
mod issuer;
pub(crate) mod referral;
pub(crate) mod session;

use std::sync::{Arc, Mutex, PoisonError};

use access::jwt;
use access::{Grants, Note, Principal, PrincipalId, Role, Scope, Sight, Token, TokenRecord};
use axum::http::{HeaderMap, Method, header};
use model::Timestamp;
use store::Store;
use tokio::sync::watch;

use crate::problem::Problem;
use denials::Denials;
use directory::Directory;
use issuer::Issuer;
pub(crate) use issuer::Unsigned;
pub use issuer::{IssuerSettings, OidcClient};
use referral::Referral;
pub use session::Patience;
use session::{Begun, Holder, Use};

/// Whoever asks.
#[derive(Debug, Clone)]
pub struct Caller {
    /// Who they are.
    pub principal: Principal,
    /// What they may do.
    pub grants: Grants,
    /// The address they ask from; empty where that is not known.
    pub from: String,
    /// How many calls of jobs led to what they ask; 0 where no job asks.
    pub(crate) hops: u8,
    /// The word that changes need, where a browser is signed in.
    pub(crate) word: Option<String>,
}

impl Caller {
    /// Whoever is on this machine, while nobody has to say who they are.
    pub fn local() -> Self {
        Self {
            principal: Principal::local(),
            grants: Grants::all(),
            from: String::new(),
            hops: 0,
            word: None,
        }
    }

    /// Nobody that we know, who may do nothing.
    pub(crate) fn anonymous() -> Self {
        let principal = Principal {
            id: PrincipalId::anonymous(),
            name: PrincipalId::anonymous().to_string(),
            also: Vec::new(),
        };
        Self { principal, grants: Grants::default(), from: String::new(), hops: 0, word: None }
    }

    /// Whether nobody knows who they are.
    pub(crate) fn is_anonymous(&self) -> bool {
        self.principal.id == PrincipalId::anonymous()
    }

    /// Whether they see all there is.
    pub fn sees_all(&self) -> bool {
        self.grants.sight() == Sight::All
    }
}

/// See the module.
#[derive(Debug)]
pub struct Guard {
    /// `None` where nobody has to say who they are.
    doors: Option<Doors>,
    /// Rings when this process changes tokens, roles or sign-ins.
    changes: watch::Sender<()>,
}

/// What is asked of callers.
#[derive(Debug)]
struct Doors {
    /// Owners of everything, by configuration.
    owners: Vec<PrincipalId>,
    /// How long sign-ins hold.
    patience: Patience,
    /// Whose tokens are believed besides our own.
    issuer: Option<Arc<Issuer>>,
    directory: Directory,
    /// A minute, and how many were refused in it.
    refusals: Mutex<(i64, u32)>,
    denials: Denials,
}

/// The most refusals that are noted in a minute.
const REFUSALS: u32 = 60;

impl Guard {
    /// One that lets everybody in, as `local`.
    pub fn open() -> Self {
        Self { doors: None, changes: watch::Sender::default() }
    }

    /// One that asks who they are; these are owners of everything, whatever the store says.
    pub fn watchful(owners: Vec<PrincipalId>, patience: Patience) -> Self {
        let (directory, refusals, denials) = (Directory::default(), Mutex::default(), Denials::default());
        let doors = Doors { owners, patience, issuer: None, directory, refusals, denials };
        Self { doors: Some(doors), changes: watch::Sender::default() }
    }

    /// The same, which also believes an issuer.
    ///
    /// # Errors
    ///
    /// When its settings cannot be used.
    pub fn believing(mut self, settings: IssuerSettings) -> anyhow::Result<Self> {
        if let Some(doors) = &mut self.doors {
            doors.issuer = Some(Issuer::new(settings)?);
        }
        Ok(self)
    }

    /// Whether callers have to say who they are.
    pub fn is_watchful(&self) -> bool {
        self.doors.is_some()
    }

    /// Whether one more refusal is noted: whoever guesses must not fill the store.
    pub(crate) fn notes_refusal(&self, now: Timestamp) -> bool {
        let Some(doors) = &self.doors else { return false };
        let mut refusals = doors.refusals.lock().unwrap_or_else(PoisonError::into_inner);
        let minute = now.as_second().div_euclid(60);
        if refusals.0 != minute {
            *refusals = (minute, 0);
        }
        refusals.1 += 1;
        if refusals.1 == REFUSALS + 1 {
            tracing::warn!("more tokens are refused than are noted: {REFUSALS} in a minute");
        }
        refusals.1 <= REFUSALS
    }

    /// What is to be noted now that somebody was denied something.
    pub(crate) fn denied(&self, note: Note) -> Vec<Note> {
        self.doors.as_ref().map_or_else(Vec::new, |doors| doors.denials.count(note))
    }

    /// What is to be noted of denials that were only counted so far and whose minute is over; all, at the end.
    pub(crate) fn repeated_denials(&self, now: Option<Timestamp>) -> Vec<Note> {
        let Some(doors) = &self.doors else { return Vec::new() };
        now.map_or_else(|| doors.denials.end(), |now| doors.denials.over(now))
    }

    /// Forgets what was read of tokens and roles: this process has changed it.
    pub fn forget(&self) {
        if let Some(doors) = &self.doors {
            doors.directory.forget();
        }
        self.changes.send_replace(());
    }

    /// Changes of tokens, roles and sign-ins by this process, from now on.
    pub(crate) fn changes(&self) -> watch::Receiver<()> {
        self.changes.subscribe()
    }

    /// Who asks.
    ///
    /// # Errors
    ///
    /// 401 where they do not say, or are not believed.
    pub async fn identify(
        &self,
        store: &Arc<dyn Store>,
        method: &Method,
        headers: &HeaderMap,
        now: Timestamp,
    ) -> Result<Caller, Problem> {
        self.known(store, method, headers, now, Use::Counts).await
    }

    /// Whether whoever asked before is still who they were. A stream that stays open is no use of a sign-in.
    ///
    /// # Errors
    ///
    /// 401 where they are not.
    pub(crate) async fn look(
        &self,
        store: &Arc<dyn Store>,
        headers: &HeaderMap,
        now: Timestamp,
    ) -> Result<Caller, Problem> {
        self.known(store, &Method::GET, headers, now, Use::DoesNotCount).await
    }

    async fn known(
        &self,
        store: &Arc<dyn Store>,
        method: &Method,
        headers: &HeaderMap,
        now: Timestamp,
        counted: Use,
    ) -> Result<Caller, Problem> {
        let Some(doors) = &self.doors else { return Ok(Caller::local()) };
        let (principal, word) = match bearer(headers)? {
            Some(given) => (doors.bearer(store, given, now).await?, None),
            None => {
                let signed_in = session::of(store, doors.patience, headers, now, counted).await?;
                let signed_in = signed_in.ok_or_else(Problem::unauthenticated)?;
                session::check(&signed_in, method, headers)?;
                let principal = match signed_in.holder {
                    Holder::Token(id) => {
                        let record = doors.directory.token(store, &id, now).await?;
                        let record = record.ok_or_else(Problem::unauthenticated)?;
                        doors.holder(store, &doors.good(record, now)?, now)
                    }
                    Holder::Person(principal) => principal,
                };
                (principal, Some(signed_in.word))
            }
        };
        let grants = doors.grants(store, &principal, now).await?;
        Ok(Caller { principal, grants, from: String::new(), hops: 0, word })
    }

    /// Signs a browser in with a token: who that is, and its cookie.
    pub(crate) async fn sign_in(
        &self,
        store: &Arc<dyn Store>,
        headers: &HeaderMap,
        given: &str,
        (now, retention_now): (Timestamp, Timestamp),
    ) -> Result<(Caller, String), Problem> {
        let Some(doors) = &self.doors else {
            return Err(Problem::conflict("This server does not ask who calls: nobody has to sign in."));
        };
        let record = doors.shown(store, given, now).await?;
        let principal = doors.holder(store, &record, now);
        let grants = doors.grants(store, &principal, now).await?;
        let holder = Holder::Token(record.id);
        let Begun { cookie, word } =
            session::begin(store, doors.patience, headers, &holder, now, retention_now).await?;
        Ok((Caller { principal, grants, from: String::new(), hops: 0, word: Some(word) }, cookie))
    }

    /// As what people know the issuer with which they can sign in.
    pub(crate) fn issuer_name(&self) -> Option<&str> {
        self.doors.as_ref()?.issuer.as_ref()?.name()
    }

    /// Sends a browser to the issuer: to where, and with which cookie.
    pub(crate) async fn refer(
        &self,
        headers: &HeaderMap,
        page: Option<&str>,
        back: &str,
        now: Timestamp,
    ) -> Result<(String, String), Problem> {
        let referral = Referral::new(session::draw()?, page);
        let place = self.issuer()?.place(&referral, back, now).await?;
        Ok((place, referral.cookie(headers)))
    }

    /// Signs a browser in that comes back from the issuer: who that is, its cookie, and the page to go on with.
    pub(crate) async fn take_back(
        &self,
        store: &Arc<dyn Store>,
        headers: &HeaderMap,
        (state, code): (&str, &str),
        back: &str,
        (now, retention_now): (Timestamp, Timestamp),
    ) -> Result<(Caller, String, String), Unsigned> {
        let issuer = self.issuer()?;
        let refused = |why: &str| Unsigned::Refused(why.to_owned());
        let referral = Referral::of(headers)
            .ok_or_else(|| refused("this browser was not sent to the issuer, or too long ago"))?;
        if !referral.is_state(state) {
            return Err(refused("this is the answer to another sign-in: its state is wrong"));
        }
        let principal = issuer.exchange(&referral, code, back, now).await?;
        let doors = self.doors.as_ref().ok_or_else(|| refused("nobody has to sign in here"))?;
        let grants = doors.grants(store, &principal, now).await?;
        let holder = Holder::Person(principal.clone());
        let Begun { cookie, word } =
            session::begin(store, doors.patience, headers, &holder, now, retention_now).await?;
        Ok((
            Caller { principal, grants, from: String::new(), hops: 0, word: Some(word) },
            cookie,
            referral.page,
        ))
    }

    fn issuer(&self) -> Result<&Arc<Issuer>, Problem> {
        let issuer = self.doors.as_ref().and_then(|doors| doors.issuer.as_ref());
        issuer.filter(|issuer| issuer.name().is_some()).ok_or_else(issuer::no_sign_in)
    }

    /// Signs a browser out; whether it was signed in.
    pub(crate) async fn sign_out(
        &self,
        store: &Arc<dyn Store>,
        method: &Method,
        headers: &HeaderMap,
        now: Timestamp,
    ) -> Result<bool, Problem> {
        let Some(doors) = &self.doors else { return Ok(false) };
        let Some(signed_in) = session::of(store, doors.patience, headers, now, Use::Counts).await? else {
            return Ok(false);
        };
        session::check(&signed_in, method, headers)?;
        let ended = session::end(store, headers).await;
        self.changes.send_replace(());
        ended
    }

    /// Who asks, for what everybody may ask: whoever is not believed is nobody.
    pub async fn identify_if_any(
        &self,
        store: &Arc<dyn Store>,
        method: &Method,
        headers: &HeaderMap,
        now: Timestamp,
    ) -> Caller {
        match self.identify(store, method, headers, now).await {
            Ok(caller) => caller,
            Err(_) => Caller::anonymous(),
        }
    }
}

/// What stands behind `Bearer`.
fn bearer(headers: &HeaderMap) -> Result<Option<&str>, Problem> {
    let mut values = headers.get_all(header::AUTHORIZATION).iter();
    let (Some(value), None) = (values.next(), values.next()) else {
        return match headers.contains_key(header::AUTHORIZATION) {
            true => Err(Problem::bad_token("there is more than one header Authorization")),
            false => Ok(None),
        };
    };
    let text = value.to_str().map_err(|_| Problem::bad_token("it is not written in ASCII"))?;
    match text.trim().split_once(' ') {
        Some((scheme, token)) if scheme.eq_ignore_ascii_case("bearer") => Ok(Some(token.trim())),
        _ => Err(Problem::bad_token("the header Authorization does not begin with 'Bearer '")),
    }
}

impl Doors {
    /// Whoever shows a token, ours or the issuer's.
    async fn bearer(
        &self,
        store: &Arc<dyn Store>,
        given: &str,
        now: Timestamp,
    ) -> Result<Principal, Problem> {
        match &self.issuer {
            Some(issuer) if !Token::claims_to_be(given) && jwt::claims_to_be(given) => {
                issuer.check(given, now).await
            }
            _ => Ok(self.holder(store, &self.shown(store, given, now).await?, now)),
        }
    }

    /// Whoever was given a token, which is in use.
    fn holder(&self, store: &Arc<dyn Store>, record: &TokenRecord, now: Timestamp) -> Principal {
        self.directory.used(store, record, now);
        Principal { id: PrincipalId::token(&record.id), name: record.name.clone(), also: Vec::new() }
    }

    /// The record of a token that somebody shows.
    async fn shown(
        &self,
        store: &Arc<dyn Store>,
        given: &str,
        now: Timestamp,
    ) -> Result<TokenRecord, Problem> {
        if !Token::claims_to_be(given) {
            return Err(Problem::bad_token("it is not a token of this server"));
        }
        let token =
            Token::read(given).ok_or_else(|| Problem::bad_token("it is damaged: its checksum is wrong"))?;
        let record = self.directory.token(store, &token.id, now).await?;
        // Whether the id or the secret is wrong is nobody's business.
        let record = record.filter(|record| token.secret.is(&record.hash));
        let record = record.ok_or_else(|| Problem::bad_token("nobody was given it"))?;
        self.good(record, now)
    }

    /// A token that still holds.
    fn good(&self, record: TokenRecord, now: Timestamp) -> Result<TokenRecord, Problem> {
        if record.revoked_at.is_some() {
            return Err(Problem::bad_token("it was revoked"));
        }
        if !record.is_good(now) {
            return Err(Problem::expired_token());
        }
        Ok(record)
    }

    /// The roles of a principal.
    async fn grants(
        &self,
        store: &Arc<dyn Store>,
        principal: &Principal,
        now: Timestamp,
    ) -> Result<Grants, Problem> {
        let stored = self.directory.assignments(store, now).await?;
        let stored = stored.iter().filter(|assignment| principal.is(&assignment.principal));
        let stored = stored.map(|assignment| (assignment.role, assignment.scope.clone()));
        let owned = self.owners.iter().filter(|owner| principal.is(owner));
        Ok(Grants::new(owned.map(|_| (Role::Owner, Scope::Root)).chain(stored)))
    }
}
