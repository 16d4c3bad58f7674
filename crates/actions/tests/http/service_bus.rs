//! Service Bus over its REST endpoint: what is sent there, and what the history says of its answers. Of AMQP here are the
//! ways in which there is no broker; `amqp` has one.

use std::collections::BTreeMap;

use actions::{Namespace, ServiceBusSettings};
use model::action::{ServiceBusMessage, ServiceBusTransport, SharedAccessKey};

use super::*;
use crate::server::{Reply, Server, answer};

const KEY: &str = "s3cret/key=";

fn message(transport: ServiceBusTransport) -> ServiceBusMessage {
    let pairs = |pairs: &[(&str, &str)]| {
        Some(pairs.iter().map(|(name, text)| ((*name).to_owned(), (*text).to_owned())).collect())
    };
    ServiceBusMessage {
        namespace: "Shop".into(),
        entity: "orders/night ly".into(),
        transport,
        authentication: Some(SharedAccessKey { name: "sender".into(), key: Secret::new(KEY) }),
        message: Some("hé".into()),
        brokered_properties: pairs(&[
            ("contentType", "\"text/plain\""),
            ("label", "\"l\""),
            ("timeToLive", "\"PT1M30S\""),
            ("scheduledEnqueueTimeUtc", "\"2027-03-01T13:00:00Z\""),
            ("forcePersistence", "true"),
        ]),
        custom_properties: pairs(&[("Priority", "hi\"gh"), ("x-number", "7"), ("X-Punctual-Hops", "0")]),
    }
}

fn rest() -> ServiceBusMessage {
    message(ServiceBusTransport::NotSpecified)
}

/// Settings under which the namespace is at these endpoints.
fn at(rest: &str, amqp: &str) -> ActionSettings {
    let others = ServiceBusSettings::default().others;
    let shop = Namespace { rest: rest.to_owned(), amqp: amqp.to_owned(), ..others };
    let namespaces = BTreeMap::from([("shop".to_owned(), shop)]);
    let service_bus = ServiceBusSettings { namespaces, ..ServiceBusSettings::default() };
    ActionSettings { service_bus, ..settings() }
}

async fn send(settings: ActionSettings, message: ServiceBusMessage) -> Outcome {
    order(&actions(settings), &Call::ServiceBusQueue(message)).await
}

async fn refused(status: &str, body: &'static str) -> Outcome {
    let status = status.to_owned();
    let server = Server::start(move |_| Reply::Keep(answer(&status, "", body))).await;
    let outcome = send(at(&server.uri(""), "amqp://127.0.0.1:1"), rest()).await;
    assert!(!outcome.success, "{}", outcome.message);
    outcome
}

#[tokio::test]
async fn a_message_is_one_request() {
    let server = Server::start(|_| Reply::Keep(answer("201 Created", "", ""))).await;
    for transport in [ServiceBusTransport::NotSpecified, ServiceBusTransport::NetMessaging] {
        let outcome = send(at(&server.uri("/"), "amqp://127.0.0.1:1"), message(transport)).await;
        assert_eq!(
            outcome.message,
            "ServiceBusQueue Action - Message to queue 'orders/night ly' in namespace 'Shop' succeeded: 'Created'"
        );
        assert!(outcome.success);
    }
    for request in server.requests() {
        assert_eq!(request.line(), "POST /orders/night%20ly/messages HTTP/1.1");
        assert_eq!(request.body, "hé".as_bytes());
        assert_eq!(request.header("content-type"), ["text/plain"]);
        assert_eq!(request.header("priority"), ["\"hi\\\"gh\""]);
        assert_eq!(request.header("x-number"), ["\"7\""]);
        assert_eq!(request.header("x-punctual-hops"), ["1"]);
        let expected = format!(
            "{{\"MessageId\":\"{TAG}\",\"Label\":\"l\",\"TimeToLive\":90,\
             \"ScheduledEnqueueTimeUtc\":\"Mon, 01 Mar 2027 13:00:00 GMT\",\"ForcePersistence\":true}}"
        );
        assert_eq!(request.header("brokerproperties"), [expected]);
        let token = request.header("authorization").join(",");
        let port = server.address.port();
        let resource = format!("sr=http%3a%2f%2f127.0.0.1%3a{port}%2forders%2fnight%2520ly%2fmessages&sig=");
        assert!(token.starts_with(&format!("SharedAccessSignature {resource}")), "{token}");
        // Ten minutes from now; it is used for the first half.
        assert!(token.ends_with("&se=1803904800&skn=sender"), "{token}");
    }
}

