//! The answer where a defective revision was given out: who lets the fewest clusters have it, and who the most.
//!
//! To be held is then what one wants, and to complete is not: the sentence names what completes all the same.

use super::answer::{Best, NAMED, difference_of, listed, when};
use crate::report::data::VariantResults;
use crate::report::format::count;
use crate::results::RunRow;

/// A variant's exposure.
struct Exposed<'v, 'r> {
    at: usize,
    label: &'v str,
    variant: &'v VariantResults<'r>,
    median: f64,
}

/// What is said of these variants, each with what it is called, of which some had exposed clusters; and the names of
/// those with the fewest.
pub(super) fn told<'v>(
    all: &[(usize, &'v str, &'v VariantResults<'_>)],
    seed: u64,
    sentences: &mut Vec<String>,
) -> (Best, Vec<&'v str>) {
    let exposed: Vec<Exposed<'_, '_>> = all
        .iter()
        .filter_map(|&(at, label, variant)| {
            Some(Exposed { at, label, variant, median: variant.median("exposed_targets")? })
        })
        .collect();
    let by_median = |a: &&Exposed<'_, '_>, b: &&Exposed<'_, '_>| a.median.total_cmp(&b.median);
    let Some((least, most)) = exposed.iter().min_by(by_median).zip(exposed.iter().rev().max_by(by_median)) else {
        return (Best::default(), Vec::new());
    };
    let same = |median: f64| -> Vec<&Exposed<'_, '_>> {
        exposed.iter().filter(|other| other.median.total_cmp(&median).is_eq()).collect()
    };
    let (fewest, worst) = (same(least.median), same(most.median));
    if exposed.len() == 1 {
        sentences.push(format!("`{}` lets {} have the defective revision.", least.label, of_clusters(&fewest)));
    } else if fewest.len() == exposed.len() {
        let verb = if fewest.len() == 2 { "Both" } else { "All" };
        sentences.push(format!(
            "{verb} variants let as many clusters have the defective revision: {}.",
            of_clusters(&fewest)
        ));
    } else {
        let verb = if fewest.len() == 1 { "lets" } else { "let" };
        sentences.push(format!(
            "{} {verb} the fewest clusters have the defective revision: {}; {} the most: {}.",
            names(&fewest),
            of_clusters(&fewest),
            names(&worst),
            of_clusters(&worst)
        ));
        let ties: Vec<&Exposed<'_, '_>> = exposed
            .iter()
            .filter(|other| {
                let count = |run: &RunRow| Some(run.exposed_targets as f64);
                other.median > least.median
                    && difference_of(least.variant, other.variant, count, seed)
                        .is_some_and(|between| between.contains(0.0))
            })
            .collect();
        if !ties.is_empty() {
            let verb = if ties.len() == 1 { "is" } else { "are" };
            sentences.push(format!(
                "{} {verb} not told apart from `{}`: the 95 % interval of the paired difference holds zero.",
                names(&ties),
                least.label
            ));
        }
    }
    completed_told(&exposed, sentences);
    let best = Best {
        least_exposed: fewest.iter().map(|exposed| exposed.at).collect(),
        most_exposed: Some(most.at),
        ..Best::default()
    };
    (best, fewest.iter().map(|exposed| exposed.label).collect())
}

/// Who completes all the same, and that the others are held.
fn completed_told(exposed: &[Exposed<'_, '_>], sentences: &mut Vec<String>) {
    let complete: Vec<String> = exposed
        .iter()
        .filter(|one| one.variant.finished() > 0)
        .filter_map(|one| {
            let completion = one.variant.median("completion_s")?;
            Some(format!("`{}` after {}", one.label, when(one.variant, completion)))
        })
        .collect();
    if exposed.len() == 1 && complete.is_empty() {
        sentences.push("No run completes.".to_owned());
    } else if complete.is_empty() {
        sentences.push(format!("None of the {} variants completes; what holds each stands below.", exposed.len()));
    } else {
        sentences.push(format!("Complete all the same: {}.", listed(&complete, NAMED)));
    }
}

fn names(some: &[&Exposed<'_, '_>]) -> String {
    let names: Vec<String> = some.iter().map(|one| format!("`{}`", one.label)).collect();
    listed(&names, NAMED)
}

/// `1 of 200 in every run`, `38 of 200 (median of 20 runs; 95 % interval 37–38, single runs 37–38)`.
fn of_clusters(some: &[&Exposed<'_, '_>]) -> String {
    let runs = || some.iter().flat_map(|one| &one.variant.runs);
    let ends = |values: &[f64]| {
        let least = values.iter().copied().fold(f64::INFINITY, f64::min);
        (least, values.iter().copied().fold(0.0, f64::max))
    };
    let targets = runs().map(|run| run.targets).max().unwrap_or(0);
    let (low, high) = ends(&runs().map(|run| run.exposed_targets as f64).collect::<Vec<f64>>());
    let middle = format!("{} of {}", count(some[0].median), count(targets as f64));
    let each = some[0].variant.runs.len();
    if low.total_cmp(&high).is_eq() {
        return match each {
            1 => middle,
            _ => format!("{middle} in every run"),
        };
    }
    let bounds: Vec<f64> = some
        .iter()
        .filter_map(|one| one.variant.summary("exposed_targets"))
        .flat_map(|row| [row.median_ci95_low, row.median_ci95_high])
        .flatten()
        .collect();
    let interval = match ends(&bounds) {
        (low, high) if low < high => format!("95 % interval {}–{}, ", count(low), count(high)),
        _ => String::new(),
    };
    format!("{middle} (median of {each} runs; {interval}single runs {}–{})", count(low), count(high))
}

#[cfg(test)]
mod tests {
    use super::super::answer::{PageAnswer, answer};
    use super::super::groups::groups;
    use super::*;
    use crate::report::Results;
    use crate::report::synthetic::{Fleet, Wave, grid, six_settings};

    /// A wave of a defective revision that stops after so many clusters; `None`: of a good one.
    fn wave(name: &str, defect: Option<u64>) -> Wave {
        Wave { strategy: name.to_owned(), defect, ..Wave::new(name, 50, 0) }
    }

    fn answered(waves: Vec<Wave>) -> PageAnswer {
        let home = tempfile::tempdir().expect("a temporary folder");
        Fleet { clusters: 200, waves, replicates: 6, ..six_settings() }.publish(&home.path().join("results"));
        let results = Results::read(&home.path().join("results")).expect("readable");
        let variants = results.variants();
        answer(&variants, &groups(&variants), &[], 42)
    }

    #[test]
    fn with_a_defect_the_fewest_exposed_lead_and_ties_are_named() {
        let waves =
            vec![wave("default", Some(200)), wave("canary", Some(1)), wave("ring", Some(1)), wave("ten", Some(40))];
        let answer = answered(waves);
        let text = &answer.parts[0].1;
        assert!(
            text.starts_with(
                "`canary` and `ring` let the fewest clusters have the defective revision: 1 of 200 in every run; `default` the most: 200 of 200 in every run."
            ),
            "{text}"
        );
        assert!(text.ends_with("None of the 4 variants completes; what holds each stands below."), "{text}");
        assert!(!text.contains("completes first") && !text.contains("peak"), "{text}");
        let best = Best { least_exposed: vec![1, 2], most_exposed: Some(0), ..Best::default() };
        assert_eq!(answer.best, [best]);
    }

    #[test]
    fn exposure_that_differs_between_runs_has_its_interval_and_what_completes_is_told() {
        // 40 clusters and 4 more in each run that follows: 40 to 60, the median between 48 and 52.
        let answer = answered(vec![wave("ten", Some(40)), wave("more", Some(100))]);
        let text = &answer.parts[0].1;
        assert!(
            text.starts_with(
                "`ten` lets the fewest clusters have the defective revision: 50 of 200 (median of 6 runs; 95 % interval 40–60, single runs 40–60); `more` the most: 125 of 200 ("
            ),
            "{text}"
        );
        let answer = answered(vec![wave("good", None), wave("held", Some(10))]);
        let text = &answer.parts[0].1;
        assert!(text.contains(" Complete all the same: `good` after ") && text.contains(" min ("), "{text}");
    }

    #[test]
    fn what_the_comparisons_have_in_common_is_who_exposes_the_fewest() {
        let path = "release.defect";
        let comparisons = |defects: [u64; 4]| {
            let strategies = ["careful", "bold"].map(|strategy| grid(strategy, 10, &[(path, &["late", "at once"])]));
            let defect = |(wave, defect): (Wave, u64)| Wave { defect: Some(defect), ..wave };
            answered(strategies.concat().into_iter().zip(defects).map(defect).collect())
        };
        let lead = comparisons([1, 1, 50, 50]).lead;
        assert_eq!(lead, "In all 2 comparisons `careful` lets the fewest clusters have the defective revision.");
        let lead = comparisons([60, 1, 50, 50]).lead;
        assert_eq!(lead, "Which variant lets the fewest clusters have the defective revision depends on defect.");
        let lead = comparisons([60, 1, 60, 50]).lead;
        assert_eq!(lead, "In all 2 comparisons `careful` lets the fewest clusters have the defective revision.");
    }
}
