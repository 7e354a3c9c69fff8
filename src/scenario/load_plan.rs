//! The part of reading an experiment that is about its `plan`.

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
use crate::document::tree::Node;
use crate::results::{MeasureError, Objective, Setting};

/// Fewest settings that a search within a number of tries has to begin with.
const FEWEST_TRIES: u32 = 5;

/// The objective by default.
const OBJECTIVE: &str = "reachable_ready_median";

/// Share of all runs that the runs of an answer show to meet the limits, as far as `confirm` is not given.
const SHOWN: f64 = 0.95;

/// The number of runs that must all meet a limit, to show with this confidence that [`SHOWN`] of all runs do: 59 for
/// 95 %.
fn runs_to_confirm(confidence: f64) -> u32 {
    (libm::log(1.0 - confidence) / libm::log(SHOWN))
        .ceil()
        .max(1.0) as u32
}

impl Loader {
    /// Puts the candidates where the sweep's values are.
    pub(super) fn put_candidates(&mut self) {
        self.put_auto();
        let (tree, problems) = with_candidates(&self.tree);
        for (path, message, help) in problems {
            self.problems.push(
                self.source
                    .at(self.tree.key_place(&path), "plan.search", message)
                    .with_help(help),
            );
        }
        self.tree = tree;
    }
}

