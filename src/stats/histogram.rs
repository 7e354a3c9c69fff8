//! Counts of whole numbers in bins of equal width.
//!
//! Whole numbers only (nanoseconds, bytes, counts): a value then belongs to its bin exactly, and the histograms of
//! several runs add up to the same counts in any order.

use std::num::NonZeroU64;

/// How many values fell into each bin: bin `i` holds `i · width` to `(i + 1) · width`, the upper end excluded.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Histogram {
    width: NonZeroU64,
    counts: Vec<u64>,
    beyond: u64,
}

impl Histogram {
    /// No values yet, `bins` bins of `width` each, from 0 on.
    #[must_use]
    pub fn new(width: NonZeroU64, bins: usize) -> Self {
        Self { width, counts: vec![0; bins], beyond: 0 }
    }

    /// Counts one value.
    pub fn add(&mut self, value: u64) {
        let bin = usize::try_from(value / self.width).ok().and_then(|bin| self.counts.get_mut(bin));
        *bin.unwrap_or(&mut self.beyond) += 1;
    }

    /// Counts all that `other` has counted.
    ///
    /// # Panics
    /// If the bins differ.
    pub fn merge(&mut self, other: &Self) {
        assert_eq!((self.width, self.counts.len()), (other.width, other.counts.len()), "histograms of unlike bins");
        for (count, more) in self.counts.iter_mut().zip(&other.counts) {
            *count += more;
        }
        self.beyond += other.beyond;
    }

    /// The width of each bin.
    #[must_use]
    pub const fn width(&self) -> u64 {
        self.width.get()
    }

    /// How many values each bin holds.
    #[must_use]
    pub fn counts(&self) -> &[u64] {
        &self.counts
    }

    /// How many values lie beyond the last bin.
    #[must_use]
    pub const fn beyond(&self) -> u64 {
        self.beyond
    }

    /// How many values were counted, those beyond the last bin included.
    #[must_use]
    pub fn total(&self) -> u64 {
        self.counts.iter().sum::<u64>() + self.beyond
    }
}

impl Extend<u64> for Histogram {
    fn extend<I: IntoIterator<Item = u64>>(&mut self, values: I) {
        values.into_iter().for_each(|value| self.add(value));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::collection::vec;
    use proptest::prelude::*;

    fn histogram(values: impl IntoIterator<Item = u64>) -> Histogram {
        let mut histogram = Histogram::new(NonZeroU64::new(10).expect("ten"), 3);
        histogram.extend(values);
        histogram
    }

    #[test]
    fn a_bin_holds_its_lower_end_and_not_its_upper() {
        let found = histogram([0, 9, 10, 29, 30, u64::MAX]);
        assert_eq!((found.counts(), found.beyond(), found.total()), ([2, 1, 1].as_slice(), 2, 6));
        assert_eq!(histogram([]).total(), 0);
    }

    #[test]
    #[should_panic(expected = "unlike bins")]
    fn only_like_bins_merge() {
        histogram([]).merge(&Histogram::new(NonZeroU64::MIN, 3));
    }

    proptest! {
        #[test]
        fn parts_add_up_to_the_whole_in_any_order(a in vec(0u64..50, 0..30), b in vec(0u64..50, 0..30)) {
            let whole = histogram(a.iter().chain(&b).copied());
            for (first, second) in [(&a, &b), (&b, &a)] {
                let mut merged = histogram(first.iter().copied());
                merged.merge(&histogram(second.iter().copied()));
                prop_assert_eq!(&merged, &whole);
            }
        }
    }
}
