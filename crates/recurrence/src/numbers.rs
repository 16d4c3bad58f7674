//! A set of small numbers, as one machine word.

use std::fmt;

/// A set of numbers below 64: minutes, hours, months or weekdays.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Numbers(u64);

impl Numbers {
    /// The numbers from `low` to `high`, both included.
    pub(crate) const fn range(low: u32, high: u32) -> Self {
        Self((u64::MAX >> (63 - (high - low))) << low)
    }

    pub(crate) const fn from_bits(bits: u64) -> Self {
        Self(bits)
    }

    /// Just one number.
    pub(crate) const fn one(number: u32) -> Self {
        Self(1 << number)
    }

    pub(crate) const fn insert(&mut self, number: u32) {
        self.0 |= 1 << number;
    }

    /// Whether `number` is in the set.
    pub const fn contains(self, number: u32) -> bool {
        number < 64 && self.0 >> number & 1 == 1
    }

    /// How many numbers are in the set.
    pub const fn len(self) -> u32 {
        self.0.count_ones()
    }

    /// Whether there is none.
    pub const fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// The smallest number that is at least `low`.
    pub(crate) const fn at_least(self, low: u32) -> Option<u32> {
        if low > 63 {
            return None;
        }
        let rest = self.0 >> low;
        if rest == 0 { None } else { Some(low + rest.trailing_zeros()) }
    }

    /// How many of them are less than `high`.
    pub(crate) const fn below(self, high: u32) -> u32 {
        if high > 63 { self.len() } else { (self.0 & ((1 << high) - 1)).count_ones() }
    }

    /// The numbers, smallest first.
    pub fn iter(self) -> impl DoubleEndedIterator<Item = u32> + Clone {
        (0..64).filter(move |&number| self.contains(number))
    }
}

impl FromIterator<u32> for Numbers {
    fn from_iter<I: IntoIterator<Item = u32>>(numbers: I) -> Self {
        let mut set = Self::default();
        for number in numbers {
            set.insert(number);
        }
        set
    }
}

impl fmt::Debug for Numbers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.iter()).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::Numbers;

    #[test]
    fn ranges_and_the_next_number() {
        assert_eq!(Numbers::range(0, 59).len(), 60);
        assert_eq!(Numbers::range(0, 63).len(), 64);
        let set: Numbers = [5, 17, 5].into_iter().collect();
        assert_eq!(set.iter().collect::<Vec<_>>(), [5, 17]);
        assert_eq!(set.at_least(0), Some(5));
        assert_eq!(set.at_least(6), Some(17));
        assert_eq!(set.at_least(18), None);
        assert_eq!(set.at_least(64), None);
        assert!(!set.contains(64));
        assert_eq!([0, 5, 6, 17, 18, 63, 64].map(|high| set.below(high)), [0, 0, 1, 1, 2, 2, 2]);
        assert_eq!(Numbers::range(0, 63).below(63), 63);
    }
}
