//! Moving: everything that a store on SQLite holds, to PostgreSQL.
//!
//! # The way
//!
//! History and ledger only grow and are cut at their old end, so they are copied while a server still runs on the source.
//! Everything else is copied once no server is there; the move then holds the source's lock itself. What was removed
//! meanwhile at the source is removed at the destination; then both are read again, decoded, and compared by counts and
//! sums. Only when they agree is the source marked as moved, and then the destination as complete, in this order: in
//! between nobody serves, and never do both.
//!
//! # Where it can stop
//!
//! Anywhere. Each batch and the note how far it goes are one transaction at the destination. What can change is copied
//! anew when a server has been at the source since; the mark `still` there tells.
//!
//! # The parts
//!
//! `kinds` lists what moves, `cell` is a value between two databases, `sealing` what becomes of secrets. Reading is for
//! `sqlite::Source`, writing for `postgres::Destination`.

mod cell;
mod kinds;
mod sealing;
#[cfg(test)]
mod tests;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use model::Clock;

use crate::postgres::{Destination, Move, MoveState, Progress, Standing};
use crate::seal::SealFault;
use crate::sqlite::{Mark, Moved, Source};
use crate::{Error, KeyId};

pub use cell::Sum;
pub(crate) use cell::{Cell, Form, Row};
pub(crate) use kinds::{AUDIT_CHAINS, Column, KINDS, Kind, Origin};
pub use sealing::MoveKeys;
use sealing::Sealing;

/// How often a server that is waited for is looked after.
const NAP: Duration = Duration::from_millis(500);

/// How many keys are compared at a time to find what was removed.
const SERIALS: u32 = 50_000;

/// Rows on their way, so many that a round trip does not matter and so few that memory does not.
#[derive(Debug, Default)]
pub(crate) struct Batch {
    rows: Vec<Row>,
    bytes: usize,
}

impl Batch {
    /// The most rows.
    pub(crate) const ROWS: usize = 5_000;
    /// About the most bytes; one row may have more.
    const BYTES: usize = 8 << 20;

    pub(crate) fn push(&mut self, row: Row) {
        self.bytes += row.iter().map(Cell::size).sum::<usize>();
        self.rows.push(row);
    }

    pub(crate) fn is_full(&self) -> bool {
        self.bytes >= Self::BYTES
    }

    pub(crate) fn rows(&self) -> &[Row] {
        &self.rows
    }
}

/// What is to be moved, and where.
#[derive(Debug, Clone)]
pub struct MoveSettings {
    /// The file of the SQLite store.
    pub from: PathBuf,
    /// The URL of the PostgreSQL database.
    pub to: String,
    /// The keys of both.
    pub keys: MoveKeys,
    /// Whether to wait for a server that uses the source.
    pub wait: bool,
}

/// What a move is doing, for whoever watches.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum MoveStep {
    /// So many of these are there, of so many.
    Copying {
        /// Of which kind.
        kind: String,
        /// Copied, in this run or before.
        done: u64,
        /// In all, as far as is known.
        of: u64,
    },
    /// Everything that can be copied beside a server is; now it waits for its end.
    Waiting,
    /// So many rows of both sides are compared, of so many.
    Comparing {
        /// Of which kind.
        kind: String,
        /// Compared.
        done: u64,
        /// In all.
        of: u64,
    },
}

/// A kind on both sides.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Compared {
    /// Which.
    pub kind: String,
    /// At the source.
    pub source: Sum,
    /// At the destination.
    pub destination: Sum,
}

/// How a run ended that did not fail.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum MoveEnd {
    /// Everything is at the destination.
    Moved(Vec<Compared>),
    /// It was there already.
    WasMoved,
    /// A server uses the source: what can be copied beside it is, so many rows in all.
    Served(u64),
}

/// What a move would do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MovePlan {
    /// The destination, without a password.
    pub to: String,
    /// How many rows of each kind there are, and how many of them are at the destination already.
    pub kinds: Vec<(String, u64, u64)>,
    /// The schema of the source, and the one that it is brought to.
    pub schema: (usize, usize),
    /// Whether a server uses the source.
    pub served: bool,
    /// Whether the source was moved already.
    pub was_moved: bool,
    /// The keys of the source that the destination is not given: their secrets are sealed anew.
    pub sealed_anew: Vec<KeyId>,
}

