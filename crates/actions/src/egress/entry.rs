//! Entries: what the lists of a policy have.

use std::{
    fmt,
    net::{IpAddr, Ipv4Addr, Ipv6Addr},
    ops::RangeInclusive,
};

use super::host::plain;

/// What an entry can be, for those who wrote something else.
const ALLOWED: &str = "allowed: loopback, private, link-local, metadata, multicast, reserved, an address, a network (10.0.0.0/8), a host name, \
                       *.example.com, *; each also with a port or ports (example.com:443, *:1-1023, [fd00::/8]:443)";

/// Addresses that have a name of their own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Word {
    Loopback,
    Private,
    LinkLocal,
    Metadata,
    Multicast,
    Reserved,
}

impl Word {
    /// All words: together, every address that is not part of the Internet.
    pub(super) const ALL: [Self; 6] =
        [Self::Loopback, Self::Private, Self::LinkLocal, Self::Metadata, Self::Multicast, Self::Reserved];

    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Loopback => "loopback",
            Self::Private => "private",
            Self::LinkLocal => "link-local",
            Self::Metadata => "metadata",
            Self::Multicast => "multicast",
            Self::Reserved => "reserved",
        }
    }

    pub(super) fn has(self, address: IpAddr) -> bool {
        self.networks().iter().any(|network| network.has(address))
    }

    const fn networks(self) -> &'static [Network] {
        match self {
            // Whoever connects to 0.0.0.0 or :: reaches this machine.
            Self::Loopback => {
                const {
                    &[
                        Network::v4([127, 0, 0, 0], 8),
                        Network::v4([0, 0, 0, 0], 8),
                        Network::v6([0, 0, 0, 0, 0, 0, 0, 1], 128),
                        Network::v6([0, 0, 0, 0, 0, 0, 0, 0], 128),
                    ]
                }
            }
            Self::Private => {
                const {
                    &[
                        Network::v4([10, 0, 0, 0], 8),
                        Network::v4([172, 16, 0, 0], 12),
                        Network::v4([192, 168, 0, 0], 16),
                        // Behind the translation of a carrier, or of a cloud.
                        Network::v4([100, 64, 0, 0], 10),
                        Network::v6([0xfc00, 0, 0, 0, 0, 0, 0, 0], 7),
                        Network::v6([0xfec0, 0, 0, 0, 0, 0, 0, 0], 10),
                    ]
                }
            }
            Self::LinkLocal => {
                const { &[Network::v4([169, 254, 0, 0], 16), Network::v6([0xfe80, 0, 0, 0, 0, 0, 0, 0], 10)] }
            }
            Self::Metadata => {
                const {
                    &[
                        // Most clouds, and the credentials of Amazon's containers and pods.
                        Network::v4([169, 254, 169, 254], 32),
                        Network::v4([169, 254, 170, 2], 32),
                        Network::v4([169, 254, 170, 23], 32),
                        // Azure's host agent; Alibaba; Oracle, the older one.
                        Network::v4([168, 63, 129, 16], 32),
                        Network::v4([100, 100, 100, 200], 32),
                        Network::v4([192, 0, 0, 192], 32),
                        // Amazon, and its pods; Google; Oracle; Akamai; Scaleway.
                        Network::v6([0xfd00, 0xec2, 0, 0, 0, 0, 0, 0x254], 128),
                        Network::v6([0xfd00, 0xec2, 0, 0, 0, 0, 0, 0x23], 128),
                        Network::v6([0xfd20, 0xce, 0, 0, 0, 0, 0, 0x254], 128),
                        Network::v6([0xfd00, 0xc1, 0, 0, 0, 0, 0xa9fe, 0xa9fe], 128),
                        Network::v6([0xfd00, 0xa9fe, 0xa9fe, 0, 0, 0, 0, 1], 128),
                        Network::v6([0xfd00, 0x42, 0, 0, 0, 0, 0, 0x42], 128),
                    ]
                }
            }
            Self::Multicast => {
                const { &[Network::v4([224, 0, 0, 0], 4), Network::v6([0xff00, 0, 0, 0, 0, 0, 0, 0], 8)] }
            }
            Self::Reserved => const { &RESERVED },
        }
    }
}

