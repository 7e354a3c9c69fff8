//! The decisions that an experiment supports: the best variant in each world, and whether each assertion holds.

use super::Headline;
use super::sample::SampleRuns;
use crate::results::{Limit, MeasuredStatistic, Setting, grouped};
use crate::scenario::{Assertion, Variant, VariedExperiment};

/// Values that differ by less than this share count as equal.
const INDIFFERENCE: f64 = 0.01;

/// A decision, as a question with a short answer.
pub(super) enum StudiedDecision {
    /// The variant of a world that meets all limits with the smallest objective.
    Best {
        world: String,
        objective: MeasuredStatistic,
        limits: Vec<Limit>,
        candidates: Vec<DecisionCandidate>,
    },
    /// Whether an assertion holds. The assertion's product is that of its strategy.
    Holds {
        assertion: Assertion,
        places: Vec<usize>,
        product: Option<&'static str>,
    },
}

/// A variant that may be the best in its world.
pub(super) struct DecisionCandidate {
    /// The variant's index among the chosen variants.
    place: usize,
    /// The name of the strategy with its settings.
    name: String,
}

/// Returns all decisions of an experiment, for the chosen variants.
pub(super) fn all(
    varied: &VariedExperiment,
    chosen: &[usize],
    headline: &Headline,
) -> Vec<StudiedDecision> {
    let mut variants = Vec::new();
    for &at in chosen {
        variants.push(&varied.base().variants[at]);
    }
    let mut decisions = Vec::new();
    for (world, candidates) in worlds(&variants) {
        if candidates.len() > 1 {
            decisions.push(StudiedDecision::Best {
                world,
                objective: headline.objective,
                limits: headline.limits.clone(),
                candidates,
            });
        }
    }
    for assertion in &varied.base().assertions {
        decisions.extend(holds(assertion, &variants, varied));
    }
    decisions
}

/// Returns the candidates of each world, in the order of the variants.
fn worlds(variants: &[&Variant]) -> Vec<(String, Vec<DecisionCandidate>)> {
    let mut of_worlds = Vec::new();
    for (place, variant) in variants.iter().enumerate() {
        let settings = variant.settings.iter();
        let own = Setting::in_short(settings.filter(|setting| setting.is_of_strategy()));
        let name = format!("{} {own}", variant.strategy).trim_end().to_owned();
        let world = Setting::in_short(Setting::of_world(&variant.settings));
        of_worlds.push((world, DecisionCandidate { place, name }));
    }
    grouped(of_worlds)
}

/// Returns the decision on whether an assertion holds. `None`: the assertion applies to none of these variants.
fn holds(
    assertion: &Assertion,
    variants: &[&Variant],
    varied: &VariedExperiment,
) -> Option<StudiedDecision> {
    let mut places = Vec::new();
    for (place, variant) in variants.iter().enumerate() {
        let is_for_all = assertion.strategy.is_none();
        if is_for_all || assertion.strategy.as_ref() == Some(&variant.strategy) {
            places.push(place);
        }
    }
    if places.is_empty() {
        return None;
    }
    let strategy = assertion.strategy.as_ref();
    Some(StudiedDecision::Holds {
        assertion: assertion.clone(),
        places,
        product: strategy.and_then(|strategy| varied.product(strategy)),
    })
}

impl StudiedDecision {
    /// Returns the question, as the report shows it.
    pub(super) fn question(&self) -> String {
        match self {
            Self::Best {
                world, objective, ..
            } if world.is_empty() => format!("least {}", objective.measure),
            Self::Best {
                world, objective, ..
            } => format!("least {}, {world}", objective.measure),
            Self::Holds { assertion, .. } => match &assertion.strategy {
                Some(strategy) => format!("{strategy}: {}", assertion.limit),
                None => assertion.limit.to_string(),
            },
        }
    }

    /// Returns the product that the decision is about. `None`: it is about several products.
    pub(super) const fn product(&self) -> Option<&'static str> {
        match self {
            Self::Best { .. } => None,
            Self::Holds { product, .. } => *product,
        }
    }

    /// Returns the answer according to these runs. An `earlier` best variant remains the answer unless another variant
    /// is better by more than the zone of indifference.
    pub(super) fn answer(&self, runs: &SampleRuns, earlier: Option<&str>) -> String {
        let answer = match self {
            Self::Holds {
                assertion, places, ..
            } if is_met(assertion, places, runs) => "holds",
            Self::Holds { .. } => "is exceeded",
            Self::Best {
                objective,
                limits,
                candidates,
                ..
            } => {
                let measured = measured(runs, *objective, limits, candidates);
                best(&measured, earlier).unwrap_or("none")
            }
        };
        answer.to_owned()
    }
}

/// Returns whether these variants meet an assertion.
fn is_met(assertion: &Assertion, places: &[usize], runs: &SampleRuns) -> bool {
    let mut places = places.iter();
    places.all(|&place| assertion.limit.judge(&runs[place]).holds)
}

/// A candidate that meets the limits, and its objective.
#[derive(Clone, Copy)]
struct MeasuredCandidate<'n> {
    name: &'n str,
    value: f64,
}

/// Returns the candidates that meet the limits in these runs.
fn measured<'n>(
    runs: &SampleRuns,
    objective: MeasuredStatistic,
    limits: &[Limit],
    candidates: &'n [DecisionCandidate],
) -> Vec<MeasuredCandidate<'n>> {
    let mut measured = Vec::new();
    for candidate in candidates {
        let runs = &runs[candidate.place];
        if limits.iter().all(|limit| limit.judge(runs).holds) {
            measured.push(MeasuredCandidate {
                name: &candidate.name,
                value: objective.of(runs),
            });
        }
    }
    measured
}

/// Returns the candidate with the smallest finite objective, or the `earlier` one if it is equally good.
fn best<'n>(candidates: &[MeasuredCandidate<'n>], earlier: Option<&str>) -> Option<&'n str> {
    let finite = candidates
        .iter()
        .filter(|candidate| candidate.value.is_finite());
    let mut best: Option<&MeasuredCandidate<'n>> = None;
    for candidate in finite {
        if best.is_none_or(|best| candidate.value < best.value) {
            best = Some(candidate);
        }
    }
    let best = best?;
    let most = best.value + INDIFFERENCE * best.value.abs();
    let as_good = candidates
        .iter()
        .find(|candidate| Some(candidate.name) == earlier && candidate.value <= most);
    Some(as_good.unwrap_or(best).name)
}
