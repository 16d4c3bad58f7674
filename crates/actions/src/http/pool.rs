//! Connections that are kept between calls.
//!
//! A [`Link`] that has carried a call to its end lies here until the next call to the same host takes it, the last used
//! first. Those that lie for too long are closed by a sweeper, which is there only as long as there is something to
//! sweep.

use std::{
    borrow::Cow,
    collections::HashMap,
    mem,
    sync::{Arc, Mutex, MutexGuard, PoisonError, Weak},
    time::Duration,
};

use ::http::{HeaderValue, Request, Uri, header, response::Parts, uri};
use bytes::Bytes;
use http_body_util::Full;
use hyper::client::conn::http1::Builder;
use tokio::{
    task::JoinHandle,
    time::{Instant, sleep},
};

use super::{
    connector::Connector,
    link::{Body, Link},
    uri::{host, is_https},
};
use crate::{
    deadline::within,
    egress::ChosenBy,
    fault::{Fault, Kind, seconds},
    settings::ActionSettings,
};

/// The most lines of headers that hyper takes if it is told nothing.
const HYPERS_LINES: usize = 100;

/// The least time between two sweeps.
const LEAST_PAUSE: Duration = Duration::from_millis(50);

/// See the module.
#[derive(Clone)]
pub(super) struct Pool(Arc<Shared>);

struct Shared {
    connector: Connector,
    builder: Builder,
    settings: Arc<ActionSettings>,
    idle: Mutex<Idle>,
}

/// Where a link leads.
#[derive(Clone)]
pub(super) struct Key {
    is_https: bool,
    /// Host and port, in lower case.
    authority: Arc<str>,
}

#[derive(Default)]
struct Idle {
    /// Without TLS, by host and port.
    plain: Hosts,
    /// With TLS.
    secure: Hosts,
    sweeper: Option<JoinHandle<()>>,
}

/// The idle links of each host, the last used last.
type Hosts = HashMap<Arc<str>, Vec<Rest>>;

/// A link that lies idle.
struct Rest {
    link: Box<Link>,
    since: Instant,
}

/// What came back.
pub(super) struct Answer {
    pub(super) head: Parts,
    pub(super) body: Body,
    /// Who chooses the next host when this answer redirects.
    pub(super) redirects_as: ChosenBy,
}

impl Pool {
    pub(super) fn new(connector: Connector, settings: Arc<ActionSettings>) -> Self {
        let mut builder = Builder::new();
        // hyper's own number of lines costs no allocation; another one costs one a call.
        if settings.max_response_header_lines != HYPERS_LINES {
            builder.max_headers(settings.max_response_header_lines);
        }
        builder.max_buf_size(settings.max_response_headers);
        Self(Arc::new(Shared { connector, builder, settings, idle: Mutex::default() }))
    }

    /// Sends a request and waits for the head of its answer.
    pub(super) async fn ask(
        &self,
        mut request: Request<Full<Bytes>>,
        chosen_by: ChosenBy,
    ) -> Result<Answer, Fault> {
        let settings = &*self.0.settings;
        let destination = address(&mut request);
        loop {
            let mut link = match self.take(&destination, chosen_by) {
                Some(link) => link,
                // Most calls do without, and need no room for all that it takes.
                None => Box::pin(self.connect(&destination, chosen_by)).await?,
            };
            // The time runs from the connection on; until then others run. A limit that the whole call keeps anyway
            // needs no timer.
            let limit = settings.answer_timeout;
            let answered = if limit < settings.timeout {
                within(limit, link.send(request)).await.map_err(|_| unanswered(limit))?
            } else {
                link.send(request).await
            };
            let failure = match answered {
                Ok(answer) => {
                    let (head, incoming) = answer.into_parts();
                    let redirects_as = link.redirects_as;
                    return Ok(Answer { head, body: Body::new(incoming, link, self.clone()), redirects_as });
                }
                Err(failure) => failure,
            };
            // A link that was kept may have been closed in the very moment; over a new one it would be no chance.
            request = match failure.unsent {
                Some(unsent) if link.is_used => *unsent,
                _ => return Err(Fault::of_exchange(&failure.error, settings)),
            };
        }
    }

    /// Takes a kept connection that can be used. After a redirect from a public address only one to a public address.
    fn take(&self, destination: &Uri, chosen_by: ChosenBy) -> Option<Box<Link>> {
        let authority = authority(destination);
        loop {
            let rest = {
                let mut idle = self.0.idle();
                let kept = idle.hosts(is_https(destination)).get_mut(&*authority)?;
                if chosen_by == ChosenBy::PublicRedirect && kept.last()?.link.redirects_as == ChosenBy::Action
                {
                    return None;
                }
                kept.pop()?
            };
            if rest.is_over(Instant::now(), self.0.settings.idle_timeout) {
                // Those below have been there for longer, and are the sweeper's.
                rest.link.close();
                return None;
            }
            let mut link = rest.link;
            if link.is_ready() {
                return Some(link);
            }
        }
    }

