//! The one writer: everybody's changes, committed in groups.
//!
//! A commit waits for the disk, whether it carries one change or a thousand. So changes queue up, and while one group is
//! being committed the next one gathers. Each change runs in a savepoint of its own: one that fails goes alone. Nobody
//! is answered before the commit.
//!
//! The group is led by a blocking task and not by a thread of our own, because a paused clock (tests that run days in
//! seconds) waits for blocking tasks and knows nothing of threads.

use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use rusqlite::Connection;
use tokio::sync::oneshot;
use tokio::time::Instant;

use super::at_hand::AtHand;
use super::checkpoints::Checkpoints;
use super::fault::{Fault, Outcome};
use super::filing::Filing;
use super::opening::Opening;
use super::revisions::Revisions;
use super::settle::Settlement;
use super::tickets::Tickets;
use super::{SqliteSettings, audit, claims, connection, examine, tallies as counted};
use crate::known::KnownJobs;
use crate::seal::Sealer;
use crate::sweeper::Sweeper;
use crate::tallies::Tallies;
use crate::unreadable::UnreadableJobs;
use crate::{Bell, Error, Result, StoreNumbers};

/// The most changes in one commit: bounds how long the first of them waits.
const LARGEST_GROUP: usize = 1_000;

/// The most changes that may wait. Far beyond what a server lets in at a time; more is a sign that the disk hangs.
const LONGEST_QUEUE: usize = 50_000;

/// What a change works with.
pub(super) struct Work<'a> {
    /// The connection, inside a transaction.
    pub(super) db: &'a Connection,
    /// As the store was opened.
    pub(super) settings: &'a SqliteSettings,
    /// The tickets of all claims.
    pub(super) tickets: &'a Tickets,
    /// Seals and opens secrets.
    pub(super) sealer: &'a Sealer,
    /// Jobs that cannot be read as they are stored.
    pub(super) unreadable: &'a UnreadableJobs,
    /// Definitions that need not be read again.
    pub(super) known: &'a mut KnownJobs,
    /// Rows that need not be read again.
    pub(super) at_hand: &'a mut AtHand,
    /// Where settlements are made.
    pub(super) settlement: &'a mut Settlement,
    /// What retention has to look at.
    pub(super) sweeper: &'a mut Sweeper,
    /// What of history and ledger is not filed yet.
    pub(super) filing: &'a mut Filing,
    /// Gives every change a revision of its own.
    pub(super) revisions: &'a mut Revisions,
    /// Where the audit ends.
    pub(super) audit_end: &'a mut audit::End,
    /// What the change counts.
    pub(super) tallies: Tallies,
    /// Whether something may be due earlier than before.
    pub(super) ring: bool,
}

