//! Many rows with one statement.
//!
//! A statement has a price of its own, whatever it does: it is found, bound, begun and ended, and a table that counts its
//! rows looks up and writes the count. With many rows in it a statement pays that once.

use std::sync::LazyLock;

use rusqlite::types::{ToSql, ToSqlOutput, ValueRef};
use rusqlite::{Connection, params_from_iter};

use super::fault::Outcome;

/// How many rows a statement takes. Half of what there is to gain is gained with two, nearly all with these.
const ROWS: usize = 32;

/// A value of a row.
#[derive(Debug, Clone, Copy)]
pub(super) struct Cell<'a>(ValueRef<'a>);

impl From<i64> for Cell<'_> {
    fn from(value: i64) -> Self {
        Self(ValueRef::Integer(value))
    }
}

impl From<Option<i64>> for Cell<'_> {
    fn from(value: Option<i64>) -> Self {
        Self(value.map_or(ValueRef::Null, ValueRef::Integer))
    }
}

impl<'a> From<&'a str> for Cell<'a> {
    fn from(value: &'a str) -> Self {
        Self(ValueRef::Text(value.as_bytes()))
    }
}

impl<'a> From<Option<&'a [u8; 16]>> for Cell<'a> {
    fn from(value: Option<&'a [u8; 16]>) -> Self {
        Self(value.map_or(ValueRef::Null, |value| ValueRef::Blob(value)))
    }
}

impl ToSql for Cell<'_> {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        Ok(ToSqlOutput::Borrowed(self.0))
    }
}

/// An `INSERT` of rows with so many columns, made once.
pub(super) struct Insert<const WIDTH: usize> {
    one: LazyLock<String>,
    many: LazyLock<String>,
}

/// What follows `INSERT`, `INTO a_table (a, b)` with its columns, for [`Insert`].
///
/// With `OR FAIL`, SQLite does not copy every page before it changes it, to be able to take back a part of the statement;
/// where one fails, the whole change is taken back anyway.
macro_rules! insert {
    ($into:literal) => {
        $crate::sqlite::many::Insert::new(
            || $crate::sqlite::many::text($into, 1),
            || $crate::sqlite::many::text($into, $crate::sqlite::many::ROWS_OF_MANY),
        )
    };
}
pub(super) use insert;

/// For the macro.
pub(super) const ROWS_OF_MANY: usize = ROWS;

/// The text of a statement with so many rows; its columns are counted.
pub(super) fn text(into: &str, rows: usize) -> String {
    let row = format!("({})", vec!["?"; into.matches(',').count() + 1].join(", "));
    format!("INSERT {into} VALUES {}", vec![row; rows].join(", "))
}

impl<const WIDTH: usize> Insert<WIDTH> {
    pub(super) const fn new(one: fn() -> String, many: fn() -> String) -> Self {
        Self { one: LazyLock::new(one), many: LazyLock::new(many) }
    }

    /// Inserts rows in their order, a few at a time: all of them at once would be memory that is new for every settlement.
    /// The number of the last one, in a table that gives its rows numbers: those before it have the numbers before, as
    /// there is only one writer.
    pub(super) fn run<'c>(
        &self,
        db: &Connection,
        rows: impl Iterator<Item = Outcome<[Cell<'c>; WIDTH]>>,
    ) -> Outcome<i64> {
        let mut rows = rows.peekable();
        let mut bunch = Vec::with_capacity(ROWS);
        let mut many = None;
        while rows.peek().is_some() {
            bunch.clear();
            for row in rows.by_ref().take(ROWS) {
                bunch.push(row?);
            }
            if bunch.len() == ROWS {
                let statement = match &mut many {
                    Some(statement) => statement,
                    None => many.insert(db.prepare_cached(&self.many)?),
                };
                statement.execute(params_from_iter(bunch.as_flattened()))?;
            } else {
                let mut statement = db.prepare_cached(&self.one)?;
                for row in &bunch {
                    statement.execute(params_from_iter(row))?;
                }
            }
        }
        Ok(db.last_insert_rowid())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_get_numbers_in_a_row_however_many_there_are() {
        static ROWS_OF_TWO: Insert<2> = insert!("INTO t (a, b)");
        let db = Connection::open_in_memory().unwrap();
        db.execute_batch("CREATE TABLE t (n INTEGER PRIMARY KEY AUTOINCREMENT, a INTEGER, b TEXT) STRICT")
            .unwrap();
        let mut before = 0;
        for count in [1, 31, 32, 33, 100] {
            let texts: Vec<String> = (0..count).map(|i| i.to_string()).collect();
            let rows = texts.iter().zip(0..).map(|(text, i)| Ok([Cell::from(i), text.as_str().into()]));
            let last = ROWS_OF_TWO.run(&db, rows).unwrap();
            assert_eq!(last, before + count);
            let right: i64 = db
                .query_row(
                    "SELECT count(*) FROM t WHERE n > ?1 AND a = n - ?1 - 1 AND b = CAST(a AS TEXT)",
                    [before],
                    |row| row.get(0),
                )
                .unwrap();
            assert_eq!(right, count);
            before = last;
        }
    }
}
