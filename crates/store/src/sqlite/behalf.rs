//! [`Register`], by way of the modules that have its SQL.

use std::sync::Arc;

use access::{Assignment, Entry, Note, Sight, TokenId, TokenRecord};
use async_trait::async_trait;
use jiff::Timestamp;

use super::{SqliteStore, audit, register};
use crate::register::note_as_kept;
use crate::{Added, AuditQuery, Chain, Register, Result, Session, Store};

#[async_trait]
impl Register for SqliteStore {
    fn noting(&self, note: Note) -> Arc<dyn Store> {
        Arc::new(Self { behalf: self.behalf.noting(note), ..self.clone() })
    }

    fn seen_by(&self, sight: &Sight) -> Arc<dyn Store> {
        Arc::new(Self { behalf: self.behalf.seen_by(sight), ..self.clone() })
    }

    async fn note(&self, note: Note) -> Result<()> {
        let note = note_as_kept(note);
        self.writer.run(move |work| audit::insert(work, &note)).await
    }

    async fn audit(&self, query: &AuditQuery, top: u32) -> Result<Vec<Entry>> {
        let (query, sight) = (query.clone(), self.behalf.sight.clone());
        self.readers.run(move |db, _| audit::audit(db, &query, sight.as_deref(), top)).await
    }

    async fn audit_chains(&self) -> Result<Vec<Chain>> {
        self.readers.run(|db, _| audit::chains(db)).await
    }

    async fn audit_of(&self, chain: i64, after: i64, top: u32) -> Result<Vec<Entry>> {
        self.readers.run(move |db, _| audit::of_chain(db, chain, after, top)).await
    }

    async fn prune_audit(&self, before: Timestamp, now: Timestamp) -> Result<bool> {
        self.writer.run(move |work| audit::prune(work, before, now)).await
    }

    async fn token(&self, id: &TokenId) -> Result<Option<TokenRecord>> {
        let id = id.clone();
        self.readers.run(move |db, _| register::token(db, &id)).await
    }

    async fn tokens(&self) -> Result<Vec<TokenRecord>> {
        self.readers.run(|db, _| register::tokens(db)).await
    }

    async fn add_token(&self, record: TokenRecord, roles: Vec<Assignment>) -> Result<Added> {
        self.change(move |work| register::add_token(work.db, &record, &roles)).await
    }

    async fn revoke_token(&self, id: &TokenId, now: Timestamp) -> Result<bool> {
        let id = id.clone();
        self.change(move |work| register::revoke_token(work.db, &id, now)).await
    }

    async fn use_token(&self, id: &TokenId, now: Timestamp) -> Result<()> {
        let id = id.clone();
        self.writer.run(move |work| register::use_token(work.db, &id, now)).await
    }

    async fn assignments(&self) -> Result<Vec<Assignment>> {
        self.readers.run(|db, _| register::assignments(db)).await
    }

    async fn assign(&self, assignment: Assignment) -> Result<Added> {
        self.change(move |work| register::assign(work.db, &assignment)).await
    }

    async fn unassign(&self, assignment: Assignment) -> Result<bool> {
        self.change(move |work| register::unassign(work.db, &assignment)).await
    }

    async fn add_session(&self, session: Session, idle_since: Timestamp) -> Result<()> {
        self.change(move |work| register::add_session(work.db, &session, idle_since)).await
    }

    async fn session(&self, hash: [u8; 32]) -> Result<Option<Session>> {
        self.readers.run(move |db, _| register::session(db, hash)).await
    }

    async fn use_session(&self, hash: [u8; 32], now: Timestamp) -> Result<()> {
        self.writer.run(move |work| register::use_session(work.db, hash, now)).await
    }

    async fn end_session(&self, hash: [u8; 32]) -> Result<bool> {
        self.change(move |work| register::end_session(work.db, hash)).await
    }
}
