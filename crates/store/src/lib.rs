//! Where is it kept?
//!
//! [`Store`] is the one seam between the scheduler and a database. It speaks of collections, jobs, claims and
//! settlements, never of tables; it takes the time as an argument; and it makes each of its changes in one
//! transaction, or not at all. What a change means is decided by [`model::transition`], which the backends call inside
//! their transactions: a store keeps and finds, it does not judge.
//!
//! # A job's way through the store
//!
//! [`put_job`](Store::put_job) writes it and rings the [`Bell`]. [`claim_due`](Store::claim_due) turns occurrences that
//! are due soon into durable executions and hands them out, each with a [`Ticket`]. Whoever fires one calls
//! [`Ticket::begin`] first: a change that came in between has cancelled it. [`settle`](Store::settle) takes what the
//! attempts led to: history, counters, ledger, the next attempt or the end, in one transaction.
//!
//! An execution that was claimed and not settled when the process died is handed out again after the next start, with
//! the same tag. Nothing accepted is lost; duplicates are possible only for what was in flight.
//!
//! # In whose name
//!
//! [`Register`] keeps who may do what, and who did what. A store that [notes](Register::noting) writes down each change that
//! it makes, in the same transaction; one that is [seen by](Register::seen_by) somebody lists only what they see.

#![forbid(unsafe_code)]

mod bell;
mod claim;
mod codec;
#[cfg(any(test, feature = "conformance"))]
pub mod conformance;
mod decisions;
mod group;
mod known;
mod lease;
mod moving;
mod node;
mod numbers;
mod off;
mod postgres;
mod register;
mod rows;
pub mod seal;
mod search;
mod snapshot;
mod sqlite;
mod store_clock;
mod sweeper;
mod tallies;
mod unreadable;
mod walks;

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use model::{
    Clock, Collection, CollectionPath, Counters, Definition, Execution, Fate, GroupPath, HistoryEntry,
    HistoryStatus, Job, JobState, LedgerEntry, Plan, Tally, Timestamp, Uuid, Withheld,
};

pub use bell::Bell;
pub use claim::{Attempted, Claim, Claimed, ClaimedJob, ExecutionId, Settlement, Ticket};
pub use group::{GroupWrite, StoredGroup, TagQuery};
pub use lease::time_passed;
pub use moving::{
    Compared, MoveEnd, MoveFault, MoveKeys, MovePlan, MoveSettings, MoveStep, Sum, plan_move, run_move,
    undo_move,
};
pub use node::Node;
pub use numbers::StoreNumbers;
pub use postgres::{
    DatabaseFault, DatabaseInspection, DatabaseSchema, LogPart, Meter, PostgresSettings, PostgresStore,
    TrialGround, inspect as inspect_database, unreadable_jobs as unreadable_jobs_of_database,
};
pub use register::{Added, AuditQuery, Chain, MOST_ASSIGNMENTS, MOST_TOKENS, Register, Session};
pub use seal::{Key, KeyFault, KeyId, Keyring, SealFault};
pub use search::{FoundJobs, JobQuery, JobSort, JobStates};
pub use snapshot::Snapshot;
pub use sqlite::{
    Durability, Inspection, Restored, SqliteFile, SqliteSettings, SqliteStore, examine_unused, inspect,
    restore, unreadable_jobs,
};
pub use store_clock::StoreClock;
pub use unreadable::UnreadableJob;

