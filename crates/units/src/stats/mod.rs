//! Statistics of a few runs or of many durations: pure and exact functions of slices.
//!
//! With too little data, functions return `None` instead of failing. Values must be finite; anything else is a bug in
//! the caller and panics where values are sorted. Only medians and other quantiles accept infinite values, which stand
//! for runs later or earlier than all others. Sums run in the order of the slice, so the same values in the same order
//! give the same bits.
//!
//! Left out: weights, tests of significance, and fits other than [`CensoredFit`]; comparisons are reported as
//! intervals.

mod best;
mod bootstrap;
mod censored;
#[cfg(any(test, feature = "testing"))]
pub mod draws;
mod interval;
mod order;
mod sample;
mod share;
mod smooth;
#[cfg(test)]
mod tests;

use std::cmp::Ordering;

pub use best::{Contender, with_the_best};
pub use bootstrap::{Indices, MOST_RESAMPLED, bootstrap_interval};
pub use censored::CensoredFit;
pub use interval::{Interval, mean_interval, t_quantile};
pub use order::{Prediction, median_interval, prediction_interval};
pub use sample::{mean, median, ordered, quantile_of_sorted, sample_sd, sorted};
pub use share::share_interval;
pub use smooth::smooth_quantile;

/// Compares pairs by their first numbers, and by their second numbers if the first are equal.
pub fn in_turn([a, then_a]: [f64; 2], [b, then_b]: [f64; 2]) -> Ordering {
    a.total_cmp(&b).then(then_a.total_cmp(&then_b))
}

/// Halves an interval `steps` times, towards the point where `is_above` becomes true. Returns its ends.
pub fn bisected(
    (mut low, mut high): (f64, f64),
    steps: u32,
    is_above: impl Fn(f64) -> bool,
) -> (f64, f64) {
    for _ in 0..steps {
        let middle = 0.5 * (low + high);
        if is_above(middle) {
            high = middle;
        } else {
            low = middle;
        }
    }
    (low, high)
}
