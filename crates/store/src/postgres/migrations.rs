//! The schema, how it came to be, and which programs may use it.
//!
//! A migration is a file of SQL; its place in [`MIGRATIONS`] is its number, and one row counts those that were run. Each
//! migration and its number are one transaction, and nodes that start together take turns.
//!
//! # Two versions side by side
//!
//! Nodes are replaced one by one, so the version before goes on with the new schema: first a version expands (it adds
//! tables, columns with a default, indexes), and only the next one contracts (it takes away what the version before does
//! not use any more). Each migration says in `oldest` what a program must know to live with it, which is at the most the
//! number before its own. The database keeps the highest of these:
//!
//! - A program that knows less does not start, and does not join again after it was away.
//! - A program that knows enough starts, also on a schema that is newer than what it knows.
//! - A migration waits for nobody: where a node lives that knows too little for it, the program that brings it does not
//!   start, and names the nodes to replace first.
//!
//! To change the schema: add a file, add it at the end of the list, never touch the older ones.

use tokio_postgres::{Client, GenericClient, Transaction};

use super::fault::{Fault, Outcome};
use crate::Error;

struct Migration {
    sql: &'static str,
    /// The schema that a program must know to live with this one.
    oldest: i64,
}

const MIGRATIONS: &[Migration] = &[
    Migration { sql: include_str!("migrations/0001_initial.sql"), oldest: 1 },
    Migration { sql: include_str!("migrations/0002_moves.sql"), oldest: 1 },
    Migration { sql: include_str!("migrations/0003_register.sql"), oldest: 1 },
];

/// The first schema that says which programs may use it, and has a book of moves.
pub(super) const TELLS: i64 = 2;

/// The newest schema that this program knows.
pub(super) fn newest() -> i64 {
    MIGRATIONS.len() as i64
}

/// What a database says about itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Schema {
    version: i64,
    oldest: i64,
}

/// Whether there are tables of another program where ours would be.
pub(super) async fn is_of_others(client: &impl GenericClient) -> Outcome<bool> {
    let others = client
        .query_opt(
            "SELECT 1 FROM information_schema.tables
             WHERE table_schema = current_schema() AND table_name IN ('jobs', 'executions', 'collections')
               AND NOT EXISTS (SELECT 1 FROM information_schema.tables
                               WHERE table_schema = current_schema() AND table_name = 'punctual_schema')
             LIMIT 1",
            &[],
        )
        .await?;
    Ok(others.is_some())
}

/// The version of a schema; `None` where there is none. Refuses databases of other programs and those that want a newer
/// one.
pub(super) async fn look(client: &impl GenericClient, place: &str) -> Outcome<Option<i64>> {
    if is_of_others(client).await? {
        return Err(Error::Failed(format!(
            "{place}: this is a database of another program. Give this one a database, or a schema, of its own"
        ))
        .into());
    }
    let sql = "SELECT 1 FROM information_schema.tables
               WHERE table_schema = current_schema() AND table_name = 'punctual_schema'";
    if client.query_opt(sql, &[]).await?.is_none() {
        return Ok(None);
    }
    let Some(schema) = read(client).await? else { return Ok(None) };
    admit(schema, newest(), place)?;
    Ok(Some(schema.version))
}

async fn read(client: &impl GenericClient) -> Outcome<Option<Schema>> {
    // A row as a whole can be asked for a column that it may not have.
    let sql = "SELECT version, coalesce((to_jsonb(s) ->> 'oldest')::bigint, 1) FROM punctual_schema s";
    let Some(row) = client.query_opt(sql, &[]).await? else { return Ok(None) };
    Ok(Some(Schema { version: row.try_get(0)?, oldest: row.try_get(1)? }))
}

fn admit(schema: Schema, known: i64, place: &str) -> Outcome<()> {
    if schema.oldest > known {
        return Err(Error::Failed(format!(
            "{place}: it was brought up to date by a newer version (schema {}) and needs one that knows schema {} at least; \
             this one knows up to {known}. Install that version again, or restore a backup made before the upgrade",
            schema.version, schema.oldest
        ))
        .into());
    }
    Ok(())
}

/// Refuses to let a node join that knows too little. A migration that is under way is waited for.
pub(super) async fn join(transaction: &Transaction<'_>, known: i64, place: &str) -> Outcome<()> {
    match read(transaction).await? {
        Some(schema) => admit(schema, known, place),
        None => Err(Fault::Unreadable("punctual_schema: there is no row".to_owned())),
    }
}

/// Runs what was not run yet, as a program that knows so much. Refuses before anything is written.
pub(super) async fn run(client: &mut Client, place: &str, known: i64) -> Outcome<()> {
    let known = usize::try_from(known).unwrap_or_default().min(MIGRATIONS.len());
    run_these(client, place, &MIGRATIONS[..known]).await
}

