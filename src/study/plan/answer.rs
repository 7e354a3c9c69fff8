//! Converts the results of the races to a [`PlanRecord`](crate::results::PlanRecord): the best setting of each
//! strategy and world with its confidence, and every candidate. With all replicates of all candidates, the choice is
//! made again by a simple rule.

use itertools::Itertools;

use super::Heat;
use super::front::{self, FrontMeasures};
use super::overall::{Winner, best};
use crate::results::{
    Candidate, CandidateStatus, Estimate, ExhaustiveSearch, Limit, LoadAxis, Measure, PlanRecord,
    Question, READY_TIME, ReachRange, RunRow, Setting, Statistic, StrategyAnswer, grouped,
};
use crate::scenario::{Experiment, Plan};

/// The load that the chart shows against time: that of the first limit on a load, or pulls.
pub(super) fn load_axis(plan: &Plan) -> LoadAxis {
    let is_load = |limit: &&Limit| {
        ["egress_peak", "peak_"]
            .iter()
            .any(|start| limit.measure().name.starts_with(start))
    };
    // The clusters that are not ready are the exposure of the front.
    let is_exposure =
        |limit: &&Limit| plan.tries.is_some() && limit.measure().name == "peak_not_ready";
    let limit = plan
        .limits
        .iter()
        .find(|limit| is_load(limit) && !is_exposure(limit));
    let measure = limit.map_or_else(|| named("peak_pulls"), Limit::measure);
    let at_most = |limit: &Limit| limit.at_most().map(|most| (most, limit.to_string()));
    let of_time = plan
        .limits
        .iter()
        .find(|limit| limit.measure().name == time_of(plan).0.name);
    LoadAxis {
        measure: measure.name.to_owned(),
        unit: measure.unit.to_owned(),
        at_most: limit.and_then(at_most),
        time_at_most: of_time.and_then(at_most),
    }
}

/// The time that tables and charts show, with its statistic: the objective, or the median time until ready.
pub(super) fn time_of(plan: &Plan) -> (&'static Measure, Statistic) {
    let objective = plan
        .objective
        .measure()
        .filter(|_| plan.objective.is_time());
    objective.map_or_else(
        || (named(READY_TIME), Statistic::Quantile(0.5)),
        |measure| (measure, plan.objective.over()),
    )
}

fn named(measure: &str) -> &'static Measure {
    Measure::named(measure).expect("a measure of the table")
}

/// The load that the chart shows, and the measures that the front compares in a search within a number of tries.
type Measures<'a> = (&'a LoadAxis, Option<FrontMeasures>);

pub(super) fn questions(
    heats: &[Heat],
    experiment: &Experiment,
    plan: &Plan,
    measures: Measures<'_>,
) -> Vec<Question> {
    let answered = heats
        .iter()
        .map(|heat| (heat.world.clone(), answer(heat, experiment, plan, measures)));
    let question = |(world, parts): (String, Vec<(StrategyAnswer, Vec<Candidate>)>)| {
        let (answers, candidates): (Vec<_>, Vec<_>) = parts.into_iter().unzip();
        let heats: Vec<&Heat> = heats.iter().filter(|heat| heat.world == world).collect();
        let best = best_of_all(&answers, &heats, experiment, plan);
        let is_best_shown = best.as_ref().is_some_and(|(_, is_shown)| *is_shown);
        let is_best_shown = is_best_shown && answers.iter().all(|answer| answer.is_decided);
        let mut candidates = candidates.concat();
        front::mark(&mut candidates);
        Question {
            world,
            answers,
            best: best.map(|(best, _)| best),
            is_best_shown,
            candidates,
        }
    };
    grouped(answered).into_iter().map(question).collect()
}

