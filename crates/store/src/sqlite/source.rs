//! A store as something to move from: row by row, beside a server or in its place.

use std::path::{Path, PathBuf};

use model::{CollectionPath, Timestamp};
use rusqlite::types::ValueRef;
use rusqlite::{Connection, Row as SqliteRow, ToSql, params_from_iter};

use super::connection;
use super::fault::{Fault, Outcome};
use super::moves::{self, Mark, Moved};
use super::opening::{self, Opening, SqliteFile};
use super::{Durability, claims, keys, migrations, unsealed};
use crate::moving::{Batch, Cell, Column, Form, Kind, Origin, Row};
use crate::seal::{Keyring, Proofs};
use crate::{Error, Result};

/// A file that is being read.
pub(crate) struct Source {
    path: PathBuf,
    db: Connection,
    /// Held once no server is there.
    opening: Option<Opening>,
}

/// Where a count goes on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Count {
    /// The table that counts, or `revisions`.
    pub(crate) of: &'static str,
    /// The last number given.
    pub(crate) last: i64,
}

impl Source {
    /// Opens a file that must be there, to read.
    pub(crate) fn open(path: &Path) -> Result<Self> {
        if !path.is_file() {
            return Err(Error::Failed(format!(
                "{}: there is no such file. `--from sqlite:DIR` names a server's data folder, or the file punctual.db in it",
                path.display()
            )));
        }
        // Before SQLite looks at it, which takes a log that is not whole for a shorter one.
        opening::examine_unused(path, None)?;
        let opened = connection::reader(path).and_then(|db| {
            migrations::check(&db)?;
            let version = migrations::version(&db)?;
            if version == 0 {
                return Err(Error::Failed(format!("{}: there is no store in it", path.display())).into());
            }
            Ok(db)
        });
        let db = opened.map_err(|fault| fault.tell(path))?;
        Ok(Self { path: path.to_owned(), db, opening: None })
    }

    /// The version of its schema, and the one that it has when no server holds it.
    pub(crate) fn schema(&self) -> Result<(usize, usize)> {
        Ok((self.ask(migrations::version)?, migrations::newest()))
    }

    /// The keys that it needs.
    pub(crate) fn proofs(&self) -> Result<Proofs> {
        let (version, _) = self.schema()?;
        // Before the fourth schema there were none.
        if version < 4 { Ok(Proofs::new()) } else { self.ask(keys::proofs) }
    }

    /// What it knows about being moved; `None` where its schema is older.
    pub(crate) fn mark(&self) -> Result<Option<Mark>> {
        self.ask(moves::read)
    }

    /// Whether no server has it. Then it is ours, brought up to date and with all claims free, until this is dropped.
    ///
    /// A store that was moved away is held too.
    pub(crate) fn hold(&mut self, keyring: &Keyring, now: Timestamp) -> Result<bool> {
        if self.opening.is_some() {
            return Ok(true);
        }
        let Some(file) = SqliteFile::try_take(&self.path)? else { return Ok(false) };
        let taken = file.open(Durability::PowerFailure).and_then(|(db, opening)| {
            if moves::read(&db)?.is_none_or(|mark| mark.moved.is_none()) {
                keys::check(&db, keyring)?;
                unsealed::seal_all(&db, keyring)?;
                claims::free_all(&db, now)?;
            }
            Ok((db, opening))
        });
        let (db, opening) = taken.map_err(|fault| fault.tell(&self.path))?;
        (self.db, self.opening) = (db, Some(opening));
        Ok(true)
    }

    /// Whether somebody else has it; nothing is taken.
    pub(crate) fn is_served(&self) -> Result<bool> {
        Ok(self.opening.is_none() && connection::is_held(&self.path))
    }

    /// How many rows there are.
    pub(crate) fn count(&self, kind: &Kind) -> Result<u64> {
        let sql = format!("SELECT count(*) FROM {}", kind.table);
        self.ask(|db| Ok(db.query_row(&sql, [], |row| row.get(0))?))
    }

    /// Whether a table is there: earlier versions have fewer.
    pub(crate) fn has(&self, kind: &Kind) -> Result<bool> {
        let sql = "SELECT EXISTS (SELECT 1 FROM sqlite_schema WHERE type = 'table' AND name = ?1)";
        self.ask(|db| Ok(db.query_row(sql, [kind.table], |row| row.get(0))?))
    }

    /// The next rows after a key, in the order of their keys.
    pub(crate) fn rows(&self, kind: &Kind, after: Option<&[Cell]>) -> Result<Batch> {
        self.ask(|db| rows(db, kind, after))
    }

    /// The keys alone of the next rows of a kind whose key is one number.
    pub(crate) fn serials(&self, kind: &Kind, after: i64, most: u32) -> Result<Vec<i64>> {
        let key = kind.key[0];
        let sql = format!("SELECT {key} FROM {} WHERE {key} > ?1 ORDER BY {key} LIMIT ?2", kind.table);
        self.ask(|db| {
            let mut statement = db.prepare_cached(&sql)?;
            let found = statement.query_map([after, i64::from(most)], |row| row.get(0))?;
            Ok(found.collect::<rusqlite::Result<_>>()?)
        })
    }

    /// When the first row of a kind that grows ended.
    pub(crate) fn oldest(&self, kind: &Kind) -> Result<Option<i64>> {
        let sql = format!("SELECT ended_at FROM {} ORDER BY serial LIMIT 1", kind.table);
        self.ask(|db| {
            let mut statement = db.prepare_cached(&sql)?;
            let mut rows = statement.query([])?;
            Ok(rows.next()?.map(|row| row.get(0)).transpose()?)
        })
    }

