//! Secrets: values that may be used, never shown, and stored only as something else; and the walk through all of them.
//!
//! The walk takes every type that may hold a secret apart field by field. One that gets a new field, or an authentication
//! that is new, does not compile until the walk knows it.

use std::fmt;

use serde::de::IgnoredAny;
use serde::{Deserialize, Deserializer};

use crate::action::{
    Call, HttpAuthentication, HttpRequest, ServiceBusMessage, SharedAccessKey, StorageQueueMessage,
};
use crate::{Action, Definition};

/// A password, key or token. It cannot be printed; [`expose`](Self::expose) is the one way to the value.
///
/// It has no serde form, so that nothing that holds one can be written by accident: whoever keeps it seals it first,
/// with [`Definition::try_map`](crate::Definition::try_map).
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(String);

impl Secret {
    /// Wraps a value.
    pub fn new(value: impl Into<String>) -> Self {
        Self(value.into())
    }

    /// The value, for the call that needs it.
    pub fn expose(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret(…)")
    }
}

/// Stands in a definition where a secret is that was not opened: what only shows or lists a job does without it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Withheld;

impl<'de> Deserialize<'de> for Withheld {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        IgnoredAny::deserialize(deserializer).map(|_| Self)
    }
}

/// What stands in a definition where a secret belongs.
pub trait InPlaceOfSecret {
    /// The secret, where it was opened.
    fn opened(&self) -> Option<&Secret>;
}

impl InPlaceOfSecret for Secret {
    fn opened(&self) -> Option<&Secret> {
        Some(self)
    }
}

impl InPlaceOfSecret for Withheld {
    fn opened(&self) -> Option<&Secret> {
        None
    }
}

impl<S> Definition<S> {
    /// The same with something else in the place of each secret: sealed for a disk, or opened again.
    pub fn try_map<T, E>(self, change: &mut impl FnMut(S) -> Result<T, E>) -> Result<Definition<T>, E> {
        let Self { timing, accepted_at, action, catch_up, overlap, extensions_given, capital_occurrence } =
            self;
        let action = action.try_map(change)?;
        Ok(Definition {
            timing,
            accepted_at,
            action,
            catch_up,
            overlap,
            extensions_given,
            capital_occurrence,
        })
    }
}

impl<S> Action<S> {
    fn try_map<T, E>(self, change: &mut impl FnMut(S) -> Result<T, E>) -> Result<Action<T>, E> {
        let Self { call, retry, on_error } = self;
        let call = match call {
            Call::Http { https, request } => Call::Http { https, request: request.try_map(change)? },
            Call::StorageQueue(message) => Call::StorageQueue(message.try_map(change)?),
            Call::ServiceBusQueue(message) => Call::ServiceBusQueue(message.try_map(change)?),
            Call::ServiceBusTopic(message) => Call::ServiceBusTopic(message.try_map(change)?),
        };
        let on_error = match on_error {
            Some(action) => Some(Box::new(action.try_map(change)?)),
            None => None,
        };
        Ok(Action { call, retry, on_error })
    }
}

impl<S> HttpRequest<S> {
    fn try_map<T, E>(self, change: &mut impl FnMut(S) -> Result<T, E>) -> Result<HttpRequest<T>, E> {
        let Self { uri, method, headers, body, authentication } = self;
        let authentication =
            authentication.map(|authentication| authentication.try_map(change)).transpose()?;
        Ok(HttpRequest { uri, method, headers, body, authentication })
    }
}

impl<S> HttpAuthentication<S> {
    fn try_map<T, E>(self, change: &mut impl FnMut(S) -> Result<T, E>) -> Result<HttpAuthentication<T>, E> {
        Ok(match self {
            Self::Basic { username, password } => {
                HttpAuthentication::Basic { username, password: change(password)? }
            }
            Self::ClientCertificate { pfx, password, thumbprint, expiration, subject } => {
                let (pfx, password) = (change(pfx)?, change(password)?);
                HttpAuthentication::ClientCertificate { pfx, password, thumbprint, expiration, subject }
            }
            Self::ActiveDirectoryOAuth { tenant, audience, client_id, secret } => {
                let secret = change(secret)?;
                HttpAuthentication::ActiveDirectoryOAuth { tenant, audience, client_id, secret }
            }
            Self::Hmac { secrets } => HttpAuthentication::Hmac {
                secrets: secrets.into_iter().map(change).collect::<Result<_, E>>()?,
            },
        })
    }
}

impl<S> StorageQueueMessage<S> {
    fn try_map<T, E>(self, change: &mut impl FnMut(S) -> Result<T, E>) -> Result<StorageQueueMessage<T>, E> {
        let Self { account, queue, sas_token, message, delivery } = self;
        Ok(StorageQueueMessage { account, queue, sas_token: change(sas_token)?, message, delivery })
    }
}

impl<S> ServiceBusMessage<S> {
    fn try_map<T, E>(self, change: &mut impl FnMut(S) -> Result<T, E>) -> Result<ServiceBusMessage<T>, E> {
        let Self {
            namespace,
            entity,
            transport,
            authentication,
            message,
            brokered_properties,
            custom_properties,
        } = self;
        let authentication = match authentication {
            Some(SharedAccessKey { name, key }) => Some(SharedAccessKey { name, key: change(key)? }),
            None => None,
        };
        Ok(ServiceBusMessage {
            namespace,
            entity,
            transport,
            authentication,
            message,
            brokered_properties,
            custom_properties,
        })
    }
}
