//! The API requests of a pass, in the order in which they are sent.

/// API requests: one after the other, or several at the same time.
///
/// They are counted from 1. Requests that are sent at the same time are answered independently of each other; the next
/// ones are sent when all are answered.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct Requests {
    /// Number of requests and whether they are sent at the same time.
    groups: Vec<(usize, bool)>,
    total: usize,
}

impl Requests {
    /// Adds requests, each sent when the one before is answered.
    pub fn in_turn(&mut self, count: usize) {
        match self.groups.last_mut() {
            Some((last, false)) => *last += count,
            _ if count > 0 => self.groups.push((count, false)),
            _ => {}
        }
        self.total += count;
    }

    /// Adds requests that are sent at the same time.
    pub fn together(&mut self, count: usize) {
        if count > 0 {
            self.groups.push((count, true));
        }
        self.total += count;
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

    /// Groups in their order: the number of requests, and whether they are sent at the same time.
    #[must_use]
    pub fn groups(&self) -> &[(usize, bool)] {
        &self.groups
    }
}
