//! A look at a database from outside: can it be reached, is it ours, may we write. Nothing is changed, and nobody joins.

use jiff::SignedDuration;
use model::{Clock, CollectionPath};
use tokio::time::Instant;
use tokio_postgres::Client;
use tokio_postgres::config::TargetSessionAttrs;
use tokio_postgres::error::SqlState;

use super::connection::Address;
use super::fault::{Fault, Outcome, is_refused_parameter, words};
use super::{columns, jobs, keys, migrations, nodes, session};
use crate::{KeyId, Keyring, Node, StoreClock, UnreadableJob};

/// Jobs that are read at a time.
const JOBS: i64 = 1_000;

/// The most missing rights that are named: whoever lacks one of them usually lacks them all.
const MOST_LACKING: i64 = 5;

/// What a database is found to be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DatabaseInspection {
    /// Where it is, without the password.
    pub place: String,
    /// Whether what is sent is encrypted; the certificate and the name were checked then.
    pub is_encrypted: bool,
    /// Whether it is on this machine.
    pub is_local: bool,
    /// The version of PostgreSQL, as it calls itself: `15.14`.
    pub version: String,
    /// The same to compare by: 150014.
    pub version_number: u64,
    /// Whether it can only be read at the moment, as a standby can.
    pub is_read_only: bool,
    /// What lies in it.
    pub schema: DatabaseSchema,
    /// The number of the newest schema that this version knows.
    pub newest_schema: u64,
    /// Rights that are missing, each in words, at most five.
    pub lacking: Vec<String>,
    /// How far its clock is ahead of this machine's.
    pub clock_offset: SignedDuration,
    /// The keys without which its secrets cannot be opened.
    pub keys: Vec<KeyId>,
    /// Who shares it.
    pub nodes: Vec<Node>,
}

/// What lies in a database.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DatabaseSchema {
    /// The path of schemas leads nowhere: there is no place for tables.
    Nowhere,
    /// Nothing yet.
    None,
    /// Tables of another program.
    OfOthers,
    /// Our own, which this user may not read.
    Closed,
    /// Our own.
    Ours {
        /// The number of the schema.
        number: u64,
        /// The oldest schema that a program must know to use it.
        oldest: u64,
    },
}

/// Why a database cannot be looked at: what it or the way to it says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum DatabaseFault {
    /// The URL cannot be right.
    Url(String),
    /// Nobody answers.
    Away(String),
    /// It is not possible to speak in secret, or not known to whom.
    Encryption(String),
    /// The user or the password is not accepted.
    Login(String),
    /// There is no database of this name.
    Absent(String),
    /// A pooler in between does not keep sessions.
    Pooled(String),
    /// Anything else.
    Other(String),
}

/// Looks at a database.
pub async fn inspect(url: &str, clock: &dyn Clock) -> Result<DatabaseInspection, DatabaseFault> {
    let address = Address::parse(url).map_err(|error| DatabaseFault::Url(error.to_string()))?;
    let unreached = |fault| match fault {
        Fault::Postgres(error) => unreached(&error),
        Fault::Pooled(why) => DatabaseFault::Pooled(why),
        Fault::Told(why) => DatabaseFault::Other(why.to_string()),
        silent => DatabaseFault::Away(silent.tell(&address.place).to_string()),
    };
    // A standby can be looked at as well.
    session::check(&address, TargetSessionAttrs::Any).await.map_err(unreached)?;
    let (client, connection) = address.line_for(TargetSessionAttrs::Any).await.map_err(unreached)?;
    let driver = tokio::spawn(connection);
    let found = look(&client, &address, clock).await;
    drop(client);
    // It ends when the client is gone; what it has to say, the client has said.
    let _ = driver.await;
    found.map_err(|fault| DatabaseFault::Other(fault.tell(&address.place).to_string()))
}

/// The jobs in a database that cannot be read as they are stored. Without keys, secrets are not opened.
pub async fn unreadable_jobs(
    url: &str,
    keyring: Option<&Keyring>,
) -> Result<Vec<UnreadableJob>, DatabaseFault> {
    let address = Address::parse(url).map_err(|error| DatabaseFault::Url(error.to_string()))?;
    let other = |fault: Fault| DatabaseFault::Other(fault.tell(&address.place).to_string());
    let (client, connection) = address.line_for(TargetSessionAttrs::Any).await.map_err(other)?;
    let driver = tokio::spawn(connection);
    let found = look_at_jobs(&client, keyring).await;
    drop(client);
    let _ = driver.await;
    found.map_err(other)
}

async fn look_at_jobs(client: &Client, keyring: Option<&Keyring>) -> Outcome<Vec<UnreadableJob>> {
    let sql = format!(
        "SELECT {}, d.definition, c.subscription_key, c.group_key, c.name_key
         FROM jobs j
         JOIN collections c ON c.id = j.collection_id
         LEFT JOIN definitions d ON d.job_id = j.id
         WHERE j.id > $1 AND j.deleted_at IS NULL ORDER BY j.id LIMIT $2",
        jobs::COLUMNS
    );
    let (mut found, mut last) = (Vec::new(), 0);
    loop {
        let rows = client.query(&sql, &[&last, &JOBS]).await?;
        for row in &rows {
            let text = |place: usize| row.try_get::<_, Option<&str>>(jobs::WIDTH + place);
            let job = jobs::read(row)?;
            last = job.id;
            if let Some(why) = job.fault(text(0)?, keyring) {
                let name = |place| Ok::<_, Fault>(text(place)?.unwrap_or_default().to_owned());
                let collection = CollectionPath { subscription: name(1)?, group: name(2)?, name: name(3)? };
                found.push(UnreadableJob { collection, name: job.name, why });
            }
        }
        if (rows.len() as i64) < JOBS {
            return Ok(found);
        }
    }
}

