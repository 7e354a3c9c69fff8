//! Sensitivity: the effect of each constant of the model on an experiment and on the decisions that it supports.
//!
//! First, constants are varied one at a time: each constant is set to both ends of its range while the others keep
//! their values. The same replicates have the same random numbers, so any difference is due to the constant. If a
//! decision changes at an end, bisection finds the value at which it changes. Second, the constants with any effect
//! are screened together (Morris, Technometrics 33 (1991); mu* after Campolongo, Cariboni, Saltelli, Environmental
//! Modelling & Software 22 (2007)), which reveals effects that depend on other constants.
//!
//! Left out: correlations between constants, and constants that have an effect only together with another one (the
//! first part finds no effect, so they are not screened). If a decision changes twice within a range, only one of the
//! changes is reported. Bisection and screening reuse runs with equal values.

mod decision;
mod morris;
mod sample;
#[cfg(test)]
mod tests;

use itertools::Itertools;

use crate::results::{
    ConstantRange, DecisionEnd, DecisionRecord, EffectRow, Journal, Limit, Measure,
    MeasuredStatistic, READY_TIME, RunRow, ScreeningRow, SensitivityRecord, Statistic,
};
use crate::scenario::{Experiment, Level, VariedConstant, VariedExperiment};
use crate::stats;
use crate::study::{StudyError, whole};
use decision::StudiedDecision;
use morris::{EffectKey, Effects, Trajectory};
use sample::{Levels, SampleRuns, Sampler};

/// The options of a sensitivity analysis.
#[derive(Clone, Debug, Default)]
pub struct SensitivityRules {
    /// The measure that the best variant minimises, with its statistic. `None`: the plan's objective; without a plan,
    /// the number of clusters with a defective revision if there are any, otherwise the completion time.
    pub objective: Option<MeasuredStatistic>,
    /// Limits that the best variant must meet. `None`: the limits of the plan.
    pub limits: Option<Vec<Limit>>,
    /// Further measures to analyse.
    pub measures: Vec<Measure>,
    /// Paths of the constants to vary. Empty: all constants that the experiment uses.
    pub only: Vec<String>,
    /// Parts of the names of variants to analyse. Empty: all variants.
    pub variants: Vec<String>,
    /// Maximum number of runs of the screening.
    pub screening: u64,
    /// Maximum number of runs of all parts. `None`: only the screening is limited.
    pub most: Option<u64>,
    /// Number of bisections of a range in which a decision changes, such as [`crate::results::HALVINGS`]. 0: only the
    /// ends are compared.
    pub halvings: u32,
}

/// Returns which of these constants change an experiment's answer, from one run at each end of each range.
///
/// # Errors
/// Returns the errors of [`sensitivity`].
pub fn deciding(
    varied: &VariedExperiment,
    only: Vec<String>,
    journal: &Journal,
) -> Result<SensitivityRecord, StudyError> {
    sensitivity(
        varied,
        &SensitivityRules {
            only,
            ..SensitivityRules::default()
        },
        journal,
        || (),
    )
}

/// The runs beyond those that vary one constant at a time.
struct FurtherRuns {
    /// Number of bisections in each search for the value that changes a decision.
    halvings: u32,
    /// Number of runs in the screening.
    screening: u64,
}

impl SensitivityRules {
    /// Returns the number of runs for varying one constant at a time.
    #[must_use]
    pub fn least_runs(&self, varied: &VariedExperiment) -> u64 {
        let constants = self.chosen_constants(varied);
        let mut samples = 0;
        for variant in self.chosen_variants(varied) {
            let strategy = &varied.base().variants[variant].strategy;
            let of_strategy = constants
                .iter()
                .filter(|&&at| varied.constants()[at].strategies.contains(strategy))
                .count();
            samples += 1 + 2 * of_strategy as u64;
        }
        samples * u64::from(varied.base().replicates)
    }

