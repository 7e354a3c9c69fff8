//! Confidence bounds of a quantile and of a share, from few runs and without assumptions about their distribution.
//!
//! - The r-th smallest of n values bounds the p-quantile. The probability that the bound is wrong is a tail of the
//!   binomial distribution (Conover, "Practical Nonparametric Statistics" (1999), section 3.2). Ties decrease this
//!   probability.
//! - A bound that is computed again after every few runs is wrong more often than a single one. Bounds are therefore
//!   computed only at fixed numbers of runs ([`looks`]), and the first j looks together may use j / (j + 1) of the
//!   error probability ([`ErrorBudget`]). A look uses only the error that its ranks need, and leaves the rest to later
//!   looks.
//! - For paired runs, McNemar's exact test compares how often only one of the two values is below a threshold
//!   (McNemar, Psychometrika 12, 1947). This removes the noise that both runs share. The threshold is the unknown
//!   quantile, so the test must succeed for every value in the quantile's confidence interval.

use crate::stats::{bisected, sorted};

/// Minimum number of runs after which a mean or a quantile is evaluated.
pub(super) const FIRST_LOOK: usize = 10;

/// Returns the numbers of runs at which means and quantiles are evaluated: 10, 13, 17, 22, …, growing by a quarter
/// each time.
pub(super) fn looks() -> impl Iterator<Item = usize> {
    std::iter::successors(Some(FIRST_LOOK), |runs| Some(runs + runs.div_ceil(4)))
}

/// Returns the looks in a race with at most `most` runs per candidate: those below `most`, and a last one at `most`.
pub(super) fn looks_to(most: usize) -> impl Iterator<Item = usize> {
    looks()
        .take_while(move |look| *look < most)
        .chain((most >= FIRST_LOOK).then_some(most))
}

/// Returns the number of runs of the first look that has at least `runs` runs.
pub(super) fn look_from(runs: usize) -> usize {
    looks()
        .find(|look| *look >= runs)
        .expect("looks have no end")
}

/// A lower and an upper confidence bound. A missing bound is infinite.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Bounds {
    /// The lower bound.
    pub(super) low: f64,
    /// The upper bound.
    pub(super) high: f64,
}

impl Bounds {
    /// Bounds that are both missing.
    pub(super) const NONE: Self = Self {
        low: f64::NEG_INFINITY,
        high: f64::INFINITY,
    };

    /// Returns true if both bounds exist and a value lies between them.
    fn is_interval(self) -> bool {
        self.low <= self.high && self.low.is_finite() && self.high.is_finite()
    }
}

/// The error probability that all looks at a growing sample share.
#[derive(Clone, Copy, Debug)]
struct ErrorBudget {
    /// The total error probability of all looks.
    total: f64,
    /// The error probability that earlier looks have spent.
    spent: f64,
}

impl ErrorBudget {
    /// Creates an unspent budget.
    const fn new(total: f64) -> Self {
        Self { total, spent: 0.0 }
    }

    /// Returns the error probability that look number `look` (from 1) may spend. The first j looks together may spend
    /// j / (j + 1) of the total.
    fn available(&self, look: usize) -> f64 {
        self.total * look as f64 / (look as f64 + 1.0) - self.spent
    }
}

/// The ranks that bound a quantile at one look.
#[derive(Clone, Debug)]
struct LookRanks {
    /// The number of runs at the look.
    runs: usize,
    /// The rank (from 0) of the lower bound among the sorted values. `None`: there is no lower bound.
    lower: Option<usize>,
    /// The rank (from 0) of the upper bound among the sorted values. `None`: there is no upper bound.
    upper: Option<usize>,
}

/// The ranks that bound the `p`-quantile at each look.
#[derive(Clone, Debug)]
pub(super) struct QuantileRanks {
    /// The ranks in the order of the looks.
    looks: Vec<LookRanks>,
}

impl QuantileRanks {
    /// Computes the ranks for up to `most` runs. Over all looks, a lower bound is wrong with a probability of at most
    /// `low_error`, and an upper bound with at most `high_error`.
    pub(super) fn new(p: f64, low_error: f64, high_error: f64, most: usize) -> Self {
        let mut low_budget = ErrorBudget::new(low_error);
        let mut high_budget = ErrorBudget::new(high_error);
        let mut looks = Vec::new();
        for (look, runs) in (1..).zip(looks_to(most)) {
            // A lower bound is an upper bound for the values in reverse order.
            let from_the_end = upper_rank(runs, 1.0 - p, &mut low_budget, look);
            looks.push(LookRanks {
                runs,
                lower: from_the_end.map(|rank| runs - 1 - rank),
                upper: upper_rank(runs, p, &mut high_budget, look),
            });
        }
        Self { looks }
    }

