//! Quantities that carry their unit in the type: time, bytes, rates and shares.
//!
//! Everything else in the crate may import this module; it imports nothing of ours.
//!
//! Why is time an integer? So that equal times are equal: the order of simultaneous events is then decided by a
//! stated rule and not by the last bit of a sum, and no comparison needs an epsilon. A nanosecond clock in 64 bits
//! lasts 584 years.
//!
//! Text that people write always has a unit (`10 Gbit/s`, `200 MiB`, `90s`, `3%`); [`text`] reads and prints it.

mod quantity;
pub mod serial;
pub mod text;
mod time;

pub use quantity::{Bytes, BytesPerSec, Factor, PerSecond, Share};
pub use text::UnitError;
pub use time::{SimDuration, SimTime};
