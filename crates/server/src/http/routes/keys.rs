//! Keys: which there are, and another in their place.

use access::Act;
use axum::http::Method;
use serde_json::{Value, json};
use store::{KeyId, KeyUse};

use super::{Answered, Call};
use crate::app::App;
use crate::http::answer::Answer;
use crate::keys::Standing;

pub(super) async fn keys(app: &App, call: &Call) -> Answered {
    if call.method == Method::POST {
        call.query.only(&["dryRun"])?;
        if call.query.flag("dryRun")? {
            let (standing, next) = app.keys.foresee(&*app.store).await?;
            let mut body = write(&standing);
            body["next"] = next.as_ref().map(KeyId::as_str).into();
            return Ok(Answer::json(200, body));
        }
        let standing = app.keys.rotate(&*app.store).await?;
        app.note(Act::RotateKeys, "/api/keys", &Value::Null).await?;
        return Ok(Answer::json(202, write(&standing)));
    }
    call.query.only(&[])?;
    Ok(Answer::json(200, write(&app.keys.standing(&*app.store).await?)))
}

/// What keys there are, and never a key.
fn write(standing: &Standing) -> Value {
    let keys: Vec<Value> = standing.keys.iter().map(key).collect();
    let mut body = json!({"source": standing.source.name(), "keys": keys});
    if let Some(file) = standing.source.file() {
        body["file"] = file.display().to_string().into();
    }
    body
}

fn key(key: &KeyUse) -> Value {
    json!({"id": key.id.as_str(), "seals": key.seals, "needed": key.needed, "definitions": key.definitions})
}