/// What can go wrong on our side. That something is not there, or has changed, is an answer and not an error.
#[derive(Debug, Clone, thiserror::Error)]
pub enum Error {
    /// The database cannot be reached or is busy beyond patience: the same call may work later.
    #[error("the store is not available: {0}")]
    Unavailable(String),
    /// There is no room left to write.
    #[error("the store is full: {0}")]
    Full(String),
    /// Something is missing, or does not belong together: the files of the store were cut, mixed, lost or damaged.
    #[error("the store is not whole: {0}")]
    Damaged(String),
    /// What is stored cannot be understood.
    #[error("the store holds something unreadable: {0}")]
    Corrupt(String),
    /// A job cannot be read as it is stored; others can.
    #[error("the job cannot be read as it is stored: {0}")]
    Unreadable(String),
    /// This store does not do that; something else does.
    #[error("the store does not do that: {0}")]
    Unsupported(String),
    /// Its contents are elsewhere, or not all here yet.
    #[error("the store is not to be served: {0}")]
    Moved(String),
    /// The keys given are not those that seal what is stored.
    #[error("the store cannot be opened with these keys: {0}")]
    Keys(String),
    /// Anything else.
    #[error("the store failed: {0}")]
    Failed(String),
}

/// What a store answers.
pub type Result<T> = std::result::Result<T, Error>;

/// Counts the changes of a resource; its ETag.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Revision(pub i64);

/// A collection with what the store knows of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredCollection {
    /// The collection.
    pub collection: Collection,
    /// Its revision.
    pub revision: Revision,
    /// Why it cannot be read as it is stored, if it cannot; then the collection has only its names. It can be replaced and
    /// deleted, and none of its jobs runs.
    pub unreadable: Option<String>,
}

/// A job with what the store knows of it. Occurrences that are claimed but not begun count as still to come.
#[derive(Debug, Clone)]
pub struct StoredJob {
    /// The job.
    pub job: Job,
    /// Its collection's path, in the case it was created with.
    pub collection: CollectionPath,
    /// Whether its collection is enabled; if not, none of its jobs run.
    pub collection_enabled: bool,
    /// Its revision.
    pub revision: Revision,
}

/// What the row of a job says: what is shown, listed, searched, exported and deleted. No secret is opened for it, and no
/// rule is built. Occurrences that are claimed but not begun count as still to come.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JobRecord {
    /// Its collection's path, in the case it was created with.
    pub collection: CollectionPath,
    /// Its name, in the case it was created with.
    pub name: String,
    /// Its revision.
    pub revision: Revision,
    /// Whether it runs, where that can be read.
    pub state: Option<JobState>,
    /// What it has done.
    pub counters: Counters,
    /// Whether the last scheduled occurrence that ended had faulted.
    pub last_faulted: bool,
    /// The number of its next occurrence, whether or not there is one.
    pub next_number: u32,
    /// When it is due next.
    pub next_at: Option<Timestamp>,
    /// What was asked for, as far as it can be read.
    pub definition: Option<Definition<Withheld>>,
    /// Why the job cannot be opened, where that is known: it does not run until it is written anew.
    pub unreadable: Option<String>,
    /// Whether its collection is enabled.
    pub collection_enabled: bool,
}

impl StoredJob {
    /// Returns when the job is due next; `None` while its collection is off.
    pub fn next_run(&self) -> Option<Timestamp> {
        self.job.next_at.filter(|_| self.collection_enabled)
    }
}

impl JobRecord {
    /// Returns when the job is due next; `None` while its collection is off.
    pub fn next_run(&self) -> Option<Timestamp> {
        self.next_at.filter(|_| self.collection_enabled)
    }

    /// Whether nothing can change it any more.
    pub fn is_final(&self) -> bool {
        self.state.is_some_and(JobState::is_final)
    }
}

/// A job that a change is decided by.
#[derive(Debug, Clone)]
#[expect(clippy::large_enum_variant, reason = "nearly all are readable, and none is kept")]
pub enum FoundJob {
    /// It was opened.
    Readable(StoredJob),
    /// It cannot be: deleting or replacing it repairs it.
    Unreadable(JobRecord),
}

impl FoundJob {
    /// Its name, in the case it was created with.
    pub fn name(&self) -> &str {
        match self {
            Self::Readable(stored) => &stored.job.name,
            Self::Unreadable(record) => &record.name,
        }
    }

