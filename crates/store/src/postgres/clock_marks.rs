//! What was seen of the time.

use std::time::Duration;

use super::columns::instant_of;
use super::fault::Outcome;
use super::work::Work;
use crate::ClockMarks;
use crate::codec::ticks;

/// See [`Store::clock_marks`](crate::Store::clock_marks).
pub(super) async fn read(work: &Work<'_>) -> Outcome<Option<ClockMarks>> {
    let row = work.query_opt("SELECT believed, doubted, latest FROM clock_marks", &[]).await?;
    let Some(row) = row else { return Ok(None) };
    let doubted = Duration::from_secs(row.try_get::<_, i64>(1)?.unsigned_abs());
    Ok(Some(ClockMarks { believed: instant_of(&row, 0)?, doubted, latest: instant_of(&row, 2)? }))
}

/// See [`Store::mark_clock`](crate::Store::mark_clock).
pub(super) async fn write(work: &Work<'_>, marks: &ClockMarks) -> Outcome<()> {
    let doubted = i64::try_from(marks.doubted.as_secs()).unwrap_or(i64::MAX);
    work.execute(
        "INSERT INTO clock_marks (id, believed, doubted, latest) VALUES (1, $1, $2, $3)
         ON CONFLICT (id) DO UPDATE SET believed = $1, doubted = $2, latest = $3",
        &[&ticks(marks.believed), &doubted, &ticks(marks.latest)],
    )
    .await?;
    Ok(())
}
