//! The settler: writes what attempts led to, as many at a time as have ended meanwhile.

use std::sync::Arc;
use std::time::Duration;

use model::{Attempt, Fate};
use store::{Attempted, Settlement, Store};
use tokio::sync::mpsc;
use tokio::time::{Instant, sleep};
use tracing::{error, info};

use crate::numbers::{CollectionNumbers, Numbers};
use crate::under_way::{Begun, UnderWay};

/// An attempt that has ended.
pub(crate) struct Ended {
    pub(crate) attempted: Attempted,
    pub(crate) begun: Arc<Begun>,
    pub(crate) collection: Arc<CollectionNumbers>,
}

/// What the settler needs.
pub(crate) struct Settler {
    pub(crate) store: Arc<dyn Store>,
    pub(crate) attempts: mpsc::UnboundedReceiver<Ended>,
    /// The most attempts of one write.
    pub(crate) batch: usize,
    pub(crate) under_way: Arc<UnderWay>,
    pub(crate) numbers: Arc<Numbers>,
}

/// How long a store that failed is left alone.
const BREATHER: Duration = Duration::from_millis(500);

impl Settler {
    /// Settles until all who make attempts are gone, and all attempts are written.
    pub(crate) async fn run(mut self) {
        let mut ended = Vec::with_capacity(self.batch);
        while self.attempts.recv_many(&mut ended, self.batch).await > 0 {
            let mut troubled = false;
            let attempts = || ended.iter().map(|ended: &Ended| ended.attempted.clone()).collect();
            // What was called must be written down, however long the store is away.
            let began = Instant::now();
            let settlements = loop {
                let error = match self.store.settle(attempts()).await {
                    Ok(settlements) => break settlements,
                    Err(error) => error,
                };
                self.numbers.failed_settlements.count();
                if !std::mem::replace(&mut troubled, true) {
                    error!(%error, attempts = ended.len(), "cannot settle; trying again");
                }
                sleep(BREATHER).await;
            };
            self.numbers.settlements.time(began.elapsed());
            self.numbers.settled.add(ended.len() as u64);
            if troubled {
                info!(attempts = ended.len(), "settled after all");
            }
            // Only now: whoever hears of it and asks shall find it.
            for (Ended { attempted, begun, collection }, settlement) in ended.drain(..).zip(settlements) {
                if let Settlement::Done(fate) = settlement {
                    collection.settle(fate);
                    log(&begun, &attempted.attempt, fate);
                }
                self.under_way.tell_end(&begun, &attempted.attempt, settlement);
            }
        }
    }
}

/// One line for every occurrence that is done with. Its target is a name of its own, so that a filter can leave it out
/// or pick it alone.
fn log(begun: &Begun, attempt: &Attempt, fate: Fate) {
    let (collection, execution) = (&begun.job.collection, &begun.execution);
    let started_at = execution.started_at.unwrap_or(begun.started_at);
    info!(
        target: "occurrence",
        subscription = collection.subscription,
        resource_group = collection.group,
        collection = collection.name,
        job = begun.job.name,
        execution = %execution.tag.simple(),
        cause = execution.cause.name(),
        scheduled = %execution.occurrence.at,
        lateness_ms = execution.occurrence.at.duration_until(started_at).as_millis() as i64,
        duration_ms = started_at.duration_until(attempt.ended_at).as_millis() as i64,
        attempts = execution.attempt + 1,
        error_action = execution.depth > 0,
        outcome = if attempt.outcome.success { "succeeded" } else { "failed" },
        status = fate.name(),
        message = attempt.outcome.message,
    );
}
