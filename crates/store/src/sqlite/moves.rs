//! The mark of a store that was moved to another database, and which store this is.

use model::Timestamp;
use rusqlite::{Connection, OptionalExtension, params};

use super::fault::Outcome;
use crate::Error;
use crate::codec::{instant, ticks};

/// What a store knows about being moved.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Mark {
    /// Which store this is.
    pub(crate) store: String,
    /// The move that copied from here last, if no server has started since.
    pub(crate) still: Option<String>,
    /// The move that took everything away.
    pub(crate) moved: Option<Moved>,
}

/// Where everything went.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Moved {
    /// The move.
    pub(crate) by: String,
    /// The place, without a password.
    pub(crate) to: String,
    /// When.
    pub(crate) at: Timestamp,
}

/// Reads the mark; `None` in a store of an earlier version.
pub(super) fn read(db: &Connection) -> Outcome<Option<Mark>> {
    let sql = "SELECT EXISTS (SELECT 1 FROM sqlite_schema WHERE name = 'moves')";
    let there: bool = db.query_row(sql, [], |row| row.get(0))?;
    if !there {
        return Ok(None);
    }
    let mut statement = db.prepare_cached("SELECT store, still, moved_by, moved_to, moved_at FROM moves")?;
    let mark = statement
        .query_row([], |row| {
            let (by, to): (Option<String>, Option<String>) = (row.get(2)?, row.get(3)?);
            let at: Option<i64> = row.get(4)?;
            let moved = by.zip(to).zip(at).map(|((by, to), at)| Moved { by, to, at: instant(at) });
            Ok(Mark { store: row.get(0)?, still: row.get(1)?, moved })
        })
        .optional()?;
    Ok(mark)
}

/// Refuses to serve what has gone elsewhere. Whatever a move has copied so far is not all any more.
pub(super) fn serve(db: &Connection) -> Outcome<()> {
    let Some(mark) = read(db)? else { return Ok(()) };
    if let Some(Moved { to, at, .. }) = mark.moved {
        let file = db.path().unwrap_or_default();
        return Err(Error::Moved(format!(
            "{file}: everything in it was moved to {to} at {at}. Serve that: `punctual serve --database …`. \
             To go back to what is here and give up what has happened there since, stop every server of that database and run \
             `punctual migrate --undo --from sqlite:{file}`"
        ))
        .into());
    }
    if mark.still.is_some() {
        db.execute("UPDATE moves SET still = NULL", [])?;
    }
    if let Some(at) = copied_at(db)? {
        tracing::info!(%at, "this store is a copy: what was committed after this instant is not in it");
        db.execute("UPDATE moves SET copied_at = NULL", [])?;
    }
    Ok(())
}

/// Of when a copy is that nobody has served yet; `None` in any other store.
pub(super) fn copied_at(db: &Connection) -> Outcome<Option<Timestamp>> {
    let sql = "SELECT EXISTS (SELECT 1 FROM pragma_table_info('moves') WHERE name = 'copied_at')";
    let is_told: bool = db.query_row(sql, [], |row| row.get(0))?;
    if !is_told {
        return Ok(None);
    }
    let at: Option<i64> = db.query_row("SELECT copied_at FROM moves", [], |row| row.get(0))?;
    Ok(at.map(instant))
}

/// Notes that a move has begun to copy what nobody else can change.
pub(super) fn hold_still(db: &Connection, by: &str) -> Outcome<()> {
    db.execute("UPDATE moves SET still = ?1", params![by])?;
    Ok(())
}

/// Notes that everything is elsewhere.
pub(super) fn leave(db: &Connection, moved: &Moved) -> Outcome<()> {
    db.execute(
        "UPDATE moves SET moved_by = ?1, moved_to = ?2, moved_at = ?3",
        params![moved.by, moved.to, ticks(moved.at)],
    )?;
    Ok(())
}

/// Takes all marks away.
pub(super) fn come_back(db: &Connection) -> Outcome<()> {
    db.execute("UPDATE moves SET still = NULL, moved_by = NULL, moved_to = NULL, moved_at = NULL", [])?;
    Ok(())
}
