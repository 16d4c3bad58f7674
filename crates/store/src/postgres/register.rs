//! Tokens, roles and sign-ins.

use std::sync::Arc;

use access::{Assignment, Note, Role, Scope, TokenId, TokenRecord};
use jiff::Timestamp;
use tokio_postgres::Row;

use super::collections::{self, Hold};
use super::columns::{instant_of, instant_or_none, key, text};
use super::fault::{Fault, Outcome};
use super::groups;
use super::work::Work;
use crate::codec::ticks;
use crate::register::{MOST_ASSIGNMENTS, MOST_TOKENS, note_of_end};
use crate::{Added, Session};

const TOKEN: &str = "id, hash, name, created_at, created_by, expires_at, used_at, revoked_at";

/// See [`Register::token`](crate::Register::token).
pub(super) async fn token(work: &Work<'_>, id: &TokenId) -> Outcome<Option<TokenRecord>> {
    let sql = format!("SELECT {TOKEN} FROM tokens WHERE id = $1");
    work.query_opt(&sql, &[&id.as_str()]).await?.as_ref().map(read_token).transpose()
}

/// See [`Register::tokens`](crate::Register::tokens).
pub(super) async fn tokens(work: &Work<'_>) -> Outcome<Vec<TokenRecord>> {
    let sql = format!("SELECT {TOKEN} FROM tokens ORDER BY created_at DESC, id LIMIT $1");
    work.query(&sql, &[&i64::from(MOST_TOKENS)]).await?.iter().map(read_token).collect()
}

fn read_token(row: &Row) -> Outcome<TokenRecord> {
    let id: &str = row.try_get(0)?;
    Ok(TokenRecord {
        id: id.parse().map_err(|fault: String| Fault::Unreadable(format!("tokens.id: {fault}")))?,
        hash: hash(row, 1)?,
        name: row.try_get(2)?,
        created_at: instant_of(row, 3)?,
        created_by: row.try_get(4)?,
        expires_at: instant_of(row, 5)?,
        used_at: instant_or_none(row, 6)?,
        revoked_at: instant_or_none(row, 7)?,
    })
}

fn hash(row: &Row, column: usize) -> Outcome<[u8; 32]> {
    let bytes: &[u8] = row.try_get(column)?;
    bytes.try_into().map_err(|_| Fault::Unreadable("tokens.hash: it has not 32 bytes".to_owned()))
}

/// How many there are; nobody adds any until we are done.
async fn count(work: &Work<'_>, table: &str) -> Outcome<u32> {
    work.execute(&format!("LOCK TABLE {table} IN SHARE ROW EXCLUSIVE MODE"), &[]).await?;
    let counted = work.ids(&format!("SELECT count(*) FROM {table}"), &[]).await?;
    Ok(counted.first().map_or(0, |count| u32::try_from(*count).unwrap_or(u32::MAX)))
}

/// See [`Register::add_token`](crate::Register::add_token).
pub(super) async fn add_token(work: &Work<'_>, record: &TokenRecord, roles: &[Assignment]) -> Outcome<Added> {
    // Before the tables, as a change that deletes a scope has it.
    let missing = first_without_scope(work, roles).await?;
    let mut there = count(work, "tokens").await?;
    if there >= MOST_TOKENS {
        work.execute(
            "DELETE FROM tokens WHERE revoked_at IS NOT NULL OR expires_at <= $1",
            &[&ticks(record.created_at)],
        )
        .await?;
        there = count(work, "tokens").await?;
    }
    if there >= MOST_TOKENS {
        return Ok(Added::Full(there));
    }
    let assigned = count(work, "assignments").await?;
    if !roles.is_empty() && assigned as usize + roles.len() > MOST_ASSIGNMENTS as usize {
        return Ok(Added::Full(assigned));
    }
    if let Some(scope) = missing {
        return Ok(Added::NoScope(scope));
    }
    let inserted = work
        .execute(
            &format!(
                "INSERT INTO tokens ({TOKEN}) VALUES ($1, $2, $3, $4, $5, $6, $7, $8) ON CONFLICT DO NOTHING"
            ),
            &[
                &record.id.as_str(),
                &&record.hash[..],
                &text(&record.name),
                &ticks(record.created_at),
                &text(&record.created_by),
                &ticks(record.expires_at),
                &record.used_at.map(ticks),
                &record.revoked_at.map(ticks),
            ],
        )
        .await?;
    if inserted == 0 {
        return Ok(Added::Already);
    }
    for role in roles {
        insert(work, role).await?;
    }
    Ok(Added::Done)
}

