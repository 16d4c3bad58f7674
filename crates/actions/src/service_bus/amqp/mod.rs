//! AMQP: links to entities, kept and shared.
//!
//! All messages for one entity of one namespace under one key go over one link. Each link belongs to a
//! [`carrier`], which opens it with the first message and ends when nothing came for a while; this file
//! finds the carrier of a message or starts one, and keeps their number within a bound.

mod carrier;
mod link;
mod message;
mod refused;

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use model::{Clock, action::ServiceBusMessage};
use tokio::sync::{mpsc, oneshot};

use self::{
    carrier::{Carrier, Parcel},
    link::Destination,
};
use super::{Entity, Failure, ServiceBusSettings, properties};
use crate::{
    fault::{Fault, Kind, seconds},
    http::{connector::Connector, dialer::Dialer},
    order::Order,
    settings::{ActionSettings, SettingsError},
    tls,
};

/// The most links that are kept. One more, and the one that was unused the longest goes.
const LINKS: usize = 256;

/// The most messages that wait for their turn on one link; further ones wait at the door.
const WAITING: usize = 256;

/// What tells links apart.
#[derive(Clone, PartialEq, Eq, Hash)]
struct Name {
    namespace: String,
    entity: Entity,
    name: String,
    key: Option<(String, String)>,
}

/// The way to a carrier.
struct Door {
    parcels: mpsc::Sender<Parcel>,
    /// The number of the message that went through it last.
    used: u64,
}

#[derive(Default)]
struct Doors {
    open: HashMap<Name, Door>,
    messages: u64,
}

/// All links.
pub(crate) struct Links {
    settings: Arc<ServiceBusSettings>,
    connector: Connector,
    clock: Arc<dyn Clock>,
    timeout: Duration,
    doors: Mutex<Doors>,
}

impl Links {
    pub(crate) fn new(
        settings: &ActionSettings,
        dialer: Arc<Dialer>,
        own: Arc<ServiceBusSettings>,
        clock: Arc<dyn Clock>,
    ) -> Result<Self, SettingsError> {
        let mut tls = tls::client_config(&settings.extra_roots)?;
        // The protocol that HTTP asks for; AMQP has no name there.
        tls.alpn_protocols.clear();
        let connector = Connector::new(dialer, tls, settings.tls_timeout);
        Ok(Self { settings: own, connector, clock, timeout: settings.timeout, doors: Mutex::default() })
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
        let to = self.destination(entity, message)?;
        let written = message::write(message, &properties, self.clock.now());
        let (reply, answer) = oneshot::channel();
        let parcel = Parcel { message: written, reply };
        let exchange = async {
            self.hand_over(entity, message, to, parcel).await;
            answer.await
        };
        match tokio::time::timeout(self.timeout, exchange).await {
            Ok(Ok(ended)) => ended,
            Ok(Err(_)) => Err(Fault::new(Kind::ConnectionClosed, "the link ended").into()),
            Err(_) => {
                let cause = format!("the message was not acknowledged within {}", seconds(self.timeout));
                Err(Fault::new(Kind::Timeout, cause).into())
            }
        }
    }

    /// Brings a parcel to its carrier. One that is about to end takes no more; then there is a new one.
    async fn hand_over(
        &self,
        entity: Entity,
        message: &ServiceBusMessage,
        to: Destination,
        mut parcel: Parcel,
    ) {
        let key = to.key.as_ref().map(|key| (key.name.clone(), key.key.expose().to_owned()));
        let namespace = message.namespace.to_ascii_lowercase();
        let name = Name { namespace, entity, name: message.entity.clone(), key };
        while let Err(returned) = self.door(&name, &to).send(parcel).await {
            parcel = returned.0;
        }
    }

    /// The door to the carrier of a name, who is hired if there is none.
    fn door(&self, name: &Name, to: &Destination) -> mpsc::Sender<Parcel> {
        // Nothing in here can be left half done.
        let mut doors = self.doors.lock().unwrap_or_else(PoisonError::into_inner);
        doors.messages += 1;
        let used = doors.messages;
        if let Some(door) = doors.open.get_mut(name)
            && !door.parcels.is_closed()
        {
            door.used = used;
            return door.parcels.clone();
        }
        doors.open.retain(|_, door| !door.parcels.is_closed());
        if doors.open.len() >= LINKS {
            let oldest = doors.open.iter().min_by_key(|(_, door)| door.used).map(|(name, _)| name.clone());
            // Without its door a carrier delivers what it has, and ends.
            oldest.and_then(|name| doors.open.remove(&name));
        }
        let (parcels, received) = mpsc::channel(WAITING);
        let carrier = Carrier {
            connector: self.connector.clone(),
            to: to.clone(),
            clock: Arc::clone(&self.clock),
            timeout: self.timeout,
            idle_timeout: self.settings.idle_timeout,
        };
        tokio::spawn(carrier.run(received));
        doors.open.insert(name.clone(), Door { parcels: parcels.clone(), used });
        parcels
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
