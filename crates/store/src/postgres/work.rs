//! One transaction, and what it leads to when it is committed.

use std::future::poll_fn;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::task::Poll;
use std::time::Duration;

use access::Note;
use deadpool_postgres::{Client, Transaction};
use jiff::Timestamp;
use model::{HistoryEntry, LedgerEntry};
use tokio::sync::Mutex;
use tokio::time::{Instant, timeout};
use tokio_postgres::types::ToSql;
use tokio_postgres::{IsolationLevel, Row, Statement};

use super::connection::PATIENCE;
use super::fault::{Fault, Kind, Outcome};
use super::{Shared, audit, history, ledger, revocation, session, tallies};
use crate::Result;
use crate::tallies::Tallies;

/// The values of a statement.
pub(super) type Values<'v> = &'v [&'v (dyn ToSql + Sync)];

/// A transaction.
pub(super) struct Work<'a> {
    way: Way<'a>,
    /// Held while a statement is sent.
    turn: Mutex<()>,
    pub(super) shared: &'a Shared,
    began: Instant,
    /// Whether it only reads.
    reads: bool,
    /// The epoch of this node as the transaction began; 0, which is nobody's, while it has none.
    pub(super) epoch: i64,
    /// Entries of jobs' histories to be written.
    pub(super) history: Vec<(i64, HistoryEntry)>,
    /// Entries of the ledger to be written, with their collections.
    pub(super) ledger: Vec<(i64, LedgerEntry)>,
    /// What is noted with it.
    pub(super) notes: Vec<Arc<Note>>,
    /// Whether something may be due earlier than before.
    pub(super) ring: bool,
    /// Whether other nodes should know at once.
    pub(super) tell: bool,
    /// What is due soonest of what was written. Nobody has to know that knows of something sooner.
    sooner: Option<Timestamp>,
}

