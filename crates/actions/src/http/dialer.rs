//! Dialling: from a host and a port to a connection without TLS.
//!
//! Asks the egress guard about the name, resolves it, asks about every address, and connects to the first that answers:
//! to an address that was judged, never to a name. Each phase has its own limit of time. One instance serves all kinds
//! of actions.

use std::{
    future::Future,
    io,
    net::SocketAddr,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use tokio::{
    net::TcpStream,
    task::JoinSet,
    time::{Instant, sleep, timeout},
};

use super::lookups::Lookups;
use crate::{
    deadline::within,
    egress::{ChosenBy, Guard, Host},
    fault::{Fault, Kind, seconds},
    settings::{ActionSettings, SettingsError},
};

/// How many addresses of one name are tried.
const ADDRESSES: usize = 8;

/// How long an address has to itself before the next one is tried beside it, as RFC 8305 recommends.
const HEAD_START: Duration = Duration::from_millis(250);

/// How long a connection that the machine has no room for waits before it is tried again: at first, and at the most.
const FIRST_PAUSE: Duration = Duration::from_millis(20);
const LONGEST_PAUSE: Duration = Duration::from_millis(500);

/// What Linux says when there are too many open files in the system (ENFILE) or in this process (EMFILE), and when it has no
/// room for buffers (ENOBUFS).
const NO_ROOM: [i32; 3] = [23, 24, 105];

/// See the module.
pub(crate) struct Dialer {
    guard: Guard,
    lookups: Lookups,
    resolve_timeout: Duration,
    connect_timeout: Duration,
    short_of_room: Arc<AtomicUsize>,
}

impl Dialer {
    pub(crate) fn new(settings: &ActionSettings) -> Result<Self, SettingsError> {
        Ok(Self {
            guard: Guard::new(&settings.egress)?,
            lookups: Lookups::new(Arc::clone(&settings.resolver)),
            resolve_timeout: settings.resolve_timeout,
            connect_timeout: settings.connect_timeout,
            short_of_room: Arc::default(),
        })
    }

    /// Returns how many connections wait because the machine has no room for them.
    pub(crate) fn short_of_room(&self) -> usize {
        self.short_of_room.load(Ordering::Relaxed)
    }

    /// Replaces the guard.
    #[cfg(test)]
    pub(crate) fn with_guard(self, guard: Guard) -> Self {
        Self { guard, ..self }
    }

    /// Returns the rules of what may be called.
    pub(crate) fn guard(&self) -> &Guard {
        &self.guard
    }

    /// Connects to a host that may be called; also returns who chooses the next host when that one redirects.
    pub(crate) async fn dial(
        &self,
        host: &Host,
        port: u16,
        chosen_by: ChosenBy,
    ) -> Result<(TcpStream, ChosenBy), Fault> {
        self.guard.admit(host, port)?;
        let addresses = match host {
            Host::Address(address) => vec![SocketAddr::new(*address, port)],
            Host::Name(name) => self.resolve(&name.written, port).await?,
        };
        let mut addresses = self.guard.permitted(host, addresses, chosen_by)?;
        addresses.truncate(ADDRESSES);
        let until = Instant::now() + self.connect_timeout;
        let opened = open(&addresses, until, &self.short_of_room);
        let tcp = within(self.connect_timeout, opened).await.unwrap_or_else(|_| {
            let cause = format!("no connection within {}", seconds(self.connect_timeout));
            Err(Fault::new(Kind::ConnectFailure, cause))
        })?;
        // A request is written in one go; waiting for more to send would only delay it. If it cannot be set, the
        // connection still works.
        let _ = tcp.set_nodelay(true);
        // A peer without an address has hung up.
        let redirects_as =
            tcp.peer_addr().map_or(ChosenBy::PublicRedirect, |peer| self.guard.redirects_as(peer.ip()));
        Ok((tcp, redirects_as))
    }

    /// The addresses of a name.
    async fn resolve(&self, name: &str, port: u16) -> Result<Vec<SocketAddr>, Fault> {
        let Ok(found) = within(self.resolve_timeout, self.lookups.find(name, port)).await else {
            self.lookups.note_slow(name);
            let within = seconds(self.resolve_timeout);
            return Err(Fault::unresolved(name, format!("no reply within {within}")));
        };
        let addresses = found.map_err(|cause| Fault::unresolved(name, cause))?;
        if addresses.is_empty() {
            return Err(Fault::unresolved(name, "it has no address"));
        }
        Ok(addresses)
    }
}

/// Connects to the first address that answers. Each has a head start before the next one; a failure starts the next
/// one at once.
async fn open(
    addresses: &[SocketAddr],
    until: Instant,
    short_of_room: &Arc<AtomicUsize>,
) -> Result<TcpStream, Fault> {
    let failed = |address: SocketAddr, error: &io::Error| {
        Fault::new(Kind::ConnectFailure, format!("{address}: {}", reason(error)))
    };
    if let &[address] = addresses {
        return connect(address, until, short_of_room).await.map_err(|e| failed(address, &e));
    }
    // Dropping the set ends the attempts that were not the first.
    let mut attempts = JoinSet::new();
    let mut waiting = addresses.iter().copied();
    let mut fault = Fault::new(Kind::ConnectFailure, "no address answers");
    loop {
        let next = waiting.next();
        if let Some(address) = next {
            let short_of_room = Arc::clone(short_of_room);
            attempts.spawn(async move { (address, connect(address, until, &short_of_room).await) });
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

/// Connects to an address, as soon as the machine has room for one connection more.
async fn connect(address: SocketAddr, until: Instant, short_of_room: &AtomicUsize) -> io::Result<TcpStream> {
    when_there_is_room(address, until, short_of_room, || TcpStream::connect(address)).await
}

/// Tries again, until an instant, as long as the machine has no room for one connection more: that is no fault of the target.
async fn when_there_is_room<T, F: Future<Output = io::Result<T>>>(
    address: SocketAddr,
    until: Instant,
    short_of_room: &AtomicUsize,
    connect: impl Fn() -> F,
) -> io::Result<T> {
    let (mut pause, mut counted) = (FIRST_PAUSE, None);
    loop {
        match connect().await {
            Err(error) if lacks_room(&error, address) && Instant::now() + pause < until => {
                counted.get_or_insert_with(|| Counted::new(short_of_room));
                sleep(pause).await;
                pause = LONGEST_PAUSE.min(2 * pause);
            }
            ended => return ended,
        }
    }
}

fn lacks_room(error: &io::Error, address: SocketAddr) -> bool {
    // All local ports to this target are taken. With IPv6 it mostly means that the machine does not speak it.
    let no_port = error.kind() == io::ErrorKind::AddrNotAvailable && address.is_ipv4();
    no_port || error.raw_os_error().is_some_and(|error| NO_ROOM.contains(&error))
}

/// One that waits; it is counted until this is dropped.
struct Counted<'c>(&'c AtomicUsize);

impl<'c> Counted<'c> {
    fn new(count: &'c AtomicUsize) -> Self {
        count.fetch_add(1, Ordering::Relaxed);
        Self(count)
    }
}

impl Drop for Counted<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
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
        let (until, short) = (Instant::now() + Duration::from_secs(20), Arc::default());
        assert_eq!(open(&[gone, good], until, &short).await.unwrap().peer_addr().unwrap(), good);
        let fault = open(&[gone, gone], until, &short).await.unwrap_err().to_string();
        assert!(fault.ends_with(&format!("({gone}: the connection was refused)")), "{fault}");
    }
    #[tokio::test(start_paused = true)]
    async fn a_connection_waits_until_the_machine_has_room_for_it() {
        let (began, short) = (Instant::now(), AtomicUsize::default());
        let until = began + Duration::from_secs(20);
        let tried = AtomicUsize::default();
        let v4: SocketAddr = "127.0.0.1:80".parse().unwrap();
        let v6: SocketAddr = "[::1]:80".parse().unwrap();
        let errors = |code: i32, times: usize| {
            tried.store(0, Ordering::Relaxed);
            let (tried, short) = (&tried, &short);
            move || {
                let nth = tried.fetch_add(1, Ordering::Relaxed);
                assert_eq!(short.load(Ordering::Relaxed), usize::from(nth > 0));
                std::future::ready(if nth < times {
                    Err(io::Error::from_raw_os_error(code))
                } else {
                    Ok(nth)
                })
            }
        };
        for code in [23, 24, 105, 99] {
            let room = when_there_is_room(v4, until, &short, errors(code, 3)).await;
            assert_eq!(room.unwrap(), 3, "{code}");
        }
        assert!(began.elapsed() < Duration::from_secs(1));
        // What it is not is told at once, and no wait is longer than the time there is.
        for (address, code) in [(v4, 111), (v6, 99)] {
            let refused = when_there_is_room(address, until, &short, errors(code, 1)).await;
            assert_eq!((refused.unwrap_err().raw_os_error(), tried.load(Ordering::Relaxed)), (Some(code), 1));
        }
        let never = when_there_is_room(v4, until, &short, errors(24, usize::MAX)).await;
        assert_eq!(never.unwrap_err().raw_os_error(), Some(24));
        assert!(began.elapsed() <= Duration::from_secs(20));
        assert_eq!(short.load(Ordering::Relaxed), 0);
    }
}
