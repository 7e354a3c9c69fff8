//! Sensitivity: how much each constant of the model matters for an experiment, and for the decision it supports.
//!
//! One at a time: every constant is put at both ends of its range while the others keep their values, with the random
//! numbers of the same replicates, so that a difference is due to the constant. Where a decision has another answer at
//! an end, bisection finds the value at which it changes. The constants that make any difference are then screened
//! together (Morris, Technometrics 33 (1991); mu* after Campolongo, Cariboni, Saltelli, Environmental Modelling &
//! Software 22 (2007)), which shows effects that depend on other constants.
//!
//! Left out: correlations between constants, and a constant whose effect appears only beside another one; the first
//! part finds no difference there, so it is not screened. A decision that changes twice within a range is reported with
//! one of the changes. Bisection and screening use the same runs again wherever values are equal.

mod decision;
mod morris;
mod sample;
#[cfg(test)]
mod tests;

use itertools::Itertools;

use crate::results::{
    ConstantRange, DecisionEnd, DecisionRecord, EffectRow, Journal, Limit, Measure, READY_TIME,
    RunRow, ScreeningRow, SensitivityRecord, Statistic,
};
use crate::scenario::{Level, VariedConstant, VariedExperiment};
use crate::stats;
use crate::study::{StudyError, whole};
use decision::StudiedDecision;
use sample::{SampleRuns, Sampler};

/// The options of an analysis.
#[derive(Clone, Debug, Default)]
pub struct SensitivityRules {
    /// The measure that the best variant minimises, with its statistic. `None`: the plan's objective, or the clusters
    /// with a defective revision where there are any, or the completion time.
    pub objective: Option<(&'static Measure, Statistic)>,
    /// Limits that the best variant must meet. `None`: those of the plan.
    pub limits: Option<Vec<Limit>>,
    /// Further measures.
    pub measures: Vec<&'static Measure>,
    /// Constants to vary, by path. Empty: all that take part.
    pub only: Vec<String>,
    /// Variants whose names contain one of these. Empty: all.
    pub variants: Vec<String>,
    /// Most runs of the screening.
    pub screening: u64,
    /// Most runs of all parts. `None`: no limit beside that of the screening.
    pub most: Option<u64>,
    /// Halvings of a range in which a decision changes, such as [`crate::results::HALVINGS`]. 0: only its ends are
    /// compared.
    pub halvings: u32,
}

/// The constants among these that decide the answer of an experiment, from one run at both ends of each range.
///
/// # Errors
/// Those of [`sensitivity`].
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

impl SensitivityRules {
    /// Runs of one constant at a time.
    #[must_use]
    pub fn least_runs(&self, varied: &VariedExperiment) -> u64 {
        let constants: Vec<_> = self
            .chosen_constants(varied)
            .iter()
            .map(|&at| &varied.constants()[at])
            .collect();
        let samples = |variant: usize| {
            let strategy = &varied.base().variants[variant].strategy;
            1 + 2 * constants
                .iter()
                .filter(|constant| constant.strategies.contains(strategy))
                .count() as u64
        };
        let samples: u64 = self.chosen_variants(varied).into_iter().map(samples).sum();
        samples * u64::from(varied.base().replicates)
    }

    /// Halvings of each search, and runs of the screening, that the runs beside those of one constant at a time allow.
    fn shares(&self, varied: &VariedExperiment, searches: usize) -> (u32, u64) {
        let Some(most) = self.most else {
            return (self.halvings, self.screening);
        };
        let left = most.saturating_sub(self.least_runs(varied));
        let each = self.chosen_variants(varied).len() as u64
            * u64::from(varied.base().replicates)
            * searches as u64;
        let halvings = left
            .checked_div(each)
            .map_or(self.halvings, |fit| self.halvings.min(fit as u32));
        (
            halvings,
            self.screening.min(left - u64::from(halvings) * each),
        )
    }

    fn chosen_variants(&self, varied: &VariedExperiment) -> Vec<usize> {
        let variants = varied.base().variants.iter().enumerate();
        let is_chosen = |label: &str| {
            self.variants.is_empty() || self.variants.iter().any(|part| label.contains(part))
        };
        variants
            .filter(|(_, variant)| is_chosen(&variant.label))
            .map(|(at, _)| at)
            .collect()
    }

