//! Whether the engine is alive: each of its parts shows that it goes round, and whoever asks is told which does not.
//!
//! A part that has ended, as by a panic, is told at once. One that does not go round is told when that has lasted longer than
//! any of its work can: its store answers nothing, not even an error, or something in it waits that never should.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::time::Instant;

/// How long a part may take for one round. A store that is away says so well within it.
const PATIENCE: Duration = Duration::from_secs(60);

/// The parts of an engine, as whoever watches sees them.
#[derive(Debug)]
pub struct Pulse {
    began: Instant,
    parts: Mutex<Vec<Arc<Part>>>,
    /// Whether parts may end.
    is_stopping: AtomicBool,
}

/// What is wrong with a part.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ailing {
    /// Which.
    pub part: &'static str,
    /// How long it has not gone round; `None` where it has ended.
    pub stuck_for: Option<Duration>,
}

#[derive(Debug)]
struct Part {
    name: &'static str,
    patience: Duration,
    /// When it went round last, in milliseconds since the beginning.
    beat: AtomicU64,
    /// Whether it waits for work, which may take any time.
    is_idle: AtomicBool,
    has_ended: AtomicBool,
}

/// A part's own end of it. Dropped, it says that the part has ended.
#[derive(Debug)]
pub(crate) struct Beat {
    began: Instant,
    part: Arc<Part>,
}

impl Default for Pulse {
    fn default() -> Self {
        Self { began: Instant::now(), parts: Mutex::default(), is_stopping: AtomicBool::new(false) }
    }
}

impl Pulse {
    /// Parts that have ended though nobody told them to, or do not go round.
    pub fn ailing(&self) -> Vec<Ailing> {
        if self.is_stopping.load(Ordering::Relaxed) {
            return Vec::new();
        }
        let now = self.began.elapsed();
        let parts = self.parts.lock().unwrap_or_else(PoisonError::into_inner);
        parts.iter().filter_map(|part| part.ailing(now)).collect()
    }

    /// A part that begins. Left alone, it sleeps no longer than `longest_nap`.
    pub(crate) fn part(&self, name: &'static str, longest_nap: Duration) -> Beat {
        let part = Arc::new(Part {
            name,
            patience: PATIENCE + longest_nap,
            beat: AtomicU64::default(),
            is_idle: AtomicBool::new(false),
            has_ended: AtomicBool::new(false),
        });
        self.parts.lock().unwrap_or_else(PoisonError::into_inner).push(Arc::clone(&part));
        let beat = Beat { began: self.began, part };
        beat.beat();
        beat
    }

    /// From here on parts end because they should.
    pub(crate) fn stop(&self) {
        self.is_stopping.store(true, Ordering::Relaxed);
    }
}

impl Part {
    fn ailing(&self, now: Duration) -> Option<Ailing> {
        if self.has_ended.load(Ordering::Relaxed) {
            return Some(Ailing { part: self.name, stuck_for: None });
        }
        let since = now.saturating_sub(Duration::from_millis(self.beat.load(Ordering::Relaxed)));
        let is_stuck = !self.is_idle.load(Ordering::Relaxed) && since > self.patience;
        is_stuck.then_some(Ailing { part: self.name, stuck_for: Some(since) })
    }
}

impl Beat {
    /// It goes round.
    pub(crate) fn beat(&self) {
        let at = u64::try_from(self.began.elapsed().as_millis()).unwrap_or(u64::MAX);
        self.part.beat.store(at, Ordering::Relaxed);
        self.part.is_idle.store(false, Ordering::Relaxed);
    }

    /// It waits for work.
    pub(crate) fn idle(&self) {
        self.part.is_idle.store(true, Ordering::Relaxed);
    }
}

impl Drop for Beat {
    fn drop(&mut self) {
        self.part.has_ended.store(true, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use std::panic::catch_unwind;

    use super::*;

    const NAP: Duration = Duration::from_secs(1);

    #[tokio::test(start_paused = true)]
    async fn a_part_that_does_not_go_round_is_told_and_one_that_waits_for_work_is_not() {
        let pulse = Pulse::default();
        let (busy, idle) = (pulse.part("busy", NAP), pulse.part("idle", NAP));
        idle.idle();
        tokio::time::advance(PATIENCE + NAP).await;
        assert_eq!(pulse.ailing(), []);
        tokio::time::advance(NAP).await;
        let stuck_for = Some(PATIENCE + 2 * NAP);
        assert_eq!(pulse.ailing(), [Ailing { part: "busy", stuck_for }]);
        busy.beat();
        assert_eq!(pulse.ailing(), [], "it went on after all");
        idle.beat();
        tokio::time::advance(PATIENCE + 2 * NAP).await;
        let names: Vec<_> = pulse.ailing().iter().map(|ailing| ailing.part).collect();
        assert_eq!(names, ["busy", "idle"], "it has work now");
    }

    #[tokio::test]
    async fn a_part_that_ends_is_told_unless_it_should() {
        let pulse = Pulse::default();
        let part = pulse.part("part", NAP);
        let other = pulse.part("other", NAP);
        assert!(catch_unwind(std::panic::AssertUnwindSafe(move || drop_by_panic(part))).is_err());
        assert_eq!(pulse.ailing(), [Ailing { part: "part", stuck_for: None }]);
        pulse.stop();
        drop(other);
        assert_eq!(pulse.ailing(), []);
    }

    fn drop_by_panic(_part: Beat) {
        panic!("as a mistake in a part would");
    }
}
