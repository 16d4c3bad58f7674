//! The register: who may do what, and who did what.
//!
//! It is part of the store, so that a change and the note of who made it are one transaction: neither is there without
//! the other.

use std::sync::Arc;

use access::audit::Link;
use access::{Act, Assignment, Entry, Note, Scope, Sight, TokenId, TokenRecord, Verdict};
use async_trait::async_trait;
use model::Timestamp;

use crate::codec::{instant, ticks};
use crate::{Result, Span, Store};

/// The most tokens that are kept; those that are no longer good are removed first.
pub const MOST_TOKENS: u32 = 10_000;

/// The most roles that can be given.
pub const MOST_ASSIGNMENTS: u32 = 10_000;

/// How an addition to the register ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Added {
    /// It is done.
    Done,
    /// It was there already.
    Already,
    /// There is no room: this many are there.
    Full(u32),
    /// There is no such resource group or job collection for a role to hold in.
    NoScope(Scope),
    /// There is no such token to have a role, or it was revoked.
    NoToken,
}

/// Which entries of the audit, newest first.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct AuditQuery {
    /// Only what was noted within.
    pub at: Span,
    /// Only of this principal.
    pub who: Option<String>,
    /// Only of this kind.
    pub act: Option<Act>,
    /// Only what ended so.
    pub verdict: Option<Verdict>,
    /// Only with this text, in any case, in the id of the resource or the principal's name.
    pub search: Option<String>,
    /// Only entries before this one, for the next page: the time, chain and serial of the last entry seen.
    pub before: Option<(Timestamp, i64, i64)>,
}

/// A chain of the audit, as far as it is kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Chain {
    /// Its number.
    pub number: i64,
    /// The last entry that retention has removed.
    pub before: Link,
    /// The last entry.
    pub last: Link,
    /// Up to this entry retention removed without leaving a mark in the chain: versions before did so.
    pub unmarked: i64,
}

/// A sign-in to the portal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Session {
    /// The hash of what its holder has.
    pub hash: [u8; 32],
    /// Who, as JSON; what is in it is for others to know.
    pub who: String,
    /// Since when.
    pub created_at: Timestamp,
    /// When it was last used, give or take a minute.
    pub used_at: Timestamp,
}

/// See the module.
#[async_trait]
pub trait Register: Send + Sync + 'static {
    /// The same store. Each change that is made through it is noted, in the same transaction.
    fn noting(&self, note: Note) -> Arc<dyn Store>;

    /// The same store. Lists of resources, of jobs, of the ledger and of the audit have only what is seen; counts count
    /// only that. What is asked for by its name is found all the same.
    fn seen_by(&self, sight: &Sight) -> Arc<dyn Store>;

    /// Notes something that changes nothing.
    async fn note(&self, note: Note) -> Result<()>;

    /// Entries of the audit, newest first.
    async fn audit(&self, query: &AuditQuery, top: u32) -> Result<Vec<Entry>>;

    /// The chains of the audit that have entries, or had.
    async fn audit_chains(&self) -> Result<Vec<Chain>>;

    /// Entries of a chain in their order, those after a number.
    async fn audit_of(&self, chain: i64, after: i64, top: u32) -> Result<Vec<Entry>>;

    /// Removes a little of what was noted before an instant, and marks it in the chain; whether there is more.
    async fn prune_audit(&self, before: Timestamp, now: Timestamp) -> Result<bool>;

    /// A token.
    async fn token(&self, id: &TokenId) -> Result<Option<TokenRecord>>;

    /// All tokens, newest first.
    async fn tokens(&self) -> Result<Vec<TokenRecord>>;

    /// Keeps a token, with the roles that it is given; all of it or nothing. A resource group or job collection that a role
    /// is for has to be there; a subscription begins with its first group, and may have roles before.
    async fn add_token(&self, record: TokenRecord, roles: Vec<Assignment>) -> Result<Added>;

    /// Revokes a token; whether it was there and good. Its roles go, and so do sign-ins with it.
    async fn revoke_token(&self, id: &TokenId, now: Timestamp) -> Result<bool>;

    /// Keeps when a token was used.
    async fn use_token(&self, id: &TokenId, now: Timestamp) -> Result<()>;

    /// All roles that were given, sorted by scope, principal and role.
    async fn assignments(&self) -> Result<Vec<Assignment>>;

    /// Gives a role, whose scope and token have to be there as with [`add_token`](Self::add_token). It ends with its scope.
    async fn assign(&self, assignment: Assignment) -> Result<Added>;

    /// Takes a role away; whether it was there.
    async fn unassign(&self, assignment: Assignment) -> Result<bool>;

    /// Keeps a sign-in; those last used before an instant go.
    async fn add_session(&self, session: Session, idle_since: Timestamp) -> Result<()>;

    /// A sign-in.
    async fn session(&self, hash: [u8; 32]) -> Result<Option<Session>>;

    /// Keeps when a sign-in was used.
    async fn use_session(&self, hash: [u8; 32], now: Timestamp) -> Result<()>;

    /// Ends a sign-in; whether it was there.
    async fn end_session(&self, hash: [u8; 32]) -> Result<bool>;
}

