//! What was seen of the time.

use std::time::Duration;

use rusqlite::{Connection, params};

use super::columns::instant_of;
use super::fault::Outcome;
use crate::ClockMarks;
use crate::codec::ticks;

/// See [`Store::clock_marks`](crate::Store::clock_marks).
pub(super) fn read(db: &Connection) -> Outcome<Option<ClockMarks>> {
    let mut statement = db.prepare_cached("SELECT believed, doubted, latest FROM clock_marks")?;
    let mut rows = statement.query([])?;
    let Some(row) = rows.next()? else { return Ok(None) };
    let doubted = Duration::from_secs(row.get::<_, u64>(1)?);
    Ok(Some(ClockMarks { believed: instant_of(row, 0)?, doubted, latest: instant_of(row, 2)? }))
}

/// See [`Store::mark_clock`](crate::Store::mark_clock).
pub(super) fn write(db: &Connection, marks: &ClockMarks) -> Outcome<()> {
    db.prepare_cached(
        "INSERT OR REPLACE INTO clock_marks (id, believed, doubted, latest) VALUES (1, ?1, ?2, ?3)",
    )?
    .execute(params![ticks(marks.believed), marks.doubted.as_secs(), ticks(marks.latest)])?;
    Ok(())
}
