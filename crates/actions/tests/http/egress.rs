//! The egress guard against names that lie: what they resolve to, what they resolve to the second time, and where
//! redirects lead, for every kind of action.

use std::{
    fmt, io,
    net::{IpAddr, SocketAddr},
    sync::Mutex,
};

use actions::{EgressSettings, Endpoints, Namespace, Resolver, ServiceBusSettings};
use model::action::{ServiceBusMessage, ServiceBusTransport, StorageQueueMessage};

use super::*;
use crate::server::{Reply, Server, answer, ok, redirect};

/// A resolver that answers what a test wants, and notes what it was asked.
struct Names {
    /// The addresses of a name, when it is asked for the so-manieth time, counted from 0.
    answer: fn(&str, usize) -> &'static [&'static str],
    asked: Mutex<Vec<String>>,
}

impl Names {
    fn new(answer: fn(&str, usize) -> &'static [&'static str]) -> Arc<Self> {
        Arc::new(Self { answer, asked: Mutex::default() })
    }

    fn asked(&self) -> Vec<String> {
        self.asked.lock().unwrap().clone()
    }
}

impl fmt::Debug for Names {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Names")
    }
}

impl Resolver for Names {
    fn resolve(&self, name: &str, port: u16) -> io::Result<Vec<SocketAddr>> {
        let mut asked = self.asked.lock().unwrap();
        let before = asked.iter().filter(|known| *known == name).count();
        asked.push(name.to_owned());
        let address = |text: &&str| SocketAddr::new(text.parse::<IpAddr>().expect("an address"), port);
        Ok((self.answer)(name, before).iter().map(address).collect())
    }
}

/// Settings with these names and these entries of `egress.deny`.
fn denying(names: &Arc<Names>, deny: &[&str]) -> ActionSettings {
    let deny = deny.iter().map(|entry| (*entry).to_owned()).collect();
    let egress = EgressSettings { deny, ..EgressSettings::default() };
    let resolver: Arc<dyn Resolver> = names.clone();
    ActionSettings { egress, resolver, ..settings() }
}

/// Two servers at the same port: one at 127.0.0.1, which tests allow, and one at 127.0.0.2, which they refuse.
async fn pair(good: fn() -> Reply) -> (Server, Server) {
    loop {
        let good = Server::start(move |_| good()).await;
        let other = format!("127.0.0.2:{}", good.address.port());
        // The port may be taken at the other address; then there are others.
        if std::net::TcpListener::bind(&other).is_ok() {
            let bad = Server::start_on(&other, None, |_| ok("never")).await;
            return (good, bad);
        }
    }
}

fn to(name: &str, server: &Server) -> HttpRequest {
    get(format!("http://{name}:{}/", server.address.port()))
}

#[tokio::test]
async fn names_that_point_inwards_are_refused_whatever_form_their_address_has() {
    let names = Names::new(|name, _| match name {
        "metadata.example" => &["169.254.169.254"],
        "mapped.example" => &["::ffff:169.254.169.254"],
        "translated.example" => &["64:ff9b::a9fe:a9fe"],
        "inner.example" => &["10.1.2.3"],
        "inner6.example" => &["fd12::1"],
        _ => &["::ffff:10.1.2.3", "127.0.0.1"],
    });
    let actions = actions(denying(&names, &["10.0.0.0/8", "private", "loopback"]));
    for (name, says) in [
        (
            "metadata.example",
            "its address 169.254.169.254: it is link-local, which egress.lift does not have)",
        ),
        ("mapped.example", "its address ::ffff:169.254.169.254: it is link-local"),
        ("translated.example", "its address 64:ff9b::a9fe:a9fe: it is link-local"),
        ("inner.example", "its address 10.1.2.3: egress.deny has 10.0.0.0/8)"),
        ("inner6.example", "its address fd12::1: egress.deny has private)"),
        (
            "two.example",
            "its address ::ffff:10.1.2.3: egress.deny has 10.0.0.0/8; its address 127.0.0.1: egress.deny has loopback)",
        ),
    ] {
        let outcome = attempt(&actions, get(format!("http://{name}/"))).await;
        let begins = format!(
            "Http Action - Request to host '{name}' failed: ConnectFailure Unable to connect to the remote server \
             (calls to '{name}' are not allowed: "
        );
        assert!(outcome.message.starts_with(&begins), "{}", outcome.message);
        assert_failed(&outcome, says);
    }
    assert_eq!(names.asked().len(), 6, "each once");
}