/// Why a move did not come to its end.
#[derive(Debug, thiserror::Error)]
pub enum MoveFault {
    /// It must not be.
    #[error("{0}")]
    Refused(String),
    /// Both sides are not the same.
    #[error("the two sides differ; the destination stays unfinished, and nothing was changed at the source")]
    Differs(Vec<Compared>),
    /// One of the databases failed.
    #[error(transparent)]
    Store(#[from] Error),
}

impl From<SealFault> for MoveFault {
    fn from(fault: SealFault) -> Self {
        Self::Store(Error::Failed(format!("a secret: {fault}")))
    }
}

type Result<T> = std::result::Result<T, MoveFault>;

/// Says what a move would do, after everything was checked that can be. Nothing is changed.
pub async fn plan_move(settings: &MoveSettings) -> Result<MovePlan> {
    let (source, destination) = (Source::open(&settings.from)?, Destination::open(&settings.to).await?);
    let mark = source.mark()?;
    let standing = destination.standing().await?;
    let found = judge(settings, mark.as_ref(), &standing, destination.place())?;
    let proofs = source.proofs()?;
    settings.keys.at_source().check_all(&proofs)?;
    settings.keys.destination.check_all(&destination.proofs().await?)?;
    let mut kinds = Vec::new();
    for kind in KINDS {
        let there = if source.has(kind)? { source.count(kind)? } else { 0 };
        let brought = if found.is_some() { destination.progress(kind).await?.rows } else { 0 };
        kinds.push((kind.name(), there, brought));
    }
    let given = &settings.keys.destination;
    Ok(MovePlan {
        to: destination.place().to_owned(),
        kinds,
        schema: source.schema()?,
        served: source.is_served()?,
        was_moved: found.is_some_and(|found| found.state == MoveState::Done),
        sealed_anew: proofs.into_keys().filter(|id| given.get(id).is_none()).collect(),
    })
}

/// Moves a store, or goes on with it.
pub async fn run_move(
    settings: &MoveSettings,
    clock: Arc<dyn Clock>,
    watch: &mut (dyn FnMut(MoveStep) + Send),
) -> Result<MoveEnd> {
    let source = Source::open(&settings.from)?;
    let destination = Destination::open(&settings.to).await?;
    let sealing = Sealing::new(&settings.keys);
    let mut moving = Moving { settings, source, destination, sealing, clock, watch };
    moving.run().await
}

/// Lets servers start at a source again that was moved away. With the destination's URL, no server starts there any more.
pub async fn undo_move(from: &Path, to: Option<&str>, clock: &dyn Clock) -> Result<()> {
    let mut source = Source::open(from)?;
    let from = from.display();
    let Some(moved) = source.mark()?.and_then(|mark| mark.moved) else {
        return Err(MoveFault::Refused(format!(
            "{from}: it was not moved anywhere; there is nothing to undo"
        )));
    };
    // Without keys: a store that was moved is taken as it is.
    let nobody = crate::Keyring::new(crate::Key::generate()?, []);
    if !source.hold(&nobody, clock.now())? {
        return Err(MoveFault::Refused(format!("{from}: another `punctual migrate` is at it")));
    }
    if let Some(to) = to {
        let mut destination = Destination::open(to).await?;
        match destination.standing().await? {
            Standing::Move(found) if found.id == moved.by => destination.undo(&found.id, clock.now()).await?,
            _ => {
                return Err(MoveFault::Refused(format!(
                    "{}: this is not where {from} was moved to; that is {}",
                    destination.place(),
                    moved.to
                )));
            }
        }
    }
    Ok(source.come_back()?)
}

/// Whether this source may go to this destination: the move to go on with, or `None` for a new one.
fn judge(
    settings: &MoveSettings,
    mark: Option<&Mark>,
    standing: &Standing,
    place: &str,
) -> Result<Option<Move>> {
    let from = settings.from.display();
    let refused = |why: String| Err(MoveFault::Refused(why));
    let moved = mark.and_then(|mark| mark.moved.as_ref());
    match standing {
        Standing::Move(found) if mark.is_some_and(|mark| mark.store == found.store) => {
            if let Some(moved) = moved.filter(|moved| moved.by != found.id) {
                return refused(format!("{from}: it was moved to {} before", moved.to));
            }
            match found.state {
                MoveState::UnderWay => Ok(Some(found.clone())),
                MoveState::Done if moved.is_some() => Ok(Some(found.clone())),
                MoveState::Done | MoveState::Undone => refused(format!(
                    "{place}: {from} was moved there before, and that was undone. Give an empty database; nothing was touched"
                )),
            }
        }
        Standing::Move(found) => refused(format!(
            "{place}: it belongs to a move from {}, which is another store than {from}. Give an empty database; nothing was \
             touched",
            found.source
        )),
        _ if moved.is_some() => {
            let to = moved.map_or("", |moved| &moved.to);
            refused(format!("{from}: it was moved to {to} before; nothing was touched"))
        }
        Standing::Occupied(what) => refused(format!(
            "{place}: the database is not empty ({what}). Give an empty one, or a schema of its own; nothing was touched"
        )),
        Standing::Empty => Ok(None),
    }
}

struct Moving<'s> {
    settings: &'s MoveSettings,
    source: Source,
    destination: Destination,
    sealing: Sealing,
    clock: Arc<dyn Clock>,
    watch: &'s mut (dyn FnMut(MoveStep) + Send),
}

