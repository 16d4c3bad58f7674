//! The schema and how it came to be.
//!
//! A migration is a file of SQL; its place in [`MIGRATIONS`] is its number, and `PRAGMA user_version` counts those that
//! were run. That is all a framework would do here, and this way each migration and its number are one transaction.
//!
//! To change the schema: add a file, add it at the end of the list, never touch the older ones.

use rusqlite::{Connection, TransactionBehavior};

use super::fault::Outcome;
use crate::Error;

const MIGRATIONS: &[&str] = &[
    include_str!("migrations/0001_initial.sql"),
    include_str!("migrations/0002_groups.sql"),
    include_str!("migrations/0003_filing.sql"),
    include_str!("migrations/0004_sealing.sql"),
    include_str!("migrations/0005_live.sql"),
    include_str!("migrations/0006_moves.sql"),
    include_str!("migrations/0007_register.sql"),
    include_str!("migrations/0008_settling.sql"),
    include_str!("migrations/0009_copies.sql"),
    include_str!("migrations/0010_names.sql"),
    include_str!("migrations/0011_witness.sql"),
    include_str!("migrations/0012_clock.sql"),
];

/// "PUNC": marks the file as ours.
const APPLICATION: i64 = 0x5055_4E43;

/// Refuses files of other programs and of newer versions, before anything is written to them.
pub(super) fn check(db: &Connection) -> Outcome<()> {
    let application: i64 = db.pragma_query_value(None, "application_id", |row| row.get(0))?;
    let tables: i64 = db.query_row("SELECT count(*) FROM sqlite_schema", [], |row| row.get(0))?;
    if application != APPLICATION && (application != 0 || tables != 0) {
        return Err(Error::Failed(format!(
            "{} is a database of another program. Give another file, or a folder of its own",
            db.path().unwrap_or("the file")
        ))
        .into());
    }
    let version = version(db)?;
    if version > MIGRATIONS.len() {
        return Err(Error::Failed(format!(
            "{} was written by a newer version (schema {version}; this one knows up to {}). \
             Install that version again, or restore a backup made before the upgrade",
            db.path().unwrap_or("the file"),
            MIGRATIONS.len()
        ))
        .into());
    }
    Ok(())
}

/// Runs what was not run yet.
pub(super) fn run(db: &mut Connection) -> Outcome<()> {
    for (number, migration) in MIGRATIONS.iter().enumerate().skip(version(db)?) {
        let transaction = db.transaction_with_behavior(TransactionBehavior::Immediate)?;
        transaction.execute_batch(migration)?;
        transaction.pragma_update(None, "application_id", APPLICATION)?;
        transaction.pragma_update(None, "user_version", (number + 1) as i64)?;
        transaction.commit()?;
    }
    Ok(())
}

/// A store as the version with so many migrations left it.
#[cfg(test)]
pub(super) fn make_old(db: &Connection, version: usize) {
    MIGRATIONS[..version].iter().for_each(|migration| db.execute_batch(migration).unwrap());
    db.pragma_update(None, "application_id", APPLICATION).unwrap();
    db.pragma_update(None, "user_version", version as i64).unwrap();
}

/// The version of the schema that this program writes.
pub(super) fn newest() -> usize {
    MIGRATIONS.len()
}