    /// Where every count goes on.
    pub(crate) fn counts(&self) -> Result<Vec<Count>> {
        self.ask(|db| {
            let mut counts = Vec::new();
            for of in ["collections", "jobs", "executions", "history", "ledger"] {
                let sql = "SELECT coalesce(max(seq), 0) FROM sqlite_sequence WHERE name = ?1";
                counts.push(Count { of, last: db.query_row(sql, [of], |row| row.get(0))? });
            }
            let last = db.query_row("SELECT last FROM revisions", [], |row| row.get(0))?;
            counts.push(Count { of: "revisions", last });
            Ok(counts)
        })
    }

    /// Notes that a move copies from here while nobody changes anything.
    pub(crate) fn hold_still(&self, by: &str) -> Result<()> {
        self.ask(|db| moves::hold_still(db, by))
    }

    /// Notes that everything is elsewhere. No server starts here any more.
    pub(crate) fn leave(&self, moved: &Moved) -> Result<()> {
        self.ask(|db| moves::leave(db, moved))
    }

    /// Lets servers start here again.
    pub(crate) fn come_back(&self) -> Result<()> {
        self.ask(moves::come_back)
    }

    fn ask<T>(&self, question: impl FnOnce(&Connection) -> Outcome<T>) -> Result<T> {
        question(&self.db).map_err(|fault| fault.tell(&self.path))
    }
}

fn rows(db: &Connection, kind: &Kind, after: Option<&[Cell]>) -> Outcome<Batch> {
    let columns: Vec<String> = kind.columns.iter().map(selected).collect();
    let keys: Vec<String> = kind.key.iter().map(|name| format!("t.{name}")).collect();
    let keys = keys.join(", ");
    let beyond = match after {
        Some(after) => format!("WHERE ({keys}) > ({})", vec!["?"; after.len()].join(", ")),
        None => String::new(),
    };
    let sql = format!(
        "SELECT {} FROM {} t {} {beyond} ORDER BY {keys} LIMIT {}",
        columns.join(", "),
        kind.table,
        kind.with,
        Batch::ROWS
    );
    let mut statement = db.prepare_cached(&sql)?;
    let mut found = statement.query(params_from_iter(after.unwrap_or_default()))?;
    let mut batch = Batch::default();
    while !batch.is_full()
        && let Some(row) = found.next()?
    {
        let cells = kind.columns.iter().enumerate();
        let cells: Row =
            cells.map(|(place, column)| cell(kind, row, place, column)).collect::<Outcome<_>>()?;
        batch.push(cells);
    }
    Ok(batch)
}

fn selected(column: &Column) -> String {
    match column.origin {
        Origin::Same => format!("t.{}", column.name),
        Origin::Always(value) => value.to_owned(),
        Origin::Shard => "json_array(c.subscription_key, c.group_key, c.name_key, j.name_key)".to_owned(),
    }
}

fn cell(kind: &Kind, row: &SqliteRow<'_>, place: usize, column: &Column) -> Outcome<Cell> {
    let unreadable = |why: &str| {
        let id = row.get::<_, i64>(0).unwrap_or_default();
        Fault::unreadable(&format!("{}.{}", kind.table, column.name), id, why)
    };
    let value = row.get_ref(place)?;
    if column.origin == Origin::Shard {
        return shard(value)
            .map(|shard| Cell::Number(shard.into()))
            .ok_or_else(|| unreadable("its job is missing"));
    }
    Ok(match (column.form, value) {
        (_, ValueRef::Null) => Cell::Null,
        (Form::Number, ValueRef::Integer(number)) => Cell::Number(number),
        (Form::Small, ValueRef::Integer(number)) => {
            i16::try_from(number).map_err(|_| unreadable(&format!("{number} is out of range")))?;
            Cell::Number(number)
        }
        (Form::Flag, ValueRef::Integer(number)) => Cell::Flag(number != 0),
        // PostgreSQL knows every character but the one with the number 0.
        (Form::Text, ValueRef::Text(text)) => match std::str::from_utf8(text) {
            Ok(text) => Cell::Text(text.replace('\0', "\u{FFFD}")),
            Err(error) => return Err(unreadable(&error.to_string())),
        },
        (Form::Id, ValueRef::Blob(bytes)) => match bytes.try_into() {
            Ok(bytes) => Cell::Id(model::Uuid::from_bytes(bytes)),
            Err(_) => return Err(unreadable("it has not 16 bytes")),
        },
        (Form::Bytes, ValueRef::Blob(bytes)) => Cell::Bytes(bytes.to_owned()),
        (form, other) => return Err(unreadable(&format!("{:?} is no {form:?}", other.data_type()))),
    })
}

fn shard(names: ValueRef<'_>) -> Option<i16> {
    let names: [String; 4] = serde_json::from_str(names.as_str().ok()?).ok()?;
    let [subscription, group, name, job] = names;
    Some(crate::postgres::shard_of_job(&CollectionPath { subscription, group, name }, &job))
}

impl ToSql for Cell {
    fn to_sql(&self) -> rusqlite::Result<rusqlite::types::ToSqlOutput<'_>> {
        Ok(match self {
            Self::Null => rusqlite::types::Null.into(),
            Self::Number(number) => (*number).into(),
            Self::Flag(flag) => (*flag).into(),
            Self::Text(text) => text.as_str().into(),
            Self::Id(id) => id.as_bytes().as_slice().into(),
            Self::Bytes(bytes) => bytes.as_slice().into(),
        })
    }
}
