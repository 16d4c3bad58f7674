//! What an operator can set about Service Bus.

use std::{collections::BTreeMap, ops::RangeInclusive, time::Duration};

use crate::{endpoints::Endpoints, settings::SettingsError};

/// How an AMQP connection says who it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Login {
    /// By a signed token, put to the node `$cbs`: Service Bus.
    Cbs,
    /// By name and key of the shared access key as user and password (SASL PLAIN): other brokers.
    Plain,
}

/// Where a namespace is, and how it is spoken to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Namespace {
    /// The REST endpoint, `http` or `https`.
    pub rest: String,
    /// The AMQP endpoint, `amqps` or, without TLS, `amqp`.
    pub amqp: String,
    /// How an AMQP connection says who it is.
    pub login: Login,
    /// The address of a queue over AMQP; `{entity}` stands for its name.
    pub queue_address: String,
    /// The address of a topic.
    pub topic_address: String,
}

/// Where namespaces are, and how long their links are kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServiceBusSettings {
    /// All that are not named; in the endpoints `{namespace}` stands for the name.
    pub others: Namespace,
    /// Those that are elsewhere, by name in any case.
    pub namespaces: BTreeMap<String, Namespace>,
    /// How long a token holds that is put to `$cbs`; it is renewed before.
    pub token_lifetime: Duration,
    /// How long an AMQP link is kept without being used.
    pub idle_timeout: Duration,
}

impl Default for ServiceBusSettings {
    fn default() -> Self {
        Self {
            others: Namespace {
                rest: "https://{namespace}.servicebus.windows.net".to_owned(),
                amqp: "amqps://{namespace}.servicebus.windows.net".to_owned(),
                login: Login::Cbs,
                queue_address: "{entity}".to_owned(),
                topic_address: "{entity}".to_owned(),
            },
            namespaces: BTreeMap::new(),
            token_lifetime: Duration::from_secs(3600),
            // Service Bus closes links after ten minutes.
            idle_timeout: Duration::from_secs(300),
        }
    }
}

/// How long a token may hold: shorter, and nothing would be done but to renew it; longer, and it is no token any more.
const LIFETIMES: RangeInclusive<Duration> = Duration::from_secs(2)..=Duration::from_secs(30 * 86_400);

impl ServiceBusSettings {
    pub(crate) fn check(&self) -> Result<(), SettingsError> {
        if !LIFETIMES.contains(&self.token_lifetime) {
            return Err(SettingsError::TokenLifetime(self.token_lifetime));
        }
        self.rest().check("service-bus.rest", "service-bus.namespaces.*.rest", &["http", "https"])?;
        self.amqp().check("service-bus.amqp", "service-bus.namespaces.*.amqp", &["amqp", "amqps"])
    }

    /// The REST endpoints.
    pub(crate) fn rest(&self) -> Endpoints {
        self.endpoints(|namespace| &namespace.rest)
    }

    /// The AMQP endpoints.
    pub(crate) fn amqp(&self) -> Endpoints {
        self.endpoints(|namespace| &namespace.amqp)
    }

    /// How a namespace is spoken to.
    pub(crate) fn of(&self, name: &str) -> &Namespace {
        let named = self.namespaces.iter().find(|(known, _)| known.eq_ignore_ascii_case(name));
        named.map_or(&self.others, |(_, namespace)| namespace)
    }

    fn endpoints(&self, which: fn(&Namespace) -> &String) -> Endpoints {
        let named = self.namespaces.iter().map(|(name, namespace)| (name.clone(), which(namespace).clone()));
        Endpoints { pattern: which(&self.others).clone(), named: named.collect() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_cannot_work_is_refused_by_its_setting() {
        let default = ServiceBusSettings::default();
        assert!(default.check().is_ok());
        for seconds in [0, 1, 31 * 86_400] {
            let wrong =
                ServiceBusSettings { token_lifetime: Duration::from_secs(seconds), ..default.clone() };
            let error = wrong.check().unwrap_err().to_string();
            assert!(error.starts_with("service-bus.token-lifetime: "), "{error}");
        }
        let shop = Namespace { amqp: "http://a".to_owned(), ..default.others.clone() };
        let wrong = ServiceBusSettings { namespaces: [("shop".to_owned(), shop)].into(), ..default };
        let error = wrong.check().unwrap_err().to_string();
        assert!(
            error.starts_with("service-bus.namespaces.shop.amqp: \"http://a\" cannot be used"),
            "{error}"
        );
    }
}
