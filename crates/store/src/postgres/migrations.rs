//! The schema and how it came to be.
//!
//! A migration is a file of SQL; its place in [`MIGRATIONS`] is its number, and one row counts those that were run. Each
//! migration and its number are one transaction, and nodes that start together take turns.
//!
//! To change the schema: add a file, add it at the end of the list, never touch the older ones. Nodes are replaced one by
//! one, so the version before must be able to go on with the new schema.

use tokio_postgres::Client;

use super::fault::Outcome;
use crate::Error;

const MIGRATIONS: &[&str] =
    &[include_str!("migrations/0001_initial.sql"), include_str!("migrations/0002_register.sql")];

/// Runs what was not run yet. Refuses databases of other programs and of newer versions before anything is written.
pub(super) async fn run(client: &mut Client, place: &str) -> Outcome<()> {
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
    if others.is_some() {
        return Err(Error::Failed(format!(
            "{place}: this is a database of another program. Give this one a database, or a schema, of its own"
        ))
        .into());
    }
    let transaction = client.transaction().await?;
    transaction
        .batch_execute(
            "CREATE TABLE IF NOT EXISTS punctual_schema (version bigint NOT NULL);
             LOCK TABLE punctual_schema IN ACCESS EXCLUSIVE MODE",
        )
        .await?;
    let row = transaction.query_opt("SELECT version FROM punctual_schema", &[]).await?;
    let version: i64 = row.map_or(Ok(0), |row| row.try_get(0))?;
    let known = MIGRATIONS.len();
    let version = usize::try_from(version).unwrap_or(usize::MAX);
    if version > known {
        return Err(Error::Failed(format!(
            "{place}: it was written by a newer version (schema {version}; this one knows up to {known}). \
             Install that version again, or restore a backup made before the upgrade"
        ))
        .into());
    }
    for migration in &MIGRATIONS[version..] {
        transaction.batch_execute(migration).await?;
    }
    if version < known {
        transaction.execute("DELETE FROM punctual_schema", &[]).await?;
        let number = known as i64;
        transaction.execute("INSERT INTO punctual_schema (version) VALUES ($1)", &[&number]).await?;
    }
    Ok(transaction.commit().await?)
}
