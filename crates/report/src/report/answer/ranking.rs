//! The choice and the order of the ranked variants.
//!
//! A variant that leaves more targets behind is never before one that leaves fewer, unless the experiment allows as
//! many. Among equals the time decides, and then the peak of pulls. The time is that of all reachable targets, unless
//! a few late ones take most of it for every fast variant: then it is the time of all but the late ones
//! ([`RankedTime`]).

use std::cmp::Ordering;

use super::groups::NamedVariant;
use crate::report::data::VariantResults;
use crate::report::limits::{AssertedLimit, exceeded};
use crate::results::{Measure, READY_TIME, RunRow};
use fleetsim_units::stats::in_turn;

/// Minimum number of targets at which the last tenth is ranked separately.
const FEW: u64 = 10;
/// Minimum number of targets at which the last hundredth is ranked separately.
const MANY: u64 = 100;
/// The last targets are late if the others need at most this share of the time.
const EARLY: f64 = 0.5;
/// Times that differ by at most this factor count as equal.
const ALIKE: f64 = 1.05;

/// The time by which variants are ranked.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum RankedTime {
    /// Time until all reachable targets are ready.
    OfAll,
    /// Time until 99 % of the targets are ready, or 90 % of a small fleet.
    OfMost,
}

/// A ranked variant.
pub(super) struct RankedVariant<'v, 'r> {
    /// The variant's index in the list of all variants.
    pub(super) at: usize,
    pub(super) label: &'v str,
    pub(super) variant: &'v VariantResults<'r>,
    /// The median time until all reachable targets are ready.
    pub(super) completion_s: f64,
    /// The median peak of pulls.
    pub(super) peak: f64,
}

impl<'v, 'r> RankedVariant<'v, 'r> {
    /// Creates a ranked variant. `None`: the variant has no time or no peak.
    fn of(named: &NamedVariant<'v, 'r>) -> Option<Self> {
        Some(Self {
            at: named.at,
            label: named.label,
            variant: named.variant,
            completion_s: named.variant.ready_time()?,
            peak: named.variant.median(Measure::PeakPulls)?,
        })
    }

    /// Returns true for a setting of a sweep.
    pub(super) fn is_swept(&self) -> bool {
        !self.variant.info.settings.is_empty()
    }

    /// Compares by completion time, then by peak.
    pub(super) fn by_time(a: &&Self, b: &&Self) -> Ordering {
        in_turn([a.completion_s, a.peak], [b.completion_s, b.peak])
    }

    /// Compares by peak, then by completion time.
    pub(super) fn by_peak(a: &&Self, b: &&Self) -> Ordering {
        in_turn([a.peak, a.completion_s], [b.peak, b.completion_s])
    }

    /// The time that decides.
    pub(super) fn time(&self, ranked_by: RankedTime) -> f64 {
        match ranked_by {
            RankedTime::OfAll => self.completion_s,
            RankedTime::OfMost => time_of_most(self.variant).unwrap_or(self.completion_s),
        }
    }
}

/// The variants of a group by their role in the question.
pub(super) struct Sides<'v, 'r> {
    /// The user's own strategies, which the question concerns. If there are none, the bounds.
    pub(super) own: Vec<NamedVariant<'v, 'r>>,
    pub(super) bounds: Vec<NamedVariant<'v, 'r>>,
}

impl<'v, 'r> Sides<'v, 'r> {
    /// Divides the variants.
    pub(super) fn of(all: &[NamedVariant<'v, 'r>]) -> Self {
        let (bounds, own): (Vec<_>, Vec<_>) = all
            .iter()
            .copied()
            .partition(|named| named.variant.info.is_bound);
        if own.is_empty() {
            Self {
                own: bounds,
                bounds: own,
            }
        } else {
            Self { own, bounds }
        }
    }
}

/// Variants that may be ranked: those that meet the limits, or all if no variant does; of these, those whose runs all
/// completed, or all without any; and of these, those that leave the fewest targets behind.
pub(super) fn rankable<'v, 'r>(
    own: &[NamedVariant<'v, 'r>],
    limits: &[AssertedLimit],
) -> Vec<RankedVariant<'v, 'r>> {
    let mut eligible = own.to_vec();
    eligible.retain(|named| exceeded(named.variant, limits) == 0);
    if eligible.is_empty() {
        eligible = own.to_vec();
    }
    let ranked: Vec<RankedVariant<'_, '_>> =
        eligible.iter().filter_map(RankedVariant::of).collect();
    let (whole, partial): (Vec<_>, Vec<_>) = ranked
        .into_iter()
        .partition(|ranked| is_whole(ranked.variant));
    if whole.is_empty() {
        with_most_complete_runs(partial)
    } else {
        with_fewest_left(whole, mean_left)
    }
}

