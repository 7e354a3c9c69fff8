//! Confidence bounds of a quantile and of a share, from few runs and without an assumption on their distribution.
//!
//! - The r-th least of n values is a bound of the p-quantile, and the probability that it is wrong is a tail of the
//!   binomial distribution (Conover, "Practical Nonparametric Statistics" (1999), section 3.2). Ties make it smaller.
//! - A bound that is computed again after every few runs is wrong more often than a single one. So bounds are computed
//!   at fixed numbers of runs ([`looks`]), and the first j looks may together use j / (j + 1) of the probability of
//!   error. A look uses what the ranks really need, and leaves the rest to later looks.
//! - For paired runs, McNemar's exact test compares how often only one of both is below a threshold (McNemar,
//!   Psychometrika 12, 1947). It removes the noise that both share. The threshold is the unknown quantile, so the test
//!   must succeed for every value of its confidence interval.

use crate::stats::{bisected, sorted};

/// Fewest runs after which a mean or a quantile is judged.
pub(super) const FIRST_LOOK: usize = 10;

/// The numbers of runs at which means and quantiles are judged: 10, 13, 17, 22, …, by a quarter more each time.
pub(super) fn looks() -> impl Iterator<Item = usize> {
    std::iter::successors(Some(FIRST_LOOK), |runs| Some(runs + runs.div_ceil(4)))
}

/// The looks of a race with at most `most` runs per candidate: those below, and the last one at `most`.
pub(super) fn looks_to(most: usize) -> impl Iterator<Item = usize> {
    looks()
        .take_while(move |look| *look < most)
        .chain((most >= FIRST_LOOK).then_some(most))
}

/// The first look at `runs` runs or more.
pub(super) fn look_from(runs: usize) -> usize {
    looks()
        .find(|look| *look >= runs)
        .expect("looks have no end")
}

/// The ranks that bound the `p`-quantile at each look.
#[derive(Clone, Debug)]
pub(super) struct QuantileRanks {
    /// Number of runs, and the places of the lower and of the upper bound among the sorted values.
    looks: Vec<(usize, Option<usize>, Option<usize>)>,
}

impl QuantileRanks {
    /// Ranks for up to `most` runs. Over all looks, the lower bounds are wrong with probability at most `low_error`,
    /// and the upper bounds with `high_error`.
    pub(super) fn new(p: f64, low_error: f64, high_error: f64, most: usize) -> Self {
        let (mut low_spent, mut high_spent) = (0.0, 0.0);
        let look = |(look, runs): (usize, usize)| {
            let below = place_above(runs, 1.0 - p, (low_error, &mut low_spent), look)
                .map(|place| runs - 1 - place);
            (
                runs,
                below,
                place_above(runs, p, (high_error, &mut high_spent), look),
            )
        };
        Self {
            looks: (1..).zip(looks_to(most)).map(look).collect(),
        }
    }

    /// The bounds from the values of the first runs; infinite where there is none.
    pub(super) fn bounds(&self, values: &[f64]) -> (f64, f64) {
        let (mut low, mut high) = (f64::NEG_INFINITY, f64::INFINITY);
        for &(runs, below, above) in self.looks.iter().filter(|(runs, ..)| *runs <= values.len()) {
            let mut sorted = values[..runs].to_vec();
            sorted.sort_by(f64::total_cmp);
            low = below.map_or(low, |place| low.max(sorted[place]));
            high = above.map_or(high, |place| high.min(sorted[place]));
        }
        (low, high)
    }

    /// The first look that has an upper bound. `None`: none of them has.
    pub(super) fn first_upper(&self) -> Option<usize> {
        self.looks
            .iter()
            .find(|(_, _, above)| above.is_some())
            .map(|(runs, ..)| *runs)
    }
}