impl Moving<'_> {
    async fn run(&mut self) -> Result<MoveEnd> {
        let keys = &self.settings.keys;
        keys.at_source().check_all(&self.source.proofs()?)?;
        keys.destination.check_all(&self.destination.proofs().await?)?;
        let standing = self.destination.standing().await?;
        let place = self.destination.place().to_owned();
        // Before the source is touched, too.
        judge(self.settings, self.source.mark()?.as_ref(), &standing, &place)?;
        let mut held = self.source.hold(&keys.at_source(), self.clock.now())?;
        let mark = self.known_mark()?;
        let id = match judge(self.settings, Some(&mark), &standing, &place)? {
            Some(found) if found.state == MoveState::Done => return Ok(MoveEnd::WasMoved),
            Some(found) => found.id,
            None => self.begin(&mark).await?,
        };
        let mut rows = self.copy_what_grows().await?;
        while !held {
            if !self.settings.wait {
                return Ok(MoveEnd::Served(rows));
            }
            (self.watch)(MoveStep::Waiting);
            tokio::time::sleep(NAP).await;
            held = self.source.hold(&keys.at_source(), self.clock.now())?;
            rows = self.copy_what_grows().await?;
        }
        self.finish(&id).await
    }

    /// Which store this is. One of an earlier version that a server uses cannot tell.
    fn known_mark(&self) -> Result<Mark> {
        let (schema, newest) = self.source.schema()?;
        self.source.mark()?.ok_or_else(|| {
            MoveFault::Refused(format!(
                "{}: the server that uses it is of an earlier version (its schema is {schema}, this one's {newest}). Stop it, \
                 or replace it by this version, and run the same command again",
                self.settings.from.display()
            ))
        })
    }

    async fn begin(&mut self, mark: &Mark) -> Result<String> {
        let mut bytes = [0; 16];
        crate::seal::random(&mut bytes)?;
        let id: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
        let new = Move {
            id: id.clone(),
            store: mark.store.clone(),
            source: self.settings.from.display().to_string(),
            state: MoveState::UnderWay,
            began_at: self.clock.now(),
        };
        self.destination.begin(&new, &self.settings.keys.destination).await?;
        let mut oldest = None;
        for kind in KINDS.iter().filter(|kind| kind.grows) {
            oldest = oldest.into_iter().chain(self.source.oldest(kind)?).min();
        }
        self.destination.make_room(oldest, &*self.clock).await?;
        Ok(id)
    }

    async fn copy_what_grows(&mut self) -> Result<u64> {
        let mut rows = 0;
        for kind in KINDS.iter().filter(|kind| kind.grows) {
            rows += self.copy(kind).await?;
        }
        Ok(rows)
    }

    /// Copies what of a kind is not there yet; how many rows were brought in all.
    async fn copy(&mut self, kind: &'static Kind) -> Result<u64> {
        let mut progress = self.destination.progress(kind).await?;
        let of = self.source.count(kind)?;
        loop {
            self.tell_copying(kind, &progress, of);
            let batch = self.source.rows(kind, progress.last.as_deref())?;
            if batch.rows().is_empty() {
                return Ok(progress.rows);
            }
            let mut sealed = Batch::default();
            for row in batch.rows {
                sealed.push(self.sealing.seal(kind, row)?);
            }
            self.destination.write(kind, &sealed, &mut progress).await?;
        }
    }

    fn tell_copying(&mut self, kind: &Kind, progress: &Progress, of: u64) {
        let (kind, done) = (kind.name(), progress.rows);
        // What was removed at the source since it was brought counts as done all the same.
        (self.watch)(MoveStep::Copying { kind, done, of: of.max(done) });
    }

    /// The part for which nobody else may be there.
    async fn finish(&mut self, id: &str) -> Result<MoveEnd> {
        let mark = self.known_mark()?;
        if mark.moved.is_none() && mark.still.as_deref() != Some(id) {
            // First there, then here: in between the next run does it again.
            self.destination.clear_what_changes().await?;
            self.source.hold_still(id)?;
        }
        self.copy_what_grows().await?;
        for kind in KINDS.iter().filter(|kind| kind.grows) {
            self.remove_what_is_gone(kind).await?;
        }
        for kind in KINDS.iter().filter(|kind| !kind.grows) {
            self.copy(kind).await?;
        }
        let (counts, proofs) = (self.source.counts()?, self.source.proofs()?);
        self.destination.go_on(&counts, &self.settings.keys.destination, &proofs).await?;
        let compared = self.compare().await?;
        let now = self.clock.now();
        if mark.moved.is_none() {
            let to = self.destination.place().to_owned();
            self.source.leave(&Moved { by: id.to_owned(), to, at: now })?;
        }
        self.destination.end(id, now).await?;
        Ok(MoveEnd::Moved(compared))
    }

    /// Removes what retention has removed at the source after it was copied.
    async fn remove_what_is_gone(&mut self, kind: &Kind) -> Result<()> {
        let mut after = i64::MIN;
        loop {
            let there = self.source.serials(kind, after, SERIALS)?;
            let until = if there.len() < SERIALS as usize { None } else { there.last().copied() };
            self.destination.remove_others(kind, after, until.unwrap_or(i64::MAX), &there).await?;
            match until {
                Some(until) => after = until,
                None => return Ok(()),
            }
        }
    }

    /// Reads both sides and compares what they say.
    async fn compare(&mut self) -> Result<Vec<Compared>> {
        let mut all = Vec::new();
        for kind in KINDS {
            let mut compared =
                Compared { kind: kind.name(), source: Sum::default(), destination: Sum::default() };
            let of = self.source.count(kind)? * 2;
            let (mut here, mut there) = (None, None);
            let (mut more_here, mut more_there) = (true, true);
            while more_here || more_there {
                if more_here {
                    let batch = self.source.rows(kind, here.as_deref())?;
                    more_here = self.add(kind, batch, &mut here, &mut compared.source, true);
                }
                if more_there {
                    let batch = self.destination.rows(kind, there.as_deref()).await?;
                    more_there = self.add(kind, batch, &mut there, &mut compared.destination, false);
                }
                let done = compared.source.rows + compared.destination.rows;
                if more_here || more_there {
                    (self.watch)(MoveStep::Comparing { kind: kind.name(), done, of: of.max(done) });
                }
            }
            all.push(compared);
        }
        if all.iter().any(|compared| compared.source != compared.destination) {
            return Err(MoveFault::Differs(all));
        }
        let unproven = self.destination.unproven().await?;
        if !unproven.is_empty() {
            let unproven = unproven.join(", ");
            return Err(Error::Failed(format!(
                "{}: no proof of the key {unproven}",
                self.destination.place()
            ))
            .into());
        }
        self.settings.keys.destination.check_all(&self.destination.proofs().await?)?;
        Ok(all)
    }

    /// Adds rows to a sum, and moves on; whether there were any.
    fn add(
        &self,
        kind: &Kind,
        batch: Batch,
        after: &mut Option<Row>,
        sum: &mut Sum,
        of_source: bool,
    ) -> bool {
        let Some(last) = batch.rows.last() else { return false };
        *after = Some(kind.key_of(last));
        for row in batch.rows {
            sum.add(&self.sealing.open(kind, row, of_source));
        }
        true
    }
}