#[tokio::test]
async fn addresses_are_refused_however_the_uri_writes_them() {
    let names = Names::new(|_, _| &[]);
    let actions = actions(denying(&names, &["loopback"]));
    for host in [
        "127.0.0.1",
        "2130706433",
        "0x7f000001",
        "0177.0.0.1",
        "127.1",
        "[::1]",
        "[::ffff:7f00:1]",
        "[::7f00:1]",
        "0.0.0.0",
        "127.0.0.1.",
        "１２７.0.0.1",
        "user@127.0.0.1",
    ] {
        let outcome = attempt(&actions, get(format!("http://{host}:1/"))).await;
        assert_failed(&outcome, "are not allowed: egress.deny has loopback)");
    }
    let outcome = attempt(&actions, get("http://[fe80::1%25eth0]/")).await;
    assert!(!outcome.success, "{}", outcome.message);
    assert!(names.asked().is_empty());
}

#[tokio::test]
async fn a_name_that_changes_its_mind_is_connected_to_where_it_was_judged() {
    let (good, bad) = pair(|| Reply::Close(answer("200 OK", "Connection: close\r\n", "good"))).await;
    // Honest when it is judged, and inwards ever after.
    let names = Names::new(|_, before| if before == 0 { &["127.0.0.1"] } else { &["127.0.0.2"] });
    let actions = actions(denying(&names, &["127.0.0.2"]));
    let outcome = attempt(&actions, to("rebinding.example", &good)).await;
    assert!(outcome.success && outcome.message.ends_with("Body: good"), "{}", outcome.message);
    assert_eq!(names.asked(), ["rebinding.example"], "nobody asks a second time on the way");

    // The next connection is judged anew.
    let outcome = attempt(&actions, to("rebinding.example", &good)).await;
    assert_failed(&outcome, "its address 127.0.0.2: egress.deny has 127.0.0.2)");
    assert_eq!(names.asked().len(), 2);
    assert_eq!((good.counts().connections, bad.counts().connections), (1, 0));
}

#[tokio::test]
async fn a_kept_connection_is_the_one_that_was_judged() {
    let (good, bad) = pair(|| ok("good")).await;
    let names = Names::new(|_, before| if before == 0 { &["127.0.0.1"] } else { &["127.0.0.2"] });
    let actions = actions(denying(&names, &["127.0.0.2"]));
    for _ in 0..3 {
        let outcome = attempt(&actions, to("rebinding.example", &good)).await;
        assert!(outcome.success && outcome.message.ends_with("Body: good"), "{}", outcome.message);
    }
    assert_eq!((names.asked().len(), good.counts().connections, bad.counts().connections), (1, 1, 0));
    // Another name at the same address is another host: its connection is its own, and judged.
    let outcome = attempt(&actions, to("Rebinding.example.", &good)).await;
    assert!(outcome.success, "{}", outcome.message);
    assert_eq!(good.counts().connections, 2);
}

#[tokio::test]
async fn of_mixed_addresses_only_those_that_are_allowed_are_tried() {
    let (good, bad) = pair(|| ok("good")).await;
    let names = Names::new(|_, _| &["127.0.0.2", "::ffff:127.0.0.2", "169.254.169.254", "127.0.0.1"]);
    let actions = actions(denying(&names, &["127.0.0.2"]));
    let outcome = attempt(&actions, to("mixed.example", &good)).await;
    assert!(outcome.success, "{}", outcome.message);
    assert_eq!((good.counts().connections, bad.counts().connections), (1, 0));
}

