//! A review: the effects of a change of an experiment on the fleet, variant by variant.
//!
//! Two versions of an experiment are simulated with the same seed, so replicate 7 of both has the same fleet, delays
//! and failures. Differences are paired within replicates, as in `summary.csv`. The cause is the part of the critical
//! path that takes more or less time. Settings are compared with all defaults filled in.
//!
//! Left out: drawn constants of the model (`uncertainty`). The interval of a difference covers only its runs.

mod pairs;
mod settings;
mod text;
mod violations;

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;

use super::answer::bound;
use super::answer::path::{PARTS, PathPart};
use super::answer::sentence::{differences_of, mean_of};
use super::columns::{Column, FilledColumn};
use super::data::{Results, VariantResults};
use crate::results::{Measure, READY_TIME, RunRow};
use fleetsim_units::stats;
use pairs::Paired;
pub use settings::SettingChange;
pub use text::{review_markdown, review_text};
use violations::{ViolationReview, violations};

/// The version of the JSON form; raised when a field changes its name or meaning.
const SCHEMA_VERSION: u32 = 2;

/// One version of an experiment.
#[derive(Clone, Debug)]
pub struct ReviewSide {
    /// The name given by the user.
    pub name: String,
    /// The results of this version. Only the tables `runs` and `clusters` are read.
    pub results: Results,
    /// Every setting in force, as in `resolved.yaml`; empty if unknown.
    pub resolved: String,
    /// The input files of this version, by name: the experiment and the files that it refers to.
    pub files: BTreeMap<String, Vec<u8>>,
}

/// The differences between two versions.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Review {
    schema_version: u32,
    /// The name of the old version.
    old: String,
    /// The name of the new version.
    new: String,
    seed: u64,
    /// Limits that the new version exceeds: the new violations first, then those that the old version had already.
    violations: Vec<ViolationReview>,
    /// Settings that differ, and input files with different contents.
    settings: Vec<SettingChange>,
    /// Variants that both versions have, in the order of the new one.
    variants: Vec<VariantReview>,
    /// Variants that only the old version has.
    only_old: Vec<String>,
    /// Variants that only the new version has.
    only_new: Vec<String>,
}

/// One variant before and after.
#[derive(Clone, Debug, PartialEq, Serialize)]
struct VariantReview {
    /// The name of the variant in the new version.
    variant: String,
    /// Number of replicates that both versions have.
    pairs: u64,
    /// Number of stages, partitions or steps of the rollout, before and after.
    stages: [u64; 2],
    /// Number of runs in which all reachable clusters became ready, before and after.
    finished: [u64; 2],
    /// The rule that blocked unfinished runs of the new version. `None`: all of them finished.
    held_by: Option<String>,
    /// Whether all runs of both versions finished.
    is_whole: bool,
    measures: Vec<MeasureReview>,
    /// Mean paired differences of the parts of the critical path, the largest first.
    causes: Vec<CauseReview>,
    /// What holds the variant back before and after, by trials. `None`: it was not tried in both versions.
    #[serde(skip_serializing_if = "Option::is_none")]
    bound: Option<BoundReview>,
}

/// What holds a variant back before and after a change.
#[derive(Clone, Debug, PartialEq, Serialize)]
struct BoundReview {
    old: String,
    new: String,
    /// The names of what holds each version back.
    #[serde(skip)]
    names: [String; 2],
    /// Whether the same resource holds both versions back.
    is_same: bool,
}

/// One measure before and after: medians over runs, and the mean paired difference with its 95% interval. `None` for a
/// time that is not reached; there is no interval for fewer than two pairs or an unfinished run.
#[derive(Clone, Debug, PartialEq, Serialize)]
struct MeasureReview {
    measure: Measure,
    /// The heading of the measure in tables.
    heading: &'static str,
    unit: String,
    old: Option<f64>,
    new: Option<f64>,
    difference: Option<f64>,
    low: Option<f64>,
    high: Option<f64>,
    /// Whether the values are equal in every pair of runs.
    is_same: bool,
    /// The time at which runs end in any case, in seconds: a time that is not reached is longer.
    #[serde(skip)]
    horizon_s: f64,
}

