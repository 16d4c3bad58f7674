//! Connections: from a URI to something that HTTP can be spoken over.
//!
//! [`Dialer`] connects, if the egress guard lets it; here TLS is spoken where the scheme says so.

use std::{io, sync::Arc, time::Duration};

use ::http::Uri;
use rustls::{ClientConfig, pki_types::ServerName};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;

use super::{
    dialer::{Dialer, reason},
    stream::Stream,
    uri,
};
use crate::{
    deadline::within,
    egress::{ChosenBy, Host},
    fault::{Fault, Kind, seconds},
};

/// Makes connections.
#[derive(Clone)]
pub(crate) struct Connector(Arc<Shared>);

struct Shared {
    dialer: Arc<Dialer>,
    tls: TlsConnector,
    tls_timeout: Duration,
}

impl Connector {
    pub(crate) fn new(dialer: Arc<Dialer>, tls: ClientConfig, tls_timeout: Duration) -> Self {
        Self(Arc::new(Shared { dialer, tls: TlsConnector::from(Arc::new(tls)), tls_timeout }))
    }

    /// Connects to the host of a URI; also returns who chooses the next host when that one redirects.
    pub(crate) async fn connect(&self, uri: &Uri, chosen_by: ChosenBy) -> Result<(Stream, ChosenBy), Fault> {
        self.0.connect(uri, chosen_by).await
    }
}

impl Shared {
    async fn connect(&self, uri: &Uri, chosen_by: ChosenBy) -> Result<(Stream, ChosenBy), Fault> {
        let host = Host::read(uri::host(uri))?;
        let (tcp, redirects_as) = self.dialer.dial(&host, uri::port(uri), chosen_by).await?;
        if !uri::is_https(uri) {
            return Ok((Stream::plain(tcp), redirects_as));
        }
        let secured = within(self.tls_timeout, self.secure(host, tcp)).await.unwrap_or_else(|_| {
            let cause = format!("the TLS handshake did not end within {}", seconds(self.tls_timeout));
            Err(Fault::new(Kind::SecureChannelFailure, cause))
        });
        Ok((secured?, redirects_as))
    }

    async fn secure(&self, host: Host, tcp: TcpStream) -> Result<Stream, Fault> {
        let refused = |cause: String| Fault::new(Kind::SecureChannelFailure, cause);
        let name = match host {
            Host::Address(address) => ServerName::from(address),
            Host::Name(name) => ServerName::try_from(name.written).map_err(|e| refused(e.to_string()))?,
        };
        let tls = self.tls.connect(name, tcp).await.map_err(|e| handshake_fault(&e))?;
        Ok(Stream::tls(tls))
    }
}

fn handshake_fault(error: &io::Error) -> Fault {
    match error.get_ref().and_then(|inner| inner.downcast_ref::<rustls::Error>()) {
        Some(error @ rustls::Error::InvalidCertificate(_)) => {
            Fault::new(Kind::TrustFailure, error.to_string())
        }
        Some(rustls::Error::InvalidMessage(_)) => {
            Fault::new(Kind::SecureChannelFailure, "the other side does not speak TLS")
        }
        Some(error) => Fault::new(Kind::SecureChannelFailure, error.to_string()),
        None => Fault::new(Kind::SecureChannelFailure, reason(error)),
    }
}
