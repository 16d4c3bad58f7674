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
        forms.extend(embedded(v6).into_iter().flatten().map(IpAddr::V4));
    }
    forms
}

/// The IPv4 addresses that a translating or tunnelling network would reach.
fn embedded(address: Ipv6Addr) -> [Option<Ipv4Addr>; 3] {
    let s = address.segments();
    let [.., a, b] = s;
    let last = v4(a, b);
    // ISATAP can stand below any prefix, so it is looked for beside all others.
    let isatap = (matches!(s[4], 0 | 0x200) && s[5] == 0x5efe).then_some(last);
    let (first, second) = match s {
        // The obsolete ::a.b.c.d, ::ffff:0:a.b.c.d of translators, and the well-known prefix of NAT64.
        [0, 0, 0, 0, 0 | 0xffff, 0, ..] | [0x64, 0xff9b, 0, 0, 0, 0, ..] => (Some(last), None),
        // NAT64 within a network: the address stands at the end, or around the ninth byte, as RFC 6052 has it.
        [0x64, 0xff9b, 1, high, middle, low, ..] => {
            let around = (u32::from(high) << 16) | (u32::from(middle & 0xff) << 8) | u32::from(low >> 8);
            (Some(last), Some(Ipv4Addr::from(around)))
        }
        // 6to4.
        [0x2002, high, low, ..] => (Some(v4(high, low)), None),
        // Teredo: the server, and the client with its bits turned around.
        [0x2001, 0, high, low, ..] => (Some(v4(high, low)), Some(v4(!a, !b))),
        _ => (None, None),
    };
    [first, second, isatap]
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
        let plain: IpAddr = "2a00::1".parse().unwrap();
        assert_eq!(forms(plain), [plain]);
    }
}
