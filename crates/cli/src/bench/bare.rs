//! Bare clients: the libraries that the actions use, with nothing around them. They send what the sinks got first.

use std::net::SocketAddr;
use std::sync::Arc;

use anyhow::{Context, bail};
use bytes::Bytes;
use fe2o3_amqp::link::{SendError, delivery::Sendable};
use fe2o3_amqp::sasl_profile::SaslProfile;
use fe2o3_amqp::types::messaging::{Data, Outcome};
use fe2o3_amqp::{Connection, Sender, Session, connection::ConnectionHandle, session::SessionHandle};
use futures_util::stream::{FuturesUnordered, StreamExt as _};
use http_body_util::{BodyExt, Full};
use hyper_rustls::{HttpsConnector, HttpsConnectorBuilder};
use hyper_util::client::legacy::{Client, connect::HttpConnector};
use hyper_util::rt::TokioExecutor;
use model::Timestamp;
use rustls::pki_types::{CertificateDer, pem::PemObject};
use rustls::{ClientConfig, RootCertStore};
use tokio::net::TcpStream;
use tokio::sync::Mutex;

use super::sinks::{Broker, Request};
use super::target::DUE;

/// hyper's client, and the request that it sends.
#[derive(Clone)]
pub(super) struct HttpClient {
    client: Client<HttpsConnector<HttpConnector>, Full<Bytes>>,
    request: Arc<http::Request<Bytes>>,
}

impl HttpClient {
    /// Repeats the first call that came to an address. `root` is the certificate (PEM) of a sink that speaks TLS.
    pub(super) fn new(address: SocketAddr, first: Request, root: Option<&str>) -> anyhow::Result<Self> {
        let mut roots = RootCertStore::empty();
        if let Some(root) = root {
            roots
                .add(CertificateDer::from_pem_slice(root.as_bytes()).context("a certificate of our own")?)?;
        }
        let tls = ClientConfig::builder_with_provider(Arc::new(rustls::crypto::ring::default_provider()))
            .with_safe_default_protocol_versions()?
            .with_root_certificates(roots)
            .with_no_client_auth();
        let mut connector = HttpConnector::new();
        connector.enforce_http(false);
        connector.set_nodelay(true);
        let connector = HttpsConnectorBuilder::new()
            .with_tls_config(tls)
            .https_or_http()
            .enable_http1()
            .wrap_connector(connector);
        let client = Client::builder(TokioExecutor::new()).build(connector);
        let scheme = if root.is_some() { "https" } else { "http" };
        let mut request = http::Request::new(first.body);
        *request.method_mut() = first.method;
        *request.uri_mut() = format!("{scheme}://{address}{}", first.path).parse()?;
        *request.headers_mut() = first.headers;
        Ok(Self { client, request: Arc::new(request) })
    }

    pub(super) async fn call(&self) -> anyhow::Result<()> {
        self.send(self.copy()).await
    }

    /// The same call, for an occurrence that is due at an instant.
    pub(super) async fn call_due(&self, due: Timestamp) -> anyhow::Result<()> {
        let mut request = self.copy();
        request.headers_mut().insert(DUE, wire::date_time::write(due).parse()?);
        self.send(request).await
    }

    fn copy(&self) -> http::Request<Full<Bytes>> {
        let mut request = http::Request::new(Full::new(self.request.body().clone()));
        *request.method_mut() = self.request.method().clone();
        *request.uri_mut() = self.request.uri().clone();
        *request.headers_mut() = self.request.headers().clone();
        request
    }

    async fn send(&self, request: http::Request<Full<Bytes>>) -> anyhow::Result<()> {
        let answer = self.client.request(request).await?;
        if !answer.status().is_success() {
            bail!("the sink answered {}", answer.status());
        }
        answer.into_body().collect().await?;
        Ok(())
    }
}

/// A sender of fe2o3-amqp, and the message that it sends.
pub(super) struct AmqpSender {
    sender: Arc<Mutex<Sender>>,
    message: Arc<Sendable<Data>>,
    _session: SessionHandle<()>,
    _connection: ConnectionHandle<()>,
}

impl AmqpSender {
    pub(super) async fn open(broker: &Broker) -> anyhow::Result<Self> {
        let stream = TcpStream::connect(broker.address).await?;
        stream.set_nodelay(true)?;
        let mut connection = Connection::builder()
            .container_id("bare")
            .scheme("amqp")
            .max_frame_size(64 * 1024)
            .sasl_profile(SaslProfile::Anonymous)
            .open_with_stream(stream)
            .await?;
        let mut session = Session::begin(&mut connection).await?;
        let sender = Sender::attach(&mut session, "bare", "bench").await?;
        Ok(Self {
            sender: Arc::new(Mutex::new(sender)),
            message: Arc::new(Sendable::from(broker.first()?)),
            _session: session,
            _connection: connection,
        })
    }

    /// Sends so many messages, of which so many may be unacknowledged at a time.
    pub(super) async fn send(&self, calls: u32, concurrency: usize) -> anyhow::Result<()> {
        let (sender, message) = (Arc::clone(&self.sender), Arc::clone(&self.message));
        // On a thread of the runtime's own, as the callers of actions are.
        let sending = tokio::spawn(async move {
            let mut sender = sender.lock().await;
            let mut waits = FuturesUnordered::new();
            for _ in 0..calls {
                while waits.len() >= concurrency {
                    accepted(waits.next().await.context("no message is on the way")?)?;
                }
                waits.push(sender.send_batchable_ref(&message).await?);
            }
            while let Some(ended) = waits.next().await {
                accepted(ended)?;
            }
            anyhow::Ok(())
        });
        sending.await.context("the sender ended early")?
    }
}

fn accepted(ended: Result<Outcome, SendError>) -> anyhow::Result<()> {
    match ended? {
        Outcome::Accepted(_) => Ok(()),
        other => bail!("the broker said {other:?}"),
    }
}
