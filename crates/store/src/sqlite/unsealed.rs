//! Stores of earlier versions: their secrets are plain, and must leave no trace.
//!
//! All of it happens before the store is used. Rows are sealed in transactions of a bounded size, so it goes on where it
//! stopped when it is interrupted; then the file is built anew, without the pages in which something was deleted.

use model::JobId;
use rusqlite::{Connection, params};

use super::fault::Outcome;
use super::{connection, keys};
use crate::seal::{self, Keyring};

/// How many definitions are sealed in one transaction.
const BATCH: i64 = 1_000;

/// After how many definitions the log says how far it is.
const REPORT: u64 = 50_000;

/// Seals what is plain, and removes what is left of it in the file.
pub(super) fn seal_all(db: &Connection, keyring: &Keyring) -> Outcome<()> {
    let total: u64 = db.query_row(
        "SELECT (SELECT count(*) FROM definitions WHERE sealed_by = 'plain')
              + (SELECT count(*) FROM executions WHERE sealed_by = 'plain')",
        [],
        |row| row.get(0),
    )?;
    if total > 0 {
        tracing::info!(
            definitions = total,
            "the store is of an earlier version: its secrets are being sealed"
        );
        db.pragma_update(None, "secure_delete", "on")?;
        let mut done = 0;
        for (table, id) in [("definitions", "job_id"), ("executions", "id")] {
            while let sealed @ 1.. = seal_some(db, keyring, table, id)? {
                let before = done / REPORT;
                done += sealed;
                if done / REPORT > before {
                    tracing::info!(done, of = total, "secrets are being sealed");
                }
            }
        }
        db.pragma_update(None, "secure_delete", "fast")?;
    }
    remove_traces(db)
}

/// Seals a batch; how many definitions it had.
fn seal_some(db: &Connection, keyring: &Keyring, table: &str, id: &str) -> Outcome<u64> {
    let transaction = db.unchecked_transaction()?;
    let rows: Vec<(i64, i64, String)> = db
        .prepare_cached(&format!(
            "SELECT {id}, job_id, definition FROM {table} WHERE sealed_by = 'plain' LIMIT ?1"
        ))?
        .query_map(params![BATCH], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))?
        .collect::<rusqlite::Result<_>>()?;
    for (row, job, text) in &rows {
        let sealed = match seal::plain(text) {
            Ok(definition) => keyring.seal(&definition, JobId(*job))?,
            Err(fault) => {
                // What nobody can read, nobody can seal, and it can never run. It stays for whoever repairs it.
                tracing::error!(job, %fault, "a definition is unreadable; secrets in it are not sealed");
                seal::SealedDefinition { text: text.clone(), key: None }
            }
        };
        keys::write(db, table, id, *row, &sealed)?;
    }
    transaction.commit()?;
    Ok(rows.len() as u64)
}

/// Builds the file anew where plain secrets may linger in it or in its log.
fn remove_traces(db: &Connection) -> Outcome<()> {
    let linger: bool = db.query_row("SELECT linger FROM traces", [], |row| row.get(0))?;
    if !linger {
        return Ok(());
    }
    tracing::info!("the file is built anew, so that no plain secret is left in it");
    if let Err(error) = rebuild(db) {
        tracing::warn!(
            %error,
            "the file could not be built anew: plain secrets of deleted jobs may be left in it. It needs as much room \
             as the store has; the next start tries again"
        );
    }
    Ok(())
}

