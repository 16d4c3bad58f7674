//! A server that does what a test wants, on HTTP's bytes: a library would be too well-behaved.

use std::{
    net::SocketAddr,
    sync::{Arc, Mutex},
    time::Duration,
};

use tokio::{
    io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _},
    net::{TcpListener, TcpStream},
    sync::{Notify, watch},
    task::JoinHandle,
};
use tokio_rustls::TlsAcceptor;

/// A request as it came.
#[derive(Debug, Clone)]
pub(crate) struct Request {
    /// Request line and headers, without the empty line.
    pub(crate) head: String,
    pub(crate) body: Vec<u8>,
    /// The connection it came over.
    pub(crate) connection: usize,
    /// The certificate that the caller showed when it was made, as DER.
    pub(crate) certificate: Option<Vec<u8>>,
}

/// A connection, counted from 0, and the certificate that the caller showed.
struct Caller {
    connection: usize,
    certificate: Option<Vec<u8>>,
}

impl Request {
    pub(crate) fn line(&self) -> &str {
        self.head.lines().next().unwrap_or_default()
    }

    pub(crate) fn path(&self) -> &str {
        self.line().split(' ').nth(1).unwrap_or_default()
    }

    /// The values of a header, by its name in lower case.
    pub(crate) fn header(&self, name: &str) -> Vec<&str> {
        let headers = self.head.lines().skip(1).filter_map(|line| line.split_once(": "));
        headers.filter(|(given, _)| given.eq_ignore_ascii_case(name)).map(|(_, value)| value).collect()
    }
}

/// What the server does with a request.
pub(crate) enum Reply {
    /// Answers and waits for the next request.
    Keep(Vec<u8>),
    /// Answers and hangs up.
    Close(Vec<u8>),
    /// Sends something and resets the connection.
    Reset(Vec<u8>),
    /// Sends something and then nothing more.
    Hang(Vec<u8>),
    /// Sends something, then pieces of something else for ever, as fast as they are taken.
    Endless(Vec<u8>, Vec<u8>),
    /// Answers and waits for a sign; then it sends something that nobody asked for, and hangs up.
    Unasked(Vec<u8>, Arc<Notify>, Vec<u8>),
    /// Sends something, then bytes one by one with a pause after each, and waits for the next request.
    Drip(Vec<u8>, Vec<u8>, Duration),
}

/// An answer with a length.
pub(crate) fn answer(status: &str, headers: &str, body: &str) -> Vec<u8> {
    format!("HTTP/1.1 {status}\r\n{headers}Content-Length: {}\r\n\r\n{body}", body.len()).into_bytes()
}

pub(crate) fn ok(body: &str) -> Reply {
    Reply::Keep(answer("200 OK", "", body))
}

pub(crate) fn redirect(status: &str, location: &str) -> Reply {
    // More than a connection reads at once, and little enough to be read for the sake of the connection.
    Reply::Keep(answer(status, &format!("Location: {location}\r\n"), &"moved ".repeat(10_000)))
}

/// What has happened at a server so far.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Counts {
    pub(crate) connections: usize,
    pub(crate) open: usize,
    pub(crate) bytes_sent: u64,
}

type Handler = dyn Fn(&Request) -> Reply + Send + Sync;

struct Shared {
    handler: Box<Handler>,
    requests: Mutex<Vec<Request>>,
    counts: watch::Sender<Counts>,
}

/// The server; it ends with its value.
pub(crate) struct Server {
    pub(crate) address: SocketAddr,
    shared: Arc<Shared>,
    task: JoinHandle<()>,
}

impl Drop for Server {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl Server {
    pub(crate) async fn start(handler: impl Fn(&Request) -> Reply + Send + Sync + 'static) -> Self {
        Self::start_on("127.0.0.1:0", None, handler).await
    }

    pub(crate) async fn start_on(
        address: &str,
        tls: Option<TlsAcceptor>,
        handler: impl Fn(&Request) -> Reply + Send + Sync + 'static,
    ) -> Self {
        let listener = TcpListener::bind(address).await.expect("a port is free");
        let address = listener.local_addr().expect("it is bound");
        let shared = Arc::new(Shared {
            handler: Box::new(handler),
            requests: Mutex::default(),
            counts: watch::Sender::default(),
        });
        let task = tokio::spawn(accept(listener, tls, Arc::clone(&shared)));
        Self { address, shared, task }
    }

    /// The URI of a path.
    pub(crate) fn uri(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }

    pub(crate) fn requests(&self) -> Vec<Request> {
        self.shared.requests.lock().unwrap().clone()
    }

    /// The only request.
    pub(crate) fn request(&self) -> Request {
        let mut requests = self.requests();
        assert_eq!(requests.len(), 1, "{requests:?}");
        requests.remove(0)
    }

    /// Waits until so many requests have come.
    pub(crate) async fn requests_at_least(&self, count: usize) -> Vec<Request> {
        let mut news = self.shared.counts.subscribe();
        let came = news.wait_for(|_| self.requests().len() >= count).await.map(|_| ());
        came.expect("the server lives");
        self.requests()
    }

