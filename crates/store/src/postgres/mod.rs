//! PostgreSQL: the store of any number of equal nodes.
//!
//! # The way through
//!
//! [`PostgresStore`] implements [`Store`], each change in a transaction that is tried again when somebody else was in
//! the way (`work`). Each module below has the SQL of one subject: `groups`, `collections`, `jobs` (rows and pages),
//! `search`, `newcomers` (jobs that are new), `changes` (what writing or deleting one means for what is in flight),
//! `due`, `claims`, `settle`, `history`, `ledger`, `tallies`, `certificates`, `keys`, `prune`, `partitions`, `register`
//! (tokens, roles, sign-ins), `audit`, `moves` (a store that is moved here) and `destination` (how); `trial` is for
//! measurements. Claims and settlements are made on a thread of their own (`workshop`). What happens is decided by
//! [`model::transition`] and [`decisions`](crate::decisions); these modules fetch what they need and write what they say.
//!
//! # Who holds what
//!
//! A node has a row and a lease (`nodes`), which its `pulse` renews. A claim names the node's epoch. Whether a claim is
//! begun only its holder knows (`tickets`); a change that has to know asks (`revocation`). What is new is told
//! (`herald`) to whoever does not know of something sooner (`outlook`). A node without a lease begins nothing, and what
//! it brings afterwards is not settled: its claims are free, and somebody else has them.
//!
//! # The order of locks
//!
//! Subscription, group, collection, job, execution, a chain of the audit; of each kind, the lowest number first. Claims wait for no lock at
//! all. What goes wrong all the same is a deadlock, which PostgreSQL ends and `work` tries again.

mod audit;
mod behalf;
mod certificates;
mod changes;
mod claims;
mod clock_marks;
mod collections;
mod columns;
mod connection;
mod definitions;
mod destination;
mod due;
mod executions;
mod fault;
mod groups;
mod herald;
mod history;
mod hosts;
mod inspect;
mod jobs;
mod keys;
mod ledger;
mod migrations;
mod moves;
mod newcomers;
mod nodes;
mod off;
mod outlook;
mod partitions;
mod prune;
mod pulse;
mod register;
mod revocation;
mod search;
mod seat;
mod session;
mod settle;
mod shards;
mod sight;
mod tallies;
mod tickets;
mod trial;
mod work;
mod workshop;

pub(crate) use destination::{Destination, Progress, Standing};
pub(crate) use moves::{Move, MoveState};
pub(crate) use shards::of_job as shard_of_job;

use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use access::Scope;
use async_trait::async_trait;
use deadpool_postgres::Pool;
use model::transition::Patience;
use model::{Clock, CollectionPath, Execution, GroupPath, JobState, Plans, Timestamp};
use tokio::sync::oneshot;
use tokio::task::AbortHandle;
use tokio_postgres::config::TargetSessionAttrs;

pub use self::inspect::{DatabaseFault, DatabaseInspection, DatabaseSchema, inspect};

use self::connection::Address;
use self::fault::{Fault, Kind, Outcome};
use self::herald::Herald;
use self::newcomers::Newcomers;
use self::outlook::Outlook;
use self::seat::Seat;
use self::tickets::Tickets;
pub use self::trial::{LogPart, Meter, TrialGround};
use self::work::{change, glance, noted, read};
use crate::known::KnownJobs;
use crate::register::{Behalf, Made as _};
use crate::seal::Sealer;
use crate::sweeper::Sweeper;
use crate::{
    Attempted, Bell, Census, Claimed, ClockMarks, CollectionWrite, Deleted, Error, ExecutionId, ExpectedJob,
    FoundJobs, GroupWrite, HistoryQuery, JobQuery, JobStates, JobWrite, Key, KeyId, KeyUse, Keyring,
    LedgerQuery, Node, Page, Result, Retention, Revision, Settlement, SkippedSoFar, Snapshot, Store,
    StoreClock, StoreNumbers, StoredCertificate, StoredCollection, StoredGroup, StoredHistory, StoredJob,
    StoredLedger, TagQuery, Tallied, Written,
};

