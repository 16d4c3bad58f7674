//! AMQP with a broker in this process: what goes over a link, how long it is kept, and what becomes of messages when it
//! ends. Brokers of others are in `scripts/check-actions`.

use std::net::SocketAddr;
use std::sync::{
    Mutex,
    atomic::{AtomicBool, AtomicUsize, Ordering},
};

use actions::{Namespace, ServiceBusSettings};
use fe2o3_amqp::acceptor::{
    ConnectionAcceptor, LinkAcceptor, LinkEndpoint, SaslAnonymousMechanism, SessionAcceptor,
};
use fe2o3_amqp::types::messaging::Data;
use model::action::{ServiceBusMessage, ServiceBusTransport};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::task::JoinSet;

use super::*;

/// What a broker saw, and how it behaves.
#[derive(Default)]
struct Seen {
    connections: AtomicUsize,
    texts: Mutex<Vec<String>>,
    is_silent: AtomicBool,
}

struct Broker {
    address: SocketAddr,
    seen: Arc<Seen>,
    /// How many connections are open.
    open: watch::Receiver<usize>,
    /// Its number changes when all connections are to be cut.
    cut: watch::Sender<u32>,
}

impl Broker {
    async fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("bind");
        let address = listener.local_addr().expect("an address");
        let (seen, (opened, open), (cut, cuts)) =
            (Arc::new(Seen::default()), watch::channel(0), watch::channel(0));
        let noted = Arc::clone(&seen);
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                noted.connections.fetch_add(1, Ordering::SeqCst);
                let (seen, opened, mut cuts) = (Arc::clone(&noted), opened.clone(), cuts.clone());
                // Those that were before it are none of its own.
                cuts.mark_unchanged();
                tokio::spawn(async move {
                    opened.send_modify(|open| *open += 1);
                    tokio::select! {
                        _ = receive(stream, &seen) => {}
                        _ = cuts.changed() => {}
                    }
                    opened.send_modify(|open| *open -= 1);
                });
            }
        });
        Self { address, seen, open, cut }
    }

    fn settings(&self) -> ActionSettings {
        let amqp = format!("amqp://{}", self.address);
        let others = Namespace { amqp, ..ServiceBusSettings::default().others };
        ActionSettings {
            service_bus: ServiceBusSettings { others, ..ServiceBusSettings::default() },
            ..settings()
        }
    }

    fn connections(&self) -> usize {
        self.seen.connections.load(Ordering::SeqCst)
    }

    fn texts(&self) -> Vec<String> {
        let mut texts = self.seen.texts.lock().expect("texts").clone();
        texts.sort();
        texts
    }

    /// Returns when so many connections are open.
    async fn until_open(&mut self, count: usize) {
        self.open.wait_for(|open| *open == count).await.expect("the broker runs");
    }
}

/// Ends when the other side does, or with the first error.
async fn receive(stream: TcpStream, seen: &Seen) -> Option<()> {
    let acceptor = ConnectionAcceptor::builder()
        .container_id("broker")
        .sasl_acceptor(SaslAnonymousMechanism::new())
        .build();
    let mut connection = acceptor.accept(stream).await.ok()?;
    let mut session = SessionAcceptor::new().accept(&mut connection).await.ok()?;
    let LinkEndpoint::Receiver(mut receiver) = LinkAcceptor::new().accept(&mut session).await.ok()? else {
        return None;
    };
    loop {
        let delivery = receiver.recv::<Data>().await.ok()?;
        let text = String::from_utf8_lossy(&delivery.body().0).into_owned();
        seen.texts.lock().expect("texts").push(text);
        if !seen.is_silent.load(Ordering::SeqCst) {
            receiver.accept(&delivery).await.ok()?;
        }
    }
}

fn message(entity: &str, text: &str) -> Call {
    Call::ServiceBusQueue(ServiceBusMessage {
        namespace: "shop".into(),
        entity: entity.into(),
        transport: ServiceBusTransport::Amqp,
        authentication: None,
        message: Some(text.into()),
        brokered_properties: None,
        custom_properties: None,
    })
}

async fn send(actions: &Actions, text: &str) -> Outcome {
    order(actions, &message("orders", text)).await
}

#[track_caller]
fn assert_sent(outcome: &Outcome) {
    assert!(outcome.success, "{}", outcome.message);
}

