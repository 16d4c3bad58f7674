//! The egress guard: which addresses actions may call.
//!
//! It is asked with the resolved address, for every connection, so neither a name that points inwards nor a redirect
//! gets around it. Today the list is fixed: what is refused is what no job has business with and what gives away a
//! machine's identity.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// Metadata and control addresses of clouds that are not link-local anyway.
const METADATA_V4: [Ipv4Addr; 3] = [
    Ipv4Addr::new(168, 63, 129, 16),   // Azure's host agent
    Ipv4Addr::new(100, 100, 100, 200), // Alibaba
    Ipv4Addr::new(192, 0, 0, 192),     // Oracle, the older one
];
const METADATA_V6: [Ipv6Addr; 2] = [
    Ipv6Addr::new(0xfd00, 0xec2, 0, 0, 0, 0, 0, 0x254), // Amazon
    Ipv6Addr::new(0xfd20, 0xce, 0, 0, 0, 0, 0, 0x254),  // Google
];

/// Whether actions may call an address: not link-local ones (among them 169.254.169.254), not metadata of a cloud.
pub(crate) fn allowed(address: &IpAddr) -> bool {
    match address.to_canonical() {
        IpAddr::V4(v4) => allowed_v4(v4),
        IpAddr::V6(v6) => {
            !v6.is_unicast_link_local() && !METADATA_V6.contains(&v6) && embedded(v6).is_none_or(allowed_v4)
        }
    }
}

fn allowed_v4(address: Ipv4Addr) -> bool {
    !address.is_link_local() && !METADATA_V4.contains(&address)
}

/// The IPv4 address that a translating network would reach through an IPv6 address: NAT64 (`64:ff9b::/96`), 6to4
/// (`2002::/16`) and the obsolete `::a.b.c.d`.
fn embedded(address: Ipv6Addr) -> Option<Ipv4Addr> {
    let v4 = |high: u16, low: u16| {
        let ([a, b], [c, d]) = (high.to_be_bytes(), low.to_be_bytes());
        Ipv4Addr::new(a, b, c, d)
    };
    match address.segments() {
        [0x64, 0xff9b, 0, 0, 0, 0, high, low] | [0, 0, 0, 0, 0, 0, high, low] => Some(v4(high, low)),
        [0x2002, high, low, ..] => Some(v4(high, low)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn metadata_and_link_local_addresses_are_refused_in_every_disguise() {
        for address in [
            "169.254.169.254",
            "169.254.0.1",
            "168.63.129.16",
            "100.100.100.200",
            "fd00:ec2::254",
            "fd20:ce::254",
            "fe80::1",
            "febf::1",
            "::ffff:169.254.169.254",
            "::169.254.169.254",
            "64:ff9b::169.254.169.254",
            "2002:a9fe:a9fe::1",
        ] {
            assert!(!allowed(&address.parse().unwrap()), "{address}");
        }
    }

    #[test]
    fn other_addresses_are_allowed() {
        for address in
            ["127.0.0.1", "::1", "10.0.0.1", "192.168.1.1", "8.8.8.8", "2a00::1", "fec0::1", "fd00::1"]
        {
            assert!(allowed(&address.parse().unwrap()), "{address}");
        }
    }
}
