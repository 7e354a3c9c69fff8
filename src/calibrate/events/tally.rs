//! Counts of the inputs that were read, and of the inputs that were left out, by reason.

use std::collections::BTreeMap;

/// Counts for one kind of input.
#[derive(Clone, Debug, Default, PartialEq)]
pub(in crate::calibrate) struct Tally {
    /// Number of events that were read.
    pub(in crate::calibrate) events: u64,
    left_out: BTreeMap<&'static str, u64>,
}

impl Tally {
    /// Counts an input that was left out for this reason.
    pub(in crate::calibrate) fn add(&mut self, reason: &'static str) {
        self.add_many(reason, 1);
    }

    /// Counts an input that was left out for this reason, and returns `None`.
    pub(in crate::calibrate) fn skip<T>(&mut self, reason: &'static str) -> Option<T> {
        self.add(reason);
        None
    }

    /// Counts several inputs that were left out for this reason.
    pub(in crate::calibrate) fn add_many(&mut self, reason: &'static str, count: usize) {
        if count > 0 {
            *self.left_out.entry(reason).or_default() += count as u64;
        }
    }

    /// Returns the reasons with their counts, in alphabetical order.
    pub(in crate::calibrate) fn left_out(&self) -> impl Iterator<Item = (&'static str, u64)> {
        self.left_out
            .iter()
            .map(|(reason, count)| (*reason, *count))
    }
}