    pub(crate) fn counts(&self) -> Counts {
        *self.shared.counts.borrow()
    }

    /// Waits until all connections are closed.
    pub(crate) async fn all_closed(&self) -> Counts {
        self.closed_but(0).await
    }

    /// Waits until no more than so many connections are open.
    pub(crate) async fn closed_but(&self, most: usize) -> Counts {
        let mut news = self.shared.counts.subscribe();
        *news.wait_for(|counts| counts.open <= most).await.expect("the server lives")
    }
}

async fn accept(listener: TcpListener, tls: Option<TlsAcceptor>, shared: Arc<Shared>) {
    while let Ok((tcp, _)) = listener.accept().await {
        let mut number = 0;
        shared.counts.send_modify(|counts| {
            number = counts.connections;
            counts.connections += 1;
            counts.open += 1;
        });
        let (shared, tls) = (Arc::clone(&shared), tls.clone());
        tokio::spawn(async move {
            // Only plain connections are ever reset.
            tcp.set_nodelay(true).expect("a socket option");
            match tls {
                None => {
                    let make_reset = |tcp: &TcpStream| tcp.set_zero_linger().expect("a socket option");
                    let caller = Caller { connection: number, certificate: None };
                    talk(tcp, &caller, &shared, make_reset).await;
                }
                Some(tls) => {
                    if let Ok(stream) = tls.accept(tcp).await {
                        let chain = stream.get_ref().1.peer_certificates().unwrap_or_default();
                        let certificate = chain.first().map(|certificate| certificate.to_vec());
                        let caller = Caller { connection: number, certificate };
                        talk(stream, &caller, &shared, |_| {}).await;
                    }
                }
            }
            shared.counts.send_modify(|counts| counts.open -= 1);
        });
    }
}

async fn talk<S: AsyncRead + AsyncWrite + Unpin>(
    mut stream: S,
    caller: &Caller,
    shared: &Shared,
    make_reset: impl Fn(&S),
) {
    while let Some(request) = read(&mut stream, caller).await {
        let reply = (shared.handler)(&request);
        shared.requests.lock().unwrap().push(request);
        shared.counts.send_modify(|_| {});
        let sent = match reply {
            Reply::Keep(bytes) => {
                if send(&mut stream, &bytes, shared).await {
                    continue;
                }
                return;
            }
            Reply::Close(bytes) => {
                send(&mut stream, &bytes, shared).await;
                let _ = stream.shutdown().await;
                return;
            }
            Reply::Reset(bytes) => {
                send(&mut stream, &bytes, shared).await;
                make_reset(&stream);
                return;
            }
            Reply::Unasked(bytes, sign, more) => {
                send(&mut stream, &bytes, shared).await;
                sign.notified().await;
                send(&mut stream, &more, shared).await;
                let _ = stream.shutdown().await;
                return;
            }
            Reply::Hang(bytes) => send(&mut stream, &bytes, shared).await,
            Reply::Endless(start, piece) => {
                let mut going = send(&mut stream, &start, shared).await;
                while going {
                    going = send(&mut stream, &piece, shared).await;
                }
                going
            }
            Reply::Drip(start, bytes, pause) => {
                let mut going = send(&mut stream, &start, shared).await;
                for byte in bytes {
                    going = send(&mut stream, &[byte], shared).await;
                    if !going {
                        break;
                    }
                    tokio::time::sleep(pause).await;
                }
                if going {
                    continue;
                }
                return;
            }
        };
        // Until the other side gives up.
        while sent && matches!(stream.read(&mut [0; 64]).await, Ok(1..)) {}
        return;
    }
}

async fn send<S: AsyncWrite + Unpin>(stream: &mut S, bytes: &[u8], shared: &Shared) -> bool {
    let sent = stream.write_all(bytes).await.is_ok() && stream.flush().await.is_ok();
    shared.counts.send_modify(|counts| counts.bytes_sent += bytes.len() as u64);
    sent
}

/// Reads a request, whose body has a length or none.
async fn read<S: AsyncRead + Unpin>(stream: &mut S, caller: &Caller) -> Option<Request> {
    let mut bytes = Vec::new();
    let end = loop {
        if let Some(end) = bytes.windows(4).position(|window| window == b"\r\n\r\n") {
            break end;
        }
        if stream.read_buf(&mut bytes).await.ok()? == 0 {
            return None;
        }
    };
    let body = bytes.split_off(end + 4);
    bytes.truncate(end);
    let mut request = Request {
        head: String::from_utf8(bytes).expect("a head is text"),
        body,
        connection: caller.connection,
        certificate: caller.certificate.clone(),
    };
    let length =
        request.header("content-length").first().map_or(0, |length| length.parse().expect("a number"));
    while request.body.len() < length {
        if stream.read_buf(&mut request.body).await.ok()? == 0 {
            return None;
        }
    }
    Some(request)
}
