//! The settler: writes what attempts led to, as many at a time as have ended meanwhile.

use std::sync::Arc;
use std::time::Duration;

use store::{Attempted, Store};
use tokio::sync::mpsc;
use tokio::time::sleep;
use tracing::{error, info};

/// What the settler needs.
pub(crate) struct Settler {
    pub(crate) store: Arc<dyn Store>,
    pub(crate) attempts: mpsc::UnboundedReceiver<Attempted>,
    /// The most attempts of one write.
    pub(crate) batch: usize,
}

/// How long a store that failed is left alone.
const BREATHER: Duration = Duration::from_millis(500);

impl Settler {
    /// Settles until all who make attempts are gone, and all attempts are written.
    pub(crate) async fn run(mut self) {
        let mut ended = Vec::with_capacity(self.batch);
        while self.attempts.recv_many(&mut ended, self.batch).await > 0 {
            let mut troubled = false;
            // What was called must be written down, however long the store is away.
            while let Err(error) = self.store.settle(ended.clone()).await {
                if !std::mem::replace(&mut troubled, true) {
                    error!(%error, attempts = ended.len(), "cannot settle; trying again");
                }
                sleep(BREATHER).await;
            }
            if troubled {
                info!(attempts = ended.len(), "settled after all");
            }
            ended.clear();
        }
    }
}
