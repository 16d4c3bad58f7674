//! The real router on the real store, at a moment of the test's choosing.
#![allow(dead_code, reason = "each test takes what it needs")]

use std::sync::{Arc, Mutex};

use axum::Router;
use axum::body::{Body, to_bytes};
use axum::http::{HeaderMap, Request};
use model::{Clock, Timestamp};
use serde_json::Value;
use server::app::App;
use server::guard::Guard;
use store::conformance::keyring;
use store::{Durability, SqliteSettings, SqliteStore, Store};
use tower_service::Service;

/// A clock that is set by hand.
pub(crate) struct HandSetClock(Mutex<Timestamp>);

impl HandSetClock {
    pub(crate) fn set(&self, now: Timestamp) {
        *self.0.lock().expect("not poisoned") = now;
    }
}

impl Clock for HandSetClock {
    fn now(&self) -> Timestamp {
        *self.0.lock().expect("not poisoned")
    }
}

pub(crate) struct World {
    pub(crate) router: Router,
    pub(crate) clock: Arc<HandSetClock>,
    pub(crate) store: Arc<dyn Store>,
    pub(crate) guard: Arc<Guard>,
    _folder: tempfile::TempDir,
}

/// An answer.
#[derive(Debug)]
pub(crate) struct Reply {
    pub(crate) status: u16,
    pub(crate) headers: HeaderMap,
    pub(crate) text: String,
    pub(crate) body: Value,
}

impl Reply {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name).map(|value| value.to_str().expect("a text"))
    }

    /// The names of a list's entries.
    pub(crate) fn names(&self) -> Vec<&str> {
        let entries = self.body["value"].as_array().unwrap_or_else(|| panic!("{} is no list", self.text));
        entries.iter().map(|entry| entry["name"].as_str().expect("a name")).collect()
    }

    #[track_caller]
    pub(crate) fn expect(self, status: u16) -> Self {
        assert_eq!(self.status, status, "{}", self.text);
        self
    }
}

impl World {
    /// An empty one, as the default configuration makes it.
    pub(crate) fn new() -> Self {
        Self::with(|app| app)
    }

    /// One with other settings.
    pub(crate) fn with(set: impl FnOnce(App) -> App) -> Self {
        let now = "2027-01-01T00:00:00Z".parse().expect("a timestamp");
        let clock = Arc::new(HandSetClock(Mutex::new(now)));
        let folder = tempfile::tempdir().expect("a folder");
        let settings =
            SqliteSettings { durability: Durability::ProcessDeath, ..SqliteSettings::new(keyring()) };
        let store = SqliteStore::open(folder.path().join("punctual.db"), settings, now).expect("opened");
        let store: Arc<dyn Store> = Arc::new(store);
        let app = set(App::new(store.clone(), clock.clone()));
        let guard = app.guard.clone();
        Self { router: server::http::router(app), clock, store, guard, _folder: folder }
    }

    pub(crate) async fn call(&self, method: &str, path: &str, body: Option<&Value>) -> Reply {
        self.call_with(method, path, body, &[]).await
    }

    pub(crate) async fn get(&self, path: &str) -> Reply {
        self.call("GET", path, None).await
    }

    pub(crate) async fn put(&self, path: &str, body: &Value) -> Reply {
        self.call("PUT", path, Some(body)).await
    }

    pub(crate) async fn call_with(
        &self,
        method: &str,
        path: &str,
        body: Option<&Value>,
        headers: &[(&str, &str)],
    ) -> Reply {
        let mut request = Request::builder().method(method).uri(path).header("host", "punctual.test");
        if body.is_some() {
            request = request.header("content-type", "application/json");
        }
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        let body = body.map_or_else(Body::empty, |body| Body::from(body.to_string()));
        let request = request.body(body).expect("a request");
        let response = self.router.clone().call(request).await.expect("an answer");
        let (head, body) = response.into_parts();
        let bytes = to_bytes(body, usize::MAX).await.expect("a body");
        // A backup is no text.
        let text = String::from_utf8_lossy(&bytes).into_owned();
        let body = serde_json::from_str(&text).unwrap_or(Value::Null);
        Reply { status: head.status.as_u16(), headers: head.headers, text, body }
    }
}

/// The path of a collection `name` in group `g`, with a version.
pub(crate) fn collection(name: &str) -> String {
    let base = "/subscriptions/s/resourceGroups/g/providers/Microsoft.Scheduler/jobCollections";
    format!("{base}/{name}?api-version=2016-03-01")
}

/// The path of what is below a collection.
pub(crate) fn within(name: &str, rest: &str) -> String {
    collection(name).replace('?', &format!("/{rest}?"))
}
