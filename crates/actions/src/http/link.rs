//! One connection and what is said over it.
//!
//! A connection of HTTP/1.1 has something to do only while a call goes over it. So it is no task of its own: whoever
//! makes the call holds both of its ends, and lets it do its work whenever they look for the answer. No word passes from
//! one task to another, and when a call is given up, its connection is gone with it.

use std::{
    future::poll_fn,
    mem,
    pin::{Pin, pin},
    task::{Context, Poll, Waker},
};

use ::http::{Request, Response};
use bytes::Bytes;
use http_body_util::Full;
use hyper::{
    body::{Body as _, Frame, Incoming},
    client::conn::http1::{Builder, Connection, SendRequest},
};
use tokio::task::coop::unconstrained;

use super::{
    pool::{Key, Pool},
    stream::Stream,
};
use crate::egress::ChosenBy;

/// See the module.
pub(super) struct Link {
    /// Where it leads.
    pub(super) key: Key,
    /// Whether it has carried a call before.
    pub(super) is_used: bool,
    /// Who chooses the next host when an answer on this connection redirects.
    pub(super) redirects_as: ChosenBy,
    sender: SendRequest<Full<Bytes>>,
    /// `None` once it has ended. Whoever waits for something from it hears so because it is gone.
    connection: Option<Connection<Stream, Full<Bytes>>>,
}

/// Why no answer came.
pub(super) struct Failure {
    pub(super) error: hyper::Error,
    /// The request, if none of it can have been sent.
    pub(super) unsent: Option<Box<Request<Full<Bytes>>>>,
}

impl Link {
    /// A link over a connection that has just been made.
    pub(super) async fn open(
        builder: &Builder,
        key: Key,
        stream: Stream,
        redirects_as: ChosenBy,
    ) -> hyper::Result<Self> {
        let (sender, connection) = builder.handshake(stream).await?;
        let mut link = Self { key, is_used: false, redirects_as, sender, connection: Some(connection) };
        link.notice()?;
        Ok(link)
    }

    /// Whether a request can be sent, as far as is known by now: the other side may have hung up, or said something that
    /// it was not asked.
    pub(super) fn is_ready(&mut self) -> bool {
        self.notice().is_ok() && self.connection.is_some() && self.sender.is_ready()
    }

    /// Whether the last exchange has come to its end and left room for another.
    fn is_free(&mut self) -> bool {
        self.connection.is_some() && (self.sender.is_ready() || self.is_ready())
    }

    /// Finds out what has happened meanwhile. Nobody is to be woken up for it later: not by the next request either,
    /// which would wake up its own sender.
    fn notice(&mut self) -> hyper::Result<()> {
        self.work(&mut Context::from_waker(Waker::noop()))
    }

    /// Lets the connection do what it can do now.
    fn work(&mut self, context: &mut Context<'_>) -> hyper::Result<()> {
        if let Some(connection) = &mut self.connection
            && let Poll::Ready(ended) = Pin::new(connection).poll(context)
        {
            self.connection = None;
            return ended;
        }
        Ok(())
    }

    /// Lets the connection work until there is what is looked for.
    ///
    /// What it finds it hands over to the same task, which it would wake up for that once more. So it works unheard
    /// first, and says whom to wake up only if there is something to wait for.
    fn wait_for<T>(&mut self, context: &mut Context<'_>, mut look: impl FnMut() -> Poll<T>) -> Poll<T> {
        for waker in [Waker::noop(), context.waker()] {
            // What it ended with is told by what is looked for.
            let _ = self.work(&mut Context::from_waker(waker));
            let found = look();
            if found.is_ready() {
                return found;
            }
        }
        Poll::Pending
    }

    /// Sends a request and waits for the head of its answer.
    pub(super) async fn send(
        &mut self,
        request: Request<Full<Bytes>>,
    ) -> Result<Response<Incoming>, Failure> {
        // It comes from the connection alone, which is watched already. But it must not say instead that the turn of the
        // task is over: nobody would hear of that.
        let mut answer = pin!(unconstrained(self.sender.try_send_request(request)));
        let mut look = || answer.as_mut().poll(&mut Context::from_waker(Waker::noop()));
        let mut is_sent = false;
        let ended = poll_fn(|context| {
            if !mem::replace(&mut is_sent, true) {
                // There can be no answer yet.
                let _ = self.work(context);
                return look();
            }
            self.wait_for(context, &mut look)
        });
        ended.await.map_err(|mut failure| {
            let unsent = failure.take_message().map(Box::new);
            Failure { error: failure.into_error(), unsent }
        })
    }

    /// Takes leave of the other side, as far as that goes without waiting.
    pub(super) fn close(self) {
        let Self { sender, connection, .. } = self;
        drop(sender);
        if let Some(connection) = connection {
            let _ = pin!(connection).poll(&mut Context::from_waker(Waker::noop()));
        }
    }
}

/// The body of an answer, with the link that it comes over. Read to its end, it gives the link back to be used again.
pub(super) struct Body {
    incoming: Incoming,
    link: Option<Box<Link>>,
    pool: Pool,
}

impl Body {
    pub(super) fn new(incoming: Incoming, link: Box<Link>, pool: Pool) -> Self {
        Self { incoming, link: Some(link), pool }
    }

    /// The length as far as it was declared.
    pub(super) fn declared(&self) -> u64 {
        self.incoming.size_hint().lower()
    }

    /// The next piece; `None` at the end.
    pub(super) async fn frame(&mut self) -> Option<hyper::Result<Frame<Bytes>>> {
        let frame = poll_fn(|context| self.poll(context)).await;
        if frame.is_none()
            && let Some(mut link) = self.link.take()
            && link.is_free()
        {
            self.pool.keep(link);
        }
        frame
    }

    fn poll(&mut self, context: &mut Context<'_>) -> Poll<Option<hyper::Result<Frame<Bytes>>>> {
        let Self { incoming, link, .. } = self;
        // As with the head, it is the link that is watched.
        let mut look = || Pin::new(&mut *incoming).poll_frame(&mut Context::from_waker(Waker::noop()));
        let found = look();
        match link {
            Some(link) if found.is_pending() => link.wait_for(context, look),
            _ => found,
        }
    }
}