/// The networks that IANA has set aside for protocols, documentation, measurements and the future.
const RESERVED: [Network; 24] = [
    Network::v4([192, 0, 0, 0], 24),
    Network::v4([192, 0, 2, 0], 24),
    Network::v4([192, 88, 99, 0], 24),
    Network::v4([198, 18, 0, 0], 15),
    Network::v4([198, 51, 100, 0], 24),
    Network::v4([203, 0, 113, 0], 24),
    Network::v4([240, 0, 0, 0], 4),
    Network::v6([0x2001, 0, 0, 0, 0, 0, 0, 0], 23),
    Network::v6([0x2001, 0xdb8, 0, 0, 0, 0, 0, 0], 32),
    Network::v6([0x3fff, 0, 0, 0, 0, 0, 0, 0], 20),
    // Of IPv6 only 2000::/3 is assigned; the rest is here, save what the other words name.
    Network::v6([0x100, 0, 0, 0, 0, 0, 0, 0], 8),
    Network::v6([0x200, 0, 0, 0, 0, 0, 0, 0], 7),
    Network::v6([0x400, 0, 0, 0, 0, 0, 0, 0], 6),
    Network::v6([0x800, 0, 0, 0, 0, 0, 0, 0], 5),
    Network::v6([0x1000, 0, 0, 0, 0, 0, 0, 0], 4),
    Network::v6([0x4000, 0, 0, 0, 0, 0, 0, 0], 3),
    Network::v6([0x6000, 0, 0, 0, 0, 0, 0, 0], 3),
    Network::v6([0x8000, 0, 0, 0, 0, 0, 0, 0], 3),
    Network::v6([0xa000, 0, 0, 0, 0, 0, 0, 0], 3),
    Network::v6([0xc000, 0, 0, 0, 0, 0, 0, 0], 3),
    Network::v6([0xe000, 0, 0, 0, 0, 0, 0, 0], 4),
    Network::v6([0xf000, 0, 0, 0, 0, 0, 0, 0], 5),
    Network::v6([0xf800, 0, 0, 0, 0, 0, 0, 0], 6),
    Network::v6([0xfe00, 0, 0, 0, 0, 0, 0, 0], 9),
];

impl fmt::Display for Word {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// The addresses that begin with the same bits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Network {
    base: IpAddr,
    bits: u32,
}

impl Network {
    const fn v4([a, b, c, d]: [u8; 4], bits: u32) -> Self {
        Self { base: IpAddr::V4(Ipv4Addr::new(a, b, c, d)), bits }
    }

    const fn v6([a, b, c, d, e, f, g, h]: [u16; 8], bits: u32) -> Self {
        Self { base: IpAddr::V6(Ipv6Addr::new(a, b, c, d, e, f, g, h)), bits }
    }

    /// An address as its network: itself.
    const fn of(address: IpAddr) -> Self {
        Self { base: address, bits: if address.is_ipv4() { 32 } else { 128 } }
    }

    fn read(text: &str) -> Result<Self, String> {
        let Some((base, bits)) = text.split_once('/') else {
            return text.parse().map(Self::of).map_err(|_| ALLOWED.to_owned());
        };
        let base: IpAddr = base.parse().map_err(|_| format!("'{base}' is no address"))?;
        let most = Self::of(base).bits;
        let bits = bits.parse().ok().filter(|bits| *bits <= most);
        let bits =
            bits.ok_or_else(|| format!("behind the slash stand the bits of the network, 0 to {most}"))?;
        let network = Self { base: first(base, bits), bits };
        // Somebody who writes 10.1.2.3/8 means one address or sixteen million, and we do not know which.
        if network.base != base {
            return Err(format!("the network is {}/{bits}, the address alone {base}", network.base));
        }
        Ok(network)
    }

    fn has(&self, address: IpAddr) -> bool {
        address.is_ipv4() == self.base.is_ipv4() && first(address, self.bits) == self.base
    }
}

