//! A database as something to move to: filled batch by batch, each with the note how far it goes.

use std::pin::pin;

use model::{Clock, Timestamp};
use tokio::task::JoinHandle;
use tokio_postgres::binary_copy::BinaryCopyInWriter;
use tokio_postgres::config::TargetSessionAttrs;
use tokio_postgres::types::{FromSql, IsNull, ToSql, Type, private::BytesMut};
use tokio_postgres::{Client, Transaction};

use super::connection::Address;
use super::fault::{Fault, Outcome};
use super::moves::{self, Move, MoveState};
use super::{audit, migrations, partitions, session};
use crate::codec::{Coded, ticks};
use crate::moving::{AUDIT_CHAINS, Batch, Cell, Form, KINDS, Kind, Row};
use crate::seal::{KeyId, Keyring, Proofs, Sealed};
use crate::sqlite::Count;
use crate::{Error, Result};

/// A database that is being filled.
pub(crate) struct Destination {
    address: Address,
    client: Client,
    driver: JoinHandle<()>,
}

impl Drop for Destination {
    fn drop(&mut self) {
        self.driver.abort();
    }
}

/// What is there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Standing {
    /// Nothing: the tables are missing or have no rows.
    Empty,
    /// A move.
    Move(Move),
    /// Something that no move brought, such as this.
    Occupied(String),
}

/// How far a move is with a kind.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Progress {
    /// The key of the last row that is here.
    pub(crate) last: Option<Row>,
    /// How many rows were brought.
    pub(crate) rows: u64,
}

/// The index that a kind which grows has while it is being moved: its key is not one of the indexes that a store needs.
fn walking_index(kind: &Kind) -> String {
    format!("{}_moving", kind.table)
}

impl Destination {
    /// Connects. Nothing is changed.
    pub(crate) async fn open(url: &str) -> Result<Self> {
        let address = Address::parse(url)?;
        let told = |fault| tell(fault, &address.place);
        session::check(&address, TargetSessionAttrs::ReadWrite).await.map_err(told)?;
        let (client, connection) = address.line().await.map_err(told)?;
        let driver = tokio::spawn(async move {
            // Whoever waits for an answer is told what went wrong.
            let _ = connection.await;
        });
        let opened = Self { address, client, driver };
        // What is done at the end may take as long as it takes, and nobody else is there to wait for it.
        opened.run("SET statement_timeout = 0; SET idle_in_transaction_session_timeout = 60000").await?;
        Ok(opened)
    }

    /// The database, for messages.
    pub(crate) fn place(&self) -> &str {
        &self.address.place
    }

    /// What is there; nothing is changed.
    pub(crate) async fn standing(&self) -> Result<Standing> {
        self.told(self.look().await)
    }

    async fn look(&self) -> Outcome<Standing> {
        let Some(version) = migrations::look(&self.client, &self.address.place).await? else {
            let sql = "SELECT has_schema_privilege(current_schema(), 'CREATE')";
            let row = self.client.query_one(sql, &[]).await?;
            return match row.try_get::<_, Option<bool>>(0)? {
                Some(true) => Ok(Standing::Empty),
                _ => Err(Fault::Told(Error::Failed(format!(
                    "{}: this user may not make tables there, or there is no schema. GRANT CREATE ON SCHEMA … TO …",
                    self.address.place
                )))),
            };
        };
        if version >= migrations::TELLS
            && let Some(found) = moves::read(&self.client).await?
        {
            return Ok(Standing::Move(found));
        }
        // The chains of the audit are there from the first moment on.
        for kind in KINDS.iter().filter(|kind| kind.table != AUDIT_CHAINS) {
            let sql = format!("SELECT EXISTS (SELECT 1 FROM {})", kind.table);
            if self.client.query_one(&sql, &[]).await?.try_get(0)? {
                return Ok(Standing::Occupied(format!("it holds {}", kind.name())));
            }
        }
        let sql = "SELECT name FROM nodes WHERE lease_until > clock_timestamp() ORDER BY name";
        let nodes = self.client.query(sql, &[]).await?;
        let nodes: Vec<String> =
            nodes.iter().map(|row| row.try_get(0)).collect::<std::result::Result<_, _>>()?;
        if !nodes.is_empty() {
            return Ok(Standing::Occupied(format!("servers use it: {}", nodes.join(", "))));
        }
        Ok(Standing::Empty)
    }

