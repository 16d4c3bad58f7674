//! An alarm that rings on the instant. tokio's timers count whole milliseconds and round up, which makes every occurrence
//! late by half of one and more; a thread that only waits is woken within a tenth.
//!
//! To wake somebody up takes more time than many a call. So it rings once a millisecond at the most: what is due between two
//! goes with the second.

use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use tokio::sync::Notify;
use tracing::warn;

/// How long it is silent after it has rung.
const REST: Duration = Duration::from_millis(1);

/// See the module. Dropped, it rings no more.
pub(crate) struct Alarm(Arc<Shared>);

struct Shared {
    set: Mutex<Set>,
    changed: Condvar,
    rung: Notify,
}

#[derive(Default)]
struct Set {
    at: Option<Instant>,
    /// Whether the thread looks by itself when it has rested.
    rests: bool,
    is_over: bool,
}

impl Alarm {
    /// An alarm that is not set; `None` where the machine has no thread left for it.
    pub(crate) fn start() -> Option<Self> {
        let shared = Arc::new(Shared { set: Mutex::default(), changed: Condvar::new(), rung: Notify::new() });
        let own = Arc::clone(&shared);
        match thread::Builder::new().name("alarm".to_owned()).spawn(move || own.run()) {
            Ok(_) => Some(Self(shared)),
            Err(error) => {
                warn!(%error, "there is no thread for an alarm: calls go up to a millisecond later");
                None
            }
        }
    }

    /// Rings so much later, and not when it was set for before.
    pub(crate) fn set(&self, ahead: Duration) {
        let at = now() + ahead;
        let mut set = self.0.set();
        let before = set.at.replace(at);
        // Where it is later, the thread finds out when it wakes up.
        if !set.rests && before.is_none_or(|before| at < before) {
            drop(set);
            self.0.changed.notify_one();
        }
    }

    /// Waits until it has rung.
    pub(crate) async fn rung(&self) {
        self.0.rung.notified().await;
    }
}

impl Drop for Alarm {
    fn drop(&mut self) {
        self.0.set().is_over = true;
        self.0.changed.notify_one();
    }
}

impl Shared {
    fn set(&self) -> MutexGuard<'_, Set> {
        self.set.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn run(&self) {
        let mut set = self.set();
        while !set.is_over {
            let left = set.at.map(|at| at.saturating_duration_since(now()));
            set = match left {
                None => self.changed.wait(set).unwrap_or_else(PoisonError::into_inner),
                Some(Duration::ZERO) => {
                    set.at = None;
                    set.rests = true;
                    drop(set);
                    self.rung.notify_one();
                    thread::sleep(REST);
                    let mut set = self.set();
                    set.rests = false;
                    set
                }
                Some(left) => self.changed.wait_timeout(set, left).unwrap_or_else(PoisonError::into_inner).0,
            };
        }
    }
}

#[expect(clippy::disallowed_methods, reason = "only how much passes counts, and tokio's may stand still")]
fn now() -> Instant {
    Instant::now()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn it_rings_when_it_is_due_and_not_before() {
        let alarm = Alarm::start().expect("there is a thread");
        for ahead in [0, 1, 7, 20].map(|parts| Duration::from_micros(300) * parts) {
            let began = now();
            alarm.set(ahead);
            alarm.rung().await;
            assert!(began.elapsed() >= ahead);
        }
    }

    #[tokio::test]
    async fn the_last_word_counts() {
        let alarm = Alarm::start().expect("there is a thread");
        let (soon, later, never) =
            (Duration::from_millis(5), Duration::from_millis(40), Duration::from_secs(3600));
        // Sooner than before, and later than before.
        for (first, then) in [(never, soon), (soon, later)] {
            let began = now();
            alarm.set(first);
            alarm.set(then);
            alarm.rung().await;
            assert!(began.elapsed() >= then);
        }
    }

    #[tokio::test]
    async fn its_thread_ends_with_it() {
        let alarm = Alarm::start().expect("there is a thread");
        alarm.set(Duration::from_secs(3600));
        let shared = Arc::downgrade(&alarm.0);
        drop(alarm);
        while shared.strong_count() > 0 {
            tokio::task::yield_now().await;
        }
    }
}
