//! How much, and how long?
//!
//! Counters, gauges and histograms that anybody may count with at any time: atomics, no lock, nothing allocated while
//! counting. What they are called and how they are told to the outside is for whoever reads them.
//!
//! ```
//! use measure::{Histogram, Unit};
//! use std::time::Duration;
//!
//! let lateness = Histogram::new(Unit::Seconds, &[1_000_000, 10_000_000]);
//! lateness.time(Duration::from_millis(3));
//! lateness.time(Duration::from_secs(1));
//! let read = lateness.read();
//! assert_eq!((read.counts, read.sum), (vec![0, 1, 1], 1_003_000_000));
//! ```
//!
//! A crate of its own, because the store, the engine and the server count alike and none of them is below all others.
//! And our own, because all that a library would add (a registry, labels, encodings) would be in the way of counting
//! where it is cheap: whoever counts holds the counter.

#![forbid(unsafe_code)]

use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};
use std::time::Duration;

/// Counts what happened.
#[derive(Debug, Default)]
pub struct Counter(AtomicU64);

impl Counter {
    /// One more.
    pub fn count(&self) {
        self.add(1);
    }

    /// So many more.
    pub fn add(&self, more: u64) {
        self.0.fetch_add(more, Ordering::Relaxed);
    }

    /// How many so far.
    pub fn get(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

/// Holds how many there are now.
#[derive(Debug, Default)]
pub struct Gauge(AtomicI64);

impl Gauge {
    /// So many there are.
    pub fn set(&self, value: usize) {
        self.0.store(i64::try_from(value).unwrap_or(i64::MAX), Ordering::Relaxed);
    }

    /// How many there are.
    pub fn get(&self) -> i64 {
        self.0.load(Ordering::Relaxed)
    }
}

/// What a histogram is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unit {
    /// Time; values and bounds are nanoseconds.
    Seconds,
    /// Things, which are counted.
    Items,
}

/// Counts values by how large they are.
#[derive(Debug)]
pub struct Histogram {
    unit: Unit,
    /// Ascending; each is the largest value of its bucket.
    bounds: &'static [u64],
    /// One more than there are bounds.
    counts: Box<[Counter]>,
    sum: Counter,
}

/// A histogram at a moment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Read {
    /// How many values are in each bucket; the last has those beyond all bounds.
    pub counts: Vec<u64>,
    /// The sum of all values.
    pub sum: u64,
}

impl Histogram {
    /// A histogram with these bounds, which ascend.
    pub fn new(unit: Unit, bounds: &'static [u64]) -> Self {
        debug_assert!(bounds.is_sorted(), "bounds ascend");
        let counts = (0..=bounds.len()).map(|_| Counter::default()).collect();
        Self { unit, bounds, counts, sum: Counter::default() }
    }

    /// Counts a value.
    pub fn add(&self, value: u64) {
        self.sum.add(value);
        let bucket = self.bounds.partition_point(|bound| *bound < value);
        if let Some(count) = self.counts.get(bucket) {
            count.count();
        }
    }

    /// Counts how long something took.
    pub fn time(&self, took: Duration) {
        self.add(u64::try_from(took.as_nanos()).unwrap_or(u64::MAX));
    }

    /// What it is about.
    pub fn unit(&self) -> Unit {
        self.unit
    }

    /// Its bounds.
    pub fn bounds(&self) -> &'static [u64] {
        self.bounds
    }

    /// What was counted so far.
    pub fn read(&self) -> Read {
        Read { counts: self.counts.iter().map(Counter::get).collect(), sum: self.sum.get() }
    }
}

/// Bounds in nanoseconds for what takes a disk or a network: from 100 microseconds to 10 seconds.
pub const QUICK: &[u64] = &[
    100_000,
    250_000,
    500_000,
    1_000_000,
    2_500_000,
    5_000_000,
    10_000_000,
    25_000_000,
    50_000_000,
    100_000_000,
    250_000_000,
    1_000_000_000,
    10_000_000_000,
];

/// Bounds in nanoseconds for what people wait for: from a millisecond to five minutes.
pub const PATIENT: &[u64] = &[
    1_000_000,
    5_000_000,
    10_000_000,
    25_000_000,
    50_000_000,
    100_000_000,
    250_000_000,
    500_000_000,
    1_000_000_000,
    2_500_000_000,
    5_000_000_000,
    10_000_000_000,
    30_000_000_000,
    60_000_000_000,
    300_000_000_000,
];

/// Bounds for how many there are in a batch.
pub const BATCH: &[u64] = &[1, 2, 5, 10, 25, 50, 100, 250, 500, 1_000];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_is_in_the_first_bucket_that_is_not_too_small() {
        let sizes = Histogram::new(Unit::Items, &[1, 10, 100]);
        for value in [0, 1, 2, 10, 11, 100, 101, 5_000] {
            sizes.add(value);
        }
        assert_eq!(sizes.read(), Read { counts: vec![2, 2, 2, 2], sum: 5_225 });
    }

    #[test]
    fn nothing_is_lost_where_many_count() {
        let (counter, sizes) = (Counter::default(), Histogram::new(Unit::Items, BATCH));
        std::thread::scope(|scope| {
            for _ in 0..8 {
                scope.spawn(|| {
                    for value in 0..1_000 {
                        counter.count();
                        sizes.add(value);
                    }
                });
            }
        });
        let read = sizes.read();
        assert_eq!((counter.get(), read.counts.iter().sum::<u64>(), read.sum), (8_000, 8_000, 8 * 499_500));
    }

    #[test]
    fn bounds_ascend() {
        for bounds in [QUICK, PATIENT, BATCH] {
            assert!(bounds.windows(2).all(|pair| pair[0] < pair[1]), "{bounds:?}");
        }
    }
}