    /// The keys that it needs already.
    pub(crate) async fn proofs(&self) -> Result<Proofs> {
        let found = async {
            if migrations::look(&self.client, &self.address.place).await?.is_none() {
                return Ok(Proofs::new());
            }
            let rows = self.client.query("SELECT id, proof FROM keys", &[]).await?;
            rows.iter()
                .map(|row| Ok((key_id(row.try_get(0)?)?, Sealed::from_column(row.try_get(1)?))))
                .collect()
        };
        self.told(found.await)
    }

    /// Takes an empty database for a move: from now on no node starts here until it is done.
    pub(crate) async fn begin(&mut self, new: &Move, keyring: &Keyring) -> Result<()> {
        let place = self.address.place.clone();
        let begun = async {
            migrations::run(&mut self.client, &place, migrations::newest()).await?;
            let transaction = self.client.transaction().await?;
            // A node that joins at this moment has joined, and is seen, or waits and sees the move.
            transaction.batch_execute("LOCK TABLE nodes IN EXCLUSIVE MODE").await?;
            let living = "SELECT 1 FROM nodes WHERE lease_until > clock_timestamp() LIMIT 1";
            if transaction.query_opt(living, &[]).await?.is_some()
                || moves::read(&transaction).await?.is_some()
            {
                return Err(Fault::Told(Error::Unavailable(format!(
                    "{place}: somebody else began to use it at the same moment; look again"
                ))));
            }
            // One that slept must not wake up in its old place. Programs that know nothing of moves stay out.
            transaction.execute("DELETE FROM nodes", &[]).await?;
            transaction
                .execute("UPDATE punctual_schema SET oldest = greatest(oldest, $1)", &[&migrations::TELLS])
                .await?;
            transaction
                .execute(
                    "INSERT INTO moves (id, store, source, state, began_at) VALUES ($1, $2, $3, $4, $5)",
                    &[&new.id, &new.store, &new.source, &(new.state.code() as i16), &ticks(new.began_at)],
                )
                .await?;
            for kind in KINDS {
                let sql = "INSERT INTO moves_progress (kind, rows) VALUES ($1, 0)";
                transaction.execute(sql, &[&kind.table]).await?;
                if kind.grows {
                    let sql = format!(
                        "CREATE INDEX {} ON {} ({})",
                        walking_index(kind),
                        kind.table,
                        kind.key.join(", ")
                    );
                    transaction.batch_execute(&sql).await?;
                }
            }
            note(&transaction, keyring, &Proofs::new()).await?;
            Ok(transaction.commit().await?)
        };
        begun.await.map_err(|fault| tell(fault, &place))
    }

    /// Makes the partitions of a time.
    pub(crate) async fn make_room(&mut self, oldest: Option<i64>, clock: &dyn Clock) -> Result<()> {
        let now = clock.now();
        let from = oldest.map_or(now, crate::codec::instant);
        let made = partitions::cover(&mut self.client, from, now).await;
        made.map_err(|fault| tell(fault, &self.address.place))
    }

    /// How far a kind is.
    pub(crate) async fn progress(&self, kind: &Kind) -> Result<Progress> {
        let found = async {
            let sql = "SELECT last, rows FROM moves_progress WHERE kind = $1";
            let row = self.client.query_opt(sql, &[&kind.table]).await?;
            let Some(row) = row else { return Ok(Progress::default()) };
            let last: Option<&str> = row.try_get(0)?;
            let unreadable =
                |error| Fault::Unreadable(format!("moves_progress.last of {}: {error}", kind.table));
            let last = last.map(serde_json::from_str).transpose().map_err(unreadable)?;
            Ok(Progress { last, rows: row.try_get::<_, i64>(1)?.unsigned_abs() })
        };
        self.told(found.await)
    }

