//! A way: the link to one entity, and how messages get onto it.
//!
//! Whoever sends hands its message over by itself, one after the other, and waits for the acknowledgement beside all
//! the others. The link is opened with the first message and again after it has ended. A link that turns out to be
//! dead before a message was handed over costs nothing but a new one; when it ends with messages unacknowledged, those
//! attempts fail, because nobody knows what became of them.
//!
//! A keeper, one task for each link, holds what the link hangs on, as long as there is use for it.

use std::{
    sync::{
        Arc, Weak,
        atomic::{AtomicU64, AtomicUsize, Ordering},
    },
    time::Duration,
};

use fe2o3_amqp::{
    link::{SendError, delivery::Sendable},
    types::messaging::Data,
};
use model::Clock;
use tokio::{
    sync::{Mutex, oneshot},
    time::{Instant, sleep_until, timeout},
};
use tokio_util::sync::CancellationToken;

use super::{
    link::{Delivery, Destination, Hold, Link},
    refused,
};
use crate::{
    deadline::within,
    fault::{Fault, Kind, seconds},
    http::connector::Connector,
    service_bus::Failure,
};

pub(crate) struct Way {
    pub(crate) to: Destination,
    pub(crate) connector: Connector,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) limits: Limits,
    /// Held while a message is handed over, which the library does one at a time; those who wait get it in turn.
    place: Mutex<Place>,
    /// Links that did not come about.
    failures: AtomicU64,
    /// Messages that are waiting, being handed over or unacknowledged.
    under_way: AtomicUsize,
}

/// How long things may take.
#[derive(Clone, Copy)]
pub(crate) struct Limits {
    /// A message, from its arrival to its acknowledgement; and a link, until it is open.
    pub(crate) timeout: Duration,
    /// How long the link is kept without messages.
    pub(crate) idle_timeout: Duration,
}

/// Where the link is.
struct Place {
    link: Option<Box<Link>>,
    /// A link that is being opened. It goes on when the one who asked for it has given up.
    opening: Option<oneshot::Receiver<Result<Link, Failure>>>,
    /// Why the last one did not come about.
    failure: Option<Failure>,
    /// When the last message was handed over.
    used: Instant,
}

/// How far a message came: what there is to say when its time is up.
#[derive(Clone, Copy)]
enum Progress {
    Waits,
    Opens,
    HandsOver,
    Sent,
}

impl Way {
    pub(crate) fn new(
        to: Destination,
        connector: Connector,
        clock: Arc<dyn Clock>,
        limits: Limits,
    ) -> Arc<Self> {
        let place = Place { link: None, opening: None, failure: None, used: Instant::now() };
        Arc::new(Self {
            to,
            connector,
            clock,
            limits,
            place: Mutex::new(place),
            failures: AtomicU64::new(0),
            under_way: AtomicUsize::new(0),
        })
    }

    /// Sends a message, and says how it was taken.
    pub(crate) async fn send(self: &Arc<Self>, message: &Sendable<Data>) -> Result<String, Failure> {
        let _counted = Counted::new(&self.under_way);
        let mut progress = Progress::Waits;
        match within(self.limits.timeout, self.carry(message, &mut progress)).await {
            Ok(ended) => ended,
            Err(_) => Err(too_late(progress, self.limits.timeout).into()),
        }
    }

    /// Whether a link is open or about to be.
    pub(crate) fn is_open(&self) -> bool {
        // Somebody who is just handing over has one.
        self.place.try_lock().map_or(true, |place| place.link.is_some() || place.opening.is_some())
    }

    async fn carry(
        self: &Arc<Self>,
        message: &Sendable<Data>,
        progress: &mut Progress,
    ) -> Result<String, Failure> {
        let (delivery, life) = self.hand_over(message, progress).await?;
        *progress = Progress::Sent;
        // If nobody wants to know any more, the other side is too slow, or gone without a word: the link ends.
        let waits = life.drop_guard();
        let ended = delivery.await;
        waits.disarm();
        match ended {
            Ok(outcome) => refused::outcome(&outcome),
            Err(error) => Err(refused::send(&error)),
        }
    }

