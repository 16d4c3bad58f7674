//! New jobs: those that come to one collection at the same time are written together.
//!
//! The jobs of a collection are counted, so whoever adds one holds on to the collection until the commit. One by one, each
//! would wait for the disk once for all before it. So the first that comes is written at once, and those that come meanwhile
//! are written next, all in one transaction of a handful of statements. Collections do not wait for each other.
//!
//! Each gets the answer that it would get alone, in the order in which they came. What goes wrong with many is tried again one
//! by one, so that nobody fails for a stranger.

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use access::Note;
use model::{CollectionPath, JobId, Overlap, Uuid};
use tokio::sync::oneshot;

use super::collections::{self, Hold};
use super::columns::{code, key};
use super::fault::{Fault, Outcome};
use super::work::{Work, change};
use super::{Shared, certificates, keys, shards};
use crate::codec::ticks;
use crate::rows::created;
use crate::seal::{KeyId, SealedDefinition};
use crate::{Error, JobWrite, Result, StoredJob, Written};

/// The most that are written together: their collection is held for so long.
const TOGETHER: usize = 200;

/// A job that is to be there from now on, and what is noted with it.
struct Newcomer {
    write: JobWrite,
    note: Option<Arc<Note>>,
}

type Answer = oneshot::Sender<Result<Written<StoredJob>>>;

/// Who waits, by collection. One that is here has somebody who writes.
type Waiting = HashMap<[String; 3], Vec<(Newcomer, Answer)>>;

/// See the module.
#[derive(Default)]
pub(super) struct Newcomers(Mutex<Waiting>);

/// Writes a job that is new; see [`Store::put_job`](crate::Store::put_job).
pub(super) async fn put(
    shared: &Arc<Shared>,
    write: JobWrite,
    note: Option<Arc<Note>>,
) -> Result<Written<StoredJob>> {
    let CollectionPath { subscription, group, name } = &write.collection;
    let collection = [subscription, group, name].map(|name| key(name));
    let (answer, told) = oneshot::channel();
    if shared.newcomers.wait(&collection, Newcomer { write, note }, answer) {
        // In a task of its own: those who wait must not depend on a caller that may go away.
        tokio::spawn(write_all(Turn { shared: Arc::clone(shared), collection, is_over: false }));
    }
    told.await.unwrap_or_else(|_| Err(Error::Failed("a change was lost; see the log".to_owned())))
}

impl Newcomers {
    fn all(&self) -> MutexGuard<'_, Waiting> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits for its turn; whether nobody writes to that collection yet.
    fn wait(&self, collection: &[String; 3], newcomer: Newcomer, answer: Answer) -> bool {
        let mut all = self.all();
        let is_first = !all.contains_key(collection);
        all.entry(collection.clone()).or_default().push((newcomer, answer));
        is_first
    }
}

/// The right to write the new jobs of a collection. It ends when nobody waits.
struct Turn {
    shared: Arc<Shared>,
    collection: [String; 3],
    /// Whether it ended as it should; then the next may have begun already.
    is_over: bool,
}

impl Turn {
    /// Those who wait; `None`, and the turn is over, where there is nobody.
    fn next(&mut self) -> Option<Vec<(Newcomer, Answer)>> {
        let mut all = self.shared.newcomers.all();
        let waiting = all.get_mut(&self.collection)?;
        if waiting.is_empty() {
            all.remove(&self.collection);
            self.is_over = true;
            return None;
        }
        let many = waiting.len().min(TOGETHER);
        Some(waiting.drain(..many).collect())
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        if !self.is_over {
            // Whoever waits hears of it, and whoever comes next begins anew.
            self.shared.newcomers.all().remove(&self.collection);
        }
    }
}

async fn write_all(mut turn: Turn) {
    while let Some(waiting) = turn.next() {
        let (newcomers, answers): (Vec<Newcomer>, Vec<Answer>) = waiting.into_iter().unzip();
        let written = match write_together(&turn.shared, &newcomers).await {
            Ok(written) => written.into_iter().map(Ok).collect(),
            // What keeps the database from writing keeps it from writing one, too.
            Err(error @ (Error::Unavailable(_) | Error::Full(_))) => vec![Err(error); newcomers.len()],
            Err(error) if newcomers.len() == 1 => vec![Err(error)],
            Err(_) => {
                let mut written = Vec::with_capacity(newcomers.len());
                for newcomer in newcomers.chunks(1) {
                    let one = write_together(&turn.shared, newcomer).await;
                    written.push(one.and_then(|one| {
                        one.into_iter().next().ok_or_else(|| Error::Failed("a job has no answer".to_owned()))
                    }));
                }
                written
            }
        };
        for (answer, written) in answers.into_iter().zip(written) {
            // Whoever went away does not want to know.
            let _ = answer.send(written);
        }
    }
}

