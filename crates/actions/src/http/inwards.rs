//! Redirects inwards, on real sockets: 127.0.0.1 stands for a public address, 127.0.0.2 and 10.0.0.0/8 for inner ones.

use std::io;
use std::net::SocketAddr;

use model::Uuid;
use model::action::Call;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpListener;
use tokio::sync::watch;
use tokio::task::JoinHandle;

use super::*;
use crate::egress::{EgressSettings, Guard};
use crate::resolver::Resolver;

/// A server that answers every request alike, until it is dropped.
struct Server {
    address: SocketAddr,
    requests: watch::Receiver<usize>,
    task: JoinHandle<()>,
}

impl Drop for Server {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl Server {
    async fn start(ip: &str, answer: String) -> Self {
        let listener = TcpListener::bind((ip, 0)).await.unwrap();
        let address = listener.local_addr().unwrap();
        let (count, requests) = watch::channel(0);
        let task = tokio::spawn(async move {
            let (answer, count) = (Arc::new(answer), Arc::new(count));
            while let Ok((mut stream, _)) = listener.accept().await {
                let (answer, count) = (Arc::clone(&answer), Arc::clone(&count));
                tokio::spawn(async move {
                    let mut request = Vec::new();
                    while stream.read_buf(&mut request).await.is_ok_and(|read| read > 0) {
                        if request.ends_with(b"\r\n\r\n") {
                            request.clear();
                            count.send_modify(|count| *count += 1);
                            stream.write_all(answer.as_bytes()).await.unwrap();
                        }
                    }
                });
            }
        });
        Self { address, requests, task }
    }

    async fn ok(ip: &str) -> Self {
        Self::start(ip, "HTTP/1.1 200 OK\r\ncontent-length: 4\r\n\r\ndone".to_owned()).await
    }

    async fn redirecting(ip: &str, location: &str) -> Self {
        let head = format!("HTTP/1.1 307 There\r\nlocation: {location}\r\ncontent-length: 0\r\n\r\n");
        Self::start(ip, head).await
    }

    fn count(&self) -> usize {
        *self.requests.borrow()
    }
}

#[derive(Debug)]
struct Names;

impl Resolver for Names {
    fn resolve(&self, name: &str, port: u16) -> io::Result<Vec<SocketAddr>> {
        let found: &[&str] = match name {
            "outer.example" => &["127.0.0.1"],
            "inner.example" => &["127.0.0.2"],
            "mixed.example" => &["10.1.2.3", "127.0.0.2", "127.0.0.1"],
            _ => &["10.1.2.3", "fd00::1"],
        };
        Ok(found.iter().map(|address| SocketAddr::new(address.parse().unwrap(), port)).collect())
    }
}

#[derive(Debug)]
struct Still;

impl Clock for Still {
    fn now(&self) -> Timestamp {
        Timestamp::UNIX_EPOCH
    }
}

fn http() -> Http {
    let settings = ActionSettings { resolver: Arc::new(Names), ..ActionSettings::default() };
    let guard = Guard::new(&EgressSettings::default()).unwrap();
    let guard = guard.with_inner(&["127.0.0.2", "10.0.0.0/8", "fd00::/8"]);
    let dialer = Arc::new(Dialer::new(&settings).unwrap().with_guard(guard));
    Http::new(settings, &dialer, Arc::new(Still)).unwrap()
}

async fn call(http: &Http, uri: String) -> Outcome {
    let request = HttpRequest { uri, method: "GET".into(), headers: None, body: None, authentication: None };
    let call = Call::Http { https: false, request: request.clone() };
    let order = Order {
        call: &call,
        collection: "c",
        job: "j",
        location: "",
        expected_at: Timestamp::UNIX_EPOCH,
        tag: Uuid::nil(),
        request_id: Uuid::nil(),
        trace: None,
    };
    http.run(&order, &request, model::Redaction::default()).await
}

#[tokio::test]
async fn a_redirect_from_a_public_address_does_not_lead_inwards() {
    let inner = Server::ok("127.0.0.2").await;
    let port = inner.address.port();
    for (location, says) in [
        (
            format!("http://inner.example:{port}/"),
            "calls to 'inner.example' are not allowed: its address 127.0.0.2: ",
        ),
        (format!("http://127.0.0.2:{port}/"), "calls to 127.0.0.2 are not allowed: it is "),
        (format!("http://2130706434:{port}/"), "calls to 127.0.0.2 are not allowed: it is "),
        (
            "http://two.example/".to_owned(),
            "its address 10.1.2.3: it is 10.0.0.0/8, where a redirect from a public address may not lead; egress.lift does \
             not have redirects-inwards; its address fd00::1: it is fd00::/8, where",
        ),
    ] {
        let http = http();
        // What the action itself calls may be inside, and its connection is kept.
        assert!(call(&http, format!("http://inner.example:{port}/")).await.success);
        let outer = Server::redirecting("127.0.0.1", &location).await;
        let before = inner.count();
        let outcome = call(&http, format!("http://{}/", outer.address)).await;
        assert!(!outcome.success && outcome.message.contains(says), "{}", outcome.message);
        assert_eq!((outer.count(), inner.count()), (1, before), "{location}");
    }
}

#[tokio::test]
async fn once_outside_no_detour_leads_inwards() {
    let inner = Server::ok("127.0.0.2").await;
    let location = format!("http://inner.example:{}/", inner.address.port());
    let last = Server::redirecting("127.0.0.1", &location).await;
    let second =
        Server::redirecting("127.0.0.1", &format!("http://outer.example:{}/", last.address.port())).await;
    // The action calls an inner address, which leads out and not back in.
    let first = Server::redirecting("127.0.0.2", &format!("http://{}/", second.address)).await;
    let outcome = call(&http(), format!("http://{}/", first.address)).await;
    assert!(
        !outcome.success && outcome.message.contains("where a redirect from a public address"),
        "{}",
        outcome.message
    );
    assert_eq!((first.count(), second.count(), last.count(), inner.count()), (1, 1, 1, 0));
}

#[tokio::test]
async fn from_inside_redirects_lead_anywhere_and_outside_to_what_is_outside() {
    let inner = Server::ok("127.0.0.2").await;
    let location = format!("http://inner.example:{}/", inner.address.port());
    let first = Server::redirecting("127.0.0.2", &location).await;
    assert!(call(&http(), format!("http://{}/", first.address)).await.success);
    let other = Server::ok("127.0.0.1").await;
    let location = format!("http://mixed.example:{}/", other.address.port());
    let outer = Server::redirecting("127.0.0.1", &location).await;
    let outcome = call(&http(), format!("http://{}/", outer.address)).await;
    assert!(outcome.success, "of mixed addresses those outside are tried: {}", outcome.message);
    assert_eq!((inner.count(), other.count()), (1, 1));
}
