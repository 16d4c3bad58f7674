//! The network: is the address free, do names lead anywhere, whom do we trust.

use std::io::ErrorKind;
use std::net::{SocketAddr, TcpListener};

use super::Finding;
use crate::client::Client;

pub(super) async fn look(listen: SocketAddr) -> Vec<Finding> {
    vec![address(listen).await, names().await, roots()]
}

async fn address(listen: SocketAddr) -> Finding {
    const CHECK: &str = "network.listen";
    match TcpListener::bind(listen) {
        Ok(_) => Finding::ok(CHECK, format!("{listen} is free")),
        Err(error) if error.kind() == ErrorKind::AddrInUse => match version(listen).await {
            Some(version) => Finding::ok(CHECK, format!("{listen} is served by Punctual {version}")),
            None => Finding::wrong(
                CHECK,
                format!("another program holds {listen}"),
                "stop that program, or let Punctual listen elsewhere: --listen or the setting listen",
            ),
        },
        Err(error) => Finding::wrong(
            CHECK,
            format!("nobody can listen on {listen}: {error}"),
            "--listen or the setting listen names an address of this machine, such as 127.0.0.1:8042",
        ),
    }
}

/// The version of the server that answers there, if it is ours.
async fn version(listen: SocketAddr) -> Option<String> {
    let client = Client::new(&format!("http://{listen}"), "listen").ok()?;
    let health = client.get("/healthz").await.ok()?.body;
    health["version"].as_str().map(str::to_owned)
}

async fn names() -> Finding {
    const CHECK: &str = "network.names";
    if let Err(error) = tokio::net::lookup_host(("localhost", 0)).await {
        let fix = "/etc/hosts should have a line for localhost";
        return Finding::wrong(CHECK, format!("localhost leads nowhere: {error}"), fix);
    }
    let servers = std::fs::read_to_string("/etc/resolv.conf").unwrap_or_default();
    if servers.lines().any(|line| line.trim_start().starts_with("nameserver")) {
        return Finding::ok(
            CHECK,
            "localhost is found, and there is a name server; whether it answers shows in the history",
        );
    }
    Finding::warning(
        CHECK,
        "localhost is found, but /etc/resolv.conf has no name server",
        "jobs that call other machines by name need one",
    )
}

fn roots() -> Finding {
    const CHECK: &str = "network.roots";
    let found = rustls_native_certs::load_native_certs();
    if found.certs.is_empty() {
        return Finding::warning(
            CHECK,
            "this machine has no list of certificates to trust; calls use the one that comes with Punctual",
            "install one (on Debian: apt-get install ca-certificates)",
        );
    }
    Finding::ok(CHECK, format!("{} certificates to trust", found.certs.len()))
}
