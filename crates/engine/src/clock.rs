//! The clocks: the machine's, and one that runs on simulated time. A store that nodes share has one of its own.

use jiff::SignedDuration;
use model::{Clock, Timestamp};

/// The machine's clock.
#[derive(Debug, Clone, Copy, Default)]
pub struct SystemClock;

impl Clock for SystemClock {
    #[expect(clippy::disallowed_methods, reason = "this is the one clock that all others are handed")]
    fn now(&self) -> Timestamp {
        Timestamp::now()
    }

    fn is_of_the_machine(&self) -> bool {
        true
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
