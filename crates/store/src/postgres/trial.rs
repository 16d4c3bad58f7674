//! A trial ground: what a measurement needs of a database besides the store.
//!
//! It is a schema of its own, filled many rows at a time, brought to rest before something is measured, and read like a
//! meter. The rows are written with the encodings of the store, and nothing here is used by a server.

use std::collections::{HashMap, HashSet};

use jiff::Timestamp;
use model::{JobId, Overlap, Uuid};
use tokio_postgres::config::TargetSessionAttrs;
use tokio_postgres::error::SqlState;

use super::columns::{code, key, number};
use super::connection::Address;
use super::fault::{Fault, Outcome};
use super::work::{Work, change};
use super::{PostgresStore, collections, due, keys, session, shards};
use crate::codec::ticks;
use crate::seal::KeyId;
use crate::{Error, JobWrite, Result};

/// A schema for one measurement. It stays until it is [cleared](Self::clear).
pub struct TrialGround {
    address: Address,
    schema: String,
    /// The URL of the database.
    database: String,
    /// The URL of the schema.
    url: String,
    /// Where the functions are that read the records of the log, if there are any.
    log_readers: Option<String>,
}

/// What lies in the write-ahead log between two readings.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct LogPart {
    /// How many records.
    pub records: u64,
    /// How many of its bytes are whole pages: each is written when a page is changed for the first time after a
    /// checkpoint.
    pub whole_pages: u64,
}

/// What a database has done so far.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Meter {
    /// Bytes of the write-ahead log.
    pub wal: u64,
    /// The processes of the server, as its machine numbers them.
    pub processes: Vec<u32>,
}

impl TrialGround {
    /// Makes a schema in the database of a URL.
    pub async fn prepare(url: &str) -> Result<Self> {
        let mut ground = Self::make(url).await?;
        // Not everybody may, and not every server has it. It goes with the schema.
        let sql = format!("CREATE EXTENSION pg_walinspect SCHEMA {}", ground.schema);
        ground.log_readers = ground.run(&sql).await.is_ok().then(|| ground.schema.clone());
        Ok(ground)
    }

    /// Makes another schema in the same database. It reads the log by what this one has, so this one has to stay for as long:
    /// a database has one extension of a name.
    pub async fn another(&self) -> Result<Self> {
        Ok(Self { log_readers: self.log_readers.clone(), ..Self::make(&self.database).await? })
    }

    async fn make(database: &str) -> Result<Self> {
        let address = Address::parse(database)?;
        let checked = session::check(&address, TargetSessionAttrs::ReadWrite).await;
        checked.map_err(|fault| fault.tell(&address.place))?;
        let schema = format!("punctual_trial_{}", Uuid::new_v4().simple());
        let mark = if database.contains('?') { '&' } else { '?' };
        let url = format!("{database}{mark}options=-c%20search_path%3D{schema}");
        let ground = Self { address, schema, database: database.to_owned(), url, log_readers: None };
        ground.run(&format!("CREATE SCHEMA {}", ground.schema)).await?;
        Ok(ground)
    }

    /// The URL of the schema, for nodes.
    pub fn url(&self) -> &str {
        &self.url
    }

    /// Removes it with all that is in it.
    pub async fn clear(self) -> Result<()> {
        self.run(&format!("DROP SCHEMA {} CASCADE", self.schema)).await
    }

    /// Keeps the database from cleaning up by itself, which it does once a minute if at all: whether that falls into a
    /// measurement of a second would be luck. Whoever measures [does it](Self::sweep) between two of them.
    pub async fn clean_up_when_asked(&self) -> Result<()> {
        self.run(&format!(
            "DO $$ DECLARE name text; BEGIN
               FOR name IN SELECT c.oid::regclass::text FROM pg_class c
                           WHERE c.relkind = 'r' AND c.relnamespace = '{}'::regnamespace LOOP
                 EXECUTE 'ALTER TABLE ' || name || ' SET (autovacuum_enabled = off)';
               END LOOP;
             END $$",
            self.schema
        ))
        .await
    }

    /// Does now what a database does by and by after many changes: it cleans up and counts anew.
    pub async fn clean_up(&self) -> Result<()> {
        for table in ["jobs", "due", "definitions", "executions", "collections", "history", "ledger"] {
            self.run(&format!("VACUUM (ANALYZE) {}.{table}", self.schema)).await?;
        }
        Ok(())
    }

