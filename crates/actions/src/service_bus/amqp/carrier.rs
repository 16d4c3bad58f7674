//! A carrier: the one who owns a link, and sends over it what it is given, one after the other without waiting for
//! each to be acknowledged.
//!
//! The link is opened with the first message and again after it has ended. A link that turns out to be dead before a
//! message was handed over costs nothing but a new one; when it ends with messages unacknowledged, those attempts fail,
//! because nobody knows what became of them.

use std::{sync::Arc, time::Duration};

use fe2o3_amqp::{
    link::{SendError, delivery::DeliveryFut},
    types::messaging::{Data, Message, Outcome},
};
use model::Clock;
use tokio::{
    sync::{mpsc, oneshot},
    task::JoinSet,
    time::{Instant, sleep_until, timeout},
};

use super::{
    link::{Destination, Link},
    refused,
};
use crate::{
    fault::{Fault, Kind, seconds},
    http::connector::Connector,
    service_bus::Failure,
};

/// A message to be sent, and where to say what became of it. Nobody listening means that its time is up.
pub(crate) struct Parcel {
    pub(crate) message: Message<Data>,
    pub(crate) reply: oneshot::Sender<Result<String, Failure>>,
}

pub(crate) struct Carrier {
    pub(crate) connector: Connector,
    pub(crate) to: Destination,
    pub(crate) clock: Arc<dyn Clock>,
    /// The longest that opening, or handing over, may take.
    pub(crate) timeout: Duration,
    /// How long the link is kept without messages.
    pub(crate) idle_timeout: Duration,
}

/// How the wait for an acknowledgement ended.
enum Wait {
    Over,
    /// Nobody wanted to know any more: the other side is too slow, or gone without a word.
    InVain,
}

impl Carrier {
    /// Carries until nothing came for a while, or nobody is left to bring anything.
    pub(crate) async fn run(self, mut parcels: mpsc::Receiver<Parcel>) {
        let mut link: Option<Link> = None;
        let mut waits: JoinSet<Wait> = JoinSet::new();
        let mut idle_at = Instant::now() + self.idle_timeout;
        loop {
            let renew_at = link.as_ref().and_then(Link::renew_at);
            tokio::select! {
                parcel = parcels.recv() => {
                    let Some(parcel) = parcel else { break };
                    idle_at = Instant::now() + self.idle_timeout;
                    if let Some(wait) = self.carry(parcel, &mut link, &mut parcels).await {
                        waits.spawn(wait);
                    }
                }
                Some(ended) = waits.join_next(), if !waits.is_empty() => {
                    if matches!(ended, Ok(Wait::InVain)) {
                        link = None;
                    }
                }
                () = ended(&mut link), if link.is_some() => link = None,
                () = sleep_until(renew_at.unwrap_or(idle_at)), if renew_at.is_some() => {
                    if let Some(open) = &mut link
                        && !matches!(timeout(self.timeout, open.renew(&self.to, &*self.clock)).await, Ok(Ok(())))
                    {
                        link = None;
                    }
                }
                // What came in the meantime is still carried.
                () = sleep_until(idle_at), if waits.is_empty() && !parcels.is_closed() => parcels.close(),
            }
        }
        // Those who brought the last parcels may still wait for them.
        while waits.join_next().await.is_some() {}
    }

    /// Hands a parcel over, and returns the wait for its acknowledgement.
    async fn carry(
        &self,
        parcel: Parcel,
        link: &mut Option<Link>,
        parcels: &mut mpsc::Receiver<Parcel>,
    ) -> Option<impl Future<Output = Wait> + Send + 'static> {
        let Parcel { message, mut reply } = parcel;
        loop {
            if reply.is_closed() {
                return None;
            }
            let mut is_new = false;
            if link.as_ref().is_none_or(Link::is_closed) {
                is_new = true;
                *link = None;
                match self.open().await {
                    Ok(open) => *link = Some(open),
                    Err(failure) => {
                        // Whoever came meanwhile would only hear the same.
                        while let Ok(waiting) = parcels.try_recv() {
                            let _ = waiting.reply.send(Err(failure.clone()));
                        }
                        let _ = reply.send(Err(failure));
                        return None;
                    }
                }
            }
            let open = link.as_mut()?;
            let handed = tokio::select! {
                handed = timeout(self.timeout, open.send(message.clone())) => handed,
                // Half a message may be on its way, so the link cannot be used again.
                () = reply.closed() => {
                    *link = None;
                    return None;
                }
            };
            match handed {
                Ok(Ok(delivery)) => return Some(acknowledged(delivery, reply)),
                Ok(Err(error @ (SendError::MessageSizeExceeded(_) | SendError::MessageEncodeError))) => {
                    let _ = reply.send(Err(refused::send(&error)));
                    return None;
                }
                Ok(Err(error)) => {
                    *link = None;
                    if is_new {
                        let _ = reply.send(Err(refused::send(&error)));
                        return None;
                    }
                }
                Err(_) => {
                    *link = None;
                    let cause = format!("the other side took no message within {}", seconds(self.timeout));
                    let _ = reply.send(Err(Fault::new(Kind::Timeout, cause).into()));
                    return None;
                }
            }
        }
    }

    async fn open(&self) -> Result<Link, Failure> {
        let open = Link::open(self.connector.clone(), &self.to, &*self.clock);
        timeout(self.timeout, open).await.unwrap_or_else(|_| {
            let cause = format!("the other side did not open the link within {}", seconds(self.timeout));
            Err(Fault::new(Kind::Timeout, cause).into())
        })
    }
}

async fn acknowledged(
    delivery: DeliveryFut<Result<Outcome, SendError>>,
    mut reply: oneshot::Sender<Result<String, Failure>>,
) -> Wait {
    tokio::select! {
        ended = delivery => {
            let ended = match ended {
                Ok(outcome) => refused::outcome(&outcome),
                Err(error) => Err(refused::send(&error)),
            };
            let _ = reply.send(ended);
            Wait::Over
        }
        () = reply.closed() => Wait::InVain,
    }
}

async fn ended(link: &mut Option<Link>) {
    if let Some(link) = link {
        link.ended().await;
    }
}