/// The best of the strategies' answers, and whether the runs show it.
fn best_of_all<'a>(
    answers: &'a [StrategyAnswer],
    heats: &[&Heat],
    experiment: &Experiment,
    plan: &Plan,
) -> Option<(String, bool)> {
    let winner = |variant: &'a String| {
        let settings = experiment
            .variants
            .iter()
            .find(|other| other.label == *variant)
            .map(|other| &other.settings);
        let rows = heats
            .iter()
            .flat_map(|heat| &heat.runs)
            .flatten()
            .filter(|row| row.variant == *variant);
        let values = rows.map(|row| plan.objective.of(row)).collect();
        Winner {
            variant,
            values,
            setting: settings.and_then(|settings| plan.objective.rank(settings)),
        }
    };
    let winners: Vec<Winner<'_>> = answers
        .iter()
        .filter_map(|answer| answer.variant.as_ref())
        .map(winner)
        .collect();
    let candidates = heats.iter().map(|heat| heat.variants.len()).sum();
    let (best, is_shown) = best(&winners, plan.objective.over(), plan.confidence, candidates)?;
    Some((best.clone(), is_shown))
}

/// The scale of each limit: the limit itself.
pub(super) fn scales(plan: &Plan) -> Vec<f64> {
    plan.limits
        .iter()
        .map(|limit| limit.at_most().unwrap_or(1.0).abs())
        .map(|most| most.max(1e-9))
        .collect()
}

fn answer(
    heat: &Heat,
    experiment: &Experiment,
    plan: &Plan,
    (load, front): Measures<'_>,
) -> (StrategyAnswer, Vec<Candidate>) {
    let states = heat.race.states();
    let leader = states
        .iter()
        .position(|state| *state == CandidateStatus::Best);
    let label = |at: usize| experiment.variants[heat.variants[at]].label.clone();
    let is_confirmed = leader.is_none_or(|at| heat.race.is_confirmed(at));
    let is_decided = is_confirmed
        && states
            .iter()
            .all(|state| *state != CandidateStatus::Undecided);
    // What is not certain is not offered for pasting. Of many settings, some are as good as the best one, and it is
    // enough that the limits are met.
    let snippet = leader.filter(|_| is_decided || (plan.tries.is_some() && is_confirmed));
    let scales = scales(plan);
    let reach = leader.map(|at| ReachRange::of(&heat.runs[at].iter().collect::<Vec<&RunRow>>()));
    let answer = StrategyAnswer {
        reach: reach.unwrap_or_default(),
        strategy: heat.strategy.clone(),
        variant: leader.map(label),
        closest: if leader.is_none() {
            heat.race.closest(&scales).map(label)
        } else {
            None
        },
        is_confirmed,
        is_decided,
        kept: leader.map(|at| heat.race.kept(at)),
        snippet: snippet.and_then(|at| {
            experiment.variants[heat.variants[at]]
                .scenario
                .strategy
                .snippet()
        }),
    };
    let of_load = named(&load.measure).of;
    let candidates = (0..heat.variants.len()).map(|at| {
        let variant = &experiment.variants[heat.variants[at]];
        let rows = &heat.runs[at];
        let (time, over) = time_of(plan);
        let times: Vec<f64> = rows
            .iter()
            .map(|row| (time.of)(row).unwrap_or(f64::INFINITY))
            .collect();
        let values: Vec<f64> = rows.iter().map(|row| plan.objective.of(row)).collect();
        let has_value = plan.objective.measure().is_some() && !plan.objective.is_time();
        let loads: Vec<f64> = rows
            .iter()
            .map(|row| of_load(row).unwrap_or(f64::INFINITY))
            .collect();
        let never = |row: &&RunRow| {
            let of_limit = |limit: &Limit| {
                limit.measure().is_late_if_missing && (limit.measure().of)(row).is_none()
            };
            super::value(plan, row).is_infinite() || plan.limits.iter().any(of_limit)
        };
        let unfinished = rows
            .iter()
            .filter(never)
            .map(|row| row.held_by.clone())
            .counts();
        let unfinished = unfinished
            .into_iter()
            .map(|(rule, runs)| (rule, runs as u64))
            .sorted()
            .collect();
        let blocked = rows
            .iter()
            .find(|row| super::value(plan, row).is_infinite());
        let verdicts = plan.limits.iter().map(|limit| limit.judge(rows));
        let is_own =
            |setting: &Setting| setting.is_of_strategy() || plan.objective.is_setting(setting);
        Candidate {
            variant: variant.label.clone(),
            strategy: variant.strategy.clone(),
            settings: variant
                .settings
                .iter()
                .filter(|setting| is_own(setting))
                .cloned()
                .collect(),
            standing: states[at],
            reason: match states[at] {
                CandidateStatus::Breaks => {
                    plan.limits[heat.race.broken(at).expect("that is why it is out")].to_string()
                }
                CandidateStatus::Undecided => heat
                    .race
                    .unshown(at)
                    .map(|limit| plan.limits[limit].to_string())
                    .unwrap_or_default(),
                CandidateStatus::Unfinished => blocked.map(RunRow::held).unwrap_or_default(),
                _ => String::new(),
            },
            runs: rows.len() as u64,
            round: heat.rounds[at],
            time: span(over, &times),
            value: span(plan.objective.over(), &values).filter(|_| has_value),
            slower_by: leader
                .filter(|leader| *leader != at)
                .and_then(|leader| heat.race.difference(leader, at)),
            load: span(Statistic::Quantile(0.5), &loads).unwrap_or(Estimate {
                value: 0.0,
                low: 0.0,
                high: 0.0,
            }),
            limits: verdicts
                .map(|verdict| {
                    (
                        Some(verdict.value).filter(|value| value.is_finite()),
                        verdict.runs_beyond as u64,
                    )
                })
                .collect(),
            unfinished,
            front: front.map(|front| front.place(plan, rows, !variant.settings.iter().any(is_own))),
        }
    });
    (answer, candidates.collect())
}

