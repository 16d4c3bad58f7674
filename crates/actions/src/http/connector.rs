//! Connections: from a URI to something that HTTP can be spoken over.
//!
//! Resolve the name, ask the egress guard about every address, connect to the first that answers, and speak TLS where
//! the scheme says so; all of it within one deadline.

use std::{
    io,
    net::{IpAddr, SocketAddr, ToSocketAddrs},
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
    time::Duration,
};

use ::http::Uri;
use rustls::{ClientConfig, pki_types::ServerName};
use tokio::{net::TcpStream, sync::Semaphore, task::JoinSet, time::timeout};
use tokio_rustls::TlsConnector;
use tower_service::Service;

use super::{stream::Stream, uri};
use crate::{
    egress,
    fault::{Fault, Kind, root_cause, seconds},
};

/// How many names are resolved at once. The machine's resolver blocks a thread for each, and those threads are shared
/// with everybody else in the process.
const RESOLVING: usize = 32;

/// How many addresses of one name are tried.
const ADDRESSES: usize = 8;

/// How long an address has to itself before the next one is tried beside it, as RFC 8305 recommends.
const HEAD_START: Duration = Duration::from_millis(250);

/// Makes connections.
#[derive(Clone)]
pub(crate) struct Connector(Arc<Shared>);

struct Shared {
    tls: TlsConnector,
    timeout: Duration,
    resolving: Arc<Semaphore>,
}

impl Connector {
    pub(crate) fn new(tls: ClientConfig, timeout: Duration) -> Self {
        let resolving = Arc::new(Semaphore::new(RESOLVING));
        Self(Arc::new(Shared { tls: TlsConnector::from(Arc::new(tls)), timeout, resolving }))
    }
}

impl Service<Uri> for Connector {
    type Response = Stream;
    type Error = Fault;
    type Future = Pin<Box<dyn Future<Output = Result<Stream, Fault>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Fault>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, uri: Uri) -> Self::Future {
        let shared = Arc::clone(&self.0);
        Box::pin(async move { shared.connect(&uri).await })
    }
}

/// What a connection is waiting for, for the message when it waits in vain.
enum Phase {
    Name,
    Connection,
    Tls,
}

impl Shared {
    async fn connect(&self, uri: &Uri) -> Result<Stream, Fault> {
        let host = uri::host(uri).trim_start_matches('[').trim_end_matches(']');
        let mut phase = Phase::Name;
        if let Ok(ended) = timeout(self.timeout, self.walk(uri, host, &mut phase)).await {
            return ended;
        }
        let within = seconds(self.timeout);
        Err(match phase {
            Phase::Name => Fault::unresolved(host, format!("no reply within {within}")),
            Phase::Connection => Fault::new(Kind::ConnectFailure, format!("no connection within {within}")),
            Phase::Tls => {
                let cause = format!("the TLS handshake did not end within {within}");
                Fault::new(Kind::SecureChannelFailure, cause)
            }
        })
    }

    async fn walk(&self, uri: &Uri, host: &str, phase: &mut Phase) -> Result<Stream, Fault> {
        let addresses = permitted(self.resolve(host, uri::port(uri)).await?)?;
        *phase = Phase::Connection;
        let tcp = open(&addresses).await?;
        // A request is written in one go; waiting for more to send would only delay it. If it cannot be set, the
        // connection still works.
        let _ = tcp.set_nodelay(true);
        if !uri::is_https(uri) {
            return Ok(Stream::plain(tcp));
        }
        *phase = Phase::Tls;
        self.secure(host, tcp).await
    }

    /// The addresses of a host.
    async fn resolve(&self, host: &str, port: u16) -> Result<Vec<SocketAddr>, Fault> {
        if let Ok(address) = host.parse::<IpAddr>() {
            return Ok(vec![SocketAddr::new(address, port)]);
        }
        let unresolved = |error: io::Error| Fault::unresolved(host, root_cause(&error));
        let permit = Arc::clone(&self.resolving).acquire_owned().await;
        let name = host.to_owned();
        // The thread keeps the permit also when nobody waits for it any more: it is the thread that is scarce.
        let lookup = tokio::task::spawn_blocking(move || {
            let _permit = permit;
            (name.as_str(), port).to_socket_addrs().map(|found| found.take(ADDRESSES).collect::<Vec<_>>())
        });
        let addresses = lookup.await.map_err(|e| unresolved(io::Error::other(e)))?.map_err(unresolved)?;
        if addresses.is_empty() {
            return Err(Fault::unresolved(host, "it has no address"));
        }
        Ok(addresses)
    }

