//! Limits: each phase of a call has a time of its own and says so when it is over, and an answer's headers have a size.

use std::{
    io,
    net::SocketAddr,
    sync::{
        Mutex,
        atomic::{AtomicUsize, Ordering},
        mpsc,
    },
};

use actions::{Namespace, Resolver, ServiceBusSettings};
use model::action::{ServiceBusMessage, ServiceBusTransport};
use tokio::net::{TcpSocket, TcpStream};

use super::*;
use crate::server::{Reply, Server, answer, ok};

const SECOND: Duration = Duration::from_secs(1);

/// A resolver that says nothing until it is let go.
#[derive(Debug)]
struct Silent(Mutex<mpsc::Receiver<()>>);

impl Resolver for Silent {
    fn resolve(&self, _: &str, _: u16) -> io::Result<Vec<SocketAddr>> {
        let _ = self.0.lock().unwrap().recv();
        Ok(Vec::new())
    }
}

/// A resolver that knows one name, and says nothing of others until it is let go.
#[derive(Debug)]
struct OneKnown {
    held: Mutex<mpsc::Receiver<()>>,
    silent: AtomicUsize,
}

impl Resolver for OneKnown {
    fn resolve(&self, name: &str, port: u16) -> io::Result<Vec<SocketAddr>> {
        if name == "known.example" {
            return Ok(vec![SocketAddr::from(([127, 0, 0, 1], port))]);
        }
        self.silent.fetch_add(1, Ordering::SeqCst);
        let _ = self.held.lock().unwrap().recv();
        Ok(Vec::new())
    }
}