    /// Returns the further runs that the limit on all runs permits, with this number of searches.
    fn further_runs(&self, varied: &VariedExperiment, searches: usize) -> FurtherRuns {
        let Some(most) = self.most else {
            return FurtherRuns {
                halvings: self.halvings,
                screening: self.screening,
            };
        };
        let left = most.saturating_sub(self.least_runs(varied));
        let variants = self.chosen_variants(varied).len() as u64;
        let of_halving = variants * u64::from(varied.base().replicates) * searches as u64;
        let halvings = match left.checked_div(of_halving) {
            Some(fit) => self.halvings.min(fit as u32),
            None => self.halvings,
        };
        let left = left - u64::from(halvings) * of_halving;
        FurtherRuns {
            halvings,
            screening: self.screening.min(left),
        }
    }

    /// Returns the indices of the variants to analyse.
    fn chosen_variants(&self, varied: &VariedExperiment) -> Vec<usize> {
        let mut chosen = Vec::new();
        for (at, variant) in varied.base().variants.iter().enumerate() {
            let is_named = self
                .variants
                .iter()
                .any(|part| variant.label.contains(part));
            if self.variants.is_empty() || is_named {
                chosen.push(at);
            }
        }
        chosen
    }

    /// Returns the indices of the constants to vary.
    fn chosen_constants(&self, varied: &VariedExperiment) -> Vec<usize> {
        let mut chosen = Vec::new();
        for (at, constant) in varied.constants().iter().enumerate() {
            let is_named = self.only.iter().any(|path| constant.is_named(path));
            if self.only.is_empty() || is_named {
                chosen.push(at);
            }
        }
        chosen
    }
}

/// The runs with the values in force and at both ends of every range.
struct OneAtATime {
    base: SampleRuns,
    /// The runs for each chosen constant.
    ends: Vec<RangeRuns>,
}

/// The runs at both ends of a constant's range.
struct RangeRuns {
    low: SampleRuns,
    high: SampleRuns,
}

impl RangeRuns {
    /// Returns the runs at one end of the range.
    const fn at(&self, is_high: bool) -> &SampleRuns {
        if is_high { &self.high } else { &self.low }
    }
}

/// Analyses an experiment on the current rayon pool. `run_done` is called after each run, from any thread. The journal
/// works as in [`super::simulate`].
///
/// # Errors
/// Returns an error if a run could not be saved, or values of constants are inconsistent.
pub fn sensitivity(
    varied: &VariedExperiment,
    rules: &SensitivityRules,
    journal: &Journal,
    run_done: impl Fn() + Sync,
) -> Result<SensitivityRecord, StudyError> {
    let variants = rules.chosen_variants(varied);
    let constants = rules.chosen_constants(varied);
    let mut sampler = Sampler::new(varied, variants, journal, &run_done);
    let found = one_at_a_time(&mut sampler, varied.base().replicates, &constants)?;
    let headline = Headline::of(varied, rules, &found.base);
    let decisions = decision::all(varied, &sampler.variants, &headline);
    let mut ranges = Vec::new();
    let mut active = Vec::new();
    for (&at, ends) in constants.iter().zip(&found.ends) {
        let has_effect = ends.low != found.base || ends.high != found.base;
        ranges.push(range_of(&varied.constants()[at], has_effect));
        if has_effect {
            active.push(at);
        }
    }
    // The screening does not depend on the decisions. It comes first, because all of its runs are known in advance and
    // fit into one round of shards.
    let mut changes = Changes::new(&decisions, &found, &constants);
    let further = rules.further_runs(varied, changes.searches.len());
    let screened = screen(&mut sampler, further.screening, &active, &headline);
    if matches!(&screened, Ok(_) | Err(StudyError::OtherShards)) {
        changes.bisect(&mut sampler, further.halvings)?;
    }
    let screened = screened?;
    Ok(SensitivityRecord {
        schema_version: SensitivityRecord::SCHEMA_VERSION,
        objective: headline.objective_text(),
        limits: headline.limits.iter().map(ToString::to_string).collect(),
        replicates: varied.base().replicates,
        runs: sampler.runs,
        trajectories: screened.trajectories,
        measures: headline
            .measures
            .iter()
            .map(|measure| (*measure, measure.unit().to_owned()))
            .collect(),
        constants: ranges,
        effects: effects(&sampler, &found, &constants, &headline),
        screening: screened.rows,
        decisions: changes.records(varied),
    })
}