async fn write_together(shared: &Shared, newcomers: &[Newcomer]) -> Result<Vec<Written<StoredJob>>> {
    change!(shared, work => write(&mut work, newcomers))
}

/// Writes jobs of one collection; what became of each.
async fn write(work: &mut Work<'_>, newcomers: &[Newcomer]) -> Outcome<Vec<Written<StoredJob>>> {
    let Some(first) = newcomers.first() else { return Ok(Vec::new()) };
    let Some(collection) = collections::lock(work, &first.write.collection, Hold::Alone).await? else {
        return Ok(vec![Written::NoCollection; newcomers.len()]);
    };
    let names: Vec<String> = newcomers.iter().map(|newcomer| key(&newcomer.write.name)).collect();
    // Nobody else adds one now.
    let rows = work
        .query(
            // Each by its name, along an index: statistics of a table that is being filled say nothing.
            "SELECT c.jobs, c.enabled, ARRAY(
               SELECT name.key FROM unnest($2::text[]) AS name (key)
               CROSS JOIN LATERAL (
                 SELECT 1 FROM jobs WHERE collection_id = $1 AND name_key = name.key AND deleted_at IS NULL LIMIT 1) j)
             FROM collections c WHERE c.id = $1",
            &[&collection, &names],
        )
        .await?;
    let Some(row) = rows.first() else { return Ok(vec![Written::NoCollection; newcomers.len()]) };
    let (mut there, enabled): (i64, bool) = (row.try_get(0)?, row.try_get(1)?);
    let least = newcomers.iter().filter_map(|newcomer| newcomer.write.most).min();
    let mut finished = 0;
    if least.is_some_and(|least| there + newcomers.len() as i64 > i64::from(least)) {
        let living = living(work, collection).await?;
        finished = u64::try_from(there - living).unwrap_or_default();
        there = living;
    }
    let mut taken: HashSet<String> = row.try_get::<_, Vec<String>>(2)?.into_iter().collect();
    let (mut written, mut new) = (Vec::with_capacity(newcomers.len()), Vec::new());
    for (newcomer, name) in newcomers.iter().zip(names) {
        if taken.contains(&name) {
            written.push(Some(Written::Changed));
        } else if newcomer.write.most.is_some_and(|most| there >= i64::from(most)) {
            let there = u64::try_from(there).unwrap_or_default();
            written.push(Some(Written::Full { there, finished }));
        } else {
            there += 1;
            taken.insert(name.clone());
            new.push((&newcomer.write, name));
            // What comes of it is known when it is written.
            written.push(None);
        }
    }
    let made = if new.is_empty() { Vec::new() } else { create(work, collection, enabled, &new).await? };
    let mut made = made.into_iter();
    let mut told = Vec::with_capacity(newcomers.len());
    for (newcomer, written) in newcomers.iter().zip(written) {
        told.push(match written {
            Some(refused) => refused,
            None => {
                work.notes.extend(newcomer.note.clone());
                Written::Done(made.next().ok_or(Fault::Overtaken("a job was not written"))?)
            }
        });
    }
    Ok(told)
}

/// How many jobs of a collection are not finished: those count against its quota. They are counted in an index, and only
/// where a collection may be full, because a counter would be written by every job that ends.
async fn living(work: &Work<'_>, collection: i64) -> Outcome<i64> {
    let sql = "SELECT count(*) FROM jobs WHERE collection_id = $1 AND deleted_at IS NULL AND state IN (0, 1)";
    Ok(work.ids(sql, &[&collection]).await?.first().copied().unwrap_or_default())
}