/// A part of the critical path.
#[derive(Clone, Debug, PartialEq, Serialize)]
struct CauseReview {
    part: &'static str,
    difference_s: f64,
}

impl Review {
    /// Compares two versions.
    ///
    /// # Errors
    /// Returns an error message if the runs cannot be paired, because their random numbers differ.
    pub fn of(old: &ReviewSide, new: &ReviewSide) -> Result<Self, String> {
        let [seed, other] = [new, old].map(|side| side.results.provenance.seed);
        if seed != other {
            return Err(format!(
                "both versions must use the same random numbers: {} has seed {other}, {} has seed {seed}; compare the \
                 experiments instead of results, or run one of them again with `--seed`",
                old.name, new.name
            ));
        }
        let [olds, news] = [old, new].map(|side| side.results.variants());
        let paired = pairs::paired(&olds, &news);
        let violations = violations(&old.results, &news, &new.results, &paired);
        let Paired {
            pairs,
            only_old,
            only_new,
        } = paired;
        if pairs.is_empty() {
            return Err(format!(
                "the versions have no variant in common: {} has {}, {} has {}; give the strategy the same name in both",
                old.name,
                only_old.join(", "),
                new.name,
                only_new.join(", ")
            ));
        }
        let [before, after] = [&olds, &news].map(|side| currency_of(side));
        if let (Some(before), Some(after)) = (before, after)
            && before != after
        {
            return Err(format!(
                "both versions must have one currency: the prices of {} are in {before}, those of {} in {after}",
                old.name, new.name
            ));
        }
        let [before, after] = [old, new].map(|side| side.results.provenance.horizon_s);
        let horizon_s = before.min(after);
        Ok(Self {
            schema_version: SCHEMA_VERSION,
            old: old.name.clone(),
            new: new.name.clone(),
            seed,
            violations,
            settings: settings::changes(old, new),
            variants: pairs
                .iter()
                .map(|(old, new)| VariantReview::of(old, new, seed, horizon_s))
                .collect(),
            only_old,
            only_new,
        })
    }

    /// Returns whether the new version exceeds a limit that the old one meets or does not assert.
    #[must_use]
    pub fn has_new_violation(&self) -> bool {
        self.violations.iter().any(ViolationReview::is_new)
    }

    /// Returns whether neither a setting nor a measure differs.
    fn is_identical(&self) -> bool {
        self.settings.is_empty() && self.is_same()
    }

    /// Returns whether no measure of any variant differs.
    #[must_use]
    pub fn is_same(&self) -> bool {
        let mut measures = self.variants.iter().flat_map(|variant| &variant.measures);
        self.only_old.is_empty()
            && self.only_new.is_empty()
            && measures.all(|measure| measure.is_same)
    }
}

/// Returns the currency of the costs. `None`: there are no prices.
fn currency_of<'r>(variants: &[VariantResults<'r>]) -> Option<&'r str> {
    for run in variants.iter().flat_map(|variant| &variant.runs) {
        if !run.currency.is_empty() {
            return Some(&run.currency);
        }
    }
    None
}

impl VariantReview {
    /// Compares a variant that both versions have.
    fn of(old: &VariantResults<'_>, new: &VariantResults<'_>, seed: u64, horizon_s: f64) -> Self {
        // One version may have more runs: only replicates that both have are compared.
        let both = [in_both(old, new), in_both(new, old)];
        let [old, new] = &both;
        let columns = FilledColumn::shown(&both);
        let measures: Vec<_> = columns
            .map(|column| MeasureReview {
                horizon_s,
                ..MeasureReview::of(column, old, new, seed)
            })
            .collect();
        let mut causes: Vec<CauseReview> = PARTS
            .iter()
            .filter_map(|part| CauseReview::of(part, old, new, seed))
            .collect();
        causes.sort_by(|a, b| b.difference_s.abs().total_cmp(&a.difference_s.abs()));
        let finished = [old, new].map(|variant| variant.finished() as u64);
        let held_by = new.unfinished().map(RunRow::held);
        Self {
            variant: new.name().to_owned(),
            pairs: new.runs.len() as u64,
            stages: [old, new].map(stages),
            finished,
            held_by,
            is_whole: old.is_whole() && new.is_whole(),
            measures,
            causes,
            bound: BoundReview::of(old, new),
        }
    }