/// Sends many at once, and returns how they ended.
async fn send_many(actions: &Arc<Actions>, texts: &[String]) -> Vec<Outcome> {
    let mut attempts = JoinSet::new();
    for text in texts {
        let (actions, text) = (Arc::clone(actions), text.clone());
        attempts.spawn(async move { send(&actions, &text).await });
    }
    attempts.join_all().await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn many_messages_at_once_go_over_one_link_and_each_arrives_once() {
    let broker = Broker::start().await;
    let actions = Arc::new(actions(broker.settings()));
    let texts: Vec<String> = (0..500).map(|number| format!("{number:03}")).collect();
    for outcome in send_many(&actions, &texts).await {
        assert_sent(&outcome);
        assert!(outcome.message.ends_with("succeeded: 'Accepted'"), "{}", outcome.message);
    }
    assert_eq!(broker.texts(), texts);
    assert_eq!(broker.connections(), 1);
}

#[tokio::test]
async fn every_entity_has_a_link_of_its_own() {
    let broker = Broker::start().await;
    let actions = actions(broker.settings());
    for entity in ["orders", "returns", "orders"] {
        assert_sent(&order(&actions, &message(entity, entity)).await);
    }
    assert_eq!(broker.texts(), ["orders", "orders", "returns"]);
    assert_eq!(broker.connections(), 2);
}

#[tokio::test]
async fn a_link_that_was_cut_is_opened_again() {
    let mut broker = Broker::start().await;
    let actions = actions(broker.settings());
    assert_sent(&send(&actions, "before").await);
    broker.cut.send_modify(|cuts| *cuts += 1);
    broker.until_open(0).await;
    // Who comes before the end is noticed cannot know what became of its message. Whoever comes after that is served.
    let meanwhile = send(&actions, "meanwhile").await;
    if !meanwhile.success {
        assert_failed(&meanwhile, "the connection ended before the message was acknowledged");
    }
    assert_sent(&send(&actions, "after").await);
    assert_eq!(broker.connections(), 2);
    let texts = broker.texts();
    assert_eq!(texts.iter().filter(|text| *text == "meanwhile").count(), usize::from(meanwhile.success));
    assert_eq!(texts.len(), 2 + usize::from(meanwhile.success), "{texts:?}");
}

#[tokio::test]
async fn a_link_that_acknowledges_nothing_is_given_up() {
    let mut broker = Broker::start().await;
    let actions = actions(ActionSettings { timeout: Duration::from_secs(2), ..broker.settings() });
    assert_sent(&send(&actions, "first").await);
    broker.seen.is_silent.store(true, Ordering::SeqCst);
    assert_failed(
        &send(&actions, "second").await,
        "failed: Timeout The operation has timed out (the message was not acknowledged within 2 seconds)",
    );
    broker.until_open(0).await;
    broker.seen.is_silent.store(false, Ordering::SeqCst);
    assert_sent(&send(&actions, "third").await);
    assert_eq!(broker.texts(), ["first", "second", "third"]);
    assert_eq!(broker.connections(), 2);
}

#[tokio::test]
async fn a_link_that_nobody_uses_ends() {
    let mut broker = Broker::start().await;
    let mut settings = broker.settings();
    settings.service_bus.idle_timeout = Duration::from_millis(50);
    let actions = actions(settings);
    for text in ["first", "second"] {
        assert_sent(&send(&actions, text).await);
        broker.until_open(0).await;
    }
    assert_eq!(broker.connections(), 2);
}

#[tokio::test]
async fn who_waits_for_a_link_that_does_not_open_asks_for_no_other() {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("bind");
    let mut broker = Broker::start().await;
    broker.address = listener.local_addr().expect("an address");
    let actions = Arc::new(actions(ActionSettings { timeout: Duration::from_secs(1), ..broker.settings() }));
    let texts: Vec<String> = (0..20).map(|number| number.to_string()).collect();
    let attempts = send_many(&actions, &texts);
    let accepts = async {
        let mut streams = Vec::new();
        loop {
            streams.extend(listener.accept().await);
            assert_eq!(streams.len(), 1, "a second connection");
        }
    };
    tokio::select! {
        outcomes = attempts => {
            for outcome in outcomes {
                assert_failed(&outcome, "within 1 second");
            }
        }
        () = accepts => {}
    }
}
