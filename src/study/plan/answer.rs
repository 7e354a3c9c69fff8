//! Converts the results of the races to a [`PlanRecord`](crate::results::PlanRecord): for each strategy and world, the
//! best setting with its confidence, and every candidate.

use std::collections::BTreeMap;

use super::front::{self, FrontMeasures};
use super::overall::{BestAnswer, Winner, best};
use super::race::leader_of;
use super::{PlannedExperiment, StrategyRace};
use crate::results::{
    Candidate, CandidateStatus, Estimate, Limit, LoadAxis, Measure, MeasuredStatistic, Question,
    READY_TIME, ReachRange, RunRow, Setting, Statistic, StrategyAnswer, grouped,
};
use crate::scenario::Plan;

/// Returns the load that the chart shows against time: the load of the first limit on a load, or the number of pulls.
pub(super) fn load_axis(plan: &Plan) -> LoadAxis {
    let limit = plan.limits.iter().find(|limit| is_on_load(limit, plan));
    let measure = limit.map_or(Measure::PeakPulls, Limit::measure);
    let time = time_of(plan).measure;
    let of_time = plan.limits.iter().find(|limit| limit.measure() == time);
    LoadAxis {
        measure,
        unit: measure.unit().to_owned(),
        at_most: limit.and_then(greatest_allowed),
        time_at_most: of_time.and_then(greatest_allowed),
    }
}

/// Returns whether a limit is on the load of the registry or of the clusters. In a search with a number of tries,
/// clusters that are not ready do not count as load, because they are the exposure in the front.
fn is_on_load(limit: &Limit, plan: &Plan) -> bool {
    let measure = limit.measure();
    let is_exposure = plan.tries.is_some() && measure == Measure::PeakNotReady;
    measure.is_peak_of_load() && !is_exposure
}

/// Returns the maximum that a limit allows, and the limit as written.
fn greatest_allowed(limit: &Limit) -> Option<(f64, String)> {
    let most = limit.at_most()?;
    Some((most, limit.to_string()))
}

/// Returns the time that tables and charts show: the objective if it is a time, otherwise the median time until ready.
pub(super) fn time_of(plan: &Plan) -> MeasuredStatistic {
    match plan.objective.measured() {
        Some(objective) if objective.measure.is_time() => objective,
        _ => MeasuredStatistic::median(READY_TIME),
    }
}

/// Returns the scale of each limit, which is the limit's value.
pub(super) fn scales(plan: &Plan) -> Vec<f64> {
    let mut scales = Vec::new();
    for limit in &plan.limits {
        scales.push(limit.at_most().unwrap_or(1.0).abs().max(1e-9));
    }
    scales
}

/// The answers, computed from the runs of all races.
pub(super) struct PlanAnswers<'s> {
    pub(super) task: PlannedExperiment<'s>,
    /// The races, in the order of the experiment.
    pub(super) races: &'s [StrategyRace],
    /// The load that the chart shows against time.
    pub(super) load: &'s LoadAxis,
    /// The measures that the front compares. `None`: there is no front, because no tuner picks the candidates.
    pub(super) front: Option<FrontMeasures>,
}

/// The result of one race.
struct RaceResult {
    answer: StrategyAnswer,
    candidates: Vec<Candidate>,
}