/// What a [`PostgresStore`] is opened with.
#[derive(Debug, Clone)]
pub struct PostgresSettings {
    /// Where the database is: `postgres://user:password@host:5432/database?sslmode=verify-full`.
    pub url: String,
    /// The name of this node. No two may have the same at a time: whoever comes later takes the other's place.
    pub node: String,
    /// The version that this node runs, for others to see.
    pub version: String,
    /// The most connections to the database, besides one for the heartbeat.
    pub connections: usize,
    /// The plans: they say how long to wait before a retry where the job does not.
    pub plans: Plans,
    /// How patient the scheduler is.
    pub patience: Patience,
    /// What seals secrets. All nodes need the same keys; which is the first may differ.
    pub keyring: Keyring,
    /// The newest schema to know, where that is not the newest there is: a node like those of an earlier version. For
    /// tests of upgrades.
    pub held_at: Option<u32>,
}

/// What the parts of a store share.
struct Shared {
    settings: PostgresSettings,
    address: Address,
    /// The newest schema that this node knows.
    schema: i64,
    pool: Pool,
    /// This machine's clock.
    clock: Arc<dyn Clock>,
    /// The database's.
    time: Arc<StoreClock>,
    bell: Bell,
    numbers: StoreNumbers,
    seat: Seat,
    tickets: Tickets,
    herald: Herald,
    outlook: Outlook,
    newcomers: Newcomers,
    sealer: Sealer,
    known: Mutex<KnownJobs>,
    sweeper: Mutex<Sweeper>,
    /// When partitions were looked after.
    maintained: Mutex<Option<Timestamp>>,
    /// Whether the database could not be used lately.
    troubled: AtomicBool,
}

impl Shared {
    fn sweeper(&self) -> MutexGuard<'_, Sweeper> {
        self.sweeper.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What time it is by the database's clock, as far as we know.
    fn now(&self) -> Timestamp {
        self.time.now()
    }
}

/// A store in a PostgreSQL database, as one of its nodes.
#[derive(Clone)]
pub struct PostgresStore {
    shared: Arc<Shared>,
    pulse: Arc<Pulse>,
    behalf: Behalf,
}

/// The heartbeat, which ends with the last who uses the store.
struct Pulse(AbortHandle);

impl Drop for Pulse {
    fn drop(&mut self) {
        self.0.abort();
    }
}

impl PostgresStore {
    /// How often a start is tried again while other nodes start too.
    const STARTS: u32 = 20;

    /// How long a start waits where a database has several hosts and none can be used: one of them may be taking over from
    /// another. Of a single host it is told at once that it is away.
    const TAKE_OVER: Duration = Duration::from_secs(60);

    /// Opens a database, brings its schema up to date, and joins the others.
    ///
    /// A node of the same name that was there before has lost its lease at once: what it had claimed can be claimed
    /// again.
    pub async fn open(settings: PostgresSettings, clock: Arc<dyn Clock>) -> Result<Self> {
        let address = Address::parse(&settings.url)?;
        let pool = address.pool(settings.connections)?;
        let sealer = Sealer::new(settings.keyring.clone());
        let schema = settings.held_at.map_or(migrations::newest(), i64::from);
        let shared = Arc::new(Shared {
            settings,
            address,
            schema,
            pool,
            time: Arc::new(StoreClock::starting_at(clock.now())),
            clock,
            bell: Bell::new(),
            numbers: StoreNumbers::default(),
            seat: Seat::default(),
            tickets: Tickets::default(),
            herald: Herald::default(),
            outlook: Outlook::default(),
            newcomers: Newcomers::default(),
            sealer,
            known: Mutex::default(),
            sweeper: Mutex::default(),
            maintained: Mutex::default(),
            troubled: AtomicBool::new(false),
        });
        let (began, mut tries, mut waits) = (tokio::time::Instant::now(), 0, false);
        while let Err(fault) = start(&shared).await {
            let kind = fault.kind();
            let error = fault.tell(&shared.address.place);
            let nap = match kind {
                Kind::Conflict if tries < Self::STARTS => {
                    tries += 1;
                    Duration::from_millis(100)
                }
                Kind::Away if shared.address.hosts.are_several() && began.elapsed() < Self::TAKE_OVER => {
                    if !std::mem::replace(&mut waits, true) {
                        tracing::warn!(%error, "no host of the database can be used; waiting for one to take over");
                    }
                    Duration::from_millis(500)
                }
                _ => return Err(error),
            };
            tokio::time::sleep(nap).await;
        }
        let pulse = Arc::new(Pulse(tokio::spawn(pulse::run(Arc::clone(&shared))).abort_handle()));
        Ok(Self { shared, pulse, behalf: Behalf::default() })
    }

