//! Where queues are: storage accounts, and namespaces of Service Bus.

use std::collections::BTreeMap;
use std::time::Duration;

use actions::{Endpoints, ServiceBusSettings};
use serde::Deserialize;

use super::duration;

/// Where storage accounts are.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct StorageQueue {
    /// All that are not named.
    pub endpoint: String,
    /// Those that are elsewhere.
    pub accounts: BTreeMap<String, String>,
}

/// Where namespaces are, and how they are spoken to.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct ServiceBus {
    /// The REST endpoint.
    pub rest: String,
    /// The AMQP endpoint.
    pub amqp: String,
    /// How an AMQP connection says who it is.
    pub login: Login,
    /// The AMQP address of a queue.
    pub queue_address: String,
    /// The AMQP address of a topic.
    pub topic_address: String,
    /// How long a token holds.
    #[serde(deserialize_with = "duration::read")]
    pub token_lifetime: Duration,
    /// How long a link is kept without being used.
    #[serde(deserialize_with = "duration::read")]
    pub idle_timeout: Duration,
    /// Those that are elsewhere or speak otherwise.
    pub namespaces: BTreeMap<String, Namespace>,
}

/// What is different about one namespace.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Namespace {
    /// The REST endpoint.
    pub rest: Option<String>,
    /// The AMQP endpoint.
    pub amqp: Option<String>,
    /// How an AMQP connection says who it is.
    pub login: Option<Login>,
    /// The AMQP address of a queue.
    pub queue_address: Option<String>,
    /// The AMQP address of a topic.
    pub topic_address: Option<String>,
}

/// How an AMQP connection says who it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Login {
    /// By a signed token.
    Cbs,
    /// By user and password.
    Plain,
}

impl From<Login> for actions::Login {
    fn from(login: Login) -> Self {
        match login {
            Login::Cbs => Self::Cbs,
            Login::Plain => Self::Plain,
        }
    }
}

impl StorageQueue {
    /// As the actions know it.
    pub(super) fn settings(&self) -> Endpoints {
        Endpoints { pattern: self.endpoint.clone(), named: self.accounts.clone() }
    }
}

impl ServiceBus {
    /// As the actions know it.
    pub(super) fn settings(&self) -> ServiceBusSettings {
        let others = actions::Namespace {
            rest: self.rest.clone(),
            amqp: self.amqp.clone(),
            login: self.login.into(),
            queue_address: self.queue_address.clone(),
            topic_address: self.topic_address.clone(),
        };
        let or = |own: &Option<String>, other: &String| own.as_ref().unwrap_or(other).clone();
        let complete = |own: &Namespace| actions::Namespace {
            rest: or(&own.rest, &others.rest),
            amqp: or(&own.amqp, &others.amqp),
            login: own.login.unwrap_or(self.login).into(),
            queue_address: or(&own.queue_address, &others.queue_address),
            topic_address: or(&own.topic_address, &others.topic_address),
        };
        let namespaces = self.namespaces.iter().map(|(name, own)| (name.clone(), complete(own))).collect();
        ServiceBusSettings {
            namespaces,
            others,
            token_lifetime: self.token_lifetime,
            idle_timeout: self.idle_timeout,
        }
    }
}
