//! Columns of PostgreSQL that hold values of the model; `codec.rs` says how they look.

use jiff::Timestamp;
use tokio_postgres::Row;

use super::fault::{Fault, Outcome};
use crate::codec::{self, Coded, instant};

/// An instant column that may be NULL.
pub(super) fn instant_or_none(row: &Row, column: usize) -> Outcome<Option<Timestamp>> {
    Ok(row.try_get::<_, Option<i64>>(column)?.map(instant))
}

/// An instant column.
pub(super) fn instant_of(row: &Row, column: usize) -> Outcome<Timestamp> {
    Ok(row.try_get(column).map(instant)?)
}

/// A column of numbers that are never negative.
pub(super) fn number<T: TryFrom<i64>>(row: &Row, column: usize) -> Outcome<T> {
    let number: i64 = row.try_get(column)?;
    T::try_from(number).map_err(|_| out_of_range(row, column, number))
}

/// The same for a column of small numbers.
pub(super) fn small<T: TryFrom<i16>>(row: &Row, column: usize) -> Outcome<T> {
    let number: i16 = row.try_get(column)?;
    T::try_from(number).map_err(|_| out_of_range(row, column, number.into()))
}

fn out_of_range(row: &Row, column: usize, number: i64) -> Fault {
    let name = row.columns().get(column).map_or("a column", tokio_postgres::Column::name);
    Fault::Unreadable(format!("{name}: {number} is out of range"))
}

/// A column that holds a value of a small set.
pub(super) fn coded<T: Coded>(row: &Row, column: usize, id: i64) -> Outcome<T> {
    Ok(T::from_code(i64::from(row.try_get::<_, i16>(column)?), id)?)
}

/// The number of a value of a small set, as wide as its column.
pub(super) fn code<T: Coded>(value: T) -> i16 {
    value.code() as i16
}

/// What a name is found and sorted by.
pub(super) fn key(name: &str) -> String {
    text(&codec::key(name))
}

/// A text as PostgreSQL can keep it: it knows every character but the one with the number 0.
pub(super) fn text(text: &str) -> String {
    text.replace('\0', "\u{FFFD}")
}

/// A number that counts what is left out or asked for.
pub(super) fn count(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}
