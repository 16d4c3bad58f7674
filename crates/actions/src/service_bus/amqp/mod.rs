//! AMQP: links to entities, kept and shared.
//!
//! All messages for one entity of one namespace under one key go over one link. Each link belongs to a [`way`], which
//! opens it with the first message and ends it when nothing came for a while; this file finds the way of a message
//! or makes one, and keeps their number within a bound.

mod link;
mod message;
mod refused;
mod way;

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use fe2o3_amqp::link::delivery::Sendable;
use model::{Clock, action::ServiceBusMessage};

use self::{
    link::Destination,
    way::{Limits, Way},
};
use super::{Entity, Failure, ServiceBusSettings, properties};
use crate::{
    fault::{Fault, Kind},
    http::{connector::Connector, dialer::Dialer},
    order::Order,
    settings::{ActionSettings, SettingsError},
    tls,
};

/// The most links that are kept. One more, and the one that was unused the longest goes.
const LINKS: usize = 256;

/// What tells links apart.
#[derive(Clone, PartialEq, Eq, Hash)]
struct Name {
    namespace: String,
    entity: Entity,
    name: String,
    key: Option<(String, String)>,
}

/// A way, and when it was last asked for.
struct Known {
    way: Arc<Way>,
    /// The number of the message that took it last.
    used: u64,
}

#[derive(Default)]
struct Ways {
    known: HashMap<Name, Known>,
    messages: u64,
}

/// All links.
pub(crate) struct Links {
    settings: ServiceBusSettings,
    connector: Connector,
    clock: Arc<dyn Clock>,
    timeout: Duration,
    ways: Mutex<Ways>,
}

impl Links {
    pub(crate) fn new(
        settings: &ActionSettings,
        dialer: Arc<Dialer>,
        own: ServiceBusSettings,
        clock: Arc<dyn Clock>,
    ) -> Result<Self, SettingsError> {
        let mut tls = tls::client_config(&settings.extra_roots)?;
        // The protocol that HTTP asks for; AMQP has no name there.
        tls.alpn_protocols.clear();
        let connector = Connector::new(dialer, tls, settings.tls_timeout);
        Ok(Self { settings: own, connector, clock, timeout: settings.timeout, ways: Mutex::default() })
    }

    /// Sends a message, and says how it was taken.
    pub(crate) async fn send(
        &self,
        order: &Order<'_>,
        entity: Entity,
        message: &ServiceBusMessage,
    ) -> Result<String, Failure> {
        let properties = properties::of(order, message);
        if properties.content_type.as_ref().is_some_and(|text| !text.is_ascii()) {
            let cause = "the contentType has letters beyond ASCII, which AMQP does not allow there";
            return Err(Fault::new(Kind::UnknownError, cause).into());
        }
        let way = self.way(entity, message)?;
        way.send(&Sendable::from(message::write(message, &properties, self.clock.now()))).await
    }

    /// The way of a message, which is made if there is none.
    fn way(&self, entity: Entity, message: &ServiceBusMessage) -> Result<Arc<Way>, Failure> {
        let key = message.authentication.as_ref();
        let name = Name {
            namespace: message.namespace.to_ascii_lowercase(),
            entity,
            name: message.entity.clone(),
            key: key.map(|key| (key.name.clone(), key.key.expose().to_owned())),
        };
        // Nothing in here can be left half done.
        let mut ways = self.ways.lock().unwrap_or_else(PoisonError::into_inner);
        ways.messages += 1;
        let used = ways.messages;
        if let Some(known) = ways.known.get_mut(&name) {
            known.used = used;
            return Ok(Arc::clone(&known.way));
        }
        let to = self.destination(entity, message)?;
        // Those that nobody is on, and that lead nowhere now.
        ways.known.retain(|_, known| Arc::strong_count(&known.way) > 1 || known.way.is_open());
        if ways.known.len() >= LINKS {
            let oldest = ways.known.iter().min_by_key(|(_, known)| known.used).map(|(name, _)| name.clone());
            // Who is on it has it until the end.
            oldest.and_then(|name| ways.known.remove(&name));
        }
        let limits = Limits { timeout: self.timeout, idle_timeout: self.settings.idle_timeout };
        let way = Way::new(to, self.connector.clone(), Arc::clone(&self.clock), limits);
        ways.known.insert(name, Known { way: Arc::clone(&way), used });
        Ok(way)
    }

    fn destination(&self, entity: Entity, message: &ServiceBusMessage) -> Result<Destination, Failure> {
        let namespace = self.settings.of(&message.namespace);
        let endpoint = self.settings.amqp().of(&message.namespace)?;
        let endpoint = endpoint
            .parse()
            .map_err(|_| Fault::new(Kind::UnknownError, "the namespace's endpoint is no address"))?;
        let address = match entity {
            Entity::Queue => &namespace.queue_address,
            Entity::Topic => &namespace.topic_address,
        };
        Ok(Destination {
            endpoint,
            entity: message.entity.clone(),
            address: address.replace("{entity}", &message.entity),
            login: namespace.login,
            key: message.authentication.clone(),
            token_lifetime: self.settings.token_lifetime,
        })
    }
}
