//! The exact interval of a share, e.g. of runs that finish or in which one variant beats another.
//!
//! Clopper and Pearson, "The use of confidence or fiducial limits illustrated in the case of the binomial", Biometrika
//! 26 (1934): the ends are the shares for which at least this many successes, or at most this many, have a probability
//! of half the error. They are quantiles of beta distributions, found by halving an interval. The interval covers at
//! least its level for every share and every number of trials.
//!
//! A tie counts as half a success. For a fractional count, the quantiles are evaluated at that count. The score of a
//! trial then varies less than a binomial one with the same mean, so the interval still covers its level; a test
//! enumerates this for up to twenty trials.

use super::bisected;
use super::interval::{Interval, assert_level, incomplete_beta};

/// Returns the interval of the share of successes, at `level` or more. `successes` is a multiple of 0.5. `None`
/// without trials.
///
/// # Panics
/// If `level` is not above 0 and below 1, or there are more successes than trials.
#[must_use]
pub fn share_interval(successes: f64, trials: usize, level: f64) -> Option<Interval> {
    assert_level(level);
    let all = trials as f64;
    assert!(
        (0.0..=all).contains(&successes),
        "{successes} successes of {trials}"
    );
    if trials == 0 {
        return None;
    }
    let tail = (1.0 - level) / 2.0;
    let low = if successes > 0.0 {
        beta_quantile(tail, successes, all - successes + 1.0)
    } else {
        0.0
    };
    let high = if successes < all {
        beta_quantile(1.0 - tail, successes + 1.0, all - successes)
    } else {
        1.0
    };
    Some(Interval {
        estimate: successes / all,
        low,
        high,
    })
}

/// Returns the value that a beta-distributed variable stays below with probability `p`.
fn beta_quantile(p: f64, a: f64, b: f64) -> f64 {
    // Sixty halvings use all bits of a share.
    let (low, high) = bisected((0.0, 1.0), 60, |middle| {
        incomplete_beta(middle, 1.0 - middle, a, b) >= p
    });
    0.5 * (low + high)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn assert_ends(successes: f64, trials: usize, low: f64, high: f64, tolerance: f64) {
        let found = share_interval(successes, trials, 0.95).expect("there are trials");
        assert!(
            (found.low - low).abs() < tolerance && (found.high - high).abs() < tolerance,
            "{found:?}"
        );
    }

    #[test]
    fn the_ends_equal_the_printed_tables() {
        // Values with four decimals, as in tables of binomial confidence limits.
        assert_ends(1.0, 10, 0.0025, 0.4450, 6e-5);
        assert_ends(5.0, 10, 0.1871, 0.8129, 6e-5);
        assert_ends(10.0, 20, 0.2720, 0.7280, 6e-5);
        assert_ends(19.0, 20, 0.7513, 0.9987, 6e-5);
    }

    #[test]
    fn the_interval_end_has_a_closed_form_if_all_or_none_succeed() {
        // Zero successes have probability (1 - p)^n, which is 2.5% at the upper end; n successes have p^n.
        for trials in [1, 3, 20, 59, 400] {
            let end = libm::pow(0.025, 1.0 / trials as f64);
            assert_ends(0.0, trials, 0.0, 1.0 - end, 1e-9);
            assert_ends(trials as f64, trials, end, 1.0, 1e-9);
        }
        assert_eq!(share_interval(0.0, 0, 0.95), None);
    }

    /// Returns the probability that the interval contains the true share, if each trial is a success, a tie or a
    /// failure.
    fn coverage(trials: usize, success: f64, tie: f64) -> f64 {
        let ends: Vec<Interval> = (0..=2 * trials)
            .map(|halves| {
                share_interval(halves as f64 / 2.0, trials, 0.95).expect("there are trials")
            })
            .collect();
        let failure = 1.0 - success - tie;
        let factorial = |n: usize| (1..=n).map(|factor| factor as f64).product::<f64>();
        let share = success + tie / 2.0;
        let mut covered = 0.0;
        for successes in 0..=trials {
            for ties in 0..=trials - successes {
                let failures = trials - successes - ties;
                let interval = ends[2 * successes + ties];
                if interval.low <= share + 1e-12 && share - 1e-12 <= interval.high {
                    let ways = factorial(trials)
                        / factorial(successes)
                        / factorial(ties)
                        / factorial(failures);
                    covered += ways
                        * libm::pow(success, successes as f64)
                        * libm::pow(tie, ties as f64)
                        * libm::pow(failure, failures as f64);
                }
            }
        }
        covered
    }

    #[test]
    fn with_and_without_ties_the_coverage_is_at_least_the_level() {
        for trials in [3, 5, 10, 20] {
            for success in 0..=20 {
                for tie in (0..=20 - success).step_by(4) {
                    let found = coverage(trials, f64::from(success) / 20.0, f64::from(tie) / 20.0);
                    assert!(
                        found >= 0.95,
                        "{trials} trials, {success}/20 ahead, {tie}/20 ties: {found}"
                    );
                }
            }
        }
    }

    #[test]
    fn ties_narrow_the_interval() {
        // Twenty ties count as ten successes of twenty.
        let ties = share_interval(10.0, 20, 0.95).expect("there are trials");
        assert!(
            ties.low > 0.27 && ties.high < 0.73 && ties.contains(0.5),
            "{ties:?}"
        );
        let [less, half, more] =
            [3.0, 3.5, 4.0].map(|count| share_interval(count, 20, 0.95).expect("there are trials"));
        assert!(
            less.low < half.low
                && half.low < more.low
                && less.high < half.high
                && half.high < more.high
        );
    }
}
