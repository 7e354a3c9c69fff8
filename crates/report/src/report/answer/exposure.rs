//! The answer for a defective revision: the variants that expose the fewest and the most clusters.
//!
//! Stopping is then the desired outcome and completing is not: the last sentence lists the variants that complete.

use std::cmp::Ordering;

use super::certainty::fewest_in_draws;
use super::decisions::{Decision, DecisionRule, DrawsHolding};
use super::groups::{Best, NamedVariant};
use super::lines::{AnswerKey, AnswerLines};
use super::load::LoadContext;
use super::sentence::{completion, may_be_too, quoted, some_of};
use super::{applications, left, limit_lines, load, releases};
use crate::report::axis::span;
use crate::report::data::{VariantResults, target_of};
use crate::report::format::count;
use crate::report::limits::AssertedLimit;
use crate::results::{Measure, RunRow, contenders};
use fleetsim_units::counted;

/// A variant's exposure.
struct Exposed<'v, 'r> {
    at: usize,
    label: &'v str,
    variant: &'v VariantResults<'r>,
    median: f64,
}

impl Exposed<'_, '_> {
    /// Compares by median exposure, then by how long it lasts, if the runs have that.
    fn by_exposure(a: &&Self, b: &&Self) -> Ordering {
        Self::by_median(a, b).then_with(|| a.hours().total_cmp(&b.hours()))
    }

    /// The hours for which targets have the defective revision, in total. 0 if the runs do not have them.
    fn hours(&self) -> f64 {
        let hours = self.variant.median(Measure::ExposedTargetHours);
        hours.unwrap_or(0.0)
    }

    /// Compares by median exposure.
    fn by_median(a: &&Self, b: &&Self) -> Ordering {
        a.median.total_cmp(&b.median)
    }
}

/// The answer for these variants, some of which exposed clusters.
pub(super) fn answer(
    all: &[NamedVariant<'_, '_>],
    limits: &[AssertedLimit],
    seed: u64,
) -> AnswerLines {
    let exposed = exposed_of(all);
    let Some(least) = exposed.iter().min_by(Exposed::by_exposure) else {
        return AnswerLines::default();
    };
    let fewest = with_median(&exposed, least.median);
    let chosen = all.iter().find(|named| named.at == least.at);
    let mut applying: Vec<AssertedLimit> = limits.to_vec();
    applying.retain(|limit| all.iter().any(|named| limit.applies_to(named.variant)));
    let best: Vec<&str> = fewest.iter().map(|one| one.label).collect();
    let decision = Decision::of(&best, DecisionRule::FewestExposed, all, &applying);
    let mut answer = AnswerLines {
        verdict: verdict(&exposed, &fewest, decision.holding()),
        lines: limit_lines::lines(all, chosen, &applying),
        decision: (all.len() > 1).then_some(decision),
        chosen: None,
    };
    let named = (all.len() > 1).then_some(least.label);
    answer.add(AnswerKey::Ends, releases::line(named, least.variant));
    answer.add(AnswerKey::Stops, left::stalled(least.variant));
    answer.add(
        AnswerKey::Load,
        load::line(least.variant, LoadContext::default()),
    );
    answer.add(AnswerKey::Applications, applications::line(least.variant));
    answer.add(AnswerKey::Else, others(&exposed, &fewest, seed));
    answer
}

/// `` `canary` exposes the fewest clusters to the defective revision: 1 of 200 in every run. ``
fn verdict(
    exposed: &[Exposed<'_, '_>],
    fewest: &[&Exposed<'_, '_>],
    drawn: DrawsHolding,
) -> String {
    let names = names(fewest);
    let expose = expose(fewest);
    let number = clusters(fewest);
    let targets = targets_word(exposed);
    if exposed.len() == 1 {
        return format!("{names} {expose} {targets} to the defective revision: {number}.");
    }
    if fewest.len() == exposed.len() {
        let all = if fewest.len() == 2 { "Both" } else { "All" };
        return format!(
            "{all} variants expose the same median number of {targets} to the defective revision: {number}."
        );
    }
    if drawn.draws == 0 {
        return format!(
            "{names} {expose} the fewest {targets} to the defective revision: {number}."
        );
    }
    let DrawsHolding { holding, draws } = drawn;
    if drawn.is_minority() {
        format!(
            "No variant exposes the fewest {targets} in most draws of the constants: {names} {expose} {number}, the \
             fewest in {holding} of {draws} draws."
        )
    } else {
        format!(
            "{names} {expose} the fewest {targets} to the defective revision: {number}; the fewest in {holding} of \
             {draws} draws."
        )
    }
}