/// The version of a file's schema.
pub(super) fn version(db: &Connection) -> Outcome<usize> {
    let version: i64 = db.pragma_query_value(None, "user_version", |row| row.get(0))?;
    Ok(usize::try_from(version).unwrap_or(usize::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The certificates of jobs that were written before they were listed are listed.
    #[test]
    fn certificates_of_earlier_schemas_are_listed() {
        let mut db = Connection::open_in_memory().unwrap();
        for migration in &MIGRATIONS[..3] {
            db.execute_batch(migration).unwrap();
        }
        db.pragma_update(None, "application_id", APPLICATION).unwrap();
        db.pragma_update(None, "user_version", 3).unwrap();
        // The object of an action, left open for what follows.
        let certificate = |name: &str, at: &str| {
            format!(
                r#"{{"call": {{"Http": {{"https": true, "request": {{"uri": "u", "method": "GET", "authentication":
                   {{"ClientCertificate": {{"pfx": "p", "password": "w", "thumbprint": "{name}", "subject": "CN={name}",
                   "expiration": "{at}"}}}}}}}}}}"#
            )
        };
        let definition = format!(
            r#"{{"action": {}, "on_error": {}}}}}"#,
            certificate("A", "2027-01-01T00:00:00Z"),
            certificate("B", "2028-01-01T00:00:00Z") + "}"
        );
        db.execute_batch(
            "INSERT INTO collections (id, subscription_key, group_key, name_key, document, plan, enabled, revision)
               VALUES (1, 's', 'g', 'c', '{}', 'standard', 1, 1);
             INSERT INTO jobs (id, collection_id, name, name_key, seed, state, ahead, executions, failures, faulted,
               next_number, last_faulted, generation, revision)
               VALUES (7, 1, 'j', 'j', x'00', 0, 1, 0, 0, 0, 0, 0, 1, 1), (8, 1, 'k', 'k', x'00', 0, 1, 0, 0, 0, 0, 0, 1, 1);
             INSERT INTO definitions (job_id, definition)
               VALUES (8, '{\"action\": {\"call\": {\"Http\": {\"request\": {\"uri\": \"u\"}}}}}');",
        )
        .unwrap();
        db.execute("INSERT INTO definitions (job_id, definition) VALUES (7, ?1)", [&definition]).unwrap();
        run(&mut db).unwrap();
        let mut statement =
            db.prepare("SELECT job_id, depth, expires_at, subject, thumbprint FROM certificates").unwrap();
        let found: Vec<(i64, i64, i64, String, String)> = statement
            .query_map([], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?, row.get(4)?)))
            .unwrap()
            .collect::<rusqlite::Result<_>>()
            .unwrap();
        let ticks = |text: &str| crate::codec::ticks(text.parse().unwrap());
        assert_eq!(
            found,
            [
                (7, 0, ticks("2027-01-01T00:00:00Z"), "CN=A".to_owned(), "A".to_owned()),
                (7, 1, ticks("2028-01-01T00:00:00Z"), "CN=B".to_owned(), "B".to_owned()),
            ]
        );
    }

    /// What the schemas before had listed as unfiled is filed, and what comes after it is not.
    #[test]
    fn unfiled_entries_of_earlier_schemas_are_filed() {
        let mut db = Connection::open_in_memory().unwrap();
        make_old(&db, 7);
        db.execute_batch(
            "INSERT INTO history (serial, job_id, started_at, ended_at, expected_at, depth, status, retry_count,
               repeat_count, message) VALUES (40, 7, 11, 12, 10, 0, 0, 0, 0, 'ok'), (41, 3, 21, 22, 20, 0, 0, 0, 0, 'ok');
             INSERT INTO history_filed VALUES (7, 11, 40);
             INSERT INTO history_unfiled VALUES (3, 21, 41);
             INSERT INTO ledger (serial, job_id, collection_id, due_at, due_until, occurrences, number, cause, fate,
               ended_at) VALUES (50, 7, 1, 10, 10, 1, 0, 0, 0, 12), (51, 3, 1, 20, 20, 1, 0, 0, 0, 22);
             INSERT INTO ledger_unfiled VALUES (7, 10, 50), (3, 20, 51);",
        )
        .unwrap();
        run(&mut db).unwrap();
        for (list, expected) in
            [("history_filed", [(3, 21, 41), (7, 11, 40)]), ("ledger_filed", [(3, 20, 51), (7, 10, 50)])]
        {
            let mut statement = db.prepare(&format!("SELECT job_id, at, serial FROM {list}")).unwrap();
            let found: Vec<(i64, i64, i64)> = statement
                .query_map([], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))
                .unwrap()
                .collect::<rusqlite::Result<_>>()
                .unwrap();
            assert_eq!(found, expected, "{list}");
        }
        let filed: (i64, i64) = db
            .query_row("SELECT history, ledger FROM filed", [], |row| Ok((row.get(0)?, row.get(1)?)))
            .unwrap();
        assert_eq!(filed, (41, 51));
    }

    /// What was written before entries were filed is found afterwards, and serials go on.
    #[test]
    fn entries_of_the_first_schema_are_filed() {
        let mut db = Connection::open_in_memory().unwrap();
        make_old(&db, 1);
        db.execute_batch(
            "INSERT INTO collections (id, subscription_key, group_key, name_key, document, plan, enabled, revision)
               VALUES (1, 's', 'g', 'c', '{}', 'standard', 1, 1);
             INSERT INTO jobs (id, collection_id, name, name_key, seed, state, ahead, executions, failures, faulted,
               next_number, last_faulted, generation, revision)
               VALUES (7, 1, 'j', 'j', x'00', 0, 1, 0, 0, 0, 0, 0, 1, 1);
             INSERT INTO history (serial, job_id, started_at, ended_at, expected_at, depth, status, retry_count,
               repeat_count, message) VALUES (40, 7, 11, 12, 10, 0, 0, 0, 0, 'ok'), (41, 7, 21, 22, 20, 0, 0, 0, 0, 'ok');
             DELETE FROM history WHERE serial = 41;
             INSERT INTO ledger (serial, job_id, collection_id, due_at, due_until, occurrences, number, cause, fate,
               ended_at) VALUES (50, 7, 1, 10, 10, 1, 0, 0, 0, 12);
             DELETE FROM ledger;",
        )
        .unwrap();
        run(&mut db).unwrap();
        assert_eq!(version(&db).unwrap(), MIGRATIONS.len());
        let row = |sql: &str| {
            db.query_row(sql, [], |row| {
                Ok((row.get::<_, i64>(0)?, row.get::<_, i64>(1)?, row.get::<_, i64>(2)?))
            })
            .unwrap()
        };
        assert_eq!(row("SELECT job_id, at, serial FROM history_filed"), (7, 11, 40));
        assert_eq!(row("SELECT job_id, started_at, serial FROM history WHERE message = 'ok'"), (7, 11, 40));
        db.execute_batch(
            "INSERT INTO history (job_id, started_at, ended_at, expected_at, depth, status, retry_count, repeat_count,
               message) VALUES (7, 31, 32, 30, 0, 0, 0, 0, 'ok');
             INSERT INTO ledger (job_id, collection_id, due_at, due_until, occurrences, number, cause, fate, ended_at)
               VALUES (7, 1, 30, 30, 1, 0, 0, 0, 32);",
        )
        .unwrap();
        assert_eq!(row("SELECT max(serial), (SELECT max(serial) FROM ledger), 0 FROM history"), (42, 51, 0));
        let mut broken = db.prepare("PRAGMA foreign_key_check").unwrap();
        assert!(broken.query([]).unwrap().next().unwrap().is_none());
    }
}
