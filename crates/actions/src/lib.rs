//! How is it done?
//!
//! This crate carries out one attempt of an action and says how it went. An [`Order`] goes into a [`Runner`], a
//! [`model::Outcome`] comes out. Whatever the called side does wrong, be it no name, no connection, garbage or an
//! answer without end, is an outcome with a message that a person understands; there is no error to return.
//!
//! ```no_run
//! use actions::{ActionSettings, Actions, Order, Runner};
//! use model::{Clock, Uuid, action::{Call, HttpRequest}};
//!
//! # async fn fire(clock: std::sync::Arc<dyn Clock>) -> Result<(), actions::SettingsError> {
//! let actions = Actions::new(ActionSettings::default(), clock)?;
//! let request = HttpRequest {
//!     uri: "https://example.com/nightly".into(),
//!     method: "post".into(),
//!     headers: None,
//!     body: Some("{}".into()),
//!     authentication: None,
//! };
//! let outcome = actions
//!     .run(Order {
//!         call: &Call::Http { https: true, request },
//!         collection: "reports",
//!         job: "nightly",
//!         location: "North Europe",
//!         expected_at: "2027-03-01T00:00:00Z".parse().unwrap(),
//!         tag: Uuid::new_v4(),
//!         request_id: Uuid::new_v4(),
//!         trace: None,
//!     })
//!     .await;
//! println!("{}: {}", outcome.success, outcome.message);
//! # Ok(())
//! # }
//! ```
//!
//! # The way through
//!
//! [`Actions::run`](Runner::run) looks at the kind of call. For HTTP, `http` walks: `uri` reads the destination,
//! `request` writes what is sent there, `pool` has a `link` that was kept, or else `dialer` resolves the name, asks
//! `egress` whether the address may be called and connects, and `connector` speaks TLS; `redirect` decides where to go on,
//! `answer` reads what came back up to a limit, and `message` writes the sentence for the history; `oauth` gets the
//! tokens of actions that need one. Everything that can go wrong on the way is a `Fault`.
//! `storage_queue` writes its own request and sends it with the same client, and so does `service_bus` for the REST
//! endpoint; for AMQP it keeps links, over connections of the same connector.
//!
//! [`scripted`] is the other implementation of [`Runner`]: outcomes and delays as a test wants them.
//!
//! # What it refuses
//!
//! To remember anything about jobs, to retry (that is decided elsewhere), and to show a secret: neither the request's
//! headers nor the user information of a URI appear in a message, and `secrets` finds what a target must not repeat.

#![forbid(unsafe_code)]

mod deadline;
mod egress;
mod endpoints;
mod fault;
mod http;
mod oauth;
mod order;
mod refusal;
mod resolver;
pub mod scripted;
mod secrets;
mod service_bus;
mod settings;
mod storage_queue;
mod tls;
mod trace;
mod xml;

use std::sync::Arc;

use async_trait::async_trait;
use model::{Clock, Outcome, action::Call};

pub use crate::{
    egress::EgressSettings,
    endpoints::Endpoints,
    oauth::{Authority, OauthSettings},
    order::{HOPS, Order, Target},
    resolver::{MachineResolver, Resolver},
    service_bus::{Login, Namespace, ServiceBusSettings},
    settings::{ActionSettings, SettingsError},
    trace::{Sampling, TraceContext},
};

use crate::{
    http::dialer::Dialer,
    service_bus::{Entity, ServiceBus},
};

/// Who carries out attempts.
#[async_trait]
pub trait Runner: Send + Sync + 'static {
    /// Makes one attempt. It always ends, and in an outcome.
    async fn run(&self, order: Order<'_>) -> Outcome;

    /// Whom the call would burden: what limits on concurrency count by.
    fn target(&self, call: &Call) -> Target {
        Target::of(call)
    }

    /// Returns how many calls wait because the machine has no room for another connection.
    fn short_of_room(&self) -> usize {
        0
    }
}

/// The real actions.
///
/// One instance serves all attempts: it owns the connections that are kept.
pub struct Actions {
    http: http::Http,
    storage_accounts: Endpoints,
    service_bus: ServiceBus,
    dialer: Arc<Dialer>,
}

impl Actions {
    /// Reads the machine's trusted certificates and makes ready; connects to nothing. The clock is for signatures and
    /// tokens, which expire.
    ///
    /// # Errors
    ///
    /// When a setting cannot be used.
    pub fn new(settings: ActionSettings, clock: Arc<dyn Clock>) -> Result<Self, SettingsError> {
        settings.check()?;
        let storage_accounts = settings.storage_accounts.clone();
        let schemes = ["http", "https"];
        storage_accounts.check("storage-queue.endpoint", "storage-queue.accounts.*", &schemes)?;
        // One for all, so that nothing is called past the egress guard.
        let dialer = Arc::new(Dialer::new(&settings)?);
        let service_bus = ServiceBus::new(&settings, Arc::clone(&dialer), Arc::clone(&clock))?;
        let http = http::Http::new(settings, &dialer, clock)?;
        Ok(Self { http, storage_accounts, service_bus, dialer })
    }
}

#[async_trait]
impl Runner for Actions {
    async fn run(&self, order: Order<'_>) -> Outcome {
        let secrets = secrets::of(order.call);
        match order.call {
            Call::Http { request, .. } => self.http.run(&order, request, secrets).await,
            Call::StorageQueue(message) => {
                storage_queue::run(&self.http, &self.storage_accounts, &order, message, &secrets).await
            }
            Call::ServiceBusQueue(message) => {
                self.service_bus.run(&self.http, &order, Entity::Queue, message, secrets).await
            }
            Call::ServiceBusTopic(message) => {
                self.service_bus.run(&self.http, &order, Entity::Topic, message, secrets).await
            }
        }
    }

    fn short_of_room(&self) -> usize {
        self.dialer.short_of_room()
    }
}
