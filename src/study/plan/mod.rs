//! The search for settings: one race for each world and strategy, in common rounds, to keep every thread busy.
//!
//! A round simulates the runs that all races request, in parallel, and then decides from all results in index order.
//! So the same file and seed give the same runs and the same answer on any number of threads. A variant and replicate
//! is the same run as in `fleetsim run`. Within a number of tries, a [`Tuner`] chooses the candidates of each race
//! before it begins.

mod answer;
mod bounds;
mod front;
mod means;
mod overall;
mod race;
#[cfg(test)]
mod tests;
mod tuner;

use itertools::Itertools;

use super::queue::in_order;
use super::{StudyError, row_of};
use crate::results::{Journal, Limit, PlanRecord, RunRow, Setting, Statistic, TunedPlan, grouped};
use crate::scenario::{Experiment, FIRST_RUNS, Plan, Variant};
use crate::stats::in_turn;

pub use race::{Race, RaceRules, Sample};
pub use tuner::Tuner;

/// The result of a search.
#[derive(Clone, Debug)]
pub struct SearchResult {
    /// The answer.
    pub plan: PlanRecord,
    /// Every run that was simulated, by variant and replicate.
    pub runs: Vec<RunRow>,
}

/// One race: a strategy in a world.
struct Heat {
    world: String,
    strategy: String,
    /// The candidates of the race: numbers of the experiment's variants.
    variants: Vec<usize>,
    /// All that may become candidates, and which of them do. `None`: all are.
    tuner: Option<(Vec<usize>, Tuner)>,
    race: Race,
    runs: Vec<Vec<RunRow>>,
    /// The last round in which each candidate ran.
    rounds: Vec<u32>,
}

impl Heat {
    /// Lets further settings take part, up to its tries. Returns them with their number of runs.
    fn tune(&mut self, experiment: &Experiment, plan: &Plan) -> Vec<(usize, usize)> {
        let Some((all, mut tuner)) = self.tuner.take() else {
            return Vec::new();
        };
        let place = |variant: usize| {
            all.iter()
                .position(|known| *known == variant)
                .expect("it is one of all")
        };
        let leading: Vec<usize> = self
            .leading(plan)
            .into_iter()
            .map(|at| place(self.variants[at]))
            .collect();
        let from = self.variants.len();
        for at in tuner.next(&leading) {
            self.add(all[at], experiment, plan);
        }
        self.tuner = Some((all, tuner));
        let runs = rules(experiment, plan, 1).most.min(FIRST_RUNS);
        (from..self.variants.len())
            .map(|candidate| (candidate, runs))
            .collect()
    }

    fn add(&mut self, variant: usize, experiment: &Experiment, plan: &Plan) {
        self.race
            .enter(plan.objective.rank(&experiment.variants[variant].settings));
        self.variants.push(variant);
        self.runs.push(Vec::new());
        self.rounds.push(0);
    }

    /// The candidates whose neighbours may be better: the best that meets the limits, or exceeds them least, and those
    /// on the front.
    fn leading(&self, plan: &Plan) -> Vec<usize> {
        let measures = front::FrontMeasures::of(
            answer::time_of(plan),
            &answer::load_axis(plan),
            std::slice::from_ref(self),
        );
        let places = self
            .runs
            .iter()
            .map(|rows| front::steps(&measures.place(plan, rows, false)));
        let optimal = front::optimal(&places.collect::<Vec<_>>());
        let scales = answer::scales(plan);
        let beyond = |rows: &[RunRow]| -> f64 {
            let excess = |(limit, scale): (&Limit, &f64)| {
                let over = limit.demand().unwrap_or(Statistic::Every);
                (over.of(&rows.iter().map(|row| limit.excess(row)).collect::<Vec<_>>()) / scale)
                    .max(0.0)
            };
            plan.limits.iter().zip(&scales).map(excess).sum()
        };
        let value = |rows: &[RunRow]| {
            plan.objective
                .over()
                .of(&rows.iter().map(|row| value(plan, row)).collect::<Vec<_>>())
        };
        let order = |at: &usize| [beyond(&self.runs[*at]), value(&self.runs[*at])];
        let sorted: Vec<usize> = (0..self.runs.len())
            .sorted_by(|a, b| in_turn(order(a), order(b)))
            .collect();
        let front = sorted.iter().copied().skip(1).filter(|at| optimal[*at]);
        sorted.first().copied().into_iter().chain(front).collect()
    }
}

