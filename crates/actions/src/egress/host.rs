//! The host of a URI: a name, or an address in whatever way it is written.

use std::{fmt, net::IpAddr};

use crate::fault::{Fault, Kind};

/// Whom a call goes to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Host {
    /// A name as the resolver gets it.
    Name(Name),
    Address(IpAddr),
}

/// A name, as written and as rules see it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Name {
    pub(crate) written: String,
    /// In lower case, letters beyond ASCII as IDNA writes them, without the dot that may end it.
    plain: String,
}

impl Host {
    /// Reads a host as browsers do: `0x7f.1` is an address, letters beyond ASCII are written in ASCII.
    pub(crate) fn read(text: &str) -> Result<Self, Fault> {
        let unusable = || {
            let cause = format!("the host '{}' is neither a name nor an address", text.escape_debug());
            Fault::new(Kind::UnknownError, cause)
        };
        match url::Host::parse(text).map_err(|_| unusable())? {
            url::Host::Ipv4(address) => Ok(Self::Address(address.into())),
            url::Host::Ipv6(address) => Ok(Self::Address(address.into())),
            url::Host::Domain(name) => {
                let plain = plain(&name).ok_or_else(unusable)?;
                Ok(Self::Name(Name { written: text.to_owned(), plain }))
            }
        }
    }

    /// Reads the host of a `Host` header, which may have a port; `None` where it names no host.
    pub(super) fn of_header(text: &str) -> Option<Self> {
        let text = text.trim();
        // The colons of an address in brackets are followed by a bracket, not by a port.
        let host = match text.rsplit_once(':') {
            Some((host, port)) if port.bytes().all(|byte| byte.is_ascii_digit()) => host,
            _ => text,
        };
        Self::read(host).ok()
    }

    /// The name that rules see.
    pub(super) fn name(&self) -> Option<&str> {
        match self {
            Self::Name(name) => Some(&name.plain),
            Self::Address(_) => None,
        }
    }
}

impl fmt::Display for Host {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Name(name) => write!(f, "'{}'", name.written),
            Self::Address(address) => address.fmt(f),
        }
    }
}

/// A name without the dot that may end it; `None` if nothing is left.
pub(super) fn plain(name: &str) -> Option<String> {
    let name = name.strip_suffix('.').unwrap_or(name);
    (!name.is_empty() && !name.ends_with('.')).then(|| name.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_compared_in_one_form() {
        for (written, plain) in [
            ("Example.COM", "example.com"),
            ("example.com.", "example.com"),
            ("b\u{fc}cher.example", "xn--bcher-kva.example"),
            ("ex%61mple.com", "example.com"),
            ("example\u{3002}com", "example.com"),
            ("some_host", "some_host"),
        ] {
            assert_eq!(Host::read(written).unwrap().name(), Some(plain), "{written}");
        }
    }

    #[test]
    fn what_is_no_host_is_refused() {
        for text in [
            "",
            ".",
            "example.com..",
            "[fe80::1%25eth0]",
            "[fe80::1%eth0]",
            "a b",
            "1.2.3.4.5",
            "0x1ffffffff",
        ] {
            let fault = Host::read(text).expect_err(text).to_string();
            assert!(fault.contains("is neither a name nor an address"), "{fault}");
        }
    }
}
