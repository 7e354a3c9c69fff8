//! The search for settings: one race for each world and strategy, all in step, so that there is work for every thread.
//!
//! A round simulates what every race asks for, in parallel; only then is anything decided, from all results in index
//! order. So the same file and seed lead to the same runs and the same answer, whatever the number of threads. Runs are
//! those of `fleetsim run`: the same variant and replicate is the same run.

mod bounds;
mod race;
#[cfg(test)]
mod tests;

use std::sync::atomic::AtomicBool;

use super::StudyError;
use super::queue::in_order;
use crate::record::{
    Answer, Axis, Candidate, Exhaustive, Journal, Kept, Limit, MEASURES, Measure, PlanRecord, Question, RunRow,
    Setting, Span, Standing, Statistic,
};
use crate::scenario::{Experiment, Plan, snippet};
use crate::sim;

pub use race::{Race, Rules, Sample, State};

/// What a search leaves behind.
#[derive(Clone, Debug)]
pub struct Found {
    /// The answer.
    pub plan: PlanRecord,
    /// Every run that was simulated, by variant and replicate.
    pub runs: Vec<RunRow>,
}

/// One race: a strategy in a world.
struct Heat {
    world: String,
    strategy: String,
    /// The candidates: numbers of the experiment's variants.
    variants: Vec<usize>,
    race: Race,
    runs: Vec<Vec<RunRow>>,
    /// The last round in which each candidate ran.
    rounds: Vec<u32>,
}

/// Searches the settings of an experiment whose variants are the candidates, on the current rayon pool.
///
/// With `exhaustive`, every candidate is simulated with all replicates after the search has ended, and both answers are
/// told; the search does not see those runs. `run_done` is called after each run, from any thread, and `stop` and the
/// journal work as in [`super::simulate`].
///
/// # Errors
/// When `stop` became true before the end, or a run could not be kept.
pub fn search(
    experiment: &Experiment,
    plan: &Plan,
    exhaustive: bool,
    journal: &Journal,
    run_done: impl Fn(u64) + Sync,
    stop: &AtomicBool,
) -> Result<Found, StudyError> {
    let run = |variant: usize, replicate: u32| -> Result<RunRow, StudyError> {
        let id = (variant as u32, replicate);
        let row = match journal.take(id) {
            Some(run) => run.run,
            None => {
                let mut run = sim::run(&experiment.variants[variant], experiment.seed, replicate);
                (run.series, run.clusters, run.passes) = (Vec::new(), Vec::new(), Vec::new());
                journal.keep(id, &run)?;
                run.run
            }
        };
        run_done(row.events);
        Ok(row)
    };
    search_among(experiment, plan, exhaustive, run, stop)
}

