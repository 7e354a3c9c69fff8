//! Amounts of data, rates, and shares of a whole.

use std::fmt;
use std::iter::Sum;
use std::ops::{Add, AddAssign, Sub};

use super::time::SimDuration;

/// An amount of data in bytes: not bits, not MiB.
#[derive(Clone, Copy, Debug, Default, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub struct Bytes {
    bytes: u64,
}

/// A rate of data in bytes per second; finite and not negative.
#[derive(Clone, Copy, Debug, Default, PartialEq, PartialOrd)]
pub struct BytesPerSec {
    number: f64,
}

/// A rate of countable things, such as requests, per second; finite and not negative.
#[derive(Clone, Copy, Debug, Default, PartialEq, PartialOrd)]
pub struct PerSecond {
    number: f64,
}

/// A share of a whole or a probability: between 0 and 1.
#[derive(Clone, Copy, Debug, Default, PartialEq, PartialOrd)]
pub struct Share {
    number: f64,
}

/// A plain number greater than 0, such as a slowdown factor.
#[derive(Clone, Copy, Debug, PartialEq, PartialOrd)]
pub struct Factor {
    number: f64,
}

impl Bytes {
    /// 0 bytes.
    pub const ZERO: Self = Self::new(0);

    /// Creates an amount of `bytes` bytes.
    #[must_use]
    pub const fn new(bytes: u64) -> Self {
        Self { bytes }
    }

    /// Returns the number of bytes.
    #[must_use]
    pub const fn get(self) -> u64 {
        self.bytes
    }

    /// Returns the time to move this much data at `rate`, rounded up to the next nanosecond so that the transfer is
    /// complete by then. `None` if `rate` is zero.
    #[must_use]
    pub fn time_at(self, rate: BytesPerSec) -> Option<SimDuration> {
        (rate.number > 0.0)
            .then(|| SimDuration::from_nanos((self.bytes as f64 / rate.number * 1e9).ceil() as u64))
    }

    /// Multiplies this amount by `factor`, rounded to the nearest byte.
    #[must_use]
    pub fn mul_f64(self, factor: f64) -> Self {
        Self::new((self.bytes as f64 * factor).round() as u64)
    }

    /// Subtracts `other`; the result is at least 0.
    #[must_use]
    pub const fn saturating_sub(self, other: Self) -> Self {
        Self::new(self.bytes.saturating_sub(other.bytes))
    }
}

impl BytesPerSec {
    /// 0 bytes per second.
    pub const ZERO: Self = Self::new(0.0);

    /// The rate of a link that no fleet can fill, 10⁶ Gbit/s. Its text is `unlimited`.
    pub const UNLIMITED: Self = Self::from_gbit(1e6);

    /// Creates a rate of `gbit` · 10⁹ bits per second.
    ///
    /// # Panics
    /// If `gbit` is negative or not finite.
    #[must_use]
    pub const fn from_gbit(gbit: f64) -> Self {
        Self::new(gbit * 1e9 / 8.0)
    }

    /// Creates a rate of `mbit` · 10⁶ bits per second.
    ///
    /// # Panics
    /// If `mbit` is negative or not finite.
    #[must_use]
    pub const fn from_mbit(mbit: f64) -> Self {
        Self::new(mbit * 1e6 / 8.0)
    }
}

impl PerSecond {
    /// 0 per second.
    pub const ZERO: Self = Self::new(0.0);
}

impl Share {
    /// A share of 0.
    pub const NONE: Self = Self::new(0.0);
    /// A share of 1.
    pub const ALL: Self = Self::new(1.0);
}

/// Conversions between a plain number, from 0 to a maximum, and its unit.
macro_rules! number {
    ($($type:ty, $most:expr, $refused:literal;)*) => {$(
        impl $type {
            /// Creates a quantity from a number in this unit.
            ///
            /// # Panics
            #[doc = concat!("If the number does not fit: ", $refused, ".")]
            #[must_use]
            pub const fn new(number: f64) -> Self {
                assert!(0.0 <= number && number <= $most, $refused);
                Self { number }
            }

            /// Returns the number in this unit.
            #[must_use]
            pub const fn get(self) -> f64 {
                self.number
            }
        }
    )*};
}

number! {
    BytesPerSec, f64::MAX, "a data rate must be finite and at least 0";
    PerSecond, f64::MAX, "a rate must be finite and at least 0";
    Share, 1.0, "a share must be between 0 and 1";
    Factor, f64::MAX, "a factor must be finite and at least 0";
}

impl Add for Bytes {
    type Output = Self;
    fn add(self, other: Self) -> Self {
        Self::new(self.bytes + other.bytes)
    }
}

impl AddAssign for Bytes {
    fn add_assign(&mut self, other: Self) {
        *self = *self + other;
    }
}

impl Sub for Bytes {
    type Output = Self;
    /// # Panics
    /// If `other` is more than `self`.
    fn sub(self, other: Self) -> Self {
        let rest = self.bytes.checked_sub(other.bytes);
        Self::new(rest.expect("an amount of data must not become negative"))
    }
}

impl Sum for Bytes {
    fn sum<I: Iterator<Item = Self>>(amounts: I) -> Self {
        amounts.fold(Self::ZERO, Add::add)
    }
}

impl fmt::Display for Factor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.number, f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_transfer_is_complete_once_its_time_has_passed() {
        // 2^30 B / (10e9 / 8 B/s) = 0.858_993_459_2 s
        let time = Bytes::new(1 << 30)
            .time_at(BytesPerSec::from_gbit(10.0))
            .expect("the rate is not zero");
        assert_eq!(time.as_nanos(), 858_993_460, "rounded up, never down");
        assert_eq!(Bytes::new(1).time_at(BytesPerSec::ZERO), None);
    }

    #[test]
    #[should_panic(expected = "a data rate must be finite")]
    fn an_infinite_rate_is_rejected() {
        let _ = BytesPerSec::new(f64::INFINITY);
    }
}
