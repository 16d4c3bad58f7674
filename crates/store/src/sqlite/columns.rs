//! Columns of SQLite that hold values of the model; `codec.rs` says how they look.

use jiff::Timestamp;
use model::Uuid;
use rusqlite::Row;

use crate::codec::instant;

/// An instant column that may be NULL.
pub(super) fn instant_or_none(row: &Row<'_>, column: usize) -> rusqlite::Result<Option<Timestamp>> {
    Ok(row.get::<_, Option<i64>>(column)?.map(instant))
}

/// An instant column.
pub(super) fn instant_of(row: &Row<'_>, column: usize) -> rusqlite::Result<Timestamp> {
    row.get(column).map(instant)
}

/// A UUID column.
pub(super) fn uuid_of(row: &Row<'_>, column: usize) -> rusqlite::Result<Uuid> {
    row.get::<_, [u8; 16]>(column).map(Uuid::from_bytes)
}
