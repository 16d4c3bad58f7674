//! A bell that wakes whoever waits for changes. It carries no data: look again when it rings.

use tokio::sync::watch;

/// Rings after changes; nobody who subscribed before looking can miss it.
#[derive(Debug)]
pub struct Bell(watch::Sender<u64>);

impl Bell {
    /// A bell that has not rung.
    pub fn new() -> Self {
        Self(watch::Sender::new(0))
    }

    /// Rings it.
    pub fn ring(&self) {
        self.0.send_modify(|rings| *rings = rings.wrapping_add(1));
    }

    /// Subscribes: `changed` on the answer completes when the bell rings after this call.
    pub fn listen(&self) -> watch::Receiver<u64> {
        self.0.subscribe()
    }
}

impl Default for Bell {
    fn default() -> Self {
        Self::new()
    }
}