/// What a store does in somebody's name.
#[derive(Debug, Clone, Default)]
pub(crate) struct Behalf {
    /// What is noted with each change.
    pub(crate) note: Option<Arc<Note>>,
    /// What is seen, as JSON: a list of subscription, group and collection by their keys, as far as they are named.
    /// `None` is everything.
    pub(crate) sight: Option<Arc<str>>,
}

impl Behalf {
    /// The same with another note.
    pub(crate) fn noting(&self, note: Note) -> Self {
        Self { note: Some(Arc::new(note_as_kept(note))), ..self.clone() }
    }

    /// The same with another sight.
    pub(crate) fn seen_by(&self, sight: &Sight) -> Self {
        let sight = match sight {
            Sight::All => None,
            Sight::Within(scopes) => {
                let keys: Vec<_> = scopes.iter().map(access::Scope::keys).collect();
                Some(serde_json::json!(keys).to_string().into())
            }
        };
        Self { sight, ..self.clone() }
    }
}

/// A note as every backend reads it back, so that the hash is over that, also after a move to the other one. No text of
/// PostgreSQL has the character with the number 0.
pub(crate) fn note_as_kept(mut note: Note) -> Note {
    note.at = instant(ticks(note.at));
    let Note { who, name, from, target, detail, .. } = &mut note;
    for text in [who, name, from, target, detail] {
        if text.contains('\0') {
            *text = text.replace('\0', "\u{FFFD}");
        }
    }
    note
}

/// The note of a role that ended with its scope: in the name of the caller who deleted that.
pub(crate) fn note_of_end(role: &Assignment, deleted: &Note) -> Note {
    let detail = serde_json::json!({
        "principal": role.principal.as_str(),
        "role": role.role.name(),
        "deleted": deleted.target,
    });
    Note {
        act: Act::RemoveRole,
        target: role.scope.to_string(),
        detail: detail.to_string(),
        ..deleted.clone()
    }
}

/// Whether a change was made, so that it has to be noted.
pub(crate) trait Made {
    /// Whether it was.
    fn is_made(&self) -> bool;
}

impl<T> Made for crate::Written<T> {
    fn is_made(&self) -> bool {
        matches!(self, Self::Done(_))
    }
}

impl Made for crate::Deleted {
    fn is_made(&self) -> bool {
        *self == Self::Done
    }
}

impl Made for Added {
    fn is_made(&self) -> bool {
        *self == Self::Done
    }
}

impl Made for bool {
    fn is_made(&self) -> bool {
        *self
    }
}

impl Made for () {
    fn is_made(&self) -> bool {
        true
    }
}
