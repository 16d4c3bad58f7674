//! The settler: writes what attempts led to, as many at a time as have ended meanwhile.

use std::sync::Arc;
use std::time::Duration;

use store::{Attempted, Store};
use tokio::sync::mpsc;
use tokio::time::sleep;
use tracing::{error, info};

use crate::under_way::{Begun, UnderWay};

/// An attempt that has ended.
pub(crate) struct Ended {
    pub(crate) attempted: Attempted,
    pub(crate) begun: Arc<Begun>,
}

/// What the settler needs.
pub(crate) struct Settler {
    pub(crate) store: Arc<dyn Store>,
    pub(crate) attempts: mpsc::UnboundedReceiver<Ended>,
    /// The most attempts of one write.
    pub(crate) batch: usize,
    pub(crate) under_way: Arc<UnderWay>,
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
            while let Err(error) = self.store.settle(attempts()).await {
                if !std::mem::replace(&mut troubled, true) {
                    error!(%error, attempts = ended.len(), "cannot settle; trying again");
                }
                sleep(BREATHER).await;
            }
            if troubled {
                info!(attempts = ended.len(), "settled after all");
            }
            // Only now: whoever hears of it and asks shall find it.
            for Ended { attempted, begun } in ended.drain(..) {
                self.under_way.tell_end(&begun, &attempted.attempt);
            }
        }
    }
}