/// `None` when a value is infinite.
fn span(over: Statistic, values: &[f64]) -> Option<Estimate> {
    let low = values.iter().copied().fold(f64::INFINITY, f64::min);
    let high = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    high.is_finite().then(|| Estimate {
        value: over.of(values),
        low,
        high,
    })
}

/// The choice from all replicates by the simple rule: the best candidate that meets all limits.
pub(super) fn exhaustive(
    heats: &[Heat],
    experiment: &Experiment,
    plan: &Plan,
    record: &PlanRecord,
) -> ExhaustiveSearch {
    let answers = record
        .questions
        .iter()
        .flat_map(|question| std::iter::repeat(question).zip(&question.answers));
    let most = experiment.replicates as usize;
    let objective = |heat: &Heat, at: usize| {
        if let Some(rank) = plan
            .objective
            .rank(&experiment.variants[heat.variants[at]].settings)
        {
            return rank;
        }
        let values: Vec<f64> = heat.runs[at]
            .iter()
            .take(most)
            .map(|row| plan.objective.of(row))
            .collect();
        plan.objective.over().of(&values)
    };
    let keeps = |rows: &[RunRow]| {
        let rows = &rows[..rows.len().min(most)];
        rows.iter().all(|row| super::value(plan, row).is_finite())
            && plan.limits.iter().all(|limit| limit.judge(rows).holds)
    };
    let label = |heat: &Heat, at: usize| experiment.variants[heat.variants[at]].label.clone();
    // Answers are in the order of the worlds, heats in that of the variants.
    let of = |world: &str, strategy: &str| {
        heats
            .iter()
            .find(|heat| heat.world == world && heat.strategy == strategy)
    };
    let choices = answers.map(|(question, answer)| {
        let heat = of(&question.world, &answer.strategy).expect("an answer is that of a race");
        let kept = (0..heat.variants.len()).filter(|&at| keeps(&heat.runs[at]));
        let best = kept.reduce(|best, at| {
            if objective(heat, at) < objective(heat, best) {
                at
            } else {
                best
            }
        });
        let planned = (0..heat.variants.len()).find(|&at| Some(label(heat, at)) == answer.variant);
        let agrees = match (best, planned) {
            (Some(best), Some(planned)) => {
                let (least, found) = (objective(heat, best), objective(heat, planned));
                keeps(&heat.runs[planned]) && found <= least + least.abs() * plan.indifference
            }
            (None, None) => true,
            _ => false,
        };
        (best.map(|at| label(heat, at)), agrees)
    });
    ExhaustiveSearch {
        runs: record.exhaustive_runs,
        answers: choices.collect(),
    }
}