#[tokio::test]
async fn redirects_are_judged_at_every_step() {
    let names = Names::new(|name, _| if name == "outer.example" { &["127.0.0.1"] } else { &["127.0.0.2"] });
    for (location, says) in [
        ("http://inner.example/", "calls to 'inner.example' are not allowed: its address 127.0.0.2"),
        ("http://2130706434/", "calls to 127.0.0.2 are not allowed: egress.deny has 127.0.0.2)"),
        ("http://[::ffff:127.0.0.2]/", "calls to ::ffff:127.0.0.2 are not allowed"),
        ("http://bad.example./", "calls to 'bad.example.' are not allowed: egress.deny has *.example:80)"),
        ("//169.254.169.254/latest/", "calls to 169.254.169.254 are not allowed: it is link-local"),
    ] {
        let deny: &[&str] =
            if location.contains("bad") { &["*.example:80"] } else { &["127.0.0.2", "bad.example"] };
        let server = Server::start(move |request| match request.path() {
            "/" => redirect("307 Temporary Redirect", "/step"),
            _ => redirect("302 Found", location),
        })
        .await;
        let outcome = attempt(&actions(denying(&names, deny)), to("outer.example", &server)).await;
        assert_failed(&outcome, says);
        assert_eq!(server.requests().len(), 2, "{location}");
    }
}

#[tokio::test]
async fn names_that_are_refused_by_name_are_not_even_resolved() {
    let names = Names::new(|_, _| &["127.0.0.1"]);
    let egress = EgressSettings {
        allow: vec!["*.good.example".into(), "b\u{fc}cher.example".into()],
        deny: vec!["bad.good.example".into()],
        lift: vec![],
    };
    let server = Server::start(|_| ok("")).await;
    let actions = actions(ActionSettings { egress, ..denying(&names, &[]) });
    for (name, says) in [
        (
            "bad.good.example",
            "calls to 'bad.good.example' are not allowed: egress.deny has bad.good.example)",
        ),
        ("BAD.good.example.", "egress.deny has bad.good.example)"),
        ("secret.evil.example", "egress.allow does not have it)"),
        ("127.0.0.1", "calls to 127.0.0.1 are not allowed: egress.allow does not have it)"),
    ] {
        assert_failed(&attempt(&actions, to(name, &server)).await, says);
    }
    assert!(names.asked().is_empty());
    for name in ["a.good.example", "b\u{fc}cher.example", "XN--BCHER-KVA.example."] {
        let outcome = attempt(&actions, to(name, &server)).await;
        assert!(outcome.success, "{}", outcome.message);
    }
}

#[tokio::test]
async fn a_shared_front_reaches_no_other_host_than_those_allowed() {
    let names = Names::new(|_, _| &["127.0.0.1"]);
    let egress = EgressSettings {
        allow: vec!["front.example".into(), "*.shop.example".into()],
        ..EgressSettings::default()
    };
    let server = Server::start(|_| ok("")).await;
    let actions = actions(ActionSettings { egress, ..denying(&names, &[]) });
    let outcome =
        attempt(&actions, with_headers(to("front.example", &server), &[("Host", "internal.secret")])).await;
    assert_failed(
        &outcome,
        "(calls to 'front.example' with the header Host 'internal.secret' are not allowed: egress.allow does not have it)",
    );
    assert!(names.asked().is_empty() && server.requests().is_empty());
    for given in ["FRONT.example", "api.shop.example:8443"] {
        let outcome = attempt(&actions, with_headers(to("front.example", &server), &[("Host", given)])).await;
        assert!(outcome.success, "{}", outcome.message);
    }
    assert_eq!(server.requests()[1].header("host"), ["api.shop.example:8443"], "it goes out as written");
}

