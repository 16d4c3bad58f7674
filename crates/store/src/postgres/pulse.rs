//! The pulse: renews the lease, listens, and looks after what is claimed.
//!
//! It has a connection of its own, so that no crowd in the pool can keep a lease from being renewed. `NOTIFY` only
//! shortens naps: every word that is said here is also found by looking, a heartbeat later at the latest.

use std::future::poll_fn;
use std::sync::Arc;
use std::time::Duration;

use jiff::SignedDuration;
use tokio::sync::mpsc;
use tokio::task::JoinHandle;
use tokio::time::{Instant, sleep, sleep_until, timeout};
use tokio_postgres::{AsyncMessage, Client};

use super::fault::{Fault, Kind, Outcome};
use super::work::Values;
use super::{Shared, herald, nodes, revocation};
use crate::Error;

/// How often the lease is renewed.
const HEARTBEAT: Duration = Duration::from_secs(1);

/// How long a lease holds without renewal: two heartbeats may be lost.
pub(super) const LEASE: Duration = Duration::from_secs(3);

/// How long a node itself counts on it: less, so that one whose clock runs up to three percent slow does not outlive its
/// lease.
pub(super) const HELD: Duration = LEASE.saturating_sub(Duration::from_millis(100));

/// The longest that one heartbeat may take before its connection is given up: the lease must survive that.
const LONGEST_BEAT: Duration = Duration::from_millis(1_500);

/// How often claims are looked after where nobody calls: whoever wants one back waits for it.
const POLL: Duration = Duration::from_millis(100);

/// The pause before the connection is made anew.
const BREATHER: Duration = Duration::from_millis(100);

/// More than this between our clock and the database's is worth a warning: schedules are kept all the same, but logs and
/// certificates go by the machine's clock.
const SKEW: SignedDuration = SignedDuration::from_millis(500);

/// Where nodes tell each other to look.
pub(super) const CHANNEL: &str = "punctual";

/// Beats for as long as it is not aborted.
pub(super) async fn run(shared: Arc<Shared>) {
    let mut troubled = false;
    loop {
        let opened = timeout(shared.address.patience(), Line::open(&shared)).await;
        let opened = opened.unwrap_or_else(|_| Err(Fault::Pool("the database does not answer".to_owned())));
        let error = match opened {
            Ok(mut line) => {
                if std::mem::take(&mut troubled) {
                    tracing::info!("the heartbeat is back");
                }
                shared.seat.connect(Some(Instant::now()));
                let fault = line.live(&shared).await;
                shared.seat.connect(None);
                fault
            }
            Err(fault) => fault,
        }
        .tell(&shared.address.place);
        if shared.seat.refusal().is_some() {
            return;
        }
        // Once is enough: a database that is away for an hour must not fill the log.
        if !std::mem::replace(&mut troubled, true) {
            tracing::error!(%error, "the heartbeat stopped; trying again");
        }
        sleep(BREATHER).await;
    }
}

/// The connection of the pulse.
pub(super) struct Line {
    pub(super) client: Client,
    driver: JoinHandle<()>,
    heard: mpsc::Receiver<String>,
    listens: bool,
    warned: bool,
}

impl Drop for Line {
    fn drop(&mut self) {
        self.driver.abort();
    }
}

impl Line {
    /// Connects and listens.
    pub(super) async fn open(shared: &Shared) -> Outcome<Self> {
        let (client, mut connection) = shared.address.line().await?;
        let (word, heard) = mpsc::channel(64);
        let driver = tokio::spawn(async move {
            while let Some(Ok(message)) = poll_fn(|context| connection.poll_message(context)).await {
                if let AsyncMessage::Notification(notification) = message {
                    // A full channel means that we are about to look anyway.
                    let _ = word.try_send(notification.payload().to_owned());
                }
            }
        });
        let mut line = Self { client, driver, heard, listens: false, warned: false };
        line.client.batch_execute("SET statement_timeout = 1000; SET lock_timeout = 500").await?;
        match line.client.batch_execute(&format!("LISTEN {CHANNEL}")).await {
            Ok(()) => line.listens = true,
            Err(error) if error.as_db_error().is_some() => {
                tracing::info!(%error, "this database does not call; nodes look more often instead");
            }
            Err(error) => return Err(error.into()),
        }
        // By a clock of its own a node drifts while the database is away.
        nodes::ask_for_time(shared, &line.client).await?;
        Ok(line)
    }

    /// Beats until the connection breaks.
    async fn live(&mut self, shared: &Shared) -> Fault {
        // Whatever was said meanwhile.
        shared.bell.ring();
        loop {
            let began = Instant::now();
            match timeout(LONGEST_BEAT, self.beat(shared)).await {
                Ok(Ok(())) => {}
                Ok(Err(fault)) => return fault,
                Err(_) => return Fault::Pool("a heartbeat took too long".to_owned()),
            }
            if let Err(fault) = self.listen(shared, began + HEARTBEAT).await {
                return fault;
            }
        }
    }

