//! How variants stand to the limits that the experiment asserts, each against those that are for it.

use super::answer::listed;
use crate::report::data::VariantResults;
use crate::results::{Limit, Verdict};

/// A limit of the experiment, and the strategy that it is for; `None`: all.
pub(super) type Demand = (Limit, Option<String>);

/// Whether a limit is for this variant.
fn is_for((_, strategy): &Demand, variant: &VariantResults<'_>) -> bool {
    strategy.as_deref().is_none_or(|strategy| variant.info.strategy == strategy)
}

/// How a variant stands to a limit. `None` when the limit is for another strategy.
pub(super) fn judged(variant: &VariantResults<'_>, demand: &Demand) -> Option<Verdict> {
    is_for(demand, variant).then(|| demand.0.judge(&variant.runs))
}

/// Limits that a variant breaks.
pub(super) fn broken(variant: &VariantResults<'_>, demands: &[Demand]) -> usize {
    demands.iter().filter(|demand| judged(variant, demand).is_some_and(|verdict| !verdict.holds)).count()
}

/// How many of these variants, each with what it is called, keep to the limits that are for them. `None` when none is
/// for any of them.
pub(super) fn told(all: &[(usize, &str, &VariantResults<'_>)], demands: &[Demand]) -> Option<String> {
    let own: Vec<&Demand> =
        demands.iter().filter(|demand| all.iter().any(|(_, _, variant)| is_for(demand, variant))).collect();
    let bound: Vec<&(usize, &str, &VariantResults<'_>)> =
        all.iter().filter(|(_, _, variant)| own.iter().any(|demand| is_for(demand, variant))).collect();
    if bound.is_empty() {
        return None;
    }
    let keeping: Vec<bool> = bound.iter().map(|(_, _, variant)| broken(variant, demands) == 0).collect();
    let kept = keeping.iter().filter(|keeps| **keeps).count();
    // Whether every limit is for every one of them; else each has its own.
    let alike = bound.iter().all(|(_, _, variant)| own.iter().all(|demand| is_for(demand, variant)));
    let limits = match own.as_slice() {
        [(limit, _)] => format!("the limit {limit}"),
        _ if alike => format!("all {} limits", own.len()),
        _ => "the limits that are for them".to_owned(),
    };
    Some(match bound.as_slice() {
        [(_, only, variant)] => {
            let verb = if kept == 1 { "keeps" } else { "does not keep" };
            let limits: Vec<String> =
                own.iter().filter(|demand| is_for(demand, variant)).map(|(limit, _)| limit.to_string()).collect();
            let s = if limits.len() == 1 { "" } else { "s" };
            format!("`{only}` {verb} to the limit{s} {}.", listed(&limits, usize::MAX))
        }
        // Where most have no limit, those that have one are told by name.
        _ if bound.len() < all.len() => {
            let named = |keeps: bool| {
                let names: Vec<String> = bound
                    .iter()
                    .zip(&keeping)
                    .filter(|(_, own)| **own == keeps)
                    .map(|((_, label, _), _)| format!("`{label}`"))
                    .collect();
                listed(&names, super::answer::NAMED)
            };
            let count = bound.len();
            match kept {
                0 => format!("None of the {count} variants with a limit keeps to it: {}.", named(false)),
                2 if count == 2 => format!("Both variants with a limit keep to it: {}.", named(true)),
                _ if kept == count => format!("All {count} variants with a limit keep to it: {}.", named(true)),
                _ => {
                    let verb = if kept == 1 { "keeps" } else { "keep" };
                    let others = if count - kept == 1 { "does" } else { "do" };
                    let broken = named(false);
                    format!("{kept} of the {count} variants with a limit {verb} to it; {broken} {others} not.")
                }
            }
        }
        _ if kept > 0 => {
            let verb = if kept == 1 { "keeps" } else { "keep" };
            format!("{kept} of {} variants {verb} to {limits}.", bound.len())
        }
        _ if own.len() == 1 => format!("None of the {} variants keeps to {limits}.", bound.len()),
        _ => {
            let fewest =
                bound.iter().min_by_key(|(_, _, variant)| broken(variant, demands)).expect("some have a limit");
            let count = broken(fewest.2, demands);
            format!(
                "None of the {} variants keeps to {limits}; `{}` breaks the fewest ({count}).",
                bound.len(),
                fewest.1
            )
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::Results;
    use crate::report::synthetic::{Fleet, Wave, six_settings};

    /// What is said of waves whose strategies are their names, with limits for some strategies.
    fn said(sizes: &[(&str, u64)], limits: &[(&str, Option<&str>)]) -> Option<String> {
        let wave = |(name, size): &(&str, u64)| Wave { strategy: (*name).to_owned(), ..Wave::new(name, *size, 0) };
        let home = tempfile::tempdir().expect("a temporary folder");
        Fleet { waves: sizes.iter().map(wave).collect(), replicates: 2, ..six_settings() }
            .publish(&home.path().join("results"));
        let results = Results::read(&home.path().join("results")).expect("readable");
        let variants = results.variants();
        let all: Vec<(usize, &str, &VariantResults<'_>)> =
            variants.iter().enumerate().map(|(at, variant)| (at, variant.name(), variant)).collect();
        let demands: Vec<Demand> = limits
            .iter()
            .map(|(limit, strategy)| (Limit::parse(limit).expect("a limit"), strategy.map(str::to_owned)))
            .collect();
        told(&all, &demands)
    }

    #[test]
    fn only_those_that_a_limit_is_for_are_counted() {
        let four = [("one", 10), ("two", 100), ("three", 500), ("four", 1000)];
        assert_eq!(said(&four, &[]), None);
        assert_eq!(said(&four, &[("peak_pulls < 5", Some("nobody"))]), None, "a limit for nobody here");
        let tell = |limits: &[(&str, Option<&str>)]| said(&four, limits).expect("a sentence");
        assert_eq!(tell(&[("peak_pulls < 100", Some("one"))]), "`one` keeps to the limit peak_pulls < 100.");
        assert_eq!(tell(&[("peak_pulls < 100", Some("four"))]), "`four` does not keep to the limit peak_pulls < 100.");
        let two = |first: &'static str, second: &'static str| {
            tell(&[("peak_pulls < 100", Some(first)), ("peak_pulls < 2000", Some(second))])
        };
        assert_eq!(two("one", "two"), "Both variants with a limit keep to it: `one` and `two`.");
        assert_eq!(two("one", "four"), "1 of the 2 variants with a limit keeps to it; `four` does not.");
        assert_eq!(two("three", "four"), "None of the 2 variants with a limit keeps to it: `three` and `four`.");
        assert_eq!(tell(&[("peak_pulls < 2000", None)]), "3 of 4 variants keep to the limit peak_pulls < 2000.");
    }
}