    /// Brings a batch, and the note how far it goes, at once. `progress` is how far we know it to be.
    pub(crate) async fn write(&mut self, kind: &Kind, batch: &Batch, progress: &mut Progress) -> Result<()> {
        let place = self.address.place.clone();
        let Some(row) = batch.rows().last() else { return Ok(()) };
        let last = kind.key_of(row);
        let written = async {
            let transaction = self.client.transaction().await?;
            copy(&transaction, kind, batch).await?;
            let (before, after) = (text_of(progress.last.as_ref())?, text_of(Some(&last))?);
            let noted = transaction
                .execute(
                    "UPDATE moves_progress SET last = $2, rows = rows + $3
                     WHERE kind = $1 AND last IS NOT DISTINCT FROM $4",
                    &[&kind.table, &after, &(batch.rows().len() as i64), &before],
                )
                .await?;
            if noted != 1 {
                return Err(Fault::Told(Error::Failed(format!(
                    "{place}: another `punctual migrate` is at it. Let that one end, or stop it"
                ))));
            }
            Ok(transaction.commit().await?)
        };
        written.await.map_err(|fault| tell(fault, &place))?;
        progress.rows += batch.rows().len() as u64;
        progress.last = Some(last);
        Ok(())
    }

    /// Forgets everything that may have changed at the source since it was brought.
    pub(crate) async fn clear_what_changes(&mut self) -> Result<()> {
        let changing: Vec<&str> = KINDS.iter().filter(|kind| !kind.grows).map(|kind| kind.table).collect();
        let place = self.address.place.clone();
        let cleared = async {
            let transaction = self.client.transaction().await?;
            transaction.batch_execute(&format!("TRUNCATE {}", changing.join(", "))).await?;
            let sql = "UPDATE moves_progress SET last = NULL, rows = 0 WHERE kind = ANY($1)";
            transaction.execute(sql, &[&changing]).await?;
            Ok(transaction.commit().await?)
        };
        cleared.await.map_err(|fault| tell(fault, &place))
    }

    /// Removes the rows within a range, its beginning left out, that are not among those that the source has; how many.
    pub(crate) async fn remove_others(
        &self,
        kind: &Kind,
        after: i64,
        until: i64,
        keep: &[i64],
    ) -> Result<u64> {
        let (table, key) = (kind.table, kind.key[0]);
        let removed = async {
            let sql = format!("SELECT count(*) FROM {table} WHERE {key} > $1 AND {key} <= $2");
            let there: i64 = self.client.query_one(&sql, &[&after, &until]).await?.try_get(0)?;
            if there <= keep.len() as i64 {
                return Ok(0);
            }
            let sql = format!(
                "DELETE FROM {table} WHERE {key} > $1 AND {key} <= $2
                 AND NOT EXISTS (SELECT 1 FROM unnest($3::bigint[]) AS kept (key) WHERE kept.key = {table}.{key})"
            );
            Ok(self.client.execute(&sql, &[&after, &until, &keep]).await?)
        };
        self.told(removed.await)
    }

    /// The next rows after a key, in the order of their keys.
    pub(crate) async fn rows(&mut self, kind: &Kind, after: Option<&[Cell]>) -> Result<Batch> {
        let place = self.address.place.clone();
        read(&mut self.client, kind, after).await.map_err(|fault| tell(fault, &place))
    }

    /// Makes what only this side has: counts that go on where they were, due times in their order, the proofs of keys.
    pub(crate) async fn go_on(&mut self, counts: &[Count], keyring: &Keyring, source: &Proofs) -> Result<()> {
        let place = self.address.place.clone();
        let done = async {
            let transaction = self.client.transaction().await?;
            for Count { of, last } in counts {
                let sequence = match *of {
                    "revisions" => "'revisions'".to_owned(),
                    "history" | "ledger" => format!("'{of}_serials'"),
                    table => format!("pg_get_serial_sequence('{table}', 'id')"),
                };
                // A sequence that gave nothing yet begins with 1.
                let sql = format!("SELECT setval({sequence}, greatest($1::bigint, 1), $1 > 0)");
                transaction.query(&sql, &[last]).await?;
            }
            // Due times are a column there, and sorted in a table of their own here.
            transaction
                .batch_execute(
                    "TRUNCATE due;
                     INSERT INTO due (ahead, due_at, job_id, shard)
                     SELECT ahead, due_at, id, shard FROM jobs WHERE due_at IS NOT NULL
                     ORDER BY ahead, due_at, id",
                )
                .await?;
            let sql = "INSERT INTO subscriptions SELECT DISTINCT subscription_key FROM collections ON CONFLICT DO NOTHING";
            transaction.execute(sql, &[]).await?;
            note(&transaction, keyring, source).await?;
            Ok(transaction.commit().await?)
        };
        done.await.map_err(|fault| tell(fault, &place))
    }

