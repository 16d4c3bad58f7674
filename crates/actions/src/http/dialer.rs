//! Dialling: from a host and a port to a connection without TLS.
//!
//! Asks the egress guard about the name, resolves it, asks about every address, and connects to the first that answers:
//! to an address that was judged, never to a name. Each phase has its own limit of time. One instance serves all kinds
//! of actions.

use std::{io, net::SocketAddr, sync::Arc, time::Duration};

use tokio::{net::TcpStream, sync::Semaphore, task::JoinSet, time::timeout};

use crate::{
    egress::{Guard, Host},
    fault::{Fault, Kind, root_cause, seconds},
    resolver::Resolver,
    settings::{ActionSettings, SettingsError},
};

/// How many names are resolved at once. The machine's resolver blocks a thread for each, and those threads are shared
/// with everybody else in the process.
const RESOLVING: usize = 32;

/// How many addresses of one name are tried.
const ADDRESSES: usize = 8;

/// How long an address has to itself before the next one is tried beside it, as RFC 8305 recommends.
const HEAD_START: Duration = Duration::from_millis(250);

/// See the module.
pub(crate) struct Dialer {
    guard: Guard,
    resolver: Arc<dyn Resolver>,
    resolving: Arc<Semaphore>,
    resolve_timeout: Duration,
    connect_timeout: Duration,
}

impl Dialer {
    pub(crate) fn new(settings: &ActionSettings) -> Result<Self, SettingsError> {
        Ok(Self {
            guard: Guard::new(&settings.egress)?,
            resolver: Arc::clone(&settings.resolver),
            resolving: Arc::new(Semaphore::new(RESOLVING)),
            resolve_timeout: settings.resolve_timeout,
            connect_timeout: settings.connect_timeout,
        })
    }

    /// A connection to a host, if it may be called.
    pub(crate) async fn dial(&self, host: &Host, port: u16) -> Result<TcpStream, Fault> {
        self.guard.admit(host, port)?;
        let addresses = match host {
            Host::Address(address) => vec![SocketAddr::new(*address, port)],
            Host::Name(name) => self.resolve(&name.written, port).await?,
        };
        let mut addresses = self.guard.permitted(host, addresses)?;
        addresses.truncate(ADDRESSES);
        let tcp = timeout(self.connect_timeout, open(&addresses)).await.unwrap_or_else(|_| {
            let cause = format!("no connection within {}", seconds(self.connect_timeout));
            Err(Fault::new(Kind::ConnectFailure, cause))
        })?;
        // A request is written in one go; waiting for more to send would only delay it. If it cannot be set, the
        // connection still works.
        let _ = tcp.set_nodelay(true);
        Ok(tcp)
    }

    /// The addresses of a name.
    async fn resolve(&self, name: &str, port: u16) -> Result<Vec<SocketAddr>, Fault> {
        let unresolved = |error: io::Error| Fault::unresolved(name, root_cause(&error));
        let lookup = async {
            let permit = Arc::clone(&self.resolving).acquire_owned().await;
            let (resolver, name) = (Arc::clone(&self.resolver), name.to_owned());
            // The thread keeps the permit also when nobody waits for it any more: it is the thread that is scarce.
            tokio::task::spawn_blocking(move || {
                let _permit = permit;
                resolver.resolve(&name, port)
            })
            .await
        };
        let Ok(found) = timeout(self.resolve_timeout, lookup).await else {
            let within = seconds(self.resolve_timeout);
            return Err(Fault::unresolved(name, format!("no reply within {within}")));
        };
        let addresses = found.map_err(|e| unresolved(io::Error::other(e)))?.map_err(unresolved)?;
        if addresses.is_empty() {
            return Err(Fault::unresolved(name, "it has no address"));
        }
        Ok(addresses)
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
pub(super) fn reason(error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::ConnectionRefused => "the connection was refused".to_owned(),
        io::ErrorKind::TimedOut => "no reply".to_owned(),
        io::ErrorKind::NetworkUnreachable => "the network is unreachable".to_owned(),
        io::ErrorKind::HostUnreachable => "the host is unreachable".to_owned(),
        io::ErrorKind::ConnectionReset => "the connection was reset".to_owned(),
        _ => error.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use tokio::net::TcpListener;

    use super::*;

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
