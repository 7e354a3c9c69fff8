//! The API requests of a pass, in the order in which they are sent.

use crate::units::SimDuration;

/// API requests: one after the other, or several at the same time.
///
/// They are counted from 1. Requests that are sent at the same time are answered independently of each other; the next
/// ones are sent when all are answered.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct Requests {
    /// Number of requests, whether they are sent at the same time, and how long nothing is sent before them.
    groups: Vec<(usize, bool, SimDuration)>,
    total: usize,
}

impl Requests {
    /// Adds requests, each sent when the one before is answered.
    pub fn in_turn(&mut self, count: usize) {
        match self.groups.last_mut() {
            Some((last, false, _)) => *last += count,
            _ if count > 0 => self.groups.push((count, false, SimDuration::ZERO)),
            _ => {}
        }
        self.total += count;
    }

    /// Adds requests that are sent at the same time.
    pub fn together(&mut self, count: usize) {
        if count > 0 {
            self.groups.push((count, true, SimDuration::ZERO));
        }
        self.total += count;
    }

    /// Nothing is sent for a while after the requests so far.
    pub fn pause(&mut self, pause: SimDuration) {
        self.groups.push((0, false, pause));
    }

    /// The number of requests so far.
    #[must_use]
    pub const fn len(&self) -> usize {
        self.total
    }

    /// Whether there are none.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.total == 0
    }

    /// Groups in their order: the number of requests, whether they are sent at the same time, and how long nothing is
    /// sent before them.
    #[must_use]
    pub fn groups(&self) -> &[(usize, bool, SimDuration)] {
        &self.groups
    }
}
