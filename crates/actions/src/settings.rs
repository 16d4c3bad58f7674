//! What an operator can set about actions.

use std::{sync::Arc, time::Duration};

use crate::{
    egress::EgressSettings,
    endpoints::Endpoints,
    oauth::OauthSettings,
    resolver::{MachineResolver, Resolver},
    service_bus::ServiceBusSettings,
};

/// Limits and habits of outbound calls.
#[derive(Debug, Clone)]
pub struct ActionSettings {
    /// How long a whole attempt may last, redirects and the answer's body included.
    pub timeout: Duration,
    /// How long it may take to resolve a name.
    pub resolve_timeout: Duration,
    /// How long it may take to connect, to whichever address of a name.
    pub connect_timeout: Duration,
    /// How long the TLS handshake may take.
    pub tls_timeout: Duration,
    /// How long it may take, once there is a connection, until the status and the headers of an answer have come. From
    /// [`timeout`](Self::timeout) on it makes no difference.
    pub answer_timeout: Duration,
    /// How many redirects are followed.
    pub max_redirects: u32,
    /// Bytes of the status line and the headers of an answer; more is a failure. At least 8 KiB.
    pub max_response_headers: usize,
    /// Lines of headers of an answer; more is a failure. From 1 to 10,000.
    pub max_response_header_lines: usize,
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
    /// Whom actions may call.
    pub egress: EgressSettings,
    /// Who knows the addresses of names.
    pub resolver: Arc<dyn Resolver>,
}

impl Default for ActionSettings {
    fn default() -> Self {
        Self {
            timeout: Duration::from_secs(60),
            // The old service gave up a connection after 21 s, as recorded.
            connect_timeout: Duration::from_secs(20),
            // Resolvers of machines ask a second time after 5 s.
            resolve_timeout: Duration::from_secs(15),
            tls_timeout: Duration::from_secs(20),
            answer_timeout: Duration::from_secs(60),
            max_redirects: 5,
            max_response_headers: 64 * 1024,
            max_response_header_lines: 100,
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
            egress: EgressSettings::default(),
            resolver: Arc::new(MachineResolver),
        }
    }
}

/// The least that the client accepts as limit of a head.
const LEAST_HEAD: usize = 8 * 1024;

/// The most lines of headers. The client has room for all of them on every call.
const MOST_LINES: usize = 10_000;

impl ActionSettings {
    /// Refuses limits with which nothing would work.
    pub(crate) fn check(&self) -> Result<(), SettingsError> {
        let refused = |setting, given: String, allowed| Err(SettingsError::Limit { setting, given, allowed });
        for (setting, limit) in [
            ("http.timeout", self.timeout),
            ("http.resolve-timeout", self.resolve_timeout),
            ("http.connect-timeout", self.connect_timeout),
            ("http.tls-timeout", self.tls_timeout),
            ("http.answer-timeout", self.answer_timeout),
        ] {
            if limit.is_zero() {
                return refused(setting, format!("{limit:?}"), "1ms and more");
            }
        }
        if self.max_response_headers < LEAST_HEAD {
            let given = self.max_response_headers.to_string();
            return refused("http.max-answer-headers", given, "8192 bytes and more");
        }
        if !(1..=MOST_LINES).contains(&self.max_response_header_lines) {
            let given = self.max_response_header_lines.to_string();
            return refused("http.max-answer-header-lines", given, "1 to 10000");
        }
        Ok(())
    }
}

/// A setting that cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum SettingsError {
    /// The user agent is no header value.
    #[error("user_agent: {0:?} cannot be sent in a header")]
    UserAgent(String),
    /// A limit with which nothing would work.
    #[error("{setting}: {given} cannot be used; allowed: {allowed}")]
    Limit {
        /// Its name in the configuration.
        setting: &'static str,
        /// As given.
        given: String,
        /// What would work.
        allowed: &'static str,
    },
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
    /// An entry of the egress lists means nothing.
    #[error("{setting}: {text:?} cannot be used: {why}")]
    Egress {
        /// The list's name in the configuration.
        setting: &'static str,
        /// As given.
        text: String,
        /// What is wrong with it, or what is allowed.
        why: String,
    },
    /// Tokens hold too short or too long.
    #[error("service-bus.token-lifetime: {0:?} cannot be used; allowed: from 2s to 30d")]
    TokenLifetime(Duration),
    /// TLS cannot be set up.
    #[error("TLS cannot be set up: {0}")]
    Tls(#[from] rustls::Error),
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_with_which_nothing_would_work_are_refused_by_their_names() {
        let default = ActionSettings::default;
        assert!(default().check().is_ok());
        let nothing = Duration::ZERO;
        for (wrong, says) in [
            (ActionSettings { timeout: nothing, ..default() }, "http.timeout: 0ns cannot be used"),
            (ActionSettings { resolve_timeout: nothing, ..default() }, "http.resolve-timeout: "),
            (ActionSettings { connect_timeout: nothing, ..default() }, "http.connect-timeout: "),
            (ActionSettings { tls_timeout: nothing, ..default() }, "http.tls-timeout: "),
            (ActionSettings { answer_timeout: nothing, ..default() }, "http.answer-timeout: "),
            (ActionSettings { max_response_headers: 8191, ..default() }, "http.max-answer-headers: 8191"),
            (ActionSettings { max_response_header_lines: 0, ..default() }, "http.max-answer-header-lines: 0"),
            (ActionSettings { max_response_header_lines: 10_001, ..default() }, "allowed: 1 to 10000"),
        ] {
            let error = wrong.check().unwrap_err().to_string();
            assert!(error.contains(says), "{error}");
        }
    }
}
