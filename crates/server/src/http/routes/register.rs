//! Tokens and roles.

use access::{Assignment, PrincipalId, Role, Scope, TokenId, TokenRecord};
use axum::http::Method;
use model::Timestamp;
use recurrence::Faults;
use serde_json::{Value, json};
use wire::date_time;

use super::members::Members;
use super::{Answered, Call};
use crate::app::App;
use crate::app::register::NewToken;
use crate::http::LARGEST_BODY;
use crate::http::answer::Answer;
use crate::problem::Problem;

/// How long a token is good where nobody says, and at most, in days.
const USUAL_DAYS: i64 = 90;
const MOST_DAYS: i64 = 3660;

const DAY: i64 = 24 * 3600;

/// The most characters of a token's name.
const LONGEST_NAME: usize = 100;

pub(super) async fn tokens(app: &App, call: &Call) -> Answered {
    call.query.only(&[])?;
    if call.method == Method::GET {
        let tokens = app.store.tokens().await?;
        let now = app.clock.now();
        let written: Vec<Value> = tokens.iter().map(|record| write(record, now)).collect();
        return Ok(Answer::json(200, json!({"value": written})));
    }
    let body = call.json(LARGEST_BODY)?;
    let (new, ignored) = new_token(&body, app.clock.now()).map_err(Problem::faulty)?;
    let (token, record) = app.create_token(new).await?;
    let mut written = write(&record, record.created_at);
    written["token"] = token.reveal().into();
    Ok(Answer::json(201, written).ignoring(&ignored))
}

pub(super) async fn token(app: &App, call: &Call, id: &str) -> Answered {
    call.query.only(&[])?;
    let id: TokenId = id.parse().map_err(|_| Problem::no_token(id))?;
    app.revoke_token(&id).await?;
    Ok(Answer::empty(204))
}

fn write(record: &TokenRecord, now: Timestamp) -> Value {
    let state = match record.revoked_at {
        Some(_) => "revoked",
        None if record.is_good(now) => "good",
        None => "expired",
    };
    json!({
        "id": record.id.as_str(),
        "name": record.name,
        "state": state,
        "createdAt": date_time::write(record.created_at),
        "createdBy": record.created_by,
        "expiresAt": date_time::write(record.expires_at),
        "lastUsedAt": record.used_at.map(date_time::write),
        "revokedAt": record.revoked_at.map(date_time::write),
    })
}

const ROLES: &str = "Owner, Contributor, Operator or Reader";

fn new_token(body: &Value, now: Timestamp) -> Result<(NewToken, Vec<String>), Faults> {
    let mut members = Members::of(body)?;
    let name = members.need("name", "1 to 100 characters", |text| {
        let is_one = !text.trim().is_empty()
            && text.chars().count() <= LONGEST_NAME
            && !text.chars().any(char::is_control);
        is_one.then(|| text.to_owned())
    });
    let after = |days: i64| Timestamp::from_second(now.as_second() + days * DAY).unwrap_or(Timestamp::MAX);
    let allowed = format!("a date-time in the future, at most {MOST_DAYS} days from now");
    let expires_at = members.take("expiresAt", &allowed, |text| {
        recurrence::read_date_time(text).filter(|at| *at > now && *at <= after(MOST_DAYS))
    });
    let role = members.need("role", ROLES, Role::named);
    let scope = members.take("scope", access::Scope::FORMS, |text| text.parse::<Scope>().ok());
    let ignored = members.end()?;
    // Nothing is missing where there are no faults.
    let (name, role) = (name.unwrap_or_default(), role.unwrap_or(Role::Reader));
    let roles = vec![(role, scope.unwrap_or_default())];
    Ok((NewToken { name, expires_at: expires_at.unwrap_or_else(|| after(USUAL_DAYS)), roles }, ignored))
}

/// The roles in scopes that the caller sees.
pub(super) async fn roles(app: &App, call: &Call) -> Answered {
    call.query.only(&[])?;
    let sight = app.caller.grants.sight();
    let given = app.store.assignments().await?;
    let given: Vec<Value> =
        given.iter().filter(|assignment| sight.covers(&assignment.scope)).map(write_role).collect();
    Ok(Answer::json(200, json!({"value": given})))
}

fn write_role(assignment: &Assignment) -> Value {
    json!({
        "principal": assignment.principal.as_str(),
        "role": assignment.role.name(),
        "scope": assignment.scope.to_string(),
        "createdAt": date_time::write(assignment.created_at),
        "createdBy": assignment.created_by,
    })
}

pub(super) async fn assign(app: &App, call: &Call) -> Answered {
    let (principal, role, scope, ignored) = role_of(call)?;
    let is_new = app.assign_role(principal, role, scope).await?;
    Ok(Answer::empty(if is_new { 201 } else { 200 }).ignoring(&ignored))
}

pub(super) async fn remove(app: &App, call: &Call) -> Answered {
    let (principal, role, scope, ignored) = role_of(call)?;
    app.remove_role(principal, role, scope).await?;
    Ok(Answer::empty(200).ignoring(&ignored))
}

fn role_of(call: &Call) -> Result<(PrincipalId, Role, Scope, Vec<String>), Problem> {
    call.query.only(&[])?;
    let body = call.json(LARGEST_BODY)?;
    let read = || {
        let mut members = Members::of(&body)?;
        let principal =
            members.need("principal", PrincipalId::FORMS, |text| text.parse::<PrincipalId>().ok());
        let role = members.need("role", ROLES, Role::named);
        let scope = members.need("scope", Scope::FORMS, |text| text.parse::<Scope>().ok());
        let ignored = members.end()?;
        Ok(principal.zip(role).zip(scope).map(|((principal, role), scope)| (principal, role, scope, ignored)))
    };
    let found: Result<_, Faults> = read();
    // Nothing is missing where there are no faults.
    found.map_err(Problem::faulty)?.ok_or_else(|| Problem::bad_request("The body names no role."))
}