/// The variants that may expose as few, those that expose the most, and those that complete nevertheless.
fn others(exposed: &[Exposed<'_, '_>], fewest: &[&Exposed<'_, '_>], seed: u64) -> Option<String> {
    let mut parts: Vec<String> = Vec::new();
    let most = exposed.iter().rev().max_by(Exposed::by_median)?;
    if fewest.len() < exposed.len() {
        let ties = equally_exposed(exposed, fewest[0].median, seed);
        parts.extend(ties.map(|sentence| sentence.trim_end_matches('.').to_owned()));
        let worst = with_median(exposed, most.median);
        parts.push(format!("{} {}", names(&worst), clusters(&worst)));
    }
    let complete = complete_nevertheless(exposed);
    if !complete.is_empty() {
        parts.push(format!("complete nevertheless: {}", some_of(&complete)));
    }
    (!parts.is_empty()).then(|| parts.join("; "))
}

/// The exposure of each variant that has one.
fn exposed_of<'v, 'r>(all: &[NamedVariant<'v, 'r>]) -> Vec<Exposed<'v, 'r>> {
    let mut exposed: Vec<Exposed<'_, '_>> = Vec::new();
    for named in all {
        if let Some(median) = named.variant.median(Measure::ExposedTargets) {
            exposed.push(Exposed {
                at: named.at,
                label: named.label,
                variant: named.variant,
                median,
            });
        }
    }
    exposed
}

/// The sentences for these variants, at least one of which exposed clusters. Returns the best, and the names of those
/// with the fewest exposed clusters.
pub(super) fn sentences<'v>(
    all: &[NamedVariant<'v, '_>],
    seed: u64,
    sentences: &mut Vec<String>,
) -> (Best, Vec<&'v str>) {
    let exposed = exposed_of(all);
    let Some(least) = exposed.iter().min_by(Exposed::by_median) else {
        return (Best::default(), Vec::new());
    };
    let most = exposed.iter().rev().max_by(Exposed::by_median);
    let most = most.unwrap_or(least);
    let fewest = with_median(&exposed, least.median);
    let worst = with_median(&exposed, most.median);
    let targets = targets_word(&exposed);
    if exposed.len() == 1 {
        sentences.push(format!(
            "`{}` exposes {targets} to the defective revision: {}.",
            least.label,
            clusters(&fewest)
        ));
    } else if fewest.len() == exposed.len() {
        let all = if fewest.len() == 2 { "Both" } else { "All" };
        sentences.push(format!(
            "{all} variants expose the same median number of {targets} to the defective revision: {}.",
            clusters(&fewest)
        ));
    } else {
        sentences.push(format!(
            "{} {} the fewest {targets} to the defective revision: {}. {} {} the most: {}.",
            names(&fewest),
            expose(&fewest),
            clusters(&fewest),
            names(&worst),
            expose(&worst),
            clusters(&worst)
        ));
        sentences.extend(equally_exposed(&exposed, least.median, seed));
    }
    let everyone: Vec<&VariantResults<'_>> = exposed.iter().map(|one| one.variant).collect();
    // If several variants tie, there is no single answer.
    if let [only] = fewest[..] {
        sentences.extend(fewest_in_draws(only.label, only.variant, &everyone));
    }
    sentences.push(completing(&exposed));
    let best = Best {
        least_exposed: fewest.iter().map(|exposed| exposed.at).collect(),
        most_exposed: Some(most.at),
        ..Best::default()
    };
    (best, fewest.iter().map(|exposed| exposed.label).collect())
}

/// The variants with this median exposure.
fn with_median<'e, 'v, 'r>(
    exposed: &'e [Exposed<'v, 'r>],
    median: f64,
) -> Vec<&'e Exposed<'v, 'r>> {
    exposed
        .iter()
        .filter(|other| other.median.total_cmp(&median).is_eq())
        .collect()
}

/// The word for the targets of these variants.
fn targets_word(exposed: &[Exposed<'_, '_>]) -> String {
    let infos = exposed.iter().map(|one| one.variant.info);
    format!("{}s", target_of(infos))
}

/// The verb `expose` in the form that fits the number of these variants.
const fn expose(some: &[&Exposed<'_, '_>]) -> &'static str {
    if some.len() == 1 { "exposes" } else { "expose" }
}

/// The variants that may expose equally few clusters, at a joint confidence level.
fn equally_exposed(exposed: &[Exposed<'_, '_>], least: f64, seed: u64) -> Option<String> {
    let runs: Vec<Vec<&RunRow>> = exposed.iter().map(|one| one.variant.runs.clone()).collect();
    let (_, contenders) = contenders(&runs, |run| Some(run.exposed_targets as f64), seed);
    let mut ties = Vec::new();
    for (one, contender) in exposed.iter().zip(contenders) {
        if one.median > least && contender.is_some_and(|contender| contender.may_be_best) {
            ties.push(one.label);
        }
    }
    may_be_too(&quoted(ties), "may expose as few", exposed.len())
}

