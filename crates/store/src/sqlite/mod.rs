//! One SQLite file: the store of a single server.
//!
//! # The way through
//!
//! [`SqliteStore`] implements [`Store`] by sending changes to the `writer`, which commits them in groups, and questions
//! to the `readers`; `checkpoints` works what was committed into the file. Each module below has the SQL of one subject:
//! `groups`, `collections`, `jobs` (rows and pages), `changes` (what writing or deleting a job means for what is in
//! flight), `claims`, `settle`, `history`, `ledger`, `filing` (both by job), `search` (all jobs), `register` (tokens,
//! roles, sign-ins), `audit`, `certificates`, `tallies`, `prune`, `snapshot`, `keys`, `moves` (whether it was moved away),
//! `source` (what is read for that), and `unsealed` for stores of earlier versions. What happens is decided by
//! [`model::transition`]; these modules fetch what it needs and write what it says.
//!
//! Before any of that, `opening` takes the file, and `examine` compares it (`standing`) with its log (`wal`) and with the
//! `witness` beside it: a store of which something is missing is not opened. `restore` puts another in its place.
//!
//! # What is only in memory
//!
//! `tickets` (who has begun what), `at_hand` (rows that a settlement will need), [`KnownJobs`](crate::known::KnownJobs)
//! (definitions that were read already), the tails of `filing` and the hints of `prune`. None of it has to survive: after
//! a crash, claims are handed out again.

mod at_hand;
mod audit;
mod behalf;
mod certificates;
mod changes;
mod checkpoints;
mod claims;
mod clock_marks;
mod collections;
mod columns;
mod connection;
mod definitions;
mod examine;
mod executions;
mod fault;
mod filing;
mod groups;
mod history;
mod inspect;
mod jobs;
mod keys;
mod ledger;
mod many;
mod migrations;
mod moves;
mod off;
mod opening;
mod prune;
mod readers;
mod register;
mod restore;
mod revisions;
mod search;
mod settle;
mod sight;
mod snapshot;
mod source;
mod standing;
mod tallies;
#[cfg(test)]
mod tests;
mod tickets;
mod unsealed;
mod wal;
mod witness;
mod writer;

pub use inspect::{Inspection, inspect};
pub(crate) use moves::{Mark, Moved};
pub use opening::{SqliteFile, examine_unused};
pub use restore::{Restored, restore};
pub(crate) use source::{Count, Source};

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use access::Scope;
use async_trait::async_trait;
use jiff::Timestamp;
use model::transition::{self, Patience};
use model::{Clock, CollectionPath, Execution, Fate, GroupPath, JobState, Plans, Reason};
use tokio::sync::Semaphore;

use self::fault::Outcome;
use self::readers::Readers;
use self::tickets::Tickets;
use self::writer::{Shared, Writer};
use crate::register::{Behalf, Made};
use crate::seal::{Key, KeyId, Keyring, Sealer};
use crate::{
    Attempted, Bell, Census, Claimed, ClockMarks, CollectionWrite, Deleted, Error, ExecutionId, FoundJobs,
    GroupWrite, HistoryQuery, JobQuery, JobStates, JobWrite, KeyUse, LedgerQuery, Node, Page, Result,
    Retention, Revision, Settlement, SkippedSoFar, Snapshot, Store, StoreNumbers, StoredCertificate,
    StoredCollection, StoredGroup, StoredHistory, StoredJob, StoredLedger, TagQuery, Tallied, Written,
};

/// What a [`SqliteStore`] is opened with.
#[derive(Debug, Clone)]
pub struct SqliteSettings {
    /// What seals secrets, and opens them.
    pub keyring: Keyring,
    /// The plans: they say how long to wait before a retry where the job does not.
    pub plans: Plans,
    /// How patient the scheduler is.
    pub patience: Patience,
    /// What an accepted change must survive.
    pub durability: Durability,
}

impl SqliteSettings {
    /// With keys, and the default of everything else.
    pub fn new(keyring: Keyring) -> Self {
        Self {
            keyring,
            plans: Plans::default(),
            patience: Patience::default(),
            durability: Durability::default(),
        }
    }
}

/// What an accepted change must survive.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Durability {
    /// The machine losing its power: every commit waits for the disk.
    #[default]
    PowerFailure,
    /// The process being killed: commits wait for nothing. For tests, and for whoever has a better disk than time.
    ProcessDeath,
}

/// A store in one SQLite file.
#[derive(Clone)]
pub struct SqliteStore {
    shared: Arc<Shared>,
    writer: Arc<Writer>,
    readers: Readers,
    /// Each copy takes as much of the disk as the store: one at a time.
    snapshots: Arc<Semaphore>,
    behalf: Behalf,
}

