//! Stalls: whether the machine itself stood still while something was measured.
//!
//! A thread that does nothing but sleep a millisecond at a time notes when it was woken much too late. What is late at such
//! a moment is late because nobody ran, on a machine that others share more than anywhere else.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use engine::SystemClock;
use model::{Clock, Timestamp};

const NAP: Duration = Duration::from_millis(1);

/// A nap that took longer by this is a stall: far more than a scheduler of the system needs to give everybody a turn.
const STALL: Duration = Duration::from_millis(20);

/// When the machine stood still.
#[derive(Debug, Clone, Copy)]
pub(super) struct Stall {
    pub(super) from: Timestamp,
    pub(super) to: Timestamp,
}

impl Stall {
    pub(super) fn milliseconds(&self) -> f64 {
        self.from.duration_until(self.to).as_secs_f64() * 1e3
    }
}

/// Watches for stalls from its start to its end.
pub(super) struct Watch {
    over: Arc<AtomicBool>,
    stalls: Arc<Mutex<Vec<Stall>>>,
    thread: JoinHandle<()>,
}

impl Watch {
    pub(super) fn start() -> Self {
        let over = Arc::new(AtomicBool::new(false));
        let stalls = Arc::new(Mutex::new(Vec::new()));
        let (ends, noted) = (over.clone(), stalls.clone());
        let thread = std::thread::spawn(move || {
            while !ends.load(Ordering::Relaxed) {
                let from = SystemClock.now();
                std::thread::sleep(NAP);
                let to = SystemClock.now();
                if Duration::try_from(from.duration_until(to)).is_ok_and(|slept| slept > NAP + STALL) {
                    noted.lock().unwrap_or_else(PoisonError::into_inner).push(Stall { from, to });
                }
            }
        });
        Self { over, stalls, thread }
    }

    /// The stalls of all the time since the start.
    pub(super) fn end(self) -> Vec<Stall> {
        self.over.store(true, Ordering::Relaxed);
        // It cannot panic; and if it did, it has noted what it saw.
        let _ = self.thread.join();
        std::mem::take(&mut self.stalls.lock().unwrap_or_else(PoisonError::into_inner))
    }
}