    /// Returns the bounds, from the values of the first runs.
    pub(super) fn bounds(&self, values: &[f64]) -> Bounds {
        let mut bounds = Bounds::NONE;
        for look in &self.looks {
            if look.runs > values.len() {
                break;
            }
            let mut sorted = values[..look.runs].to_vec();
            sorted.sort_by(f64::total_cmp);
            if let Some(rank) = look.lower {
                bounds.low = bounds.low.max(sorted[rank]);
            }
            if let Some(rank) = look.upper {
                bounds.high = bounds.high.min(sorted[rank]);
            }
        }
        bounds
    }

    /// Returns the number of runs at the first look that has an upper bound. `None`: no look has an upper bound.
    pub(super) fn first_upper(&self) -> Option<usize> {
        let first = self.looks.iter().find(|look| look.upper.is_some())?;
        Some(first.runs)
    }
}

/// Returns the smallest rank (from 0) of `runs` sorted values that bounds the `p`-quantile from above, within the
/// error that look number `look` (from 1) may spend. Deducts the error from the budget.
fn upper_rank(runs: usize, p: f64, budget: &mut ErrorBudget, look: usize) -> Option<usize> {
    let available = budget.available(look);
    // The value at `rank` is below the quantile only if more than `rank` values are.
    let ranks: Vec<usize> = (0..runs).collect();
    let rank = ranks.partition_point(|rank| at_least(rank + 1, runs, p) > available);
    if rank == runs {
        return None;
    }
    budget.spent += at_least(rank + 1, runs, p);
    Some(rank)
}

/// Returns the ranks for [`is_greater_in_pairs`]. Half of its error is for the quantile's interval, a quarter at each
/// end.
pub(super) fn paired_ranks(p: f64, error: f64, most: usize) -> QuantileRanks {
    QuantileRanks::new(p, error / 4.0, error / 4.0, most)
}

/// Returns whether paired values show that the `p`-quantile of `other` is greater than that of `base`. The answer is
/// wrong with a probability of at most `error` over all looks. Both slices have the same length and finite values.
/// `ranks` come from [`paired_ranks`].
pub(super) fn is_greater_in_pairs(
    base: &[f64],
    other: &[f64],
    ranks: &QuantileRanks,
    error: f64,
) -> bool {
    for (look, at_look) in (1_u32..).zip(&ranks.looks) {
        let runs = at_look.runs;
        if runs > base.len() {
            break;
        }
        let error_of_look = error / 2.0 / (f64::from(look) * (f64::from(look) + 1.0));
        let interval = ranks.bounds(&base[..runs]);
        if is_greater_within(&base[..runs], &other[..runs], interval, error_of_look) {
            return true;
        }
    }
    false
}

/// Returns whether McNemar's test succeeds with this error for every threshold in the interval of `base`'s quantile.
fn is_greater_within(base: &[f64], other: &[f64], interval: Bounds, error: f64) -> bool {
    if !interval.is_interval() {
        return false;
    }
    thresholds(base, other, interval)
        .into_iter()
        .all(|threshold| mcnemar(base, other, threshold) <= error)
}

/// A threshold of McNemar's test.
#[derive(Clone, Copy, Debug)]
struct Threshold {
    /// The value that both samples are compared with.
    value: f64,
    /// Whether the threshold is just above the value.
    is_above: bool,
}

/// Returns the thresholds in an interval at which the counts in [`mcnemar`] change. Between two values, the counts
/// equal those just above the lower value.
fn thresholds(base: &[f64], other: &[f64], interval: Bounds) -> Vec<Threshold> {
    let Bounds { low, high } = interval;
    let mut values = Vec::new();
    for &value in base.iter().chain(other) {
        if (low..=high).contains(&value) {
            values.push(value);
        }
    }
    values.push(low);
    values.push(high);
    let mut values = sorted(&values);
    values.dedup();
    let mut thresholds = Vec::new();
    for &value in &values {
        thresholds.push(Threshold {
            value,
            is_above: false,
        });
    }
    for value in values {
        if value < high {
            thresholds.push(Threshold {
                value,
                is_above: true,
            });
        }
    }
    thresholds
}

/// Returns the probability of at least this many pairs in which only `base` is below a threshold, if `other` is below
/// it at least as often. `base` is below if it is less than the threshold, `other` if it is at most the threshold, so
/// that the test is valid for distributions with atoms.
fn mcnemar(base: &[f64], other: &[f64], threshold: Threshold) -> f64 {
    let mut only_base = 0;
    let mut only_other = 0;
    for (&base, &other) in base.iter().zip(other) {
        let base_below = base < threshold.value || (threshold.is_above && base <= threshold.value);
        let other_below = other <= threshold.value;
        match (base_below, other_below) {
            (true, false) => only_base += 1,
            (false, true) => only_other += 1,
            _ => {}
        }
    }
    at_least(only_base, only_base + only_other, 0.5)
}