    fn chosen_constants(&self, varied: &VariedExperiment) -> Vec<usize> {
        let is_chosen = |of: &VariedConstant| {
            self.only.is_empty() || self.only.iter().any(|path| of.is_named(path))
        };
        let constants = varied.constants().iter().enumerate();
        constants
            .filter(|(_, constant)| is_chosen(constant))
            .map(|(at, _)| at)
            .collect()
    }
}

/// The runs at the values in force and at both ends of every range.
struct OneAtATime {
    base: SampleRuns,
    /// Of each chosen constant: at the low end, and at the high end.
    ends: Vec<[SampleRuns; 2]>,
}

/// Analyses an experiment on the current rayon pool. `run_done` is called after each run, from any thread. The
/// journal works as in [`super::simulate`].
///
/// # Errors
/// When a run could not be saved, or values of constants do not fit together.
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
    let has_effect: Vec<bool> = found
        .ends
        .iter()
        .map(|ends| ends.iter().any(|end| *end != found.base))
        .collect();
    let active: Vec<usize> = constants
        .iter()
        .zip(&has_effect)
        .filter(|(_, has)| **has)
        .map(|(at, _)| *at)
        .collect();
    // The screening does not depend on the decisions. It comes first, because its runs are known in one round of
    // shards.
    let (answers, searches) = changes(&decisions, &found);
    let (halvings, screening) = rules.shares(varied, searches.len());
    let screened = screen(&mut sampler, screening, &active, &headline);
    let decided = match screened {
        Err(error) if !matches!(error, StudyError::OtherShards) => return Err(error),
        _ => decide(
            &mut sampler,
            &decisions,
            &found,
            (answers, searches),
            (&constants, halvings),
        )?,
    };
    let (screening, trajectories) = screened?;
    let range = |(at, has_effect): (&usize, &bool)| range_of(&varied.constants()[*at], *has_effect);
    Ok(SensitivityRecord {
        schema_version: SensitivityRecord::SCHEMA_VERSION,
        objective: headline.objective_text(),
        limits: headline.limits.iter().map(ToString::to_string).collect(),
        replicates: varied.base().replicates,
        runs: sampler.runs,
        trajectories,
        measures: headline
            .measures
            .iter()
            .map(|measure| (measure.name.to_owned(), measure.unit.to_owned()))
            .collect(),
        constants: constants.iter().zip(&has_effect).map(range).collect(),
        effects: effects(&sampler, &found, &constants, &headline),
        screening,
        decisions: decided,
    })
}

fn one_at_a_time(
    sampler: &mut Sampler<'_>,
    replicates: u32,
    constants: &[usize],
) -> Result<OneAtATime, StudyError> {
    let ends = constants
        .iter()
        .flat_map(|&at| [-1.0, 1.0].map(|share| vec![(at, Level::Toward(share))]));
    let levels: Vec<_> = [Vec::new()].into_iter().chain(ends).collect();
    let mut samples = sampler.samples(&levels, 0..replicates)?.into_iter();
    let base = samples.next().expect("the values in force come first");
    Ok(OneAtATime {
        base,
        ends: samples.tuples().map(|(low, high)| [low, high]).collect(),
    })
}

/// The quantities that are looked at: measures, the objective and the limits.
struct Headline {
    objective: (&'static Measure, Statistic),
    limits: Vec<Limit>,
    measures: Vec<&'static Measure>,
}

impl Headline {
    fn of(varied: &VariedExperiment, rules: &SensitivityRules, base: &SampleRuns) -> Self {
        let experiment = varied.base();
        let named = |name| Measure::named(name).expect("a measure of the table");
        let plan = experiment.plan.as_ref();
        let is_exposed = base.iter().flatten().any(|run| run.exposed_targets > 0);
        let default = || match plan {
            // The time that a plan's tables show stands for a setting.
            Some(plan) => (
                plan.objective
                    .measure()
                    .unwrap_or_else(|| named(READY_TIME)),
                plan.objective.over(),
            ),
            None if is_exposed => (named("exposed_targets"), Statistic::Quantile(0.5)),
            None => (named(READY_TIME), Statistic::Quantile(0.5)),
        };
        let objective = rules.objective.unwrap_or_else(default);
        let limits = rules
            .limits
            .clone()
            .or_else(|| plan.map(|plan| plan.limits.clone()))
            .unwrap_or_default();
        let asserted = experiment
            .assertions
            .iter()
            .map(|assertion| assertion.limit.measure());
        let is_ever_done = base.iter().flatten().any(RunRow::is_done);
        let limited = limits.iter().map(Limit::measure).chain(asserted);
        let more = limited
            .chain(rules.measures.iter().copied())
            .chain(is_ever_done.then(|| named(READY_TIME)));
        let measures = [objective.0]
            .into_iter()
            .chain(more)
            .unique_by(|measure| measure.name)
            .collect();
        Self {
            objective,
            limits,
            measures,
        }
    }

