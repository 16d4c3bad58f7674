//! Who is signed in; signing in and out.

use access::{Act, Verdict};
use axum::http::{Method, header};
use serde_json::{Value, json};

use super::{Answered, Call};
use crate::app::App;
use crate::guard::session::removal;
use crate::guard::{Caller, Unsigned, referral};
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
        "issuer": app.guard.issuer_name(),
    })
}

async fn sign_in(app: &App, call: &Call) -> Answered {
    let body = call.json(LARGEST)?;
    let token = body["token"].as_str().map(str::trim).filter(|token| !token.is_empty());
    let token = token.ok_or_else(|| Problem::bad_request("token: missing; allowed: a token, as text."))?;
    let now = app.clock.now();
    let times = (now, app.live.watched.clock.retention_now(now));
    match app.guard.sign_in(&app.store, &call.headers, token, times).await {
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

/// Where the issuer sends browsers back to, as they know this server.
fn back(call: &Call) -> String {
    format!("{}/api/session/oidc/callback", call.base())
}

pub(super) async fn refer(app: &App, call: &Call) -> Answered {
    call.query.only(&["page"])?;
    let page = call.query.get("page");
    let (place, cookie) = app.guard.refer(&call.headers, page, &back(call), app.clock.now()).await?;
    Ok(Answer::empty(303).with(header::LOCATION, place).with(header::SET_COOKIE, cookie))
}

/// Whoever comes here is a person with a browser: they go on with a page in any case. What went wrong is told by a word
/// that the page knows, and in the audit.
pub(super) async fn referred(app: &App, call: &Call) -> Answered {
    let given = |name: &str| call.query.get(name).filter(|text| !text.is_empty());
    let code = match (given("code"), given("error")) {
        (Some(code), None) => Ok(code),
        (_, Some(error)) => Err(Unsigned::Refused(format!("the issuer says: {}", shortened(error)))),
        (None, None) => Err(Unsigned::Refused("the issuer sends no code".to_owned())),
    };
    let signed_in = match code {
        Ok(code) => {
            let proof = (given("state").unwrap_or_default(), code);
            let now = app.clock.now();
            let times = (now, app.live.watched.clock.retention_now(now));
            app.guard.take_back(&app.store, &call.headers, proof, &back(call), times).await
        }
        Err(unsigned) => Err(unsigned),
    };
    let onwards = |page: String| {
        let gone = referral::removal(&call.headers);
        Answer::empty(303).with(header::LOCATION, page).with(header::SET_COOKIE, gone)
    };
    match signed_in {
        Ok((caller, cookie, page)) => {
            let app = App { caller: Caller { from: app.caller.from.clone(), ..caller }, ..app.clone() };
            app.note(Act::SignIn, "", &json!({"by": app.guard.issuer_name()})).await?;
            Ok(onwards(page).with(header::SET_COOKIE, cookie))
        }
        Err(Unsigned::Refused(why)) => {
            if app.guard.notes_refusal(app.clock.now()) {
                let app = App {
                    caller: Caller { from: app.caller.from.clone(), ..Caller::anonymous() },
                    ..app.clone()
                };
                app.store.note(app.note_of(Act::SignIn, "", Verdict::Refused, &json!({"why": why}))).await?;
            }
            Ok(onwards("/?sign-in=refused".to_owned()))
        }
        Err(Unsigned::Unknown(problem)) if problem.status == 503 => {
            Ok(onwards("/?sign-in=unavailable".to_owned()))
        }
        Err(Unsigned::Unknown(problem)) => Err(problem),
    }
}

/// What somebody else wrote, as much of it as a note needs.
fn shortened(text: &str) -> String {
    text.chars().filter(|c| !c.is_control()).take(200).collect()
}