    /// Does the same after a few changes, as far as it is worth it.
    pub async fn sweep(&self) -> Result<()> {
        for table in ["jobs", "definitions", "executions"] {
            self.run(&format!("VACUUM (INDEX_CLEANUP OFF, TRUNCATE OFF) {}.{table}", self.schema)).await?;
        }
        // Due times that are gone lie where the next are looked for: a measurement would pass those of all before it.
        self.run(&format!("VACUUM (INDEX_CLEANUP ON, TRUNCATE OFF) {}.due", self.schema)).await
    }

    /// Writes everything to its files, now. Whether it could: not everybody may ask for it. Without it, what is written to
    /// the log depends on how long ago the database did so by itself.
    pub async fn write_pages(&self) -> Result<bool> {
        match self.run("CHECKPOINT").await {
            Err(Error::Failed(why)) if why.contains(SqlState::INSUFFICIENT_PRIVILEGE.code()) => Ok(false),
            other => other.map(|()| true),
        }
    }

    /// What the database has done so far.
    pub async fn meter(&self) -> Result<Meter> {
        let read = async {
            let (client, connection) = self.address.line().await?;
            let driver = tokio::spawn(connection);
            let row = client
                .query_one(
                    "SELECT (pg_current_wal_insert_lsn() - '0/0')::bigint,
                            (SELECT array_agg(pid) FROM pg_stat_activity)",
                    &[],
                )
                .await?;
            drop(client);
            let _ = driver.await;
            let (wal, processes): (i64, Vec<i32>) = (row.try_get(0)?, row.try_get(1)?);
            Ok(Meter {
                wal: u64::try_from(wal).unwrap_or_default(),
                processes: processes.into_iter().filter_map(|pid| u32::try_from(pid).ok()).collect(),
            })
        };
        read.await.map_err(|fault: Fault| fault.tell(&self.address.place))
    }

    /// What was written to the log between two readings; `None` where that cannot be read, or not any more: after a checkpoint
    /// the database may do away with what came before.
    pub async fn log_between(&self, before: &Meter, after: &Meter) -> Result<Option<LogPart>> {
        let Some(log_readers) = self.log_readers.as_ref().filter(|_| after.wal > before.wal) else {
            return Ok(None);
        };
        let read = async {
            let (client, connection) = self.address.line().await?;
            let driver = tokio::spawn(connection);
            client.batch_execute("SET statement_timeout = 0").await?;
            // What is not on the disk yet cannot be read: of the last commit everything is.
            let sql = format!(
                "SELECT count(*), coalesce(sum(fpi_length), 0)::bigint
                 FROM {log_readers}.pg_get_wal_records_info('0/0'::pg_lsn + $1::bigint::numeric,
                   least('0/0'::pg_lsn + $2::bigint::numeric, pg_current_wal_flush_lsn()))"
            );
            let row = client.query_one(&sql, &[&(before.wal as i64), &(after.wal as i64)]).await?;
            drop(client);
            let _ = driver.await;
            Ok(LogPart { records: number(&row, 0)?, whole_pages: number(&row, 1)? })
        };
        match read.await.map_err(|fault: Fault| fault.tell(&self.address.place)) {
            Err(Error::Failed(why)) if why.contains(SqlState::UNDEFINED_FILE.code()) => Ok(None),
            read => read.map(Some),
        }
    }

    async fn run(&self, sql: &str) -> Result<()> {
        let ran = async {
            let (client, connection) = self.address.line().await?;
            let driver = tokio::spawn(connection);
            // It takes as long as there are rows.
            client.batch_execute("SET statement_timeout = 0").await?;
            client.batch_execute(sql).await?;
            drop(client);
            let _ = driver.await;
            Ok(())
        };
        ran.await.map_err(|fault: Fault| fault.tell(&self.address.place))
    }
}

impl PostgresStore {
    /// Writes many jobs in a few statements: new ones, or in place of those that have their names. Their numbers.
    ///
    /// This is for a trial. It counts no limits, lists no certificates and asks nobody, so nothing of these jobs may be
    /// under way, and their collections must be there.
    pub async fn fill(&self, jobs: &[JobWrite]) -> Result<Vec<JobId>> {
        change!(&self.shared, work => fill(&mut work, jobs))
    }

    /// Lets jobs that have run, and will again, do so at other instants. Nothing else of them changes, so whoever knows
    /// them still does.
    pub async fn due_again(&self, jobs: &[(JobId, Timestamp)]) -> Result<()> {
        change!(&self.shared, work => due_again(&work, jobs))
    }