/// See [`Register::revoke_token`](crate::Register::revoke_token).
pub(super) async fn revoke_token(work: &Work<'_>, id: &TokenId, now: Timestamp) -> Outcome<bool> {
    let sql = "UPDATE tokens SET revoked_at = $2 WHERE id = $1 AND revoked_at IS NULL";
    let revoked = work.execute(sql, &[&id.as_str(), &ticks(now)]).await?;
    if revoked > 0 {
        let principal = access::PrincipalId::token(id);
        work.execute("DELETE FROM assignments WHERE principal = $1", &[&principal.as_str()]).await?;
    }
    Ok(revoked > 0)
}

/// See [`Register::use_token`](crate::Register::use_token).
pub(super) async fn use_token(work: &Work<'_>, id: &TokenId, now: Timestamp) -> Outcome<()> {
    let sql = "UPDATE tokens SET used_at = greatest(used_at, $2) WHERE id = $1";
    work.execute(sql, &[&id.as_str(), &ticks(now)]).await?;
    Ok(())
}

/// See [`Register::assignments`](crate::Register::assignments).
pub(super) async fn assignments(work: &Work<'_>) -> Outcome<Vec<Assignment>> {
    let sql = "SELECT principal, role, scope, created_at, created_by FROM assignments
               ORDER BY scope_key, principal, role";
    let rows = work.query(sql, &[]).await?;
    rows.iter().map(read_assignment).collect()
}

fn read_assignment(row: &Row) -> Outcome<Assignment> {
    let texts: [&str; 3] = [row.try_get(0)?, row.try_get(1)?, row.try_get(2)?];
    Ok(Assignment {
        principal: read("principal", texts[0].parse())?,
        role: read("role", Role::named(texts[1]).ok_or_else(|| "it is no role".to_owned()))?,
        scope: read("scope", texts[2].parse::<Scope>())?,
        created_at: instant_of(row, 3)?,
        created_by: row.try_get(4)?,
    })
}

fn read<T>(column: &str, value: Result<T, String>) -> Outcome<T> {
    value.map_err(|fault| Fault::Unreadable(format!("assignments.{column}: {fault}")))
}

/// See [`Register::assign`](crate::Register::assign).
pub(super) async fn assign(work: &Work<'_>, assignment: &Assignment) -> Outcome<Added> {
    if let Some(id) = assignment.principal.as_str().strip_prefix("token:") {
        let sql = "SELECT 1 FROM tokens WHERE id = $1 AND revoked_at IS NULL FOR SHARE";
        if work.query_opt(sql, &[&id]).await?.is_none() {
            return Ok(Added::NoToken);
        }
    }
    // Before the table, as a change that deletes a scope has it.
    if let Some(scope) = first_without_scope(work, std::slice::from_ref(assignment)).await? {
        return Ok(Added::NoScope(scope));
    }
    let there = count(work, "assignments").await?;
    if there >= MOST_ASSIGNMENTS {
        return Ok(Added::Full(there));
    }
    Ok(if insert(work, assignment).await? { Added::Done } else { Added::Already })
}

