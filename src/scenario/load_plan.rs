//! Reads the `plan` of an experiment.

use std::collections::BTreeMap;

use itertools::Itertools;

use super::check::Checker;
use super::clock::clocked_limit;
use super::file::ExperimentFile;
use super::file_plan::PlanFile;
use super::loader::Loader;
use super::plan::{FIRST_RUNS, with_candidates};
use super::sweep::Axis;
use super::{Experiment, Plan, Variant};
use crate::document::path::Path;
use crate::document::text_or::TextOr;
use crate::document::tree::Node;
use crate::results::{Limit, MeasureError, Objective, Setting};

/// Minimum value of `tries` for a search.
const FEWEST_TRIES: u32 = 5;

/// The default objective.
const OBJECTIVE: &str = "reachable_ready_median";

/// Share of all runs for which the plan must show that they meet the limits, unless `confirm` is set.
const SHOWN: f64 = 0.95;

/// Returns the number of runs that must all meet a limit to show with this confidence that [`SHOWN`] of all runs meet
/// it. For 95 %, it is 59.
fn runs_to_confirm(confidence: f64) -> u32 {
    (libm::log(1.0 - confidence) / libm::log(SHOWN))
        .ceil()
        .max(1.0) as u32
}

impl Loader {
    /// Replaces the values of the sweep with the candidates.
    pub(super) fn put_candidates(&mut self) {
        self.put_auto();
        let (tree, problems) = with_candidates(&self.tree);
        for problem in problems {
            self.report_at("plan.search", problem);
        }
        self.tree = tree;
    }
}