    /// Whether every key that has sealed something here has its proof here.
    pub(crate) async fn unproven(&self) -> Result<Vec<String>> {
        let sql = "SELECT DISTINCT sealed_by FROM (
                     SELECT sealed_by FROM definitions UNION ALL SELECT sealed_by FROM executions) s
                   WHERE sealed_by IS NOT NULL AND NOT EXISTS (SELECT 1 FROM keys WHERE id = sealed_by)";
        let found = async {
            let rows = self.client.query(sql, &[]).await?;
            rows.iter().map(|row| Ok(row.try_get(0)?)).collect()
        };
        self.told(found.await)
    }

    /// Everything is here: nodes may start.
    pub(crate) async fn end(&mut self, id: &str, now: Timestamp) -> Result<()> {
        let place = self.address.place.clone();
        let ended = async {
            // What nodes ask for depends on it; without, the first hour would be slow.
            self.client.batch_execute("ANALYZE").await?;
            let transaction = self.client.transaction().await?;
            for kind in KINDS.iter().filter(|kind| kind.grows) {
                transaction.batch_execute(&format!("DROP INDEX IF EXISTS {}", walking_index(kind))).await?;
            }
            audit::make_chains(&transaction).await?;
            set_state(&transaction, id, MoveState::Done, now).await?;
            transaction.execute("DELETE FROM moves_progress", &[]).await?;
            Ok(transaction.commit().await?)
        };
        ended.await.map_err(|fault| tell(fault, &place))
    }

    /// Nothing here counts any more: no node starts. Refused while one lives.
    pub(crate) async fn undo(&mut self, id: &str, now: Timestamp) -> Result<()> {
        let place = self.address.place.clone();
        let undone = async {
            let transaction = self.client.transaction().await?;
            transaction.batch_execute("LOCK TABLE nodes IN EXCLUSIVE MODE").await?;
            let living = "SELECT name FROM nodes WHERE lease_until > clock_timestamp() LIMIT 1";
            if let Some(row) = transaction.query_opt(living, &[]).await? {
                let name: &str = row.try_get(0)?;
                return Err(Fault::Told(Error::Unavailable(format!(
                    "{place}: the server {name} runs on it. Stop every server of it first"
                ))));
            }
            transaction.execute("DELETE FROM nodes", &[]).await?;
            set_state(&transaction, id, MoveState::Undone, now).await?;
            Ok(transaction.commit().await?)
        };
        undone.await.map_err(|fault| tell(fault, &place))
    }

    async fn run(&self, sql: &str) -> Result<()> {
        self.told(self.client.batch_execute(sql).await.map_err(Fault::from))
    }

    fn told<T>(&self, outcome: Outcome<T>) -> Result<T> {
        outcome.map_err(|fault| tell(fault, &self.address.place))
    }
}

/// How many rows are fetched at a time; a batch may be full before it has all of its rows.
const FETCHED: i32 = 250;

async fn read(client: &mut Client, kind: &Kind, after: Option<&[Cell]>) -> Outcome<Batch> {
    let names: Vec<&str> = kind.columns.iter().map(|column| column.name).collect();
    let keys = kind.key.join(", ");
    let values: Vec<&(dyn ToSql + Sync)> =
        after.unwrap_or_default().iter().map(|cell| cell as &(dyn ToSql + Sync)).collect();
    let marks: Vec<String> = (1..=values.len()).map(|place| format!("${place}")).collect();
    let beyond =
        if marks.is_empty() { String::new() } else { format!("WHERE ({keys}) > ({})", marks.join(", ")) };
    let sql = format!(
        "SELECT {} FROM {} {beyond} ORDER BY {keys} LIMIT {}",
        names.join(", "),
        kind.table,
        Batch::ROWS
    );
    let transaction = client.transaction().await?;
    let portal = transaction.bind(&sql, &values).await?;
    let mut batch = Batch::default();
    while !batch.is_full() {
        let fetched = transaction.query_portal(&portal, FETCHED).await?;
        for row in &fetched {
            let cells = (0..names.len()).map(|place| row.try_get(place));
            batch.push(cells.collect::<std::result::Result<Row, _>>()?);
        }
        if (fetched.len() as i32) < FETCHED {
            break;
        }
    }
    transaction.commit().await?;
    Ok(batch)
}