impl SqliteStore {
    /// Opens a file, or makes it, and brings its schema up to date. Nobody else can open it until this is dropped.
    ///
    /// What was claimed when the process before this one ended can be claimed again. Secrets that an earlier version left
    /// readable are sealed. Where a key is missing, this says which and changes nothing. This waits for the disk; call it
    /// where that is allowed.
    pub fn open(path: impl Into<PathBuf>, settings: SqliteSettings, now: Timestamp) -> Result<Self> {
        Self::open_file(SqliteFile::take(path, None)?, settings, now)
    }

    /// The same, of a file that was taken already.
    pub fn open_file(file: SqliteFile, settings: SqliteSettings, now: Timestamp) -> Result<Self> {
        let path = file.path.clone();
        snapshot::remove_unfinished(&path);
        let opened = file.open(settings.durability).and_then(|(db, opening)| {
            let usable = moves::serve(&db)
                .and_then(|()| keys::check(&db, &settings.keyring))
                .and_then(|()| unsealed::seal_all(&db, &settings.keyring))
                .and_then(|()| claims::free_all(&db, now));
            match usable {
                Ok(()) => {
                    opening.settle(&db);
                    Ok((db, opening))
                }
                // Why it is not served is worth more than what went wrong while it was put down again.
                Err(fault) => opening.close(db).or(Ok(())).and(Err(fault)),
            }
        });
        let (db, opening) = opened.map_err(|fault| fault.tell(&path))?;
        let shared = Arc::new(Shared {
            path,
            tickets: Tickets::default(),
            sealer: Sealer::new(settings.keyring.clone()),
            settings,
            bell: Bell::new(),
            numbers: StoreNumbers::default(),
            opening,
        });
        let writer = Arc::new(Writer::new(Arc::clone(&shared), db));
        let readers = Readers::new(Arc::clone(&shared));
        Ok(Self {
            shared,
            writer,
            readers,
            snapshots: Arc::new(Semaphore::new(1)),
            behalf: Behalf::default(),
        })
    }

    /// The keys without which a file cannot be opened; none where there is no file, or one of an earlier version.
    pub fn keys_of(path: &Path) -> Result<Vec<KeyId>> {
        keys::of_file(path).map_err(|fault| fault.tell(path))
    }

    /// Makes a change, and notes it where it was made.
    async fn change<T: Made + Send + 'static>(
        &self,
        change: impl FnOnce(&mut writer::Work<'_>) -> Outcome<T> + Send + 'static,
    ) -> Result<T> {
        let note = self.behalf.note.clone();
        let noted = move |work: &mut writer::Work<'_>| {
            let done = change(work)?;
            if let Some(note) = note.filter(|_| done.is_made()) {
                audit::insert(work, &note)?;
            }
            Ok(done)
        };
        self.writer.run(noted).await
    }

    /// Deletes a part of the tree together with the roles that were given for it.
    async fn delete(
        &self,
        scope: Scope,
        delete: impl FnOnce(&mut writer::Work<'_>) -> Outcome<Deleted> + Send + 'static,
    ) -> Result<Deleted> {
        let note = self.behalf.note.clone();
        self.change(move |work| {
            let deleted = delete(work)?;
            if deleted.is_made() {
                register::end_roles(work, &scope, note.as_deref())?;
            }
            Ok(deleted)
        })
        .await
    }
}

#[async_trait]
impl Store for SqliteStore {
    fn bell(&self) -> &Bell {
        &self.shared.bell
    }

    fn numbers(&self) -> &StoreNumbers {
        &self.shared.numbers
    }

    async fn subscriptions(&self, page: Page) -> Result<Vec<String>> {
        let sight = self.behalf.sight.clone();
        self.readers.run(move |db, _| groups::subscriptions(db, sight.as_deref(), page)).await
    }

    async fn group(&self, path: &GroupPath) -> Result<Option<StoredGroup>> {
        let path = path.clone();
        self.readers.run(move |db, _| groups::group(db, &path)).await
    }

    async fn groups(
        &self,
        subscription: &str,
        tag: Option<&TagQuery>,
        page: Page,
    ) -> Result<Vec<StoredGroup>> {
        let (subscription, tag) = (subscription.to_owned(), tag.cloned());
        let sight = self.behalf.sight.clone();
        self.readers
            .run(move |db, _| groups::groups(db, &subscription, tag.as_ref(), sight.as_deref(), page))
            .await
    }

    async fn put_group(&self, write: GroupWrite) -> Result<Written> {
        self.change(move |work| groups::put(work, write)).await
    }

