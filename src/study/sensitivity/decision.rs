//! The decisions that an experiment supports: the best variant of each world, and whether each assertion holds.

use super::Headline;
use super::sample::SampleRuns;
use crate::results::{Limit, Measure, RunRow, Setting, Statistic, grouped};
use crate::scenario::{Assertion, VariedExperiment};

/// Values that differ by less than this share count as equal.
const INDIFFERENCE: f64 = 0.01;

/// A question with a short answer.
pub(super) enum StudiedDecision {
    /// The variant of a world with the least objective that meets all limits.
    Best {
        world: String,
        objective: (&'static Measure, Statistic),
        limits: Vec<Limit>,
        names: Vec<(usize, String)>,
    },
    /// Whether an assertion holds. The product is that of the strategy it is for.
    Holds {
        assertion: Assertion,
        places: Vec<usize>,
        product: Option<&'static str>,
    },
}

/// All decisions of an experiment, for the chosen variants.
pub(super) fn all(
    varied: &VariedExperiment,
    chosen: &[usize],
    headline: &Headline,
) -> Vec<StudiedDecision> {
    let variants: Vec<_> = chosen
        .iter()
        .map(|&at| &varied.base().variants[at])
        .collect();
    let of_world = variants.iter().enumerate().map(|(place, variant)| {
        let own = Setting::in_short(
            variant
                .settings
                .iter()
                .filter(|setting| setting.is_of_strategy()),
        );
        let name = format!("{} {own}", variant.strategy).trim_end().to_owned();
        (
            Setting::in_short(Setting::of_world(&variant.settings)),
            (place, name),
        )
    });
    let mut decisions = Vec::new();
    for (world, names) in grouped(of_world)
        .into_iter()
        .filter(|(_, names): &(_, Vec<_>)| names.len() > 1)
    {
        let (objective, limits) = (headline.objective, headline.limits.clone());
        decisions.push(StudiedDecision::Best {
            world,
            objective,
            limits,
            names,
        });
    }
    for assertion in &varied.base().assertions {
        let is_for = |strategy: &str| assertion.strategy.as_ref().is_none_or(|of| of == strategy);
        let places: Vec<usize> = (0..variants.len())
            .filter(|&place| is_for(&variants[place].strategy))
            .collect();
        let product = assertion
            .strategy
            .as_ref()
            .and_then(|of| varied.product(of));
        if !places.is_empty() {
            decisions.push(StudiedDecision::Holds {
                assertion: assertion.clone(),
                places,
                product,
            });
        }
    }
    decisions
}

impl StudiedDecision {
    pub(super) fn question(&self) -> String {
        match self {
            Self::Best {
                world, objective, ..
            } if world.is_empty() => format!("least {}", objective.0.name),
            Self::Best {
                world, objective, ..
            } => format!("least {}, {world}", objective.0.name),
            Self::Holds { assertion, .. } => match &assertion.strategy {
                Some(strategy) => format!("{strategy}: {}", assertion.limit),
                None => assertion.limit.to_string(),
            },
        }
    }

    /// The product that it is about, if it is about one.
    pub(super) const fn product(&self) -> Option<&'static str> {
        match self {
            Self::Best { .. } => None,
            Self::Holds { product, .. } => *product,
        }
    }

    /// The answer of these runs. An `earlier` best variant stays the answer while no other is better by more than the
    /// zone of indifference.
    pub(super) fn answer(&self, runs: &SampleRuns, earlier: Option<&str>) -> String {
        match self {
            Self::Holds {
                assertion, places, ..
            } => {
                let holds = |place: &usize| assertion.limit.judge(&runs[*place]).holds;
                if places.iter().all(holds) {
                    "holds"
                } else {
                    "is exceeded"
                }
                .to_owned()
            }
            Self::Best {
                objective,
                limits,
                names,
                ..
            } => best(runs, *objective, limits, names, earlier)
                .unwrap_or("none")
                .to_owned(),
        }
    }
}

/// The candidate that meets the limits and has the least of the objective; the `earlier` one if it is as good.
fn best<'n>(
    runs: &SampleRuns,
    objective: (&Measure, Statistic),
    limits: &[Limit],
    names: &'n [(usize, String)],
    earlier: Option<&str>,
) -> Option<&'n str> {
    let meets = |runs: &[RunRow]| limits.iter().all(|limit| limit.judge(runs).holds);
    let value = |runs: &[RunRow]| {
        let values: Vec<f64> = runs
            .iter()
            .map(|run| (objective.0.of)(run).unwrap_or(f64::INFINITY))
            .collect();
        objective.1.of(&values)
    };
    let candidates = names.iter().filter(|(place, _)| meets(&runs[*place]));
    let values: Vec<(&'n str, f64)> = candidates
        .map(|(place, name)| (name.as_str(), value(&runs[*place])))
        .collect();
    let finite = values.iter().filter(|(_, value)| value.is_finite());
    let best = finite
        .copied()
        .reduce(|best, other| if other.1 < best.1 { other } else { best })?;
    let is_as_good = |(name, value): &&(&str, f64)| {
        Some(*name) == earlier && *value <= best.1 + INDIFFERENCE * best.1.abs()
    };
    Some(values.iter().find(is_as_good).unwrap_or(&best).0)
}
