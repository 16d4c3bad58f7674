//! Service Bus: a message is sent to a queue or a topic, over AMQP or over the REST endpoint.
//!
//! `properties` reads what the message says about itself; `rest` and `amqp` put it on the wire, each in its own way.
//! This file decides between them and writes the sentence for the history: `ServiceBusQueue Action - Message to queue
//! 'orders' in namespace 'shop' succeeded: 'Created'`. Tools of the old service take what stands before the first colon
//! for the result, the first quoted word for the entity and the second for the namespace.
//!
//! The old service's own protocol for `NetMessaging` is gone; such messages go to the REST endpoint, and so do those
//! that say nothing.

mod amqp;
mod properties;
mod rest;
mod settings;
mod signature;

use std::{fmt, sync::Arc};

use ::http::StatusCode;
use model::{
    Clock, Outcome, Redaction,
    action::{ServiceBusMessage, ServiceBusTransport},
};

pub use self::settings::{Login, Namespace, ServiceBusSettings};
use crate::{
    endpoints::Endpoints,
    fault::Fault,
    http::{Http, dialer::Dialer, message},
    order::Order,
    refusal::{Refusal, hide},
    settings::{ActionSettings, SettingsError},
};

/// What a message is sent to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Entity {
    Queue,
    Topic,
}

impl Entity {
    const fn words(self) -> (&'static str, &'static str) {
        match self {
            Self::Queue => ("ServiceBusQueue", "queue"),
            Self::Topic => ("ServiceBusTopic", "topic"),
        }
    }
}

/// Why a message was not taken.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Failure {
    /// There is no such queue or topic.
    Missing(String),
    /// The other side said no.
    Refused(String),
    /// It did not come to that.
    Fault(Fault),
}

impl From<Fault> for Failure {
    fn from(fault: Fault) -> Self {
        Self::Fault(fault)
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Missing(text) | Self::Refused(text) => f.write_str(text),
            Self::Fault(fault) => fault.fmt(f),
        }
    }
}

/// Sends messages to Service Bus, and keeps the links over which it does.
pub(crate) struct ServiceBus {
    rest: Endpoints,
    tokens: signature::Tokens,
    links: amqp::Links,
    clock: Arc<dyn Clock>,
}

impl ServiceBus {
    pub(crate) fn new(
        settings: &ActionSettings,
        dialer: Arc<Dialer>,
        clock: Arc<dyn Clock>,
    ) -> Result<Self, SettingsError> {
        let own = settings.service_bus.clone();
        own.check()?;
        let rest = own.rest();
        let links = amqp::Links::new(settings, dialer, own, Arc::clone(&clock))?;
        Ok(Self { rest, tokens: signature::Tokens::default(), links, clock })
    }

    /// One attempt.
    pub(crate) async fn run(
        &self,
        http: &Http,
        order: &Order<'_>,
        entity: Entity,
        message: &ServiceBusMessage,
        mut secrets: Redaction,
    ) -> Outcome {
        let ended = match message.transport {
            ServiceBusTransport::Amqp => self.links.send(order, entity, message).await,
            ServiceBusTransport::NetMessaging | ServiceBusTransport::NotSpecified => {
                self.post(http, order, message, &mut secrets).await
            }
        };
        told(entity, message, ended, &secrets)
    }

    async fn post(
        &self,
        http: &Http,
        order: &Order<'_>,
        message: &ServiceBusMessage,
        secrets: &mut Redaction,
    ) -> Result<String, Failure> {
        let endpoint = self.rest.of(&message.namespace)?;
        let properties = properties::of(order, message);
        let signed = rest::request(&endpoint, message, &properties, &self.tokens, self.clock.now())?;
        secrets.add(&signed.signature);
        let (head, body) = http.exchange(signed.request).await?;
        if head.status.is_success() {
            return Ok(format!("'{}'", message::name(head.status)));
        }
        let text = Refusal::read(&head, &body, secrets).text().to_owned();
        Err(match head.status {
            StatusCode::NOT_FOUND | StatusCode::GONE => Failure::Missing(text),
            _ => Failure::Refused(text),
        })
    }
}

fn told(
    entity: Entity,
    message: &ServiceBusMessage,
    ended: Result<String, Failure>,
    secrets: &Redaction,
) -> Outcome {
    let (action, kind) = entity.words();
    let name = hide(&message.entity, &Redaction::default());
    let namespace = hide(&message.namespace, &Redaction::default());
    let shown = |failure: &Failure| hide(&failure.to_string(), secrets);
    let success = ended.is_ok();
    let message = match ended {
        Ok(how) => {
            format!(
                "{action} Action - Message to {kind} '{name}' in namespace '{namespace}' succeeded: {how}"
            )
        }
        Err(failure @ Failure::Missing(_)) => {
            format!(
                "{action} Action - The {kind} '{name}' in namespace '{namespace}' does not exist: {}",
                shown(&failure)
            )
        }
        Err(failure) => {
            format!(
                "{action} Action - Message to {kind} '{name}' in namespace '{namespace}' failed: {}",
                shown(&failure)
            )
        }
    };
    Outcome { success, message }
}
