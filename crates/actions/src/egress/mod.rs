//! The egress guard: whom actions may call.
//!
//! The operator's policy is three lists. What [`deny`](EgressSettings::deny) names is refused. So is what is refused by
//! itself, link-local addresses and the metadata of clouds, unless [`lift`](EgressSettings::lift) names it. When
//! [`allow`](EgressSettings::allow) names anything, all else is refused. The first that applies, in this order, decides.
//!
//! The guard is asked twice for every connection: with the name as the action has it, before anybody is asked for its
//! addresses, and with each address, which is then the very one that is connected to. So neither a name that points
//! inwards nor one that changes its mind gets around it, nor does a redirect. A connection that is kept serves the same
//! host and port only, and the policy stays as long as the process, so what was judged once need not be judged again.
//!
//! A redirect from a public address must lead to a public address, unless the operator lifts that: otherwise any target
//! could direct calls to services that only this machine reaches. And where a host is allowed by its name, a `Host` header
//! that an action sends has to be allowed as well: one address may serve many hosts.
//!
//! `entry` reads what the lists have, `host` reads what the URI has, and `disguise` knows the other forms of an address.

mod disguise;
mod entry;
mod host;

use std::{
    fmt,
    net::{IpAddr, SocketAddr},
};

pub(crate) use self::host::Host;
use self::{
    disguise::{forms, own_forms},
    entry::{Entry, Word},
};
use crate::{
    fault::{Fault, Kind},
    settings::SettingsError,
};

/// What is refused although no list names it.
const BUILT_IN: [Word; 2] = [Word::LinkLocal, Word::Metadata];

/// The entry of `lift` that allows redirects from public to other addresses.
const REDIRECTS_INWARDS: &str = "redirects-inwards";

/// How many refused addresses of a name are told.
const TOLD: usize = 8;

/// Whom actions may call, as the operator says it.
///
/// An entry is a word (`loopback`, `private`, `link-local`, `metadata`, `multicast`, `reserved`), an address, a network
/// (`10.0.0.0/8`), a host name, all names below one (`*.example.com`) or `*`; each can end with a port or a range of ports
/// (`db.example.com:5432`, `*:1-1023`, `[fd00::/8]:443`).
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct EgressSettings {
    /// If there are entries, nothing else may be called.
    pub allow: Vec<String>,
    /// What may not be called, also when `allow` has it.
    pub deny: Vec<String>,
    /// Which built-in rules do not apply: `link-local`, `metadata`, `redirects-inwards`.
    pub lift: Vec<String>,
}

/// The policy in force.
#[derive(Debug)]
pub(crate) struct Guard {
    allow: Vec<Entry>,
    deny: Vec<Entry>,
    built_in: Vec<Word>,
    /// Addresses outside the Internet, to which no redirect from a public address may lead; empty where that is lifted.
    inner: Vec<Entry>,
}

/// Who chose the host of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ChosenBy {
    /// The action, or a redirect from an address that is not public.
    Action,
    /// A redirect from a public address.
    PublicRedirect,
}

/// Why something may not be called.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Reason<'a> {
    Denied(&'a Entry),
    BuiltIn(Word),
    Inwards(&'a Entry),
    NotAllowed,
}

impl fmt::Display for Reason<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Denied(entry) => write!(f, "egress.deny has {entry}"),
            Self::BuiltIn(word) => write!(f, "it is {word}, which egress.lift does not have"),
            Self::Inwards(entry) => write!(
                f,
                "it is {entry}, where a redirect from a public address may not lead; egress.lift does not have \
                 {REDIRECTS_INWARDS}"
            ),
            Self::NotAllowed => f.write_str("egress.allow does not have it"),
        }
    }
}