    /// The database's clock, which all nodes go by.
    pub fn clock(&self) -> Arc<StoreClock> {
        Arc::clone(&self.shared.time)
    }

    /// What is seen through this.
    fn sight(&self) -> Option<&str> {
        self.behalf.sight.as_deref()
    }
}

async fn start(shared: &Shared) -> Outcome<()> {
    session::check(&shared.address, TargetSessionAttrs::ReadWrite).await?;
    let mut client = shared.pool.get().await?;
    migrations::run(&mut client, &shared.address.place, shared.schema).await?;
    if shared.schema >= migrations::TELLS {
        moves::serve(&**client, &shared.address.place).await?;
    }
    {
        let mut work = work::Work::begin(shared, &mut client).await?;
        keys::check(&mut work).await?;
        work.commit().await?;
    }
    // Before anything is claimed: this machine's clock may be wrong.
    nodes::ask_for_time(shared, &client).await?;
    let now = shared.now();
    partitions::maintain(&mut client, now, Timestamp::MIN).await?;
    match nodes::join(shared, &mut client, true, now).await? {
        Some(lease) => shared.seat.take(lease),
        None => return Err(Fault::Overtaken("somebody joined with this node's name")),
    }
    Ok(())
}

/// A claim, and what to do with it when nobody waits for it any more.
async fn claim(shared: &Shared, now: Timestamp, until: Timestamp, most: usize) -> Result<Claimed> {
    let mut handed_out = Vec::new();
    let look = shared.outlook.look();
    let claimed = change!(shared, work => async {
        // Of a round before this one nothing came.
        cancel(shared, &mut handed_out);
        claims::claim_due(&mut work, now, until, most, &mut handed_out).await
    });
    match &claimed {
        Ok(claimed) if !claimed.more => look.saw(until, claimed.next_at),
        Ok(_) => {}
        Err(_) => cancel(shared, &mut handed_out),
    }
    claimed
}

/// Makes sure that nobody begins what was not certainly committed; it is set free when that can be.
fn cancel(shared: &Shared, handed_out: &mut Vec<i64>) {
    for id in handed_out.drain(..) {
        shared.tickets.take_back(id);
    }
}

/// Sets free what was claimed for a caller that went away.
async fn unheard(shared: &Shared, claimed: Claimed) {
    for claim in claimed.claims {
        claim.ticket.cancel();
    }
    let freed = async {
        let mut client = shared.pool.get().await?;
        nodes::free_lost(shared, &mut client).await
    };
    if let Err(fault) = freed.await {
        // The pulse tries again.
        tracing::debug!(?fault, "claims that nobody wanted are not free yet");
    }
    shared.bell.ring();
}

#[async_trait]
impl Store for PostgresStore {
    fn bell(&self) -> &Bell {
        &self.shared.bell
    }

    fn numbers(&self) -> &StoreNumbers {
        &self.shared.numbers
    }

    async fn subscriptions(&self, page: Page) -> Result<Vec<String>> {
        read!(&self.shared, work => groups::subscriptions(&work, self.sight(), page))
    }

    async fn group(&self, path: &GroupPath) -> Result<Option<StoredGroup>> {
        read!(&self.shared, work => groups::group(&work, path))
    }

    async fn groups(
        &self,
        subscription: &str,
        tag: Option<&TagQuery>,
        page: Page,
    ) -> Result<Vec<StoredGroup>> {
        read!(&self.shared, work => groups::groups(&work, subscription, tag, self.sight(), page))
    }

    async fn put_group(&self, write: GroupWrite) -> Result<Written> {
        noted!(self, work => groups::put(&mut work, &write))
    }

    async fn delete_group(
        &self,
        path: &GroupPath,
        expected: Option<Revision>,
        now: Timestamp,
    ) -> Result<Deleted> {
        noted!(self, work => async {
            let deleted = groups::delete(&mut work, path, expected, now).await?;
            if deleted.is_made() {
                register::end_roles(&mut work, &Scope::Group(path.clone()), self.behalf.note.as_deref()).await?;
            }
            Outcome::Ok(deleted)
        })
    }

    async fn collection(&self, path: &CollectionPath) -> Result<Option<StoredCollection>> {
        read!(&self.shared, work => collections::collection(&work, path))
    }