async fn set_state(transaction: &Transaction<'_>, id: &str, state: MoveState, now: Timestamp) -> Outcome<()> {
    let sql = "UPDATE moves SET state = $2, ended_at = $3 WHERE id = $1";
    transaction.execute(sql, &[&id, &(state.code() as i16), &ticks(now)]).await?;
    Ok(())
}

/// Writes the proof of the key that seals, and those of the source that are among the keys given.
async fn note(transaction: &Transaction<'_>, keyring: &Keyring, source: &Proofs) -> Outcome<()> {
    let taken = source.iter().filter(|(id, _)| keyring.get(id).is_some());
    let mut proofs: Vec<(KeyId, Sealed)> = taken.map(|(id, proof)| (id.clone(), proof.clone())).collect();
    proofs.push((keyring.first().id().clone(), keyring.proof()?));
    for (id, proof) in proofs {
        let sql = "INSERT INTO keys (id, proof) VALUES ($1, $2) ON CONFLICT DO NOTHING";
        transaction.execute(sql, &[&id.as_str(), &proof.as_str()]).await?;
    }
    Ok(())
}

async fn copy(transaction: &Transaction<'_>, kind: &Kind, batch: &Batch) -> Outcome<()> {
    let names: Vec<&str> = kind.columns.iter().map(|column| column.name).collect();
    let types: Vec<Type> = kind.columns.iter().map(|column| type_of(column.form)).collect();
    let sql = format!("COPY {} ({}) FROM STDIN BINARY", kind.table, names.join(", "));
    let sink = transaction.copy_in(&sql).await?;
    let mut writer = pin!(BinaryCopyInWriter::new(sink, &types));
    for row in batch.rows() {
        writer.as_mut().write_raw(row).await?;
    }
    writer.finish().await?;
    Ok(())
}

fn text_of(key: Option<&Row>) -> Outcome<Option<String>> {
    Ok(key.map(crate::codec::to_json).transpose()?)
}

fn key_id(text: &str) -> Outcome<KeyId> {
    KeyId::read(text).ok_or_else(|| Fault::Unreadable(format!("keys: '{text}' is no id of a key")))
}

fn type_of(form: Form) -> Type {
    match form {
        Form::Number => Type::INT8,
        Form::Small => Type::INT2,
        Form::Flag => Type::BOOL,
        Form::Text => Type::TEXT,
        Form::Id => Type::UUID,
        Form::Bytes => Type::BYTEA,
    }
}

/// A move is not tried again by itself: whoever runs it does that.
fn tell(fault: Fault, place: &str) -> Error {
    fault.tell_for(place, "The same command goes on when that is over")
}

type Failure = Box<dyn std::error::Error + Sync + Send>;

impl ToSql for Cell {
    fn to_sql(&self, to: &Type, out: &mut BytesMut) -> std::result::Result<IsNull, Failure> {
        match self {
            Self::Null => Ok(IsNull::Yes),
            Self::Number(number) if *to == Type::INT2 => i16::try_from(*number)?.to_sql(to, out),
            Self::Number(number) => number.to_sql(to, out),
            Self::Flag(flag) => flag.to_sql(to, out),
            Self::Text(text) => text.to_sql(to, out),
            Self::Id(id) => id.to_sql(to, out),
            Self::Bytes(bytes) => bytes.to_sql(to, out),
        }
    }

    fn accepts(_: &Type) -> bool {
        true
    }

    tokio_postgres::types::to_sql_checked!();
}

impl<'a> FromSql<'a> for Cell {
    fn from_sql(of: &Type, bytes: &'a [u8]) -> std::result::Result<Self, Failure> {
        Ok(match *of {
            Type::INT2 => Self::Number(i16::from_sql(of, bytes)?.into()),
            Type::INT8 => Self::Number(i64::from_sql(of, bytes)?),
            Type::BOOL => Self::Flag(bool::from_sql(of, bytes)?),
            Type::UUID => Self::Id(model::Uuid::from_sql(of, bytes)?),
            Type::BYTEA => Self::Bytes(Vec::from_sql(of, bytes)?),
            _ => Self::Text(String::from_sql(of, bytes)?),
        })
    }

    fn from_sql_null(_: &Type) -> std::result::Result<Self, Failure> {
        Ok(Self::Null)
    }

    fn accepts(_: &Type) -> bool {
        true
    }
}