    async fn connect(&self, destination: &Uri, chosen_by: ChosenBy) -> Result<Box<Link>, Fault> {
        let (stream, redirects_as) = self.0.connector.connect(destination, chosen_by).await?;
        let key = Key { is_https: is_https(destination), authority: authority(destination).into() };
        let opened = Link::open(&self.0.builder, key, stream, redirects_as).await;
        let link = opened.map_err(|error| Fault::of_exchange(&error, &self.0.settings))?;
        Ok(Box::new(link))
    }

    /// Keeps a link for the next call, if there is room for it.
    pub(super) fn keep(&self, mut link: Box<Link>) {
        let ActionSettings { idle_timeout, max_idle_per_host, .. } = *self.0.settings;
        link.is_used = true;
        let since = Instant::now();
        let mut idle = self.0.idle();
        let hosts = idle.hosts(link.key.is_https);
        match hosts.get_mut(&link.key.authority) {
            Some(kept) if kept.len() < max_idle_per_host => kept.push(Rest { link, since }),
            None if max_idle_per_host > 0 => {
                hosts.insert(Arc::clone(&link.key.authority), vec![Rest { link, since }]);
            }
            _ => {
                drop(idle);
                return link.close();
            }
        }
        // It may have ended with a runtime that this pool outlives.
        if idle.sweeper.as_ref().is_none_or(JoinHandle::is_finished) {
            idle.sweeper = Some(tokio::spawn(sweep(Arc::downgrade(&self.0), idle_timeout)));
        }
    }
}

impl Shared {
    fn idle(&self) -> MutexGuard<'_, Idle> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Shared {
    fn drop(&mut self) {
        let idle = self.idle.get_mut().unwrap_or_else(PoisonError::into_inner);
        if let Some(sweeper) = idle.sweeper.take() {
            sweeper.abort();
        }
    }
}

impl Idle {
    fn hosts(&mut self, is_https: bool) -> &mut Hosts {
        if is_https { &mut self.secure } else { &mut self.plain }
    }

    /// Takes out what has been idle for too long.
    fn take_over(&mut self, now: Instant, limit: Duration) -> Vec<Rest> {
        let mut over = Vec::new();
        for hosts in [&mut self.plain, &mut self.secure] {
            hosts.retain(|_, kept| {
                // The oldest come first.
                let fresh = kept.partition_point(|rest| rest.is_over(now, limit));
                over.extend(kept.drain(..fresh));
                !kept.is_empty()
            });
        }
        over
    }
}

impl Rest {
    fn is_over(&self, now: Instant, limit: Duration) -> bool {
        now.duration_since(self.since) >= limit
    }
}

/// Closes what has been idle for too long, until nothing is left or the pool is gone.
async fn sweep(pool: Weak<Shared>, limit: Duration) {
    loop {
        sleep(limit.max(LEAST_PAUSE)).await;
        let Some(shared) = pool.upgrade() else { return };
        let mut idle = shared.idle();
        let over = idle.take_over(Instant::now(), limit);
        let is_done = idle.plain.is_empty() && idle.secure.is_empty();
        if is_done {
            // Whoever keeps a link from now on starts another one.
            idle.sweeper = None;
        }
        drop(idle);
        for rest in over {
            rest.link.close();
        }
        if is_done {
            return;
        }
    }
}

/// Writes a request as a server wants it, with its `Host` and without it in the URI, and returns where it goes.
fn address(request: &mut Request<Full<Bytes>>) -> Uri {
    let destination = mem::take(request.uri_mut());
    if let Some(path) = destination.path_and_query()
        && path != "/"
    {
        let mut parts = uri::Parts::default();
        parts.path_and_query = Some(path.clone());
        // A path alone is always a URI.
        *request.uri_mut() = Uri::from_parts(parts).unwrap_or_default();
    }
    if !request.headers().contains_key(header::HOST) {
        let usual = if is_https(&destination) { 443 } else { 80 };
        let mut text = String::with_capacity(destination.authority().map_or(0, |it| it.as_str().len()));
        text.push_str(host(&destination));
        if let Some(port) = destination.port().filter(|port| port.as_u16() != usual) {
            text.extend([":", port.as_str()]);
        }
        // What is a host in a URI is one in a header too.
        if let Ok(host) = HeaderValue::from_maybe_shared(Bytes::from(text)) {
            request.headers_mut().insert(header::HOST, host);
        }
    }
    destination
}

/// Host and port, in lower case.
fn authority(destination: &Uri) -> Cow<'_, str> {
    let text = destination.authority().map_or("", uri::Authority::as_str);
    if text.bytes().any(|letter| letter.is_ascii_uppercase()) {
        Cow::Owned(text.to_ascii_lowercase())
    } else {
        Cow::Borrowed(text)
    }
}

fn unanswered(limit: Duration) -> Fault {
    let cause = format!("connected, but no answer began within {}", seconds(limit));
    Fault::new(Kind::Timeout, cause)
}