/// As [`search`], with runs from wherever they are had: `run` gives the run of a variant's number and a replicate.
///
/// # Errors
/// Those of `run`, and when `stop` became true before the end.
pub fn search_among(
    experiment: &Experiment,
    plan: &Plan,
    exhaustive: bool,
    run: impl Fn(usize, u32) -> Result<RunRow, StudyError> + Sync,
    stop: &AtomicBool,
) -> Result<Found, StudyError> {
    let mut heats = heats(experiment, plan);
    let (mut spent, mut stopped_at) = (0_u64, None);
    for round in 1.. {
        // Heat, candidate, variant, replicate.
        let mut jobs: Vec<(usize, usize, (usize, u32))> = Vec::new();
        for (heat, of) in heats.iter().enumerate() {
            for (candidate, up_to) in of.race.next() {
                let new = of.race.runs(candidate)..up_to;
                jobs.extend(new.map(|replicate| (heat, candidate, (of.variants[candidate], replicate as u32))));
            }
        }
        if jobs.is_empty() {
            break;
        }
        let left = plan.runs.map_or(u64::MAX, |most| most.saturating_sub(spent));
        if jobs.len() as u64 > left {
            jobs.truncate(left as usize);
            stopped_at = plan.runs;
        }
        let rows = in_order(jobs.len(), stop, |job| run(jobs[job].2.0, jobs[job].2.1))?;
        spent += rows.len() as u64;
        for ((heat, candidate, _), row) in jobs.iter().zip(rows) {
            let heat = &mut heats[*heat];
            heat.race.add(*candidate, sample(plan, &row));
            heat.runs[*candidate].push(row);
            heat.rounds[*candidate] = round;
        }
        if stopped_at.is_some() {
            break;
        }
    }
    let load = load_axis(plan);
    let questions = questions(&heats, experiment, plan, &load);
    let mut runs: Vec<RunRow> = Vec::new();
    for heat in &heats {
        runs.extend(heat.runs.iter().flatten().cloned());
    }
    let most = experiment.replicates as usize;
    let mut record = PlanRecord {
        schema_version: PlanRecord::SCHEMA_VERSION,
        fastest: plan.fastest.to_string(),
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
        exhaustive: None,
    };
    if exhaustive {
        let missing = |heat: &Heat| -> Vec<(usize, u32)> {
            let of = |candidate: usize| (heat.runs[candidate].len()..most).map(move |r| (candidate, r as u32));
            (0..heat.variants.len()).flat_map(of).collect()
        };
        let jobs: Vec<(usize, usize, (usize, u32))> = (0..heats.len())
            .flat_map(|heat| missing(&heats[heat]).into_iter().map(move |(candidate, r)| (heat, candidate, r)))
            .map(|(heat, candidate, r)| (heat, candidate, (heats[heat].variants[candidate], r)))
            .collect();
        let rows = in_order(jobs.len(), stop, |job| run(jobs[job].2.0, jobs[job].2.1))?;
        for ((heat, candidate, _), row) in jobs.iter().zip(rows) {
            heats[*heat].runs[*candidate].push(row);
        }
        record.exhaustive = Some(compare(&heats, experiment, plan, &record));
    }
    Ok(Found { plan: record, runs })
}

/// The most runs that [`search`] may report as done.
#[must_use]
pub fn run_count_at_most(experiment: &Experiment, plan: &Plan, exhaustive: bool) -> u64 {
    let each = u64::from(experiment.replicates.max(plan.confirm));
    let all = experiment.variants.len() as u64 * each;
    if exhaustive { all } else { plan.runs.map_or(all, |most| most.min(all)) }
}

fn sample(plan: &Plan, row: &RunRow) -> Sample {
    Sample { time: plan.fastest.of(row), excess: plan.limits.iter().map(|limit| limit.excess(row)).collect() }
}

fn heats(experiment: &Experiment, plan: &Plan) -> Vec<Heat> {
    let mut heats: Vec<Heat> = Vec::new();
    for (at, variant) in experiment.variants.iter().enumerate() {
        let world = in_short(Setting::of_world(&variant.settings));
        match heats.iter_mut().find(|heat| heat.world == world && heat.strategy == variant.strategy) {
            Some(heat) => heat.variants.push(at),
            None => heats.push(Heat {
                world,
                strategy: variant.strategy.clone(),
                variants: vec![at],
                race: Race::new(0, rules(experiment, plan)),
                runs: Vec::new(),
                rounds: Vec::new(),
            }),
        }
    }
    for heat in &mut heats {
        let candidates = heat.variants.len();
        heat.race = Race::new(candidates, rules(experiment, plan));
        heat.runs = vec![Vec::new(); candidates];
        heat.rounds = vec![0; candidates];
    }
    heats
}

fn rules(experiment: &Experiment, plan: &Plan) -> Rules {
    Rules {
        demands: plan.limits.iter().map(|limit| limit.demand().expect("checked when the plan was read")).collect(),
        fastest: plan.fastest.over(),
        confidence: plan.confidence,
        indifference: plan.indifference,
        confirm: plan.confirm as usize,
        most: experiment.replicates.max(plan.confirm) as usize,
    }
}

fn in_short<'s>(settings: impl Iterator<Item = &'s Setting>) -> String {
    settings.map(|setting| format!("{}={}", setting.name, setting.value)).collect::<Vec<_>>().join("; ")
}