impl Guard {
    /// Reads the lists.
    pub(crate) fn new(settings: &EgressSettings) -> Result<Self, SettingsError> {
        let list = |setting: &'static str, texts: &[String]| {
            let refused = |text: &String, why| SettingsError::Egress { setting, text: text.clone(), why };
            texts
                .iter()
                .map(|text| Entry::read(text).map_err(|why| refused(text, why)))
                .collect::<Result<_, _>>()
        };
        let mut built_in = BUILT_IN.to_vec();
        for text in &settings.lift {
            let place = built_in.iter().position(|word| word.name() == text);
            if let Some(place) = place {
                built_in.remove(place);
            } else if text != REDIRECTS_INWARDS && !BUILT_IN.iter().any(|word| word.name() == text) {
                let why = format!("allowed: link-local, metadata, {REDIRECTS_INWARDS}");
                return Err(SettingsError::Egress { setting: "egress.lift", text: text.clone(), why });
            }
        }
        Ok(Self {
            allow: list("egress.allow", &settings.allow)?,
            deny: list("egress.deny", &settings.deny)?,
            built_in,
            inner: if settings.lift.iter().any(|text| text == REDIRECTS_INWARDS) {
                Vec::new()
            } else {
                Word::ALL.map(Entry::of).into()
            },
        })
    }

    /// Replaces the addresses that count as outside the Internet: tests have no public address.
    #[cfg(test)]
    pub(crate) fn with_inner(self, inner: &[&str]) -> Self {
        Self { inner: inner.iter().map(|text| Entry::read(text).unwrap()).collect(), ..self }
    }

    /// Returns who chooses the next host when this address redirects.
    pub(crate) fn redirects_as(&self, address: IpAddr) -> ChosenBy {
        let is_inner = |entry: &Entry| own_forms(address).iter().any(|form| entry.has_address(*form, 0));
        if self.inner.is_empty() || self.inner.iter().any(is_inner) {
            ChosenBy::Action
        } else {
            ChosenBy::PublicRedirect
        }
    }

    /// Judges the `Host` header of an action. Where its URI's host is allowed by name, the header's has to be as well.
    pub(crate) fn admit_header(&self, host: &Host, port: u16, given: &str) -> Result<(), Fault> {
        if self.allow.is_empty() && self.deny.is_empty() {
            return Ok(());
        }
        let refuse = |why: &str| {
            let given = given.escape_debug();
            let cause = format!("calls to {host} with the header Host '{given}' are not allowed: {why}");
            Err(Fault::new(Kind::ConnectFailure, cause))
        };
        let Some(other) = Host::of_header(given) else {
            return refuse("it is neither a host nor a host and a port");
        };
        if other == *host || (other.name().is_some() && other.name() == host.name()) {
            return Ok(());
        }
        let has = |entry: &Entry, host: &Host| match host {
            Host::Address(address) => entry.has_address(*address, port),
            Host::Name(_) => host.name().is_some_and(|name| entry.has_name(name, port)),
        };
        if let Some(entry) = self.deny.iter().find(|entry| has(entry, &other)) {
            return refuse(&Reason::Denied(entry).to_string());
        }
        let is_by_name = self.allow.iter().any(|entry| entry.is_name() && has(entry, host));
        match is_by_name && !self.allow.iter().any(|entry| has(entry, &other)) {
            true => refuse(&Reason::NotAllowed.to_string()),
            false => Ok(()),
        }
    }

    /// Judges a host by its name alone, before it is resolved: a name that is refused anyway is not asked for, because
    /// the question alone tells the owner of the name something.
    pub(crate) fn admit(&self, host: &Host, port: u16) -> Result<(), Fault> {
        let Some(name) = host.name() else { return Ok(()) };
        let denied = self.deny.iter().find(|entry| entry.has_name(name, port)).map(Reason::Denied);
        let hopeless = || {
            let may_be = |entry: &Entry| {
                entry.has_name(name, port) || (entry.is_of_addresses() && entry.has_port(port))
            };
            (!self.allow.is_empty() && !self.allow.iter().any(may_be)).then_some(Reason::NotAllowed)
        };
        match denied.or_else(hopeless) {
            Some(reason) => Err(refused(host, &reason.to_string())),
            None => Ok(()),
        }
    }

    /// Those of a host's addresses that may be called.
    pub(crate) fn permitted(
        &self,
        host: &Host,
        addresses: Vec<SocketAddr>,
        chosen_by: ChosenBy,
    ) -> Result<Vec<SocketAddr>, Fault> {
        let mut reasons = Vec::new();
        let mut permitted = Vec::with_capacity(addresses.len());
        for address in addresses {
            match self.judge(host, address, chosen_by) {
                None => permitted.push(address),
                Some(reason) => reasons.push((address, reason)),
            }
        }
        if !permitted.is_empty() || reasons.is_empty() {
            return Ok(permitted);
        }
        let told = reasons.iter().take(TOLD).map(|(address, reason)| match host {
            Host::Address(_) => reason.to_string(),
            Host::Name(_) => format!("its address {}: {reason}", address.ip()),
        });
        Err(refused(host, &told.collect::<Vec<_>>().join("; ")))
    }

    fn judge(&self, host: &Host, address: SocketAddr, chosen_by: ChosenBy) -> Option<Reason<'_>> {
        let port = address.port();
        let forms = forms(address.ip());
        let denies = |entry: &&Entry| {
            forms.iter().any(|form| entry.has_address(*form, port))
                || host.name().is_some_and(|name| entry.has_name(name, port))
        };
        if let Some(entry) = self.deny.iter().find(denies) {
            return Some(Reason::Denied(entry));
        }
        if let Some(word) = self.built_in.iter().find(|word| forms.iter().any(|form| word.has(*form))) {
            return Some(Reason::BuiltIn(*word));
        }
        let is_there = |entry: &&Entry| forms.iter().any(|form| entry.has_address(*form, port));
        if let (ChosenBy::PublicRedirect, Some(entry)) = (chosen_by, self.inner.iter().find(is_there)) {
            return Some(Reason::Inwards(entry));
        }
        let allows = |entry: &Entry| {
            own_forms(address.ip()).iter().any(|form| entry.has_address(*form, port))
                || host.name().is_some_and(|name| entry.has_name(name, port))
        };
        (!self.allow.is_empty() && !self.allow.iter().any(allows)).then_some(Reason::NotAllowed)
    }
}