    /// Its revision.
    pub fn revision(&self) -> Revision {
        match self {
            Self::Readable(stored) => stored.revision,
            Self::Unreadable(record) => record.revision,
        }
    }

    /// Whether it runs, where that can be read.
    pub fn state(&self) -> Option<JobState> {
        match self {
            Self::Readable(stored) => Some(stored.job.state),
            Self::Unreadable(record) => record.state,
        }
    }

    /// What the writer of a change takes for granted who has loaded it.
    pub fn expected(&self) -> ExpectedJob {
        let (revision, next_number, next_at) = match self {
            Self::Readable(StoredJob { job, revision, .. }) => (*revision, job.next_number, job.next_at),
            Self::Unreadable(record) => (record.revision, record.next_number, record.next_at),
        };
        ExpectedJob::Standing { revision, next_number, next_at }
    }

    /// The job, if it was opened.
    pub fn readable(&self) -> Option<&StoredJob> {
        match self {
            Self::Readable(stored) => Some(stored),
            Self::Unreadable(_) => None,
        }
    }
}

/// What the writer of a resource takes for granted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Expected {
    /// It is not there.
    Absent,
    /// It is there, unchanged since this revision.
    Revision(Revision),
}

/// How a write ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Written<T = Revision> {
    /// It is done, and this is what came of it.
    Done(T),
    /// Something the writer took for granted is no longer so: load and decide again.
    Changed,
    /// The limit that came with the write is reached.
    Full {
        /// How many count against it.
        there: u64,
        /// Jobs beside them that are finished and do not count.
        finished: u64,
    },
    /// The collection is not there.
    NoCollection,
}

/// A collection to be written.
#[derive(Debug, Clone)]
pub struct CollectionWrite {
    /// The collection.
    pub collection: Collection,
    /// What is there now.
    pub expected: Expected,
    /// The most collections of this plan in the subscription, this one included.
    pub most: Option<(Plan, u32)>,
    /// When.
    pub now: Timestamp,
}

/// A job to be written.
#[derive(Debug, Clone)]
pub struct JobWrite {
    /// Where, in the case in which the collection was created.
    pub collection: CollectionPath,
    /// Its name; an existing job keeps the case it was created with.
    pub name: String,
    /// What was asked for.
    pub definition: Definition,
    /// Where the job stands now; its ledger entry, if any, is written too.
    pub standing: model::transition::Standing,
    /// What the writer took for granted.
    pub expected: ExpectedJob,
    /// Whether it replaces the job as a whole: counters begin anew, and what runs no longer counts for it.
    pub replace: bool,
    /// What execution tags are made from, where the job is new or replaced.
    pub seed: Uuid,
    /// The most jobs in the collection that are not finished, this one included.
    pub most: Option<u32>,
    /// When.
    pub now: Timestamp,
}

/// What the writer of a job takes for granted: the job is not there, or stands exactly so.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ExpectedJob {
    /// It is not there.
    Absent,
    /// It is there: unchanged, and with this occurrence still to come.
    Standing {
        /// The revision.
        revision: Revision,
        /// The number of its next occurrence.
        next_number: u32,
        /// When that is due.
        next_at: Option<Timestamp>,
    },
}

/// How a deletion ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Deleted {
    /// It is gone.
    Done,
    /// It was not there.
    Absent,
    /// It has another revision.
    Changed,
}

/// A part of a list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Page {
    /// How many to leave out.
    pub skip: u64,
    /// How many at the most.
    pub top: u32,
}

/// Which entries of a history.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct HistoryQuery {
    /// Only these.
    pub status: Option<HistoryStatus>,
    /// Only the action's (`Some(false)`) or only error actions' (`Some(true)`).
    pub error_action: Option<bool>,
    /// Only attempts that began within.
    pub started: Span,
    /// Only attempts that ended within.
    pub ended: Span,
}

/// A span of time; both ends are included, an end that is `None` is open.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Span {
    /// From.
    pub from: Option<Timestamp>,
    /// To.
    pub to: Option<Timestamp>,
}

