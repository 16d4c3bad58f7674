//! The book of moves: which store fills this database or has filled it, and how far that is.

use tokio_postgres::GenericClient;

use super::columns::instant_of;
use super::fault::{Fault, Outcome};
use crate::Error;
use crate::codec::Coded;
use model::Timestamp;

/// Where a move stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum MoveState {
    /// It is not all here.
    UnderWay,
    /// It is all here, and nowhere else.
    Done,
    /// It was all here, and is served from its source again.
    Undone,
}

impl Coded for MoveState {
    const CODES: &'static [Self] = &[Self::UnderWay, Self::Done, Self::Undone];
    const NAME: &'static str = "moves.state";
}

/// A move to this database.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Move {
    pub(crate) id: String,
    /// Which store it comes from.
    pub(crate) store: String,
    /// Where that was, for people.
    pub(crate) source: String,
    pub(crate) state: MoveState,
    pub(crate) began_at: Timestamp,
}

/// The move of this database, if there ever was one.
pub(super) async fn read(client: &impl GenericClient) -> Outcome<Option<Move>> {
    let row = client.query_opt("SELECT id, store, source, state, began_at FROM moves", &[]).await?;
    let Some(row) = row else { return Ok(None) };
    let state = MoveState::from_code(i64::from(row.try_get::<_, i16>(3)?), 0)?;
    let began_at = instant_of(&row, 4)?;
    let (id, store, source) = (row.try_get(0)?, row.try_get(1)?, row.try_get(2)?);
    Ok(Some(Move { id, store, source, state, began_at }))
}

/// Refuses to let a node join where not everything is here.
pub(super) async fn serve(client: &impl GenericClient, place: &str) -> Outcome<()> {
    let Some(found) = read(client).await? else { return Ok(()) };
    let Move { source, began_at, .. } = &found;
    let why = match found.state {
        MoveState::Done => return Ok(()),
        MoveState::UnderWay => format!(
            "{place}: a store is being moved here from {source}, since {began_at}, and not all of it is here. \
             `punctual migrate --from sqlite:{source} --to …` goes on; until it is done no server starts here"
        ),
        MoveState::Undone => format!(
            "{place}: its contents were moved here from {source}, and that was undone: they are served from there again. \
             To move them anew, give `punctual migrate` an empty database"
        ),
    };
    Err(Fault::Told(Error::Moved(why)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_pinned() {
        let states = [MoveState::UnderWay, MoveState::Done, MoveState::Undone];
        assert_eq!(states.map(Coded::code), [0, 1, 2]);
    }
}
