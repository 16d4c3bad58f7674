//! Resolvers: who knows the addresses of names.

use std::{
    fmt, io,
    net::{SocketAddr, ToSocketAddrs as _},
};

/// Knows the addresses of names.
///
/// There is the machine's, and there are those of tests, which answer what no machine should.
pub trait Resolver: fmt::Debug + Send + Sync + 'static {
    /// The addresses of a name, with a port. It is called on a thread that may block.
    ///
    /// # Errors
    ///
    /// When there is no answer.
    fn resolve(&self, name: &str, port: u16) -> io::Result<Vec<SocketAddr>>;
}

/// The machine's resolver, with whatever its operator has set up: a file of hosts, a cache, DNS.
#[derive(Debug, Clone, Copy, Default)]
pub struct MachineResolver;

/// The most addresses of one name that are looked at.
const LOOKED_AT: usize = 64;

impl Resolver for MachineResolver {
    fn resolve(&self, name: &str, port: u16) -> io::Result<Vec<SocketAddr>> {
        (name, port).to_socket_addrs().map(|found| found.take(LOOKED_AT).collect())
    }
}
