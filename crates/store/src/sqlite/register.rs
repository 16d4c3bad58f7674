//! Tokens, roles and sign-ins.

use access::{Assignment, Note, Role, Scope, TokenId, TokenRecord};
use jiff::Timestamp;
use rusqlite::{Connection, OptionalExtension, Row, Rows, params};

use super::columns::{instant_of, instant_or_none};
use super::fault::{Fault, Outcome};
use super::writer::Work;
use super::{audit, collections, groups};
use crate::codec::{key, ticks};
use crate::register::{MOST_ASSIGNMENTS, MOST_TOKENS, note_of_end};
use crate::{Added, Session};

const TOKEN: &str = "id, hash, name, created_at, created_by, expires_at, used_at, revoked_at";

/// See [`Register::token`](crate::Register::token).
pub(super) fn token(db: &Connection, id: &TokenId) -> Outcome<Option<TokenRecord>> {
    let mut statement = db.prepare_cached(&format!("SELECT {TOKEN} FROM tokens WHERE id = ?1"))?;
    let mut rows = statement.query(params![id.as_str()])?;
    rows.next()?.map(read_token).transpose()
}

/// See [`Register::tokens`](crate::Register::tokens).
pub(super) fn tokens(db: &Connection) -> Outcome<Vec<TokenRecord>> {
    let mut statement =
        db.prepare_cached(&format!("SELECT {TOKEN} FROM tokens ORDER BY created_at DESC, id LIMIT ?1"))?;
    let mut rows = statement.query(params![MOST_TOKENS])?;
    let mut found = Vec::new();
    while let Some(row) = rows.next()? {
        found.push(read_token(row)?);
    }
    Ok(found)
}

fn read_token(row: &Row<'_>) -> Outcome<TokenRecord> {
    let id: String = row.get(0)?;
    Ok(TokenRecord {
        id: id.parse().map_err(|fault: String| Fault::unreadable("tokens.id", 0, fault))?,
        hash: row.get(1)?,
        name: row.get(2)?,
        created_at: instant_of(row, 3)?,
        created_by: row.get(4)?,
        expires_at: instant_of(row, 5)?,
        used_at: instant_or_none(row, 6)?,
        revoked_at: instant_or_none(row, 7)?,
    })
}

fn count(db: &Connection, table: &str) -> Outcome<u32> {
    Ok(db.prepare_cached(&format!("SELECT count(*) FROM {table}"))?.query_row([], |row| row.get(0))?)
}

/// See [`Register::add_token`](crate::Register::add_token).
pub(super) fn add_token(db: &Connection, record: &TokenRecord, roles: &[Assignment]) -> Outcome<Added> {
    let mut there = count(db, "tokens")?;
    if there >= MOST_TOKENS {
        db.prepare_cached("DELETE FROM tokens WHERE revoked_at IS NOT NULL OR expires_at <= ?1")?
            .execute(params![ticks(record.created_at)])?;
        there = count(db, "tokens")?;
    }
    if there >= MOST_TOKENS {
        return Ok(Added::Full(there));
    }
    let assigned = count(db, "assignments")?;
    if !roles.is_empty() && assigned as usize + roles.len() > MOST_ASSIGNMENTS as usize {
        return Ok(Added::Full(assigned));
    }
    if let Some(role) = first_without_scope(db, roles)? {
        return Ok(Added::NoScope(role.scope.clone()));
    }
    let inserted = db
        .prepare_cached(&format!(
            "INSERT INTO tokens ({TOKEN}) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8) ON CONFLICT DO NOTHING"
        ))?
        .execute(params![
            record.id.as_str(),
            record.hash,
            record.name,
            ticks(record.created_at),
            record.created_by,
            ticks(record.expires_at),
            record.used_at.map(ticks),
            record.revoked_at.map(ticks),
        ])?;
    if inserted == 0 {
        return Ok(Added::Already);
    }
    for role in roles {
        insert(db, role)?;
    }
    Ok(Added::Done)
}

/// See [`Register::revoke_token`](crate::Register::revoke_token).
pub(super) fn revoke_token(db: &Connection, id: &TokenId, now: Timestamp) -> Outcome<bool> {
    let revoked = db
        .prepare_cached("UPDATE tokens SET revoked_at = ?2 WHERE id = ?1 AND revoked_at IS NULL")?
        .execute(params![id.as_str(), ticks(now)])?;
    if revoked > 0 {
        db.prepare_cached("DELETE FROM assignments WHERE principal = ?1")?
            .execute(params![access::PrincipalId::token(id).as_str()])?;
    }
    Ok(revoked > 0)
}

/// See [`Register::use_token`](crate::Register::use_token).
pub(super) fn use_token(db: &Connection, id: &TokenId, now: Timestamp) -> Outcome<()> {
    db.prepare_cached("UPDATE tokens SET used_at = max(coalesce(used_at, ?2), ?2) WHERE id = ?1")?
        .execute(params![id.as_str(), ticks(now)])?;
    Ok(())
}

/// See [`Register::assignments`](crate::Register::assignments).
pub(super) fn assignments(db: &Connection) -> Outcome<Vec<Assignment>> {
    let mut statement = db.prepare_cached(
        "SELECT principal, role, scope, created_at, created_by FROM assignments
         ORDER BY scope_key, principal, role",
    )?;
    read_assignments(statement.query([])?)
}