/// Simulates the values in force and both ends of every range.
fn one_at_a_time(
    sampler: &mut Sampler<'_>,
    replicates: u32,
    constants: &[usize],
) -> Result<OneAtATime, StudyError> {
    let mut combinations: Vec<Levels> = vec![Vec::new()];
    for &constant in constants {
        for share in [-1.0, 1.0] {
            combinations.push(vec![(constant, Level::Toward(share))]);
        }
    }
    let mut samples = sampler.samples(&combinations, 0..replicates)?.into_iter();
    let base = samples.next().expect("the values in force come first");
    let pairs = samples.tuples();
    Ok(OneAtATime {
        base,
        ends: pairs.map(|(low, high)| RangeRuns { low, high }).collect(),
    })
}

/// The quantities to analyse: measures, the objective and the limits.
struct Headline {
    objective: MeasuredStatistic,
    limits: Vec<Limit>,
    /// The measures, beginning with the objective's.
    measures: Vec<Measure>,
}

impl Headline {
    /// Returns the quantities for an analysis. `base`: the runs with the values in force.
    fn of(varied: &VariedExperiment, rules: &SensitivityRules, base: &SampleRuns) -> Self {
        let experiment = varied.base();
        let objective = match rules.objective {
            Some(objective) => objective,
            None => default_objective(experiment, base),
        };
        let limits = match (&rules.limits, &experiment.plan) {
            (Some(limits), _) => limits.clone(),
            (None, Some(plan)) => plan.limits.clone(),
            (None, None) => Vec::new(),
        };
        let mut measures = vec![objective.measure];
        measures.extend(limits.iter().map(Limit::measure));
        for assertion in &experiment.assertions {
            measures.push(assertion.limit.measure());
        }
        measures.extend(&rules.measures);
        if base.iter().flatten().any(RunRow::is_done) {
            measures.push(READY_TIME);
        }
        Self {
            objective,
            limits,
            measures: measures.into_iter().unique().collect(),
        }
    }

    /// Returns the objective as text, such as `completion_s, median`.
    fn objective_text(&self) -> String {
        let over = match self.objective.over {
            Statistic::Every => "worst run".to_owned(),
            Statistic::Mean => "mean".to_owned(),
            Statistic::Quantile(p) if (p - 0.5).abs() < 1e-9 => "median".to_owned(),
            Statistic::Quantile(p) => format!("p{}", p * 100.0),
        };
        format!("{}, {over}", self.objective.measure)
    }
}

/// Returns the objective of the plan. Without a plan, returns the number of clusters with a defective revision if
/// there are any, otherwise the time until ready. If the plan's objective is a setting, the time in the plan's tables
/// is used.
fn default_objective(experiment: &Experiment, base: &SampleRuns) -> MeasuredStatistic {
    if let Some(plan) = &experiment.plan {
        let measure = plan.objective.measure();
        return MeasuredStatistic {
            measure: measure.unwrap_or(READY_TIME),
            over: plan.objective.over(),
        };
    }
    let is_exposed = base.iter().flatten().any(|run| run.exposed_targets > 0);
    MeasuredStatistic::median(if is_exposed {
        Measure::ExposedTargets
    } else {
        READY_TIME
    })
}

/// Returns a constant, with its range as text.
fn range_of(constant: &VariedConstant, has_effect: bool) -> ConstantRange {
    ConstantRange {
        constant: constant.own_name.clone(),
        basis: constant.basis().to_owned(),
        low: constant.text_at(-1.0),
        value: constant.text_at(0.0),
        high: constant.text_at(1.0),
        has_effect,
    }
}

/// Returns the median of a measure over runs. `None`: at least half of the runs did not reach it.
fn median(measure: Measure, runs: &[RunRow]) -> Option<f64> {
    let median = MeasuredStatistic::median(measure).of(runs);
    median.is_finite().then_some(median)
}

/// Returns the effect of each constant on each measure of each variant.
fn effects(
    sampler: &Sampler<'_>,
    found: &OneAtATime,
    constants: &[usize],
    headline: &Headline,
) -> Vec<EffectRow> {
    let mut rows = Vec::new();
    for (&at, ends) in constants.iter().zip(&found.ends) {
        let constant = &sampler.varied.constants()[at];
        for &measure in &headline.measures {
            for (place, label) in sampler.labels().enumerate() {
                let product = sampler.product(place);
                rows.push(EffectRow {
                    constant: constant.own_name.clone(),
                    basis: constant.basis().to_owned(),
                    low: constant.text_of(product, -1.0),
                    value: constant.text_of(product, 0.0),
                    high: constant.text_of(product, 1.0),
                    variant: label.to_owned(),
                    measure,
                    unit: measure.unit().to_owned(),
                    at_low: median(measure, &ends.low[place]),
                    at_value: median(measure, &found.base[place]),
                    at_high: median(measure, &ends.high[place]),
                });
            }
        }
    }
    rows
}

