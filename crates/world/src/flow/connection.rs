//! A connection's share of its links: its own cap, and its weight.
//!
//! On a full link a connection of weight 2 gets twice the rate of a connection of weight 1. So rates divided by
//! weights are max-min fair, and a transfer of weight w is equivalent to w transfers of weight 1, each with 1/w of its
//! bytes and cap. Kelly, Maulloo and Tan (Rate control for communication networks, Journal of the Operational Research
//! Society 49, 1998) derive weighted shares; SimGrid's sharing penalties are their reciprocals.

use fleetsim_units::BytesPerSec;

/// The cap of one connection, and its weight relative to others.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Connection {
    /// The maximum rate; `None`: only the links limit the rate.
    pub cap: Option<BytesPerSec>,
    /// The connection's weight.
    pub weight: ShareWeight,
}

impl Connection {
    /// Returns the cap per unit of weight; infinite without a cap.
    pub(super) fn unit_cap(self) -> f64 {
        // Adding 0 makes a negative zero positive, so that all caps of zero are in one class.
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
    /// The weight of every connection if all are alike.
    pub const ONE: Self = Self(1.0);

    /// Number of steps in a weight of one.
    pub(super) const STEPS: u64 = 16;

    /// Returns the nearest weight, between a sixteenth and 1,024.
    #[must_use]
    pub fn near(weight: f64) -> Self {
        let one = Self::STEPS as f64;
        Self((weight * one).round().clamp(1.0, 1024.0 * one) / one)
    }

    /// Returns the weight as a number.
    #[must_use]
    pub const fn get(self) -> f64 {
        self.0
    }

    /// Returns the weight in sixteenths.
    pub(super) fn steps(self) -> u64 {
        (self.0 * Self::STEPS as f64) as u64
    }
}
