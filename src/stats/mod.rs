//! Statistics of a few runs or of many durations: pure and exact functions of slices.
//!
//! With too little data, functions return `None` instead of failing. Values must be finite; another value is a bug of
//! the caller and panics where values are sorted. Only medians and other quantiles take infinite values, which stand for
//! runs that are later or earlier than all others. Sums run in the order of the slice, so the same values in the same
//! order give the same bits.
//!
//! Left out: weights, fits and tests of significance; comparisons are reported as intervals.

mod best;
mod bootstrap;
mod interval;
mod order;
mod sample;
mod share;
#[cfg(test)]
pub(crate) mod tests;

pub use best::{Contender, with_the_best};
pub use bootstrap::{Indices, bootstrap_interval};
pub use interval::{Interval, mean_interval, t_quantile};
pub use order::{Prediction, median_interval, prediction_interval};
pub use sample::{mean, median, ordered, quantile_of_sorted, sample_sd, sorted};
pub use share::share_interval;
