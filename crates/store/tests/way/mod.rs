//! A way to a server that can be blocked: connections stay and are taken, and nothing arrives any more.

use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;

pub(crate) struct Way {
    pub(crate) port: u16,
    blocked: watch::Sender<bool>,
}

impl Way {
    /// A way to a server, by its address.
    pub(crate) async fn to(server: String) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let port = listener.local_addr().expect("an address").port();
        let (blocked, seen) = watch::channel(false);
        tokio::spawn(async move {
            while let Ok((near, _)) = listener.accept().await {
                let Ok(far) = TcpStream::connect(&server).await else { continue };
                let (from_near, to_near) = near.into_split();
                let (from_far, to_far) = far.into_split();
                tokio::spawn(carry(from_near, to_far, seen.clone()));
                tokio::spawn(carry(from_far, to_near, seen.clone()));
            }
        });
        Self { port, blocked }
    }

    pub(crate) fn block(&self, blocked: bool) {
        self.blocked.send_replace(blocked);
    }
}

async fn carry(
    mut from: impl AsyncRead + Unpin,
    mut to: impl AsyncWrite + Unpin,
    mut blocked: watch::Receiver<bool>,
) {
    let mut bytes = [0; 8192];
    while let Ok(count @ 1..) = from.read(&mut bytes).await {
        let open = blocked.wait_for(|blocked| !blocked).await.is_ok();
        if !open || to.write_all(&bytes[..count]).await.is_err() {
            return;
        }
    }
}