    /// What nobody can do without who claims jobs: reads what they are, unless that is known, and writes each. Nothing of
    /// them changes.
    pub async fn visit_to_claim(&self, jobs: &[JobId], known: bool) -> Result<()> {
        let ids: Vec<i64> = jobs.iter().map(|job| job.0).collect();
        change!(&self.shared, work => async {
            work.by_index().await?;
            if !known {
                let sql = "SELECT definition FROM definitions WHERE job_id = ANY($1)";
                all_there(work.query(sql, &[&ids]).await?.len(), &ids)?;
            }
            write_again(&work, &ids).await
        })
    }

    /// What nobody can do without who settles: writes each once more.
    pub async fn visit_to_settle(&self, jobs: &[JobId]) -> Result<()> {
        let ids: Vec<i64> = jobs.iter().map(|job| job.0).collect();
        change!(&self.shared, work => async {
            work.by_index().await?;
            write_again(&work, &ids).await
        })
    }
}

async fn due_again(work: &Work<'_>, jobs: &[(JobId, Timestamp)]) -> Outcome<()> {
    work.by_index().await?;
    let next: HashMap<i64, i64> = jobs.iter().map(|(job, at)| (job.0, ticks(*at))).collect();
    let ids: Vec<i64> = jobs.iter().map(|(job, _)| job.0).collect();
    let sql = "SELECT id, shard, ahead, due_at FROM jobs WHERE id = ANY($1) AND due_at IS NOT NULL ORDER BY id FOR UPDATE";
    let rows = work.query(sql, &[&ids]).await?;
    all_there(rows.len(), &ids)?;
    let mut moves = due::Moves::default();
    for row in &rows {
        let id = row.try_get(0)?;
        moves.note(id, row.try_get(1)?, row.try_get(2)?, row.try_get(3)?, next.get(&id).copied());
    }
    moves.write(work).await?;
    let at: Vec<i64> = ids.iter().filter_map(|id| next.get(id).copied()).collect();
    work.execute(
        "UPDATE jobs j SET next_at = new.at, due_at = new.at
         FROM unnest($1::bigint[], $2::bigint[]) AS new (id, at) WHERE j.id = new.id",
        &[&ids, &at],
    )
    .await?;
    Ok(())
}

async fn write_again(work: &Work<'_>, ids: &[i64]) -> Outcome<()> {
    let sql = "UPDATE jobs SET history_total = history_total WHERE id = ANY($1)";
    all_there(work.execute(sql, &[&ids]).await? as usize, ids)
}

fn all_there(found: usize, ids: &[i64]) -> Outcome<()> {
    if found == ids.len() {
        return Ok(());
    }
    Err(Fault::Told(Error::Failed(format!("{found} of {} jobs of a trial are there", ids.len()))))
}