fn read_assignments(mut rows: Rows<'_>) -> Outcome<Vec<Assignment>> {
    let mut found = Vec::new();
    while let Some(row) = rows.next()? {
        let texts: [String; 3] = [row.get(0)?, row.get(1)?, row.get(2)?];
        found.push(Assignment {
            principal: read("principal", texts[0].parse())?,
            role: read("role", Role::named(&texts[1]).ok_or_else(|| "it is no role".to_owned()))?,
            scope: read("scope", texts[2].parse::<Scope>())?,
            created_at: instant_of(row, 3)?,
            created_by: row.get(4)?,
        });
    }
    Ok(found)
}

fn read<T>(column: &str, value: Result<T, String>) -> Outcome<T> {
    value.map_err(|fault| Fault::Unreadable(format!("assignments.{column}: {fault}")))
}

/// See [`Register::assign`](crate::Register::assign).
pub(super) fn assign(db: &Connection, assignment: &Assignment) -> Outcome<Added> {
    let there = count(db, "assignments")?;
    if there >= MOST_ASSIGNMENTS {
        return Ok(Added::Full(there));
    }
    if first_without_scope(db, std::slice::from_ref(assignment))?.is_some() {
        return Ok(Added::NoScope(assignment.scope.clone()));
    }
    if let Some(id) = assignment.principal.as_str().strip_prefix("token:") {
        let mut statement = db.prepare_cached("SELECT 1 FROM tokens WHERE id = ?1 AND revoked_at IS NULL")?;
        if !statement.exists(params![id])? {
            return Ok(Added::NoToken);
        }
    }
    Ok(if insert(db, assignment)? { Added::Done } else { Added::Already })
}

/// The first role whose scope is not there.
fn first_without_scope<'r>(db: &Connection, roles: &'r [Assignment]) -> Outcome<Option<&'r Assignment>> {
    for role in roles {
        let is_there = match &role.scope {
            Scope::Root | Scope::Subscription(_) => true,
            Scope::Group(path) => groups::group(db, path)?.is_some(),
            Scope::Collection(path) => collections::find(db, path)?.is_some(),
        };
        if !is_there {
            return Ok(Some(role));
        }
    }
    Ok(None)
}

/// Ends the roles of a scope that was deleted, and of what was in it. Each is noted where the change is.
pub(super) fn end_roles(work: &mut Work<'_>, scope: &Scope, note: Option<&Note>) -> Outcome<()> {
    let scope = key(&scope.to_string());
    let mut statement = work.db.prepare_cached(
        "DELETE FROM assignments WHERE scope_key = ?1 OR substr(scope_key, 1, length(?2)) = ?2
         RETURNING principal, role, scope, created_at, created_by",
    )?;
    let ended = read_assignments(statement.query(params![scope, format!("{scope}/")])?)?;
    for role in ended {
        if let Some(note) = note {
            audit::insert(work, &note_of_end(&role, note))?;
        }
    }
    Ok(())
}

fn insert(db: &Connection, assignment: &Assignment) -> Outcome<bool> {
    let scope = assignment.scope.to_string();
    let inserted = db
        .prepare_cached(
            "INSERT INTO assignments (scope_key, principal, role, scope, created_at, created_by)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6) ON CONFLICT DO NOTHING",
        )?
        .execute(params![
            key(&scope),
            assignment.principal.as_str(),
            assignment.role.name(),
            scope,
            ticks(assignment.created_at),
            assignment.created_by,
        ])?;
    Ok(inserted > 0)
}

/// See [`Register::unassign`](crate::Register::unassign).
pub(super) fn unassign(db: &Connection, assignment: &Assignment) -> Outcome<bool> {
    let removed = db
        .prepare_cached("DELETE FROM assignments WHERE scope_key = ?1 AND principal = ?2 AND role = ?3")?
        .execute(params![
            key(&assignment.scope.to_string()),
            assignment.principal.as_str(),
            assignment.role.name()
        ])?;
    Ok(removed > 0)
}

/// See [`Register::add_session`](crate::Register::add_session).
pub(super) fn add_session(db: &Connection, session: &Session, idle_since: Timestamp) -> Outcome<()> {
    db.prepare_cached("DELETE FROM sessions WHERE used_at < ?1")?.execute(params![ticks(idle_since)])?;
    db.prepare_cached("INSERT INTO sessions (hash, who, created_at, used_at) VALUES (?1, ?2, ?3, ?4)")?
        .execute(params![session.hash, session.who, ticks(session.created_at), ticks(session.used_at)])?;
    Ok(())
}

/// See [`Register::session`](crate::Register::session).
pub(super) fn session(db: &Connection, hash: [u8; 32]) -> Outcome<Option<Session>> {
    let mut statement = db.prepare_cached("SELECT who, created_at, used_at FROM sessions WHERE hash = ?1")?;
    let found = statement.query_row(params![hash], |row| {
        Ok(Session { hash, who: row.get(0)?, created_at: instant_of(row, 1)?, used_at: instant_of(row, 2)? })
    });
    Ok(found.optional()?)
}

/// See [`Register::use_session`](crate::Register::use_session).
pub(super) fn use_session(db: &Connection, hash: [u8; 32], now: Timestamp) -> Outcome<()> {
    db.prepare_cached("UPDATE sessions SET used_at = max(used_at, ?2) WHERE hash = ?1")?
        .execute(params![hash, ticks(now)])?;
    Ok(())
}

/// See [`Register::end_session`](crate::Register::end_session).
pub(super) fn end_session(db: &Connection, hash: [u8; 32]) -> Outcome<bool> {
    Ok(db.prepare_cached("DELETE FROM sessions WHERE hash = ?1")?.execute(params![hash])? > 0)
}
