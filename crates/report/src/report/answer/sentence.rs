//! Parts of the answer's sentences: lists of names, times with their interval, and paired differences.

use std::collections::BTreeMap;

use crate::report::data::VariantResults;
use crate::report::format::{TimeUnit, apart, count, time};
use crate::results::{READY_TIME, RunRow, interval_of_mean, paired_differences};
use fleetsim_units::stats;

/// Maximum number of names in one list.
const NAMED: usize = 3;

/// Names in backticks.
pub(in crate::report) fn quoted<'n>(names: impl IntoIterator<Item = &'n str>) -> Vec<String> {
    names.into_iter().map(|name| format!("`{name}`")).collect()
}

/// `a, b and c`.
pub(in crate::report) fn listed(items: &[String]) -> String {
    match items {
        [] => String::new(),
        [one] => one.clone(),
        [first @ .., last] => format!("{} and {last}", first.join(", ")),
    }
}

/// Like [`listed`], with at most [`NAMED`] items: `a, b, c and 4 more`.
pub(in crate::report) fn some_of(items: &[String]) -> String {
    match items.len().checked_sub(NAMED) {
        None | Some(0) => listed(items),
        Some(more) => format!("{} and {more} more", items[..NAMED].join(", ")),
    }
}

/// `1 concurrent pull`, `212 concurrent pulls`.
pub(in crate::report) fn pulls(peak: f64) -> String {
    let count = count(peak);
    let s = if count == "1" { "" } else { "s" };
    format!("{count} concurrent pull{s}")
}

/// `12.3 min (median of 20 runs, 95% CI 11.9–12.8)`.
pub(in crate::report) fn completion(variant: &VariantResults<'_>, completion_s: f64) -> String {
    let runs = variant.runs.len();
    let of = match (runs - variant.finished(), runs) {
        (0, 1) => return format!("{} (1 run)", time(completion_s)),
        (0, runs) => format!("median of {runs} runs"),
        (missing, runs) => format!("median of {runs} runs, {missing} of them unfinished"),
    };
    match variant.median_interval(READY_TIME) {
        Some((low, high)) if low < high => {
            let shown = ShownInterval::of_time(completion_s, low, high);
            let ShownInterval { middle, low, high } = shown;
            format!("{middle} ({of}, 95% CI {low}–{high})")
        }
        _ => format!("{} ({of})", time(completion_s)),
    }
}

/// An interval in words.
#[derive(Debug, PartialEq)]
pub(in crate::report) struct ShownInterval {
    /// The value in the middle, with its unit.
    pub(in crate::report) middle: String,
    /// The ends, without the unit.
    pub(in crate::report) low: String,
    pub(in crate::report) high: String,
}

impl ShownInterval {
    /// The interval of a time, with enough decimals to distinguish its ends.
    pub(in crate::report) fn of_time(middle: f64, low: f64, high: f64) -> Self {
        let unit = TimeUnit::for_span(middle.abs());
        let [middle, low, high] = apart([middle, low, high].map(|time| time / unit.seconds));
        Self {
            middle: format!("{middle} {}", unit.short),
            low,
            high,
        }
    }
}

/// The difference of a measure between `other` and `base`, for each replicate in which both have it.
pub(in crate::report) fn differences_of(
    base: &VariantResults<'_>,
    other: &VariantResults<'_>,
    of: impl Fn(&RunRow) -> Option<f64>,
) -> Vec<f64> {
    let mut others: BTreeMap<u32, f64> = BTreeMap::new();
    for run in &other.runs {
        if let Some(value) = of(run) {
            others.insert(run.replicate, value);
        }
    }
    let mut pairs = Vec::new();
    for run in &base.runs {
        if let (Some(value), Some(other)) = (of(run), others.get(&run.replicate)) {
            pairs.push((value, *other));
        }
    }
    paired_differences(pairs)
}

/// The mean of differences with its interval. `None` for fewer than two, or if one is infinite.
pub(in crate::report) fn mean_of(differences: &[f64], seed: u64) -> Option<stats::Interval> {
    if differences.iter().all(|difference| difference.is_finite()) {
        interval_of_mean(differences, seed)
    } else {
        None
    }
}

/// `a and b may be as fast (95% confidence, for all 4 variants together).` Empty without names.
pub(in crate::report) fn may_be_too(
    names: &[String],
    claim: &str,
    compared: usize,
) -> Option<String> {
    let whose = if compared > 2 {
        format!(", for all {compared} variants together")
    } else {
        String::new()
    };
    (!names.is_empty()).then(|| format!("{} {claim} (95% confidence{whose}).", some_of(names)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_has_enough_decimals_to_show_its_interval() {
        let shown =
            |middle: f64, half: f64| ShownInterval::of_time(middle, middle - half, middle + half);
        let words = |middle: &str, low: &str, high: &str| ShownInterval {
            middle: middle.to_owned(),
            low: low.to_owned(),
            high: high.to_owned(),
        };
        assert_eq!(shown(600.0, 60.0), words("10.0 min", "9.0", "11.0"));
        // An interval of ±1 minute around 22.3 h shows one more decimal.
        assert_eq!(shown(80_280.0, 60.0), words("22.30 h", "22.28", "22.32"));
        assert_eq!(
            shown(402_883.0, 100.0),
            words("4.663 d", "4.662", "4.664"),
            "4.66 to 4.66 would not be a range"
        );
        assert_eq!(
            shown(50.0, 0.0),
            words("50.0 s", "50.0", "50.0"),
            "seconds are the smallest unit"
        );
    }
}
