//! What happens now, as server-sent events.
//!
//! A stream takes word from the engine and from the use-cases and writes it as long as its reader takes it. A reader that
//! is too slow loses word and is told how much; nobody waits for it.

use std::time::Duration;

use access::Sight;
use axum::body::Bytes;
use axum::http::HeaderName;
use engine::{Begun, Word};
use model::Attempt;
use serde_json::{Value, json};
use tokio::sync::broadcast::{self, error::RecvError};
use tokio::sync::mpsc;
use tokio::time::{Interval, MissedTickBehavior, interval};

use super::preview::job_of;
use super::search::collection_of;
use super::{Answered, Call};
use crate::app::App;
use crate::http::answer::Answer;
use crate::http::stream::{self, Chunks};
use crate::live::Change;
use crate::problem::Problem;
use crate::shares::Taken;

/// How often it is said that the stream still lives: proxies close what is silent for long.
const HEARTBEAT: Duration = Duration::from_secs(15);
/// How often the number of attempts under way is looked at.
const PULSE: Duration = Duration::from_secs(1);
/// How often it is looked whether the caller may still hear what is told.
const LOOK: Duration = Duration::from_secs(1);

pub(super) async fn events(app: &App, call: &Call) -> Answered {
    call.query.only(&["job", "collection"])?;
    let sight = app.caller.grants.sight();
    let scope = match (job_of(call, "job")?, collection_of(call, "collection")?) {
        (Some(_), Some(_)) => {
            return Err(Problem::bad_request("job, collection: only one of them is allowed."));
        }
        (Some((path, name)), None) => {
            let stored = app.job(&path, &name).await?;
            Scope(Some(wire::path::job_id(&stored.collection, &stored.job.name).to_lowercase()), sight)
        }
        (None, Some(path)) => {
            let id = wire::path::collection_id(&app.collection(&path).await?.collection.path);
            Scope(Some(id.to_lowercase()), sight)
        }
        (None, None) => Scope(None, sight),
    };
    let place = app.live.watch(app.caller_name()).map_err(|taken| match taken {
        Taken::All => {
            Problem::busy("Too many are watching already; close another stream, or try again later.")
        }
        Taken::Share(mine) => Problem::too_many_at_once(format!(
            "You watch {mine} streams already, which is your share of those that this server has. Close one to open another."
        )),
    })?;
    // Proxies would gather what is to be seen at once.
    let answer = Answer::stream("text/event-stream", watch(app, call, scope, place));
    Ok(answer.with(HeaderName::from_static("x-accel-buffering"), "no".to_owned()))
}

/// Whose word is wanted: of a resource, and of what whoever asks sees.
struct Scope(Option<String>, Sight);

impl Scope {
    /// Whether a resource is within.
    fn holds(&self, id: &str) -> bool {
        self.0.as_ref().is_none_or(|scope| is_within(&id.to_lowercase(), scope))
    }

    /// Whether a change is about what is within, or about what it is within.
    fn concerns(&self, change: &Change) -> bool {
        let id = change.id.to_lowercase();
        self.0.as_ref().is_none_or(|scope| is_within(&id, scope) || is_within(scope, &id))
            && self.is_seen(&id)
    }

    /// Whether the caller sees nothing of it any more.
    fn is_empty(&self) -> bool {
        match (&self.0, &self.1) {
            (_, Sight::All) => false,
            (None, Sight::Within(scopes)) => scopes.is_empty(),
            (Some(id), _) => !self.is_seen(id),
        }
    }

    /// Whether whoever asks sees a resource.
    fn is_seen(&self, id: &str) -> bool {
        self.1 == Sight::All || access::Scope::of_id(id).is_some_and(|at| self.1.covers(&at))
    }
}