fn rebuild(db: &Connection) -> rusqlite::Result<()> {
    db.execute_batch("VACUUM")?;
    // The log still has what was there before, until it is cut.
    connection::cut_log(db)?;
    db.execute("UPDATE traces SET linger = 0", [])?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use model::Timestamp;
    use model::action::{Call, HttpAuthentication};

    use super::super::{SqliteSettings, SqliteStore, migrations};
    use super::*;
    use crate::conformance::{keyring, path};
    use crate::{Error, Key, Store};

    /// As the versions before wrote it: the password plain, and enough beside it to fill pages.
    fn definition(password: &str) -> String {
        format!(
            r#"{{"timing":{{}},"accepted_at":"2027-01-01T00:00:00Z","action":{{"call":{{"Http":{{"https":false,
            "request":{{"uri":"http://example.com/","method":"GET","body":"{}","authentication":{{"Basic":
            {{"username":"clerk","password":"{password}"}}}}}}}}}}}}}}"#,
            "b".repeat(500)
        )
    }

    /// A file with the schema of before: a thousand jobs, some deleted again, one execution with a definition of its own.
    /// It keeps its log as long as it is held.
    fn old_store(file: &Path) -> Connection {
        let db = Connection::open(file).unwrap();
        db.pragma_update(None, "journal_mode", "wal").unwrap();
        // Nobody pulls the plug on a test.
        db.pragma_update(None, "synchronous", "off").unwrap();
        migrations::make_old(&db, 3);
        let collection = r#"{"path":{"subscription":"Sub-1","group":"Group","name":"Team"},"location":"Local","tags":null,
            "state":"Enabled","plan":"Standard","quota":null,"resumed_at":null}"#;
        db.execute(
            "INSERT INTO collections (id, subscription_key, group_key, name_key, document, plan, enabled, jobs, revision)
             VALUES (1, 'sub-1', 'group', 'team', ?1, 'Standard', 1, 1500, 1)",
            params![collection],
        )
        .unwrap();
        for id in 1..=1_500 {
            db.execute(
                "INSERT INTO jobs (id, collection_id, name, name_key, seed, state, ahead, executions, failures, faulted,
                 next_number, last_faulted, generation, revision)
                 VALUES (?1, 1, 'j' || ?1, 'j' || ?1, zeroblob(16), 1, 1, 0, 0, 0, 0, 0, 1, 1)",
                params![id],
            )
            .unwrap();
            db.execute(
                "INSERT INTO definitions (job_id, definition) VALUES (?1, ?2)",
                params![id, definition(&format!("hunter-{id}-secret"))],
            )
            .unwrap();
        }
        db.execute(
            "INSERT INTO executions (id, job_id, generation, tag, number, due_at, cause, ahead, depth, attempt, claimed,
             definition) VALUES (1, 5, 1, zeroblob(16), 0, 0, 0, 0, 0, 1, 0, ?1)",
            params![definition("hunter-own-secret")],
        )
        .unwrap();
        // What was deleted lingers in pages that are free now.
        db.execute("DELETE FROM definitions WHERE job_id > 1200", []).unwrap();
        db.execute("UPDATE definitions SET definition = 'unreadable' WHERE job_id = 7", []).unwrap();
        db
    }

    fn occurrences(folder: &Path, what: &str) -> usize {
        let files = std::fs::read_dir(folder).unwrap().flatten();
        let bytes = files.flat_map(|file| std::fs::read(file.path()).unwrap()).collect::<Vec<u8>>();
        bytes.windows(what.len()).filter(|window| *window == what.as_bytes()).count()
    }

    #[tokio::test]
    async fn a_store_of_before_is_sealed_without_a_trace() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("punctual.db");
        let _as_if_killed = old_store(&file);
        assert!(folder.path().join("punctual.db-wal").metadata().unwrap().len() > 0, "there is a log");
        assert!(occurrences(folder.path(), "hunter-") > 1_200, "it can be found where it is");
        assert!(occurrences(folder.path(), "hunter-1450-secret") > 0, "also where it was deleted");

        let store = SqliteStore::open(&file, SqliteSettings::new(keyring()), Timestamp::UNIX_EPOCH).unwrap();
        assert_eq!(occurrences(folder.path(), "hunter-"), 0);
        assert_eq!(
            occurrences(folder.path(), "clerk"),
            1_200,
            "all but the unreadable one, and the execution's"
        );
        let job = store.job(&path(), "j1200").await.unwrap().unwrap().job;
        let Call::Http { request, .. } = job.definition.action.call else { panic!("another call") };
        let Some(HttpAuthentication::Basic { password, .. }) = request.authentication else { panic!("none") };
        assert_eq!(password.expose(), "hunter-1200-secret");
        assert_eq!(store.keys().await.unwrap()[0].definitions, 1_200);
        drop(store);
        let other = SqliteSettings::new(Keyring::new(Key::generate().unwrap(), []));
        let refused = SqliteStore::open(&file, other, Timestamp::UNIX_EPOCH).err().unwrap();
        assert!(matches!(refused, Error::Keys(_)), "{refused}");
    }

    /// Killed after a batch, before the next.
    #[tokio::test]
    async fn sealing_goes_on_where_it_was_interrupted() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("punctual.db");
        drop(old_store(&file));
        {
            let mut db = Connection::open(&file).unwrap();
            migrations::run(&mut db).unwrap();
            keys::check(&db, &keyring()).unwrap();
            assert_eq!(seal_some(&db, &keyring(), "definitions", "job_id").unwrap(), BATCH as u64);
        }
        let store = SqliteStore::open(&file, SqliteSettings::new(keyring()), Timestamp::UNIX_EPOCH).unwrap();
        assert_eq!(store.keys().await.unwrap()[0].definitions, 1_200);
        assert!(store.job(&path(), "j1").await.unwrap().is_some());
        assert_eq!(occurrences(folder.path(), "hunter-"), 0);
    }
}
