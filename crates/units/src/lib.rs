//! Quantities that carry their unit in the type: time, bytes, rates and shares.
//!
//! Every other module may import this one, and this one imports no other.
//!
//! Time is an integer so that equal times compare as equal. The order of simultaneous events then follows a stated
//! rule instead of the last bit of a sum, and no comparison needs an epsilon. A 64-bit nanosecond clock lasts 584
//! years.
//!
//! Text that people write always has a unit (`10 Gbit/s`, `200 MiB`, `90s`, `3%`); [`text`] reads and prints it.

pub mod display;
pub mod io;
mod quantity;
pub mod serial;
pub mod stats;
pub mod text;
mod time;

pub use display::{counted, in_thousands};
pub use quantity::{Bytes, BytesPerSec, Factor, PerSecond, Share};
pub use text::{UnitError, WithUnit};
pub use time::{SimDuration, SimTime};
