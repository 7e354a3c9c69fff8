//! Confidence bounds from few runs: on a mean, on a share, and on a quantile.
//!
//! A test that is repeated after every few runs, and stops the first time it succeeds, is wrong more often than a
//! single test. So looks happen at fixed numbers of runs, and the probability of error is split over them by
//! Bonferroni's inequality: the j-th look gets 1 / (j (j + 1)) of it, which sums to 1 over any number of looks (as in
//! the races of Maron, Moore, "Hoeffding races", NIPS 1993, with Student's t in the place of Hoeffding's bound, as
//! Birattari et al. do in "A racing algorithm for configuring metaheuristics", GECCO 2002).

use crate::stats::{mean, sample_sd, t_quantile};

/// The share of a statement's probability of error that its `look`-th look may use, counted from 1.
pub(super) fn share_of_look(look: usize) -> f64 {
    1.0 / (look as f64 * (look as f64 + 1.0))
}

/// A two-sided range of the mean, each side wrong with probability at most `error`: mean ± t s / √n. `floor` is the
/// smallest standard deviation used: a few equal values do not prove that all are equal. `None` for fewer than two.
pub(super) fn mean_range(values: &[f64], error: f64, floor: f64) -> Option<(f64, f64)> {
    let estimate = mean(values)?;
    let sd = sample_sd(values)?.max(floor);
    let degrees = u32::try_from(values.len() - 1).expect("fewer than 2^32 runs");
    let half = t_quantile(1.0 - error, degrees) * sd / (values.len() as f64).sqrt();
    Some((estimate - half, estimate + half))
}

/// The probability that at least `k` of `n` independent trials succeed, each with probability `p`.
pub(super) fn at_least(k: usize, n: usize, p: f64) -> f64 {
    if k == 0 {
        return 1.0;
    }
    if p <= 0.0 || k > n {
        return 0.0;
    }
    let ln_choose = |i: usize| {
        let ln_factorial = |x: usize| libm::lgamma(x as f64 + 1.0);
        ln_factorial(n) - ln_factorial(i) - ln_factorial(n - i)
    };
    let term = |i: usize| {
        let others = if i == n { 0.0 } else { (n - i) as f64 * libm::log1p(-p) };
        libm::exp(ln_choose(i) + i as f64 * libm::log(p) + others)
    };
    (k..=n).map(term).sum::<f64>().min(1.0)
}

/// Lower confidence bound of a share, given `kept` of `n` runs: the share for which `kept` or more have probability
/// `error` (Clopper, Pearson, Biometrika 26, 1934; one-sided). With `kept = n`
/// it is the n-th root of `error`, from which comes the rule of three.
pub(super) fn share_at_least(kept: usize, n: usize, error: f64) -> f64 {
    if kept == 0 {
        return 0.0;
    }
    let (mut low, mut high) = (0.0, 1.0);
    for _ in 0..60 {
        let middle = 0.5 * (low + high);
        if at_least(kept, n, middle) < error {
            low = middle;
        } else {
            high = middle;
        }
    }
    low
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_looks_share_one_error_among_them() {
        let sum: f64 = (1..=1000).map(share_of_look).sum();
        // The sum telescopes to 1 - 1/1001.
        assert!((sum - 1000.0 / 1001.0).abs() < 1e-12);
    }

    #[test]
    fn binomial_tails_are_those_of_the_tables() {
        for (k, n, p, expected) in [
            (0, 5, 0.3, 1.0),
            (1, 1, 0.01, 0.01),
            (2, 2, 0.05, 0.0025),
            // 1 - 0.9^10
            (1, 10, 0.1, 0.651_321_559_9),
            // ten heads in ten
            (10, 10, 0.5, 0.000_976_562_5),
            // P(X >= 8 | 10, 1/2) = 56 / 1024
            (8, 10, 0.5, 0.054_687_5),
            (1, 3, 1.0, 1.0),
        ] {
            let found = at_least(k, n, p);
            assert!((found - expected).abs() < 1e-9, "P(X >= {k} | {n}, {p}) = {found}, not {expected}");
        }
    }

    #[test]
    fn all_of_n_runs_allow_the_nth_root_of_the_error() {
        for (n, error) in [(20_usize, 0.05_f64), (10, 0.05), (59, 0.05), (299, 0.05)] {
            let expected = error.powf(1.0 / n as f64);
            assert!((share_at_least(n, n, error) - expected).abs() < 1e-9, "{n} of {n}");
        }
        // Clopper and Pearson's own table: 9 of 10, one-sided 95%, gives 0.606.
        assert!((share_at_least(9, 10, 0.05) - 0.6058).abs() < 5e-4);
        assert!(share_at_least(0, 10, 0.05) <= 0.0);
    }
}