/// The least place (from 0) of `runs` sorted values that is an upper bound of the `p`-quantile, as the error allows
/// that looks share, of which earlier ones have `spent` a part. `look` counts from 1.
fn place_above(runs: usize, p: f64, (error, spent): (f64, &mut f64), look: usize) -> Option<usize> {
    let available = error * look as f64 / (look as f64 + 1.0) - *spent;
    // The value at a place is below the quantile only if more than `place` values are.
    let places: Vec<usize> = (0..runs).collect();
    let place = places.partition_point(|place| at_least(place + 1, runs, p) > available);
    (place < runs).then(|| {
        *spent += at_least(place + 1, runs, p);
        place
    })
}

/// The ranks for [`is_greater_in_pairs`]: half of its error is for the interval of the quantile, a quarter at each end.
pub(super) fn paired_ranks(p: f64, error: f64, most: usize) -> QuantileRanks {
    QuantileRanks::new(p, error / 4.0, error / 4.0, most)
}

/// Whether paired values show that the `p`-quantile of `other` is greater than that of `base`; wrong with probability
/// at most `error` over all looks. Both have the same length and finite values. `ranks` are those of [`paired_ranks`].
pub(super) fn is_greater_in_pairs(
    base: &[f64],
    other: &[f64],
    ranks: &QuantileRanks,
    error: f64,
) -> bool {
    let looks = ranks
        .looks
        .iter()
        .map(|(runs, ..)| *runs)
        .take_while(|runs| *runs <= base.len());
    (1_u32..).zip(looks).any(|(look, runs)| {
        let (low, high) = ranks.bounds(&base[..runs]);
        let test = error / 2.0 / (f64::from(look) * (f64::from(look) + 1.0));
        (low <= high) && high.is_finite() && low.is_finite() && {
            let (base, other) = (&base[..runs], &other[..runs]);
            thresholds(base, other, low, high)
                .into_iter()
                .all(|threshold| mcnemar(base, other, threshold) <= test)
        }
    })
}

/// The thresholds in an interval at which the counts of [`mcnemar`] change. Between two values, the counts are those
/// just above the lower one, which the second part of a threshold stands for.
fn thresholds(base: &[f64], other: &[f64], low: f64, high: f64) -> Vec<(f64, bool)> {
    let inside = base
        .iter()
        .chain(other)
        .copied()
        .filter(|value| (low..=high).contains(value));
    let mut values = sorted(&inside.chain([low, high]).collect::<Vec<f64>>());
    values.dedup();
    let above = values
        .iter()
        .filter(|value| **value < high)
        .map(|value| (*value, true));
    values
        .iter()
        .map(|value| (*value, false))
        .chain(above)
        .collect()
}