/// Where statements go.
enum Way<'a> {
    /// Together with others: they are committed together, or not at all.
    Transaction(Transaction<'a>),
    /// Alone: each is a transaction by itself.
    Alone(&'a Client),
}

impl<'a> Work<'a> {
    /// Begins a transaction that changes something. Each statement sees what is committed before it; what must not
    /// change is locked.
    pub(super) async fn begin(shared: &'a Shared, client: &'a mut Client) -> Outcome<Self> {
        let builder = client.build_transaction().isolation_level(IsolationLevel::ReadCommitted);
        let began = Instant::now();
        let way = Way::Transaction(within(PATIENCE, builder.start()).await?);
        Ok(Self::of(shared, way, began, false))
    }

    /// Begins a transaction that reads, all of it as of one moment.
    pub(super) async fn look(shared: &'a Shared, client: &'a mut Client) -> Outcome<Self> {
        let builder = client.build_transaction().isolation_level(IsolationLevel::RepeatableRead);
        let began = Instant::now();
        let way = Way::Transaction(within(PATIENCE, builder.read_only(true).start()).await?);
        Ok(Self::of(shared, way, began, true))
    }

    /// For a single statement that reads, which needs no transaction around it: one way there and back instead of three.
    pub(super) async fn glance(shared: &'a Shared, client: &'a mut Client) -> Outcome<Self> {
        Ok(Self::of(shared, Way::Alone(client), Instant::now(), true))
    }

    fn of(shared: &'a Shared, way: Way<'a>, began: Instant, reads: bool) -> Self {
        Self {
            way,
            turn: Mutex::new(()),
            shared,
            began,
            reads,
            epoch: shared.seat.epoch(),
            history: Vec::new(),
            ledger: Vec::new(),
            notes: Vec::new(),
            ring: false,
            tell: false,
            sooner: None,
        }
    }

    /// From here on rows are found by an index wherever there is one. While there is little in a table, PostgreSQL would rather
    /// read all of it, and goes on so for as long as it keeps the plan: of ten thousand executions, each would meet all
    /// others. Only for statements whose tables all have such an index: the costs of others would mean nothing any more.
    pub(super) async fn by_index(&self) -> Outcome<()> {
        self.execute("SET LOCAL enable_seqscan = off", &[]).await.map(drop)
    }

    /// Notes that a job was written which is due then, if it is.
    pub(super) fn due(&mut self, at: Option<Timestamp>) {
        self.sooner = self.sooner.into_iter().chain(at).min();
    }

    /// The rows that a statement answers with.
    ///
    /// Statements go to the database in the order in which they are first polled, also where nobody waits for the answer to
    /// one before the next is asked: those that are joined are one way there and back.
    pub(super) async fn query(&self, sql: &str, values: Values<'_>) -> Outcome<Vec<Row>> {
        self.ask(sql, async |statement| match &self.way {
            Way::Transaction(transaction) => transaction.query(&statement, values).await,
            Way::Alone(client) => client.query(&statement, values).await,
        })
        .await
    }

    /// The one row that a statement answers with, if any.
    pub(super) async fn query_opt(&self, sql: &str, values: Values<'_>) -> Outcome<Option<Row>> {
        Ok(self.query(sql, values).await?.into_iter().next())
    }

    /// How many rows a statement has changed. In the order of [`query`](Self::query).
    pub(super) async fn execute(&self, sql: &str, values: Values<'_>) -> Outcome<u64> {
        self.ask(sql, async |statement| match &self.way {
            Way::Transaction(transaction) => transaction.execute(&statement, values).await,
            Way::Alone(client) => client.execute(&statement, values).await,
        })
        .await
    }

    /// Asks in turn. A statement that has to be prepared first keeps its place.
    async fn ask<T>(
        &self,
        sql: &str,
        ask: impl AsyncFnOnce(Statement) -> std::result::Result<T, tokio_postgres::Error>,
    ) -> Outcome<T> {
        let turn = self.turn.lock().await;
        let prepared = match &self.way {
            Way::Transaction(transaction) => within(PATIENCE, transaction.prepare_cached(sql)).await?,
            Way::Alone(client) => within(PATIENCE, client.prepare_cached(sql)).await?,
        };
        let mut answer = pin!(ask(prepared));
        // The first poll sends it.
        let asked = poll_fn(|context| Poll::Ready(answer.as_mut().poll(context))).await;
        drop(turn);
        match asked {
            Poll::Ready(answer) => Ok(answer?),
            Poll::Pending => within(STATEMENT, answer).await,
        }
    }

    /// The first column of all rows: numbers.
    pub(super) async fn ids(&self, sql: &str, values: Values<'_>) -> Outcome<Vec<i64>> {
        self.query(sql, values).await?.iter().map(|row| Ok(row.try_get(0)?)).collect()
    }

    /// A revision that nothing had before.
    pub(super) async fn next_revision(&self) -> Outcome<i64> {
        let row = self.query_opt("SELECT nextval('revisions')", &[]).await?;
        row.map_or(Err(Fault::Overtaken("there is no revision")), |row| Ok(row.try_get(0)?))
    }

    /// What the entries come to.
    fn count(&self) -> Tallies {
        let mut tallies = Tallies::default();
        self.history.iter().for_each(|(_, entry)| tallies.attempt(entry));
        self.ledger.iter().for_each(|(_, entry)| tallies.enter(entry));
        tallies
    }

    /// Writes entries and commits. Then it is durable, and whoever waits for it is woken.
    pub(super) async fn commit(self) -> Outcome<()> {
        let counted = self.count();
        tokio::try_join!(
            history::insert(&self, &self.history),
            ledger::insert(&self, &self.ledger),
            tallies::write(&self, &counted)
        )?;
        audit::insert(&self, &self.notes).await?;
        let Self { way, shared, ring, tell, sooner, began, reads, .. } = self;
        if let Way::Transaction(transaction) = way {
            match timeout(COMMIT, transaction.commit()).await {
                Ok(Ok(())) => {}
                Ok(Err(error)) => {
                    let fault = Fault::from(error);
                    return Err(if fault.is_away() { Fault::Uncertain } else { fault });
                }
                Err(_) => return Err(Fault::Uncertain),
            }
        }
        let numbers = &shared.numbers;
        if reads { &numbers.reads } else { &numbers.commits }.time(began.elapsed());
        counted.minutes().for_each(|(_, tally)| numbers.enter(tally));
        if ring || sooner.is_some_and(|at| shared.outlook.is_news(at)) {
            shared.bell.ring();
        }
        if tell || sooner.is_some() {
            shared.herald.tell(if tell { None } else { sooner });
        }
        Ok(())
    }
}

/// How long to wait for a statement: the server ends it before.
const STATEMENT: Duration = Duration::from_millis(session::STATEMENT as u64).saturating_add(PATIENCE);

/// How long a commit may take. It must be less than what the server allows a statement: a server that waits for its
/// standby and is not allowed to any longer says that the change is made, though the standby may not have it.
const COMMIT: Duration = Duration::from_secs(10);

/// Waits for an answer, but not for ever: a server that stands still keeps its connections.
async fn within<T>(
    patience: Duration,
    answer: impl Future<Output = std::result::Result<T, tokio_postgres::Error>>,
) -> Outcome<T> {
    match timeout(patience, answer).await {
        Ok(answer) => Ok(answer?),
        Err(_) => Err(Fault::Pool("it does not answer".to_owned())),
    }
}

/// How often somebody who was in the way is given way to.
const CONFLICTS: u32 = 12;
/// How often a database that is away is tried again before the caller is told. A failover takes longer, and callers know
/// better how long they can wait.
const ABSENCES: u32 = 3;
/// For how long: a server that refuses is tried again, one that is silent has cost enough time already.
const ABSENT: Duration = Duration::from_secs(2);
/// How often holders of claims are asked. Each round finds only what was claimed since the one before.
const QUESTIONS: u32 = 20;

/// The rounds of one change, until it is made or given up.
pub(super) struct Rounds<'a> {
    shared: &'a Shared,
    conflicts: u32,
    absences: u32,
    questions: u32,
    began: Instant,
    /// Executions that were taken back for this change.
    kept: Vec<i64>,
}