/// The first address of the network that an address is in.
fn first(address: IpAddr, bits: u32) -> IpAddr {
    match address {
        IpAddr::V4(v4) => {
            let mask = u32::MAX.checked_shl(32 - bits).unwrap_or_default();
            Ipv4Addr::from(v4.to_bits() & mask).into()
        }
        IpAddr::V6(v6) => {
            let mask = u128::MAX.checked_shl(128 - bits).unwrap_or_default();
            Ipv6Addr::from(v6.to_bits() & mask).into()
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Whom {
    Anybody,
    Word(Word),
    Network(Network),
    Name(String),
    /// Every name that ends with this, which begins with a dot.
    Below(String),
}

/// One entry: whom, and at which ports.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Entry {
    whom: Whom,
    ports: RangeInclusive<u16>,
    /// As the operator wrote it.
    text: String,
}

impl fmt::Display for Entry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl Entry {
    /// Reads an entry, or says what is wrong with it.
    pub(super) fn read(text: &str) -> Result<Self, String> {
        let (whom, ports) = split(text)?;
        let ports = match ports {
            None => 0..=u16::MAX,
            Some(ports) => read_ports(ports)
                .ok_or_else(|| format!("'{ports}' is neither a port nor a range of ports"))?,
        };
        Ok(Self { whom: Whom::read(whom)?, ports, text: text.to_owned() })
    }

    /// Makes an entry of a word, at every port.
    pub(super) fn of(word: Word) -> Self {
        Self { whom: Whom::Word(word), ports: 0..=u16::MAX, text: word.name().to_owned() }
    }

    pub(super) fn has_port(&self, port: u16) -> bool {
        self.ports.contains(&port)
    }

    pub(super) fn has_address(&self, address: IpAddr, port: u16) -> bool {
        self.has_port(port)
            && match &self.whom {
                Whom::Anybody => true,
                Whom::Word(word) => word.has(address),
                Whom::Network(network) => network.has(address),
                Whom::Name(_) | Whom::Below(_) => false,
            }
    }

    /// Whether it has a name, whatever its addresses are.
    pub(super) fn has_name(&self, name: &str, port: u16) -> bool {
        self.has_port(port)
            && match &self.whom {
                Whom::Anybody => true,
                Whom::Word(_) | Whom::Network(_) => false,
                Whom::Name(own) => own == name,
                Whom::Below(end) => name.len() > end.len() && name.ends_with(end.as_str()),
            }
    }

    /// Whether the entry is a name, or all names below one.
    pub(super) fn is_name(&self) -> bool {
        matches!(self.whom, Whom::Name(_) | Whom::Below(_))
    }

    /// Whether only an address tells.
    pub(super) fn is_of_addresses(&self) -> bool {
        matches!(self.whom, Whom::Word(_) | Whom::Network(_))
    }
}

/// An entry without its ports, and its ports.
fn split(text: &str) -> Result<(&str, Option<&str>), String> {
    if let Some(rest) = text.strip_prefix('[') {
        let (inner, behind) = rest.split_once(']').ok_or("a bracket is not closed")?;
        let ports = match behind {
            "" => None,
            _ => Some(behind.strip_prefix(':').ok_or("behind the bracket stands a colon and a port")?),
        };
        if !inner.contains(':') {
            return Err("in brackets stand addresses and networks of IPv6".to_owned());
        }
        return Ok((inner, ports));
    }
    match text.rsplit_once(':') {
        // With more than one colon it is an address of IPv6.
        Some((whom, ports)) if !whom.contains(':') => Ok((whom, Some(ports))),
        _ => Ok((text, None)),
    }
}

fn read_ports(text: &str) -> Option<RangeInclusive<u16>> {
    let port = |text: &str| text.parse().ok().filter(|port| *port > 0);
    let (from, to) = text.split_once('-').unwrap_or((text, text));
    let (from, to) = (port(from)?, port(to)?);
    (from <= to).then_some(from..=to)
}

impl Whom {
    fn read(text: &str) -> Result<Self, String> {
        if text == "*" {
            return Ok(Self::Anybody);
        }
        if let Some(word) = Word::ALL.into_iter().find(|word| word.name() == text) {
            return Ok(Self::Word(word));
        }
        // A name has neither.
        if text.contains(['/', ':']) || text.parse::<IpAddr>().is_ok() {
            return Network::read(text).map(Self::Network);
        }
        match text.strip_prefix("*.") {
            Some(name) => Ok(Self::Below(format!(".{}", read_name(name)?))),
            None => read_name(text).map(Self::Name),
        }
    }
}

fn read_name(text: &str) -> Result<String, String> {
    match url::Host::parse(text) {
        Ok(url::Host::Domain(name)) if !text.contains(['*', '%']) => {
            plain(&name).ok_or_else(|| ALLOWED.to_owned())
        }
        Ok(url::Host::Ipv4(address)) => Err(format!("an address is written plainly: {address}")),
        _ => Err(ALLOWED.to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_have_their_networks_from_the_first_address_to_the_last() {
        for (word, inside, outside) in [
            (Word::Loopback, ["127.0.0.0", "127.255.255.255", "0.0.0.0"], ["126.255.255.255", "128.0.0.0"]),
            (Word::Loopback, ["::1", "::", "0.1.2.3"], ["::2", "1.0.0.0"]),
            (Word::Private, ["10.255.255.255", "172.31.255.255", "192.168.0.0"], ["172.32.0.0", "11.0.0.0"]),
            (Word::Private, ["100.64.0.0", "100.127.255.255", "fdff::1"], ["100.128.0.0", "fe00::1"]),
            (Word::LinkLocal, ["169.254.0.0", "169.254.255.255", "febf::1"], ["169.255.0.0", "ff00::1"]),
            (
                Word::Metadata,
                ["169.254.169.254", "168.63.129.16", "fd00:ec2::254"],
                ["169.254.169.253", "::"],
            ),
            (
                Word::Metadata,
                ["169.254.170.23", "fd00:ec2::23", "fd00:42::42"],
                ["169.254.170.24", "fd00:ec2::24"],
            ),
            (Word::Multicast, ["224.0.0.0", "239.255.255.255", "ff02::1"], ["223.255.255.255", "240.0.0.0"]),
            (
                Word::Reserved,
                ["198.18.0.0", "198.19.255.255", "192.0.0.255"],
                ["198.17.255.255", "198.20.0.0"],
            ),
            (Word::Reserved, ["240.0.0.0", "255.255.255.255", "192.0.2.1"], ["239.255.255.255", "192.0.1.0"]),
            (Word::Reserved, ["198.51.100.7", "203.0.113.7", "192.88.99.1"], ["203.0.114.0", "198.51.101.0"]),
            (Word::Reserved, ["2001::1", "2001:1ff::1", "2001:db8::1"], ["2001:200::", "2001:db9::"]),
            (Word::Reserved, ["100::1", "1fff::", "4000::"], ["2000::", "3ffe:ffff::"]),
            (Word::Reserved, ["3fff:fff::1", "5f00::1", "fe00::1"], ["fe80::1", "64:ff9b::808:808"]),
            (Word::Reserved, ["e000::", "f7ff::1", "fbff::1"], ["fc00::1", "::ffff:8.8.8.8"]),
        ] {
            for address in inside {
                assert!(word.has(address.parse().unwrap()), "{word}: {address}");
            }
            for address in outside {
                assert!(!word.has(address.parse().unwrap()), "{word}: {address}");
            }
        }
    }

    #[test]
    fn networks_end_where_they_end() {
        for (network, inside, outside) in [
            ("10.0.0.0/8", "10.255.255.255", "11.0.0.0"),
            ("10.1.2.3", "10.1.2.3", "10.1.2.4"),
            ("10.1.2.2/31", "10.1.2.3", "10.1.2.4"),
            ("0.0.0.0/0", "255.1.1.1", "::1"),
            ("::/0", "2a00::1", "8.8.8.8"),
            ("2a00::/12", "2a0f:ffff::1", "2a10::"),
            ("2a00::1", "2a00::1", "2a00::2"),
        ] {
            let entry = Entry::read(network).unwrap();
            assert!(entry.has_address(inside.parse().unwrap(), 1), "{network}: {inside}");
            assert!(!entry.has_address(outside.parse().unwrap(), 1), "{network}: {outside}");
        }
    }

    #[test]
    fn entries_are_read_with_their_ports() {
        for (text, port, other) in [
            ("example.com:443", 443, 80),
            ("*.example.com:8000-8999", 8999, 9000),
            ("private:25", 25, 26),
            ("10.0.0.0/8:5432", 5432, 5433),
            ("[fd00::/8]:443", 443, 80),
            ("[fd00::1]:443", 443, 80),
        ] {
            let entry = Entry::read(text).unwrap();
            assert!(entry.has_port(port) && !entry.has_port(other), "{text}");
            assert_eq!(entry.to_string(), text);
        }
        for text in ["fd00::/8", "[fd00::/8]", "::1", "*", "Example.com.", "b\u{fc}cher.example", "some_host"]
        {
            assert!(Entry::read(text).unwrap().has_port(1), "{text}");
        }
    }

    #[test]
    fn what_cannot_be_used_is_told_with_what_can() {
        for (text, says) in [
            ("", "allowed: loopback, private"),
            ("Private network", "allowed: loopback"),
            ("10.0.0.0/33", "the bits of the network, 0 to 32"),
            ("fd00::/129", "0 to 128"),
            ("10.0.0/8", "'10.0.0' is no address"),
            ("10.1.2.3/8", "the network is 10.0.0.0/8, the address alone 10.1.2.3"),
            ("0x7f.1", "an address is written plainly: 127.0.0.1"),
            ("example.com:0", "'0' is neither a port nor a range"),
            ("example.com:9-8", "'9-8' is neither"),
            ("example.com:65536", "'65536' is neither"),
            ("example.com:http", "'http' is neither"),
            ("http://example.com", "is neither a port"),
            ("[fd00::1", "not closed"),
            ("[fd00::1]443", "a colon and a port"),
            ("[example.com]:1", "in brackets stand addresses"),
            ("fe80::1%eth0", "allowed: loopback"),
            ("a.*.example", "allowed: loopback"),
            ("*example.com", "allowed: loopback"),
            ("user@example.com", "allowed: loopback"),
            ("example.com/path", "'example.com' is no address"),
        ] {
            let fault = Entry::read(text).expect_err(text);
            assert!(fault.contains(says), "{text}: {fault}");
        }
    }
}