/// The variants with runs that complete nevertheless, with their times.
fn complete_nevertheless(exposed: &[Exposed<'_, '_>]) -> Vec<String> {
    let mut complete: Vec<String> = Vec::new();
    for Exposed { label, variant, .. } in exposed {
        let finished = variant.finished();
        if finished == 0 || releases::ends_on_another(variant) {
            continue;
        }
        complete.push(match variant.ready_time() {
            Some(median) => format!("`{label}` after {}", completion(variant, median)),
            None => {
                let runs = counted(variant.runs.len(), "run");
                format!("`{label}` in {finished} of {runs}")
            }
        });
    }
    complete
}

/// The variants that complete nevertheless, as a sentence.
fn completing(exposed: &[Exposed<'_, '_>]) -> String {
    let complete = complete_nevertheless(exposed);
    let mut ends_on_another = false;
    for one in exposed {
        ends_on_another |= releases::ends_on_another(one.variant);
    }
    match (complete.is_empty(), exposed.len()) {
        (true, _) if ends_on_another => "The runs that complete end on another release.".to_owned(),
        (true, 1) => "No run completes.".to_owned(),
        (true, all) => {
            format!("None of the {all} variants completes; the blocking rules are listed below.")
        }
        (false, _) => format!("Complete nevertheless: {}.", some_of(&complete)),
    }
}

/// The names of some variants.
fn names(some: &[&Exposed<'_, '_>]) -> String {
    some_of(&quoted(some.iter().map(|one| one.label)))
}

/// `1 of 200 in every run`, `38 of 200 (median of 20 runs, 95% CI 37–38, range 37–38)`.
fn clusters(some: &[&Exposed<'_, '_>]) -> String {
    let mut targets = 0;
    let mut counts: Vec<f64> = Vec::new();
    for run in some.iter().flat_map(|one| &one.variant.runs) {
        targets = targets.max(run.targets);
        counts.push(run.exposed_targets as f64);
    }
    let (low, high) = span(&counts);
    let middle = format!("{} of {}", count(some[0].median), count(targets as f64));
    let each = some[0].variant.runs.len();
    if low.total_cmp(&high).is_eq() {
        return match each {
            1 => middle,
            _ => format!("{middle} in every run"),
        };
    }
    let mut bounds: Vec<f64> = Vec::new();
    for one in some {
        if let Some(row) = one.variant.summary(Measure::ExposedTargets) {
            bounds.extend(row.median_ci95_low);
            bounds.extend(row.median_ci95_high);
        }
    }
    let interval = match span(&bounds) {
        (low, high) if low < high => format!("95% CI {}–{}, ", count(low), count(high)),
        _ => String::new(),
    };
    format!(
        "{middle} (median of {each} runs, {interval}range {}–{})",
        count(low),
        count(high)
    )
}

#[cfg(test)]
mod tests {
    use super::super::groups::groups;
    use super::super::{PageAnswer, answer};
    use super::*;
    use crate::report::Results;
    use crate::report::synthetic::{Fleet, Wave, grid, six_settings};
    use crate::results::UncertaintyRow;

    /// A wave of a defective revision that stops after this number of clusters. `None`: the revision is good.
    fn wave(name: &str, defect: Option<u64>) -> Wave {
        Wave {
            strategy: name.to_owned(),
            defect,
            ..Wave::new(name, 50, 0)
        }
    }

    fn answered(waves: Vec<Wave>) -> PageAnswer {
        let home = tempfile::tempdir().expect("a temporary folder");
        Fleet {
            clusters: 200,
            waves,
            replicates: 6,
            ..six_settings()
        }
        .publish(&home.path().join("results"));
        let results = Results::read(&home.path().join("results")).expect("readable");
        let variants = results.variants();
        answer(&variants, &groups(&variants), &[], 42)
    }

    #[test]
    fn with_a_defect_the_variants_that_expose_the_fewest_come_first_and_ties_are_named() {
        let waves = vec![
            wave("default", Some(200)),
            wave("canary", Some(1)),
            wave("ring", Some(1)),
            wave("ten", Some(40)),
        ];
        let answer = answered(waves);
        let text = &answer.details[0].text;
        assert!(
            text.starts_with(
                "`canary` and `ring` expose the fewest clusters to the defective revision: 1 of 200 in every run. `default` exposes the most: 200 of 200 in every run."
            ),
            "{text}"
        );
        assert!(
            text.ends_with(
                "None of the 4 variants completes; the blocking rules are listed below."
            ),
            "{text}"
        );
        assert!(
            !text.contains("completes first") && !text.contains("peak"),
            "{text}"
        );
        let best = Best {
            least_exposed: vec![1, 2],
            most_exposed: Some(0),
            ..Best::default()
        };
        assert_eq!(answer.best, [best]);
    }

