//! Simulated time: points and spans in whole nanoseconds.

use std::ops::{Add, AddAssign, Mul, Sub};

const NANOS_PER_SEC: f64 = 1e9;

/// A point in simulated time: whole nanoseconds since the start of the run.
#[derive(Clone, Copy, Debug, Default, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub struct SimTime {
    nanos: u64,
}

/// A span of simulated time: whole nanoseconds, never negative.
#[derive(Clone, Copy, Debug, Default, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub struct SimDuration {
    nanos: u64,
}

/// Conversions to and from whole nanoseconds, for points and spans.
macro_rules! nanoseconds {
    ($($type:ty),*) => {$(
        impl $type {
            /// Creates a time of `nanos` nanoseconds.
            #[must_use]
            pub const fn from_nanos(nanos: u64) -> Self {
                Self { nanos }
            }

            /// Creates a time of `secs` seconds.
            #[must_use]
            pub const fn from_secs(secs: u64) -> Self {
                Self::from_nanos(secs * 1_000_000_000)
            }

            /// Returns whole nanoseconds.
            #[must_use]
            pub const fn as_nanos(self) -> u64 {
                self.nanos
            }

            /// Returns the number of seconds, for output and rates; never for comparing times.
            #[must_use]
            pub fn as_secs_f64(self) -> f64 {
                self.nanos as f64 / NANOS_PER_SEC
            }
        }
    )*};
}

nanoseconds!(SimTime, SimDuration);

impl SimTime {
    /// The start of the run.
    pub const ZERO: Self = Self::from_nanos(0);
    /// A time that no run reaches (584 years).
    pub const MAX: Self = Self::from_nanos(u64::MAX);

    /// Returns the span from `earlier` to `self`.
    ///
    /// # Panics
    /// If `earlier` is later than `self`, which is a bug in the caller.
    #[must_use]
    pub fn since(self, earlier: Self) -> SimDuration {
        assert!(
            earlier.nanos <= self.nanos,
            "time must not go backwards: from {earlier} to {self}"
        );
        SimDuration::from_nanos(self.nanos - earlier.nanos)
    }

    /// Returns the span from `earlier` to `self`, or zero if `earlier` is later.
    #[must_use]
    pub const fn saturating_since(self, earlier: Self) -> SimDuration {
        SimDuration::from_nanos(self.nanos.saturating_sub(earlier.nanos))
    }
}

impl SimDuration {
    /// A span of 0 ns.
    pub const ZERO: Self = Self::from_nanos(0);
    /// A span longer than any run (584 years).
    pub const MAX: Self = Self::from_nanos(u64::MAX);

    /// Creates a span of `millis` milliseconds.
    #[must_use]
    pub const fn from_millis(millis: u64) -> Self {
        Self::from_nanos(millis * 1_000_000)
    }

    /// Creates a span of `mins` minutes.
    #[must_use]
    pub const fn from_mins(mins: u64) -> Self {
        Self::from_secs(mins * 60)
    }

    /// Creates a span of `hours` hours.
    #[must_use]
    pub const fn from_hours(hours: u64) -> Self {
        Self::from_secs(hours * 3600)
    }

    /// Creates a span of `secs` seconds, rounded to the nearest nanosecond. Negative values and NaN give zero; values
    /// that do not fit give [`SimDuration::MAX`].
    #[must_use]
    pub fn from_secs_f64(secs: f64) -> Self {
        // A float-to-integer cast saturates, and maps NaN to 0.
        Self::from_nanos((secs * NANOS_PER_SEC).round() as u64)
    }

    /// Returns whether this span is 0.
    #[must_use]
    pub const fn is_zero(self) -> bool {
        self.nanos == 0
    }

    /// Multiplies this span by `factor`, rounded to the nearest nanosecond.
    #[must_use]
    pub fn mul_f64(self, factor: f64) -> Self {
        Self::from_nanos((self.nanos as f64 * factor).round() as u64)
    }
}

impl Add<SimDuration> for SimTime {
    type Output = Self;
    /// Adds a span. The sum saturates at [`SimTime::MAX`], which no run reaches.
    fn add(self, span: SimDuration) -> Self {
        Self::from_nanos(self.nanos.saturating_add(span.nanos))
    }
}

impl Sub for SimTime {
    type Output = SimDuration;
    /// Returns the span from `earlier` to `self`; see [`SimTime::since`].
    fn sub(self, earlier: Self) -> SimDuration {
        self.since(earlier)
    }
}

impl SimDuration {
    /// Subtracts `other`; the result is at least zero.
    #[must_use]
    pub const fn saturating_sub(self, other: Self) -> Self {
        Self::from_nanos(self.nanos.saturating_sub(other.nanos))
    }
}

impl Add for SimDuration {
    type Output = Self;
    fn add(self, other: Self) -> Self {
        Self::from_nanos(self.nanos.saturating_add(other.nanos))
    }
}

impl AddAssign for SimDuration {
    fn add_assign(&mut self, other: Self) {
        *self = *self + other;
    }
}

impl Mul<u64> for SimDuration {
    type Output = Self;
    fn mul(self, count: u64) -> Self {
        Self::from_nanos(self.nanos.saturating_mul(count))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_and_points_in_time_add_up() {
        let start = SimTime::from_secs(5);
        let end = start + SimDuration::from_millis(1500);
        assert_eq!(end - start, SimDuration::from_millis(1500));
        assert_eq!(end.as_nanos(), 6_500_000_000);
        assert_eq!(start.saturating_since(end), SimDuration::ZERO);
    }

    #[test]
    #[should_panic(expected = "time must not go backwards")]
    fn going_back_in_time_panics() {
        let _ = SimTime::ZERO - SimTime::from_secs(1);
    }

    #[test]
    fn invalid_seconds_are_clamped() {
        for (secs, expected, why) in [
            (-1.0, SimDuration::ZERO, "negative"),
            (f64::NAN, SimDuration::ZERO, "not a number"),
            (1e300, SimDuration::MAX, "does not fit"),
            (
                1.5e-9,
                SimDuration::from_nanos(2),
                "nearest nanosecond, halves up",
            ),
        ] {
            assert_eq!(SimDuration::from_secs_f64(secs), expected, "{why}");
        }
    }
}