/// A history entry with what the store knows of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredHistory {
    /// Raised with every entry of the store.
    pub serial: i64,
    /// The entry.
    pub entry: HistoryEntry,
}

/// Which entries of the ledger, newest first.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct LedgerQuery {
    /// Only what was due within.
    pub due: Span,
    /// Only these fates; empty means all.
    pub fates: Vec<Fate>,
    /// Only of this subscription.
    pub subscription: Option<String>,
    /// Only of this resource group of the subscription.
    pub group: Option<String>,
    /// Only of this collection.
    pub collection: Option<CollectionPath>,
    /// Only of this job of the collection.
    pub job: Option<String>,
    /// Only entries before this one, for the next page: the due time and serial of the last entry seen.
    pub before: Option<(Timestamp, i64)>,
}

/// A ledger entry with what the store knows of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredLedger {
    /// Raised with every entry of the store; negative, and one for each job, where the entry is not written yet.
    pub serial: i64,
    /// The collection's path.
    pub collection: CollectionPath,
    /// The job's name; kept even after the job is deleted.
    pub job: String,
    /// The entry.
    pub entry: LedgerEntry,
}

impl StoredLedger {
    /// Whether the entry is about a pause that still lasts: it is written when the pause ends.
    pub fn is_ongoing(&self) -> bool {
        self.serial < 0
    }
}

/// What jobs have skipped so far that are off now, or whose collection is.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SkippedSoFar {
    /// An entry for each job that has skipped something, the latest pause first.
    pub entries: Vec<StoredLedger>,
    /// Whether there are jobs that were not looked at, or whose definition cannot be read.
    pub more: bool,
}

/// What is kept how long.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Retention {
    /// The time that retention goes by.
    pub now: Timestamp,
    /// History and ledger entries that ended before are removed, and jobs that came to their end before.
    pub before: Timestamp,
    /// The most history entries of one job.
    pub history_per_job: u32,
}

/// What a store keeps of the time that was seen, so that a clock that leaps is noticed over a start too.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ClockMarks {
    /// The time that retention goes by.
    pub believed: Timestamp,
    /// For how long the clock has shown another time, in running time.
    pub doubted: Duration,
    /// The latest time that was seen.
    pub latest: Timestamp,
}

/// A client certificate of a job, or of one of its error actions.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredCertificate {
    /// The collection's path.
    pub collection: CollectionPath,
    /// The job's name.
    pub job: String,
    /// Its last moment.
    pub expiration: Timestamp,
    /// Whose it is.
    pub subject: String,
    /// SHA-1 of it.
    pub thumbprint: String,
}

/// How a span of time went.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tallied {
    /// Its beginning.
    pub at: Timestamp,
    /// What was counted in it.
    pub tally: Tally,
}

/// How much is there; for start-up messages and metrics.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Census {
    /// Collections.
    pub collections: u64,
    /// Jobs.
    pub jobs: u64,
    /// Executions in flight or waiting.
    pub executions: u64,
}

/// A key, and what it is for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeyUse {
    /// Its name.
    pub id: KeyId,
    /// Whether it seals what is written now.
    pub seals: bool,
    /// Whether the store cannot be opened without it.
    pub needed: bool,
    /// How many definitions have secrets that it sealed; those that executions keep for themselves count too.
    pub definitions: u64,
}

/// A database, as the scheduler sees it.
#[async_trait]
pub trait Store: Register {
    /// Rings after every change that may make something due earlier.
    fn bell(&self) -> &Bell;

    /// What it counts of itself.
    fn numbers(&self) -> &StoreNumbers;

    /// The subscriptions in which there is a group, sorted in any case.
    async fn subscriptions(&self, page: Page) -> Result<Vec<String>>;

    /// A group, by its path in any case.
    async fn group(&self, path: &GroupPath) -> Result<Option<StoredGroup>>;

