//! The parts of a time in a cron expression of go-quartz: seconds, minutes, hours, months and years.
//!
//! Follows `CommonNode` in `internal/csm/common_node.go` of reugn/go-quartz v0.15.2.

/// A part of a time that counts up through all values, or through the values of the expression.
#[derive(Clone, Debug)]
pub(super) struct QuartzPart<'c> {
    pub(super) value: i64,
    least: i64,
    most: i64,
    values: &'c [i64],
}

/// The result of moving a part to a valid value.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Moved {
    Unchanged,
    Advanced,
    Overflowed,
}

impl<'c> QuartzPart<'c> {
    pub(super) const fn new(value: i64, least: i64, most: i64, values: &'c [i64]) -> Self {
        Self {
            value,
            least,
            most,
            values,
        }
    }

    pub(super) const fn least(&self) -> i64 {
        self.least
    }

    /// Moves to the next value. Returns whether the part wraps around to its first value.
    pub(super) fn next(&mut self) -> bool {
        if self.values.is_empty() {
            self.value += 1;
            let overflows = self.value > self.most;
            if overflows {
                self.value = self.least;
            }
            return overflows;
        }
        match self.values.iter().find(|value| **value > self.value) {
            Some(value) => {
                self.value = *value;
                false
            }
            None => {
                self.value = self.values[0];
                true
            }
        }
    }

    pub(super) fn reset(&mut self) {
        self.value = self.most;
        self.next();
    }

    pub(super) fn is_valid(&self) -> bool {
        let is_within = (self.least..=self.most).contains(&self.value);
        is_within && (self.values.is_empty() || self.values.contains(&self.value))
    }

    pub(super) fn find_forward(&mut self) -> Moved {
        if self.is_valid() {
            Moved::Unchanged
        } else if self.next() {
            Moved::Overflowed
        } else {
            Moved::Advanced
        }
    }
}

/// A month and its year, which determine the length of the month.
#[derive(Clone, Debug)]
pub(super) struct QuartzMonth<'c> {
    pub(super) month: QuartzPart<'c>,
    pub(super) year: QuartzPart<'c>,
}
