//! Sinks: what takes the calls of `bench actions` and answers at once. Each remembers the first call, so that the bare
//! client can send the very same.

use std::net::{Ipv4Addr, SocketAddr};
use std::sync::{Arc, OnceLock};

use anyhow::{Context, anyhow};
use bytes::Bytes;
use fe2o3_amqp::acceptor::{
    ConnectionAcceptor, LinkAcceptor, LinkEndpoint, SaslAnonymousMechanism, SessionAcceptor,
};
use fe2o3_amqp::link::receiver::CreditMode;
use fe2o3_amqp::types::messaging::{Data, Message};
use http::{HeaderMap, HeaderName, HeaderValue, Method};
use rustls::ServerConfig;
use rustls::pki_types::{PrivateKeyDer, PrivatePkcs8KeyDer};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio_rustls::TlsAcceptor;

use super::bare::HttpClient;

/// A request as it came.
#[derive(Debug, Clone)]
pub(super) struct Request {
    pub(super) method: Method,
    pub(super) path: String,
    pub(super) headers: HeaderMap,
    pub(super) body: Bytes,
}

/// Takes HTTP requests.
pub(super) struct HttpSink {
    pub(super) address: SocketAddr,
    first: Arc<OnceLock<Request>>,
}

impl HttpSink {
    /// `answer` is what every request gets, head and all.
    pub(super) async fn start(answer: &'static str, tls: Option<TlsAcceptor>) -> anyhow::Result<Self> {
        let listener = server::listen((Ipv4Addr::LOCALHOST, 0).into())?;
        let address = listener.local_addr()?;
        let first = Arc::new(OnceLock::new());
        let noted = first.clone();
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let _ = stream.set_nodelay(true);
                let (tls, noted) = (tls.clone(), noted.clone());
                tokio::spawn(async move {
                    match tls {
                        None => take(stream, answer, &noted).await,
                        Some(tls) => take(tls.accept(stream).await.ok()?, answer, &noted).await,
                    }
                });
            }
        });
        Ok(Self { address, first })
    }

    /// A bare client that repeats the first call. `root` is the certificate (PEM) of a sink that speaks TLS.
    pub(super) fn client(&self, root: Option<&str>) -> anyhow::Result<HttpClient> {
        let first = self.first.get().cloned().context("no call has arrived")?;
        HttpClient::new(self.address, first, root)
    }
}

/// Takes requests one after the other until the other side hangs up.
async fn take<S: AsyncRead + AsyncWrite + Unpin>(
    mut stream: S,
    answer: &str,
    first: &OnceLock<Request>,
) -> Option<()> {
    let mut buffer = Vec::with_capacity(4096);
    loop {
        let head = loop {
            if let Some(end) = buffer.windows(4).position(|window| window == b"\r\n\r\n") {
                break end + 4;
            }
            if stream.read_buf(&mut buffer).await.ok()? == 0 {
                return None;
            }
        };
        let end = head + length(std::str::from_utf8(&buffer[..head]).ok()?);
        while buffer.len() < end {
            if stream.read_buf(&mut buffer).await.ok()? == 0 {
                return None;
            }
        }
        if first.get().is_none() {
            let request = read(std::str::from_utf8(&buffer[..head]).ok()?, &buffer[head..end]);
            // Another connection may have been faster, with the same.
            request.into_iter().for_each(|request| drop(first.set(request)));
        }
        buffer.drain(..end);
        stream.write_all(answer.as_bytes()).await.ok()?;
        stream.flush().await.ok()?;
    }
}

/// How long the body of a request is.
fn length(head: &str) -> usize {
    let lengths = head.lines().filter_map(|line| line.strip_prefix("content-length: "));
    lengths.filter_map(|length| length.parse().ok()).next().unwrap_or_default()
}

/// Reads a request.
pub(super) fn read(head: &str, body: &[u8]) -> Option<Request> {
    let mut lines = head.lines();
    let mut line = lines.next()?.split(' ');
    let (method, path) = (line.next()?.parse().ok()?, line.next()?.to_owned());
    let mut headers = HeaderMap::new();
    for (name, value) in lines.filter_map(|line| line.split_once(": ")) {
        // Every client writes these by itself.
        if !["host", "content-length"].contains(&name) {
            headers.append(HeaderName::try_from(name).ok()?, HeaderValue::from_str(value).ok()?);
        }
    }
    Some(Request { method, path, headers, body: Bytes::copy_from_slice(body) })
}

/// What a server needs to speak TLS, and the certificate (PEM) that its callers have to trust.
pub(super) fn tls() -> anyhow::Result<(TlsAcceptor, String)> {
    let made = rcgen::generate_simple_self_signed(["127.0.0.1".to_owned()])?;
    let key = PrivateKeyDer::from(PrivatePkcs8KeyDer::from(made.signing_key.serialize_der()));
    let mut config = ServerConfig::builder_with_provider(Arc::new(rustls::crypto::ring::default_provider()))
        .with_safe_default_protocol_versions()?
        .with_no_client_auth()
        .with_single_cert(vec![made.cert.der().clone()], key)?;
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    Ok((TlsAcceptor::from(Arc::new(config)), made.cert.pem()))
}

/// A broker that accepts every message.
pub(super) struct Broker {
    pub(super) address: SocketAddr,
    first: Arc<OnceLock<Message<Data>>>,
}

/// How many messages a sender may have on the way to the broker: more than any `--concurrency`.
const CREDIT: u32 = 20_000;

impl Broker {
    pub(super) async fn start() -> anyhow::Result<Self> {
        let listener = server::listen((Ipv4Addr::LOCALHOST, 0).into())?;
        let address = listener.local_addr()?;
        let first = Arc::new(OnceLock::new());
        let noted = first.clone();
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let _ = stream.set_nodelay(true);
                // A sender that goes away ends it with an error, which says nothing.
                tokio::spawn(receive(stream, noted.clone()));
            }
        });
        Ok(Self { address, first })
    }

    pub(super) fn first(&self) -> anyhow::Result<Message<Data>> {
        self.first.get().cloned().context("no message has arrived")
    }
}

async fn receive(stream: TcpStream, first: Arc<OnceLock<Message<Data>>>) -> anyhow::Result<()> {
    let acceptor = ConnectionAcceptor::builder()
        .container_id("bench")
        .max_frame_size(64 * 1024)
        .sasl_acceptor(SaslAnonymousMechanism::new())
        .build();
    let mut connection = acceptor.accept(stream).await?;
    let mut session = SessionAcceptor::new().accept(&mut connection).await?;
    let LinkEndpoint::Receiver(mut receiver) = LinkAcceptor::new().accept(&mut session).await? else {
        return Err(anyhow!("a sender is expected"));
    };
    receiver.set_credit_mode(CreditMode::Auto(CREDIT));
    receiver.set_credit(CREDIT).await?;
    loop {
        let delivery = receiver.recv::<Data>().await?;
        receiver.accept(&delivery).await?;
        if first.get().is_none() {
            // There is one link at the beginning, so nobody is faster.
            let _ = first.set(delivery.into_message());
        }
    }
}