/// The probability of so many pairs with only `base` below a threshold, if `other` is below it at least as often.
/// `base` counts as below when it is less, `other` when it is at most the threshold: so that the test is valid for
/// distributions with atoms.
fn mcnemar(base: &[f64], other: &[f64], (threshold, is_above): (f64, bool)) -> f64 {
    let (mut only_base, mut only_other) = (0, 0);
    for (base, other) in base.iter().zip(other) {
        let base_below = *base < threshold || (is_above && *base <= threshold);
        match (base_below, *other <= threshold) {
            (true, false) => only_base += 1,
            (false, true) => only_other += 1,
            _ => {}
        }
    }
    at_least(only_base, only_base + only_other, 0.5)
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
        let others = if i == n {
            0.0
        } else {
            (n - i) as f64 * libm::log1p(-p)
        };
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
    bisected((0.0, 1.0), 60, |middle| at_least(kept, n, middle) >= error).0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn means_and_quantiles_are_judged_from_ten_runs_on_as_documented() {
        let all: Vec<usize> = looks().take(12).collect();
        assert_eq!(all, [10, 13, 17, 22, 28, 35, 44, 55, 69, 87, 109, 137]);
        let listed = all
            .iter()
            .take(8)
            .map(ToString::to_string)
            .collect::<Vec<_>>()
            .join(", ");
        assert!(
            include_str!("../../../docs/plan.md").contains(&listed),
            "docs/plan.md lists the looks: {listed}"
        );
    }

    #[test]
    fn looks_never_use_more_than_the_whole_error() {
        for (p, error) in [(0.5, 0.05), (0.95, 0.01), (0.99, 0.05)] {
            let mut spent = 0.0;
            let mut last = None;
            for (look, runs) in (1..).zip(looks().take(14)) {
                let place = place_above(runs, p, (error, &mut spent), look);
                assert!(spent <= error, "{p}: {spent} of {error}");
                assert!(
                    place.is_some() || last.is_none(),
                    "{p}: a bound at {runs} runs, as before"
                );
                last = place.or(last);
            }
            assert!(last.is_some() || p > 0.98, "{p}");
        }
    }

    #[test]
    fn a_bound_of_the_95th_percentile_needs_59_runs_in_a_single_look() {
        let place = |runs: usize| place_above(runs, 0.95, (0.1, &mut 0.0), 1);
        assert_eq!(
            (place(58), place(59)),
            (None, Some(58)),
            "0.95^59 = 0.0485 and 0.95^58 = 0.0510"
        );
        // Of ten values, the least and the greatest bound a median: 2^-10 < 0.001.
        let ranks = QuantileRanks::new(0.5, 0.002, 0.002, 10);
        assert_eq!(
            ranks.bounds(&[5.0, 1.0, 4.0, 2.0, 9.0, 3.0, 8.0, 6.0, 7.0, 10.0]),
            (1.0, 10.0)
        );
        assert_eq!(
            ranks.bounds(&[5.0; 9]),
            (f64::NEG_INFINITY, f64::INFINITY),
            "nine runs have none"
        );
    }

    #[test]
    fn pairs_show_a_difference_that_is_small_beside_the_noise_of_both() {
        let mut draws = crate::stats::draws::Draws::new(4);
        let base: Vec<f64> = (0..109).map(|_| 1000.0 + 50.0 * draws.normal()).collect();
        let other: Vec<f64> = base
            .iter()
            .map(|base| base + 25.0 + 2.0 * draws.normal())
            .collect();
        let paired = paired_ranks(0.5, 0.05, 109);
        assert!(is_greater_in_pairs(&base, &other, &paired, 0.05));
        assert!(!is_greater_in_pairs(&other, &base, &paired, 0.05));
        let ranks = QuantileRanks::new(0.5, 0.025, 0.025, 109);
        assert!(
            ranks.bounds(&other).0 < ranks.bounds(&base).1,
            "without pairs they overlap"
        );
    }

    #[test]
    fn equal_quantiles_of_paired_runs_are_rarely_called_different() {
        // Both have the median 90: one always, the other with 90 or 130 at equal chances.
        const ROUNDS: u32 = 400;
        let mut draws = crate::stats::draws::Draws::new(5);
        let (mut wrong, paired) = (0, paired_ranks(0.5, 0.05, 55));
        for _ in 0..ROUNDS {
            let base: Vec<f64> = (0..55)
                .map(|_| if draws.unit() < 0.5 { 90.0 } else { 130.0 })
                .collect();
            let other = vec![90.0; 55];
            wrong += u32::from(is_greater_in_pairs(&other, &base, &paired, 0.05));
            wrong += u32::from(is_greater_in_pairs(&base, &other, &paired, 0.05));
        }
        assert!(wrong <= 20, "{wrong} of {ROUNDS}");
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
            assert!(
                (found - expected).abs() < 1e-9,
                "P(X >= {k} | {n}, {p}) = {found}, not {expected}"
            );
        }
    }

    #[test]
    fn all_of_n_runs_allow_the_nth_root_of_the_error() {
        for (n, error) in [(20_usize, 0.05_f64), (10, 0.05), (59, 0.05), (299, 0.05)] {
            let expected = libm::pow(error, 1.0 / n as f64);
            assert!(
                (share_at_least(n, n, error) - expected).abs() < 1e-9,
                "{n} of {n}"
            );
        }
        // Clopper and Pearson's own table: 9 of 10, one-sided 95%, gives 0.606.
        assert!((share_at_least(9, 10, 0.05) - 0.6058).abs() < 5e-4);
        assert!(share_at_least(0, 10, 0.05) <= 0.0);
    }
}