/// Searches the settings of an experiment whose variants are the candidates, on the current rayon pool.
///
/// With `exhaustive`, every candidate is simulated with all replicates after the search, and both answers are
/// reported; the search does not use those runs. `run_done` is called after each run, from any thread. The
/// journal works as in [`super::simulate`].
///
/// # Errors
/// When a run could not be saved.
pub fn search(
    experiment: &Experiment,
    plan: &Plan,
    exhaustive: bool,
    journal: &Journal,
    run_done: impl Fn(u64) + Sync,
) -> Result<SearchResult, StudyError> {
    let run = |variant: usize, replicate: u32| -> Result<RunRow, StudyError> {
        let row = row_of(
            experiment,
            variant,
            replicate,
            (journal, (variant as u32, replicate)),
        )?;
        run_done(row.events);
        Ok(row)
    };
    search_among(experiment, plan, exhaustive, run)
}

/// As [`search`], with runs from any source: `run` returns the run of a variant's number and a replicate.
///
/// # Errors
/// Those of `run`.
pub fn search_among(
    experiment: &Experiment,
    plan: &Plan,
    exhaustive: bool,
    run: impl Fn(usize, u32) -> Result<RunRow, StudyError> + Sync,
) -> Result<SearchResult, StudyError> {
    let mut heats = heats(experiment, plan);
    let (mut spent, mut stopped_at) = (0_u64, None);
    for round in 1.. {
        // Heat, candidate, variant, replicate.
        let mut jobs: Vec<(usize, usize, (usize, u32))> = Vec::new();
        let tuned: Vec<Vec<(usize, usize)>> = heats
            .iter_mut()
            .map(|heat| heat.tune(experiment, plan))
            .collect();
        let is_tuning = tuned.iter().any(|new| !new.is_empty());
        for (heat, (of, tuned)) in heats.iter().zip(tuned).enumerate() {
            for (candidate, up_to) in if is_tuning { tuned } else { of.race.next() } {
                let new = of.race.runs(candidate)..up_to;
                jobs.extend(new.map(|replicate| {
                    (heat, candidate, (of.variants[candidate], replicate as u32))
                }));
            }
        }
        if jobs.is_empty() {
            break;
        }
        let left = plan
            .runs
            .map_or(u64::MAX, |most| most.saturating_sub(spent));
        if jobs.len() as u64 > left {
            jobs.truncate(left as usize);
            stopped_at = plan.runs;
        }
        let rows = in_order(jobs.len(), |job| run(jobs[job].2.0, jobs[job].2.1))?;
        spent += rows.len() as u64;
        for ((heat, candidate, _), row) in jobs.iter().zip(rows) {
            let heat = &mut heats[*heat];
            let excess = plan.limits.iter().map(|limit| limit.excess(&row)).collect();
            heat.race.add(
                *candidate,
                Sample {
                    value: value(plan, &row),
                    excess,
                },
            );
            heat.runs[*candidate].push(row);
            heat.rounds[*candidate] = round;
        }
        if stopped_at.is_some() {
            break;
        }
    }
    let load = answer::load_axis(plan);
    let measures = plan
        .tries
        .map(|_| front::FrontMeasures::of(answer::time_of(plan), &load, &heats));
    let questions = answer::questions(&heats, experiment, plan, (&load, measures));
    let runs = heats
        .iter()
        .flat_map(|heat| &heat.runs)
        .flatten()
        .cloned()
        .collect();
    let most = experiment.replicates as usize;
    let mut record = PlanRecord {
        schema_version: PlanRecord::SCHEMA_VERSION,
        objective: plan.objective.to_string(),
        unit: plan
            .objective
            .measure()
            .map_or("", |measure| measure.unit)
            .to_owned(),
        is_maximised: plan.objective.is_maximised(),
        limits: plan.limits.iter().map(ToString::to_string).collect(),
        confidence: plan.confidence,
        indifference: plan.indifference,
        confirm: plan.confirm,
        replicates: experiment.replicates,
        runs: spent,
        exhaustive_runs: (experiment.variants.len() * most) as u64,
        stopped_at,
        load,
        questions,
        tuned: plan.tries.zip(measures).map(|(tries, measures)| TunedPlan {
            tries: tries as u64,
            settings: experiment.variants.len() as u64,
            runs_each: FIRST_RUNS as u64,
            exposure: measures.exposure.name.to_owned(),
        }),
        exhaustive: None,
    };
    if exhaustive {
        for heat in &mut heats {
            let all = heat
                .tuner
                .as_ref()
                .map_or_else(Vec::new, |(all, _)| all.clone());
            for variant in all {
                if !heat.variants.contains(&variant) {
                    heat.add(variant, experiment, plan);
                }
            }
        }
        let mut jobs: Vec<(usize, usize, (usize, u32))> = Vec::new();
        for (heat, of) in heats.iter().enumerate() {
            for (candidate, &variant) in of.variants.iter().enumerate() {
                let missing = of.runs[candidate].len()..most;
                jobs.extend(
                    missing.map(|replicate| (heat, candidate, (variant, replicate as u32))),
                );
            }
        }
        let rows = in_order(jobs.len(), |job| run(jobs[job].2.0, jobs[job].2.1))?;
        for ((heat, candidate, _), row) in jobs.iter().zip(rows) {
            heats[*heat].runs[*candidate].push(row);
        }
        record.exhaustive = Some(answer::exhaustive(&heats, experiment, plan, &record));
    }
    Ok(SearchResult { plan: record, runs })
}