impl Checker<'_> {
    /// The goal of the search, with its defaults.
    pub(super) fn plan(
        &mut self,
        file: &ExperimentFile,
        most: Option<u32>,
        is_search: bool,
    ) -> Plan {
        let written = file.plan.clone().unwrap_or_default();
        let path = Path::of("plan");
        let mut limits = Vec::new();
        for (index, text) in written.limits.iter().flatten().enumerate() {
            let at = path.key("limits").index(index);
            limits.extend(
                self.parsed(&at, clocked_limit(text, file.starts_at))
                    .map(|limit| (at, limit)),
            );
        }
        if written.limits.is_none() {
            for (index, asserted) in file.assert.iter().flatten().enumerate() {
                let at = Path::of("assert").index(index);
                if let (Some(strategy), true) = (&asserted.0.strategy, is_search) {
                    let message = format!(
                        "this limit applies only to `{strategy}`; a plan needs limits for all candidates"
                    );
                    self.report(
                        &at,
                        message,
                        "write the limits of the plan as `plan: {limits: […]}`",
                    );
                } else if let (None, Ok(limit)) = (
                    &asserted.0.strategy,
                    clocked_limit(&asserted.0.limit, file.starts_at),
                ) {
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
        let objective = self.objective(&written);
        let confidence = written.confidence.get();
        if !(0.5..1.0).contains(&confidence) {
            let message = "`confidence` must be at least 50% and less than 100%";
            self.report(&path.key("confidence"), message, "write e.g. `95%`");
        }
        if written.tries.is_some_and(|tries| tries < FEWEST_TRIES) {
            let message = format!("`tries` must be at least {FEWEST_TRIES}");
            self.report(&path.key("tries"), message, "write e.g. `100`");
        }
        if written.confirm == Some(0) {
            self.report(
                &path.key("confirm"),
                "`confirm` must be at least 1",
                "write e.g. `59`",
            );
        }
        if is_search && !objective.is_time() && limits.is_empty() {
            let message = format!("a plan that optimises `{objective}` needs a limit");
            self.report(
                &path,
                message,
                "add one to `plan.limits`, e.g. `completion_p95 < 4h`",
            );
        }
        if is_search
            && objective.is_time()
            && !limits.iter().any(|(_, limit)| limit.opposes_speed())
        {
            let message = "without a limit on load or risk, the fastest setting is to update all clusters at the same time";
            let help = "add one to `plan.limits`, e.g. `peak_pulls < 200`, `registry.egress_p95 < 8 Gbit/s`, \
                        `peak_not_ready <= 10%` or `bad_release_exposure < 5%`; `fleetsim run` shows the trade-off \
                        between time and load";
            self.report(&path, message, help);
        }
        Plan {
            limits: limits.into_iter().map(|(_, limit)| limit).collect(),
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

    /// The objective as written, or the default.
    fn objective(&mut self, written: &PlanFile) -> Objective {
        let path = Path::of("plan");
        let default = || Objective::parse(OBJECTIVE).expect("the default is a measure");
        let (text, is_maximised) = match (&written.minimise, &written.maximise) {
            (Some(_), Some(_)) => {
                self.report(
                    &path.key("maximise"),
                    "a plan has one objective",
                    "keep `minimise` or `maximise`",
                );
                return default();
            }
            (Some(text), None) => (text, false),
            (None, Some(text)) => (text, true),
            (None, None) => return default(),
        };
        let here = path.key(if is_maximised { "maximise" } else { "minimise" });
        let searched = [Path::of("sweep"), path.key("search")];
        let keys = searched
            .iter()
            .filter_map(|part| self.tree.get(part))
            .flat_map(Node::entries);
        let is_searched = keys.map(|(key, _)| &key.text).any(|key| key == text);
        match Objective::parse(text) {
            _ if is_searched => {
                let path = Path::parse(text).map_or_else(|_| text.clone(), |path| path.to_string());
                Objective::of_setting(path, is_maximised)
            }
            Ok(_) if is_maximised => {
                let message = format!("`{text}` is a measure, and only a setting can be maximised");
                self.report(
                    &here,
                    message,
                    "maximise a path of `sweep` or `search`, and state measures as limits",
                );
                default()
            }
            Ok(objective) => objective,
            Err(MeasureError { message, help }) => {
                let help = format!("write a path of `sweep` or `search`, or a measure: {help}");
                self.report(&here, message, &help);
                default()
            }
        }
    }

    /// Whether the values of the setting to minimise or to maximise have an order.
    fn order_of_values(&mut self, objective: &Objective, axes: &[Axis]) {
        let Some(axis) = axes
            .iter()
            .find(|axis| axis.path.to_string() == objective.to_string())
        else {
            return;
        };
        let kinds: Vec<(String, Option<&str>)> = axis
            .values
            .iter()
            .map(Node::label)
            .map(|value| (value.clone(), Objective::kind_of(&value)))
            .collect();
        let Some((first, kind)) = kinds.first() else {
            return;
        };
        if let Some((other, _)) = kinds
            .iter()
            .find(|(_, other)| other.is_none() || other != kind)
        {
            let message = format!(
                "the values of `{objective}` must be numbers of one unit, not {first} and {other}"
            );
            let aim = if objective.is_maximised() {
                "maximise"
            } else {
                "minimise"
            };
            self.report(
                &Path::of("plan").key(aim),
                message,
                "write e.g. only percentages, or only numbers",
            );
        }
    }

    /// Whether the candidates are more than one in each world, and `runs`, the budget, is enough to look at each.
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
        let is_of_world =
            |setting: &&Setting| !objective.is_some_and(|objective| objective.is_setting(setting));
        let world = |variant: &Variant| -> Vec<String> {
            Setting::of_world(&variant.settings)
                .filter(is_of_world)
                .map(|setting| setting.value.clone())
                .collect()
        };
        let worlds = experiment.variants.iter().map(world).counts();
        let has_choice = axes
            .iter()
            .any(|axis| axis.strategy().is_some_and(|_| axis.values.len() > 1));
        if !has_choice && worlds.values().all(|&candidates| candidates < 2) && is_complete {
            let message =
                "the plan has only one candidate: one strategy without a setting to search";
            let name = experiment
                .variants
                .first()
                .map_or("plain", |variant| variant.strategy.as_str());
            let help = format!(
                "write e.g. `plan: {{search: {{strategies.{name}.rancherFleet.maxUnavailable: {{from: 1%, to: 100%, \
                 steps: 20}}}}}}`, sweep such a setting, or give several strategies"
            );
            self.report(&Path::of("plan"), message, &help);
        }
        let candidates = experiment.variants.len() as u64;
        let at = Path::of("plan").key("runs");
        match (runs, experiment.plan.as_ref().and_then(|plan| plan.tries)) {
            (Some(runs), None) if runs < candidates => {
                let message = format!("`runs` is {runs}, but there are {candidates} candidates");
                let help = "every candidate runs at least once: allow more runs, search fewer values, or limit `tries`";
                self.report(&at, message, help);
            }
            (Some(runs), Some(tries)) => {
                let strategies = experiment
                    .variants
                    .iter()
                    .map(|variant| &variant.strategy)
                    .unique()
                    .count();
                let tries =
                    (tries * strategies * worlds.len()).min(experiment.variants.len()) as u64;
                let needed = tries * FIRST_RUNS as u64;
                if runs < needed {
                    let message = format!("`runs` is {runs}, but {tries} tries take {needed}");
                    let help = format!(
                        "each setting that is tried runs {FIRST_RUNS} times: allow more runs, or fewer `tries`"
                    );
                    self.report(&at, message, &help);
                }
            }
            _ => {}
        }
    }
}