#[tokio::test]
async fn a_server_that_calls_the_internet_only_reaches_nothing_else() {
    let names = Names::new(|name, _| match name {
        "benchmark.example" => &["198.18.0.1"],
        "protocol.example" => &["192.0.0.8"],
        "future.example" => &["240.0.0.1", "255.255.255.255"],
        "many.example" => &["224.0.0.1", "ff02::1"],
        "documented.example" => &["203.0.113.1", "2001:db8::1"],
        "translated.example" => &["64:ff9b:1:a00:0:100::"],
        _ => &["fd00:ec2::23"],
    });
    let actions = actions(denying(&names, &["loopback", "private", "multicast", "reserved"]));
    for (name, says) in [
        ("benchmark.example", "its address 198.18.0.1: egress.deny has reserved)"),
        ("protocol.example", "its address 192.0.0.8: egress.deny has reserved)"),
        (
            "future.example",
            "240.0.0.1: egress.deny has reserved; its address 255.255.255.255: egress.deny has reserved)",
        ),
        (
            "many.example",
            "224.0.0.1: egress.deny has multicast; its address ff02::1: egress.deny has multicast)",
        ),
        (
            "documented.example",
            "203.0.113.1: egress.deny has reserved; its address 2001:db8::1: egress.deny has reserved)",
        ),
        ("translated.example", "its address 64:ff9b:1:a00:0:100::: egress.deny has private)"),
        ("pods.example", "its address fd00:ec2::23: egress.deny has private)"),
    ] {
        assert_failed(&attempt(&actions, get(format!("http://{name}/"))).await, says);
    }
}

#[tokio::test]
async fn every_kind_of_action_is_judged() {
    let names = Names::new(|_, _| &["10.1.2.3"]);
    let endpoint = |scheme: &str| format!("{scheme}://inner.example:1");
    let others =
        Namespace { rest: endpoint("http"), amqp: endpoint("amqp"), ..ServiceBusSettings::default().others };
    let tls = Namespace { rest: endpoint("https"), amqp: endpoint("amqps"), ..others.clone() };
    let namespaces = [("tls".to_owned(), tls)].into();
    let settings = ActionSettings {
        storage_accounts: Endpoints { pattern: endpoint("https"), named: Default::default() },
        service_bus: ServiceBusSettings { others, namespaces, ..ServiceBusSettings::default() },
        ..denying(&names, &["private"])
    };
    let actions = actions(settings);
    let bus = |namespace: &str, transport| ServiceBusMessage {
        namespace: namespace.into(),
        entity: "orders".into(),
        transport,
        authentication: None,
        message: None,
        brokered_properties: None,
        custom_properties: None,
    };
    let queue = StorageQueueMessage {
        account: "orders".into(),
        queue: "nightly".into(),
        sas_token: Secret::new("sig=x"),
        message: None,
        delivery: None,
    };
    let certified = HttpRequest {
        authentication: Some(ca::Ca::new().caller("somebody")),
        ..get("https://inner.example/")
    };
    for call in [
        Call::Http { https: false, request: get("http://inner.example/") },
        Call::Http { https: true, request: get("https://inner.example/") },
        Call::Http { https: true, request: certified },
        Call::StorageQueue(queue),
        Call::ServiceBusQueue(bus("shop", ServiceBusTransport::NotSpecified)),
        Call::ServiceBusQueue(bus("tls", ServiceBusTransport::NetMessaging)),
        Call::ServiceBusQueue(bus("shop", ServiceBusTransport::Amqp)),
        Call::ServiceBusTopic(bus("tls", ServiceBusTransport::Amqp)),
    ] {
        let outcome = order(&actions, &call).await;
        assert_failed(
            &outcome,
            "failed: ConnectFailure Unable to connect to the remote server (calls to 'inner.example' are not allowed: \
             its address 10.1.2.3: egress.deny has private)",
        );
    }
    assert_eq!(names.asked().len(), 8, "each attempt is judged");
}
