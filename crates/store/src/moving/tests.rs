//! That nothing is forgotten: the schema of the SQLite store against the list of what moves.

use std::collections::BTreeSet;

use rusqlite::Connection;

use super::{Form, KINDS, Origin};
use crate::conformance::keyring;
use crate::{SqliteSettings, SqliteStore};

/// Columns of the SQLite store that no kind has, and why. Without a dot: the whole table.
const STAYS: &[(&str, &str)] = &[
    ("executions.claimed", "claims end with the server, and a move waits for that"),
    ("revisions", "the count goes on as a sequence"),
    ("keys", "proofs are made or taken over for the keys that the destination is given"),
    ("history_filed", "an index there"),
    ("ledger_filed", "an index there"),
    ("filed", "about those lists"),
    ("traces", "about the pages of the file"),
    ("moves", "the book of moves itself"),
    ("sessions", "people sign in again"),
    ("clock_marks", "another store is served by another clock"),
    ("sqlite_sequence", "the counts go on as sequences"),
];

/// Every table with its columns and their types.
fn schema() -> Vec<(String, String, String)> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("punctual.db");
    let now = "2027-01-01T00:00:00Z".parse().unwrap();
    drop(SqliteStore::open(&path, SqliteSettings::new(keyring()), now).unwrap());
    let db = Connection::open(&path).unwrap();
    let mut statement = db
        .prepare(
            "SELECT s.name, c.name, c.type FROM sqlite_schema s JOIN pragma_table_info(s.name) c
             WHERE s.type = 'table'",
        )
        .unwrap();
    let columns = statement.query_map([], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?))).unwrap();
    columns.collect::<rusqlite::Result<_>>().unwrap()
}

#[test]
fn every_column_moves_or_has_a_reason_to_stay() {
    let there: BTreeSet<String> =
        schema().into_iter().map(|(table, column, _)| format!("{table}.{column}")).collect();
    let mut known = BTreeSet::new();
    for kind in KINDS {
        let same = kind.columns.iter().filter(|column| column.origin == Origin::Same);
        known.extend(same.map(|column| format!("{}.{}", kind.table, column.name)));
    }
    for (stays, reason) in STAYS {
        assert!(!reason.is_empty());
        let of_table = |name: &&String| *name == stays || name.split('.').next() == Some(stays);
        let found: Vec<String> = there.iter().filter(of_table).cloned().collect();
        assert!(!found.is_empty(), "there is no {stays}");
        for name in found {
            assert!(known.insert(name.clone()), "{name} moves and stays");
        }
    }
    let unknown: Vec<_> = there.difference(&known).collect();
    assert!(unknown.is_empty(), "a move would forget {unknown:?}: add them to a kind, or to STAYS");
    let gone: Vec<_> = known.difference(&there).collect();
    assert!(gone.is_empty(), "a move would look for {gone:?}, which are not there");
}

#[test]
fn every_column_is_read_as_what_it_is() {
    for (table, column, declared) in schema() {
        let Some(kind) = KINDS.iter().find(|kind| kind.table == table) else { continue };
        let Some(place) = kind.place(&column) else { continue };
        let form = match kind.columns[place].form {
            Form::Number | Form::Small | Form::Flag => "INTEGER",
            Form::Text => "TEXT",
            Form::Id | Form::Bytes => "BLOB",
        };
        assert_eq!(form, declared, "{table}.{column}");
    }
}