impl<'a> Rounds<'a> {
    pub(super) fn new(shared: &'a Shared) -> Self {
        Self { shared, conflicts: 0, absences: 0, questions: 0, began: Instant::now(), kept: Vec::new() }
    }

    /// What to do after a round: `Some` is the answer, `None` means once more.
    pub(super) async fn judge<T>(&mut self, outcome: Outcome<T>) -> Option<Result<T>> {
        let fault = match outcome {
            Ok(value) => {
                if self.shared.troubled.swap(false, Ordering::Relaxed) {
                    tracing::info!("the database answers again");
                }
                self.let_go().await;
                return Some(Ok(value));
            }
            Err(fault) => fault,
        };
        if fault.is_away() {
            // Those that nobody uses lead to the same server, and would be found out one by one.
            self.shared.pool.retain(|_, _| false);
        }
        match fault {
            Fault::Claimed(ids) if self.questions < QUESTIONS => {
                self.questions += 1;
                self.kept.extend(&ids);
                match revocation::revoke(self.shared, &ids).await {
                    Ok(()) => None,
                    Err(error) => {
                        self.let_go().await;
                        Some(Err(error))
                    }
                }
            }
            fault if fault.kind() == Kind::Conflict && self.conflicts < CONFLICTS => {
                self.conflicts += 1;
                tracing::debug!(?fault, "a change makes way and tries again");
                tokio::time::sleep(Duration::from_millis(1 << self.conflicts.min(7))).await;
                None
            }
            fault if fault.is_away() && self.absences < ABSENCES && self.began.elapsed() < ABSENT => {
                self.absences += 1;
                tokio::time::sleep(Duration::from_millis(50 * u64::from(self.absences))).await;
                None
            }
            fault => {
                self.shared.numbers.failed.count();
                let away = fault.is_away();
                let error = fault.tell(&self.shared.address.place);
                if away {
                    // Once is enough: a database that is away for an hour must not fill the log.
                    if !self.shared.troubled.swap(true, Ordering::Relaxed) {
                        tracing::error!(%error, "the database cannot be used; trying again with each call");
                    }
                }
                self.let_go().await;
                Some(Err(error))
            }
        }
    }

    /// Lets others claim what was taken back and is still there.
    async fn let_go(&mut self) {
        if !self.kept.is_empty() {
            revocation::let_go(self.shared, &std::mem::take(&mut self.kept)).await;
        }
    }
}

/// Makes a change in a transaction, as often as it takes: `change!(shared, work => expression)`.
macro_rules! change {
    ($shared:expr, $work:ident => $body:expr) => {
        $crate::postgres::work::rounds!($shared, begin, $work => $body)
    };
}

/// The same for a change that is noted where it is made: `noted!(store, work => expression)`.
macro_rules! noted {
    ($store:expr, $work:ident => $body:expr) => {
        $crate::postgres::work::change!(&$store.shared, $work => async {
            let done = $body.await?;
            if $crate::register::Made::is_made(&done) {
                $work.notes.extend($store.behalf.note.clone());
            }
            $crate::postgres::fault::Outcome::Ok(done)
        })
    };
}

/// Reads, all of it as of one moment: `read!(shared, work => expression)`.
macro_rules! read {
    ($shared:expr, $work:ident => $body:expr) => {
        $crate::postgres::work::rounds!($shared, look, $work => $body)
    };
}

/// The same with one statement: `glance!(shared, work => expression)`.
macro_rules! glance {
    ($shared:expr, $work:ident => $body:expr) => {
        $crate::postgres::work::rounds!($shared, glance, $work => $body)
    };
}

macro_rules! rounds {
    ($shared:expr, $begin:ident, $work:ident => $body:expr) => {{
        let shared: &$crate::postgres::Shared = $shared;
        let mut rounds = $crate::postgres::work::Rounds::new(shared);
        loop {
            let outcome: $crate::postgres::fault::Outcome<_> = async {
                let mut client = shared.pool.get().await?;
                let outcome: $crate::postgres::fault::Outcome<_> = async {
                    #[allow(unused_mut, reason = "some only read")]
                    let mut $work = $crate::postgres::work::Work::$begin(shared, &mut client).await?;
                    let value = $body.await?;
                    $work.commit().await?;
                    Ok(value)
                }
                .await;
                if outcome.as_ref().is_err_and($crate::postgres::fault::Fault::ends_connection) {
                    // Perhaps it is this connection alone.
                    drop(deadpool_postgres::Client::take(client));
                } else if outcome.as_ref().is_err_and($crate::postgres::fault::Fault::is_stale) {
                    // All connections have the same statements.
                    shared.pool.manager().statement_caches.clear();
                }
                outcome
            }
            .await;
            if let Some(answer) = rounds.judge(outcome).await {
                break answer;
            }
        }
    }};
}

pub(super) use {change, glance, noted, read, rounds};
