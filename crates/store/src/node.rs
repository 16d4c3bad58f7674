//! Nodes: who shares a store.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use jiff::SignedDuration;
use model::Timestamp;

/// A node, as the store knows it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Node {
    /// Its name.
    pub name: String,
    /// The number of its start: higher than that of any node that started before.
    pub epoch: i64,
    /// The version that it runs.
    pub version: String,
    /// When it started, or joined again.
    pub started_at: Timestamp,
    /// How long its lease holds; negative when it has run out and nobody has noticed yet.
    pub lease_left: SignedDuration,
    /// How far the store's clock is ahead of its own.
    pub clock_offset: SignedDuration,
    /// How many executions it holds.
    pub claims: u64,
    /// Whether it is the one that was asked.
    pub is_this: bool,
}

/// How far the store's clock is ahead of this machine's, as it was last measured.
#[derive(Debug, Clone, Default)]
pub struct ClockOffset(Arc<AtomicI64>);

impl ClockOffset {
    /// What to add to this machine's clock.
    pub fn get(&self) -> SignedDuration {
        SignedDuration::from_nanos(self.0.load(Ordering::Relaxed))
    }

    /// Takes a measurement: the store's time was read between two moments of this machine's clock. What is known already
    /// stays where the measurement allows it, so that the clock does not tremble.
    pub(crate) fn measure(&self, before: Timestamp, there: Timestamp, after: Timestamp) {
        let (least, most) = (after.duration_until(there), before.duration_until(there));
        let known = self.get();
        if known < least || known > most {
            let middle = least.saturating_add(most.checked_sub(least).unwrap_or_default() / 2);
            self.0.store(i64::try_from(middle.as_nanos()).unwrap_or(0), Ordering::Relaxed);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_clock_is_corrected_only_as_far_as_is_certain() {
        let at = |ms: i64| Timestamp::from_millisecond(1_800_000_000_000 + ms).unwrap();
        let offset = ClockOffset::default();
        offset.measure(at(0), at(3), at(10));
        assert_eq!(offset.get(), SignedDuration::ZERO, "it may be right");
        offset.measure(at(0), at(2_005), at(10));
        assert_eq!(offset.get(), SignedDuration::from_millis(2_000));
        offset.measure(at(0), at(2_001), at(10));
        assert_eq!(offset.get(), SignedDuration::from_millis(2_000), "within what was measured");
        offset.measure(at(0), at(-700), at(2));
        assert_eq!(offset.get(), SignedDuration::from_millis(-701));
    }
}
