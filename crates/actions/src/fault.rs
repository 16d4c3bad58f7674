//! Faults: why no usable answer came.
//!
//! The history of the old service names them by .NET's `WebExceptionStatus`, followed by the text of the exception;
//! both are kept here word for word, and the cause is added in parentheses.

use std::{error::Error, fmt, io, time::Duration};

use model::Redaction;

use crate::settings::ActionSettings;

/// What kind of fault, by its recorded name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// The name has no address.
    NameResolutionFailure,
    /// No connection.
    ConnectFailure,
    /// TLS does not come about.
    SecureChannelFailure,
    /// TLS does, with somebody we do not trust.
    TrustFailure,
    /// The request could not be written.
    SendFailure,
    /// The answer could not be read.
    ReceiveFailure,
    /// The other side hung up in the middle.
    ConnectionClosed,
    /// Too late.
    Timeout,
    /// What came is no HTTP.
    ServerProtocolViolation,
    /// What came is too much.
    MessageLengthLimitExceeded,
    /// What came asks for something that we do not do.
    ProtocolError,
    /// The request cannot be made at all.
    UnknownError,
}

impl Kind {
    /// The name, and the text of the exception where it is always the same.
    const fn words(self) -> (&'static str, &'static str) {
        match self {
            Self::NameResolutionFailure => ("NameResolutionFailure", "The remote name could not be resolved"),
            Self::ConnectFailure => ("ConnectFailure", "Unable to connect to the remote server"),
            Self::SecureChannelFailure => {
                ("SecureChannelFailure", "The request was aborted: Could not create SSL/TLS secure channel")
            }
            Self::TrustFailure => (
                "TrustFailure",
                "The underlying connection was closed: Could not establish trust relationship for the SSL/TLS \
                 secure channel",
            ),
            Self::SendFailure => (
                "SendFailure",
                "The underlying connection was closed: An unexpected error occurred on a send",
            ),
            Self::ReceiveFailure => (
                "ReceiveFailure",
                "The underlying connection was closed: An unexpected error occurred on a receive",
            ),
            Self::ConnectionClosed => (
                "ConnectionClosed",
                "The underlying connection was closed: The connection was closed unexpectedly",
            ),
            Self::Timeout => ("Timeout", "The operation has timed out"),
            Self::ServerProtocolViolation => {
                ("ServerProtocolViolation", "The server committed a protocol violation")
            }
            Self::MessageLengthLimitExceeded => {
                ("MessageLengthLimitExceeded", "The message length limit was exceeded")
            }
            Self::ProtocolError => ("ProtocolError", "The redirection cannot be followed"),
            Self::UnknownError => ("UnknownError", "The request cannot be made"),
        }
    }
}

/// Why no usable answer came.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Fault {
    pub(crate) kind: Kind,
    /// Instead of the kind's own text.
    text: Option<String>,
    cause: Option<String>,
}

impl Fault {
    /// A fault and what caused it.
    pub(crate) fn new(kind: Kind, cause: impl Into<String>) -> Self {
        Self { kind, text: None, cause: Some(cause.into()) }
    }

    /// A name without an address.
    pub(crate) fn unresolved(host: &str, cause: impl Into<String>) -> Self {
        let text = format!("The remote name could not be resolved: '{host}'");
        Self { kind: Kind::NameResolutionFailure, text: Some(text), cause: Some(cause.into()) }
    }

    /// The same without secrets, which a cause may quote.
    pub(crate) fn redacted(self, secrets: &Redaction) -> Self {
        let hide = |text: String| secrets.apply(&text).into_owned();
        Self { text: self.text.map(hide), cause: self.cause.map(hide), ..self }
    }

    /// One redirect too many.
    pub(crate) fn too_many_redirects(cause: impl Into<String>) -> Self {
        let text = "Too many automatic redirections were attempted".to_owned();
        Self { kind: Kind::ProtocolError, text: Some(text), cause: Some(cause.into()) }
    }

    /// What the client says when a request did not bring an answer. `limits` are those that it had.
    pub(crate) fn of_exchange(error: &hyper::Error, limits: &ActionSettings) -> Self {
        if error.is_parse_too_large() {
            let (bytes, lines) = (limits.max_response_headers, limits.max_response_header_lines);
            let cause =
                format!("the headers of the answer are larger than {bytes} bytes or more than {lines} lines");
            Self::new(Kind::MessageLengthLimitExceeded, cause)
        } else if error.is_parse() {
            let cause = format!("the answer is not HTTP/1.1: {}", root_cause(error));
            Self::new(Kind::ServerProtocolViolation, cause)
        } else if error.is_incomplete_message() || error.is_canceled() || error.is_closed() {
            Self::new(Kind::ConnectionClosed, "the other side closed the connection before it answered")
        } else if error.is_body_write_aborted() {
            Self::new(Kind::SendFailure, root_cause(error))
        } else {
            Self::new(Kind::ReceiveFailure, root_cause(error))
        }
    }

    /// What the client says when an answer broke off. `so_far` says what had come.
    pub(crate) fn of_body(error: &hyper::Error, so_far: &str) -> Self {
        let kind = match root(error).downcast_ref::<io::Error>().map(io::Error::kind) {
            Some(io::ErrorKind::InvalidInput | io::ErrorKind::InvalidData) => Kind::ServerProtocolViolation,
            Some(io::ErrorKind::UnexpectedEof) | None => Kind::ConnectionClosed,
            Some(_) => Kind::ReceiveFailure,
        };
        Self::new(kind, format!("{so_far} broke off: {}", root_cause(error)))
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (name, text) = self.kind.words();
        write!(f, "{name} {}", self.text.as_deref().unwrap_or(text))?;
        match &self.cause {
            Some(cause) => write!(f, " ({cause})"),
            None => Ok(()),
        }
    }
}

impl Error for Fault {}

/// What an error says that lies at the bottom of others: the part that a person can act on.
pub(crate) fn root_cause(error: &(dyn Error + 'static)) -> String {
    root(error).to_string()
}

/// A limit of time in words.
pub(crate) fn seconds(limit: Duration) -> String {
    let plural = if limit == Duration::from_secs(1) { "" } else { "s" };
    format!("{} second{plural}", limit.as_secs_f64())
}

fn root<'a>(mut error: &'a (dyn Error + 'static)) -> &'a (dyn Error + 'static) {
    while let Some(source) = error.source() {
        error = source;
    }
    error
}
