use std::path::Path;

use axum::routing::get;
use http_body_util::{BodyExt as _, Empty};
use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair};
use rustls::pki_types::{CertificateDer, ServerName};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::sync::Notify;
use tokio::task::JoinHandle;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;

use super::*;

const BOUNDS: Bounds = Bounds {
    connections: 100,
    head: Duration::from_secs(30),
    idle: Duration::from_secs(60),
    stall: Duration::from_secs(60),
    head_bytes: 8192,
    head_lines: 20,
};

/// A server of its own. `/` tells how it was asked; `/held` waits until it is let go.
struct Server {
    address: SocketAddr,
    let_go: Arc<Notify>,
    stop: CancellationToken,
    ended: JoinHandle<()>,
}

impl Server {
    async fn start(bounds: Bounds, certificates: Option<&Arc<Certificates>>) -> Self {
        let let_go = Arc::new(Notify::new());
        let waiting = Arc::clone(&let_go);
        let tells = async |request: Request<Body>| {
            let proto =
                request.headers().get("x-forwarded-proto").map(|value| value.to_str().expect("a text"));
            format!("{:?} {}", request.version(), proto.unwrap_or("-"))
        };
        let router = Router::new()
            .route("/", get(tells))
            .route("/held", get(async move || waiting.notified().await))
            .route("/endless", get(async || vec![0_u8; 64 << 20]));
        let listener = listen(([127, 0, 0, 1], 0).into()).expect("a port");
        let address = listener.local_addr().expect("an address");
        let stop = CancellationToken::new();
        let transport = Transport::new(router, bounds, certificates).expect("a transport");
        let ended = tokio::spawn(transport.serve(listener, stop.clone()));
        Self { address, let_go, stop, ended }
    }

    async fn connect(&self) -> TcpStream {
        TcpStream::connect(self.address).await.expect("a connection")
    }
}

const PLAIN: &[u8] = b"GET / HTTP/1.1\r\nhost: localhost\r\n\r\n";

/// What comes until the connection ends.
async fn all(stream: &mut (impl AsyncRead + Unpin)) -> String {
    let mut bytes = Vec::new();
    // An end that was not announced is an end.
    let _ = stream.read_to_end(&mut bytes).await;
    String::from_utf8_lossy(&bytes).into_owned()
}

/// What comes until an answer has this in it.
async fn until(stream: &mut (impl AsyncRead + Unpin), text: &str) -> String {
    let mut told = String::new();
    while !told.contains(text) {
        match stream.read_u8().await {
            Ok(byte) => told.push(byte as char),
            Err(error) => panic!("{error} after {told}"),
        }
    }
    told
}

#[tokio::test]
async fn a_client_that_sends_a_head_for_ever_is_cut() {
    let server = Server::start(Bounds { head: Duration::from_millis(300), ..BOUNDS }, None).await;
    let mut slow = server.connect().await;
    slow.write_all(b"GET / HTTP/1.1\r\nhost: local").await.expect("written");
    assert!(!all(&mut slow).await.contains("200"));
    // Whoever does what is expected is served meanwhile, and again on the same connection.
    let mut good = server.connect().await;
    for _ in 0..2 {
        good.write_all(PLAIN).await.expect("written");
        assert!(until(&mut good, "HTTP/1.1 -").await.starts_with("HTTP/1.1 200"));
    }
}

#[tokio::test]
async fn a_connection_without_a_request_ends() {
    let server = Server::start(Bounds { idle: Duration::from_millis(200), ..BOUNDS }, None).await;
    let mut silent = server.connect().await;
    assert_eq!(all(&mut silent).await, "");
    // One that has a request stays, however long that takes.
    let mut busy = server.connect().await;
    busy.write_all(b"GET /held HTTP/1.1\r\nhost: localhost\r\n\r\n").await.expect("written");
    let mut other = server.connect().await;
    assert_eq!(all(&mut other).await, "");
    server.let_go.notify_one();
    assert!(all(&mut busy).await.starts_with("HTTP/1.1 200"));
}