    async fn delete_group(
        &self,
        path: &GroupPath,
        expected: Option<Revision>,
        now: Timestamp,
    ) -> Result<Deleted> {
        let path = path.clone();
        let scope = Scope::Group(path.clone());
        self.delete(scope, move |work| groups::delete(work, &path, expected, now)).await
    }

    async fn collection(&self, path: &CollectionPath) -> Result<Option<StoredCollection>> {
        let path = path.clone();
        self.readers.run(move |db, _| collections::collection(db, &path)).await
    }

    async fn collections(
        &self,
        subscription: &str,
        group: Option<&str>,
        page: Page,
    ) -> Result<Vec<StoredCollection>> {
        let (subscription, group) = (subscription.to_owned(), group.map(ToOwned::to_owned));
        let sight = self.behalf.sight.clone();
        self.readers
            .run(move |db, _| {
                collections::collections(db, &subscription, group.as_deref(), sight.as_deref(), page)
            })
            .await
    }

    async fn put_collection(&self, write: CollectionWrite) -> Result<Written> {
        self.change(move |work| collections::put(work, write)).await
    }

    async fn delete_collection(
        &self,
        path: &CollectionPath,
        expected: Option<Revision>,
        now: Timestamp,
    ) -> Result<Deleted> {
        let path = path.clone();
        let scope = Scope::Collection(path.clone());
        self.delete(scope, move |work| collections::delete(work, &path, expected, now)).await
    }

    async fn job(&self, collection: &CollectionPath, name: &str) -> Result<Option<StoredJob>> {
        let (path, name) = (collection.clone(), name.to_owned());
        self.readers.run(move |db, shared| jobs::job(db, shared, &path, &name)).await
    }

    async fn job_in_collection(
        &self,
        collection: &CollectionPath,
        name: &str,
    ) -> Result<Option<(StoredCollection, Option<StoredJob>)>> {
        let (path, name) = (collection.clone(), name.to_owned());
        // One way to a reader and back instead of two.
        self.readers
            .run(move |db, shared| {
                let Some(id) = collections::find(db, &path)? else { return Ok(None) };
                let stored = collections::by_id(db, id)?;
                let job = jobs::job_of(db, shared, id, stored.collection.path.clone(), &name)?;
                Ok(Some((stored, job)))
            })
            .await
    }

    async fn jobs(
        &self,
        collection: &CollectionPath,
        state: Option<JobState>,
        page: Page,
    ) -> Result<Option<Vec<StoredJob>>> {
        let path = collection.clone();
        self.readers.run(move |db, shared| jobs::jobs(db, shared, &path, state, page)).await
    }

    async fn find_jobs(&self, query: &JobQuery, page: Page) -> Result<FoundJobs> {
        let (query, sight) = (query.clone(), self.behalf.sight.clone());
        self.readers
            .run(move |db, shared| search::find_jobs(db, shared, &query, sight.as_deref(), page))
            .await
    }

    async fn soonest_jobs(&self, top: u32) -> Result<Vec<StoredJob>> {
        let sight = self.behalf.sight.clone();
        self.readers.run(move |db, shared| search::soonest_jobs(db, shared, sight.as_deref(), top)).await
    }

    async fn job_states(&self) -> Result<JobStates> {
        let sight = self.behalf.sight.clone();
        self.readers.run(move |db, _| search::job_states(db, sight.as_deref())).await
    }

    async fn certificates(&self, top: u32) -> Result<Vec<StoredCertificate>> {
        self.readers.run(move |db, _| certificates::certificates(db, top)).await
    }

    async fn all_jobs(&self, collection: &CollectionPath) -> Result<Vec<StoredJob>> {
        let path = collection.clone();
        self.readers.run(move |db, shared| jobs::all_jobs(db, shared, &path)).await
    }

    async fn put_job(&self, write: JobWrite) -> Result<Written<StoredJob>> {
        self.change(move |work| changes::put_job(work, &write)).await
    }

    async fn delete_job(
        &self,
        collection: &CollectionPath,
        name: &str,
        expected: Option<Revision>,
        now: Timestamp,
    ) -> Result<Deleted> {
        let (path, name) = (collection.clone(), name.to_owned());
        self.change(move |work| changes::delete_job(work, &path, &name, expected, now)).await
    }

    async fn add_execution(&self, execution: Execution) -> Result<()> {
        self.change(move |work| {
            let id = execution.job.0;
            if jobs::by_id(work.db, id)?.is_some_and(|job| !job.deleted) {
                let new = executions::New { execution, ahead: false, claimed: false };
                executions::insert(work, std::iter::once(&new))?;
                work.ring = true;
            } else if let Some(collection) = jobs::collection_of_deleted(work.db, id)? {
                let now = execution.wake_at.unwrap_or(execution.occurrence.at);
                let entry = transition::abandon(&execution, Fate::Skipped, Reason::JobDeleted, now);
                ledger::insert(work, &[(collection, entry)])?;
            }
            Ok(())
        })
        .await
    }

