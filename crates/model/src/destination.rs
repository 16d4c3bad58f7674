//! Destinations: where a call goes, as far as it decides who receives the secrets of the call.
//!
//! A stored secret stays with its destination. A change of a job, or a test call, that leads the call elsewhere has to
//! give the secret again; otherwise everyone who may change a job could read its secrets at a host of their own.

use std::fmt;
use std::net::Ipv6Addr;

use crate::action::{Call, HttpAuthentication, HttpRequest, ServiceBusMessage, ServiceBusTransport};

/// Where a call goes. Two that are equal lead to the same receiver; where a spelling leaves a doubt, they differ.
///
/// ```
/// use model::Destination;
///
/// let of = Destination::of_uri;
/// assert_eq!(of("https://user:word@Example.org:443/a?key=1").to_string(), "https://example.org");
/// assert_eq!(of("https://example.org/b"), of("https://EXAMPLE.org:0443#c"));
/// assert_ne!(of("https://example.org/"), of("http://example.org/"));
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Destination {
    /// A host that is called over HTTP.
    Http {
        /// The scheme, the host and the port of the URI.
        origin: Origin,
        /// The header `Host` of the request, in lower case: a host that serves many names chooses by it.
        host_header: Option<String>,
        /// The tenant that is asked for a token, and the audience of the token.
        token: Option<(String, String)>,
    },
    /// A storage account.
    StorageAccount(String),
    /// A namespace of Service Bus.
    ServiceBus {
        /// Its name.
        namespace: String,
        /// Whether the message is sent over AMQP, which may be served elsewhere than HTTP.
        amqp: bool,
    },
}

/// The part of a URI that decides who is called.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Origin {
    /// What every reader of URIs finds in it.
    Known {
        /// `http` or `https`.
        scheme: &'static str,
        /// In lower case.
        host: String,
        /// The default port where none is given.
        port: u16,
    },
    /// A URI that two readers may understand in two ways: equal to itself only.
    Unclear(String),
}

/// Whether two calls go to the same destination.
pub fn same_destination<S, T>(old: &Call<S>, new: &Call<T>) -> bool {
    old.destination() == new.destination()
}

impl Destination {
    /// The destination of a request without headers and authentication.
    pub fn of_uri(uri: &str) -> Self {
        Self::Http { origin: Origin::of(uri), host_header: None, token: None }
    }
}

impl<S> Call<S> {
    /// Where the call goes.
    pub fn destination(&self) -> Destination {
        match self {
            Self::Http { request, .. } => request.destination(),
            Self::StorageQueue(message) => Destination::StorageAccount(message.account.to_ascii_lowercase()),
            Self::ServiceBusQueue(message) | Self::ServiceBusTopic(message) => message.destination(),
        }
    }
}

impl<S> HttpRequest<S> {
    fn destination(&self) -> Destination {
        let mut headers = self.headers.iter().flatten();
        let host = headers.find(|(name, _)| name.eq_ignore_ascii_case("host"));
        let token = match &self.authentication {
            Some(HttpAuthentication::ActiveDirectoryOAuth { tenant, audience, .. }) => {
                Some((tenant.to_ascii_lowercase(), audience.clone()))
            }
            _ => None,
        };
        Destination::Http {
            origin: Origin::of(&self.uri),
            host_header: host.map(|(_, value)| value.to_ascii_lowercase()),
            token,
        }
    }
}

impl<S> ServiceBusMessage<S> {
    fn destination(&self) -> Destination {
        Destination::ServiceBus {
            namespace: self.namespace.to_ascii_lowercase(),
            amqp: self.transport == ServiceBusTransport::Amqp,
        }
    }
}

impl Origin {
    fn of(uri: &str) -> Self {
        Self::known(uri).unwrap_or_else(|| Self::Unclear(uri.to_owned()))
    }

    /// Reads what every reader of URIs understands alike; a backslash, for one, ends the host for some of them.
    fn known(uri: &str) -> Option<Self> {
        if uri.chars().any(|c| c == '\\' || c.is_whitespace() || c.is_control()) {
            return None;
        }
        let (scheme, rest) = uri.split_once("://")?;
        let (scheme, default) = [("http", 80), ("https", 443)]
            .into_iter()
            .find(|(known, _)| scheme.eq_ignore_ascii_case(known))?;
        let authority = rest.split(['/', '?', '#']).next()?;
        let address = authority.rsplit('@').next()?;
        let (host, port) = match address.strip_prefix('[') {
            Some(rest) => {
                let (host, port) = rest.split_once(']')?;
                (format!("[{}]", host.parse::<Ipv6Addr>().ok()?), port)
            }
            None => {
                let (host, port) = address.split_at(address.find(':').unwrap_or(address.len()));
                (host_name(host)?, port)
            }
        };
        let port = match port.strip_prefix(':') {
            None if port.is_empty() => default,
            Some("") => default,
            Some(digits) if digits.bytes().all(|byte| byte.is_ascii_digit()) => digits.parse().ok()?,
            _ => return None,
        };
        Some(Self::Known { scheme, host, port })
    }
}

/// A name in lower case. A dot at its end stays: without it, a resolver may search in other domains first.
fn host_name(host: &str) -> Option<String> {
    let is_known = |c: char| c.is_alphanumeric() || matches!(c, '-' | '.' | '_');
    (!host.is_empty() && host.chars().all(is_known)).then(|| host.to_ascii_lowercase())
}

/// Without user, path and query, which may hold a secret.
impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Known { scheme, host, port } => {
                write!(f, "{scheme}://{host}")?;
                match (*scheme, port) {
                    ("http", 80) | ("https", 443) => Ok(()),
                    _ => write!(f, ":{port}"),
                }
            }
            Self::Unclear(_) => f.write_str("a URI with an unclear host"),
        }
    }
}

impl fmt::Display for Destination {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Http { origin, host_header, token } => {
                write!(f, "{origin}")?;
                if let Some(host) = host_header {
                    write!(f, " with the header Host '{host}'")?;
                }
                if let Some((tenant, audience)) = token {
                    write!(f, " with a token of the tenant '{tenant}' for the audience '{audience}'")?;
                }
                Ok(())
            }
            Self::StorageAccount(account) => write!(f, "the storage account '{account}'"),
            Self::ServiceBus { namespace, amqp } => {
                write!(f, "the namespace '{namespace}' over {}", if *amqp { "AMQP" } else { "HTTP" })
            }
        }
    }
}