    async fn collections(
        &self,
        subscription: &str,
        group: Option<&str>,
        page: Page,
    ) -> Result<Vec<StoredCollection>> {
        read!(&self.shared, work => collections::collections(&work, subscription, group, self.sight(), page))
    }

    async fn put_collection(&self, write: CollectionWrite) -> Result<Written> {
        noted!(self, work => collections::put(&mut work, &write))
    }

    async fn delete_collection(
        &self,
        path: &CollectionPath,
        expected: Option<Revision>,
        now: Timestamp,
    ) -> Result<Deleted> {
        noted!(self, work => async {
            let deleted = collections::delete(&mut work, path, expected, now).await?;
            if deleted.is_made() {
                let scope = Scope::Collection(path.clone());
                register::end_roles(&mut work, &scope, self.behalf.note.as_deref()).await?;
            }
            Outcome::Ok(deleted)
        })
    }

    async fn job(&self, collection: &CollectionPath, name: &str) -> Result<Option<StoredJob>> {
        let found = glance!(&self.shared, work => jobs::in_collection(&work, collection, name))?;
        Ok(found.and_then(|(_, job)| job))
    }

    async fn job_in_collection(
        &self,
        collection: &CollectionPath,
        name: &str,
    ) -> Result<Option<(StoredCollection, Option<StoredJob>)>> {
        glance!(&self.shared, work => jobs::in_collection(&work, collection, name))
    }

    async fn jobs(
        &self,
        collection: &CollectionPath,
        state: Option<JobState>,
        page: Page,
    ) -> Result<Option<Vec<StoredJob>>> {
        read!(&self.shared, work => jobs::jobs(&work, collection, state, page))
    }

    async fn all_jobs(&self, collection: &CollectionPath) -> Result<Vec<StoredJob>> {
        read!(&self.shared, work => jobs::all_jobs(&work, collection))
    }

    async fn find_jobs(&self, query: &JobQuery, page: Page) -> Result<FoundJobs> {
        read!(&self.shared, work => search::find_jobs(&work, query, self.sight(), page))
    }

    async fn soonest_jobs(&self, top: u32) -> Result<Vec<StoredJob>> {
        read!(&self.shared, work => search::soonest_jobs(&work, self.sight(), top))
    }

    async fn job_states(&self) -> Result<JobStates> {
        read!(&self.shared, work => search::job_states(&work, self.sight()))
    }

    async fn certificates(&self, top: u32) -> Result<Vec<StoredCertificate>> {
        read!(&self.shared, work => certificates::certificates(&work, top))
    }

    async fn tallies(&self, from: Timestamp, until: Timestamp, every: Duration) -> Result<Vec<Tallied>> {
        read!(&self.shared, work => tallies::tallies(&work, from, until, every))
    }

    async fn keys(&self) -> Result<Vec<KeyUse>> {
        read!(&self.shared, work => keys::uses(&work))
    }

    async fn add_key(&self, key: Key) -> Result<()> {
        let noted = Keyring::new(key.clone(), []);
        change!(&self.shared, work => keys::note(&work, &noted))?;
        self.shared.sealer.put_first(key);
        Ok(())
    }

    async fn reseal(&self, most: u32) -> Result<u32> {
        change!(&self.shared, work => keys::reseal(&mut work, most))
    }

    async fn retire_keys(&self) -> Result<Vec<KeyId>> {
        change!(&self.shared, work => keys::retire(&mut work))
    }

    async fn put_job(&self, write: JobWrite) -> Result<Written<StoredJob>> {
        if write.expected == ExpectedJob::Absent {
            return newcomers::put(&self.shared, write, self.behalf.note.clone()).await;
        }
        noted!(self, work => changes::put_job(&mut work, &write))
    }

    async fn delete_job(
        &self,
        collection: &CollectionPath,
        name: &str,
        expected: Option<Revision>,
        now: Timestamp,
    ) -> Result<Deleted> {
        noted!(self, work => changes::delete_job(&mut work, collection, name, expected, now))
    }

    async fn add_execution(&self, execution: Execution) -> Result<()> {
        noted!(self, work => changes::add_execution(&mut work, &execution))
    }

    async fn history(
        &self,
        collection: &CollectionPath,
        job: &str,
        query: &HistoryQuery,
        page: Page,
    ) -> Result<Option<Vec<StoredHistory>>> {
        read!(&self.shared, work => history::history(&work, collection, job, query, page))
    }