    async fn history(
        &self,
        collection: &CollectionPath,
        job: &str,
        query: &HistoryQuery,
        page: Page,
    ) -> Result<Option<Vec<StoredHistory>>> {
        let (path, job, query) = (collection.clone(), job.to_owned(), query.clone());
        self.readers.run(move |db, _| history::history(db, &path, &job, &query, page)).await
    }

    async fn ledger(&self, query: &LedgerQuery, top: u32) -> Result<Vec<StoredLedger>> {
        let (query, sight) = (query.clone(), self.behalf.sight.clone());
        self.readers.run(move |db, _| ledger::ledger(db, &query, sight.as_deref(), top)).await
    }

    async fn skipped_so_far(&self, query: &LedgerQuery, now: Timestamp, most: u32) -> Result<SkippedSoFar> {
        let (query, sight) = (query.clone(), self.behalf.sight.clone());
        self.readers
            .run(move |db, shared| off::skipped_so_far(db, shared, &query, sight.as_deref(), now, most))
            .await
    }

    async fn tallies(&self, from: Timestamp, until: Timestamp, every: Duration) -> Result<Vec<Tallied>> {
        self.readers.run(move |db, _| tallies::tallies(db, from, until, every)).await
    }

    async fn claim_due(&self, now: Timestamp, until: Timestamp, most: u32) -> Result<Claimed> {
        let claim = move |work: &mut writer::Work<'_>| claims::claim_due(work, now, until, most as usize);
        self.writer.run_heard(claim, claims::unheard).await
    }

    async fn settle(&self, attempts: Vec<Attempted>) -> Result<Vec<Settlement>> {
        self.writer.run(move |work| settle::settle(work, &attempts)).await
    }

    async fn release(&self, executions: Vec<ExecutionId>) -> Result<()> {
        self.writer.run(move |work| claims::release(work, &executions)).await
    }

    async fn prune(&self, retention: Retention) -> Result<bool> {
        self.writer.run(move |work| prune::prune(work, retention)).await
    }

    async fn clock_marks(&self) -> Result<Option<ClockMarks>> {
        self.readers.run(|db, _| clock_marks::read(db)).await
    }

    async fn mark_clock(&self, marks: ClockMarks) -> Result<()> {
        self.writer.run(move |work| clock_marks::write(work.db, &marks)).await
    }

    async fn check(&self) -> Result<()> {
        // A small change may have room in the log while larger ones have none.
        connection::check_room(&self.shared.path)?;
        // A revision more or less does not matter; writing what is there already would not reach the disk.
        self.writer.run(|work| work.revisions.next(work.db).map(drop)).await
    }

    async fn census(&self) -> Result<Census> {
        let sight = self.behalf.sight.clone();
        self.readers.run(move |db, _| search::census(db, sight.as_deref())).await
    }

    async fn nodes(&self) -> Result<Vec<Node>> {
        Ok(Vec::new())
    }

    async fn leave(&self) -> Result<()> {
        // There are no others.
        Ok(())
    }

    async fn close(&self) -> Result<()> {
        self.readers.close().await;
        let writer = Arc::clone(&self.writer);
        let closed = tokio::task::spawn_blocking(move || writer.close()).await;
        closed.unwrap_or_else(|error| Err(Error::Failed(format!("closing was lost: {error}"))))
    }

    async fn keys(&self) -> Result<Vec<KeyUse>> {
        self.readers.run(keys::uses).await
    }

    async fn add_key(&self, key: Key) -> Result<()> {
        let noted = key.clone();
        self.writer.run(move |work| keys::add(work, noted)).await?;
        self.shared.sealer.put_first(key);
        Ok(())
    }

    async fn reseal(&self, most: u32) -> Result<u32> {
        self.writer.run(move |work| keys::reseal(work, most)).await
    }

    async fn retire_keys(&self) -> Result<Vec<KeyId>> {
        self.writer.run(keys::retire).await
    }

    async fn snapshot(&self, clock: Arc<dyn Clock>) -> Result<Option<Snapshot>> {
        let Ok(turn) = Arc::clone(&self.snapshots).try_acquire_owned() else { return Ok(None) };
        let path = self.shared.path.clone();
        let moment = self.writer.run(move |_| snapshot::Moment::hold(&path, &*clock)).await?;
        let at = moment.at;
        let file = self.readers.run(move |_, shared| moment.copy(&shared.path)).await?;
        Ok(Some(Snapshot { at, file, _turn: turn }))
    }
}