/// What the chart shows beside time: the first limit's load, or pulls.
fn load_axis(plan: &Plan) -> Axis {
    let is_load = |limit: &&Limit| ["egress_peak", "peak_"].iter().any(|start| limit.measure().name.starts_with(start));
    let limit = plan.limits.iter().find(is_load);
    let measure = limit.map_or_else(|| named("peak_pulls"), Limit::measure);
    let at_most = |limit: &Limit| limit.at_most().map(|most| (most, limit.to_string()));
    let of_time = plan.limits.iter().find(|limit| limit.measure().name == plan.fastest.measure().name);
    Axis {
        measure: measure.name.to_owned(),
        unit: measure.unit.to_owned(),
        at_most: limit.and_then(at_most),
        time_at_most: of_time.and_then(at_most),
    }
}

fn named(measure: &str) -> &'static Measure {
    MEASURES.iter().find(|known| known.name == measure).expect("a measure of the table")
}

fn questions(heats: &[Heat], experiment: &Experiment, plan: &Plan, load: &Axis) -> Vec<Question> {
    let mut questions: Vec<Question> = Vec::new();
    for heat in heats {
        let (answer, candidates) = answer(heat, experiment, plan, load);
        match questions.iter_mut().find(|question| question.world == heat.world) {
            Some(question) => {
                question.answers.push(answer);
                question.candidates.extend(candidates);
            }
            None => {
                let world = heat.world.clone();
                questions.push(Question { world, answers: vec![answer], best: None, candidates });
            }
        }
    }
    for question in &mut questions {
        question.best = best_of_all(question, heats, plan);
    }
    questions
}

/// The fastest of the strategies' best, over common replicates.
fn best_of_all(question: &Question, heats: &[Heat], plan: &Plan) -> Option<String> {
    let found = question.answers.iter().filter_map(|answer| answer.variant.as_ref());
    let times = |variant: &String| -> Vec<f64> {
        let rows = heats.iter().flat_map(|heat| &heat.runs).flatten();
        rows.filter(|row| row.variant == *variant).map(|row| plan.fastest.of(row)).collect()
    };
    let fastest = found.reduce(|best, other| {
        let (a, b) = (times(best), times(other));
        let common = a.len().min(b.len());
        if plan.fastest.over().of(&b[..common]) < plan.fastest.over().of(&a[..common]) { other } else { best }
    });
    fastest.cloned()
}

fn answer(heat: &Heat, experiment: &Experiment, plan: &Plan, load: &Axis) -> (Answer, Vec<Candidate>) {
    // A budget that is smaller than the candidates is refused when the file is read.
    let states = heat.race.states();
    let leader = states.iter().position(|state| *state == State::Leader);
    let label = |at: usize| experiment.variants[heat.variants[at]].label.clone();
    let kept = leader.map(|at| {
        let (kept, runs, share_at_least) = heat.race.kept(at);
        Kept { kept: kept as u64, runs: runs as u64, share_at_least }
    });
    let is_confirmed = leader.is_none_or(|at| heat.race.is_confirmed(at));
    let scales: Vec<f64> =
        plan.limits.iter().map(|limit| limit.at_most().unwrap_or(1.0).abs()).map(|most| most.max(1e-9)).collect();
    let answer = Answer {
        strategy: heat.strategy.clone(),
        variant: leader.map(label),
        closest: if leader.is_none() { heat.race.closest(&scales).map(label) } else { None },
        is_decided: is_confirmed && states.iter().all(|state| *state != State::Undecided),
        kept,
        snippet: leader.and_then(|at| snippet(&experiment.variants[heat.variants[at]].scenario.strategy)),
    };
    let of_load = named(&load.measure).of;
    let candidates = (0..heat.variants.len()).map(|at| {
        let variant = &experiment.variants[heat.variants[at]];
        let rows = &heat.runs[at];
        let references: Vec<&RunRow> = rows.iter().collect();
        let times: Vec<f64> = rows.iter().map(|row| plan.fastest.of(row)).collect();
        let loads: Vec<f64> = rows.iter().map(|row| of_load(row).unwrap_or(f64::INFINITY)).collect();
        let unfinished = rows.iter().find(|row| plan.fastest.of(row).is_infinite());
        let verdicts = plan.limits.iter().map(|limit| limit.judge(&references));
        let difference = leader.filter(|leader| *leader != at).and_then(|leader| heat.race.difference(leader, at));
        Candidate {
            variant: variant.label.clone(),
            strategy: variant.strategy.clone(),
            setting: in_short(variant.settings.iter().filter(|setting| setting.is_of_strategy())),
            standing: standing(states[at]),
            reason: match states[at] {
                State::Breaks(limit) => plan.limits[limit].to_string(),
                State::Unfinished => unfinished.map(|row| row.held_by.clone()).unwrap_or_default(),
                _ => String::new(),
            },
            runs: rows.len() as u64,
            round: heat.rounds[at],
            time: span(plan.fastest.over(), &times),
            slower_by: difference.map(|(value, low, high)| Span { value, low, high }),
            load: span(Statistic::Quantile(0.5), &loads).unwrap_or(Span { value: 0.0, low: 0.0, high: 0.0 }),
            limits: verdicts
                .map(|verdict| (Some(verdict.value).filter(|value| value.is_finite()), verdict.runs_beyond as u64))
                .collect(),
        }
    });
    (answer, candidates.collect())
}

