//! Disguises: IPv6 addresses behind which a network may put an IPv4 address.
//!
//! Whether any network does is not ours to know. So an address that is refused is refused in every form, and one that
//! is allowed is allowed as itself only.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// An address as itself: as it is, and as the IPv4 address that it is only another way to write (`::ffff:a.b.c.d`).
pub(super) fn own_forms(address: IpAddr) -> Vec<IpAddr> {
    let canonical = address.to_canonical();
    if canonical == address { vec![address] } else { vec![address, canonical] }
}

/// An address in every form: as itself, and as what may be reached through it.
pub(super) fn forms(address: IpAddr) -> Vec<IpAddr> {
    let mut forms = own_forms(address);
    if let IpAddr::V6(v6) = address {
        forms.extend(embedded(v6).into_iter().map(IpAddr::V4));
    }
    forms
}

/// The octets that hold the IPv4 address behind a NAT64 prefix of 32, 40, 48, 56, 64 and 96 bits (RFC 6052, 2.2).
const NAT64: [[usize; 4]; 6] =
    [[4, 5, 6, 7], [5, 6, 7, 9], [6, 7, 9, 10], [7, 9, 10, 11], [9, 10, 11, 12], [12, 13, 14, 15]];

/// The IPv4 addresses that a translating or tunnelling network would reach.
fn embedded(address: Ipv6Addr) -> Vec<Ipv4Addr> {
    let s = address.segments();
    let [.., a, b] = s;
    let last = v4(a, b);
    let mut found = match s {
        // The obsolete ::a.b.c.d, ::ffff:0:a.b.c.d of translators, and the well-known prefix of NAT64.
        [0, 0, 0, 0, 0 | 0xffff, 0, ..] | [0x64, 0xff9b, 0, 0, 0, 0, ..] => vec![last],
        // NAT64 within a network, below 64:ff9b:1::/48 by the rules. The address does not show how long its prefix is, so
        // every layout is read; one that yields an address beginning with 0 was the wrong one.
        [0x64, 0xff9b, third, ..] => {
            let octets = address.octets();
            let of_layout = |layout: &[usize; 4]| Ipv4Addr::from(layout.map(|at| octets[at]));
            let layouts = if third == 1 { &NAT64[2..] } else { &NAT64[..] };
            layouts.iter().map(of_layout).filter(|address| address.octets()[0] != 0).collect()
        }
        // 6to4.
        [0x2002, high, low, ..] => vec![v4(high, low)],
        // Teredo: the server, and the client with its bits turned around.
        [0x2001, 0, high, low, ..] => vec![v4(high, low), v4(!a, !b)],
        _ => Vec::new(),
    };
    // ISATAP works below any prefix, so it is checked beside all others.
    if matches!(s[4], 0 | 0x200) && s[5] == 0x5efe {
        found.push(last);
    }
    found
}

fn v4(high: u16, low: u16) -> Ipv4Addr {
    Ipv4Addr::from((u32::from(high) << 16) | u32::from(low))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_disguise_is_seen_through() {
        for disguised in [
            "::ffff:169.254.169.254",
            "::169.254.169.254",
            "::ffff:0:169.254.169.254",
            "64:ff9b::169.254.169.254",
            "64:ff9b:1::169.254.169.254",
            "64:ff9b:1:a9fe:a9:fe00::",
            "64:ff9b:1:a9:fe:a9fe::",
            "64:ff9b:1:0:a9:fea9:fe00:0",
            "64:ff9b:a9fe:a9fe::",
            "64:ff9b:a9:fea9:fe::",
            "2002:a9fe:a9fe::1",
            "2001:0:a9fe:a9fe::1",
            "2001:0:808:808:0:0:5601:5601",
            "2a00::5efe:169.254.169.254",
            "2a00::200:5efe:169.254.169.254",
        ] {
            let address: IpAddr = disguised.parse().unwrap();
            let hidden = "169.254.169.254".parse().unwrap();
            assert!(forms(address).contains(&hidden), "{disguised}: {:?}", forms(address));
        }
        let public: IpAddr = "64:ff9b:1::8.8.8.8".parse().unwrap();
        assert_eq!(forms(public)[1..], ["8.8.8.8".parse::<IpAddr>().unwrap()], "no layout makes it 0.0.0.0");
        let plain: IpAddr = "2a00::1".parse().unwrap();
        assert_eq!(forms(plain), [plain]);
    }
}
