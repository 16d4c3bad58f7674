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
//! number before its own, but for the one exception that [`DUE`] is. The database keeps the highest of these:
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
    Migration { sql: include_str!("migrations/0004_due.sql"), oldest: DUE },
    Migration { sql: include_str!("migrations/0005_tending.sql"), oldest: DUE },
    Migration { sql: include_str!("migrations/0006_executions.sql"), oldest: DUE },
    Migration { sql: include_str!("migrations/0007_small_tables.sql"), oldest: DUE },
    Migration { sql: include_str!("migrations/0008_living.sql"), oldest: DUE },
    Migration { sql: include_str!("migrations/0009_clock.sql"), oldest: DUE },
];

/// The first schema that says which programs may use it, and has a book of moves.
pub(super) const TELLS: i64 = 2;

/// The schema that took due times out of `jobs`. Programs on both sides of it cannot work together: it is the one step for
/// which all nodes have to be stopped.
const DUE: i64 = 4;

/// The newest schema that this program knows.
pub(super) fn newest() -> i64 {
    MIGRATIONS.len() as i64
}

/// What a database says about itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Schema {
    pub(super) version: i64,
    pub(super) oldest: i64,
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

/// What the database says about itself; `None` where no migration was run.
pub(super) async fn read(client: &impl GenericClient) -> Outcome<Option<Schema>> {
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
            // A migration takes as long as there are rows.
            "SET LOCAL statement_timeout = 0;
             CREATE TABLE IF NOT EXISTS punctual_schema (version bigint NOT NULL);
             LOCK TABLE punctual_schema IN ACCESS EXCLUSIVE MODE",
        )
        .await?;
    let before = read(&transaction).await?;
    let mut schema = before.unwrap_or(Schema { version: 0, oldest: 1 });
    admit(schema, known, place)?;
    let to_run = migrations.iter().zip(1..).filter(|(_, number)| *number > schema.version);
    for (migration, number) in to_run.collect::<Vec<_>>() {
        nobody_is_left_behind(&transaction, schema, migration.oldest, number, place).await?;
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
    number: i64,
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
    let remedy = if oldest < number {
        "Replace them by the version before this one first, then start this one"
    } else {
        "No version can work beside them during this step: stop them, then start this one"
    };
    Err(Error::Failed(format!(
        "{place}: the schema of this version is too new for the nodes {}, which still run. {remedy}",
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
            assert!(migration.oldest <= (number - 1).max(1) || number == DUE, "migration {number}");
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
        // The step that no version can take while others work says so.
        run(&mut client, "here", DUE - 1).await.unwrap();
        let old = DUE - 1;
        client.batch_execute(&node("old", old, 1)).await.unwrap();
        let told = refusal(run(&mut client, "here", newest()).await);
        assert!(told.contains("the nodes old, which") && told.contains("stop them"), "{told}");
        assert_eq!(
            read(&client).await.unwrap(),
            Some(Schema { version: old, oldest: 1 }),
            "nothing was changed"
        );
        client.batch_execute("DELETE FROM nodes").await.unwrap();
        run(&mut client, "here", newest()).await.unwrap();

        let (now, before) = (newest(), newest() - 1);
        let nodes = [node("old", before, 1), node("gone", before, -1), node("new", now, 1)];
        client.batch_execute(&nodes.join(";")).await.unwrap();
        let contracting = "ALTER TABLE nodes DROP COLUMN clock_offset";
        let next: Vec<Migration> = MIGRATIONS
            .iter()
            .map(|migration| Migration { sql: migration.sql, oldest: migration.oldest })
            .chain([Migration { sql: contracting, oldest: now }])
            .collect();
        let told = refusal(run_these(&mut client, "here", &next).await);
        assert!(told.contains("the nodes old, which") && told.contains("Replace them"), "{told}");
        assert_eq!(
            read(&client).await.unwrap(),
            Some(Schema { version: now, oldest: DUE }),
            "nothing was changed"
        );
        client.batch_execute("DELETE FROM nodes WHERE name = 'old'").await.unwrap();
        run_these(&mut client, "here", &next).await.unwrap();
        assert_eq!(read(&client).await.unwrap(), Some(Schema { version: now + 1, oldest: now }));
        // This version knows enough to go on; the one before it does not.
        run(&mut client, "here", now).await.unwrap();
        assert!(run(&mut client, "here", before).await.is_err());
        client.batch_execute(&format!("DROP SCHEMA {schema} CASCADE")).await.unwrap();
        drop(client);
        let _ = driver.await;
    }

    /// A node that knows a schema, with a lease of so many hours.
    fn node(name: &str, schema: i64, hours: i64) -> String {
        format!(
            "INSERT INTO nodes (name, version, started_at, lease_until, schema)
             VALUES ('{name}', 'v', 0, clock_timestamp() + interval '{hours} hours', {schema})"
        )
    }

    fn refusal(outcome: Outcome<()>) -> String {
        outcome.err().map(|fault| fault.tell("here").to_string()).unwrap_or_default()
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