fn unreached(error: &tokio_postgres::Error) -> DatabaseFault {
    let says = words(error);
    if is_refused_parameter(error) {
        return DatabaseFault::Url(says);
    }
    match error.code() {
        Some(&(SqlState::INVALID_PASSWORD | SqlState::INVALID_AUTHORIZATION_SPECIFICATION)) => {
            return DatabaseFault::Login(says);
        }
        Some(&SqlState::INVALID_CATALOG_NAME) => return DatabaseFault::Absent(says),
        Some(_) => return DatabaseFault::Other(says),
        None => {}
    }
    // The crate tells its kinds apart only in words.
    match error.to_string() {
        kind if kind.starts_with("error performing TLS") => DatabaseFault::Encryption(says),
        // A password is wanted, and the URL has none.
        kind if kind.starts_with("invalid configuration") => DatabaseFault::Login(says),
        _ => DatabaseFault::Away(says),
    }
}

async fn look(client: &Client, address: &Address, clock: &dyn Clock) -> Outcome<DatabaseInspection> {
    let (time, before) = (StoreClock::starting_at(clock.now()), Instant::now());
    let row = client
        .query_one(
            &format!(
                "SELECT {}, current_setting('server_version'), current_setting('server_version_num')::bigint,
                        current_setting('transaction_read_only')::bool, current_schema()::text",
                nodes::NOW
            ),
            &[],
        )
        .await?;
    time.measure(before, columns::instant_of(&row, 0)?, Instant::now());
    let place: Option<String> = row.try_get(4)?;
    let schema = match place {
        None => DatabaseSchema::Nowhere,
        Some(_) => schema(client).await?,
    };
    let newest_schema = migrations::newest().unsigned_abs();
    // What a newer version keeps may lie elsewhere, unless it says that we can live with it.
    let is_readable = matches!(schema, DatabaseSchema::Ours { oldest, .. } if oldest <= newest_schema);
    let version: String = row.try_get(1)?;
    Ok(DatabaseInspection {
        place: address.place.clone(),
        is_encrypted: address.is_encrypted(),
        is_local: address.is_local(),
        // Distributions add the name of their package.
        version: version.split_whitespace().next().unwrap_or_default().to_owned(),
        version_number: columns::number(&row, 2)?,
        is_read_only: row.try_get(3)?,
        schema,
        newest_schema,
        lacking: if place.is_some() { lacking(client).await? } else { Vec::new() },
        clock_offset: time.ahead_of(clock),
        keys: if is_readable { key_ids(client).await? } else { Vec::new() },
        nodes: if is_readable { nodes::read(&client.query(nodes::LIST, &[]).await?, 0)? } else { Vec::new() },
    })
}

async fn schema(client: &Client) -> Outcome<DatabaseSchema> {
    if migrations::is_of_others(client).await? {
        return Ok(DatabaseSchema::OfOthers);
    }
    let sql = "SELECT has_table_privilege(to_regclass('punctual_schema'), 'SELECT')";
    match client.query_one(sql, &[]).await?.try_get::<_, Option<bool>>(0)? {
        None => return Ok(DatabaseSchema::None),
        Some(false) => return Ok(DatabaseSchema::Closed),
        Some(true) => {}
    }
    Ok(match migrations::read(client).await? {
        Some(schema) => DatabaseSchema::Ours {
            number: schema.version.unsigned_abs(),
            oldest: schema.oldest.unsigned_abs(),
        },
        None => DatabaseSchema::None,
    })
}

/// The rights that a node needs and this user does not have.
async fn lacking(client: &Client) -> Outcome<Vec<String>> {
    let rows = client
        .query(
            "-- Ours are the tables beside that of the schema's number that have the same owner.
             WITH ours AS (
               SELECT c.oid, c.relname, c.relowner FROM pg_class c
               JOIN pg_class mark ON mark.oid = to_regclass('punctual_schema')
                AND mark.relnamespace = c.relnamespace AND mark.relowner = c.relowner
               WHERE c.relkind IN ('r', 'p'))
             SELECT what FROM (
               SELECT 1 AS rank, 'to make tables in the schema ' || current_schema() AS what
               WHERE NOT has_schema_privilege(current_schema(), 'CREATE')
               UNION ALL
               -- Partitions are made and dropped, which only an owner may.
               SELECT DISTINCT 2, 'to act as ' || pg_get_userbyid(relowner) || ', who owns the tables'
               FROM ours WHERE NOT pg_has_role(relowner, 'USAGE')
               UNION ALL
               SELECT 3, 'to ' || lower(privilege) || ' in the table ' || relname
               FROM ours, unnest(ARRAY['SELECT', 'INSERT', 'UPDATE', 'DELETE']) privilege
               WHERE NOT has_table_privilege(oid, privilege)) lacking
             ORDER BY rank, what LIMIT $1",
            &[&MOST_LACKING],
        )
        .await?;
    Ok(rows.iter().map(|row| row.try_get(0)).collect::<Result<_, _>>()?)
}

async fn key_ids(client: &Client) -> Outcome<Vec<KeyId>> {
    let rows = client.query("SELECT id FROM keys ORDER BY id", &[]).await?;
    rows.iter().map(|row| keys::key_id(row.try_get(0)?)).collect()
}
