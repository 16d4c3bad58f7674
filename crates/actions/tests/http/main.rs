//! HTTP actions against real sockets on the loopback: what the called side sees, and what the history will say of
//! everything that it can do to us.

mod amqp;
mod answers;
mod ca;
mod connections;
mod echoes;
mod egress;
mod faults;
mod limits;
mod oauth;
mod redirects;
mod requests;
mod server;
mod service_bus;
mod signed;
mod storage_queue;
mod tls;

use std::{sync::Arc, time::Duration};

use actions::{ActionSettings, Actions, Order, Runner as _};
use model::{
    Clock, Outcome, Secret, Timestamp, Uuid,
    action::{Call, HttpAuthentication, HttpRequest},
};

const TAG: &str = "0123456789abcdef0123456789abcdef";
const REQUEST_ID: &str = "01234567-89ab-4def-8123-456789abcdef";

/// A clock that stands still, five minutes before the expiry of signatures that tests know.
struct Still;

impl Clock for Still {
    fn now(&self) -> Timestamp {
        "2027-03-01T12:30:00Z".parse().expect("a timestamp")
    }
}

/// Limits that nothing good comes near, and that a test can wait for.
fn settings() -> ActionSettings {
    ActionSettings {
        timeout: Duration::from_secs(20),
        connect_timeout: Duration::from_secs(10),
        // A test may be slow between two calls.
        idle_timeout: Duration::from_secs(60),
        ..ActionSettings::default()
    }
}

/// The same with little patience, for targets that hang; enough of it to see the part that comes before.
fn impatient() -> ActionSettings {
    ActionSettings { timeout: Duration::from_secs(1), ..settings() }
}

fn actions(settings: ActionSettings) -> Actions {
    Actions::new(settings, Arc::new(Still)).expect("the settings are fine")
}

fn get(uri: impl Into<String>) -> HttpRequest {
    HttpRequest { uri: uri.into(), method: "GET".into(), headers: None, body: None, authentication: None }
}

fn post(uri: impl Into<String>, body: &str) -> HttpRequest {
    HttpRequest { method: "POST".into(), body: Some(body.into()), ..get(uri) }
}

fn with_headers(request: HttpRequest, headers: &[(&str, &str)]) -> HttpRequest {
    let headers = headers.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
    HttpRequest { headers: Some(headers), ..request }
}

fn with_basic(request: HttpRequest, username: &str, password: &str) -> HttpRequest {
    let password = Secret::new(password);
    HttpRequest {
        authentication: Some(HttpAuthentication::Basic { username: username.into(), password }),
        ..request
    }
}

async fn attempt(actions: &Actions, request: HttpRequest) -> Outcome {
    order(actions, &Call::Http { https: false, request }).await
}

async fn order(actions: &Actions, call: &Call) -> Outcome {
    actions.run(order_of(call)).await
}

fn order_of(call: &Call) -> Order<'_> {
    Order {
        call,
        collection: "nightly-jobs",
        job: "report.1",
        location: "North Europe",
        expected_at: "2027-03-01T12:30:00Z".parse().expect("a timestamp"),
        tag: TAG.parse::<Uuid>().expect("a tag"),
        request_id: REQUEST_ID.parse::<Uuid>().expect("an id"),
        trace: None,
    }
}

#[track_caller]
fn assert_failed(outcome: &Outcome, message: &str) {
    assert!(!outcome.success, "{}", outcome.message);
    assert!(outcome.message.contains(message), "{:?} does not say {message:?}", outcome.message);
}
