//! What a supervisor such as systemd hears of the real binary: that it is ready, that it lives, that it stops.

#[allow(dead_code, reason = "each test file uses its part")]
mod running;

use std::os::linux::net::SocketAddrExt as _;
use std::os::unix::net::{SocketAddr, UnixDatagram};
use std::time::Duration;

use running::Server;

/// The next message; whatever has not come by then never will.
fn next(socket: &UnixDatagram) -> String {
    socket.set_read_timeout(Some(Duration::from_secs(60))).expect("set");
    let mut bytes = [0; 1000];
    let length = socket.recv(&mut bytes).expect("a message in time");
    String::from_utf8_lossy(&bytes[..length]).into_owned()
}

fn lives_and_stops(socket: &UnixDatagram, name: &str) {
    let folder = tempfile::tempdir().expect("a folder");
    let settings = [("NOTIFY_SOCKET", name), ("WATCHDOG_USEC", "200000")];
    let server = Server::start(&folder.path().join("data"), &settings);
    let ready = next(socket);
    assert!(ready.starts_with("READY=1\nSTATUS="), "{ready}");
    assert!(ready.contains(&server.address.to_string()), "{ready}");
    for _ in 0..3 {
        assert_eq!(next(socket), "WATCHDOG=1");
    }
    assert!(server.terminate().success());
    let mut last = next(socket);
    while last == "WATCHDOG=1" {
        last = next(socket);
    }
    assert!(last.starts_with("STOPPING=1\n"), "{last}");
}

#[test]
fn a_supervisor_with_a_path_hears_how_it_is() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("notify");
    let socket = UnixDatagram::bind(&path).expect("bound");
    lives_and_stops(&socket, path.to_str().expect("a text"));
}

#[test]
fn a_supervisor_with_a_name_alone_hears_it_too() {
    let name = format!("punctual-test-{}", std::process::id());
    let address = SocketAddr::from_abstract_name(&name).expect("a name");
    let socket = UnixDatagram::bind_addr(&address).expect("bound");
    lives_and_stops(&socket, &format!("@{name}"));
}