/// The first scope that is not there; the others are held on to.
async fn first_without_scope(work: &Work<'_>, roles: &[Assignment]) -> Outcome<Option<Scope>> {
    for role in roles {
        let is_there = match &role.scope {
            Scope::Root | Scope::Subscription(_) => true,
            Scope::Group(path) => groups::hold(work, path).await?,
            Scope::Collection(path) => collections::lock(work, path, Hold::Together).await?.is_some(),
        };
        if !is_there {
            return Ok(Some(role.scope.clone()));
        }
    }
    Ok(None)
}

/// Ends the roles of a scope that was deleted, and of what was in it. Each is noted where the change is.
pub(super) async fn end_roles(work: &mut Work<'_>, scope: &Scope, note: Option<&Note>) -> Outcome<()> {
    let scope = key(&scope.to_string());
    let rows = work
        .query(
            "DELETE FROM assignments WHERE scope_key = $1 OR starts_with(scope_key, $2)
             RETURNING principal, role, scope, created_at, created_by",
            &[&scope, &format!("{scope}/")],
        )
        .await?;
    if let Some(note) = note {
        for row in &rows {
            work.notes.push(Arc::new(note_of_end(&read_assignment(row)?, note)));
        }
    }
    Ok(())
}

async fn insert(work: &Work<'_>, assignment: &Assignment) -> Outcome<bool> {
    let scope = text(&assignment.scope.to_string());
    let inserted = work
        .execute(
            "INSERT INTO assignments (scope_key, principal, role, scope, created_at, created_by)
             VALUES ($1, $2, $3, $4, $5, $6) ON CONFLICT DO NOTHING",
            &[
                &key(&scope),
                &assignment.principal.as_str(),
                &assignment.role.name(),
                &scope,
                &ticks(assignment.created_at),
                &text(&assignment.created_by),
            ],
        )
        .await?;
    Ok(inserted > 0)
}

/// See [`Register::unassign`](crate::Register::unassign).
pub(super) async fn unassign(work: &Work<'_>, assignment: &Assignment) -> Outcome<bool> {
    let removed = work
        .execute(
            "DELETE FROM assignments WHERE scope_key = $1 AND principal = $2 AND role = $3",
            &[&key(&assignment.scope.to_string()), &assignment.principal.as_str(), &assignment.role.name()],
        )
        .await?;
    Ok(removed > 0)
}

/// See [`Register::add_session`](crate::Register::add_session).
pub(super) async fn add_session(work: &Work<'_>, session: &Session, idle_since: Timestamp) -> Outcome<()> {
    work.execute("DELETE FROM sessions WHERE used_at < $1", &[&ticks(idle_since)]).await?;
    work.execute(
        "INSERT INTO sessions (hash, who, created_at, used_at) VALUES ($1, $2, $3, $4)",
        &[&&session.hash[..], &text(&session.who), &ticks(session.created_at), &ticks(session.used_at)],
    )
    .await?;
    Ok(())
}

/// See [`Register::session`](crate::Register::session).
pub(super) async fn session(work: &Work<'_>, hash: [u8; 32]) -> Outcome<Option<Session>> {
    let sql = "SELECT who, created_at, used_at FROM sessions WHERE hash = $1";
    let row = work.query_opt(sql, &[&&hash[..]]).await?;
    row.map(|row| {
        let (created_at, used_at) = (instant_of(&row, 1)?, instant_of(&row, 2)?);
        Ok(Session { hash, who: row.try_get(0)?, created_at, used_at })
    })
    .transpose()
}

/// See [`Register::use_session`](crate::Register::use_session).
pub(super) async fn use_session(work: &Work<'_>, hash: [u8; 32], now: Timestamp) -> Outcome<()> {
    let sql = "UPDATE sessions SET used_at = greatest(used_at, $2) WHERE hash = $1";
    work.execute(sql, &[&&hash[..], &ticks(now)]).await?;
    Ok(())
}

/// See [`Register::end_session`](crate::Register::end_session).
pub(super) async fn end_session(work: &Work<'_>, hash: [u8; 32]) -> Outcome<bool> {
    Ok(work.execute("DELETE FROM sessions WHERE hash = $1", &[&&hash[..]]).await? > 0)
}