#[tokio::test]
async fn topics_have_their_own_words() {
    let server = Server::start(|_| Reply::Keep(answer("201 Created", "", ""))).await;
    let settings = at(&server.uri(""), "amqp://127.0.0.1:1");
    let outcome = order(&actions(settings), &Call::ServiceBusTopic(rest())).await;
    assert_eq!(
        outcome.message,
        "ServiceBusTopic Action - Message to topic 'orders/night ly' in namespace 'Shop' succeeded: 'Created'"
    );
}

#[tokio::test]
async fn refusals_name_entity_and_namespace_before_the_first_colon() {
    let missing = "<Error><Code>404</Code><Detail>The messaging entity could not be found.</Detail></Error>";
    assert_eq!(
        refused("404 Not Found", missing).await.message,
        "ServiceBusQueue Action - The queue 'orders/night ly' in namespace 'Shop' does not exist: 'NotFound' 404 \
         The messaging entity could not be found."
    );
    let wrong = "<Error><Code>401</Code><Detail>InvalidSignature: s3cret/key= is wrong</Detail></Error>";
    assert_eq!(
        refused("401 Unauthorized", wrong).await.message,
        "ServiceBusQueue Action - Message to queue 'orders/night ly' in namespace 'Shop' failed: 'Unauthorized' 401 \
         InvalidSignature: (hidden) is wrong"
    );
    assert_failed(&refused("429 Too Many", "slow down").await, "failed: '429' slow down");
    assert_failed(&refused("413 Too Large", "").await, "failed: 'RequestEntityTooLarge'");
}

#[tokio::test]
async fn what_cannot_be_a_header_is_not_sent() {
    let server = Server::start(|_| Reply::Keep(answer("201 Created", "", ""))).await;
    for (name, says) in [
        ("two words", "'two words' cannot be the name of a header; over AMQP it can be sent"),
        (
            "Authorization",
            "'Authorization' has the name of a header of the request; over AMQP it can be sent",
        ),
    ] {
        let custom = Some(vec![(name.to_owned(), "x".to_owned())]);
        let message = ServiceBusMessage { custom_properties: custom, ..rest() };
        assert_failed(&send(at(&server.uri(""), "amqp://127.0.0.1:1"), message).await, says);
    }
    assert!(server.requests().is_empty());
}

/// A broker that takes connections and says what a test wants, whoever speaks.
async fn broker(says: &'static [u8]) -> Server {
    Server::start(move |_| Reply::Hang(says.to_vec())).await
}

#[tokio::test]
async fn amqp_attempts_end_whatever_the_other_side_does() {
    let over = |amqp: &str| at("http://127.0.0.1:1", amqp);
    let amqp = || message(ServiceBusTransport::Amqp);
    let begins = "ServiceBusQueue Action - Message to queue 'orders/night ly' in namespace 'Shop' failed: ";
    for (endpoint, says) in [
        (
            "amqp://name.invalid",
            "NameResolutionFailure The remote name could not be resolved: 'name.invalid'",
        ),
        ("amqp://127.0.0.1:1", "ConnectFailure Unable to connect to the remote server (127.0.0.1:1: "),
        ("amqps://169.254.169.254", "calls to 169.254.169.254 are not allowed"),
    ] {
        let outcome = send(over(endpoint), amqp()).await;
        assert_failed(&outcome, begins);
        assert_failed(&outcome, says);
    }
    let nobody = ServiceBusMessage { namespace: "a.b/c".into(), ..amqp() };
    assert_failed(&send(settings(), nobody).await, "'a.b/c' cannot be part of a host name");

    // Silence: the server waits for HTTP that never comes.
    let silent = broker(b"").await;
    let endpoint = format!("amqp://{}", silent.address);
    let settings = ActionSettings { timeout: Duration::from_secs(1), ..over(&endpoint) };
    assert_failed(&send(settings, amqp()).await, "failed: Timeout The operation has timed out");
}