/// A change that waits for its turn.
trait Change: Send {
    /// Runs it in the transaction.
    fn run(self: Box<Self>, work: &mut Work<'_>) -> Box<dyn Answer>;
    /// Tells its caller that it did not run.
    fn refuse(self: Box<Self>, error: &Error);
}

/// A change that ran and is not committed yet.
trait Answer {
    /// What went wrong with the change itself.
    fn fault(&mut self) -> Option<Fault>;
    /// Tells its caller, after the commit, or after it failed.
    fn send(self: Box<Self>, commit: std::result::Result<(), &Error>, shared: &Shared);
}

struct Asked<T, F> {
    change: F,
    to: oneshot::Sender<Result<T>>,
    /// What to do with an answer that nobody waits for any more.
    unheard: fn(T, &Shared),
}

struct Ran<T> {
    outcome: Option<Outcome<T>>,
    to: oneshot::Sender<Result<T>>,
    unheard: fn(T, &Shared),
}

impl<T, F> Change for Asked<T, F>
where
    T: Send + 'static,
    F: FnOnce(&mut Work<'_>) -> Outcome<T> + Send,
{
    fn run(self: Box<Self>, work: &mut Work<'_>) -> Box<dyn Answer> {
        let Self { change, to, unheard } = *self;
        // A bug in one change must not end the writer for all others.
        let outcome = catch_unwind(AssertUnwindSafe(|| change(work))).unwrap_or_else(|_| {
            Err(Error::Failed("a change ended in a panic; see the log".to_owned()).into())
        });
        Box::new(Ran { outcome: Some(outcome), to, unheard })
    }

    fn refuse(self: Box<Self>, error: &Error) {
        // Whoever does not wait does not care.
        let _ = self.to.send(Err(error.clone()));
    }
}

impl<T> Answer for Ran<T> {
    fn fault(&mut self) -> Option<Fault> {
        self.outcome.take_if(|outcome| outcome.is_err())?.err()
    }

    fn send(self: Box<Self>, commit: std::result::Result<(), &Error>, shared: &Shared) {
        let answer = match (self.outcome, commit) {
            (Some(Ok(value)), Ok(())) => Ok(value),
            (_, Err(error)) => Err(error.clone()),
            (Some(Err(fault)), Ok(())) => Err(fault.tell(&shared.path)),
            (None, Ok(())) => Err(Error::Failed("a change left nothing behind".to_owned())),
        };
        if let Err(Ok(value)) = self.to.send(answer) {
            (self.unheard)(value, shared);
        }
    }
}

/// What the writer shares with the rest of the store.
#[derive(Debug)]
pub(super) struct Shared {
    /// The database.
    pub(super) path: PathBuf,
    /// As the store was opened.
    pub(super) settings: SqliteSettings,
    /// The tickets of all claims.
    pub(super) tickets: Tickets,
    /// Seals and opens secrets.
    pub(super) sealer: Sealer,
    /// Rung after commits.
    pub(super) bell: Bell,
    /// What is counted.
    pub(super) numbers: StoreNumbers,
    /// The opening of the file.
    pub(super) opening: Opening,
}

#[derive(Default)]
struct Queue {
    changes: VecDeque<Box<dyn Change>>,
    led: bool,
}

/// See the module.
pub(super) struct Writer {
    shared: Arc<Shared>,
    queue: Mutex<Queue>,
    /// Taken by the leader only.
    desk: Mutex<Desk>,
}

struct Desk {
    /// `None` after a fault of the connection: the next group opens a new one.
    db: Option<Connection>,
    known: KnownJobs,
    at_hand: AtHand,
    settlement: Settlement,
    sweeper: Sweeper,
    filing: Filing,
    revisions: Revisions,
    audit_end: audit::End,
    checkpoints: Checkpoints,
    /// Whether changes could not be committed lately.
    troubled: bool,
    /// Whether the connection leaves everything in the log.
    keeps_log: bool,
    /// Whether nothing is changed any more.
    is_closed: bool,
}

impl Writer {
    pub(super) fn new(shared: Arc<Shared>, db: Connection) -> Self {
        let desk = Desk {
            db: Some(db),
            known: KnownJobs::default(),
            at_hand: AtHand::default(),
            settlement: Settlement::default(),
            sweeper: Sweeper::default(),
            filing: Filing::default(),
            revisions: Revisions::default(),
            audit_end: audit::End::default(),
            checkpoints: Checkpoints::default(),
            troubled: false,
            keeps_log: false,
            is_closed: false,
        };
        Self { shared, queue: Mutex::default(), desk: Mutex::new(desk) }
    }

    /// Makes a change, and answers when it is durable.
    pub(super) async fn run<T: Send + 'static>(
        self: &Arc<Self>,
        change: impl FnOnce(&mut Work<'_>) -> Outcome<T> + Send + 'static,
    ) -> Result<T> {
        self.run_heard(change, |_, _| ()).await
    }

    /// The same; `unheard` gets an answer that came when the caller was gone.
    pub(super) async fn run_heard<T: Send + 'static>(
        self: &Arc<Self>,
        change: impl FnOnce(&mut Work<'_>) -> Outcome<T> + Send + 'static,
        unheard: fn(T, &Shared),
    ) -> Result<T> {
        let (to, answer) = oneshot::channel();
        self.push(Box::new(Asked { change, to, unheard }))?;
        answer.await.unwrap_or_else(|_| Err(Error::Failed("the writer ended before it answered".to_owned())))
    }

    fn push(self: &Arc<Self>, change: Box<dyn Change>) -> Result<()> {
        let mut queue = self.queue();
        if queue.changes.len() >= LONGEST_QUEUE {
            return Err(Error::Unavailable(format!(
                "{LONGEST_QUEUE} changes are waiting for the disk already; try again later"
            )));
        }
        queue.changes.push_back(change);
        if !queue.led {
            queue.led = true;
            let writer = Arc::clone(self);
            tokio::task::spawn_blocking(move || writer.lead());
        }
        Ok(())
    }

    /// Commits group after group until nobody waits.
    fn lead(&self) {
        let mut desk = self.desk.lock().unwrap_or_else(PoisonError::into_inner);
        loop {
            let group: Vec<Box<dyn Change>> = {
                let mut queue = self.queue();
                let most = queue.changes.len().min(LARGEST_GROUP);
                if most == 0 {
                    queue.led = false;
                    return;
                }
                queue.changes.drain(..most).collect()
            };
            self.commit_group(&mut desk, group);
        }
    }

    fn commit_group(&self, desk: &mut Desk, group: Vec<Box<dyn Change>>) {
        let shared = &*self.shared;
        let before = desk.changes();
        let start = shared.tickets.mark();
        let mut group = group.into_iter();
        let mut finished = Vec::with_capacity(group.len());
        let outcome = desk.open(shared).and_then(|()| desk.run_group(shared, &mut group, &mut finished));
        match outcome {
            Ok(ring) => {
                shared.tickets.commit();
                if ring {
                    shared.bell.ring();
                }
                for (answer, fault) in finished {
                    let refused = fault.map(|fault| fault.tell(&shared.path));
                    answer.send(refused.as_ref().map_or(Ok(()), Err), shared);
                }
                // A connection that was opened meanwhile has begun to count anew.
                desk.checkpoints.committed(desk.changes().saturating_sub(before), &self.shared);
            }
            Err(fault) => {
                shared.numbers.failed.count();
                desk.give_up(&fault);
                let lost = shared.tickets.roll_back(start);
                let error = fault.tell(&shared.path);
                if matches!(error, Error::Full(_)) {
                    desk.make_room(shared);
                }
                // Once is enough: a disk that is full for an hour must not fill the log.
                if std::mem::replace(&mut desk.troubled, true) {
                    tracing::debug!(%error, "a group of changes was not committed");
                } else {
                    tracing::error!(%error, "changes cannot be committed; trying again with each that comes");
                }
                if lost {
                    shared.bell.ring();
                }
                for (answer, _) in finished {
                    answer.send(Err(&error), shared);
                }
                for change in group {
                    change.refuse(&error);
                }
            }
        }
    }

    /// Ends: what comes later is refused, and everything is in the file.
    pub(super) fn close(&self) -> Result<()> {
        let mut desk = self.desk.lock().unwrap_or_else(PoisonError::into_inner);
        let shared = &self.shared;
        desk.open(shared).map_err(|fault| fault.tell(&shared.path))?;
        desk.is_closed = true;
        desk.checkpoints.close();
        let Some(db) = desk.db.take() else { return Ok(()) };
        shared.opening.close(db).map_err(|fault| fault.tell(&shared.path))
    }

    fn queue(&self) -> MutexGuard<'_, Queue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Desk {
    /// How many rows the connection has changed.
    fn changes(&self) -> u64 {
        self.db.as_ref().map_or(0, Connection::total_changes)
    }

    /// Sees to it that there is a connection.
    fn open(&mut self, shared: &Shared) -> Outcome<()> {
        if self.is_closed {
            return Err(Error::Unavailable("the store is closed: the server stops".to_owned()).into());
        }
        if self.db.is_none() {
            shared.opening.forget_sum();
            let db = connection::writer(&shared.path, shared.settings.durability)?;
            // A commit that was reported as failed may have reached the disk after all, with claims that nobody got.
            claims::free_unheld(&db, &shared.tickets)?;
            self.db = Some(db);
            self.keeps_log = false;
        }
        Ok(())
    }

    /// Runs changes and commits; whether to ring. What ran is in `finished`, what did not is left in `group`.
    fn run_group(
        &mut self,
        shared: &Shared,
        group: &mut impl ExactSizeIterator<Item = Box<dyn Change>>,
        finished: &mut Vec<(Box<dyn Answer>, Option<Fault>)>,
    ) -> Outcome<bool> {
        let Self {
            db: Some(db),
            known,
            at_hand,
            settlement,
            sweeper,
            filing,
            revisions,
            audit_end,
            troubled,
            keeps_log,
            ..
        } = self
        else {
            return Err(Error::Unavailable("there is no connection".to_owned()).into());
        };
        let mut work = Work {
            db,
            settings: &shared.settings,
            tickets: &shared.tickets,
            sealer: &shared.sealer,
            unreadable: &shared.numbers.unreadable,
            known,
            at_hand,
            settlement,
            sweeper,
            filing,
            revisions,
            audit_end,
            tallies: Tallies::default(),
            ring: false,
        };
        let mut tallies = Tallies::default();
        let execute = |sql: &str| db.prepare_cached(sql)?.execute([]);
        let (before, began) = (db.total_changes(), Instant::now());
        if *keeps_log != shared.opening.keeps_log() {
            *keeps_log = !*keeps_log;
            connection::work_in_by_itself(db, !*keeps_log)?;
        }
        // A change that is alone needs no savepoint, for which SQLite would copy every page before it is changed.
        let single = group.len() == 1;
        execute("BEGIN IMMEDIATE")?;
        for change in group {
            let mark = shared.tickets.mark();
            let (rung, end) = (work.ring, *work.audit_end);
            if !single {
                execute("SAVEPOINT change")?;
            }
            let mut answer = change.run(&mut work);
            let fault = answer.fault();
            let alone = fault.as_ref().is_none_or(|fault| !db.is_autocommit() && !fault.spoils_connection());
            if !alone {
                finished.push((answer, None));
                return Err(fault.unwrap_or_else(|| Error::Failed("a change was lost".to_owned()).into()));
            }
            if fault.is_some() {
                execute(if single { "ROLLBACK" } else { "ROLLBACK TO change" })?;
                work.known.forget_all();
                work.at_hand.clear();
                work.filing.forget();
                *work.audit_end = end;
                work.ring = shared.tickets.roll_back(mark) || rung;
                work.tallies = Tallies::default();
            } else {
                tallies.take(&mut work.tallies);
            }
            let failed = fault.is_some();
            finished.push((answer, fault));
            match (single, failed) {
                (false, _) => execute("RELEASE change")?,
                (true, true) => return Ok(work.ring),
                (true, false) => 0,
            };
        }
        work.filing.step(db)?;
        counted::write(&tallies, db)?;
        work.audit_end.write(db)?;
        let commits = work.revisions.write(db, db.total_changes() > before)?;
        execute("COMMIT")?;
        if let Some(commits) = commits {
            shared.opening.committed(commits);
            shared.opening.look_at_log();
        }
        shared.numbers.commits.time(began.elapsed());
        tallies.minutes().for_each(|(_, tally)| shared.numbers.enter(tally));
        // A commit of nothing works on a full disk too.
        if db.total_changes() > before && std::mem::take(troubled) {
            tracing::info!("changes are committed again");
        }
        Ok(work.ring)
    }

    /// Gives the room back that the log takes, where there is enough left to work it into the file.
    fn make_room(&self, shared: &Shared) {
        const WORTH_IT: u64 = 1 << 20;
        let log = std::fs::metadata(examine::log_of(&shared.path)).map_or(0, |log| log.len());
        if let Some(db) = self.db.as_ref().filter(|_| log >= WORTH_IT) {
            shared.opening.forget_sum();
            let emptied = db.busy_timeout(Duration::ZERO).and_then(|()| connection::cut_log(db));
            // The connection waits again, as before.
            let _ = db.busy_timeout(connection::BUSY);
            match emptied {
                Ok(()) => tracing::info!(bytes = log, "the log was emptied to make room"),
                Err(error) => tracing::debug!(%error, "the log could not be emptied"),
            }
        }
    }

    /// Leaves nothing of a group that failed.
    fn give_up(&mut self, fault: &Fault) {
        self.known.forget_all();
        self.at_hand.clear();
        self.filing.forget();
        self.revisions.forget();
        self.audit_end.forget();
        let Some(db) = &self.db else { return };
        let clean = db.is_autocommit() || db.execute_batch("ROLLBACK").is_ok();
        if !clean || fault.spoils_connection() {
            self.db = None;
        }
    }
}