async fn run_these(client: &mut Client, place: &str, migrations: &[Migration]) -> Outcome<()> {
    look(client, place).await?;
    let known = migrations.len() as i64;
    let transaction = client.transaction().await?;
    transaction
        .batch_execute(
            "CREATE TABLE IF NOT EXISTS punctual_schema (version bigint NOT NULL);
             LOCK TABLE punctual_schema IN ACCESS EXCLUSIVE MODE",
        )
        .await?;
    let before = read(&transaction).await?;
    let mut schema = before.unwrap_or(Schema { version: 0, oldest: 1 });
    admit(schema, known, place)?;
    let to_run = migrations.iter().zip(1..).filter(|(_, number)| *number > schema.version);
    for (migration, number) in to_run.collect::<Vec<_>>() {
        nobody_is_left_behind(&transaction, schema, migration.oldest, place).await?;
        transaction.batch_execute(migration.sql).await?;
        schema = Schema { version: number, oldest: schema.oldest.max(migration.oldest) };
    }
    if before != Some(schema) {
        transaction.execute("DELETE FROM punctual_schema", &[]).await?;
        transaction.execute("INSERT INTO punctual_schema (version) VALUES ($1)", &[&schema.version]).await?;
        if schema.version >= TELLS {
            transaction.execute("UPDATE punctual_schema SET oldest = $1", &[&schema.oldest]).await?;
        }
    }
    Ok(transaction.commit().await?)
}

/// Refuses a migration while a node lives that could not live with it.
async fn nobody_is_left_behind(
    transaction: &Transaction<'_>,
    schema: Schema,
    oldest: i64,
    place: &str,
) -> Outcome<()> {
    // What every program knows needs no question; before nodes said what they know, there was nothing else.
    if oldest <= schema.oldest || schema.version < TELLS {
        return Ok(());
    }
    let sql = "SELECT name FROM nodes WHERE schema < $1 AND lease_until > clock_timestamp() ORDER BY name";
    let rows = transaction.query(sql, &[&oldest]).await?;
    let names: Vec<String> = rows.iter().map(|row| row.try_get(0)).collect::<Result<_, _>>()?;
    if names.is_empty() {
        return Ok(());
    }
    Err(Error::Failed(format!(
        "{place}: the schema of this version is too new for the nodes {}, which still run. Replace them by the version \
         before this one first, then start this one",
        names.join(", ")
    ))
    .into())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The rule of the module: nodes of the version before go on.
    #[test]
    fn every_migration_leaves_the_version_before_it_alone() {
        for (migration, number) in MIGRATIONS.iter().zip(1..) {
            assert!(migration.oldest <= (number - 1).max(1), "migration {number}");
        }
    }

    /// A version that takes something away waits until nobody uses it.
    #[tokio::test]
    async fn a_migration_does_not_leave_a_living_node_behind() {
        let Ok(url) = std::env::var("PUNCTUAL_TEST_POSTGRES") else {
            eprintln!("left out: PUNCTUAL_TEST_POSTGRES names no server; see scripts/with-postgres");
            return;
        };
        let (mut client, connection) = tokio_postgres::connect(&url, tokio_postgres::NoTls).await.unwrap();
        let driver = tokio::spawn(connection);
        let schema = format!("test_migrations_{}", std::process::id());
        let sql = format!("CREATE SCHEMA {schema}; SET search_path = {schema}");
        client.batch_execute(&sql).await.unwrap();
        run(&mut client, "here", newest()).await.unwrap();
        client
            .batch_execute(
                "INSERT INTO nodes (name, version, started_at, lease_until, schema)
                 VALUES ('old', 'v', 0, clock_timestamp() + interval '1 hour', 1),
                        ('gone', 'v', 0, clock_timestamp() - interval '1 hour', 1),
                        ('new', 'v', 0, clock_timestamp() + interval '1 hour', 2)",
            )
            .await
            .unwrap();
        let contracting = "ALTER TABLE nodes DROP COLUMN clock_offset";
        let next: Vec<Migration> = MIGRATIONS
            .iter()
            .map(|migration| Migration { sql: migration.sql, oldest: migration.oldest })
            .chain([Migration { sql: contracting, oldest: 2 }])
            .collect();
        let told =
            run_these(&mut client, "here", &next).await.err().map(|fault| fault.tell("here").to_string());
        assert!(told.as_deref().is_some_and(|told| told.contains("the nodes old, which")), "{told:?}");
        assert_eq!(
            read(&client).await.unwrap(),
            Some(Schema { version: newest(), oldest: 1 }),
            "nothing was changed"
        );
        client.batch_execute("DELETE FROM nodes WHERE name = 'old'").await.unwrap();
        run_these(&mut client, "here", &next).await.unwrap();
        assert_eq!(read(&client).await.unwrap(), Some(Schema { version: newest() + 1, oldest: 2 }));
        // This version knows enough to go on; the one before it does not.
        run(&mut client, "here", 2).await.unwrap();
        assert!(run(&mut client, "here", 1).await.is_err());
        client.batch_execute(&format!("DROP SCHEMA {schema} CASCADE")).await.unwrap();
        drop(client);
        let _ = driver.await;
    }

    #[test]
    fn who_knows_too_little_is_told_what_to_install() {
        let schema = Schema { version: 9, oldest: 7 };
        assert!(admit(schema, 7, "here").is_ok());
        let told = admit(schema, 6, "here").err().map(|fault| fault.tell("here").to_string());
        assert!(
            told.as_deref().is_some_and(|told| told.contains("schema 7") && told.contains("up to 6")),
            "{told:?}"
        );
    }
}
