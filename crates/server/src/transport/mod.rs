//! Connections: who is let in, how long they may take, and who has to go.
//!
//! Everything that a stranger can make grow or hang has a bound here: how many connections there are (`places`), how long
//! one may take for a head or be without a request, how large a head may be, how long an answer may wait to be taken
//! (`pace`). TLS and its certificates are in `tls`. Which of HTTP/1.1 and HTTP/2 is spoken the client decides: by ALPN, or
//! without TLS by beginning with the preface of HTTP/2.

mod pace;
mod places;
mod tls;

use std::io;
use std::net::SocketAddr;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::{Body, Bytes};
use axum::extract::ConnectInfo;
use axum::http::{HeaderMap, HeaderValue, Request, Response, StatusCode, Version, header};
use http_body::{Frame, SizeHint};
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use hyper_util::server::conn::auto;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpSocket, TcpStream};
use tokio::time::{sleep, timeout};
use tokio_rustls::TlsAcceptor;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use tower_service::Service as _;
use tracing::{debug, warn};

use pace::Paced;
use places::{Busy, Place, Places};
pub(crate) use tls::Certificates;

/// The most streams of one HTTP/2 connection at a time.
const STREAMS: u32 = 100;

/// How often an HTTP/2 client is asked whether it is still there, and how long it may take to say so.
const ASK_EVERY: Duration = Duration::from_secs(30);

/// How long answers that are under way may take when the server stops.
const LAST_ANSWERS: Duration = Duration::from_secs(1);

/// How long to wait when the machine gives no connection, as when there are too many files open.
const PAUSE: Duration = Duration::from_millis(100);

/// How many connections the machine keeps for us until we take them; fewer where it allows only fewer. What finds no room
/// there tries again after a second, and so comes a second late.
pub(crate) const UNTAKEN: u32 = 1024;

/// Listens, with room for many who come at once.
///
/// # Errors
///
/// Where the address is taken, or is not this machine's, or needs other rights.
pub fn listen(address: SocketAddr) -> io::Result<TcpListener> {
    bind(address)?.listen(UNTAKEN)
}

/// Reserves an address without letting connections in: they are refused until [`TcpSocket::listen`].
///
/// # Errors
///
/// As [`listen`].
pub(crate) fn bind(address: SocketAddr) -> io::Result<TcpSocket> {
    let socket = if address.is_ipv4() { TcpSocket::new_v4() } else { TcpSocket::new_v6() }?;
    // Elsewhere it would let two programs have the same port.
    #[cfg(unix)]
    socket.set_reuseaddr(true)?;
    socket.bind(address)?;
    Ok(socket)
}

/// What connections may do.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Bounds {
    /// The most at a time.
    pub(crate) connections: usize,
    /// The longest that the head of a request may take, or the handshake of TLS.
    pub(crate) head: Duration,
    /// The longest without a request.
    pub(crate) idle: Duration,
    /// The longest that an answer may wait to be taken.
    pub(crate) stall: Duration,
    /// The most bytes of a head.
    pub(crate) head_bytes: usize,
    /// The most lines of a head.
    pub(crate) head_lines: usize,
}

/// See the module.
pub(crate) struct Transport {
    router: Router,
    bounds: Bounds,
    http: auto::Builder<TokioExecutor>,
    tls: Option<TlsAcceptor>,
    places: Arc<Places>,
}

impl Transport {
    /// Serves a router; with TLS, where there are certificates.
    pub(crate) fn new(
        router: Router,
        bounds: Bounds,
        certificates: Option<&Arc<Certificates>>,
    ) -> anyhow::Result<Self> {
        let mut http = auto::Builder::new(TokioExecutor::new());
        http.http1()
            .timer(TokioTimer::new())
            .header_read_timeout(bounds.head)
            .max_buf_size(bounds.head_bytes)
            .max_headers(bounds.head_lines);
        http.http2()
            .timer(TokioTimer::new())
            .max_concurrent_streams(STREAMS)
            .max_header_list_size(u32::try_from(bounds.head_bytes).unwrap_or(u32::MAX))
            .keep_alive_interval(ASK_EVERY)
            .keep_alive_timeout(ASK_EVERY);
        let tls = certificates.map(tls::acceptor).transpose()?;
        Ok(Self { router, bounds, http, tls, places: Places::new(bounds.connections) })
    }

