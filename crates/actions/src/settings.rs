//! What an operator can set about actions.

use std::time::Duration;

use crate::{endpoints::Endpoints, oauth::OauthSettings, service_bus::ServiceBusSettings};

/// Limits and habits of outbound calls.
#[derive(Debug, Clone)]
pub struct ActionSettings {
    /// How long a whole attempt may last, redirects and the answer's body included.
    pub timeout: Duration,
    /// How long it may take until a connection can be used: name, connection and TLS together.
    pub connect_timeout: Duration,
    /// How many redirects are followed.
    pub max_redirects: u32,
    /// Bytes of the status line and the headers of an answer; more is a failure. At least 8 KiB.
    pub max_response_headers: usize,
    /// Bytes of the body of an answer; more is a failure. What is read is not kept, but for the characters that go
    /// into the history.
    pub max_response_body: u64,
    /// How long a connection is kept without being used.
    pub idle_timeout: Duration,
    /// How many unused connections are kept for one host.
    pub max_idle_per_host: usize,
    /// What the called side sees as `User-Agent`, unless the action has one of its own.
    pub user_agent: String,
    /// Certificates (PEM) that are trusted besides those of the machine.
    pub extra_roots: Vec<u8>,
    /// Where storage accounts have their queues.
    pub storage_accounts: Endpoints,
    /// Where namespaces of Service Bus are.
    pub service_bus: ServiceBusSettings,
    /// Where tokens come from.
    pub oauth: OauthSettings,
}

impl Default for ActionSettings {
    fn default() -> Self {
        Self {
            timeout: Duration::from_secs(60),
            // The old service gave up a connection after 21 s, as recorded.
            connect_timeout: Duration::from_secs(20),
            max_redirects: 5,
            max_response_headers: 64 * 1024,
            // Generous, because a target that answers with a large page worked with the old service; finite, because
            // an endless answer must not cost a minute of bandwidth.
            max_response_body: 16 * 1024 * 1024,
            // Shorter than the keep-alive of the common servers (the shortest is 2 s): a connection that the other
            // side is about to close must not cost an attempt. Those who profit are the many calls of one instant.
            idle_timeout: Duration::from_secs(1),
            max_idle_per_host: 256,
            user_agent: concat!("Punctual/", env!("CARGO_PKG_VERSION")).to_owned(),
            extra_roots: Vec::new(),
            storage_accounts: Endpoints::public("https://{account}.queue.core.windows.net"),
            service_bus: ServiceBusSettings::default(),
            oauth: OauthSettings::default(),
        }
    }
}

/// A setting that cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum SettingsError {
    /// The user agent is no header value.
    #[error("user_agent: {0:?} cannot be sent in a header")]
    UserAgent(String),
    /// The limit of headers is below what an answer of any size needs.
    #[error("max_response_headers: {0} bytes are too few, at least 8192 are needed")]
    MaxResponseHeaders(usize),
    /// An extra certificate cannot be read.
    #[error("tls.ca-file: {0}")]
    ExtraRoots(String),
    /// An endpoint is no address.
    #[error("{setting}: {text:?} cannot be used: {why}")]
    Endpoint {
        /// Its name in the configuration.
        setting: String,
        /// As given.
        text: String,
        /// What is wrong with it.
        why: String,
    },
    /// Tokens hold too short or too long.
    #[error("service-bus.token-lifetime: {0:?} cannot be used; allowed: from 2s to 30d")]
    TokenLifetime(Duration),
    /// TLS cannot be set up.
    #[error("TLS cannot be set up: {0}")]
    Tls(#[from] rustls::Error),
}