async fn fill(work: &mut Work<'_>, jobs: &[JobWrite]) -> Outcome<Vec<JobId>> {
    let mut ids: HashMap<[&str; 3], i64> = HashMap::new();
    let mut collections = Vec::with_capacity(jobs.len());
    for path in jobs.iter().map(|write| &write.collection) {
        let names = [path.subscription.as_str(), &path.group, &path.name];
        let id = match ids.get(&names) {
            Some(id) => *id,
            None => {
                let missing = || Fault::Told(Error::Failed("a collection is not there".to_owned()));
                collections::find(work, path).await?.ok_or_else(missing)?
            }
        };
        ids.insert(names, id);
        collections.push(id);
    }
    let of = |value: fn(&JobWrite) -> i64| jobs.iter().map(value).collect::<Vec<i64>>();
    let shards: Vec<i16> = jobs.iter().map(|write| shards::of_job(&write.collection, &write.name)).collect();
    let names: Vec<&str> = jobs.iter().map(|write| write.name.as_str()).collect();
    let name_keys: Vec<String> = names.iter().map(|name| key(name)).collect();
    let seeds: Vec<Uuid> = jobs.iter().map(|write| write.seed).collect();
    let states: Vec<i16> = jobs.iter().map(|write| code(write.standing.state)).collect();
    let ahead: Vec<bool> = jobs.iter().map(|write| write.definition.overlap == Overlap::Allow).collect();
    let next: Vec<Option<i64>> = jobs.iter().map(|write| write.standing.next_at.map(ticks)).collect();
    let moved = move_on(work, &collections, &name_keys, &shards, &ahead, &next).await?;
    let rows = work
        .query(
            "INSERT INTO jobs (collection_id, shard, name, name_key, seed, state, ahead, executions, failures, faulted, \
             next_number, next_at, due_at, last_faulted, generation, revision)
             SELECT collection_id, shard, name, name_key, seed, state, ahead, 0, 0, 0, number, at, at, false, 1, \
               nextval('revisions')
             FROM unnest($1::bigint[], $2::smallint[], $3::text[], $4::text[], $5::uuid[], $6::smallint[],
                         $7::boolean[], $8::bigint[], $9::bigint[])
               AS new (collection_id, shard, name, name_key, seed, state, ahead, number, at)
             ON CONFLICT (collection_id, name_key) WHERE deleted_at IS NULL DO UPDATE SET
               seed = excluded.seed, state = excluded.state, ahead = excluded.ahead,
               next_number = excluded.next_number, next_at = excluded.next_at, due_at = excluded.due_at,
               generation = jobs.generation + 1, revision = excluded.revision, ended_at = NULL
             RETURNING id, collection_id, name_key",
            &[
                &collections,
                &shards,
                &names,
                &name_keys,
                &seeds,
                &states,
                &ahead,
                &of(|write| i64::from(write.standing.next_number)),
                &next,
            ],
        )
        .await?;
    // Nobody promises an order.
    let mut written: HashMap<(i64, String), i64> = HashMap::with_capacity(rows.len());
    for row in &rows {
        written.insert((row.try_get(1)?, row.try_get(2)?), row.try_get(0)?);
    }
    let keyring = work.shared.sealer.keyring();
    let (mut numbers, mut texts, mut sealed_by) = (Vec::new(), Vec::new(), Vec::new());
    for ((write, collection), name_key) in jobs.iter().zip(&collections).zip(name_keys) {
        let id = written.get(&(*collection, name_key)).copied();
        let id = id.ok_or_else(|| Fault::Unreadable("a job was not written".to_owned()))?;
        let sealed = keyring.seal(&write.definition, JobId(id))?;
        numbers.push(id);
        texts.push(sealed.text);
        sealed_by.push(sealed.key.as_ref().map(|key: &KeyId| key.as_str().to_owned()));
    }
    let new: Vec<i64> = numbers.iter().copied().filter(|id| !moved.contains(id)).collect();
    due::enter(work, &new).await?;
    if sealed_by.iter().any(Option::is_some) {
        keys::note(work, &keyring).await?;
    }
    work.execute(
        "INSERT INTO definitions (job_id, definition, sealed_by)
         SELECT * FROM unnest($1::bigint[], $2::text[], $3::text[])
         ON CONFLICT (job_id) DO UPDATE SET definition = excluded.definition, sealed_by = excluded.sealed_by",
        &[&numbers, &texts, &sealed_by],
    )
    .await?;
    let counted: Vec<i64> = ids.into_values().collect();
    work.execute(
        "UPDATE collections c
         SET jobs = (SELECT count(*) FROM jobs j WHERE j.collection_id = c.id AND j.deleted_at IS NULL)
         WHERE c.id = ANY($1)",
        &[&counted],
    )
    .await?;
    Ok(numbers.into_iter().map(JobId).collect())
}

/// Gives jobs that are there already their new due times, as a claim does. Whose these are.
async fn move_on(
    work: &Work<'_>,
    collections: &[i64],
    names: &[String],
    shards: &[i16],
    ahead: &[bool],
    next: &[Option<i64>],
) -> Outcome<HashSet<i64>> {
    // Each by its name, along an index. As one join it would go by statistics, and a table that is being filled has none.
    let rows = work
        .query(
            "SELECT place, j.id, j.ahead, j.due_at
             FROM unnest($1::bigint[], $2::text[]) WITH ORDINALITY AS new (collection_id, name_key, place)
             CROSS JOIN LATERAL (
               SELECT id, ahead, due_at FROM jobs
               WHERE collection_id = new.collection_id AND name_key = new.name_key AND deleted_at IS NULL LIMIT 1) j",
            &[&collections, &names],
        )
        .await?;
    let (mut moves, mut moved) = (due::Moves::default(), HashSet::with_capacity(rows.len()));
    for row in &rows {
        let place = number::<usize>(row, 0)? - 1;
        let (id, due_at): (i64, Option<i64>) = (row.try_get(1)?, row.try_get(3)?);
        let Some(due_at) = due_at.filter(|_| row.try_get::<_, bool>(2).is_ok_and(|was| was == ahead[place]))
        else {
            return Err(Fault::Told(Error::Failed(
                "a job of a trial has another overlap, or is not due".to_owned(),
            )));
        };
        moves.note(id, shards[place], ahead[place], due_at, next[place]);
        moved.insert(id);
    }
    moves.write(work).await?;
    Ok(moved)
}