    /// Serves until it is told to stop; then what is under way may finish, for a moment.
    pub(crate) async fn serve(self, listener: TcpListener, stop: CancellationToken) {
        let (transport, connections) = (Arc::new(self), TaskTracker::new());
        loop {
            let accepted = tokio::select! {
                accepted = listener.accept() => accepted,
                () = stop.cancelled() => break,
            };
            match accepted {
                Ok((stream, address)) => match transport.places.take(address.ip()) {
                    Some(place) => {
                        let (transport, stop) = (Arc::clone(&transport), stop.clone());
                        connections
                            .spawn(async move { transport.connection(stream, address, place, stop).await });
                    }
                    None => transport.turn_away(&stream),
                },
                Err(error) => {
                    warn!(%error, "no connection can be taken");
                    sleep(PAUSE).await;
                }
            }
        }
        connections.close();
        if timeout(LAST_ANSWERS, connections.wait()).await.is_err() {
            debug!(connections = connections.len(), "connections are cut");
        }
    }

    /// Says that there is no room, as far as whoever asks listens.
    fn turn_away(&self, stream: &TcpStream) {
        debug!("there are as many connections as there may be, and all are in use");
        if self.tls.is_none() {
            let body =
                r#"{"error":{"code":"ServerBusy","message":"There are too many connections. Try again."}}"#;
            let answer = format!(
                "HTTP/1.1 503 Service Unavailable\r\ncontent-type: application/json; charset=utf-8\r\n\
                 x-content-type-options: nosniff\r\nretry-after: 1\r\nconnection: close\r\ncontent-length: {}\r\n\r\n{body}",
                body.len()
            );
            // What does not fit at once is not worth waiting for.
            let _ = stream.try_write(answer.as_bytes());
        }
    }

    async fn connection(
        &self,
        stream: TcpStream,
        from: SocketAddr,
        place: Arc<Place>,
        stop: CancellationToken,
    ) {
        // An answer is written as a whole; there is nothing to gather.
        let _ = stream.set_nodelay(true);
        let served = async {
            match &self.tls {
                None => self.requests(stream, from, &place, stop).await,
                Some(tls) => match timeout(self.bounds.head, tls.accept(stream)).await {
                    Ok(Ok(stream)) => self.requests(stream, from, &place, stop).await,
                    Ok(Err(error)) => debug!(%error, %from, "no TLS"),
                    Err(_) => debug!(%from, "the TLS handshake took too long"),
                },
            }
        };
        tokio::select! {
            () = served => {}
            () = place.lost() => debug!(%from, "a connection without a request makes room for another"),
            () = place.idle_for(self.bounds.idle) => debug!(%from, "a connection was without a request for too long"),
        }
    }

    async fn requests<S>(&self, stream: S, from: SocketAddr, place: &Arc<Place>, stop: CancellationToken)
    where
        S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
    {
        let is_secure = self.tls.is_some();
        let service = service_fn(|mut request: Request<Incoming>| {
            let busy = place.begin();
            request.extensions_mut().insert(ConnectInfo(from));
            if is_secure {
                // As a proxy would say it, so that all others have to look in one place only.
                request.headers_mut().insert("x-forwarded-proto", HeaderValue::from_static("https"));
            }
            let mut router = self.router.clone();
            async move {
                let answer = match wrong_host(request.version(), request.headers()) {
                    Some(why) => refuse(why),
                    None => router.call(request.map(Body::new)).await?,
                };
                Ok::<_, std::convert::Infallible>(answer.map(|body| Held { body, _busy: busy }))
            }
        });
        let stream = TokioIo::new(Paced::new(stream, self.bounds.stall, Arc::clone(place)));
        let mut connection = pin!(self.http.serve_connection(stream, service));
        let ended = tokio::select! {
            ended = connection.as_mut() => ended,
            () = stop.cancelled() => {
                connection.as_mut().graceful_shutdown();
                connection.await
            }
        };
        if let Err(error) = ended {
            debug!(%error, %from, "a connection ended");
        }
    }
}

/// What is wrong with how a request names its host. RFC 9112, section 3.2: of two hosts, each reader may take another one.
fn wrong_host(version: Version, headers: &HeaderMap) -> Option<&'static str> {
    match headers.get_all(header::HOST).iter().count() {
        0 if version == Version::HTTP_11 => Some("The request has no header Host, which HTTP/1.1 asks for."),
        0 | 1 => None,
        _ => Some("The request has more than one header Host; allowed: one."),
    }
}

/// 400, before anything is asked of the API.
fn refuse(why: &str) -> Response<Body> {
    let mut response = Response::new(Body::from(wire::error::body("BadRequest", why).to_string()));
    *response.status_mut() = StatusCode::BAD_REQUEST;
    for (name, value) in [
        (header::CONTENT_TYPE, "application/json; charset=utf-8"),
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
    ] {
        response.headers_mut().insert(name, HeaderValue::from_static(value));
    }
    response
}

/// An answer's body. While it is sent, its connection is in use.
struct Held {
    body: Body,
    _busy: Busy,
}

impl http_body::Body for Held {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: std::pin::Pin<&mut Self>,
        context: &mut std::task::Context<'_>,
    ) -> std::task::Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        std::pin::Pin::new(&mut self.body).poll_frame(context)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

#[cfg(test)]
mod tests;
