//! Who is signed in; signing in and out.

use access::{Act, Verdict};
use axum::http::{Method, header};
use serde_json::{Value, json};

use super::{Answered, Call};
use crate::app::App;
use crate::guard::Caller;
use crate::guard::session::removal;
use crate::http::answer::Answer;
use crate::problem::Problem;

/// The most bytes of the body of a sign-in.
const LARGEST: usize = 4 << 10;

pub(super) async fn session(app: &App, call: &Call) -> Answered {
    match call.method {
        Method::POST => sign_in(app, call).await,
        Method::DELETE => sign_out(app, call).await,
        _ => Ok(Answer::json(200, write(app, &app.caller))),
    }
}

fn write(app: &App, caller: &Caller) -> Value {
    let roles = caller.grants.roles();
    let roles = roles.map(|(role, scope)| json!({"role": role.name(), "scope": scope.to_string()}));
    json!({
        "required": app.guard.is_watchful(),
        "signedIn": !caller.is_anonymous(),
        "who": caller.principal.id.as_str(),
        "name": caller.principal.name,
        "roles": roles.collect::<Vec<_>>(),
        "csrf": caller.word,
    })
}

async fn sign_in(app: &App, call: &Call) -> Answered {
    let body = call.json(LARGEST)?;
    let token = body["token"].as_str().map(str::trim).filter(|token| !token.is_empty());
    let token = token.ok_or_else(|| Problem::bad_request("token: missing; allowed: a token, as text."))?;
    let now = app.clock.now();
    match app.guard.sign_in(&app.store, &call.headers, token, now).await {
        Ok((caller, cookie)) => {
            let app = App { caller: Caller { from: app.caller.from.clone(), ..caller }, ..app.clone() };
            app.note(Act::SignIn, "", &Value::Null).await?;
            Ok(Answer::json(201, write(&app, &app.caller)).with(header::SET_COOKIE, cookie))
        }
        Err(problem) => {
            if problem.status == 401 && app.guard.notes_refusal(now) {
                let why = json!({"why": problem.message});
                app.store.note(app.note_of(Act::SignIn, "", Verdict::Refused, &why)).await?;
            }
            Err(problem)
        }
    }
}

async fn sign_out(app: &App, call: &Call) -> Answered {
    let ended = app.guard.sign_out(&app.store, &call.method, &call.headers, app.clock.now()).await?;
    if ended {
        app.note(Act::SignOut, "", &Value::Null).await?;
    }
    Ok(Answer::empty(204).with(header::SET_COOKIE, removal(&call.headers)))
}