fn is_within(id: &str, scope: &str) -> bool {
    id.strip_prefix(scope).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

/// What there is to tell.
enum News {
    Attempt(Result<Word, RecvError>),
    Change(Result<Change, RecvError>),
    Pulse,
}

/// Waits for what comes first, and prefers nothing.
async fn next(
    attempts: &mut broadcast::Receiver<Word>,
    changes: &mut broadcast::Receiver<Change>,
    pulse: &mut Interval,
) -> News {
    tokio::select! {
        word = attempts.recv() => News::Attempt(word),
        change = changes.recv() => News::Change(change),
        _ = pulse.tick() => News::Pulse,
    }
}

fn watch(app: &App, call: &Call, mut scope: Scope, place: impl Send + 'static) -> Chunks {
    let (send, chunks) = mpsc::channel(1);
    let (app, headers) = (app.clone(), call.headers.clone());
    let live = app.live.clone();
    // Before anything is answered: what happens from now on is told.
    let (mut attempts, mut changes) = (live.watched.under_way.listen(), live.changes());
    tokio::spawn(async move {
        let _place = place;
        let stopped = live.stopped();
        let every = |period| {
            let mut ticks = interval(period);
            ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
            ticks
        };
        let (mut pulse, mut look, mut heartbeat) = (every(PULSE), every(LOOK), every(HEARTBEAT));
        let mut running = None;
        let mut permissions = app.guard.changes();
        permissions.mark_changed();
        loop {
            let word = tokio::select! {
                // In this order: nothing is told to a caller that may not hear it any more.
                biased;
                () = stopped.cancelled() => return,
                () = send.closed() => return,
                _ = permissions.changed() => {
                    match app.guard.look(&app.store, &headers, app.clock.now()).await {
                        Ok(caller) => scope.1 = caller.grants.sight(),
                        Err(problem) if problem.status == 401 => return,
                        // The store does not answer: so nothing was changed either.
                        Err(_) => {}
                    }
                    if scope.is_empty() {
                        return;
                    }
                    None
                }
                // Changes by other nodes, and ends of tokens and sign-ins, are no news here.
                _ = look.tick() => {
                    permissions.mark_changed();
                    None
                }
                _ = heartbeat.tick() => Some(": still here\n\n".to_owned()),
                news = next(&mut attempts, &mut changes, &mut pulse) => match news {
                    News::Attempt(Ok(Word::Begun(begun))) => {
                        scope.wants(&begun).then(|| written("attempt", &attempt(&begun, None)))
                    }
                    News::Attempt(Ok(Word::Ended(begun, ended, _))) => {
                        scope.wants(&begun).then(|| written("attempt", &attempt(&begun, Some(&ended))))
                    }
                    News::Change(Ok(change)) => scope.concerns(&change).then(|| {
                        written("change", &json!({"id": change.id, "kind": change.kind.name()}))
                    }),
                    News::Attempt(Err(RecvError::Lagged(lost))) | News::Change(Err(RecvError::Lagged(lost))) => {
                        Some(lagged(lost))
                    }
                    News::Attempt(Err(RecvError::Closed)) | News::Change(Err(RecvError::Closed)) => return,
                    // How much is under way is told to those who see all of it.
                    News::Pulse if scope.1 == Sight::All => {
                        let now = live.watched.under_way.count();
                        (running.replace(now) != Some(now)).then(|| written("pulse", &json!({"running": now})))
                    }
                    News::Pulse => None,
                },
            };
            let Some(word) = word else { continue };
            if !stream::send(&send, Ok(Bytes::from(word))).await {
                return;
            }
        }
    });
    chunks
}

impl Scope {
    fn wants(&self, begun: &Begun) -> bool {
        // Without a scope no id has to be made.
        if self.0.is_none() && self.1 == Sight::All {
            return true;
        }
        let id = wire::path::job_id(&begun.job.collection, &begun.job.name);
        self.holds(&id) && self.is_seen(&id)
    }
}

fn attempt(begun: &Begun, ended: Option<&Attempt>) -> Value {
    let job = &begun.job;
    let mut written = wire::live::attempt(&job.collection, &job.name, &begun.execution, begun.started_at);
    let mut put = |name: &str, value: Value| written.insert(name.to_owned(), value);
    put("phase", if ended.is_some() { "ended" } else { "started" }.into());
    put("latenessMs", u64::try_from(begun.lateness().as_millis()).unwrap_or(u64::MAX).into());
    if let Some(attempt) = ended {
        put("endedAt", wire::date_time::write(attempt.ended_at).into());
        put("status", if attempt.outcome.success { "completed" } else { "failed" }.into());
        put("message", wire::live::message(&attempt.outcome.message).into());
    }
    written.into()
}

fn lagged(lost: u64) -> String {
    written("lagged", &json!({"lost": lost}))
}

/// An event; JSON in one line needs no further care.
fn written(name: &str, data: &Value) -> String {
    format!("event: {name}\ndata: {data}\n\n")
}
