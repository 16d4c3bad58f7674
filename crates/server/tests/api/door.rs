//! The front door: the router of a server that stands still at one moment, unless time is let go on.

use std::sync::Arc;

use actions::scripted::Scripted;
use axum::Router;
use axum::body::{Body, Bytes, to_bytes};
use axum::http::{HeaderMap, Request, StatusCode};
use engine::{Engine, SimulatedClock};
use model::{Clock, Timestamp};
use serde_json::{Value, json};
use server::app::{App, Trials};
use server::config::{Config, Flags, load};
use server::keys::Source;
use store::conformance::keyring;
use store::{Durability, SqliteSettings, SqliteStore, Store};
use tower::ServiceExt as _;

/// When the simulated clock begins.
pub(crate) const NOW: &str = "2027-01-31T12:00:00Z";

pub(crate) struct Door {
    pub(crate) app: App,
    pub(crate) config: Config,
    pub(crate) router: Router,
    folder: tempfile::TempDir,
}

#[derive(Debug, Clone)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) headers: HeaderMap,
    /// Null where there is none.
    pub(crate) body: Value,
}

/// What a refusal must say.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Refusal<'a> {
    pub(crate) status: u16,
    pub(crate) code: &'a str,
    /// Where, in the first detail; empty where nothing in a body is to blame.
    pub(crate) target: &'a str,
    /// What the message must have in it: what was wrong, and what is allowed.
    pub(crate) says: &'a [&'a str],
}

impl Door {
    /// A server with settings of its own, given as an operator gives them.
    pub(crate) fn open(settings: &[(&str, &str)]) -> Self {
        Self::with_clock(settings, Arc::new(SimulatedClock::starting_at(NOW.parse().expect("a time"))))
    }

    pub(crate) fn with_clock(settings: &[(&str, &str)], clock: Arc<dyn Clock>) -> Self {
        let variables = settings.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
        let config = load(&Flags::default(), variables).expect("a valid configuration");
        let folder = tempfile::tempdir().expect("a folder");
        let settings = SqliteSettings {
            keyring: keyring(),
            plans: config.plans(),
            patience: config.patience(),
            durability: Durability::ProcessDeath,
        };
        let store = SqliteStore::open(folder.path().join("punctual.db"), settings, clock.now());
        let store: Arc<dyn Store> = Arc::new(store.expect("opened"));
        let keys = folder.path().join("keys");
        std::fs::write(&keys, keyring().text().as_str()).expect("written");
        let mut app = App::configured(&config, store, clock).with_keys(Source::Managed(keys));
        app.trials = Some(Arc::new(Trials::new(Arc::new(Scripted::succeeding()))));
        Self { router: server::http::router(app.clone()), app, config, folder }
    }

    /// The same store, served with what was changed in `app`.
    pub(crate) fn reopened(self) -> Self {
        Self { router: server::http::router(self.app.clone()), ..self }
    }

    /// Runs SQL on what is stored, as another version or a fault of the disk would change it.
    pub(crate) fn damage(&self, sql: &str) {
        let db = rusqlite::Connection::open(self.folder.path().join("punctual.db")).expect("the file opens");
        db.execute_batch(sql).expect("it is run");
    }

    pub(crate) fn now(&self) -> Timestamp {
        self.app.clock.now()
    }

    /// Lets jobs run.
    pub(crate) fn start(&self, runner: Arc<dyn actions::Runner>) -> Engine {
        let App { store, clock, live, .. } = self.app.clone();
        Engine::start_watched(store, runner, clock, self.config.engine(), live.watched.clone())
    }

    /// Status and bytes of an answer that may be anything.
    pub(crate) async fn raw(&self, method: &str, path: &str) -> (StatusCode, Bytes) {
        let request = Request::builder().method(method).uri(path).body(Body::empty()).expect("a request");
        let response = self.router.clone().oneshot(request).await.expect("infallible");
        (response.status(), to_bytes(response.into_body(), usize::MAX).await.expect("a whole body"))
    }

    /// An answer that may have no end.
    pub(crate) async fn open_stream(&self, path: &str) -> (StatusCode, HeaderMap, Body) {
        let request = Request::builder().uri(path).body(Body::empty()).expect("a request");
        let (head, body) = self.router.clone().oneshot(request).await.expect("infallible").into_parts();
        (head.status, head.headers, body)
    }

    pub(crate) async fn send(&self, request: Request<Body>) -> Answer {
        let response = self.router.clone().oneshot(request).await.expect("infallible");
        let (head, body) = response.into_parts();
        let bytes = to_bytes(body, usize::MAX).await.expect("a whole body");
        let is_page =
            head.headers.get("content-type").is_some_and(|kind| kind.as_bytes().starts_with(b"text/html"));
        let body = match bytes.len() {
            0 => Value::Null,
            _ if is_page => Value::from(String::from_utf8_lossy(&bytes)),
            _ => serde_json::from_slice(&bytes).unwrap_or_else(|_| panic!("no JSON: {bytes:?}")),
        };
        Answer { status: head.status.as_u16(), headers: head.headers, body }
    }

