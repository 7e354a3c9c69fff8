//! Parts of the answer's sentences: lists of names, times with their interval, and paired differences.

use crate::report::data::VariantResults;
use crate::report::format::{TimeUnit, apart, count, time};
use crate::results::{RunRow, interval_of_mean};
use crate::stats;

/// Most names in one list.
const NAMED: usize = 3;

/// `a, b and c`.
pub(super) fn listed(items: &[String]) -> String {
    match items {
        [] => String::new(),
        [one] => one.clone(),
        [first @ .., last] => format!("{} and {last}", first.join(", ")),
    }
}

/// As [`listed`], with at most [`NAMED`] items: `a, b, c and 4 more`.
pub(super) fn some_of(items: &[String]) -> String {
    match items.len().checked_sub(NAMED) {
        None | Some(0) => listed(items),
        Some(more) => format!("{} and {more} more", items[..NAMED].join(", ")),
    }
}

/// `1 concurrent pull`, `212 concurrent pulls`.
pub(super) fn pulls(peak: f64) -> String {
    let count = count(peak);
    let s = if count == "1" { "" } else { "s" };
    format!("{count} concurrent pull{s}")
}

/// `12.3 min (median of 20 runs, 95% CI 11.9–12.8)`.
pub(super) fn completion(variant: &VariantResults<'_>, completion_s: f64) -> String {
    let (runs, finished) = (variant.runs.len(), variant.finished());
    let of = match (finished == runs, runs) {
        (true, 1) => return format!("{} (1 run)", time(completion_s)),
        (true, runs) => format!("median of {runs} runs"),
        (false, runs) => format!("median of the {finished} of {runs} runs that finished"),
    };
    match variant.median_interval("completion_s").filter(|(low, high)| low < high) {
        Some((low, high)) => {
            let (middle, low, high) = with_ends(completion_s, low, high);
            format!("{middle} ({of}, 95% CI {low}–{high})")
        }
        None => format!("{} ({of})", time(completion_s)),
    }
}

/// A time with its unit and the ends of its interval, with enough decimals to distinguish the ends.
pub(super) fn with_ends(middle: f64, low: f64, high: f64) -> (String, String, String) {
    let unit = TimeUnit::for_span(middle.abs());
    let [middle, low, high] = apart(middle / unit.seconds, low / unit.seconds, high / unit.seconds);
    (format!("{middle} {}", unit.short), low, high)
}

/// By how much a measure of `other` exceeds that of `base`, over the replicates in which both have it.
pub(super) fn difference_of(
    base: &VariantResults<'_>,
    other: &VariantResults<'_>,
    of: impl Fn(&RunRow) -> Option<f64>,
    seed: u64,
) -> Option<stats::Interval> {
    let in_replicate = |replicate: u32| of(other.runs.iter().find(|run| run.replicate == replicate)?);
    let differences: Vec<f64> =
        base.runs.iter().filter_map(|run| Some(in_replicate(run.replicate)? - of(run)?)).collect();
    interval_of_mean(&differences, seed)
}

/// States that variants cannot be distinguished from another one, called `it`; nothing without names.
pub(super) fn not_significant(names: &[String], it: &str) -> Option<String> {
    let verb = match names.len() {
        0 => return None,
        1 => "does",
        _ => "do",
    };
    Some(format!(
        "{} {verb} not differ significantly from {it} (the 95% CI of the paired difference includes zero).",
        some_of(names)
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_has_enough_decimals_to_show_its_interval() {
        let shown = |middle: f64, half: f64| with_ends(middle, middle - half, middle + half);
        let words = |a: &str, b: &str, c: &str| (a.to_owned(), b.to_owned(), c.to_owned());
        assert_eq!(shown(600.0, 60.0), words("10.0 min", "9.0", "11.0"));
        // A minute either way of 22.3 h shows with one decimal more.
        assert_eq!(shown(80_280.0, 60.0), words("22.30 h", "22.28", "22.32"));
        assert_eq!(shown(402_883.0, 100.0), words("4.663 d", "4.662", "4.664"), "4.66 to 4.66 would not be a range");
        assert_eq!(shown(50.0, 0.0), words("50.0 s", "50.0", "50.0"), "seconds are the smallest unit");
    }
}