    async fn ledger(&self, query: &LedgerQuery, top: u32) -> Result<Vec<StoredLedger>> {
        read!(&self.shared, work => ledger::ledger(&work, query, self.sight(), top))
    }

    async fn skipped_so_far(&self, query: &LedgerQuery, now: Timestamp, most: u32) -> Result<SkippedSoFar> {
        read!(&self.shared, work => off::skipped_so_far(&work, query, self.sight(), now, most))
    }

    async fn claim_due(&self, now: Timestamp, until: Timestamp, most: u32) -> Result<Claimed> {
        // In a task of its own, so that a caller who goes away does not leave a claim that nobody knows of.
        let shared = Arc::clone(&self.shared);
        let (to, answer) = oneshot::channel();
        workshop::start(async move {
            let claimed = claim(&shared, now, until, most as usize).await;
            if let Err(Ok(claimed)) = to.send(claimed) {
                unheard(&shared, claimed).await;
            }
        });
        answer.await.unwrap_or_else(|_| Err(Error::Failed("a claim was lost; see the log".to_owned())))
    }

    async fn settle(&self, attempts: Vec<Attempted>) -> Result<Vec<Settlement>> {
        let shared = Arc::clone(&self.shared);
        let settling = workshop::start(async move {
            let settled = change!(&shared, work => settle::settle(&mut work, &attempts));
            if settled.is_ok() {
                for attempted in &attempts {
                    shared.tickets.forget_this(attempted.id.0, &attempted.ticket);
                }
            }
            settled
        });
        let lost = |_| Err(Error::Failed("a settlement was lost; see the log".to_owned()));
        settling.await.unwrap_or_else(lost)
    }

    async fn release(&self, executions: Vec<ExecutionId>) -> Result<()> {
        let free = change!(&self.shared, work => claims::release(&mut work, &executions))?;
        self.shared.tickets.forget(&free);
        Ok(())
    }

    async fn prune(&self, retention: Retention) -> Result<bool> {
        let more = change!(&self.shared, work => prune::prune(&mut work, retention))?;
        let now = self.shared.now();
        let is_time = {
            let mut last = self.shared.maintained.lock().unwrap_or_else(PoisonError::into_inner);
            let is_time = more.is_some() && partitions::is_time(*last, now);
            if is_time {
                *last = Some(now);
            }
            is_time
        };
        if is_time {
            let maintained = async {
                let mut client = self.shared.pool.get().await?;
                partitions::maintain(&mut client, now, retention.before).await
            };
            maintained.await.map_err(|fault: Fault| fault.tell(&self.shared.address.place))?;
        }
        Ok(more.unwrap_or(false))
    }

    async fn clock_marks(&self) -> Result<Option<ClockMarks>> {
        glance!(&self.shared, work => clock_marks::read(&work))
    }

    async fn mark_clock(&self, marks: ClockMarks) -> Result<()> {
        change!(&self.shared, work => clock_marks::write(&work, &marks))
    }

    async fn check(&self) -> Result<()> {
        if let Some(why) = self.shared.seat.refusal() {
            return Err(Error::Unavailable(why));
        }
        if !self.shared.seat.lease().is_some_and(|lease| lease.holds()) {
            return Err(Error::Unavailable("this node has no lease at the moment".to_owned()));
        }
        // A revision more or less does not matter.
        change!(&self.shared, work => work.next_revision()).map(drop)
    }

    async fn census(&self) -> Result<Census> {
        read!(&self.shared, work => prune::census(&work, self.sight()))
    }

    async fn nodes(&self) -> Result<Vec<Node>> {
        read!(&self.shared, work => nodes::list(&work))
    }

    async fn leave(&self) -> Result<()> {
        self.pulse.0.abort();
        let epoch = self.shared.seat.epoch();
        self.shared.seat.refuse("this node has left".to_owned());
        let left = async {
            let mut client = self.shared.pool.get().await?;
            nodes::leave(&mut client, epoch, self.shared.now()).await
        };
        left.await.map_err(|fault: Fault| fault.tell(&self.shared.address.place))
    }

    async fn close(&self) -> Result<()> {
        // The database looks after itself.
        Ok(())
    }

    async fn snapshot(&self, _: Arc<dyn Clock>) -> Result<Option<Snapshot>> {
        Err(Error::Unsupported(
            "the jobs are kept in PostgreSQL: back it up with its own tools, such as pg_dump or pg_basebackup"
                .to_owned(),
        ))
    }
}