    async fn secure(&self, host: &str, tcp: TcpStream) -> Result<Stream, Fault> {
        let refused = |cause: String| Fault::new(Kind::SecureChannelFailure, cause);
        let name = ServerName::try_from(host.to_owned()).map_err(|e| refused(e.to_string()))?;
        let tls = self.tls.connect(name, tcp).await.map_err(|e| handshake_fault(&e))?;
        Ok(Stream::tls(tls))
    }
}

/// Those of a host's addresses that may be called.
fn permitted(mut addresses: Vec<SocketAddr>) -> Result<Vec<SocketAddr>, Fault> {
    let first = addresses.first().map(SocketAddr::ip);
    addresses.retain(|address| egress::allowed(&address.ip()));
    match first {
        Some(first) if addresses.is_empty() => Err(Fault::new(
            Kind::ConnectFailure,
            format!(
                "calls to {first} are not allowed: link-local addresses and the metadata of clouds are off limits"
            ),
        )),
        _ => Ok(addresses),
    }
}

/// Connects to the first address that answers. Each has a head start before the next one; a failure starts the next
/// one at once.
async fn open(addresses: &[SocketAddr]) -> Result<TcpStream, Fault> {
    let failed = |address: SocketAddr, error: &io::Error| {
        Fault::new(Kind::ConnectFailure, format!("{address}: {}", reason(error)))
    };
    if let &[address] = addresses {
        return TcpStream::connect(address).await.map_err(|e| failed(address, &e));
    }
    // Dropping the set ends the attempts that were not the first.
    let mut attempts = JoinSet::new();
    let mut waiting = addresses.iter().copied();
    let mut fault = Fault::new(Kind::ConnectFailure, "no address answers");
    loop {
        let next = waiting.next();
        if let Some(address) = next {
            attempts.spawn(async move { (address, TcpStream::connect(address).await) });
        }
        let ended = if next.is_some() {
            timeout(HEAD_START, attempts.join_next()).await
        } else {
            Ok(attempts.join_next().await)
        };
        match ended {
            Ok(Some(Ok((_, Ok(stream))))) => return Ok(stream),
            Ok(Some(Ok((address, Err(error))))) => fault = failed(address, &error),
            Ok(None) if next.is_none() => return Err(fault),
            _ => {}
        }
    }
}

/// An I/O error in plain words, without the number of the operating system.
fn reason(error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::ConnectionRefused => "the connection was refused".to_owned(),
        io::ErrorKind::TimedOut => "no reply".to_owned(),
        io::ErrorKind::NetworkUnreachable => "the network is unreachable".to_owned(),
        io::ErrorKind::HostUnreachable => "the host is unreachable".to_owned(),
        io::ErrorKind::ConnectionReset => "the connection was reset".to_owned(),
        _ => error.to_string(),
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

#[cfg(test)]
mod tests {
    use tokio::net::TcpListener;

    use super::*;

    #[test]
    fn forbidden_addresses_of_a_name_are_left_out() {
        let addresses = |texts: &[&str]| texts.iter().map(|text| text.parse().unwrap()).collect::<Vec<_>>();
        let mixed = addresses(&["169.254.169.254:80", "127.0.0.1:80", "[fe80::1]:80"]);
        assert_eq!(permitted(mixed).unwrap(), addresses(&["127.0.0.1:80"]));
        let fault = permitted(addresses(&["[fd00:ec2::254]:80"])).unwrap_err();
        assert_eq!(fault.kind, Kind::ConnectFailure);
        assert!(fault.to_string().contains("calls to fd00:ec2::254 are not allowed"), "{fault}");
    }

    #[tokio::test]
    async fn the_second_address_is_used_when_the_first_refuses() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let good = listener.local_addr().unwrap();
        let gone = TcpListener::bind("127.0.0.1:0").await.unwrap().local_addr().unwrap();
        assert_eq!(open(&[gone, good]).await.unwrap().peer_addr().unwrap(), good);
        let fault = open(&[gone, gone]).await.unwrap_err().to_string();
        assert!(fault.ends_with(&format!("({gone}: the connection was refused)")), "{fault}");
    }
}
