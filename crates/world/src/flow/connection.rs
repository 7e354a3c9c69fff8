//! One connection among those on its links: its own cap, and its weight.
//!
//! On a full link a connection of weight 2 gets twice the rate of one of weight 1. So rates divided by weights are
//! max-min fair, and a transfer of weight w is as good as w transfers of weight 1 with a w-th of its bytes and cap
//! each. Kelly, Maulloo and Tan (Rate control for communication networks, Journal of the Operational Research Society
//! 49, 1998) derive weighted shares; SimGrid's sharing penalties are their reciprocals.

use fleetsim_units::BytesPerSec;

/// The cap of one connection, and its weight among others.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Connection {
    /// The most that it carries; `None`: only its links limit it.
    pub cap: Option<BytesPerSec>,
    /// Its weight.
    pub weight: ShareWeight,
}

impl Connection {
    /// Its cap for each unit of weight; infinite without one.
    pub(super) fn unit_cap(self) -> f64 {
        // Adding 0 makes a negative zero positive: caps of zero are one class.
        self.cap
            .map_or(f64::INFINITY, |cap| cap.get() / self.weight.get() + 0.0)
    }
}

impl From<Option<BytesPerSec>> for Connection {
    fn from(cap: Option<BytesPerSec>) -> Self {
        Self {
            cap,
            weight: ShareWeight::ONE,
        }
    }
}

/// The weight of a connection: a whole number of sixteenths, so that sums are exact in any order.
#[derive(Clone, Copy, Debug, PartialEq, PartialOrd)]
pub struct ShareWeight(f64);

impl Default for ShareWeight {
    fn default() -> Self {
        Self::ONE
    }
}

impl ShareWeight {
    /// The weight of connections that are alike.
    pub const ONE: Self = Self(1.0);

    /// Steps of a weight of one.
    pub(super) const STEPS: u64 = 16;

    /// The nearest weight, between a sixteenth and 1,024.
    #[must_use]
    pub fn near(weight: f64) -> Self {
        let one = Self::STEPS as f64;
        Self((weight * one).round().clamp(1.0, 1024.0 * one) / one)
    }

    /// As a number.
    #[must_use]
    pub const fn get(self) -> f64 {
        self.0
    }

    /// In sixteenths.
    pub(super) fn steps(self) -> u64 {
        (self.0 * Self::STEPS as f64) as u64
    }
}