fn refused(host: &Host, why: &str) -> Fault {
    Fault::new(Kind::ConnectFailure, format!("calls to {host} are not allowed: {why}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn guard(allow: &[&str], deny: &[&str], lift: &[&str]) -> Result<Guard, SettingsError> {
        let list = |texts: &[&str]| texts.iter().map(|text| (*text).to_owned()).collect();
        Guard::new(&EgressSettings { allow: list(allow), deny: list(deny), lift: list(lift) })
    }

    /// What becomes of a call to a host, as written in a URI, that resolves to these addresses.
    fn call(guard: &Guard, host: &str, addresses: &[&str]) -> Result<Vec<String>, String> {
        let host = Host::read(host).unwrap();
        let addresses = addresses.iter().map(|text| text.parse::<SocketAddr>().unwrap()).collect::<Vec<_>>();
        let port = addresses[0].port();
        let ended =
            guard.admit(&host, port).and_then(|()| guard.permitted(&host, addresses, ChosenBy::Action));
        ended.map(|found| found.iter().map(ToString::to_string).collect()).map_err(|fault| fault.to_string())
    }

    fn literal(guard: &Guard, address: &str) -> Result<(), String> {
        let ip: std::net::IpAddr = address.parse().unwrap();
        let host = if ip.is_ipv6() { format!("[{ip}]") } else { ip.to_string() };
        call(guard, &host, &[&SocketAddr::new(ip, 80).to_string()]).map(drop)
    }

    #[test]
    fn metadata_and_link_local_addresses_are_refused_by_themselves() {
        let guard = guard(&[], &[], &[]).unwrap();
        for address in [
            "169.254.169.254",
            "169.254.0.1",
            "168.63.129.16",
            "100.100.100.200",
            "192.0.0.192",
            "fd00:ec2::254",
            "fd20:ce::254",
            "169.254.170.23",
            "fd00:ec2::23",
            "64:ff9b:1:0:a9:fea9:fe00:0",
            "fe80::1",
            "febf::1",
        ] {
            let refused = literal(&guard, address).unwrap_err();
            assert!(refused.contains(&format!("(calls to {address} are not allowed: it is ")), "{refused}");
        }
        for address in
            ["127.0.0.1", "::1", "10.0.0.1", "192.168.1.1", "8.8.8.8", "2a00::1", "fec0::1", "fd00::1"]
        {
            assert_eq!(literal(&guard, address), Ok(()), "{address}");
        }
    }

    #[test]
    fn what_is_refused_by_itself_can_be_lifted_by_its_name() {
        let without_metadata = guard(&[], &[], &["metadata"]).unwrap();
        assert_eq!(literal(&without_metadata, "168.63.129.16"), Ok(()));
        // It is link-local as well.
        assert!(
            literal(&without_metadata, "169.254.169.254").unwrap_err().contains("it is link-local, which")
        );
        let without_both = guard(&[], &[], &["metadata", "link-local"]).unwrap();
        assert_eq!(literal(&without_both, "169.254.169.254"), Ok(()));
        // An entry of allow lifts nothing.
        let allowing = guard(&["169.254.0.0/16"], &[], &[]).unwrap();
        assert!(literal(&allowing, "169.254.169.254").is_err());
    }

    #[test]
    fn deny_beats_allow_and_with_allow_all_else_is_refused() {
        let guard =
            guard(&["10.0.0.0/8", "*.good.example"], &["10.1.0.0/16", "bad.good.example"], &[]).unwrap();
        assert_eq!(literal(&guard, "10.2.0.1"), Ok(()));
        assert!(literal(&guard, "10.1.0.1").unwrap_err().contains("egress.deny has 10.1.0.0/16"));
        assert!(literal(&guard, "8.8.8.8").unwrap_err().contains("egress.allow does not have it"));
        assert!(call(&guard, "a.good.example", &["8.8.8.8:80"]).is_ok(), "by its name");
        assert!(call(&guard, "A.Good.Example.", &["8.8.8.8:80"]).is_ok(), "in any case, with a dot");
        assert!(call(&guard, "other.example", &["10.2.0.1:80"]).is_ok(), "by its address");
        let denied = call(&guard, "BAD.good.example.", &["8.8.8.8:80"]).unwrap_err();
        assert!(
            denied.contains("calls to 'BAD.good.example.' are not allowed: egress.deny has bad.good.example")
        );
        assert!(call(&guard, "good.example", &["8.8.8.8:80"]).is_err(), "it is not below itself");
        let inwards = call(&guard, "a.good.example", &["10.1.0.1:80"]).unwrap_err();
        assert!(inwards.contains("its address 10.1.0.1: egress.deny has 10.1.0.0/16"), "{inwards}");
    }

    #[test]
    fn only_permitted_addresses_of_a_name_are_left_and_each_other_is_told_with_its_rule() {
        let guard = guard(&[], &["private", "loopback"], &[]).unwrap();
        let mixed = ["10.0.0.1:80", "8.8.8.8:80", "[::1]:80", "[2a00::1]:80"];
        assert_eq!(call(&guard, "mixed.example", &mixed).unwrap(), ["8.8.8.8:80", "[2a00::1]:80"]);
        let refused =
            call(&guard, "inner.example", &["10.0.0.1:80", "[::1]:80", "[fe80::1]:80"]).unwrap_err();
        let told = "(calls to 'inner.example' are not allowed: its address 10.0.0.1: egress.deny has private; its \
                    address ::1: egress.deny has loopback; its address fe80::1: it is link-local, which egress.lift \
                    does not have)";
        assert!(refused.ends_with(told), "{refused}");
    }

    #[test]
    fn disguises_are_refused_and_never_allowed() {
        let deny = guard(&[], &["10.0.0.0/8"], &[]).unwrap();
        let allow = guard(&["10.0.0.0/8"], &[], &[]).unwrap();
        for address in ["64:ff9b::10.0.0.1", "2002:a00:1::1", "2001:0:a00:1::1", "::10.0.0.1"] {
            assert!(literal(&deny, address).unwrap_err().contains("egress.deny has 10.0.0.0/8"), "{address}");
            assert!(
                literal(&allow, address).unwrap_err().contains("egress.allow does not have it"),
                "{address}"
            );
        }
        // This is no other address, only another way to write it.
        assert!(literal(&deny, "::ffff:10.0.0.1").is_err());
        assert_eq!(literal(&allow, "::ffff:10.0.0.1"), Ok(()));
    }

    #[test]
    fn numbers_are_addresses_however_they_are_written() {
        let guard = guard(&[], &["loopback"], &[]).unwrap();
        for host in
            ["2130706433", "0x7f000001", "0177.0.0.1", "127.1", "0x7f.1", "%31%32%37.0.0.1", "127.0.0.1."]
        {
            let Ok(Host::Address(ip)) = Host::read(host) else { panic!("{host} is an address") };
            assert!(literal(&guard, &ip.to_string()).is_err(), "{host}");
        }
    }

    #[test]
    fn redirects_of_public_addresses_lead_to_public_ones_only() {
        let usual = guard(&[], &[], &[]).unwrap();
        for (address, redirects_as) in [
            ("8.8.8.8", ChosenBy::PublicRedirect),
            ("2a00::1", ChosenBy::PublicRedirect),
            ("::ffff:8.8.8.8", ChosenBy::PublicRedirect),
            ("64:ff9b::10.0.0.1", ChosenBy::PublicRedirect),
            ("2a00::5efe:10.0.0.1", ChosenBy::PublicRedirect),
            ("10.0.0.1", ChosenBy::Action),
            ("::ffff:127.0.0.1", ChosenBy::Action),
            ("fe80::1", ChosenBy::Action),
        ] {
            assert_eq!(usual.redirects_as(address.parse().unwrap()), redirects_as, "{address}");
        }
        let led = |guard: &Guard, address: &str| {
            let host = Host::read("a.example").unwrap();
            let address = SocketAddr::new(address.parse().unwrap(), 80);
            guard.permitted(&host, vec![address], ChosenBy::PublicRedirect).map_err(|fault| fault.to_string())
        };
        for (address, word) in [
            ("127.0.0.1", "loopback"),
            ("10.0.0.1", "private"),
            ("64:ff9b::10.0.0.1", "private"),
            ("fd00::1", "private"),
            ("198.18.0.1", "reserved"),
            ("224.0.0.1", "multicast"),
        ] {
            let refused = led(&usual, address).unwrap_err();
            let address: IpAddr = address.parse().unwrap();
            let says = format!(
                "its address {address}: it is {word}, where a redirect from a public address may not lead; egress.lift does \
                 not have redirects-inwards)"
            );
            assert!(refused.ends_with(&says), "{refused}");
        }
        assert!(led(&usual, "169.254.169.254").unwrap_err().contains("it is link-local, which egress.lift"));
        assert!(led(&usual, "8.8.8.8").is_ok());
        let lifted = guard(&[], &[], &["redirects-inwards"]).unwrap();
        assert!(led(&lifted, "10.0.0.1").is_ok());
        assert_eq!(lifted.redirects_as("8.8.8.8".parse().unwrap()), ChosenBy::Action);
    }

    #[test]
    fn the_host_of_a_header_is_judged_where_the_host_is_allowed_by_name() {
        let admit = |guard: &Guard, host: &str, given: &str| {
            let ended = guard.admit_header(&Host::read(host).unwrap(), 443, given);
            ended.map_err(|fault| fault.to_string())
        };
        let by_name =
            guard(&["front.example", "*.good.example:443", "10.0.0.0/8"], &["bad.good.example"], &[])
                .unwrap();
        for (host, given) in [
            ("front.example", "front.example"),
            ("front.example", "Front.Example.:443"),
            ("front.example", "a.good.example"),
            ("front.example", "10.1.2.3:80"),
            ("10.0.0.1", "anything.example"),
            ("inner.example", "anything.example"),
        ] {
            assert_eq!(admit(&by_name, host, given), Ok(()), "{host} {given}");
        }
        for (host, given, says) in [
            ("front.example", "internal.secret", "egress.allow does not have it"),
            ("front.example", "8.8.8.8", "egress.allow does not have it"),
            ("front.example", "", "it is neither a host nor a host and a port"),
            ("front.example", "a.good.example/x", "it is neither a host nor a host and a port"),
            ("front.example", "a.good.example, b", "it is neither a host nor a host and a port"),
            ("front.example", "BAD.good.example", "egress.deny has bad.good.example"),
            ("10.0.0.1", "bad.good.example", "egress.deny has bad.good.example"),
        ] {
            let refused = admit(&by_name, host, given).unwrap_err();
            assert!(refused.contains("with the header Host '") && refused.contains(says), "{refused}");
        }
        let open = guard(&[], &[], &[]).unwrap();
        assert_eq!(admit(&open, "front.example", "internal.secret"), Ok(()));
        let only_addresses = guard(&["10.0.0.0/8"], &[], &[]).unwrap();
        assert_eq!(admit(&only_addresses, "inner.example", "app.internal"), Ok(()));
    }

    #[test]
    fn names_that_are_refused_anyway_are_not_resolved() {
        let by_name = guard(&["*.good.example:443"], &[], &[]).unwrap();
        let admit = |guard: &Guard, host: &str, port| guard.admit(&Host::read(host).unwrap(), port);
        assert!(admit(&by_name, "a.good.example", 443).is_ok());
        assert!(admit(&by_name, "a.good.example", 80).is_err());
        assert!(admit(&by_name, "secret.evil.example", 443).is_err());
        let by_address = guard(&["*.good.example", "10.0.0.0/8"], &[], &[]).unwrap();
        assert!(admit(&by_address, "secret.evil.example", 443).is_ok(), "its address may be allowed");
    }

    #[test]
    fn ports_are_part_of_a_rule() {
        let guard = guard(&[], &["*:1-1023", "db.example:5432"], &[]).unwrap();
        assert!(
            call(&guard, "a.example", &["8.8.8.8:1023"]).unwrap_err().contains("egress.deny has *:1-1023")
        );
        assert!(call(&guard, "8.8.8.8", &["8.8.8.8:25"]).is_err());
        assert!(call(&guard, "a.example", &["8.8.8.8:8080"]).is_ok());
        assert!(call(&guard, "db.example", &["8.8.8.8:5432"]).is_err());
        assert!(call(&guard, "db.example", &["8.8.8.8:5433"]).is_ok());
    }

    #[test]
    fn entries_that_cannot_be_used_are_named_with_their_list() {
        for (allow, deny, lift, says) in [
            ("10.0.0.0/33", "", "", "egress.allow: \"10.0.0.0/33\" cannot be used: "),
            ("", "10.0.0.0/33", "", "egress.deny: \"10.0.0.0/33\" cannot be used: "),
            (
                "",
                "",
                "private",
                "egress.lift: \"private\" cannot be used: allowed: link-local, metadata, redirects-inwards",
            ),
        ] {
            let list = |text: &'static str| if text.is_empty() { vec![] } else { vec![text] };
            let error = guard(&list(allow), &list(deny), &list(lift)).unwrap_err().to_string();
            assert!(error.starts_with(says), "{error}");
        }
    }
}