impl PlanAnswers<'_> {
    /// Returns one question for each world, in the order of the experiment.
    pub(super) fn questions(&self) -> Vec<Question> {
        let mut results = Vec::new();
        for race in self.races {
            results.push((race.key.world.clone(), self.result(race)));
        }
        grouped(results)
            .into_iter()
            .map(|(world, results)| self.question(world, results))
            .collect()
    }

    /// Returns the question for a world, with the results of its races.
    fn question(&self, world: String, results: Vec<RaceResult>) -> Question {
        let mut answers = Vec::new();
        let mut candidates = Vec::new();
        for result in results {
            answers.push(result.answer);
            candidates.extend(result.candidates);
        }
        front::mark(&mut candidates);
        let best = self.best_of_world(&world, &answers);
        let is_best_shown = best.as_ref().is_some_and(|best| best.is_shown)
            && answers.iter().all(|answer| answer.is_decided);
        let best = best.map(|best| best.variant.clone());
        Question {
            world,
            answers,
            best,
            is_best_shown,
            bound: String::new(),
            candidates,
        }
    }

    /// Returns the best of the strategies' answers in a world.
    fn best_of_world<'a>(
        &self,
        world: &str,
        answers: &'a [StrategyAnswer],
    ) -> Option<BestAnswer<'a>> {
        let mut races = Vec::new();
        let mut candidates = 0;
        for race in self.races {
            if race.key.world == world {
                races.push(race);
                candidates += race.variants.len();
            }
        }
        let mut winners = Vec::new();
        for answer in answers {
            if let Some(variant) = &answer.variant {
                winners.push(self.winner(variant, &races));
            }
        }
        let plan = self.task.plan;
        best(&winners, plan.objective.over(), plan.confidence, candidates)
    }

    /// Returns the winner of the race that contains the variant with this label.
    fn winner<'a>(&self, variant: &'a String, races: &[&StrategyRace]) -> Winner<'a> {
        let objective = &self.task.plan.objective;
        let mut own_runs = Vec::new();
        for race in races {
            for row in race.runs.iter().flatten() {
                if row.variant == *variant {
                    own_runs.push(row);
                }
            }
        }
        let mut variants = self.task.experiment.variants.iter();
        let own = variants.find(|other| other.label == *variant);
        Winner {
            variant,
            left: own_runs.iter().map(|run| self.task.left(run)).collect(),
            values: self.task.objectives(own_runs),
            setting: own.and_then(|own| objective.rank(&own.settings)),
        }
    }

    /// Returns the answer and the candidates of a race.
    fn result(&self, race: &StrategyRace) -> RaceResult {
        let states = race.race.states();
        let leader = leader_of(&states);
        let mut candidates = Vec::new();
        for (at, &state) in states.iter().enumerate() {
            candidates.push(self.candidate(race, at, state, leader));
        }
        RaceResult {
            answer: self.strategy_answer(race, &states, leader),
            candidates,
        }
    }

    /// Returns the answer of a race: its leader, if any candidate meets the limits.
    fn strategy_answer(
        &self,
        race: &StrategyRace,
        states: &[CandidateStatus],
        leader: Option<usize>,
    ) -> StrategyAnswer {
        let is_confirmed = leader.is_none_or(|at| race.race.is_confirmed(at));
        let is_decided = is_confirmed && !states.contains(&CandidateStatus::Undecided);
        let mut answer = StrategyAnswer {
            strategy: race.key.strategy.clone(),
            variant: None,
            closest: None,
            reach: ReachRange::default(),
            is_confirmed,
            is_decided,
            kept: None,
            snippet: None,
        };
        let Some(leader) = leader else {
            let closest = race.race.closest(&scales(self.task.plan));
            answer.closest = closest.map(|at| self.label(race, at));
            return answer;
        };
        answer.variant = Some(self.label(race, leader));
        answer.reach = ReachRange::of(&race.runs[leader].iter().collect::<Vec<&RunRow>>());
        answer.kept = Some(race.race.kept(leader));
        // Among many settings, some are as good as the best one, so an uncertain answer that meets the limits is
        // enough. The record has its snippet, but the printed plan does not offer it for pasting.
        if is_decided || (self.task.plan.tries.is_some() && is_confirmed) {
            let variant = self.task.variant(race.variants[leader]);
            answer.snippet = variant.scenario.snippet();
        }
        answer
    }

    /// Returns the label of a candidate.
    fn label(&self, race: &StrategyRace, candidate: usize) -> String {
        self.task.variant(race.variants[candidate]).label.clone()
    }

    /// Returns the record of a candidate.
    fn candidate(
        &self,
        race: &StrategyRace,
        at: usize,
        state: CandidateStatus,
        leader: Option<usize>,
    ) -> Candidate {
        let plan = self.task.plan;
        let variant = self.task.variant(race.variants[at]);
        let rows = &race.runs[at];
        let settings: Vec<Setting> = self
            .task
            .searched_settings(race.variants[at])
            .into_iter()
            .cloned()
            .collect();
        let is_present = settings.is_empty();
        let time = time_of(plan);
        let loads = self.load.measure.values(rows);
        Candidate {
            variant: variant.label.clone(),
            strategy: variant.strategy.clone(),
            settings,
            standing: state,
            reason: self.reason(race, at, state),
            runs: rows.len() as u64,
            round: race.rounds[at],
            time: span(time.over, &time.measure.values(rows)),
            value: self.shown_value(rows),
            slower_by: leader
                .filter(|leader| *leader != at)
                .and_then(|leader| race.race.difference(leader, at)),
            load: span(Statistic::Quantile(0.5), &loads).unwrap_or(Estimate {
                value: 0.0,
                low: 0.0,
                high: 0.0,
            }),
            limits: judged_limits(plan, rows),
            unfinished: self.unfinished(rows),
            front: self
                .front
                .map(|front| front.place(self.task, rows, is_present)),
        }
    }

    /// Returns why a candidate is not the best, in addition to its state: the exceeded limit, or the rule that blocked
    /// a run.
    fn reason(&self, race: &StrategyRace, at: usize, state: CandidateStatus) -> String {
        let limits = &self.task.plan.limits;
        match state {
            CandidateStatus::Breaks => {
                let broken = race.race.broken(at).expect("that is why it is out");
                limits[broken].to_string()
            }
            CandidateStatus::Undecided => match race.race.unshown(at) {
                Some(unshown) => limits[unshown].to_string(),
                None => String::new(),
            },
            CandidateStatus::Unfinished => {
                let mut rows = race.runs[at].iter();
                let blocked = rows.find(|row| self.task.value(row).is_infinite());
                blocked.map(RunRow::held).unwrap_or_default()
            }
            CandidateStatus::Leaves => {
                let left = race.runs[at].iter().map(RunRow::left_on_old);
                format!("leaves up to {} behind", left.max().unwrap_or(0))
            }
            _ => String::new(),
        }
    }

    /// Returns the objective over runs. `None`: it is a time, which has its own column, or a setting.
    fn shown_value(&self, rows: &[RunRow]) -> Option<Estimate> {
        let objective = &self.task.plan.objective;
        if objective.measure().is_none() || objective.is_time() {
            return None;
        }
        span(objective.over(), &self.task.objectives(rows))
    }

    /// Returns the number of unfinished runs for each rule that blocked them.
    fn unfinished(&self, rows: &[RunRow]) -> Vec<(String, u64)> {
        let mut by_rule: BTreeMap<String, u64> = BTreeMap::new();
        for row in rows {
            if self.is_unfinished(row) {
                *by_rule.entry(row.held_by.clone()).or_default() += 1;
            }
        }
        by_rule.into_iter().collect()
    }

    /// Returns whether a run did not finish, or did not reach an event whose time a limit refers to.
    fn is_unfinished(&self, row: &RunRow) -> bool {
        if self.task.value(row).is_infinite() {
            return true;
        }
        let mut limits = self.task.plan.limits.iter();
        limits.any(|limit| {
            let measure = limit.measure();
            measure.is_late_if_missing() && measure.of(row).is_none()
        })
    }
}

/// Returns, for each limit, its value (if it is finite) and the number of runs that exceed it.
fn judged_limits(plan: &Plan, rows: &[RunRow]) -> Vec<(Option<f64>, u64)> {
    let mut judged = Vec::new();
    for limit in &plan.limits {
        let verdict = limit.judge(rows);
        let value = verdict.value.is_finite().then_some(verdict.value);
        judged.push((value, verdict.runs_beyond as u64));
    }
    judged
}

/// Returns a statistic of values, with their minimum and maximum. `None`: a value is infinite.
fn span(over: Statistic, values: &[f64]) -> Option<Estimate> {
    let low = values.iter().copied().fold(f64::INFINITY, f64::min);
    let high = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    if !high.is_finite() {
        return None;
    }
    Some(Estimate {
        value: over.of(values),
        low,
        high,
    })
}