/// Returns the probability that at least `k` of `n` independent trials succeed, each with probability `p`.
pub(super) fn at_least(k: usize, n: usize, p: f64) -> f64 {
    if k == 0 {
        return 1.0;
    }
    if p <= 0.0 || k > n {
        return 0.0;
    }
    let tail: f64 = (k..=n).map(|i| exactly(i, n, p)).sum();
    tail.min(1.0)
}

/// Returns the probability that exactly `k` of `n` independent trials succeed, each with probability `p` above 0.
fn exactly(k: usize, n: usize, p: f64) -> f64 {
    let ln_choose = ln_factorial(n) - ln_factorial(k) - ln_factorial(n - k);
    // The logarithm of 1 - p is infinite for p = 1, where no trial can fail.
    let ln_failures = if k == n {
        0.0
    } else {
        (n - k) as f64 * libm::log1p(-p)
    };
    libm::exp(ln_choose + k as f64 * libm::log(p) + ln_failures)
}

/// Returns the logarithm of n!.
fn ln_factorial(n: usize) -> f64 {
    libm::lgamma(n as f64 + 1.0)
}

/// Returns a lower confidence bound for a share, if `kept` of `n` runs have the property: the share at which `kept` or
/// more have a probability of `error` (Clopper, Pearson, Biometrika 26, 1934; one-sided). For `kept = n` it is the
/// n-th root of `error`, from which the rule of three follows.
pub(super) fn share_at_least(kept: usize, n: usize, error: f64) -> f64 {
    if kept == 0 {
        return 0.0;
    }
    let (share, _) = bisected((0.0, 1.0), 60, |share| at_least(kept, n, share) >= error);
    share
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
    fn repeated_looks_never_spend_more_than_the_total_error() {
        for (p, error) in [(0.5, 0.05), (0.95, 0.01), (0.99, 0.05)] {
            let mut budget = ErrorBudget::new(error);
            let mut last = None;
            for (look, runs) in (1..).zip(looks().take(14)) {
                let rank = upper_rank(runs, p, &mut budget, look);
                assert!(budget.spent <= error, "{p}: {} of {error}", budget.spent);
                assert!(
                    rank.is_some() || last.is_none(),
                    "{p}: a bound at {runs} runs, as before"
                );
                last = rank.or(last);
            }
            assert!(last.is_some() || p > 0.98, "{p}");
        }
    }

    #[test]
    fn a_bound_of_the_95th_percentile_needs_59_runs_in_a_single_look() {
        let rank = |runs: usize| upper_rank(runs, 0.95, &mut ErrorBudget::new(0.1), 1);
        assert_eq!(
            (rank(58), rank(59)),
            (None, Some(58)),
            "0.95^59 = 0.0485 and 0.95^58 = 0.0510"
        );
        // The minimum and the maximum of ten values bound a median: 2^-10 < 0.001.
        let ranks = QuantileRanks::new(0.5, 0.002, 0.002, 10);
        assert_eq!(
            ranks.bounds(&[5.0, 1.0, 4.0, 2.0, 9.0, 3.0, 8.0, 6.0, 7.0, 10.0]),
            Bounds {
                low: 1.0,
                high: 10.0
            }
        );
        assert_eq!(ranks.bounds(&[5.0; 9]), Bounds::NONE, "nine runs have none");
    }

    #[test]
    fn pairs_show_a_difference_that_is_small_compared_with_the_noise() {
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
            ranks.bounds(&other).low < ranks.bounds(&base).high,
            "without pairs they overlap"
        );
    }

    #[test]
    fn equal_quantiles_of_paired_runs_are_rarely_called_different() {
        // Both samples have the median 90: one is always 90, the other is 90 or 130 with equal probability.
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
    fn binomial_tails_equal_the_tables() {
        for (k, n, p, expected) in [
            (0, 5, 0.3, 1.0),
            (1, 1, 0.01, 0.01),
            (2, 2, 0.05, 0.0025),
            // 1 - 0.9^10
            (1, 10, 0.1, 0.651_321_559_9),
            // Ten heads in ten tosses.
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
    fn if_all_n_runs_succeed_the_bound_is_the_nth_root_of_the_error() {
        for (n, error) in [(20_usize, 0.05_f64), (10, 0.05), (59, 0.05), (299, 0.05)] {
            let expected = libm::pow(error, 1.0 / n as f64);
            assert!(
                (share_at_least(n, n, error) - expected).abs() < 1e-9,
                "{n} of {n}"
            );
        }
        // Clopper and Pearson's own table: 9 of 10, one-sided 95%, is 0.606.
        assert!((share_at_least(9, 10, 0.05) - 0.6058).abs() < 5e-4);
        assert!(share_at_least(0, 10, 0.05) <= 0.0);
    }
}