#[tokio::test]
async fn heads_are_bounded() {
    let server = Server::start(BOUNDS, None).await;
    let head = |line: &str, count| format!("GET / HTTP/1.1\r\nhost: localhost\r\n{}\r\n", line.repeat(count));
    for head in [head("a: b\r\n", 20), head(&format!("a: {}\r\n", "x".repeat(1000)), 10)] {
        let mut stream = server.connect().await;
        stream.write_all(head.as_bytes()).await.expect("written");
        let answer = all(&mut stream).await;
        assert!(answer.starts_with("HTTP/1.1 431"), "{answer}");
    }
    let mut stream = server.connect().await;
    stream.write_all(head("a: b\r\n", 19).as_bytes()).await.expect("written");
    assert!(until(&mut stream, "HTTP/1.1 -").await.starts_with("HTTP/1.1 200"));
}

#[tokio::test]
async fn a_request_names_one_host() {
    let server = Server::start(BOUNDS, None).await;
    for (head, status) in [
        ("GET / HTTP/1.1\r\nhost: localhost\r\n", "200 OK"),
        ("GET http://localhost/ HTTP/1.1\r\nhost: localhost\r\n", "200 OK"),
        ("GET / HTTP/1.0\r\n", "200 OK"),
        ("GET / HTTP/1.1\r\n", "400 Bad Request"),
        ("GET http://localhost/ HTTP/1.1\r\n", "400 Bad Request"),
        ("GET / HTTP/1.1\r\nhost: localhost\r\nHost: other\r\n", "400 Bad Request"),
        ("GET / HTTP/1.0\r\nhost: localhost\r\nhost: localhost\r\n", "400 Bad Request"),
    ] {
        let mut stream = server.connect().await;
        let request = format!("{head}connection: close\r\n\r\n");
        stream.write_all(request.as_bytes()).await.expect("written");
        let answer = all(&mut stream).await;
        assert_eq!(answer.lines().next().map(|line| &line[9..]), Some(status), "{head}: {answer}");
        assert_eq!(answer.contains("x-content-type-options: nosniff"), status.starts_with("400"), "{answer}");
        assert_eq!(answer.contains("header Host"), status.starts_with("400"), "{answer}");
    }
}

#[tokio::test]
async fn when_all_places_are_taken_whoever_is_idle_makes_room() {
    let server = Server::start(Bounds { connections: 2, ..BOUNDS }, None).await;
    let held = b"GET /held HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n";
    let mut busy = server.connect().await;
    busy.write_all(held).await.expect("written");
    let mut idle = server.connect().await;
    let mut newcomer = server.connect().await;
    assert_eq!(all(&mut idle).await, "", "it had to go");
    newcomer.write_all(held).await.expect("written");
    // Both are in use as soon as the second is being answered; until then it may be sent away itself.
    let refused = loop {
        let mut late = server.connect().await;
        late.write_all(PLAIN).await.expect("written");
        let answer = until(&mut late, "\r\n\r\n").await;
        if answer.starts_with("HTTP/1.1 503") {
            break answer;
        }
        drop(late);
        newcomer = server.connect().await;
        newcomer.write_all(held).await.expect("written");
    };
    assert!(refused.contains("retry-after: 1"), "{refused}");
    server.let_go.notify_waiters();
    assert!(all(&mut busy).await.starts_with("HTTP/1.1 200"));
    let mut again = server.connect().await;
    again.write_all(PLAIN).await.expect("written");
    assert!(until(&mut again, "HTTP/1.1 -").await.starts_with("HTTP/1.1 200"));
}