    #[test]
    fn exposure_that_differs_between_runs_has_its_interval_and_completing_variants_are_named() {
        // 40 clusters and 4 more in each run that follows: 40 to 60, the median between 48 and 52.
        let answer = answered(vec![wave("ten", Some(40)), wave("more", Some(100))]);
        let text = &answer.details[0].text;
        assert!(
            text.starts_with(
                "`ten` exposes the fewest clusters to the defective revision: 50 of 200 (median of 6 runs, 95% CI 40–60, range 40–60). `more` exposes the most: 125 of 200 ("
            ),
            "{text}"
        );
        let answer = answered(vec![wave("good", None), wave("held", Some(10))]);
        let text = &answer.details[0].text;
        assert!(
            text.contains(" Complete nevertheless: `good` after ") && text.contains(" min ("),
            "{text}"
        );
    }

    #[test]
    fn the_lead_names_the_variant_that_exposes_the_fewest_clusters_everywhere() {
        let path = "release.defect";
        let comparisons = |defects: &[u64]| {
            let strategies = ["careful", "bold", "calm"]
                .map(|strategy| grid(strategy, 10, &[(path, &["late", "at once"])]));
            let defect = |(wave, defect): (Wave, &u64)| Wave {
                defect: Some(*defect),
                ..wave
            };
            answered(
                strategies
                    .concat()
                    .into_iter()
                    .zip(defects)
                    .map(defect)
                    .collect(),
            )
        };
        let lead = comparisons(&[1, 1, 50, 50]).lead;
        assert_eq!(
            lead,
            "`careful` exposes the fewest clusters in both comparisons."
        );
        let lead = comparisons(&[60, 1, 50, 50]).lead;
        assert_eq!(
            lead,
            "The variant that exposes the fewest clusters depends on defect."
        );
        let lead = comparisons(&[60, 1, 60, 50]).lead;
        assert_eq!(
            lead,
            "`careful` exposes the fewest clusters in both comparisons."
        );
        let lead = comparisons(&[1, 1, 50, 50, 1, 1]).lead;
        assert_eq!(
            lead,
            "`careful` and `calm` expose the fewest clusters in both comparisons."
        );
        let equal = comparisons(&[1, 1, 1, 1]);
        assert_eq!(equal.lead, "");
        let same = "Both variants expose the same median number of clusters to the defective revision: 1 of 200 in \
                    every run.";
        assert!(
            equal.details[0].text.starts_with(same),
            "{:?}",
            equal.details
        );
    }

    #[test]
    fn the_answer_gives_the_number_of_draws_in_which_a_variant_exposes_the_fewest() {
        let home = tempfile::tempdir().expect("a temporary folder");
        let path = "release.defect";
        let strategies =
            ["careful", "bold"].map(|strategy| grid(strategy, 10, &[(path, &["late", "at once"])]));
        let waves = strategies.concat().into_iter().zip([1, 1, 50, 50]);
        let waves = waves
            .map(|(wave, defect)| Wave {
                defect: Some(defect),
                ..wave
            })
            .collect();
        let fleet = Fleet {
            clusters: 200,
            waves,
            replicates: 6,
            ..six_settings()
        };
        fleet.publish(&home.path().join("results"));
        let mut results = Results::read(&home.path().join("results")).expect("readable");
        results.draws = results.tables.runs.clone();
        // In two of six draws, `careful` exposes more for one defect, and in another draw for the other defect.
        for run in results
            .draws
            .iter_mut()
            .filter(|run| run.variant.starts_with("careful"))
        {
            let is_late = run.setting.contains("late");
            if (is_late && run.replicate < 2) || (!is_late && run.replicate == 5) {
                run.exposed_targets = 190;
            }
        }
        let row = |run: &RunRow| UncertaintyRow {
            variant: run.variant.clone(),
            measure: Measure::ExposedTargets,
            total_median: Some(1.0),
            total_low: Some(1.0),
            total_high: Some(190.0),
            total_level: Some(0.95),
            ..UncertaintyRow::default()
        };
        results.uncertainty = results
            .draws
            .iter()
            .filter(|run| run.replicate == 0)
            .map(row)
            .collect();
        let variants = results.variants();
        let answer = answer(&variants, &groups(&variants), &[], 42);
        let lead = "`careful` exposes the fewest clusters in both comparisons, and in all of them in 3 of 6 draws of the constants.";
        assert_eq!(answer.lead, lead);
        let told = "With the constants of the model drawn from their ranges, `careful` exposes the fewest clusters in 4 of 6 draws, 1 in the median (1–190 in 95% of rollouts).";
        assert!(
            answer.details[0].text.contains(told),
            "{:?}",
            answer.details
        );
    }
}
