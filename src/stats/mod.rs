//! Statistics of a handful of runs or of many durations: pure functions of slices, nothing estimated by sketches.
//!
//! All answer for little data instead of failing: what has no answer for no value, or for one, is `None`. Values are
//! finite; a value that is not is a bug of the caller and panics where values are put in order. Sums run in the order
//! of the slice, so the same values in the same order give the same bits.
//!
//! Left out: weights, fits and tests of significance; comparisons are reported as intervals.

mod bootstrap;
#[cfg(test)]
pub(crate) mod coverage;
mod interval;
mod order;
mod sample;
mod student;

pub use bootstrap::{bootstrap_interval, paired_difference};
pub use interval::{Interval, mean_interval};
pub use order::median_interval;
pub use sample::{mean, median, quantile, quantile_of_sorted, sample_sd, sorted};
pub use student::t_quantile;
