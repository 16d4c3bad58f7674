//! Orders: what a runner is asked to do, and whom it will burden by that.

use std::fmt::{self, Write as _};
use std::sync::Arc;

use model::{Timestamp, Uuid, action::Call};

use crate::http::uri;
use crate::trace::TraceContext;

/// The header that marks every request of ours. Its value says how many calls of jobs led to it, itself included. No
/// job can set it or leave it out, so a server of ours knows what comes from a job, whatever name it was called by.
pub const HOPS: &str = "x-punctual-hops";

/// One attempt to be made.
#[derive(Clone, Copy)]
pub struct Order<'a> {
    /// What is called.
    pub call: &'a Call,
    /// The name of the job collection.
    pub collection: &'a str,
    /// The name of the job.
    pub job: &'a str,
    /// Where the collection lives, as displayed: `North Europe`.
    pub location: &'a str,
    /// When the occurrence was due.
    pub expected_at: Timestamp,
    /// The same for all attempts of an occurrence.
    pub tag: Uuid,
    /// New for every attempt.
    pub request_id: Uuid,
    /// The call's span, where traces are made; HTTP targets are told of it.
    pub trace: Option<TraceContext>,
}

/// Host and port of a call. Two calls with equal targets burden the same machine.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Target(Arc<str>);

impl Target {
    /// The target of a call.
    ///
    /// URIs that cannot be read share one target, `invalid`: their attempts end before anything is called.
    pub fn of(call: &Call) -> Self {
        match call {
            Call::Http { request, .. } => match uri::read(&request.uri) {
                Ok(destination) => Self::new(uri::host(&destination.uri), uri::port(&destination.uri)),
                Err(_) => Self::invalid(),
            },
            Call::StorageQueue(message) => {
                Self::new(&format!("{}.queue.core.windows.net", message.account), 443)
            }
            // Port 5671 whatever the transport: it is one namespace that is burdened.
            Call::ServiceBusQueue(message) | Call::ServiceBusTopic(message) => {
                Self::new(&format!("{}.servicebus.windows.net", message.namespace), 5671)
            }
        }
    }

    /// The target of what cannot be called.
    pub fn invalid() -> Self {
        Self("invalid".into())
    }

    /// The target of a host, in any case, and a port.
    pub fn new(host: &str, port: u16) -> Self {
        let mut text = String::with_capacity(host.len() + 6);
        text.push_str(host);
        text.make_ascii_lowercase();
        // Writing to a string does not fail.
        let _ = write!(text, ":{port}");
        Self(text.into())
    }

    /// `host:port`.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// When an occurrence was due, as the called side reads it: UTC without a `Z`, and the part of a second only where
/// there is one, in at most seven digits.
///
/// The storage queue messages of the old service carried `2015-09-10T00:00:00`; the HTTP header that says the same
/// is not recorded, and is written the same way here.
pub(crate) fn expected_time(at: Timestamp) -> String {
    let mut text = String::with_capacity(EXPECTED_TIME);
    write_expected_time(&mut text, at);
    text
}

/// How long an [`expected_time`] is at most, but for years that need more than four digits.
pub(crate) const EXPECTED_TIME: usize = "2016-03-30T20:39:52.6597062".len();

/// Writes an [`expected_time`] at the end of a text.
pub(crate) fn write_expected_time(text: &mut String, at: Timestamp) {
    // Ticks of 100 ns, rounded down: .NET knows nothing finer.
    let ticks = at.as_nanosecond().div_euclid(100);
    let (second, fraction) = (ticks.div_euclid(10_000_000), ticks.rem_euclid(10_000_000));
    // Writing to a string does not fail.
    let _ = write!(text, "{}", Timestamp::from_second(second as i64).unwrap_or(at));
    if text.ends_with('Z') {
        text.pop();
    }
    if fraction > 0 {
        let _ = write!(text, ".{fraction:07}");
        text.truncate(text.trim_end_matches('0').len());
    }
}

#[cfg(test)]
mod tests {
    use model::action::HttpRequest;

    use super::*;

    fn target(uri: &str) -> String {
        let request = HttpRequest {
            uri: uri.into(),
            method: "GET".into(),
            headers: None,
            body: None,
            authentication: None,
        };
        Target::of(&Call::Http { https: false, request }).to_string()
    }

    #[test]
    fn targets_are_host_and_port() {
        for (uri, expected) in [
            ("http://Example.COM/a", "example.com:80"),
            ("https://example.com", "example.com:443"),
            ("https://example.com:8443/?q=1#f", "example.com:8443"),
            ("http://user:secret@example.com/", "example.com:80"),
            ("http://[::1]:81/", "[::1]:81"),
            ("http://bücher.example/", "xn--bcher-kva.example:80"),
            ("not a uri", "invalid"),
            ("ftp://example.com/", "invalid"),
        ] {
            assert_eq!(target(uri), expected, "{uri}");
        }
    }

    #[test]
    fn expected_times_have_no_zone_and_no_idle_zeros() {
        for (at, expected) in [
            ("2015-09-10T00:00:00Z", "2015-09-10T00:00:00"),
            ("2016-03-30T20:39:52.6597062Z", "2016-03-30T20:39:52.6597062"),
            ("2016-03-30T20:39:52.500Z", "2016-03-30T20:39:52.5"),
            ("2016-03-30T20:39:52.000000099Z", "2016-03-30T20:39:52"),
            ("1969-12-31T23:59:59.9Z", "1969-12-31T23:59:59.9"),
        ] {
            assert_eq!(expected_time(at.parse().unwrap()), expected);
        }
    }
}