    /// Groups of a subscription, sorted by name in any case; only those with a tag, if one is given.
    async fn groups(
        &self,
        subscription: &str,
        tag: Option<&TagQuery>,
        page: Page,
    ) -> Result<Vec<StoredGroup>>;

    /// Writes a group.
    async fn put_group(&self, write: GroupWrite) -> Result<Written>;

    /// Deletes a group with its collections, as [`delete_collection`](Self::delete_collection) does, all at once.
    async fn delete_group(
        &self,
        path: &GroupPath,
        expected: Option<Revision>,
        now: Timestamp,
    ) -> Result<Deleted>;

    /// A collection, by its path in any case.
    async fn collection(&self, path: &CollectionPath) -> Result<Option<StoredCollection>>;

    /// Collections of a subscription or of one of its groups, sorted by group and name in any case.
    async fn collections(
        &self,
        subscription: &str,
        group: Option<&str>,
        page: Page,
    ) -> Result<Vec<StoredCollection>>;

    /// Writes a collection. A new one brings its group along, where nobody made it. One that is no longer enabled takes
    /// back what of its jobs is claimed and not begun.
    async fn put_collection(&self, write: CollectionWrite) -> Result<Written>;

    /// Deletes a collection with its jobs and their history. What was in flight is entered in the ledger.
    async fn delete_collection(
        &self,
        path: &CollectionPath,
        expected: Option<Revision>,
        now: Timestamp,
    ) -> Result<Deleted>;

    /// A job, by its name in any case; [`Error::Unreadable`] where it cannot be opened.
    async fn job(&self, collection: &CollectionPath, name: &str) -> Result<Option<StoredJob>> {
        match self.job_in_collection(collection, name).await?.and_then(|(_, job)| job) {
            None => Ok(None),
            Some(FoundJob::Readable(stored)) => Ok(Some(stored)),
            Some(FoundJob::Unreadable(record)) => {
                Err(Error::Unreadable(record.unreadable.unwrap_or_default()))
            }
        }
    }

    /// What the row of a job says, by its name in any case.
    async fn record(&self, collection: &CollectionPath, name: &str) -> Result<Option<JobRecord>>;

    /// A collection, and one of its jobs: what a change of the job is decided by. `None` where the collection is not
    /// there.
    async fn job_in_collection(
        &self,
        collection: &CollectionPath,
        name: &str,
    ) -> Result<Option<(StoredCollection, Option<FoundJob>)>>;

    /// Jobs of a collection, sorted by name in any case; `None` where the collection is not there.
    async fn jobs(
        &self,
        collection: &CollectionPath,
        state: Option<JobState>,
        page: Page,
    ) -> Result<Option<Vec<JobRecord>>>;

    /// Opens the next jobs after a number, at most so many, to find those that cannot be read: they are marked in lists
    /// from then on. The number of the last one, where there may be more after it.
    async fn look_through(&self, after: i64, most: u32) -> Result<Option<i64>>;

    /// Jobs of all collections, as a query wants them.
    async fn find_jobs(&self, query: &JobQuery, page: Page) -> Result<FoundJobs>;

    /// The jobs that are due next, soonest first.
    async fn soonest_jobs(&self, top: u32) -> Result<Vec<JobRecord>>;

    /// How many jobs there are in each state.
    async fn job_states(&self) -> Result<JobStates>;

    /// The client certificates of jobs, the first to expire first.
    async fn certificates(&self, top: u32) -> Result<Vec<StoredCertificate>>;

    /// All jobs of a collection, for a change that must suit each of them.
    async fn all_jobs(&self, collection: &CollectionPath) -> Result<Vec<FoundJob>>;

    /// Writes a job. Its claims that are not begun are taken back; executions that are go on with the definition they
    /// began with, unless the job is disabled now: then what waits for a retry is given up. The answer is the job as it was
    /// written.
    async fn put_job(&self, write: JobWrite) -> Result<Written<StoredJob>>;