/// A search for the value of a constant at which a decision changes.
struct ChangeSearch {
    decision: usize,
    /// The constant's index among the chosen constants.
    constant: usize,
    is_high: bool,
    /// Share of the distance to the end of the range at which the answer is the same. The share at which it differs
    /// follows.
    same: f64,
    other: f64,
}

impl ChangeSearch {
    /// Returns the share of the distance to the end that is tried next.
    fn middle(&self) -> f64 {
        f64::midpoint(self.same, self.other)
    }

    /// Returns the level of the constant that is tried next.
    fn level(&self) -> Level {
        let share = self.middle();
        Level::Toward(if self.is_high { share } else { -share })
    }

    /// Keeps the half of the interval in which the answer changes.
    const fn halve(&mut self, middle: f64, is_same: bool) {
        if is_same {
            self.same = middle;
        } else {
            self.other = middle;
        }
    }
}

/// The decisions and their answers, and the constants that change them.
struct Changes<'a> {
    decisions: &'a [StudiedDecision],
    found: &'a OneAtATime,
    /// The chosen constants.
    constants: &'a [usize],
    /// The answer to each decision with the values in force.
    answers: Vec<String>,
    /// A search for each end of a range that gives a different answer.
    searches: Vec<ChangeSearch>,
}

impl<'a> Changes<'a> {
    /// Determines the answers with the values in force, and the ends of ranges that give different answers.
    fn new(
        decisions: &'a [StudiedDecision],
        found: &'a OneAtATime,
        constants: &'a [usize],
    ) -> Self {
        let mut changes = Self {
            decisions,
            found,
            constants,
            answers: Vec::new(),
            searches: Vec::new(),
        };
        for decision in decisions {
            changes.answers.push(decision.answer(&found.base, None));
        }
        for decision in 0..decisions.len() {
            for (constant, ends) in found.ends.iter().enumerate() {
                for is_high in [false, true] {
                    if !changes.is_same(decision, ends.at(is_high)) {
                        changes.searches.push(ChangeSearch {
                            decision,
                            constant,
                            is_high,
                            same: 0.0,
                            other: 1.0,
                        });
                    }
                }
            }
        }
        changes
    }

    /// Returns the answer to a decision from other runs. The present answer remains if it is still equally good.
    fn answer(&self, decision: usize, runs: &SampleRuns) -> String {
        self.decisions[decision].answer(runs, Some(&self.answers[decision]))
    }

    /// Returns whether these runs give the same answer to a decision as the runs with the values in force.
    fn is_same(&self, decision: usize, runs: &SampleRuns) -> bool {
        self.answer(decision, runs) == self.answers[decision]
    }

    /// Bisects the range of each search the given number of times.
    fn bisect(&mut self, sampler: &mut Sampler<'_>, halvings: u32) -> Result<(), StudyError> {
        let replicates = self.found.base.first().map_or(0, Vec::len) as u32;
        for _ in 0..halvings {
            let mut combinations: Vec<Levels> = Vec::new();
            for search in &self.searches {
                combinations.push(vec![(self.constants[search.constant], search.level())]);
            }
            let samples = sampler.samples(&combinations, 0..replicates)?;
            for (number, runs) in samples.iter().enumerate() {
                let is_same = self.is_same(self.searches[number].decision, runs);
                let middle = self.searches[number].middle();
                self.searches[number].halve(middle, is_same);
            }
        }
        Ok(())
    }

    /// Returns every decision with its answers at the ends of the ranges, and the values at which the answers change.
    fn records(&self, varied: &VariedExperiment) -> Vec<DecisionRecord> {
        let mut records = Vec::new();
        for (number, decision) in self.decisions.iter().enumerate() {
            let mut ends = Vec::new();
            for constant in 0..self.constants.len() {
                ends.push(self.end(varied, number, constant, false));
                ends.push(self.end(varied, number, constant, true));
            }
            records.push(DecisionRecord {
                decision: decision.question(),
                answer: self.answers[number].clone(),
                ends,
            });
        }
        records
    }