#[tokio::test]
async fn an_answer_that_is_not_taken_ends_the_connection() {
    let bounds = Bounds { stall: Duration::from_millis(300), connections: 1, ..BOUNDS };
    let server = Server::start(bounds, None).await;
    let mut lazy = server.connect().await;
    lazy.write_all(b"GET /endless HTTP/1.1\r\nhost: localhost\r\n\r\n").await.expect("written");
    until(&mut lazy, "\r\n\r\n").await;
    // Its place is the only one, and it is in use until the server gives up.
    let mut refused = 0;
    loop {
        let mut other = server.connect().await;
        other.write_all(PLAIN).await.expect("written");
        if until(&mut other, "\r\n\r\n").await.starts_with("HTTP/1.1 200") {
            break;
        }
        refused += 1;
    }
    assert!(refused > 0);
}

#[tokio::test]
async fn a_stop_lets_answers_finish() {
    let server = Server::start(BOUNDS, None).await;
    let mut idle = server.connect().await;
    let mut busy = server.connect().await;
    busy.write_all(b"GET /held HTTP/1.1\r\nhost: localhost\r\n\r\n").await.expect("written");
    // Served, so the one before it is being served too.
    idle.write_all(PLAIN).await.expect("written");
    until(&mut idle, "HTTP/1.1 -").await;
    server.stop.cancel();
    assert_eq!(all(&mut idle).await, "");
    server.let_go.notify_one();
    assert!(all(&mut busy).await.starts_with("HTTP/1.1 200"));
    server.ended.await.expect("ended");
}

/// One request by HTTP/2.
async fn by_http2<S: AsyncRead + AsyncWrite + Unpin + Send + 'static>(stream: S, authority: &str) -> String {
    let (mut sender, connection) =
        hyper::client::conn::http2::handshake(TokioExecutor::new(), TokioIo::new(stream))
            .await
            .expect("HTTP/2");
    tokio::spawn(connection);
    let request =
        Request::get(format!("http://{authority}/")).body(Empty::<Bytes>::new()).expect("a request");
    let answer = sender.send_request(request).await.expect("an answer");
    let body = answer.into_body().collect().await.expect("a body").to_bytes();
    String::from_utf8(body.to_vec()).expect("a text")
}

#[tokio::test]
async fn http2_is_spoken_without_tls_by_whoever_begins_with_it() {
    let server = Server::start(BOUNDS, None).await;
    assert_eq!(by_http2(server.connect().await, "localhost").await, "HTTP/2.0 -");
}

/// A folder with a certificate of an authority of its own.
struct Identity {
    folder: tempfile::TempDir,
    ca: CertifiedIssuer<'static, KeyPair>,
}

impl Identity {
    fn new() -> Self {
        let mut params = CertificateParams::new([]).expect("names");
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let ca =
            CertifiedIssuer::self_signed(params, KeyPair::generate().expect("a key")).expect("an authority");
        let identity = Self { folder: tempfile::tempdir().expect("a folder"), ca };
        identity.issue();
        identity
    }

    fn paths(&self) -> (std::path::PathBuf, std::path::PathBuf) {
        (self.folder.path().join("certificate.pem"), self.folder.path().join("key.pem"))
    }

    /// Writes a new certificate with a new key; what it is.
    fn issue(&self) -> CertificateDer<'static> {
        let key = KeyPair::generate().expect("a key");
        let params = CertificateParams::new(["localhost".to_owned()]).expect("names");
        let certificate = params.signed_by(&key, &self.ca).expect("a certificate");
        let (certificate_file, key_file) = self.paths();
        write(&certificate_file, &certificate.pem());
        write(&key_file, &key.serialize_pem());
        certificate.der().clone()
    }

    fn read(&self) -> anyhow::Result<Arc<Certificates>> {
        let (certificate, key) = self.paths();
        Certificates::read(certificate, key)
    }

    async fn connect(&self, server: &Server, protocols: &[&str]) -> TlsStream<TcpStream> {
        let mut roots = rustls::RootCertStore::empty();
        roots.add(self.ca.der().clone()).expect("a root");
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let mut config = rustls::ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .expect("versions")
            .with_root_certificates(roots)
            .with_no_client_auth();
        config.alpn_protocols = protocols.iter().map(|name| name.as_bytes().to_vec()).collect();
        let name = ServerName::try_from("localhost").expect("a name");
        TlsConnector::from(Arc::new(config)).connect(name, server.connect().await).await.expect("TLS")
    }

    async fn shown(&self, server: &Server) -> CertificateDer<'static> {
        let stream = self.connect(server, &[]).await;
        stream.get_ref().1.peer_certificates().expect("a certificate")[0].clone().into_owned()
    }
}