    /// Deletes a job with its history. What was in flight is entered in the ledger.
    async fn delete_job(
        &self,
        collection: &CollectionPath,
        name: &str,
        expected: Option<Revision>,
        now: Timestamp,
    ) -> Result<Deleted>;

    /// Adds an execution that somebody asked for.
    async fn add_execution(&self, execution: Execution) -> Result<()>;

    /// Entries of a job's history, newest first; `None` where the job is not there.
    async fn history(
        &self,
        collection: &CollectionPath,
        job: &str,
        query: &HistoryQuery,
        page: Page,
    ) -> Result<Option<Vec<StoredHistory>>>;

    /// Entries of the ledger, newest first.
    async fn ledger(&self, query: &LedgerQuery, top: u32) -> Result<Vec<StoredLedger>>;

    /// Returns what jobs have skipped so far that are off, or whose collection is: what is entered in the ledger when they
    /// are on again. At most so many jobs are looked at. Of the query, all counts but its fates and its page; an entry is
    /// within a span that any of its occurrences is in.
    async fn skipped_so_far(&self, query: &LedgerQuery, now: Timestamp, most: u32) -> Result<SkippedSoFar>;

    /// How it went from one instant to another, that one left out, in parts of so many whole minutes, counted from 1970,
    /// oldest first; parts in which nothing was are left out. What is entered in the ledger and what attempts fail is
    /// tallied in the same transaction, by the minute in which it was known; at least a week of it is kept.
    async fn tallies(&self, from: Timestamp, until: Timestamp, every: Duration) -> Result<Vec<Tallied>>;

    /// Claims what is due until an instant, at most so many executions: durable when this answers.
    async fn claim_due(&self, now: Timestamp, until: Timestamp, most: u32) -> Result<Claimed>;

    /// Writes what attempts led to, all of them in one transaction; and tells it, in the order of the attempts.
    async fn settle(&self, attempts: Vec<Attempted>) -> Result<Vec<Settlement>>;

    /// Gives claims back that were not begun, so that they are handed out again.
    async fn release(&self, executions: Vec<ExecutionId>) -> Result<()>;

    /// Removes a little of what is older than it must be kept; whether there is more.
    async fn prune(&self, retention: Retention) -> Result<bool>;

    /// Returns what was seen of the time; `None` where nothing was kept of it yet.
    async fn clock_marks(&self) -> Result<Option<ClockMarks>>;

    /// Keeps what was seen of the time.
    async fn mark_clock(&self, marks: ClockMarks) -> Result<()>;

    /// Whether a change would be kept now: makes one that nobody sees, and waits until it is durable.
    async fn check(&self) -> Result<()>;

    /// How much is there.
    async fn census(&self) -> Result<Census>;

    /// The nodes that share the store, sorted by name; none where only one process can use it.
    async fn nodes(&self) -> Result<Vec<Node>>;

    /// Says goodbye: what this process holds can be claimed by others at once. It claims nothing afterwards.
    async fn leave(&self) -> Result<()>;

    /// Leaves everything in its place, as the last thing that happens: what is asked for afterwards is refused.
    async fn close(&self) -> Result<()>;

    /// The keys given and needed, the one that seals first.
    async fn keys(&self) -> Result<Vec<KeyUse>>;

    /// Seals with another key from when this answers; those before still open.
    async fn add_key(&self, key: Key) -> Result<()>;

    /// Seals a little of what other keys have sealed with the one that seals now; how many definitions that were. No
    /// revision changes by it.
    async fn reseal(&self, most: u32) -> Result<u32>;

    /// Forgets keys with which nothing is sealed any more; which they were.
    async fn retire_keys(&self) -> Result<Vec<KeyId>>;

    /// Copies the whole store while it is in use; `None` while an earlier copy is still held. The clock is asked at the
    /// moment that the copy is of: what was answered before is in it, what is asked for later is not.
    async fn snapshot(&self, clock: Arc<dyn Clock>) -> Result<Option<Snapshot>>;
}