/// Upper bound of the runs that [`search`] reports as done.
#[must_use]
pub fn run_count_at_most(experiment: &Experiment, plan: &Plan, exhaustive: bool) -> u64 {
    let races = grouped(
        experiment
            .variants
            .iter()
            .map(|variant| (race_of(variant, plan), ())),
    );
    let of_race = |candidates: usize| {
        plan.tries.unwrap_or(candidates).min(candidates) * rules(experiment, plan, candidates).most
    };
    let all = races
        .iter()
        .map(|(_, candidates)| of_race(candidates.len()))
        .sum::<usize>() as u64;
    if exhaustive {
        all
    } else {
        plan.runs.map_or(all, |most| most.min(all))
    }
}

fn heats(experiment: &Experiment, plan: &Plan) -> Vec<Heat> {
    let heat = |((world, strategy), all): (_, Vec<usize>)| {
        let race = Race::new(
            all.len(),
            plan.tries.is_some(),
            rules(experiment, plan, all.len()),
        );
        let (variants, runs, rounds) = (Vec::new(), Vec::new(), Vec::new());
        let mut heat = Heat {
            world,
            strategy,
            variants,
            tuner: None,
            race,
            runs,
            rounds,
        };
        match plan.tries {
            Some(tries) => heat.tuner = Some(tuner(experiment, plan, all, tries)),
            None => all
                .into_iter()
                .for_each(|variant| heat.add(variant, experiment, plan)),
        }
        heat
    };
    grouped(
        experiment
            .variants
            .iter()
            .map(|variant| race_of(variant, plan))
            .zip(0..),
    )
    .into_iter()
    .map(heat)
    .collect()
}

/// The variants of a race that may become candidates, and the search among them. Where the setting as it stands is that
/// of a point of the grid, it takes its place.
fn tuner(
    experiment: &Experiment,
    plan: &Plan,
    mut variants: Vec<usize>,
    tries: usize,
) -> (Vec<usize>, Tuner) {
    let own = |variant: usize| -> Vec<&Setting> {
        let settings = &experiment.variants[variant].settings;
        settings
            .iter()
            .filter(|setting| setting.is_of_strategy() || plan.objective.is_setting(setting))
            .collect()
    };
    let strategy = |variant: usize| format!("{:?}", experiment.variants[variant].scenario.strategy);
    let present = variants
        .first()
        .copied()
        .filter(|&variant| variants.len() > 1 && own(variant).is_empty());
    let same = present.map(strategy).and_then(|wanted| {
        variants[1..]
            .iter()
            .copied()
            .find(|&at| strategy(at) == wanted)
    });
    variants.retain(|variant| Some(*variant) != same);
    let settings =
        |&variant: &usize| own(same.filter(|_| Some(variant) == present).unwrap_or(variant));
    let tuner = Tuner::new(
        &variants.iter().map(settings).collect::<Vec<_>>(),
        present.map(|_| 0),
        tries,
    );
    (variants, tuner)
}

/// The world and the strategy of a variant. A setting that is the objective distinguishes candidates, not worlds.
fn race_of(variant: &Variant, plan: &Plan) -> (String, String) {
    let world =
        Setting::of_world(&variant.settings).filter(|setting| !plan.objective.is_setting(setting));
    (Setting::in_short(world), variant.strategy.clone())
}

/// The value of a run for the race; infinite for a run that did not finish. Where the objective is no time, limits on
/// times say how much must be finished, and without one all of it.
fn value(plan: &Plan, run: &RunRow) -> f64 {
    let says_when = || plan.limits.iter().any(|limit| limit.measure().unit == "s");
    let is_finished = plan.objective.is_time() || run.is_done() || says_when();
    if is_finished {
        plan.objective.of(run)
    } else {
        f64::INFINITY
    }
}

/// The rules of a race between so many candidates.
fn rules(experiment: &Experiment, plan: &Plan, candidates: usize) -> RaceRules {
    let rules = RaceRules {
        demands: plan
            .limits
            .iter()
            .map(|limit| limit.demand().expect("checked when the plan was read"))
            .collect(),
        objective: plan.objective.over(),
        confidence: plan.confidence,
        indifference: plan.indifference,
        confirm: plan.confirm as usize,
        most: 0,
        most_compared: 0,
    };
    let (objective, limits) = rules.runs_for_bounds(candidates);
    let most = |needed: usize| match plan.most {
        Some(most) => most as usize,
        None => needed.max(experiment.replicates.max(plan.confirm) as usize),
    };
    RaceRules {
        most: most(objective.max(limits)),
        most_compared: most(objective),
        ..rules
    }
}