    /// Hands a message over, and returns what will tell of its acknowledgement, with the life of its link.
    async fn hand_over(
        self: &Arc<Self>,
        message: &Sendable<Data>,
        progress: &mut Progress,
    ) -> Result<(Delivery, CancellationToken), Failure> {
        let failures = self.failures.load(Ordering::Relaxed);
        let mut place = self.place.lock().await;
        // Who came while a link was being opened would only hear the same.
        if let Some(failure) = &place.failure
            && self.failures.load(Ordering::Relaxed) != failures
        {
            return Err(failure.clone());
        }
        loop {
            // While it is out of its place it ends with us: half a message may be on its way when our time is up.
            let (mut link, is_new) = match place.link.take() {
                Some(link) if !link.is_over() => (link, false),
                _ => {
                    *progress = Progress::Opens;
                    (self.open(&mut place).await?, true)
                }
            };
            *progress = Progress::HandsOver;
            match link.send(message).await {
                Ok(delivery) => {
                    let life = link.life();
                    place.used = Instant::now();
                    place.link = Some(link);
                    return Ok((delivery, life));
                }
                Err(error @ (SendError::MessageSizeExceeded(_) | SendError::MessageEncodeError)) => {
                    place.link = Some(link);
                    return Err(refused::send(&error));
                }
                Err(error) if is_new => return Err(refused::send(&error)),
                Err(_) => {}
            }
        }
    }

    async fn open(self: &Arc<Self>, place: &mut Place) -> Result<Box<Link>, Failure> {
        let opening = place.opening.get_or_insert_with(|| {
            let (opened, opening) = oneshot::channel();
            tokio::spawn(keep(Arc::clone(self), opened));
            opening
        });
        let ended = opening.await;
        place.opening = None;
        let ended =
            ended.unwrap_or_else(|_| Err(Fault::new(Kind::ConnectionClosed, "the link ended").into()));
        place.failure = ended.as_ref().err().cloned();
        self.failures.fetch_add(u64::from(ended.is_err()), Ordering::Relaxed);
        ended.map(Box::new)
    }

    /// Ends a link that was not used for long enough; otherwise says when to look again.
    async fn rest(&self) -> Option<Instant> {
        let mut place = self.place.lock().await;
        let now = Instant::now();
        let until = place.used + self.limits.idle_timeout;
        match self.under_way.load(Ordering::Relaxed) {
            0 if until <= now => {
                place.link = None;
                place.opening = None;
                None
            }
            0 => Some(until),
            _ => Some(now + self.limits.idle_timeout),
        }
    }
}

/// The keeper: opens a link, hands it out, and holds what it hangs on until it ends, or its way does.
async fn keep(way: Arc<Way>, opened: oneshot::Sender<Result<Link, Failure>>) {
    let (to, limits, clock) = (way.to.clone(), way.limits, Arc::clone(&way.clock));
    let open = Link::open(&way.connector, &to, &*clock);
    let ended = within(limits.timeout, open).await.unwrap_or_else(|_| {
        let cause = format!("the other side did not open the link within {}", seconds(limits.timeout));
        Err(Fault::new(Kind::Timeout, cause).into())
    });
    // From here on the way can go: then its link does, and we notice.
    let way = {
        let strong = way;
        Arc::downgrade(&strong)
    };
    match ended {
        Err(failure) => drop(opened.send(Err(failure))),
        Ok((link, hold)) => {
            let life = link.life();
            drop(opened.send(Ok(link)));
            // However we end, the link does.
            let _end = life.clone().drop_guard();
            tokio::select! {
                () = life.cancelled() => {}
                () = held(hold, &to, &*clock, limits.timeout) => {}
                () = unused(&way, limits.idle_timeout) => {}
            }
        }
    }
}

/// Holds a link until its connection ends, or its claims do.
async fn held(mut hold: Hold, to: &Destination, clock: &dyn Clock, limit: Duration) {
    loop {
        let renew_at = hold.renew_at();
        tokio::select! {
            () = hold.ended() => return,
            () = sleep_until(renew_at.unwrap_or_else(Instant::now)), if renew_at.is_some() => {}
        }
        if !matches!(timeout(limit, hold.renew(to, clock)).await, Ok(Ok(()))) {
            return;
        }
    }
}

/// Returns when a way has ended its link because nobody used it, or is gone.
async fn unused(way: &Weak<Way>, idle_timeout: Duration) {
    let mut look_at = Instant::now() + idle_timeout;
    loop {
        sleep_until(look_at).await;
        let Some(way) = way.upgrade() else { return };
        match way.rest().await {
            Some(later) => look_at = later,
            None => return,
        }
    }
}

/// Counts a message while it is under way.
struct Counted<'a>(&'a AtomicUsize);

impl<'a> Counted<'a> {
    fn new(count: &'a AtomicUsize) -> Self {
        count.fetch_add(1, Ordering::Relaxed);
        Self(count)
    }
}

impl Drop for Counted<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

fn too_late(progress: Progress, limit: Duration) -> Fault {
    let what = match progress {
        Progress::Waits => "the message had no turn",
        Progress::Opens => "the other side did not open the link",
        Progress::HandsOver => "the other side took no message",
        Progress::Sent => "the message was not acknowledged",
    };
    Fault::new(Kind::Timeout, format!("{what} within {}", seconds(limit)))
}
