//! Stalls: whether the machine itself stood still while something was measured.
//!
//! A thread that does nothing but sleep a millisecond at a time notes when it was woken much too late. What is late at such
//! a moment is late because nobody ran, on a machine that others share more than anywhere else.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

use engine::SystemClock;
use model::{Clock, Timestamp};

use super::usage;

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
    thread: JoinHandle<Seen>,
}

/// What was seen of the machine.
#[derive(Debug, Default)]
pub(super) struct Seen {
    pub(super) stalls: Vec<Stall>,
    /// Seconds of CPU that watching took: a thousand naps a second are as much as a hundred calls, and none of a
    /// scheduler's.
    pub(super) cpu: f64,
}

impl Watch {
    pub(super) fn start() -> Self {
        let over = Arc::new(AtomicBool::new(false));
        let ends = over.clone();
        let thread = std::thread::spawn(move || {
            let mut stalls = Vec::new();
            while !ends.load(Ordering::Relaxed) {
                let from = SystemClock.now();
                std::thread::sleep(NAP);
                let to = SystemClock.now();
                if Duration::try_from(from.duration_until(to)).is_ok_and(|slept| slept > NAP + STALL) {
                    stalls.push(Stall { from, to });
                }
            }
            Seen { stalls, cpu: usage::thread_cpu() }
        });
        Self { over, thread }
    }

    /// What was seen since the start.
    pub(super) fn end(self) -> Seen {
        self.over.store(true, Ordering::Relaxed);
        // It cannot panic.
        self.thread.join().unwrap_or_default()
    }
}