/// So many calls may run of one collection, and the servers of a domain that nobody answers for block a thread for each.
#[tokio::test]
async fn names_without_an_answer_keep_no_other_from_being_resolved() {
    let (let_go, held) = mpsc::channel();
    let resolver = Arc::new(OneKnown { held: Mutex::new(held), silent: AtomicUsize::new(0) });
    let patience = Duration::from_secs(600);
    let actions = Arc::new(actions(ActionSettings {
        timeout: patience,
        resolve_timeout: patience,
        resolver: resolver.clone(),
        ..settings()
    }));
    let silent: Vec<_> = (0..200)
        .map(|number| {
            let actions = Arc::clone(&actions);
            tokio::spawn(
                async move { attempt(&actions, get(format!("http://silent{number}.example/"))).await },
            )
        })
        .collect();
    let all_asked = async {
        while resolver.silent.load(Ordering::SeqCst) < 200 {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(60), all_asked).await.expect("each has a thread");
    let server = Server::start(|_| ok("known")).await;
    let port = server.address.port();
    attempt(&actions, get(format!("http://known.example:{port}/"))).await;
    assert_eq!(server.requests().len(), 1);
    assert!(silent.iter().all(|call| !call.is_finished()));
    drop(let_go);
    for call in silent {
        call.await.expect("it ended");
    }
}

#[tokio::test]
async fn resolving_has_its_time() {
    let (let_go, held) = mpsc::channel();
    let resolver = Arc::new(Silent(Mutex::new(held)));
    let settings = ActionSettings { resolve_timeout: SECOND, resolver, ..settings() };
    assert_failed(
        &attempt(&actions(settings), get("http://slow.example/")).await,
        "failed: NameResolutionFailure The remote name could not be resolved: 'slow.example' (no reply within 1 second)",
    );
    drop(let_go);
}

#[tokio::test]
async fn connecting_has_its_time() {
    // A listener that accepts nobody, with its queue full: whoever comes now gets no answer at all.
    let socket = TcpSocket::new_v4().unwrap();
    socket.bind("127.0.0.1:0".parse().unwrap()).unwrap();
    let listener = socket.listen(1).unwrap();
    let address = listener.local_addr().unwrap();
    let mut queue = tokio::task::JoinSet::new();
    for _ in 0..8 {
        queue.spawn(TcpStream::connect(address));
    }
    let mut connected = Vec::new();
    while connected.len() < 2 {
        connected.push(queue.join_next().await.unwrap().unwrap().unwrap());
    }
    let settings = ActionSettings { connect_timeout: SECOND, ..settings() };
    assert_failed(
        &attempt(&actions(settings), get(format!("http://{address}/"))).await,
        "failed: ConnectFailure Unable to connect to the remote server (no connection within 1 second)",
    );
}

#[tokio::test]
async fn the_tls_handshake_has_its_time_for_http_and_amqp() {
    // It waits for HTTP, and what comes never is.
    let server = Server::start(|_| ok("")).await;
    let amqp = format!("amqps://{}", server.address);
    let others = Namespace { amqp, ..ServiceBusSettings::default().others };
    let service_bus = ServiceBusSettings { others, ..ServiceBusSettings::default() };
    let settings = ActionSettings { tls_timeout: SECOND, service_bus, ..settings() };
    let message = ServiceBusMessage {
        namespace: "shop".into(),
        entity: "orders".into(),
        transport: ServiceBusTransport::Amqp,
        authentication: None,
        message: None,
        brokered_properties: None,
        custom_properties: None,
    };
    let request = get(format!("https://{}/", server.address));
    let actions = actions(settings);
    for call in [Call::Http { https: true, request }, Call::ServiceBusQueue(message)] {
        assert_failed(
            &order(&actions, &call).await,
            "failed: SecureChannelFailure The request was aborted: Could not create SSL/TLS secure channel (the TLS \
             handshake did not end within 1 second)",
        );
    }
}

#[tokio::test]
async fn the_wait_for_an_answer_has_its_time() {
    let settings = || ActionSettings { answer_timeout: SECOND, ..settings() };
    for bytes in ["", "HTTP/1.1 200 OK\r\nA: b\r\n"] {
        let server = Server::start(move |_| Reply::Hang(bytes.into())).await;
        let outcome = attempt(&actions(settings()), get(server.uri("/"))).await;
        assert_failed(
            &outcome,
            "failed: Timeout The operation has timed out (connected, but no answer began within 1 second)",
        );
        server.all_closed().await;
    }
}

#[tokio::test]
async fn once_an_answer_has_begun_only_the_whole_call_counts() {
    // Over a kept connection too, which was made before the time began.
    let server = Server::start(|request| match request.path() {
        "/slow" => {
            let head = b"HTTP/1.1 200 OK\r\nContent-Length: 25\r\n\r\n".to_vec();
            Reply::Drip(head, vec![b'x'; 25], Duration::from_millis(100))
        }
        _ => ok(""),
    })
    .await;
    let actions = actions(ActionSettings { answer_timeout: 2 * SECOND, ..settings() });
    for path in ["/", "/slow", "/"] {
        let outcome = attempt(&actions, get(server.uri(path))).await;
        assert!(outcome.success, "{}", outcome.message);
    }
    assert_eq!(server.counts().connections, 1);
}

#[tokio::test]
async fn headers_have_a_number_and_a_size() {
    let with = |lines: usize, length: usize| {
        let line = format!("A: {}\r\n", "x".repeat(length));
        move || answer("200 OK", &line.repeat(lines), "")
    };
    let few = ActionSettings { max_response_header_lines: 10, max_response_headers: 8192, ..settings() };
    // The answer has one line more, its length.
    for (lines, length, fits) in [(9, 1, true), (10, 1, false), (1, 4000, true), (1, 9000, false)] {
        let bytes = with(lines, length);
        let server = Server::start(move |_| Reply::Keep(bytes())).await;
        let outcome = attempt(&actions(few.clone()), get(server.uri("/"))).await;
        if fits {
            assert!(outcome.success, "{}", outcome.message);
        } else {
            assert_failed(
                &outcome,
                "failed: MessageLengthLimitExceeded The message length limit was exceeded (the headers of the answer \
                 are larger than 8192 bytes or more than 10 lines)",
            );
        }
    }
    let many = ActionSettings { max_response_header_lines: 500, ..settings() };
    let bytes = with(499, 1);
    let server = Server::start(move |_| Reply::Keep(bytes())).await;
    let outcome = attempt(&actions(many), get(server.uri("/"))).await;
    assert!(outcome.success, "{}", outcome.message);
}