/// Writes the rows of jobs, each with what it is found by; what came of them, in their order.
async fn create(
    work: &mut Work<'_>,
    collection: i64,
    enabled: bool,
    new: &[(&JobWrite, String)],
) -> Outcome<Vec<StoredJob>> {
    let due_at = |write: &JobWrite| write.standing.next_at.filter(|_| enabled);
    let writes = || new.iter().map(|(write, _)| *write);
    let shards: Vec<i16> = writes().map(|write| shards::of_job(&write.collection, &write.name)).collect();
    let names: Vec<&str> = writes().map(|write| write.name.as_str()).collect();
    let keys: Vec<&str> = new.iter().map(|(_, name)| name.as_str()).collect();
    let seeds: Vec<Uuid> = writes().map(|write| write.seed).collect();
    let states: Vec<i16> = writes().map(|write| code(write.standing.state)).collect();
    let ahead: Vec<bool> = writes().map(|write| write.definition.overlap == Overlap::Allow).collect();
    let numbers: Vec<i64> = writes().map(|write| i64::from(write.standing.next_number)).collect();
    let next: Vec<Option<i64>> = writes().map(|write| write.standing.next_at.map(ticks)).collect();
    let due: Vec<Option<i64>> = writes().map(|write| due_at(write).map(ticks)).collect();
    let paused: Vec<Option<i64>> = writes().map(|write| write.standing.paused_at.map(ticks)).collect();
    let rows = work
        .query(
            "WITH made AS (
               INSERT INTO jobs (collection_id, shard, name, name_key, seed, state, ahead, executions, failures, faulted, \
                 next_number, next_at, due_at, paused_at, last_faulted, generation, revision)
               SELECT $1, shard, name, name_key, seed, state, ahead, 0, 0, 0, number, next_at, due_at, paused_at, false, \
                 1, nextval('revisions')
               FROM unnest($2::smallint[], $3::text[], $4::text[], $5::uuid[], $6::smallint[], $7::boolean[],
                           $8::bigint[], $9::bigint[], $10::bigint[], $11::bigint[]) WITH ORDINALITY
                 AS new (shard, name, name_key, seed, state, ahead, number, next_at, due_at, paused_at, place)
               ORDER BY place
               RETURNING id, name_key, revision, ahead, due_at, shard),
             entered AS (
               INSERT INTO due (ahead, due_at, job_id, shard)
               SELECT ahead, due_at, id, shard FROM made WHERE due_at IS NOT NULL)
             SELECT id, name_key, revision FROM made",
            &[&collection, &shards, &names, &keys, &seeds, &states, &ahead, &numbers, &next, &due, &paused],
        )
        .await?;
    // Names tell them apart: nobody promises an order.
    let mut made: HashMap<&str, (i64, i64)> = HashMap::with_capacity(rows.len());
    for row in &rows {
        made.insert(row.try_get(1)?, (row.try_get(0)?, row.try_get(2)?));
    }
    let mut definitions = Vec::with_capacity(new.len());
    let mut stored = Vec::with_capacity(new.len());
    for (write, name) in new {
        let (id, revision) =
            made.get(name.as_str()).copied().ok_or(Fault::Overtaken("a job was not written"))?;
        definitions.push((JobId(id), &write.definition));
        stored.push(created(id, write, revision, enabled)?);
        work.due(due_at(write));
    }
    let keyring = work.shared.sealer.keyring();
    let mut sealed: Vec<(i64, SealedDefinition)> = Vec::with_capacity(new.len());
    for (id, definition) in &definitions {
        sealed.push((id.0, keyring.seal(definition, *id)?));
    }
    if sealed.iter().any(|(_, sealed)| sealed.key.is_some()) {
        keys::note(work, &keyring).await?;
    }
    // None of them waits for what another says, so they go together.
    tokio::try_join!(
        define(work, &sealed),
        certificates::list_new(work, &definitions),
        count(work, collection, new.len() as i64)
    )?;
    Ok(stored)
}

async fn define(work: &Work<'_>, sealed: &[(i64, SealedDefinition)]) -> Outcome<u64> {
    let ids: Vec<i64> = sealed.iter().map(|(id, _)| *id).collect();
    let texts: Vec<&str> = sealed.iter().map(|(_, sealed)| sealed.text.as_str()).collect();
    let keys: Vec<Option<&str>> =
        sealed.iter().map(|(_, sealed)| sealed.key.as_ref().map(KeyId::as_str)).collect();
    let sql = "INSERT INTO definitions (job_id, definition, sealed_by)
               SELECT * FROM unnest($1::bigint[], $2::text[], $3::text[])";
    work.execute(sql, &[&ids, &texts, &keys]).await
}

async fn count(work: &Work<'_>, collection: i64, new: i64) -> Outcome<u64> {
    work.execute("UPDATE collections SET jobs = jobs + $2 WHERE id = $1", &[&collection, &new]).await
}
