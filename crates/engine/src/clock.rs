//! The clocks: the machine's, the same corrected by the store's, and one that runs on simulated time.

use std::sync::Arc;

use jiff::SignedDuration;
use model::{Clock, Timestamp};
use store::ClockOffset;

/// The machine's clock.
#[derive(Debug, Clone, Copy, Default)]
pub struct SystemClock;

impl Clock for SystemClock {
    #[expect(clippy::disallowed_methods, reason = "this is the one clock that all others are handed")]
    fn now(&self) -> Timestamp {
        Timestamp::now()
    }
}

/// A clock that shows the time of the store, so that nodes whose machines disagree agree on what is due.
#[derive(Clone)]
pub struct CorrectedClock {
    machine: Arc<dyn Clock>,
    offset: ClockOffset,
}

impl CorrectedClock {
    /// A machine's clock, corrected by what the store measures.
    pub fn new(machine: Arc<dyn Clock>, offset: ClockOffset) -> Self {
        Self { machine, offset }
    }
}

impl Clock for CorrectedClock {
    fn now(&self) -> Timestamp {
        let now = self.machine.now();
        now.checked_add(self.offset.get()).unwrap_or(now)
    }
}

/// A clock that goes with tokio's: under paused time, days pass in seconds.
#[derive(Debug, Clone, Copy)]
pub struct SimulatedClock {
    epoch: Timestamp,
    since: tokio::time::Instant,
}

impl SimulatedClock {
    /// A clock that shows `epoch` now.
    pub fn starting_at(epoch: Timestamp) -> Self {
        Self { epoch, since: tokio::time::Instant::now() }
    }
}

impl Clock for SimulatedClock {
    fn now(&self) -> Timestamp {
        let passed = SignedDuration::try_from(self.since.elapsed()).unwrap_or(SignedDuration::MAX);
        self.epoch.checked_add(passed).unwrap_or(Timestamp::MAX)
    }
}