    fn objective_text(&self) -> String {
        let over = match self.objective.1 {
            Statistic::Every => "worst run".to_owned(),
            Statistic::Mean => "mean".to_owned(),
            Statistic::Quantile(p) if (p - 0.5).abs() < 1e-9 => "median".to_owned(),
            Statistic::Quantile(p) => format!("p{}", p * 100.0),
        };
        format!("{}, {over}", self.objective.0.name)
    }
}

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

/// The median of a measure over runs. `None`: half of the runs or more did not reach it.
fn median(measure: &Measure, runs: &[crate::results::RunRow]) -> Option<f64> {
    let values: Vec<f64> = runs
        .iter()
        .map(|run| (measure.of)(run).unwrap_or(f64::INFINITY))
        .collect();
    let median = Statistic::Quantile(0.5).of(&values);
    median.is_finite().then_some(median)
}

fn effects(
    sampler: &Sampler<'_>,
    found: &OneAtATime,
    constants: &[usize],
    headline: &Headline,
) -> Vec<EffectRow> {
    let mut rows = Vec::new();
    for (&at, [low, high]) in constants.iter().zip(&found.ends) {
        let constant = &sampler.varied.constants()[at];
        for measure in &headline.measures {
            for (place, label) in sampler.labels().enumerate() {
                let product = sampler.product(place);
                rows.push(EffectRow {
                    constant: constant.own_name.clone(),
                    basis: constant.basis().to_owned(),
                    low: constant.text_of(product, -1.0),
                    value: constant.text_of(product, 0.0),
                    high: constant.text_of(product, 1.0),
                    variant: label.to_owned(),
                    measure: measure.name.to_owned(),
                    unit: measure.unit.to_owned(),
                    at_low: median(measure, &low[place]),
                    at_value: median(measure, &found.base[place]),
                    at_high: median(measure, &high[place]),
                });
            }
        }
    }
    rows
}

/// One search for the value that changes a decision.
struct ChangeSearch {
    decision: usize,
    /// Place among the chosen constants.
    constant: usize,
    is_high: bool,
    /// Shares of the way to the end: the answer is the same, and another.
    same: f64,
    other: f64,
}

impl ChangeSearch {
    fn level(&self, share: f64) -> Level {
        Level::Toward(if self.is_high { share } else { -share })
    }
}

/// The answers to the decisions, and the ends of ranges with another answer.
fn changes(decisions: &[StudiedDecision], found: &OneAtATime) -> (Vec<String>, Vec<ChangeSearch>) {
    let answers: Vec<String> = decisions
        .iter()
        .map(|decision| decision.answer(&found.base, None))
        .collect();
    let mut searches = Vec::new();
    for (decision, answer) in answers.iter().enumerate() {
        for (constant, ends) in found.ends.iter().enumerate() {
            for (is_high, runs) in [(false, &ends[0]), (true, &ends[1])] {
                if decisions[decision].answer(runs, Some(answer)) != *answer {
                    searches.push(ChangeSearch {
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
    (answers, searches)
}

/// Every decision with its answers at the ends of the ranges, and where they change.
fn decide(
    sampler: &mut Sampler<'_>,
    decisions: &[StudiedDecision],
    found: &OneAtATime,
    (answers, mut searches): (Vec<String>, Vec<ChangeSearch>),
    (constants, halvings): (&[usize], u32),
) -> Result<Vec<DecisionRecord>, StudyError> {
    let answer_at = |decision: usize, runs: &SampleRuns| {
        decisions[decision].answer(runs, Some(&answers[decision]))
    };
    let replicates = found.base.first().map_or(0, Vec::len) as u32;
    for _ in 0..halvings {
        let middle = |search: &ChangeSearch| f64::midpoint(search.same, search.other);
        let levels: Vec<Vec<(usize, Level)>> = searches
            .iter()
            .map(|search| vec![(constants[search.constant], search.level(middle(search)))])
            .collect();
        let samples = sampler.samples(&levels, 0..replicates)?;
        for (search, runs) in searches.iter_mut().zip(&samples) {
            let share = middle(search);
            match answer_at(search.decision, runs) == answers[search.decision] {
                true => search.same = share,
                false => search.other = share,
            }
        }
    }
    let end = |decision: usize, place: usize, is_high: bool| {
        let constant = &sampler.varied.constants()[constants[place]];
        let product = decisions[decision].product();
        let sign = if is_high { 1.0 } else { -1.0 };
        let search = searches.iter().find(|search| {
            (search.decision, search.constant, search.is_high) == (decision, place, is_high)
        });
        DecisionEnd {
            constant: constant.own_name.clone(),
            is_high,
            end: constant.text_of(product, sign),
            answer: answer_at(decision, &found.ends[place][usize::from(is_high)]),
            changes: search
                .map(|search| (search.other, constant.text_of(product, sign * search.other))),
        }
    };
    let record = |decision: usize| DecisionRecord {
        decision: decisions[decision].question(),
        answer: answers[decision].clone(),
        ends: (0..constants.len())
            .flat_map(|place| [false, true].map(|high| end(decision, place, high)))
            .collect(),
    };
    Ok((0..decisions.len()).map(record).collect())
}

/// The elementary effects of the active constants, and the number of trajectories that the budget allows.
fn screen(
    sampler: &mut Sampler<'_>,
    budget: u64,
    active: &[usize],
    headline: &Headline,
) -> Result<(Vec<ScreeningRow>, u32), StudyError> {
    let each = (sampler.variants.len() * (active.len() + 1)) as u64;
    let count = if active.is_empty() {
        0
    } else {
        (budget / each.max(1)).min(1_000) as u32
    };
    // One trajectory has no spread.
    if count < 2 {
        return Ok((Vec::new(), 0));
    }
    let seed = sampler.varied.base().seed;
    let trajectories: Vec<_> = (0..count)
        .map(|number| morris::trajectory(active.len(), seed, number))
        .collect();
    let samples = whole((0..).zip(&trajectories).map(|(number, trajectory)| {
        let level = |(&at, share): (&usize, &f64)| (at, Level::Quantile(*share));
        let levels = |point: &Vec<f64>| active.iter().zip(point).map(level).collect();
        sampler.samples(
            &trajectory.points.iter().map(levels).collect::<Vec<_>>(),
            number..number + 1,
        )
    }))?;
    let effects = trajectories.iter().zip(&samples);
    let effects = effects
        .flat_map(|(trajectory, samples)| morris::effects(trajectory, samples, &headline.measures));
    let effects = effects.into_group_map();
    let mut rows = Vec::new();
    for (place, &at) in active.iter().enumerate() {
        for (measure_at, measure) in headline.measures.iter().enumerate() {
            for (variant_at, label) in sampler.labels().enumerate() {
                let own = effects
                    .get(&[place, variant_at, measure_at])
                    .map(Vec::as_slice)
                    .unwrap_or_default();
                let absolute: Vec<f64> = own.iter().map(|effect| effect.abs()).collect();
                rows.push(ScreeningRow {
                    constant: sampler.varied.constants()[at].own_name.clone(),
                    variant: label.to_owned(),
                    measure: measure.name.to_owned(),
                    unit: measure.unit.to_owned(),
                    effects: own.len() as u64,
                    mu: stats::mean(own).unwrap_or(0.0),
                    mu_star: stats::mean(&absolute).unwrap_or(0.0),
                    sigma: stats::sample_sd(own).unwrap_or(0.0),
                });
            }
        }
    }
    Ok((rows, count))
}