/// Returns true if every run of a variant completed, or leaves only as many targets behind as are allowed.
fn is_whole(variant: &VariantResults<'_>) -> bool {
    let allowed = variant.allowed_left;
    let mut runs = variant.runs.iter();
    runs.all(|run| run.is_done() || (!allowed.is_none() && allowed.beyond(run) == 0))
}

/// The variants with the most complete runs and, among those, the fewest targets left behind. Runs of all given
/// variants stall.
fn with_most_complete_runs<'v, 'r>(
    mut ranked: Vec<RankedVariant<'v, 'r>>,
) -> Vec<RankedVariant<'v, 'r>> {
    let most = ranked
        .iter()
        .map(|ranked| ranked.variant.finished())
        .max()
        .unwrap_or(0);
    ranked.retain(|ranked| ranked.variant.finished() == most);
    with_fewest_left(ranked, median_left)
}

/// Those of some variants that leave the fewest targets behind, by a statistic over the runs that all of them have.
fn with_fewest_left<'v, 'r>(
    mut ranked: Vec<RankedVariant<'v, 'r>>,
    statistic: fn(&[u64]) -> f64,
) -> Vec<RankedVariant<'v, 'r>> {
    let shared = ranked.iter().map(|ranked| ranked.variant.runs.len()).min();
    let shared = shared.unwrap_or(0);
    let mut fewest = f64::INFINITY;
    for ranked in &ranked {
        fewest = fewest.min(statistic(&left_in(ranked.variant, shared)));
    }
    ranked.retain(|ranked| statistic(&left_in(ranked.variant, shared)) <= fewest);
    ranked
}

/// Returns the number of targets that each of the first `runs` runs of a variant leaves behind, beyond those that the
/// experiment allows.
pub(super) fn left_in(variant: &VariantResults<'_>, runs: usize) -> Vec<u64> {
    let mut left = Vec::new();
    for run in &variant.runs[..runs] {
        left.push(variant.allowed_left.beyond(run));
    }
    left
}

/// The mean of some numbers of targets.
fn mean_left(left: &[u64]) -> f64 {
    left.iter().sum::<u64>() as f64 / left.len().max(1) as f64
}

/// The median of some numbers of targets, the lower of two.
fn median_left(left: &[u64]) -> f64 {
    let mut left = left.to_vec();
    left.sort_unstable();
    let middle = left.get(left.len().saturating_sub(1) / 2);
    middle.copied().unwrap_or(0) as f64
}

/// The share of the targets of a variant without its late ones, and the measure of their time. `None`: it has too few
/// targets.
pub(super) fn share_of_most(variant: &VariantResults<'_>) -> Option<(f64, Measure)> {
    let targets = variant.runs.iter().map(|run| run.targets).min()?;
    match targets {
        ..FEW => None,
        FEW..MANY => Some((0.9, Measure::T90)),
        MANY.. => Some((0.99, Measure::T99)),
    }
}

/// The median time until all targets but the last few are ready.
fn time_of_most(variant: &VariantResults<'_>) -> Option<f64> {
    let (_, measure) = share_of_most(variant)?;
    variant.median(measure)
}

/// The time of all targets but the late ones, if these take most of the time.
pub(super) fn time_before_late(variant: &VariantResults<'_>) -> Option<f64> {
    let all = variant.ready_time()?;
    time_of_most(variant).filter(|most| *most <= EARLY * all)
}

/// The time that ranks these variants. If all of them take equally long, and at least one of them only because of a
/// few late targets, the other targets decide.
pub(super) fn ranked_time(ranked: &[RankedVariant<'_, '_>]) -> RankedTime {
    let mut least = f64::INFINITY;
    let mut greatest: f64 = 0.0;
    for ranked in ranked {
        least = least.min(ranked.completion_s);
        greatest = greatest.max(ranked.completion_s);
    }
    let are_alike = greatest <= ALIKE * least;
    let has_late = ranked
        .iter()
        .any(|ranked| time_before_late(ranked.variant).is_some());
    if are_alike && has_late {
        RankedTime::OfMost
    } else {
        RankedTime::OfAll
    }
}

/// The first of some variants by their time.
pub(super) fn fastest<'a, 'v, 'r>(
    ranked: &'a [RankedVariant<'v, 'r>],
    by: RankedTime,
) -> Option<&'a RankedVariant<'v, 'r>> {
    ranked
        .iter()
        .min_by(|a, b| in_turn([a.time(by), a.peak], [b.time(by), b.peak]))
}

/// The ranked variant with this index among all variants.
pub(super) fn ranked_at<'a, 'v, 'r>(
    ranked: &'a [RankedVariant<'v, 'r>],
    at: Option<usize>,
) -> Option<&'a RankedVariant<'v, 'r>> {
    ranked.iter().find(|ranked| Some(ranked.at) == at)
}

/// The time until all reachable targets of a run were ready.
pub(super) fn run_time(run: &RunRow) -> Option<f64> {
    READY_TIME.of_or_late(run)
}