fn standing(state: State) -> Standing {
    match state {
        State::Leader => Standing::Best,
        State::Equal => Standing::Equal,
        State::Slower => Standing::Slower,
        State::Breaks(_) => Standing::Breaks,
        State::Unfinished => Standing::Unfinished,
        State::Undecided => Standing::Undecided,
    }
}

/// `None` when a value is infinite.
fn span(over: Statistic, values: &[f64]) -> Option<Span> {
    let low = values.iter().copied().fold(f64::INFINITY, f64::min);
    let high = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    high.is_finite().then(|| Span { value: over.of(values), low, high })
}

/// What all replicates of all candidates say, by the plainest rule: of those that keep to all limits the fastest.
fn compare(heats: &[Heat], experiment: &Experiment, plan: &Plan, record: &PlanRecord) -> Exhaustive {
    let answers = record.questions.iter().flat_map(|question| &question.answers);
    let most = experiment.replicates as usize;
    let time = |rows: &[RunRow]| {
        let times: Vec<f64> = rows.iter().take(most).map(|row| plan.fastest.of(row)).collect();
        plan.fastest.over().of(&times)
    };
    let keeps = |rows: &[RunRow]| {
        let rows: Vec<&RunRow> = rows.iter().take(most).collect();
        rows.iter().all(|row| plan.fastest.of(row).is_finite())
            && plan.limits.iter().all(|limit| limit.judge(&rows).holds)
    };
    let label = |heat: &Heat, at: usize| experiment.variants[heat.variants[at]].label.clone();
    // Answers stand in the order of the worlds, heats in that of the variants.
    let of = |world: &str, strategy: &str| heats.iter().find(|heat| heat.world == world && heat.strategy == strategy);
    let worlds = record.questions.iter().flat_map(|question| question.answers.iter().map(|_| question.world.as_str()));
    let told = worlds.zip(answers).map(|(world, answer)| {
        let heat = of(world, &answer.strategy).expect("an answer is that of a race");
        let kept = (0..heat.variants.len()).filter(|&at| keeps(&heat.runs[at]));
        let best = kept.reduce(|best, at| if time(&heat.runs[at]) < time(&heat.runs[best]) { at } else { best });
        let planned = (0..heat.variants.len()).find(|&at| Some(label(heat, at)) == answer.variant);
        let agrees = match (best, planned) {
            (Some(best), Some(planned)) => {
                let (fastest, found) = (time(&heat.runs[best]), time(&heat.runs[planned]));
                keeps(&heat.runs[planned]) && found <= fastest * (1.0 + plan.indifference)
            }
            (None, None) => true,
            _ => false,
        };
        (best.map(|at| label(heat, at)), agrees)
    });
    Exhaustive { runs: record.exhaustive_runs, answers: told.collect() }
}