    /// One heartbeat.
    async fn beat(&mut self, shared: &Shared) -> Outcome<()> {
        self.renew(shared).await?;
        let (living, any_gone) = nodes::living(&self.client).await?;
        shared.seat.see(&living);
        if any_gone {
            later(nodes::take_over(shared, &mut self.client, shared.now()).await)?;
        }
        self.look_after_claims(shared).await
    }

    async fn renew(&mut self, shared: &Shared) -> Outcome<()> {
        if let Some(lease) = shared.seat.lease() {
            if nodes::renew(shared, &self.client, &lease).await? {
                self.warn_of_skew(shared.time.ahead_of(&*shared.clock));
                return Ok(());
            }
            tracing::warn!(epoch = lease.epoch(), "this node has lost its lease, and what it had claimed");
            shared.numbers.lost_leases.count();
            shared.seat.leave();
            shared.tickets.clear();
        }
        let Some(lease) = nodes::join(shared, &mut self.client, false, shared.now()).await? else {
            let why = format!(
                "another node with the name '{}' has started; this one stays out. Give each node a name of its own",
                shared.settings.node
            );
            tracing::error!("{why}");
            shared.seat.refuse(why.clone());
            return Err(Error::Unavailable(why).into());
        };
        tracing::info!(epoch = lease.epoch(), "this node has joined again");
        shared.seat.take(lease);
        shared.bell.ring();
        Ok(())
    }

    fn warn_of_skew(&mut self, offset: SignedDuration) {
        let apart = offset.abs() > SKEW;
        if apart && !self.warned {
            tracing::warn!(
                offset_ms = offset.as_millis() as i64,
                "this machine's clock and the database's are apart; jobs are kept by the database's"
            );
        }
        self.warned = apart;
    }

    async fn look_after_claims(&mut self, shared: &Shared) -> Outcome<()> {
        if shared.tickets.count() > 0 {
            later(nodes::free_lost(shared, &mut self.client).await)?;
            later(revocation::answer(shared, &self.client).await)?;
        }
        Ok(())
    }

    /// Hears what others say until the next heartbeat.
    async fn listen(&mut self, shared: &Shared, until: Instant) -> Outcome<()> {
        loop {
            let next = if self.listens { until } else { until.min(Instant::now() + POLL) };
            tokio::select! {
                word = self.heard.recv() => match word {
                    Some(word) => self.hear(shared, &word).await?,
                    None => return Err(Fault::Pool("the connection of the heartbeat is closed".to_owned())),
                },
                () = shared.herald.wait() => self.say(shared).await?,
                () = sleep_until(next) => {
                    if next >= until {
                        return Ok(());
                    }
                    timeout(LONGEST_BEAT, self.look_after_claims(shared))
                        .await
                        .map_err(|_| Fault::Pool("a look at claims took too long".to_owned()))??;
                }
            }
        }
    }

    /// Tells other nodes what was committed here.
    async fn say(&self, shared: &Shared) -> Outcome<()> {
        let Some(words) = shared.herald.words(shared.seat.epoch()) else { return Ok(()) };
        let values: Values<'_> = &[&CHANNEL, &words];
        match timeout(LONGEST_BEAT, self.client.execute("SELECT pg_notify($1, $2)", values)).await {
            Ok(Ok(_)) => Ok(()),
            // They find it by looking.
            Ok(Err(error)) if error.as_db_error().is_some() => {
                tracing::debug!(%error, "other nodes cannot be told");
                Ok(())
            }
            Ok(Err(error)) => Err(error.into()),
            Err(_) => Err(Fault::Pool("a word to others took too long".to_owned())),
        }
    }

    async fn hear(&mut self, shared: &Shared, word: &str) -> Outcome<()> {
        let epoch = shared.seat.epoch().to_string();
        if let Some((teller, at)) = herald::heard(word) {
            // What we said ourselves we know.
            if teller != epoch && at.is_none_or(|at| shared.outlook.is_news(at)) {
                shared.bell.ring();
            }
            return Ok(());
        }
        match word.split_once(' ') {
            Some(("revoked", holder)) if holder == epoch => {
                let answered = timeout(LONGEST_BEAT, revocation::answer(shared, &self.client)).await;
                later(answered.map_err(|_| Fault::Pool("an answer took too long".to_owned()))?)?;
            }
            _ => {}
        }
        Ok(())
    }
}

/// Leaves what somebody else is in the way of for the next heartbeat.
fn later(outcome: Outcome<()>) -> Outcome<()> {
    match outcome {
        Err(fault) if fault.kind() == Kind::Conflict => {
            tracing::debug!(?fault, "claims have to wait for a heartbeat");
            Ok(())
        }
        other => other,
    }
}