impl Checker<'_> {
    /// Returns the goal of the search, with defaults filled in.
    pub(super) fn plan(
        &mut self,
        file: &ExperimentFile,
        most: Option<u32>,
        is_search: bool,
    ) -> Plan {
        let written = file.plan.clone().unwrap_or_default();
        let limits = self.plan_limits(file, &written, is_search);
        let objective = self.objective(&written);
        if let Some(measure) = objective.measure() {
            self.needs_price(
                &Path::of("plan").key("minimise"),
                measure,
                file.price.as_ref(),
            );
        }
        self.plan_numbers(&written);
        if is_search {
            self.opposing_limits(&objective, &limits);
        }
        let confidence = written.confidence.get();
        Plan {
            limits,
            objective,
            confidence,
            indifference: written.indifference.get(),
            confirm: written
                .confirm
                .unwrap_or_else(|| runs_to_confirm(confidence)),
            most,
            tries: written
                .tries
                .filter(|_| is_search)
                .map(|tries| tries as usize),
            runs: written.runs,
        }
    }

    /// Returns the limits of the plan. Without them, returns the limits that the experiment asserts for all
    /// strategies.
    fn plan_limits(
        &mut self,
        file: &ExperimentFile,
        written: &PlanFile,
        is_search: bool,
    ) -> Vec<Limit> {
        let mut limits = Vec::new();
        if let Some(texts) = &written.limits {
            for (index, text) in texts.iter().enumerate() {
                let at = Path::of("plan").key("limits").index(index);
                if let Some(limit) = self.parsed(&at, clocked_limit(text, file.starts_at.as_ref()))
                {
                    self.needs_price(&at, limit.measure(), file.price.as_ref());
                    self.same_currency(&at, limit.unit(), file.price.as_ref());
                    limits.push((at, limit));
                }
            }
        } else {
            for (index, asserted) in file.assert.iter().flatten().enumerate() {
                let at = Path::of("assert").index(index);
                let TextOr(asserted) = asserted;
                if let Some(strategy) = &asserted.strategy {
                    if is_search {
                        self.report(
                            &at,
                            format!("this limit applies only to `{strategy}`; a plan needs limits for all candidates"),
                            "write the limits of the plan as `plan: {limits: […]}`",
                        );
                    }
                } else if let Ok(limit) = clocked_limit(&asserted.limit, file.starts_at.as_ref()) {
                    // An invalid limit is already reported where it is asserted.
                    limits.push((at, limit));
                }
            }
        }
        for (at, limit) in &limits {
            if limit.demand().is_none() {
                let message = format!("`{limit}` cannot be evaluated for a single run");
                let help = "compare the statistic with < or >, or remove it: then every run must meet the limit";
                self.report(at, message, help);
            }
        }
        limits.into_iter().map(|(_, limit)| limit).collect()
    }

    /// Checks the numeric settings of the plan.
    fn plan_numbers(&mut self, written: &PlanFile) {
        let path = Path::of("plan");
        if !(0.5..1.0).contains(&written.confidence.get()) {
            let message = "`confidence` must be at least 50% and less than 100%";
            self.report(&path.key("confidence"), message, "write e.g. `95%`");
        }
        if written.tries.is_some_and(|tries| tries < FEWEST_TRIES) {
            let message = format!("`tries` must be at least {FEWEST_TRIES}");
            self.report(&path.key("tries"), message, "write e.g. `100`");
        }
        if written.confirm == Some(0) {
            let message = "`confirm` must be at least 1";
            self.report(&path.key("confirm"), message, "write e.g. `59`");
        }
    }

    /// Checks that some limit opposes the objective of a search.
    fn opposing_limits(&mut self, objective: &Objective, limits: &[Limit]) {
        let path = Path::of("plan");
        if !objective.is_time() && limits.is_empty() {
            let message = format!("a plan that optimises `{objective}` needs a limit");
            let help = "add one to `plan.limits`, e.g. `completion_p95 < 4h`";
            self.report(&path, message, help);
        }
        if objective.is_time() && !limits.iter().any(Limit::opposes_speed) {
            let message = "without a limit on load or risk, the fastest setting is to update all clusters at the same time";
            let help = "add one to `plan.limits`, e.g. `peak_pulls < 200`, `registry.egress_p95 < 8 Gbit/s`, \
                        `peak_not_ready <= 10%` or `bad_release_exposure < 5%`; `fleetsim run` shows the trade-off \
                        between time and load";
            self.report(&path, message, help);
        }
    }

    /// Returns the objective as written, or the default.
    fn objective(&mut self, written: &PlanFile) -> Objective {
        let path = Path::of("plan");
        let (text, is_maximised) = match (&written.minimise, &written.maximise) {
            (Some(_), Some(_)) => {
                self.report(
                    &path.key("maximise"),
                    "a plan has one objective",
                    "keep `minimise` or `maximise`",
                );
                return default_objective();
            }
            (Some(text), None) => (text, false),
            (None, Some(text)) => (text, true),
            (None, None) => return default_objective(),
        };
        if self.is_searched(text) {
            let path = match Path::parse(text) {
                Ok(path) => path.to_string(),
                Err(_) => text.clone(),
            };
            return Objective::of_setting(path, is_maximised);
        }
        let here = path.key(if is_maximised { "maximise" } else { "minimise" });
        match Objective::parse(text) {
            Ok(_) if is_maximised => {
                let message = format!("`{text}` is a measure, and only a setting can be maximised");
                let help = "maximise a path of `sweep` or `search`, and state measures as limits";
                self.report(&here, message, help);
                default_objective()
            }
            Ok(objective) => objective,
            Err(MeasureError { message, help }) => {
                let help = format!("write a path of `sweep` or `search`, or a measure: {help}");
                self.report(&here, message, &help);
                default_objective()
            }
        }
    }

    /// Returns whether a text is a path whose values are swept or searched.
    fn is_searched(&self, text: &str) -> bool {
        [Path::of("sweep"), Path::of("plan").key("search")]
            .iter()
            .filter_map(|part| self.tree.get(part))
            .flat_map(Node::entries)
            .any(|(key, _)| key.text == text)
    }

    /// Checks that the values of the setting to minimise or maximise can be ordered.
    fn order_of_values(&mut self, objective: &Objective, axes: &[Axis]) {
        let Some(axis) = axes
            .iter()
            .find(|axis| axis.path.to_string() == objective.to_string())
        else {
            return;
        };
        let labels: Vec<String> = axis.values.iter().map(Node::label).collect();
        let Some(first) = labels.first() else {
            return;
        };
        for other in &labels {
            let kind = Objective::kind_of(other);
            if kind.is_some() && kind == Objective::kind_of(first) {
                continue;
            }
            let message = format!(
                "the values of `{objective}` must be numbers of one unit, not {first} and {other}"
            );
            let aim = if objective.is_maximised() {
                "maximise"
            } else {
                "minimise"
            };
            let help = "write e.g. only percentages, or only numbers";
            self.report(&Path::of("plan").key(aim), message, help);
            return;
        }
    }

    /// Checks that each world has several candidates, and that `runs` is sufficient to run each candidate.
    /// `is_complete`: no candidate has a problem.
    pub(super) fn something_to_choose(
        &mut self,
        experiment: &Experiment,
        axes: &[Axis],
        runs: Option<u64>,
        is_complete: bool,
    ) {
        let objective = experiment.plan.as_ref().map(|plan| &plan.objective);
        if let Some(objective) = objective {
            self.order_of_values(objective, axes);
        }
        let worlds = candidates_by_world(&experiment.variants, objective);
        let has_choice = axes
            .iter()
            .any(|axis| !axis.is_of_world() && axis.values.len() > 1);
        if !has_choice && worlds.values().all(|&candidates| candidates < 2) && is_complete {
            let message =
                "the plan has only one candidate: one strategy without a setting to search";
            let name = experiment
                .variants
                .first()
                .map_or("plain", |variant| variant.strategy.as_str());
            let help = format!(
                "write e.g. `plan: {{search: {{strategies.{name}.rancherFleet.maxUnavailable: {{from: 1%, to: 100%, \
                 steps: 20}}}}}}`, sweep such a setting, or write several strategies"
            );
            self.report(&Path::of("plan"), message, &help);
        }
        if let Some(runs) = runs {
            self.enough_runs(experiment, worlds.len(), runs);
        }
    }

    /// Checks that the budget of runs is sufficient to run each candidate, or each candidate that is tried.
    fn enough_runs(&mut self, experiment: &Experiment, worlds: usize, runs: u64) {
        let at = Path::of("plan").key("runs");
        let candidates = experiment.variants.len();
        let Some(tries) = experiment.plan.as_ref().and_then(|plan| plan.tries) else {
            if runs < candidates as u64 {
                let message = format!("`runs` is {runs}, but there are {candidates} candidates");
                let help = "every candidate runs at least once: allow more runs, search fewer values, or limit `tries`";
                self.report(&at, message, help);
            }
            return;
        };
        let names = experiment.variants.iter().map(|variant| &variant.strategy);
        let strategies = names.unique().count();
        let tries = (tries * strategies * worlds).min(candidates) as u64;
        let needed = tries * FIRST_RUNS as u64;
        if runs < needed {
            let message = format!("`runs` is {runs}, but {tries} tries take {needed}");
            let help = format!(
                "each setting that is tried runs {FIRST_RUNS} times: allow more runs, or fewer `tries`"
            );
            self.report(&at, message, &help);
        }
    }
}

fn default_objective() -> Objective {
    Objective::parse(OBJECTIVE).expect("the default is a measure")
}

/// Returns the number of variants in each world. A world is identified by the values of its settings, without the
/// setting to optimise.
fn candidates_by_world(
    variants: &[Variant],
    objective: Option<&Objective>,
) -> BTreeMap<Vec<String>, usize> {
    let mut worlds = BTreeMap::new();
    for variant in variants {
        let mut world = Vec::new();
        for setting in Setting::of_world(&variant.settings) {
            if !objective.is_some_and(|objective| objective.is_setting(setting)) {
                world.push(setting.value.clone());
            }
        }
        *worlds.entry(world).or_default() += 1;
    }
    worlds
}
