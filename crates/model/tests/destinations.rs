//! Which calls go to the same destination, and so may keep a stored secret.

use model::action::{
    Call, HttpAuthentication, HttpRequest, ServiceBusMessage, ServiceBusTransport, StorageQueueMessage,
};
use model::{Destination, Secret, same_destination};

fn http(uri: &str, headers: &[(&str, &str)], authentication: Option<HttpAuthentication>) -> Call {
    let headers = headers.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
    let (uri, method) = (uri.to_owned(), "GET".to_owned());
    Call::Http {
        https: false,
        request: HttpRequest { uri, method, headers: Some(headers), body: None, authentication },
    }
}

fn queue(account: &str, queue: &str) -> Call {
    let (account, queue, sas_token) = (account.to_owned(), queue.to_owned(), Secret::new("s"));
    Call::StorageQueue(StorageQueueMessage { account, queue, sas_token, message: None, delivery: None })
}

fn bus(namespace: &str, entity: &str, transport: ServiceBusTransport) -> ServiceBusMessage {
    ServiceBusMessage {
        namespace: namespace.to_owned(),
        entity: entity.to_owned(),
        transport,
        authentication: None,
        message: None,
        brokered_properties: None,
        custom_properties: None,
    }
}

fn oauth(tenant: &str, audience: &str, client_id: &str) -> Option<HttpAuthentication> {
    Some(HttpAuthentication::ActiveDirectoryOAuth {
        tenant: tenant.to_owned(),
        audience: audience.to_owned(),
        client_id: client_id.to_owned(),
        secret: Secret::new("s"),
    })
}

#[test]
fn uris_of_one_destination() {
    for (one, other) in [
        ("http://a.test", "http://a.test/b/c?d=e#f"),
        ("http://a.test/", "HTTP://A.TEST/"),
        ("http://a.test/", "http://a.test:80/"),
        ("http://a.test/", "http://a.test:/"),
        ("https://a.test:0443/", "https://a.test/"),
        ("https://a.test?q=http://b.test", "https://a.test"),
        ("https://a.test/@b.test", "https://a.test"),
        ("https://a.test#@b.test", "https://a.test"),
        ("https://user:word@a.test/", "https://other@a.test/"),
        ("https://a@b@c.test/", "https://c.test/"),
        ("http://[::1]:80/", "http://[0:0:0:0:0:0:0:1]/"),
        ("http://[2001:DB8::1]/", "http://[2001:db8:0::1]/"),
        ("http://bücher.test/ä", "http://bücher.test/ö"),
    ] {
        assert!(same_destination(&http(one, &[], None), &http(other, &[], None)), "{one} {other}");
    }
}

#[test]
fn uris_of_two_destinations() {
    for (one, other) in [
        ("http://a.test/", "https://a.test/"),
        ("http://a.test/", "http://b.test/"),
        ("http://a.test/", "http://a.test:81/"),
        ("http://a.test:443/", "https://a.test:443/"),
        ("http://a.test/", "http://www.a.test/"),
        ("http://a.test/", "http://a.test.b.test/"),
        ("http://a.test/", "http://a.test@b.test/"),
        ("http://a.test/", "http://a.test:80@b.test/"),
        ("http://a.test/", "http://b.test:80#@a.test/"),
        // Some readers take a backslash for a slash: there the host is b.test.
        ("http://a.test/", "http://b.test\\@a.test/"),
        ("http://a.test/", "http://b.test\\.a.test/"),
        // What is written by number, searched for in other domains or spelled in other letters may lead elsewhere.
        ("http://a.test/", "http://%61.test/"),
        ("http://a.test/", "http://a.test./"),
        ("http://bücher.test/", "http://BÜCHER.test/"),
        ("http://127.0.0.1/", "http://127.1/"),
        ("http://127.0.0.1/", "http://[::ffff:127.0.0.1]/"),
        ("http://[::1]/", "http://[::2]/"),
        ("http://[::1]/", "http://[::1]:8080/"),
        ("http://a.test/", "http://a.test:x/"),
        ("http://a.test/", "a.test"),
    ] {
        assert!(!same_destination(&http(one, &[], None), &http(other, &[], None)), "{one} {other}");
        assert!(!same_destination(&http(other, &[], None), &http(one, &[], None)), "{other} {one}");
    }
    let unclear = "http://b.test\\@a.test/?key=1";
    assert_eq!(Destination::of_uri(unclear), Destination::of_uri(unclear));
}

#[test]
fn what_else_decides_who_receives_a_secret() {
    use ServiceBusTransport::{Amqp, NetMessaging, NotSpecified};
    let uri = "https://a.test/";
    let plain = || http(uri, &[], None);
    let to_queue = |namespace, entity, transport| Call::ServiceBusQueue(bus(namespace, entity, transport));
    let to_topic = |namespace, entity, transport| Call::ServiceBusTopic(bus(namespace, entity, transport));
    for (one, other, same) in [
        (plain(), http(uri, &[("x-a", "b")], None), true),
        (plain(), http(uri, &[("hOST", "b.test")], None), false),
        (http(uri, &[("Host", "B.test")], None), http(uri, &[("host", "b.TEST")], None), true),
        (http(uri, &[], oauth("t", "a", "c")), http(uri, &[], oauth("T", "a", "d")), true),
        (http(uri, &[], oauth("t", "a", "c")), http(uri, &[], oauth("u", "a", "c")), false),
        (http(uri, &[], oauth("t", "a", "c")), http(uri, &[], oauth("t", "b", "c")), false),
        (queue("acc", "q"), queue("ACC", "r"), true),
        (queue("acc", "q"), queue("bcc", "q"), false),
        (queue("a", "q"), to_queue("a", "q", NotSpecified), false),
        (queue("a", "q"), http("http://a/", &[], None), false),
        (to_queue("n", "q", NotSpecified), to_queue("N", "r", NetMessaging), true),
        (to_queue("n", "q", Amqp), to_queue("n", "q", NetMessaging), false),
        (to_queue("n", "q", Amqp), to_queue("m", "q", Amqp), false),
        (to_queue("n", "q", Amqp), to_topic("n", "q", Amqp), true),
    ] {
        assert_eq!(same_destination(&one, &other), same, "{one:?} {other:?}");
        assert_eq!(same_destination(&other, &one), same, "{other:?} {one:?}");
    }
}

#[test]
fn shown_without_what_may_be_secret() {
    for (call, shown) in [
        (http("HTTPS://u:word@A.test:8443/path?key=1#f", &[], None), "https://a.test:8443"),
        (http("http://[::1]/", &[("Host", "b.test")], None), "http://[::1] with the header Host 'b.test'"),
        (
            http("http://a.test/", &[], oauth("t", "a", "c")),
            "http://a.test with a token of the tenant 't' for the audience 'a'",
        ),
        (http("http://u:word@b.test\\@a.test/?key=1", &[], None), "a URI with an unclear host"),
        (queue("acc", "q"), "the storage account 'acc'"),
        (Call::ServiceBusTopic(bus("n", "t", ServiceBusTransport::Amqp)), "the namespace 'n' over AMQP"),
        (
            Call::ServiceBusQueue(bus("n", "q", ServiceBusTransport::NetMessaging)),
            "the namespace 'n' over HTTP",
        ),
    ] {
        assert_eq!(call.destination().to_string(), shown);
    }
}