    /// The review of a measure.
    fn measure(&self, name: Measure) -> Option<&MeasureReview> {
        self.measures.iter().find(|measure| measure.measure == name)
    }

    /// The completion time.
    fn time(&self) -> Option<&MeasureReview> {
        self.measure(READY_TIME)
    }
}

impl BoundReview {
    fn of(old: &VariantResults<'_>, new: &VariantResults<'_>) -> Option<Self> {
        let names = [old, new].map(|variant| bound::short(&variant.causes));
        Some(Self {
            old: bound::line(old)?,
            new: bound::line(new)?,
            is_same: names[0] == names[1],
            names,
        })
    }
}

impl CauseReview {
    /// The mean paired difference of a part of the critical path. `None` if the mean is infinite, or there is no pair.
    fn of(
        part: &PathPart,
        old: &VariantResults<'_>,
        new: &VariantResults<'_>,
        seed: u64,
    ) -> Option<Self> {
        let differences = differences_of(old, new, part.of);
        let difference_s = match mean_of(&differences, seed) {
            Some(mean) => mean.estimate,
            None => *differences.first()?,
        };
        difference_s.is_finite().then_some(Self {
            part: part.name,
            difference_s,
        })
    }
}

/// A variant, restricted to runs whose replicate the other one also has.
fn in_both<'r>(variant: &VariantResults<'r>, other: &VariantResults<'_>) -> VariantResults<'r> {
    let mut shared = variant.clone();
    shared.runs.retain(|run| {
        other
            .runs
            .iter()
            .any(|other| other.replicate == run.replicate)
    });
    shared
}

/// Number of stages of the displayed run.
fn stages(variant: &VariantResults<'_>) -> u64 {
    let stages: BTreeSet<&str> = variant
        .clusters
        .iter()
        .map(|cluster| cluster.stage.as_str())
        .collect();
    let nameless = usize::from(stages.contains(""));
    (stages.len() - nameless) as u64
}

/// The median of a measure over the runs of a variant. `None` if the median is infinite, or there are no runs.
fn median_of(variant: &VariantResults<'_>, measure: Measure) -> Option<f64> {
    let mut values: Vec<f64> = Vec::new();
    for run in &variant.runs {
        values.extend(measure.of_or_late(run));
    }
    let median = stats::quantile_of_sorted(&stats::ordered(&values), 0.5)?;
    median.is_finite().then_some(median)
}

impl MeasureReview {
    /// Compares a measure of a variant.
    fn of(
        column: &'static Column,
        old: &VariantResults<'_>,
        new: &VariantResults<'_>,
        seed: u64,
    ) -> Self {
        let measure = column.measure;
        let differences = differences_of(old, new, |run| measure.of_or_late(run));
        let mean = mean_of(&differences, seed);
        let [before, after] = [old, new].map(|variant| median_of(variant, measure));
        // One version may lack a measure: it has no later release, or no price.
        let is_in_both = before.is_some() == after.is_some();
        let single = match differences[..] {
            [only] if only.is_finite() => Some(only),
            _ => None,
        };
        Self {
            measure,
            heading: column.heading,
            unit: measure.unit_in(new.runs.iter().copied()).to_owned(),
            old: before,
            new: after,
            difference: mean.map(|mean| mean.estimate).or(single),
            low: mean.map(|mean| mean.low),
            high: mean.map(|mean| mean.high),
            is_same: is_in_both && differences.iter().all(|difference| *difference == 0.0),
            horizon_s: f64::INFINITY,
        }
    }
}