    /// Returns a decision's result at one end of a constant's range. `place`: the constant's index among the chosen
    /// constants.
    fn end(
        &self,
        varied: &VariedExperiment,
        decision: usize,
        place: usize,
        is_high: bool,
    ) -> DecisionEnd {
        let constant = &varied.constants()[self.constants[place]];
        let product = self.decisions[decision].product();
        let sign = if is_high { 1.0 } else { -1.0 };
        let search = self.searches.iter().find(|search| {
            search.decision == decision && search.constant == place && search.is_high == is_high
        });
        let ends = &self.found.ends[place];
        DecisionEnd {
            constant: constant.own_name.clone(),
            is_high,
            end: constant.text_of(product, sign),
            answer: self.answer(decision, ends.at(is_high)),
            changes: search
                .map(|search| (search.other, constant.text_of(product, sign * search.other))),
        }
    }
}

/// The result of the screening.
struct Screened {
    rows: Vec<ScreeningRow>,
    /// Number of trajectories. 0: there was no screening.
    trajectories: u32,
}

/// Returns the elementary effects of the active constants, from as many trajectories as the budget permits.
fn screen(
    sampler: &mut Sampler<'_>,
    budget: u64,
    active: &[usize],
    headline: &Headline,
) -> Result<Screened, StudyError> {
    let each = (sampler.variants.len() * (active.len() + 1)) as u64;
    let count = if active.is_empty() {
        0
    } else {
        (budget / each.max(1)).min(1_000) as u32
    };
    // The effects of a single trajectory have no spread.
    if count < 2 {
        return Ok(Screened {
            rows: Vec::new(),
            trajectories: 0,
        });
    }
    let seed = sampler.varied.base().seed;
    let mut trajectories = Vec::new();
    for number in 0..count {
        trajectories.push(morris::trajectory(active.len(), seed, number));
    }
    let samples = whole((0..count).zip(&trajectories).map(|(number, trajectory)| {
        sampler.samples(&combinations(trajectory, active), number..number + 1)
    }))?;
    let mut effects = Effects::new();
    for (trajectory, samples) in trajectories.iter().zip(&samples) {
        morris::add_effects(&mut effects, trajectory, samples, &headline.measures);
    }
    Ok(Screened {
        rows: screening_rows(sampler, &effects, active, headline),
        trajectories: count,
    })
}

/// Returns the levels of the active constants at each point of a trajectory.
fn combinations(trajectory: &Trajectory, active: &[usize]) -> Vec<Levels> {
    let mut combinations = Vec::new();
    for point in &trajectory.points {
        let shares = point.iter().copied().map(Level::Quantile);
        combinations.push(active.iter().copied().zip(shares).collect());
    }
    combinations
}

/// Returns the mean and the spread of the elementary effects of each constant on each measure of each variant.
fn screening_rows(
    sampler: &Sampler<'_>,
    effects: &Effects,
    active: &[usize],
    headline: &Headline,
) -> Vec<ScreeningRow> {
    let mut rows = Vec::new();
    for (constant, &at) in active.iter().enumerate() {
        for (measure, &of_measure) in headline.measures.iter().enumerate() {
            for (variant, label) in sampler.labels().enumerate() {
                let key = EffectKey {
                    constant,
                    variant,
                    measure,
                };
                let own = effects.get(&key).map(Vec::as_slice).unwrap_or_default();
                let absolute: Vec<f64> = own.iter().map(|effect| effect.abs()).collect();
                rows.push(ScreeningRow {
                    constant: sampler.varied.constants()[at].own_name.clone(),
                    variant: label.to_owned(),
                    measure: of_measure,
                    unit: of_measure.unit().to_owned(),
                    effects: own.len() as u64,
                    mu: stats::mean(own).unwrap_or(0.0),
                    mu_star: stats::mean(&absolute).unwrap_or(0.0),
                    sigma: stats::sample_sd(own).unwrap_or(0.0),
                });
            }
        }
    }
    rows
}