fn write(path: &Path, text: &str) {
    std::fs::write(path, text).expect("written");
}

#[tokio::test]
async fn tls_is_spoken_with_http1_and_http2() {
    let identity = Identity::new();
    let server = Server::start(BOUNDS, Some(&identity.read().expect("certificates"))).await;
    let mut stream = identity.connect(&server, &["http/1.1"]).await;
    stream.write_all(PLAIN).await.expect("written");
    // What the client says of it does not count.
    assert!(until(&mut stream, "HTTP/1.1 https").await.starts_with("HTTP/1.1 200"));
    let stream = identity.connect(&server, &["h2", "http/1.1"]).await;
    assert_eq!(stream.get_ref().1.alpn_protocol(), Some(&b"h2"[..]));
    assert_eq!(by_http2(stream, "localhost").await, "HTTP/2.0 https");
    // Whoever speaks no TLS is not answered.
    let mut plain = server.connect().await;
    plain.write_all(PLAIN).await.expect("written");
    assert!(!all(&mut plain).await.contains("HTTP"));
}

#[tokio::test]
async fn a_certificate_is_renewed_and_a_bad_one_is_not_taken() {
    let identity = Identity::new();
    let certificates = identity.read().expect("certificates");
    let server = Server::start(BOUNDS, Some(&certificates)).await;
    let watch = tokio::spawn(Arc::clone(&certificates).watch());
    let first = identity.shown(&server).await;
    let second = identity.issue();
    assert_ne!(first, second);
    while identity.shown(&server).await != second {
        sleep(Duration::from_millis(50)).await;
    }
    // A key that belongs to nothing, nothing at all, and no file: each is looked at by the same step.
    let (certificate, key) = identity.paths();
    for text in [KeyPair::generate().expect("a key").serialize_pem(), "nonsense".to_owned()] {
        write(&key, &text);
        let files = tls::Files::read(&certificate, &key).expect("files");
        certificates.renew(&files);
        assert!(files.certified().is_err());
        assert_eq!(identity.shown(&server).await, second);
        assert!(identity.read().is_err());
    }
    std::fs::remove_file(&key).expect("removed");
    let error = identity.read().expect_err("there is no key");
    assert!(format!("{error:#}").contains("server.key-file"), "{error:#}");
    let third = identity.issue();
    while identity.shown(&server).await != third {
        sleep(Duration::from_millis(50)).await;
    }
    watch.abort();
}

/// Nobody takes them, so whoever does not fit never gets through.
#[tokio::test]
async fn many_may_come_at_once() {
    const MANY: usize = 500;
    let allowed = std::fs::read_to_string("/proc/sys/net/core/somaxconn").unwrap_or_default();
    if allowed.trim().parse::<usize>().is_ok_and(|allowed| allowed < MANY) {
        eprintln!("skipped: this machine keeps only {} connections waiting", allowed.trim());
        return;
    }
    let listener = listen(([127, 0, 0, 1], 0).into()).expect("a port");
    let address = listener.local_addr().expect("an address");
    let come = futures_util::future::join_all((0..MANY).map(|_| TcpStream::connect(address)));
    let came = timeout(Duration::from_secs(20), come).await.expect("all get through");
    assert!(came.iter().all(Result::is_ok));
}
