//! Whose page asks: browsers carry requests of pages that have no business here.
//!
//! The server asks nobody who they are while it listens on loopback, but a browser on the same machine shows pages of
//! strangers. Two things keep those out. A change that a page of another origin asks for is refused: browsers say so in
//! `Sec-Fetch-Site` and `Origin`, and no script can make them lie. And while we listen on loopback, only names of this
//! machine are answered: a name of somebody else that was made to point here is his origin, and would pass the first test.
//! Clients that are no browsers send neither header, and are not held up.

use std::net::{IpAddr, SocketAddr};

use axum::http::{HeaderMap, Method, Uri, header};

use crate::problem::Problem;

/// The names under which the server answers.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum Hosts {
    /// All: it is for the network to say who reaches us.
    #[default]
    Any,
    /// Those of this machine, and these.
    Local(Vec<String>),
}

impl Hosts {
    /// The names for an address, with those that an operator adds, separated by commas or blanks.
    pub fn of(listen: SocketAddr, further: &str) -> Self {
        if !listen.ip().is_loopback() {
            return Self::Any;
        }
        let names = further.split([',', ' ']).map(str::trim).filter(|name| !name.is_empty());
        Self::Local(names.map(str::to_owned).collect())
    }

    fn allow(&self, host: &str) -> bool {
        let Self::Local(further) = self else { return true };
        let name = without_port(host);
        let bare = name.trim_start_matches('[').trim_end_matches(']');
        bare.parse().is_ok_and(|address: IpAddr| address.is_loopback())
            || name.eq_ignore_ascii_case("localhost")
            || name.to_ascii_lowercase().ends_with(".localhost")
            || further.iter().any(|one| one.eq_ignore_ascii_case(name) || one.eq_ignore_ascii_case(host))
    }
}

/// Refuses what the page of a stranger asks for.
pub(super) fn check(hosts: &Hosts, method: &Method, uri: &Uri, headers: &HeaderMap) -> Result<(), Problem> {
    let host = match headers.get(header::HOST) {
        Some(host) => String::from_utf8_lossy(host.as_bytes()).into_owned(),
        // HTTP/2 has it in the URI; whoever names no host at all is no browser.
        None => uri.authority().map(ToString::to_string).unwrap_or_default(),
    };
    if !host.is_empty() && !hosts.allow(&host) {
        return Err(Problem::foreign_host(&host));
    }
    if [Method::GET, Method::HEAD, Method::OPTIONS].contains(method) {
        return Ok(());
    }
    let text = |name: &str| headers.get(name).map(|value| String::from_utf8_lossy(value.as_bytes()));
    // `none` is somebody who typed the address.
    let site = text("sec-fetch-site");
    if let Some(site) = site.filter(|site| site != "same-origin" && site != "none") {
        return Err(Problem::foreign_page(&format!("Sec-Fetch-Site: {site}")));
    }
    // Behind a proxy the browser knows us by another name.
    let forwarded = text("x-forwarded-host");
    let forwarded = forwarded.as_deref().and_then(|names| names.split(',').next()).map(str::trim);
    if let Some(origin) = text("origin") {
        let asked = origin.split_once("://").map(|(_, host)| host);
        let is_ours = |name: &str| asked.is_some_and(|asked| asked.eq_ignore_ascii_case(name));
        if !is_ours(&host) && !forwarded.is_some_and(is_ours) {
            return Err(Problem::foreign_page(&format!("Origin: {origin}")));
        }
    }
    Ok(())
}

fn without_port(host: &str) -> &str {
    match host.rsplit_once(':') {
        Some((name, port)) if port.bytes().all(|byte| byte.is_ascii_digit()) => name,
        _ => host,
    }
}

#[cfg(test)]
mod tests {
    use axum::http::{HeaderName, HeaderValue};

    use super::*;

    fn judge(hosts: &Hosts, method: &Method, headers: &[(&'static str, &'static str)]) -> bool {
        let headers: HeaderMap = headers
            .iter()
            .map(|(name, value)| (HeaderName::from_static(name), HeaderValue::from_static(value)))
            .collect();
        check(hosts, method, &Uri::from_static("/"), &headers).is_ok()
    }

    fn local() -> Hosts {
        Hosts::of("127.0.0.1:8042".parse().expect("an address"), "jobs.example.org, other.example.org:444")
    }

    #[test]
    fn on_loopback_only_names_of_this_machine_are_answered() {
        for (host, is_ours) in [
            ("127.0.0.1:8042", true),
            ("127.9.9.9", true),
            ("[::1]:8042", true),
            ("localhost", true),
            ("LocalHost:8042", true),
            ("punctual.localhost:8042", true),
            ("jobs.example.org", true),
            ("jobs.example.org:8042", true),
            ("other.example.org:444", true),
            ("other.example.org", false),
            ("evil.example.org:8042", false),
            ("127.0.0.1.evil.example.org", false),
            ("localhost.evil.example.org", false),
            ("192.168.0.1:8042", false),
            ("[2001:db8::1]:8042", false),
        ] {
            assert_eq!(judge(&local(), &Method::GET, &[("host", host)]), is_ours, "{host}");
        }
        assert!(judge(&local(), &Method::GET, &[]));
        let everywhere = Hosts::of("0.0.0.0:8042".parse().expect("an address"), "");
        assert!(judge(&everywhere, &Method::GET, &[("host", "jobs.example.com")]));
    }

    #[test]
    fn pages_of_others_change_nothing() {
        let host = ("host", "127.0.0.1:8042");
        for (headers, is_ours) in [
            (&[host][..], true),
            (&[host, ("origin", "http://127.0.0.1:8042"), ("sec-fetch-site", "same-origin")], true),
            (&[host, ("origin", "http://127.0.0.1:8042")], true),
            (&[host, ("sec-fetch-site", "none")], true),
            (&[host, ("origin", "https://jobs.example.org"), ("x-forwarded-host", "jobs.example.org")], true),
            (&[host, ("origin", "http://evil.example.org")], false),
            (&[host, ("origin", "http://127.0.0.1:8043")], false),
            (&[host, ("origin", "null")], false),
            (&[host, ("sec-fetch-site", "cross-site")], false),
            (&[host, ("sec-fetch-site", "same-site"), ("origin", "http://127.0.0.1:8042")], false),
        ] {
            for method in [Method::POST, Method::PUT, Method::PATCH, Method::DELETE] {
                assert_eq!(judge(&local(), &method, headers), is_ours, "{method} {headers:?}");
            }
            assert!(judge(&local(), &Method::GET, headers), "{headers:?}");
        }
    }
}