    pub(crate) async fn call(&self, method: &str, path: &str, body: Option<&Value>) -> Answer {
        let body = body.map_or_else(Body::empty, |body| Body::from(body.to_string()));
        let request = Request::builder().method(method).uri(path).header("content-type", "application/json");
        self.send(request.body(body).expect("a request")).await
    }

    pub(crate) async fn get(&self, path: &str) -> Value {
        let answer = self.call("GET", path, None).await;
        assert_eq!(answer.status, 200, "GET {path}: {}", answer.body);
        answer.body
    }

    /// Makes a collection on a plan.
    pub(crate) async fn collection(&self, name: &str, plan: &str) {
        let body = json!({"location": "Local", "properties": {"sku": {"name": plan}}});
        self.accepts("PUT", &collection(name), &body).await;
    }

    #[track_caller]
    pub(crate) fn accepts<'a>(
        &'a self,
        method: &'a str,
        path: &'a str,
        body: &'a Value,
    ) -> impl Future<Output = Answer> + 'a {
        let caller = std::panic::Location::caller();
        async move {
            let answer = self.call(method, path, Some(body)).await;
            let shown = shortened(body);
            assert!(answer.status < 300, "{caller}: {method} {path} {shown}: {}", answer.body);
            answer
        }
    }

    /// The request is refused with the right words, and changes nothing.
    #[track_caller]
    pub(crate) fn refuses<'a>(
        &'a self,
        method: &'a str,
        path: &'a str,
        body: &'a Value,
        refusal: Refusal<'a>,
    ) -> impl Future<Output = ()> + 'a {
        let caller = std::panic::Location::caller();
        async move {
            let (before, answer, after) =
                (self.all().await, self.call(method, path, Some(body)).await, self.all().await);
            let place = format!("{caller}: {method} {path} {}: {}", shortened(body), answer.body);
            let error = &answer.body["error"];
            assert_eq!((answer.status, &error["code"]), (refusal.status, &json!(refusal.code)), "{place}");
            let message = error["message"].as_str().unwrap_or_default();
            for words in refusal.says {
                assert!(message.contains(words), "the message lacks '{words}': {place}");
            }
            if refusal.target.is_empty() {
                assert!(error["details"].is_null(), "{place}");
            } else {
                assert_eq!(error["details"][0]["target"], refusal.target, "{place}");
                assert_eq!(error["details"][0]["code"], refusal.code, "{place}");
            }
            assert_eq!(before, after, "something was changed: {place}");
        }
    }

    /// Everything that is there, as the API shows it.
    async fn all(&self) -> Value {
        let list = "/subscriptions/s/providers/Microsoft.Scheduler/jobCollections?api-version=2016-03-01";
        let collections = self.get(list).await;
        let mut all = vec![collections.clone()];
        for collection in collections["value"].as_array().expect("a list") {
            let id = collection["id"].as_str().expect("an id");
            all.push(self.get(&format!("{id}/jobs?api-version=2016-03-01")).await);
        }
        all.into()
    }
}

/// A body as it is shown where a test fails.
fn shortened(body: &Value) -> String {
    body.to_string().chars().take(300).collect()
}

/// The path of a collection.
pub(crate) fn collection(name: &str) -> String {
    format!(
        "/subscriptions/s/resourceGroups/g/providers/Microsoft.Scheduler/jobCollections/{name}\
         ?api-version=2016-03-01"
    )
}

/// The path of a job, or of what is below it.
pub(crate) fn job(collection: &str, rest: &str) -> String {
    self::collection(collection).replace('?', &format!("/jobs/{rest}?"))
}

/// The id of a job.
pub(crate) fn id(collection: &str, name: &str) -> String {
    job(collection, name).replace("?api-version=2016-03-01", "")
}

/// A job that could be anybody's.
pub(crate) fn plain() -> Value {
    json!({"properties": {
        "startTime": "2027-02-01T00:00:00Z",
        "action": {"type": "Http", "request": {"uri": "http://example.org/", "method": "POST"}},
        "recurrence": {"frequency": "day"},
    }})
}

/// The same, with values at places such as `/action/request/body`. Objects on the way are made.
pub(crate) fn with(changes: &[(&str, Value)]) -> Value {
    let mut job = plain();
    for (place, value) in changes {
        let mut at = &mut job["properties"];
        for name in place.split('/').skip(1) {
            at = &mut at[name];
        }
        *at = value.clone();
    }
    job
}
