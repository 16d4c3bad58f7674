//! [`Register`], by way of the modules that have its SQL.

use std::sync::Arc;

use access::{Assignment, Entry, Note, Sight, TokenId, TokenRecord};
use async_trait::async_trait;
use jiff::Timestamp;

use super::fault::Outcome;
use super::work::{change, noted, read};
use super::{PostgresStore, audit, register};
use crate::register::note_as_kept;
use crate::{Added, AuditQuery, Chain, Register, Result, Session, Store};

#[async_trait]
impl Register for PostgresStore {
    fn noting(&self, note: Note) -> Arc<dyn Store> {
        Arc::new(Self { behalf: self.behalf.noting(note), ..self.clone() })
    }

    fn seen_by(&self, sight: &Sight) -> Arc<dyn Store> {
        Arc::new(Self { behalf: self.behalf.seen_by(sight), ..self.clone() })
    }

    async fn note(&self, note: Note) -> Result<()> {
        let note = Arc::new(note_as_kept(note));
        change!(&self.shared, work => async {
            work.notes.push(Arc::clone(&note));
            Outcome::Ok(())
        })
    }

    async fn audit(&self, query: &AuditQuery, top: u32) -> Result<Vec<Entry>> {
        read!(&self.shared, work => audit::audit(&work, query, self.sight(), top))
    }

    async fn audit_chains(&self) -> Result<Vec<Chain>> {
        read!(&self.shared, work => audit::chains(&work))
    }

    async fn audit_of(&self, chain: i64, after: i64, top: u32) -> Result<Vec<Entry>> {
        read!(&self.shared, work => audit::of_chain(&work, chain, after, top))
    }

    async fn prune_audit(&self, before: Timestamp, now: Timestamp) -> Result<bool> {
        change!(&self.shared, work => audit::prune(&work, before, now))
    }

    async fn token(&self, id: &TokenId) -> Result<Option<TokenRecord>> {
        read!(&self.shared, work => register::token(&work, id))
    }

    async fn tokens(&self) -> Result<Vec<TokenRecord>> {
        read!(&self.shared, work => register::tokens(&work))
    }

    async fn add_token(&self, record: TokenRecord, roles: Vec<Assignment>) -> Result<Added> {
        noted!(self, work => register::add_token(&work, &record, &roles))
    }

    async fn revoke_token(&self, id: &TokenId, now: Timestamp) -> Result<bool> {
        noted!(self, work => register::revoke_token(&work, id, now))
    }

    async fn use_token(&self, id: &TokenId, now: Timestamp) -> Result<()> {
        change!(&self.shared, work => register::use_token(&work, id, now))
    }

    async fn assignments(&self) -> Result<Vec<Assignment>> {
        read!(&self.shared, work => register::assignments(&work))
    }

    async fn assign(&self, assignment: Assignment) -> Result<Added> {
        noted!(self, work => register::assign(&work, &assignment))
    }

    async fn unassign(&self, assignment: Assignment) -> Result<bool> {
        noted!(self, work => register::unassign(&work, &assignment))
    }

    async fn add_session(&self, session: Session, idle_since: Timestamp) -> Result<()> {
        noted!(self, work => register::add_session(&work, &session, idle_since))
    }

    async fn session(&self, hash: [u8; 32]) -> Result<Option<Session>> {
        read!(&self.shared, work => register::session(&work, hash))
    }

    async fn use_session(&self, hash: [u8; 32], now: Timestamp) -> Result<()> {
        change!(&self.shared, work => register::use_session(&work, hash, now))
    }

    async fn end_session(&self, hash: [u8; 32]) -> Result<bool> {
        noted!(self, work => register::end_session(&work, hash))
    }
}
