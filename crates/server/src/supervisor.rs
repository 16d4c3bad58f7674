//! The supervisor: whoever started the process and wants to hear how it is, as systemd does for services of `Type=notify`.
//!
//! It names a socket in the environment, and each message is one datagram. Where nobody listens, nothing is said.

use std::convert::Infallible;
use std::ffi::OsString;
use std::io;
#[cfg(target_os = "linux")]
use std::os::linux::net::SocketAddrExt as _;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::net::{SocketAddr, UnixDatagram};
use std::time::Duration;

use tokio::time::{MissedTickBehavior, interval};
use tracing::{error, warn};

/// Names the socket: a path, or with an `@` first a name without a file.
const SOCKET: &str = "NOTIFY_SOCKET";
/// How long the supervisor waits for a sign of life, in microseconds.
const PATIENCE: &str = "WATCHDOG_USEC";
/// The process that is meant by that, where it says so.
const WATCHED: &str = "WATCHDOG_PID";

/// See the module.
pub(crate) struct Supervisor(Option<Line>);

struct Line {
    socket: UnixDatagram,
    address: SocketAddr,
    /// How often a sign of life is due.
    every: Option<Duration>,
}

impl Supervisor {
    /// The one that the environment names.
    pub(crate) fn of(variable: impl Fn(&str) -> Option<OsString>) -> Self {
        let Some(name) = variable(SOCKET) else { return Self(None) };
        let line = open(name.as_bytes()).map(|(socket, address)| {
            let number = |name| variable(name)?.to_str()?.parse::<u64>().ok();
            let is_meant = number(WATCHED).is_none_or(|id| id == u64::from(std::process::id()));
            let patience = number(PATIENCE).filter(|patience| is_meant && *patience > 0);
            // Twice as often as needed, so that one late sign does no harm.
            Line { socket, address, every: patience.map(|patience| Duration::from_micros(patience) / 2) }
        });
        if let Err(error) = &line {
            warn!(%error, socket = %name.to_string_lossy(), "whoever started us cannot be told how we are");
        }
        Self(line.ok())
    }

    /// All is served.
    pub(crate) fn ready(&self, status: &str) {
        self.tell(&format!("READY=1\nSTATUS={status}"));
    }

    /// Nothing new begins.
    pub(crate) fn stopping(&self) {
        self.tell("STOPPING=1\nSTATUS=stopping: what is under way may finish");
    }

    /// Gives signs of life, as often as they are wanted, as long as there is life; never ends by itself.
    pub(crate) async fn watch(&self, is_alive: impl Fn() -> bool) -> Infallible {
        let Some(every) = self.0.as_ref().and_then(|line| line.every) else { return never().await };
        let mut signs = interval(every);
        signs.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            signs.tick().await;
            if !is_alive() {
                error!(
                    "the engine does not work any more; whoever started us hears no sign of life, and can start us again"
                );
                return never().await;
            }
            self.tell("WATCHDOG=1");
        }
    }

    fn tell(&self, what: &str) {
        let Some(Line { socket, address, .. }) = &self.0 else { return };
        if let Err(error) = socket.send_to_addr(what.as_bytes(), address) {
            warn!(%error, what, "whoever started us could not be told");
        }
    }
}

async fn never() -> Infallible {
    std::future::pending().await
}

fn open(name: &[u8]) -> io::Result<(UnixDatagram, SocketAddr)> {
    let address = match name.strip_prefix(b"@") {
        #[cfg(target_os = "linux")]
        Some(name) => SocketAddr::from_abstract_name(name)?,
        #[cfg(not(target_os = "linux"))]
        Some(_) => return Err(io::Error::new(io::ErrorKind::Unsupported, "such names are Linux's")),
        None if name.starts_with(b"/") => SocketAddr::from_pathname(std::ffi::OsStr::from_bytes(name))?,
        None => return Err(io::Error::new(io::ErrorKind::Unsupported, "neither a path nor @ and a name")),
    };
    let socket = UnixDatagram::unbound()?;
    // Whoever does not read does not keep us waiting.
    socket.set_nonblocking(true)?;
    Ok((socket, address))
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicBool, Ordering};

    use super::*;

    /// A socket that listens, and what the environment has for it.
    fn listening() -> (tempfile::TempDir, UnixDatagram, OsString) {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("notify");
        let socket = UnixDatagram::bind(&path).expect("bound");
        socket.set_nonblocking(true).expect("set");
        (folder, socket, path.into_os_string())
    }

    fn heard(socket: &UnixDatagram) -> Vec<String> {
        let mut bytes = [0; 500];
        let mut all = Vec::new();
        while let Ok(length) = socket.recv(&mut bytes) {
            all.push(String::from_utf8_lossy(&bytes[..length]).into_owned());
        }
        all
    }

    #[tokio::test(start_paused = true)]
    async fn signs_of_life_end_with_life() {
        let (_folder, socket, path) = listening();
        let supervisor = Supervisor::of(|name| match name {
            SOCKET => Some(path.clone()),
            PATIENCE => Some("2000000".into()),
            _ => None,
        });
        let is_alive = AtomicBool::new(true);
        let mut watch = Box::pin(supervisor.watch(|| is_alive.load(Ordering::SeqCst)));
        let mut wait = async |seconds: u64| {
            tokio::select! {
                never = &mut watch => match never {},
                () = tokio::time::sleep(Duration::from_millis(seconds * 1000 + 500)) => {}
            }
        };
        wait(2).await;
        assert_eq!(heard(&socket), ["WATCHDOG=1"; 3], "at once, and every second");
        is_alive.store(false, Ordering::SeqCst);
        wait(5).await;
        assert_eq!(heard(&socket), Vec::<String>::new());
        // One that went silent stays so: the supervisor has to start another.
        is_alive.store(true, Ordering::SeqCst);
        wait(5).await;
        assert_eq!(heard(&socket), Vec::<String>::new());
    }

    #[test]
    fn signs_are_given_by_the_process_that_is_meant() {
        let (_folder, _socket, path) = listening();
        let every = |id: Option<u32>, patience: &str| {
            let supervisor = Supervisor::of(|name| match name {
                SOCKET => Some(path.clone()),
                PATIENCE => Some(patience.into()),
                WATCHED => id.map(|id| id.to_string().into()),
                _ => None,
            });
            supervisor.0.and_then(|line| line.every)
        };
        let own = std::process::id();
        assert_eq!(every(Some(own), "30000000"), Some(Duration::from_secs(15)));
        assert_eq!(every(None, "30000000"), Some(Duration::from_secs(15)));
        assert_eq!(every(Some(own + 1), "30000000"), None);
        assert_eq!(every(None, "0"), None);
        assert_eq!(every(None, "soon"), None);
    }

    #[test]
    fn a_socket_that_is_none_is_no_reason_to_fail() {
        for name in ["", "relative", "vsock:2:3", "/nowhere/at/all"] {
            let supervisor = Supervisor::of(|variable| (variable == SOCKET).then(|| name.into()));
            supervisor.ready("x");
            supervisor.stopping();
        }
    }
}
